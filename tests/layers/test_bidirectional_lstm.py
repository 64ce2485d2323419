"""The bidirectional LSTM."""

import keras
import numpy as np
import pytest
from backend_functions import RECURRENT, numpy
from layer_contract import DIM, EquationContract, SeededContract, SequenceContract, batch
from reference import generalized_pooling_encoder as reference

from keras_attnpool.layers import BidirectionalLSTM

pytestmark = pytest.mark.every_backend


def direction(weights, name, bias=True):
    """Kernel, recurrent kernel and bias of one direction."""
    names = ("kernel", "recurrent_kernel", *(["bias"] if bias else []))
    found = [weights[f"{name}/lstm_cell/{weight}"] for weight in names]
    return found if bias else [*found, np.zeros(found[0].shape[1])]


class TestBidirectionalLSTM(SequenceContract, SeededContract):
    atol = RECURRENT
    single_on_jax = True

    def make(self, **kwargs):
        return BidirectionalLSTM(3, **kwargs)

    def reference(self, weights, x, mask):
        both = [[direction(weights, name)] for name in ("forward", "backward")]
        return reference.shortcut_stacked_bilstm(x, mask, *both)


class TestWithoutBias(EquationContract):
    def make(self, **kwargs):
        return BidirectionalLSTM(2, use_bias=False, **kwargs)

    def reference(self, weights, x, mask):
        both = [[direction(weights, name, bias=False)] for name in ("forward", "backward")]
        return reference.shortcut_stacked_bilstm(x, mask, *both)


def test_worked_by_hand():
    """One unit; all gates half open, every step writes tanh(b) = 1/2."""
    layer = BidirectionalLSTM(1)
    layer.build((None, None, 1))
    bias = np.array([0, 0, np.arctanh(0.5), 0])
    layer.set_weights([np.zeros((1, 4)), np.zeros((1, 4)), bias] * 2)
    # c_1 = 1/4, c_2 = 1/8 + 1/4, h = tanh(c) / 2; the middle step is a hole.
    first, second = np.tanh(0.25) / 2, np.tanh(0.375) / 2
    output = numpy(layer(np.ones((1, 3, 1), "float32"), mask=np.array([[1, 0, 1]])))
    target = [[[first, second], [0, 0], [second, first]]]
    np.testing.assert_allclose(output, target, atol=RECURRENT)


@pytest.mark.parametrize("starts_open", [True, False])
def test_the_forget_gates_start_open_if_asked(starts_open):
    layer = BidirectionalLSTM(2, unit_forget_bias=starts_open)
    layer.build((None, None, DIM))
    for name in ("forward", "backward"):
        (bias,) = [numpy(w) for w in layer.weights if w.path.endswith(f"{name}/lstm_cell/bias")]
        np.testing.assert_array_equal(bias, [0, 0, starts_open, starts_open, 0, 0, 0, 0])
    assert layer.get_config()["unit_forget_bias"] is starts_open


def test_it_is_kerass_bidirectional_lstm_on_padded_rows():
    x, mask = batch(rows=3)
    mask[2] = [True, False, False, False, False]
    ours = BidirectionalLSTM(3)
    theirs = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))
    ours.build((None, None, DIM))
    target = numpy(theirs(x, mask=mask))
    ours.set_weights([w + 0.1 for w in theirs.get_weights()])
    theirs.set_weights(ours.get_weights())
    target = numpy(theirs(x, mask=mask))
    np.testing.assert_allclose(numpy(ours(x, mask=mask))[mask], target[mask], atol=RECURRENT)
    np.testing.assert_allclose(numpy(ours(x)), numpy(theirs(x)), atol=RECURRENT)


def test_parameters():
    """Lin et al.'s encoder, section 4: 300 units a direction on words of 100 features."""
    layer = BidirectionalLSTM(300)
    layer.build((None, None, 100))
    assert layer.count_params() == 2 * 4 * 300 * (100 + 300 + 1)


def test_dropout_meets_the_words_and_leaves_padding_zero():
    def make():
        return BidirectionalLSTM(3, dropout=0.5, seed=3)

    x, mask = batch()
    layer = make()
    dropped = numpy(layer(x, mask=mask, training=True))
    assert np.abs(dropped - numpy(layer(x, mask=mask))).max() > 1e-3
    np.testing.assert_array_equal(dropped[~mask], 0)
    np.testing.assert_array_equal(numpy(make()(x, mask=mask, training=True)), dropped)


def test_the_directions_can_be_added():
    x, mask = batch()
    joined, added = (BidirectionalLSTM(3, merge_mode=m) for m in ("concat", "sum"))
    for layer in (joined, added):
        layer.build((None, None, DIM))
    added.set_weights(joined.get_weights())
    states = numpy(joined(x, mask=mask))
    found = added(x, mask=mask)
    np.testing.assert_allclose(numpy(found), states[..., :3] + states[..., 3:], atol=RECURRENT)
    assert added.compute_output_shape(x.shape) == tuple(found.shape) == (4, 5, 3)


def test_weights_are_regularized_constrained_and_started_as_asked():
    layer = BidirectionalLSTM(
        2,
        kernel_initializer="ones",
        recurrent_initializer=keras.initializers.Constant(2.0),
        bias_initializer="ones",
        unit_forget_bias=False,
        kernel_regularizer=keras.regularizers.L1(1.0),
        recurrent_regularizer=keras.regularizers.L1(10.0),
        bias_regularizer=keras.regularizers.L1(100.0),
        kernel_constraint="non_neg",
        recurrent_constraint="non_neg",
        bias_constraint="non_neg",
    )
    layer.build((None, None, 3))
    total = sum(float(numpy(value)) for value in layer.losses)
    assert total == 2 * (3 * 8 + 10 * 2 * 2 * 8 + 100 * 8)
    assert all(weight.constraint is not None for weight in layer.weights)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"units": 0}, "units"),
        ({"merge_mode": "mean"}, "merge_mode"),
        ({"dropout": 1}, "dropout"),
        ({"unit_forget_bias": "no"}, "unit_forget_bias"),
    ],
)
def test_invalid_arguments_are_errors(arguments, name):
    with pytest.raises(ValueError, match=f"`{name}` of BidirectionalLSTM"):
        BidirectionalLSTM(**{"units": 2, **arguments})
