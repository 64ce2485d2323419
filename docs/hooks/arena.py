"""Writes the comparison into its page, from the runs in `benchmarks/results/arena`.

A line `<!-- arena: rule -->` becomes a view of the runs. What was not run is said to be missing.
"""

import functools
import json
import math
import os
import re
import statistics
import sys
import textwrap
import tomllib
from collections import Counter
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from charts import chart, leads
from links import lists
from results import percent, points
from tables import table

from benchmarks.arena import grid, runs, verdict, words
from benchmarks.arena.verdict import BASE, BETTER, FLOOR, WORSE, blocks, cost, interval, mean

MARKER = re.compile(r"^(?P<indent> *)<!-- arena: (?P<view>\w+) -->$", re.M)
RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"


PUBLISHED = RESULTS.parent / "arena" / "published.toml"
SERIES_METHOD = "InceptionTime"

# What a mechanism is called where the memory of layers is measured.
IN_MEMORY = {
    "LowRankAttentionPooling, learned scale": "LowRankAttentionPooling",
    "PositionalSelfAttention, earlier": "PositionalSelfAttention, all words",
    "DirectionalSelfAttention, backward": "DirectionalSelfAttention",
    "keras.layers.MultiHeadAttention": "MultiHeadAttention, average",
}


def memories():
    """Memory of every layer in training in units of the mean's; what it would take, if too much."""
    path = RESULTS / "speed" / "memory_torch_cpu.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    held = {
        case["variant"]: case.get("bytes", case.get("left_out"))
        for case in cases
        if case["gradient"]
    }
    return {
        name: value.removeprefix("would hold ")
        if isinstance(value, str)
        else f"{value / held[BASE]:.1f}"
        for name, value in held.items()
        if value is not None
    }


def memory_of(row, known):
    """A row's memory among those of the layers."""
    return known.get(IN_MEMORY.get(row, row), "–")


def rows(lines):
    """The rows that are judged."""
    return runs.judged_rows(lines)


_JUDGED = [None, None]


def judged(lines):
    """The verdict of these lines, made once for all views of a page."""
    if _JUDGED[0] is not lines:
        _JUDGED[:] = lines, runs.verdict_of(lines)
    return _JUDGED[1]


def counted(lines):
    """The blocks that the verdict stands on."""
    return verdict.counted(lines, rows(lines))


def tested(lines):
    """All blocks without the runs of the split that chose the settings."""
    return blocks([line for line in lines if line["seed"] != verdict.RULE["tuned_seed"]])


def state(lines):
    """How much of the plan was run."""
    planned = grid.grid()
    done = {(line["task"], line["encoder"], line["row"], line["seed"]) for line in lines}
    missing = [r for r in planned if (r.task, r.encoder, r.row, r.seed) not in done]
    hours = sum(x["cpu_seconds"] + (x["tuning_seconds"] or 0) for x in lines) / 3600
    capped = sum(not line["stopped"] for line in lines)
    stuck = sum(
        verdict.one_class(run, block)
        for block in blocks(lines).values()
        for those in block.values()
        for run in those
    )
    told = (
        f"{len(planned) - len(missing):,} of {len(planned):,} planned runs are here. They took "
        f"{hours:.1f} core-hours. {capped} of them ended at the limit of epochs. {stuck} give "
        "every text the same class."
    )
    whole = verdict.whole(lines, rows(lines))
    unlearned = [f"{task} ({encoder})" for task, encoder in whole.keys() - counted(lines).keys()]
    if unlearned:
        told += (
            f" The verdict leaves out {', '.join(sorted(unlearned))}: there no pooling is shown to "
            "be better than the answer that is always the largest class."
        )
    if not missing:
        return told
    run = ", ".join(f"{task} ({encoder})" for task, encoder in whole) or "no task yet"
    later = [f"`{row}`" for row in grid.MECHANISMS if row not in rows(lines)]
    without = f" but {', '.join(later)}, which joined later," * bool(later)
    return (
        f'!!! warning "Partial"\n    {told} All poolings{without} were run on {len(whole)} '
        "tasks. The verdict is of these alone, and will move.\n\n"
        f'??? abstract "Tasks that all poolings were run on"\n\n    {run}'
    )


