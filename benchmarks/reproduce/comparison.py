"""What no paper has: every mechanism on one encoder, with the same data, budget and seeds.

Word vectors, a bidirectional GRU of 50 units a direction, the mechanism, one hidden layer. Only the
mechanism differs. A mechanism that returns a sequence is followed by the mean. On generated reviews
the words that decide are known, so there the attention itself is scored as well.
"""

import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from benchmarks.reproduce import floors, tasks
from benchmarks.reproduce.engine import Options
from benchmarks.reproduce.tasks import Task, adam, official
from benchmarks.reproduce.vectors import word_vectors
from keras_attnpool import analysis, corpora, datasets, layers, text

UNITS = 50
DIM = 2 * UNITS
HEADS = 5
HIDDEN = 100
DROPOUT = 0.2
# Texts whose attention is scored.
SCORED = 400

# row: (makes the layer, what its scores look like or None). The layer is called "mechanism".
POOLINGS: dict[str, tuple[Callable[..., Any], str | None]] = {
    "MaskedAveragePooling1D": (layers.MaskedAveragePooling1D, None),
    "MaskedMaxPooling1D": (layers.MaskedMaxPooling1D, None),
    "LastPooling1D": (functools.partial(layers.LastPooling1D, bidirectional=True), None),
    "AttentionPooling": (functools.partial(layers.AttentionPooling, hidden_dim=DIM), "bt"),
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
        functools.partial(layers.GeneralizedPooling, HEADS, DIM, scalar=True),
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


def _reviews(folder: str | None) -> tuple[Any, Any, Any]:
    return tuple(
        corpora.reviews(count, seed=seed) for count, seed in ((3000, 1), (500, 2), (1000, 3))
    )


def _trec(folder: str | None) -> tuple[Any, Any, Any]:
    train, validation = datasets.load("trec", split="train").split(0.1, seed=0)
    return train, validation, datasets.load("trec", split="test")


def _r8(folder: str | None) -> tuple[Any, Any, Any]:
    train, validation = datasets.load("r8", split="train").split(0.1, seed=0)
    return train, validation, datasets.load("r8", split="test")


RECIPE = adam(1e-3, 1.0, 64)
TASKS = {
    "reviews": Task(_reviews, RECIPE, 96, (32, 48, 96), 15, "-", train_embeddings=True),
    "trec": Task(_trec, RECIPE, 37, (8, 12, 20, 37), 15, "-", patience=4),
    "sst5": Task(official("sst5"), RECIPE, 56, (16, 24, 56), 8, "-"),
    "r8": Task(_r8, RECIPE, 256, (64, 128, 256), 10, "-", train_embeddings=True),
}
DATASETS = tuple(TASKS)


def rows(dataset: str) -> dict[str, float | None]:
    """The rows; no paper has them."""
    return dict.fromkeys((*floors.ROWS, WORDS, *MECHANISMS, KERAS))


def needs(dataset: str) -> str | None:
    """What the user has to bring, if anything."""
    return None


def seeds(dataset: str, full: bool) -> int:
    """Planned runs."""
    return 3


def config(dataset: str, row: str, options: Options) -> dict[str, Any]:
    """What is kept of a row beside its runs."""
    if row in MECHANISMS:
        layer = MECHANISMS[row][0]
        made = getattr(layer, "func", layer)
        arguments = dict(getattr(layer, "keywords", {}))
        given = getattr(layer, "args", ())
        arguments = {"args": list(given), **arguments} if given else arguments
        name = made.__name__
    else:
        name, arguments = row, {}
    return {"model": name, "arguments": arguments, **TASKS[dataset].recipe}


def parts(dataset: str, options: Options, seed: int) -> tuple[Any, Any, Any]:
    """The texts of the three parts."""
    return TASKS[dataset].parts(None)


class Data:
    """Ids, labels, word vectors; of the reviews also the words that decide."""

    def __init__(self, dataset: str, options: Options) -> None:
        self.task = task = TASKS[dataset]
        loaded = task.parts(None)
        if options.quick:
            loaded = tuple(part.subset(np.arange(min(200, len(part)))) for part in loaded)
        self.num_classes = loaded[0].num_classes
        seen = loaded[:1] if task.train_embeddings else loaded
        least = 2 if task.train_embeddings else 1
        self.tokenizer = text.WordTokenizer.train(
            [line for part in seen for line in part.texts], min_frequency=least
        )
        if task.train_embeddings:
            self.vectors = text.word2vec(loaded[0].texts, self.tokenizer, dim=DIM, seed=0)
        else:
            self.vectors, _ = word_vectors(self.tokenizer, options.vectors)
        self.parts = [
            (self.tokenizer.encode(part.texts, max_length=task.max_length), np.array(part.labels))
            for part in loaded
        ]
        self.rationales = loaded[2].rationales

    def batches(self, part: int, seed: int | None = None) -> text.BucketedBatches:
        """Batches of one of the three parts; shuffled when there is a seed."""
        ids, labels = self.parts[part]
        size, lengths = self.task.recipe["batch_size"], self.task.boundaries
        return text.BucketedBatches(
            ids, labels, size, lengths, shuffle=seed is not None, seed=seed or 0
        )


@functools.lru_cache(maxsize=1)
def _data(dataset: str, options: Options) -> Data:
    return Data(dataset, options)


def load(dataset: str, options: Options, seed: int) -> Data:
    """The data; the same for every seed."""
    return _data(dataset, options)


def described(data: Data) -> dict[str, Any]:
    """What the results file says of the data."""
    sizes = [len(labels) for _, labels in data.parts]
    return {"examples": sizes, "test_examples": sizes[2]}


def build(row: str, data: Data) -> keras.Model:
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


def run(
    dataset: str, row: str, data: Data, seed: int, options: Options
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One run of a row; of the reviews also how well its attention finds what decides."""
    limit = 1 if options.quick else data.task.max_epochs
    built: list[keras.Model] = []

    def make() -> keras.Model:
        built.append(build(row, data))
        return built[0]

    result, facts = tasks.run(make, data, seed, limit)
    if data.rationales is not None and row in MECHANISMS:
        result |= _attention(built[0], data, MECHANISMS[row][1])
    return result, facts


def _attention(model: keras.Model, data: Data, layout: str | None) -> dict[str, float]:
    """Mass and AUC on the words that decide, and the probability left when the top words go."""
    if layout is None:
        return {}
    chosen = [i for i, gold in enumerate(data.rationales) if 0 < sum(gold) < len(gold)]
    fit = [i for i in chosen if len(data.parts[2][0][i]) == len(data.rationales[i])][:SCORED]
    longest = max(len(data.parts[2][0][i]) for i in fit)
    ids = np.zeros((len(fit), longest), "int32")
    for place, index in enumerate(fit):
        row = data.parts[2][0][index]
        ids[place, : len(row)] = row
    scores = analysis.attention_scores(model, ids, "mechanism", batch_size=50)
    scores = scores["token"] if isinstance(scores, dict) else scores
    weights = analysis.reduce_scores(scores, layout=layout, mask=ids != 0)
    gold = [np.asarray(data.rationales[i]) for i in fit]
    curve = analysis.deletion_curve(model, ids, weights, num_random=2, batch_size=200)
    found = {
        "test_rationale_mass": analysis.rationale_mass(weights, gold).mean,
        "test_rationale_auc": analysis.rationale_auc(weights, gold).mean,
        "test_deletion_gap": curve.random_area - curve.attended_area,
    }
    return {name: round(float(value), 5) for name, value in found.items()}


def header(dataset: str) -> dict[str, Any]:
    """What stands at the head of a data set's results file."""
    task = TASKS[dataset]
    vectors = "word2vec of 100 dimensions on the training texts, fine-tuned"
    if not task.train_embeddings:
        vectors = "192 axes of MiniLM's word table, frozen"
    return {
        "paper": "comparison",
        "table": "-",
        "dataset": dataset,
        "measure": "accuracy",
        "claims": [],
        "protocol": {
            "encoder": f"bidirectional GRU, {UNITS} units a direction",
            "mechanism": f"{HEADS} heads, hidden sizes of {DIM}; sequences are averaged",
            "classifier": f"one hidden layer of {HIDDEN}, dropout {DROPOUT}",
            "word_vectors": vectors,
            "selection": "epoch with the best validation accuracy, ties by loss; test read once",
            "patience": task.patience,
            "max_epochs": task.max_epochs,
            "batch_size": task.recipe["batch_size"],
            "max_length": task.max_length,
            "optimizer": "Adam, 1e-3, gradients clipped to norm 1: for every row the same",
        },
    }
