"""Twenty small models that leak, and the same models without the fault."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import layers as kl
from keras import ops

from keras_attnpool import layers

DIM, VOCABULARY = 6, 30
LENGTHS = (10, 7, 4)


class Planted(NamedTuple):
    """A fault.

    Attributes:
        make: Makes the model with the fault (`True`) or without it (`False`).
        rows: What the model is checked with.
        layer: The layer that the check has to name.
        cure: What is exact instead, in a word for the table.
    """

    make: Callable[[bool], keras.Model]
    rows: str
    layer: str
    cure: str


def _random() -> np.random.Generator:
    return np.random.default_rng(0)


def rows_of(kind: str) -> Any:
    """Rows of unequal length: `ids`, `steps` with a mask, or `fixed` with a mask, padded."""
    random = _random()
    if kind == "ids":
        return [random.integers(1, VOCABULARY, size=length) for length in LENGTHS]
    steps = [random.normal(1, 1, size=(n, DIM)).astype("float32") for n in LENGTHS]
    if kind == "steps":
        return [[x, np.ones(len(x), bool)] for x in steps]
    time = max(LENGTHS)
    padded = [np.pad(x, ((0, time - len(x)), (0, 0))) for x in steps]
    return [[x, np.arange(time) < n] for x, n in zip(padded, LENGTHS, strict=True)]


def _of_ids(body: Callable[[Any, Any, bool], Any]) -> Callable[[bool], keras.Model]:
    """A model of ids: the body gets the embedded steps, the mask, and whether to leak."""

    def make(leaks: bool) -> keras.Model:
        ids = keras.Input((None,), dtype="int32")
        embed = kl.Embedding(
            VOCABULARY, DIM, mask_zero=True, embeddings_initializer=_initializer(1), name="words"
        )
        return keras.Model(ids, body(embed(ids), ops.not_equal(ids, 0), leaks))

    return make


def _of_steps(
    body: Callable[[Any, Any, bool], Any], time: int | None = None
) -> Callable[[bool], keras.Model]:
    """A model of steps and their mask."""

    def make(leaks: bool) -> keras.Model:
        steps, mask = keras.Input((time, DIM)), keras.Input((time,), dtype="bool")
        return keras.Model([steps, mask], body(steps, mask, leaks))

    return make


def _initializer(seed: int) -> Any:
    return keras.initializers.RandomNormal(stddev=1.0, seed=seed)


def _dense(units: int, **kwargs: Any) -> Any:
    return kl.Dense(units, kernel_initializer=_initializer(units), **kwargs)


def _zeroed(x: Any, mask: Any) -> Any:
    return x * ops.cast(ops.expand_dims(mask, -1), "float32")


def _mean(x: Any, mask: Any) -> Any:
    return layers.MaskedAveragePooling1D()(x, mask=mask)


class Mean(kl.Layer):
    """A mean over all steps, written by hand."""

    def call(self, x: Any) -> Any:
        return ops.mean(x, axis=1)


class SoftmaxPooling(kl.Layer):
    """Attention pooling written by hand; it takes a mask and may ignore it."""

    def __init__(self, leaks: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking, self.leaks = True, leaks
        self.score = _dense(1)

    def call(self, x: Any, mask: Any = None) -> Any:
        scores = self.score(x)[..., 0]
        if mask is not None and not self.leaks:
            scores = ops.where(mask, scores, -1e9)
        return ops.sum(ops.softmax(scores)[..., None] * x, axis=1)

    def compute_mask(self, x: Any, mask: Any = None) -> None:
        return None


class AcrossTheBatch(kl.Layer):
    """Attention whose softmax runs over the rows."""

    def call(self, x: Any) -> Any:
        return ops.matmul(ops.softmax(ops.matmul(x, ops.transpose(x)), axis=-1), x)


class Standardized(kl.Layer):
    """Features less their mean over the batch."""

    def call(self, x: Any) -> Any:
        return x - ops.mean(x, axis=0, keepdims=True)


class FromTheEnd(kl.Layer):
    """Adds a number per step that counts from the end of the padded row."""

    def __init__(self, leaks: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking, self.leaks = True, leaks

    def call(self, x: Any) -> Any:
        place = ops.cast(ops.arange(ops.shape(x)[1]), x.dtype)
        return x + ops.reshape(ops.flip(place) if self.leaks else place, (1, -1, 1)) / 10


class LeftOn(kl.Layer):
    """Calls a layer as in training."""

    def __init__(self, inner: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.inner = inner

    def call(self, x: Any) -> Any:
        return self.inner(x, training=True)


class Share(kl.Layer):
    """Divides a sum by the number of all steps of the array."""

    def call(self, total: Any, x: Any) -> Any:
        return total / ops.cast(ops.shape(x)[1], "float32")


class Fourier(kl.Layer):
    """Mixes the steps by a Fourier transform, as FNet does."""

    def call(self, x: Any) -> Any:
        x = ops.transpose(x, (0, 2, 1))
        return ops.transpose(ops.fft((x, ops.zeros_like(x)))[0], (0, 2, 1))


class Block(keras.Model):
    """A subclassed model that pools with or without the mask of its embedding."""

    def __init__(self, leaks: bool) -> None:
        super().__init__(name="block")
        self.leaks = leaks
        self.words = kl.Embedding(VOCABULARY, DIM, mask_zero=True)
        self.mix, self.pooling = _dense(DIM, name="mix"), layers.AttentionPooling(name="reader")

    def call(self, ids: Any) -> Any:
        x = self.mix(self.words(ids))
        mask = ops.ones_like(ids, "bool") if self.leaks else ops.not_equal(ids, 0)
        return self.pooling(x, mask=mask)


def _unmasked_pooling(x: Any, mask: Any, leaks: bool) -> Any:
    states = kl.GRU(DIM, return_sequences=True)(x, mask=mask)
    # An operation outside of layers loses the mask that the GRU hands on.
    states, mask = (states + 1, None) if leaks else (states, mask)
    return layers.AttentionPooling(name="reader")(states, mask=mask)


def _ignored(x: Any, mask: Any, leaks: bool) -> Any:
    return SoftmaxPooling(leaks, name="reader")(x, mask=mask)


def _all_steps(x: Any, mask: Any, leaks: bool) -> Any:
    return _dense(2)(Mean(name="mean")(x + 1) if leaks else _mean(x, mask))


def _maximum(x: Any, mask: Any, leaks: bool) -> Any:
    x = _zeroed(-ops.exp(x), mask)  # the zeros of the padding are the largest
    pool = kl.GlobalMaxPooling1D(name="max")
    return pool(x) if leaks else layers.MaskedMaxPooling1D()(x, mask=mask)


def _statistics(x: Any, mask: Any, leaks: bool) -> Any:
    normalize, pooled = kl.BatchNormalization(name="norm"), _mean(x, mask)
    return LeftOn(normalize, name="always")(pooled) if leaks else normalize(pooled)


def _groups(x: Any, mask: Any, leaks: bool) -> Any:
    normalize = kl.GroupNormalization(2, name="norm") if leaks else kl.LayerNormalization()
    return _mean(normalize(x), mask)


def _convolution(x: Any, mask: Any, leaks: bool) -> Any:
    x = kl.Dense(DIM, bias_initializer="ones")(x)
    convolve = kl.Conv1D(4, 3, padding="same", name="convolution")
    return _mean(convolve(x if leaks else _zeroed(x, mask)), mask)


def _strides(x: Any, mask: Any, leaks: bool) -> Any:
    x = _zeroed(x, mask)
    if leaks:
        x = kl.Conv1D(4, 3, strides=2, padding="same", name="convolution")(x)
    else:
        x = kl.Conv1D(4, 3, strides=2)(kl.ZeroPadding1D(1)(x))
    return _mean(x, mask[:, ::2])


def _windows(x: Any, mask: Any, leaks: bool) -> Any:
    if leaks:  # the last window of a row of odd length has one step alone, and two in a batch
        x = kl.AveragePooling1D(2, padding="same", name="windows")(_zeroed(x, mask))
    else:
        x = kl.AveragePooling1D(2)(kl.ZeroPadding1D((0, 1))(_zeroed(x, mask)))
    return _mean(x, mask[:, ::2])


def _flattened(x: Any, mask: Any, leaks: bool) -> Any:
    return _dense(2)(kl.Flatten(name="flat")(x if leaks else _zeroed(x, mask)))


def _backwards(x: Any, mask: Any, leaks: bool) -> Any:
    x = _zeroed(x, mask)
    read = kl.GRU(4, go_backwards=True, name="reader", bias_initializer=_initializer(2))
    return read(x, mask=None if leaks else mask)


def _across(x: Any, mask: Any, leaks: bool) -> Any:
    pooled = _mean(x, mask)
    return AcrossTheBatch(name="across")(pooled) if leaks else pooled


def _standardized(x: Any, mask: Any, leaks: bool) -> Any:
    pooled = _mean(x, mask)
    return Standardized(name="standard")(pooled) if leaks else pooled


def _places(x: Any, mask: Any, leaks: bool) -> Any:
    return _mean(FromTheEnd(leaks, name="places")(x), mask)


def _dropped(x: Any, mask: Any, leaks: bool) -> Any:
    pooled = _mean(x, mask)
    drop = kl.Dropout(0.5, seed=1, name="drop")
    return _dense(2)(LeftOn(drop, name="always")(pooled) if leaks else drop(pooled))


def _wrong_mask(x: Any, mask: Any, leaks: bool) -> Any:
    mask = ops.logical_not(mask) if leaks else mask
    return layers.AttentionPooling(4, name="reader")(_dense(DIM)(x), mask=mask)


def _length(x: Any, mask: Any, leaks: bool) -> Any:
    total = ops.sum(_zeroed(x, mask), axis=1)
    if leaks:  # the sum over the kept steps, over the number of all
        return Share(name="share")(total, x)
    return total / ops.sum(ops.cast(mask, "float32"), axis=1, keepdims=True)


def _last(x: Any, mask: Any, leaks: bool) -> Any:
    states = kl.GRU(DIM, return_sequences=True)(x, mask=mask)
    last = kl.Lambda(lambda x: x[:, -1], output_shape=(DIM,), name="last")
    return last(_dense(DIM)(x)) if leaks else layers.LastPooling1D()(states, mask=mask)


def _attention(x: Any, mask: Any, leaks: bool) -> Any:
    attend = kl.MultiHeadAttention(2, 4, name="heads")
    x = x + 1  # an operation outside of layers loses the mask
    given = {} if leaks else {"query_mask": mask, "value_mask": mask, "key_mask": mask}
    return _mean(attend(x, x, **given), mask)


def _fourier(x: Any, mask: Any, leaks: bool) -> Any:
    x = _zeroed(x, mask)
    return _mean(Fourier(name="fourier")(x) if leaks else x, mask)


PLANTED: dict[str, Planted] = {
    "pooling without a mask behind a GRU": Planted(
        _of_ids(_unmasked_pooling), "ids", "reader", "the mask, or `BidirectionalGRU`"
    ),
    "pooling that takes a mask and ignores it": Planted(
        _of_ids(_ignored), "ids", "reader", "a layer that uses the mask"
    ),
    "mean over all steps": Planted(
        _of_ids(_all_steps), "ids", "mean", "`MaskedAveragePooling1D`"
    ),
    "maximum over all steps": Planted(
        _of_ids(_maximum), "ids", "max", "`MaskedMaxPooling1D`"
    ),
    "sum over the kept steps, divided by all": Planted(
        _of_steps(_length), "steps", "share", "divide by the number of kept steps"
    ),
    "the last step of the padded row": Planted(
        _of_ids(_last), "ids", "last", "`LastPooling1D`"
    ),
    "a mask that says where the padding is": Planted(
        _of_ids(_wrong_mask), "ids", "reader", "True = keep"
    ),
    "self-attention over padding": Planted(
        _of_ids(_attention), "ids", "heads", "`query_mask`, `value_mask`, `key_mask`"
    ),
    "reading backwards from the padding": Planted(
        _of_steps(_backwards), "steps", "reader", "the mask, or `BidirectionalGRU`"
    ),
    "positions that count from the end": Planted(
        _of_ids(_places), "ids", "places", "positions from the first kept step"
    ),
    "`Flatten` of what stands under the mask": Planted(
        _of_steps(_flattened, max(LENGTHS)), "fixed", "flat", "multiply by the mask in front"
    ),
    "`Conv1D` over what stands under the mask": Planted(
        _of_steps(_convolution), "steps", "convolution", "multiply by the mask in front"
    ),
    '`Conv1D(strides=2, padding="same")` with `mask[:, ::2]`': Planted(
        _of_steps(_strides), "steps", "convolution", '`ZeroPadding1D(1)` + `padding="valid"`'
    ),
    '`AveragePooling1D(2, padding="same")` of an odd number of steps': Planted(
        _of_steps(_windows), "steps", "windows", '`ZeroPadding1D((0, 1))` + `padding="valid"`'
    ),
    "`GroupNormalization` over time": Planted(
        _of_steps(_groups), "steps", "norm", "`LayerNormalization`"
    ),
    "Fourier transform over time": Planted(
        _of_steps(_fourier), "steps", "fourier", "none: it mixes all steps by construction"
    ),
    "`BatchNormalization(training=True)`": Planted(
        _of_steps(_statistics), "steps", "always/norm", "its statistics of the training"
    ),
    "features less their mean over the batch": Planted(
        _of_steps(_standardized), "steps", "standard", "a mean of the training"
    ),
    "attention over the batch axis": Planted(
        _of_steps(_across), "steps", "across", "attention over time"
    ),
    "dropout left on": Planted(
        _of_steps(_dropped), "steps", "always/drop", "`training=False`"
    ),
}  # fmt: skip
# The same fault in a model without a graph.
SUBCLASSED = Planted(Block, "ids", "reader", "the mask")
