"""Writes the comparison into its page, from the runs in `benchmarks/results/arena`.

A line `<!-- arena: rule -->` becomes a view of the runs. What was not run is said to be missing.
Words and their counts are those of `verdict.json`.
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
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from charts import chart, leads
from links import lists
from results import folded, percent, points
from scipy import stats
from tables import table

from benchmarks.arena import grid, runs, verdict, words
from benchmarks.arena.verdict import BASE, BETTER, FLOOR, WORSE, blocks, cost, interval, mean

MARKER = re.compile(r"^(?P<indent> *)<!-- arena: (?P<view>\w+) -->$", re.M)
RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
PUBLISHED = RESULTS.parent / "arena" / "published.toml"
SERIES_METHOD, MAXIMUM = "InceptionTime", "MaskedMaxPooling1D"

# What a mechanism is called where the memory of layers is measured.
IN_MEMORY = {
    "LowRankAttentionPooling, learned scale": "LowRankAttentionPooling",
    "PositionalSelfAttention, earlier": "PositionalSelfAttention, all words",
    "DirectionalSelfAttention, backward": "DirectionalSelfAttention",
    "keras.layers.MultiHeadAttention": "MultiHeadAttention, average",
}


def memories():
    """Memory of every row in training in units of the mean's; what it would take, if too much."""
    path = RESULTS / "speed" / "memory_torch_cpu.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    held = {
        case["variant"]: case.get("bytes", case.get("left_out"))
        for case in cases
        if case["gradient"]
    }
    told = {}
    for row in grid.MECHANISMS:
        value = held.get(IN_MEMORY.get(row, row)) or "–"
        told[row] = (
            value.removeprefix("would hold ")
            if isinstance(value, str)
            else f"{value / held[BASE]:.1f}"
        )
    return told


def tested(arena):
    """All blocks without the runs of the split that chose the settings."""
    return blocks([line for line in arena.lines if line["seed"] != verdict.RULE["tuned_seed"]])


def state(arena):
    """How much of the plan was run."""
    planned, lines = grid.grid(), arena.lines
    done = {(line["task"], line["encoder"], line["row"], line["seed"]) for line in lines}
    missing = [r for r in planned if (r.task, r.encoder, r.row, r.seed) not in done]
    hours = sum(x["cpu_seconds"] + (x["tuning_seconds"] or 0) for x in lines) / 3600
    capped = sum(not line["stopped"] for line in lines)
    found = blocks(lines)
    stuck = sum(verdict.one_class(x, found[x["task"], x["encoder"]]) for x in lines)
    told = (
        f"{len(planned) - len(missing):,} of {len(planned):,} planned runs are here. They took "
        f"{hours:.1f} core-hours. {capped} of them ended at the limit of epochs. {stuck} give "
        "every input the same class."
    )
    unlearned = [f"{task} ({encoder})" for task, encoder in arena.whole.keys() - arena.counted]
    if unlearned:
        told += (
            f" The verdict leaves out {', '.join(sorted(unlearned))}: there no pooling is shown to "
            "be better than the answer that is always the largest class."
        )
    if not missing:
        return told
    run = ", ".join(f"{task} ({encoder})" for task, encoder in arena.whole)
    later = [f"`{row}`" for row in grid.MECHANISMS if row not in arena.rows]
    without = f" but {', '.join(later)}, which joined later," * bool(later)
    return (
        f'!!! warning "Partial"\n    {told} All poolings{without} were run on {len(arena.whole)} '
        "tasks. The verdict is of these alone, and will move.\n\n"
        f'??? abstract "Tasks that all poolings were run on"\n\n    {run}'
    )


def advice(arena):
    """What to take in each situation, from verdict.json, and how two twins differ."""
    found, twins, items = words.told()["situations"], verdict.RULE["twins"], []
    counts = {block.split(" (")[0] for those in words.told()["sets"].values() for block in those}
    for name, tasks in verdict.RULE["situations"].items():
        steps = [grid.TASKS[task].length for task in tasks if task in counts]
        at = f"{min(steps)} to {max(steps)}"
        items.append(f"- **{name.capitalize()}** (sequences cut at {at} steps). {found[name]}")
    items += [
        f"- **{name.capitalize()}, or not?** {found[name]}" for name in twins if name in found
    ]
    return "\n".join(items)


