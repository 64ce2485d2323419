"""Source2token attention: a weight for every feature of every step."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import AttentionContract, EquationContract
from reference import multi_dim_attention as reference

from keras_attnpool.layers import MultiDimAttentionPooling

pytestmark = pytest.mark.every_backend


class TestMultiDimAttentionPooling(AttentionContract):
    time_axis = 1

    def make(self, **kwargs):
        return MultiDimAttentionPooling(**kwargs)

    def reference(self, weights, x, mask):
        return reference.source2token(
            x,
            mask,
            weights["hidden/kernel"],
            weights["hidden/bias"],
            weights["score_kernel"],
            weights["score_bias"],
        )

    @pytest.mark.torch_first("the reference has the same equations")
    def test_two_steps_of_two_features_by_hand(self):
        """Scores 2 log 3 and 0 for the first feature: weights 9/10, 1/10; the second is even."""
        layer = MultiDimAttentionPooling(use_bias=False)
        layer.build((None, None, 2))
        layer.set_weights([np.diag([np.log(3.0), 0.0]), np.eye(2)])
        x = np.array([[[2.0, 4.0], [0.0, 8.0]]], "float32")
        output, scores = layer(x, return_attention_scores=True)
        np.testing.assert_allclose(numpy(output), [[1.8, 6.0]], rtol=1e-5)
        np.testing.assert_allclose(numpy(scores), [[[0.9, 0.5], [0.1, 0.5]]], rtol=1e-5)


class TestNarrowWithoutBias(EquationContract):
    def make(self, **kwargs):
        return MultiDimAttentionPooling(hidden_dim=4, activation="tanh", use_bias=False, **kwargs)

    def reference(self, weights, x, mask):
        return reference.source2token(
            x, mask, weights["hidden/kernel"], 0, weights["score_kernel"], 0, activation=np.tanh
        )
