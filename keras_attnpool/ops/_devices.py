"""The differences between backends and devices, and the check whether values can be read.

No module of the package imports a backend. Keras has already imported the active backend.
"""

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool.types import Tensor


def on_cpu(x: Any = None) -> bool:
    """Whether the backend computes on a CPU; for PyTorch, whether the tensor is on a CPU."""
    backend = keras.backend.backend()
    if backend == "torch":
        return bool(x.device.type == "cpu")
    if backend == "jax":
        return bool(sys.modules["jax"].default_backend() == "cpu")
    if backend == "tensorflow":
        return not sys.modules["tensorflow"].config.list_logical_devices("GPU")
    return True


def eager_on_torch_cpu(x: Tensor) -> bool:
    """Whether this is an eager computation of PyTorch with a tensor on a CPU."""
    if keras.backend.backend() != "torch":
        return False
    return on_cpu(x) and not sys.modules["torch"].compiler.is_compiling()


# Largest number of values for all heads together on an accelerator: a gigabyte of float32.
TOGETHER = 2**28


def heads_together(x: Tensor, num_heads: int, numbers: int) -> bool:
    """Returns whether a layer computes its heads together, not one after the other.

    On an accelerator, kernel launches take most of the time, and all heads together need as many
    launches as one head. A CPU is faster if it computes one head after the other, because the
    numbers of one head fit into the cache.

    Args:
        x: The inputs `(batch, time, dim)`.
        num_heads: Number of heads.
        numbers: Number of values per step and head.
    """
    if on_cpu(x):
        return False
    # An unknown size counts as 1.
    size = num_heads * numbers
    for known in x.shape[:2]:
        size *= known if isinstance(known, int) else 1
    return size <= TOGETHER


# Up to this number of scores, an accelerator computes all pairs faster than it launches the kernels
# for near pairs.
FEW_PAIRS = 2**22


def pairs_together(x: Tensor, scores: int) -> bool:
    """Returns whether an attention to near steps computes all pairs of steps.

    The result is True for short texts on an accelerator. Computing only the near pairs would need
    twice as many kernel launches.

    Args:
        x: The inputs `(batch, time, dim)`.
        scores: Number of scores per pair.
    """
    batch, time = x.shape[:2]
    # An unknown size may be a symbol, which cannot be compared.
    if on_cpu(x) or not isinstance(time, int):
        return False
    return (batch if isinstance(batch, int) else 1) * time * time * scores <= FEW_PAIRS


_CONSTANTS: dict[Any, Tensor] = {}
# The largest number of cached constants, and the largest size of a cached constant.
MOST_CONSTANTS, LARGEST_CONSTANT = 256, 2**16


def constant(name: Any, x: Tensor, make: Callable[[], Any]) -> Any:
    """Returns the small tensor `make()`, which depends only on `name` and the dtype of `x`.

    On PyTorch the tensor is cached. So the tensor is created, or copied to an accelerator, only
    once.

    Args:
        name: Hashable name of the constant.
        x: A tensor on the device of the constant.
        make: Function that makes the constant.

    Returns:
        A tensor that must not be changed.
    """
    if keras.backend.backend() != "torch" or isinstance(x, keras.KerasTensor):
        return make()
    torch = sys.modules["torch"]
    # A trace or a fake mode cannot use outer tensors. Its own tensors are invalid later.
    if torch_traces() or type(x) not in (torch.Tensor, torch.nn.Parameter):
        return make()
    key = (name, x.dtype, x.device)
    kept = _CONSTANTS.get(key)
    if kept is not None:
        return kept
    # A tensor from inference mode could not be used in a later training step.
    with torch.inference_mode(False):
        made = make()
    # A wrapped tensor is invalid after its transformation.
    if (
        type(made) is torch.Tensor
        and made.device == x.device
        and made.numel() <= LARGEST_CONSTANT
        and can_recompute()
    ):
        # Other threads also write, so there may be more constants than this limit.
        if len(_CONSTANTS) >= MOST_CONSTANTS:
            _CONSTANTS.clear()
        _CONSTANTS[key] = made
    return made


def scalar_like(value: float, x: Tensor) -> Tensor:
    """Returns a number as a scalar tensor in the dtype of `x`; see `constant`."""
    return constant(value, x, lambda: keras.ops.convert_to_tensor(value, dtype=x.dtype))


def number_of_kept(mask: Tensor, dtype: str) -> Tensor:
    """Counts the kept steps of each row of a boolean mask `(batch, time)`, as floats.

    Keras's sum would first count in integers, which is one more operation on PyTorch.
    """
    if keras.backend.backend() != "torch" or isinstance(mask, keras.KerasTensor):
        return keras.ops.sum(keras.ops.cast(mask, dtype), axis=1)
    torch = sys.modules["torch"]
    return torch.sum(mask, 1, dtype=getattr(torch, dtype))


