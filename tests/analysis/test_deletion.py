"""The deletion test on a model whose answer can be worked out."""

import keras
import numpy as np
import pytest
from refusals import refused

from keras_attnpool import layers
from keras_attnpool.analysis import deletion_curve

pytestmark = pytest.mark.every_backend

# Token 1 counts 1, token 2 nothing: p = sigmoid(mean of the kept tokens' values x 4 - 1).
VALUES = np.array([[0.0], [1.0], [0.0]])


def counter(activation="sigmoid"):
    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(3, 1, mask_zero=True, weights=[VALUES])(tokens)
    x = layers.MaskedAveragePooling1D()(x)
    dense = keras.layers.Dense(1, activation)
    model = keras.Model(tokens, dense(x))
    dense.set_weights([np.array([[4.0]]), np.array([-1.0])])
    return model


def p(mean):
    return 1 / (1 + np.exp(1 - 4 * mean))


IDS = np.array([[1, 2, 1, 2], [0, 0, 0, 0]])


@pytest.mark.parametrize(("activation", "from_logits"), [("sigmoid", False), (None, True)])
def test_by_hand(activation, from_logits):
    weights = [[0.6, 0.1, 0.2, 0.1], [0] * 4]
    curve = deletion_curve(
        counter(activation), IDS, weights, [0, 0.3, 0.5, 1], from_logits=from_logits
    )
    # ceil(0.3 * 4) = 2 tokens go, the two that count; what is left is 0 on average.
    expected = [p(0.5), p(0), p(0), p(0)]
    np.testing.assert_allclose(curve.attended, expected, atol=1e-6)
    area = 0.3 * (p(0.5) + p(0)) / 2 + 0.7 * p(0)
    np.testing.assert_allclose(curve.attended_area, area, atol=1e-6)
    assert curve.num_texts == 1  # the empty text is left out


def test_the_wrong_tokens_and_the_control():
    model = counter()
    ids = np.tile([[1, 2, 1, 2, 1, 2, 1, 2]], (20, 1))
    right, wrong = (np.where(ids == token, 1.0, 0.0) for token in (1, 2))
    curve = deletion_curve(model, ids, right, [0, 0.25, 0.5])
    against = deletion_curve(model, ids, wrong, [0, 0.25, 0.5])
    np.testing.assert_allclose(curve.attended, [p(0.5), p(1 / 3), p(0)], atol=1e-6)
    np.testing.assert_allclose(against.attended, [p(0.5), p(2 / 3), p(1)], atol=1e-6)
    assert curve.attended_area < curve.random_area < against.attended_area
    np.testing.assert_array_equal(
        curve.random, deletion_curve(model, ids, right, [0, 0.25, 0.5]).random
    )
    assert (curve.random != deletion_curve(model, ids, right, [0, 0.25, 0.5], seed=1).random).any()


def test_equal_weights_are_no_order():
    # Uniform weights must not mean "the first tokens": they are a random control themselves.
    ids = np.tile([[1, 1, 1, 1, 2, 2, 2, 2]], (200, 1))
    curve = deletion_curve(counter(), ids, np.full(ids.shape, 0.125), [0, 0.5], num_random=5)
    assert abs(curve.attended[1] - curve.random[1]) < 0.05
    assert curve.attended[1] > p(0) + 0.1


def test_a_removed_step_is_masked_or_replaced():
    seen = []

    class Spy:
        def predict(self, x, **kwargs):
            seen.append(x)
            return np.tile([[0.3, 0.7]], (len(x), 1))

    ids, weights = np.array([[5, 6, 7, 0]]), [[0.1, 0.7, 0.2, 0]]
    for baseline, left in (("masked", [5, 0, 7, 0]), ("zeros", [5, 0, 7, 0]), (9, [5, 9, 7, 0])):
        seen.clear()
        deletion_curve(Spy(), ids, weights, [0, 0.3], num_random=1, baseline=baseline)
        assert seen[1].tolist() == [left]


def test_a_share_is_not_rounded_up_by_float_error():
    # 0.1 * 3 of 10 tokens is 3, though 0.1 + 0.2 is more than 0.3.
    ids = np.array([[1] * 4 + [2] * 6])
    curve = deletion_curve(counter(), ids, np.arange(10)[None, ::-1], [0, 0.1 + 0.2])
    np.testing.assert_allclose(curve.attended[1], p(1 / 7), atol=1e-6)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"inputs": IDS[0]}, "(rows, time)"),
        ({"inputs": IDS * 0}, "row with a step"),
        ({"weights": [[0.5, 0.5], [0, 0]]}, "4 tokens and 2 weights"),
        ({"fractions": [0.5]}, "increasing"),
        ({"fractions": [0.5, 0.2]}, "increasing"),
        ({"fractions": [0, 1.5]}, "in [0, 1]"),
        ({"num_random": 0}, "num_random"),
        ({"model": counter(None)}, "from_logits"),
    ],
)
def test_errors(change, told):
    arguments = {"model": counter(), "inputs": IDS, "weights": np.ones((2, 4)) / 4}
    with refused(*change, "deletion_curve", told):
        deletion_curve(**{**arguments, **change})
