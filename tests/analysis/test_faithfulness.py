"""Comprehensiveness, sufficiency, AOPC and its bounds, leave-one-out, and all grades at once."""

import itertools

import numpy as np
import pytest
from analysis.test_deletion import IDS, counter, p
from refusals import refused

from keras_attnpool import analysis

pytestmark = pytest.mark.every_backend
NUMPY = pytest.mark.one_backend("a model in NumPy: no backend computes anything")


class OfTokens:
    """A classifier in NumPy: its probability of class 0 by the set of ids that are left."""

    def __init__(self, probability):
        self.of_set = probability
        self.calls = 0

    def predict(self, texts, **kwargs):
        self.calls += len(texts)
        found = np.array([self.of_set(frozenset(row[row != 0].tolist())) for row in texts])
        return np.stack([found, 1 - found], axis=1)


def interacting(left):
    """Either of words 1 and 2 will do, 3 speaks against, 4 only without 1, 5 a little."""
    either = 0.3 * bool({1, 2} & left) + 0.05 * (5 in left)
    return 0.5 + either - 0.2 * (3 in left) + 0.1 * (4 in left and 1 not in left)


def test_faithfulness_by_hand():
    weights = [[0.6, 0.1, 0.2, 0.1], [0] * 4]
    found = analysis.faithfulness(counter(), IDS, weights, [0.25, 0.3, 1])
    # 1, 2 and 4 of 4 tokens; a third, then none of the rest counts. The top ones all count.
    expected = [p(0.5) - p(1 / 3), p(0.5) - p(0), p(0.5) - p(0)]
    np.testing.assert_allclose(found.comprehensiveness[0], expected, atol=1e-6)
    expected = [p(0.5) - p(1), p(0.5) - p(1), 0]
    np.testing.assert_allclose(found.sufficiency[0], expected, atol=1e-6)
    assert np.isnan(found.comprehensiveness[1]).all() and np.isnan(found.sufficiency[1]).all()
    np.testing.assert_allclose(found.aopc_sufficiency, np.mean(expected), atol=1e-6)
    np.testing.assert_allclose(found.aopc_comprehensiveness, found.comprehensiveness[0].mean())


def test_given_classes_and_logits():
    for activation, logits in (("sigmoid", False), (None, True)):
        for classes in ([0, 0], [1, 1]):
            found = analysis.leave_one_out(
                counter(activation), IDS, np.array(classes), from_logits=logits
            )
            sign = 1 if classes[0] else -1
            one, two = p(0.5) - p(1 / 3), p(0.5) - p(2 / 3)
            np.testing.assert_allclose(found[0], sign * np.array([one, two] * 2), atol=1e-6)
            assert not found[1].any()


def test_a_baseline_stands_in_the_place():
    # Word 2 in the place of 1 leaves 4 tokens: a quarter counts.
    found = analysis.leave_one_out(counter(), IDS, baseline=2)
    np.testing.assert_allclose(found[0, :2], [p(0.5) - p(0.25), 0], atol=1e-6)


def test_all_grades_of_a_model():
    model = counter()
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 3, (6, 7)) * (np.arange(7) < np.array([[7], [5], [7], [1], [0], [6]]))
    right = np.where(ids == 1, 1.0, 0.1) * (ids != 0)
    golds = [row[row != 0] == 1 for row in ids]
    table = analysis.grade_attributions(
        model,
        ids,
        {"right": right, "wrong": 1 - right},
        golds,
        classes=np.ones(6, int),
        batch_size=4,
        verbose=0,
    )
    assert list(table) == ["right", "wrong", "uniform"]
    right_row, wrong, uniform = table.values()
    # The order of the counter's own words is the best there is.
    assert right_row["NAOPC"] > 0.999 and right_row["NAOPC sufficiency"] < 0.001
    assert wrong["NAOPC"] < 0.001 and wrong["NAOPC sufficiency"] > 0.999
    assert 0.1 < uniform["NAOPC"] < 0.9
    for column, order in (("comprehensiveness", 1), ("sufficiency", -1)):
        values = [row[column] for row in (wrong, uniform, right_row)][::order]
        assert values == sorted(set(values))
    # Two values of weights against two of effects: the same pairs are tied.
    for column in ("tau leave-one-out", "tau gradient"):
        np.testing.assert_allclose([right_row[column], wrong[column]], [1, -1], atol=1e-6)
        assert np.isnan(uniform[column])
    # Of five texts one has a word alone, of no effect.
    assert (right_row["polarity violations"], wrong["polarity violations"]) == (0, 0.8)
    np.testing.assert_allclose([uniform["entropy"], uniform["gini"]], [1, 0], atol=1e-12)
    assert right_row["AUC"] == 1
    assert right_row["AUPRC"] == 1 and wrong["AUC"] == 0 and uniform["AUC"] == 0.5
    per_text = table.per_text["right"]
    assert np.isnan(per_text["NAOPC"]).tolist() == [False, False, False, True, True, False]
    lone = analysis.faithfulness(model, ids, right, classes=np.ones(6, int))
    np.testing.assert_allclose(right_row["sufficiency"], lone.aopc_sufficiency, atol=1e-6)
    np.testing.assert_allclose(
        table.per_text["wrong"]["NAOPC"],
        analysis.normalized_aopc(model, ids, 1 - right, classes=np.ones(6, int)).comprehensiveness,
        atol=1e-4,
    )


