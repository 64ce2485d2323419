"""Scores on rationales: by hand, and against scikit-learn and the published definitions."""

import numpy as np
import pytest
from refusals import refused
from sklearn.metrics import auc, precision_recall_curve, roc_auc_score

from keras_attnpool.analysis import (
    rationale_auc,
    rationale_auprc,
    rationale_iou_f1,
    rationale_mass,
    rationale_token_f1,
)

pytestmark = pytest.mark.one_backend("NumPy arrays in, numbers out")

# Scored; scored; no rationale; nothing else; an empty text.
GOLD = [[0, 1, 0, 0], [1, 0], [0, 0, 0], [1, 1], []]
WEIGHTS = np.array(
    [[0.1, 0.6, 0.2, 0.1], [0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [0] * 4]
)


def test_mass():
    score = rationale_mass(WEIGHTS, GOLD)
    np.testing.assert_allclose(score.per_text, [0.6, 0.5, np.nan, np.nan, np.nan])
    assert (score.num_scored, score.num_left_out) == (2, 3)
    np.testing.assert_allclose([score.mean, score.uniform], [0.55, (0.25 + 0.5) / 2])
    # Uniform weights reach the floor, whatever their scale.
    uniform = [np.full(len(gold), 0.2) for gold in GOLD]
    np.testing.assert_allclose(rationale_mass(uniform, GOLD).mean, score.uniform)


def test_auc_and_its_ties():
    # Text 0: above all three others. Text 1: a tie.
    score = rationale_auc(WEIGHTS, GOLD)
    np.testing.assert_allclose(score.per_text, [1, 0.5, np.nan, np.nan, np.nan])
    np.testing.assert_allclose([score.mean, score.uniform], [0.75, 0.5])
    np.testing.assert_allclose(rationale_auc(-WEIGHTS, GOLD).per_text[:2], [0, 0.5])


def test_auc_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    gold = [rng.random(30) < 0.3 for _ in range(20)]
    weights = [rng.integers(-3, 4, 30) for _ in gold]  # many ties
    expected = [roc_auc_score(g, w) for g, w in zip(gold, weights, strict=True)]
    np.testing.assert_allclose(rationale_auc(weights, gold).per_text, expected)


def test_mask_drops_tokens():
    mask = [[1, 1, 0, 1], [1, 1], [1] * 3, [1] * 2, []]
    np.testing.assert_allclose(rationale_mass(WEIGHTS, GOLD, mask).per_text[0], 0.75)
    np.testing.assert_allclose(rationale_mass(WEIGHTS, GOLD, mask).uniform, (1 / 3 + 0.5) / 2)
    padded = np.array([[1, 1, 0, 1], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0], [0] * 4], bool)
    np.testing.assert_allclose(rationale_auc(WEIGHTS, GOLD, padded).per_text[0], 1)


def test_a_text_without_weight_has_no_mass_but_an_auc():
    assert rationale_mass([[0, 0], [0.2, 0.8]], [[0, 1], [0, 1]]).num_left_out == 1
    assert rationale_auc([[0, 0], [0.2, 0.8]], [[0, 1], [0, 1]]).per_text.tolist() == [0.5, 1]


@pytest.mark.parametrize(
    "function",
    [rationale_mass, rationale_auc, rationale_auprc, rationale_token_f1, rationale_iou_f1],
)
@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("weights", {"rationales": [[0, 1, 0]]}, "text 0 with 3 tokens"),
        ("weights", {"weights": [[0.2, 0.3, 0.5]]}, "not 0"),
        ("rationales", {"rationales": [[0, 2]]}, "0/1"),
        ("weights", {"rationales": [[0, 1], [0, 1]]}, "2 in all"),
        ("mask", {"mask": [[1]]}, "as many as the tokens"),
        ("mask", {"mask": [[1, 1, 1]]}, "as many as the tokens"),
        ("mask", {"mask": [[1, 0.5]]}, "0/1"),
        ("mask", {"mask": []}, "one row per text"),
        ("rationales", {"rationales": [[0, 0]]}, "none of them such"),
        ("weights", {"weights": [[np.inf, 0.5]]}, "finite"),
    ],
)
def test_errors(function, name, change, told):
    with refused(name, function.__name__, told):
        function(**{"weights": [[0.5, 0.5]], "rationales": [[0, 1]], **change})


def test_mass_refuses_signs():
    with refused("weights", "rationale_mass", "np.abs"):
        rationale_mass([[-0.5, 0.5]], [[0, 1]])


