"""Runs a row of the comparison: tunes it, trains it, tests it once, and keeps one line of it."""

import csv
import dataclasses
import functools
import hashlib
import json
import re
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
from sklearn.dummy import DummyClassifier

from benchmarks.arena import grid, traced, verdict
from benchmarks.arena.data import Frozen, Words, data_of
from benchmarks.arena.grid import Run
from benchmarks.arena.verdict import BASE, LARGEST, read
from benchmarks.reproduce import floors, tasks
from benchmarks.reproduce.engine import RESULTS, peak_memory
from benchmarks.reproduce.results import Results, commit, versions
from benchmarks.reproduce.training import embedding_size
from keras_attnpool import models

FOLDER = RESULTS / "arena"
VERDICT = FOLDER / "verdict.json"
KEY = ("task", "encoder", "row", "seed")
TOLD = ("learning_rate", "dropout", "size")
COLUMNS = (
    *KEY,
    *("test_accuracy", "test_macro_f1", "validation_accuracy"),
    *TOLD,
    *("epochs", "best_epoch", "stopped", "cpu_seconds", "tuning_seconds", "memory_mb"),
    *("parameters", "examples", "fingerprint", "protocol", "commit", "versions", "correct"),
)


class Table(Results):
    """The files of a folder, one per kind of tasks: a line per run, added under a lock."""

    def __init__(self, folder: Path = FOLDER) -> None:
        super().__init__(folder / "runs", {})
        self.folder = folder

    def lines(self) -> list[dict[str, Any]]:
        """The runs so far; refuses those of another protocol."""
        lines = read(self.folder)
        for line in lines:
            now = grid.protocol(line["task"], line["row"])
            if line["protocol"] != now:
                raise SystemExit(
                    f"{self.folder}: {[line[name] for name in KEY]} was run with the protocol "
                    f"{line['protocol']}, and it is {now} now. Remove the lines of the other "
                    "protocol from its file to run them anew."
                )
        return lines

    def append(self, line: dict[str, Any]) -> None:
        """Adds a run."""
        with self._locked():
            path = verdict.file_of(self.folder, grid.kind_of(line["task"]))
            with path.open("a+", encoding="utf-8", newline="") as file:
                file.seek(0)
                first = next(csv.DictReader(file), None)
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                if first is None:
                    writer.writeheader()
                elif first["versions"] == line["versions"]:
                    line = {**line, "versions": ""}
                writer.writerow(line)


def build(
    row: str, encoder: str, data: Words | Frozen, size: int = 0, dropout: float = 0.2
) -> keras.Model:
    """Words or states, encoder, mechanism, classifier; of pairs, two of these with one head."""
    layer, given = grid.arguments(row, size, encoder)
    sequence = row in grid.SEQUENCES
    made = layer(**given, name="mechanism" if sequence else "pooling")
    model = models.TextClassifier(
        num_classes=data.num_classes,
        encoder=[grid.ENCODERS[encoder], *([made] if sequence else [])],
        pooling="mean" if sequence else made,
        embedding_dropout=dropout,
        hidden_units=grid.HIDDEN,
        dropout=dropout,
        **data.source,
    )
    return tasks.pair_of(model, data.num_classes, grid.HIDDEN, dropout) if data.pairs else model


def finished(run: Run, lines: list[dict[str, Any]], folder: str, quick: bool) -> dict[str, Any]:
    """Runs it: a line of its results. Seeds but the first take what the first one chose."""
    try:
        data = data_of(run.task, run.encoder, run.seed, folder, quick)
    except (OSError, ValueError, ImportError) as error:
        needs = grid.TASKS[run.task].needs
        hint = f" It needs {needs}." if needs else ""
        raise SystemExit(f"{run.task} cannot be read: {error}{hint}") from error
    if run.row in grid.FLOORS:
        found = _linear(run, data)
    else:
        given = [x for x in lines if [*map(x.get, KEY)] == [*key_of(run)[:3], grid.SEEDS[0]]]
        options = tasks.Options(quick=quick)
        with peak_memory() as peak:
            found = _trained(run, data, given[0] if run.seed else None, options)
        found["memory_mb"] = peak.get("process_memory_mb")
        found["fingerprint"] = fingerprint(run.encoder, run.row)
    used = versions()
    return {
        **dict(zip(KEY, key_of(run), strict=True)),
        **found,
        "examples": " ".join(str(len(labels)) for _, labels in data.parts),
        "protocol": grid.protocol(run.task, run.row),
        "commit": commit(),
        "versions": " ".join(f"{name}={value}" for name, value in used.items()),
    }


