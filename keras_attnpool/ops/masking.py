"""Masked reductions over time: padding has no effect, and empty rows give zeros, never NaN."""

import math
import warnings
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_attnpool._checks import ArgumentError, is_length, is_shape
from keras_attnpool.ops import _devices
from keras_attnpool.ops._devices import number_of_kept, scalar_like, torch_traces, values_at_hand
from keras_attnpool.ops._rows import empty_batch_safe
from keras_attnpool.types import Shape, Tensor


def at_least_float32(x: Tensor) -> Tensor:
    """Casts half precision to float32 and returns other floats unchanged.

    Softmax, norms and sums over time need the range and the precision of float32. A float64 tensor
    is not changed.

    Args:
        x: Float tensor of any shape.

    Returns:
        `x` as float32, or unchanged if it is float32 or float64.

    Example:

    >>> import numpy as np
    >>> import keras
    >>> from keras_attnpool import ops
    >>> keras.backend.standardize_dtype(ops.at_least_float32(np.ones(2, "float16")).dtype)
    'float32'
    """
    x = ops.convert_to_tensor(x)
    dtype = keras.backend.standardize_dtype(x.dtype)
    return x if dtype in ("float32", "float64") else ops.cast(x, "float32")


def check_mask_shape(
    mask_shape: Shape, inputs_shape: Shape, name: str, kind: str = "layer "
) -> None:
    """Raises an error unless a mask is `(batch, time)` for inputs `(batch, time, ...)`.

    Unknown dimensions are not compared.

    Args:
        mask_shape: Static shape of the mask.
        inputs_shape: Static shape of the inputs that the mask belongs to.
        name: Name of the caller, for the message.
        kind: Kind of the caller, such as "layer". The message puts the kind before the name. `""`
            for a function.

    Raises:
        ValueError: If the rank is not 2, or if a known dimension differs.

    Example:

    >>> from keras_attnpool import ops
    >>> ops.check_mask_shape((2, 7), (2, 7, 16), "my_layer")
    >>> ops.check_mask_shape((2, 7, 16), (2, 7, 16), "my_layer")
    Traceback (most recent call last):
    keras_attnpool.ArgumentError: `mask` of layer 'my_layer' must have shape (batch, time) = ...
    """
    expected = tuple(inputs_shape)[:2]
    if not is_shape(mask_shape, expected):
        must = f"have shape (batch, time) = {expected}, True where a step is kept"
        received = f"mask of shape {tuple(mask_shape)} for inputs of shape {tuple(inputs_shape)}"
        received += _cure_of_shape(mask_shape, expected)
        raise ArgumentError("mask", must, received, f"{kind}'{name}'")


def _cure_of_shape(mask_shape: Shape, expected: Shape) -> str:
    """Returns advice for a mask of lengths, or for a mask that is longer than the inputs."""
    if len(mask_shape) == 1:
        return ". Lengths become a mask by keras_attnpool.ops.lengths_to_mask"
    given, time = (shape[1] if len(shape) == 2 else None for shape in (mask_shape, expected))
    if not given or not time or given <= time:
        return ""
    stride = round(given / time)
    if stride < 2:
        return f". Behind a layer that returns fewer steps pass `mask[:, {given - time}:]`"
    return (
        f". Behind strides of {stride} pass `mask[:, ::{stride}]`, and put ZeroPadding1D and "
        'padding="valid" in place of padding="same", which depends on the length of the padding'
    )


