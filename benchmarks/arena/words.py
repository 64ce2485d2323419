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
    """The verdict in short: which poolings are told from the mean of the states, and how surely."""
    choices = len(told()["choices"])
    over = (
        f"The comparison judges every pooling on {len(told()['sets'])} sets of data, and does so "
        f"{choices} times: once by the declared rule, and again with another choice each time, "
        "such as one set, encoder or seed left out"
    )
    better, maybe = rows_that_are("better", "shown"), rows_that_are("better", "suggested")
    whose = f"{joined(better)} {_are(better)}" if better else "no pooling is"
    said = [f"{over}. A lead is *shown* if all choices give it, and *suggested* if the declared"]
    said.append(f"rule gives it, but some other choice does not. Over all sets {whose} shown to be")
    said.append("better than the mean; on single sets some are.")
    if maybe:
        effects = {row: told()["rows"][row]["against_mean"] for row in maybe}
        leads = [
            f"{named(row)} ({points(each['points'])} points, {each['holds']} of {choices} choices)"
            for row, each in effects.items()
        ]
        said.append(f"{listed(leads)} {_are(maybe)} suggested to be better.")
    worse = rows_that_are("worse", "shown")
    if worse:
        said.append(f"{joined(worse)} {_are(worse)} shown to be worse.")
    level = [row for row in told()["level_with_first"] if row != told()["first"]]
    first = told()["first"]
    if level:
        others = "one other" if level[1:] == [] else f"{len(level)} others"
        said.append(f"`{first}` has the largest lead; the data do not tell {others} apart from it.")
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
