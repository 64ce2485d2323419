"""Softmax over time for each feature by itself, whole or in chunks of time."""

from collections.abc import Callable, Sequence

import keras
from keras import ops

from keras_attnpool.ops._devices import can_recompute, scalar_like, threshold
from keras_attnpool.ops.masking import (
    _append_axes,
    _lowest,
    at_least_float32,
    highest_along,
    masked_softmax,
    masked_softmax_or_even,
)
from keras_attnpool.types import Tensor


def softmax_terms(
    logits: Tensor, mask: Tensor | None = None, exact: bool = True
) -> tuple[Tensor, Tensor | None]:
    """The two halves of a softmax over time: the exponentials, up to a factor, and their sum.

    `exps / total` are the weights. Whoever needs their weighted sum alone divides once at the end,
    `normalized(sum(exps * values), total)`, and saves a pass over time.

    Args:
        logits: Float tensor `(batch, time, ...)`.
        mask: Boolean tensor `(batch, time, ...)` without the last axes of `logits`, True = keep,
            or `None`.
        exact: Whether the weights are exactly 0 in rows without a kept step too.

    Returns:
        The exponentials, shifted by their row's maximum over the kept steps, like `logits`; and
        their sums `(batch, ...)`, or `None` where the exponentials are the weights. At least
        float32. The quotient is exactly 0 at padded steps, and its gradient finite.
    """
    logits = at_least_float32(logits)
    kept = None if mask is None else _append_axes(mask, logits)
    if keras.backend.backend() == "torch":
        # One operation instead of four. On other backends the gradient of `softmax` is the slower.
        return (masked_softmax if exact else masked_softmax_or_even)(logits, kept, axis=1), None
    if kept is not None:
        logits = ops.where(kept, logits, _lowest(logits))
    exps = ops.exp(logits - ops.expand_dims(_shift(_highest(logits)), 1))
    # Where nothing is kept the sum is 0, and 1 instead.
    return exps, threshold(ops.sum(exps, axis=1), 0, 1)


def attention_weights(exps: Tensor, total: Tensor | None) -> Tensor:
    """The weights of `softmax_terms`."""
    return exps if total is None else exps / ops.expand_dims(total, 1)


def normalized(x: Tensor, total: Tensor | None, mask: Tensor | None = None) -> Tensor:
    """The weighted sums of `softmax_terms`, divided by its `total`.

    Values that are not zero at padded steps need the `mask`: it makes rows without a kept step 0.
    """
    if total is None:
        return x if mask is None else ops.multiply(x, _append_axes(ops.any(mask, axis=1), x))
    return x / total