def affine(x: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    """Returns `x` times a kernel, plus a bias if there is one, in the dtype of `x`.

    PyTorch has a single operation for product and sum. Keras uses two operations. On a CPU,
    TensorFlow has a fault: the product of `(n, 1, t, d)` and a matrix writes outside its own
    memory. So inputs with more than three axes become rows `(n * t, d)` first.
    """
    kernel = keras.ops.cast(kernel, x.dtype)
    bias = None if bias is None else keras.ops.cast(bias, x.dtype)
    if keras.backend.backend() == "torch":
        return sys.modules["torch"].nn.functional.linear(x, keras.ops.transpose(kernel), bias)
    rows = keras.ops.reshape(x, (-1, x.shape[-1])) if len(x.shape) > 3 else x
    product = keras.ops.matmul(rows, kernel)
    product = product if bias is None else product + bias
    if rows is x:
        return product
    return keras.ops.reshape(product, (*keras.ops.shape(x)[:-1], kernel.shape[-1]))


def need_gradients(owner: str) -> None:
    """Raises an error for NumPy and OpenVINO, which can only predict and have no gradients.

    Args:
        owner: The function that needs gradients, for the message.

    Raises:
        NotImplementedError: If the backend has no gradients.

    Example:

    >>> from keras_attnpool import ops
    >>> ops.need_gradients("my_function")  # JAX, PyTorch and TensorFlow have them
    """
    backend = keras.backend.backend()
    if backend in ("numpy", "openvino"):
        raise NotImplementedError(
            f"{owner} needs gradients, which the backend {backend!r} does not have: it predicts "
            "alone. Save the model, and call this with KERAS_BACKEND=jax, torch or tensorflow."
        )


def torch_traces() -> bool:
    """Whether PyTorch traces this call and replays its operations for other batches."""
    if keras.backend.backend() != "torch":
        return False
    torch = sys.modules["torch"]
    return bool(torch.compiler.is_compiling() or torch.jit.is_tracing())


def exp(x: Tensor) -> Tensor:
    """Computes `exp`, fast also on a CPU with PyTorch, whose `exp` is slow for results of 0."""
    if not eager_on_torch_cpu(x):
        return keras.ops.exp(x)
    return (x * math.log2(math.e)).exp2_()


def threshold(x: Tensor, least: float, value: float) -> Tensor:
    """Replaces all entries of `x` up to `least` by `value`, as `keras.ops.threshold` does.

    PyTorch cannot convert this operation to ONNX, so a trace gets a comparison and `where`.
    """
    if torch_traces():
        return keras.ops.where(x > least, x, value)
    return keras.ops.threshold(x, least, value)


def values_at_hand(x: Any, wait: bool = True) -> npt.NDArray[Any] | None:
    """Returns the values of a tensor, if they can be read.

    Args:
        x: A tensor of the backend, a `keras.KerasTensor`, or anything that NumPy takes.
        wait: Whether to read a tensor on an accelerator too. The call then waits for the device.

    Returns:
        A NumPy array, or `None` if the tensor has no values yet: a symbolic tensor, or a tensor in
        a compiled, traced or mapped function. `wait=False` also gives `None` for a tensor on an
        accelerator.
    """
    if isinstance(x, keras.KerasTensor) or torch_traces():
        return None
    # Each backend raises a different error for a tensor without values. JAX raises a TypeError.
    try:
        if wait or _in_host_memory(x):
            return np.asarray(keras.ops.convert_to_numpy(x))
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        pass
    return None


def _in_host_memory(x: Any) -> bool:
    backend = keras.backend.backend()
    if not keras.ops.is_tensor(x):
        return True
    if backend == "torch":
        return bool(x.device.type == "cpu")
    if backend == "jax":
        return all(device.platform == "cpu" for device in x.devices())
    if backend == "tensorflow":
        return "CPU" in x.device
    # OpenVINO holds constants in memory, and computes other tensors on demand.
    return backend == "numpy" or bool(x.output.get_node().get_type_name() == "Constant")


def can_recompute() -> bool:
    """Whether the backward pass can recompute values that the forward pass did not store.

    PyTorch cannot recompute inside `torch.func`, which refuses custom gradients. The compiler of
    PyTorch cannot recompute a Keras layer. NumPy and OpenVINO have no backward pass.
    """
    if keras.backend.backend() != "torch":
        return keras.backend.backend() not in ("numpy", "openvino")
    torch = sys.modules["torch"]
    if torch.compiler.is_compiling():
        return False
    try:
        _torch_identity().apply(torch.empty(0))
    except RuntimeError:
        return False
    return True


@functools.cache
def _torch_identity() -> Any:
    torch = sys.modules["torch"]

    class Identity(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.view_as(x)

    return Identity


def masks_are_cheap() -> bool:
    """Whether a recurrence is faster with a mask than with the kept steps moved to the front.

    The result is True on CPUs with JAX or TensorFlow. On other devices and backends, fast kernels
    exist, but they do not support masks.
    """
    return keras.backend.backend() != "torch" and on_cpu()
