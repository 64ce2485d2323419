"""Times of epochs: models in turns on the same texts, relative to one of them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from benchmarks.devices import clock, suffix
from benchmarks.reproduce.results import Results
from benchmarks.reproduce.training import embedding_size


@dataclasses.dataclass(frozen=True)
class Timed:
    """A compiled model and the batches of its epoch.

    Args:
        model: The model.
        batches: What it trains on.
        texts: How many texts count as one unit of time.
    """

    model: keras.Model
    batches: Any
    texts: int = 1


@dataclasses.dataclass(frozen=True)
class Turns:
    """Models that train in turns.

    Args:
        models: The models by name.
        published: The paper's times, in whatever unit.
        first: The model whose time is 1.
        rounds: How often each has its turn.
        entry: Name of the entry in the results file.
    """

    models: Mapping[str, Timed]
    published: Mapping[str, float]
    first: str
    rounds: int
    entry: str = "epoch_times"


def compiled(model: keras.Model, **options: Any) -> keras.Model:
    """Compiles a model to be timed."""
    model.compile("adam", "sparse_categorical_crossentropy", **options)
    return model


def take_turns(turns: Turns, results: Results) -> None:
    """Times the epochs and notes them in the results file."""
    for timed in turns.models.values():
        timed.model.fit(timed.batches, verbose=0, shuffle=False)  # compiles every shape
    seconds: dict[str, list[float]] = {name: [] for name in turns.models}
    for index in range(turns.rounds):
        for name, timed in turns.models.items():
            start = clock()
            timed.model.fit(timed.batches, verbose=0, shuffle=False)
            seconds[name].append((clock() - start) / timed.texts)
        print(index, {name: f"{each[-1]:.3g} s" for name, each in seconds.items()}, flush=True)
    paper, unit = turns.published, turns.published[turns.first]
    times = {}
    for name, timed in turns.models.items():
        ratios = np.array(seconds[name]) / np.array(seconds[turns.first])
        times[name] = {
            "paper": round(paper[name] / unit, 3) if name in paper else None,
            "parameters": timed.model.count_params() - embedding_size(timed.model),
            "relative": [round(float(f(ratios)), 3) for f in (np.median, np.min, np.max)],
        }
    results.note(f"{turns.entry}{suffix()}", times)
