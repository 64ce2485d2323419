"""Turns a model's inputs, in any form, into arrays and a mask of steps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import SIZE, ArgumentError, validate, warn_of_padding
from keras_attnpool.analysis._token_rows import aligned_rows, checked_mask
from keras_attnpool.batches import Batches, SequenceBatches, pad_rows
from keras_attnpool.types import Array, Bools, Float64s


class Inputs:
    """Holds the inputs of a model as arrays, and a mask of the steps that count.

    The first input that is not a mask has the steps: words `(rows, time)`, or instances, frames or
    patches `(rows, time, dim)`. The mask is `mask`, or one of the model's inputs, or it follows
    from the lengths of unequal rows. Without a mask, a step counts if its id is not 0, or if the
    model's `Masking` layer keeps it. Otherwise all steps count.

    Args:
        model: A model, or any object with the same `predict`.
        given: Inputs of `model.predict`. The rows of an input may be a list of arrays of unequal
            length.
        owner: The public function, for messages.
        batch_size: Number of rows in one step.
        mask: `None`, or boolean or 0/1 array `(rows, time)`.
        of_steps: Whether the caller uses single steps. With `True` the mask is read, and there is a
            warning if padding counts as steps.

    Attributes:
        leaves: The arrays by name or position.
        steps: The name or position of the array that has the steps.
        mask: Boolean array `(rows, time)` or `(rows, sentences, words)`, or `None` with
            `of_steps=False`.
        kept_by: The name or position of the input that is the mask, or `None`.
        mask_value: The value that a `Masking` layer of the model masks, or `None`.
    """

    def __init__(
        self,
        model: Any,
        given: Any,
        owner: str,
        batch_size: int,
        mask: Any = None,
        of_steps: bool = True,
    ) -> None:
        validate("batch_size", batch_size, SIZE, owner)
        self.model, self.owner, self.batch_size = model, owner, batch_size
        symbols = getattr(model, "inputs", None) or []
        self._ranks = [len(symbol.shape) for symbol in symbols]
        self._reads_ids = not symbols or any("int" in symbol.dtype for symbol in symbols)
        self.structure, lengths = _read(given, self._ranks, owner)
        self._form = type(self.structure)
        self.leaves: dict[Any, Array] = leaves_of(self.structure)
        sizes = {len(each) if each.ndim else 0 for each in self.leaves.values()}
        if len(sizes) != 1 or 0 in sizes:
            must = "have at least one row, equally many of each"
            received = f"shapes {[each.shape for each in self.leaves.values()]}"
            raise ArgumentError("inputs", must, received, owner)
        self.count = sizes.pop()
        self.kept_by = self._found_mask()
        self.steps = next((key for key in self.leaves if key != self.kept_by), self.kept_by)
        if self.kept_by is None and len(self._ranks) > len(self.leaves):
            named = isinstance(given, Mapping)
            if lengths is None and _has_lists(given.values() if named else [given]):
                lengths = np.full(self.count, self.values.shape[1])
            if lengths is not None:
                self._add_mask(model, lengths)
        self.lengths = lengths
        masking = [x for x in _layers(model) if isinstance(x, keras.layers.Masking)]
        self.mask_value = masking[0].mask_value if masking else None
        vectors = self.kept_by is None and self.values.dtype.kind == "f"
        if vectors and lengths is not None and len(set(lengths.tolist())) > 1:
            if self.mask_value is not None:  # the padding is still zeros
                padding = np.arange(self.values.shape[1]) >= lengths[:, None]
                self.values[padding] = self.mask_value
            elif of_steps:
                warn_of_padding(model, owner, 4)
        self.mask: Any = self._mask(mask, lengths) if of_steps else None
        if getattr(model, "built", True) is False:
            model(self.form(self.some(np.arange(1))))

    @property
    def values(self) -> Array:
        """The ids or vectors of the steps."""
        return self.leaves[self.steps]

    @property
    def are_ids(self) -> bool:
        """Whether steps are ids, not vectors."""
        integers = np.issubdtype(self.values.dtype, np.integer)
        ranks = (2, 3) if self._reads_ids else (2,)
        return bool(integers) and self.values.ndim in ranks

    def some(self, rows: Array) -> dict[Any, Array]:
        """The arrays of some rows."""
        return {key: each[rows] for key, each in self.leaves.items()}

    def form(self, leaves: dict[Any, Any]) -> Any:
        """Arrays or tensors in the structure that the model takes."""
        if issubclass(self._form, np.ndarray):
            return leaves[0]
        return dict(leaves) if issubclass(self._form, Mapping) else list(leaves.values())

    def predict(self, leaves: dict[Any, Array] | None = None) -> Any:
        """Returns the model's outputs for some rows, by default for all rows."""
        given = self.form(self.leaves if leaves is None else leaves)
        return self.model.predict(given, batch_size=self.batch_size, verbose=0)

    def spread(self, weights: Any, name: str) -> Float64s:
        """Returns one number per step, `(rows, steps)`; sentences stand one after the other.

        Args:
            weights: One list per text, with one number per position or per step that counts.
            name: The argument, for messages.
        """
        mask = self.mask.reshape(self.count, -1)
        rows: list[Any] = [
            np.ravel(row) if np.ndim(row) == self.mask.ndim - 1 else row for row in weights
        ]
        if len(rows) == len(mask):
            for place, (row, kept) in enumerate(zip(rows, mask, strict=True)):
                if len(row) == kept.sum() < len(kept):
                    rows[place] = np.zeros(len(kept))
                    rows[place][kept] = row
        return np.stack(aligned_rows(rows, [mask.shape[1]] * len(mask), self.owner, name))

    def _found_mask(self) -> Any:
        """Finds the input that is a mask by its dtype, its name or its values."""
        flat = [key for key, each in self.leaves.items() if each.ndim == 2 and len(self.leaves) > 1]
        for key in flat:
            if self.leaves[key].dtype == bool or (isinstance(key, str) and "mask" in key):
                return key
        for key in flat:
            others = [each for other, each in self.leaves.items() if other != key]
            if looks_like_masks(zip(self.leaves[key], *others, strict=True)):
                return key
        return None

    def _add_mask(self, model: Any, lengths: Array) -> None:
        """Adds the mask if the model's other input is a mask."""
        is_named = isinstance(model.input, Mapping)
        taken = dict(model.input) if is_named else dict(enumerate(model.inputs))
        values = self.values
        mask = np.arange(values.shape[1]) < lengths[:, None]
        if issubclass(self._form, Mapping):
            names = taken if is_named else [x.name for x in model.inputs]
            missing = [name for name in names if name not in self.leaves]
            if len(missing) == 1:
                self.kept_by = missing[0]
                self.leaves[self.kept_by] = mask
        elif len(taken) == 2:

            def is_other(key: Any) -> tuple[bool, bool]:
                symbol = taken[key]
                is_mask = symbol.dtype == "bool" or "mask" in symbol.name
                return len(symbol.shape) != values.ndim, is_mask

            self.steps, self.kept_by = sorted(taken, key=is_other)
            self._form = dict if is_named else list
            self.leaves = {key: values if key == self.steps else mask for key in taken}

    def _mask(self, mask: Any, lengths: Array | None) -> Bools:
        values = self.values
        if values.ndim < 3 and not self.are_ids:
            must = "be integer ids (rows, time) or vectors (rows, time, dim)"
            received = f"shape {values.shape}, dtype {values.dtype}"
            raise ArgumentError("inputs", must, received, self.owner)
        shape = values.shape if self.are_ids else values.shape[:2]
        if mask is not None:
            return checked_mask(mask, shape, self.owner)
        if self.kept_by is not None and self.leaves[self.kept_by].shape == shape:
            return self.leaves[self.kept_by].astype(bool)
        if self.are_ids:
            return np.asarray(values != 0)
        if self.mask_value is not None:
            return np.asarray((values != self.mask_value).any(axis=tuple(range(2, values.ndim))))
        if lengths is not None:
            return np.asarray(np.arange(shape[1]) < lengths[:, None])
        return np.ones(shape, bool)


