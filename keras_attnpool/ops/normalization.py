"""Normalisation that is safe where a vector is zero."""

from keras import ops

from keras_attnpool.ops._devices import threshold
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
    # `threshold` is their maximum with EPSILON, whose gradient is one operation, where that of
    # `maximum` is five. A zero vector is scaled by 0, so that it has no gradient.
    scale = ops.rsqrt(threshold(squares, EPSILON, EPSILON))
    return x * ops.multiply(scale, squares > 0)


def layer_normalize(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """Layer norm of the last axis with epsilon 1e-6, in float32 at least.

    `keras.ops.layer_normalization` has wrong second derivatives on TensorFlow, whose variance takes
    the mean for a constant.

    Args:
        x: Float tensor `(..., dim)`.
        gamma: Float tensor `(dim,)`, the scale.
        beta: Float tensor `(dim,)`, the offset.

    Returns:
        A tensor like `x`, at least float32.
    """
    x = at_least_float32(x)
    x = x - ops.mean(x, axis=-1, keepdims=True)
    scale = ops.rsqrt(ops.mean(ops.square(x), axis=-1, keepdims=True) + 1e-6)
    return x * scale * at_least_float32(gamma) + at_least_float32(beta)
