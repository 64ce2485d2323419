"""Selects steps in a separate order for each row."""

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

from keras_attnpool.ops._devices import LARGEST_CONSTANT, constant, torch_traces
from keras_attnpool.ops._rows import empty_batch_safe
from keras_attnpool.ops.masking import highest_along, zero_masked
from keras_attnpool.types import Tensor


def take_steps(x: Tensor, steps: Tensor) -> Tensor:
    """Returns the given steps of each row.

    Args:
        x: Tensor `(batch, time, ...)`.
        steps: Integers >= 0 `(batch, n)`, or `(1, n)` for the same steps in all rows.

    Returns:
        Tensor `(batch, n, ...)`.
    """
    x, steps = ops.convert_to_tensor(x), ops.convert_to_tensor(steps)
    if torch_traces():
        # `ops.take_along_axis` would call `take_along_dim`, which PyTorch cannot export to ONNX.
        return x[ops.expand_dims(ops.arange(0, ops.shape(x)[0], dtype="int32"), 1), steps]
    for _ in range(len(x.shape) - 2):
        steps = ops.expand_dims(steps, -1)
    if keras.backend.backend() == "torch":
        # Keras would handle steps below 0 with five more operations.
        shape = (x.shape[0], steps.shape[1], *x.shape[2:])
        return sys.modules["torch"].gather(x, 1, steps.long().expand(shape))
    if x.shape[0] == 0:
        steps = steps[:0]
    return empty_batch_safe(
        lambda rows, chosen: ops.take_along_axis(rows, chosen, axis=1), x, steps
    )


def counted(start: Any, stop: Any) -> Tensor:
    """Returns the integers from `start` to `stop - 1` as `(1, n)`, int64 on PyTorch."""
    dtype = "int64" if keras.backend.backend() == "torch" else "int32"
    return ops.expand_dims(ops.arange(start, stop, dtype=dtype), 0)


def before_first(mask: Tensor) -> Tensor:
    """Counts the steps before the first kept step, `(batch, 1)`; an empty row counts all steps.

    The mask is boolean, `(batch, time)`.
    """
    time = ops.shape(mask)[1]
    to_end = ops.multiply(mask, constant(("to end", time), mask, lambda: time - counted(0, time)))
    return time - ops.expand_dims(highest_along(to_end, 1), 1)


def front_first(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Returns an order of the steps with the first kept step in front, and the inverse order.

    The steps before the first kept step move to the end. `take_steps` applies both orders.
    """
    time, before = ops.shape(mask)[1], before_first(mask)
    steps = counted(0, time)
    return (steps + before) % time, (steps + (time - before)) % time


def looked_up(
    name: Any,
    keys: Tensor,
    count: Any,
    widths: Sequence[Any],
    compute: Callable[[Tensor], Sequence[Tensor]],
) -> Sequence[Tensor]:
    """Returns `compute(keys)`; on PyTorch, from a cached table of all keys where possible.

    Args:
        name: Hashable name of the computation.
        keys: Integers `(n, 1)` from 0 to `count - 1`.
        count: Number of possible keys, or a tensor if this number is unknown.
        widths: Number of columns of each computed tensor.
        compute: Function from keys `(n, 1)` to integer tensors `(n, columns)`.
    """
    # A number that PyTorch traces is not an integer.
    few = isinstance(count, int) and count * sum(widths) <= LARGEST_CONSTANT
    if keras.backend.backend() != "torch" or torch_traces() or not few:
        return compute(keys)
    table = constant(
        name, keys, lambda: ops.concatenate(compute(ops.transpose(counted(0, count))), axis=1)[None]
    )
    rows = take_steps(table, ops.transpose(keys))[0]
    ends = list(itertools.accumulate(widths))
    return [rows[:, end - width : end] for width, end in zip(widths, ends, strict=True)]


def first_step(x: Tensor, mask: Tensor | None) -> Tensor:
    """Returns each row's first kept step, or zeros if the row has none.

    `x` is `(batch, time, ...)`, and `mask` is boolean `(batch, time)` or `None`.
    """
    return x[:, 0] if mask is None else ops.sum(zero_masked(x, _is_first(mask)), axis=1)


def last_step(x: Tensor, mask: Tensor | None) -> Tensor:
    """Returns the last kept step of each row, like `first_step`."""
    if mask is None:
        return x[:, -1]
    is_last = ops.flip(_is_first(ops.flip(mask, axis=1)), axis=1)
    return ops.sum(zero_masked(x, is_last), axis=1)


def _is_first(mask: Tensor) -> Tensor:
    kept = ops.cast(mask, "int32")
    return ops.logical_and(mask, ops.equal(ops.cumsum(kept, axis=1), 1))
