"""SAM's weights on tokens."""

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

from keras_attnpool.layers import SequentialAttention, TokenWiseAttention

pytestmark = pytest.mark.every_backend

TIME = 5


class TokenContract(EquationContract):
    """The equations with the arguments of `options`."""

    single_on_jax = True
    options: dict = {}

    def make(self, **kwargs):
        return TokenWiseAttention(**{**self.options, **kwargs})

    def reference(self, weights, x, mask):
        return reference.token_wise(
            x, mask, weights, self.options.get("mode", "dense"), self.options.get("pooled", True)
        )

    def calls(self):
        return [{}, {"return_attention_scores": True}]


class TestPointwise(TokenContract, AttentionContract):
    options = {"mode": "pointwise"}

    # It takes no penalties on its weights or vectors.
    test_penalties_reach_the_loss_in_fit = None
    test_head_penalties_are_means_over_the_rows_that_keep_a_step = None


class TestPointwiseSequence(TokenContract, SeededContract, SequenceContract):
    options = {"mode": "pointwise", "pooled": False, "hidden_dim": 3}


class FiveSteps(TokenWiseAttention):
    """Dense weights are for one length; where a contract test leaves it open, it is five."""

    def build(self, input_shape):
        known = [
            TIME if size is None and axis == 1 else size for axis, size in enumerate(input_shape)
        ]
        super().build(tuple(known))


class DenseContract(TokenContract):
    """The contract at one length, that of the weights."""

    lengths = (TIME, TIME, TIME)
    text, sides = 3, ((0, 2), (2, 0), (1, 1))

    def make(self, **kwargs):
        return FiveSteps(**{**self.options, **kwargs})

    # Saved and loaded under its own name below.
    test_a_saved_model_is_the_model = None
    # Models of any length are for pointwise mode.
    test_a_model_of_unknown_length_serves_any_length = None


class TestDense(DenseContract, AttentionContract):
    not_promised = ("padding length", "padding in front")  # it takes one length
    test_penalties_reach_the_loss_in_fit = None
    test_head_penalties_are_means_over_the_rows_that_keep_a_step = None


class TestDenseSequence(DenseContract, SequenceContract):
    """No biases, two hidden units."""

    options = {"pooled": False, "reduction": 2, "use_bias": False}


def test_a_saved_dense_model_is_the_model(tmp_path):
    inputs = keras.Input((TIME, DIM))
    model = keras.Model(inputs, TokenWiseAttention(pooled=False)(inputs))
    x, _ = batch(time=TIME)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))


@pytest.mark.torch_first("the reference has the same equations")
def test_two_steps_of_two_features_pointwise_by_hand():
    """Maxima log 2 and 0, means 0 and -1; the network is relu(x): weights 2/3 and 1/3."""
    layer = TokenWiseAttention(mode="pointwise", hidden_dim=1, use_bias=False)
    layer.build((None, None, 2))
    layer.set_weights([np.array([[1.0]]), np.array([[1.0]])])
    x = np.array([[[np.log(2.0), -np.log(2.0)], [0.0, -2.0]]], "float32")
    output, scores = layer(x, return_attention_scores=True)
    np.testing.assert_allclose(numpy(scores), [[2 / 3, 1 / 3]], rtol=1e-5)
    np.testing.assert_allclose(numpy(output), [[2 / 3 * np.log(2), -2 / 3 * (np.log(2) + 1)]], 1e-5)


@pytest.mark.torch_first("the reference has the same equations")
def test_two_steps_of_two_features_dense_by_hand():
    """The hidden unit reads the first step, and the second step's score is what it finds.

    Maximum log 4 and mean 0 of the first step: scores 0 and log 4.
    """
    layer = TokenWiseAttention(reduction=2, use_bias=False, pooled=False)
    layer.build((None, 2, 2))
    layer.set_weights([np.array([[0.0, 1.0]]), np.array([[1.0], [0.0]])])
    x = np.array([[[np.log(4.0), -np.log(4.0)], [5.0, 10.0]]], "float32")
    output, scores = layer(x, return_attention_scores=True)
    np.testing.assert_allclose(numpy(scores), [[0.2, 0.8]], rtol=1e-5)
    np.testing.assert_allclose(numpy(output), x * [[[0.2], [0.8]]], rtol=1e-5)


def test_dense_weights_belong_to_positions_and_pointwise_ones_to_tokens():
    x, _ = batch(rows=1, time=TIME)
    pointwise = TokenWiseAttention(mode="pointwise", seed=0)
    dense = TokenWiseAttention(seed=0)
    forward, backward = (pointwise(steps) for steps in (x, x[:, ::-1]))
    np.testing.assert_allclose(numpy(forward), numpy(backward), atol=1e-6)
    assert np.abs(numpy(dense(x)) - numpy(dense(x[:, ::-1].copy()))).max() > 1e-3


@pytest.mark.parametrize("kind", [TokenWiseAttention, SequentialAttention])
def test_dense_mode_is_for_one_length(kind):
    named = rf"'the_name' \({kind.__name__}\).*"
    with pytest.raises(ValueError, match=named + r"known.*pointwise.*\(None, None, 6\)"):
        kind(name="the_name")(keras.Input((None, DIM)))
    layer = kind(name="the_name")
    layer(batch(time=TIME)[0])
    for other in (batch(time=7)[0], keras.Input((7, DIM))):
        with pytest.raises(ValueError, match=named + r"5 steps.*pointwise.*7, 6\)"):
            layer(other)
