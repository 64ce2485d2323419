"""Mean and standard deviation under attention."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import AttentionContract, EquationContract, batch

from keras_attnpool.layers import AttentiveStatisticsPooling

pytestmark = pytest.mark.every_backend


def statistics(x, mask, logits):
    """Okabe et al., eq. 4-6, with the variance as they print it; `logits` `(batch, time, k)`."""
    outputs, weights = [], []
    for h, kept, e in zip(x, mask, logits, strict=True):
        alpha = np.zeros(e.shape)
        output = np.zeros(2 * h.shape[1])
        if kept.any():
            exps = np.exp(e[kept] - e[kept].max(axis=0))
            alpha[kept] = exps / exps.sum(axis=0)
            h = np.where(kept[:, None], h, 0)
            mean = (alpha * h).sum(axis=0)
            variance = (alpha * h**2).sum(axis=0) - mean**2
            output = np.concatenate([mean, np.sqrt(np.maximum(variance, 1e-12))])
        outputs.append(output)
        weights.append(alpha)
    return np.array(outputs), np.array(weights)


class TestAttentiveStatisticsPooling(AttentionContract):
    single_on_jax = True
    cancelled_weights = ("score_bias",)
    lengths = (3, 5, 4)  # of one step the variance is 0 but for rounding

    def make(self, **kwargs):
        return AttentiveStatisticsPooling(4, **kwargs)

    def reference(self, weights, x, mask):
        hidden = np.tanh(x @ weights["hidden/kernel"] + weights["hidden/bias"])
        output, scores = statistics(x, mask, hidden @ weights["score_kernel"])
        return output, scores[..., 0]

    @pytest.mark.one_backend("counts parameters")
    def test_parameters(self):
        layer = AttentiveStatisticsPooling(64)
        layer.build((None, None, 1500))
        assert layer.count_params() == 1500 * 64 + 64 + 64 + 1

    def test_one_kept_step_gives_itself_and_no_deviation(self):
        x, mask = batch()
        mask[:] = False
        mask[:, 2] = True
        output = numpy(self.built()(x, mask=mask))
        np.testing.assert_allclose(output[:, :6], x[:, 2], atol=1e-6)
        np.testing.assert_allclose(output[:, 6:], 1e-6, atol=1e-9)


class TestPerFeature(EquationContract):
    """SpeechBrain's formula, `sqrt(clamp(sum(m * (x - mean)^2), eps))`, on channels last."""

    cancelled_weights = ("score_bias",)
    lengths = (3, 5, 4)

    def make(self, **kwargs):
        return AttentiveStatisticsPooling(4, per_feature=True, gated=True, **kwargs)

    def reference(self, weights, x, mask):
        hidden = np.tanh(x @ weights["hidden/kernel"] + weights["hidden/bias"])
        hidden = hidden / (1 + np.exp(-x @ weights["gate/kernel"] - weights["gate/bias"]))
        return statistics(x, mask, hidden @ weights["score_kernel"])

    def test_it_is_speechbrains_formula(self):
        x, mask = batch()
        layer = self.built()
        output, m = (numpy(each) for each in layer(x, mask=mask, return_attention_scores=True))
        x = np.where(mask[..., None], x, 0)
        mean = (m * x).sum(axis=1)
        std = np.sqrt((m * (x - mean[:, None]) ** 2).sum(axis=1).clip(1e-12))
        expected = np.concatenate([mean, std], axis=1)
        np.testing.assert_allclose(output[:-1], expected[:-1], atol=1e-6)
