"""Attention by additive scores, dense and in a band, against explicit loops in NumPy."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, largest_tensor, numpy
from layer_contract import probed

from keras_attnpool.ops._additive_attention import additive_attention, banded_attention
from keras_attnpool.ops.positions import parse_positions

pytestmark = pytest.mark.every_backend


def parts(dim, features, time, rows=3, seed=0):
    """Source, target, values and a mask with a full row, holes and an empty row."""
    rng = np.random.default_rng(seed)
    source, target = (rng.normal(size=(rows, time, features)).astype("float32") for _ in "st")
    values = rng.normal(size=(rows, time, dim)).astype("float32")
    mask = rng.random((rows, time)) < 0.6
    mask[0], mask[-1] = True, False
    return source, target, values, mask


def expected(source, target, values, mask, allowed, penalty):
    """`sum_i softmax_i(tanh(source_i + target_j) - penalty_ji) values_i`, pair by pair."""
    rows, time, dim = values.shape
    features = source.shape[2]
    output, weights = np.zeros((rows, time, dim)), np.zeros((rows, time, time, features))
    for row in range(rows):
        for j in range(time):
            keys = [i for i in range(time) if mask[row, i] and mask[row, j] and allowed[j, i]]
            for i in keys:
                score = np.tanh(source[row, i].astype("float64") + target[row, j])
                weights[row, j, i] = np.exp(score - penalty[j, i])
            if keys:
                weights[row, j] /= weights[row, j].sum(axis=0)
            output[row, j] = sum((weights[row, j, i] * values[row, i] for i in keys), np.zeros(dim))
    return output, weights


def tables(positions, time):
    relation = parse_positions(positions, "test")
    allowed, penalty = relation.allowed(time), relation.penalty(time, "float32")
    return (
        np.ones((time, time), bool) if allowed is None else numpy(allowed),
        np.zeros((time, time)) if penalty is None else numpy(penalty),
    )


def dense(source, target, values, mask, positions, **kwargs):
    relation, time = parse_positions(positions, "test"), values.shape[1]
    return additive_attention(
        source,
        target,
        values,
        keras.ops.tanh,
        mask,
        relation.allowed(time),
        relation.penalty(time, "float32"),
        **kwargs,
    )


def banded(source, target, values, mask, positions, **kwargs):
    relation = parse_positions(positions, "test")
    return banded_attention(
        source,
        target,
        values,
        keras.ops.tanh,
        relation.offsets,
        relation.offset_penalties,
        mask,
        **kwargs,
    )


BANDS = [
    ("faraway_2",),
    ("faraway_3", "earlier"),
    ("later", "faraway_2", "scaled_distance"),
    ("faraway_7", "distance"),
]
OPEN = [(), ("earlier", "scaled_distance"), ("later",), ("distance",)]


@pytest.mark.parametrize("features", [1, 4])
@pytest.mark.parametrize("positions", [*OPEN, BANDS[2]])
def test_dense_is_the_sum_over_pairs(positions, features):
    source, target, values, mask = parts(4, features, time=4)
    output, weights = dense(source, target, values, mask, positions, return_attention_scores=True)
    targets = expected(source, target, values, mask, *tables(positions, 4))
    np.testing.assert_allclose(numpy(output), targets[0], atol=1e-5)
    np.testing.assert_allclose(numpy(weights).reshape(targets[1].shape), targets[1], atol=1e-5)
    alone, nothing = dense(source, target, values, mask, positions)
    np.testing.assert_array_equal(numpy(alone), numpy(output))
    assert nothing is None


@pytest.mark.parametrize(("features", "time"), [(1, 40), (4, 4)])
@pytest.mark.parametrize("positions", BANDS)
def test_the_band_is_the_dense_table(positions, features, time):
    """Also where the band is wider than the text."""
    source, target, values, mask = parts(4, features, time)
    output, weights = banded(source, target, values, mask, positions, return_attention_scores=True)
    output_dense, weights_dense = dense(
        source, target, values, mask, positions, return_attention_scores=True
    )
    assert tuple(weights.shape) == tuple(weights_dense.shape)
    np.testing.assert_allclose(numpy(output), numpy(output_dense), atol=1e-6)
    np.testing.assert_allclose(numpy(weights), numpy(weights_dense), atol=1e-6)
    alone, nothing = banded(source, target, values, mask, positions)
    np.testing.assert_array_equal(numpy(alone), numpy(output))
    assert nothing is None


def test_what_is_far_counts_where_all_nearer_steps_are_padded():
    """`exp(-117)` is 0 in float32: what distance costs may be no factor of the weights."""
    source, target, values, mask = parts(4, 1, time=40)
    mask[:, 1:39] = False
    positions = ("earlier", "distance", "distance", "distance")
    output, weights = dense(source, target, values, mask, positions, return_attention_scores=True)
    np.testing.assert_allclose(numpy(weights)[0, 39, 0], 1)
    np.testing.assert_allclose(numpy(output)[0, 39], values[0, 0], rtol=1e-6)


class Attend(keras.layers.Layer):
    """Either form as a layer; the inputs are source, target and values side by side."""

    def __init__(self, function, features, positions):
        super().__init__()
        self.supports_masking = True
        self.function, self.features, self.positions = function, features, positions

    def call(self, x, mask=None):
        f = self.features
        parted = x[..., :f], x[..., f : 2 * f], x[..., 2 * f :]
        return self.function(*parted, mask, self.positions)[0]


@pytest.mark.parametrize("features", [1, 4])
def test_both_forms_have_the_same_gradients(features):
    positions = ("faraway_2", "scaled_distance")
    *x, mask = parts(4, features, time=4)
    x = np.concatenate(x, axis=-1)
    probe = np.random.default_rng(1).normal(size=(3, 4, 4))

    def gradient(function):
        layer = Attend(function, features, positions)
        return gradients(layer, x, lambda t: probed(layer(t, mask=mask), probe))[0]

    found = gradient(banded)
    assert np.abs(found[mask]).max() > 0.1
    np.testing.assert_array_equal(found[~mask], 0)
    np.testing.assert_allclose(found, gradient(dense), atol=1e-5)


@pytest.mark.parametrize("function", [dense, banded])
def test_no_mask_keeps_everything(function):
    source, target, values, mask = parts(4, 1, time=4)
    found = function(source, target, values, None, BANDS[0])[0]
    ones = function(source, target, values, np.ones_like(mask), BANDS[0])[0]
    np.testing.assert_allclose(numpy(found), numpy(ones), atol=1e-6)


def largest(function, dim, features, time, positions):
    *x, mask = parts(dim, features, time, rows=2)
    layer, mask = Attend(function, features, positions), keras.ops.convert_to_tensor(mask)
    return largest_tensor(lambda t: layer(t, mask=mask), np.concatenate(x, axis=-1))


def test_scalar_scores_never_make_a_tensor_of_pairs_and_features():
    """Nothing forward or backward is larger than the inputs or the table of pairs."""
    positions = ("earlier", "scaled_distance")
    assert largest(dense, 30, 1, 20, positions) <= 2 * 20 * (30 + 2)
    assert largest(dense, 30, 30, 20, positions) >= 2 * 20 * 20 * 30


@pytest.mark.parametrize("features", [1, 3])
def test_a_band_never_makes_a_table_of_pairs(features):
    """Four offsets of three features on 80 steps, with the padding at both ends."""
    assert largest(banded, 3, features, 80, ("faraway_2",)) <= 2 * (80 + 4) * 4 * 3 < 80**2
    assert largest(dense, 3, features, 80, ("faraway_2",)) >= 2 * 80**2