def stand_in(inputs: Inputs, baseline: Any) -> Any:
    """The replacement of a step: `"zeros"`, `"mean"` of all steps that count, an id or a vector."""
    ids, values = inputs.are_ids, inputs.values
    if isinstance(baseline, str):
        if baseline == "zeros":
            return np.zeros((), values.dtype)
        if baseline == "mean" and not ids:
            return values[inputs.mask].mean(axis=0)
    else:
        given = np.asarray(baseline)
        if ids and given.shape == () and given.dtype.kind in "iu" and given >= 0:
            return given
        if not ids and given.dtype.kind in "iuf" and given.shape in ((), values.shape[2:]):
            return given
    kinds = "or an id" if ids else f"'mean' or a vector {values.shape[2:]}"
    must, received = f"be 'masked', 'zeros', {kinds}", f"{baseline!r}"
    raise ArgumentError("baseline", must, received, inputs.owner)


def removed_by(inputs: Inputs, baseline: Any) -> Callable[[dict[Any, Array], Bools], None]:
    """Returns a function that masks steps or replaces them."""
    stands: Any = None
    if not isinstance(baseline, str) or baseline != "masked":
        stands = stand_in(inputs, baseline)
    elif inputs.kept_by is None:
        stands = 0 if inputs.are_ids else inputs.mask_value
        if stands is None:
            must = (
                "be 'zeros', 'mean' or a vector for a model that takes no mask: it has "
                "neither an input for it nor a Masking layer"
            )
            raise ArgumentError("baseline", must, "'masked'", inputs.owner)

    def remove(leaves: dict[Any, Array], gone: Bools) -> None:
        if stands is None:
            kept = leaves[inputs.kept_by]
            leaves[inputs.kept_by] = np.where(gone, 0, kept).astype(kept.dtype)
        else:
            each = leaves[inputs.steps]
            at = gone if inputs.are_ids else gone[..., None]
            leaves[inputs.steps] = np.where(at, stands, each).astype(each.dtype)

    return remove


