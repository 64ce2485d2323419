"""What the runs of two rows tell of their difference: paired intervals and verdicts.

NumPy alone, for the documentation is built from it too.
"""

import base64
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.intervals import moves


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
        word: What it comes to.
        once: Whether one of the rows has a single run: what another seed would do is unknown.
        apart: Whether no backend ran both rows.
    """

    better: str
    worse: str
    words: str
    paper: float | None
    difference: float
    interval: tuple[float, float]
    paired: bool
    word: str
    once: bool
    apart: bool

    @property
    def verdict(self) -> str:
        """The word, and how much it stands on."""
        return self.word + ", by one run" * self.once

    @property
    def span(self) -> str:
        """The interval in points, with its marks."""
        return marked(self.interval, self.paired, self.apart)


# Marks of an interval: it is not of the same test items; the rows ran on different backends.
UNPAIRED, APART = " †", " ‡"


def marked(interval: tuple[float, float], paired: bool, apart: bool) -> str:
    """An interval in points, with its marks."""
    return spanned(interval) + UNPAIRED * (not paired) + APART * apart


def backends_of(results: dict[str, Any], row: str) -> set[str]:
    """The backends of a row's runs: none for a linear classifier, which has no optimizer."""
    entry = results["rows"][row]
    default = results.get("versions", {}).get("backend", "")
    runs = entry["runs"] if "optimizer" in entry["config"] else ()
    return {run.get("backend", default) for run in runs}


def ran_apart(results: dict[str, Any], *rows: str) -> bool:
    """Whether two rows of networks have no backend in common."""
    one, other = (backends_of(results, row) for row in rows)
    return bool(one and other) and not one & other


def points(value: float) -> str:
    """A difference of shares in points, with its sign."""
    return f"{100 * value:+.1f}".replace("-", "−")


def spanned(interval: tuple[float, float]) -> str:
    """An interval in points; an end that would be written as zero has a digit more."""
    near = (abs(end) < 5e-4 for end in interval)
    low, high = (
        f"{100 * end:+.2f}".replace("-", "−") if zero else points(end)
        for end, zero in zip(interval, near, strict=True)
    )
    return f"{low} to {high}"


def printed(value: float) -> str:
    """A paper's difference in points, with its second decimal if there is one."""
    return f"{100 * value:+.2f}".removesuffix("0").replace("-", "−")


def judged(results: dict[str, Any]) -> Iterator[Judged]:
    """The claims of a results file whose rows were measured.

    A claim is `[better, worse, words, distance]`; the distance is the paper's on its own data, or
    `None`. A row of `idle` is trained like another one, so it tells nothing.
    """
    rows, idle = results["rows"], results.get("idle", {})
    for better, worse, words, distance in results.get("claims", ()):
        if better not in rows or worse not in rows or better in idle or worse in idle:
            continue
        both = [rows[name] for name in (better, worse)]
        interval, paired = interval_of(results, better, worse)
        once = any(len(row["runs"]) == 1 and "optimizer" in row["config"] for row in both)
        difference = mean(results, better) - mean(results, worse)
        found = difference, interval, paired, verdict(interval, distance), once
        yield Judged(better, worse, words, distance, *found, ran_apart(results, better, worse))


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


# What a run kept of its test items, by what the file measures.
KEPT = {"accuracy": "correct", "f1": "correct", "pearson": "grades"}


def answers(results: dict[str, Any], row: str) -> dict[int, np.ndarray]:
    """What each run of a row kept of its test items, by seed; runs that kept nothing are out.

    Which items it had right, 0 or 1, or the grade that it gave each.
    """
    kept = KEPT[results["measure"]]
    read = {run["seed"]: run[kept] for run in results["rows"][row]["runs"] if kept in run}
    return {seed: _read(text, kept, results["test_examples"]) for seed, text in read.items()}


def _read(text: str, kept: str, items: int) -> np.ndarray:
    content = base64.b64decode(text)
    if kept == "grades":
        return np.frombuffer(content, "<f2").astype(float)
    return np.unpackbits(np.frombuffer(content, np.uint8))[:items].astype(float)


