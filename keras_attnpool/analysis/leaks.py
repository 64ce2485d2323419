"""The layers of a model that give weight to padding."""

import inspect
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attnpool.layers import (
    FusionGate,
    LastPooling1D,
    MaskedAveragePooling1D,
    MaskedMaxPooling1D,
    PositionFusion,
    SequentialAttention,
    is_attention_layer,
    is_pooling_layer,
)
from keras_attnpool.types import Array, Bools, Float64s

FLAG = "return_attention_scores"
# A smaller share is rounding.
SMALLEST = 1e-6
# Stands for the time in the shape of scores; no layer has as many heads.
ANY_TIME = 7919

# These weigh tensors or have parts that are looked at.
NOT_OVER_TIME = (FusionGate, PositionFusion, SequentialAttention)
MEANS = (keras.layers.GlobalAveragePooling1D, MaskedAveragePooling1D, LastPooling1D)
MAXIMA = (keras.layers.GlobalMaxPooling1D, MaskedMaxPooling1D)
KERAS_POOLING = (keras.layers.GlobalAveragePooling1D, keras.layers.GlobalMaxPooling1D)
KERAS_LISTED = (keras.layers.Attention, keras.layers.AdditiveAttention)
KERAS_QUERIES = (keras.layers.MultiHeadAttention, keras.layers.GroupQueryAttention)

Keep = Bools

# One pass at a time: Keras's classes are changed while it runs.
_LOCK = threading.Lock()


class MaskLeak(NamedTuple):
    """A layer that gives weight to padding, as `mask_leaks` finds it.

    Attributes:
        layer: Path of the layer, `"encoder/pooling"` inside a nested model or layer.
        kind: The layer's class.
        share: Share of its weight that lies on padding, in (0, 1]. A maximum gives the share of
            features that padding decides; NaN where the padding counts, but has no weight of its
            own to show.
        lost_at: Where the mask was lost, in words.

    Example:

    >>> from keras_attnpool.analysis import MaskLeak
    >>> print(MaskLeak("pooling", "AttentionPooling", 0.25, "'conv' (Conv1D)"))
    pooling (AttentionPooling): 25.0 % of its weight on padding; mask lost at 'conv' (Conv1D)
    """

    layer: str
    kind: str
    share: float
    lost_at: str

    def __str__(self) -> str:
        told = f"{100 * self.share:.1f} % of its weight on padding"
        if np.isnan(self.share):
            told = "padding counts"
        return f"{self.layer} ({self.kind}): {told}; mask lost at {self.lost_at}"


def mask_leaks(model: keras.Model, inputs: Any) -> list[MaskLeak]:
    """Finds the pooling and attention layers of a model that give weight to padding.

    The model runs once, eagerly and in inference mode, while its layers' calls are observed: so
    subclassed models can be looked into like functional ones. Padding is what a mask kept out that
    was made further up, by `Embedding(mask_zero=True)`, by `Masking`, or by an argument `mask=`.
    Where a layer has made the sequence shorter, a step of the shorter one is padding if the middle
    of what it stands for is.

    Looked at are the pooling and attention layers of this package, and of Keras
    `GlobalAveragePooling1D`, `GlobalMaxPooling1D`, `MultiHeadAttention`, `GroupQueryAttention`,
    `Attention` and `AdditiveAttention`. What a layer computes inside a traced function, as
    `TimeDistributed` does on JAX, cannot be seen.

    Args:
        model: Any model that has been built or that `inputs` build.
        inputs: A batch as `model(inputs)` takes it, with padding in it.

    Returns:
        One `MaskLeak` for each call of a layer that gives weight to padding, in the order of the
        calls; an empty list where none does, and for a model without masks. Where masks keep every
        step of `inputs` no leak can show, and a warning says so.

    Raises:
        ValueError: If `model` is no Keras model, or `inputs` have no rows.

    Example:

    ```python
    import keras
    import numpy as np
    import keras_attnpool

    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(50, 8, mask_zero=True)(ids)
    x = keras_attnpool.layers.BidirectionalGRU(4)(x)
    model = keras.Model(ids, keras_attnpool.layers.AttentionPooling()(x))
    assert keras_attnpool.analysis.mask_leaks(model, np.array([[4, 8, 15, 0]])) == []
    ```
    """
    if not isinstance(model, keras.Model):
        raise ValueError(f"mask_leaks expects `model` to be a keras.Model. Received: {type(model)}")
    tensors = keras.tree.map_structure(keras.ops.convert_to_tensor, inputs)
    if any(tuple(x.shape[:1]) == (0,) for x in keras.tree.flatten(tensors)):
        raise ValueError("mask_leaks expects `inputs` with at least one row. Received: no rows")
    if not model.built:
        model(tensors)  # what Keras tries out to build it is none of the calls that count
    observer = _Observer(tensors)
    with _LOCK, _observed(observer):
        model(tensors)
    if observer.masks and not observer.padding:
        warnings.warn(
            "mask_leaks saw masks that keep every step, so that no leak can show. Pass `inputs` "
            "with padding in them.",
            stacklevel=2,
        )
    return [leak for look in observer.looks if (leak := look()) is not None]