def rule(arena):
    """The rule's version, its digest, what the usual tests say, and how the rule changed."""
    body = [(str(c["version"]), f"{c['runs']:,}", c["what"]) for c in verdict.RULE["changes"]]
    head = ("version", "runs at the time", "what changed")
    now = (
        f"A difference below {words.region()} counts as none. *Surely* "
        f"means a probability of {verdict.RULE['certain']:g} or more. This is version "
        f"{verdict.RULE['version']} of the rule, `{verdict.rule_digest()}`"
    )
    later = len(arena.lines) - verdict.RULE["changes"][-1]["runs"]
    sets = arena.sets()
    holm = verdict.holm(sets)
    apart = [row for row in words.told()["rows"] if holm.get(row, 1) < verdict.RULE["level"]]
    friedman = stats.friedmanchisquare(*sets.rows.values()).pvalue
    usual = (
        f"Friedman's test has p = {friedman:.2g}. Wilcoxon's test with Holm's correction finds a "
        f"difference from the mean for {words.joined(apart) or 'no pooling'}."
    )
    now += f". {later:,} runs came after this version."
    return f"{now}\n\n{usual}\n\n{table(head, body, left=(2,))}"


def named(row):
    """A row as tables have it: self-attention gives a sequence, and the mean follows."""
    return f"{row} + mean" if row in grid.SEQUENCES else row


def choices(arena):
    """Every row against the mean: its lead, and how it was judged."""
    told, body = words.told(), []
    for row, each in told["rows"].items():
        cells = ("–", "–", "–")
        if effect := each.get("against_mean"):
            word = (
                effect["word"] and f"{effect['word']}: {effect['holds']} of {len(told['choices'])}"
            )
            cells = words.spanned(effect), words.points(effect["median"]), word or "open"
        body.append((named(row), *cells))
    return table(("pooling", "points ahead of the mean", "median", "judged"), body, left=(0, 3))


def judgement(arena):
    """The words of the column "judged", by the first row that has one; what may be as good."""
    told = words.told()
    effects = [each["against_mean"] for row, each in told["rows"].items() if row != BASE]
    said = "*open*: over all sets neither a lead nor a loss is that probable."
    wide = [each for each in effects if each["word"] is None and words.counts(each)]
    said += (
        f" The leads of {len(wide)} open poolings count: their intervals are above "
        f"{words.region()}. A few sets with large differences can move a mean, and the test looks "
        "at the ranks of the differences."
    ) * bool(wide)
    each = next((effect for effect in effects if effect["word"] == BETTER), None)
    if each is None:
        return said[0].upper() + said[1:]
    count = f"{each['holds']} of {len(told['choices'])}"
    return (
        f"*better: {count}* means: in {count} "
        f"tests the probability of a lead of more than {words.region()} is at least "
        f"{verdict.RULE['certain']:g}. *worse* says the same of a loss. "
        f"{said}\n\nThese poolings may be as good as "
        f"{words.named(told['first'])}: {words.joined(told['level_with_first'][1:])}."
    )


def _by_kind(arena):
    """The sets of each kind of data, the kinds with the most sets first."""
    return sorted(arena.sets_by("kind", grid.KINDS).items(), key=lambda each: -len(each[1].names))


def kinds(arena):
    """The lead over the mean by kind of data, and by encoder."""

    def spanned(lead):
        if math.isnan(lead["points"]):
            return "–"
        return words.spanned(lead).replace(" (", "<br>(")

    by_kind, by_encoder = (
        table(
            ("pooling", *(f"{name} ({len(sets.names)})" for name, sets in columns.items())),
            [
                (named(row), *(spanned(sets.lead(row)) for sets in columns.values()))
                for row in (*words.told()["rows"], FLOOR)
                if row != BASE
            ],
        )
        for columns in (
            {words.DATA[kind]: sets for kind, sets in _by_kind(arena)},
            {f"`{e}`": each for e, each in arena.sets_by("encoder", grid.ENCODERS).items()},
        )
    )
    longest = max(grid.TASKS[task].length for task, _ in arena.counted if task in grid.TASKS)
    head = f"A sequence has at most {longest} steps."
    of_kind = [
        (f"{words.DATA[kind]} ({len(sets.names)})", _sources(kind, sets.names))
        for kind, sets in _by_kind(arena)
    ]
    of_kind = folded("The sets of each kind", table(("data", "sets"), of_kind, left=(0, 1)))
    return f"{head}\n\n{by_kind}\n\n{folded('By encoder', by_encoder)}\n\n{of_kind}"