def targets_of(results: dict[str, Any]) -> np.ndarray:
    """What is true of each test item: 1 for the class that F1 counts, or a grade."""
    return _read(results["test_targets"], KEPT[results["measure"]], results["test_examples"])


def measured(
    measure: str, weights: np.ndarray, runs: np.ndarray, targets: np.ndarray | None
) -> np.ndarray:
    """What each run reaches on weighted test items: `(draws, runs)`.

    Args:
        measure: "accuracy", "f1" or "pearson".
        weights: `(draws, items)`, each draw's sum is 1.
        runs: `(runs, items)`: 1 where an item is right, or its grade.
        targets: `(items,)`: 1 where the class is that of F1, or the grade; accuracy needs none.
    """
    if targets is None:
        return weights @ runs.T
    if measure == "f1":
        found, wrong = weights @ (runs * targets).T, weights @ (1 - runs).T
        return 2 * found / np.maximum(2 * found + wrong, 1e-12)
    # About the mean of all items, so that little is lost in the differences of squares.
    runs, targets = runs - runs.mean(axis=1, keepdims=True), targets - targets.mean()
    mean, target = weights @ runs.T, (weights @ targets)[:, None]
    both = weights @ (runs * targets).T - mean * target
    spreads = (weights @ (runs**2).T - mean**2) * ((weights @ targets**2)[:, None] - target**2)
    # Grades that are all the same tell nothing.
    return both / np.sqrt(np.maximum(spreads, 1e-24))


def paired_interval(
    results: dict[str, Any], better: str, worse: str, draws: int = 2000
) -> tuple[float, float] | None:
    """The 95 % interval of a difference of two rows, or `None`; by paired bootstrap.

    Test items are drawn anew, each with both models' answers, and other runs move the means by
    Student's t: a difference that another seed would turn around is none. A file whose rows were
    all trained alike may hold the `spread` of a run: its variance and its degrees of freedom. Folds
    have items of their own and make pairs. A run that kept no answers takes part by its figure;
    `None` where a row has no run that kept them, the file lacks the targets that F1 and
    correlations need, or folds are missing.
    """
    kept = [answers(results, row) for row in (better, worse)]
    measure, targets = results["measure"], None
    if not all(kept):
        return None
    if measure != "accuracy":
        if "test_targets" not in results or results.get("folded"):
            return None
        targets = targets_of(results)
    reached = [
        {run["seed"]: run[f"test_{measure}"] for run in results["rows"][row]["runs"]}
        for row in (better, worse)
    ]
    rng = np.random.default_rng(0)
    if results.get("folded"):
        both = [fold for fold in kept[0] if fold in kept[1]]
        if set(reached[0]) != set(reached[1]) or not both:
            return None
        noise = sum(
            _drawn(rng, (kept[0][fold] - kept[1][fold])[None], draws)[:, 0] for fold in both
        ) / math.sqrt(len(both) * len(reached[0]))
        leads = [reached[0][fold] - reached[1][fold] for fold in reached[0]]
        differences = np.mean(leads) + noise + moves(rng, draws, leads)
    else:
        runs = np.stack([*kept[0].values(), *kept[1].values()])
        noise = _drawn(rng, runs, draws, measure, targets)
        first = len(kept[0])
        noise = noise[:, :first].mean(axis=1) - noise[:, first:].mean(axis=1)
        one, other = (list(runs.values()) for runs in reached)
        differences = np.mean(one) - np.mean(other) + noise
        differences = differences + moves(rng, draws, one, other, spread=results.get("spread"))
    return tuple(float(each) for each in np.quantile(differences, (0.025, 0.975)))


