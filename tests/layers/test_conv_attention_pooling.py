"""HCAN's target attention: a learned target over convolved steps."""

import math

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import DIM, AttentionContract, EquationContract, batch
from reference import hcan as reference

from keras_attnpool.layers import ConvAttentionPooling

pytestmark = pytest.mark.every_backend


class ConvContract(EquationContract):
    """The equations with the arguments of `options`."""

    options: dict = {}

    # Only the convolutions meet it: one size saves many compilations.
    dims = (4, 4, 4)

    def make(self, **kwargs):
        return ConvAttentionPooling(2, 4, **self.options, **kwargs)

    def reference(self, weights, x, mask):
        options = dict(self.options)
        for name in ("kernel_size", "use_bias"):
            options.pop(name, None)
        return reference.target_attention(x, mask, weights, 2, **options)


class TestConvAttentionPooling(ConvContract, AttentionContract):
    # A convolution of numbers at the edge of float16 leaves its range: 3 steps of 6 inputs.
    extreme = 3e3


class TestInputsAsValues(ConvContract):
    """The official code's: keys alone are convolved."""

    options = {"value_conv": False, "kernel_size": 2, "scale": 0.5, "use_bias": False}
    dims = (DIM, DIM, DIM)

    def make(self, **kwargs):
        return ConvAttentionPooling(2, DIM, **self.options, **kwargs)

    def calls(self):
        return [{}, {"return_attention_scores": True}]


@pytest.mark.torch_first("the reference has the same equations")
def test_values_are_activated_by_hand():
    """One step: elu(-log 2) = -1/2 and elu(3) = 3."""
    layer = ConvAttentionPooling(1, 2, kernel_size=1, use_bias=False)
    layer.build((None, None, 2))
    layer.set_weights([np.zeros((1, 2, 2)), np.eye(2)[None], np.ones(2)])
    x = np.array([[[-math.log(2.0), 3.0]]], "float32")
    np.testing.assert_allclose(numpy(layer(x)), [[-0.5, 3.0]], rtol=1e-6)


def test_the_scale_is_that_of_a_heads_width():
    """Two heads of 4 features, each with the score 4 log 3 / 2 against 0."""
    layer = ConvAttentionPooling(2, 8, kernel_size=1, activation=None, use_bias=False)
    layer.build((None, None, 1))
    layer.set_weights([np.ones((1, 1, 8)), np.ones((1, 1, 8)), np.ones(8)])
    x = np.array([[[math.log(3.0)], [0.0]]], "float32")
    _, scores = layer(x, return_attention_scores=True)
    np.testing.assert_allclose(numpy(scores), [[[0.9, 0.1]] * 2], rtol=1e-5)


def test_a_target_of_zeros_is_mean_pooling():
    x, mask = batch()
    layer = ConvAttentionPooling(2, DIM, value_conv=False, target_initializer="zeros")
    target = x * mask[..., None] / np.maximum(mask.sum(axis=1), 1)[:, None, None]
    np.testing.assert_allclose(numpy(layer(x, mask=mask)), target.sum(axis=1), atol=1e-6)


def test_the_target_does_not_start_at_zero():
    """Zeros would weigh every step alike."""
    layer = ConvAttentionPooling(2, 4, seed=5)
    layer.build((None, None, DIM))
    assert np.abs(numpy(layer.target)).min() > 0


def test_inputs_as_values_must_be_as_wide_as_the_filters():
    message = r"'the_name' \(ConvAttentionPooling\).*filters=4.*value_conv=False.*\(4, 5, 6\)"
    layer = ConvAttentionPooling(2, 4, value_conv=False, name="the_name")
    with pytest.raises(ValueError, match=message):
        layer(batch()[0])
