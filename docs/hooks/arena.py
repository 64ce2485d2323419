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

from charts import chart, intervals, leads
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
EDGES = ["FirstPooling1D", "LastPooling1D"]

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
    stuck = [x for x in lines if verdict.one_class(x, found[x["task"], x["encoder"]])]
    judged = [
        x["row"]
        for x in stuck
        if x["row"] in arena.rows and (x["task"], x["encoder"]) in arena.counted
        if x["seed"] != verdict.RULE["tuned_seed"]
    ]
    edges = sum(row in EDGES for row in judged)
    longest = max(grid.TASKS[run.task].length for run in planned)
    told = (
        f"{len(planned) - len(missing):,} of {len(planned):,} planned runs are here. They took "
        f"{hours:.1f} core-hours. A sequence has at most {longest} steps. {capped} runs ended at "
        f"the limit of epochs. {len(stuck)} runs give every input the same class. Of these, "
        f"{len(judged)} are of poolings and count in the verdict: {edges} of "
        f"{words.joined(EDGES)}, and {len(judged) - edges} of others."
    )
    unlearned = [f"{task} ({encoder})" for task, encoder in arena.whole.keys() - arena.counted]
    if unlearned:
        told += (
            f" The verdict leaves out {', '.join(sorted(unlearned))}: on these tasks no pooling is "
            "shown to be better than the constant answer of the largest class."
        )
    if not missing:
        return told
    run = ", ".join(f"{task} ({encoder})" for task, encoder in arena.whole)
    later = [f"`{row}`" for row in grid.MECHANISMS if row not in arena.rows]
    without = f" but {', '.join(later)}, which joined later," * bool(later)
    return (
        f'!!! warning "Partial"\n    {told} All poolings{without} were run on {len(arena.whole)} '
        "tasks. The verdict uses these tasks alone, so it will change.\n\n"
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
    """The rule's version, its digest, Friedman's test, and how the rule changed."""
    body = [(str(c["version"]), f"{c['runs']:,}", c["what"]) for c in verdict.RULE["changes"]]
    head = ("version", "runs at the time", "what changed")
    now = (
        f"A difference below {words.region()} counts as none. {words.surely()} This is version "
        f"{verdict.RULE['version']} of the rule (digest `{verdict.rule_digest()}`)"
    )
    later = len(arena.lines) - verdict.RULE["changes"][-1]["runs"]
    friedman = stats.friedmanchisquare(*arena.sets().rows.values()).pvalue
    now += f". {later:,} runs came after this version. Friedman's test of all poolings together "
    now += f"has p = {friedman:.2g}."
    return f"{now}\n\n{table(head, body, left=(2,))}"


def named(row):
    """A row as tables have it: self-attention gives a sequence, and the mean follows."""
    return f"{row} + mean" if row in grid.SEQUENCES else row


def choices(arena):
    """Every row against the mean: its lead, how it was judged, and what a correction leaves."""
    told, body, sets = words.told(), [], arena.sets()
    for row, each in told["rows"].items():
        cells = ("–", "–", "–")
        if effect := each.get("against_mean"):
            word = (
                effect["word"] and f"{effect['word']}: {effect['holds']} of {len(told['choices'])}"
            )
            cells = words.spanned(effect), words.points(effect["median"]), word or "open"
        body.append((named(row), *cells))
    head = ("pooling", "points ahead of the mean", "median", "judged")
    apart = [row for row, p in verdict.holm(sets).items() if p < verdict.RULE["level"]]
    ahead, behind = (
        words.joined([row for row in apart if sign * sets.leads(row).mean() > 0]) or "no pooling"
        for sign in (1, -1)
    )
    corrected = (
        f"The column *judged* has no correction for the number of poolings ({len(body) - 1}). "
        "Wilcoxon's test with Holm's correction has one, and it also counts leads below "
        f"{words.region()}. This test finds these poolings ahead of the mean: {ahead}. It finds "
        f"these poolings behind the mean: {behind}."
    )
    hiding = words.joined([row for row in words.HIDES if row in told["rows"]])
    named_so = (
        f"In the tables and pictures, {hiding} stand without their arguments. [The code of every "
        "row](#protocol) has all arguments.\n\n"
    ) * bool(hiding)
    return f"{named_so}{table(head, body, left=(0, 3))}\n\n{corrected}"


def judgement(arena):
    """The words of the column "judged", by the first row that has one; what may be as good."""
    told = words.told()
    effects = [each["against_mean"] for row, each in told["rows"].items() if row != BASE]
    certain, region = f"{verdict.RULE['certain']:g}", words.region()
    said = f"*open* means: on all sets together, a lead of more than {region} has a probability "
    said += f"below {certain}, and so has a loss."
    wide = [
        row
        for row, each in told["rows"].items()
        if row != BASE and each["against_mean"]["word"] is None
        if words.counts(each["against_mean"])
    ]
    said += (
        f" The test leaves {words.joined(wide)} open, although the intervals show a *clear* lead. "
        "An interval is about the mean of the leads. The test uses the ranks of the leads, and a "
        f"lead below {region} counts as none."
    ) * bool(wide)
    each = next((effect for effect in effects if effect["word"] == BETTER), None)
    if each is None:
        return said
    count, first = f"{each['holds']} of {len(told['choices'])}", words.named(told["first"])
    level, sets = told["level_with_first"][1:], arena.sets()
    behind = [row for row in level if words.counts(sets.lead(told["first"], row))]
    said = (
        f"*better: {count}* means: in {count} tests, the probability of a lead of more than "
        f"{region} is at least {certain}. *worse* means the same for a loss. {said}\n\n{first} is "
        f"not *surely* better than these poolings, so they may be as good: {words.joined(level)}."
    )
    return said + (
        f" By the interval of the lead, {first} is *clearly* ahead of {len(behind)} of these "
        f"{len(level)}: {words.joined(behind)}. The rank test leaves this order open."
    ) * bool(behind)


def _by_kind(arena):
    """The sets of each kind of data, the kinds with the most sets first."""
    return sorted(arena.sets_by("kind", grid.KINDS).items(), key=lambda each: -len(each[1].names))


def kinds(arena):
    """The lead over the mean by kind of data, and by encoder."""

    def shown(columns, of=words.spanned):
        return table(
            ("pooling", *(f"{name} ({len(sets.names)})" for name, sets in columns.items())),
            [
                (named(row), *(_known(sets.lead(row), of) for sets in columns.values()))
                for row in (*words.told()["rows"], FLOOR)
                if row != BASE
            ],
        )

    by_kind = {words.DATA[kind]: sets for kind, sets in _by_kind(arena)}
    several = {name: sets for name, sets in by_kind.items() if len(sets.names) > 2}
    encoders = {f"`{e}`": each for e, each in arena.sets_by("encoder", grid.ENCODERS).items()}
    parts = [shown(by_kind, lambda lead: words.points(lead["points"]))]
    parts += [folded("Intervals, of the kinds with three or more sets", shown(several))] * bool(
        several
    )
    parts += [folded("By encoder", shown(encoders))]
    of_kind = [
        (f"{words.DATA[kind]} ({len(sets.names)})", _sources(kind, sets.names))
        for kind, sets in _by_kind(arena)
    ]
    parts += [folded("The sets of each kind", table(("data", "sets"), of_kind, left=(0, 1)))]
    return "\n\n".join(parts)


def _shared():
    """Sentences on the sets that are of several kinds."""
    said = ""
    for name, those in words.told()["sets"].items():
        found = dict.fromkeys(grid.kind_of(block.split(" (")[0]) for block in those)
        if len(found) > 1:
            said += f"The set `{name}` has {words.listed([*found])}, so it counts in {len(found)} "
            said += "rows. "
    return said


def _known(lead, shown):
    """A lead as it is shown, if there is one."""
    return "–" if math.isnan(lead["points"]) else shown(lead)


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
    body, waiting, notes = {True: [], False: []}, [], []
    for number, (source, beside) in enumerate(compared(arena), start=1):
        for each, counts, ends, word in beside:
            theirs = percent(each["accuracy"])
            theirs += f" ± {percent(each['error'])}" if "error" in each else ""
            # All splits alike leave no interval.
            inside = " to ".join(map(percent, ends)) if ends[0] < ends[1] else "–"
            ours = f"{percent(mean(counts))} ({inside}), {len(counts)}"
            trained, chosen, _ = counts[0]["examples"].split()
            body[source["checked"]].append(
                (each["task"], f"{each['method']} [{number}]", theirs, str(each["trained_on"]))
                + (f"`{each['row']}`", ours, f"{trained} + {chosen}", word)
            )
        there = [each for each, *_ in beside]
        waiting += [each["task"] for each in source["figures"] if each not in there]
        told = f"Theirs: {source['how']}."
        above = ", ".join(
            dict.fromkeys(each["task"] for each, *_, word in beside if word == "above")
        )
        told += f" The published figure is above our interval on {above}." * bool(above)
        notes.append(f"{number}. {source['name']}. {told}")
    later = ", ".join(dict.fromkeys(waiting))
    head = ("task", "published", "accuracy", "trained on")
    head += ("our row", "ours, 95 % interval, splits", "trained + chosen on", "published is")
    rest = f"\n\nNot run on two counted splits yet: {later}." * bool(later)
    said = [row[-1] for rows in body.values() for row in rows]
    told = f"The published figure is above our interval in {said.count('above')} of {len(said)} "
    told += f"rows of the two tables, and below our interval in {said.count('below')}. "
    told += '"Inside" does not show agreement, because an interval may be wide. "Trained on" '
    told += "counts bags or series."
    checked, unchecked = (table(head, body[which], left=(0, 1, 4, 7)) for which in (True, False))
    unchecked = folded("Figures that we could not compare with their source", unchecked)
    return "\n\n".join([told, checked, unchecked + rest, "\n".join(notes)])


def plain(arena):
    """The verdict in short: where attention helps, what to take, how sure that is."""
    told, those = words.told(), arena.counted.values()
    first = told["first"]
    time = f" An epoch with {words.named(first)} takes {verdict.epoch(arena.counted, first)}."
    attention = [row for row in told["level_with_first"] if _group(row) == "attention"]
    cheap = min([first, *attention], key=lambda row: cost(those, row))
    if cost(those, cheap) < 0.9 * cost(those, first):
        time += f" The cheapest attention that may be as good is {words.named(cheap)}: an "
        time += f"epoch takes {verdict.epoch(arena.counted, cheap)}."
    rivals = {row: each["against_linear"]["word"] for row, each in told["rows"].items()}
    better, worse = ([r for r, word in rivals.items() if word == w] for w in (BETTER, WORSE))
    return (
        f"- **Which pooling to take.** {words.largest(_linked(first))}{time}\n"
        f"- **Where the lead of {words.named(first)} comes from.** {words.origin()} "
        f"{of_series(arena)}\n"
        f"- **Where plain attention helps.** {words.where()}\n"
        "- **If people must see one weight per step**, take "
        f"{_linked(words.PLAIN, words.PLAIN_CALL)}. {words.in_sight()}\n"
        f"- **How sure this is.** {words.surely()} {words.summary()}\n"
        f"- **Linear classifiers.** {words.linear()} Over all sets but series, "
        f"{len(better)} of {len(rivals)} poolings (with the mean) are surely better than the best "
        f"linear classifier, and {len(worse)} poolings are surely worse"
        + f": {words.joined(worse)}" * bool(worse)
        + ". So measure your pooling beside a linear classifier."
    )


def beside_series_method(arena):
    """The published figures of a method for series alone, beside ours of the first row."""
    return [
        each
        for _, those in compared(arena)
        for each in those
        if (each[0]["method"], each[0]["row"]) == (SERIES_METHOD, words.told()["first"])
    ]


def series_in_short(folder):
    """The same in a sentence, for the first screen."""
    beside = beside_series_method(_arena(folder))
    ahead = [
        100 * (each["accuracy"] - mean(counts))
        for each, counts, _, word in beside
        if word == "above"
    ]
    if not ahead:
        return ""
    return (
        f" On {len(ahead)} of {len(beside)} sets of series, the published accuracy of "
        f"{SERIES_METHOD}, a method for series alone, is {min(ahead):.0f} to {max(ahead):.0f} "
        "points above ours."
    )


def of_series(arena, page=""):
    """How series are read, and where a method for series alone is published as better."""
    beside = beside_series_method(arena)
    above = [
        f"{each['task']} ({percent(each['accuracy'])} % against our {percent(mean(counts))} %)"
        for each, counts, _, word in beside
        if word == "above"
    ]
    return (
        f"The poolings read at most {grid.SMALL['steps']} steps of a small series, behind one "
        "layer of convolutions. In longer series each step is the mean of a window."
    ) + (
        f" {SERIES_METHOD} is a method for series alone. Its [published]({page}#published) "
        f"accuracy is above our whole interval on {len(above)} of {len(beside)} sets"
        + f": {words.listed(above)}" * bool(above)
        + "."
    ) * bool(beside)


def _layer(row):
    """A row's layer in the lists of the package, if it is one of the package."""
    return next((each for each in lists.layers() if each.name == row.partition(",")[0]), None)


def _group(row):
    """The group of a row's layer, if it is one of the package."""
    return getattr(_layer(row), "group", None)


def _linked(row, call=""):
    """A row, or a call of its layer, with a link to the layer, if that is one of the package."""
    layer, name = _layer(row), f"`{call}`" if call else words.named(row)
    return f"[{name}]({layer.page})" if layer else name


def start(arena):
    """What to start with, from verdict.json."""
    told = words.told()
    first, (_, _, real) = told["first"], told["origin"].values()
    name, *variant = first.split(", ")
    code = (
        f"```python\nfrom keras_attnpool.layers import {name}\n\n"
        "# before: vector = keras.layers.GlobalAveragePooling1D()(steps)\n"
        f"vector = {name}()(steps)\n```\n\n"
    ) * (not variant)
    return (
        f"**Start with {_linked(first)}.** It has the largest lead over the mean: "
        f"{words.everywhere(first)} points of accuracy. On {real['sets']} sets of real text, "
        f"bags and patches, the lead is {words.spanned(real[first])} points on average."
        f"{words.hint(real[first], 'such data')} Expect less than these averages, because we "
        f"chose this pooling by its lead. [More on this lead](#lead)\n\n{code}"
        "**If people must see one weight per step**, start with "
        f"{_linked(words.PLAIN, words.PLAIN_CALL)}. {words.in_sight()}"
    )


def lead(arena):
    """How far to trust the largest lead."""
    level = words.level().replace("may be as good", "[may be as good](comparison.md#verdict)", 1)
    return (
        f"The lead of {words.named(words.told()['first'])} is a mean over "
        f"{len(words.told()['sets'])} [data sets](comparison.md#kinds). {words.by_chance()} {level}"
        f"\n\n{words.origin()}\n\n{of_series(arena, 'comparison.md')} So on series, also try a "
        "method for series."
    )


def by_kind(arena):
    """A line for each kind of data: what to start with, one weight per step, a linear rival."""
    first, plain, rows, told = words.told()["first"], words.PLAIN, {}, []
    for kind, sets in _by_kind(arena):
        name, none = f"{words.DATA[kind]} ({len(sets.names)})", (math.nan, math.nan)
        each, weight, rival = (sets.lead(row) for row in (first, plain, FLOOR))
        rows[name] = each["points"], each["interval"] or none, rival["points"], weight["points"]
        told.append((words.DATA[kind], words.counts(each), weight["points"] > each["points"]))
    # A classifier far behind the mean would press all others together.
    far = {name: bar for name, (_, _, bar, _) in rows.items() if bar < -20}
    rows = {
        name: (*each[:2], math.nan, each[3]) if name in far else each for name, each in rows.items()
    }
    ends = [end for point, span, *others in rows.values() for end in (point, *span, *others)]
    ends = [end for end in ends if not math.isnan(end)]
    clear, ahead = ([kind for kind, *is_so in told if is_so[place]] for place in (0, 1))
    caption = (
        f"{first} is clearly ahead of the mean on {words.listed(clear) or 'no kind'} only. {plain} "
        f"is ahead of {first} on {words.listed(ahead) or 'no kind'} only. Round: {first}, with its "
        f"95 % interval. Square: {plain}. Bar: the best linear classifier, if there is one"
    )
    for name, bar in far.items():
        caption += f"; on {name} it is at {words.points(bar)}, left of the picture"
    return intervals(
        rows,
        "points ahead of the mean",
        f"{caption}.",
        "; ".join(f"{name} {words.points(each[0])}" for name, each in rows.items()),
        limits=(min(ends) - 1, max(ends) + 1),
        room=230,
        letter=7,
    )


def start_by_kind(arena):
    """Where another pooling is ahead of the first; of each kind of data the largest lead."""
    names, first = _poolings(), words.told()["first"]
    body, small, large, encoders, floors = [], [0.0], [], [], []
    for kind, sets in _by_kind(arena):
        leads = {row: sets.lead(row) for row in words.told()["rows"] if row != BASE}
        ordered = sorted(leads, key=lambda row: -leads[row]["points"])
        most = next(row for row in ordered if row in names)
        # On a phone the interval stands below its lead.
        shown = words.spanned(leads[most]).replace(" (", "<br>(")
        body.append((f"{words.DATA[kind]} ({len(sets.names)})", _linked(most), shown))
        if ordered[0] != most:
            lead = words.points(leads[ordered[0]]["points"])
            encoders.append(f"{words.DATA[kind]} ({words.named(ordered[0])}, {lead})")
        if (floor := sets.lead(FLOOR)["points"]) > leads[ordered[0]]["points"]:
            floors.append(f"{words.DATA[kind]} ({words.points(floor)})")
        gap = sets.lead(most, first)
        if gap["points"] > 100 * verdict.RULE["practical"]:
            ends = [
                100 * (mean(block[most]) - mean(block[first]))
                for (task, _), block in arena.counted.items()
                if grid.kind_of(task) == kind
            ]
            large.append((kind, most, gap, (min(ends), max(ends))))
        else:
            small.append(gap["points"])
    told = f"Keep {words.named(first)} on all kinds of data"
    told += f" except {words.listed([words.DATA[kind] for kind, *_ in large])}" * bool(large)
    told += ": on these kinds, no other pooling without self-attention is more than "
    told += f"{math.ceil(10 * max(small)) / 10:.1f} points ahead of it on average."
    for kind, most, gap, ends in large:
        told += f" On {(words.DATA | words.MADE)[kind]}, {_linked(most)} is {words.spanned(gap)} "
        told += (
            f"points ahead of {words.named(first)}: from {' to '.join(map(words.points, ends))}, "
        )
        told += "by task and encoder. "
        told += f"Try {words.named(most)} on such data."
    if floors:
        told += f" On {words.listed(floors)}, the best linear classifier has a larger lead over "
        told += "the mean than every pooling. The best one is chosen by its accuracy on the test "
        told += "part, so its figure is a little too high."
    notes = "A kind with three or more sets has an interval. *Scalar* means "
    notes += "`per_feature=False`: one weight per step and head instead of one weight per step and "
    notes += "feature. Self-attention with the mean behind it does the work of an encoder, so it "
    notes += "is not in the table."
    notes += f" Self-attention has a larger lead on {words.listed(encoders)}." * bool(encoders)
    notes += " `ConvAttentionPooling` reads windows of words, so it also does a part of the work "
    notes += "of an encoder."
    notes = _shared() + notes
    head = ("data (sets)", "pooling with the largest lead", "its lead")
    return f"{told}\n\n{table(head, body, left=(0, 1))}\n\n{notes}"


def _poolings():
    """The rows that pool: no encoder with the mean behind it."""
    return [row for row in words.told()["rows"] if _group(row) in ("attention", "pooling")]


def two_decide(arena):
    """The accuracy where two instances of a bag decide together."""
    block = arena.counted.get(("bags_two", "dense"))
    if block is None:
        return "*Not run yet.*"
    best, second, *others = sorted(_poolings(), key=lambda row: -mean(block[row]))

    def told(row):
        lead = {"points": 100 * (mean(block[row]) - mean(block[BASE]))}
        lead["interval"] = [100 * end for end in interval(block, row, BASE) or ()]
        return f"{percent(mean(block[row]))} %, {words.spanned(lead)} points ahead of the mean"

    beside = [f"Next is {_linked(second)}: {told(second)}."]
    beside += [f"{_linked(MAXIMUM)} has {told(MAXIMUM)}."] * (MAXIMUM in others)
    return (
        "In the comparison, such a hidden layer stands behind each pooling. The task `bags_two` of "
        "the comparison asks whether a bag has at least two nines. Among the poolings without "
        f"self-attention, {_linked(best)} has the largest accuracy: {told(best)}. "
        f"{' '.join(beside)} Each figure is a mean of {len(block[best])} runs. So try the first "
        "two poolings for such bags. Train each with several seeds, and choose by the accuracy on "
        "validation bags."
    )


def code(row):
    """The calls of a row's runs: one for each size that its tuning tries, others behind a GRU."""
    calls = {}
    for encoder, where in (("minilm", ""), ("gru", "behind a GRU ")):
        for size in range(len(grid.sizes(row))):
            layer, given = grid.arguments(row, size, encoder)
            told = ", ".join(f"{name}={value!r}" for name, value in given.items())
            call = f"{layer.__name__}({told})".replace("'", '"')
            calls.setdefault(call, f"{where}`{call}`")
    return " or ".join(calls.values())


def legend(arena):
    """The code of every row."""
    body = []
    for row in grid.MECHANISMS:
        sees = "a sequence; its mean follows" if row in grid.SEQUENCES else "a vector"
        body.append((row, code(row), sees))
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
        f"{sum(map(words.counts, found.values()))} of {len(found)} intervals lie right of the "
        "band: these leads are clear. Differences within the band count as none. A dot is the mean "
        f"difference over {len(sets.names)} data sets; the line is its 95 % interval.",
        "; ".join(f"{r} {words.points(found[r]['points'])}" for r in arena.rows if r != BASE),
    )


