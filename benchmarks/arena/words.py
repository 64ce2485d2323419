"""What pages, the command line and README say of the comparison: sentences from `verdict.json`.

Nothing heavy is imported, and no run is read: whoever calls these says what the file says.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

# Attention in its plainest form, with a gate, and the rows with one weight per step and head.
PLAIN = "AttentionPooling"
GATED = f"{PLAIN}, gated"
PER_HEAD = ("LearnedQueryPooling", "StructuredSelfAttentionPooling", "GeneralizedPooling, scalar")
PER_HEAD += ("LowRankAttentionPooling", "LowRankAttentionPooling, learned scale")
WINDOWS = "ConvAttentionPooling"
# What sentences and tables call the kinds of data.
DATA = {
    "few words decide": "generated texts",
    "sentences": "sentences",
    "documents": "documents",
    "pairs": "pairs of texts",
    "bags": "bags",
    "series": "series",
    "patches": "patches of 8 x 8 digits",
}
FILE = Path(__file__).parents[1] / "results" / "arena" / "verdict.json"


@cache
def told() -> dict[str, Any]:
    """The file."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def points(value: float) -> str:
    """A difference in points, with its sign; zero has none."""
    return f"{value:+.1f}".replace("-", "\N{MINUS SIGN}") if round(value, 1) else "0.0"


def end(value: float) -> str:
    """An end of an interval; with a second digit where it would look like zero."""
    shown = points(value)
    return shown if shown != "0.0" else f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def spanned(effect: dict[str, Any]) -> str:
    """A lead in points, with its interval if there is one."""
    ends = effect["interval"] and " to ".join(map(end, effect["interval"]))
    return points(effect["points"]) + f" ({ends})" * bool(ends)


def counts(lead: dict[str, Any]) -> bool:
    """Whether a lead counts: its whole interval is above the differences that count as none."""
    return bool(lead["interval"]) and lead["interval"][0] > 100 * told()["practical"]


def named(row: str) -> str:
    """A row as a sentence has it: the variant of a layer stands in brackets."""
    layer, _, variant = row.partition(", ")
    return f"`{layer}`" + f" ({variant})" * bool(variant)


def joined(rows: list[str]) -> str:
    """Rows as a sentence has them."""
    return listed([named(row) for row in rows])


def listed(words: list[str]) -> str:
    """Words with commas, and "and" before the last."""
    return " and ".join([*([", ".join(words[:-1])] if words[1:] else []), *words[-1:]])


def rows_that_are(word: str, status: str) -> list[str]:
    """The rows that are "better", "equal" or "worse" than the mean, as published with a status."""
    return [
        row
        for row, each in told()["rows"].items()
        if (effect := each.get("against_mean"))
        and (effect["word"], effect["status"]) == (word, status)
    ]


def everywhere(row: str) -> str:
    """The lead of a row on the mean over all sets, with its interval."""
    return spanned(told()["rows"][row]["against_mean"])


def sets(count: int) -> str:
    """So many sets."""
    return f"{count} set{'s' * (count != 1)}"


def region() -> str:
    """The difference below which none is counted."""
    return f"{100 * told()['practical']:g} point"


def where() -> str:
    """The kinds of data on which the plain attention is least and most ahead of the mean."""
    found = told()["kinds"]
    kinds = sorted(found, key=lambda kind: found[kind][PLAIN]["points"])
    made = {"few words decide": "texts that we generated so that few words decide"}
    low, high = (
        f"{points(found[kind][PLAIN]['points'])} "
        f"({sets(found[kind]['sets'])} of {(DATA | made)[kind]})"
        for kind in (kinds[0], kinds[-1])
    )
    *_, real = told()["origin"].values()
    return (
        f"Over all {len(told()['sets'])} sets of data `{PLAIN}` is {everywhere(PLAIN)} points of "
        f"accuracy ahead of the mean. By kind of data the lead goes from {low} to {high}. On the "
        f"{real['sets']} sets of real data that are not small series, the lead is "
        f"{spanned(real[PLAIN])}."
    )


def origin() -> str:
    """Where the largest lead comes from: the small series, and other real data."""
    small, others, real = told()["origin"].values()
    most, least = (each[told()["first"]] for each in (small, real))
    level = f": the interval reaches below {region()}, so the mean may be "
    level = (level + "as good") * bool(least["interval"] and not counts(least))
    return (
        f"On the {small['sets']} small series (all series but `digits`) the lead is "
        f"{spanned(most)} points. On the {real['sets']} other sets of real data the lead is "
        f"{spanned(least)} points{level}. The "
        f"other {sets(others['sets'] - real['sets'])} are texts that we generated (one set has "
        "pairs)."
    )


