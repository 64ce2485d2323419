"""What a CPU computes piece by piece, and an accelerator at once, is the same."""

import types

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy

from keras_attnpool import layers
from keras_attnpool.ops import _devices

pytestmark = [
    pytest.mark.every_backend,
    pytest.mark.torch_first("what a CPU computes is in the contract under every backend"),
]

MADE = {
    "GeneralizedPooling": lambda: layers.GeneralizedPooling(3, 5, seed=1),
    "scalar": lambda: layers.GeneralizedPooling(3, 5, per_feature=False, seed=1),
    "MultiDimAttentionPooling": lambda: layers.MultiDimAttentionPooling(seed=1),
    "weights that are 0": lambda: layers.GeneralizedPooling(3, 5, normalizer="entmax15", seed=1),
    "ConvMultiHeadAttention": lambda: layers.ConvMultiHeadAttention(2, 6, seed=1),
    "not parallel": lambda: layers.ConvMultiHeadAttention(
        2, 6, parallel=False, use_bias=False, seed=1
    ),
    "an activation over features": lambda: layers.ConvMultiHeadAttention(
        2, 6, activation="softmax", parallel_activation="softmax", seed=1
    ),
    "near words": lambda: layers.PositionalSelfAttention(
        6, positions=("faraway_2", "scaled_distance"), seed=1
    ),
    "near words, a score a feature": lambda: layers.PositionalSelfAttention(
        6, positions=("faraway_1",), per_feature=True, seed=1
    ),
    "DirectionalSelfAttention": lambda: layers.DirectionalSelfAttention(6, seed=1),
}


def example():
    """A full row, one with a hole, an empty one; what is padded is not a number."""
    x = np.random.default_rng(0).normal(size=(3, 7, 4)).astype("float32")
    mask = np.ones((3, 7), bool)
    mask[1, [2, 5, 6]] = mask[2] = False
    x[~mask] = np.nan
    return x, mask


@pytest.mark.parametrize("name", MADE)
def test_both_forms_are_the_same(name, monkeypatch):
    x, mask = example()
    layer = MADE[name]()
    layer(np.nan_to_num(x), mask=mask)
    found = {}
    for on_cpu in (True, False):
        monkeypatch.setattr(_devices, "on_cpu", lambda x=None, on_cpu=on_cpu: on_cpu)
        output, scores = layer(x, mask=mask, return_attention_scores=True)

        def loss(t):
            return keras.ops.sum(keras.ops.square(layer(t, mask=mask)))

        alone = layer(x, mask=mask)
        of_inputs, of_weights = gradients(layer, x, loss)
        np.testing.assert_array_equal(of_inputs[~mask], 0)
        found[on_cpu] = [output, *keras.tree.flatten(scores), alone, of_inputs]
        found[on_cpu] += [of_weights[path] for path in sorted(of_weights)]
    for at_once, in_pieces in zip(found[False], found[True], strict=True):
        assert np.isfinite(numpy(at_once)).all()
        np.testing.assert_allclose(numpy(at_once), numpy(in_pieces), atol=2e-5)
    np.testing.assert_array_equal(numpy(alone)[2], 0)


@pytest.mark.parametrize(("numbers", "together"), [(2**24, True), (2**24 + 1, False)])
def test_heads_go_together_on_an_accelerator_while_they_fit(monkeypatch, numbers, together):
    monkeypatch.setattr(_devices, "on_cpu", lambda x=None: False)
    x = keras.KerasTensor((2, None, 4))
    assert _devices.heads_together(x, 8, numbers) is together
    monkeypatch.setattr(_devices, "on_cpu", lambda x=None: True)
    assert not _devices.heads_together(x, 1, 1)


class Symbol:
    """A size that an export does not know: JAX's and PyTorch's refuse to be compared."""

    def _unknown(self, *other):
        raise RuntimeError("nobody knows yet")

    __bool__ = __mul__ = __rmul__ = __le__ = _unknown


def test_a_size_that_is_a_symbol_is_not_compared(monkeypatch):
    monkeypatch.setattr(_devices, "on_cpu", lambda x=None: False)
    size = Symbol()
    assert _devices.heads_together(types.SimpleNamespace(shape=(size, size, 4)), 8, 64)
    assert not _devices.pairs_together(types.SimpleNamespace(shape=(size, size, 4)), 1)
    assert _devices.pairs_together(types.SimpleNamespace(shape=(size, 8, 4)), 1)
