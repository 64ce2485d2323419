"""What the runs of two rows tell of their difference: paired intervals and verdicts.

NumPy alone, for the documentation is built from it too.
"""

import base64
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Judged:
    """A claim that one row is better than another, and what the runs say of it.

    Args:
        better: The row that is said to be ahead.
        worse: The other one.
        words: The claim.
        paper: The paper's difference on its own data, if it has one.
        difference: Ours.
        interval: Its 95 % interval.
        paired: Whether the interval is of the same test items.
        verdict: What it comes to.
    """

    better: str
    worse: str
    words: str
    paper: float | None
    difference: float
    interval: tuple[float, float]
    paired: bool
    verdict: str


def judged(results: dict[str, Any]) -> Iterator[Judged]:
    """The claims of a results file whose rows were measured.

    A claim is `[better, worse, words, distance]`; the distance is the paper's on its own data,
    `None` for the difference of the paper's figures of the two rows, `False` where the paper has
    none although both rows have figures.
    """
    rows = results["rows"]
    for better, worse, words, distance in results.get("claims", ()):
        if better not in rows or worse not in rows:
            continue
        both = [rows[name] for name in (better, worse)]
        papers = [row["paper"] for row in both]
        if distance is None and None not in papers:
            distance = papers[0] - papers[1]
        paper = None if distance is False else distance
        interval, paired = interval_of(results, better, worse)
        # What another seed would do is not in the interval of a single run.
        once = any(len(row["runs"]) == 1 and "optimizer" in row["config"] for row in both)
        words_of_it = verdict(interval, paper) + ", by one run" * once
        difference = mean(results, better) - mean(results, worse)
        yield Judged(better, worse, words, paper, difference, interval, paired, words_of_it)


def mean(results: dict[str, Any], name: str) -> float:
    """The mean over a row's runs of what the file measures, as a share."""
    return results["rows"][name]["summary"][f"test_{results['measure']}"]["mean"]


def standard_error(results: dict[str, Any], name: str) -> float:
    """Standard error of a row's mean: of the test sample, and of the runs.

    Of an accuracy p it is that of a share; of a correlation r about (1 - r^2) / sqrt(n). F1 is
    2 t / (2 t + e), with the shares t of the positives found and e of the errors: its variance is
    4 t e (t + e) / (n (2 t + e)^4), by the delta method. Each fold has test items of its own.
    """
    row, value, measure = results["rows"][name], mean(results, name), results["measure"]
    variance = (1 - value**2) ** 2 if measure == "pearson" else value * (1 - value)
    errors = 1 - row["summary"]["test_accuracy"]["mean"] if measure == "f1" else 0
    if errors and value < 1:
        hits = errors * value / (2 * (1 - value))
        variance = 4 * hits * errors * (hits + errors) / (2 * hits + errors) ** 4
    spread_of_runs, runs = row["summary"][f"test_{measure}"]["std"], len(row["runs"])
    items = results["test_examples"] * (runs if results.get("folded") else 1)
    return math.sqrt(variance / items + spread_of_runs**2 / runs)


def rights(results: dict[str, Any], row: str) -> dict[int, np.ndarray]:
    """Which test items each run of a row had right, by seed; runs that did not keep it are out."""
    flags = {}
    for run in results["rows"][row]["runs"]:
        if "correct" in run:
            bits = np.unpackbits(np.frombuffer(base64.b64decode(run["correct"]), np.uint8))
            flags[run["seed"]] = bits[: results["test_examples"]].astype(float)
    return flags


