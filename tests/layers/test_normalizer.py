"""`normalizer`: the layers with a weight a step take softmax, sparsemax or 1.5-entmax."""

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
    "LearnedQueryPooling": {"num_queries": 2, "num_heads": 3},
    "LowRankAttentionPooling": {"num_heads": 3, "learn_scale": True},
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
    keep = np.broadcast_to(mask.reshape(4, *[1] * (found.ndim - 2), -1), found.shape)
    logits = np.log(np.where(keep, np.maximum(target, 1e-30), 1)).reshape(-1, 5)
    weights = bisection(logits, keep.reshape(-1, 5), power)
    np.testing.assert_allclose(found.reshape(-1, 5), weights, atol=1e-5)
    assert (weights[keep.reshape(-1, 5)] == 0).any()
