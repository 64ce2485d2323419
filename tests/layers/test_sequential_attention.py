"""SAM: features, then tokens."""

import keras
import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import (
    DIM,
    AttentionContract,
    EquationContract,
    SeededContract,
    SequenceContract,
    batch,
)
from reference import sam as reference

from keras_attnpool.layers import FeatureWiseAttention, SequentialAttention, TokenWiseAttention

pytestmark = pytest.mark.every_backend


class SequentialContract(EquationContract):
    """The equations with the arguments of `options`."""

    single_on_jax = True
    options: dict = {}

    def make(self, **kwargs):
        return SequentialAttention(
            **{"mode": "pointwise", "reduction": 2, **self.options, **kwargs}
        )

    def reference(self, weights, x, mask):
        options = {"mode": "pointwise", **self.options}
        return reference.sequential(x, mask, weights, **options)

    def calls(self):
        return [{}, {"return_attention_scores": True}]

    def expected(self, layer, x, mask):
        # Scores by the name of their part, as Keras flattens a dict.
        output, scores = self.reference(self.weights(layer), x.astype("float64"), mask)
        return [output, *(scores[name] for name in sorted(scores))]


class TestFeaturesThenTokens(SequentialContract, AttentionContract):
    not_promised = ("scores",)  # those of the features have no time
    extreme = 3e3

    # It takes no penalties on its weights or vectors, and has two kinds of these.
    test_penalties_reach_the_loss_in_fit = None
    test_head_penalties_are_means_over_the_rows_that_keep_a_step = None

    def test_weights_sum_to_one_over_the_kept_steps_and_are_zero_elsewhere(self):
        x, mask = batch(time=9)
        _, scores = self.built()(x, mask=mask, return_attention_scores=True)
        assert list(scores) == ["feature", "token"]
        gate, weights = numpy(scores["feature"]), numpy(scores["token"])
        np.testing.assert_array_equal(weights[~mask], 0)
        np.testing.assert_allclose(weights.sum(axis=1), mask.any(axis=1), atol=1e-5)
        np.testing.assert_array_equal(gate[-1], 0)
        assert (gate[:-1] > 0).all() and (gate < 1).all()

    def test_dropout_is_seeded_and_scores_are_taken_before_it(self):
        x, mask = batch(time=20)
        first, second = self.built(dropout=0.5, seed=7), self.built(dropout=0.5, seed=7)
        outputs = self.outputs(first, x, mask, training=True)
        np.testing.assert_array_equal(self.outputs(second, x, mask, training=True)[0], outputs[0])
        assert np.abs(outputs[0] - self.outputs(first, x, mask)[0]).max() > 0
        scores = self.outputs(first, x, mask, training=True, return_attention_scores=True)[1]
        quiet = self.outputs(first, x, mask, return_attention_scores=True)[1]
        np.testing.assert_array_equal(scores, quiet)


class TestTokensThenFeatures(SequentialContract, SeededContract, SequenceContract):
    options = {"order": ("token", "feature"), "threshold": 0.1}
    extreme = 3e3


class TestSequence(SequentialContract):
    options = {"pooled": False}


class TestFeaturesAlone(SequentialContract):
    options = {"order": ("feature",), "threshold": 0.2}


class TestTokensAlone(SequentialContract):
    options = {"order": ("token",)}


def built(shape, **kwargs):
    layer = SequentialAttention(reduction=2, **kwargs)
    layer.build((None, *shape))
    return layer


def test_dense_mode_is_the_two_layers_one_after_the_other():
    x, mask = batch(time=5)
    layer = built((5, DIM), threshold=0.1)
    features = FeatureWiseAttention(reduction=2, threshold=0.1)
    tokens = TokenWiseAttention(reduction=2)
    features.build((None, 5, DIM))
    tokens.build((None, 5, DIM))
    features.set_weights(layer.parts[0].get_weights())
    tokens.set_weights(layer.parts[1].get_weights())
    output, scores = layer(x, mask=mask, return_attention_scores=True)
    weighted, gate = features(x, mask=mask, return_attention_scores=True)
    pooled, weights = tokens(weighted, mask=mask, return_attention_scores=True)
    np.testing.assert_allclose(numpy(output), numpy(pooled), atol=1e-6)
    np.testing.assert_allclose(numpy(scores["feature"]), numpy(gate), atol=1e-6)
    np.testing.assert_allclose(numpy(scores["token"]), numpy(weights), atol=1e-6)


@pytest.mark.parametrize(
    ("order", "pooled", "names", "shape"),
    [
        (("feature", "token"), True, ["feature", "token"], (4, 6)),
        (("feature", "token"), False, ["feature", "token"], (4, 5, 6)),
        (["token", "feature"], True, ["token", "feature"], (4, 5, 6)),
        (("feature",), True, ["feature"], (4, 5, 6)),
        (("token",), True, ["token"], (4, 6)),
    ],
)
def test_the_output_is_the_last_parts(order, pooled, names, shape):
    x, mask = batch(time=5)
    layer = built((5, DIM), order=order, pooled=pooled)
    output, scores = layer(x, mask=mask, return_attention_scores=True)
    assert tuple(output.shape) == shape == layer.compute_output_shape(x.shape)
    assert list(scores) == names
    assert (layer.compute_mask(x, mask) is None) == (len(shape) == 2)
    symbolic, found = layer(keras.Input((5, DIM)), return_attention_scores=True)
    assert symbolic.shape == (None, *shape[1:])
    expected = {"feature": (None, 6), "token": (None, 5)}
    assert {name: found[name].shape for name in found} == {name: expected[name] for name in names}


def test_the_symbolic_output_is_known_before_the_layer_is_built():
    symbolic = SequentialAttention().compute_output_spec(keras.KerasTensor((None, 4, 8)))
    assert symbolic.shape == (None, 8)