def sentences(lines):
    """The verdict."""
    told = verdict.sentences(judged(lines), lines)
    return "\n".join(f"{number}. {each}" for number, each in enumerate(told, start=1))


def advice(lines):
    """What to take in each situation, from verdict.json, and how two twins differ."""
    found, twins, items = words.situations(), verdict.RULE["twins"], []
    counts = {block.split(" (")[0] for those in words.told()["sets"].values() for block in those}
    for name, tasks in verdict.RULE["situations"].items():
        steps = [grid.TASKS[task].length for task in tasks if task in counts]
        at = f"{min(steps)} to {max(steps)}"
        items.append(f"- **{name.capitalize()}** (sequences cut at {at} steps). {found[name]}")
    items += [
        f"- **{name.capitalize()}, or not?** {found[name]}" for name in twins if name in found
    ]
    return "\n".join(items)


def rule(lines):
    """The rule's version, its digest, and how it changed."""
    body = [(str(c["version"]), f"{c['runs']:,}", c["what"]) for c in verdict.RULE["changes"]]
    head = ("version", "runs at the time", "what changed")
    now = (
        f"A difference below {_region()} counts as none. *Surely* "
        f"means a probability of {verdict.RULE['certain']:g} or more. This is version "
        f"{verdict.RULE['version']} of the rule, `{verdict.rule_digest()}`"
    )
    later = len(lines) - verdict.RULE["changes"][-1]["runs"]
    return f"{now}; {later:,} runs are younger than it.\n\n{table(head, body, left=(2,))}"


def named(row):
    """A row as tables have it: self-attention gives a sequence, and the mean follows."""
    return f"{row} + mean" if row in grid.SEQUENCES else row


def spanned(lead, ends, between=" "):
    """A lead in points, with its interval if there is one."""
    if math.isnan(lead):
        return "–"
    return points(lead) + (f"{between}({' to '.join(map(points, ends))})" if ends else "")


def choices(lines):
    """Every row against the mean: its lead, and how it was judged."""
    found = judged(lines)
    if found is None:
        return "*Nothing to choose before two sets have all rows.*"

    def cells(effect):
        if effect is None:
            return "–", "–", "–"
        word = effect.word and f"{effect.word}: {effect.holds} of {effect.choices}"
        return spanned(effect.mean, effect.interval), points(effect.median), word or "open"

    body = [(named(row), *cells(found.against[BASE].get(row))) for row in found.rows]
    return table(("pooling", "points ahead of the mean", "median", "judged"), body, left=(0, 3))


def judgement(lines):
    """The words of the column "judged", by the first row that has one."""
    found = judged(lines)
    effects = found.against[BASE] if found else {}
    order = [row for row in (found.rows if found else ()) if row in effects]
    row = next((row for row in order if effects[row].word == BETTER), None)
    said = (
        "*open*: over all sets neither a lead nor a loss is that probable. An interval without 0 "
    )
    said += f"can be open, since a lead below {_region()} counts as none."
    if row is None:
        return said[0].upper() + said[1:]
    each = effects[row]
    return (
        f"*better: {each.holds} of {each.choices}* means: in {each.holds} of {each.choices} "
        f"judgements the probability of a lead of more than {_region()} is at least "
        f"{verdict.RULE['certain']:g}. A judgement leaves out, for example, one set of data. "
        f"*worse* means the same of a loss. {said}"
    )


def _region():
    """The difference up to which none is counted."""
    return f"{100 * verdict.RULE['practical']:g} point"


