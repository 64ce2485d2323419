"""DiSAN's directional self-attention with its gate."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import (
    DIM,
    AttendingContract,
    EquationContract,
    SeededContract,
    SequenceContract,
    batch,
)
from reference import disan as reference

from keras_attnpool.layers import DirectionalSelfAttention

pytestmark = pytest.mark.every_backend

SEES = {
    "forward": np.tril(np.ones((9, 9), bool), -1),
    "backward": np.triu(np.ones((9, 9), bool), 1),
    None: ~np.eye(9, dtype=bool),
}


class TestForward(AttendingContract, SeededContract, SequenceContract):
    single_on_jax = True
    # Products of larger numbers leave the range of a float16 output.
    extreme = 3e3
    # Few shapes: some backends compile each operation for each.
    dims = (DIM, DIM, DIM)

    def make(self, **kwargs):
        return DirectionalSelfAttention(4, **kwargs)

    def reference(self, weights, x, mask):
        return reference.directional(x, mask, weights)

    @pytest.mark.parametrize("direction", list(SEES))
    def test_weights_sum_to_one_over_what_the_direction_allows(self, direction):
        x, mask = batch(time=9)
        layer = self.built(direction=direction)
        for scale in (1.0, 100.0):
            _, scores = self.outputs(layer, x * scale, mask, return_attention_scores=True)
            assert scores.shape == (4, 9, 9, 4) and (scores >= 0).all()
            sees = SEES[direction] & mask[:, None] & mask[:, :, None]
            np.testing.assert_array_equal(scores[~sees], 0)
            target = np.repeat(sees.any(axis=2)[..., None], 4, axis=-1)
            np.testing.assert_allclose(scores.sum(axis=2), target, atol=1e-5)

    def test_a_step_without_a_source_is_its_own_gated_state(self):
        x, _ = batch(rows=1)
        layer = self.built()
        first = numpy(layer(x))[:, :1]
        np.testing.assert_allclose(numpy(layer(x[:, :1])), first, atol=1e-6)
        assert np.abs(first).max() > 0

    def test_dropout_spares_the_values(self):
        """Without weights of the scores and the gate only what is summed and mixed is left."""
        x = np.ones((1, 2, 2), "float32")
        layer = DirectionalSelfAttention(
            3, dropout=0.5, activation=None, kernel_initializer="zeros", bias_initializer="ones"
        )
        # h = 1 at both steps, s = (0, 1), gates sigmoid(3): the gate's kernels are zero too.
        gate = 1 / (1 + np.exp(-3.0))
        target = np.repeat([[[gate], [1.0]]], 3, axis=-1)
        np.testing.assert_allclose(numpy(layer(x, training=True)), target, rtol=1e-5)


class TestBackward(EquationContract):
    dims = (3, 3, 3)
    direction: str | None = "backward"
    use_bias = True

    def make(self, **kwargs):
        return DirectionalSelfAttention(
            3,
            direction=self.direction,
            scale=2.0,
            activation="tanh",
            use_bias=self.use_bias,
            **kwargs,
        )

    def reference(self, weights, x, mask):
        return reference.directional(x, mask, weights, self.direction, 2.0, np.tanh)

    calls = AttendingContract.calls

    def test_values_agree_with_the_float64_reference(self):
        x, mask = batch(dim=3)
        layer = self.built(3)
        (found, scores), targets = (
            self.outputs(layer, x, mask, return_attention_scores=True),
            self.expected(layer, x, mask),
        )
        np.testing.assert_allclose(found, targets[0], atol=1e-5)
        np.testing.assert_allclose(scores, targets[1], atol=1e-5)


def test_either_side_without_bias():
    equations = TestBackward()
    equations.direction, equations.use_bias = None, False
    assert len(equations.built().weights) == 5
    equations.test_values_agree_with_the_float64_reference()


def test_scores_of_one_unit_keep_the_axis_of_features():
    x, mask = batch()
    _, scores = DirectionalSelfAttention(1)(x, mask=mask, return_attention_scores=True)
    assert tuple(scores.shape) == (4, 5, 5, 1)
