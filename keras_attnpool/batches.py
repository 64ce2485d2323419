"""Serves batches of rows of unequal length: ids, bags of instances, frames, patches, features."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Self

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool import _checks
from keras_attnpool.types import Array, Bools, Int64s

_STEP = 8

Rows = Sequence[npt.ArrayLike] | Array


def pad_rows(
    rows: Rows,
    length: int | None = None,
    *,
    side: str = "right",
    value: float = 0,
    dtype: Any = None,
) -> tuple[Array, Bools]:
    """Pads rows of unequal length to one array, and returns the mask of the real steps.

    Args:
        rows: N arrays `(n_i, ...)` whose sizes differ only on the first axis.
        length: The length to pad to. Defaults to the length of the longest row.
        side: `"right"` pads at the end of the rows, `"left"` at their start.
        value: Value of padded steps.
        dtype: Dtype of the padded array. Defaults to float32 for real numbers, int32 for integers,
            and bool for booleans.

    Returns:
        The padded array `(N, length, ...)`, and the boolean mask `(N, length)`. True marks a step
        of the row.

    Raises:
        ValueError: If rows differ in other axes than the first, or if a row is longer than
            `length`.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.batches import pad_rows
    >>> x, mask = pad_rows([np.ones((2, 3)), np.ones((1, 3))])
    >>> x.shape, mask.tolist()
    ((2, 2, 3), [[True, True], [True, False]])
    """
    owner = "pad_rows"
    checked = _checked_rows(owner, "rows", rows)
    lengths = np.array([len(row) for row in checked], np.int64)
    longest = int(lengths.max(initial=0))
    length = longest if length is None else length
    if not _checks.integer(0).accepts(length) or length < longest:
        must = f"be an integer of at least the longest row, {longest}"
        raise _checks.ArgumentError("length", must, f"length={length!r}", owner)
    _checks.validate("side", side, _checks.one_of(("left", "right")), owner)
    shape = checked[0].shape[1:] if checked else ()
    kind = _served(checked[0].dtype if checked else np.dtype("float32"))
    padded = np.full((len(checked), length, *shape), value, kind if dtype is None else dtype)
    steps = np.arange(length)
    mask: Bools = steps < lengths[:, None]
    if side == "left":
        mask = mask[:, ::-1]
    for place, row in enumerate(checked):
        start = length - len(row) if side == "left" else 0
        padded[place, start : start + len(row)] = row
    return padded, mask


def length_buckets(
    lengths: npt.ArrayLike, num_buckets: int = 3, step: int = _STEP
) -> tuple[int, ...]:
    """Chooses the lengths that batches are padded to, with the least padding.

    Every row is padded to the smallest boundary that is not below the length of the row. With the
    same number of boundaries and the same rounding, no other boundaries give less padding.

    Args:
        lengths: Integers of shape `(N,)`, the number of steps of every row.
        num_buckets: Largest number of boundaries. If there are fewer distinct lengths, there are
            fewer boundaries.
        step: Boundaries are multiples of this number, except for the last boundary.

    Returns:
        Increasing boundaries. The last boundary is the largest length, and at least 1. The other
        boundaries are lengths rounded up to a multiple of `step`.

    Raises:
        ValueError: If `lengths` is empty or not a row of integers >= 0, or if `num_buckets` or
            `step` is below 1.

    Example:

    >>> from keras_attnpool.batches import length_buckets
    >>> length_buckets([3, 5, 9, 11, 30, 61], num_buckets=3)
    (16, 32, 61)
    """
    sizes = np.asarray(lengths)
    integers = sizes.ndim == 1 and sizes.size and np.issubdtype(sizes.dtype, np.integer)
    if not integers or sizes.min() < 0:
        received = f"shape {sizes.shape}, dtype {sizes.dtype}"
        received += f", least {sizes.min()}" * bool(integers)
        must = "be one row of integers from 0"
        raise _checks.ArgumentError("lengths", must, received, "length_buckets")
    for name, number in (("num_buckets", num_buckets), ("step", step)):
        _checks.validate(name, number, _checks.SIZE, "length_buckets")
    longest = max(int(sizes.max()), 1)
    steps_needed = np.maximum(-(-sizes.astype(np.int64) // step), 1)
    rounded = np.minimum(steps_needed * step, longest)
    ends, counts = np.unique(rounded, return_counts=True)
    rows = np.concatenate([[0], np.cumsum(counts)])
    # steps[i, j]: the length of all rows between boundary i - 1 and boundary j, padded to j.
    steps = (rows[None, 1:] - rows[:-1, None]) * ends.astype("float64")
    steps[np.tril_indices(len(ends), -1)] = np.inf
    # Each iteration allows one more bucket. For every end, it stores where the last bucket begins.
    total, ends_before = steps[0], []
    for _ in range(min(num_buckets, len(ends)) - 1):
        options = total[:-1, None] + steps[1:]
        ends_before.append(options.argmin(axis=0))
        total = options.min(axis=0)
    chosen = [len(ends) - 1]
    for before in reversed(ends_before):
        chosen.append(int(before[chosen[-1]]))
    return tuple(int(ends[end]) for end in reversed(chosen))


class Batches(keras.utils.PyDataset):  # type: ignore[misc]
    """Base class of batches that may have a new order in every epoch.

    A subclass defines `inputs_of(rows)`, which returns the inputs of a batch of these rows. A
    subclass may also define `arranged(random)`, which returns the rows of each batch, and
    `places_of(rows)`, which returns the number of steps of a batch, including padding.

    Args:
        size: The number of rows.
        labels: Array of shape `(N, ...)`, a dictionary of such arrays, or `None` for `predict`.
        batch_size: Number of rows in a batch.
        shuffle: Whether the order changes from epoch to epoch.
        seed: Seed of the shuffling.
        sample_weight: Array of shape `(N,)`, or `None`. Weights need `labels`. Class weights are an
            argument of `fit`.
        used: Number of steps of all rows together, without padding. `padding_share` needs this
            number.
        **kwargs: `workers`, `use_multiprocessing` and `max_queue_size` of `keras.utils.PyDataset`.

    Raises:
        ValueError: If the arguments do not fit together or are out of range.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.batches import Batches
    >>> class Doubled(Batches):
    ...     def inputs_of(self, rows):
    ...         return 2 * rows
    >>> Doubled(5, batch_size=3)[1].tolist()
    [6, 8]
    """

    def __init__(
        self,
        size: int,
        labels: Any = None,
        batch_size: int = 32,
        shuffle: bool = False,
        seed: int = 0,
        sample_weight: npt.ArrayLike | None = None,
        used: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        owner = type(self).__name__
        _checks.validate("batch_size", batch_size, _checks.SIZE, owner)
        _checks.validate("seed", seed, _checks.SEED, owner)
        if labels is None and sample_weight is not None:
            must, received = "be given where there is a `sample_weight`", "labels=None"
            raise _checks.ArgumentError("labels", must, received, owner)
        self._labels = labels
        if isinstance(labels, Mapping):
            self._labels = {n: _targets(owner, "labels", y, size) for n, y in labels.items()}
        elif labels is not None:
            self._labels = _targets(owner, "labels", labels, size)
        self._sample_weight: Array | None = None
        if sample_weight is not None:
            self._sample_weight = _targets(owner, "sample_weight", sample_weight, size)
        self.batch_size, self._size, self._used = batch_size, size, used
        self._shuffle, self._seed, self._epoch = bool(shuffle), seed, 0
        self._arrange()

    @property
    def padding_share(self) -> float:
        """Returns the share of padding among all steps of this epoch, in [0, 1]."""
        return 1.0 - self._used / sum(self.places_of(rows) for rows in self._batches)

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> Any:
        """Returns `inputs`, `(inputs, labels)` or `(inputs, labels, sample_weight)` of a batch."""
        rows = self._batches[index]
        inputs = self.inputs_of(rows)
        if self._labels is None:
            # Keras would read a pair of inputs as inputs and labels.
            return (inputs,) if isinstance(inputs, tuple) else inputs
        labels = keras.tree.map_structure(lambda each: each[rows], self._labels)
        if self._sample_weight is None:
            return inputs, labels
        return inputs, labels, self._sample_weight[rows]

    def on_epoch_end(self) -> None:
        """Draws the order of the next epoch; Keras calls this method after every epoch."""
        if self._shuffle:
            self._epoch += 1
            self._arrange()

    def predict(self, model: keras.Model, **kwargs: Any) -> Any:
        """Predicts all rows in the order of the data, even if the batches are shuffled.

        Rows of similar length share a batch, so this method computes less than
        `model.predict(batches)`.

        Args:
            model: The model.
            **kwargs: Arguments of `model.predict`. `verbose` is 0 by default.

        Returns:
            The outputs of the model, in their structure. Entry i of each output belongs to row i.
        """
        self._warn_of(model)
        bucketed, places = self.in_data_order()
        outputs = model.predict(bucketed, **({"verbose": 0} | kwargs))
        return keras.tree.map_structure(lambda each: each[places], outputs)

    def in_data_order(self) -> tuple[Self, Int64s]:
        """Returns unshuffled batches of rows of similar length, and the place of each row."""
        bucketed = copy.copy(self)
        bucketed._shuffle, bucketed._batches = False, bucketed.arranged(None)
        return bucketed, np.argsort(np.concatenate(bucketed._batches))

    def inputs_of(self, rows: Int64s) -> Any:
        """The inputs of a batch of these rows."""
        raise NotImplementedError

    def places_of(self, rows: Int64s) -> int:
        """The number of steps in the inputs of these rows, including padding."""
        raise NotImplementedError

    def arranged(self, random: np.random.Generator | None) -> list[Int64s]:
        """Returns the rows of each batch of an epoch, shuffled by `random` unless it is `None`."""
        rows = np.arange(self._size) if random is None else random.permutation(self._size)
        return _cut(rows, self.batch_size)

    def in_order(self) -> list[Int64s]:
        """The rows of each batch without shuffling."""
        return self.arranged(None)

    def _warn_of(self, model: keras.Model) -> None:
        """Warns if a model does not fit the batches."""

    def _arrange(self) -> None:
        random = np.random.default_rng([self._seed, self._epoch])
        self._batches = self.arranged(random) if self._shuffle else self.in_order()


class SequenceBatches(Batches):
    """Feeds batches of rows of unequal length to `fit`, `evaluate` and `predict`.

    A row is a sequence of ids `(n,)`, of vectors `(n, dim)`, or of arrays `(n, ...)`. Examples are
    the words of a text, the instances of a bag and the frames of a recording. A batch is padded to
    the smallest boundary that is not below the length of its longest row. No row is cut. Rows are
    padded only within their batch. Batches have few shapes, so a model is compiled only a few
    times.

    Use `shuffle=True` for training. With `shuffle=True` rows of similar length share a batch, and
    every epoch has new batches in a new order. The same seed gives the same batches. With
    `shuffle=False` rows keep their order, so row i of `model.predict(batches)` belongs to row i of
    the data. With `shuffle=False`, a row that is much longer than its neighbours has a batch of its
    own. The results of `batches.predict(model)` are in the order of the data with and without
    `shuffle`.

    If there are several lengths, the first two batches differ in length. So TensorFlow treats the
    length as variable.

    Args:
        rows: N arrays `(n_i, ...)` whose sizes differ only on the first axis, or a dictionary from
            the names of inputs to such rows. Row i of every input belongs to the same example. All
            inputs of an example are padded to the same boundary, which fits the longest input. In
            an integer array `(N, T)` or `(N, T, W)` of padded ids, zeros at the end of a row do not
            count as steps.
        labels: Array of shape `(N, ...)`, a dictionary of such arrays, or `None` for `predict`.
        batch_size: Number of rows in a batch.
        boundaries: Increasing lengths to pad to. The last boundary is at least the length of the
            longest row. `None` takes the boundaries of `length_buckets`.
        mask: How the model gets the mask `(batch, time)`, in which True marks a step of the row.
            `None` gives no mask, for models that mask id 0 themselves. `True` gives the pair
            `(padded, mask)`. If `rows` is a dictionary, `mask` may be a name or a dictionary. A
            name adds the mask of the longest input under this name. A dictionary `{input: name}`
            adds a mask for each of these inputs.
        fixed: Names of the inputs that are not sequences. The inputs in `fixed` are arrays `(N,
            ...)` and are not padded.
        shuffle: Whether rows of similar length share a batch, with new batches in every epoch. If
            False, rows keep their order.
        seed: Seed of the shuffling.
        sample_weight: Array of shape `(N,)`, or `None`. Weights need `labels`. Class weights are an
            argument of `fit`.
        **kwargs: `workers`, `use_multiprocessing` and `max_queue_size` of `keras.utils.PyDataset`.

    Batches contain real numbers as float32, and integers as int32.

    Raises:
        ValueError: If the arguments do not fit together, or if a row is longer than the last
            boundary.
        TypeError: If rows do not contain numbers.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.batches import SequenceBatches
    >>> bags = [np.ones((2, 5)), np.ones((40, 5)), np.ones((3, 5))]
    >>> batches = SequenceBatches(bags, labels=[0, 1, 1], mask=True)
    >>> batches
    SequenceBatches: 3 rows of 2 to 40 steps, 3 batches, lengths 8 and 40, 20 % padding
    >>> (x, mask), labels = batches[0]
    >>> x.shape, mask.sum(axis=1).tolist(), labels.tolist()
    ((1, 8, 5), [2], [0])
    """

    def __init__(
        self,
        rows: Rows | Mapping[str, Rows],
        labels: Any = None,
        batch_size: int = 32,
        boundaries: Sequence[int] | None = None,
        *,
        mask: bool | str | Mapping[str, str] | None = None,
        fixed: Sequence[str] = (),
        shuffle: bool = False,
        seed: int = 0,
        sample_weight: npt.ArrayLike | None = None,
        **kwargs: Any,
    ) -> None:
        owner = "SequenceBatches"
        named = rows if isinstance(rows, Mapping) else {"rows": rows}
        self._is_named = isinstance(rows, Mapping)
        if not set(fixed) <= set(named if self._is_named else ()):
            must, received = "be names of `rows`", f"fixed={fixed!r}"
            raise _checks.ArgumentError("fixed", must, received, owner)
        self._fixed = {name: _targets(owner, name, named[name]) for name in fixed}
        self._inputs = {
            name: _without_padding(_checked_rows(owner, name, each), each)
            for name, each in named.items()
            if name not in fixed
        }
        sizes = {name: len(each) for name, each in (self._inputs | self._fixed).items()}
        if not self._inputs or len(set(sizes.values())) != 1 or 0 in sizes.values():
            must = "be sequences, at least one, and equally many of each input"
            raise _checks.ArgumentError("rows", must, f"{sizes or 'none'}", owner)
        self._masks = self._checked_masks(mask)
        each_length = np.array([[len(row) for row in rows] for rows in self._inputs.values()])
        self._lengths: Int64s = each_length.max(axis=0)
        longest = int(self._lengths.max())
        self._boundaries = (
            length_buckets(self._lengths)
            if boundaries is None
            else _checked_boundaries(owner, boundaries, longest)
        )
        super().__init__(
            len(self._lengths),
            labels,
            batch_size,
            shuffle,
            seed,
            sample_weight,
            int(each_length.sum()),
            **kwargs,
        )

    @property
    def boundaries(self) -> tuple[int, ...]:
        """The lengths that batches are padded to."""
        return self._boundaries

    @property
    def lengths(self) -> Int64s:
        """The number of steps of each row, in the order of the data."""
        return self._lengths

    def __repr__(self) -> str:
        lengths = sorted({self._length_of(rows) for rows in self._batches})
        listed = ", ".join(map(str, lengths[:-1])) + " and " * (len(lengths) > 1)
        return (
            f"SequenceBatches: {self._size:,} rows of {self._lengths.min()} to "
            f"{self._lengths.max()} steps, {len(self)} batches, lengths {listed}{lengths[-1]}, "
            f"{100 * self.padding_share:.0f} % padding"
        )

    def inputs_of(self, rows: Int64s) -> Any:
        """The padded inputs of these rows, with masks if `mask` asks for them."""
        length = self._length_of(rows)
        inputs: dict[str, Any] = {name: each[rows] for name, each in self._fixed.items()}
        for name, each in self._inputs.items():
            inputs[name], mask = pad_rows([each[row] for row in rows.tolist()], length)
            if name in self._masks:
                inputs[self._masks[name]] = mask
        if "" in self._masks:
            inputs[self._masks[""]] = np.arange(length) < self._lengths[rows, None]
        return (
            inputs if self._is_named else tuple(inputs.values()) if self._masks else inputs["rows"]
        )

    def places_of(self, rows: Int64s) -> int:
        """The number of steps in the inputs of these rows, including padding."""
        return len(self._inputs) * len(rows) * self._length_of(rows)

    def arranged(self, random: np.random.Generator | None) -> list[Int64s]:
        """Returns the rows of each batch; they have similar lengths."""
        self._least, self._first_is_longer = 0, False
        shapes = [(boundary,) for boundary in self._boundaries]
        bucket_of = np.searchsorted(self._boundaries, self._lengths)
        return in_buckets(bucket_of, shapes, self.batch_size, random)

    def in_order(self) -> list[Int64s]:
        """Returns the rows of each batch in the order of the data. A much longer row is alone."""
        self._least, self._first_is_longer = 0, False
        bucket_of = np.searchsorted(self._boundaries, self._lengths)
        batches = self._cheapest(np.array(self._boundaries)[bucket_of])
        buckets = [int(bucket_of[rows].max()) for rows in batches]
        if len(set(buckets)) == 1 or buckets[0] != buckets[1]:
            return batches
        # The first two batches must differ in length.
        other = int((bucket_of != np.maximum.accumulate(bucket_of)[0]).argmax())
        if other <= self.batch_size:
            pair = [np.arange(other), np.array([other])]
            rest = [rows[rows > other] for rows in batches]
            return pair + [rows for rows in rest if len(rows)]
        self._first_is_longer = buckets[0] + 1 < len(self._boundaries)
        self._least = 0 if self._first_is_longer else len(self._boundaries) - 1
        return batches

    def _cheapest(self, lengths: Int64s) -> list[Int64s]:
        """Divides rows into batches of few sizes at the smallest cost.

        The cost of a batch is its number of steps, including padding, plus an eighth of the steps
        of an average batch.
        """
        count, size = len(lengths), min(self.batch_size, len(lengths))
        sizes = {1, max(1, size // 4), size, count % size or size}
        windows = np.lib.stride_tricks.sliding_window_view
        steps = {each: each * windows(lengths, each).max(axis=1) for each in sizes}
        extra = lengths.mean() * size / 8
        cost, start_of = np.zeros(count + 1), np.zeros(count + 1, np.int64)
        for end in range(1, count + 1):
            # The remaining rows are the last batch.
            allowed = [
                n for n in sizes if n <= end and (end == count or n != count % size or n == 1)
            ]
            costs = [cost[end - n] + steps[n][end - n] for n in allowed]
            best = int(np.argmin(costs))
            cost[end], start_of[end] = costs[best] + extra, end - allowed[best]
        batches, end = [], count
        while end:
            batches.append(np.arange(start_of[end], end))
            end = int(start_of[end])
        return batches[::-1]

    def _checked_masks(self, mask: Any) -> dict[str, str]:
        """The name of each input's mask; the key "" stands for the longest input."""
        names = [*self._inputs, *self._fixed]
        wanted: dict[str, str] = {}
        if isinstance(mask, Mapping):
            wanted = dict(mask)
        elif isinstance(mask, str):
            wanted = {"": mask}
        elif mask:
            wanted = {"": "mask"}
        fits = set(wanted) <= {"", *self._inputs} and not set(wanted.values()) & set(names)
        if not fits or (bool(wanted) and (mask is True) == self._is_named):
            must = (
                "be None or True; where `rows` are a dictionary, None, a new name, or a "
                "dictionary from inputs to new names"
            )
            received = f"mask={mask!r} with inputs {names if self._is_named else 'without names'}"
            raise _checks.ArgumentError("mask", must, received, "SequenceBatches")
        return wanted

    def _warn_of(self, model: keras.Model) -> None:
        kinds = {_served(row.dtype).kind for rows in self._inputs.values() for row in rows[:1]}
        if "f" in kinds and not self._masks and self.in_data_order()[0].padding_share > 0:
            _checks.warn_of_padding(model, "SequenceBatches.predict", 4)

    def _length_of(self, rows: Int64s) -> int:
        """The boundary that a batch of these rows is padded to."""
        place = int(np.searchsorted(self._boundaries, self._lengths[rows].max()))
        place += self._first_is_longer and rows[0] == 0
        return self._boundaries[max(place, self._least)]


