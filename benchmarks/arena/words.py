"""What pages, the command line and README say of the comparison: sentences from `verdict.json`.

Nothing heavy is imported, and no run is read: whoever calls these says what the file says.
"""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

# Attention in its plainest form, and with a gate.
PLAIN = "AttentionPooling"
GATED = f"{PLAIN}, gated"
# The hidden layers of its runs; by default it has none.
HIDDEN = (100, 300)
PLAIN_CALL = f"{PLAIN}(hidden_dim={HIDDEN[0]})"
# Arguments that a row's name hides, where the layer's default is another one.
HIDES = {"ConvMultiHeadAttention": "parallel=False", "SequentialAttention": 'mode="pointwise"'}
KERAS = "keras.layers.MultiHeadAttention"
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
MADE = {"few words decide": "texts that we generated so that few words decide"}
RULE = tomllib.loads(Path(__file__).with_name("rule.toml").read_text(encoding="utf-8"))
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
    """An end of an interval; with more digits where one digit would hide its side of zero."""
    digits = next((n for n in (1, 2) if round(value, n)), 3)
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def spanned(effect: dict[str, Any]) -> str:
    """A lead in points, with its interval if there is one."""
    ends = effect["interval"] and " to ".join(map(end, effect["interval"]))
    return points(effect["points"]) + f" ({ends})" * bool(ends)


def counts(lead: dict[str, Any]) -> bool:
    """Whether a lead counts: its whole interval is above the differences that count as none."""
    return bool(lead["interval"]) and lead["interval"][0] > 100 * RULE["practical"]


def hint(lead: dict[str, Any], those: str) -> str:
    """A sentence on a lead that has an interval and is not clear."""
    said = f" On {those}, the mean may be as good, because the interval reaches below {region()}."
    return said * bool(lead["interval"] and not counts(lead))


def barely(lead: dict[str, Any]) -> str:
    """A sentence on a lead that other draws of the bootstrap may not call clear."""
    near = counts(lead) and lead["interval"][0] < 100 * RULE["practical"] + 0.1
    return f" This lead is only just clear: its interval begins at {region()}." * near


def named(row: str) -> str:
    """A row as a sentence has it: the variant of a layer, or what its name hides, in brackets."""
    layer, _, variant = row.partition(", ")
    hidden = f"({HIDES[row]})" if row in HIDES else ""
    return f"`{layer}{hidden}`" + f" ({variant})" * bool(variant)


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
    """The lead of a row over the mean on all sets, with its interval."""
    return spanned(told()["rows"][row]["against_mean"])


def sets(count: int) -> str:
    """So many sets."""
    return f"{count} set{'s' * (count != 1)}"


def surely() -> str:
    """What the word means."""
    return (
        f"*Surely better* means: the probability of a lead above {region()} is at least "
        f"{RULE['certain']:g}."
    )


def region() -> str:
    """The difference below which none is counted."""
    return f"{100 * RULE['practical']:g} point"


def where() -> str:
    """The kinds of data on which the plain attention is least and most ahead of the mean."""
    found = told()["kinds"]
    kinds = sorted(found, key=lambda kind: found[kind][PLAIN]["points"])
    low, high = (
        f"{points(found[kind][PLAIN]['points'])} "
        f"({sets(found[kind]['sets'])} of {(DATA | MADE)[kind]})"
        for kind in (kinds[0], kinds[-1])
    )
    *_, real = told()["origin"].values()
    return (
        f"On all {len(told()['sets'])} data sets `{PLAIN}` is {everywhere(PLAIN)} points of "
        f"accuracy ahead of the mean. By kind of data the lead goes from {low} to {high}. "
        f"Without the generated sets and without the sets that have only series, the lead is "
        f"{spanned(real[PLAIN])}."
    )


def origin() -> str:
    """Where the largest lead comes from, with the sets that are not real."""
    generated = {*RULE["choices"]["generated"]}
    made = [
        f"`{name}`"
        for name, blocks in told()["sets"].items()
        if {block.split(" (")[0] for block in blocks} <= generated
    ]
    return f"{by_origin()} We generated the texts of the other {sets(len(made))}: {listed(made)}."


