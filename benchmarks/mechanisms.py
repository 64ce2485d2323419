"""The mechanisms that are compared and graded: how each is made, and what its weights look like."""

import functools
from collections.abc import Callable
from typing import Any

from keras_attnpool import layers

DIM = 100
HEADS = 5

# row: (makes the layer, what its weights look like, or None if there are none to grade).
POOLINGS: dict[str, tuple[Callable[..., Any], str | None]] = {
    "MaskedAveragePooling1D": (layers.MaskedAveragePooling1D, None),
    "MaskedMaxPooling1D": (layers.MaskedMaxPooling1D, None),
    "LastPooling1D": (functools.partial(layers.LastPooling1D, bidirectional=True), None),
    "AttentionPooling": (functools.partial(layers.AttentionPooling, hidden_dim=DIM), "bt"),
    "AttentionPooling, gated": (
        functools.partial(layers.AttentionPooling, hidden_dim=DIM, gated=True),
        "bt",
    ),
    "AttentionPooling, entmax15": (
        functools.partial(layers.AttentionPooling, hidden_dim=DIM, normalizer="entmax15"),
        "bt",
    ),
    "AttentionPooling, sparsemax": (
        functools.partial(layers.AttentionPooling, hidden_dim=DIM, normalizer="sparsemax"),
        "bt",
    ),
    "AttentiveStatisticsPooling": (
        functools.partial(layers.AttentiveStatisticsPooling, DIM),
        "bt",
    ),
    "StatisticsPooling1D": (layers.StatisticsPooling1D, None),
    # Its queries, one here, are averaged as features are.
    "LearnedQueryPooling": (
        functools.partial(layers.LearnedQueryPooling, num_heads=HEADS),
        "bdht",
    ),
    "StructuredSelfAttentionPooling": (
        functools.partial(layers.StructuredSelfAttentionPooling, HEADS, DIM),
        "bht",
    ),
    "LowRankAttentionPooling": (functools.partial(layers.LowRankAttentionPooling, HEADS), "bht"),
    "LowRankAttentionPooling, learned scale": (
        functools.partial(layers.LowRankAttentionPooling, HEADS, learn_scale=True),
        "bht",
    ),
    "GeneralizedPooling": (functools.partial(layers.GeneralizedPooling, HEADS, DIM), "bhtd"),
    "GeneralizedPooling, scalar": (
        functools.partial(layers.GeneralizedPooling, HEADS, DIM, per_feature=False),
        "bht",
    ),
    "MultiDimAttentionPooling": (layers.MultiDimAttentionPooling, "btd"),
    "ConvAttentionPooling": (functools.partial(layers.ConvAttentionPooling, HEADS, DIM), "bht"),
    "SequentialAttention": (
        functools.partial(layers.SequentialAttention, mode="pointwise"),
        "bt",
    ),
}
SEQUENCES: dict[str, tuple[Callable[..., Any], str | None]] = {
    "PositionalSelfAttention, earlier": (
        functools.partial(layers.PositionalSelfAttention, DIM, positions=("earlier",)),
        "bqt",
    ),
    "DirectionalSelfAttention, backward": (
        functools.partial(layers.DirectionalSelfAttention, DIM, direction="backward"),
        "bqtd",
    ),
    "BlockSelfAttention": (functools.partial(layers.BlockSelfAttention, DIM), None),
    "ConvMultiHeadAttention": (
        functools.partial(layers.ConvMultiHeadAttention, HEADS, DIM, parallel=False),
        "bhqt",
    ),
}
MECHANISMS = {**POOLINGS, **SEQUENCES}
