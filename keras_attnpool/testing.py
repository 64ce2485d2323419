"""Checks whether a layer keeps the promises of this package's pooling layers.

A test of your layer is one line. The test needs only Keras and NumPy, and runs on any backend that
trains.
"""

import inspect
import tempfile
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.types import Array, Bools

# Three different sizes tell the axes apart.
ROWS, TIME, DIM = 4, 7, 6
SINGLE, HALF = 1e-5, 3e-2


def check_pooling_layer(
    make_layer: Callable[[], Any], *, skip: Collection[str] = (), largest: float = 3e4
) -> None:
    """Checks that a layer pools `(batch, time, dim)` with a mask, as our layers do.

    These are the promises:

    - `"mask"`: the call takes `mask=`, booleans `(batch, time)`. True keeps a step. Padded steps
      may lie between kept steps.
    - `"padding content"`: the numbers in padded steps do not change the output.
    - `"padding length"`: more padding after the row does not change the output.
    - `"padding in front"`: padding before the row gives the same output as padding after the row.
    - `"nan"`: NaN and infinity in padded steps do not change the output.
    - `"empty row"`: a row without a kept step gives zeros.
    - `"gradient"`: the gradient is finite, and it is 0 for padded steps and empty rows, even if
      padded steps are NaN.
    - `"half precision"`: with the policy `mixed_float16` the output is close to the float32 output,
      and it is finite for inputs as large as `largest`.
    - `"saving"`: a saved model loads and gives the same output.
    - `"scores"`: if the call has `return_attention_scores`, the weights are >= 0, they sum to 1
      over the kept steps, and they are 0 on padding. Returning the weights does not change the
      output.

    Args:
        make_layer: Function without arguments that returns a new layer. The function is called more
            than once.
        skip: Names of promises that the layer does not make.
        largest: Largest inputs whose output must be finite in half precision. The largest number of
            half precision is 65,504. A layer that multiplies inputs by each other needs a smaller
            `largest`.

    Raises:
        AssertionError: If promises are broken. The message has one line per broken promise.
        ArgumentError: If `skip` contains `"mask"` or an unknown name.

    Example:

    ```python
    import keras
    from keras_attnpool.layers import AttentionPooling
    from keras_attnpool.testing import check_pooling_layer

    check_pooling_layer(lambda: AttentionPooling(hidden_dim=4))


    class Mean(keras.layers.Layer):
        def call(self, inputs, mask=None):
            return keras.ops.mean(inputs, axis=1)  # takes a mask and ignores it


    try:
        check_pooling_layer(Mean)
    except AssertionError as error:
        assert "- padding content: the output changes by" in str(error)
    ```
    """
    unknown = set(skip) - set(PROMISES)
    if unknown:
        must, received = f"hold names of {sorted(PROMISES)}", f"skip={sorted(unknown)}"
        raise ArgumentError("skip", must, received, "check_pooling_layer")
    layer = make_layer()
    owner = f"{type(layer).__name__}: "
    if "mask" not in inspect.signature(layer.call).parameters:
        raise AssertionError(f"{owner}the promise 'mask' is broken: its call takes no `mask`.")
    x, mask = _batch()
    layer(x, mask=mask)
    broken = []
    for name, check in (PROMISES | {"half precision": partial(_half, largest=largest)}).items():
        if name not in skip:
            try:
                told = check(make_layer, layer)
            except Exception as error:  # any error in the layer breaks the promise
                told = f"{type(error).__name__}: {str(error).strip()[:300]}"
            broken += [f"- {name}: {told}"] if told else []
    if broken:
        raise AssertionError(
            "\n".join([f"{owner}{len(broken)} of {len(PROMISES)} promises are broken", *broken])
        )


def _batch() -> tuple[Array, Bools]:
    """A full row, a padded row, a row with padding between kept steps, and an empty row."""
    x = np.random.default_rng(0).normal(size=(ROWS, TIME, DIM)).astype("float32")
    mask = np.arange(TIME) < np.array([[TIME], [3], [TIME], [0]])
    mask[2, [0, 3]] = False
    return x, mask


def _output(layer: Any, x: Array, mask: Bools, **kwargs: Any) -> list[Array]:
    outputs = keras.tree.flatten(layer(x, mask=mask, **kwargs))
    return [keras.ops.convert_to_numpy(keras.ops.cast(each, "float32")) for each in outputs]


def _apart(found: Array, target: Array, tolerance: float = SINGLE) -> str | None:
    """Describes the change of an output, or returns `None` if it is unchanged."""
    if found.shape != target.shape:
        return f"the output has shape {found.shape} in place of {target.shape}"
    if not np.isfinite(found).all():
        return "the output is not finite"
    change = float(np.abs(found - target).max() / max(1, np.abs(target).max()))
    return f"the output changes by {change:.2g}" if change > tolerance else None


def _content(make: Any, layer: Any, contents: tuple[float, ...] = (100.0,)) -> str | None:
    x, mask = _batch()
    for content in contents:
        other = np.where(mask[..., None], x, np.float32(content))
        told = _apart(_output(layer, other, mask)[0], _output(layer, x, mask)[0])
        if told:
            return f"{told} with {content:g} in padding"
    return None


