"""What reproductions on a data set share: reading it, training a model, measuring it."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from scipy import stats
from sklearn.metrics import f1_score

from benchmarks.reproduce.results import packed
from benchmarks.reproduce.training import BestEpoch, compile_model, embedding_size
from benchmarks.reproduce.vectors import word_vectors
from keras_attnpool import datasets, layers, ops, text


@dataclasses.dataclass(frozen=True)
class Task:
    """A data set and how it is trained on.

    Args:
        parts: Reads the three parts; takes the folder that the user names, or `None`.
        recipe: Optimizer and what it needs.
        max_length: Longer texts are cut to this many words.
        boundaries: Lengths that batches are padded to.
        max_epochs: Epochs at most.
        table: The paper's table that the set is for or stands in for.
        paper: What the paper reports on it, if it is one of its own sets; by row, in percent.
        train_embeddings: Whether the word vectors are fine-tuned.
        graded: Whether the target is a relatedness of 1 to 5 instead of a class.
        patience: Epochs without a better one before a run ends.
        positive_f1: Whether the F1 of class 1 is measured.
        paper_sizes: What `--full` changes beyond the module's full sizes.
    """

    parts: Callable[[str | None], tuple[Any, Any, Any]]
    recipe: dict[str, Any]
    max_length: int
    boundaries: tuple[int, ...]
    max_epochs: int
    table: str
    paper: dict[str, float] = dataclasses.field(default_factory=dict)
    train_embeddings: bool = False
    graded: bool = False
    patience: int = 3
    positive_f1: bool = False
    paper_sizes: dict[str, int] = dataclasses.field(default_factory=dict)


def adam(rate: float, clip: float, batch_size: int = 32) -> dict[str, Any]:
    """A recipe without weight decay."""
    return {
        "optimizer": "adam",
        "learning_rate": rate,
        "clip_norm": clip,
        "weight_decay": 0.0,
        "batch_size": batch_size,
    }


def official(name: str) -> Callable[[str | None], tuple[Any, Any, Any]]:
    """Reads the parts of a set that has its own development part."""
    return lambda folder: tuple(
        datasets.load(name, split=split) for split in ("train", "dev", "test")
    )


class Data:
    """Ids, targets and word vectors of a task's three parts."""

    def __init__(
        self, task: Task, folder: str | None = None, vectors: str | None = None, quick: bool = False
    ) -> None:
        self.task = task
        parts = task.parts(folder)
        self.pairs = hasattr(parts[0], "sentences_a")
        texts = [self._columns(part) for part in parts]
        # Frozen vectors are known for words that training never saw.
        seen = texts[:1] if self.task.train_embeddings else texts
        self.tokenizer = text.WordTokenizer.train(
            [line for part in seen for column in part.values() for line in column]
        )
        self.vectors, self.vectors_from = word_vectors(self.tokenizer, vectors)
        self.num_classes = 5 if self.task.graded else parts[0].num_classes
        self.parts = [
            (
                {
                    name: self.tokenizer.encode(column, max_length=self.task.max_length)
                    for name, column in columns.items()
                },
                part.relatedness if self.task.graded else part.labels,
            )
            for columns, part in zip(texts, parts, strict=True)
        ]
        if quick:
            self.parts = [
                ({name: ids[:200] for name, ids in columns.items()}, targets[:200])
                for columns, targets in self.parts
            ]

    def _columns(self, part: Any) -> dict[str, Any]:
        if self.pairs:
            return {"tokens_a": part.sentences_a, "tokens_b": part.sentences_b}
        return {"tokens": part.texts}

    def batches(self, part: int, seed: int | None = None) -> text.BucketedBatches:
        """Batches of one of the three parts; shuffled when there is a seed."""
        ids, targets = self.parts[part]
        if self.task.graded:
            targets = keras.ops.convert_to_numpy(ops.score_distribution(targets, 5))
        return text.BucketedBatches(
            ids if self.pairs else ids["tokens"],
            targets,
            self.task.recipe["batch_size"],
            self.task.boundaries,
            shuffle=seed is not None,
            seed=seed or 0,
        )