def paired_interval(
    results: dict[str, Any], better: str, worse: str, draws: int = 2000
) -> tuple[float, float] | None:
    """The 95 % interval of a difference of accuracies, or `None`; by paired bootstrap.

    Test items are drawn anew, each with both models' answers, and so are the runs of either model:
    a difference that another seed would turn around is none. Folds have items of their own and are
    drawn in pairs. A run that kept no answers takes part by its accuracy; `None` where a row has no
    run that kept them, or folds are missing.
    """
    answers = [rights(results, row) for row in (better, worse)]
    if results["measure"] != "accuracy" or not all(answers):
        return None
    reached = [
        {run["seed"]: run["test_accuracy"] for run in results["rows"][row]["runs"]}
        for row in (better, worse)
    ]
    rng = np.random.default_rng(0)
    if results.get("folded"):
        kept = [fold for fold in answers[0] if fold in answers[1]]
        if set(reached[0]) != set(reached[1]) or not kept:
            return None
        noise = sum(
            _drawn(rng, (answers[0][fold] - answers[1][fold])[None], draws)[:, 0] for fold in kept
        ) / math.sqrt(len(kept) * len(reached[0]))
        leads = [reached[0][fold] - reached[1][fold] for fold in reached[0]]
        differences = _average(rng, leads, draws) + noise
    else:
        runs = np.stack([*answers[0].values(), *answers[1].values()])
        noise = _drawn(rng, runs, draws)
        first = len(answers[0])
        differences = noise[:, :first].mean(axis=1) - noise[:, first:].mean(axis=1)
        differences += _average(rng, list(reached[0].values()), draws)
        differences -= _average(rng, list(reached[1].values()), draws)
    return tuple(float(each) for each in np.quantile(differences, (0.025, 0.975)))


def _drawn(rng: np.random.Generator, runs: np.ndarray, draws: int) -> np.ndarray:
    """How far the mean of each run moves when its items are drawn anew: `(draws, runs)`."""
    # Few patterns of answers occur: how often each is drawn is all that counts.
    patterns, counts = np.unique(runs, axis=1, return_counts=True)
    total = counts.sum()
    drawn = rng.multinomial(total, counts / total, size=draws) @ patterns.T / total
    return drawn - runs.mean(axis=1)


def _average(rng: np.random.Generator, values: Any, draws: int) -> np.ndarray:
    """The mean of the runs, drawn anew: `(draws,)`.

    Three values drawn from themselves spread too little; the factor makes up for it.
    """
    runs = len(values)
    if runs == 1:
        return np.full(draws, values[0])
    mean = np.mean(values)
    moves = rng.multinomial(runs, [1 / runs] * runs, size=draws) @ (values - mean) / runs
    return mean + math.sqrt(runs / (runs - 1)) * moves


def interval_of(
    results: dict[str, Any], better: str, worse: str
) -> tuple[tuple[float, float], bool]:
    """The 95 % interval of a difference, and whether it is paired.

    Where it cannot be, it is the difference and twice its standard error to either side.
    """
    interval = paired_interval(results, better, worse)
    if interval is not None:
        return interval, True
    difference = mean(results, better) - mean(results, worse)
    error = math.hypot(standard_error(results, better), standard_error(results, worse))
    return (difference - 2 * error, difference + 2 * error), False


def verdict(interval: tuple[float, float], paper: float | None) -> str:
    """What an interval says of the order that the paper has, and of the paper's distance.

    The paper's order is that of its difference; without one it is that of the claim. Where the
    paper's difference is not even inside the interval, its distance is refuted.
    """
    low, high = interval
    if paper is not None and paper < 0:
        (low, high), paper = (-high, -low), -paper
    if high < 0:
        return "**reversed**"
    words = "holds" if low > 0 else "too close to call"
    return f"{words}{SMALLER}" if paper is not None and paper > high else words


SMALLER = ", but not by the paper's distance"


def graded(results: dict[str, Any], row: str, attribution: str = "attention") -> np.ndarray:
    """Normalized AOPC of each run and test text, `(runs, texts)`, NaN where a text has none."""
    kept = [run["naopc_per_text"][attribution] for run in results["rows"][row]["runs"]]
    return np.stack([np.frombuffer(base64.b64decode(text), "<f2") for text in kept]).astype(float)


def graded_interval(
    first: np.ndarray, second: np.ndarray | None = None, draws: int = 2000
) -> tuple[float, float]:
    """The 95 % interval of a mean of `graded`, or of the difference of two, by bootstrap.

    Texts are drawn anew, each with the grades of both, and so are the runs of either.
    """
    rng = np.random.default_rng(0)
    sides = [first] if second is None else [first, second]
    known = np.all([~np.isnan(side).all(axis=0) for side in sides], axis=0)
    values = [np.nanmean(side[:, known], axis=0) for side in sides]
    each = values[0] if second is None else values[0] - values[1]
    shares = rng.multinomial(len(each), np.full(len(each), 1 / len(each)), size=draws)
    drawn = shares @ each / len(each) - each.mean()
    for sign, side in zip((1, -1), sides, strict=False):
        drawn += sign * _average(rng, np.nanmean(side, axis=1), draws)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)
