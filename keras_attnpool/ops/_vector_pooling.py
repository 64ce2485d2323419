"""Softmax pooling over time with one weight per feature, at once or in chunks of time."""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

from keras_attnpool.ops._devices import can_recompute, exp, scalar_like, threshold, torch_traces
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
    """Computes the two parts of a softmax over time: scaled exponentials and their sum.

    With exponentials `exps` and their sum `total`, the weights are `exps / total`. For a weighted
    sum of `values`, `normalized(sum(exps * values), total)` divides only once, after the sum. So
    the time axis is read one time less.

    Args:
        logits: Float tensor `(batch, time, ...)`.
        mask: Boolean tensor `(batch, time, ...)` where True keeps a step, or `None`. `mask` may
            have fewer axes than `logits`.
        exact: Whether the weights are exactly 0 also in rows without a kept step.

    Returns:
        Two tensors, in float32 or float64. The exponentials have the shape of `logits`. The
        exponents are the logits minus the maximum over the row's kept steps. The sums are `(batch,
        ...)`, or `None` if the exponentials are already the weights. The weights are exactly 0 at
        padded steps, and their gradient is finite.
    """
    logits = at_least_float32(logits)
    kept = None if mask is None else _append_axes(mask, logits)
    if keras.backend.backend() == "torch":
        # This is one operation instead of four. On other backends the gradient of `softmax` is
        # slower.
        return (masked_softmax if exact else masked_softmax_or_even)(logits, kept, axis=1), None
    if kept is not None:
        logits = ops.where(kept, logits, _lowest(logits))
    exps = ops.exp(logits - ops.expand_dims(_shift(_highest(logits)), 1))
    # The sum of a row without a kept step is 0, and is set to 1.
    return exps, threshold(ops.sum(exps, axis=1), 0, 1)


def attention_weights(exps: Tensor, total: Tensor | None) -> Tensor:
    """Computes the weights of `softmax_terms`."""
    return exps if total is None else exps / ops.expand_dims(total, 1)


