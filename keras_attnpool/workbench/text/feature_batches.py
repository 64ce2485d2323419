"""Batches of token features that stay on the disk."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_attnpool._checks import ArgumentError
from keras_attnpool.types import Array, Int64s
from keras_attnpool.workbench.text.bucketing import (
    ArrangedBatches,
    OrderedBatches,
    checked_boundaries,
    checked_targets,
    kept_lengths,
)


class FeatureBatches(ArrangedBatches):
    """Serves precomputed token features a batch at a time, for `fit`, `evaluate` and `predict`.

    `Model.fit` reads a memory-mapped array into memory as a whole; here a batch is read when it is
    its turn, so that a set larger than memory trains.

    Args:
        features: What `LanguageModel.features` returns: `"features"` `(N, time, dim)`, an array or
            a memory-mapped one, and `"padding_mask"` `(N, time)`.
        labels: Array of shape `(N, ...)`, or `None` for `predict`.
        rows: Integers `(M,)`: the rows that are served, those of a fold say. `None` is all.
        batch_size: Texts in a batch.
        shuffle: Whether the order changes from epoch to epoch.
        seed: Seed of the shuffling.
        scale: What features are multiplied with. Those of some language models are small numbers,
            on which training is slow to start: `1 / features.std()` gives them unit variance.
        boundaries: `None`, where all batches have the features' time, or increasing lengths as in
            `BucketedBatches`, the last at least the longest text's. Texts of similar length then
            share a batch, which has less padding; the model has to take any length.
        **kwargs: `workers`, `use_multiprocessing` and `max_queue_size` of `keras.utils.PyDataset`.

    Raises:
        ValueError: If the arguments do not fit together or are out of range.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.workbench.text import FeatureBatches
    >>> mask = np.ones((3, 4), bool)
    >>> features = {"features": np.ones((3, 4, 2), "float16"), "padding_mask": mask}
    >>> batches = FeatureBatches(features, [0, 1, 1], batch_size=2, shuffle=False, scale=0.5)
    >>> inputs, labels = batches[0]
    >>> inputs["features"].shape, float(inputs["features"][0, 0, 0]), labels.tolist()
    ((2, 4, 2), 0.5, [0, 1])
    """

    def __init__(
        self,
        features: dict[str, Any],
        labels: npt.ArrayLike | None = None,
        rows: npt.ArrayLike | None = None,
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int = 0,
        scale: float = 1.0,
        boundaries: Sequence[int] | None = None,
        **kwargs: Any,
    ) -> None:
        owner = "FeatureBatches"
        if not isinstance(features, dict) or set(features) != {"features", "padding_mask"}:
            received = f"{list(features) if isinstance(features, dict) else type(features)}"
            raise ArgumentError("features", "hold 'features' and 'padding_mask'", received, owner)
        self._features = features["features"]
        self._mask = np.asarray(features["padding_mask"], bool)
        shape = np.shape(self._features)
        if len(shape) != 3 or self._mask.shape != shape[:2]:
            must = "hold features (N, time, dim) and a padding_mask (N, time)"
            raise ArgumentError("features", must, f"shapes {shape} and {self._mask.shape}", owner)
        self._rows = np.arange(shape[0]) if rows is None else np.asarray(rows)
        are_rows = self._rows.ndim == 1 and np.issubdtype(self._rows.dtype, np.integer)
        if not (are_rows and self._rows.size and np.isin(self._rows, np.arange(shape[0])).all()):
            must = f"be integers from 0 to {shape[0] - 1}, at least one"
            raise ArgumentError("rows", must, f"rows={rows!r} of {shape[0]} texts", owner)
        targets = checked_targets(owner, "labels", labels, shape[0])
        served = None if targets is None else targets[self._rows]
        self._scale = np.float32(scale)
        kept = self._mask[self._rows]
        lengths = kept_lengths(kept)
        self._boundaries: tuple[int, ...] = (shape[1],)
        if boundaries is not None:
            enough = checked_boundaries(owner, boundaries, int(lengths.max()))
            self._boundaries = tuple(min(boundary, shape[1]) for boundary in enough)
        self._in_buckets = boundaries is not None
        bucket_of = np.searchsorted(self._boundaries, lengths)
        shapes = [(boundary,) for boundary in self._boundaries]
        total = int(kept.sum())
        super().__init__(bucket_of, shapes, total, served, batch_size, shuffle, seed, **kwargs)

    def _arranged(self) -> list[Int64s]:
        return super()._arranged() if self._in_buckets else OrderedBatches._arranged(self)

    def _inputs_of(self, chosen: Int64s) -> dict[str, Array]:
        rows, length = self._rows[chosen], self._boundaries[self._bucket(chosen)]
        features = np.asarray(self._features[rows, :length], np.float32) * self._scale
        return {"features": features, "padding_mask": self._mask[rows, :length]}

    def _places_of(self, chosen: Int64s) -> int:
        return len(chosen) * self._boundaries[self._bucket(chosen)]
