"""Steps of each row, in an order of its own."""

from keras import ops

from keras_attnpool.ops._devices import torch_traces
from keras_attnpool.ops._rows import of_any_rows
from keras_attnpool.ops.masking import zero_masked
from keras_attnpool.types import Tensor


def take_steps(x: Tensor, steps: Tensor) -> Tensor:
    """The steps of each row that `steps` names.

    Args:
        x: Tensor `(batch, time, ...)`.
        steps: Integers `(batch, n)`, or `(1, n)` for all rows alike.

    Returns:
        Tensor `(batch, n, ...)`.
    """
    x, steps = ops.convert_to_tensor(x), ops.convert_to_tensor(steps)
    if torch_traces():
        # Keras would call `take_along_dim`, which PyTorch cannot export to ONNX.
        return x[ops.expand_dims(ops.arange(0, ops.shape(x)[0], dtype="int32"), 1), steps]
    for _ in range(len(x.shape) - 2):
        steps = ops.expand_dims(steps, -1)
    if x.shape[0] == 0:
        steps = steps[:0]
    return of_any_rows(lambda rows, chosen: ops.take_along_axis(rows, chosen, axis=1), x, steps)


def first_step(x: Tensor, mask: Tensor | None) -> Tensor:
    """The first kept step of each row, zeros where there is none.

    Of a tensor `(batch, time, ...)` and a boolean mask `(batch, time)` or `None`.
    """
    return x[:, 0] if mask is None else ops.sum(zero_masked(x, _is_first(mask)), axis=1)


def last_step(x: Tensor, mask: Tensor | None) -> Tensor:
    """The last kept step of each row; see `first_step`."""
    if mask is None:
        return x[:, -1]
    is_last = ops.flip(_is_first(ops.flip(mask, axis=1)), axis=1)
    return ops.sum(zero_masked(x, is_last), axis=1)


def _is_first(mask: Tensor) -> Tensor:
    kept = ops.cast(mask, "int32")
    return ops.logical_and(mask, ops.equal(ops.cumsum(kept, axis=1), 1))