def normalized(x: Tensor, total: Tensor | None, mask: Tensor | None = None) -> Tensor:
    """Divides sums that are weighted by the exponentials of `softmax_terms` by their `total`.

    `mask` sets empty rows to 0; it is needed only if the summed values are not 0 at padding.
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
    features: tuple[int, int],
    variance: bool = False,
) -> Any:
    """Computes `sum_t softmax_t(score(x_t)) * x_t` in chunks of time, with little memory.

    Maximum, sum and weighted sum are updated from chunk to chunk. The scores of a chunk are not
    stored; the backward pass computes them again. So only the inputs and their gradient need memory
    for the whole text. `torch.func.grad` and similar functions cannot recompute, so inside these
    functions the scores are stored.

    Args:
        score: Function `score(chunk, *weights)` that returns the logits `(batch, chunk_size,
            *features)` of a chunk `(batch, chunk_size, dim)`. `score` may use only the tensors that
            are its arguments.
        weights: The tensors that `score` needs.
        inputs: Float tensor `(batch, time, dim)`; padded steps may have any values.
        mask: Boolean tensor `(batch, time)` where True keeps a step, or `None`.
        chunk_size: Largest number of time steps per chunk.
        features: The number of heads, and the number of weights per step and head (1 or `dim`).
        variance: Whether to also return the weighted variance.

    Returns:
        Tensor `(batch, heads, dim)`, in float32 or float64; 0 for a row without a kept step. With
        `variance=True`, a pair of such tensors: mean and variance.
    """
    inputs = ops.convert_to_tensor(inputs)
    batch, _, dim = ops.shape(inputs)
    # Keras's `result_type` turns float64 into float32 on JAX and PyTorch.
    double = keras.backend.standardize_dtype(inputs.dtype) == "float64"
    dtype = "float64" if double else "float32"
    count = 4 if variance else 3

    # A recomputed function may use only the tensors that are its arguments, and TensorFlow accepts
    # no boolean arguments.
    def scored(chunk: Tensor, kept: Tensor | None, *rest: Tensor) -> tuple[Tensor, Tensor]:
        """Returns a chunk's values and logits; logits of padded steps are the lowest number."""
        if kept is None:
            return at_least_float32(chunk), at_least_float32(score(chunk, *rest))
        kept = kept > 0
        chunk = ops.where(_append_axes(kept, chunk), chunk, scalar_like(0, chunk))
        logits = at_least_float32(score(chunk, *rest))
        logits = ops.where(_append_axes(kept, logits), logits, _lowest(logits))
        return at_least_float32(chunk), logits

    def step(*tensors: Any) -> tuple[Tensor, ...]:
        highest, total, vector, *squares = tensors[:count]
        values, logits = scored(*tensors[count:])
        raised = _highest(logits)
        # `maximum` is float32 on PyTorch, and the lowest float64 would become infinite.
        raised = ops.where(highest > raised, highest, raised)
        exps = exp(logits - ops.expand_dims(_shift(raised), 1))
        rescale = ops.exp(highest - raised)
        before, added = total * rescale, ops.sum(exps, axis=1)
        moved, sums = vector * rescale, _weighted_sum(exps, values)
        result = [raised, before + added, moved + sums]
        if squares:
            # The squared deviations from the chunk's mean, and the part from the distance between
            # the means.
            mean = sums / threshold(added, 0, 1)
            distance = mean - moved / threshold(before, 0, 1)
            between = ops.square(distance) * (before * added / threshold(before + added, 0, 1))
            within = _weighted_sum(exps, ops.square(values - mean))
            result.append(squares[0] * rescale + within + between)
        return tuple(result)

    def whole(inputs: Tensor, kept: Tensor | None, *weights: Tensor) -> tuple[Tensor, ...]:
        """Returns mean, perhaps variance, and the softmax's shift and total over all chunks."""
        zeros = ops.zeros((batch, *features), dtype=dtype)
        vector = ops.zeros((batch, features[0], dim), dtype=dtype)
        start = (zeros + _lowest(zeros), zeros, vector, vector)[:count]
        carry = _over_time(step, start, inputs, kept, chunk_size, weights)
        total = threshold(carry[1], 0, 1)
        return *(each / total for each in carry[2:]), _shift(carry[0]), total

    def cotangents(gradients: Sequence[Tensor], results: Sequence[Tensor], *scored: Tensor) -> Any:
        """Turns the gradients of the results into the gradients of a chunk's values and logits."""
        (mean, *variances, shift, total), (values, logits) = results, scored
        exps = exp(logits - ops.expand_dims(shift, 1))
        slopes = gradients[0] / total
        if not variance and features[1] == 1:
            # Matrix products need no intermediate tensor as large as all heads' values.
            heights = ops.matmul(values, ops.transpose(slopes, (0, 2, 1)))
            heights = heights - ops.expand_dims(ops.sum(slopes * mean, axis=2), 1)
            on_values = ops.matmul(ops.squeeze(exps, 3), slopes)
            return on_values, exps * ops.expand_dims(heights, 3)
        away = ops.expand_dims(values, 2) - ops.expand_dims(mean, 1)
        on_values = exps * ops.expand_dims(slopes, 1)
        if variance:
            on_logits = on_values * away
            of_square = exps * ops.expand_dims(gradients[1] / total, 1)
            on_values = on_values + 2 * of_square * away
            of_mean = ops.square(away) - ops.expand_dims(variances[0], 1)
            on_logits = on_logits + of_square * of_mean
        else:
            away *= on_values  # in place on PyTorch
            on_logits = away
        if features[1] == 1:
            on_logits = ops.sum(on_logits, axis=3, keepdims=True)
        one = features[0] == 1
        return (ops.squeeze if one else ops.sum)(on_values, axis=2), on_logits

    kept = None if mask is None else ops.cast(mask, dtype)
    if can_recompute() and not torch_traces():
        pooled = {"jax": _on_jax, "tensorflow": _on_tensorflow, "torch": _on_torch}
        results = pooled[keras.backend.backend()](
            whole, scored, cotangents, chunk_size, inputs, kept, weights
        )
    else:
        results = whole(inputs, kept, *weights)
    return results[:2] if variance else results[0]


