"""Batches of texts of similar length: little padding, few distinct shapes."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

_STEP = 8


def length_buckets(lengths: npt.ArrayLike, num_buckets: int = 3) -> tuple[int, ...]:
    """Chooses the lengths that batches are padded to, so that buckets are about equally full.

    Args:
        lengths: Integers of shape `(N,)`, the number of tokens of every text.
        num_buckets: How many boundaries to aim at; fewer come out where lengths coincide.

    Returns:
        Increasing boundaries: quantiles rounded up to a multiple of 8, and last the greatest
        length (at least 1).

    Raises:
        ValueError: If `lengths` is empty, not one row of integers from 0, or `num_buckets` is
            below 1.

    Example:

    >>> length_buckets([3, 5, 9, 11, 30, 61], num_buckets=3)
    (8, 16, 61)
    """
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or not sizes.size or not np.issubdtype(sizes.dtype, np.integer):
        raise ValueError(
            "length_buckets expects `lengths` to be one row of integers. "
            f"Received: shape={sizes.shape}, dtype={sizes.dtype}"
        )
    if sizes.min() < 0:
        raise ValueError(f"length_buckets expects lengths from 0. Received: {sizes.min()}")
    if isinstance(num_buckets, bool) or not isinstance(num_buckets, int) or num_buckets < 1:
        raise ValueError(
            "length_buckets expects `num_buckets` to be a positive integer. "
            f"Received: num_buckets={num_buckets!r}"
        )
    longest = max(int(sizes.max()), 1)
    shares = np.arange(1, num_buckets) / num_buckets
    # The inverse of the distribution function: an observed length, never one in between.
    quantiles = np.quantile(sizes, shares, method="inverted_cdf")
    rounded = {max(-(-int(length) // _STEP), 1) * _STEP for length in quantiles}
    return (*sorted(length for length in rounded if length < longest), longest)


class BucketedBatches(keras.utils.PyDataset):  # type: ignore[misc]
    """Feeds `fit`, `evaluate` and `predict` batches of texts of similar length.

    A text goes into the first bucket whose boundary it fits in, a batch holds texts of one
    bucket, and all batches of a bucket have its boundary as their length. A compiled model thus
    meets at most two shapes per bucket: that of full batches and that of the bucket's last,
    smaller one. Every text is served exactly once per epoch.

    With `shuffle=True` the texts of a bucket and the batches are drawn anew at the end of every
    pass, the same way for the same seed. `fit` itself also reorders batches unless it is
    told `shuffle=False`. To predict or to compare row by row, use `shuffle=False` here
    and `restore`.

    When there is more than one length, the first two batches differ in length: TensorFlow learns
    from them that the length varies.

    Args:
        ids: List of N rows of integers, or an array of shape `(N, T)`. Padding (0) at the end of
            a row does not count as its length.
        labels: Array of shape `(N, ...)`, or `None` for `predict`.
        batch_size: Texts in a batch.
        boundaries: Increasing lengths, the last at least the longest text's. `None` takes
            those of `length_buckets`.
        shuffle: Whether the order changes from epoch to epoch.
        seed: Seed of the shuffling.
        sample_weight: Array of shape `(N,)`, or `None`; needs `labels`.
        **kwargs: `workers`, `use_multiprocessing` and `max_queue_size` of
            `keras.utils.PyDataset`.

    Raises:
        ValueError: If the arguments do not fit together, or a text is longer than the last
            boundary (nothing is ever cut).
        TypeError: If ids are not integers.

    Example:

    >>> batches = BucketedBatches([[5], [6, 7], [8] * 9], boundaries=(4, 9), shuffle=False)
    >>> [batch.shape for batch in batches]
    [(2, 4), (1, 9)]
    >>> batches.restore(np.array([0.1, 0.2, 0.9]))
    array([0.1, 0.2, 0.9])
    """

    def __init__(
        self,
        ids: Sequence[npt.ArrayLike] | npt.NDArray[Any],
        labels: npt.ArrayLike | None = None,
        batch_size: int = 32,
        boundaries: Sequence[int] | None = None,
        shuffle: bool = True,
        seed: int = 0,
        sample_weight: npt.ArrayLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._rows = [_checked_row(index, row) for index, row in enumerate(ids)]
        if not self._rows:
            raise ValueError("BucketedBatches expects at least one text. Received: none")
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(
                "BucketedBatches expects `batch_size` to be a positive integer. "
                f"Received: batch_size={batch_size!r}"
            )
        if labels is None and sample_weight is not None:
            raise ValueError(
                "BucketedBatches expects `labels` wherever there is a `sample_weight`. "
                "Received: labels=None"
            )
        self._labels = self._checked_targets("labels", labels)
        self._sample_weight = self._checked_targets("sample_weight", sample_weight)
        lengths = np.array([len(row) for row in self._rows])
        self._boundaries = _checked_boundaries(
            length_buckets(lengths) if boundaries is None else boundaries, int(lengths.max())
        )
        self._bucket_of = np.searchsorted(self._boundaries, lengths)
        self._padding_share = 1.0 - float(
            lengths.sum() / np.take(self._boundaries, self._bucket_of).sum()
        )
        self._batch_size = batch_size
        self._shuffle = bool(shuffle)
        self._seed = seed
        self._epoch = 0
        self._batches = self._arranged()

    @property
    def boundaries(self) -> tuple[int, ...]:
        """The lengths that batches are padded to."""
        return self._boundaries

    @property
    def order(self) -> npt.NDArray[np.int64]:
        """Indices of the texts in the order in which this epoch serves them, shape `(N,)`."""
        return np.concatenate(self._batches)

    @property
    def padding_share(self) -> float:
        """Which part of all steps served is padding, in [0, 1]."""
        return self._padding_share

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> Any:
        """Returns `ids`, `(ids, labels)` or `(ids, labels, sample_weight)` of one batch."""
        chosen = self._batches[index]
        ids = np.zeros((len(chosen), self._boundaries[self._bucket_of[chosen[0]]]), np.int32)
        for place, text in enumerate(chosen):
            row = self._rows[text]
            ids[place, : len(row)] = row
        if self._labels is None:
            return ids
        if self._sample_weight is None:
            return ids, self._labels[chosen]
        return ids, self._labels[chosen], self._sample_weight[chosen]

    def on_epoch_end(self) -> None:
        """Draws the next epoch's order; Keras calls it after every pass."""
        if self._shuffle:
            self._epoch += 1
            self._batches = self._arranged()

    def restore(self, predictions: npt.ArrayLike) -> npt.NDArray[Any]:
        """Puts predictions back into the order of the texts.

        Args:
            predictions: Array of shape `(N, ...)`, as `model.predict(batches)` returns it.

        Returns:
            Array of the same shape and dtype; row i belongs to text i.

        Raises:
            ValueError: If the number of rows differs, or if the batches are shuffled: their
                order has changed by the time that `predict` returns.
        """
        if self._shuffle:
            raise ValueError(
                "BucketedBatches.restore expects batches in a fixed order. Received: shuffle=True"
            )
        served = np.asarray(predictions)
        if served.shape[:1] != (len(self._rows),):
            raise ValueError(
                f"BucketedBatches.restore expects {len(self._rows)} rows, one per text. "
                f"Received: shape={served.shape}"
            )
        restored = np.empty_like(served)
        restored[self.order] = served
        return restored

    def _checked_targets(self, name: str, values: npt.ArrayLike | None) -> Any:
        if values is None:
            return None
        array = np.asarray(values)
        if array.shape[:1] != (len(self._rows),):
            raise ValueError(
                f"BucketedBatches expects `{name}` with {len(self._rows)} rows, one per text. "
                f"Received: {name}.shape={array.shape}"
            )
        return array

    def _arranged(self) -> list[npt.NDArray[np.int64]]:
        """The indices of every batch of the current epoch."""
        generator = np.random.default_rng([self._seed, self._epoch])
        batches = []
        for bucket in range(len(self._boundaries)):
            members = np.flatnonzero(self._bucket_of == bucket)
            if self._shuffle:
                generator.shuffle(members)
            size = self._batch_size
            batches += [members[start : start + size] for start in range(0, len(members), size)]
        if self._shuffle:
            generator.shuffle(batches)
        buckets = [self._bucket_of[batch[0]] for batch in batches]
        other = next((i for i, bucket in enumerate(buckets) if bucket != buckets[0]), 1)
        if len(batches) > 1:
            batches[1], batches[other] = batches[other], batches[1]
        return batches


def _checked_row(index: int, row: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """One text's ids without the padding at its end."""
    array = np.asarray(row)
    if array.ndim != 1:
        raise ValueError(
            "BucketedBatches expects every text to be one row of ids. "
            f"Received: shape={array.shape} at index {index}"
        )
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise TypeError(
            f"BucketedBatches expects integer ids. Received: dtype={array.dtype} at index {index}"
        )
    used = np.flatnonzero(array)
    return array[: used[-1] + 1 if used.size else 0].astype(np.int32)


def _checked_boundaries(boundaries: Sequence[int], longest: int) -> tuple[int, ...]:
    lengths = tuple(int(boundary) for boundary in boundaries)
    if not lengths or lengths[0] < 1 or any(np.diff(lengths) < 1):
        raise ValueError(
            "BucketedBatches expects `boundaries` to be increasing positive integers. "
            f"Received: boundaries={lengths}"
        )
    if longest > lengths[-1]:
        raise ValueError(
            f"BucketedBatches expects the last boundary to be at least the longest text's length "
            f"{longest}. Received: boundaries={lengths}"
        )
    return lengths
