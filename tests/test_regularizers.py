"""The head penalties against their equations, by hand and in every hook."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy
from hypothesis import given
from hypothesis import strategies as st
from reference import generalized_pooling
from reference import lama as reference

from keras_attnpool.regularizers import (
    AttentionOrthogonality,
    CosineDisagreement,
    HeadDistance,
    HeadRegularizer,
)

pytestmark = pytest.mark.every_backend

ALL = [
    AttentionOrthogonality(0.3),
    CosineDisagreement(0.3),
    HeadDistance(0.3, 4.0),
    HeadDistance(0.3, 2.5, normalize=True),
]
REFERENCES = [
    reference.orthogonality,
    reference.cosine_disagreement,
    lambda x: reference.head_distance(x, 4.0),
    lambda x: generalized_pooling.relative_head_distance(x, 2.5),
]


class Scale(keras.layers.Layer):
    def call(self, x):
        return x


def gradient(regularizer, x):
    layer = Scale()
    layer.build(x.shape)
    return gradients(layer, x, lambda t: regularizer(layer(t)))[0]


@pytest.mark.parametrize("regularizer", ALL, ids=lambda r: type(r).__name__)
class TestEveryPenalty:
    @given(heads=st.integers(1, 4), size=st.integers(1, 5), seed=st.integers(0, 50))
    def test_the_equation(self, regularizer, heads, size, seed):
        x = np.random.default_rng(seed).normal(size=(heads, size)).astype("float32")
        target = 0.3 * REFERENCES[ALL.index(regularizer)](x.astype("float64"))
        np.testing.assert_allclose(float(numpy(regularizer(x))), target, rtol=1e-4, atol=1e-5)

    def test_axes_after_the_heads_are_flattened(self, regularizer):
        if isinstance(regularizer, AttentionOrthogonality):
            return  # It has a test of its own: the mean over the features.
        x = np.random.default_rng(0).normal(size=(3, 2, 4)).astype("float32")
        np.testing.assert_allclose(
            numpy(regularizer(x)), numpy(regularizer(x.reshape(3, 8))), rtol=1e-6
        )
        np.testing.assert_allclose(
            numpy(regularizer.batch_penalty(x[None])), numpy(regularizer(x)), rtol=1e-6
        )

    def test_a_batch_is_the_mean_over_the_rows_that_count(self, regularizer):
        x = np.random.default_rng(0).normal(size=(4, 3, 5)).astype("float32")
        each = [float(numpy(regularizer(row))) for row in x]
        np.testing.assert_allclose(numpy(regularizer.batch_penalty(x)), np.mean(each), rtol=1e-5)
        kept = np.array([True, False, True, False])
        np.testing.assert_allclose(
            numpy(regularizer.batch_penalty(x, kept)), np.mean([each[0], each[2]]), rtol=1e-5
        )
        assert float(numpy(regularizer.batch_penalty(x, kept & False))) == 0

    @pytest.mark.parametrize("kept", [None, np.zeros(0, bool)])
    def test_a_batch_without_rows_has_no_penalty(self, regularizer, kept):
        """Nor NaN in its gradient; in a graph of TensorFlow the number of rows is unknown."""
        regularizers = [regularizer]
        if isinstance(regularizer, HeadDistance):
            config = {**regularizer.get_config(), "batch_mean": True}
            regularizers.append(HeadDistance.from_config(config))
        for each in regularizers:
            penalty = lambda x, each=each: each.batch_penalty(x, kept)  # noqa: E731
            assert float(numpy(penalty(np.zeros((0, 3, 4), "float32")))) == 0
            if keras.backend.backend() == "tensorflow" and kept is None:
                import tensorflow as tf

                graph = tf.function(penalty, input_signature=[tf.TensorSpec((None, 3, 4))])
                assert float(graph(tf.zeros((0, 3, 4)))) == 0
                x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
                np.testing.assert_allclose(numpy(graph(x)), numpy(penalty(x)), rtol=1e-6)

    def test_identical_and_zero_heads_have_finite_gradients(self, regularizer):
        for x in (np.zeros((3, 4), "float32"), np.ones((3, 4), "float32")):
            assert np.isfinite(float(numpy(regularizer(x))))
            assert np.isfinite(gradient(regularizer, x)).all()

    def test_half_precision_is_computed_in_float32(self, regularizer):
        x = np.full((2, 3), 300.0, "float16")
        assert np.isfinite(float(numpy(regularizer(x))))

    def test_it_is_serialised_by_name(self, regularizer):
        config = keras.regularizers.serialize(regularizer)
        assert config["registered_name"].startswith("keras_attnpool>")
        again = keras.regularizers.deserialize(config)
        assert type(again) is type(regularizer)
        assert again.get_config() == regularizer.get_config()

    def test_a_tensor_without_features_is_an_error(self, regularizer):
        with pytest.raises(ValueError, match=r"heads on axis 0.*\(3,\)"):
            regularizer(np.ones(3, "float32"))


class TestByHand:
    def test_orthogonality(self):
        """Two heads on the same token: A A^T is all ones, off the identity by two entries."""
        a = np.array([[1, 0, 0], [1, 0, 0]], "float32")
        assert float(numpy(AttentionOrthogonality(1.0)(a))) == 2
        # Uniform attention over two tokens: A A^T = [[0.5]], (0.5 - 1)^2.
        assert float(numpy(AttentionOrthogonality(1.0)(np.full((1, 2), 0.5, "float32")))) == 0.25

    def test_cosine(self):
        """Two equal heads: all four cosines are 1; opposite ones: 1, 1, -1, -1."""
        equal = np.array([[1, 2], [2, 4]], "float32")
        opposite = np.array([[1, 2], [-1, -2]], "float32")
        assert float(numpy(CosineDisagreement(1.0)(equal))) == pytest.approx(1, abs=1e-6)
        assert float(numpy(CosineDisagreement(1.0)(opposite))) == pytest.approx(0, abs=1e-6)

    def test_distance(self):
        """Squared distances 0.25, 1 and 1.25 under a threshold of 1: one pair, 0.75."""
        x = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 1.0]], "float32")
        assert float(numpy(HeadDistance(2.0, 1.0)(x))) == pytest.approx(1.5, abs=1e-6)


class TestHeadDistance:
    def test_close_heads_far_from_zero_are_told_apart(self):
        """A difference of squares of 1e4 would lose a distance of 0.01 in float32."""
        x = np.full((2, 4), 100.0, "float32")
        x[1, 0] += 0.1
        target = 1 - (float(x[1, 0]) - 100) ** 2
        assert float(numpy(HeadDistance(1.0, 1.0)(x))) == pytest.approx(target, abs=1e-6)

    def test_a_relative_distance_is_active_at_realistic_sizes(self):
        """Five Glorot kernels of 600 x 300: absolute distances of 800, relative ones of 2."""
        draw = keras.initializers.GlorotUniform
        kernel = np.stack([numpy(draw(seed=i)((600, 300))) for i in range(5)])
        printed, relative = HeadDistance(1.0, 1.0), HeadDistance(1.0, 2.5, normalize=True)
        assert float(numpy(printed(kernel))) == 0
        assert (gradient(printed, kernel) == 0).all()
        # Ten pairs, each about 0.5 below the threshold.
        assert float(numpy(relative(kernel))) == pytest.approx(5, abs=0.2)
        on_kernel = gradient(relative, kernel)
        assert np.isfinite(on_kernel).all()
        assert (np.abs(on_kernel).max(axis=(1, 2)) > 0).all()

    def test_a_relative_distance_has_no_scale(self):
        """Identical 0, orthogonal 2, opposite 4, whatever the lengths."""
        relative = HeadDistance(1.0, 10.0, normalize=True)
        for scale in (0.01, 1.0, 1000.0):
            for pair, distance in (
                ([[1.0, 2.0], [1.0, 2.0]], 0),
                ([[1.0, 0.0], [0.0, 3.0]], 2),
                ([[1.0, 2.0], [-1.0, -2.0]], 4),
            ):
                x = scale * np.array(pair, "float32")
                assert float(numpy(relative(x))) == pytest.approx(10 - distance, abs=1e-4)
        zeros = np.zeros((2, 3), "float32")
        assert float(numpy(relative(zeros))) == 10
        np.testing.assert_array_equal(gradient(relative, zeros), 0)

    def test_batch_mean_takes_relative_distances_too(self):
        """Relative distances 0 and 4 in two examples: their mean 2 is 1 below the threshold."""
        x = np.array([[[1.0], [1.0]], [[5.0], [-5.0]]], "float32")
        mean = HeadDistance(1.0, 3.0, batch_mean=True, normalize=True)
        assert float(numpy(mean.batch_penalty(x))) == pytest.approx(1, abs=1e-6)
        each = HeadDistance(1.0, 3.0, normalize=True)
        assert float(numpy(each.batch_penalty(x))) == pytest.approx(1.5, abs=1e-6)

    def test_batch_mean_is_the_hinge_of_the_mean_distance(self):
        """Distances 0 and 4 in two examples: hinges 1 and 0 average to 0.5; the mean 2 has none."""
        x = np.array([[[0.0], [0.0]], [[0.0], [2.0]]], "float32")
        assert float(numpy(HeadDistance(1.0, 1.0).batch_penalty(x))) == 0.5
        official = HeadDistance(1.0, 1.0, batch_mean=True)
        assert float(numpy(official.batch_penalty(x))) == 0
        assert float(numpy(official.batch_penalty(x, np.array([True, False])))) == 1
        assert float(numpy(official.batch_penalty(x, np.array([False, False])))) == 0


def test_the_base_cannot_be_used_itself():
    with pytest.raises(TypeError):
        HeadRegularizer(1.0)


def test_a_users_own_penalty_has_arguments_of_its_own():
    class Norm(HeadRegularizer):
        def __init__(self, factor, power=2.0):
            super().__init__(factor, power=power)

        def penalties(self, heads):
            return self.factor * keras.ops.sum(keras.ops.abs(heads) ** self.power, axis=(1, 2))

    assert Norm(0.5, 3.0).get_config() == {"factor": 0.5, "power": 3.0}
    again = Norm.from_config(Norm(0.5, 3.0).get_config())
    np.testing.assert_allclose(numpy(again(np.full((2, 1), 2.0, "float32"))), 8.0)


def test_orthogonality_where_every_feature_has_weights_of_its_own():
    """The mean over the features: sharp heads that share no token have none."""
    rng = np.random.default_rng(0)
    attention = rng.dirichlet(np.ones(5), size=(3, 2, 4)).transpose(0, 1, 3, 2)  # heads, time, dim
    expected = [
        np.mean([((a[..., d] @ a[..., d].T - np.eye(2)) ** 2).sum() for d in range(4)])
        for a in attention
    ]
    penalty = AttentionOrthogonality(1.0)
    kept = np.array([True, False, True])
    np.testing.assert_allclose(
        numpy(penalty.batch_penalty(attention.astype("float32"), kept)),
        np.mean([expected[0], expected[2]]),
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        numpy(penalty(attention[0].astype("float32"))), expected[0], rtol=1e-5
    )
    sharp = np.zeros((2, 5, 4), "float32")
    sharp[0, 0] = sharp[1, 1] = 1
    assert float(numpy(penalty(sharp))) == 0
