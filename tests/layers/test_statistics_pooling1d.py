"""Mean and standard deviation of the kept steps."""

import numpy as np
import pytest
from backend_functions import gradients, numpy
from layer_contract import PoolingContract

from keras_attnpool.layers import StatisticsPooling1D

pytestmark = pytest.mark.every_backend


class TestStatisticsPooling1D(PoolingContract):
    def make(self, **kwargs):
        return StatisticsPooling1D(**kwargs)

    def reference(self, weights, x, mask):
        found = []
        for row, k in zip(x, mask, strict=True):
            if k.any():
                variance = np.maximum(row[k].var(axis=0), 1e-12)
                found.append(np.concatenate([row[k].mean(axis=0), np.sqrt(variance)]))
            else:
                found.append(np.zeros(2 * x.shape[2]))
        return np.array(found)

    @pytest.mark.torch_first("the reference has the same equations")
    def test_by_hand(self):
        x = np.array([[[1.0, 2.0], [5.0, 2.0], [100.0, np.nan]]], "float32")
        mask = np.array([[True, True, False]])
        output = numpy(StatisticsPooling1D(epsilon=0.01)(x, mask=mask))
        np.testing.assert_allclose(output, [[3.0, 2.0, 2.0, 0.1]], rtol=1e-6)

    def test_of_equal_steps_sigma_has_no_gradient(self):
        x = np.full((1, 3, 2), 7, "float32")
        layer = self.built(2)
        on_x, _ = gradients(layer, x, lambda t: layer(t)[0, 3])
        np.testing.assert_array_equal(on_x, 0)
