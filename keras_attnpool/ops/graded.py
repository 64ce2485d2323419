"""Turns graded scores, such as relatedness from 1 to 5, into distributions over integer grades."""

from typing import Any

import numpy as np
from keras import ops

from keras_attnpool._checks import ArgumentError, integer, validate
from keras_attnpool.ops.masking import at_least_float32
from keras_attnpool.types import Tensor

GRADES = integer(2)
# A tuple, because torch.compile cannot trace a union with NumPy types.
_NO_TENSOR = (np.ndarray, np.generic, list, tuple, float, int)


def score_distribution(scores: Tensor, num_scores: int) -> Tensor:
    """Turns scores in [1, K] into distributions over the grades 1 to K.

    A score y between two grades is divided between both grades, so that the expected grade is y:

        p_i = y - floor(y)      for i = floor(y) + 1
        p_i = floor(y) - y + 1  for i = floor(y)
        p_i = 0                 otherwise

    These three cases are the same as `p_i = max(0, 1 - |y - i|)`. Use this distribution as the
    target of a softmax over K grades, with the Kullback-Leibler divergence as the loss.
    `expected_score` turns the predicted distribution into the predicted score.

    NumPy arrays and Python numbers are checked. Tensors are not checked: a score outside of [1, K]
    in a tensor gives a row that does not sum to 1.

    Args:
        scores: Numbers of any shape `(...)`, each in [1, K].
        num_scores: Number K of grades, 2 or more.

    Returns:
        Tensor `(..., K)`, in float32 or float64. Each row is >= 0 and sums to 1. Entry i - 1
        belongs to grade i.

    Raises:
        ValueError: If `num_scores` is not an integer of 2 or more, or if a checked score lies
            outside of [1, K].

    Example:

    >>> from keras_attnpool import ops
    >>> [[float(p) for p in row] for row in ops.score_distribution([3.25, 5.0], 5)]
    [[0.0, 0.0, 0.75, 0.25, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]

    Reference:
        Tai, Socher and Manning (2015), Improved semantic representations from tree-structured
        long short-term memory networks, section 4.2.
    """
    validate("num_scores", num_scores, GRADES, "score_distribution")
    if isinstance(scores, _NO_TENSOR):
        _check_scores(scores, num_scores)
    scores = ops.expand_dims(at_least_float32(scores), -1)
    grades = ops.arange(1, int(num_scores) + 1, dtype=scores.dtype)
    return ops.relu(1 - ops.abs(scores - grades))


def expected_score(probabilities: Tensor) -> Tensor:
    """Computes the expected grade `sum_i i p_i` of distributions over the grades 1 to K.

    This function is the inverse of `score_distribution`.

    Args:
        probabilities: Tensor `(..., K)`, whose rows sum to 1. Entry i - 1 belongs to grade i.

    Returns:
        Tensor `(...)`, in float32 or float64, in [1, K].

    Example:

    >>> from keras_attnpool import ops
    >>> float(ops.expected_score([0.0, 0.0, 0.75, 0.25, 0.0]))
    3.25

    Reference:
        Tai, Socher and Manning (2015), Improved semantic representations from tree-structured
        long short-term memory networks, section 4.2.
    """
    probabilities = at_least_float32(probabilities)
    grades = ops.arange(1, probabilities.shape[-1] + 1, dtype=probabilities.dtype)
    return ops.sum(probabilities * grades, axis=-1)


def _check_scores(scores: Any, num_scores: int) -> None:
    array = np.asarray(scores, dtype="float64")
    outside = ~((array >= 1) & (array <= num_scores))  # also for NaN
    if outside.any():
        must, received = f"be in [1, {num_scores}]", f"{array[outside].flat[0]:g}"
        raise ArgumentError("scores", must, received, "score_distribution")