@NUMPY
def test_bounds_are_those_of_all_orders():
    ids = np.array([[1, 2, 3, 4, 5, 0]])
    aopcs = {}
    for order in itertools.permutations(range(5)):
        left = [frozenset(np.delete(ids[0, :5], order[:k]).tolist()) for k in range(1, 6)]
        full = interacting(frozenset(range(1, 6)))
        aopcs[order] = np.mean([full - interacting(each) for each in left])
    low, high = min(aopcs.values()), max(aopcs.values())
    weights = np.zeros((1, 6))
    for order in [(0, 1, 2, 3, 4), (4, 2, 0, 1, 3)]:
        weights[0, list(order)] = [5, 4, 3, 2, 1]
        found = analysis.normalized_aopc(OfTokens(interacting), ids, weights, beam_size=None)
        np.testing.assert_allclose([found.lower[0], found.upper[0]], [low, high], atol=1e-12)
        rising = aopcs[order[::-1]]
        np.testing.assert_allclose(found.comprehensiveness, (aopcs[order] - low) / (high - low))
        np.testing.assert_allclose(found.sufficiency, (rising - low) / (high - low))
    greedy = analysis.normalized_aopc(OfTokens(interacting), ids, weights, beam_size=1)
    assert low <= greedy.lower[0] <= greedy.upper[0] < high  # 1 alone changes nothing
    wide = analysis.normalized_aopc(OfTokens(interacting), ids, weights, beam_size=5)
    np.testing.assert_allclose([wide.lower[0], wide.upper[0]], [low, high], atol=1e-12)


@NUMPY
def test_what_an_order_reaches_is_within_the_bounds():
    # A beam of one never tries 1 first, which does nothing, so that it misses 1 and then 2.
    ids = np.array([[1, 2, 3, 4, 5]])
    best, other = np.array([[5, 4, 1, 2, 3]]), np.array([[1, 2, 3, 4, 5]])
    lone = analysis.normalized_aopc(OfTokens(interacting), ids, best, beam_size=1)
    assert lone.comprehensiveness[0] == 1 and 0 <= lone.sufficiency[0] < 1
    table = analysis.grade_attributions(
        OfTokens(interacting), ids, {"a": best, "b": other}, beam_size=1, gradients=False, verbose=0
    )
    graded = [table.per_text[row][c][0] for row in "ab" for c in ("NAOPC", "NAOPC sufficiency")]
    assert graded[0] == max(graded) == 1 and min(graded) >= 0
    # Of two words that matter only together, the search finds no order better than another.
    both = OfTokens(lambda left: 0.5 - 0.4 * (not {5, 6} & left))
    found = analysis.normalized_aopc(both, np.array([[1, 2, 3, 5, 6]]), [[1, 2, 3, 5, 4]])
    assert (found.comprehensiveness[0], found.sufficiency[0]) == (1, 0)


@NUMPY
def test_a_model_that_is_surer_has_other_aopc_and_the_same_normalized():
    # Edin et al., section 3: the bounds depend on the model, not the attribution.
    ids = np.array([[1, 2, 3, 4, 5, 6], [4, 3, 1, 0, 0, 0]])
    weights = np.random.default_rng(0).random(ids.shape)
    timid = OfTokens(lambda left: 0.4 + 0.2 * interacting(left))
    plain = [analysis.faithfulness(m, ids, weights) for m in (OfTokens(interacting), timid)]
    between = [analysis.normalized_aopc(m, ids, weights) for m in (OfTokens(interacting), timid)]
    assert plain[0].aopc_comprehensiveness != pytest.approx(plain[1].aopc_comprehensiveness)
    np.testing.assert_allclose(between[0].comprehensiveness, between[1].comprehensiveness)
    np.testing.assert_allclose(between[0].upper * 0.2, between[1].upper)


@NUMPY
def test_the_cost_is_as_stated():
    ids = np.arange(1, 21)[None]
    model = OfTokens(lambda left: 0.5 + 0.02 * sum(np.sign(3 - x) for x in left) / 2)
    analysis.normalized_aopc(model, ids, np.ones((1, 20)), batch_size=1)
    assert 1000 < model.calls <= 5 * 20**2 + 2 * 20 + 1
    # A prediction that nothing changes has no bounds to lie between, and no violations.
    same = OfTokens(lambda left: 0.7)
    table = analysis.grade_attributions(same, ids, ids[:1], gradients=False, verbose=0)
    assert np.isnan(table["attribution"]["NAOPC"])
    assert table["attribution"]["polarity violations"] == 0
    model.calls = 0
    analysis.grade_attributions(
        model, ids, ids[:1], gradients=False, beam_size=0, batch_size=1, verbose=0
    )
    assert model.calls == 1 + 20 + 2 * 2 * 5


