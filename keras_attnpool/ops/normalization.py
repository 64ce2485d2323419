"""Normalisation that is safe for zero vectors."""

import math

import keras
from keras import ops

from keras_attnpool.ops._devices import threshold, torch_traces
from keras_attnpool.ops.masking import at_least_float32
from keras_attnpool.types import Tensor

EPSILON = 1e-8


def l2_normalize(x: Tensor, axis: int = -1) -> Tensor:
    """Scales vectors to length 1; a zero vector stays zero and has a zero gradient.

    The result is `x * rsqrt(max(sum(x^2), 1e-8))`, in float32 or float64. Vectors longer than 1e-4
    get the length 1. Shorter vectors are multiplied by 1e4, so that the gradient stays finite. At
    zero, `x / norm(x)` and `keras.ops.normalize` have gradients that are NaN or arbitrary.

    Args:
        x: Float tensor.
        axis: The axis of the vectors' components.

    Returns:
        A tensor like `x`, in float32 or float64.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool import ops
    >>> [round(float(v), 4) for v in ops.l2_normalize(np.array([3.0, 4.0], "float32"))]
    [0.6, 0.8]
    """
    x = at_least_float32(x)
    squares = ops.sum(ops.square(x), axis=axis, keepdims=True)
    # A zero vector is scaled by 1 / inf, so it has no gradient. The second `threshold` is the
    # maximum with EPSILON. Its gradient takes one operation. The gradient of `maximum` takes five.
    squares = threshold(threshold(squares, 0, math.inf), EPSILON, EPSILON)
    return x * ops.rsqrt(squares)


def layer_normalize(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """Computes the layer norm of the last axis with epsilon 1e-6, in float32 or float64.

    PyTorch uses `keras.ops.layer_normalization`, which is one operation there. PyTorch cannot
    convert this operation to ONNX for unknown sizes, so a traced call computes the equation step by
    step. Other backends also compute the equation: on TensorFlow, `keras.ops.layer_normalization`
    turns float64 into float32, and has wrong second derivatives.

    Args:
        x: Float tensor `(..., dim)`.
        gamma: Float tensor `(dim,)`, the scale.
        beta: Float tensor `(dim,)`, the offset.

    Returns:
        A tensor like `x`, in float32 or float64.
    """
    x = at_least_float32(x)
    single = keras.backend.standardize_dtype(x.dtype) == "float32"
    if keras.backend.backend() == "torch" and single and not torch_traces():
        return ops.layer_normalization(x, gamma, beta, axis=-1, epsilon=1e-6)
    x = x - ops.mean(x, axis=-1, keepdims=True)
    scale = ops.rsqrt(ops.mean(ops.square(x), axis=-1, keepdims=True) + 1e-6)
    return x * scale * at_least_float32(gamma) + at_least_float32(beta)
