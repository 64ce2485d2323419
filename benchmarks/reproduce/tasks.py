"""What reproductions on a data set share: reading it, training a model, measuring it."""

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from scipy import stats
from sklearn.metrics import f1_score

from benchmarks.reproduce.results import packed, packed_numbers
from benchmarks.reproduce.training import BestEpoch, compile_model, embedding_size
from benchmarks.reproduce.vectors import word_vectors
from keras_attnpool import layers, ops
from keras_attnpool.batches import SequenceBatches
from keras_attnpool.workbench import datasets, text

Parts = tuple[Any, ...]  # texts or pairs to train on, to choose the epoch by, to test
ONE_FILE = "{}.tsv, a line `label<TAB>text` each, in the folder that `--data` names"


@dataclasses.dataclass(frozen=True)
class Options:
    """How the rows are run.

    Args:
        quick: One epoch on 200 texts: does it run at all?
        full: The paper's sizes, texts and number of runs, not a CPU's.
        folder: Where the user's files of a set are that is not passed on.
        vectors: File of word vectors in GloVe's format.
        preset: Language model of KerasHub.
        cache: Folder that keeps the language model's features.
    """

    quick: bool = False
    full: bool = False
    folder: str | None = None
    vectors: str | None = None
    preset: str = "minilm"
    cache: str | None = None


@dataclasses.dataclass(frozen=True)
class Task:
    """A data set and how it is trained on.

    Args:
        parts: Reads the parts; takes the folder that the user names, `""` where none is needed.
        recipe: Optimizer and what it needs.
        max_length: Longer texts are cut to this many words.
        boundaries: Lengths that batches are padded to.
        max_epochs: Epochs at most.
        table: The paper's table that the set is for or stands in for.
        paper: What the paper reports on it, if it is one of its own sets; by row, in percent.
        column: The paper's own set that it is compared with, if it is another; of several the
            closest to the paper's conditions is declared first.
        needs: What the user has to bring, if anything.
        runs: Planned runs.
        full_runs: Runs with `--full`, where they are others.
        train_embeddings: Whether the word vectors are fine-tuned. Frozen ones are known for words
            that training never saw.
        word2vec: Dimensions of word vectors trained on the training texts; 0 for those that are
            loaded.
        min_frequency: Rarer words are unknown.
        graded: Whether the target is a relatedness of 1 to 5 instead of a class.
        patience: Epochs without a better one before a run ends.
        positive_f1: Whether the F1 of class 1 is measured.
        paper_sizes: What `--full` changes beyond the module's full sizes.
    """

    parts: Callable[[str], Parts]
    recipe: dict[str, Any]
    max_length: int
    boundaries: tuple[int, ...]
    max_epochs: int
    table: str
    paper: dict[str, float] = dataclasses.field(default_factory=dict)
    column: str = ""
    needs: str | None = None
    runs: int = 3
    full_runs: int | None = None
    train_embeddings: bool = False
    word2vec: int = 0
    min_frequency: int = 1
    graded: bool = False
    patience: int = 3
    positive_f1: bool = False
    paper_sizes: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def batch_size(self) -> int:
        """Texts in a batch."""
        return int(self.recipe.get("batch_size", 32))

    @property
    def measure(self) -> str:
        """What tables show, and claims are judged by."""
        return "pearson" if self.graded else "f1" if self.positive_f1 else "accuracy"


def adam(rate: float, clip: float | None, batch_size: int = 32) -> dict[str, Any]:
    """Writes a recipe without weight decay."""
    return {
        "optimizer": "adam",
        "learning_rate": rate,
        "clip_norm": clip,
        "weight_decay": 0.0,
        "batch_size": batch_size,
    }


def official(name: str) -> Callable[[str], Parts]:
    """Reads the parts of a set that has its own development part."""
    return lambda folder: tuple(
        datasets.load(name, split=split) for split in ("train", "dev", "test")
    )


def held_out(name: str, **options: Any) -> Callable[[str], Parts]:
    """Reads the parts of a set without one: a tenth of the training texts, stratified."""

    def parts(folder: str) -> Parts:
        train, validation = datasets.load(name, split="train", **options).split(0.1, seed=0)
        return train, validation, datasets.load(name, split="test", **options)

    return parts


PHRASE_LENGTHS = (4, 8, 16, 24, 56)  # half of the phrases have six words at most


