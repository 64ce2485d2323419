"""HCAN's self-attention: convolved queries, keys and values, and the product of two."""

import math

import keras
import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import (
    DIM,
    AttendingContract,
    EquationContract,
    SeededContract,
    SequenceContract,
    batch,
)
from reference import hcan as reference

from keras_attnpool.layers import ConvMultiHeadAttention

pytestmark = pytest.mark.every_backend


class ConvContract(EquationContract):
    """The equations with the arguments of `options`."""

    options: dict = {}

    # Only the convolutions meet it: one size saves many compilations.
    dims = (3, 3, 3)

    def make(self, **kwargs):
        return ConvMultiHeadAttention(2, 4, **self.options, **kwargs)

    def reference(self, weights, x, mask):
        options = dict(self.options)
        for name in ("kernel_size", "use_bias"):
            options.pop(name, None)
        return reference.self_attention(x, mask, weights, 2, **options)

    def calls(self):
        return [{}, {"return_attention_scores": True}]


class TestParallel(ConvContract, AttendingContract, SeededContract, SequenceContract):
    single_on_jax = True
    # A convolution of numbers at the edge of float16 leaves its range: 3 steps of 6 inputs.
    extreme = 3e3

    def compiled_calls(self):
        # Keras cannot take a tuple in a tuple apart inside a graph of torch.compile.
        return [{}] if keras.backend.backend() == "torch" else super().compiled_calls()

    def test_weights_sum_to_one_over_the_kept_keys_of_kept_queries(self):
        x, mask = batch()
        pairs = np.repeat((mask[:, :, None] & mask[:, None])[:, None], 2, axis=1)
        layer = self.built()
        for scale in (1.0, 100.0):
            _, *tables = self.outputs(layer, x * scale, mask, return_attention_scores=True)
            assert len(tables) == 2 and np.abs(tables[0] - tables[1]).max() > 1e-2
            for scores in tables:
                assert (scores >= 0).all()
                np.testing.assert_array_equal(scores[~pairs], 0)
                np.testing.assert_allclose(scores.sum(axis=-1), pairs.any(axis=-1), atol=1e-5)

    def test_scores_are_taken_before_dropout(self):
        x, mask = batch()
        layer = self.built(dropout=0.5, seed=3)
        _, *scores = self.outputs(layer, x, mask, training=True, return_attention_scores=True)
        _, *targets = self.outputs(layer, x, mask, return_attention_scores=True)
        np.testing.assert_array_equal(scores, targets)

    def test_scores_are_one_tensor_for_one_attention_and_a_tuple_for_two(self):
        inputs = keras.Input((None, DIM))
        _, scores = self.make()(inputs, return_attention_scores=True)
        assert isinstance(scores, tuple)
        assert [s.shape for s in scores] == [(None, 2, None, None)] * 2
        single = ConvMultiHeadAttention(2, 4, parallel=False)
        assert single(inputs, return_attention_scores=True)[1].shape == (None, 2, None, None)
        eager = single(batch()[0], return_attention_scores=True)[1]
        assert tuple(eager.shape) == (4, 2, 5, 5)


class TestSingle(ConvContract):
    options = {"parallel": False, "layer_norm": False}

    def test_compiled_is_eager(self):
        SequenceContract.test_compiled_is_eager(self)


class TestEvenWindowWithoutBias(ConvContract):
    options = {"kernel_size": 2, "scale": math.sqrt(4), "use_bias": False}


def test_a_single_attention_with_layer_norm_agrees_with_the_reference():
    x, mask = batch()
    layer = ConvMultiHeadAttention(2, 4, 4, parallel=False, bias_initializer="random_normal")
    output, scores = layer(x, mask=mask, return_attention_scores=True)
    weights = {v.path.split("/", 1)[1]: numpy(v).astype("float64") for v in layer.weights}
    target, table = reference.self_attention(x.astype("float64"), mask, weights, 2, parallel=False)
    np.testing.assert_allclose(numpy(output), target, atol=1e-5)
    np.testing.assert_allclose(numpy(scores), table, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_windows_lie_as_those_of_conv1d(size):
    """The reference's, which the layer meets above."""
    x, _ = batch(rows=1, dim=2)
    conv = keras.layers.Conv1D(3, size, padding="same", bias_initializer="random_normal")
    found = numpy(conv(x))[0]
    target = reference.convolution(x[0].astype("float64"), *map(numpy, conv.weights))
    np.testing.assert_allclose(found, target, atol=1e-5)


@pytest.mark.parametrize(("scale", "divisor"), [(None, 2.0), (math.sqrt(8), math.sqrt(8)), (1, 1)])
def test_the_scale_is_that_of_a_heads_width_unless_told(scale, divisor):
    """Two heads of 4 features, each with the score 4 log 3 / scale against 0."""
    layer = ConvMultiHeadAttention(
        2, 8, kernel_size=1, parallel=False, scale=scale, activation=None, use_bias=False
    )
    layer.build((None, None, 2))
    query, key = np.zeros((1, 2, 8)), np.zeros((1, 2, 8))
    query[0, 0], key[0, 1] = 1, 1
    layer.set_weights([query, key, key, np.ones(8), np.zeros(8)])
    x = np.array([[[1.0, math.log(3.0)], [1.0, 0.0]]], "float32")
    _, scores = layer(x, return_attention_scores=True)
    assert divisor == (2.0 if scale is None else scale)
    target = 3 ** (4 / divisor)
    np.testing.assert_allclose(numpy(scores)[..., 0], target / (1 + target), rtol=1e-5)