class _Mask(NamedTuple):
    """The steps of a sequence that are words, the layer that last handed them on, and the loss."""

    keep: Keep
    last: str
    lost_at: str | None


# By the batch and the length of what they mask.
_Latest = dict[tuple[int, ...], _Mask]


class _Observer:
    """What the calls of one pass tell of masks, and of the layers that should have one."""

    def __init__(self, inputs: Any) -> None:
        # By the ids of tensors; these are held, so that no other tensor gets the id of one.
        self._masks: dict[int, _Mask | None] = {}
        self._held: list[Any] = []
        self._latest: _Latest = {}
        self._names: list[str] = []
        self.looks: list[Callable[[], MaskLeak | None]] = []
        # Whether masks were met, and whether one of them kept a step out.
        self.masks = self.padding = False
        for tensor in _sequences(inputs):
            self._note(tensor, None)

    def call(self, original: Any, layer: Any, args: Any, kwargs: Any) -> Any:
        """Calls an operation as Keras would, and notes what becomes of the masks."""
        if not all(map(_has_values, _sequences((args, kwargs)))):
            return original(layer, *args, **kwargs)
        self._names.append(layer.name)
        before = dict(self._latest)
        try:
            # A nested model of several inputs gets a list of masks, which its tensors carry too.
            given = kwargs.get("mask")
            is_one = keras.ops.is_tensor(given) or isinstance(given, np.ndarray)
            given = self._keep(given) if is_one else None
            read = [self._mask_of(x, given) for x in _read(layer, args, kwargs)]
            attended = _attended(layer, args, kwargs)
            mask = None if attended is None else self._mask_of(attended, given)
            if mask is None or mask.keep.shape != tuple(attended.shape[:2]):
                outputs = original(layer, *args, **kwargs)
            elif FLAG in inspect.signature(layer.call).parameters:
                outputs, scores = original(layer, *args, **{**kwargs, FLAG: True})
                share = _share_of_scores(layer, attended, scores, mask.keep)
                self._look(layer, mask, share, given, args, kwargs)
                outputs = (outputs, scores) if kwargs.get(FLAG) else outputs
            else:
                outputs = original(layer, *args, **kwargs)
                self._look(layer, mask, None, given, args, kwargs)
            self._hand_on(layer, read, given, outputs, before)
        finally:
            self._names.pop()
        return outputs

    def _look(
        self, layer: Any, mask: _Mask, share: float | None, given: Any, args: Any, kwargs: Any
    ) -> None:
        path = self._path()
        why = "which takes none" if given is None else "whose `mask=` keeps padding"
        place = mask.lost_at or f"'{path}' ({type(layer).__name__}) itself, {why}"

        def look() -> MaskLeak | None:
            leak = _share_of_outputs(layer, mask.keep, args, kwargs) if share is None else share
            if leak <= SMALLEST:
                return None
            return MaskLeak(path, type(layer).__name__, leak, place)

        self.looks.append(look)

    def _hand_on(
        self, layer: Any, read: list[_Mask | None], given: Any, outputs: Any, before: _Latest
    ) -> None:
        """Notes the masks of what an operation returned, those that were lost too."""
        for tensor in _sequences(outputs):
            own = getattr(tensor, "_keras_mask", None)
            if own is not None:
                mask = _Mask(self._keep(own), self._path(), None)
                self._latest[mask.keep.shape] = mask
                self._note(tensor, mask)
            elif id(tensor) not in self._masks:
                # Else a call inside of this one has made the tensor and knows more.
                lost = self._lost(layer, read, given, tensor)
                self._note(tensor, lost or self._lost_inside(layer, tensor, before))

    def _lost(
        self, layer: Any, read: list[_Mask | None], given: Keep | None, tensor: Any
    ) -> _Mask | None:
        masks = [mask for mask in read if mask is not None]
        if given is not None:
            masks.append(_Mask(given, self._path(), None))
        if not masks:
            return None
        lost = [mask for mask in masks if mask.lost_at is not None]
        if getattr(layer, "supports_masking", False) and not lost and len(masks) >= len(read):
            return None  # the layer knows of masks and gave none: it ends here rightly
        mask = (lost or masks)[0]
        place = mask.lost_at or f"'{self._path()}' ({type(layer).__name__})"
        return _Mask(_stretched(mask.keep, tensor.shape[1]), mask.last, place)

    def _lost_inside(self, layer: Any, tensor: Any, before: _Latest) -> _Mask | None:
        """Returns the mask of these steps that a layer without masks has made and lost."""
        if not isinstance(layer, keras.Layer) or getattr(layer, "supports_masking", False):
            return None
        shape = tuple(tensor.shape[:2])
        mask = self._latest.get(shape)
        if mask is None or mask is before.get(shape):
            return None
        return mask._replace(lost_at=f"'{self._path()}' ({type(layer).__name__})")

    def _keep(self, mask: Any) -> Keep:
        """Turns a mask into booleans, and notes that it was met."""
        keep = _as_keep(mask)
        self.masks, self.padding = True, self.padding or not keep.all()
        return keep

    def _mask_of(self, tensor: Any, given: Keep | None) -> _Mask | None:
        """Returns the mask that a tensor carries, has lost, or must have had."""
        own = getattr(tensor, "_keras_mask", None)
        if own is not None:
            return _Mask(self._keep(own), self._path(), None)
        if id(tensor) in self._masks:
            noted = self._masks[id(tensor)]
            if noted is None or noted.lost_at is not None:
                return noted
            # As `MultiHeadAttention` does with its inputs, before others read them.
            place = f"the output of '{noted.last}', from which a later call took it"
            return noted._replace(lost_at=place)
        mask = self._latest.get(tuple(tensor.shape[:2]))
        if mask is None or given is not None:
            return None
        return mask._replace(lost_at=f"an operation outside of layers, behind '{mask.last}'")

    def _note(self, tensor: Any, mask: _Mask | None) -> None:
        self._masks[id(tensor)] = mask
        self._held.append(tensor)

    def _path(self) -> str:
        """Names the call at hand, without the model's own name."""
        return "/".join(self._names[1:]) or self._names[0]