@NUMPY
def test_any_sign_counts_for_the_polarity():
    ids = np.array([[1, 5, 3]])
    for weights, violated in (
        ([[0.1, 0.2, 0.9]], 1),  # word 3 speaks against, attention says for
        ([[0.1, 0.2, -0.9]], 0),
        ([[0.9, 0.2, 0.1]], 0),
        ([[-0.9, 0.2, 0.1]], 1),
    ):
        table = analysis.grade_attributions(
            OfTokens(interacting), ids, weights, gradients=False, verbose=0, beam_size=0
        )
        assert table["attribution"]["polarity violations"] == violated


@NUMPY
@pytest.mark.parametrize(("effect", "violated"), [(-1e-7, 0), (-1e-5, 1)])
def test_an_effect_of_rounding_violates_no_polarity(effect, violated):
    model = OfTokens(lambda words: 0.5 - effect * (3 not in words))
    ids, weights = np.array([[1, 5, 3]]), [[0.1, 0.2, 0.9]]
    table = analysis.grade_attributions(
        model, ids, weights, gradients=False, verbose=0, beam_size=0
    )
    assert table["attribution"]["polarity violations"] == violated


@NUMPY
def test_rationales_that_do_not_fit_are_told_before_the_search():
    model = OfTokens(interacting)
    with refused("rationales", "rationale_auc"):
        analysis.grade_attributions(
            model, np.array([[1, 2, 3]]), [[1, 2, 3]], [[0, 0, 0]], gradients=False, verbose=0
        )
    assert model.calls == 1


@NUMPY
def test_progress(capsys):
    given = OfTokens(interacting), np.array([[1, 2]] * 3), np.ones((3, 2))
    analysis.normalized_aopc(*given, verbose=1)
    analysis.grade_attributions(*given, gradients=False)
    assert capsys.readouterr().out.count("3/3") == 2


@NUMPY
@pytest.mark.parametrize(
    ("function", "change", "told"),
    [
        ("faithfulness", {"shares": []}, "increasing"),
        ("faithfulness", {"shares": [0.2, 0.1]}, "increasing"),
        ("faithfulness", {"classes": [2]}, "in [0, 2)"),
        ("faithfulness", {"classes": [0, 1]}, "(1,)"),
        ("faithfulness", {"batch_size": 0}, ">= 1"),
        ("normalized_aopc", {"beam_size": 0}, "None or an integer >= 1"),
        ("normalized_aopc", {"beam_size": 1.5}, "None or an integer >= 1"),
        ("normalized_aopc", {"weights": [[1]]}, "3 tokens and 1 weights"),
        ("grade_attributions", {"attributions": {"ig": [[1]]}}, "as many as the tokens"),
        ("grade_attributions", {"rationales": []}, "1 in all"),
        ("grade_attributions", {"rationales": [[1, 0, 0, 0]]}, "no longer than the inputs, 3"),
        (
            "grade_attributions",
            {"rationales": [[1, 0, 0]], "inputs": np.array([[0, 1, 2]])},
            "on pad",
        ),
        ("leave_one_out", {"baseline": 0.5}, "or an id"),
        ("leave_one_out", {"baseline": "mean"}, "or an id"),
        ("leave_one_out", {"inputs": np.zeros((1, 3), int)}, "a row with a step"),
        ("leave_one_out", {"model": OfTokens(lambda left: np.nan)}, "finite"),
    ],
)
def test_errors(function, change, told):
    given = {"model": OfTokens(interacting), "inputs": np.array([[1, 2, 3]])}
    if function != "leave_one_out":
        name = "attributions" if function == "grade_attributions" else "weights"
        given[name] = [[1, 2, 3]]
    if function == "grade_attributions":
        given |= {"gradients": False, "verbose": 0}
    name = "ig" if "attributions" in change else next(iter(change))
    with refused(name, None, told):
        getattr(analysis, function)(**{**given, **change})


@NUMPY
@pytest.mark.parametrize("ids", [[5, 6, 7, 8, 0, 0], [0, 0, 5, 6, 7, 8], [0, 5, 6, 7, 8, 0]])
def test_rationales_lie_on_the_tokens_wherever_the_padding_is(ids):
    """In the places of the ids, or as long as the text; the third token decides."""
    ids = np.array([ids])
    weights = np.zeros(ids.shape)
    weights[ids > 0] = [0.1, 0.2, 0.6, 0.1]
    for gold in ([0, 0, 1, 0], [0, 0, 1, 0, 0], (ids[0] == 7).tolist()):
        grades = analysis.grade_attributions(
            OfTokens(interacting), ids, weights, [gold], beam_size=0, gradients=False, verbose=0
        )
        assert grades["attribution"]["AUC"] == 1
    for gold, told in (
        ([0, 0, 1], "3 for a text of 4 tokens"),
        ([1] * 5, "1 of its tokens on pad"),
    ):
        with refused("rationales", None, told):
            analysis.grade_attributions(
                OfTokens(interacting), ids, weights, [gold], beam_size=0, gradients=False
            )
