"""Checks that a model predicts the same for a row in any batch."""

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attnpool._checks import POSITIVE, ArgumentError, validate
from keras_attnpool.analysis._inputs import Inputs, array_of, looks_like_masks
from keras_attnpool.types import Array, Bools

OWNER = "batch_independence"
# Numbers of padding steps after the longest row. Odd and even numbers test strides.
EXTRA = (1, 6)
SINGLE, HALF = 1e-4, 1e-2
# Outputs of a layer below this size may differ by rounding alone.
SMALL = 1e-2
WORDS = {
    "repeat": "when the same batch is predicted again",
    "neighbours": "with other rows in the batch",
    "order": "with the rows in another order",
    "padding length": "with more padding",
    "padding content": "with other content under the mask",
}

# Only one pass runs at a time, because it changes classes of Keras.
_LOCK = threading.Lock()


class BatchIndependence(NamedTuple):
    """The result of `batch_independence`.

    Differences are divided by the row's largest output if this output is above 1.

    Attributes:
        holds: Whether all differences are within the tolerance.
        tolerance: The largest difference that counts as rounding.
        differences: One dict per row. The keys are the checks, and the values are the row's
            differences. The checks are `"repeat"`, `"neighbours"`, `"order"`, `"padding length"`
            and `"padding content"`.
        largest: The largest of all differences.
        row: The row of the largest difference.
        check: The check of the largest difference.
        layer: Path of the first layer or operation whose output differs, such as
            `"encoder/pooling"` in a nested model. `None` if `holds` is True.
        untried: One sentence per check that was left out, with the reason.

    Example:

    >>> from keras_attnpool.analysis import BatchIndependence
    >>> found = {"neighbours": 0.0, "padding length": 0.2}
    >>> print(BatchIndependence(False, 1e-4, [found], 0.2, 0, "padding length", "mean", ()))
    Row 0 changes by 0.2 with more padding (tolerance 0.0001). The first layer whose output differs
    is 'mean'.
    """

    holds: bool
    tolerance: float
    differences: list[dict[str, float]]
    largest: float
    row: int
    check: str
    layer: str | None
    untried: tuple[str, ...]

    def __str__(self) -> str:
        if self.holds:
            tried = ", ".join(WORDS[check] for check in self.differences[0])
            number = len(self.differences)
            rows = (
                "The row keeps its answer" if number == 1 else f"{number} rows keep their answers"
            )
            told = (
                f"{rows} {tried}: the largest difference is {self.largest:.2g} "
                f"(tolerance {self.tolerance:g})."
            )
        else:
            told = (
                f"Row {self.row} changes by {self.largest:.2g} {WORDS[self.check]} (tolerance "
                f"{self.tolerance:g}). The first layer whose output differs is '{self.layer}'."
            )
        return " ".join([told, *self.untried])


