"""Generalized pooling's tables 1-4 on public sets: against plain pooling, penalties on and off.

The paper's own sets are SNLI, MultiNLI, Yelp and Age. They are not passed on here; whoever has them
gives their folder (`--data`), see `DATASETS`. SICK, SST-5 and IMDB stand in for them.
"""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from scipy import stats
from sklearn.metrics import f1_score

from benchmarks.reproduce.results import Results
from benchmarks.reproduce.training import BestEpoch, compile_model, embedding_size
from benchmarks.reproduce.vectors import word_vectors
from keras_attnpool import datasets, models, ops, regularizers, text

PATIENCE = 3
# Sizes for a CPU. The paper's are `--paper-sizes`.
SIZES = {"lstm_units": 100, "num_layers": 1, "attention_dim": 200, "hidden_units": 200}
PAPER_SIZES = {"lstm_units": 300, "num_layers": 1, "attention_dim": 300, "hidden_units": 300}
DROPOUT = {"embedding_dropout": 0.2, "dropout": 0.2}
PAPER_DROPOUT = {"embedding_dropout": 0.5, "dropout": 0.5}
# The paper chooses mu from 1 to 1e-4 on development data; lambda is 1.
MU = 0.1


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
        paper_sizes: What `--paper-sizes` changes beyond `PAPER_SIZES`.
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
    paper_sizes: dict[str, int] = dataclasses.field(default_factory=dict)


def _adam(rate: float, clip: float, batch_size: int = 32) -> dict[str, Any]:
    return {
        "optimizer": "adam",
        "learning_rate": rate,
        "clip_norm": clip,
        "weight_decay": 0.0,
        "batch_size": batch_size,
    }


def _sick(folder: str | None) -> tuple[Any, Any, Any]:
    return tuple(datasets.load("sick", split=split) for split in ("train", "dev", "test"))


def _sst5(folder: str | None) -> tuple[Any, Any, Any]:
    return tuple(datasets.load("sst5", split=split) for split in ("train", "dev", "test"))


def _imdb(folder: str | None) -> tuple[Any, Any, Any]:
    """2,000 reviews to train on and 500 to choose by, of the training part; all of the test part.

    The markup `<br />` between paragraphs is a space: glued to a full stop it would be a word.
    """
    whole, test = datasets.load("imdb", split="train"), datasets.load("imdb", split="test")
    clean = [
        dataclasses.replace(part, texts=[t.replace("<br />", " ") for t in part.texts])
        for part in (whole, test)
    ]
    _, part = clean[0].split(2500 / len(whole), seed=0)
    train, validation = part.split(500 / len(part), seed=0)
    return train, validation, clean[1]


def _nli(*names: str) -> Callable[[str | None], tuple[Any, Any, Any]]:
    def parts(folder: str | None) -> tuple[Any, Any, Any]:
        return tuple(datasets.load_nli(Path(_needed(folder)) / name) for name in names)

    return parts


def _texts(folder: str | None) -> tuple[Any, Any, Any]:
    where = Path(_needed(folder))
    train = datasets.load_tsv(where / "train.tsv")
    rest = (
        datasets.load_tsv(where / name, label_names=train.label_names)
        for name in ("dev.tsv", "test.tsv")
    )
    return (train, *rest)


def _needed(folder: str | None) -> str:
    if folder is None:
        raise SystemExit("This set is not passed on: name the folder that has it by --data FOLDER.")
    return folder


