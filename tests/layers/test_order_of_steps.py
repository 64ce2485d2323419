"""Which poolings see the order of the steps: the page "Which layer?" names them."""

import numpy as np
import pytest
from backend_functions import numpy

from keras_attnpool import layers

pytestmark = pytest.mark.one_backend("what a layer reads is the same on every backend")

ARGUMENTS = {
    "AttentiveStatisticsPooling": {"hidden_dim": 4},
    "ConvAttentionPooling": {"num_heads": 2, "filters": 6},
    "GeneralizedPooling": {"num_heads": 2, "hidden_dim": 4},
    "LearnedQueryPooling": {"num_heads": 2},
    "LowRankAttentionPooling": {"num_heads": 2},
    "StructuredSelfAttentionPooling": {"num_heads": 2, "hidden_dim": 4},
}
SEE_IT = ("ConvAttentionPooling", "FirstPooling1D", "LastPooling1D")
SEE_IT += ("SequentialAttention", "TokenWiseAttention")
POOLINGS = [name for name in vars(layers) if "Pooling" in name or name in SEE_IT]
CASES = [(name, {}, name in SEE_IT) for name in POOLINGS]
CASES += [(name, {"mode": "pointwise"}, False) for name in SEE_IT[3:]]
CASES += [("MaskedAveragePooling1D", {"position_weighted": True}, True)]


@pytest.mark.parametrize(("name", "options", "sees_it"), CASES)
def test_a_pooling_sees_the_order_where_the_page_says_so(name, options, sees_it):
    layer = getattr(layers, name)(**ARGUMENTS.get(name, {}), **options)
    x = np.random.default_rng(0).normal(size=(3, 7, 6)).astype("float32")
    layer.build(x.shape)
    for at, variable in enumerate(layer.trainable_variables):
        variable.assign(np.random.default_rng(at).normal(size=variable.shape) / 2)
    moved = np.abs(numpy(layer(x)) - numpy(layer(x[:, [3, 0, 6, 1, 5, 2, 4]]))).max()
    assert moved > 1e-2 if sees_it else moved < 1e-5