def batch_independence(
    model: keras.Model, rows: Any, *, tolerance: float | None = None
) -> BatchIndependence:
    """Checks that the prediction for a row does not depend on the rest of its batch.

    The model predicts each row alone and in batches, and the outputs are compared. The batches have
    other rows, another order, more padding, or other content under the mask. The first check
    predicts one batch twice. A model with random outputs fails this check, and no other check is
    tried. The function works for functional, Sequential and subclassed models. If there is a
    difference, the model runs twice more, layer by layer. The result then names the first layer
    whose output differs at the steps of the row.

    Padding is 0 for ids and False for a mask. Floats are padded with the mask value of the model's
    `Masking` layer, or with zeros if the model has no such layer. If all rows of floats have one
    length, and the model has no `Masking` layer and no mask as an input, the rows are not padded.
    The result then names the checks that were left out. Padding is added at the end of each row, or
    in front if `rows` are padded in front. An input is a mask if it holds booleans or has "mask" in
    its name. An input is also a mask if each of its rows consists of 1 and 0 with at most one
    change, and another input has floats for the same steps. A mask with a stride may have fewer
    steps than the other inputs. The length of the mask in `rows` tells how many steps the mask has.

    Args:
        model: Any Keras model.
        rows: A list of rows of any lengths, without a batch axis. A row is an array, or a list or
            dict of arrays for a model with several inputs. Batches, a dict of arrays and a dict of
            lists of rows are allowed too. The mask may be left out if the rows are not padded. A
            few rows are enough.
        tolerance: The largest difference that counts as rounding. With `None` the tolerance is 1e-2
            if a layer computes in half precision, and 1e-4 if no layer does.

    Returns:
        `BatchIndependence`: the differences per row and check, and the first layer that differs.

    Raises:
        ValueError: If `model` is not a Keras model, if `rows` are empty or do not fit the model's
            inputs, or if `tolerance` is not a number above 0.

    Example:

    ```python
    import keras
    import numpy as np
    from keras_attnpool.analysis import batch_independence
    from keras_attnpool.layers import AttentionPooling

    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(50, 8, mask_zero=True)(ids)
    rows = [np.array([4, 8, 15]), np.array([16, 23, 42, 4, 8])]
    assert batch_independence(keras.Model(ids, AttentionPooling()(x)), rows).holds

    mean = keras.ops.mean(x, axis=1)  # padding counts
    leaky = keras.Model(ids, keras.layers.Dense(2)(mean))
    assert not batch_independence(leaky, rows).holds
    ```
    """
    if not isinstance(model, keras.Model):
        raise ArgumentError("model", "be a keras.Model", f"{type(model)}", OWNER)
    if tolerance is None:
        parts = model._flatten_layers()
        half = any(str(part.compute_dtype) in ("float16", "bfloat16") for part in parts)
        tolerance = HALF if half else SINGLE
    tolerance = validate("tolerance", tolerance, POSITIVE, OWNER)
    given = _Rows(model, rows)
    if not model.built:
        model(given.packed(given.alone(0)))
    kept = [variable for variable in model.variables if not variable.trainable]
    values = [np.array(keras.ops.convert_to_numpy(variable.value)) for variable in kept]
    try:
        return _checked(model, given, tolerance)
    finally:
        # These are statistics and seeds, which a faulty model may change when it predicts.
        for variable, value in zip(kept, values, strict=True):
            variable.assign(value)


class _Seen(NamedTuple):
    """A batch, a model's predictions for it, and the current row."""

    inputs: list[Array]
    outputs: list[Array]
    place: int = 0

    def at(self, place: int) -> "_Seen":
        return self._replace(place=place)

    @property
    def row(self) -> list[Array]:
        return [x[self.place] for x in self.outputs]


def _checked(model: keras.Model, rows: "_Rows", tolerance: float) -> BatchIndependence:
    found: list[dict[str, float]] = [{} for _ in range(rows.count)]
    untried = []

    def seen(inputs: list[Array]) -> _Seen:
        outputs = keras.tree.flatten(model.predict_on_batch(rows.packed(inputs)))
        return _Seen(inputs, [np.asarray(x, np.float64) for x in outputs])

    alone = [seen(rows.alone(row)) for row in range(rows.count)]
    largest, place, pair = -1.0, (0, "repeat"), (alone[0], alone[0])

    def compare(check: str, row: int, one: _Seen, other: _Seen) -> None:
        nonlocal largest, place, pair
        difference = rows.difference(row, alone[row].row, one.row, other.row)
        found[row][check] = max(difference, found[row].get(check, 0.0))
        if difference > largest:
            largest, place, pair = difference, (row, check), (one, other)

    batches = [(seen(inputs), members) for inputs, members in rows.batches()]
    for batch, members in batches:
        again = seen(batch.inputs)
        for row in members:
            compare("repeat", row, batch.at(row), again.at(row))
    if largest <= tolerance:  # otherwise the other checks mean nothing
        for batch, members in batches:
            turned = seen([x[::-1] for x in batch.inputs])
            for row in members:
                by_itself = seen([x[row : row + 1] for x in batch.inputs])
                compare("neighbours", row, by_itself, batch.at(row))
                compare("order", row, batch.at(row), turned.at(-1 - row))
                if rows.grow:
                    compare("padding length", row, alone[row], by_itself)
        batch = longest = batches[0][0]
        for extra in EXTRA if rows.grow else ():
            try:
                longest = seen(rows.padded(range(len(rows.rows)), extra))
            except Exception as error:  # a model may limit the length
                reason = str(error).strip().split("\n")[0]
                untried.append(f"The model refused rows that were longer by {extra}: {reason}")
                continue
            for row in range(rows.count):
                compare("padding length", row, batch.at(row), longest.at(row))
        other = rows.with_other_content(longest.inputs)
        if other is not None:
            changed = seen(other)
            for row in range(rows.count):
                compare("padding content", row, longest.at(row), changed.at(row))
        if not rows.pads:
            untried.append(
                "Padding was not tried: rows are of one length, and the model has neither a mask "
                "among its inputs nor a Masking layer."
            )
        elif not rows.grow:
            untried.append("Longer padding was not tried: the model takes rows of one length.")
    row, check = place
    layer = None
    if largest > tolerance:
        own = alone[row].row
        # One prediction of the pair differs from the prediction for the row alone.
        far = max(pair, key=lambda each: rows.difference(row, own, own, each.row))
        near = pair[0] if check == "repeat" else alone[row]
        layer = _first_layer(model, rows, row, near, far, tolerance)
    return BatchIndependence(
        largest <= tolerance, tolerance, found, largest, row, check, layer, tuple(untried)
    )


