"""The bidirectional GRU of LAMA's, SAN's and HAN's models."""

import keras
import numpy as np
import pytest
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