def _on_torch(whole: Any, scored: Any, cotangents: Any, chunk_size: int, *tensors: Any) -> Any:
    """Computes `whole`; the gradients call `scored` again, chunk by chunk."""
    inputs, kept, weights = tensors
    wanted = any(x.requires_grad for x in (inputs, *weights))
    if not (wanted and sys.modules["torch"].is_grad_enabled()):
        return whole(inputs, kept, *weights)
    functions = whole, scored, cotangents
    return _torch_recomputing().apply(functions, chunk_size, inputs, kept, *weights)


def _on_jax(whole: Any, scored: Any, cotangents: Any, chunk_size: int, *tensors: Any) -> Any:
    """See `_on_torch`. A loop that JAX differentiates makes zeros of all inputs for each slice."""
    jax = sys.modules["jax"]
    inputs, kept, weights = tensors
    pooled = jax.custom_vjp(whole)

    def forward(*given: Any) -> Any:
        results = whole(*given)
        return results, (results, given)

    def backward(saved: Any, gradients: Any) -> Any:
        results, (inputs, kept, *weights) = saved

        def pulled(chunk: Tensor, counts: Tensor) -> Any:
            found, pull = jax.vjp(lambda *x: scored(x[0], counts, *x[1:]), chunk, *weights)
            return pull(cotangents(gradients, results, *found))

        # The compiler removes unused results.
        on_inputs, *on_weights = _gradients(pulled, inputs, kept, weights, chunk_size, results)
        return on_inputs, None, *on_weights

    pooled.defvjp(forward, backward)
    return pooled(inputs, kept, *weights)


def _on_tensorflow(whole: Any, scored: Any, cotangents: Any, chunk_size: int, *tensors: Any) -> Any:
    """See `_on_torch`. A loop that TensorFlow differentiates stores all chunks."""
    tf = sys.modules["tensorflow"]
    kept = tensors[1]
    # The gradient of the inputs would be as large as the inputs. If nothing records the inputs,
    # this gradient has a separate loop, which a graph leaves out.
    record = sys.modules.get("tensorflow.python.eager.record")
    together = record is None or record.should_record_backprop([tensors[0]])

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def pooled(inputs: Tensor, *weights: Tensor) -> Any:
        results = whole(inputs, kept, *weights)

        def backward(*gradients: Tensor) -> Any:
            def pulled(chunk: Tensor, counts: Tensor) -> Any:
                wanted = [chunk, *weights]
                with tf.GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch(wanted)
                    found = scored(chunk, counts, *weights)
                on_found = cotangents(gradients, results, *found)
                return tape.gradient(found, wanted, on_found, unconnected_gradients="zero")

            given = pulled, inputs, kept, weights, chunk_size, results
            on_inputs, *on_weights = _gradients(*given)
            return on_inputs, *(on_weights if together else _gradients(*given, of_inputs=False)[1:])

        return results, backward

    return pooled(tensors[0], *tensors[2])


