"""Lin et al.: a matrix embedding by several learned contexts."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import EquationContract, HeadsContract, batch
from reference import lama as reference

from keras_attnpool.layers import StructuredSelfAttentionPooling
from keras_attnpool.regularizers import AttentionOrthogonality

pytestmark = pytest.mark.every_backend


class TestStructuredSelfAttentionPooling(HeadsContract):
    single_on_jax = True

    def make(self, **kwargs):
        return StructuredSelfAttentionPooling(num_heads=3, hidden_dim=4, **kwargs)

    def reference(self, weights, x, mask):
        return reference.structured_self_attention(
            x, mask, weights["hidden/kernel"], weights["score_kernel"]
        )

    def test_the_papers_penalty(self):
        x, mask = batch(rows=2)
        layer = self.built(attention_regularizer=AttentionOrthogonality(0.5))
        _, scores = layer(x, mask=mask, return_attention_scores=True)
        target = np.mean([reference.orthogonality(a) for a in numpy(scores)])
        np.testing.assert_allclose(float(numpy(layer.losses[0])), 0.5 * target, rtol=1e-5)


class TestWithBias(EquationContract):
    """The softmax over time cancels the bias of the scores."""

    def make(self, **kwargs):
        return StructuredSelfAttentionPooling(num_heads=3, hidden_dim=4, use_bias=True, **kwargs)

    def reference(self, weights, x, mask):
        outputs, scores = [], []
        for h, kept in zip(x, mask, strict=True):
            hidden = np.tanh(h @ weights["hidden/kernel"] + weights["hidden/bias"])
            raw = (hidden @ weights["score_kernel"] + weights["score_bias"]).T
            a = np.array([reference.over_kept(row, kept) for row in raw])
            outputs.append(a[:, kept] @ h[kept])
            scores.append(a)
        return np.array(outputs), np.array(scores)


class TestGated(EquationContract):
    """Ilse et al.'s gate under Lin et al.'s several contexts."""

    def make(self, **kwargs):
        return StructuredSelfAttentionPooling(num_heads=3, hidden_dim=4, gated=True, **kwargs)

    def reference(self, weights, x, mask):
        hidden = np.tanh(x @ weights["hidden/kernel"])
        hidden = hidden / (1 + np.exp(-x @ weights["gate/kernel"]))
        logits = np.swapaxes(hidden @ weights["score_kernel"], 1, 2)
        scores = np.array(
            [
                [reference.over_kept(row, kept) for row in rows]
                for rows, kept in zip(logits, mask, strict=True)
            ]
        )
        return scores @ np.where(mask[..., None], x, 0), scores
