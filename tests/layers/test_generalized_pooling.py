"""Generalized Pooling: a weight for every feature, and the special cases it contains."""

import keras
import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import (
    DIM,
    AttentionContract,
    EquationContract,
    HeadsContract,
    PoolingContract,
    batch,
)
from reference import generalized_pooling as reference
from reference import lama

from keras_attnpool.layers import GeneralizedPooling, MaskedAveragePooling1D
from keras_attnpool.regularizers import HeadDistance

pytestmark = pytest.mark.every_backend


def by_name(layer):
    return {w.path.split("/", 1)[1]: w for w in layer.weights}


class GeneralizedEquations(EquationContract):
    options: dict = {}

    def make(self, **kwargs):
        return GeneralizedPooling(num_heads=3, hidden_dim=4, **{**self.options, **kwargs})

    def reference(self, weights, x, mask):
        return reference.generalized_pooling(
            x,
            mask,
            weights["hidden_kernel"],
            weights["score_kernel"],
            weights.get("hidden_bias"),
            weights.get("score_bias"),
        )


class TestVector(GeneralizedEquations, HeadsContract):
    time_axis = 2

    def test_every_head_is_drawn_as_a_glorot_matrix_of_its_own(self):
        layer = GeneralizedPooling(3, 50, seed=4)
        layer.build((None, None, 30))
        for kernel in (layer.hidden_kernel, layer.score_kernel):
            heads = numpy(kernel)
            limit = np.sqrt(6 / 80)
            for i, head in enumerate(heads):
                assert 0.95 * limit < np.abs(head).max() <= limit
                for later in heads[i + 1 :]:
                    assert np.abs(head - later).max() > 0.1
        first = keras.initializers.GlorotUniform(seed=4)((30, 50))
        np.testing.assert_array_equal(numpy(layer.hidden_kernel)[0], numpy(first))

    @pytest.mark.filterwarnings("error:Gradients do not exist")
    @pytest.mark.filterwarnings("error:.*does not have.*gradient")
    def test_the_cancelled_bias_trains_without_a_warning_and_stays(self):
        x, _ = batch()
        layer = self.built()
        before = numpy(layer.score_bias)
        model = keras.Sequential([layer])
        model.compile("sgd", "mse")
        model.fit(x, np.zeros((4, 3 * DIM)), verbose=0)
        np.testing.assert_array_equal(numpy(layer.score_bias), before)

    def test_the_penalty_on_parameters_is_on_w1_alone(self):
        """Eq. 7; another regularizer takes both kernels."""
        layer = self.built(kernel_regularizer=HeadDistance(0.5, 100.0))
        target = 0.5 * lama.head_distance(numpy(layer.hidden_kernel).astype("float64"), 100.0)
        assert len(layer.losses) == 1
        np.testing.assert_allclose(float(numpy(layer.losses[0])), target, rtol=1e-5)
        both = self.built(kernel_regularizer=keras.regularizers.L2(1.0))
        target = sum(np.sum(numpy(k) ** 2) for k in (both.hidden_kernel, both.score_kernel))
        np.testing.assert_allclose(sum(float(numpy(v)) for v in both.losses), target, rtol=1e-5)

    @pytest.mark.parametrize("batch_mean", [False, True])
    def test_the_penalties_on_attention_and_embeddings(self, batch_mean):
        """Eq. 8 and 9: the hinge of each example, then the mean, or the other way round."""
        x, mask = batch(rows=2)
        layer = self.built(
            attention_regularizer=HeadDistance(0.3, 0.5, batch_mean=batch_mean),
            vector_regularizer=HeadDistance(0.7, 2.0, batch_mean=batch_mean),
            flatten=False,
        )
        vectors, scores = layer(x, mask=mask, return_attention_scores=True)
        for loss, heads, factor, threshold in (
            (layer.losses[0], numpy(scores), 0.3, 0.5),
            (layer.losses[1], numpy(vectors), 0.7, 2.0),
        ):
            heads = heads.astype("float64")
            if batch_mean:
                target = sum(
                    max(threshold - np.mean(np.sum((a - b) ** 2, tuple(range(1, a.ndim)))), 0)
                    for a, b in (
                        (heads[:, 0], heads[:, 1]),
                        (heads[:, 0], heads[:, 2]),
                        (heads[:, 1], heads[:, 2]),
                    )
                )
            else:
                target = np.mean([lama.head_distance(h, threshold) for h in heads])
            assert target > 0
            np.testing.assert_allclose(float(numpy(loss)), factor * target, rtol=1e-4)


class TestScalar(GeneralizedEquations, AttentionContract):
    options = {"per_feature": False}


class TestWithoutBias(GeneralizedEquations):
    options = {"use_bias": False}


class TestChunked(GeneralizedEquations, PoolingContract):
    """Two chunks, the second padded; a chunk longer than the text for one step."""

    options = {"chunk_size": 3}

    def test_scores_are_those_of_the_plain_layer(self):
        x, mask = batch()
        output, scores = self.outputs(self.built(), x, mask, return_attention_scores=True)
        plain = self.built(chunk_size=None)
        target = self.outputs(plain, x, mask, return_attention_scores=True)
        np.testing.assert_array_equal(scores, target[1])
        np.testing.assert_allclose(output, self.outputs(self.built(), x, mask)[0], atol=1e-6)

    def test_it_trains_compiled_at_any_length(self):
        """Training compiles; the length is unknown, and shorter than a chunk, or longer."""
        inputs = keras.Input((None, DIM))
        layer = self.built(vector_regularizer=HeadDistance(0.1, 100.0))
        model = keras.Model(inputs, layer(inputs))
        model.compile(keras.optimizers.SGD(0.1), "mse")
        plain = self.built(chunk_size=None, vector_regularizer=HeadDistance(0.1, 100.0))
        other = keras.Model(inputs, plain(inputs))
        other.compile(keras.optimizers.SGD(0.1), "mse")
        for time in (2, 7):
            x, _ = batch(rows=2, time=time)
            target = np.ones((2, 3 * DIM), "float32")
            losses = [m.train_on_batch(x, target) for m in (model, other)]
            np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
        for name, weight in by_name(layer).items():
            np.testing.assert_allclose(
                numpy(weight), numpy(by_name(plain)[name]), atol=1e-5, err_msg=name
            )


class TestSpecialCases:
    """What the paper says the layer contains."""

    def test_mean_pooling(self):
        """W2 = 0: every step has the same score."""
        x, mask = batch()
        layer = GeneralizedPooling(2, 4, flatten=False)
        layer.build((None, None, DIM))
        layer.score_kernel.assign(np.zeros(layer.score_kernel.shape))
        mean = numpy(MaskedAveragePooling1D()(x, mask=mask))
        output = numpy(layer(x, mask=mask))
        for head in range(2):
            np.testing.assert_allclose(output[:, head], mean, atol=1e-6)