def _gradients(
    pulled: Any,
    inputs: Tensor,
    kept: Any,
    weights: Any,
    chunk_size: int,
    results: Any,
    of_inputs: bool = True,
) -> Any:
    """Computes the gradients of inputs and weights from the gradients that `pulled` returns."""
    count, cut = _chunks(inputs, kept, chunk_size, results[0].dtype)
    tf = sys.modules["tensorflow"] if keras.backend.backend() == "tensorflow" else None

    def advance(index: Tensor, on_inputs: Any, *on_weights: Tensor) -> tuple[Any, ...]:
        # The loop starts at the last chunk. Where two chunks overlap, the earlier chunk has the
        # gradients.
        start, chunk, counts = cut(count - 1 - index)
        on_chunk, *more = pulled(chunk, counts)
        if of_inputs and tf:
            on_inputs = on_inputs.write(count - 1 - index, ops.transpose(on_chunk, (1, 0, 2)))
        elif of_inputs:
            on_inputs = ops.slice_update(on_inputs, (0, start, 0), on_chunk)
        return on_inputs, *(a + b for a, b in zip(on_weights, more, strict=True))

    zeros = tuple(ops.zeros_like(x) for x in weights)
    if not (of_inputs and tf):
        return _loop(
            count, advance, (ops.zeros_like(inputs if of_inputs else inputs[:, :0]), *zeros)
        )
    # TensorFlow's `slice_update` copies all gradients for each chunk.
    parts, *on_weights = _loop(count, advance, (tf.TensorArray(inputs.dtype, count), *zeros))
    on_steps, time = parts.concat(), ops.shape(inputs)[1]
    if not isinstance(time, int) or time % min(chunk_size, time):
        last = ops.shape(on_steps)[0] // count * (count - 1)
        on_steps = ops.concatenate([on_steps[:last], on_steps[last - time :]])
    return ops.transpose(on_steps, (1, 0, 2)), *on_weights


