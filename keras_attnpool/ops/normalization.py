"""Normalisation that is safe where a vector is zero."""

from keras import ops

from keras_attnpool.ops.masking import at_least_float32
from keras_attnpool.types import Tensor

EPSILON = 1e-8


def l2_normalize(x: Tensor, axis: int = -1) -> Tensor:
    """Scales vectors to length 1; a zero vector stays zero and has a zero gradient.

    `x * rsqrt(max(sum(x^2), 1e-8))`, in float32 at least: exact for every vector longer than
    1e-4, shorter ones are scaled by the constant 1e4, so that the gradient stays finite
    (`x / norm(x)` and `keras.ops.normalize` give NaN or an arbitrary one at zero).

    Args:
        x: Float tensor.
        axis: The axis that holds the vectors' components.

    Returns:
        A tensor like `x`, at least float32.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool import ops
    >>> [round(float(v), 4) for v in ops.l2_normalize(np.array([3.0, 4.0], "float32"))]
    [0.6, 0.8]
    """
    x = at_least_float32(x)
    squares = ops.sum(ops.square(x), axis=axis, keepdims=True)
    scaled = x * ops.rsqrt(ops.maximum(squares, EPSILON))
    return ops.where(squares > 0, scaled, ops.zeros((), dtype=x.dtype))