TASKS: dict[str, Task] = {
    "sick_entailment": Task(_sick, _adam(1e-3, 10.0), 32, (14, 32), 8, "1 (stand-in)"),
    "sick_relatedness": Task(
        _sick, _adam(1e-3, 10.0), 32, (14, 32), 8, "1 (stand-in)", graded=True
    ),
    "sst5": Task(_sst5, _adam(1e-3, 0.5), 56, (24, 56), 6, "3, Yelp (stand-in)"),
    "imdb": Task(_imdb, _adam(1e-3, 0.5), 128, (128,), 4, "3, Yelp (stand-in)"),
    "snli": Task(
        _nli("snli_1.0_train.jsonl", "snli_1.0_dev.jsonl", "snli_1.0_test.jsonl"),
        _adam(4e-4, 10.0, 128),
        80,
        (10, 16, 24, 80),
        20,
        "1 and 4, SNLI",
        {
            "max": 85.3,
            "mean": 85.0,
            "last": 84.9,
            "generalized": 86.4,
            "+ parameter matrices": 86.6,
            "+ attention": 86.2,
            "+ sentence vectors": 86.1,
        },
        paper_sizes={"lstm_units": 600, "attention_dim": 600, "hidden_units": 600, "num_layers": 3},
    ),
    "multinli": Task(
        _nli(
            "multinli_1.0_train.jsonl",
            "multinli_1.0_dev_matched.jsonl",
            "multinli_1.0_dev_mismatched.jsonl",
        ),
        _adam(4e-4, 10.0),
        80,
        (16, 32, 48, 80),
        20,
        "2 and 4, MultiNLI, cross-domain (its development part: the test labels are not public)",
        {
            "max": 73.0,
            "mean": 71.6,
            "last": 71.9,
            "generalized": 73.4,
            "+ parameter matrices": 74.0,
            "+ attention": 73.8,
            "+ sentence vectors": 73.6,
        },
        paper_sizes={"num_layers": 3},
    ),
    "yelp": Task(
        _texts,
        _adam(1e-3, 0.5),
        400,
        (64, 128, 256, 400),
        20,
        "3 and 4, Yelp",
        {
            "max": 65.0,
            "mean": 65.3,
            "last": 64.95,
            "self-attention": 64.21,
            "generalized": 65.25,
            "+ parameter matrices": 66.55,
            "+ attention": 66.15,
            "+ sentence vectors": 65.75,
        },
        train_embeddings=True,
    ),
    "age": Task(
        _texts,
        _adam(2e-3, 0.5),
        60,
        (16, 24, 32, 60),
        20,
        "3 and 4, Age",
        {
            "max": 82.3,
            "mean": 81.78,
            "last": 81.1,
            "self-attention": 80.45,
            "generalized": 82.18,
            "+ parameter matrices": 82.45,
            "+ attention": 82.63,
            "+ sentence vectors": 82.15,
        },
        train_embeddings=True,
    ),
}
DATASETS = tuple(TASKS)

# row: (pooling, arguments). Regularizers as (class, arguments).
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "generalized": ("generalized", {"num_heads": 5}),
    "max": ("max", {}),
    "mean": ("mean", {}),
    "last": ("last", {}),
    "scalar": ("generalized", {"num_heads": 5, "scalar": True}),
    "self-attention": ("self_attention", {"num_heads": 5}),
    "+ attention": (
        "generalized",
        {"num_heads": 5, "attention_regularizer": ("HeadDistance", {"factor": MU})},
    ),
    "+ sentence vectors": (
        "generalized",
        {"num_heads": 5, "embedding_regularizer": ("HeadDistance", {"factor": MU})},
    ),
    "+ parameter matrices": (
        "generalized",
        {"num_heads": 5, "kernel_regularizer": ("HeadDistance", {"factor": MU})},
    ),
    "+ parameter matrices, relative": (
        "generalized",
        {
            "num_heads": 5,
            "kernel_regularizer": (
                "HeadDistance",
                {"factor": MU, "threshold": 2.0, "normalize": True},
            ),
        },
    ),
}


def rows(dataset: str) -> dict[str, float | None]:
    """The rows of a data set's table with the paper's figure, as shares."""
    paper = TASKS[dataset].paper
    return {row: paper[row] / 100 if row in paper else None for row in ROWS}


class Data:
    """Ids, targets and word vectors of a task's three parts."""

    def __init__(self, dataset: str, folder: str | None, vectors: str | None, quick: bool) -> None:
        self.task = TASKS[dataset]
        parts = self.task.parts(folder)
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


def build(row: str, data: Data, sizes: dict[str, Any]) -> keras.Model:
    """The model of a row."""
    pooling, given = ROWS[row]
    arguments = {
        name: getattr(regularizers, value[0])(**value[1]) if isinstance(value, tuple) else value
        for name, value in given.items()
    }
    arguments |= {
        **sizes,
        "embeddings": data.vectors,
        "trainable_embeddings": data.task.train_embeddings,
    }
    size, classes = data.tokenizer.vocabulary_size, data.num_classes
    if data.pairs:
        return models.GeneralizedPoolingPair(size, classes, pooling=pooling, **arguments)
    if pooling == "generalized":
        return models.GeneralizedPoolingClassifier(size, classes, **arguments)
    return models.BiLSTM(size, classes, pooling=pooling, **arguments)