def in_buckets(
    bucket_of: Int64s,
    shapes: Sequence[tuple[int, ...]],
    batch_size: int,
    random: np.random.Generator | None = None,
) -> list[Int64s]:
    """Divides rows into batches; all rows of a batch are in one bucket.

    Args:
        bucket_of: Integers `(N,)`, the bucket of every row.
        shapes: For every bucket, the sizes of its batches that differ between buckets, such as the
            length. The first two batches differ in as many of these sizes as possible.
        batch_size: Number of rows in a batch.
        random: Shuffles the rows of each bucket and the batches. `None` keeps their order.

    Returns:
        The indices of the rows of each batch.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.batches import in_buckets
    >>> in_buckets(np.array([0, 1, 0]), [(8,), (16,)], batch_size=2)
    [array([0, 2]), array([1])]
    """
    batches = []
    for bucket in range(len(shapes)):
        members = np.flatnonzero(bucket_of == bucket)
        if random is not None:
            random.shuffle(members)
        batches += _cut(members, batch_size)
    if random is not None:
        random.shuffle(batches)
    buckets = [int(bucket_of[batch[0]]) for batch in batches]
    firsts = sorted(buckets.index(bucket) for bucket in set(buckets))

    def contrast(pair: Iterable[int]) -> int:
        sizes = (shapes[buckets[place]] for place in pair)
        return sum(a != b for a, b in zip(*sizes, strict=True))

    for place, other in enumerate(max(combinations(firsts, 2), key=contrast, default=())):
        batches[place], batches[other] = batches[other], batches[place]
    return batches