def _sources(kind, names):
    """The sets of a kind by the package that has them; of a merged set its tasks of this kind."""
    found = {}
    for name in names:
        blocks = words.told()["sets"][name]
        tasks = list(dict.fromkeys(block.split(" (")[0] for block in blocks))
        tasks = [task for task in tasks if grid.kind_of(task) == kind]
        package = grid.TASKS[tasks[0]].package
        told = name + f" ({', '.join(tasks)})" * (tasks != [name])
        found.setdefault(package and f"package {package}: ", []).append(told)
    return "; ".join(f"{package or ''}{', '.join(those)}" for package, those in found.items())


def compared(arena):
    """Of each published source its figures beside ours, where ours has two counted splits."""
    with PUBLISHED.open("rb") as file:
        sources = tomllib.load(file)["sources"]
    found = {task: block for (task, _), block in tested(arena).items()}
    for source in sources:
        beside = []
        for each in source["figures"]:
            each.setdefault("row", words.told()["first"])
            counts = found.get(each["task"], {}).get(each["row"], [])
            if ends := verdict.over_splits(counts):
                low, high = (each["accuracy"] > ends[1], each["accuracy"] < ends[0])
                word = "above" if low else "below" if high else "inside"
                beside.append((each, counts, ends, word))
        yield source, beside


def published(arena):
    """Our figures of small sets beside those of others; where ours are lower, what differs."""
    body, waiting, notes = [], [], []
    for number, (source, beside) in enumerate(compared(arena), start=1):
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
        above = ", ".join(
            dict.fromkeys(each["task"] for each, *_, word in beside if word == "above")
        )
        told += f" The published figure is above our interval on {above}." * bool(above)
        notes.append(f"{number}. {source['name']}. {told}")
    later = ", ".join(dict.fromkeys(waiting))
    head = (
        "set",
        "published",
        "accuracy",
        "our row",
        "ours, 95 % interval, splits",
        "published is",
    )
    rest = f"\n\nNot run on two counted splits yet: {later}." * bool(later)
    said = [row[-1] for row in body]
    told = f"The published figure is above our interval in {said.count('above')} of {len(said)} "
    told += f'rows, and below it in {said.count("below")}. "Inside" shows no agreement: an interval'
    told += " may be wide."
    return "\n\n".join([told, table(head, body, left=(0, 1, 3, 5)) + rest, "\n".join(notes)])


def plain(arena):
    """The verdict in short: where attention helps, what to take, how sure that is."""
    told, those = words.told(), arena.counted.values()
    first = told["first"]
    time = f" An epoch with {words.named(first)} takes {verdict.epoch(arena.counted, first)}."
    attention = [row for row in told["level_with_first"] if _group(row) == "attention"]
    cheap = min([first, *attention], key=lambda row: cost(those, row))
    if cost(those, cheap) < 0.9 * cost(those, first):
        time += f" The cheapest attention that is not surely worse is {words.named(cheap)}: an "
        time += f"epoch takes {verdict.epoch(arena.counted, cheap)}."
    rivals = [each["against_linear"]["word"] for each in told["rows"].values()]
    above = [
        (each["accuracy"] > mean(counts), word == "above")
        for _, beside in compared(arena)
        for each, counts, _, word in beside
        if (each["method"], each["row"]) == (SERIES_METHOD, first)
    ]
    published = (
        f" {SERIES_METHOD} is a method for series alone. Its [published](#published) accuracy is "
        f"above that of {words.named(first)} on {sum(higher for higher, _ in above)} of "
        f"{len(above)} series, and above our whole interval on {sum(whole for _, whole in above)}."
    ) * bool(above)
    return (
        f"- **Which pooling to take.** {words.largest(_linked(first))}{time}\n"
        f"- **Where its lead comes from.** {words.origin()}{published}\n"
        f"- **Where plain attention helps.** {words.where()}\n"
        f"- **If people must see one weight per step**, take {_linked(words.PLAIN)}. "
        f"{words.in_sight()}\n"
        f"- **How sure this is.** {words.summary()}\n"
        f"- **Linear classifiers.** {words.linear()} Over all sets that are not series, "
        f"{rivals.count(BETTER)} of {len(rivals)} poolings, the mean among them, are surely better "
        f"than the best linear classifier, and {rivals.count(WORSE)} are surely worse. With so "
        "many poolings, one can be ahead by chance. So measure your pooling beside a linear "
        "classifier."
    )


def _layer(row):
    """A row's layer in the lists of the package, if it is one of the package."""
    return next((each for each in lists.layers() if each.name == row.partition(",")[0]), None)


