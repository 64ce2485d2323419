"""Where a backend, or a CPU, wants another order of the same work.

No module of the package imports a backend; Keras has imported the one in use.
"""

import sys

import keras

from keras_attnpool.types import Tensor


def on_torch_cpu(x: Tensor) -> bool:
    """Whether PyTorch computes with this tensor on a CPU."""
    return bool(keras.backend.backend() == "torch" and x.device.type == "cpu")


def eager_on_torch_cpu(x: Tensor) -> bool:
    """Whether PyTorch computes with this tensor on a CPU, operation after operation."""
    return on_torch_cpu(x) and not sys.modules["torch"].compiler.is_compiling()


def torch_traces() -> bool:
    """Whether PyTorch records what is called, for other batches than the one at hand."""
    if keras.backend.backend() != "torch":
        return False
    torch = sys.modules["torch"]
    return bool(torch.compiler.is_compiling() or torch.jit.is_tracing())


def masks_are_cheap() -> bool:
    """Whether a recurrence with a mask costs less than one over steps that have been moved.

    So on the CPUs of JAX and TensorFlow; elsewhere a mask keeps the fast kernels away.
    """
    backend = keras.backend.backend()
    if backend == "jax":
        return bool(sys.modules["jax"].default_backend() == "cpu")
    if backend == "tensorflow":
        return not sys.modules["tensorflow"].config.list_logical_devices("GPU")
    return False