def spans(flags):
    """The runs of 1 of a row, as sets of places."""
    found, run = [], set()
    for place, flag in enumerate([*flags, 0]):
        if flag:
            run.add(place)
        elif run:
            found.append(run)
            run = set()
    return found


def test_auprc_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    gold = [rng.random(20) < 0.3 for _ in range(20)]
    weights = [rng.integers(-3, 4, 20) for _ in gold]
    expected = []
    for g, w in zip(gold, weights, strict=True):
        precision, recall, _ = precision_recall_curve(g, w)
        expected.append(auc(recall, precision))
    score = rationale_auprc(weights, gold)
    np.testing.assert_allclose(score.per_text, expected)
    uniform = rationale_auprc([np.ones(20)] * 20, gold)
    np.testing.assert_allclose([uniform.mean, score.uniform], score.uniform)
    share = np.concatenate(gold).mean()
    drawn = [rationale_auprc(rng.random((20, 20)), gold).mean for _ in range(50)]
    assert share < np.mean(drawn) < share + 0.1 < score.uniform


def test_token_f1_by_hand():
    # 3 of 12 tokens are rationale; of 4 tokens 1 is taken, of 8 tokens 2.
    gold = [[0, 1, 0, 0], [1, 0, 0, 0, 0, 0, 0, 1]]
    weights = [[0.1, 0.6, 0.2, 0.1], [0.3, 0.4, 0.1, 0, 0, 0, 0, 0.2]]
    score = rationale_token_f1(weights, gold)
    np.testing.assert_allclose(score.per_text, [1, 2 * 1 / (2 + 2)])
    np.testing.assert_allclose(rationale_token_f1(weights, gold, share=0.3).per_text, [2 / 3, 0.8])
    # Without an order: 1 of 4 and 2 of 8 at random hit a quarter of a token, and half of one.
    flat = rationale_token_f1([[1] * 4, [1] * 8], gold)
    np.testing.assert_allclose(flat.per_text, [2 * 0.25 / 2, 2 * 0.5 / 4])
    np.testing.assert_allclose(score.uniform, flat.mean)
    # The largest is in; two of three equal ones are drawn for the second place.
    tied = rationale_token_f1([[9, 5, 5, 5]], [[1, 1, 0, 0]], share=0.5)
    np.testing.assert_allclose(tied.mean, 2 * (1 + 1 / 3) / 4)


def test_iou_f1_is_the_published_one():
    rng = np.random.default_rng(1)
    gold = [rng.random(12) < 0.4 for _ in range(30)]
    weights = [rng.random(12) for _ in gold]
    score = rationale_iou_f1(weights, gold, share=0.4, threshold=0.5)
    precisions, recalls = [], []
    for g, w in zip(gold, weights, strict=True):
        taken = np.isin(np.arange(12), np.argsort(-w)[:5])
        mine, truth = spans(taken), spans(g)
        hits = sum(max(len(m & t) / len(m | t) for t in truth) >= 0.5 for m in mine)
        precisions.append(hits / len(mine))
        recalls.append(hits / len(truth))
    p, r = np.mean(precisions), np.mean(recalls)
    np.testing.assert_allclose(score.mean, 2 * p * r / (p + r), rtol=1e-12)
    assert 0 < score.uniform < 1 and score.num_scored == 30


def test_iou_f1_by_hand():
    # Taken: places 1 to 3, one span; the rationale is 2 to 4. Shared 2, together 4.
    gold, weights = [[0, 0, 1, 1, 1, 0]], [[0, 5, 6, 7, 1, 0]]
    assert rationale_iou_f1(weights, gold).mean == 1
    assert rationale_iou_f1(weights, gold, threshold=0.51).mean == 0


@pytest.mark.parametrize("function", [rationale_token_f1, rationale_iou_f1])
def test_share_must_be_one(function):
    with refused("share", function.__name__):
        function([[0.5, 0.5]], [[0, 1]], share=0)
    assert function(WEIGHTS, GOLD).num_left_out == 3
    # However small it is, a token is taken.
    assert function([[0.1, 0.9]], [[0, 1]], share=1e-12).mean == 1


@pytest.mark.parametrize("threshold", [0, 1.1, np.nan])
def test_spans_match_from_a_threshold_on(threshold):
    with refused("threshold", "rationale_iou_f1"):
        rationale_iou_f1(WEIGHTS, GOLD, threshold=threshold)
