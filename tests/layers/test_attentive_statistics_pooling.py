"""Mean and standard deviation under attention."""

import numpy as np
import pytest
from backend_functions import largest_tensor, numpy
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
    lengths = (3, 5, 4)  # of one step the variance is 0 but for rounding

    def make(self, **kwargs):
        return AttentiveStatisticsPooling(4, **kwargs)

    def reference(self, weights, x, mask):
        hidden = np.tanh(x @ weights["hidden/kernel"] + weights["hidden/bias"])
        output, scores = statistics(x, mask, hidden @ weights["score_kernel"])
        return output, scores[..., 0]

    def test_one_kept_step_gives_itself_and_no_deviation(self):
        x, mask = batch()
        mask[:] = False
        mask[:, 2] = True
        output = numpy(self.built()(x, mask=mask))
        np.testing.assert_allclose(output[:, :6], x[:, 2], atol=1e-6)
        np.testing.assert_allclose(output[:, 6:], 1e-6, atol=1e-9)


class TestGlobalContext(AttentionContract):
    """Desplanques et al., eq. 1, as printed: mean and deviation of the whole beside every step."""

    single_on_jax = True
    lengths = (3, 5, 4)
    time_axis = 1

    def make(self, **kwargs):
        kwargs = {"per_feature": True, "gated": True, **kwargs}
        return AttentiveStatisticsPooling(4, global_context=True, **kwargs)

    def reference(self, weights, x, mask):
        read = np.zeros((*x.shape[:2], 3 * x.shape[2]))
        for place, (h, kept) in enumerate(zip(x, mask, strict=True)):
            if kept.any():
                mean = h[kept].mean(axis=0)
                deviation = np.sqrt(np.maximum(h[kept].var(axis=0), 1e-12))
                read[place, kept] = [np.concatenate([step, mean, deviation]) for step in h[kept]]
        hidden = np.tanh(read @ weights["hidden/kernel"] + weights["hidden/bias"])
        hidden = hidden / (1 + np.exp(-read @ weights["gate/kernel"] - weights["gate/bias"]))
        return statistics(x, mask, hidden @ weights["score_kernel"])

    @pytest.mark.parametrize("per_feature", [True, False])
    def test_a_row_alone_is_the_row_in_a_batch(self, per_feature):
        """And to 1e-6 what the formula gives."""
        x, mask = batch(rows=8, time=9)
        layer = self.built(per_feature=per_feature)
        output = numpy(layer(x, mask=mask))
        np.testing.assert_allclose(output, self.expected(layer, x, mask)[0], rtol=0, atol=1e-6)
        for row, kept, found in zip(x[:-1], mask, output, strict=False):
            np.testing.assert_allclose(numpy(layer(row[kept][None]))[0], found, rtol=0, atol=1e-6)

    @pytest.mark.one_backend("counts what is held")
    def test_the_context_is_not_tiled(self):
        layer = self.make(per_feature=False)
        layer.build((None, None, 64))
        x = np.random.default_rng(0).normal(size=(2, 500, 64)).astype("float32")
        assert largest_tensor(layer, x) <= x.size


class TestPerFeature(EquationContract):
    """SpeechBrain's formula, `sqrt(clamp(sum(m * (x - mean)^2), eps))`, on channels last."""

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