def by_origin() -> str:
    """The largest lead on the small series, and on other real data."""
    small, _, real = told()["origin"].values()
    most, least = (each[told()["first"]] for each in (small, real))
    return (
        f"On the {small['sets']} sets that have only series, the lead is {spanned(most)} points. "
        f"On the {real['sets']} other sets of real data, the lead is {spanned(least)} "
        f"points.{hint(least, 'these sets')}"
    )


def summary() -> str:
    """In how many tests the first row is surely better than the mean."""
    count = len(told()["choices"])
    return judged() + f" No pooling is surely better than the mean in all {count} tests." * (
        not rows_that_are("better", "shown")
    )


def judged() -> str:
    """How often the largest lead was tested, and in which tests it is not sure."""
    first, count = told()["first"], len(told()["choices"])
    effect, small = told()["rows"][first]["against_mean"], told()["without_small_series"]
    said = f"We tested the lead of {named(first)} {count} times, each time with other choices, for "
    said += "example without one set. The tests share most of their runs. "
    if effect["word"] != "better":
        return said + "The lead is not sure."
    said += f"The pooling is surely better than the mean in {effect['holds']} of these tests"
    if not effect["breaks"]:
        return f"{said}."
    if effect["breaks"] != small:
        return f"{said}. The other tests are: {'; '.join(effect['breaks'])}."
    series, *_ = told()["origin"].values()
    return (
        f"{said}. The other {len(small)} tests do not use the {series['sets']} sets that have only "
        "series."
    )


def linear() -> str:
    """In how many cases a linear classifier is as good as the poolings can show."""
    lost, count = told()["behind_linear"]
    return (
        "A case is, for example, the questions of TREC behind a GRU: one task and one encoder. In "
        f"{lost} of {count} cases, no pooling is shown to be better than the best linear "
        "classifier. Series do not count: a linear classifier does not see the order of the steps."
    )


def largest(name: str = "") -> str:
    """The row with the largest lead over the mean, and how many may be as good."""
    first = told()["first"]
    return (
        f"{name or named(first)} has the largest lead over the mean: {everywhere(first)} points of "
        f"accuracy on {len(told()['sets'])} data sets. {by_chance()} {level()} The brackets hold "
        "the 95 % interval."
    )


def by_chance() -> str:
    """What to expect of the first row."""
    lead = points(told()["rows"][told()["first"]]["against_mean"]["points"])
    leads = len(told()["rows"]) - 1
    return f"The largest of {leads} leads is partly chance, so expect less than {lead} points."


def level() -> str:
    """How many others may be as good as the first row."""
    _, *others = told()["level_with_first"]
    said = f"By a rank test, {len(others) or 'none'} of the other {len(told()['rows']) - 2} "
    said += "poolings may be as good."
    if KERAS not in others:
        return said
    sure = counts(told()["rows"][KERAS]["against_mean"])
    return (
        f"{said} One of them is Keras's own `{KERAS.rpartition('.')[2]}`, followed by the mean. "
        f"Its lead over the mean is {'only ' * (not sure)}{everywhere(KERAS)} points."
    )


def in_sight() -> str:
    """What is said of the plain attention."""
    lead, ahead = told()["rows"][PLAIN]["against_mean"], told()["first_ahead_of"][PLAIN]
    return (
        f"With a hidden layer of {' or '.join(map(str, HIDDEN))} units, the lead of `{PLAIN}` over "
        f"the mean is {spanned(lead)} points."
        f"{hint(lead, 'all sets together')} {named(told()['first'])} is "
        f"{'clearly ' * counts(ahead)}ahead of `{PLAIN}`: {spanned(ahead)} points.{barely(ahead)}"
    )


def of(row: str) -> str:
    """What is said of a row: its word, its difference, and in how many choices the word holds."""
    effect, count = told()["rows"][row]["against_mean"], len(told()["choices"])
    how = f"surely {effect['word']} than the mean".replace("equal than", "level with")
    if effect["word"] is None:
        how = "neither surely better nor surely worse than the mean"
    elif effect["status"] == "shown":
        how += f" in all {count} tests"
    else:
        how += f" in {effect['holds']} of {count} tests"
    return f"{named(row)} is {how}: {spanned(effect)} points."


def may_be_default(row: str) -> bool:
    """Whether nothing speaks against a row as a default.

    It may be as good as the row with the largest lead, and no word says that it is worse than
    the mean.
    """
    effect = told()["rows"][row].get("against_mean", {})
    return row in told()["level_with_first"] and effect.get("word") != "worse"
