"""Reads and writes the files of a run folder. Each file is written whole or not at all."""

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import keras

# A saved model may have any layer and regularizer, so all are registered before loading.
from keras_attnpool import layers as layers
from keras_attnpool import models as models
from keras_attnpool import regularizers as regularizers
from keras_attnpool.workbench._files import whole_file
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.reporting import reported

CONFIG = "config.json"
VOCABULARY = "vocabulary.json"
MODEL = "model.keras"
METRICS = "metrics.json"
TFIDF = "tfidf.npz"
REPORT = "report.html"
EXPLAINED = "explained.html"
RESUME = "resume"  # files that an unfinished run needs to resume
LOCK = ".lock"
FORMAT = "keras_attnpool.run"


@contextmanager
def owned(run: Path) -> Iterator[None]:
    """Locks a run folder against other `train` processes. Creates a missing folder.

    The lock is SQLite's lock, which the operating system holds on Linux, macOS and Windows. The
    lock ends with the process, even after a crash. A created folder that stays empty is removed.

    Raises:
        CommandError: If another process has locked the folder, or if `run` is a file.
    """
    if run.exists() and not run.is_dir():
        raise CommandError(f"{run} is a file, where a run folder is to be")
    path, is_new = run / LOCK, not run.exists()
    with reported("--out"):
        run.mkdir(parents=True, exist_ok=True)
    lock = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        lock.execute("PRAGMA journal_mode=MEMORY")  # so SQLite makes no second file
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        lock.close()
        raise CommandError(
            f"{run} belongs to another `train`, which is running ({error}): wait for it, or choose "
            "another --out"
        ) from error
    try:
        yield
    finally:
        lock.close()
        with suppress(PermissionError):  # Windows cannot remove a file that another process opened
            path.unlink(missing_ok=True)
        if is_new and not any(run.iterdir()):
            run.rmdir()


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


def load_model(path: Path) -> keras.Model:
    """Reads a model for prediction, without the state of the training.

    Raises:
        CommandError: If the file is damaged, or if it contains code, which Keras refuses to run.
    """
    with readable(path):
        return keras.saving.load_model(path, compile=False)


@contextmanager
def readable(path: Path, otherwise: str = "") -> Iterator[None]:
    """Turns any error from reading zip, JSON or HDF5 into a `CommandError`."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise CommandError(
            f"{path} cannot be loaded ({type(error).__name__}: {reason}){otherwise}"
        ) from error


def remove_run(run: Path) -> None:
    """Removes the files of a run, except for the configuration and files of the user.

    The configuration marks a folder as a run. So an interrupted removal can be repeated.
    """
    remove_resume(run)
    for name in (MODEL, METRICS, VOCABULARY, TFIDF, REPORT, EXPLAINED):
        (run / name).unlink(missing_ok=True)


def remove_leftovers(run: Path) -> None:
    """Removes the temporary files of killed `train` processes. Running processes keep theirs."""
    leftover = re.compile(rf"\.\d+\.(.+\.(json|h5|keras|npz)|{re.escape(REPORT)})")
    for folder in (run, run / RESUME):
        if folder.is_dir() and not folder.is_symlink():
            for path in folder.iterdir():
                if leftover.fullmatch(path.name):
                    path.unlink(missing_ok=True)


def remove_resume(run: Path) -> None:
    """Removes the files that only an unfinished run needs."""
    folder, old = run / RESUME, run / f".{RESUME}"
    shutil.rmtree(old, ignore_errors=True)
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        # A single rename removes all files, so an interrupted removal leaves no run to resume.
        os.replace(folder, old)
        shutil.rmtree(old, ignore_errors=True)