def _drawn(
    rng: np.random.Generator,
    runs: np.ndarray,
    draws: int,
    measure: str = "accuracy",
    targets: np.ndarray | None = None,
) -> np.ndarray:
    """How far the figure of each run moves when its items are drawn anew: `(draws, runs)`."""
    # Few patterns of answers occur: how often each is drawn is all that counts.
    columns = runs if targets is None else np.vstack([runs, targets])
    patterns, counts = np.unique(columns, axis=1, return_counts=True)
    shares, items = counts / counts.sum(), counts.sum()
    if len(counts) < items // 2:
        drawn = rng.multinomial(items, shares, size=draws)
    else:
        # Of grades there is one pattern an item, and items are drawn faster one by one.
        ones = np.repeat(np.arange(len(counts)), counts)[rng.integers(items, size=(draws, items))]
        drawn = np.stack([np.bincount(each, minlength=len(counts)) for each in ones])
    weights = drawn / items
    runs, targets = patterns[: len(runs)], None if targets is None else patterns[-1]
    return measured(measure, weights, runs, targets) - measured(
        measure, shares[None], runs, targets
    )


def interval_of(
    results: dict[str, Any], better: str, worse: str
) -> tuple[tuple[float, float], bool]:
    """The 95 % interval of a difference, and whether it is paired.

    Where it cannot be, it is the difference and twice its standard error to either side. It ends
    where no difference can be larger: few runs far apart would take it beyond.
    """
    interval = paired_interval(results, better, worse)
    paired = interval is not None
    if not paired:
        difference = mean(results, better) - mean(results, worse)
        error = math.hypot(standard_error(results, better), standard_error(results, worse))
        interval = difference - 2 * error, difference + 2 * error
    largest = 2.0 if results["measure"] == "pearson" else 1.0
    low, high = (min(max(end, -largest), largest) for end in interval)
    return (low, high), paired


HELD, LEVEL, SMALLER, REVERSED = "held", "level", "refuted in size", "reversed"


# How far from zero an interval may reach if two rows are said to be equal: one point.
EQUAL = 0.01


def verdict(interval: tuple[float, float], paper: float | None, equal: float = EQUAL) -> str:
    """One word for what an interval says of a difference that a paper prints.

    The order is that of the paper's difference; without one it is that of the claim. Reversed is
    an order whose opposite fills the interval. A size is refuted where the paper's difference is
    larger than all of the interval. What is left holds where zero is outside the interval, and is
    level where it is inside. Where the paper prints the same figure twice, that is the claim. It
    holds where the interval reaches at most `equal` to either side of zero.
    """
    low, high = interval
    if paper == 0 and low <= 0 <= high:
        return HELD if max(-low, high) <= equal else LEVEL
    if paper == 0:
        return SMALLER
    if paper is not None and paper < 0:
        (low, high), paper = (-high, -low), -paper
    if high < 0:
        return REVERSED
    if paper is not None and paper > high:
        return SMALLER
    return HELD if low > 0 else LEVEL


def graded(results: dict[str, Any], row: str, attribution: str = "attention") -> np.ndarray:
    """Normalized AOPC of each run and test text, `(runs, texts)`, NaN where a text has none."""
    kept = [run["naopc_per_text"][attribution] for run in results["rows"][row]["runs"]]
    return np.stack([np.frombuffer(base64.b64decode(text), "<f2") for text in kept]).astype(float)


def graded_interval(
    first: np.ndarray, second: np.ndarray | None = None, draws: int = 2000
) -> tuple[float, float]:
    """The 95 % interval of a mean of `graded`, or of the difference of two, by bootstrap.

    Texts are drawn anew, each with the grades of both, and the runs move it by Welch's t.
    """
    rng = np.random.default_rng(0)
    sides = [first] if second is None else [first, second]
    known = np.all([~np.isnan(side).all(axis=0) for side in sides], axis=0)
    values = [np.nanmean(side[:, known], axis=0) for side in sides]
    each = values[0] if second is None else values[0] - values[1]
    shares = rng.multinomial(len(each), np.full(len(each), 1 / len(each)), size=draws)
    by_runs = moves(rng, draws, *(np.nanmean(side, axis=1) for side in sides))
    means = [np.nanmean(side, axis=1).mean() for side in sides]
    drawn = shares @ each / len(each) - each.mean() + means[0] - sum(means[1:]) + by_runs
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)