class _Rows:
    """Holds the rows without padding, and builds batches from them."""

    def __init__(self, model: keras.Model, rows: Any) -> None:
        try:
            self._keys, self.rows = _read(model, rows)
        except ArgumentError as error:
            raise _refused(f"{error.received}") from error
        self.count = len(self.rows)
        if self.count == 1:  # its neighbour is the row itself, reversed
            self.rows.append([x[::-1] if x.ndim else x for x in self.rows[0]])
        inputs, first = _declared(model, self._keys), self.rows[0]
        for declared, x in zip(inputs, first, strict=True):
            if declared is not None and len(declared.shape) != 1 + x.ndim:
                received = f"a row of shape {x.shape} for an input of {tuple(declared.shape)}"
                raise _refused(received)
        layers = model._flatten_layers()
        masking = [x.mask_value for x in layers if isinstance(x, keras.layers.Masking)]
        self._mask_zero = any(getattr(layer, "mask_zero", False) for layer in layers)
        names = [
            str(key) if x is None else x.name for key, x in zip(self._keys, inputs, strict=True)
        ]
        self._masks = [x.dtype == bool or "mask" in n for x, n in zip(first, names, strict=True)]
        if not any(self._masks):
            self._masks = [
                looks_like_masks((row[j], *row[:j], *row[j + 1 :]) for row in self.rows)
                for j in range(len(first))
            ]
        self._floats = [
            x.dtype.kind == "f" and not mask for x, mask in zip(first, self._masks, strict=True)
        ]
        self._values = [masking[0] if masking and floats else 0 for floats in self._floats]
        growing = [self._axes_of(j, inputs[j]) for j in range(len(first))]
        self._growing = growing
        for j, x in enumerate(inputs):
            if x is not None and 0 not in growing[j]:  # the model takes one length
                for row in self.rows:
                    missing = [
                        (0, (n or m) - m) for n, m in zip(x.shape[1:], row[j].shape, strict=True)
                    ]
                    row[j] = _padded(row[j], missing, self._values[j])
        # Inputs with the same number of steps share a time axis.
        lengths = {
            j: tuple(len(row[j]) for row in self.rows)
            for j, x in enumerate(first)
            if 0 in growing[j] or x.ndim > (1 if self._floats[j] else 0)
        }
        self._groups = [
            [j for j in lengths if lengths[j] == each] for each in dict.fromkeys(lengths.values())
        ]
        self._strides = [1] * len(first)
        of_masks = [group for group in self._groups if all(self._masks[j] for j in group)]
        strided = bool(of_masks) and len(self._groups) > 1
        if strided:
            steps, few = (
                max(max(lengths[g[0]]) for g in groups) for groups in (self._groups, of_masks)
            )
            for j in lengths:
                if max(lengths[j]) == steps:
                    self._strides[j] = max(1, round(steps / few))
        masked = (
            bool(masking)
            or strided
            or not any(
                all(self._floats[j] for j in group) and any(growing[j] for j in group)
                for group in self._groups
            )
        )
        self.pads = masked or any(len(set(each)) > 1 for each in lengths.values())
        self.grow = self.pads and any(growing)
        self._front = False
        self._kept: list[dict[int, Bools]] = [{} for _ in self.rows]
        if masked and not strided:
            self._trim()

    def _axes_of(self, j: int, declared: Any) -> list[int]:
        """The axes along which rows of this input may be longer or shorter."""
        if declared is not None:
            return [axis for axis, size in enumerate(declared.shape[1:]) if size is None]
        x = self.rows[0][j]
        axes = {
            axis for axis in range(x.ndim) if len({row[j].shape[axis] for row in self.rows}) > 1
        }
        is_float = self._floats[j]
        if x.ndim > (1 if is_float and not any(self._masks) else 0) and (is_float or x.ndim < 3):
            axes.add(0)  # integers with three axes are pixels
        return sorted(axes)

    def _trim(self) -> None:
        """Removes the padding at both ends, and stores its side and the kept steps."""
        front = behind = False
        for group in self._groups:
            masks = [j for j in group if self._masks[j]]
            for row, kept in zip(self.rows, self._kept, strict=True):
                keep = np.any([_steps(row[j] != self._values[j]) for j in masks or group], axis=0)
                first, stop = (0, 1)
                if keep.any():
                    first, stop = int(keep.argmax()), len(keep) - int(keep[::-1].argmax())
                    front, behind = front or first > 0, behind or stop < len(keep)
                for j in group:
                    if 0 in self._growing[j]:
                        row[j] = row[j][first:stop]
                    kept[len(row[j])] = keep[first:stop] if len(row[j]) < len(keep) else keep
        self._front = front and not behind

    def packed(self, inputs: list[Array]) -> Any:
        """Inputs in the structure that the model takes."""
        if self._keys == [None]:
            return inputs[0]
        if isinstance(self._keys[0], int):
            return list(inputs)
        return dict(zip(self._keys, inputs, strict=True))

    def alone(self, row: int) -> list[Array]:
        """A batch of one row without padding."""
        return self.padded([row])

    def padded(self, rows: Sequence[int], extra: int = 0) -> list[Array]:
        """Pads rows to a few steps more than the longest row. Returns the batch."""
        batch = []
        for j, value in enumerate(self._values):
            sizes = np.max([self.rows[row][j].shape for row in rows], axis=0, initial=0).astype(int)
            sizes[self._growing[j]] += extra * self._strides[j]
            padded = []
            for row in rows:
                missing = sizes - self.rows[row][j].shape
                ends = [(n, 0) if self._front else (0, n) for n in missing]
                padded.append(_padded(self.rows[row][j], ends, value))
            batch.append(np.stack(padded))
        return batch

    def batches(self) -> list[tuple[list[Array], list[int]]]:
        """All rows in one batch, or one batch per length if the rows cannot be padded."""
        if self.pads or not self._groups:
            return [(self.padded(range(len(self.rows))), list(range(self.count)))]
        shapes = [tuple(x.shape for x in row) for row in self.rows]
        batches = []
        for wanted in dict.fromkeys(shapes[: self.count]):
            rows = [[_fitted(*each) for each in zip(row, wanted, strict=True)] for row in self.rows]
            batch = [np.stack(each) for each in zip(*rows, strict=True)]
            batches.append((batch, [i for i in range(self.count) if shapes[i] == wanted]))
        return batches

    def with_other_content(self, inputs: list[Array]) -> list[Array] | None:
        """The batch with random content at masked steps; `None` if no step is masked."""
        random, changed, any_dropped = np.random.default_rng(0), list(inputs), False
        for group in self._groups:
            masks = [_steps(inputs[j], 2) for j in group if self._masks[j]]
            dropped = ~np.any(masks, axis=0) if masks else np.zeros(1, bool)
            for j in group if dropped.any() else ():
                x = inputs[j]
                if self._floats[j]:
                    size = 1 + np.abs(np.nan_to_num(x)).max()
                    other = random.normal(size=x.shape) * size
                elif not self._masks[j] and not self._mask_zero:
                    other = random.choice(np.unique(x), x.shape)
                else:
                    continue
                keep = ~dropped.reshape(*dropped.shape, *[1] * (x.ndim - 2))
                changed[j], any_dropped = np.where(keep, x, other).astype(x.dtype), True
        return changed if any_dropped else None

    def difference(
        self,
        row: int,
        own: list[Array],
        one: list[Array],
        other: list[Array],
        least: float = 1,
    ) -> float:
        """The largest difference at the row's steps, relative to the size of the output.

        `own` is the output for the row alone. `one` and `other` are longer if their batches have
        more steps. Only the row's steps are compared. Sizes below `least` count as `least`.
        """
        found = [0.0]
        for like, *both in zip(own, one, other, strict=True):
            if any(x.ndim != like.ndim or (np.array(x.shape) < like.shape).any() for x in both):
                return np.inf
            a, b = (self._own_steps(row, x, like.shape) for x in both)
            with np.errstate(invalid="ignore"):
                apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
            size = float(np.abs(a[np.isfinite(a)]).max(initial=least))
            found.append(float(np.nan_to_num(apart, nan=np.inf).max(initial=0)) / size)
        return max(found)

    def _own_steps(self, row: int, x: Array, shape: tuple[int, ...]) -> Array:
        longer = x.ndim > 1 or x.shape != shape
        x = x[tuple(slice(-n if n else 0, None) if self._front else slice(n) for n in shape)]
        keep = self._kept[row].get(shape[0]) if shape and longer else None
        return x if keep is None else x[keep]


