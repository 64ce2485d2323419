"""Computations on only the kept rows, and on an empty batch."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool.ops._devices import torch_traces, values_at_hand
from keras_attnpool.types import Tensor


def rows_at_hand(keep: Tensor) -> npt.NDArray[Any] | None:
    """Returns the indices of the rows that a mask `(rows,)` keeps, if the mask can be read.

    An eager call may then compute only these rows. The shapes of a compiled function cannot depend
    on the kept rows. JAX compiles every new shape even in an eager call. Compilation takes more
    time than the additional rows. So the result is `None` on JAX and in a compiled or traced
    function.
    """
    values = None if keras.config.backend() == "jax" else values_at_hand(keep)
    return None if values is None else np.flatnonzero(values)


def empty_batch_safe(compute: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """Returns `compute(*tensors)`, even for an empty batch.

    Some operations fail for an empty batch. TensorFlow on a CPU fails in maximum, convolution and
    LSTM. Keras 3.16 fails in any maximum. JAX 0.4 fails when it takes steps. So the function
    computes a row of zeros and drops its result.

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
