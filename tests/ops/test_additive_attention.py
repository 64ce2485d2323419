"""Attention by additive scores, dense and in a band, against explicit loops in NumPy."""

import keras
import numpy as np
import pytest
from backend_functions import largest_tensor, numpy

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
