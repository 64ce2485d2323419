"""TODO: what the layer is, in half a line."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import PoolingContract

from keras_attnpool.layers import NewLayer

pytestmark = pytest.mark.every_backend


class TestNewLayer(PoolingContract):
    """The contract of a pooling layer; of one with scores it is `AttentionContract`."""

    def make(self, **kwargs):
        return NewLayer(**kwargs)

    def reference(self, weights, x, mask):
        """TODO: the paper's equations in NumPy float64, and not what the layer computes."""
        means = [
            row[k].mean(axis=0) if k.any() else row[0] * 0 for row, k in zip(x, mask, strict=True)
        ]
        return np.array(means) * weights["kernel"]

    def test_by_hand(self):
        """TODO: numbers worked out by hand."""
        x = np.array([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]]], "float32")
        output = NewLayer()(x, mask=np.array([[True, True, False]]))
        np.testing.assert_allclose(numpy(output), [[2.0, 4.0]])

    def test_parameters(self):
        """TODO: as many as the paper has."""
        assert self.built(300).count_params() == 300
