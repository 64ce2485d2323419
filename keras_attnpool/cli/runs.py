"""The run folder: what lies in it, written whole or not at all."""

import json
import os
import reprlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_attnpool import text
from keras_attnpool.cli.errors import CommandError, reported

CONFIG = "config.json"
VOCABULARY = "vocabulary.json"
MODEL = "model.keras"
METRICS = "metrics.json"
REPORT = "report.html"
PICTURES = ("accuracy.png", "loss.png", "heads.png")  # of the report
EXPLAINED = "explained.html"
RESUME = "resume"  # what an unfinished run needs to go on
FORMAT = "keras_attnpool.run"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Gives a temporary path to write to; it becomes `path` when all went well."""
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Writes readable JSON."""
    with whole_file(path) as temporary:
        lines = json.dumps(content, indent=2, ensure_ascii=False)
        temporary.write_text(lines + "\n", encoding="utf-8", newline="\n")


def read_config(run: Path) -> dict[str, Any]:
    """The configuration of a run.

    Raises:
        CommandError: If there is no such run.
    """
    path = run / CONFIG
    if not run.exists():
        raise CommandError(f"{run}: there is no such run folder")
    if not path.is_file():
        raise CommandError(f"{run} is not a run folder: there is no {CONFIG} in it")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path} is damaged: {error}") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise CommandError(f"{path} was not written by `train`")
    if not isinstance(config.get("options", {}), dict):
        raise CommandError(f"{path} is damaged: its options are no JSON object")
    return config


class Trained(NamedTuple):
    """What a run has learned."""

    config: dict[str, Any]
    tokenizer: text.WordTokenizer
    model: keras.Model


def load(run: Path) -> Trained:
    """Reads a run that at least one epoch of training was finished of.

    Raises:
        CommandError: If there is no such run, or a file of it is damaged.
    """
    config = read_config(run)
    if not (run / MODEL).is_file():
        raise CommandError(f"{run} has no {MODEL} yet: no epoch of its training was finished")
    with reported():
        tokenizer = text.WordTokenizer.load(run / VOCABULARY)
    length, names = config.get("options", {}).get("max_length"), config.get("label_names")
    if type(length) is not int or not 1 <= length < 2**31:
        raise CommandError(f"{run / CONFIG} is damaged: max_length is {reprlib.repr(length)}")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CommandError(f"{run / CONFIG} is damaged: label_names is {reprlib.repr(names)}")
    model = load_model(run / MODEL)
    shapes = getattr(model, "input_shape", None), getattr(model, "output_shape", None)
    if shapes != ((None, None), (None, len(names))):
        raise CommandError(
            f"{run / MODEL} does not belong to {run / CONFIG}: it should read word ids and return "
            f"{len(names)} probabilities. Received: a model with the shapes {shapes}"
        )
    rows = [getattr(each, "input_dim", 0) for each in model.layers if each.name == "embedding"]
    if rows != [tokenizer.vocabulary_size]:
        raise CommandError(
            f"{run / MODEL} does not belong to {run / VOCABULARY}: it should have embeddings of "
            f"{tokenizer.vocabulary_size} words. Received: {rows}"
        )
    return Trained(config, tokenizer, model)


def load_model(path: Path) -> keras.Model:
    """Reads a model, for the forward pass alone: what it was compiled for does not matter.

    Raises:
        CommandError: If the file is damaged, or holds code, which Keras does not run.
    """
    try:
        return keras.saving.load_model(path, compile=False)
    except Exception as error:  # whatever Keras's readers of zip, JSON and HDF5 make of a file
        reason = " ".join(str(error).split())[:300]
        raise CommandError(f"{path} cannot be loaded ({type(error).__name__}: {reason})") from error


def remove_run(run: Path) -> None:
    """Removes what is written about a model, and the model; other files of the folder stay.

    So does the configuration, by which a folder is known as a run, whenever this is interrupted.
    """
    remove_resume(run)
    for name in (MODEL, METRICS, VOCABULARY, REPORT, *PICTURES, EXPLAINED):
        (run / name).unlink(missing_ok=True)


