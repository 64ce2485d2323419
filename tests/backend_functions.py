"""What the tests need of each backend by name: gradients and compiled calls."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np


def numpy(x: Any) -> np.ndarray:
    """A tensor as NumPy array; half precision as float32."""
    x = keras.ops.stop_gradient(keras.ops.convert_to_tensor(x))
    if keras.backend.standardize_dtype(x.dtype) == "bfloat16":
        x = keras.ops.cast(x, "float32")
    return keras.ops.convert_to_numpy(x)


def gradients(layer: Any, x: np.ndarray, loss: Callable[[Any], Any]) -> tuple[np.ndarray, dict]:
    """Gradients of `loss(x)` with respect to `x` and to every trainable weight, by path.

    `loss` calls `layer` (a built layer or model) on the tensor it is given. A weight that the loss
    does not depend on has a gradient of zeros.
    """
    variables = list(layer.trainable_variables)
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        x = tf.convert_to_tensor(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(x)
        values = [v.value for v in variables]
        found = tape.gradient(value, [x, *values], unconnected_gradients="zero")
        found = [tf.convert_to_tensor(g) for g in found]
    elif backend == "torch":
        import torch

        x = torch.tensor(x, requires_grad=True)
        values = [v.value for v in variables]
        found = torch.autograd.grad(loss(x), [x, *values], allow_unused=True)
        found = [
            torch.zeros_like(v) if g is None else g
            for v, g in zip([x, *values], found, strict=True)
        ]
    else:
        import jax

        def pure(x: Any, values: list) -> Any:
            with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
                return loss(x)

        on_x, on_values = jax.grad(pure, argnums=(0, 1))(
            jax.numpy.asarray(x), [v.value for v in variables]
        )
        found = [on_x, *on_values]
    arrays = [numpy(g) for g in found]
    return arrays[0], dict(zip([v.path for v in variables], arrays[1:], strict=True))


def compiled(layer: Any, **kwargs: Any) -> Callable[[Any, Any], Any]:
    """`f(x, mask)`: the layer's call compiled as the backend's users would.

    TensorFlow and JAX go through XLA. On torch the graph is captured whole, so that a graph break
    inside the layer is an error, and run without code generation, which takes half a minute.
    """
    backend = keras.backend.backend()

    def call(x: Any, mask: Any) -> Any:
        return layer(x, mask=mask, **kwargs)

    if backend == "tensorflow":
        import tensorflow as tf

        return tf.function(call, jit_compile=True)
    if backend == "torch":
        import torch

        return torch.compile(call, backend="eager", fullgraph=True)
    import jax

    return jax.jit(call)
