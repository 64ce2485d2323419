"""Where a backend on a CPU wants another order of the same work.

No module of the package imports a backend; Keras has imported the one in use.
"""

import sys

import keras

from keras_attnpool.types import Tensor


def eager_on_torch_cpu(x: Tensor) -> bool:
    """Whether PyTorch computes with this tensor on a CPU, operation after operation."""
    if keras.backend.backend() != "torch":
        return False
    return bool(x.device.type == "cpu" and not sys.modules["torch"].compiler.is_compiling())


def jax_on_cpu() -> bool:
    """Whether JAX computes on a CPU."""
    return bool(keras.backend.backend() == "jax" and sys.modules["jax"].default_backend() == "cpu")
