"""What pages, the command line and README say of the comparison: sentences from `verdict.json`.

Nothing heavy is imported, and no run is read: whoever calls these says what the file says.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

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


def summary() -> str:
    """The verdict in short: which rows are told from the mean of the states, and how surely."""
    rows, choices = told()["rows"], len(told()["choices"])
    better, maybe = rows_that_are("better", "shown"), rows_that_are("better", "suggested")
    whose = f"{joined(better)} {_are(better)}" if better else "No mechanism is"
    said = [
        f"The comparison judges {len(rows)} mechanisms (poolings, and self-attention before a "
        f"mean) on {len(told()['sets'])} sets of data, under {choices} choices of what to count. "
        f"{whose} *shown* to be better than the mean, that is, under every choice."
    ]
    if maybe:
        leads = [
            f"{named(row)} ({points(each['points'])} points, {each['holds']} choices)"
            for row in maybe
            for each in [rows[row]["against_mean"]]
        ]
        said.append(
            f"{listed(leads)} {_are(maybe)} *suggested* to be better: under the declared choice, "
            "but not under every other."
        )
    if worse := rows_that_are("worse", "shown"):
        said.append(f"{joined(worse)} {_are(worse)} shown to be worse.")
    first = told()["first"]
    if level := [row for row in told()["level_with_first"] if row != first]:
        others = f"{len(level)} others" if level[1:] else "one other"
        said.append(f"{named(first)} has the largest lead; {others} may be as good.")
    return " ".join(said)


def situations() -> dict[str, str]:
    """By what is known of the data, what to take, and when the mean is enough."""
    found: dict[str, str] = told()["situations"]
    return found


def of(row: str, against: str = "mean") -> str:
    """What is said of a row: its word, its difference, and in how many choices the word holds."""
    effect = told()["rows"][row][f"against_{against}"]
    other = "the mean" if against == "mean" else "the best linear classifier"
    how = {
        "better": f"better than {other}",
        "equal": f"level with {other}",
        "worse": f"worse than {other}",
        None: f"from {other}",
    }[effect["word"]]
    said = {
        "shown": f"is shown to be {how}",
        "suggested": f"is suggested to be {how}",
        "not told apart": f"is not told apart {how}",
    }[effect["status"]]
    ends = effect["interval"] and " to ".join(map(points, effect["interval"]))
    count = ""
    if effect["status"] == "suggested":
        count = f"; {effect['holds']} of {len(told()['choices'])} choices say so"
    span = f" ({ends})" if ends else ""
    return f"{named(row)} {said}: {points(effect['points'])} points{span}{count}."


def may_be_default(row: str) -> bool:
    """Whether nothing speaks against a row as a default.

    It is not told apart from the row with the largest lead, and no word says that it is worse than
    the mean.
    """
    effect = told()["rows"][row].get("against_mean", {})
    return row in told()["level_with_first"] and effect.get("word") != "worse"


def _are(names: list[str]) -> str:
    return "are" if names[1:] else "is"
