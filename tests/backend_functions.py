"""What the tests need of each backend by name: gradients, compiled calls, what they refuse."""

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

# They predict alone. A test that needs more than that is skipped there.
WITHOUT_GRADIENTS = ("numpy", "openvino")


def skip_without_gradients() -> None:
    """Skips the test where the backend predicts alone."""
    backend = keras.config.backend()
    if backend in WITHOUT_GRADIENTS:
        pytest.skip(f"{backend} has no gradients and compiles nothing")


def on_gpu() -> bool:
    """Whether the tests run on a GPU."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        return bool(tf.config.list_physical_devices("GPU"))
    if backend == "torch":
        import torch

        return torch.cuda.is_available()
    if backend in WITHOUT_GRADIENTS:
        return False
    import jax

    return jax.default_backend() == "gpu"


# cuDNN's recurrent kernels approximate tanh and sigmoid, and choose their order by the shape.
RECURRENT = 2e-5 if on_gpu() else 1e-6


def assert_same(value: np.ndarray, target: np.ndarray) -> None:
    """Bit for bit on a CPU. A GPU adds in an order of its own, from call to call."""
    if on_gpu():
        np.testing.assert_allclose(value, target, atol=2e-6, rtol=2e-6)
    else:
        np.testing.assert_array_equal(value, target)


def everywhere(values: Iterable[Any], *chosen: Any, reason: str) -> list[Any]:
    """Parameters: `make test` runs those chosen under every backend, the others under PyTorch."""
    values, later = list(values), pytest.mark.torch_first(reason)
    assert all(value in values for value in chosen)

    def marked(value: Any) -> Any:
        several = value if isinstance(value, tuple) else (value,)
        return pytest.param(*several, marks=later)

    return [value if value in chosen else marked(value) for value in values]


def float64() -> AbstractContextManager:
    """Inside, float64 stays float64 on every backend: JAX keeps it in its x64 mode alone."""
    if keras.backend.backend() in WITHOUT_GRADIENTS:
        pytest.skip("Keras reads float64 arrays as float32 there")
    if keras.backend.backend() != "jax":
        return nullcontext()
    try:
        from jax import enable_x64
    except ImportError:  # where older versions of JAX have it
        from jax.experimental import enable_x64
    return enable_x64(True)


def numpy(x: Any) -> np.ndarray:
    """A tensor as NumPy array; half precision as float32."""
    x = keras.ops.stop_gradient(keras.ops.convert_to_tensor(x))
    if keras.backend.standardize_dtype(x.dtype) == "bfloat16":
        x = keras.ops.cast(x, "float32")
    return keras.ops.convert_to_numpy(x)


def predict(model: keras.Model, inputs: Any) -> Any:
    """What a model makes of one batch, by the way that is the quickest to a first result.

    JAX compiles the whole model sooner than its operations one after the other; TensorFlow computes
    them sooner than it traces the model.
    """
    if keras.config.backend() == "jax":
        return model.predict_on_batch(inputs)
    return keras.tree.map_structure(numpy, model(inputs))


def trained_and_read_again(
    model: keras.Model,
    inputs: Any,
    targets: Any,
    folder: Path,
    loss: str = "sparse_categorical_crossentropy",
) -> None:
    """A training step with a finite loss; a file of the model predicts what the model does."""
    # An optimizer class of Keras itself, so that the file opens on every backend. TensorFlow takes
    # a step sooner than it traces the model.
    model.compile("sgd", loss, run_eagerly=keras.config.backend() == "tensorflow")
    assert np.isfinite(model.train_on_batch(inputs, targets))
    predictions = predict(model, inputs)
    assert np.isfinite(predictions).all()
    model.save(folder / "model.keras")
    loaded = keras.models.load_model(folder / "model.keras")
    np.testing.assert_allclose(predict(loaded, inputs), predictions, atol=1e-6)


def gradients(layer: Any, x: np.ndarray, loss: Callable[[Any], Any]) -> tuple[np.ndarray, dict]:
    """Gradients of `loss(x)` with respect to `x` and to every trainable weight, by path.

    `loss` calls `layer` (a built layer or model) on the tensor it is given. A weight that the loss
    does not depend on has a gradient of zeros.
    """
    return gradients_of(layer, loss)(x)


def gradients_of(
    layer: Any, loss: Callable[..., Any]
) -> Callable[..., tuple[np.ndarray, dict[str, np.ndarray]]]:
    """`gradients` as a function of `x` and the further arguments of `loss`.

    JAX compiles it once for all inputs of one shape.
    """
    skip_without_gradients()
    variables = list(layer.trainable_variables)
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        def pure(x: Any, values: list, *rest: Any) -> Any:
            with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
                return loss(x, *rest)

        # One program: op by op each would be compiled by itself.
        compiled_gradients = jax.jit(jax.grad(pure, argnums=(0, 1)))

    def found_at(x: Any, *rest: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        if backend == "jax":
            values = [v.value for v in variables]
            on_x, on_values = compiled_gradients(jax.numpy.asarray(x), values, *rest)
            found = [on_x, *on_values]
        else:
            found = _eager_gradients(backend, variables, x, lambda t: loss(t, *rest))
        arrays = [numpy(g) for g in found]
        return arrays[0], dict(zip([v.path for v in variables], arrays[1:], strict=True))

    return found_at


def _eager_gradients(backend: str, variables: list, x: Any, loss: Callable[[Any], Any]) -> list:
    if backend == "tensorflow":
        import tensorflow as tf

        x = tf.convert_to_tensor(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(x)
        values = [v.value for v in variables]
        found = tape.gradient(value, [x, *values], unconnected_gradients="zero")
        return [tf.convert_to_tensor(g) for g in found]
    import torch

    # Where Keras computes, which may be a GPU.
    x = keras.ops.convert_to_tensor(x).detach().clone().requires_grad_()
    values = [v.value for v in variables]
    found = torch.autograd.grad(loss(x), [x, *values], allow_unused=True)
    return [
        torch.zeros_like(v) if g is None else g for v, g in zip([x, *values], found, strict=True)
    ]


def compiled(layer: Any, **kwargs: Any) -> Callable[[Any, Any], Any]:
    """`f(x, mask)`: the layer's call compiled as the backend's users would.

    TensorFlow and JAX go through XLA. On torch the graph is captured whole, so that a graph break
    inside the layer is an error, and run without code generation, which takes half a minute.
    """
    skip_without_gradients()
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


def whole(layer: Any, **kwargs: Any) -> Callable[[Any, Any], Any]:
    """`f(x, mask)`: the layer's call by the way that is the quickest to a first result.

    JAX compiles it whole, once for all inputs of one shape: else it would compile each operation.
    """
    if keras.backend.backend() == "jax":
        return compiled(layer, **kwargs)
    return lambda x, mask: layer(x, mask=mask, **kwargs)


def largest_tensor(function: Callable[[Any], Any], x: np.ndarray) -> int:
    """Entries of the largest tensor made on the way to the gradient of `sum(function(x))`."""
    skip_without_gradients()
    backend = keras.backend.backend()
    sizes = [0]
    if backend == "tensorflow":
        import tensorflow as tf

        @tf.function
        def gradient(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                value = keras.ops.sum(function(x))
            return tape.gradient(value, x)

        for operation in gradient.get_concrete_function(tf.constant(x)).graph.get_operations():
            sizes += [t.shape.num_elements() for t in operation.outputs if t.shape.rank]
    elif backend == "torch":
        import torch
        from torch.utils._python_dispatch import TorchDispatchMode

        class Record(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore
                out = func(*args, **(kwargs or {}))
                for tensor in out if isinstance(out, tuple | list) else (out,):
                    if isinstance(tensor, torch.Tensor):
                        # What is allocated: an expanded view takes no room.
                        bytes_held = tensor.untyped_storage().nbytes()
                        sizes.append(bytes_held // tensor.element_size())
                return out

        with Record():
            x = keras.ops.convert_to_tensor(x).detach().clone().requires_grad_()
            torch.autograd.grad(function(x).sum(), x)
    else:
        import jax

        def visit(jaxpr: Any) -> None:
            for equation in jaxpr.eqns:
                sizes.extend(result.aval.size for result in equation.outvars)
                for value in equation.params.values():
                    if hasattr(value, "eqns"):
                        visit(value)

        visit(jax.make_jaxpr(jax.grad(lambda x: function(x).sum()))(x).jaxpr)
    return max(sizes)


# How the exporters begin the line that names an operation which they do not have.
UNSUPPORTED = ("-- No conversion rule", "-- Conversion is failed for", "Exporting the operator")


def reason(error: Exception) -> str:
    """The line that names an operation, else the first that says something, without paths."""
    text = re.sub(r"\x1b\[\d*m", "", str(error))
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("Exception encountered")]
    lines = [line.lstrip("- ") for line in lines if line.startswith(UNSUPPORTED)] or lines
    line = re.sub(r"\S*/\S*/\S*", "...", lines[0] if lines else "")
    return f"{type(error).__name__}: {line}"[:160]
