"""SAM's gate on features."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy
from layer_contract import DIM, EquationContract, SeededContract, SequenceContract, batch
from reference import sam as reference

from keras_attnpool.layers import FeatureWiseAttention, SequentialAttention

pytestmark = pytest.mark.every_backend


class FeatureContract(EquationContract):
    """The equations with the arguments of `options`."""

    options: dict = {}
    dims = (4, 4, 4)

    def make(self, **kwargs):
        return FeatureWiseAttention(**{"reduction": 2, **self.options, **kwargs})

    def reference(self, weights, x, mask):
        return reference.feature_wise(x, mask, weights, self.options.get("threshold", 0.0))

    def calls(self):
        return [{}, {"return_attention_scores": True}]


class TestFeatureWiseAttention(FeatureContract, SeededContract, SequenceContract):
    # Twice a sum over six features and three units, of inputs up to 3e4.
    extreme = 3e3

    @pytest.mark.parametrize("in_order", [False, True])
    def test_the_gradient_of_a_long_text_in_half_precision(self, in_order):
        """That of the gate is a sum over 2000 steps of 40, more than float16 holds."""
        x, found = np.full((1, 2000, DIM), 40, "float32"), []
        for policy in ("mixed_float16", "float32"):
            kwargs = {"bias_initializer": "ones", "seed": 0, "dtype": policy}
            if in_order:
                layer = SequentialAttention(order=("feature",), reduction=2, **kwargs)
            else:
                layer = FeatureWiseAttention(2, **kwargs)
            layer.build(x.shape)
            # Kernels so small that no gate is saturated, and positive: of random ones every hidden
            # unit may be off, and then no gradient reaches them.
            layer.set_weights([np.abs(w) / 1000 for w in layer.get_weights()])
            on_x, on_weights = gradients(
                layer, x, lambda t, layer=layer: keras.ops.sum(keras.ops.cast(layer(t), "float32"))
            )
            found.append([on_x, *on_weights.values()])
        for half, full in zip(*found, strict=True):
            assert np.abs(full).max() > 0
            np.testing.assert_allclose(half, full, atol=0.02 * np.abs(full).max())


class TestThreshold(FeatureContract):
    """Some features are left out, others weakened; no biases."""

    options = {"threshold": 0.4, "use_bias": False}

    def test_some_features_are_left_out(self):
        x, mask = batch()
        _, gate = self.outputs(self.built(), x, mask, return_attention_scores=True)
        assert (gate[:-1] == 0).any() and (gate[:-1] > 0).any() and gate.max() < 0.6


def by_hand(threshold):
    """One hidden unit reads the first feature; the second feature's logit is minus the first's.

    The maximum over time is (log 3, 5), the mean (0, 5): the logits are log 3 + 0 and their
    negative, the gate 3/4 and 1/4.
    """
    layer = FeatureWiseAttention(reduction=2, threshold=threshold, use_bias=False)
    layer.build((None, None, 2))
    layer.set_weights([np.array([[1.0, -1.0]]), np.array([[1.0], [0.0]])])
    x = np.array([[[np.log(3.0), 5.0], [-np.log(3.0), 5.0]]], "float32")
    output, gate = layer(x, return_attention_scores=True)
    return x, numpy(output), numpy(gate)


@pytest.mark.torch_first("the reference has the same equations")
def test_two_steps_of_two_features_by_hand():
    x, output, gate = by_hand(threshold=0.0)
    np.testing.assert_allclose(gate, [[0.75, 0.25]], rtol=1e-5)
    np.testing.assert_allclose(output, x * [0.75, 0.25], rtol=1e-5)


def test_the_threshold_is_taken_from_every_weight():
    """It shifts, and what would be below 0 is 0: no mask that leaves the others as they are."""
    x, output, gate = by_hand(threshold=0.5)
    np.testing.assert_allclose(gate, [[0.25, 0.0]], rtol=1e-5)
    np.testing.assert_allclose(output, x * [0.25, 0.0], rtol=1e-5)


def test_a_threshold_of_one_gives_zeros():
    x, mask = batch()
    layer = FeatureWiseAttention(reduction=2, threshold=1.0)
    output, gate = layer(x * 1000, mask=mask, return_attention_scores=True)
    np.testing.assert_array_equal(numpy(gate), 0)
    np.testing.assert_array_equal(numpy(output), 0)
    on_x, on_weights = gradients(layer, x, lambda t: keras.ops.sum(layer(t, mask=mask)))
    for found in (on_x, *on_weights.values()):
        np.testing.assert_array_equal(found, 0)


def test_dropout_is_on_the_gate_and_scores_are_taken_before_it():
    x, mask = batch(dim=64)
    layer = FeatureWiseAttention(dropout=0.5, seed=3)
    quiet, quiet_gate = layer(x, mask=mask, return_attention_scores=True)
    output, gate = layer(x, mask=mask, training=True, return_attention_scores=True)
    np.testing.assert_array_equal(numpy(gate), numpy(quiet_gate))
    ratio = (numpy(output) / np.where(mask[..., None], numpy(quiet), 1))[:-1]
    kept = ratio[mask[:-1]]
    # Whole features of a text are dropped, or doubled.
    assert np.isclose(kept, 0).any() and np.isclose(kept, 2, rtol=1e-4).any()
    assert (np.isclose(kept, 0) | np.isclose(kept, 2, rtol=1e-4)).all()
    first = ratio[0]
    np.testing.assert_allclose(first, np.broadcast_to(first[:1], first.shape), rtol=1e-4)
