"""The l2 norm that survives zero, and the layer norm."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy

from keras_attnpool.ops import l2_normalize
from keras_attnpool.ops.normalization import layer_normalize

pytestmark = pytest.mark.every_backend


class Normalize(keras.layers.Layer):
    def call(self, x):
        return l2_normalize(x)


def gradient(x):
    layer = Normalize()
    layer.build(x.shape)
    return gradients(layer, x, lambda t: keras.ops.sum(layer(t)[..., 0]))[0]


def test_vectors_come_out_with_length_one():
    x = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
    target = x / np.linalg.norm(x, axis=-1, keepdims=True)
    np.testing.assert_allclose(numpy(l2_normalize(x)), target, atol=1e-6)
    np.testing.assert_allclose(numpy(l2_normalize(x.T, axis=0)), target.T, atol=1e-6)


def test_short_vectors_are_exact_down_to_a_length_of_1e4():
    x = np.array([[3e-4, 4e-4]], "float32")
    np.testing.assert_allclose(numpy(l2_normalize(x)), [[0.6, 0.8]], rtol=1e-5)


def test_a_zero_vector_stays_zero_with_a_zero_gradient():
    x = np.array([[0.0, 0.0], [3.0, 4.0]], "float32")
    np.testing.assert_array_equal(numpy(l2_normalize(x))[0], 0)
    found = gradient(x)
    np.testing.assert_array_equal(found[0], 0)
    np.testing.assert_allclose(found[1], [0.128, -0.096], atol=1e-6)


def test_gradients_stay_finite_on_the_way_to_zero():
    x = np.array([[10.0**-k, 10.0**-k] for k in range(1, 45, 4)], "float32")
    assert np.isfinite(gradient(x)).all()
    assert np.abs(gradient(x)).max() <= 1e4


def test_half_precision_is_normalised_in_float32():
    found = l2_normalize(np.full((1, 4), 300.0, "float16"))
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(numpy(found), 0.5, atol=1e-6)


def test_layer_norm_by_hand():
    """(1, 5) has mean 3 and deviation 2."""
    x, gamma, beta = np.array([[1.0, 5.0]], "float32"), np.array([10.0, 1.0]), np.array([0.5, 7.0])
    np.testing.assert_allclose(numpy(layer_normalize(x, gamma, beta)), [[-9.5, 8.0]], rtol=1e-5)
    # Epsilon is added to the variance of 4.
    found = layer_normalize(x, np.ones(2), np.zeros(2), epsilon=12.0)
    np.testing.assert_allclose(numpy(found), [[-0.5, 0.5]], rtol=1e-6)


def test_layer_norm_is_that_of_keras():
    x = np.random.default_rng(0).normal(5, 3, size=(4, 3, 6)).astype("float32")
    gamma, beta = np.random.default_rng(1).normal(size=(2, 6)).astype("float32")
    layer = keras.layers.LayerNormalization(epsilon=1e-6)
    layer.build(x.shape)
    layer.set_weights([gamma, beta])
    found = numpy(layer_normalize(x, gamma, beta))
    np.testing.assert_allclose(found, numpy(layer(x)), atol=1e-5)


class LayerNorm(keras.layers.Layer):
    def call(self, x):
        return layer_normalize(x, np.ones(2, "float32"), np.array([3.0, 4.0], "float32"))


def test_layer_norm_of_features_all_alike_is_beta_with_a_finite_gradient():
    layer = LayerNorm()
    layer.build((2, 2))
    x = np.array([[5.0, 5.0], [0.0, 0.0]], "float32")
    np.testing.assert_array_equal(numpy(layer(x)), [[3.0, 4.0]] * 2)
    found, _ = gradients(layer, x, lambda t: keras.ops.sum(layer(t)[..., 0]))
    # 1 / sqrt(epsilon) times the half of the difference.
    np.testing.assert_allclose(found, [[500.0, -500.0]] * 2, rtol=1e-4)


def test_layer_norm_of_half_precision_is_in_float32():
    """The square of 6e4 is no number of float16."""
    found = layer_normalize(np.array([[6e4, -6e4]], "float16"), np.ones(2), np.zeros(2))
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(numpy(found), [[1.0, -1.0]], rtol=1e-5)
