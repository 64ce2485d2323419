"""Batches of texts of similar length: little padding, few distinct shapes."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool._checks import ArgumentError
from keras_attnpool.types import Array, Bools, Int32s, Int64s
from keras_attnpool.workbench.text._vocabulary import check_integers, padded

_STEP = 8

_Rows = Sequence[npt.ArrayLike] | Array


def length_buckets(lengths: npt.ArrayLike, num_buckets: int = 3) -> tuple[int, ...]:
    """Chooses the lengths that batches are padded to, with the least padding.

    Every text is padded to the first boundary that it fits in. No other boundaries of
    this kind and number give less padding in total.

    Args:
        lengths: Integers of shape `(N,)`, the number of tokens of every text.
        num_buckets: How many boundaries to aim at; fewer come out where lengths coincide.

    Returns:
        Increasing boundaries: lengths rounded up to a multiple of 8, and last the greatest
        length (at least 1).

    Raises:
        ValueError: If `lengths` is empty, not one row of integers from 0, or `num_buckets` is
            below 1.

    Example:

    >>> from keras_attnpool.workbench.text import length_buckets
    >>> length_buckets([3, 5, 9, 11, 30, 61], num_buckets=3)
    (16, 32, 61)
    """
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or not sizes.size or not np.issubdtype(sizes.dtype, np.integer):
        must, received = "be one row of integers", f"shape {sizes.shape}, dtype {sizes.dtype}"
        raise ArgumentError("lengths", must, received, "length_buckets")
    if sizes.min() < 0:
        raise ArgumentError("lengths", "be 0 or more", f"{sizes.min()}", "length_buckets")
    check_integers("length_buckets", num_buckets=num_buckets)
    return least_padding(sizes, num_buckets, _STEP)


def kept_lengths(mask: Bools) -> Int64s:
    """Positions of every row up to the last kept one; a text may hold the padding token itself."""
    return np.where(mask.any(axis=1), mask.shape[1] - mask[:, ::-1].argmax(axis=1), 0)


def least_padding(
    lengths: npt.NDArray[np.integer[Any]], number: int, step: int = 1
) -> tuple[int, ...]:
    """Chooses the boundaries of `length_buckets`, rounded up to multiples of any step."""
    longest = max(int(lengths.max()), 1)
    steps_needed = np.maximum(-(-lengths.astype(np.int64) // step), 1)
    rounded = np.minimum(steps_needed * step, longest)
    ends, counts = np.unique(rounded, return_counts=True)
    texts = np.concatenate([[0], np.cumsum(counts)])
    # steps[i, j]: the length of all texts between boundary i - 1 and boundary j, padded to j.
    steps = (texts[None, 1:] - texts[:-1, None]) * ends.astype("float64")
    steps[np.tril_indices(len(ends), -1)] = np.inf
    # One bucket more in each turn: for every end, where the buckets before the last one end.
    total, ends_before = steps[0], []
    for _ in range(min(number, len(ends)) - 1):
        options = total[:-1, None] + steps[1:]
        ends_before.append(options.argmin(axis=0))
        total = options.min(axis=0)
    chosen = [len(ends) - 1]
    for before in reversed(ends_before):
        chosen.append(int(before[chosen[-1]]))
    return tuple(int(ends[end]) for end in reversed(chosen))


class OrderedBatches(keras.utils.PyDataset):  # type: ignore[misc]
    """Batches of texts, in an order that may be drawn anew for every epoch.

    What a batch holds is up to the subclass, which gives `_inputs_of`, and `_arranged` unless any
    texts may share a batch. `size` is the number of texts.

    Args:
        labels: Array of shape `(N, ...)`, or `None` for `predict`.
        batch_size: Texts in a batch.
        shuffle: Whether the order changes from epoch to epoch.
        seed: Seed of the shuffling.
        sample_weight: Array of shape `(N,)`, or `None`; needs `labels`.
        **kwargs: `workers`, `use_multiprocessing` and `max_queue_size` of `keras.utils.PyDataset`.
    """

    def __init__(
        self,
        size: int,
        labels: npt.ArrayLike | None,
        batch_size: int,
        shuffle: bool,
        seed: int,
        sample_weight: npt.ArrayLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        owner = type(self).__name__
        check_integers(owner, batch_size=batch_size)
        check_integers(owner, least=0, seed=seed)
        if labels is None and sample_weight is not None:
            must, received = "be given wherever there is a `sample_weight`", "labels=None"
            raise ArgumentError("labels", must, received, owner)
        self._labels = checked_targets(owner, "labels", labels, size)
        self._sample_weight = checked_targets(owner, "sample_weight", sample_weight, size)
        self._size, self._batch_size = size, batch_size
        self._shuffle, self._seed, self._epoch = bool(shuffle), seed, 0
        self._random = np.random.default_rng(seed)
        self._batches = self._arranged()

    @property
    def order(self) -> Int64s:
        """Indices of the texts in the order in which this epoch serves them, shape `(N,)`."""
        return np.concatenate(self._batches)

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> Any:
        """Returns `inputs`, `(inputs, labels)` or `(inputs, labels, sample_weight)` of a batch."""
        chosen = self._batches[index]
        inputs = self._inputs_of(chosen)
        if self._labels is None:
            return inputs
        if self._sample_weight is None:
            return inputs, self._labels[chosen]
        return inputs, self._labels[chosen], self._sample_weight[chosen]

    def on_epoch_end(self) -> None:
        """Draws the next epoch's order; Keras calls it after every pass."""
        if self._shuffle:
            self._epoch += 1
            self._batches = self._arranged()

    def restore(self, predictions: npt.ArrayLike) -> Array:
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
            must = "be False for restore: the order of the batches has changed"
            raise ArgumentError("shuffle", must, {"shuffle": True}, type(self).__name__)
        served = np.asarray(predictions)
        if served.shape[:1] != (self._size,):
            must, received = f"have {self._size} rows, one per text", f"shape {served.shape}"
            raise ArgumentError("predictions", must, received, f"{type(self).__name__}.restore")
        restored = np.empty_like(served)
        restored[self.order] = served
        return restored

    def _inputs_of(self, chosen: Int64s) -> Any:
        """Makes the inputs of a batch of these texts."""
        raise NotImplementedError

    def _arranged(self) -> list[Int64s]:
        """Settles the batches of the current epoch: the indices of the texts in each."""
        places = np.arange(self._size)
        return self._cut(self._random.permutation(places) if self._shuffle else places)

    def _cut(self, order: Int64s) -> list[Int64s]:
        """Cuts indices into batches."""
        size = self._batch_size
        return [order[start : start + size] for start in range(0, len(order), size)]


