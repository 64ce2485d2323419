"""MPSAN's self-attention under position masks."""

import math

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy
from layer_contract import DIM, AttendingContract, SeededContract, SequenceContract, batch, probed
from reference import mpsan as reference

from keras_attnpool.layers import PositionalSelfAttention

pytestmark = pytest.mark.every_backend


class PositionalContract(AttendingContract):
    """The equations with the arguments of `options`."""

    options: dict = {}

    # Only the dense layer in front meets it: one size saves many compilations.
    dims = (DIM, DIM, DIM)

    def make(self, **kwargs):
        return PositionalSelfAttention(4, **self.options, **kwargs)

    def reference(self, weights, x, mask):
        options = {"positions": ("faraway_2",), **self.options}
        options.pop("per_feature", None)
        options["rescale"] = options.pop("rescale_scores", False)
        if "score_activation" in options:
            options["score_activation"] = {"tanh": np.tanh}[options["score_activation"]]
        return reference.positional_self_attention(x, mask, weights, **options)

    def pairs(self, mask):
        """Which query may attend to which key, `(batch, query, key)`."""
        steps = range(mask.shape[1])
        names = self.options.get("positions", ("faraway_2",))
        allowed = [
            [all(reference.position_mask(n, i, j) > -math.inf for n in names) for i in steps]
            for j in steps
        ]
        return np.array(allowed) & mask[:, :, None] & mask[:, None]

    def test_weights_sum_to_one_over_what_the_positions_allow(self):
        x, mask = batch()
        layer = self.built()
        for scale in (1.0, 100.0):
            _, scores = self.outputs(layer, x * scale, mask, return_attention_scores=True)
            scores = scores.reshape(*scores.shape[:3], -1)
            pairs = self.pairs(mask)
            assert (scores >= 0).all()
            np.testing.assert_array_equal(scores[~pairs], 0)
            target = np.repeat(pairs.any(axis=2)[..., None], scores.shape[3], axis=2)
            np.testing.assert_allclose(scores.sum(axis=2), target, atol=1e-5)


class WholeContract(PositionalContract, SeededContract, SequenceContract):
    # A dense layer of numbers at the edge of float16 leaves its range: 6 inputs, weights up to 2.
    extreme = 3e3

    def attending(self, mask):
        return self.pairs(mask).any(axis=2)


class TestFaraway(WholeContract):
    pass


class TestEarlierScaledDistance(WholeContract):
    options = {"positions": ("earlier", "scaled_distance")}


class TestMultiDimDistance(PositionalContract):
    options = {
        "positions": ("distance",),
        "per_feature": True,
        "score_activation": "tanh",
        "rescale_scores": True,
    }


@pytest.mark.parametrize(
    "options",
    [
        {"positions": ("faraway_2", "later", "distance"), "per_feature": True, "scale": 2.0},
        {"positions": (), "use_bias": False},
    ],
)
def test_other_arguments_agree_with_the_reference(options):
    x, mask = batch()
    layer = PositionalSelfAttention(4, **options)
    output, scores = layer(x, mask=mask, return_attention_scores=True)
    weights = {v.path.split("/", 1)[1]: numpy(v).astype("float64") for v in layer.weights}
    target, target_scores = reference.positional_self_attention(
        x.astype("float64"), mask, weights, options["positions"], options.get("scale", 5.0)
    )
    np.testing.assert_allclose(numpy(output), target, atol=1e-5)
    np.testing.assert_allclose(numpy(scores).reshape(target_scores.shape), target_scores, atol=1e-5)


def by_hand(positions, **kwargs):
    """Identity maps: h is the input, the score of a source its first feature over `scale`."""
    layer = PositionalSelfAttention(
        2, positions=positions, use_bias=False, activation=None, dtype="float32", **kwargs
    )
    layer.build((None, None, 2))
    layer.set_weights([np.array([[5.0], [0.0]]), np.zeros((2, 1)), np.eye(2)])
    x = np.array([[[math.log(3.0), 4.0], [0.0, 8.0]]], "float32")
    output, scores = layer(x, return_attention_scores=True)
    return numpy(output)[0], numpy(scores)[0]


@pytest.mark.torch_first("the reference has the same equations")
@pytest.mark.parametrize(
    ("positions", "weights"),
    [
        ((), [[3 / 4, 1 / 4], [3 / 4, 1 / 4]]),
        (("faraway_1",), [[0, 1], [1, 0]]),
        (("earlier",), [[0, 0], [1, 0]]),
        (("later", "scaled_distance"), [[0, 1], [0, 0]]),
        # exp(log 3) : exp(-1), and exp(log 3 - 1) : 1
        (("distance",), [[3 * math.e / (3 * math.e + 1), 0], [3 / (3 + math.e), 0]]),
    ],
)
def test_two_steps_of_two_features_by_hand(positions, weights):
    weights = np.array(weights, "float64")
    if positions == ("distance",):
        weights[:, 1] = 1 - weights[:, 0]
    output, scores = by_hand(positions)
    np.testing.assert_allclose(scores, weights, atol=1e-6)
    np.testing.assert_allclose(output, weights @ [[math.log(3.0), 4.0], [0.0, 8.0]], atol=1e-5)


@pytest.mark.parametrize(
    ("positions", "per_feature", "kept", "step"),
    [
        (("earlier",), False, range(5), 0),
        (("later", "distance"), True, range(1, 4), 3),
        (("faraway_2",), False, [2], 2),
    ],
)
def test_a_step_without_a_source_is_zero_with_zero_gradients(positions, per_feature, kept, step):
    layer = PositionalSelfAttention(4, positions=positions, per_feature=per_feature)
    layer.build((None, None, DIM))
    x, mask = batch()
    mask[:] = np.isin(np.arange(5), kept)
    probe = np.zeros((4, 5, 4))
    probe[:, step] = 1
    np.testing.assert_array_equal(numpy(layer(x, mask=mask))[:, step], 0)
    on_x, on_weights = gradients(layer, x, lambda t: probed(layer(t, mask=mask), probe))
    for found in (on_x, *on_weights.values()):
        np.testing.assert_array_equal(found, 0)


@pytest.mark.parametrize("positions", [("faraway_2",), ("earlier",)])
def test_dropout_spares_the_values(positions):
    """With kernels of zero all values are the biases' 1, and any mean of them is whole."""
    layer = PositionalSelfAttention(
        4,
        positions=positions,
        dropout=0.9,
        kernel_initializer="zeros",
        bias_initializer="ones",
        seed=1,
    )
    found = numpy(layer(batch()[0], training=True))
    np.testing.assert_allclose(found[:, 1:], 1, rtol=1e-6)


def test_one_unit_keeps_the_axis_of_features():
    x, mask = batch()
    layer = PositionalSelfAttention(1, per_feature=True)
    output, scores = layer(x, mask=mask, return_attention_scores=True)
    assert tuple(output.shape) == (4, 5, 1) and tuple(scores.shape) == (4, 5, 5, 1)
    one, wide = PositionalSelfAttention(1), PositionalSelfAttention(7, per_feature=True)
    inputs = keras.Input((None, DIM))
    assert one(inputs, return_attention_scores=True)[1].shape == (None, None, None)
    assert wide(inputs, return_attention_scores=True)[1].shape == (None, None, None, 7)