def _layers(model: Any) -> list[Any]:
    return model._flatten_layers() if isinstance(model, keras.Model) else []


def looks_like_masks(rows: Iterable[Sequence[Array]]) -> bool:
    """Whether the first input of each row looks like the mask of an input of floats.

    Args:
        rows: The inputs of each row, without a batch axis.
    """
    any_kept = False
    for x, *others in rows:
        if x.ndim != 1 or not np.isin(x, (0, 1)).all():
            return False
        any_kept = any_kept or bool(x.any())
        if np.abs(np.diff(x.astype(int))).sum() > 1:
            return False
        if not any(y.dtype.kind == "f" and y.ndim > 1 and len(y) == len(x) for y in others):
            return False
    return any_kept


def _has_lists(given: Iterable[Any]) -> bool:
    return any(isinstance(each, list | tuple) for each in given)


def leaves_of(structure: Any) -> dict[Any, Array]:
    if isinstance(structure, Mapping):
        return dict(structure)
    return dict(enumerate(structure if isinstance(structure, list | tuple) else [structure]))


def _read(given: Any, ranks: list[int], owner: str) -> tuple[Any, Array | None]:
    """Returns the inputs as arrays in their structure, and the lengths of unequal rows."""
    if isinstance(given, Batches | keras.utils.PyDataset) or _is_loader(given):
        return _joined(given, owner)
    is_list = isinstance(given, list | tuple)
    if is_list and len(given) and len(ranks) != 1 and _are_inputs(given, ranks):
        return [np.asarray(each) for each in given], None
    if is_list and len(given) == 1 and ranks and _rank(given[0]) == ranks[0]:
        return np.asarray(given[0]), None
    inputs = _by_input(given, ranks) if is_list else given
    if not isinstance(inputs, Mapping):
        return _rows(given, owner)
    read = {name: _rows(each, owner) for name, each in inputs.items()}
    leaves = {name: each for name, (each, _) in read.items()}
    lengths = next((each for _, each in read.values() if each is not None), None)
    return (list(leaves.values()) if 0 in leaves else leaves), lengths


