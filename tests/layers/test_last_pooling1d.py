"""The last kept step, and the last state of both directions."""

import keras
import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import PoolingContract, batch

from keras_attnpool.layers import LastPooling1D

pytestmark = pytest.mark.every_backend


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


class TestBidirectional(PoolingContract):
    dims = (2, 4, 6)

    def make(self, **kwargs):
        return LastPooling1D(bidirectional=True, **kwargs)

    def reference(self, weights, x, mask):
        half = x.shape[2] // 2
        return np.array(
            [
                np.concatenate([row[k][-1, :half], row[k][0, half:]]) if k.any() else row[0] * 0
                for row, k in zip(x, mask, strict=True)
            ]
        )

    def test_the_last_state_of_each_direction(self):
        x = np.arange(1.0, 17.0, dtype="float32").reshape(2, 4, 2)
        mask = np.array([[1, 1, 0, 0], [0, 1, 1, 0]])
        target = [[3, 2], [13, 12]]
        np.testing.assert_array_equal(numpy(self.make()(x, mask=mask)), target)

    def test_it_is_what_kerass_bidirectional_returns_at_the_end(self):
        """On rows padded at the end; the same LSTMs with and without their sequences."""
        x, mask = batch(rows=2)
        sequences = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))
        states = numpy(sequences(x, mask=mask))
        ends = keras.layers.Bidirectional(keras.layers.LSTM(3))
        ends.build(x.shape)
        ends.set_weights(sequences.get_weights())
        target = numpy(ends(x, mask=mask))
        np.testing.assert_allclose(numpy(self.make()(states, mask=mask)), target, atol=1e-6)

    def test_an_odd_dim_is_an_error(self):
        with pytest.raises(
            ValueError, match=r"'the_name'.*must have an even last dimension.*\(2, 3, 5\)"
        ):
            self.make(name="the_name")(np.zeros((2, 3, 5), "float32"))
