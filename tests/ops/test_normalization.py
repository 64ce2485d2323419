"""The l2 norm that survives zero."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy

from keras_attnpool import ops
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


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_layer_norm_has_mean_and_variance_of_its_weights(dtype):
    x, gamma, beta = np.random.default_rng(0).normal(2, 3, size=(3, 4, 4)).astype(dtype)
    found = layer_normalize(keras.ops.convert_to_tensor(x), gamma[0], beta[0])
    wide = keras.backend.standardize_dtype(ops.at_least_float32(x).dtype)
    assert keras.backend.standardize_dtype(found.dtype) == wide
    x = x.astype("float64")
    normed = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(numpy(found), normed * gamma[0] + beta[0], rtol=1e-5, atol=1e-5)


def test_half_precision_is_normalised_in_float32():
    found = l2_normalize(np.full((1, 4), 300.0, "float16"))
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(numpy(found), 0.5, atol=1e-6)