def _by_input(given: Sequence[Any], ranks: list[int]) -> dict[Any, Any] | None:
    """The rows of each input, from rows (dicts or lists of arrays) or from one list per input."""
    if given and all(isinstance(row, Mapping) for row in given):
        return {name: [row[name] for row in given] for name in given[0]}

    options = [given]
    if all(isinstance(row, list | tuple) and len(row) == len(ranks) for row in given):
        options.append(list(zip(*given, strict=True)))
    for inputs in options if len(ranks) > 1 else ():
        fits = len(inputs) == len(ranks) and all(
            np.iterable(each) and all(_rank(row) == axes - 1 for row in each)
            for each, axes in zip(inputs, ranks, strict=True)
        )
        if fits:
            return dict(enumerate(inputs))
    return None


def _rank(given: Any) -> int:
    try:
        return np.ndim(given)
    except ValueError:  # rows of unequal length
        return -1


def _are_inputs(given: Any, ranks: list[int]) -> bool:
    """Whether a list holds one array per input of a model, rather than rows."""
    try:
        shapes = [np.shape(each) for each in given]
    except ValueError:
        return False
    if ranks:
        return [len(shape) for shape in shapes] == ranks
    # Without a graph, inputs are arrays with the same number of rows and different kinds.
    kinds = {(len(shape), np.asarray(x).dtype) for shape, x in zip(shapes, given, strict=True)}
    return len({shape[:1] for shape in shapes}) == 1 and len(kinds) > 1


def _rows(given: Any, owner: str) -> tuple[Array, Array | None]:
    """Returns an array, and the lengths of the rows if they are unequal and padded."""
    if not isinstance(given, list | tuple):
        return array_of(given, owner), None
    try:
        return array_of(np.asarray(given), owner), None
    except ValueError:
        padded, mask = pad_rows(given)
        return padded, mask.sum(axis=1)


def array_of(given: Any, owner: str) -> Array:
    """Turns numbers of any framework into an array."""
    if keras.ops.is_tensor(given):
        given = keras.ops.convert_to_numpy(given)
    elif hasattr(given, "detach"):  # a tensor of PyTorch under another backend
        given = given.detach().cpu()
    array: Array = np.asarray(given)
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        must = "be what `model.predict` takes, numbers"
        raise ArgumentError("inputs", must, f"{type(given).__name__} of dtype {array.dtype}", owner)
    return array


def _is_loader(given: Any) -> bool:
    """Whether an object yields batches: a `tf.data.Dataset`, a `DataLoader`, a generator."""
    is_data = isinstance(given, list | tuple | Mapping | str | np.ndarray)
    return not is_data and hasattr(given, "__iter__") and not hasattr(given, "shape")


def _joined(given: Any, owner: str) -> tuple[Any, Array | None]:
    """Joins all batches in the order of the data, padded to the longest row."""
    order: Any = None
    if isinstance(given, Batches):
        given, order = given.in_data_order()
    batches: Any = given
    if isinstance(given, keras.utils.PyDataset):
        batches = (given[index] for index in range(len(given)))
    parts: list[dict[Any, Array]] = []
    form: Any = None
    for batch in batches:
        form, _, _ = keras.utils.unpack_x_y_sample_weight(batch)
        leaves = {key: array_of(each, owner) for key, each in leaves_of(form).items()}
        parts.append(leaves)
    if not parts:
        must, received = "have at least one row", "no batch"
        raise ArgumentError("inputs", must, received, owner)
    joined: dict[Any, Array] = {}
    lengths = None
    for key in parts[0]:
        arrays = [part[key] for part in parts]
        widths = {each.shape[1] for each in arrays if each.ndim > 1}
        if len(widths) > 1:
            lengths = np.concatenate([np.full(len(each), each.shape[1]) for each in arrays])
            arrays = [
                np.pad(
                    each, [(0, 0), (0, max(widths) - each.shape[1]), *[(0, 0)] * (each.ndim - 2)]
                )
                for each in arrays
            ]
        joined[key] = np.concatenate(arrays)
        if order is not None:
            joined[key] = joined[key][order]
    if isinstance(given, SequenceBatches):
        lengths = given.lengths
    if isinstance(form, Mapping):
        return joined, lengths
    values = list(joined.values())
    return (values if isinstance(form, list | tuple) else values[0]), lengths