def sst5_phrases(folder: str) -> Parts:
    """Reads SST-5 with the phrases of its training sentences to train on, balanced.

    In DiSAN's public code sentences and phrases with an opinion weigh four times as much as neutral
    phrases: of these a quarter is drawn, once.
    """
    train, *others = official("sst5")(folder)
    phrases = datasets.load("sst5", split="train", phrases=True)
    sentences = set(train.texts)
    kept = np.array([line in sentences for line in phrases.texts]) | (phrases.labels != 2)
    kept |= np.random.default_rng(0).random(len(phrases)) < 0.25
    return phrases.subset(kept), *others


def without_breaks(part: Any) -> Any:
    """Drops the markup between paragraphs, which would be a word behind a full stop."""
    return dataclasses.replace(part, texts=[line.replace("<br />", " ") for line in part.texts])


def few(parts: Parts, options: Options) -> Parts:
    """Takes with `--quick` 200 rows from all over each part: some files are sorted by class."""
    if not options.quick:
        return parts
    return tuple(
        part.subset(np.linspace(0, len(part) - 1, min(200, len(part))).astype(int))
        for part in parts
    )


class Data:
    """Ids, targets and word vectors of a task's three parts.

    Args:
        task: The data set.
        parts: Its texts or pairs.
        options: Those of the user.
        seed: Seed of word vectors that are trained.
    """

    def __init__(self, task: Task, parts: Parts, options: Options, seed: int = 0) -> None:
        self.task, self.options, self.seed = task, options, seed
        self.sources = parts = few(parts, options)
        self._trained: dict[int, np.ndarray] = {}
        self.pairs = hasattr(parts[0], "sentences_a")
        texts = [self._columns(part) for part in parts]
        known = texts[:1] if task.train_embeddings else texts
        self.tokenizer = text.WordTokenizer.train(
            [line for part in known for column in part.values() for line in column],
            min_frequency=task.min_frequency,
        )
        self.num_classes = 5 if task.graded else parts[0].num_classes
        self.parts = [
            (
                {
                    name: self.tokenizer.encode(column, max_length=task.max_length)
                    for name, column in columns.items()
                },
                np.asarray(part.relatedness if task.graded else part.labels),
            )
            for columns, part in zip(texts, parts, strict=True)
        ]

    def _columns(self, part: Any) -> dict[str, Any]:
        if self.pairs:
            return {"tokens_a": part.sentences_a, "tokens_b": part.sentences_b}
        return {"tokens": part.texts}

    @functools.cached_property
    def vectors(self) -> np.ndarray:
        """The word vectors, `(vocabulary_size, dim)`."""
        if self.task.word2vec:
            return self.skip_gram(self.task.word2vec)
        return self._loaded[0]

    @property
    def vectors_from(self) -> str:
        """Where loaded word vectors are from."""
        return self._loaded[1]

    @functools.cached_property
    def _loaded(self) -> tuple[np.ndarray, str]:
        return word_vectors(self.tokenizer, self.options.vectors)

    def skip_gram(self, dim: int) -> np.ndarray:
        """Trains word vectors on the training texts, once."""
        if dim not in self._trained:
            texts = [line for column in self._columns(self.sources[0]).values() for line in column]
            self._trained[dim] = text.word2vec(texts, self.tokenizer, dim=dim, seed=self.seed)
        return self._trained[dim]

    def batches(self, part: int, seed: int | None = None) -> SequenceBatches:
        """Batches of one of the three parts; shuffled when there is a seed."""
        ids, targets = self.parts[part]
        if self.task.graded:
            targets = keras.ops.convert_to_numpy(ops.score_distribution(targets, 5))
        return SequenceBatches(
            ids if self.pairs else ids["tokens"],
            targets,
            self.task.batch_size,
            self.task.boundaries,
            shuffle=seed is not None,
            seed=seed or 0,
        )


def pair_of(
    classifier: keras.Model, num_classes: int, hidden_units: int, dropout: float = 0.3
) -> keras.Model:
    """Turns a classifier of texts into one of pairs: its encoder for both sentences, a new head.

    The encoder is all up to the layer "pooling"; its inputs are there twice, as "tokens_a" and
    "tokens_b". The head is `MPSANPair`'s.
    """
    encoder = keras.Model(
        classifier.inputs, classifier.get_layer("pooling").output, name="sentence_encoder"
    )
    sides = [
        [keras.Input(x.shape[1:], dtype=x.dtype, name=f"{x.name}_{side}") for x in encoder.inputs]
        for side in "ab"
    ]
    pair = [x for side in sides for x in side]
    sentences = keras.Model(
        pair, [encoder(side if len(side) > 1 else side[0]) for side in sides], name="sentences"
    )
    x = layers.PairMatching(name="matching")(sentences(pair))
    x = keras.layers.Dense(hidden_units, activation="elu", name="classifier_hidden")(x)
    x = keras.layers.Dropout(dropout, name="classifier_dropout")(x)
    outputs = keras.layers.Dense(num_classes, activation="softmax", name="classifier")(x)
    return keras.Model(pair, outputs, name=f"{classifier.name}_pair")


