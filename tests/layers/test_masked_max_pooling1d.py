"""The maximum over kept steps."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import PoolingContract

from keras_attnpool.layers import MaskedMaxPooling1D

pytestmark = pytest.mark.every_backend


class TestMaskedMaxPooling1D(PoolingContract):
    def make(self, **kwargs):
        return MaskedMaxPooling1D(**kwargs)

    def reference(self, weights, x, mask):
        return np.array(
            [row[k].max(axis=0) if k.any() else row[0] * 0 for row, k in zip(x, mask, strict=True)]
        )

    def test_padding_does_not_win_over_negative_steps(self):
        x = np.array([[[-1.0, -2.0], [-3.0, -1.5], [0.0, 0.0]]], "float32")
        output = MaskedMaxPooling1D()(x, mask=np.array([[True, True, False]]))
        np.testing.assert_array_equal(numpy(output), [[-1.0, -1.5]])

    def test_padding_does_not_win_over_minus_infinity(self):
        x = np.array([[[-np.inf], [-np.inf], [0.0]]], "float32")
        for steps in (2, 3):
            mask = np.arange(steps)[None] < 2
            output = MaskedMaxPooling1D()(x[:, :steps], mask=mask)
            np.testing.assert_array_equal(numpy(output), [[-np.inf]])