def _padded(x: Array, ends: list[tuple[int, int]], value: float) -> Array:
    """The array with padding at both ends of each axis; a number gets no padding."""
    return np.pad(x, ends, constant_values=value) if x.ndim else x


def _steps(x: Array, axes: int = 1) -> Bools:
    """Whether each step has an entry that is not 0. The first `axes` axes count steps."""
    return np.asarray((x != 0).any(axis=tuple(range(axes, x.ndim))))


def _fitted(x: Array, shape: tuple[int, ...]) -> Array:
    """The array, cropped or repeated to a shape."""
    for axis, size in enumerate(shape):
        x = x.take(np.arange(size), axis, mode="wrap")
    return x


def _read(model: keras.Model, rows: Any) -> tuple[list[Any], list[list[Array]]]:
    """The keys of the inputs (`[None]` for a single input), and the rows, one array per input."""
    ranks = [len(x.shape) for x in getattr(model, "inputs", None) or []]
    if not isinstance(rows, list | tuple):
        return _prepared(model, rows)
    if not rows:
        raise _refused("no row")
    if all(isinstance(row, dict) or (len(ranks) != 1 and _is_structure(row)) for row in rows):
        is_named = isinstance(rows[0], dict)
        keys = list(rows[0]) if is_named else list(range(len(rows[0])))
        if is_named and len(keys) < len(ranks):
            return _prepared(model, {key: [row[key] for row in rows] for key in keys})
        return keys, [[array_of(row[key], OWNER) for key in keys] for row in rows]
    arrays = [array_of(row, OWNER) for row in rows]
    kinds = {(x.ndim, x.dtype.kind) for x in arrays}
    is_batch = [x.ndim for x in arrays] == ranks if ranks else len(kinds) > 1
    if is_batch or len(ranks) > 1:
        return _prepared(model, arrays)
    return [None], [[x] for x in arrays]


