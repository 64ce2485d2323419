"""Computations on only the kept rows, and on an empty batch."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool.ops._devices import torch_traces, values_at_hand
from keras_attnpool.types import Tensor


def rows_at_hand(keep: Tensor) -> npt.NDArray[Any] | None:
    """Returns the indices of the rows that a mask `(rows,)` keeps, or `None`.

    With the indices, an eager call can compute only these rows. The result is `None` in a compiled
    or traced function, whose shapes cannot depend on the mask. The result is also `None` on JAX,
    which compiles every new shape even in an eager call: compilation takes more time than the
    additional rows.
    """
    values = None if keras.config.backend() == "jax" else values_at_hand(keep)
    return None if values is None else np.flatnonzero(values)


def empty_batch_safe(compute: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """Returns `compute(*tensors)`, even for an empty batch.

    Some operations fail for an empty batch. On a CPU, TensorFlow fails in a maximum, a convolution
    and an LSTM. Keras 3.16 fails in a maximum on every backend. JAX 0.4 fails when it picks steps
    by index. So for an empty batch this function computes one row of zeros, and removes that row
    from the result.

    Args:
        compute: Function from tensors `(batch, ...)` to one tensor `(batch, ...)`. The function
            must compute each row separately.
        *tensors: The tensors.

    Returns:
        The tensor `(batch, ...)`.

    Example:

    >>> import keras
    >>> from keras_attnpool import ops
    >>> nothing = keras.ops.zeros((0, 3, 2))
    >>> highest = ops.empty_batch_safe(lambda x: keras.ops.max(x, axis=1), nothing)
    >>> tuple(highest.shape)
    (0, 2)
    """
    if torch_traces() or tensors[0].shape[0] != 0:
        return compute(*tensors)
    one_row = (keras.ops.pad(x, [(0, 1)] + [(0, 0)] * (len(x.shape) - 1)) for x in tensors)
    return compute(*one_row)[:0]