def _cut(rows: Int64s, size: int) -> list[Int64s]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _checked_rows(owner: str, name: str, rows: Any) -> list[Array]:
    """The rows of one input as arrays; nothing is copied."""
    arrays: list[Array] = []
    for index, row in enumerate(_checks.column(owner, name, rows, axes=32, of="arrays")):
        try:
            array = np.asarray(row)
        except ValueError as error:
            must, received = "be arrays (n, ...)", f"lists of unequal length at index {index}"
            raise _checks.ArgumentError(name, must, received, owner) from error
        if array.ndim < 1 or (arrays and array.shape[1:] != arrays[0].shape[1:]):
            alike = f" alike, (n, {', '.join(map(str, arrays[0].shape[1:]))})" if arrays else ""
            must, received = f"be arrays (n, ...){alike}", f"shape {array.shape} at index {index}"
            raise _checks.ArgumentError(name, must, received, owner)
        # NumPy turns an empty list into a float array, even if the other rows contain integers.
        if array.size and array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
            must, received = "hold numbers", f"dtype {array.dtype} at index {index}"
            raise _checks.ArgumentError(name, must, received, owner)
        kept = array.dtype.kind in "iu" and array.size
        least = 0 if array.ndim == 1 else -(2**31)  # rows with one axis are ids
        if kept and not least <= array.min() <= array.max() < 2**31:
            must = f"hold integers from {least} to {2**31 - 1}"
            received = f"from {array.min()} to {array.max()} at index {index}"
            raise _checks.ArgumentError(name, must, received, owner)
        arrays.append(array)
    kinds = {_served(array.dtype).kind for array in arrays if array.size}
    if len(kinds) > 1:
        must, received = "hold numbers of one kind", f"{sorted(kinds)}"
        raise _checks.ArgumentError(name, must, received, owner)
    return arrays


