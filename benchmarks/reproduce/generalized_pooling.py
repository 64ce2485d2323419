"""Generalized pooling's tables 1-4 on public sets: against plain pooling, penalties on and off.

The paper's own sets are SNLI, MultiNLI, Yelp and Age. They are not passed on here; whoever has them
gives their folder (`--data`), see `DATASETS`. SICK, SST-5 and IMDB stand in for them.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from benchmarks.reproduce import floors, tasks
from benchmarks.reproduce.paper import Paper, told
from benchmarks.reproduce.tasks import Data, Options, Parts, Task, adam, official
from keras_attnpool import models, regularizers
from keras_attnpool.workbench import datasets

# Sizes for a CPU. The paper's are those of `--full`.
SIZES = {"lstm_units": 100, "num_layers": 1, "hidden_dim": 200, "hidden_units": 200}
PAPER_SIZES = {"lstm_units": 300, "num_layers": 1, "hidden_dim": 300, "hidden_units": 300}
DROPOUT = {"embedding_dropout": 0.2, "dropout": 0.2}
PAPER_DROPOUT = {"embedding_dropout": 0.5, "dropout": 0.5}
# The paper chooses mu from 1 to 1e-4 on development data; lambda is 1.
MU = 0.1


def _imdb(folder: str) -> Parts:
    """2,000 reviews to train on, 500 to choose the epoch by, and all of the test part."""
    whole, test = (
        tasks.without_breaks(datasets.load("imdb", split=split)) for split in ("train", "test")
    )
    _, part = whole.split(2500 / len(whole), seed=0)
    return *part.split(500 / len(part), seed=0), test


def _nli(*names: str) -> Callable[[str], Parts]:
    return lambda folder: tuple(datasets.load_nli(Path(folder) / name) for name in names)


def _texts(folder: str) -> Parts:
    train = datasets.load_tsv(Path(folder) / "train.tsv")
    rest = (
        datasets.load_tsv(Path(folder) / name, label_names=train.label_names)
        for name in ("dev.tsv", "test.tsv")
    )
    return train, *rest


NLI_FILES = "the set's three .jsonl files in the folder that `--data` names"
TEXT_FILES = "train.tsv, dev.tsv and test.tsv in the folder that `--data` names"
TOLD = told("generalized_pooling")
SST5 = Task(official("sst5"), adam(1e-3, 0.5), 56, (24, 56), 6, "3, Yelp (stand-in)", column="yelp")
TASKS: dict[str, Task] = {
    "sick_entailment": Task(
        official("sick"), adam(1e-3, 10.0), 32, (14, 32), 8, "1 (stand-in)", column="snli"
    ),
    "sick_relatedness": Task(
        official("sick"), adam(1e-3, 10.0), 32, (14, 32), 8, "1 (stand-in)", graded=True
    ),
    "sst5_phrases": dataclasses.replace(
        SST5, parts=tasks.sst5_phrases, boundaries=tasks.PHRASE_LENGTHS
    ),
    "sst5": SST5,
    "imdb": Task(_imdb, adam(1e-3, 0.5), 128, (128,), 4, "3, Yelp (stand-in)", column="yelp"),
    "snli": Task(
        _nli("snli_1.0_train.jsonl", "snli_1.0_dev.jsonl", "snli_1.0_test.jsonl"),
        adam(4e-4, 10.0, 128),
        80,
        (10, 16, 24, 80),
        20,
        "1 and 4, SNLI",
        TOLD["figures"]["snli"],
        needs=NLI_FILES,
        paper_sizes={"lstm_units": 600, "hidden_dim": 600, "hidden_units": 600, "num_layers": 3},
    ),
    "multinli": Task(
        _nli(
            "multinli_1.0_train.jsonl",
            "multinli_1.0_dev_matched.jsonl",
            "multinli_1.0_dev_mismatched.jsonl",
        ),
        adam(4e-4, 10.0),
        80,
        (16, 32, 48, 80),
        20,
        # Its development part: the test labels are not public.
        "2 and 4, MultiNLI, cross-domain",
        TOLD["figures"]["multinli"],
        needs=NLI_FILES,
        paper_sizes={"num_layers": 3},
    ),
    "yelp": Task(
        _texts,
        adam(1e-3, 0.5),
        400,
        (64, 128, 256, 400),
        20,
        "3 and 4, Yelp",
        TOLD["figures"]["yelp"],
        needs=TEXT_FILES,
        train_embeddings=True,
    ),
    "age": Task(
        _texts,
        adam(2e-3, 0.5),
        60,
        (16, 24, 32, 60),
        20,
        "3 and 4, Age",
        TOLD["figures"]["age"],
        needs=TEXT_FILES,
        train_embeddings=True,
    ),
}

# row: (pooling, arguments). Regularizers as (class, arguments).
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "generalized": ("generalized", {"num_heads": 5}),
    "max": ("max", {}),
    "mean": ("mean", {}),
    "last": ("last", {}),
    "scalar": ("generalized", {"num_heads": 5, "per_feature": False}),
    "self-attention": ("self_attention", {"num_heads": 5}),
    "+ attention": (
        "generalized",
        {"num_heads": 5, "attention_regularizer": ("HeadDistance", {"factor": MU})},
    ),
    "+ sentence vectors": (
        "generalized",
        {"num_heads": 5, "vector_regularizer": ("HeadDistance", {"factor": MU})},
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

# Figure 1: vectors and scalars by the number of heads, on the set of its pairs. ROWS have 5 heads.
HEAD_ROWS = {
    f"{kind}, {heads} head{'s' * (heads > 1)}": (
        ROWS[kind][0],
        {**ROWS[kind][1], "num_heads": heads},
    )
    for kind in ("generalized", "scalar")
    for heads in (1, 3, 7, 9)
}

# A floor below the encoders: the mean of the word vectors.
WORDS = "mean of words"
BUILT: dict[str, tuple[str, dict[str, Any]]] = {
    WORDS: ("AverageEmbedding", {}),
    **ROWS,
    **HEAD_ROWS,
}

# What the paper says of the order of its rows, without a penalty where the row has none, and what
# we ask beside it.
NINE = ("generalized, 9 heads", "scalar, 7 heads")


class _GeneralizedPooling(Paper):
    name, title = "generalized_pooling", "Generalized Pooling"
    tasks = TASKS
    claims = TOLD["claims"]
    idle = TOLD["idle"]

    def names(self, dataset: str) -> tuple[str, ...]:
        heads = HEAD_ROWS if dataset in ("sick_entailment", "snli") else ()
        return (*floors.ROWS, WORDS, *ROWS, *heads)

    def config(self, dataset: str, row: str, options: Options) -> dict[str, Any]:
        model, arguments = BUILT[row]
        return {
            "model": model,
            "arguments": arguments,
            "sizes": _sizes(dataset, options),
            "vectors": options.vectors and Path(options.vectors).name,
            **TASKS[dataset].recipe,
        }

    def build(self, dataset: str, row: str, data: Data, options: Options) -> keras.Model:
        sizes = _sizes(dataset, options)
        words: dict[str, Any] = {
            "vocabulary_size": data.tokenizer.vocabulary_size,
            "num_classes": data.num_classes,
            "embeddings": data.vectors,
            "trainable_embeddings": data.task.train_embeddings,
        }
        if row == WORDS:
            hidden = sizes["hidden_units"]
            model = models.AverageEmbedding(hidden_units=hidden, dropout=sizes["dropout"], **words)
            return tasks.pair_of(model, data.num_classes, hidden) if data.pairs else model
        pooling, given = BUILT[row]
        arguments = (
            words
            | sizes
            | {
                name: getattr(regularizers, value[0])(**value[1])
                if isinstance(value, tuple)
                else value
                for name, value in given.items()
            }
        )
        if data.pairs:
            return models.GeneralizedPoolingPair(pooling=pooling, **arguments)
        if pooling == "generalized":
            return models.GeneralizedPoolingClassifier(**arguments)
        return models.BiLSTM(pooling=pooling, **arguments)

    def run(
        self, dataset: str, row: str, data: Data, seed: int, options: Options
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        result, facts = super().run(dataset, row, data, seed, options)
        return result, {**facts, "word_vectors": data.vectors_from}

    def distance(self, dataset: str, better: str, worse: str) -> float | None:
        # Figure 1 is drawn on the development part of SNLI.
        if self.column(dataset) == "snli" and (better, worse) == NINE:
            return 0.004
        return super().distance(dataset, better, worse)

    def protocol(self, dataset: str) -> dict[str, Any]:
        task = TASKS[dataset]
        return {
            **super().protocol(dataset),
            "length_boundaries": task.boundaries,
            "word_vectors": "fine-tuned" if task.train_embeddings else "frozen",
            "penalty_weight": f"{MU}, not tuned (the paper chooses from 1 to 1e-4)",
        }


def _sizes(dataset: str, options: Options) -> dict[str, Any]:
    if options.full:
        return {**PAPER_SIZES, **TASKS[dataset].paper_sizes, **PAPER_DROPOUT}
    return {**SIZES, **DROPOUT}


PAPER = _GeneralizedPooling()
