"""What pages, the command line and README say of the comparison: sentences from `verdict.json`.

Nothing heavy is imported, and no run is read: whoever calls these says what the file says.
"""

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

# Attention in its plainest form, and how a sentence names a kind of data.
PLAIN = "AttentionPooling"
PLACES = {
    "few words decide": "where few words decide (generated texts)",
    "sentences": "on sentences",
    "documents": "on documents",
    "pairs": "on pairs of texts",
    "bags": "on bags",
    "series": "on series",
    "patches": "on patches of pictures",
}
FILE = Path(__file__).parents[1] / "results" / "arena" / "verdict.json"


@cache
def told() -> dict[str, Any]:
    """The file."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def points(value: float) -> str:
    """A difference in points, with its sign; that of nothing is a plus."""
    return f"{round(value, 1) + 0.0:+.1f}".replace("-", "\N{MINUS SIGN}")


def named(row: str) -> str:
    """A row as a sentence has it: the variant of a layer stands in brackets."""
    layer, _, variant = row.partition(", ")
    return f"`{layer}`" + f" ({variant})" * bool(variant)


def joined(names: list[str], last: str = "and") -> str:
    """Rows as a sentence has them."""
    return listed([named(name) for name in names], last)


def listed(words: list[str], last: str = "and") -> str:
    """Words with commas, and one before the last."""
    return f" {last} ".join([*([", ".join(words[:-1])] if words[1:] else []), *words[-1:]])


def rows_that_are(word: str, status: str, against: str = "mean") -> list[str]:
    """The rows with a word ("better", "equal", "worse") and how it is published."""
    return [
        row
        for row, each in told()["rows"].items()
        if (effect := each.get(f"against_{against}"))
        and (effect["word"], effect["status"]) == (word, status)
    ]


def where() -> str:
    """Where the plain attention gains most over the mean, and where least."""
    gains: dict[str, float] = told()["gains"]
    best, worst = max(gains, key=gains.__getitem__), min(gains, key=gains.__getitem__)
    verb = "loses most" if gains[worst] < 0 else "gains least"
    rule = tomllib.loads(Path(__file__).with_name("rule.toml").read_text(encoding="utf-8"))
    parts = [[block.partition(" (")[0] for block in each] for each in told()["sets"].values()]
    many = {
        kind: sum(not set(part).isdisjoint(rule["kinds"][kind]) for part in parts)
        for kind in (best, worst)
    }
    few = " Fewer than three sets give no interval." * (min(many.values()) < 3)
    return (
        f"`{PLAIN}` gains most {PLACES[best]}: {points(gains[best])} points of accuracy over the "
        f"mean ({many[best]} sets). It {verb} {PLACES[worst]}: {points(gains[worst])} points "
        f"({many[worst]} sets).{few}"
    )


def summary() -> str:
    """How sure it is that a pooling is better than the mean, and than the other poolings."""
    rows, count = told()["rows"], len(told()["choices"])
    said = [
        f"{len(rows)} poolings were compared on {len(told()['sets'])} sets of data. Each pooling "
        f"was judged {count} times: for example without one of the sets, or with one encoder alone."
    ]
    if maybe := rows_that_are("better", "suggested"):
        leads = [
            f"{named(row)} ({points(each['points'])} points)%s in {each['holds']}%s"
            for row in maybe
            for each in [rows[row]["against_mean"]]
        ]
        leads[0] %= " is surely better than the mean", f" of {count} judgements"
        breaks = [
            re.sub(r"^(\w+ alone)$", r"with the encoder \1", each)
            for each in rows[maybe[0]]["against_mean"]["breaks"]
        ]
        said.append(", ".join(leads).replace("%s", "") + ".")
        said.append(
            f"In {len(breaks)} judgements {named(maybe[0])} is not surely better: "
            f"{'; '.join(breaks)}."
        )
    for word in ("better", "worse"):
        if whose := rows_that_are(word, "shown"):
            said.append(f"Surely {word} than the mean in every judgement: {joined(whose)}.")
        elif word == "better":
            said.append("No pooling is surely better than the mean in every judgement.")
    return " ".join(said)


def largest(name: str = "") -> str:
    """The row with the largest lead on the mean, and how many may be as good."""
    first = told()["first"]
    lead = told()["rows"][first]["against_mean"]["points"]
    said = f"{name or named(first)} has the largest lead on the mean, {points(lead)} points"
    said += f" over {len(told()['sets'])} sets of data"
    others = len(told()["level_with_first"]) - 1
    return said + f"; {others or 'no'} other{'s' * (others != 1)} may be as good."


def situations() -> dict[str, str]:
    """By what is known of the data, what to take, and when the mean is enough."""
    found: dict[str, str] = told()["situations"]
    return found


def of(row: str, against: str = "mean") -> str:
    """What is said of a row: its word, its difference, and in how many choices the word holds."""
    effect, count = told()["rows"][row][f"against_{against}"], len(told()["choices"])
    other = "the mean" if against == "mean" else "the best linear classifier"
    how = f"surely {effect['word']} than {other}".replace("equal than", "level with")
    if effect["word"] is None:
        how = f"neither surely better nor surely worse than {other}"
    elif effect["status"] == "shown":
        how += f" in all {count} judgements"
    else:
        how += f" in {effect['holds']} of {count} judgements"
    ends = effect["interval"] and " to ".join(map(points, effect["interval"]))
    return (
        f"{named(row)} is {how}: {points(effect['points'])} points"
        + f" ({ends})" * bool(ends)
        + "."
    )


def may_be_default(row: str) -> bool:
    """Whether nothing speaks against a row as a default.

    It may be as good as the row with the largest lead, and no word says that it is worse than
    the mean.
    """
    effect = told()["rows"][row].get("against_mean", {})
    return row in told()["level_with_first"] and effect.get("word") != "worse"
