"""Attention from every step to other steps by additive scores, per step or per feature."""

import functools
from collections.abc import Callable, Sequence

from keras import ops

from keras_attnpool.ops import _devices
from keras_attnpool.ops._steps import take_steps
from keras_attnpool.ops._vector_pooling import attention_weights, normalized, softmax_terms
from keras_attnpool.ops.masking import at_least_float32, masked_softmax
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
    bounded: bool = False,
    zero_padding: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Computes, for each step, the weighted sum of the steps that this step may attend to.

    `output_j = sum_i softmax_i(score(source_i + target_j) - penalty_ji) * values_i`, over the kept
    and allowed steps `i`.

    The largest tensor is the table of scores `(batch, time, time)`, or `(batch, time, time, dim)`
    with one score per feature.

    Args:
        source: The key's part of the scores. Float tensor `(batch, time, 1)`, or `(batch, time,
            dim)` for one score per feature.
        target: The query's part of the scores, in the shape of `source`.
        values: Float tensor `(batch, time, dim)`, finite at padded steps.
        score: Element-wise function from the sums of source and target to scores, such as an
            activation.
        mask: Boolean tensor `(batch, time)` where True keeps a step, or `None`.
        allowed: Boolean tensor `(time, time)`, query by key. True means that the query may attend
            to the key. `None` allows all pairs.
        penalty: Finite float tensor `(time, time)`, query by key, that is subtracted from the
            scores.
        return_attention_scores: Whether to return the weights.
        bounded: Whether all scores lie in [-10, 10]. With `True` and without a penalty, the softmax
            does not subtract the maximum. With one score per feature, this saves time.
        zero_padding: Whether the output at padded steps is 0 even if no weights are returned. With
            `False` and without returned weights, the output at padded steps is any finite number.

    Returns:
        Two tensors, in float32 or float64. The output `(batch, time, dim)` is exactly 0 at padded
        steps and at steps for which no step is allowed. The weights are `None` or have the shape of
        the scores, query by key.
    """
    every_query = return_attention_scores or zero_padding or allowed is None
    queries = mask if every_query else None
    source, target, values = (at_least_float32(x) for x in (source, target, values))
    if source.shape[-1] > 1:
        return _per_feature_attention(
            source,
            target,
            values,
            score,
            _pairs(mask, queries, None if allowed is None else ops.transpose(allowed)),
            penalty,
            return_attention_scores,
            bounded,
        )
    # The keys are on the last axis, where softmax and product with the values are fastest.
    logits = ops.squeeze(score(ops.expand_dims(target, 2) + ops.expand_dims(source, 1)), -1)
    if penalty is not None:
        logits = logits - ops.cast(penalty, logits.dtype)
    weights = masked_softmax(logits, _pairs(queries, mask, allowed))
    return ops.matmul(weights, values), weights if return_attention_scores else None


def banded_attention(
    source: Tensor,
    target: Tensor,
    values: Tensor,
    score: Callable[[Tensor], Tensor],
    offsets: Sequence[int],
    penalties: Sequence[float] | None = None,
    mask: Tensor | None = None,
    return_attention_scores: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Computes `additive_attention` if each step may only attend to steps at a few fixed offsets.

    Computing time and memory grow with `time * len(offsets)`. Returned weights have entries for all
    pairs of steps, as in `additive_attention`.

    `offsets` are the allowed values of `key - query`, all different. `penalties` has one finite
    number per offset, which is subtracted from the scores.
    """
    source, target, values = (at_least_float32(x) for x in (source, target, values))
    if mask is None:
        mask = ops.ones(ops.shape(values)[:2], dtype="bool")
    # In `softmax_terms`, the offsets are on the time axis.
    logits = score(ops.stack(_shifted(source, offsets), axis=1) + ops.expand_dims(target, 1))
    if penalties is not None:
        costs = ops.convert_to_tensor(list(penalties), dtype=logits.dtype)
        logits = logits - ops.reshape(costs, (1, -1, 1, 1))
    keep = ops.stack(_shifted(mask, offsets), axis=1)
    keep = ops.logical_and(keep, ops.expand_dims(mask, 1))
    # Steps that may attend to no step are set to 0 in the smaller tensor.
    exact = return_attention_scores or logits.shape[-1] * len(offsets) < values.shape[-1]
    exps, total = softmax_terms(logits, keep, exact)
    # A loop over the offsets needs no stack of the values. The gradient of `unstack` is one stack;
    # indexing would need a stack per offset. Blocks of steps with a matrix product were measured.
    # With scalar scores, the backward pass of blocks is faster (up to 1.4 times at 1,024 steps),
    # but their forward pass is slower. With one score per feature, blocks do not help.
    terms = [
        weight * value
        for weight, value in zip(
            ops.unstack(exps, len(offsets), axis=1), _shifted(values, offsets), strict=True
        )
    ]
    output = normalized(functools.reduce(ops.add, terms), total, None if exact else keep)
    if not return_attention_scores:
        return output, None
    weights = _spread(attention_weights(exps, total), offsets)
    return output, ops.squeeze(weights, -1) if source.shape[-1] == 1 else weights


# Largest number of scores that are computed at once where memory limits the speed.
CACHED = 2**20


def _per_feature_attention(
    source: Tensor,
    target: Tensor,
    values: Tensor,
    score: Callable[[Tensor], Tensor],
    keep: Tensor | None,
    penalty: Tensor | None,
    return_attention_scores: bool,
    bounded: bool,
) -> tuple[Tensor, Tensor | None]:
    """Computes `additive_attention` with one score per feature."""
    # Keys precede queries, so the softmax is over axis 1, with queries and features as columns.
    costs = None if penalty is None else ops.expand_dims(ops.transpose(penalty), -1)

    def of_queries(block: slice) -> tuple[Tensor, Tensor | None]:
        logits = score(ops.expand_dims(source, 2) + ops.expand_dims(target[:, block], 1))
        kept = None if keep is None else keep[:, :, block]
        total: Tensor | None
        if bounded and costs is None and _devices.on_cpu(logits):
            exps = ops.exp(logits)
            if kept is not None:
                exps = exps * ops.expand_dims(ops.cast(kept, exps.dtype), -1)
            total = _devices.threshold(ops.sum(exps, axis=1), 0, 1)
        else:
            if costs is not None:
                logits = logits - ops.cast(costs[:, block], logits.dtype)
            exps, total = softmax_terms(logits, kept, exact=return_attention_scores)
        output = normalized(ops.sum(exps * ops.expand_dims(values, 2), axis=1), total, kept)
        if not return_attention_scores:
            return output, None
        return output, ops.transpose(attention_weights(exps, total), (0, 2, 1, 3))

    at_once = _queries_at_once(values)
    if at_once is None:
        return of_queries(slice(None))
    starts = range(0, target.shape[1], at_once)
    blocks = [of_queries(slice(start, start + at_once)) for start in starts]
    outputs, weights = zip(*blocks, strict=True)
    joined = ops.concatenate(weights, axis=1) if return_attention_scores else None
    return ops.concatenate(outputs, axis=1), joined


def _queries_at_once(values: Tensor) -> int | None:
    """Returns the number of queries whose scores fit into a cache, or `None` for all queries.

    PyTorch on a CPU writes and reads the whole table of scores for every operation. With blocks of
    queries, a training step was 2 to 3 times as fast. Compilers fuse the operations, so they need
    no blocks.
    """
    if not _devices.eager_on_torch_cpu(values):
        return None
    batch, time, dim = values.shape
    return max(1, int(CACHED // max(1, batch * time * dim)))


def _pairs(rows: Tensor | None, columns: Tensor | None, allowed: Tensor | None) -> Tensor | None:
    """Combines two masks `(batch, time)` and a table of pairs to `(batch or 1, time, time)`."""
    conditions = [
        None if rows is None else ops.expand_dims(rows, 2),
        None if columns is None else ops.expand_dims(columns, 1),
        None if allowed is None else ops.expand_dims(allowed, 0),
    ]
    given = [condition for condition in conditions if condition is not None]
    return functools.reduce(ops.logical_and, given) if given else None


def _shifted(x: Tensor, offsets: Sequence[int]) -> list[Tensor]:
    """Returns the steps `x[:, t + offset]` for each offset, with zeros (False) outside of `x`."""
    x = ops.convert_to_tensor(x)
    reach = max(abs(offset) for offset in offsets)
    outside = ops.zeros((ops.shape(x)[0], reach, *x.shape[2:]), dtype=x.dtype)
    padded = ops.concatenate([outside, x, outside], axis=1)
    # A negative end needs no length, because the length may be unknown.
    return [padded[:, reach + o : o - reach or None] for o in offsets]


def _spread(weights: Tensor, offsets: Sequence[int]) -> Tensor:
    """Turns weights `(batch, offsets, time, dim)` into a table `(batch, query, key, dim)`."""
    reach = max(abs(offset) for offset in offsets)
    weights = ops.transpose(weights, (0, 2, 1, 3))
    weights = ops.concatenate([weights, ops.zeros_like(weights[:, :, :1])], axis=2)
    # The index of each offset from -reach - 1 to reach + 1; other offsets have the last index.
    places = [len(offsets)] * (2 * reach + 3)
    for place, offset in enumerate(offsets):
        places[offset + reach + 1] = place
    batch, time = ops.shape(weights)[:2]
    width, dim = len(offsets) + 1, weights.shape[-1]
    steps = ops.arange(0, time, dtype="int32")
    offset = ops.expand_dims(steps, 0) - ops.expand_dims(steps, 1)
    offset = ops.clip(offset, -reach - 1, reach + 1) + (reach + 1)
    # The table has one column, because PyTorch can export only this form of `take`.
    table = ops.expand_dims(ops.convert_to_tensor(places, dtype="int32"), 1)
    place = ops.squeeze(ops.take(table, offset, axis=0), -1)
    index = ops.reshape(ops.expand_dims(steps, 1) * width + place, (1, -1))
    pairs = take_steps(ops.reshape(weights, (batch, time * width, dim)), index)
    return ops.reshape(pairs, (batch, time, time, dim))
