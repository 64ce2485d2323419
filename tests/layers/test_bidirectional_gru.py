"""The bidirectional GRU of LAMA's, SAN's and HAN's models."""

import keras
import numpy as np
import pytest
from backend_functions import RECURRENT, numpy
from layer_contract import DIM, EquationContract, SeededContract, SequenceContract, batch
from reference import gru as reference

from keras_attnpool.layers import BidirectionalGRU

pytestmark = pytest.mark.every_backend


def direction(weights, name, bias=True):
    """Kernel, recurrent kernel and bias of one direction."""
    names = ("kernel", "recurrent_kernel", *(["bias"] if bias else []))
    found = [weights[f"{name}/gru_cell/{weight}"] for weight in names]
    return found if bias else [*found, np.zeros((2, found[0].shape[1]))]


class TestBidirectionalGRU(SequenceContract, SeededContract):
    single_on_jax = True
    atol = RECURRENT

    def make(self, **kwargs):
        return BidirectionalGRU(3, **kwargs)

    def reference(self, weights, x, mask):
        return reference.bidirectional_gru(
            x, mask, direction(weights, "forward"), direction(weights, "backward")
        )


class TestWithoutBias(EquationContract):
    def make(self, **kwargs):
        return BidirectionalGRU(2, use_bias=False, **kwargs)

    def reference(self, weights, x, mask):
        both = [direction(weights, name, bias=False) for name in ("forward", "backward")]
        return reference.bidirectional_gru(x, mask, *both)


def test_worked_by_hand():
    """One unit; both gates half open, every step's new state is tanh(b) = 1/2."""
    layer = BidirectionalGRU(1)
    layer.build((None, None, 1))
    bias = np.array([[0, 0, np.arctanh(0.5)], [0, 0, 0]])
    layer.set_weights([np.zeros((1, 3)), np.zeros((1, 3)), bias] * 2)
    # h_1 = 1/4, h_2 = 1/8 + 1/4; the middle step is a hole.
    output = numpy(layer(np.ones((1, 3, 1), "float32"), mask=np.array([[1, 0, 1]])))
    np.testing.assert_allclose(output, [[[0.25, 0.375], [0, 0], [0.375, 0.25]]], atol=RECURRENT)


def test_the_reset_gate_meets_the_product_with_the_state():
    """A second bias alone: n_t = tanh(r_t * c), with r_t = sigmoid(b)."""
    layer = BidirectionalGRU(1)
    layer.build((None, None, 1))
    bias = np.array([[-50.0, 0, 0], [0, np.log(3), 0.8]])
    layer.set_weights([np.zeros((1, 3)), np.zeros((1, 3)), bias] * 2)
    output = numpy(layer(np.ones((1, 1, 1), "float32")))
    np.testing.assert_allclose(output, np.full((1, 1, 2), np.tanh(0.75 * 0.8)), atol=RECURRENT)


def test_it_is_kerass_bidirectional_gru_on_padded_rows():
    x, mask = batch(rows=3)
    mask[2] = [True, False, False, False, False]
    ours = BidirectionalGRU(3)
    theirs = keras.layers.Bidirectional(keras.layers.GRU(3, return_sequences=True))
    ours.build((None, None, DIM))
    target = numpy(theirs(x, mask=mask))
    ours.set_weights([w + 0.1 for w in theirs.get_weights()])
    theirs.set_weights(ours.get_weights())
    target = numpy(theirs(x, mask=mask))
    np.testing.assert_allclose(numpy(ours(x, mask=mask))[mask], target[mask], atol=RECURRENT)
    np.testing.assert_allclose(numpy(ours(x)), numpy(theirs(x)), atol=RECURRENT)


@pytest.mark.parametrize(("units", "dim", "count"), [(50, 100, 45_600), (256, 100, 549_888)])
def test_parameters(units, dim, count):
    """LAMA's encoders of sections 4 and 5.1: two directions of 3 u (D + u + 2) weights."""
    layer = BidirectionalGRU(units)
    layer.build((None, None, dim))
    assert layer.count_params() == count == 2 * 3 * units * (dim + units + 2)


def test_dropout_meets_the_words_and_leaves_padding_zero():
    def make():
        return BidirectionalGRU(3, dropout=0.5, seed=3)

    x, mask = batch()
    layer = make()
    dropped = numpy(layer(x, mask=mask, training=True))
    assert np.abs(dropped - numpy(layer(x, mask=mask))).max() > 1e-3
    np.testing.assert_array_equal(dropped[~mask], 0)
    np.testing.assert_array_equal(numpy(make()(x, mask=mask, training=True)), dropped)


def test_the_directions_can_be_added():
    x, mask = batch()
    joined, added = (BidirectionalGRU(3, merge_mode=m) for m in ("concat", "sum"))
    for layer in (joined, added):
        layer.build((None, None, DIM))
    added.set_weights(joined.get_weights())
    states = numpy(joined(x, mask=mask))
    found = added(x, mask=mask)
    np.testing.assert_allclose(numpy(found), states[..., :3] + states[..., 3:], atol=RECURRENT)
    assert added.compute_output_shape(x.shape) == tuple(found.shape) == (4, 5, 3)


def test_weights_are_regularized_constrained_and_started_as_asked():
    layer = BidirectionalGRU(
        2,
        kernel_initializer="ones",
        recurrent_initializer=keras.initializers.Constant(2.0),
        bias_initializer="ones",
        kernel_regularizer=keras.regularizers.L1(1.0),
        recurrent_regularizer=keras.regularizers.L1(10.0),
        bias_regularizer=keras.regularizers.L1(100.0),
        kernel_constraint="non_neg",
        recurrent_constraint="non_neg",
        bias_constraint="non_neg",
    )
    layer.build((None, None, 3))
    total = sum(float(numpy(value)) for value in layer.losses)
    assert total == 2 * (3 * 6 + 10 * 2 * 2 * 6 + 100 * 2 * 6)
    assert all(weight.constraint is not None for weight in layer.weights)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [({"units": 0}, "units"), ({"merge_mode": "mean"}, "merge_mode"), ({"dropout": 1}, "dropout")],
)
def test_invalid_arguments_are_errors(arguments, name):
    with pytest.raises(ValueError, match=f"`{name}` of BidirectionalGRU"):
        BidirectionalGRU(**{"units": 2, **arguments})