def key_of(run: Run) -> tuple[str, str, str, int]:
    """What a run is called in the columns of `KEY`."""
    return run.task, run.encoder, run.row, run.seed


def _trained(
    run: Run, data: Words | Frozen, given: dict[str, Any] | None, options: tasks.Options
) -> dict[str, Any]:
    """Tries the trials, or takes the settings that were chosen; tests the best, once."""

    small = grid.TASKS[run.task].small and keras.config.backend() == "torch"
    loop = traced.loop if small else tasks.keras_fit

    def tried(settings: dict[str, Any]) -> tuple[float, keras.Model, dict[str, Any]]:
        start = time.process_time()
        recipe = {**data.task.recipe, "learning_rate": settings["learning_rate"]}
        made = functools.partial(
            build, run.row, run.encoder, data, settings["size"], settings["dropout"]
        )
        task = dataclasses.replace(data.task, recipe=recipe)
        model, result, score = tasks.fit(made, data, task, run.seed, options, loop)
        result["cpu_seconds"] = round(time.process_time() - start, 2)
        return score, model, {**settings, **result}

    start = time.process_time()
    if given:
        best = tried({name: given[name] for name in TOLD})
    else:
        best = tried({name: values[0] for name, values in grid.TRIALS.items()})
        for name, values in grid.TRIALS.items():
            if name == "size" and len(grid.sizes(run.row)) == 1:
                name, values = grid.SPARE[0], (None, grid.SPARE[1])
            for value in values[1:]:
                other = tried({**{told: best[2][told] for told in TOLD}, name: value})
                best = max(best, other, key=lambda each: each[0])
    spent = time.process_time() - start
    _, model, result = best
    tested, kept = tasks.measure(model, data, 2, data.task)
    return {
        **{f"test_{name}": value for name, value in tested.items()},
        **{name: result[name] for name in ("validation_accuracy", *TOLD, "epochs", "best_epoch")},
        "stopped": not result["stopped_by_the_epoch_limit"],
        "cpu_seconds": result["cpu_seconds"],
        "tuning_seconds": round(spent - result["cpu_seconds"], 2),
        "parameters": model.count_params() - embedding_size(model),
        **kept,
    }


def _linear(run: Run, data: Words | Frozen) -> dict[str, Any]:
    """The largest class, or a linear classifier: on TF-IDF, on the vectors' mean, on the first."""
    start, features = time.process_time(), None
    if run.row == LARGEST:
        labels = [labels for _, labels in data.parts]
        model = DummyClassifier(strategy="most_frequent").fit(labels[0], labels[0])
        found, facts = floors.outcome(model, labels, labels, "accuracy"), {}
    else:
        if run.row not in floors.ROWS:
            features = [_flat(list(data.sides(part)), run.row) for part in range(3)]
        found, facts = floors.run(run.row, data.sources, run.seed, "accuracy", features)
    names = ("test_accuracy", "test_macro_f1", "validation_accuracy", "epochs", "best_epoch")
    return {
        **{name: found[name] for name in names},
        "stopped": True,
        "cpu_seconds": round(time.process_time() - start, 2),
        "parameters": facts.get("parameters_without_embeddings", 0),
        "correct": found["correct"],
    }


def _flat(sides: list[tuple[np.ndarray, np.ndarray]], row: str) -> np.ndarray:
    """One vector a text; of a pair the distance and the product of both."""
    vectors = []
    for states, mask in sides:
        if row == grid.FIRST_FLOOR:
            vectors.append(np.asarray(states[:, 0], "float32"))
        else:
            kept = np.where(mask[..., None], states, 0).sum(axis=1, dtype="float32")
            vectors.append(kept / np.maximum(mask.sum(axis=1, keepdims=True), 1))
    if len(vectors) == 1:
        return vectors[0]
    return np.concatenate([abs(vectors[0] - vectors[1]), vectors[0] * vectors[1]], axis=1)