def run(
    row: str, data: Data, seed: int, max_epochs: int, sizes: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Trains one model with one seed and reads the test part once, at the selected epoch."""
    task = data.task
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    model = build(row, data, sizes)
    if task.graded:
        compile_model(model, task.recipe, "kl_divergence", ())
    else:
        compile_model(model, task.recipe)
    stop = BestEpoch(PATIENCE, "loss" if task.graded else "accuracy")
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
    result = {
        "seed": seed,
        "backend": keras.config.backend(),
        **{f"test_{name}": value for name, value in measure(model, data, 2).items()},
        **{f"validation_{name}": value for name, value in measure(model, data, 1).items()},
        "best_epoch": stop.best_epoch + 1,
        "epochs": epochs,
        "stopped_by_the_epoch_limit": epochs == max_epochs,
        "seconds_per_epoch": round(seconds / epochs, 2),
    }
    size = embedding_size(model)
    facts = {
        "parameters": model.count_params(),
        "parameters_without_embeddings": model.count_params() - size,
    }
    return result, facts


def measure(model: keras.Model, data: Data, part: int) -> dict[str, float]:
    """Accuracy and macro-F1, or correlation and error of a graded relatedness."""
    batches = data.batches(part)
    found = batches.restore(model.predict(batches, verbose=0))
    targets = data.parts[part][1]
    if data.task.graded:
        scores = keras.ops.convert_to_numpy(ops.expected_score(found))
        values = {
            "pearson": stats.pearsonr(scores, targets).statistic,
            "spearman": stats.spearmanr(scores, targets).statistic,
            "mse": np.mean((scores - targets) ** 2),
        }
    else:
        values = {
            "accuracy": np.mean(found.argmax(axis=1) == targets),
            "macro_f1": f1_score(targets, found.argmax(axis=1), average="macro"),
        }
    return {name: round(float(value), 5) for name, value in values.items()}


def reproduce(
    results: Results,
    dataset: str,
    chosen: list[str],
    seeds: list[int],
    *,
    quick: bool = False,
    folder: str | None = None,
    vectors: str | None = None,
    paper_sizes: bool = False,
) -> None:
    """Runs what is missing."""
    task = TASKS[dataset]
    sizes = {**SIZES, **DROPOUT}
    if paper_sizes:
        sizes = {**PAPER_SIZES, **task.paper_sizes, **PAPER_DROPOUT}
    configs = {
        row: {
            "model": ROWS[row][0],
            "arguments": ROWS[row][1],
            "sizes": sizes,
            "vectors": vectors and Path(vectors).name,
            **task.recipe,
        }
        for row in chosen
    }
    # Seed by seed, so that an interrupted reproduction has every row.
    missing = [
        (row, seed)
        for seed in seeds
        for row in chosen
        if seed not in results.done(row, configs[row])
    ]
    print(f"{len(missing)} of {len(chosen) * len(seeds)} runs to do", flush=True)
    if not missing:
        return
    data = Data(dataset, folder, vectors, quick)
    results.header["test_examples"] = len(data.parts[2][1])
    max_epochs = 1 if quick else task.max_epochs
    for number, (row, seed) in enumerate(missing, start=1):
        result, facts = run(row, data, seed, max_epochs, sizes)
        facts |= {"paper": rows(dataset)[row], "word_vectors": data.vectors_from}
        results.add(row, configs[row], facts, result)
        print(f"[{number}/{len(missing)}] {row}, seed {seed}: {result}", flush=True)


# What the paper says of the order of its rows, and by how much on the set that is stood in for:
# SNLI for pairs, Yelp for texts, both without a penalty where the row has none (tables 1, 3, 4).
CLAIMS = (
    ("generalized", "max", "vectors of attention beat max pooling", 0.011, 0.0025),
    ("generalized", "mean", "... mean pooling", 0.014, -0.0005),
    ("generalized", "last", "... the last state", 0.015, 0.003),
    ("generalized", "self-attention", "... structured self-attention", None, 0.0104),
    ("generalized", "scalar", "vectors beat scalars (figure 1)", None, None),
    ("+ attention", "generalized", "the penalty on attention helps", -0.002, 0.009),
    ("+ sentence vectors", "generalized", "the penalty on the heads' vectors helps", -0.003, 0.005),
    ("+ parameter matrices", "generalized", "the penalty on W_1 helps", 0.002, 0.013),
    (
        "+ parameter matrices, relative",
        "generalized",
        "our relative penalty on W_1 helps",
        *2 * (None,),
    ),
)


def header(dataset: str) -> dict[str, Any]:
    """What stands at the head of a data set's results file."""
    task = TASKS[dataset]
    stand_in = {"1 (stand-in)": 3, "3, Yelp (stand-in)": 4}.get(task.table)
    return {
        "paper": "Generalized Pooling",
        "table": task.table,
        "dataset": dataset,
        "measure": "pearson" if task.graded else "accuracy",
        # On the paper's own sets the distance follows from its figures of the two rows.
        "claims": [(*claim[:3], None if stand_in is None else claim[stand_in]) for claim in CLAIMS],
        "protocol": {
            "selection": "epoch with the lowest validation loss"
            if task.graded
            else "epoch with the best validation accuracy, ties by loss; test read once",
            "patience": PATIENCE,
            "max_epochs": task.max_epochs,
            "batch_size": task.recipe["batch_size"],
            "max_length": task.max_length,
            "length_boundaries": task.boundaries,
            "word_vectors": "fine-tuned" if task.train_embeddings else "frozen",
            "penalty_weight": f"{MU}, not tuned (the paper chooses from 1 to 1e-4)",
        },
    }
