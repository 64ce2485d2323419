"""The bidirectional GRU of LAMA's, SAN's and HAN's models."""

import keras
import numpy as np
import pytest
from backend_functions import RECURRENT, numpy
from layer_contract import EquationContract, RecurrentContract
from reference import gru as reference

from keras_attnpool.layers import BidirectionalGRU

pytestmark = pytest.mark.every_backend


def direction(weights, name, bias=True):
    """Kernel, recurrent kernel and bias of one direction."""
    names = ("kernel", "recurrent_kernel", *(["bias"] if bias else []))
    arrays = [weights[f"{name}/gru_cell/{weight}"] for weight in names]
    return arrays if bias else [*arrays, np.zeros((2, arrays[0].shape[1]))]


class TestBidirectionalGRU(RecurrentContract):
    of_keras = keras.layers.GRU

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


@pytest.mark.torch_first("the reference has the same equations")
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