def audit(lines):
    """Under every choice the rows that a word or the usual test tells from the mean."""
    found = judged(lines)
    if found is None:
        return "*Nothing to choose before two sets have all rows.*"
    body = [
        (each["choice"], str(each["sets"]))
        + tuple(
            words.joined(each[said]) or "none"
            for said in ("better", "worse", "holm", "contradicts")
        )
        for each in verdict.audit(found)
    ]
    head = ("choice", "sets", "better", "worse", "told apart by Wilcoxon and Holm")
    head += ("published as shown, and not so here",)
    return table(head, body, left=range(6))


def kinds(lines):
    """The lead on the mean by kind of data, and by encoder."""
    found = judged(lines)
    if found is None:
        return "*No table before two sets have all rows.*"
    those = verdict.cells(lines, rows(lines), grid.LINEAR, grid.kind_of)
    columns_of = [
        {words.DATA[kind]: [cell for cell in those if cell.kind == kind] for kind in found.kinds},
        {f"`{name}`": [cell for cell in those if cell.encoder == name] for name in grid.ENCODERS},
    ]
    found_in = [
        {
            name: verdict.effects_in(some, [*rows(lines), FLOOR])
            for name, some in columns.items()
            if some
        }
        for columns in columns_of
    ]
    longest = max(grid.TASKS[task].length for task, _ in counted(lines) if task in grid.TASKS)
    by_kind, by_encoder = (
        table(
            ("pooling", *(f"{name} ({part.sets})" for name, part in columns.items())),
            [
                (named(row), *(spanned(*part.leads[row], "<br>") for part in columns.values()))
                for row in (*found.rows, FLOOR)
                if row != BASE
            ],
        )
        for columns in found_in
    )
    return (
        f"A sequence has at most {longest} steps.\n\n{by_kind}\n\n"
        + f'??? abstract "By encoder"\n\n{textwrap.indent(by_encoder, "    ")}'
    )


def compared(lines):
    """Of each published source its figures beside ours, where ours has two counted splits."""
    with PUBLISHED.open("rb") as file:
        sources = tomllib.load(file)["sources"]
    found = {task: block for (task, _), block in tested(lines).items()}
    for source in sources:
        beside = []
        for each in source["figures"]:
            counts = found.get(each["task"], {}).get(each["row"], [])
            if ends := verdict.over_splits(counts):
                low, high = (each["accuracy"] > ends[1], each["accuracy"] < ends[0])
                word = "lower" if low else "higher" if high else "not told apart"
                beside.append((each, counts, ends, word))
        yield source, beside


def lower_than_published(lines):
    """On how many sets of each method our figure is below the published one."""
    told = {}
    for _, beside in compared(lines):
        for each, _, _, word in beside:
            told.setdefault(each["method"], []).append(word == "lower")
    return told


def published(lines):
    """Our figures of small sets beside those of others; where ours is lower, what differs."""
    body, waiting, notes = [], [], []
    for number, (source, beside) in enumerate(compared(lines), start=1):
        for each, counts, ends, word in beside:
            theirs = percent(each["accuracy"])
            theirs += f" ± {percent(each['error'])}" if "error" in each else ""
            ours = f"{percent(mean(counts))} ({' to '.join(map(percent, ends))}), {len(counts)}"
            body.append(
                (each["task"], f"{each['method']} [{number}]", theirs, f"`{each['row']}`", ours)
                + (word,)
            )
        there = [each for each, *_ in beside]
        waiting += [each["task"] for each in source["figures"] if each not in there]
        told = f"Theirs: {source['how']}."
        if not source["checked"]:
            told += " These figures are **unchecked**: the source was not at hand to compare with."
        lower = ", ".join(
            dict.fromkeys(each["task"] for each, *_, word in beside if word == "lower")
        )
        notes.append(
            f"{number}. {source['name']}. {told}" + f" Ours is lower on {lower}." * bool(lower)
        )
    later = ", ".join(dict.fromkeys(waiting))
    head = ("set", "published", "accuracy", "our row", "ours, 95 % interval, splits", "ours is")
    rest = f"\n\nNot run on two counted splits yet: {later}." * bool(later)
    said = [row[-1] for row in body]
    told = f"Ours is lower in {said.count('lower')} of {len(said)} rows, and higher in "
    told += f'{said.count("higher")}. "Not told apart" shows no agreement: an interval may be wide.'
    return "\n\n".join([told, table(head, body, left=(0, 1, 3, 5)) + rest, "\n".join(notes)])


