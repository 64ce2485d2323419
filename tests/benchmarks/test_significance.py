"""Intervals and verdicts on differences of rows."""

import numpy as np
import pytest

from benchmarks.reproduce.results import packed
from benchmarks.reproduce.significance import (
    interval_of,
    judged,
    paired_interval,
    standard_error,
    verdict,
)

pytestmark = pytest.mark.one_backend("statistics in NumPy")


def entry(*runs, paper=None, drawn=True):
    """A row of runs, each given by the items that it had right, or by its accuracy alone."""
    entries = []
    for seed, run in enumerate(runs):
        if np.ndim(run):
            entries.append({"seed": seed, "test_accuracy": np.mean(run), "correct": packed(run)})
        else:
            entries.append({"seed": seed, "test_accuracy": run})
    values = [run["test_accuracy"] for run in entries]
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return {
        "config": {"optimizer": "adam"} if drawn else {},
        "paper": paper,
        "runs": entries,
        "summary": {"test_accuracy": {"mean": np.mean(values), "std": spread}},
    }


def file(a, b, items=8, **more):
    """A results file of two rows."""
    rows = {"a": a, "b": b}
    return {"measure": "accuracy", "test_examples": items, "rows": rows, **more}


def test_paired_intervals():
    same = [1, 1, 0, 1, 0, 1, 1, 0]
    assert paired_interval(file(entry(same), entry(same)), "a", "b") == (0, 0)
    better = file(entry([1] * 8), entry([0] * 8))
    assert paired_interval(better, "a", "b") == (1, 1)
    assert paired_interval(better, "b", "a") == (-1, -1)
    # One item of eight, right in one of two models alone: drawn once in 1 - (7/8)^8 = 0.66.
    low, high = paired_interval(file(entry([1] * 8), entry([1] * 7 + [0])), "a", "b")
    assert abs(low) < 1e-12 and 0.25 <= high <= 0.5
    # Equal means, other items: the pairs tell what the means cannot.
    low, high = paired_interval(file(entry([1, 0] * 4), entry([0, 1] * 4)), "a", "b")
    assert low < -0.5 and high > 0.5


@pytest.mark.parametrize("kept", [(3, 3), (1, 1), (1, 3)])
def test_intervals_have_the_spread_of_items_and_of_runs(kept):
    rng = np.random.default_rng(0)
    items = 4000
    hard = rng.random(items)
    # Items are as hard for all runs; a run is better or worse as a whole.
    right = {
        name: [(hard + 0.1 * rng.random(items) < level).astype(int) for level in levels]
        for name, levels in (("a", (0.80, 0.82, 0.84)), ("b", (0.75, 0.78, 0.81)))
    }
    reached = {name: [run.mean() for run in runs] for name, runs in right.items()}
    rows = [
        entry(*runs[:count], *reached[name][count:])
        for (name, runs), count in zip(right.items(), kept, strict=True)
    ]
    low, high = paired_interval(file(*rows, items=items), "a", "b")
    answered = [
        np.mean(runs[:count], axis=0) for runs, count in zip(right.values(), kept, strict=True)
    ]
    variance = np.var(answered[0] - answered[1]) / items
    variance += sum(np.var(values, ddof=1) / 3 for values in reached.values())
    difference = np.mean(reached["a"]) - np.mean(reached["b"])
    assert abs((low + high) / 2 - difference) < 0.1 * (high - low)
    assert abs((high - low) / (2 * 1.96 * np.sqrt(variance)) - 1) < 0.1


def test_what_cannot_be_paired():
    right = [1, 0, 1, 1, 0, 1, 1, 1]
    # No run of a row kept its answers.
    assert paired_interval(file(entry(right), entry(0.5)), "a", "b") is None
    for measure in ("f1", "pearson"):
        other = file(entry(right), entry(right), measure=measure)
        assert paired_interval({**other, "measure": measure}, "a", "b") is None
    # One fold more in one of them: their means are not of the same items.
    folds = file(entry(right, right), entry(right), folded=True)
    assert paired_interval(folds, "a", "b") is None


def test_runs_of_folds_are_put_side_by_side():
    measured = file(entry([1] * 8, [0] * 8), entry([0] * 8, [1] * 8))
    # Averaged over seeds the models are equal on every item, but either may draw the other seed.
    low, high = paired_interval(measured, "a", "b")
    assert low <= -1 and high >= 1
    low, high = paired_interval({**measured, "folded": True}, "a", "b")
    assert low <= -1 and high >= 1
    # Folds that are hard for both leave nothing between them.
    hard = file(entry([1] * 8, [0] * 8), entry([1] * 8, [0] * 8), folded=True)
    assert paired_interval(hard, "a", "b") == (0, 0)
    assert paired_interval({**hard, "folded": False}, "a", "b")[0] <= -1


