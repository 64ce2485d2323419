"""The mean over kept steps."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import PoolingContract

from keras_attnpool.layers import MaskedAveragePooling1D

pytestmark = pytest.mark.every_backend


class TestMaskedAveragePooling1D(PoolingContract):
    def make(self, **kwargs):
        return MaskedAveragePooling1D(**kwargs)

    def reference(self, weights, x, mask):
        return np.array(
            [row[k].mean(axis=0) if k.any() else row[0] * 0 for row, k in zip(x, mask, strict=True)]
        )

    @pytest.mark.torch_first("the reference has the same equations")
    def test_by_hand(self):
        x = np.array([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]]], "float32")
        output = MaskedAveragePooling1D()(x, mask=np.array([[True, True, False]]))
        np.testing.assert_array_equal(numpy(output), [[2.0, 4.0]])

    def test_half_precision_sums_do_not_overflow(self):
        """2,000 steps of 100 sum to 200,000, past float16's largest number of 65,504."""
        x = np.full((1, 2000, 1), 100, "float32")
        output = MaskedAveragePooling1D(dtype="mixed_float16")(x, mask=np.ones((1, 2000), bool))
        np.testing.assert_array_equal(numpy(output), [[100]])


class TestPositionWeighted(PoolingContract):
    """The n-th kept step counts n times."""

    def make(self, **kwargs):
        return MaskedAveragePooling1D(position_weighted=True, **kwargs)

    def reference(self, weights, x, mask):
        return np.array(
            [
                np.average(row[k], axis=0, weights=1 + np.arange(k.sum()))
                if k.any()
                else 0 * row[0]
                for row, k in zip(x, mask, strict=True)
            ]
        )
