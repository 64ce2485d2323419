"""What a backend, or a device, does otherwise; whether a tensor has values that can be read.

No module of the package imports a backend; Keras has imported the one in use.
"""

import sys
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool.types import Tensor


def on_cpu(x: Any = None) -> bool:
    """Whether the backend computes on a CPU; PyTorch: with this tensor."""
    backend = keras.backend.backend()
    if backend == "torch":
        return bool(x.device.type == "cpu")
    if backend == "jax":
        return bool(sys.modules["jax"].default_backend() == "cpu")
    return not sys.modules["tensorflow"].config.list_logical_devices("GPU")


def on_torch_cpu(x: Tensor) -> bool:
    """Whether PyTorch computes with this tensor on a CPU."""
    return keras.backend.backend() == "torch" and on_cpu(x)


def eager_on_torch_cpu(x: Tensor) -> bool:
    """Whether PyTorch computes with this tensor on a CPU, operation after operation."""
    return on_torch_cpu(x) and not sys.modules["torch"].compiler.is_compiling()


def torch_traces() -> bool:
    """Whether PyTorch records what is called, for other batches than the one at hand."""
    if keras.backend.backend() != "torch":
        return False
    torch = sys.modules["torch"]
    return bool(torch.compiler.is_compiling() or torch.jit.is_tracing())


def values_at_hand(x: Any, wait: bool = True) -> npt.NDArray[Any] | None:
    """The values of a tensor, where they can be read.

    Args:
        x: A tensor of the backend, a `keras.KerasTensor`, or anything that NumPy takes.
        wait: Whether to read a tensor on an accelerator too. The call then waits for the device.

    Returns:
        A NumPy array, or `None` where there are no values yet: for a symbolic tensor and inside a
        compiled, traced or mapped function. Without `wait` also for a tensor on an accelerator.
    """
    if isinstance(x, keras.KerasTensor) or torch_traces():
        return None
    # Each backend has errors of its own for a tensor without values; JAX's is a TypeError.
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
    return "CPU" in x.device


def can_recompute() -> bool:
    """Whether the backend can compute again, in the backward pass, what it did not keep.

    PyTorch cannot inside `torch.func.grad` and its like, which allow no hooks on what is saved.
    """
    if keras.backend.backend() != "torch":
        return True
    torch = sys.modules["torch"]
    if torch.compiler.is_compiling():
        return True
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            return True
    except RuntimeError:
        return False


def masks_are_cheap() -> bool:
    """Whether a recurrence with a mask costs less than one over steps that have been moved.

    So on the CPUs of JAX and TensorFlow; elsewhere a mask keeps the fast kernels away.
    """
    return keras.backend.backend() != "torch" and on_cpu()
