"""Attention from every step to the others by additive scores, for whole vectors or each feature."""

from collections.abc import Callable

from keras import ops

from keras_attnpool.ops.masking import at_least_float32
from keras_attnpool.ops.vector_pooling import softmax_terms
from keras_attnpool.types import Tensor


def additive_attention(
    source: Tensor,
    target: Tensor,
    values: Tensor,
    score: Callable[[Tensor], Tensor],
    mask: Tensor | None = None,
    allowed: Tensor | None = None,
    penalty: Tensor | None = None,
    return_attention_scores: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Each step's weighted sum of the steps that it may attend to.

    `output_j = sum_i softmax_i(score(source_i + target_j) - penalty_ji) * values_i`, over the kept
    and allowed steps `i`.

    With one score a pair nothing larger than `(batch, time, time)` is made; with one for each
    feature that table has `dim` as its last axis.

    Args:
        source: Float tensor `(batch, time, 1)`, or `(batch, time, dim)` for a score of each
            feature: what a step adds to a score as the one attended to.
        target: Like `source`: what a step adds as the one that attends.
        values: Float tensor `(batch, time, dim)`, finite at padded steps.
        score: Applied to the sums, element by element: an activation, a bias.
        mask: Boolean tensor `(batch, time)`, True = keep, or `None`.
        allowed: Boolean tensor `(time, time)`, query by key: whether the query may attend to the
            key; `None`: to all.
        penalty: Float tensor `(time, time)`, query by key, finite, subtracted from the scores.
        return_attention_scores: Whether the weights are wanted.

    Returns:
        Tensor `(batch, time, dim)`, at least float32, exactly 0 at padded steps and at steps that
        may attend to nothing; and the weights `(batch, time, time)`, query by key, with `dim` as
        the last axis where each feature has its score, or `None`.

    Example:

    >>> import numpy as np
    >>> x = np.array([[[1.0], [3.0], [9.0]]], "float32")
    >>> before = np.tril(np.ones((3, 3), bool), -1)
    >>> output, _ = additive_attention(0 * x, 0 * x, x, lambda s: s, allowed=before)
    >>> [float(v) for v in output[0, :, 0]]
    [0.0, 1.0, 2.0]
    """
    source, target, values = (at_least_float32(x) for x in (source, target, values))
    scalar = source.shape[-1] == 1
    # Keys come before queries: the softmax is over axis 1, queries and features are its columns.
    logits = score(ops.expand_dims(source, 2) + ops.expand_dims(target, 1))
    if penalty is not None:
        logits = logits - ops.cast(ops.expand_dims(ops.transpose(penalty), -1), logits.dtype)
    keep = None if allowed is None else ops.expand_dims(ops.transpose(allowed), 0)
    if mask is not None:
        pairs = ops.logical_and(ops.expand_dims(mask, 2), ops.expand_dims(mask, 1))
        keep = pairs if keep is None else ops.logical_and(keep, pairs)
    exps, total = softmax_terms(logits, keep)
    if scalar:
        exps, total = ops.squeeze(exps, -1), total
        output = ops.matmul(ops.transpose(exps, (0, 2, 1)), values) / total
    else:
        output = ops.sum(exps * ops.expand_dims(values, 2), axis=1) / total
    if not return_attention_scores:
        return output, None
    if scalar:
        return output, ops.transpose(exps, (0, 2, 1)) / total
    return output, ops.transpose(exps / ops.expand_dims(total, 1), (0, 2, 1, 3))