def _length(make: Any, layer: Any, sides: tuple[int, int] = (0, 3)) -> str | None:
    x, mask = _batch()
    longer = np.pad(x, ((0, 0), sides, (0, 0)), constant_values=5)
    found = _output(layer, longer, np.pad(mask, ((0, 0), sides)))[0]
    return _apart(found, _output(layer, x, mask)[0])


def _empty(make: Any, layer: Any) -> str | None:
    output = _output(layer, *_batch())[0][-1]
    return None if (output == 0).all() else f"a row without a kept step gives {output.ravel()[:3]}"


class _Loss(keras.Model):  # type: ignore[misc]
    """A model that adds a weight of zeros to the inputs and returns a random sum of outputs."""

    def __init__(self, layer: Any, x: Array, mask: Bools) -> None:
        super().__init__(name="loss")
        self.layer, self.x, self.mask = layer, x, mask
        self.shift = self.add_weight(shape=x.shape, initializer="zeros", name="shift")
        shape = _output(layer, x, mask)[0].shape
        self.probe = np.random.default_rng(1).normal(size=shape).astype("float32")

    def call(self, inputs: Any) -> Any:
        x = keras.ops.convert_to_tensor(self.x) + self.shift
        output = keras.tree.flatten(self.layer(x, mask=keras.ops.convert_to_tensor(self.mask)))[0]
        probe = keras.ops.convert_to_tensor(self.probe)
        return keras.ops.reshape(keras.ops.sum(output * probe), (1, 1)) + 0 * inputs


def _gradient(make: Any, layer: Any) -> str | None:
    """Checks the gradient with Keras alone: SGD with rate 1 changes a weight by its gradient."""
    x, mask = _batch()
    before = layer.get_weights()
    for garbage in (0.0, np.nan):
        model = _Loss(layer, np.where(mask[..., None], x, np.float32(garbage)), mask)
        model(np.zeros((1, 1), "float32"))
        model.compile(keras.optimizers.SGD(1.0), loss=lambda _, y: keras.ops.sum(y))
        model.train_on_batch(np.zeros((1, 1), "float32"), np.zeros((1, 1), "float32"))
        found = keras.ops.convert_to_numpy(model.shift.value)
        after = layer.get_weights()
        layer.set_weights(before)
        if not all(np.isfinite(each).all() for each in (found, *after)):
            return f"it is not finite with {garbage} in padding"
        if found[~mask].any():
            return f"a padded step has a gradient of {np.abs(found[~mask]).max():.2g}"
        if not found[mask].any():
            return "no kept step has a gradient"
    return None


def _half(make: Any, layer: Any, largest: float = 3e4) -> str | None:
    x, mask = _batch()
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        half = make()
        half(x, mask=mask)
        half.set_weights(layer.get_weights())
        told = _apart(_output(half, x, mask)[0], _output(layer, x, mask)[0], HALF)
        extreme = np.where(mask[..., None], np.sign(x) * largest, 1e30).astype("float32")
        if not told and not np.isfinite(_output(half, extreme, mask)[0]).all():
            told = f"the output is not finite for inputs of {largest:g}"
        return told
    finally:
        keras.config.set_dtype_policy(policy)


def _saving(make: Any, layer: Any) -> str | None:
    x, _ = _batch()
    inputs = keras.Input((None, DIM))
    model = keras.Model(inputs, layer(inputs))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        own = {type(layer).__name__: type(layer)}
        loaded = keras.saving.load_model(path, custom_objects=own, compile=False)
    found, target = (keras.tree.flatten(each.predict(x, verbose=0)) for each in (loaded, model))
    return _apart(found[0], target[0])


def _scores(make: Any, layer: Any) -> str | None:
    if "return_attention_scores" not in inspect.signature(layer.call).parameters:
        return None
    x, mask = _batch()
    output, *weights = _output(layer, x, mask, return_attention_scores=True)
    told = _apart(output, _output(layer, x, mask)[0])
    for each in weights:
        axes = [axis for axis, size in enumerate(each.shape) if size == TIME]
        if not axes:
            return f"scores of shape {each.shape} have no axis of {TIME} steps"
        each = np.moveaxis(each, axes[-1], -1)
        keep = np.broadcast_to(mask.reshape(ROWS, *[1] * (each.ndim - 2), TIME), each.shape)
        if each.min() < 0 or each[~keep].any():
            told = told or "weights are below 0, or not 0 on padding"
        if np.abs(each.sum(-1) - keep.any(-1)).max() > SINGLE:
            told = told or "weights do not sum to 1 over the kept steps"
    return told


PROMISES: dict[str, Callable[[Any, Any], str | None]] = {
    "padding content": _content,
    "padding length": _length,
    "padding in front": partial(_length, sides=(3, 0)),
    "nan": partial(_content, contents=(np.nan, np.inf, -np.inf)),
    "empty row": _empty,
    "gradient": _gradient,
    "half precision": _half,
    "saving": _saving,
    "scores": _scores,
}