def check_mask_values(mask: Tensor, name: str, wait: bool = True, kind: str = "layer ") -> bool:
    """Raises an error unless the values of a mask are True and False, or 1 and 0.

    The values of a symbolic mask, or of a mask in a compiled function, are unknown and not checked.
    The values of a mask on an accelerator are checked only if `wait` is True. The message names the
    caller by `kind` and `name`. Returns whether values were read.
    """
    mask = ops.convert_to_tensor(mask)
    dtype, owner = keras.backend.standardize_dtype(mask.dtype), f"{kind}'{name}'"
    if dtype == "string":
        raise ArgumentError("mask", "be booleans or numbers", "strings", owner)
    is_bool = dtype == "bool"
    values = None if is_bool and not wait else values_at_hand(mask, wait and not is_bool)
    if values is None:
        return False
    if is_bool or ((values == 0) | (values == 1)).all():
        if wait and _is_turned(values):
            warnings.warn(
                f"`mask` of {owner} drops the first step of every row and keeps nothing of some: "
                "it may say where the padding stands. True must stand where a step is kept; else "
                "pass `~mask`.",
                stacklevel=2,
            )
        if "float" in dtype and values.size and not values.any():
            warnings.warn(
                f"`mask` of {owner} keeps no step. If it is an additive mask, whose zeros are the "
                "kept steps, pass `mask == 0`.",
                stacklevel=2,
            )
        return not is_bool
    low, high = values.min(), values.max()
    cure = ""
    if dtype.startswith(("int", "uint")) and low >= 0:
        cure = ". These look like ids: pass `mask=ids != 0`"
    elif low < 0 and high == 0:
        cure = ". This looks like an additive mask: pass `mask == 0`"
    must = "be True (or 1) where a step is kept and False (or 0) where it is padding"
    raise ArgumentError("mask", must, f"{dtype} values from {low} to {high}{cure}", owner)


def _is_turned(values: Any) -> bool:
    """Whether a mask looks inverted: True marks padding, and all padding is at the end of rows.

    The longest row of an inverted mask keeps no step. In a batch that is padded in front, the
    longest row keeps all steps.
    """
    if values.ndim != 2 or not values.size or values[:, 0].any() or not values[:, -1].any():
        return False
    return bool((np.diff(values.astype("int8"), axis=1) >= 0).all() and not values.any(1).all())


def as_bool_mask(
    mask: Tensor | None, inputs: Tensor, name: str = "masking", wait: bool = True
) -> Tensor | None:
    """Checks a mask `(batch, time)` of booleans or 0/1 numbers, and turns it into booleans.

    True means *keep*, as everywhere in Keras. PyTorch's `key_padding_mask` has True at padding
    instead; no check can detect such a mask. So pass `~key_padding_mask`.

    Args:
        mask: `None`, or an array `(batch, time)` of booleans, or of 0 and 1. True keeps the step.
        inputs: The tensor `(batch, time, ...)` that the mask belongs to.
        name: Name of the caller, for the message.
        wait: Whether to check the values of a mask on an accelerator, too. The call then waits for
            the values.

    Returns:
        Boolean tensor `(batch, time)`, or `None` if `mask` is `None`.

    Raises:
        ValueError: If the shape of the mask does not fit the inputs, if the mask contains strings,
            or if a readable value is not 0 or 1.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool import ops
    >>> ops.as_bool_mask([[1, 0]], np.zeros((1, 2, 3))).shape == (1, 2)
    True
    """
    return _as_bool(mask, name, inputs, wait, kind="layer ")


def _fitted(mask: Tensor, inputs: Tensor) -> Tensor:
    """Returns the mask, and compares unknown sizes with the inputs' sizes when the graph runs.

    Only a TensorFlow graph has unknown sizes and needs this comparison. Without it, a mask of one
    step would be broadcast to all steps.
    """
    shapes = [tuple(x.shape)[:2] for x in (mask, inputs)]
    if None not in (*shapes[0], *shapes[1]) or isinstance(mask, keras.KerasTensor):
        return mask
    sizes = zip(ops.shape(mask), ops.shape(inputs), strict=False)
    # If a size differs, the new shape has more entries than the mask, and the reshaping fails.
    return ops.reshape(
        mask, [wanted + 2 * (size - wanted) * (size - wanted) for size, wanted in sizes]
    )


