"""What is timed: the layers, what one would otherwise use, and the straightforward forms."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from benchmarks.devices import device
from benchmarks.speed import straightforward
from keras_attnpool import layers


@dataclasses.dataclass(frozen=True)
class Variant:
    """One thing that is timed.

    `make(dim, heads)` gives the layer; of a form, `make(layer)` gives it from the layer `of`.
    `pairs(dim, heads)` is how many numbers it holds for each pair of words. `products` is how many
    multiplications its matrix products need for a word, `(time, dim, heads)`.
    """

    make: Callable[..., Any]
    of: str | None = None
    pairs: Callable[[int, int], int] = lambda dim, heads: 0
    products: Callable[[int, int, int], int] | None = None
    same: bool = True


class Averaged(keras.layers.Layer):
    """A layer that gives a sequence, and the mean of its kept steps."""

    def __init__(self, inner: Any, call: Callable[..., Any]) -> None:
        super().__init__()
        self.inner, self.how = inner, call
        self.supports_masking = True
        self.average = keras.layers.GlobalAveragePooling1D()

    def call(self, inputs: Any, mask: Any = None) -> Any:
        return self.average(self.how(self.inner, inputs, mask), mask=mask)


def attended(inner: Any, inputs: Any, mask: Any) -> Any:
    return inner(inputs, inputs, attention_mask=ops.expand_dims(mask, 1))


def additive(inner: Any, inputs: Any, mask: Any) -> Any:
    return inner([inputs, inputs], mask=[mask, mask])


def pairs_attended(dim: int, heads: int) -> int:
    """Numbers for each pair of words; on a CPU PyTorch's kernel computes the pairs in pieces."""
    return 0 if keras.backend.backend() == "torch" and device() == "cpu" else heads


def encoded(inner: Any, inputs: Any, mask: Any) -> Any:
    return inner(inputs, padding_mask=mask)


def transformer(dim: int, heads: int) -> Any:
    from keras_hub.layers import TransformerEncoder

    return Averaged(TransformerEncoder(4 * dim, heads), encoded)


def torch_attention(dim: int, heads: int) -> Any:
    import torch

    if dim % heads:
        raise ValueError(f"torch.nn.MultiheadAttention: {heads} heads do not divide {dim}")
    inner = torch.nn.MultiheadAttention(dim, heads, batch_first=True)

    def call(inner: Any, inputs: Any, mask: Any) -> Any:
        mask = torch.logical_not(ops.convert_to_tensor(mask))
        # Keras has wrapped the module, and its wrapper takes tensors alone.
        attend = inner.module
        return attend(inputs, inputs, inputs, key_padding_mask=mask, need_weights=False)[0]

    return Averaged(inner, call)