def remove_resume(run: Path) -> None:
    """Removes what only an unfinished run needs."""
    folder, leaving = run / RESUME, run / f".{RESUME}"
    shutil.rmtree(leaving, ignore_errors=True)
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        # At once: what is left of a folder half removed must not look like a run to go on with.
        os.replace(folder, leaving)
        shutil.rmtree(leaving, ignore_errors=True)


class Checkpoint:
    """How far the training of one network has come, kept on disk epoch by epoch.

    What early stopping has to know all follows from the history.

    Args:
        run: The run folder.
        name: Name of the network.
        best: Where the model of the best epoch is kept.
        resume: Whether to go on from what is on disk.
    """

    def __init__(self, run: Path, name: str, best: Path, resume: bool) -> None:
        self.best = best
        self.history: dict[str, list[float]] = {}
        self._folder = run / RESUME
        self._path = self._folder / f"{name}.json"
        if resume and self._path.is_file():
            self.history = _read_history(self._path)

    @property
    def epochs(self) -> int:
        """Number of finished epochs."""
        return len(self.history.get("loss", ()))

    @property
    def best_epoch(self) -> int:
        """The epoch (from 1) of the best validation accuracy; of equal ones the lowest loss."""
        return _best_epoch(self.history)

    @property
    def epochs_since_best(self) -> int:
        """Number of epochs after the best one."""
        return self.epochs - self.best_epoch

    def summary(self) -> dict[str, Any]:
        """What the metrics say of the training."""
        return {
            "epochs": self.epochs,
            "best_epoch": self.best_epoch,
            "seconds": round(sum(self.history["seconds"]), 2),
            "history": self.history,
        }

    def add(self, model: keras.Model, logs: dict[str, float]) -> None:
        """Keeps a finished epoch: the model if it is the best so far, and what it takes to go on.

        Args:
            model: The compiled model.
            logs: Losses, accuracies and seconds of the epoch.
        """
        history = {
            name: [*self.history.get(name, ()), float(value)] for name, value in logs.items()
        }
        epoch = self.epochs + 1
        self._folder.mkdir(exist_ok=True)
        if _best_epoch(history) == epoch:
            with whole_file(self.best) as temporary:
                model.save(temporary)
        with whole_file(self._weights(epoch)) as temporary:
            model.save_weights(temporary)
        # Only now does the epoch count, and only then can the weights before it go.
        write_json(self._path, history)
        self.history = history
        self._weights(epoch - 1).unlink(missing_ok=True)

    def restore(self, model: keras.Model) -> None:
        """Puts weights and optimizer state of the last finished epoch into a compiled model.

        Dropout's random numbers are not part of it: they start anew.
        """
        path = self._weights(self.epochs)
        model.optimizer.build(model.trainable_variables)
        try:
            model.load_weights(path)
        except Exception as error:  # as in `load_model`
            reason = " ".join(str(error).split())[:300]
            raise CommandError(
                f"{path} cannot be loaded ({type(error).__name__}: {reason}): the run cannot be "
                "resumed; --overwrite starts it anew"
            ) from error

    def _weights(self, epoch: int) -> Path:
        return self._path.with_name(f"{self._path.stem}-{epoch}.weights.h5")


def _read_history(path: Path) -> dict[str, list[float]]:
    """What `Checkpoint.add` wrote.

    Raises:
        CommandError: If it is something else.
    """
    try:
        history = json.loads(path.read_text(encoding="utf-8"))
        columns = {name: [float(value) for value in history[name]] for name in history}
        if len({len(column) for column in columns.values()}) != 1 or not {
            "loss",
            "val_loss",
            "val_accuracy",
            "seconds",
        } <= set(columns):
            raise ValueError("expects losses, accuracies and seconds of every epoch")
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise CommandError(
            f"{path} is damaged ({error}): the run cannot be resumed; --overwrite starts it anew"
        ) from error
    return columns


def _best_epoch(history: dict[str, list[float]]) -> int:
    scores = zip(history["val_accuracy"], history["val_loss"], strict=True)
    ranked = [(accuracy, -loss) for accuracy, loss in scores]
    return 1 + ranked.index(max(ranked))