def _prepared(model: keras.Model, rows: Any) -> tuple[list[Any], list[list[Array]]]:
    """Turns batches, dicts of lists of rows and rows without a mask into complete rows."""
    given = Inputs(model, rows, OWNER, 32, of_steps=False)
    if getattr(model, "inputs", None) and len(given.leaves) != len(model.inputs):
        raise _refused(f"{len(given.leaves)} arrays for {len(model.inputs)} inputs")
    alone = isinstance(given.structure, np.ndarray) and len(given.leaves) == 1
    keys = [None] if alone else list(given.leaves)
    read = [[x[row] for x in given.leaves.values()] for row in range(given.count)]
    if given.lengths is not None:
        cut = [key in (given.steps, given.kept_by) for key in given.leaves]
        read = [
            [x[:length] if is_cut else x for x, is_cut in zip(row, cut, strict=True)]
            for row, length in zip(read, given.lengths.tolist(), strict=True)
        ]
    return keys, read


def _refused(received: str) -> ArgumentError:
    must = (
        "be a list of single inputs, lists or dicts of arrays for a model of several inputs, or "
        "the arrays that predict takes"
    )
    return ArgumentError("rows", must, received, OWNER)


def _is_structure(row: Any) -> bool:
    return isinstance(row, list | tuple) and any(hasattr(x, "shape") for x in row)