def by_kind(lines):
    """The blocks that count of each kind of task, in the order of the kinds."""
    found = {}
    for (task, encoder), block in counted(lines).items():
        found.setdefault(grid.kind_of(task), {})[task, encoder] = block
    return {kind: found[kind] for kind in grid.KINDS if kind in found}


def plain(lines):
    """The verdict in short: where attention helps, what to take, how sure that is."""
    found = judged(lines)
    if found is None:
        return "*No verdict before two sets have all rows.*"
    those = counted(lines).values()
    attention = [row for row in found.level_with if _group(row) == "attention"]
    cheapest = ""
    if attention:
        cheap = min(attention, key=lambda row: cost(those, row))
        cheapest = f" The cheapest attention that may be as good is {words.named(cheap)}: "
        cheapest += f"{verdict.epoch(counted(lines), cheap)}."
    surely = Counter(effect.word for effect in found.against[FLOOR].values())
    published = lower_than_published(lines).get(SERIES_METHOD, [])
    below = (
        f" On {sum(published)} of {len(published)} series the accuracy of `{words.PLAIN}` is below "
        f"the [published](#published) one of {SERIES_METHOD}."
    ) * bool(published)
    return (
        f"- **Where attention helps.** {words.where()}.\n"
        f"- **Which pooling to take.** {words.largest(_linked(found.rows[0]))} {words.origin()}"
        f"{below}{cheapest}\n"
        f"- **If people must see one weight per step**, take {_linked(words.PLAIN)}. "
        f"{words.in_sight()}\n"
        f"- **How sure this is.** {words.summary()}{words.breaks()}\n"
        f"- **Linear classifiers.** {words.linear()} Over all sets that are not series, "
        f"{surely[BETTER]} of {len(found.rows)} poolings, the mean among them, are surely better "
        f"than the best linear classifier, and {surely[WORSE]} are surely worse. With so many "
        "poolings, one can be ahead by chance. So measure your pooling beside a linear classifier."
    )


def _group(row):
    """The group of a row's layer, if it is one of the package."""
    return next((e.group for e in lists.layers() if e.name == row.partition(",")[0]), None)


def _linked(row):
    """A row with a link to its layer, if that is one of the package."""
    pages = {layer.name: layer.page for layer in lists.layers()}
    page = pages.get(row.partition(",")[0])
    return f"[{words.named(row)}]({page})" if page else words.named(row)


def start(lines):
    """What to start with, from verdict.json."""
    return (
        f"**Start with {_linked(words.told()['first'])}.** {words.largest('It')} "
        f"{words.origin()}\n\n"
        f"**If people must see one weight per step**, start with {_linked(words.PLAIN)}. "
        f"{words.in_sight()}"
    )


def start_by_kind(lines):
    """Of each kind of data the pooling with the largest lead, and the cheapest that keeps up."""
    found = judged(lines)
    if found is None:
        return "*Nothing to start with before two sets have all rows.*"
    names = [row for row in found.rows if _group(row) in ("attention", "pooling")]
    those = verdict.cells(lines, rows(lines), grid.LINEAR, grid.kind_of)
    there, body = by_kind(lines), []
    for kind, part in found.kinds.items():
        these = list(there[kind].values())
        some = verdict.by_set([cell for cell in those if cell.kind == kind], verdict.Choice())
        most = max(names, key=lambda row: part.leads[row][0])
        level = verdict.keeping_up(some, rows(lines), most)
        cheap = min(
            (row for row in names if row in level and part.leads[row][0] > 0 or row == most),
            key=lambda row: cost(these, row),
        )
        keeps = "none" if cheap == most else _linked(cheap)
        if part.leads[most][1] is None:
            keeps = "too few sets"
        elif BASE in level:
            keeps = "the mean may be as good"
        body.append(
            (words.DATA[kind], str(part.sets), _linked(most), spanned(*part.leads[most]), keeps)
        )
    head = ("data", "sets", "largest lead", "points ahead of the mean", "cheaper, keeps up")
    return table(head, body, left=(0, 2, 4))


