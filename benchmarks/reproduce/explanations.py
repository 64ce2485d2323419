"""Which attention can be believed: every mechanism that has weights to grade.

All stand in one model on generated reviews, with a bidirectional GRU before them and without; a
mechanism that returns a sequence is followed by the mean. On short test texts, whose deciding words
are known, the weights are held against what the model does without the words: by measures that have
each text's own bounds, so that models can be compared. Beside them stand what leave-one-out and
gradient x input reach on the same model, and an order at random.
"""

import re
from typing import Any

import keras
import numpy as np

from benchmarks.mechanisms import DIM, HEADS, MECHANISMS, POOLINGS
from benchmarks.reproduce import tasks
from benchmarks.reproduce.paper import Paper
from benchmarks.reproduce.results import packed_numbers
from benchmarks.reproduce.tasks import Data, Options, Parts, Task, adam
from keras_attnpool import analysis, layers
from keras_attnpool.workbench import corpora

UNITS = DIM // 2
HIDDEN = 100
DROPOUT = 0.2
BARE = ", no encoder"
# Mechanisms with weights to grade; the dear ones come last.
GRADED = [name for name, (_, layout) in MECHANISMS.items() if layout]
POOLED = [name for name in GRADED if name in POOLINGS]
ROWS = [*(name + kind for name in POOLED for kind in ("", BARE)), *GRADED[len(POOLED) :]]
# The bounds of a text take the square of its length: texts of at most so many words are graded.
LONGEST = 24
TEXTS = 40
BEAM = 5


def _reviews(folder: str) -> Parts:
    return tuple(
        corpora.reviews(count, seed=seed) for count, seed in ((3000, 1), (500, 2), (1000, 3))
    )


REVIEWS = Task(
    _reviews,
    adam(1e-3, 1.0, 64),
    96,
    (32, 48, 96),
    15,
    "-",
    train_embeddings=True,
    word2vec=DIM,
    min_frequency=2,
)


def said(column: str) -> str:
    """What a column of the table is called in a file of results."""
    return re.sub("[ -]", "_", column).lower()


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


def grades(model: keras.Model, data: Data, name: str, texts: int) -> dict[str, Any]:
    """The grades of the weights; of the other attributions only what they are compared by."""
    ids, gold = graded_texts(data, LONGEST, texts)
    weights = weights_of(model, ids, MECHANISMS[name][1])
    mass = analysis.rationale_mass(weights, gold)
    others = {
        "leave_one_out": analysis.leave_one_out(model, ids, batch_size=256),
        "gradient": analysis.gradient_saliency(model, ids, batch_size=texts),
    }
    table = analysis.grade_attributions(
        model,
        ids,
        {"attention": weights, **others},
        gold,
        beam_size=BEAM,
        batch_size=256,
        verbose=0,
    )
    found = {f"test_{said(column)}": value for column, value in table["attention"].items()}
    found |= {"test_mass": mass.mean, "test_mass_of_uniform": mass.uniform}
    for other in (*others, "uniform"):
        found[f"test_naopc_of_{other}"] = table[other]["NAOPC"]
    # A layer that gives every word the same weight ranks none.
    known = {key: round(value, 5) for key, value in found.items() if not np.isnan(value)}
    each = {name: packed_numbers(row["NAOPC"]) for name, row in table.per_text.items()}
    return {**known, "naopc_per_text": each}


class _Explanations(Paper):
    name, title = "explanations", "explanations"
    tasks = {"reviews": REVIEWS}

    def names(self, dataset: str) -> list[str]:
        return ROWS

    def config(self, dataset: str, row: str, options: Options) -> dict[str, Any]:
        layer = MECHANISMS[row.removesuffix(BARE)][0]
        arguments = dict(getattr(layer, "keywords", {}))
        if given := getattr(layer, "args", ()):
            arguments = {"args": list(given), **arguments}
        return {
            "model": getattr(layer, "func", layer).__name__,
            "arguments": arguments,
            "encoder": None if row.endswith(BARE) else "BidirectionalGRU",
            **REVIEWS.recipe,
        }

    def build(self, dataset: str, row: str, data: Data, options: Options) -> keras.Model:
        """Words, encoder, mechanism, classifier."""
        ids = keras.Input((None,), dtype="int32", name="tokens")
        x = keras.layers.Embedding(
            *data.vectors.shape, mask_zero=True, weights=[data.vectors], name="embedding"
        )(ids)
        x = keras.layers.Dropout(DROPOUT)(x)
        if not row.endswith(BARE):
            x = layers.BidirectionalGRU(UNITS)(x)
        name = row.removesuffix(BARE)
        x = MECHANISMS[name][0](name="mechanism")(x)
        if name not in POOLINGS:
            x = layers.MaskedAveragePooling1D()(x)
        x = keras.layers.Dropout(DROPOUT)(x)
        x = keras.layers.Dense(HIDDEN, activation="relu", name="hidden")(x)
        x = keras.layers.Dropout(DROPOUT)(x)
        x = keras.layers.Dense(data.num_classes, activation="softmax", name="classifier")(x)
        return keras.Model(ids, x)

    def run(
        self, dataset: str, row: str, data: Data, seed: int, options: Options
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Trains a row, and grades its weights."""
        built: list[keras.Model] = []

        def make() -> keras.Model:
            built.append(self.build(dataset, row, data, options))
            return built[0]

        result, facts = tasks.run(make, data, data.task, seed, options)
        number = 4 if options.quick else TEXTS
        return result | grades(built[0], data, row.removesuffix(BARE), number), facts

    def header(self, dataset: str) -> dict[str, Any]:
        return {**super().header(dataset), "planned": ROWS}

    def protocol(self, dataset: str) -> dict[str, Any]:
        return {
            **super().protocol(dataset),
            "encoder": f"bidirectional GRU, {UNITS} units a direction, or none",
            "mechanism": f"{HEADS} heads, hidden sizes of {DIM}; sequences are averaged",
            "classifier": f"one hidden layer of {HIDDEN}, dropout {DROPOUT}",
            "word_vectors": f"word2vec of {DIM} dimensions on the training texts, fine-tuned",
            "optimizer": "Adam, 1e-3, gradients clipped to norm 1: for every row the same",
            "graded": f"the first {TEXTS} test texts of at most {LONGEST} words",
            "bounds": f"beam search over sets of removed words, beam {BEAM}, or an order beyond",
            "removal": "the words behind close the gap",
        }


PAPER = _Explanations()
