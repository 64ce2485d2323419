"""Attention with one learned context: Yang et al. with a hidden layer, Zhou et al. without."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import AttentionContract, EquationContract, batch
from reference import lama as reference
from reference.sparse import bisection

from keras_attnpool.layers import AttentionPooling

pytestmark = pytest.mark.every_backend


class TestWithHiddenLayer(AttentionContract):
    single_on_jax = True

    def make(self, **kwargs):
        return AttentionPooling(hidden_dim=3, **kwargs)

    def reference(self, weights, x, mask):
        return reference.attention_pooling(
            x, mask, weights["context"], weights["hidden/kernel"], weights["hidden/bias"]
        )


class TestWithoutHiddenLayer(AttentionContract):
    single_on_jax = True

    def make(self, **kwargs):
        return AttentionPooling(**kwargs)

    def reference(self, weights, x, mask):
        return reference.attention_pooling(x, mask, weights["context"])

    def test_output_activation_is_zhous_last_step(self):
        x, mask = batch()
        layer = self.built(output_activation="tanh")
        plain, _ = self.expected(layer, x, mask)
        np.testing.assert_allclose(numpy(layer(x, mask=mask)), np.tanh(plain), atol=1e-5)

    def test_an_empty_row_stays_zero_after_the_output_activation(self):
        x, mask = batch()
        output = numpy(self.built(output_activation="sigmoid")(x, mask=mask))
        np.testing.assert_array_equal(output[-1], 0)
        assert (output[0] > 0).all()


class TestGated(EquationContract):
    """Ilse et al., eq. 9."""

    def make(self, **kwargs):
        return AttentionPooling(hidden_dim=3, gated=True, **kwargs)

    def reference(self, weights, x, mask):
        gate = 1 / (1 + np.exp(-(x @ weights["gate/kernel"] + weights["gate/bias"])))
        hidden = np.tanh(x @ weights["hidden/kernel"] + weights["hidden/bias"]) * gate
        scores = [
            reference.over_kept(u @ weights["context"], kept)
            for u, kept in zip(hidden, mask, strict=True)
        ]
        return np.einsum("bt,btd->bd", scores, np.where(mask[..., None], x, 0)), np.array(scores)

    def test_a_gate_without_a_hidden_layer_is_an_error(self):
        with pytest.raises(ValueError, match="`gated` of AttentionPooling must be False"):
            AttentionPooling(gated=True)


class TestSparse(AttentionContract):
    """The whole contract under weights that are mostly exactly 0."""

    single_on_jax = True

    def make(self, **kwargs):
        return AttentionPooling(normalizer="sparsemax", **kwargs)

    def reference(self, weights, x, mask):
        scores = bisection(np.tanh(x) @ weights["context"], mask, 1)
        return np.einsum("bt,btd->bd", scores, np.where(mask[..., None], x, 0)), scores

    def test_what_has_no_weight_can_be_dropped_and_nothing_changes(self):
        x, mask = batch(time=30)
        layer = self.built(2)
        output, scores = layer(x[..., :2], mask=mask, return_attention_scores=True)
        used = numpy(scores) > 0
        assert used[0].sum() < 20
        np.testing.assert_allclose(
            numpy(layer(np.where(used[..., None], x[..., :2], np.nan), mask=used)),
            numpy(output),
            atol=1e-6,
        )