@functools.cache
def fingerprint(encoder: str, row: str) -> str:
    """What a row behind an encoder is: a hash of both, and figures of what they compute.

    The hash has options, names and shapes of weights, and is exact. The figures are those of seeded
    weights on fixed states; they are compared with a tolerance, for processors round differently.
    """
    layer, given = grid.arguments(row, 0, encoder)
    own, figures = _print(lambda: layer(**given, name="mechanism"), row == grid.KERAS)
    before, more = _encoder_print(encoder)
    digest = hashlib.sha256((before + own).encode()).hexdigest()[:10]
    return " ".join([digest, *(f"{value:.5f}" for value in (*figures, *more))])


@functools.cache
def _encoder_print(encoder: str) -> tuple[str, list[float]]:
    toy: Any = type("Toy", (), {"num_classes": 3, "pairs": False})
    toy.source = {"vocabulary_size": None, "backbone": STATES.shape[2]}
    return _print(lambda: build(BASE, encoder, toy), False)


STATES = np.sin(np.arange(3 * 7 * 20)).reshape(3, 7, 20).astype("float32")
KEPT = np.array([[1] * 7, [1] * 4 + [0] * 3, [1, 0] * 3 + [1]], "int32")


def _print(make: Any, attends: bool) -> tuple[str, list[float]]:
    """The structure of a layer or model with seeded weights, and figures of its output."""
    keras.utils.set_random_seed(0)
    made = make()
    if isinstance(made, keras.Model):
        output = made({"features": STATES, "padding_mask": KEPT}, training=False)
        options: Any = [type(each).__name__ for each in made.layers]
    else:
        inputs = (STATES, STATES) if attends else (STATES,)
        name = "query_mask" if attends else "mask"
        output = made(*inputs, **{name: KEPT.astype(bool)})
        # How Keras writes a dtype is its own affair.
        options = {name: each for name, each in made.get_config().items() if name != "dtype"}
    shapes = [[weight.path, list(weight.shape)] for weight in made.weights]
    flat = np.concatenate(
        [keras.ops.convert_to_numpy(each).ravel() for each in (*made.weights, output)]
    )
    flat = np.nan_to_num(flat).astype("float64")
    figures = [np.abs(flat).mean(), flat @ np.cos(np.arange(len(flat))) / np.sqrt(len(flat))]
    told = json.dumps([shapes, options], sort_keys=True, default=str)
    # Keras numbers the names of inner layers by what was made before.
    return re.sub(r"_\d+\b", "", told), [*map(float, figures)]


def moved(lines: list[dict[str, Any]]) -> list[str]:
    """The blocks' rows whose layers are no more what their runs were made with."""
    found = {}
    for line in lines:
        if line["fingerprint"]:
            there = line["fingerprint"].split()
            here = fingerprint(line["encoder"], line["row"]).split()
            same = there[0] == here[0] and np.allclose(
                np.float64(there[1:]), np.float64(here[1:]), atol=2e-4
            )
            found[line["encoder"], line["row"]] = same
    return sorted("/".join(key) for key, same in found.items() if not same)


def judged_rows(lines: list[dict[str, Any]]) -> list[str]:
    """The rows that are judged: the declared ones, and what joined and has caught up with them."""
    declared = set(grid.DECLARED)
    whole = [set(block) for block in verdict.blocks(lines).values() if declared <= set(block)]
    caught_up = set.intersection(*whole) if whole else set()
    return [row for row in grid.MECHANISMS if row in declared | caught_up]


def compared(lines: list[dict[str, Any]]) -> verdict.Comparison:
    """The comparison of these runs, by the rows and kinds of the grid."""
    return verdict.Comparison(lines, judged_rows(lines), grid.LINEAR, grid.kind_of)
