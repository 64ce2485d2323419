"""The shortcut-stacked encoder of the Generalized Pooling paper."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import DIM, EquationContract, RecurrentContract, batch
from reference import generalized_pooling_encoder as reference

from keras_attnpool.layers import ShortcutStackedBiLSTM

pytestmark = pytest.mark.every_backend


def stacked(weights, num_layers, bias=True):
    """(kernel, recurrent kernel, bias) of each layer, forward and backward."""
    return [
        [
            (
                weights[f"{direction}_{n}/lstm_cell/kernel"],
                weights[f"{direction}_{n}/lstm_cell/recurrent_kernel"],
                weights[f"{direction}_{n}/lstm_cell/bias"] if bias else 0,
            )
            for n in range(1, num_layers + 1)
        ]
        for direction in ("forward", "backward")
    ]


class TestShortcutStackedBiLSTM(RecurrentContract):
    """The whole contract on one layer: every LSTM costs a compilation on some backends."""

    def make(self, **kwargs):
        return ShortcutStackedBiLSTM(units=2, num_layers=1, **kwargs)

    def reference(self, weights, x, mask):
        return reference.shortcut_stacked_bilstm(x, mask, *stacked(weights, 1))


class Stack(EquationContract):
    """Two layers, with the biases of the official code or, as printed, without."""

    def __init__(self, shortcut):
        self.shortcut = shortcut
        self.use_bias = shortcut == "full"

    def make(self, **kwargs):
        return ShortcutStackedBiLSTM(2, 2, shortcut=self.shortcut, use_bias=self.use_bias, **kwargs)

    def reference(self, weights, x, mask):
        return reference.shortcut_stacked_bilstm(
            x, mask, *stacked(weights, 2, self.use_bias), self.shortcut
        )


@pytest.mark.parametrize("shortcut", ["full", "per_direction", "none"])
class TestShortcuts:
    def test_values_agree_with_the_float64_reference(self, shortcut):
        stack = Stack(shortcut)
        x, mask = batch()
        layer = stack.built()
        (target,) = stack.expected(layer, x, mask)
        np.testing.assert_allclose(numpy(layer(x, mask=mask)), target, atol=1e-5)

    def test_gradients_agree_with_the_reference(self, shortcut):
        Stack(shortcut).test_gradients_agree_with_the_reference()

    def test_a_saved_model_is_the_model(self, shortcut, tmp_path):
        Stack(shortcut).test_a_saved_model_is_the_model(tmp_path)


@pytest.mark.parametrize("shortcut", ["full", "per_direction", "none"])
def test_dropout_meets_the_inputs_of_the_layers_above_and_is_seeded(shortcut):
    def make():
        return ShortcutStackedBiLSTM(
            3, 2, shortcut=shortcut, dropout=0.5, bias_initializer="ones", seed=3
        )

    # Of words that are zero, nothing can be dropped: what changes is the second layer's input.
    words = np.zeros((2, 3, DIM), "float32")
    layer = make()
    dropped = numpy(layer(words, training=True))
    changed = np.abs(dropped - numpy(layer(words)))
    assert changed[..., :3].max() > 1e-3 and changed[..., 3:].max() > 1e-3
    np.testing.assert_array_equal(numpy(make()(words, training=True)), dropped)
