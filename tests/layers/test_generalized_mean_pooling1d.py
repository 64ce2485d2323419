"""The generalized mean over kept steps, whose power is learned."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy
from layer_contract import DIM, PoolingContract, batch, probed

from keras_attnpool.layers import GeneralizedMeanPooling1D

pytestmark = pytest.mark.every_backend


class TestGeneralizedMeanPooling1D(PoolingContract):
    options: dict = {}

    def make(self, **kwargs):
        return GeneralizedMeanPooling1D(**self.options, **kwargs)

    def built(self, dim=DIM, **kwargs):
        """With powers around 3, where the layer is used; other ones have tests of their own."""
        layer = super().built(dim, **kwargs)
        layer.power.assign(3 + 2 * layer.power)
        return layer

    def reference(self, weights, x, mask):
        p, clipped = weights["power"], np.maximum(x, 1e-6)
        rows = zip(clipped, mask, strict=True)
        means = [
            np.mean(row[k] ** p, axis=0) ** (1 / p) if k.any() else 0 * row[0] for row, k in rows
        ]
        return np.array(means)

    @pytest.mark.torch_first("the reference has the same equations")
    def test_by_hand(self):
        """The root of (1 + 49) / 2, and of (16 + 16) / 2; the third step is padding."""
        x = np.array([[[1.0, 4.0], [7.0, 4.0], [100.0, np.nan]]], "float32")
        output = self.with_powers(2.0)(x, mask=np.array([[True, True, False]]))
        np.testing.assert_allclose(numpy(output), [[5.0, 4.0]], rtol=1e-6)

    def with_powers(self, *powers, dim=2, **kwargs):
        layer = self.make(**kwargs)
        layer.build((None, None, dim))
        layer.power.assign(np.broadcast_to(powers, layer.power.shape))
        return layer

    @pytest.mark.parametrize(
        ("power", "expected"),
        [
            (1.0, 13 / 3),
            (1000.0, 9.0),
            (-1.0, 3 / (1 + 1 / 3 + 1 / 9)),
            (-1000.0, 1.0),
            (0.0, 3.0),  # the geometric mean
            (1e-9, 3.0),
            (-1e-9, 3.0),
        ],
    )
    def test_powers_from_minimum_to_maximum(self, power, expected):
        x = np.array([[[1.0, 1.0], [9.0, 9.0], [3.0, 3.0], [-1e30, 1e30]]], "float32")
        mask = np.array([[True, True, True, False]])
        layer = self.with_powers(power)
        np.testing.assert_allclose(numpy(layer(x, mask=mask)), [[expected] * 2], rtol=2e-3)
        on_x, on_weights = gradients(layer, x, lambda t: keras.ops.sum(layer(t, mask=mask)))
        (on_power,) = on_weights.values()
        assert np.isfinite(on_x).all() and np.isfinite(on_power).all()
        # Also where the power counts as another one: training can leave that place.
        assert (on_power > 0).all()

    @pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float32"])
    @pytest.mark.parametrize("size", [1e-4, 1.0, 6e4])
    def test_no_power_overflows_or_vanishes(self, policy, size):
        """1e-4^9 and 6e4^9 are outside of float16, 1e-4^30 and 6e4^30 of float32."""
        x = np.full((1, 3000, 2), size, "float32")
        for power in (3.0, 9.0, 30.0):
            output = numpy(self.with_powers(power, dtype=policy)(x)).astype("float64")
            np.testing.assert_allclose(output, [[size] * 2], rtol=1e-2)

    def test_negative_rows_give_epsilon_and_no_gradient(self):
        x = -np.ones((2, 3, 2), "float32")
        layer = self.with_powers(3.0, epsilon=0.25)
        np.testing.assert_allclose(numpy(layer(x)), 0.25, rtol=1e-6)
        on_x, _ = gradients(layer, x, lambda t: keras.ops.sum(layer(t)))
        np.testing.assert_array_equal(on_x, 0)

    def test_an_empty_row_has_finite_gradients_for_every_sign_of_the_power(self):
        x, mask = batch()
        for power in (-0.001, -2.0, 0.0, 0.001, 40.0):
            layer = self.with_powers(power, dim=DIM)
            probe = np.ones((len(x), DIM))
            on_x, on_weights = gradients(layer, x, lambda t: probed(layer(t, mask=mask), probe))  # noqa: B023
            assert np.isfinite(on_x).all() and (on_x[~mask] == 0).all()
            assert all(np.isfinite(value).all() for value in on_weights.values())

    def test_the_power_starts_as_told_and_can_be_held(self):
        x, _ = batch()
        layer = self.make(p=2.5, p_constraint="non_neg", p_regularizer=keras.regularizers.L1(1.0))
        layer(x)
        np.testing.assert_array_equal(numpy(layer.power), 2.5)
        np.testing.assert_allclose(float(layer.losses[0]), 2.5 * layer.power.shape[0])
        assert isinstance(layer.power.constraint, keras.constraints.NonNeg)
        drawn = self.make(p_initializer=keras.initializers.RandomUniform(4, 5, seed=1))
        drawn(x)
        assert ((numpy(drawn.power) > 4) & (numpy(drawn.power) < 5)).all()
        fixed = self.make(trainable=False)
        fixed(x)
        assert not fixed.trainable_weights


class TestPowerOfEachFeature(TestGeneralizedMeanPooling1D):
    options = {"per_feature": True}

    def test_features_do_not_share(self):
        x = np.array([[[1.0, 1.0], [7.0, 7.0]]], "float32")
        output = self.with_powers(1.0, 2.0)(x)
        np.testing.assert_allclose(numpy(output), [[4.0, 5.0]], rtol=1e-6)