def _group(row):
    """The group of a row's layer, if it is one of the package."""
    return getattr(_layer(row), "group", None)


def _linked(row):
    """A row with a link to its layer, if that is one of the package."""
    layer = _layer(row)
    return f"[{words.named(row)}]({layer.page})" if layer else words.named(row)


def start(arena):
    """What to start with, from verdict.json."""
    sure = f"{words.largest('It')}\n\n{words.origin()}\n\n{words.judged()}"
    sure = sure.replace("data sets", "[data sets](comparison.md#kinds)", 1)
    sure = sure.replace("surely", "[*surely*](comparison.md#rule)", 1)
    return (
        f"**Start with {_linked(words.told()['first'])}.** {sure}\n\n"
        f"**If people must see one weight per step**, start with {_linked(words.PLAIN)}. "
        f"{words.in_sight()}"
    )


def start_by_kind(arena):
    """Of each kind of data the pooling with the largest lead, and where the mean is as good."""
    names, first = _poolings(), words.told()["first"]
    body, ahead, level = [], [], []
    for kind, sets in _by_kind(arena):
        leads = {row: sets.lead(row) for row in (*names, first)}
        most = max(names, key=lambda row: leads[row]["points"])
        if leads[most]["interval"]:
            (ahead if words.counts(leads[most]) else level).append(words.DATA[kind])
        shown = (words.spanned(leads[row]) for row in (most, first))
        body.append((f"{words.DATA[kind]} ({len(sets.names)})", _linked(most), *shown))
    told = [f"On {words.listed(ahead)} the largest lead counts."] * bool(ahead)
    told += [
        f"On {words.listed(level)} the largest lead does not count, so the mean may be as good."
    ] * bool(level)
    told += ["The other kinds have too few sets for an interval."]
    head = ("data (sets)", "pooling with the largest lead", "its lead, in points")
    head += (f"lead of {words.named(first)}",)
    return f"{' '.join(told)}\n\n{table(head, body, left=(0, 1))}"


def _poolings():
    """The rows that pool: no encoder with the mean behind it."""
    return [row for row in words.told()["rows"] if _group(row) in ("attention", "pooling")]


def two_decide(arena):
    """The accuracy where two instances of a bag decide together."""
    block = arena.counted.get(("bags_two", "dense"))
    if block is None:
        return "*Not run yet.*"
    best = max(_poolings(), key=lambda row: mean(block[row]))
    others = [row for row in (MAXIMUM, words.GATED, BASE) if row != best]
    beside = words.listed(
        [f"{words.named(row)} has {percent(mean(block[row]))} %" for row in others]
    )
    return (
        "The comparison has such a hidden layer. Its task `bags_two` asks whether a bag has at "
        f"least two nines. Among the poolings without self-attention {_linked(best)} has the "
        f"largest accuracy, {percent(mean(block[best]))} %. {beside}. Each figure is a mean of "
        f"{len(block[best])} runs."
    )


def legend(arena):
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
    inside = table(("row", "layer", "gives"), body, left=range(3))
    return folded("The code of every row", inside)


def diagram(arena):
    """How far every row is ahead of the mean, with its interval over sets."""
    sets = arena.sets()
    found = {row: sets.lead(row) for row in words.told()["rows"] if row != BASE}
    return leads(
        {named(row): (each["points"], *each["interval"]) for row, each in found.items()},
        100 * verdict.RULE["practical"],
        "points ahead of the mean",
        f"Mean difference over {len(sets.names)} data sets, with its 95 % interval; the sets "
        "are drawn anew. Differences within the band count as none.",
        "; ".join(f"{r} {words.points(found[r]['points'])}" for r in arena.rows if r != BASE),
    )