@contextmanager
def _observed(observer: _Observer) -> Iterator[None]:
    """Sends what this thread calls inside through the observer."""
    thread = threading.get_ident()
    originals = {kind: kind.__call__ for kind in (keras.Operation, keras.Layer)}

    def around(kind: Any) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            # A layer is an operation too, and comes by twice.
            mine = isinstance(self, keras.Layer) == (kind is keras.Layer)
            if not mine or threading.get_ident() != thread:
                return originals[kind](self, *args, **kwargs)
            return observer.call(originals[kind], self, args, kwargs)

        return call

    try:
        for kind in originals:
            kind.__call__ = around(kind)
        yield
    finally:
        for kind, original in originals.items():
            kind.__call__ = original


def _sequences(structure: Any) -> list[Any]:
    """Lists the tensors `(batch, time, ...)` of a structure."""
    flat = keras.tree.flatten(structure)
    return [x for x in flat if keras.ops.is_tensor(x) and len(x.shape) > 2]


def _has_values(tensor: Any) -> bool:
    """Tells whether the tensor is more than a placeholder of a traced or compiled function."""
    try:
        keras.ops.convert_to_numpy(tensor[:0])
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return False
    return True


def _as_keep(mask: Any) -> Keep:
    """Turns a mask into booleans `(batch, time)`; a sentence counts if one of its words does."""
    keep = np.asarray(keras.ops.convert_to_numpy(mask)).astype(bool)
    return np.asarray(keep.any(axis=tuple(range(2, keep.ndim)))) if keep.ndim > 2 else keep


def _stretched(keep: Keep, time: int) -> Keep:
    """Stretches a mask to a sequence of another length over the same words."""
    middles = ((np.arange(time) + 0.5) * keep.shape[1] / time).astype(int)
    return keep[:, middles]


def _first(operation: Any, args: Any, kwargs: Any) -> Any:
    """Returns the first argument of a call, also where it is written behind others by name."""
    if args:
        return args[0]
    name = next(iter(inspect.signature(operation.call).parameters), None)
    return kwargs.get(name, next(iter(kwargs.values()), None))