def legend(lines):
    """The code of every row, and the other size that its tuning tries."""
    body = []
    for row in grid.MECHANISMS:
        calls = []
        for size in range(len(grid.sizes(row))):
            layer, given = grid.arguments(row, size, "minilm")
            told = ", ".join(f"{name}={value!r}" for name, value in given.items())
            calls.append(f"`{layer.__name__}({told})`")
        sees = "a sequence; its mean follows" if row in grid.SEQUENCES else "a vector"
        body.append((row, " or ".join(calls), sees))
    inside = textwrap.indent(table(("row", "layer", "gives"), body, left=range(3)), "    ")
    return f'??? abstract "The code of every row"\n\n{inside}'


def times_of(lines):
    """The blocks with all rows, by encoder: what the time of a row is told of."""
    found = {}
    for (_, encoder), block in counted(lines).items():
        found.setdefault(encoder, []).append(block)
    return found


def diagram(lines):
    """How far every row is ahead of the mean, with its interval over sets."""
    found = judged(lines)
    if found is None:
        return "*No picture before two sets have all rows.*"
    effects = found.against[BASE]
    if len(found.sets) < 3:
        return "*No picture: an interval over sets needs three of them.*"
    return leads(
        {
            named(row): (100 * effects[row].mean, *(100 * end for end in effects[row].interval))
            for row in found.rows
            if row in effects and effects[row].interval
        },
        100 * verdict.RULE["practical"],
        "points ahead of the mean",
        f"Mean difference over {len(found.sets)} sets of data, with its 95 % interval; the sets "
        "are drawn anew. Differences within the band count as none.",
        "; ".join(f"{row} {points(effect.mean)}" for row, effect in effects.items()),
    )


def costs(lines):
    """Mean accuracy over tasks against the time of an epoch."""
    ranked = judged(lines)
    if ranked is None:
        return "*No chart before two tasks have all rows.*"
    those = list(counted(lines).values())
    places = {row: (cost(those, row), 100 * each.mean()) for row, each in ranked.accuracy.items()}
    return chart(
        {row: [place] for row, place in places.items()},
        "time of an epoch (the mean's is 1)",
        "Up: mean accuracy over the sets of data, in percent. Across: the processor's time of an "
        "epoch.",
        "; ".join(f"{row} {at:.1f} % at {x:.2f}" for row, (x, at) in places.items()),
        log_x=True,
        ticks=_around([x for x, _ in places.values()]),
        height=17 * len(places),
    )


def _around(values):
    """Ticks of an axis from below the least to above the largest of these values."""
    ticks = [0.1, 0.2, 0.5, 0.8, 1, 1.5, 2, 3, 5, 10, 20, 50, 100]
    low = max(tick for tick in ticks if tick < min(values))
    high = min(tick for tick in ticks if tick > max(values))
    return [tick for tick in ticks if low <= tick <= high]


def weights(row, found):
    """How many weights a row has more than the mean, the median over blocks."""
    more = [
        b[row][0]["parameters"] - b[BASE][0]["parameters"]
        for b in found.values()
        if {row, BASE} <= set(b)
    ]
    return f"{statistics.median_low(more):,}" if more else "–"


