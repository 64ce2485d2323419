"""The probes: each calls a layer and says in a word or number what it found."""

import re
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from benchmarks.behaviour.subjects import DIM, Subject

KEPT, TIME = 4, 6
LARGE = 40.0
# Differences below this are those of rounding.
SAME = 1e-5
CLEAN = {
    "padding": "no",
    "gradient": "no",
    "nan": "no",
    "empty": "zeros",
    "float16": "finite",
    "mask": "used",
    "file": "yes",
}


def probed(subject: Subject) -> dict[str, Any]:
    """The verdict of every probe, or the error that it ended with."""
    verdicts = {}
    for name, probe in PROBES.items():
        keras.utils.set_random_seed(0)
        try:
            verdicts[name] = probe(subject)
        except Exception as error:  # whatever somebody else's layer raises is the finding
            # Keras puts the cause below a line of its own, in bold.
            lines = [line.strip() for line in re.sub(r"\x1b\[\d+m", "", str(error)).splitlines()]
            told = [line for line in lines if line and not line.startswith("Exception encountered")]
            verdicts[name] = f"{type(error).__name__}: {told[0] if told else ''}"[:160]
    return verdicts


def _inputs(time: int = TIME) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(2, time, DIM)).astype("float32")


def _mask(kept: int, time: int = TIME) -> np.ndarray:
    return np.stack([np.ones(time, bool), np.arange(time) < kept])


def _array(x: Any) -> np.ndarray:
    x = ops.stop_gradient(ops.convert_to_tensor(x))
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def _output(subject: Subject, layer: Any, x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    given = ops.convert_to_tensor(x), ops.convert_to_tensor(mask)
    return _array(subject.call(layer, *given))


def _kept_part(subject: Subject, output: Any, kept: int = KEPT) -> Any:
    """Of the padded text, what its reader would use: the vector, or those of its words."""
    return output[1] if subject.pools else output[1, :kept]


def _leak(change: float) -> str:
    return "no" if change <= SAME else f"yes, {change:.2g}"


def padding(subject: Subject) -> str:
    """By how much the output changes when only padded steps do."""
    layer, x, mask = subject.make("float32"), _inputs(), _mask(KEPT)
    before = _kept_part(subject, _output(subject, layer, x, mask))
    x[1, KEPT:] = 10.0
    after = _kept_part(subject, _output(subject, layer, x, mask))
    return _leak(float(np.abs(after - before).max()))


def gradient(subject: Subject) -> str:
    """The largest derivative of the output with respect to a padded step."""
    layer, x, mask = subject.make("float32"), _inputs(), _mask(KEPT)
    _output(subject, layer, x, mask)  # builds it
    mask = ops.convert_to_tensor(mask)

    def loss(inputs: Any) -> Any:
        output = _kept_part(subject, subject.call(layer, inputs, mask))
        # Not a sum of squares: behind a layer norm that is constant.
        factors = np.random.default_rng(1).normal(size=tuple(output.shape)).astype("float32")
        return ops.sum(output * ops.convert_to_tensor(factors))

    return _leak(float(np.abs(_derivative(loss, x)[1, KEPT:]).max()))


def _derivative(loss: Any, x: np.ndarray) -> np.ndarray:
    backend = keras.backend.backend()
    if backend == "torch":
        import torch

        inputs = torch.tensor(x, requires_grad=True)
        (gradient,) = torch.autograd.grad(loss(inputs), [inputs])
    elif backend == "tensorflow":
        import tensorflow as tf

        inputs = tf.convert_to_tensor(x)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value = loss(inputs)
        gradient = tape.gradient(value, inputs)
    else:
        import jax

        gradient = jax.grad(loss)(jax.numpy.asarray(x))
    return _array(gradient)


def nan(subject: Subject) -> str:
    """Whether NaN in padded steps reaches the output."""
    layer, x, mask = subject.make("float32"), _inputs(), _mask(KEPT)
    x[1, KEPT:] = np.nan
    is_nan = np.isnan(_kept_part(subject, _output(subject, layer, x, mask)))
    return f"yes, {is_nan.mean():.0%}" if is_nan.any() else "no"


def empty(subject: Subject) -> str:
    """What a text gives of which no step is kept."""
    layer, x, mask = subject.make("float32"), _inputs(), _mask(0)
    output = _output(subject, layer, x, mask)[1]
    if not np.isfinite(output).all():
        return "NaN"
    return "zeros" if not output.any() else f"up to {np.abs(output).max():.2g}"


def float16(subject: Subject) -> str:
    """Whether a long text of large values stays finite under the policy mixed_float16."""
    layer, kept = subject.make("mixed_float16"), subject.words - 7
    x, mask = _inputs(subject.words) + LARGE, _mask(kept, subject.words)
    output = _kept_part(subject, _output(subject, layer, x, mask), kept)
    return "finite" if np.isfinite(output).all() else "not finite"


def scores(subject: Subject) -> str:
    """The shape of the attention weights, as asked for."""
    if subject.scores is None:
        return "none"
    layer = subject.make("float32")
    scores = subject.scores(
        layer, ops.convert_to_tensor(_inputs()), ops.convert_to_tensor(_mask(KEPT))
    )
    if isinstance(scores, dict):
        return "a dict"
    if scores is None:
        return "none"
    # Batch, time and dim are told apart by their sizes.
    names = {2: "2", TIME: "time", DIM: "dim"}
    axes = [names.get(size, str(size)) for size in tuple(scores.shape)[1:]]
    return f"(batch, {', '.join(axes)})"


def mask(subject: Subject) -> str:
    """What happens to the mask of an embedding in front, and whether it goes on behind."""
    if not subject.is_keras:
        return "not Keras"
    tokens = np.array([[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 0, 0]], "int32")
    table = keras.layers.Embedding(9, DIM, mask_zero=True)
    layer = subject.make("float32")
    symbol = keras.Input((None,), dtype="int32")
    embedded = table(symbol)
    output = _plain(subject, layer, embedded)
    model = keras.Model(symbol, output)
    before = _kept_part(subject, model.predict(tokens, verbose=0))
    weights = table.get_weights()[0]
    weights[0] = 10.0  # the vector of padding
    table.set_weights([weights])
    after = _kept_part(subject, model.predict(tokens, verbose=0))
    used = "used" if np.abs(after - before).max() <= SAME else "not used"
    if subject.pools:
        return used
    return f"{used}, {'handed on' if getattr(output, '_keras_mask', None) is not None else 'lost'}"


def _plain(subject: Subject, layer: Any, x: Any) -> Any:
    """The call with whatever mask the tensor carries."""
    how = subject.call.__name__
    return layer([x, x]) if how == "_twice" else layer(x, x) if how == "_heads" else layer(x)


def file(subject: Subject) -> str:
    """Whether a saved model loads without custom objects, and predicts the same."""
    if not subject.is_keras:
        return "not Keras"
    steps = keras.Input((TIME, DIM))
    layer = subject.make("float32")
    output = _plain(subject, layer, steps)
    model = keras.Model(steps, output)
    x = _inputs()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        loaded = keras.saving.load_model(path, compile=False)
    difference = np.abs(loaded.predict(x, verbose=0) - model.predict(x, verbose=0)).max()
    return "yes" if difference <= SAME else f"other numbers, {difference:.2g}"


PROBES = {
    "padding": padding,
    "gradient": gradient,
    "nan": nan,
    "empty": empty,
    "float16": float16,
    "scores": scores,
    "mask": mask,
    "file": file,
}