class ArrangedBatches(OrderedBatches):
    """Batches out of buckets; a subclass gives `_inputs_of` and `_places_of`.

    Args:
        bucket_of: Integers of shape `(N,)`, the bucket of every text.
        shapes: For every bucket, the sizes of its batches that differ between buckets.
        used: How many places hold an id in one epoch.
    """

    def __init__(
        self,
        bucket_of: Int64s,
        shapes: Sequence[tuple[int, ...]],
        used: int,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        self._bucket_of, self._shapes, self._used = bucket_of, shapes, used
        super().__init__(len(bucket_of), *args, **kwargs)

    @property
    def padding_share(self) -> float:
        """Which part of all places that this epoch serves is padding, in [0, 1]."""
        return 1.0 - self._used / sum(self._places_of(chosen) for chosen in self._batches)

    def _places_of(self, chosen: Int64s) -> int:
        """Counts the ids that the inputs of these texts have room for."""
        raise NotImplementedError

    def _bucket(self, chosen: Int64s) -> int:
        """Looks up the bucket of a batch."""
        return int(self._bucket_of[chosen[0]])

    def _arranged(self) -> list[Int64s]:
        generator = np.random.default_rng([self._seed, self._epoch])
        batches = []
        for bucket in range(len(self._shapes)):
            members = np.flatnonzero(self._bucket_of == bucket)
            if self._shuffle:
                generator.shuffle(members)
            batches += self._cut(members)
        if self._shuffle:
            generator.shuffle(batches)
        self._put_contrast_first(batches)
        return batches

    def _put_contrast_first(self, batches: list[Int64s]) -> None:
        """Moves two batches to the front that differ in as many sizes as possible."""
        buckets = [self._bucket(batch) for batch in batches]
        firsts = sorted(buckets.index(bucket) for bucket in set(buckets))

        def contrast(pair: Iterable[int]) -> int:
            sizes = (self._shapes[buckets[place]] for place in pair)
            return sum(a != b for a, b in zip(*sizes, strict=True))

        for place, other in enumerate(max(combinations(firsts, 2), key=contrast, default=())):
            batches[place], batches[other] = batches[other], batches[place]


class BucketedBatches(ArrangedBatches):
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

    Several inputs, such as the two texts of a pair, are given by name and served by name. Row i
    of all belongs together: the longest of them decides on the bucket, and all are padded to
    its boundary. The characters of the words are such an input as well, with W ids per step.

    Args:
        ids: List of N rows of integers, or an array of shape `(N, T)`; or a dictionary of such
            inputs, where arrays `(N, T, W)` and lists of rows `(T, W)` are possible too. Padding
            (0) at the end of a row does not count as its length.
        labels: Array of shape `(N, ...)`, or `None` for `predict`.
        batch_size: Texts in a batch.
        boundaries: Increasing lengths, the last at least the longest text's. `None` takes
            those of `length_buckets`.
        shuffle: Whether the order changes from epoch to epoch.
        seed: Seed of the shuffling.
        sample_weight: Array of shape `(N,)`, or `None`; needs `labels`.
        **kwargs: `workers`, `use_multiprocessing` and `max_queue_size` of `keras.utils.PyDataset`.

    Raises:
        ValueError: If the arguments do not fit together, or a text is longer than the last
            boundary (nothing is ever cut).
        ValueError: If ids are not integers.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.workbench.text import BucketedBatches
    >>> batches = BucketedBatches([[5], [6, 7], [8] * 9], boundaries=(4, 9), shuffle=False)
    >>> [batch.shape for batch in batches]
    [(2, 4), (1, 9)]
    >>> batches.restore(np.array([0.1, 0.2, 0.9]))
    array([0.1, 0.2, 0.9])
    >>> pairs = {"first": [[5], [6, 7]], "second": [[8, 9], [3]]}
    >>> inputs, labels = BucketedBatches(pairs, labels=[0, 1], boundaries=(4,))[0]
    >>> {name: ids.shape for name, ids in inputs.items()}
    {'first': (2, 4), 'second': (2, 4)}
    """

    def __init__(
        self,
        ids: _Rows | Mapping[str, _Rows],
        labels: npt.ArrayLike | None = None,
        batch_size: int = 32,
        boundaries: Sequence[int] | None = None,
        shuffle: bool = True,
        seed: int = 0,
        sample_weight: npt.ArrayLike | None = None,
        **kwargs: Any,
    ) -> None:
        self._named = isinstance(ids, Mapping)
        if isinstance(ids, Mapping):
            self._inputs = {
                n: checked_rows("BucketedBatches", "ids", rows, f" of {n!r}", (1, 2))
                for n, rows in ids.items()
            }
        else:
            self._inputs = {"ids": checked_rows("BucketedBatches", "ids", ids)}
        sizes = {name: len(rows) for name, rows in self._inputs.items()}
        if not any(sizes.values()):
            raise ArgumentError("ids", "hold at least one text", "none", "BucketedBatches")
        if len(set(sizes.values())) > 1:
            must = "have inputs with equally many texts"
            received = ", ".join(f"{size} of {name!r}" for name, size in sizes.items())
            raise ArgumentError("ids", must, received, "BucketedBatches")
        used = np.array([[len(row) for row in rows] for rows in self._inputs.values()])
        lengths = used.max(axis=0)
        self._boundaries = checked_boundaries(
            "BucketedBatches",
            length_buckets(lengths) if boundaries is None else boundaries,
            int(lengths.max()),
        )
        bucket_of = np.searchsorted(self._boundaries, lengths)
        shapes = [(boundary,) for boundary in self._boundaries]
        total = int(used.sum())
        super().__init__(
            bucket_of, shapes, total, labels, batch_size, shuffle, seed, sample_weight, **kwargs
        )

    @property
    def boundaries(self) -> tuple[int, ...]:
        """The lengths that batches are padded to."""
        return self._boundaries

    def _inputs_of(self, chosen: Int64s) -> Any:
        length = self._boundaries[self._bucket(chosen)]
        inputs = {
            name: padded([rows[text] for text in chosen], length, *rows[0].shape[1:])
            for name, rows in self._inputs.items()
        }
        return inputs if self._named else inputs["ids"]

    def _places_of(self, chosen: Int64s) -> int:
        return len(self._inputs) * len(chosen) * self._boundaries[self._bucket(chosen)]


def checked_rows(
    owner: str, name: str, rows: _Rows, where: str = "", ranks: tuple[int, ...] = (1,)
) -> list[Int32s]:
    """Returns the rows of one input without the padding at their ends, or raises.

    The error is about the argument `name` of `owner`, and ends with `where`.
    """
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise ArgumentError(name, "hold rows of ids", f"{rows!r}{where}", owner)
    checked: list[Int32s] = []
    for index, row in enumerate(rows):
        array = np.asarray(row)
        if array.ndim not in ranks or (checked and array.shape[1:] != checked[0].shape[1:]):
            alike = " or of character ids, all alike" if 2 in ranks else ""
            must = f"hold rows of ids{alike}"
            raise ArgumentError(name, must, f"shape {array.shape} at index {index}{where}", owner)
        if array.size and not np.issubdtype(array.dtype, np.integer):
            must, received = "hold integer ids", f"dtype {array.dtype} at index {index}{where}"
            raise ArgumentError(name, must, received, owner)
        check_ids_fit(owner, name, array, f" at index {index}{where}")
        steps = np.nonzero(array)[0]
        checked.append(array[: steps[-1] + 1 if steps.size else 0].astype(np.int32))
    return checked


def check_ids_fit(owner: str, name: str, ids: Any, where: str = "") -> None:
    """Raises where an id would be another number as int32, or stands for no word."""
    if ids.size and not 0 <= ids.min() <= ids.max() <= np.iinfo(np.int32).max:
        must = f"hold ids from 0 to {np.iinfo(np.int32).max}"
        raise ArgumentError(name, must, f"from {ids.min()} to {ids.max()}{where}", owner)


def checked_targets(owner: str, name: str, values: npt.ArrayLike | None, size: int) -> Any:
    """Returns labels or weights as an array with a row for each of `size` texts, or raises."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape[:1] != (size,):
        raise ArgumentError(name, f"have {size} rows, one per text", f"shape {array.shape}", owner)
    return array


def checked_boundaries(owner: str, boundaries: Sequence[int], longest: int) -> tuple[int, ...]:
    """Increasing lengths of which the last is enough."""
    if not isinstance(boundaries, Iterable):
        raise ArgumentError("boundaries", "be several lengths", {"boundaries": boundaries}, owner)
    lengths = tuple(int(boundary) for boundary in boundaries)
    if not lengths or lengths[0] < 1 or any(np.diff(lengths) < 1):
        must, received = "be increasing positive integers", {"boundaries": lengths}
        raise ArgumentError("boundaries", must, received, owner)
    if longest > lengths[-1]:
        must = f"end with at least the longest text's length {longest}"
        raise ArgumentError("boundaries", must, {"boundaries": lengths}, owner)
    return lengths
