"""Heads side by side, and the weights of queries over keys."""

import math

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy
from layer_contract import probed

from keras_attnpool.ops._dot_product_attention import dot_product_weights, join_heads, split_heads

pytestmark = pytest.mark.every_backend

RNG = np.random.default_rng(0)


def test_heads_are_slices_of_the_features():
    x = RNG.normal(size=(2, 5, 6)).astype("float32")
    heads = split_heads(x, 3)
    for head in range(3):
        np.testing.assert_array_equal(numpy(heads)[:, head], x[..., 2 * head : 2 * head + 2])
    np.testing.assert_array_equal(numpy(join_heads(heads)), x)


def test_heads_of_unknown_batch_and_length():
    inputs = keras.Input((None, 6))
    model = keras.Model(inputs, Heads()(inputs))
    assert model.output_shape == (None, None, 6)
    x = RNG.normal(size=(2, 5, 6)).astype("float32")
    np.testing.assert_array_equal(model.predict(x, verbose=0), x)


class Heads(keras.layers.Layer):
    def call(self, x):
        return join_heads(split_heads(x, 2))


class Weights(keras.layers.Layer):
    def __init__(self, scale, mask=None):
        super().__init__()
        self.scale, self.keep = scale, mask

    def call(self, x):
        return dot_product_weights(x, x, self.scale, self.keep)


def test_weights_by_hand():
    """Products 2 log 3 and 0, halved."""
    query, key = np.array([[[[2.0, 5.0]]]]), np.array([[[[math.log(3.0), 0.0], [0.0, 0.0]]]])
    np.testing.assert_allclose(numpy(dot_product_weights(query, key, 2.0)), [[[[0.75, 0.25]]]])
    np.testing.assert_allclose(
        numpy(dot_product_weights(query, key, 1.0)), [[[[0.9, 0.1]]]], rtol=1e-6
    )


def test_weights_agree_with_float64():
    query = RNG.normal(size=(2, 3, 4, 5)).astype("float32")
    key = RNG.normal(size=(2, 3, 6, 5)).astype("float32")
    scores = np.einsum("bhqd,bhkd->bhqk", query.astype("float64"), key.astype("float64")) / 0.3
    mask = RNG.random((2, 1, 4, 6)) < 0.5
    mask[0, 0, 0] = False
    for keep in (np.ones_like(mask), mask):
        exps = np.where(keep, np.exp(scores), 0)
        target = exps / np.maximum(exps.sum(axis=-1, keepdims=True), 1e-300)
        found = numpy(dot_product_weights(query, key, 0.3, None if keep.all() else keep))
        np.testing.assert_allclose(found, target, atol=1e-5)
        np.testing.assert_array_equal(found[~np.broadcast_to(keep, found.shape)], 0)


def test_a_query_without_a_key_has_zeros_and_no_gradient():
    x = RNG.normal(size=(1, 1, 3, 2)).astype("float32")
    mask = np.array([[[[True, True, False], [False] * 3, [False] * 3]]])
    layer = Weights(1.0, mask)
    layer.build(x.shape)
    probe = RNG.normal(size=(1, 1, 3, 3))
    found, _ = gradients(layer, x, lambda t: probed(layer(t), probe))
    np.testing.assert_array_equal(numpy(layer(x))[0, 0, 1:], 0)
    assert np.abs(found[0, 0, :2]).min() > 0
    np.testing.assert_array_equal(found[0, 0, 2], 0)


def test_half_precision_does_not_overflow():
    """The product of two features is above the largest number of float16."""
    x = np.array([[[[300.0, 300.0], [300.0, 299.0]]]], "float16")
    found = dot_product_weights(x, x, 100.0)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(numpy(found)[0, 0, 0, 1], 1 / (1 + math.exp(3)), rtol=1e-3)
