"""Mass and AUC on rationales: by hand, and against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from keras_attnpool.analysis import rationale_auc, rationale_mass

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


@pytest.mark.parametrize("function", [rationale_mass, rationale_auc])
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([[0.5, 0.5]], [[0, 1, 0]]), "text 0 with 3 tokens"),
        (([[0.2, 0.3, 0.5]], [[0, 1]]), "not 0"),
        (([[0.5, 0.5]], [[0, 2]]), "0/1"),
        (([[0.5, 0.5]], [[0, 1], [0, 1]]), "2 in all"),
        (([[0.5, 0.5]], [[0, 1]], [[1]]), "same tokens"),
        (([[0.5, 0.5]], [[0, 1]], []), "one row per text"),
        (([[0.5, 0.5]], [[0, 0]]), "none of them such"),
        (([[np.inf, 0.5]], [[0, 1]]), "finite"),
    ],
)
def test_errors(function, args, message):
    with pytest.raises(ValueError, match=message):
        function(*args)


def test_mass_refuses_signs():
    with pytest.raises(ValueError, match=r"np\.abs"):
        rationale_mass([[-0.5, 0.5]], [[0, 1]])
