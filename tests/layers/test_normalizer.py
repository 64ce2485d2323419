"""`normalizer`: the attention poolings take softmax, sparsemax or 1.5-entmax."""

import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import DIM, batch
from reference.sparse import bisection

from keras_attnpool import layers

pytestmark = pytest.mark.every_backend

LAYERS = {
    "AttentionPooling": {},
    "ConvAttentionPooling": {"num_heads": 2, "filters": 4},
    "GeneralizedPooling": {"num_heads": 2, "hidden_dim": 4},
    "LearnedQueryPooling": {"num_queries": 2, "num_heads": 3},
    "LowRankAttentionPooling": {"num_heads": 3, "learn_scale": True},
    "MultiDimAttentionPooling": {},
    "StructuredSelfAttentionPooling": {"num_heads": 3, "hidden_dim": 4},
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("normalizer", "power"), [("sparsemax", 1), ("entmax15", 2)])
def test_the_scores_behind_are_the_same(name, normalizer, power):
    """Softmax's logarithms are the scores, up to a number that no normalizer sees."""
    x, mask = batch()
    soft = getattr(layers, name)(**LAYERS[name])
    soft.build((None, None, DIM))
    rng = np.random.default_rng(0)
    for weight in soft.weights:
        weight.assign(3 * rng.normal(size=weight.shape))
    sparse = getattr(layers, name)(normalizer=normalizer, **LAYERS[name])
    sparse.build((None, None, DIM))
    sparse.set_weights(soft.get_weights())
    found, target = (
        numpy(layer(x, mask=mask, return_attention_scores=True)[1]) for layer in (sparse, soft)
    )
    if found.shape[-1] == DIM:  # a weight a feature
        found, target = np.swapaxes(found, -1, -2), np.swapaxes(target, -1, -2)
    keep = np.broadcast_to(mask.reshape(4, *[1] * (found.ndim - 2), -1), found.shape)
    logits = np.log(np.where(keep, np.maximum(target, 1e-30), 1)).reshape(-1, 5)
    weights = bisection(logits, keep.reshape(-1, 5), power)
    np.testing.assert_allclose(found.reshape(-1, 5), weights, atol=1e-5)
    assert (weights[keep.reshape(-1, 5)] == 0).any()