def test_folds_without_answers_take_part_by_their_accuracy():
    rng = np.random.default_rng(1)
    both = [(rng.random((4, 500)) < share).astype(int) for share in (0.8, 0.7)]
    whole = file(*(entry(*runs) for runs in both), items=500, folded=True)
    part = file(*(entry(*runs[:2], *runs[2:].mean(1)) for runs in both), items=500, folded=True)
    for one, other in zip(
        paired_interval(whole, "a", "b"), paired_interval(part, "a", "b"), strict=True
    ):
        assert abs(one - other) < 0.01


def test_another_seed_that_turns_a_difference_around_is_in_the_interval():
    items = [1, 0] * 500
    one = file(entry(items), entry([1, 1, 0, 0] * 250), items=1000)
    low, high = paired_interval(one, "a", "b")
    assert low < 0 < high
    more = file(entry(items, [1] * 1000, [0] * 1000), one["rows"]["b"], items=1000)
    wider = paired_interval(more, "a", "b")
    assert wider[0] < low - 0.2 and wider[1] > high + 0.2


def test_without_pairs_the_interval_is_two_standard_errors():
    measured = file(entry(0.9), entry(0.8), items=100)
    (low, high), paired = interval_of(measured, "a", "b")
    error = np.sqrt(0.9 * 0.1 / 100 + 0.8 * 0.2 / 100)
    assert not paired and np.allclose([low, high], [0.1 - 2 * error, 0.1 + 2 * error])
    right = [1, 0] * 50
    assert interval_of(file(entry(right), entry(right), items=100), "a", "b") == ((0, 0), True)


@pytest.mark.parametrize(
    ("interval", "paper", "words"),
    [
        ((0.01, 0.03), 0.02, "holds"),
        ((0.01, 0.03), 0.04, "holds, but not by the paper's distance"),
        ((-0.01, 0.03), None, "too close to call"),
        ((-0.01, 0.03), 0.04, "too close to call, but not by the paper's distance"),
        ((-0.03, -0.01), 0.04, "**reversed**"),
        ((0.0, 0.0), None, "too close to call"),
        # The paper's own figures speak against the claim.
        ((0.01, 0.03), -0.02, "**reversed**"),
        ((-0.03, -0.01), -0.02, "holds"),
        ((-0.03, -0.01), -0.04, "holds, but not by the paper's distance"),
        ((-0.03, 0.01), -0.04, "too close to call, but not by the paper's distance"),
    ],
)
def test_verdicts(interval, paper, words):
    assert verdict(interval, paper) == words


def test_claims_are_judged():
    better, worse = [1] * 90 + [0] * 10, [1] * 60 + [0] * 40
    rows = entry(better, better, paper=0.9), entry(worse, worse, paper=0.8)
    measured = file(*rows, items=100)
    measured["claims"] = [
        ("a", "b", "said by the paper", None),
        ("a", "b", "by another of its tables", 0.5),
        ("a", "b", "not by the paper", False),
        ("a", "c", "not measured", None),
    ]
    first, other, none = judged(measured)
    assert np.isclose(first.paper, 0.1) and np.isclose(first.difference, 0.3)
    assert first.paired and first.verdict == "holds"
    assert other.paper == 0.5 and other.verdict == "holds, but not by the paper's distance"
    assert none.paper is None and none.verdict == "holds"
    del rows[0]["runs"][1]
    assert {claim.verdict for claim in judged(measured)} >= {"holds, by one run"}
    # What draws nothing needs no second run.
    fixed = file(entry(better, drawn=False), rows[1], items=100, claims=measured["claims"][:1])
    assert [claim.verdict for claim in judged(fixed)] == ["holds"]


def test_standard_error_of_a_correlation():
    summary = {"test_pearson": {"mean": 0.8, "std": 0.0}}
    rows = {"a": {"summary": summary, "runs": [{}]}}
    measured = {"measure": "pearson", "test_examples": 400, "rows": rows}
    assert abs(standard_error(measured, "a") - (1 - 0.64) / 20) < 1e-12


def test_folds_have_test_items_of_their_own():
    row = {"summary": {"test_accuracy": {"mean": 0.5, "std": 0.0}}, "runs": [{}] * 4}
    measured = {"measure": "accuracy", "test_examples": 100, "rows": {"a": row}}
    assert standard_error(measured, "a") == 0.05
    assert standard_error({**measured, "folded": True}, "a") == 0.025


@pytest.mark.parametrize(("found", "errors"), [(0.55, 0.12), (0.16, 0.47)])
def test_standard_error_of_f1_is_that_of_drawn_test_sets(found, errors):
    f1 = 2 * found / (2 * found + errors)
    summary = {"test_f1": {"mean": f1, "std": 0.0}, "test_accuracy": {"mean": 1 - errors}}
    measured = {
        "measure": "f1",
        "test_examples": 600,
        "rows": {"a": {"summary": summary, "runs": [{}]}},
    }
    drawn = np.random.default_rng(0).multinomial(600, [found, errors, 1 - found - errors], 20000)
    spread = (2 * drawn[:, 0] / (2 * drawn[:, 0] + drawn[:, 1])).std()
    assert abs(standard_error(measured, "a") / spread - 1) < 0.03
