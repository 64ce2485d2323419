"""Every option of the commands: its default, what it may be, what it may stand beside.

Nothing heavy is imported here: help and refusals need no Keras.
"""

import math
import reprlib
from pathlib import Path
from typing import Any

from keras_attnpool.cli.errors import CommandError

MODELS = ("lama", "lama-encoder", "san", "bigru", "text-cnn", "transformer", "average")
DATASETS = ("r8", "trec", "sst5", "sst2", "subj", "sick", "imdb", "humor", "controversy")
CONTEXTS = ("embeddings", "mean", "learned")
PENALTIES = ("none", "attention", "embedding")
METHODS = ("attention", "saliency")  # of `explain`
REVIEW_EPOCHS, EPOCHS = 8, 30

# Every option that a run is made by; None leaves the choice to the model or the loader.
DEFAULTS: dict[str, Any] = {
    "model": "lama",
    "baseline": True,
    "report": True,
    "file": None,
    "test": None,
    "text_column": None,
    "label_column": None,
    "header": None,
    "encoding": None,
    "dataset": None,
    "train_size": 8000,
    "test_size": 1000,
    "min_frequency": 2,
    "max_length": 256,
    "epochs": None,
    "patience": 3,
    "batch_size": 64,
    "learning_rate": None,
    "seed": 0,
    "heads": None,
    "rank": None,
    "context": None,
    "learn_scale": None,
    "penalty": "none",
    "penalty_factor": 0.2,
    "embeddings": "random",
    "embedding_dim": None,
    "hidden_units": None,
    "dropout": None,
}

CHOICES = {"model": MODELS, "context": CONTEXTS, "penalty": PENALTIES}
FROM_ZERO = ("seed", "hidden_units")
FILE_OPTIONS = ("test", "text_column", "label_column", "header", "encoding")


def check_config(path: Path, config: dict[str, Any]) -> None:
    """Refuses what `train` cannot have written: a run folder may come from anywhere."""
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


def check_resumed(given: dict[str, Any], options: dict[str, Any]) -> None:
    """Refuses other options than those of the run."""
    for name, value in given.items():
        if value != options[name]:
            raise CommandError(
                f"--resume goes on with the options of the run, where {flag(name)} is "
                f"{options[name]!r}. Received: {value!r}"
            )


def check(given: dict[str, Any], options: dict[str, Any]) -> None:
    """Refuses options that would have no effect, whatever the model."""
    if options["file"] and options["dataset"]:
        raise CommandError("FILE and --dataset exclude each other")
    for name in FILE_OPTIONS:
        if name in given and not options["file"]:
            raise CommandError(f"{flag(name)} needs a FILE")
    for name in ("train_size", "test_size"):
        if name in given and (options["file"] or options["dataset"]):
            raise CommandError(f"{flag(name)} is for the generated reviews only")
    if "penalty_factor" in given and options["penalty"] == "none":
        raise CommandError("--penalty-factor needs a --penalty")
    if "embedding_dim" in given and options["embeddings"] not in ("random", "word2vec"):
        raise CommandError("--embedding-dim is decided by the file that --embeddings names")


def flag(name: str) -> str:
    """How an option is typed."""
    return "FILE" if name == "file" else f"--{name.replace('_', '-')}"


def _is_possible(name: str, value: Any) -> bool:
    if value is None:
        return DEFAULTS[name] is None
    if name in CHOICES:
        return isinstance(value, str) and value in CHOICES[name]
    if name in ("baseline", "report", "header", "learn_scale"):
        return isinstance(value, bool)
    if name in ("penalty_factor", "learning_rate", "dropout"):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and (0 <= value < 1 if name == "dropout" else 0 < value < math.inf)
    if isinstance(DEFAULTS[name], int) or name in (
        "epochs",
        "heads",
        "rank",
        "embedding_dim",
        *FROM_ZERO,
    ):
        return type(value) is int and (name not in FROM_ZERO) <= value < 2**31
    is_column = name in ("text_column", "label_column") and type(value) is int and value >= 0
    return isinstance(value, str) or is_column