def keras_fit(model: keras.Model, train: Any, validation: Any, epochs: int, stop: BestEpoch) -> Any:
    """The loss of each epoch."""
    return model.fit(
        train,
        validation_data=validation,
        epochs=epochs,
        callbacks=[stop],
        verbose=0,
        shuffle=False,
    ).history["loss"]


def fit(
    build: Callable[[], keras.Model],
    data: Any,
    task: Task,
    seed: int,
    options: Options,
    loop: Callable[..., list[float]] = keras_fit,
) -> tuple[keras.Model, dict[str, Any], float]:
    """Trains one model with one seed.

    The data have `parts` and `batches`, as `Data` does; the task has the recipe; `loop` trains.

    Returns:
        The model at the selected epoch, what the training and the validation part tell of it, and
        what that epoch was selected by; the test part is not read.
    """
    max_epochs = 1 if options.quick else task.max_epochs
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    model = build()
    if task.graded:
        compile_model(model, task.recipe, "kl_divergence", ())
    else:
        compile_model(model, task.recipe)
    stop = BestEpoch(task.patience, "loss" if task.graded else "accuracy")
    start = time.perf_counter()
    losses = loop(model, data.batches(0, seed), data.batches(1), max_epochs, stop)
    seconds = time.perf_counter() - start
    epochs = len(losses)
    if not np.isfinite(losses).all():
        raise SystemExit(f"{model.name}, seed {seed}: the loss is not finite: {losses}")
    result = {
        "seed": seed,
        "backend": keras.config.backend(),
        **{f"validation_{name}": value for name, value in measure(model, data, 1, task)[0].items()},
        "best_epoch": stop.best_epoch + 1,
        "epochs": epochs,
        "stopped_by_the_epoch_limit": epochs == max_epochs,
        "seconds_per_epoch": round(seconds / epochs, 2),
    }
    return model, result, float(stop.best)


def run(
    build: Callable[[], keras.Model], data: Any, task: Task, seed: int, options: Options
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Trains one model with one seed and reads the test part once, at the selected epoch."""
    model, result, _ = fit(build, data, task, seed, options)
    tested, kept = measure(model, data, 2, task)
    result |= {f"test_{name}": value for name, value in tested.items()} | kept
    size = embedding_size(model)
    facts = {
        "parameters": model.count_params(),
        "parameters_without_embeddings": model.count_params() - size,
    }
    return result, facts


def measure(
    model: keras.Model, data: Any, part: int, task: Task
) -> tuple[dict[str, float], dict[str, str]]:
    """Measures the figures of a part, and keeps its answers, see `answers`."""
    batches = data.batches(part)
    outputs = batches.predict(model)
    targets = data.parts[part][1]
    if task.graded:
        predicted = keras.ops.convert_to_numpy(ops.expected_score(outputs))
    else:
        predicted = outputs.argmax(axis=1)
    return figures(task.measure, predicted, targets), answers(task.measure, predicted, targets)


def answers(measure: str, predicted: np.ndarray, targets: np.ndarray) -> dict[str, str]:
    """What paired intervals are drawn from: the grades, or which items were right."""
    if measure == "pearson":
        return {"grades": packed_numbers(predicted)}
    return {"correct": packed(predicted == targets)}


def figures(measure: str, predicted: np.ndarray, targets: np.ndarray) -> dict[str, float]:
    """Computes correlations and error of grades, or accuracy and F1 of classes."""
    if measure == "pearson":
        values = {
            "pearson": stats.pearsonr(predicted, targets).statistic,
            "spearman": stats.spearmanr(predicted, targets).statistic,
            "mse": np.mean((predicted - targets) ** 2),
        }
    else:
        values = {
            "accuracy": np.mean(predicted == targets),
            "macro_f1": f1_score(targets, predicted, average="macro"),
        }
    if measure == "f1":
        values["f1"] = f1_score(targets, predicted)
    return {name: round(float(value), 5) for name, value in values.items()}