LAYERS = {
    "MaskedAveragePooling1D": Variant(lambda dim, heads: layers.MaskedAveragePooling1D()),
    "MaskedMaxPooling1D": Variant(lambda dim, heads: layers.MaskedMaxPooling1D()),
    "GeneralizedMeanPooling1D": Variant(lambda dim, heads: layers.GeneralizedMeanPooling1D()),
    "StatisticsPooling1D": Variant(lambda dim, heads: layers.StatisticsPooling1D()),
    "AttentionPooling": Variant(
        lambda dim, heads: layers.AttentionPooling(dim), products=lambda t, d, h: d * d + 2 * d
    ),
    "AttentiveStatisticsPooling": Variant(
        lambda dim, heads: layers.AttentiveStatisticsPooling(dim),
        products=lambda t, d, h: d * d + 3 * d,
    ),
    "LearnedQueryPooling": Variant(
        # Its keys and values are moved to the query and behind the sum.
        lambda dim, heads: layers.LearnedQueryPooling(
            num_heads=heads, key_dim=max(1, dim // heads)
        ),
        products=lambda t, d, h: 2 * d * h,
    ),
    "LowRankAttentionPooling": Variant(
        lambda dim, heads: layers.LowRankAttentionPooling(heads),
        products=lambda t, d, h: d * d + 2 * d * h,
    ),
    "StructuredSelfAttentionPooling": Variant(
        lambda dim, heads: layers.StructuredSelfAttentionPooling(heads, dim),
        products=lambda t, d, h: d * d + 2 * d * h,
    ),
    "MultiDimAttentionPooling": Variant(
        lambda dim, heads: layers.MultiDimAttentionPooling(), products=lambda t, d, h: 2 * d * d
    ),
    "GeneralizedPooling": Variant(
        lambda dim, heads: layers.GeneralizedPooling(heads, dim // 2),
        products=lambda t, d, h: d * d * h,
    ),
    "GeneralizedPooling, chunks": Variant(
        lambda dim, heads: layers.GeneralizedPooling(heads, dim // 2, chunk_size=256),
        products=lambda t, d, h: d * d * h,
    ),
    "ConvAttentionPooling": Variant(
        lambda dim, heads: layers.ConvAttentionPooling(heads, dim // heads * heads),
        products=lambda t, d, h: 6 * d * d,
    ),
    "SequentialAttention": Variant(lambda dim, heads: layers.SequentialAttention(mode="pointwise")),
    "FeatureWiseAttention": Variant(lambda dim, heads: layers.FeatureWiseAttention()),
    "TokenWiseAttention": Variant(lambda dim, heads: layers.TokenWiseAttention(mode="pointwise")),
    "PositionalSelfAttention, near words": Variant(
        lambda dim, heads: layers.PositionalSelfAttention(dim, positions=("faraway_2",)),
        products=lambda t, d, h: d * d + 2 * d,
    ),
    "PositionalSelfAttention, all words": Variant(
        lambda dim, heads: layers.PositionalSelfAttention(
            dim, positions=("scaled_distance", "later")
        ),
        pairs=lambda d, h: 1,
        products=lambda t, d, h: d * d + 2 * d + t * d,
    ),
    "DirectionalSelfAttention": Variant(
        lambda dim, heads: layers.DirectionalSelfAttention(dim), pairs=lambda d, h: d
    ),
    "BlockSelfAttention": Variant(lambda dim, heads: layers.BlockSelfAttention(dim)),
    "ConvMultiHeadAttention": Variant(
        lambda dim, heads: layers.ConvMultiHeadAttention(heads, dim // heads * heads),
        pairs=lambda d, h: 2 * h,
        products=lambda t, d, h: 18 * d * d + 4 * t * d,
    ),
}

PEERS = {
    "GlobalAveragePooling1D": Variant(lambda dim, heads: keras.layers.GlobalAveragePooling1D()),
    "MultiHeadAttention, average": Variant(
        lambda dim, heads: Averaged(
            keras.layers.MultiHeadAttention(heads, max(1, dim // heads)), attended
        ),
        pairs=pairs_attended,
        products=lambda t, d, h: 4 * d * d + 2 * t * d,
    ),
    "AdditiveAttention, average": Variant(
        lambda dim, heads: Averaged(keras.layers.AdditiveAttention(), additive),
        pairs=lambda d, h: d,
    ),
    "TransformerEncoder, average": Variant(
        transformer, pairs=pairs_attended, products=lambda t, d, h: 12 * d * d + 2 * t * d
    ),
}
TORCH_PEERS = {
    "torch.nn.MultiheadAttention, average": Variant(
        torch_attention,
        pairs=pairs_attended,
        products=lambda t, d, h: 4 * d * d + 2 * t * d,
    )
}

FORMS = {
    "LAMA, head after head": Variant(straightforward.LowRankHeads, "LowRankAttentionPooling"),
    "LAMA, its products alone": Variant(
        straightforward.LowRankProducts, "LowRankAttentionPooling", same=False
    ),
    "Generalized Pooling, all weights at once": Variant(
        straightforward.StackedVectorHeads, "GeneralizedPooling"
    ),
    "Generalized Pooling, its products alone": Variant(
        straightforward.VectorProducts, "GeneralizedPooling", same=False
    ),
    "MPSAN, a weight a pair and feature": Variant(
        straightforward.EveryPairByDistance,
        "PositionalSelfAttention, all words",
        pairs=lambda d, h: 2 * d,
    ),
    "DiSAN, all pairs at once": Variant(
        straightforward.EveryPairDirected, "DirectionalSelfAttention", pairs=lambda d, h: 2 * d
    ),
    "SAM, part after part": Variant(straightforward.SeparateAttentions, "SequentialAttention"),
}


class Probe(keras.layers.Layer):
    """`keras.layers.MultiHeadAttention` that one learned probe asks, as vision models pool."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.supports_masking = True
        self.attention = keras.layers.MultiHeadAttention(heads, dim // heads)
        self.probe = self.add_weight(name="probe", shape=(1, 1, dim))

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Pools `(batch, time, dim)`."""
        probes = ops.repeat(self.probe, ops.shape(inputs)[0], axis=0)
        return self.attention(probes, inputs, attention_mask=ops.expand_dims(mask, 1))[:, 0]


class SigLIPHead(keras.layers.Layer):
    """KerasHub's head: attention with a probe, layer norm and MLP. It takes no mask."""

    def __init__(self, dim: int, heads: int) -> None:
        from keras_hub.src.models.siglip.siglip_layers import SigLIPMultiHeadAttentionPooling

        super().__init__()
        self.supports_masking = True
        self.head = SigLIPMultiHeadAttentionPooling(dim, 4 * dim, heads, "gelu")

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Pools `(batch, time, dim)`."""
        return self.head(inputs)


def with_keys(dim: int, heads: int) -> Any:
    """Our layer as it computes for many queries."""
    layer = layers.LearnedQueryPooling(num_heads=heads)
    layer.build((None, None, dim))
    layer._folds = False
    return layer


# Heads of vision models, timed by themselves: at their width the grid would take days.
QUERY, QUERY_BLOCK = "LearnedQueryPooling", "LearnedQueryPooling, SigLIP's MLP"
QUERIES = {
    QUERY: LAYERS["LearnedQueryPooling"],
    QUERY_BLOCK: Variant(
        lambda dim, heads: layers.LearnedQueryPooling(num_heads=heads, feedforward_dim=4 * dim)
    ),
    "the same with keys and values": Variant(with_keys),
    "MultiHeadAttention, a probe": Variant(Probe),
    "KerasHub's SigLIP head": Variant(SigLIPHead),
}


def variants() -> dict[str, Variant]:
    """All that runs on this backend."""
    torch_peers = TORCH_PEERS if keras.backend.backend() == "torch" else {}
    return {**LAYERS, **PEERS, **torch_peers, **FORMS}
