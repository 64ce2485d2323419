"""Where PyTorch's CPU wants another order of the same work."""

import sys

import keras

from keras_attnpool.types import Tensor


def eager_on_torch_cpu(x: Tensor) -> bool:
    """Whether PyTorch computes with this tensor on a CPU, operation after operation."""
    if keras.backend.backend() != "torch":
        return False
    # No module here imports a backend; Keras has.
    torch = sys.modules["torch"]
    return bool(x.device.type == "cpu" and not torch.compiler.is_compiling())