def _read(layer: Any, args: Any, kwargs: Any) -> list[Any]:
    """Lists what an operation could hand a mask on from: as in Keras, the first argument."""
    if not isinstance(layer, keras.Layer):
        return _sequences((args, kwargs))
    read = _sequences(_first(layer, args, kwargs))
    return read[:1] if isinstance(layer, KERAS_LISTED) else read


def _attended(layer: Any, args: Any, kwargs: Any) -> Any:
    """Returns the sequence that a pooling or attention layer gives weights to, else `None`."""
    sequence = None
    if isinstance(layer, KERAS_QUERIES):
        sequence = args[1] if len(args) > 1 else kwargs.get("value")
    elif isinstance(layer, KERAS_LISTED):
        sequence = _first(layer, args, kwargs)[1]
    elif isinstance(layer, KERAS_POOLING):
        sequence = _first(layer, args, kwargs) if layer.data_format == "channels_last" else None
    elif is_attention_layer(layer) or is_pooling_layer(layer):
        over_time = not isinstance(layer, NOT_OVER_TIME)
        sequence = _first(layer, args, kwargs) if over_time else None
    return sequence if _sequences([sequence]) else None


def _share_of_scores(layer: Any, attended: Any, scores: Any, keep: Keep) -> float | None:
    """Sums the share of weights on padding; `None` where the scores have no axis of time."""
    times = [-2, -1]
    if is_attention_layer(layer):
        shape = layer._scores_shape((None, ANY_TIME, attended.shape[2]))
        shape = shape[0] if isinstance(shape[0], tuple) else shape
        times = [n - len(shape) for n, size in enumerate(shape) if size == ANY_TIME]
    total = on_padding = 0.0
    for each in keras.tree.flatten(scores):
        weights = np.asarray(keras.ops.convert_to_numpy(each), np.float64)
        if not times or weights.shape[times[-1]] != keep.shape[1]:
            return None
        # Texts without a word have no share, and what padding itself attends to is of no concern.
        counted = np.broadcast_to(keep.any(axis=1, keepdims=True), keep.shape)
        if len(times) == 2 and weights.shape[times[0]] == keep.shape[1]:
            weights = np.where(_along(keep, times[0], weights.ndim), weights, 0)
        weights = np.where(_along(counted, times[-1], weights.ndim), weights, 0)
        total += weights.sum()
        on_padding += np.where(_along(keep, times[-1], weights.ndim), 0, weights).sum()
    return float(on_padding / total) if total else 0.0


def _along(keep: Keep, axis: int, ndim: int) -> Keep:
    """Shapes a mask for an array with the batch first and time along `axis`."""
    shape = [1] * ndim
    shape[0], shape[axis] = keep.shape
    return keep.reshape(shape)


def _share_of_outputs(layer: Any, keep: Keep, args: Any, kwargs: Any) -> float:
    """Measures the share of padding in the outputs of a layer that has no weights to show."""
    inputs, rows = _first(layer, args, kwargs), keep.any(axis=1)
    if not rows.any():
        return 0.0
    others = {name: x for name, x in kwargs.items() if x is not inputs}
    own = getattr(inputs, "_keras_mask", None)
    takes_mask = "mask" in inspect.signature(layer.call).parameters
    if own is not None and takes_mask and others.get("mask") is None:
        others["mask"] = own

    def computed(values: Array) -> Float64s:
        fed = keras.ops.convert_to_tensor(values.astype(before.dtype))
        outputs = keras.tree.flatten(layer(fed, *args[1:], **others))[0]
        return np.asarray(keras.ops.convert_to_numpy(outputs), np.float64)[rows]

    before = np.asarray(keras.ops.convert_to_numpy(inputs))
    padding = ~keep[:, :, None]
    if isinstance(layer, MEANS):
        return float(computed(np.broadcast_to(padding, before.shape)).mean())
    size = 1 + np.abs(before).max()
    # One sign alone can be lost in a ReLU; what comes up for padding never lowers a maximum.
    ends = (-size,) if isinstance(layer, MAXIMA) else (-4 * size, 4 * size)
    changes = [np.abs(computed(np.where(padding, end, before)) - computed(before)) for end in ends]
    apart = np.max(changes, axis=0) > 1e-5 * size
    if isinstance(layer, MAXIMA):
        return float(apart.mean())
    if apart.ndim == 3 and apart.shape[1] == keep.shape[1]:
        apart = apart[keep[rows]]
    return float("nan") if apart.any() else 0.0