def check_dense(inputs: Tensor, name: str) -> None:
    """Raises an error for TensorFlow's ragged tensors and PyTorch's nested tensors.

    `name` is the layer's name for the message.
    """
    cure = None
    if hasattr(inputs, "row_lengths"):
        cure = "x.to_tensor()` and `mask=tf.sequence_mask(x.row_lengths())"
    elif getattr(inputs, "is_nested", False):
        cure = "torch.nested.to_padded_tensor(x, 0.0)` and the `mask` of its kept steps"
    if cure is not None:
        received = (
            f"a {type(inputs).__name__} of rows of different lengths; pass `{cure}`. Ids need no "
            "mask where 0 is padding"
        )
        raise ArgumentError("inputs", "be one dense tensor", received, f"layer '{name}'")


def lengths_to_mask(lengths: Tensor, max_length: int | None = None) -> Tensor:
    """Builds the mask of right-padded rows from their lengths.

    Args:
        lengths: Integers `(batch,)`, the number of kept steps of each row.
        max_length: Number of time steps of the mask, 0 or more. Defaults to the largest length. A
            compiled function cannot read the lengths, so it needs `max_length`.

    Returns:
        Boolean tensor `(batch, max_length)`, True for the first `lengths[i]` steps of row `i`.

    Raises:
        ValueError: If the lengths are not integers `(batch,)`, if `max_length` is not an integer of
            0 or more, or if a readable length is below 0 or above `max_length`.

    Example:

    >>> from keras_attnpool import ops
    >>> ops.lengths_to_mask([2, 0], max_length=3).shape == (2, 3)
    True
    """
    must, given = "be integers (batch,)", type(lengths).__name__
    try:
        lengths = ops.convert_to_tensor(lengths)
        dtype, shape = keras.backend.standardize_dtype(lengths.dtype), tuple(lengths.shape)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError("lengths", must, given, "lengths_to_mask") from error
    if "int" not in dtype or len(shape) != 1:
        raise ArgumentError("lengths", must, f"{dtype} of shape {shape}", "lengths_to_mask")
    if max_length is not None and not is_length(max_length):
        must = "be None or an integer >= 0"
        raise ArgumentError("max_length", must, {"max_length": max_length}, "lengths_to_mask")
    # The number of steps might not fit into a smaller dtype.
    lengths = lengths if dtype == "int64" else ops.cast(lengths, "int32")
    if max_length is None:
        max_length = int(ops.max(lengths))
    values, most = (values_at_hand(each, wait=False) for each in (lengths, max_length))
    if values is not None and most is not None and ((values < 0) | (values > most)).any():
        must = f"lie in [0, max_length={max_length}]; cut longer rows and their lengths alike"
        received = f"lengths from {values.min()} to {values.max()}"
        raise ArgumentError("lengths", must, received, "lengths_to_mask")
    steps = ops.arange(0, max_length, dtype=lengths.dtype)
    return ops.expand_dims(steps, 0) < ops.expand_dims(lengths, 1)


def zero_masked(x: Tensor, mask: Tensor | None) -> Tensor:
    """Replaces padded steps by zeros, even if their values are NaN or infinity.

    Args:
        x: Tensor `(batch, time, ...)`.
        mask: Boolean tensor `(batch, time)` where True keeps a step, or `None`.

    Returns:
        A tensor like `x` that is exactly 0, with a zero gradient, where `mask` is False.

    Example:

    >>> import numpy as np
    >>> import keras
    >>> from keras_attnpool import ops
    >>> x = np.array([[[1.0], [np.nan]]], "float32")
    >>> float(keras.ops.sum(ops.zero_masked(x, np.array([[True, False]]))))
    1.0
    """
    x = ops.convert_to_tensor(x)
    if mask is None:
        return x
    mask = ops.convert_to_tensor(mask)
    check_mask_shape(tuple(mask.shape), tuple(x.shape), "zero_masked", kind="")
    return ops.where(_append_axes(mask, x), x, scalar_like(0, x))