def costs(arena):
    """Mean accuracy over tasks against the time of an epoch."""
    those = arena.counted.values()
    places = {r: (cost(those, r), 100 * each.mean()) for r, each in arena.sets().rows.items()}
    return chart(
        {row: [place] for row, place in places.items()},
        "time of an epoch (the mean's is 1)",
        "Up: mean accuracy over the data sets, in percent. Across: the processor's time of an "
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


def overview(arena):
    """Every row: its mean rank, its lead with its probabilities, its cost; then every task."""
    found, times, known = tested(arena), verdict.by_encoder(arena.counted), memories()
    head = ["row", "mean rank", "lead over the mean", "better, equal, worse", "p (Holm)"]
    head += [*(f"time, {encoder}" for encoder in times), "memory", "weights"]
    sets, body = arena.sets(), []
    ranks, holm = verdict.ranks(sets.rows), verdict.holm(sets)
    order = [*ranks, *(row for row in grid.MECHANISMS if row not in ranks)]
    for row in order:
        cells = [f"{ranks[row]:.1f}" if row in ranks else "–", *["–"] * 3]
        if row in holm:
            parts = verdict.probabilities(sets.leads(row)).values()
            parts = ", ".join(f"{part:.2f}" for part in parts)
            lead = words.points(words.told()["rows"][row]["against_mean"]["points"])
            cells[1:] = lead, parts, f"{holm[row]:.2g}"
        cells += [f"{cost(b, row):.2f}" if row in ranks else "–" for b in times.values()]
        body.append([row, *cells, known[row], weights(row, found)])
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
            parts.append(folded(f"Accuracy by task: {words.DATA[kind]}", inside))
    return "\n\n".join(parts)


def tables(arena):
    """A table for each block: the difference to the mean of the states, and how a row was run."""
    parts = []
    for (task, encoder), block in tested(arena).items():
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
        parts.append(folded(title, table(head, body) + rest))
    return "\n\n".join(parts)


def _remark(run, block):
    """What is to be said of a run."""
    if verdict.one_class(run, block):
        return " (one class)"
    return "" if run["stopped"] else " (limit)"


def protocol(arena):
    """What the runs share, from the file that declares it."""
    tried = "; ".join(
        f"{name.replace('_', ' ')} {' or '.join(map(str, values))}"
        for name, values in list(grid.TRIALS.items())[:2]
    )
    gaps = [
        first["test_accuracy"] - mean(later)
        for block in blocks(arena.lines).values()
        for row in block.keys() & grid.MECHANISMS
        for first in block[row]
        if first["seed"] == verdict.RULE["tuned_seed"]
        if (later := [run for run in block[row] if run["seed"] in grid.SEEDS[1:]])
    ]
    gap = points(statistics.mean(gaps)) if gaps else "–"
    lengths: dict[int, list[str]] = {}
    for task in dict.fromkeys(line["task"] for line in arena.lines):
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
            f"- **training**: Adam, batches of {grid.BATCH} (small sets {grid.SMALL['batch']}), "
            f"gradients clipped to norm {grid.CLIP:g}; it ends after {grid.PATIENCE} epochs (small "
            f"sets {grid.SMALL['patience']}) without a better one, or after {grid.MAX_EPOCHS}",
            f"- **encoders**: `gru` {grid.GRU_UNITS} units a direction; `cnn` {grid.CNN_FILTERS} "
            f"windows of 3, 4 and 5 each; `dense` {grid.DENSE_UNITS} units; `minilm` frozen states "
            f"of layer {grid.MINILM_LAYER} of all-MiniLM-L6-v2; `none` the words' vectors",
            f"- **classifier**: one hidden layer of {grid.HIDDEN}",
            *(f"- **versions**: {each}" for each in sorted({x["versions"] for x in arena.lines})),
            f"- **code**: {', '.join(sorted({line['commit'] for line in arena.lines}))}",
        ]
    )


VIEWS = {
    view.__name__: view
    for view in (
        *(state, advice, plain, start, start_by_kind, two_decide, rule, choices, judgement),
        *(kinds, published, legend, diagram, costs, overview, tables, protocol),
    )
}


@functools.cache
def _arena(folder):
    """The comparison, read once for all pages."""
    return runs.compared(verdict.read(folder))


def fill(markdown, folder):
    """Replaces the markers of a page by views of the runs in a folder."""

    def view(match):
        # An interval needs three sets.
        few = len(_arena(folder).sets().names) < 3
        told = (
            "*No verdict before three sets have all rows.*"
            if few
            else VIEWS[match["view"]](_arena(folder))
        )
        return textwrap.indent(told, match["indent"])

    return MARKER.sub(view, markdown)


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
    head += "with a 95 % interval. The comparison defines [*surely*](../comparison.md#rule).\n\n"
    return head + "\n".join(said) + "\n\n"


def on_page_markdown(markdown, page, config, files):
    """Fills every page; a layer's has a section before its reference."""
    root = Path(config.config_file_path).parent
    if page.file.src_uri.startswith("layers/"):
        layer = re.search(r"^# (\w+)", markdown, re.M)[1]
        markdown = markdown.replace("## Reference\n", in_comparison(layer) + "## Reference\n")
    return fill(markdown, root / "benchmarks" / "results" / "arena")
