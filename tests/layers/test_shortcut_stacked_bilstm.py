"""The shortcut-stacked encoder of the Generalized Pooling paper."""

import keras
import numpy as np
import pytest
from backend_functions import RECURRENT, numpy
from layer_contract import DIM, EquationContract, SeededContract, SequenceContract, batch
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


class TestShortcutStackedBiLSTM(SequenceContract, SeededContract):
    """The whole contract on one layer: every LSTM costs a compilation on some backends."""

    single_on_jax = True
    atol = RECURRENT

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
            x,
            mask,
            *stacked(weights, 2, self.use_bias),
            self.shortcut,
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


def test_worked_by_hand():
    """One unit; all gates half open, every step writes tanh(b) = 1/2."""
    layer = ShortcutStackedBiLSTM(1, num_layers=1)
    layer.build((None, None, 1))
    bias = np.array([0, 0, np.arctanh(0.5), 0])
    layer.set_weights([np.zeros((1, 4)), np.zeros((1, 4)), bias] * 2)
    # c_1 = 1/4, c_2 = 1/8 + 1/4, h = tanh(c) / 2; the middle step is a hole.
    first, second = np.tanh(0.25) / 2, np.tanh(0.375) / 2
    output = numpy(layer(np.ones((1, 3, 1), "float32"), mask=np.array([[1, 0, 1]])))
    target = [[[first, second], [0, 0], [second, first]]]
    np.testing.assert_allclose(output, target, atol=RECURRENT)


def test_one_layer_is_kerass_bidirectional_lstm_on_padded_rows():
    x, mask = batch(rows=3)
    mask[2] = [True, False, False, False, False]
    ours = ShortcutStackedBiLSTM(3, num_layers=1)
    theirs = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))
    ours.build((None, None, DIM))
    target = numpy(theirs(x, mask=mask))
    ours.set_weights(theirs.get_weights())
    np.testing.assert_allclose(numpy(ours(x, mask=mask))[mask], target[mask], atol=RECURRENT)
    np.testing.assert_allclose(numpy(ours(x)), numpy(theirs(x)), atol=RECURRENT)


@pytest.mark.parametrize(
    ("units", "num_layers", "count"),
    [(600, 3, 28_814_400), (300, 3, 9_367_200), (300, 1, 2_162_400)],
)
def test_parameters(units, num_layers, count):
    """SNLI, MultiNLI, Age and Yelp, on embeddings of 600."""
    layer = ShortcutStackedBiLSTM(
        units, num_layers, kernel_initializer="zeros", recurrent_initializer="zeros"
    )
    layer.build((None, None, 600))
    assert layer.count_params() == count


@pytest.mark.parametrize(
    ("shortcut", "reads"), [("full", 5 + 2 * 3), ("per_direction", 5 + 3), ("none", 2 * 3)]
)
def test_parameters_of_each_shortcut(shortcut, reads):
    layer = ShortcutStackedBiLSTM(3, shortcut=shortcut)
    layer.build((None, None, 5))
    assert layer.count_params() == 2 * 4 * sum(3 * (d + 3) + 3 for d in (5, reads, reads))


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


def test_dropout_meets_the_words_and_leaves_padding_zero():
    layer = ShortcutStackedBiLSTM(3, 1, dropout=0.5, seed=3)
    x, mask = batch()
    dropped = numpy(layer(x, mask=mask, training=True))
    changed = np.abs(dropped - numpy(layer(x, mask=mask)))
    assert changed[..., :3].max() > 1e-3 and changed[..., 3:].max() > 1e-3
    np.testing.assert_array_equal(dropped[~mask], 0)


def test_weights_are_regularized_constrained_and_started_as_asked():
    layer = ShortcutStackedBiLSTM(
        2,
        num_layers=1,
        kernel_initializer="ones",
        recurrent_initializer=keras.initializers.Constant(2.0),
        kernel_regularizer=keras.regularizers.L1(1.0),
        recurrent_regularizer=keras.regularizers.L1(10.0),
        bias_regularizer=keras.regularizers.L1(100.0),
        kernel_constraint="non_neg",
        recurrent_constraint="non_neg",
        bias_constraint="non_neg",
    )
    layer.build((None, None, 3))
    # The forget gates' biases start at 1.
    np.testing.assert_array_equal(numpy(layer.weights[2]), [0, 0, 1, 1, 0, 0, 0, 0])
    total = sum(float(numpy(value)) for value in layer.losses)
    assert total == 2 * (3 * 8 + 10 * 2 * 2 * 8 + 100 * 2)
    assert all(weight.constraint is not None for weight in layer.weights)
    plain = ShortcutStackedBiLSTM(2, num_layers=1, unit_forget_bias=False)
    plain.build((None, None, 3))
    np.testing.assert_array_equal(numpy(plain.weights[2]), 0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_recurrent_kernels_start_orthogonal_and_different(dtype):
    layer = ShortcutStackedBiLSTM(3, num_layers=2, dtype=dtype)
    layer.build((None, None, 4))
    kernels = [numpy(w) for w in layer.weights if w.path.endswith("recurrent_kernel")]
    tolerance = 1e-5 if dtype == "float32" else 3e-2
    for kernel in kernels:
        np.testing.assert_allclose(kernel @ kernel.T, np.eye(3), atol=tolerance)
    assert len({kernel.tobytes() for kernel in kernels}) == 4


def test_the_directions_can_be_added():
    x, mask = batch()
    joined, added = (ShortcutStackedBiLSTM(3, 2, merge_mode=m) for m in ("concat", "sum"))
    for layer in (joined, added):
        layer.build((None, None, DIM))
    added.set_weights(joined.get_weights())
    states = numpy(joined(x, mask=mask))
    found = added(x, mask=mask)
    np.testing.assert_allclose(numpy(found), states[..., :3] + states[..., 3:], atol=RECURRENT)
    assert added.compute_output_shape(x.shape) == tuple(found.shape) == (4, 5, 3)
    with pytest.raises(ValueError, match="`merge_mode` of ShortcutStackedBiLSTM.*'mean'"):
        ShortcutStackedBiLSTM(3, merge_mode="mean")


def test_an_unknown_shortcut_is_an_error():
    with pytest.raises(ValueError, match="`shortcut` of ShortcutStackedBiLSTM.*'skip'"):
        ShortcutStackedBiLSTM(2, shortcut="skip")