def overview(lines):
    """Every row: its mean rank, its lead with its probabilities, its cost; then every task."""
    ranked = judged(lines)
    found, times = tested(lines), times_of(lines)
    head = ["row", "mean rank", "lead on the mean", "better, equal, worse", "p (Holm)"]
    head += [*(f"time, {encoder}" for encoder in times), "memory", "weights"]
    those = ranked.ranks if ranked else ()
    order = [*those, *(row for row in grid.MECHANISMS if row not in those)]
    body = []
    known = memories()
    for row in order:
        cells = [f"{ranked.ranks[row]:.1f}" if row in those else "–"]
        lead = ranked.against[BASE].get(row) if ranked else None
        if lead is None:
            cells += ["–"] * 3
        else:
            cells += [points(lead.mean)]
            cells += [", ".join(f"{p:.2f}" for p in lead.probabilities.values())]
            cells += [f"{ranked.holm[row]:.2g}"]
        cells += [f"{cost(b, row):.2f}" if row in those else "–" for b in times.values()]
        cells += [memory_of(row, known), weights(row, found)]
        body.append([row, *cells])
    order += grid.FLOORS
    parts = [table(head, body)]
    for kind in grid.KINDS:
        columns = {key: block for key, block in found.items() if grid.kind_of(key[0]) == kind}
        cells = [
            [row, *(percent(mean(b[row])) if row in b else "–" for b in columns.values())]
            for row in order
            if any(row in b for b in columns.values())
        ]
        if cells:
            inside = table(["row", *(f"{task}, {encoder}" for task, encoder in columns)], cells)
            title = f"Accuracy by task: {words.DATA[kind]}"
            parts.append(f'??? abstract "{title}"\n\n{textwrap.indent(inside, "    ")}')
    return "\n\n".join(parts)


def tables(lines):
    """A table for each block: the difference to the mean of the states, and how a row was run."""
    parts = []
    for (task, encoder), block in tested(lines).items():
        head = ["row", "accuracy", "macro-F1", "against the mean, 95 % interval", "parameters"]
        head += ["rate, dropout, size", "epochs", "runs"]
        body = []
        for row in sorted(block, key=lambda row: -mean(block[row])):
            those, first = block[row], block[row][0]
            lead = "–"
            if row != BASE and BASE in block:
                lead = points(mean(those) - mean(block[BASE]))
                ends = interval(block, row, BASE)
                lead += " (one run)" if ends is None else " ({} to {})".format(*map(points, ends))
            tuned = row not in grid.FLOORS
            size = grid.sizes(row)[first["size"] or 0] if tuned else {}
            told = ", ".join(f"{name}={value}" for name, value in size.items())
            settings = f"{first['learning_rate']:g}, {first['dropout']:g}" if tuned else "–"
            epochs = ", ".join(f"{r['epochs']}{_remark(r, block)}" for r in those)
            body.append(
                [row, percent(mean(those)), percent(mean(those, "test_macro_f1")), lead]
                + [f"{first['parameters']:,}", settings + f", {told}" * bool(told)]
                + [epochs if tuned else "–", str(len(those))]
            )
        planned = grid.rows(grid.TASKS[task], grid.encoders(grid.TASKS[task])[encoder])
        missing = [row for row in planned if row not in block]
        sizes = "{} to train on, {} to choose by, {} to test".format(*first["examples"].split())
        title = f"{task}, {encoder}: {grid.TASKS[task].kind}, {sizes}"
        rest = f"\n\nNot run yet: {', '.join(missing)}." if missing else ""
        inside = textwrap.indent(table(head, body) + rest, "    ")
        parts.append(f'??? abstract "{title}"\n\n{inside}')
    return "\n\n".join(parts) or "*Nothing was run yet.*"


def _remark(run, block):
    """What is to be said of a run."""
    if verdict.one_class(run, block):
        return " (one class)"
    return "" if run["stopped"] else " (limit)"