def pair_of(classifier: keras.Model, num_classes: int, hidden_units: int) -> keras.Model:
    """Turns a classifier of texts into one of pairs: its encoder for both sentences, a new head.

    The encoder is all up to the layer "pooling". The head is `MPSANPair`'s.
    """
    encoder = keras.Model(
        classifier.inputs, classifier.get_layer("pooling").output, name="sentence_encoder"
    )
    pair = [keras.Input((None,), dtype="int32", name=f"tokens_{side}") for side in "ab"]
    sentences = keras.Model(pair, [encoder(sentence) for sentence in pair], name="sentences")
    x = layers.PairMatching(name="matching")(sentences(pair))
    x = keras.layers.Dense(hidden_units, activation="elu", name="classifier_hidden")(x)
    x = keras.layers.Dropout(0.3, name="classifier_dropout")(x)
    outputs = keras.layers.Dense(num_classes, activation="softmax", name="classifier")(x)
    return keras.Model(pair, outputs, name=f"{classifier.name}_pair")


def run(
    build: Callable[[], keras.Model], data: Data, seed: int, max_epochs: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Trains one model with one seed and reads the test part once, at the selected epoch."""
    task = data.task
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    model = build()
    if task.graded:
        compile_model(model, task.recipe, "kl_divergence", ())
    else:
        compile_model(model, task.recipe)
    stop = BestEpoch(task.patience, "loss" if task.graded else "accuracy")
    start = time.perf_counter()
    history = model.fit(
        data.batches(0, seed),
        validation_data=data.batches(1),
        epochs=max_epochs,
        callbacks=[stop],
        verbose=0,
        shuffle=False,
    ).history
    seconds = time.perf_counter() - start
    epochs = len(history["loss"])
    if not np.isfinite(history["loss"]).all():
        raise SystemExit(f"{model.name}, seed {seed}: the loss is not finite: {history['loss']}")
    tested, correct = measure(model, data, 2)
    result = {
        "seed": seed,
        "backend": keras.config.backend(),
        **{f"test_{name}": value for name, value in tested.items()},
        **{f"validation_{name}": value for name, value in measure(model, data, 1)[0].items()},
        "best_epoch": stop.best_epoch + 1,
        "epochs": epochs,
        "stopped_by_the_epoch_limit": epochs == max_epochs,
        "seconds_per_epoch": round(seconds / epochs, 2),
    }
    if correct is not None:
        result["correct"] = packed(correct)
    size = embedding_size(model)
    facts = {
        "parameters": model.count_params(),
        "parameters_without_embeddings": model.count_params() - size,
    }
    return result, facts


def measure(
    model: keras.Model, data: Data, part: int
) -> tuple[dict[str, float], np.ndarray | None]:
    """Accuracy and macro-F1, or correlation and error of a graded relatedness.

    With classes also which items were right.
    """
    batches = data.batches(part)
    found = batches.restore(model.predict(batches, verbose=0))
    targets = data.parts[part][1]
    correct = None
    if data.task.graded:
        scores = keras.ops.convert_to_numpy(ops.expected_score(found))
        values = {
            "pearson": stats.pearsonr(scores, targets).statistic,
            "spearman": stats.spearmanr(scores, targets).statistic,
            "mse": np.mean((scores - targets) ** 2),
        }
    else:
        correct = found.argmax(axis=1) == targets
        values = {
            "accuracy": np.mean(correct),
            "macro_f1": f1_score(targets, found.argmax(axis=1), average="macro"),
        }
        if data.task.positive_f1:
            values["f1"] = f1_score(targets, found.argmax(axis=1))
    return {name: round(float(value), 5) for name, value in values.items()}, correct
