"""Predicts with a classifier after some steps are removed."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._inputs import Inputs, removed_by
from keras_attnpool.analysis._probabilities import class_probabilities
from keras_attnpool.analysis._token_rows import checked_classes
from keras_attnpool.types import Array, Bools, Float64s, Int64s

# Largest size of changed inputs in memory, in bytes.
_BYTES = 2**26


class Removal:
    """Predicts the probability of one class per row, with all steps or without some steps.

    The class checks the arguments that the public functions have in common. `owner` is the public
    function that the user called.

    Attributes:
        inputs: The `Inputs`.
        used: Boolean array `(rows,)`, the rows that have a step. The attributes below have only the
            rows that `used` selects.
        mask: Boolean array `(used, time)`. A row holds its sentences one after the other.
        sizes: Number of steps of each row `(used,)`.
        classes: The class of each row `(used,)`.
        full: float64 array `(used,)`, the probability of the class on the full row.
    """

    def __init__(
        self,
        model: keras.Model,
        inputs: Any,
        owner: str,
        classes: Any,
        baseline: Any,
        from_logits: bool,
        batch_size: int,
        mask: Any = None,
    ) -> None:
        self.owner, self.from_logits, self.batch_size = owner, from_logits, batch_size
        self.inputs = Inputs(model, inputs, owner, batch_size, mask)
        every = self.inputs.mask.reshape(self.inputs.count, -1)
        self.used: Bools = np.asarray(every.any(axis=1))
        if not self.used.any():
            must, received = "have a row with a step", f"{len(every)} empty rows"
            raise ArgumentError("inputs", must, received, owner)
        self._remove = removed_by(self.inputs, baseline)
        self._rows = np.flatnonzero(self.used)
        self.mask = every[self.used]
        self.sizes = self.mask.sum(axis=1)
        full = self._probabilities(self.inputs.some(self._rows))
        self.classes = full.argmax(axis=1)
        if classes is not None:
            self.classes = checked_classes(classes, len(every), full.shape[1], owner)[self.used]
        self.full: Float64s = full[np.arange(len(full)), self.classes]

    def scores(self, weights: Any, name: str = "weights") -> Float64s:
        """Returns the numbers per step of the used rows, `(used, time)`."""
        return self.inputs.spread(weights, name)[self.used]

    def places(self, scores: Float64s, rng: np.random.Generator) -> Int64s:
        """Ranks the steps of each row by their scores, the largest score first, padding last.

        Equal scores are ordered at random, so that uniform weights do not select the first steps.
        """
        ranked = np.lexsort((rng.random(scores.shape), -scores, ~self.mask), axis=1)
        places = np.empty_like(ranked)
        np.put_along_axis(places, ranked, np.arange(scores.shape[1])[None], axis=1)
        return places

    def first(self, places: Array, share: float) -> Bools:
        """Selects the first `ceil(share * number)` steps of each row by their ranks."""
        # Rounding errors must not turn 0.3 * 10 into 4.
        number = np.ceil(share * self.sizes - 1e-9)
        return np.asarray(self.mask & (places < number[:, None]))

    def probability(self, gone: Bools, rows: Array | None = None) -> Float64s:
        """Returns the probability of the class without the steps `gone`, `(rows, time)`.

        Row i of `gone` belongs to row `rows[i]`, by default to row i. If `rows` is given, the last
        batch is filled up to the size of the others, so that another number of rows needs no new
        compilation.
        """
        chosen = np.arange(len(self.mask)) if rows is None else rows
        row_bytes = sum(each[0].nbytes for each in self.inputs.leaves.values())
        size = max(1, _BYTES // max(1, self.batch_size * row_bytes)) * self.batch_size
        parts = []
        for start in range(0, len(chosen), size):
            part, removed = chosen[start : start + size], gone[start : start + size]
            padding = -len(part) % self.batch_size if rows is not None else 0
            filled = np.pad(part, (0, padding), "edge")
            leaves = self.inputs.some(self._rows[filled])
            removed = np.pad(removed, ((0, padding), (0, 0)), "edge") & self.mask[filled]
            self._remove(leaves, removed.reshape(-1, *self.inputs.mask.shape[1:]))
            parts.append(self._probabilities(leaves)[np.arange(len(part)), self.classes[part]])
        return np.concatenate(parts) if parts else np.zeros(0)

    def parts(self, count: int, verbose: int) -> Iterator[Int64s]:
        """Yields the rows in groups of `count`, with a progress bar if `verbose`."""
        bar = keras.utils.Progbar(len(self.mask), verbose=verbose, unit_name="row")
        for start in range(0, len(self.mask), count):
            texts = np.arange(start, min(start + count, len(self.mask)))
            yield texts
            bar.add(len(texts))

    def everywhere(self, values: Array) -> Float64s:
        """Spreads values of the used rows over all rows; rows without a step get NaN."""
        spread = np.full((len(self.used), *values.shape[1:]), np.nan)
        spread[self.used] = values
        return spread

    def _probabilities(self, leaves: dict[Any, Array]) -> Array:
        return class_probabilities(self.inputs.predict(leaves), self.from_logits, self.owner)


def checked_shares(shares: Sequence[float], owner: str, name: str, least: int) -> Float64s:
    """Checks that there are at least `least` shares, and that they increase within [0, 1]."""
    values = np.asarray(shares, np.float64)
    within = values.ndim == 1 and len(values) >= least and values[0] >= 0 and values[-1] <= 1
    if not within or not (np.diff(values) > 0).all():
        number = {1: "", 2: "at least two "}[least]
        must, received = f"be {number}increasing numbers in [0, 1]", {name: list(np.ravel(values))}
        raise ArgumentError(name, must, received, owner)
    return values