def _without_padding(rows: list[Array], given: Any) -> list[Array]:
    """Removes the zeros at the end of padded ids."""
    if (
        not isinstance(given, np.ndarray)
        or given.dtype.kind not in "iu"
        or given.ndim not in (2, 3)
    ):
        return rows
    kept = np.asarray(given.reshape(*given.shape[:2], -1).any(axis=2))
    return [row[:end] for row, end in zip(rows, kept_lengths(kept).tolist(), strict=True)]


def kept_lengths(mask: Bools) -> Int64s:
    """Counts the steps of every row up to the last step that the mask keeps.

    Args:
        mask: Boolean array `(N, time)`.

    Returns:
        Integers `(N,)`.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.batches import kept_lengths
    >>> kept_lengths(np.array([[True, False, True, False], [False] * 4])).tolist()
    [3, 0]
    """
    return np.where(mask.any(axis=1), mask.shape[1] - mask[:, ::-1].argmax(axis=1), 0)


def _served(dtype: Any) -> np.dtype[Any]:
    """The dtype that models get for numbers of this kind."""
    return np.dtype({"b": "bool", "i": "int32", "u": "int32"}.get(dtype.kind, "float32"))


def _targets(owner: str, name: str, values: Any, size: int | None = None) -> Array:
    """Turns labels or weights into an array with one entry for each of `size` rows."""
    array: Array = np.asarray(values)
    if not array.ndim or size not in (None, len(array)):
        must, received = f"have {size or 'many'} entries, one per row", f"shape {array.shape}"
        raise _checks.ArgumentError(name, must, received, owner)
    return array


def _checked_boundaries(owner: str, boundaries: Any, longest: int) -> tuple[int, ...]:
    """Checks that lengths increase, and that the last length fits every row."""
    lengths = tuple(boundaries) if isinstance(boundaries, Iterable) else ()
    if not lengths or not all(map(_checks.SIZE.accepts, lengths)) or any(np.diff(lengths) < 1):
        must, received = "be increasing positive integers", f"boundaries={boundaries!r}"
        raise _checks.ArgumentError("boundaries", must, received, owner)
    if longest > lengths[-1]:
        must = f"end with the longest row's length, {longest}, or more"
        raise _checks.ArgumentError("boundaries", must, f"boundaries={lengths}", owner)
    return tuple(int(length) for length in lengths)