@functools.cache
def _torch_recomputing() -> Any:
    """Sums over chunks of time, and computes the chunks again for the gradient.

    `torch.utils.checkpoint` would keep small tensors of each chunk. These small tensors would split
    the free memory into pieces, and a piece as large as a chunk would be lost for each chunk.
    """
    torch = sys.modules["torch"]

    class Recomputing(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(  # type: ignore[no-untyped-def]
            ctx, functions, chunk_size, inputs, kept, *weights
        ):
            results = functions[0](inputs, kept, *weights)
            ctx.functions, ctx.chunk_size, ctx.count = functions, chunk_size, len(results)
            ctx.save_for_backward(*results, inputs, kept, *weights)
            return results

        @staticmethod
        def backward(ctx, *gradients):  # type: ignore[no-untyped-def]
            whole, scored, cotangents = ctx.functions
            inputs, kept, *weights = ctx.saved_tensors[ctx.count :]
            needed = (ctx.needs_input_grad[2], *ctx.needs_input_grad[4:])
            if torch.is_grad_enabled():
                # For second derivatives, all chunks are kept.
                sums = whole(inputs, kept, *weights)[:-2]
                wanted = [x for x, n in zip((inputs, *weights), needed, strict=True) if n]
                found = iter(
                    torch.autograd.grad(
                        sums, wanted, gradients[:-2], create_graph=True, materialize_grads=True
                    )
                )
                on_inputs, *on_weights = (next(found) if n else None for n in needed)
                return None, None, on_inputs, None, *on_weights
            # The tensors are detached, because the forward pass's tensors lead back to this
            # function.
            results = [x.detach() for x in ctx.saved_tensors[: ctx.count]]
            # The gradients of the inputs are written chunk by chunk. The gradients of the weights
            # are added.
            on_inputs = torch.empty_like(inputs) if needed[0] else None
            totals: list[Any] = [
                torch.zeros_like(x) if n else None for x, n in zip(weights, needed[1:], strict=True)
            ]
            for start in range(0, inputs.shape[1], ctx.chunk_size):
                steps = slice(start, start + ctx.chunk_size)
                of_chunk = None if kept is None else kept[:, steps]
                given = [x.detach() for x in (inputs[:, steps].contiguous(), *weights)]
                for x, n in zip(given, needed, strict=True):
                    x.requires_grad_(n)
                with torch.enable_grad():
                    found = scored(given[0], of_chunk, *given[1:])
                on_found = cotangents(gradients, results, *(x.detach() for x in found))
                pairs = [(x, g) for x, g in zip(found, on_found, strict=True) if x.requires_grad]
                torch.autograd.backward(*zip(*pairs, strict=True))
                if on_inputs is not None:
                    on_inputs[:, steps] = given[0].grad
                for x, total in zip(given[1:], totals, strict=True):
                    if x.grad is not None:
                        total.add_(x.grad)
            return None, None, on_inputs, None, *totals

    return Recomputing


def _weighted_sum(exps: Tensor, values: Tensor) -> Tensor:
    """The sums over time, `(batch, heads, dim)`, of `(batch, time, dim)`."""
    if exps.shape[-1] == 1:
        # One matrix product needs no intermediate tensor as large as all heads' values.
        return ops.matmul(ops.transpose(ops.squeeze(exps, -1), (0, 2, 1)), values)
    return ops.sum(exps * ops.expand_dims(values, 2), axis=1)


def _highest(logits: Tensor) -> Tensor:
    """Computes the maximum over time without a gradient, because it is only a shift."""
    # The gradient is stopped first, so that PyTorch stores nothing for a backward pass.
    return highest_along(ops.stop_gradient(logits), 1)


def _shift(highest: Tensor) -> Tensor:
    """Returns the maximum, or 0 if all steps are padded; the exponentials are then 0."""
    return ops.where(highest > _lowest(highest), highest, scalar_like(0, highest))


def _over_time(
    step: Callable[..., tuple[Tensor, ...]],
    carry: tuple[Tensor, ...],
    inputs: Tensor,
    kept: Tensor | None,
    chunk_size: int,
    weights: Sequence[Tensor],
) -> tuple[Tensor, ...]:
    """Computes `carry = step(*carry, chunk, kept, *weights)` for one chunk after the other.

    Compilers run all chunks of an unrolled loop at the same time, and need memory for all chunks.
    So only PyTorch uses a Python loop.
    """
    if keras.backend.backend() == "torch":
        # The gradient of a split is written once. The gradient of each slice would be as long as
        # the inputs.
        split = sys.modules["torch"].split
        chunks = split(inputs, chunk_size, 1)
        masks = [None] * len(chunks) if kept is None else split(kept, chunk_size, 1)
        for chunk, of_chunk in zip(chunks, masks, strict=True):
            carry = step(*carry, chunk.contiguous(), of_chunk, *weights)
        return carry
    count, cut = _chunks(inputs, kept, chunk_size, carry[0].dtype)
    return tuple(_loop(count, lambda index, *carry: step(*carry, *cut(index)[1:], *weights), carry))


def _chunks(inputs: Tensor, kept: Tensor | None, chunk_size: int, dtype: Any) -> tuple[Any, Any]:
    """Returns the number of chunks, and a function that gives each chunk's start, steps, new steps.

    The new steps are `None` if all steps of all chunks are new and kept.
    """
    batch, time, dim = ops.shape(inputs)
    size = min(chunk_size, time) if isinstance(time, int) else ops.minimum(chunk_size, time)
    steps = ops.arange(size)
    all_count = kept is None and isinstance(time, int) and time % size == 0

    def cut(index: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        # The last chunk is as long as the other chunks, so it may contain steps that are already
        # counted.
        start = ops.minimum(index * size, time - size)
        chunk = ops.slice(inputs, (0, start, 0), (batch, size, dim))
        if all_count:
            return start, chunk, None
        counts = ops.cast(steps + start >= index * size, dtype)[None]
        if kept is not None:
            counts = counts * ops.slice(kept, (0, start), (batch, size))
        return start, chunk, counts

    return (time + size - 1) // size, cut


def _loop(count: Any, advance: Any, carry: tuple[Tensor, ...]) -> Any:
    """Computes `carry = advance(index, *carry)` for each index."""
    backend = keras.backend.backend()
    if backend == "openvino":
        # OpenVINO's loop cannot read outer tensors, see docs/upstream/openvino-loop.md.
        for index in range(count):
            carry = advance(index, *carry)
        return carry
    if backend == "tensorflow":
        # Keras's loop would run ten chunks at once and keep them in memory.
        return sys.modules["tensorflow"].while_loop(
            lambda index, *_: index < count,
            lambda index, *carry: (index + 1, *advance(index, *carry)),
            (0, *carry),
            parallel_iterations=1,
        )[1:]
    return ops.fori_loop(0, count, lambda index, carry: tuple(advance(index, *carry)), carry)
