"""Intervals and verdicts on differences of rows."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.reproduce.results import packed
from benchmarks.reproduce.significance import (
    interval_of,
    judged,
    paired_interval,
    standard_error,
    verdict,
)
from benchmarks.reproduce.tasks import answers, figures

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


def of_measure(measure, targets, a, b):
    """A file of two rows of F1 or correlation; a row is what each run predicts."""

    def runs(row):
        kept = [figures(measure, np.asarray(run), targets) for run in row]
        read = [answers(measure, np.asarray(run), targets) for run in row]
        return [
            {"seed": seed, **{f"test_{k}": v for k, v in found.items()}, **text}
            for seed, (found, text) in enumerate(zip(kept, read, strict=True))
        ]

    (text,) = answers(measure, targets, 1).values()
    rows = {name: {"runs": runs(row)} for name, row in (("a", a), ("b", b))}
    return {"measure": measure, "test_examples": len(targets), "test_targets": text, "rows": rows}


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
    texts = np.sqrt(np.var(answered[0] - answered[1]) / items)
    variances = [np.var(values, ddof=1) / 3 for values in reached.values()]
    degrees = sum(variances) ** 2 / sum(each**2 / 2 for each in variances)
    moves = np.sqrt(sum(variances)) * stats.t(degrees).ppf((np.arange(4000) + 0.5) / 4000)
    sums = texts * rng.normal(size=(100, 1)) + moves
    difference = np.mean(reached["a"]) - np.mean(reached["b"])
    assert np.allclose((low, high), difference + np.quantile(sums, (0.025, 0.975)), rtol=0.05)


def test_intervals_hold_what_they_promise():
    """Of many pairs of rows that are equal, 5 % may look different; three runs of each are few."""
    rng = np.random.default_rng(3)
    alike = file(*(entry([1, 0] * 500) for _ in range(2)), items=1000)
    outside = 0
    for _ in range(400):
        for row in alike["rows"].values():
            row["runs"] = [
                {**row["runs"][0], "seed": seed, "test_accuracy": value}
                for seed, value in enumerate(rng.normal(0.5, 0.05, 3))
            ]
        low, high = paired_interval(alike, "a", "b", draws=100)
        outside += not low <= 0 <= high
    assert 0.02 < outside / 400 < 0.08


def f1(predicted, targets):
    found = np.sum((predicted == 1) & (targets == 1))
    return 2 * found / (np.sum(predicted == 1) + np.sum(targets == 1))


def correlation(predicted, targets):
    return np.corrcoef(predicted, targets)[0, 1]


@pytest.mark.parametrize("measure", [f1, correlation])
def test_f1_and_correlations_are_paired(measure):
    """Against a bootstrap item by item: texts drawn anew, then the runs of either row."""
    rng = np.random.default_rng(2)
    items, name = 300, {f1: "f1", correlation: "pearson"}[measure]
    # Texts are hard or easy for all: what pairing takes out of the interval.
    truth, hard = rng.uniform(1, 5, items), rng.normal(size=items)
    both = [
        [truth + hard + shift * rng.normal(size=items) for shift in shifts]
        for shifts in ((0.3, 0.35, 0.4), (0.6, 0.7))
    ]
    if measure is f1:
        truth, both = truth > 3.2, [[run > 3.2 for run in row] for row in both]
    truth, both = np.array(truth, float), [np.array(row, float) for row in both]
    found = paired_interval(of_measure(name, truth, *both), "a", "b")

    drawn = []
    for _ in range(3000):
        chosen = rng.integers(0, items, items)
        leads = []
        for row in both:
            leads.append(np.mean([measure(run[chosen], truth[chosen]) for run in row]))
        drawn.append(leads[0] - leads[1])
    values = [[measure(run, truth) for run in row] for row in both]
    variances = np.array([np.var(each, ddof=1) / len(each) for each in values])
    degrees = variances.sum() ** 2 / sum(variances**2 / (2, 1))
    drawn = drawn + np.sqrt(variances.sum()) * rng.standard_t(degrees, size=(50, 3000))
    expected = np.quantile(drawn, (0.025, 0.975))
    assert np.allclose(found, expected, atol=0.08 * (expected[1] - expected[0]))
    # Unpaired it would be wider.
    alone = [paired_interval(of_measure(name, truth, r, [truth]), "a", "b") for r in both]
    assert np.hypot(*(high - low for low, high in alone)) > 1.2 * (found[1] - found[0])


def test_equal_answers_have_no_difference_in_any_measure():
    right = np.array([1, 0, 1, 1, 0, 1, 1, 1])
    for measure in ("f1", "pearson"):
        file_ = of_measure(measure, np.array([1, 0, 0, 1, 0, 1, 1, 1]), [right], [right])
        assert np.allclose(paired_interval(file_, "a", "b"), 0)


def test_what_cannot_be_paired():
    right = [1, 0, 1, 1, 0, 1, 1, 1]
    # No run of a row kept its answers.
    assert paired_interval(file(entry(right), entry(0.5)), "a", "b") is None
    # Of F1 and of correlations neither answers nor targets alone are enough.
    for measure, kept in (("f1", "correct"), ("pearson", "grades")):
        targets = np.array([1, 0, 1, 1, 0, 1, 1, 0])
        known = of_measure(measure, targets, [right], [right[::-1]])
        assert paired_interval(known, "a", "b") is not None
        assert paired_interval({**known, "folded": True}, "a", "b") is None
        del known["rows"]["b"]["runs"][0][kept]
        assert paired_interval(known, "a", "b") is None
        known = of_measure(measure, targets, [right], [right[::-1]])
        del known["test_targets"]
        assert paired_interval(known, "a", "b") is None
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


def test_no_interval_goes_beyond_the_largest_difference():
    apart = file(entry([1] * 8, [0] * 8), entry([1] * 8, [0] * 8))
    assert paired_interval(apart, "a", "b")[1] > 1
    assert interval_of(apart, "a", "b") == ((-1, 1), True)
    lone = file(entry(0.9), entry(0.1), items=1)
    assert interval_of(lone, "a", "b")[0][1] == 1
    grades = np.arange(8) / 8
    opposed = [grades, -grades]
    of_grades = of_measure("pearson", grades, opposed, opposed)
    assert paired_interval(of_grades, "a", "b")[1] > 2
    assert interval_of(of_grades, "a", "b") == ((-2, 2), True)


@pytest.mark.parametrize(
    ("interval", "paper", "word"),
    [
        ((0.01, 0.03), 0.02, "held"),
        # More than the paper has is no refutation.
        ((0.03, 0.05), 0.02, "held"),
        ((0.01, 0.03), 0.04, "refuted in size"),
        ((0.01, 0.03), None, "held"),
        ((-0.01, 0.03), 0.02, "level"),
        ((-0.01, 0.03), None, "level"),
        ((-0.01, 0.03), 0.04, "refuted in size"),
        ((0.0, 0.0), None, "level"),
        ((-0.03, -0.01), 0.04, "reversed"),
        ((-0.03, -0.01), None, "reversed"),
        # The paper's own figures speak against the claim.
        ((0.01, 0.03), -0.02, "reversed"),
        ((-0.03, -0.01), -0.02, "held"),
        ((-0.03, -0.01), -0.04, "refuted in size"),
        ((-0.03, 0.01), -0.02, "level"),
        ((-0.03, 0.01), -0.04, "refuted in size"),
        # The paper prints the same figure twice.
        ((-0.01, 0.01), 0.0, "held"),
        ((-0.01, 0.03), 0.0, "level"),
        ((0.01, 0.03), 0.0, "refuted in size"),
        ((-0.03, -0.01), 0.0, "refuted in size"),
    ],
)
def test_the_word_of_an_interval(interval, paper, word):
    assert verdict(interval, paper) == word


def test_claims_are_judged():
    better, worse = [1] * 90 + [0] * 10, [1] * 60 + [0] * 40
    rows = entry(better, better, paper=0.9), entry(worse, worse, paper=0.8)
    measured = file(*rows, items=100)
    measured["claims"] = [
        ("a", "b", "said by the paper", 0.1),
        ("a", "b", "by another of its tables", 0.5),
        ("a", "b", "not by the paper", None),
        ("a", "c", "not measured", None),
    ]
    first, other, none = judged(measured)
    assert first.paper == 0.1 and np.isclose(first.difference, 0.3)
    assert first.paired and first.verdict == "held" and first.span == "+21.0 to +39.0"
    assert other.paper == 0.5 and other.verdict == "refuted in size"
    assert none.paper is None and none.verdict == "held"
    del rows[0]["runs"][1]
    assert {claim.verdict for claim in judged(measured)} >= {"held, by one run"}
    # What draws nothing needs no second run.
    fixed = file(entry(better, drawn=False), rows[1], items=100, claims=measured["claims"][:1])
    assert [claim.verdict for claim in judged(fixed)] == ["held"]


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
