"""The results file: one JSON a table, a run added at a time, safe to interrupt and to share."""

import base64
import contextlib
import functools
import json
import os
import platform
import re
import subprocess
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import keras
import numpy as np

BENCHMARKS = Path(__file__).resolve().parents[1]
PACKAGES = ("keras", "numpy", "jax", "torch", "tensorflow", "gensim", "tokenizers", "keras-hub")


class Results:
    """Rows of runs in a JSON file.

    Every update reads, changes and replaces the file under a lock, so that several processes may
    work on different rows of one table. A run that is there is never measured again; a row whose
    configuration changed is an error, so that nothing is overwritten silently.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = path
        self.header = header

    def describe(self, facts: dict[str, Any]) -> None:
        """Renews what the file says of its data and protocol, should it be older."""
        self.header |= facts
        with self._locked():
            if self.path.exists():
                write(self.path, {**self._read(), **self.header})

    def done(self, row: str, config: dict[str, Any]) -> set[int]:
        """Seeds of the row that were run with this configuration."""
        entry = self._read()["rows"].get(row)
        if entry is None:
            return set()
        if entry["config"] != json.loads(json.dumps(config)):
            raise SystemExit(
                f"{self.path}: row {row!r} was measured with another configuration. Remove the row "
                f"from the file to measure it anew.\n  there: {entry['config']}\n  now:   {config}"
            )
        return {run["seed"] for run in entry["runs"]}

    def seeds(self, row: str) -> set[int]:
        """Seeds of the row that were run, with whatever configuration."""
        entry = self._read()["rows"].get(row)
        return {run["seed"] for run in entry["runs"]} if entry else set()

    def mean(self, row: str) -> float | None:
        """Gives the mean over the row's runs of what the file measures, as a share."""
        entry = self._read()["rows"].get(row)
        return entry and float(entry["summary"][f"test_{self.header['measure']}"]["mean"])

    @contextlib.contextmanager
    def claimed(self, row: str, seed: int) -> Iterator[bool]:
        """Whether a run is this process's: False where another, still alive, is at it.

        The claim is a file beside the results. One that a killed process left is taken over.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "_", row)
        claim = self.path.with_name(f".{self.path.stem}.{name}.{seed}.running")
        with self._locked():
            try:
                mine = not _alive(int(claim.read_text()))
            except (FileNotFoundError, ValueError):
                mine = True
            if mine:
                claim.write_text(str(os.getpid()))
        try:
            yield mine
        finally:
            if mine:
                claim.unlink(missing_ok=True)

    def add(self, row: str, config: dict[str, Any], facts: dict[str, Any], run: dict) -> None:
        """Adds one run to a row and renews the row's summary."""
        with self._locked():
            data = self._read()
            here = versions()
            others = here.items() - {**data["versions"], "backend": here["backend"]}.items()
            if others:
                run = {**run, "versions": dict(sorted(others))}
            run = {**run, "commit": commit()}
            entry = data["rows"].setdefault(row, {"config": config, **facts, "runs": []})
            entry["runs"] = sorted([*entry["runs"], run], key=lambda r: r["seed"])
            # Of runs of an older version fewer metrics may be known.
            entry["summary"] = {
                metric: _summary([r[metric] for r in entry["runs"]])
                for metric in run
                if metric.startswith(("test_", "validation_"))
                and all(metric in r for r in entry["runs"])
            }
            write(self.path, data)

    def note(self, name: str, value: Any) -> None:
        """Sets an entry of the file beside its rows."""
        with self._locked():
            write(self.path, {**self._read(), name: value})

    def _read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {**self.header, "versions": versions(), "rows": {}}
        return dict(json.loads(self.path.read_text()))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = self.path.with_suffix(".lock")
        for _ in range(600):
            try:
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
                break
            except FileExistsError:
                time.sleep(0.1)
        else:
            raise SystemExit(f"{lock} stayed for a minute: remove it if no other run is at work.")
        try:
            yield
        finally:
            lock.unlink()


def write(path: Path, data: dict[str, Any]) -> None:
    """Replaces a file by one that is whole."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    os.replace(temporary, path)


@functools.cache
def versions() -> dict[str, str]:
    """The backend and the versions of what a result depends on."""
    installed = {"backend": keras.config.backend(), "python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version(name)
    return installed


@functools.cache
def commit() -> str:
    """The commit that is run; a + says that its code was changed since."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=BENCHMARKS, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = git("status", "--porcelain", "--", "../keras_attnpool", "*/*.py")
    return git("rev-parse", "--short=12", "HEAD") + "+" * bool(changed)


def packed(flags: Any) -> str:
    """Which test items were right, a bit for each, as text: what paired tests compare."""
    return base64.b64encode(np.packbits(np.asarray(flags, bool)).tobytes()).decode("ascii")


def unpacked(text: str, count: int) -> np.ndarray:
    """The flags of `packed`."""
    return np.unpackbits(np.frombuffer(base64.b64decode(text), np.uint8))[:count].astype(bool)


def packed_numbers(numbers: Any) -> str:
    """Numbers as text, to three digits: what intervals over test items are drawn from."""
    return base64.b64encode(np.asarray(numbers, "<f2").tobytes()).decode("ascii")


def _alive(process: int) -> bool:
    """Whether a process of this machine is still there."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _summary(values: list[float]) -> dict[str, float]:
    array = np.asarray(values)
    spread = array.std(ddof=1) if len(array) > 1 else 0.0
    numbers = {"mean": array.mean(), "std": spread, "min": array.min(), "max": array.max()}
    return {key: round(float(value), 5) for key, value in numbers.items()}
