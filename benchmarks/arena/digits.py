"""Tasks without words, of scikit-learn's digits: bags, and pictures by rows or by patches."""

import dataclasses
from typing import Any, Self

import numpy as np
from sklearn.datasets import load_digits

LARGEST = 16
SIZES = (1600, 1000)  # bags to train on, to test


@dataclasses.dataclass(frozen=True, eq=False)
class States:
    """What is pooled, `(N, time, dim)`, which steps count, and the classes."""

    states: np.ndarray
    mask: np.ndarray
    labels: np.ndarray
    num_classes: int

    def __len__(self) -> int:
        """How many there are."""
        return len(self.labels)

    def subset(self, rows: np.ndarray) -> Self:
        """Takes some of them."""
        kept = {name: getattr(self, name)[rows] for name in ("states", "mask", "labels")}
        return dataclasses.replace(self, **kept)


def _pictures() -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Pixels and names of the digits to train on and to test, none in both."""
    found: Any = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    pixels, names = (found.data[order] / 16).astype("float32"), found.target[order]
    return (pixels[:1200], names[:1200]), (pixels[1200:], names[1200:])


def bags(folder: str, least: int) -> tuple[States, States]:
    """Bags of 4 to 16 digits; the class is whether `least` of them are a 9.

    Half of the bags have at least so many, up to two more; the others have fewer.
    """
    return tuple(_bags(*part, seed, least) for seed, part in enumerate(_pictures()))


def _bags(pixels: np.ndarray, names: np.ndarray, seed: int, least: int) -> States:
    rng, count = np.random.default_rng(seed), SIZES[seed]
    nines, others = pixels[names == 9], pixels[names != 9]
    states, mask = np.zeros((count, LARGEST, 64), "float32"), np.zeros((count, LARGEST), bool)
    labels = np.arange(count) % 2
    for bag, label in enumerate(labels):
        size = rng.integers(4, LARGEST + 1)
        number = rng.integers(least, least + 2) if label else rng.integers(0, least)
        chosen = others[rng.integers(len(others), size=size)]
        places = rng.choice(size, number, replace=False)
        chosen[places] = nines[rng.integers(len(nines), size=number)]
        states[bag, :size], mask[bag, :size] = chosen, True
    return States(states, mask, labels, 2)


def rows(folder: str) -> tuple[States, States]:
    """Each digit as a series of 8 rows of 8 pixels; the class is the digit."""
    return tuple(
        States(pixels.reshape(-1, 8, 8), np.ones((len(pixels), 8), bool), names, 10)
        for pixels, names in _pictures()
    )


def patches(folder: str) -> tuple[States, States]:
    """Each digit as its 36 patches of 3 x 3 pixels, with the place of each; the class is the digit.

    A patch is nine pixels and two coordinates in [0, 1]: a bag of patches knows where each was.
    """
    places = np.indices((6, 6)).reshape(2, 36).T / 5
    found = []
    for pixels, names in _pictures():
        windows = np.lib.stride_tricks.sliding_window_view(pixels.reshape(-1, 8, 8), (3, 3), (1, 2))
        windows = windows.reshape(-1, 36, 9)
        at = np.broadcast_to(places, (len(pixels), *places.shape))
        states = np.concatenate([windows, at], axis=2).astype("float32")
        found.append(States(states, np.ones((len(pixels), 36), bool), names, 10))
    return found[0], found[1]