def _declared(model: keras.Model, keys: list[Any]) -> list[Any]:
    """The tensors that a model declares as its inputs, or `None` for each input."""
    inputs = getattr(model, "inputs", None)
    # A Sequential model that was built by a call knows only the shapes of this call.
    if not inputs or any(x.shape[0] is not None for x in inputs):
        return [None] * len(keys)
    if isinstance(keys[0], str):
        named = {x.name: x for x in inputs}
        named |= model.input if isinstance(model.input, dict) else {}
        return [named.get(key) for key in keys]
    if len(keys) != len(inputs):
        raise _refused(f"{len(keys)} arrays a row for {len(inputs)} inputs")
    return list(inputs)


class _Call:
    """A call of a layer or an operation, with the inputs and outputs for one row."""

    def __init__(self, operation: Any) -> None:
        self.name = getattr(operation, "name", "")
        self.is_model = not isinstance(operation, keras.Layer) or isinstance(operation, keras.Model)
        self.inside: list[_Call] = []
        self.given: list[Array | None] = []
        self.returned: list[Array | None] = []


def _first_layer(
    model: keras.Model, rows: _Rows, row: int, own: _Seen, other: _Seen, tolerance: float
) -> str:
    """The path of the first call with different outputs at the row's steps, or the model's path."""
    calls = [_calls(model, rows.packed(x.inputs), len(x.inputs[0]), x.place) for x in (own, other)]

    def differ(one: list[Array | None], other: list[Array | None]) -> bool:
        both = [(x, y) for x, y in zip(one, other, strict=False) if x is not None and y is not None]
        like = [x for x, _ in both]
        # Later layers may enlarge small numbers.
        return rows.difference(row, like, like, [y for _, y in both], SMALL) > tolerance

    def path(one: _Call, other: _Call) -> str:
        # A recurrent layer calls its cell once per step.
        if len(one.inside) == len(other.inside):
            for a, b in zip(one.inside, other.inside, strict=True):
                # The cause may be an operation between the parts of a layer.
                if differ(a.returned, b.returned):
                    if one.is_model or not differ(a.given, b.given):
                        return "/".join(filter(None, [a.name, path(a, b)]))
                    break
        return ""

    return path(*calls) or model.name


def _calls(model: keras.Model, inputs: Any, size: int, index: int) -> _Call:
    """Runs a model call by call, and keeps the inputs and outputs of each call for one row."""
    stack = [_Call(None)]

    def of_the_row(structure: Any) -> list[Array | None]:
        return [
            np.asarray(keras.ops.convert_to_numpy(x), np.float64)[index]
            if keras.ops.is_tensor(x) and len(x.shape) and x.shape[0] == size and _has_values(x)
            else None
            for x in keras.tree.flatten(structure)
        ]

    def call(original: Any, operation: Any, args: Any, kwargs: Any) -> Any:
        here = _Call(operation)
        stack[-1].inside.append(here)
        stack.append(here)
        try:
            outputs = original(operation, *args, **kwargs)
        finally:
            stack.pop()
        here.given, here.returned = of_the_row((args, kwargs)), of_the_row(outputs)
        return outputs

    takes_training = "training" in inspect.signature(model.call).parameters
    with _LOCK, _observed(call):
        tensors = keras.tree.map_structure(keras.ops.convert_to_tensor, inputs)
        model(tensors, **({"training": False} if takes_training else {}))
    return stack[0].inside[0]


@contextmanager
def _observed(call: Callable[..., Any]) -> Iterator[None]:
    """Passes this thread's calls of operations to `call(original, operation, args, kwargs)`."""
    thread = threading.get_ident()
    originals = {kind: kind.__call__ for kind in (keras.Operation, keras.Layer)}

    def around(kind: Any) -> Any:
        def through(self: Any, *args: Any, **kwargs: Any) -> Any:
            # A layer is an operation as well, so it appears twice.
            mine = isinstance(self, keras.Layer) == (kind is keras.Layer)
            if not mine or threading.get_ident() != thread:
                return originals[kind](self, *args, **kwargs)
            return call(originals[kind], self, args, kwargs)

        return through

    try:
        for kind in originals:
            kind.__call__ = around(kind)
        yield
    finally:
        for kind, original in originals.items():
            kind.__call__ = original


def _has_values(tensor: Any) -> bool:
    """Whether the tensor has values, unlike a placeholder of a traced function."""
    try:
        keras.ops.convert_to_numpy(tensor[:0])
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return False
    return True
