"""The last kept step."""

import numpy as np
from backend_functions import numpy
from layer_contract import PoolingContract

from keras_attnpool.layers import LastPooling1D


class TestLastPooling1D(PoolingContract):
    def make(self, **kwargs):
        return LastPooling1D(**kwargs)

    def reference(self, weights, x, mask):
        return np.array(
            [
                row[np.flatnonzero(k)[-1]] if k.any() else row[0] * 0
                for row, k in zip(x, mask, strict=True)
            ]
        )

    def test_padding_at_the_end_in_front_and_in_holes(self):
        x = np.arange(1.0, 13.0, dtype="float32").reshape(3, 4, 1)
        mask = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]])
        np.testing.assert_array_equal(numpy(LastPooling1D()(x, mask=mask)), [[2], [8], [11]])

    def test_a_kept_infinity_elsewhere_stays_there(self):
        x = np.array([[[np.inf], [2.0]]], "float32")
        np.testing.assert_array_equal(numpy(LastPooling1D()(x, mask=np.ones((1, 2)))), [[2.0]])

    def test_it_has_no_weights(self):
        assert self.built().count_params() == 0