def chunked_softmax_pooling(
    score: Callable[..., Tensor],
    weights: Sequence[Tensor],
    inputs: Tensor,
    mask: Tensor | None,
    chunk_size: int,
    features: tuple[int, ...],
) -> Tensor:
    """`sum_t softmax_t(score(x_t)) * x_t`, a chunk of time at once, with little memory.

    Running maximum, sum and weighted sum are carried from chunk to chunk. The scores of a chunk are
    forgotten, and computed again in the backward pass, so that nothing of the size of the scores of
    a whole text is ever held. Inside `torch.func.grad` and its like, which cannot compute again,
    they are kept.

    Args:
        score: `score(chunk, *weights)`: the logits `(batch, chunk_size, *features)` of a chunk
            `(batch, chunk_size, dim)`. May use no other tensor than these arguments.
        weights: The tensors that `score` needs.
        inputs: Float tensor `(batch, time, dim)`, finite at padded steps.
        mask: Boolean tensor `(batch, time)`, True = keep, or `None`.
        chunk_size: Time steps of a chunk at most. The last one is padded.
        features: Shape of the logits of one step; broadcasts against `dim` at its end.

    Returns:
        Tensor `(batch, ...)`, at least float32: the features, with `dim` as their last axis; 0 for
        a row without a kept step.
    """
    inputs = ops.convert_to_tensor(inputs)
    batch, time, dim = ops.shape(inputs)
    count = (time + chunk_size - 1) // chunk_size
    if isinstance(time, int):
        # As many chunks, of even length: nearly nothing is padded, also of a short text.
        chunk_size = -(-time // max(count, 1))
    inputs, kept = _pad_time(inputs, mask, count * chunk_size - time)

    # What is recomputed may hold on to no tensor but its arguments, and TensorFlow takes no
    # boolean among them.
    def step(
        highest: Tensor, total: Tensor, vector: Tensor, chunk: Tensor, kept: Tensor, *rest: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        logits = at_least_float32(score(chunk, *rest))
        logits = ops.where(_append_axes(kept > 0, logits), logits, _lowest(logits))
        raised = _highest(logits)
        # Not `maximum`, which is float32 on PyTorch, where the lowest float64 is infinite.
        raised = ops.where(highest > raised, highest, raised)
        exps = ops.exp(logits - ops.expand_dims(_shift(raised), 1))
        values = at_least_float32(chunk)
        for _ in features[1:]:
            values = ops.expand_dims(values, 2)
        rescale = ops.exp(highest - raised)
        return (
            raised,
            total * rescale + ops.sum(exps, axis=1),
            vector * rescale + ops.sum(exps * values, axis=1),
        )

    recomputed = keras.remat(step) if can_recompute() else step

    def advance(index: Tensor, *carry: Tensor) -> tuple[Tensor, ...]:
        start = index * chunk_size
        chunk = ops.slice(inputs, (0, start, 0), (batch, chunk_size, dim))
        chunk_kept = ops.slice(kept, (0, start), (batch, chunk_size))
        state: tuple[Tensor, ...] = recomputed(*carry, chunk, chunk_kept, *weights)
        return state

    zeros = ops.zeros((batch, *features), dtype=kept.dtype)
    vector = ops.zeros((batch, *features[:-1], dim), dtype=kept.dtype)
    _, total, vector = _repeat(count, advance, (zeros + _lowest(zeros), zeros, vector))
    return vector / threshold(total, 0, 1)


def _highest(logits: Tensor) -> Tensor:
    """Maximum over time: only a shift, so it has no gradient."""
    # Stopped in front, so that torch keeps nothing for a backward pass that never comes.
    return highest_along(ops.stop_gradient(logits), 1)


def _shift(highest: Tensor) -> Tensor:
    """The maximum, or 0 where all steps are padded: so far below it their exponentials are 0."""
    return ops.where(highest > _lowest(highest), highest, scalar_like(0, highest))


def _pad_time(inputs: Tensor, mask: Tensor | None, missing: Tensor) -> tuple[Tensor, Tensor]:
    """Lengthens the inputs by padded steps; also the mask, as numbers 0 and 1."""
    batch, time, dim = ops.shape(inputs)
    # Not `result_type`: that of Keras makes float32 of float64 on JAX and PyTorch.
    double = keras.backend.standardize_dtype(inputs.dtype) == "float64"
    dtype = "float64" if double else "float32"
    kept = ops.ones((batch, time), dtype=dtype) if mask is None else ops.cast(mask, dtype)
    if isinstance(missing, int) and missing == 0:
        return inputs, kept
    steps = ops.zeros((batch, missing, dim), dtype=inputs.dtype)
    return (
        ops.concatenate([inputs, steps], axis=1),
        ops.concatenate([kept, ops.zeros((batch, missing), dtype=dtype)], axis=1),
    )


def _repeat(
    count: Tensor, body: Callable[..., tuple[Tensor, ...]], carry: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """`carry = body(i, *carry)` for `i` in `range(count)`: one after the other, differentiable.

    A Python loop would not do: compilers run the chunks of an unrolled loop side by side, which
    takes the memory of all of them.
    """
    if keras.config.backend() == "tensorflow":
        # The only loop of Keras whose length XLA can bound, which the backward pass needs.
        index_and_state: tuple[Tensor, ...] = ops.while_loop(
            lambda index, *_: index < count,
            lambda index, *state: (index + 1, *body(index, *state)),
            (0, *carry),
            maximum_iterations=count,
        )
        return index_and_state[1:]
    if keras.config.backend() == "openvino":
        # Its loop reads no tensor from outside; docs/upstream/openvino-loop.md.
        for index in range(count):
            carry = body(index, *carry)
        return carry
    result: tuple[Tensor, ...] = ops.fori_loop(
        0, count, lambda index, state: tuple(body(index, *state)), carry
    )
    return result
