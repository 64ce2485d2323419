"""Computing the rows of a batch that matter."""

from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool.ops.devices import torch_traces
from keras_attnpool.types import Tensor


def rows_at_hand(keep: Tensor) -> npt.NDArray[Any] | None:
    """The numbers of the rows that are kept, where they can be known before computing.

    An eager call may compute these rows alone. A compiled function has to be the same for every
    batch: its shapes cannot depend on which rows are kept. JAX compiles every shape anew even in an
    eager call, which costs more than the rows do.

    Args:
        keep: Boolean tensor `(rows,)`.

    Returns:
        Integer array of the kept rows in order, or `None` on JAX and inside a compiled or traced
        function.
    """
    if keras.config.backend() == "jax" or torch_traces():
        return None
    try:
        return np.flatnonzero(keras.ops.convert_to_numpy(keep))
    except (AttributeError, NotImplementedError):  # a tensor of a TensorFlow graph has no values
        return None
