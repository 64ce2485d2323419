"""Sparse alternatives to softmax over the kept entries: exact sparsemax and 1.5-entmax."""

from keras import ops

from keras_attnpool.ops._devices import scalar_like
from keras_attnpool.ops._rows import empty_batch_safe
from keras_attnpool.ops.masking import _as_bool, _lowest, at_least_float32, highest_along
from keras_attnpool.types import Tensor


def masked_sparsemax(logits: Tensor, mask: Tensor | None = None, axis: int = -1) -> Tensor:
    """Computes sparsemax over the kept entries: `max(z - tau, 0)`, whose sum is 1.

    Most weights are exactly 0. An entry has weight 0 and no gradient if it is 1 or more below the
    largest entry of its row. The weights are computed in float32 or float64.

    Args:
        logits: Float tensor.
        mask: Boolean tensor that broadcasts to `logits`, or `None`. True keeps a logit.
        axis: The axis to normalise.

    Returns:
        Weights with the shape of `logits`, in float32 or float64. The weights are >= 0 and sum to 1
        over the kept entries of each row. Masked entries and rows without a kept entry have weights
        of exactly 0.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool import ops
    >>> weights = ops.masked_sparsemax(np.array([[0.5, 0.0, -1.0, 9.0]]), np.array([[1, 1, 1, 0]]))
    >>> [float(w) for w in weights[0]]
    [0.75, 0.25, 0.0, 0.0]
    """
    return _sparse(logits, mask, axis, power=1)


def masked_entmax15(logits: Tensor, mask: Tensor | None = None, axis: int = -1) -> Tensor:
    """Computes 1.5-entmax over the kept entries: `max(z / 2 - tau, 0)^2`, whose sum is 1.

    The result lies between softmax and sparsemax. An entry has weight 0 and no gradient if it is 2
    or more below the largest entry of its row. The weights are computed in float32 or float64.

    Args:
        logits: Float tensor.
        mask: Boolean tensor that broadcasts to `logits`, or `None`. True keeps a logit.
        axis: The axis to normalise.

    Returns:
        Weights with the shape of `logits`, in float32 or float64. The weights are >= 0 and sum to 1
        over the kept entries of each row. Masked entries and rows without a kept entry have weights
        of exactly 0.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool import ops
    >>> weights = ops.masked_entmax15(np.array([[0.4, 0.0, -2.0, 9.0]]), np.array([[1, 1, 1, 0]]))
    >>> [round(float(w), 2) for w in weights[0]]
    [0.64, 0.36, 0.0, 0.0]
    """
    return _sparse(logits, mask, axis, power=2)


def _sparse(logits: Tensor, mask: Tensor | None, axis: int, power: int) -> Tensor:
    """Computes `max(z / power - tau, 0)^power`, with the tau that makes a row sum to 1."""
    mask = _as_bool(mask, "masked_sparsemax" if power == 1 else "masked_entmax15")
    z = at_least_float32(logits) / power
    kept = ops.ones_like(z, "bool")
    kept = kept if mask is None else ops.logical_and(kept, mask)
    z, kept = ops.swapaxes(z, axis, -1), ops.swapaxes(kept, axis, -1)
    highest = highest_along(ops.stop_gradient(ops.where(kept, z, _lowest(z))), -1)
    z = z - ops.expand_dims(highest, -1)
    # An entry 1 below the maximum has weight 0. Such entries and masked entries are replaced by -2.
    # So the sums contain no large numbers and no masked values. Sums of many -2 are exact, and sums
    # of many -1.3 would not be exact. A kept NaN is not replaced.
    far = scalar_like(-2.0, z)
    z = ops.where(ops.logical_or(ops.logical_not(kept), z <= -1), far, z)
    support = empty_batch_safe(lambda z: _support(z, power), ops.stop_gradient(z))
    # The support has no gradient. The threshold has a closed form in the entries of the support, so
    # its gradient is exact without a custom rule.
    count = ops.sum(support, axis=-1, keepdims=True)
    mean = ops.sum(support * z, axis=-1, keepdims=True) / count
    if power == 1:
        height = 1 / count
    else:
        left = 1 - ops.sum(support * ops.square(z - mean), axis=-1, keepdims=True)
        # Without rounding errors, this is at least `1 / count`.
        height = ops.sqrt(ops.where(left * count < 1, 1 / count, left) / count)
    above = ops.relu(z - mean + height)
    # `** power` would be wrong, because TensorFlow's second derivative of `x ** 1` is NaN at 0
    # (docs/upstream/tensorflow-power.md).
    weights = support * (above if power == 1 else ops.square(above))
    return ops.swapaxes(ops.where(kept, weights, scalar_like(0, z)), axis, -1)


def _support(z: Tensor, power: int) -> Tensor:
    """Returns 1 for entries of `z` with a weight, else 0; each row of `z` has the maximum 0."""
    falling = -ops.sort(-z, axis=-1)
    count = ops.cumsum(ops.ones_like(falling), axis=-1)
    mean = ops.cumsum(falling, axis=-1) / count
    # For each entry, the threshold at which the entries up to it would sum to 1.
    if power == 1:
        tau = mean - 1 / count
    else:
        left = 1 - ops.cumsum(ops.square(falling), axis=-1) + count * ops.square(mean)
        tau = mean - ops.sqrt(ops.relu(left) / count)
    smallest = ops.amin(ops.where(falling > tau, falling, ops.zeros_like(falling)), axis=-1)
    return ops.cast(z >= ops.expand_dims(smallest, -1), z.dtype)