def summary() -> str:
    """In how many judgements the first row is surely better than the mean."""
    count = len(told()["choices"])
    others = sum("against_mean" in row for row in told()["rows"].values())
    return (
        f"{others} poolings were judged {count} times each against the mean. {judged()}"
        + f" No pooling is surely better in all {count}." * (not rows_that_are("better", "shown"))
    )


def judged() -> str:
    """What a judgement is, and in which the first row is not surely better than the mean."""
    first, count = told()["first"], len(told()["choices"])
    effect, small = told()["rows"][first]["against_mean"], told()["without_small_series"]
    said = "A judgement repeats the test of a lead with at most one choice changed, for example "
    said += "without one set. "
    if effect["word"] != "better":
        return said + f"{named(first)} is not surely better than the mean."
    said += f"{named(first)} is surely better than the mean in {effect['holds']} of {count} "
    said += "judgements, which share most of their runs."
    if not effect["breaks"]:
        return said
    if effect["breaks"] != small:
        return f"{said} The others are: {'; '.join(effect['breaks'])}."
    series, *_ = told()["origin"].values()
    return (
        f"{said} The other {len(small)} judgements are those without the {series['sets']} small "
        "series. So the verdict rests on these series."
    )


def linear() -> str:
    """In how many cases a linear classifier is as good as the poolings can show."""
    lost, count = told()["behind_linear"]
    return (
        f"In {lost} of {count} cases no pooling is shown to be better than the best linear "
        "classifier. A case is a task behind one encoder, for example the questions of TREC behind "
        "a GRU. Series are left out: a linear classifier does not see their order."
    )


def largest(name: str = "") -> str:
    """The row with the largest lead on the mean, and how many may be as good."""
    first, of = told()["first"], len(told()["rows"])
    others = len(told()["level_with_first"]) - 1
    return (
        f"{name or named(first)} has the largest lead on the mean: {everywhere(first)} points of "
        f"accuracy over {sets(len(told()['sets']))} of data. The brackets hold the 95 % interval. "
        f"A lead *counts* if its whole interval is above {region()}. {by_chance()} "
        f"{named(first)} is not surely better than {others or 'any'} of the {of - 1} others."
    )


def by_chance() -> str:
    """What to expect of the first row."""
    count = len(told()["rows"]) - 1
    return f"The largest of {count} leads is partly chance, so expect a smaller lead."


def in_sight() -> str:
    """What is said of the plain attention, and of others with one weight per step."""
    level = ", so the mean may be as good" * (not counts(told()["rows"][PLAIN]["against_mean"]))
    heads = next(row for row in told()["rows"] if row in PER_HEAD)
    layer = named(heads).replace("` (scalar)", "(per_feature=False)`")
    return (
        f"Its lead on the mean is {everywhere(PLAIN)} points{level}. The lead of its gated form is "
        f"{everywhere(GATED)} points. One weight per step may cost accuracy: the lead of "
        f"{named(told()['first'])} on `{PLAIN}` is {spanned(told()['first_ahead_of'][PLAIN])} "
        f"points. Some layers have one weight per step *and head*. Of these layers {layer} has "
        f"the largest lead on the mean, {everywhere(heads)} points. `{WINDOWS}` is left out here: "
        "it reads windows of steps."
    )


def of(row: str) -> str:
    """What is said of a row: its word, its difference, and in how many choices the word holds."""
    effect, count = told()["rows"][row]["against_mean"], len(told()["choices"])
    how = f"surely {effect['word']} than the mean".replace("equal than", "level with")
    if effect["word"] is None:
        how = "neither surely better nor surely worse than the mean"
    elif effect["status"] == "shown":
        how += f" in all {count} judgements"
    else:
        how += f" in {effect['holds']} of {count} judgements"
    return f"{named(row)} is {how}: {spanned(effect)} points."


def may_be_default(row: str) -> bool:
    """Whether nothing speaks against a row as a default.

    It may be as good as the row with the largest lead, and no word says that it is worse than
    the mean.
    """
    effect = told()["rows"][row].get("against_mean", {})
    return row in told()["level_with_first"] and effect.get("word") != "worse"
