"""Sparsemax and 1.5-entmax of the kept entries, against a bisection in float64."""

import keras
import numpy as np
import pytest
from backend_functions import compiled, float64, gradients, numpy
from layer_contract import probed
from reference.sparse import bisection

from keras_attnpool import ops

pytestmark = pytest.mark.every_backend

BOTH = pytest.mark.parametrize(
    ("function", "power"), [(ops.masked_sparsemax, 1), (ops.masked_entmax15, 2)]
)


def jacobian(weights, power):
    """Of one row's weights: `diag(s) - s s^T / sum s`, s being `p^(1/2)` or 1 on the support."""
    s = np.sqrt(weights) if power == 2 else (weights > 0).astype("float64")
    return np.diag(s) - np.outer(s, s) / s.sum()


def rows(time=9, scale=1.0):
    rng = np.random.default_rng(time)
    logits = scale * rng.normal(size=(8, time)).astype("float32")
    logits[1] = 0.25  # ties
    mask = rng.random((8, time)) < 0.6
    mask[0], mask[1, 0], mask[-1] = True, True, False
    return logits, mask


@BOTH
@pytest.mark.parametrize(("time", "scale"), [(1, 1.0), (9, 0.1), (9, 1.0), (9, 50.0), (4000, 0.3)])
def test_it_is_the_bisection(function, power, time, scale):
    logits, mask = rows(time, scale)
    found = numpy(function(logits, mask))
    target = bisection(logits, mask, power)
    np.testing.assert_allclose(found, target, atol=2e-6)
    np.testing.assert_array_equal(found[~mask], 0)
    np.testing.assert_allclose(found.sum(-1), mask.any(-1), atol=1e-5)
    if scale == 50:
        assert (found[mask] == 0).mean() > 0.3  # exact zeros, which softmax has none of
    whole = numpy(function(logits))
    np.testing.assert_allclose(whole, bisection(logits, mask | True, power), atol=2e-6)


@BOTH
def test_in_float64(function, power):
    logits, mask = rows()
    with float64():
        found = numpy(function(logits.astype("float64"), mask))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, bisection(logits, mask, power), atol=1e-12)


@BOTH
def test_the_gradient_is_that_of_the_support(function, power):
    logits, mask = rows()
    probe = np.random.default_rng(1).normal(size=logits.shape)
    layer = keras.layers.Identity()
    found, _ = gradients(layer, logits, lambda z: probed(function(layer(z), mask), probe))
    for gradient, row, kept, weights in zip(
        found, probe, mask, bisection(logits, mask, power), strict=True
    ):
        target = jacobian(weights, power) @ row if kept.any() else 0 * row
        np.testing.assert_allclose(gradient, target, atol=1e-5)
        np.testing.assert_array_equal(gradient[weights == 0], 0)


@BOTH
def test_masked_and_far_entries_may_hold_anything(function, power):
    layer = keras.layers.Identity()
    mask = np.array([[True, True, True, False]])
    for far in (-50.0, -1e30, -np.inf):
        for garbage in (0.0, np.nan, np.inf, 1e38):
            logits = np.array([[0.5, 0.2, far, garbage]], "float32")
            target = bisection(np.array([[0.5, 0.2, -50, 0]]), mask, power)
            np.testing.assert_allclose(numpy(function(logits, mask)), target, atol=1e-6)
            slopes, _ = gradients(layer, logits, lambda z: function(layer(z), mask)[0, 0])
            np.testing.assert_allclose(slopes, jacobian(target[0], power)[:1], atol=1e-5)


@BOTH
@pytest.mark.parametrize("depth", [1.0, 1.2, 1.9])
def test_one_tall_entry_among_many_alike(function, power, depth):
    """At depth 1 the others lie exactly where their weight becomes 0: the square root's worst case.

    Further below, rounding errors of float32's sums over so many of them could give them weights.
    """
    logits = np.full((1, 20000), -depth * power, "float32")
    logits[0, 7] = 0
    layer = keras.layers.Identity()
    np.testing.assert_allclose(numpy(function(logits)), np.arange(20000)[None] == 7, atol=1e-5)
    slopes, _ = gradients(layer, logits, lambda z: function(layer(z))[0, 7])
    assert np.isfinite(slopes).all()


@BOTH
@pytest.mark.filterwarnings("ignore:divide by zero")  # NumPy says so
def test_a_kept_nan_is_not_hidden(function, power):
    """As softmax's: a model that diverged shall not seem to attend evenly."""
    weights = numpy(function(np.array([[0.5, np.nan, 0.1], [0.5, 0.2, 0.1]], "float32")))
    assert np.isnan(weights[0]).all() and np.isfinite(weights[1]).all()


@BOTH
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_along_any_axis_under_a_mask_that_is_broadcast(function, power, axis):
    logits = np.random.default_rng(0).normal(size=(3, 4, 5)).astype("float32")
    mask = np.array([[True], [False], [True], [True]])
    found = np.moveaxis(numpy(function(logits, mask, axis=axis)), axis, -1)
    kept = np.moveaxis(np.broadcast_to(mask, logits.shape), axis, -1)
    size = logits.shape[axis]
    target = bisection(
        np.moveaxis(logits, axis, -1).reshape(-1, size), kept.reshape(-1, size), power
    )
    np.testing.assert_allclose(found.reshape(-1, size), target, atol=1e-6)


@BOTH
def test_half_precision_compiled_and_no_rows(function, power):
    logits, mask = rows()
    half = function(logits.astype("float16"), mask)
    assert keras.backend.standardize_dtype(half.dtype) == "float32"
    assert function(logits[:0], mask[:0]).shape == (0, 9)
    tensors = [keras.ops.convert_to_tensor(each) for each in (logits, mask)]
    fast = compiled(function)(*tensors)
    np.testing.assert_allclose(numpy(fast), bisection(logits, mask, power), atol=2e-6)
    symbolic = function(keras.KerasTensor((None, 7)), keras.KerasTensor((None, 7), "bool"))
    assert symbolic.shape == (None, 7)


def test_additive_masks_are_refused():
    with pytest.raises(ValueError, match="masked_sparsemax"):
        ops.masked_sparsemax(np.zeros((1, 2)), np.array([[0.0, -1e9]]))