def masked_softmax(logits: Tensor, mask: Tensor | None = None, axis: int = -1) -> Tensor:
    """Computes the softmax over the kept entries; other entries and empty rows are 0.

    The weights are computed in float32 or float64. Masked logits are replaced, because adding a
    large negative number would not be exact. So weights and gradients do not depend on masked
    logits in any precision.

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
    >>> weights = ops.masked_softmax(np.zeros((1, 3)), np.array([[True, True, False]]))
    >>> [float(w) for w in weights[0]]
    [0.5, 0.5, 0.0]
    """
    mask = _as_bool(mask, "masked_softmax")
    weights = masked_softmax_or_even(logits, mask, axis)
    if mask is None:
        return weights
    # On PyTorch the gradient of `where` takes two operations, and the gradient of a product takes
    # one. On a CPU the mask must first be turned into numbers.
    if isinstance(weights, keras.KerasTensor) or _devices.on_cpu(weights):
        return ops.where(mask, weights, scalar_like(0, weights))
    return ops.multiply(weights, mask)


def masked_softmax_or_even(logits: Tensor, mask: Tensor | None = None, axis: int = -1) -> Tensor:
    """Computes `masked_softmax`, but with equal weights in rows without a kept entry.

    Use these weights only for sums of values that are zero at padding. The sum of a row without a
    kept entry is then 0, and its gradient is 0.
    """
    logits = at_least_float32(logits)
    if mask is not None:
        # If masked logits are the lowest number, they do not affect the shift or the gradient.
        logits = ops.where(mask, logits, _lowest(logits))
    if logits.shape[axis] != 1 or torch_traces():
        return ops.softmax(logits, axis=axis)
    # Keras warns about a softmax over a single step. But a trace of such a text is also used for
    # longer texts.
    return ops.exp(logits - logits)


