"""What no paper has: every mechanism on one encoder, with the same data, budget and seeds.

Word vectors, a bidirectional GRU of 50 units a direction, the mechanism, one hidden layer. Only the
mechanism differs. A mechanism that returns a sequence is followed by the mean. Their attention is
graded by `explanations`.
"""

import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from benchmarks.reproduce import floors
from benchmarks.reproduce.paper import Paper
from benchmarks.reproduce.tasks import Data, Options, Parts, Task, adam, held_out, official
from keras_attnpool import analysis, corpora, layers

UNITS = 50
DIM = 2 * UNITS
HEADS = 5
HIDDEN = 100
DROPOUT = 0.2

# row: (makes the layer, what its scores look like or None). The layer is called "mechanism".
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
    "PositionalSelfAttention, backward": (
        functools.partial(layers.PositionalSelfAttention, DIM, ("backward",)),
        "bqt",
    ),
    "DirectionalSelfAttention, backward": (
        functools.partial(layers.DirectionalSelfAttention, DIM, "backward"),
        "bqtd",
    ),
    "BlockSelfAttention": (functools.partial(layers.BlockSelfAttention, DIM), None),
    "ConvMultiHeadAttention": (
        functools.partial(layers.ConvMultiHeadAttention, HEADS, DIM, parallel=False),
        "bhqt",
    ),
}
MECHANISMS = {**POOLINGS, **SEQUENCES}
# Keras's own, with the mask by hand: it returns what padding computes, the mean leaves that out.
KERAS = "keras.layers.MultiHeadAttention"
WORDS = "mean of words, no encoder"


def _reviews(folder: str) -> Parts:
    return tuple(
        corpora.reviews(count, seed=seed) for count, seed in ((3000, 1), (500, 2), (1000, 3))
    )


RECIPE = adam(1e-3, 1.0, 64)
TRAINED: dict[str, Any] = {"train_embeddings": True, "word2vec": DIM, "min_frequency": 2}
TASKS = {
    "reviews": Task(_reviews, RECIPE, 96, (32, 48, 96), 15, "-", **TRAINED),
    "trec": Task(held_out("trec"), RECIPE, 37, (8, 12, 20, 37), 15, "-", patience=4),
    "sst5": Task(official("sst5"), RECIPE, 56, (16, 24, 56), 8, "-"),
    "r8": Task(held_out("r8"), RECIPE, 256, (64, 128, 256), 10, "-", **TRAINED),
}


def build(row: str, data: Data, encoder: bool = True) -> keras.Model:
    """Words, encoder, mechanism, classifier."""
    ids = keras.Input((None,), dtype="int32", name="tokens")
    steps = keras.layers.Embedding(
        *data.vectors.shape,
        mask_zero=True,
        weights=[data.vectors],
        trainable=data.task.train_embeddings,
        name="embedding",
    )(ids)
    steps = keras.layers.Dropout(DROPOUT)(steps)
    if row == WORDS:
        pooled = layers.MaskedAveragePooling1D()(steps)
    else:
        if encoder:
            steps = layers.BidirectionalGRU(UNITS)(steps)
        if row == KERAS:
            steps = keras.layers.MultiHeadAttention(HEADS, DIM // HEADS)(steps, steps)
        elif row in SEQUENCES:
            steps = SEQUENCES[row][0](name="mechanism")(steps)
        if row in POOLINGS:
            pooled = POOLINGS[row][0](name="mechanism")(steps)
        else:
            pooled = layers.MaskedAveragePooling1D()(steps)
    x = keras.layers.Dropout(DROPOUT)(pooled)
    x = keras.layers.Dense(HIDDEN, activation="relu", name="hidden")(x)
    x = keras.layers.Dropout(DROPOUT)(x)
    x = keras.layers.Dense(data.num_classes, activation="softmax", name="classifier")(x)
    return keras.Model(ids, x)


def graded_texts(data: Data, longest: int, number: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Ids and rationales of the first test texts that have words that decide and others."""
    golds = [np.asarray(gold) for gold in data.sources[2].rationales]
    rows = data.parts[2][0]["tokens"]
    lengths = (rows != 0).sum(axis=1)
    # A text that was cut has fewer ids than its rationale.
    fit = [
        index
        for index, gold in enumerate(golds)
        if 0 < gold.sum() < len(gold) == lengths[index] <= longest
    ][:number]
    return rows[fit, : lengths[fit].max()], [golds[index] for index in fit]


def weights_of(model: keras.Model, ids: np.ndarray, layout: str | None) -> np.ndarray:
    """The mechanism's weights, one a word."""
    scores = analysis.attention_scores(model, ids, "mechanism", batch_size=50)
    scores = scores["token"] if isinstance(scores, dict) else scores
    return analysis.reduce_scores(scores, layout=layout, mask=ids != 0)


class Comparison(Paper):
    name, title = "comparison", "comparison"
    tasks = TASKS

    def names(self, dataset: str) -> tuple[str, ...]:
        return (*floors.ROWS, WORDS, *MECHANISMS, KERAS)

    def config(self, dataset: str, row: str, options: Options) -> dict[str, Any]:
        name, arguments = row, {}
        if row in MECHANISMS:
            layer = MECHANISMS[row][0]
            name = getattr(layer, "func", layer).__name__
            arguments = dict(getattr(layer, "keywords", {}))
            if given := getattr(layer, "args", ()):
                arguments = {"args": list(given), **arguments}
        return {"model": name, "arguments": arguments, **TASKS[dataset].recipe}

    def build(self, dataset: str, row: str, data: Data, options: Options) -> keras.Model:
        return build(row, data)

    def protocol(self, dataset: str) -> dict[str, Any]:
        vectors = "192 axes of MiniLM's word table, frozen"
        if TASKS[dataset].train_embeddings:
            vectors = f"word2vec of {DIM} dimensions on the training texts, fine-tuned"
        return {
            **super().protocol(dataset),
            "encoder": f"bidirectional GRU, {UNITS} units a direction",
            "mechanism": f"{HEADS} heads, hidden sizes of {DIM}; sequences are averaged",
            "classifier": f"one hidden layer of {HIDDEN}, dropout {DROPOUT}",
            "word_vectors": vectors,
            "optimizer": "Adam, 1e-3, gradients clipped to norm 1: for every row the same",
        }


PAPER = Comparison()
