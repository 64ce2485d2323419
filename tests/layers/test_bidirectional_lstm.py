"""The bidirectional LSTM."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import DIM, EquationContract, RecurrentContract
from reference import generalized_pooling_encoder as reference

from keras_attnpool.layers import BidirectionalLSTM

pytestmark = pytest.mark.every_backend


def direction(weights, name, bias=True):
    """Kernel, recurrent kernel and bias of one direction."""
    names = ("kernel", "recurrent_kernel", *(["bias"] if bias else []))
    arrays = [weights[f"{name}/lstm_cell/{weight}"] for weight in names]
    return arrays if bias else [*arrays, np.zeros(arrays[0].shape[1])]


class TestBidirectionalLSTM(RecurrentContract):
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


@pytest.mark.parametrize("starts_open", [True, False])
def test_the_forget_gates_start_open_if_asked(starts_open):
    layer = BidirectionalLSTM(2, unit_forget_bias=starts_open)
    layer.build((None, None, DIM))
    for name in ("forward", "backward"):
        (bias,) = [numpy(w) for w in layer.weights if w.path.endswith(f"{name}/lstm_cell/bias")]
        np.testing.assert_array_equal(bias, [0, 0, starts_open, starts_open, 0, 0, 0, 0])
    assert layer.get_config()["unit_forget_bias"] is starts_open