def masked_sum(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Sums the kept steps over time, in float32 or float64.

    Args:
        x: Tensor `(batch, time, ...)`.
        mask: Boolean tensor `(batch, time)` where True keeps a step, or `None`.

    Returns:
        Tensor `(batch, ...)`, in float32 or float64. A row without a kept step gives 0.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool import ops
    >>> ops.masked_sum(np.ones((2, 5, 3))).shape == (2, 3)
    True
    """
    x, _ = _zeroed(x, mask, "masked_sum")
    return ops.sum(at_least_float32(x), axis=1)


def masked_mean(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Averages the kept steps over time, in float32 or float64.

    Args:
        x: Tensor `(batch, time, ...)`.
        mask: Boolean tensor `(batch, time)` where True keeps a step, or `None`.

    Returns:
        Tensor `(batch, ...)`, in float32 or float64. A row without a kept step gives 0.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool import ops
    >>> x = np.array([[[2.0], [4.0], [99.0]]], "float32")
    >>> float(ops.masked_mean(x, np.array([[True, True, False]]))[0, 0])
    3.0
    """
    return mean_of_zeroed(*_zeroed(x, mask, "masked_mean"))


def mean_of_zeroed(x: Tensor, mask: Tensor | None) -> Tensor:
    """Computes `masked_mean` for steps that are already zero at padding."""
    total = ops.sum(at_least_float32(x), axis=1)
    if mask is None:
        return total / ops.cast(ops.maximum(ops.shape(x)[1], 1), total.dtype)
    count = number_of_kept(mask, keras.backend.standardize_dtype(total.dtype))
    return total / _append_axes(ops.maximum(count, scalar_like(1, count)), total)


def statistics_of_zeroed(x: Tensor, mask: Tensor | None, epsilon: float) -> Tensor:
    """Concatenates mean and standard deviation of steps that are already zero at padding."""
    mean = mean_of_zeroed(x, mask)
    away = zero_masked(at_least_float32(x) - ops.expand_dims(mean, 1), mask)
    variance = mean_of_zeroed(ops.square(away), mask)
    sigma = ops.sqrt(ops.maximum(variance, scalar_like(epsilon, variance)))
    return ops.concatenate([mean, sigma], axis=-1)


def masked_max(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Takes the maximum of the kept steps over time.

    Args:
        x: Tensor `(batch, time, ...)`.
        mask: Boolean tensor `(batch, time)` where True keeps a step, or `None`.

    Returns:
        Tensor `(batch, ...)` in the dtype of `x`. A row without a kept step gives 0.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool import ops
    >>> x = np.array([[[-2.0], [-4.0], [0.0]]], "float32")
    >>> float(ops.masked_max(x, np.array([[True, True, False]]))[0, 0])
    -2.0
    """
    return max_of_zeroed(*_zeroed(x, mask, "masked_max"))


def max_of_zeroed(x: Tensor, mask: Tensor | None) -> Tensor:
    """Computes `masked_max` for steps that are already zero at padding."""
    if mask is not None:
        # A row without a kept step keeps its zeros: its mask equals its `any` at all steps.
        kept = ops.equal(mask, ops.any(mask, axis=1, keepdims=True))
        x = ops.where(_append_axes(kept, x), x, scalar_like(_nothing_below(x), x))
    return highest_along(x, 1)


def _nothing_below(x: Tensor) -> float:
    """Returns the lowest value of the dtype; -inf for floats, because a maximum may be -inf."""
    dtype = keras.backend.standardize_dtype(x.dtype)
    if "int" in dtype:
        return int(np.iinfo(dtype).min)
    return False if dtype == "bool" else -math.inf


def highest_along(x: Tensor, axis: int) -> Tensor:
    """Computes the maximum along an axis >= 1 of size 1 or more, even for an empty batch."""
    return empty_batch_safe(lambda x: ops.amax(x, axis=axis), x)


def zero_masked_rows(x: Tensor, mask: Tensor | None) -> Tensor:
    """Replaces the entries of rows without a kept step by zeros.

    Args:
        x: Tensor `(batch, ...)`, one entry per row.
        mask: Boolean tensor `(batch, time)` where True keeps a step, or `None`.

    Returns:
        A tensor like `x` that is exactly 0 in rows where `mask` keeps no step.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool import ops
    >>> mask = np.array([[False, False], [True, False]])
    >>> [float(v) for v in ops.zero_masked_rows(np.array([5.0, 7.0], "float32"), mask)]
    [0.0, 7.0]
    """
    if mask is None:
        return ops.convert_to_tensor(x)
    x = ops.convert_to_tensor(x)
    kept = _append_axes(ops.any(mask, axis=1), x)
    return ops.where(kept, x, scalar_like(0, x))


def _as_bool(
    mask: Tensor | None,
    owner: str,
    x: Tensor | None = None,
    wait: bool = False,
    kind: str = "",
) -> Tensor | None:
    """Turns a mask into booleans; raises an error for readable values other than 0 and 1.

    If `x` is given as `(batch, time, ...)`, a mask that is not `(batch, time)` also raises an
    error.
    """
    if mask is None:
        return None
    mask = ops.convert_to_tensor(mask)
    if x is not None:
        check_mask_shape(tuple(mask.shape), tuple(x.shape), owner, kind)
    check_mask_values(mask, owner, wait, kind)
    return ops.cast(mask if x is None else _fitted(mask, x), "bool")


def _zeroed(x: Tensor, mask: Tensor | None, owner: str) -> tuple[Tensor, Tensor | None]:
    """Returns the tensor with zeros at masked steps, and the boolean mask."""
    x = ops.convert_to_tensor(x)
    mask = _as_bool(mask, owner, x)
    return zero_masked(x, mask), mask


def _append_axes(mask: Tensor, x: Tensor) -> Tensor:
    """Gives `mask` trailing axes of size 1 until it has the rank of `x`."""
    mask = ops.convert_to_tensor(mask)
    for _ in range(len(x.shape) - len(mask.shape)):
        mask = ops.expand_dims(mask, -1)
    return mask


def _lowest(x: Tensor) -> Any:
    """Returns the lowest finite number of the dtype of `x` (float32 or float64) as a scalar."""
    dtype = keras.backend.standardize_dtype(x.dtype)
    lowest = {"float32": -3.4e38, "float64": -1.7e308}
    return scalar_like(lowest[dtype], x)