def costs(arena):
    """Mean accuracy over tasks against the time of an epoch."""
    those = arena.counted.values()
    places = {r: (cost(those, r), 100 * each.mean()) for r, each in arena.sets().rows.items()}
    best = [
        row
        for row, (x, at) in places.items()
        if not any(time < x and share > at for time, share in places.values())
    ]
    return chart(
        {row: [place] for row, place in places.items()},
        "processor time of an epoch (the mean's is 1)",
        "mean accuracy over the data sets, %",
        "A dot has a name if no other dot is both faster and more accurate.",
        "; ".join(f"{row} {at:.1f} % at {x:.2f}" for row, (x, at) in places.items()),
        log_x=True,
        ticks=_around([x for x, _ in places.values()]),
        height=300,
        named=best,
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
    parts += [
        "The boxes have the accuracy on the test part in percent. The last rows of each box are "
        "linear classifiers. The sign ° means: each run behind this figure gives one class to all "
        "inputs."
    ]
    for kind in grid.KINDS:
        columns = {key: block for key, block in found.items() if grid.kind_of(key[0]) == kind}
        cells = [
            [row, *(_accuracy(b, row) for b in columns.values())]
            for row in order
            if any(row in b for b in columns.values())
        ]
        if cells:
            inside = table(["row", *(f"{task}, {encoder}" for task, encoder in columns)], cells)
            parts.append(folded(f"Accuracy by task: {words.DATA[kind]}", inside))
    return folded("Rank, p, time, memory and accuracy by task", "\n\n".join(parts))


def _accuracy(block, row):
    """The accuracy of a row, with a mark where all runs gave every input the same class."""
    if row not in block:
        return "–"
    return percent(mean(block[row])) + "°" * all(verdict.one_class(x, block) for x in block[row])


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
    head = f"{len(parts)} tables: one for each task and encoder"
    return folded(head, "\n\n".join(parts))


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
            f"by, {grid.TESTED_ON:,} to test; no text of the test part is in another part",
            f"- **lengths**, in words or pieces of words, where texts are cut: {cut}. TF-IDF reads "
            "whole texts",
            f"- **runs**: seeds {', '.join(map(str, grid.SEEDS))}; small sets have the seeds 0 to "
            f"{grid.SMALL['splits']}. Each seed has its own split and its own first weights. Word "
            "vectors that we train are trained for each seed",
            f"- **tuned**, on the first seed's validation part: {tried}; a second size of the "
            f"mechanism. A mechanism with one size tries the learning rate {grid.SPARE[1]:g} "
            f"instead. The run of the first seed is the best of these trials. It is {gap} points "
            "ahead of the later seeds on average, so no figure of the verdict uses it",
            f"- **training**: Adam, batches of {grid.BATCH} (small sets {grid.SMALL['batch']}), "
            f"gradients clipped to norm {grid.CLIP:g}; it ends after {grid.PATIENCE} epochs (small "
            f"sets {grid.SMALL['patience']}) without a better epoch, or after {grid.MAX_EPOCHS} "
            "epochs",
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
        *(state, advice, plain, start, lead, by_kind, start_by_kind, two_decide, rule, choices),
        *(judgement, kinds, published, legend, diagram, costs, overview, tables, protocol),
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
        f"- {words.of(row)} The runs have {code(row)}."
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