def protocol(lines):
    """What the runs share, from the file that declares it."""
    tried = "; ".join(
        f"{name.replace('_', ' ')} {' or '.join(map(str, values))}"
        for name, values in list(grid.TRIALS.items())[:2]
    )
    versions = sorted({line["versions"] for line in lines})
    ran = {(line["task"], line["row"], line["encoder"], line["seed"]): line for line in lines}
    gaps = [
        line["test_accuracy"] - sum(later) / len(later)
        for (task, row, encoder, seed), line in ran.items()
        if seed == verdict.RULE["tuned_seed"] and row in grid.MECHANISMS
        if (
            later := [
                ran[task, row, encoder, other]["test_accuracy"]
                for other in grid.SEEDS[1:]
                if (task, row, encoder, other) in ran
            ]
        )
    ]
    gap = points(sum(gaps) / len(gaps)) if gaps else "–"
    lengths: dict[int, list[str]] = {}
    for task in dict.fromkeys(line["task"] for line in lines):
        lengths.setdefault(grid.TASKS[task].length, []).append(task)
    cut = "; ".join(f"{length} {', '.join(lengths[length])}" for length in sorted(lengths))
    return "\n".join(
        [
            f"- **texts**: at most {grid.TRAINED_ON:,} to train on, {grid.CHOSEN_BY} to choose "
            f"by, {grid.TESTED_ON:,} to test; a text of the test part is in no other",
            f"- **lengths**, in words or pieces of words, where texts are cut: {cut}. TF-IDF reads "
            "whole texts",
            f"- **runs**: seeds {', '.join(map(str, grid.SEEDS))}, of small sets up to "
            f"{grid.SMALL['splits']}; each has its own split, first weights, and word vectors "
            "where these are trained",
            f"- **tuned**, on the first seed's validation part: {tried}; a second size of each "
            f"mechanism, and where there is none a rate of {grid.SPARE[1]:g}. The first seed's own "
            f"run is the best of these trials, {gap} points ahead of the later seeds on average, "
            "and so counts in no figure of the verdict",
            f"- **training**: Adam, batches of {grid.BATCH}, gradients clipped to norm "
            f"{grid.CLIP:g}; it ends after {grid.PATIENCE} epochs without a better one, or after "
            f"{grid.MAX_EPOCHS}",
            f"- **encoders**: `gru` {grid.GRU_UNITS} units a direction; `cnn` {grid.CNN_FILTERS} "
            f"windows of 3, 4 and 5 each; `dense` {grid.DENSE_UNITS} units; `minilm` frozen states "
            f"of layer {grid.MINILM_LAYER} of all-MiniLM-L6-v2; `none` the words' vectors",
            f"- **classifier**: one hidden layer of {grid.HIDDEN}",
            *(f"- **versions**: {each}" for each in versions),
            f"- **code**: {', '.join(sorted({line['commit'] for line in lines})) or 'no run yet'}",
        ]
    )


VIEWS = {
    view.__name__: view
    for view in (
        state,
        sentences,
        advice,
        plain,
        start,
        start_by_kind,
        rule,
        choices,
        judgement,
        audit,
        kinds,
        published,
    )
    + (legend, diagram, costs, overview, tables, protocol)
}


# Read once for all pages, so that they share the verdict too.
_read = functools.cache(verdict.read)


def fill(markdown, folder):
    """Replaces the markers of a page by views of the runs in a folder."""
    if not MARKER.search(markdown):
        return markdown
    lines = _read(folder)
    return MARKER.sub(
        lambda match: textwrap.indent(VIEWS[match["view"]](lines), match["indent"]), markdown
    )


def in_comparison(layer):
    """A section with what the comparison says of a layer's rows; nothing, if it has none."""
    said = [
        f"- {words.of(row)}"
        for row, each in words.told()["rows"].items()
        if row.split(", ")[0] == layer and "against_mean" in each
    ]
    if not said:
        return ""
    head = "## In the comparison\n\nAccuracy over the sets of [the comparison](../comparison.md), "
    return head + "with a 95 % interval:\n\n" + "\n".join(said) + "\n\n"


def on_page_markdown(markdown, page, config, files):
    """Fills every page; a layer's has a section before its reference."""
    root = Path(config.config_file_path).parent
    if page.file.src_uri.startswith("layers/"):
        layer = re.search(r"^# (\w+)", markdown, re.M)[1]
        markdown = markdown.replace("## Reference\n", in_comparison(layer) + "## Reference\n")
    return fill(markdown, root / "benchmarks" / "results" / "arena")
