"""Encoders and poolings by name, and the masks that they get."""

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import keras

from keras_attnpool import layers
from keras_attnpool._checks import SIZE, ArgumentError, Validator, validate
from keras_attnpool.layers import names
from keras_attnpool.layers.names import Maker
from keras_attnpool.ops import empty_batch_safe
from keras_attnpool.ops.masking import zero_masked
from keras_attnpool.types import LayerLike, Tensor

# A layer or function that turns states and their mask into states, or into a vector.
Part = Callable[..., Any]
BOTH_DIRECTIONS = (
    layers.BidirectionalGRU,
    layers.BidirectionalLSTM,
    layers.ShortcutStackedBiLSTM,
    keras.layers.Bidirectional,
)
# Layers that keep the order of features, so that each direction keeps its half.
IN_PLACE = (
    keras.layers.Dropout,
    keras.layers.SpatialDropout1D,
    keras.layers.AlphaDropout,
    keras.layers.GaussianDropout,
    keras.layers.GaussianNoise,
    keras.layers.ActivityRegularization,
    keras.layers.LayerNormalization,
    keras.layers.BatchNormalization,
    keras.layers.GroupNormalization,
    keras.layers.RMSNormalization,
    keras.layers.UnitNormalization,
    keras.layers.Activation,
    keras.layers.ReLU,
    keras.layers.LeakyReLU,
    keras.layers.PReLU,
    keras.layers.ELU,
    keras.layers.Identity,
    layers.AddPositionEmbedding,
)
# The four attentions of MPSAN.
POSITIONS = (
    ("faraway_2",),
    ("faraway_3",),
    ("earlier", "scaled_distance"),
    ("later", "scaled_distance"),
)


def with_mask(part: Part, x: Tensor, mask: Tensor | None) -> Tensor:
    """Calls a layer, and passes the mask if there is one and the layer reads masks.

    Layers of other packages get inputs with zeros at padding, and the mask under the name that
    their `call` uses.
    """
    if not isinstance(part, keras.layers.Layer):
        return part(x, mask)
    if attends(part):
        kept = None if mask is None else keras.ops.expand_dims(mask, 1)
        return part(x, x, attention_mask=kept)
    if mask is None:
        return part(x)
    parameters = inspect.signature(part.call).parameters
    ours = type(part).__module__.startswith("keras_attnpool.")
    if not ours and not (part.supports_masking and "mask" not in parameters):
        x = zero_masked(x, mask)
    for name in ("mask", "padding_mask"):
        if name in parameters:
            return part(x, **{name: mask if ours else _never_empty(mask)})
    return part(x)


def attends(part: Part) -> bool:
    """Returns whether a part is called like `MultiHeadAttention`, with query and value."""
    call = part.call if isinstance(part, keras.layers.Layer) else part
    return {"value", "attention_mask"} <= set(inspect.signature(call).parameters)


def _never_empty(mask: Tensor) -> Tensor:
    """Keeps all steps of empty texts, because some layers divide by the number of kept steps."""
    ops = keras.ops
    return ops.logical_or(mask, ops.logical_not(ops.any(mask, axis=1, keepdims=True)))


def encode(part: Part, x: Tensor, mask: Tensor | None) -> Tensor:
    """Returns an encoder's states, one per step, so that the mask fits them."""
    states = with_mask(part, x, mask)
    shape, steps = states.shape, x.shape[1] or 37
    if isinstance(part, keras.layers.Layer) and len(shape) == 3 and not attends(part):
        shape = part.compute_output_shape((1, steps, x.shape[2]))
    if len(shape) != 3 or shape[1] not in (None, steps):
        must = "return sequences, (batch, time, dim), with as many steps as it is given"
        received = f"{part!r}, which returns the shape {states.shape} for {x.shape}"
        raise ArgumentError("encoder", must, received)
    # Keras returns these states in reading order. To fit the mask, they move to their words.
    backwards = isinstance(part, keras.layers.RNN) and part.go_backwards
    return keras.ops.flip(states, axis=1) if backwards else states


def both_directions(part: Part, before: bool) -> bool:
    """Returns whether the first half of the states are forward, the second half backward.

    `before` tells whether the inputs of the encoder `part` have this form.
    """
    if isinstance(part, BOTH_DIRECTIONS):
        return bool(part.merge_mode == "concat")
    return before and (part is unchanged or isinstance(part, IN_PLACE))


def final_states(pooling: LayerLike) -> dict[str, Any]:
    """Returns the argument that makes "last" take both final states, unless the config sets it."""
    if names.is_made(pooling):
        return {}
    make, config = names.resolve(pooling, POOLINGS)
    plain = make is layers.LastPooling1D and "bidirectional" not in config
    return {"bidirectional": True} if plain else {}


def pool(part: Part, x: Tensor, mask: Tensor | None) -> Tensor:
    """Returns the vector that a pooling computes from the kept steps."""
    if isinstance(part, keras.layers.Layer) and mask is not None:
        parameters = inspect.signature(part.call).parameters
        if "mask" not in parameters and "padding_mask" not in parameters:
            warnings.warn(
                f"The pooling '{part.name}' ({type(part).__name__}) takes no mask, so that padding "
                "counts as steps of zeros. The poolings of keras_attnpool take one: "
                "MaskedMaxPooling1D stands in for GlobalMaxPooling1D",
                stacklevel=2,
            )
    vector = with_mask(part, x, mask)
    if len(vector.shape) != 2:
        must = "return one vector per text, (batch, dim)"
        raise ArgumentError("pooling", must, f"{part!r}, which returns the shape {vector.shape}")
    return vector


def unchanged(x: Tensor, mask: Tensor | None) -> Tensor:
    """The encoder "none"."""
    return x


# -- parts made of several layers ------------------------------------------------------------------


def directional(layer: Any, *, prefix: str = "", **config: Any) -> Part:
    """Concatenates the attention of both directions."""

    def call(x: Tensor, mask: Tensor | None) -> Tensor:
        both = [
            with_mask(layer(direction=each, name=f"{prefix}{each}", **config), x, mask)
            for each in ("forward", "backward")
        ]
        return keras.layers.Concatenate(name=f"{prefix}both_directions")(both)

    return call


def positional(
    *,
    positions: Sequence[Sequence[str]] = POSITIONS,
    fusion: str | None = "position",
    prefix: str = "",
    **config: Any,
) -> Part:
    """Applies MPSAN's self-attentions with several positional masks, and fuses the results."""
    shared = {key: config[key] for key in ("dropout", "kernel_regularizer") if key in config}

    def call(x: Tensor, mask: Tensor | None) -> Tensor:
        given = {} if mask is None else {"mask": mask}
        attentions = []
        for index, kinds in enumerate(positions):
            layer = layers.PositionalSelfAttention(
                **{"units": x.shape[-1], **config},
                positions=kinds,
                name=f"{prefix}attention_{index}",
            )
            attentions.append(layer(x, **given))
        name = f"{prefix}fusion"
        if not attentions:
            return x
        if fusion == "position":
            return layers.PositionFusion(name=name, **shared)(attentions, x, **given)
        if fusion == "gate":
            gated = [
                layers.FusionGate(name=f"{name}_{index}", **shared)(x, each, **given)
                for index, each in enumerate(attentions)
            ]
            return joined(gated, name)
        if len(attentions) == 1:
            return attentions[0]
        return keras.layers.Average(name=name)(attentions)

    return call


@keras.saving.register_keras_serializable(package="keras_attnpool")
class WindowConv1D(keras.layers.Conv1D):  # type: ignore[misc]
    """A `keras.layers.Conv1D` that accepts an empty batch on TensorFlow; not public."""

    def call(self, inputs: Tensor) -> Tensor:
        """Convolves `(batch, time, dim)` to `(batch, time, filters)`."""
        return empty_batch_safe(super().call, inputs)


def window(filters: int, size: int, name: str) -> keras.layers.Layer:
    """Applies the convolution of one width, centred on each step."""
    return WindowConv1D(
        filters, size, padding="same", data_format="channels_last", activation="relu", name=name
    )


def joined(tensors: Sequence[Tensor], name: str) -> Tensor:
    """Concatenates the tensors."""
    return keras.layers.Concatenate(name=name)(tensors) if len(tensors) > 1 else tensors[0]


def convolutions(
    *, filters: int = 100, kernel_sizes: Sequence[int] = (3, 4, 5), prefix: str = ""
) -> Part:
    """Concatenates TextCNN's convolutions of several widths."""

    def call(x: Tensor, mask: Tensor | None) -> Tensor:
        x = x if mask is None else zero_masked(x, mask)
        windows = [window(filters, size, f"{prefix}conv_{size}")(x) for size in kernel_sizes]
        return joined(windows, f"{prefix}windows")

    return call


def plain_pooling(name: str) -> keras.layers.Layer:
    """Makes the layer for `"max"`, `"mean"` or `"last"` of the states of both directions."""
    options = {"bidirectional": True} if name == "last" else {}
    return layers.get({"class_name": name, "config": {**options, "name": "pooling"}})


# -- names -----------------------------------------------------------------------------------------

# The layer, or the function that makes a part, and the sizes for each name.
ENCODERS: dict[str, Maker] = {
    "none": (lambda prefix: unchanged, {}),
    **names.ENCODERS,
    "cnn": (convolutions, {}),
    "positional": (positional, {}),
    "directional": (directional, {"layer": layers.DirectionalSelfAttention, "units": 100}),
    "block": (directional, {"layer": layers.BlockSelfAttention, "units": 100}),
}
POOLINGS: dict[str, Maker] = names.POOLINGS


def made(
    argument: str, identifier: LayerLike, name: str, options: dict[str, Any] | None = None
) -> Part:
    """Returns the part that a name, a configuration or an instance stands for.

    `argument` is `"encoder"` or `"pooling"`, and `identifier` is the user's value for it. `name` is
    the name of the layer, or the prefix of its layers' names. `options` are further arguments of a
    layer that is given by a name or a configuration. An instance ignores these options.
    """
    options = options or {}
    accepted: Mapping[str, inspect.Parameter]
    if names.is_made(identifier):
        make, config, accepted = keras.saving.deserialize_keras_object, {"config": identifier}, {}
    else:
        make, config = names.resolve(identifier, NAMES[argument])
        config |= {"name": name} if inspect.isclass(make) else {"prefix": f"{name}_"}
        accepted = inspect.signature(make).parameters
    for option in options.keys() - accepted:
        must = f"be left out with a {argument} that does not use it, or that is a layer already"
        raise ArgumentError(option, must, {argument: identifier, option: options[option]})
    if isinstance(identifier, keras.layers.Layer):
        return cast(Part, identifier)
    try:
        for option, parameter in accepted.items():
            named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            if named and parameter.default is parameter.empty and option not in config | options:
                raise ArgumentError(option, "be given", "no such argument", make.__name__)
            if option in ("units", "filters") and config.get(option) is not None:
                # Keras's error has no fields.
                validate(option, config[option], SIZE, make.__name__)
        return cast(Part, make(**config, **options))
    except (ValueError, TypeError) as error:
        raise ArgumentError(
            argument, "have a config that fits", f"{argument}={identifier!r} ({error})"
        ) from error


def _is_known(argument: str, value: Any) -> bool:
    try:
        return names.is_made(value) or bool(names.resolve(value, NAMES[argument]))
    except ValueError:
        return False


NAMES = {"encoder": ENCODERS, "pooling": POOLINGS}
POOLING = Validator(names.identifiers(POOLINGS), lambda value: _is_known("pooling", value))
ENCODER = Validator(
    f"{names.identifiers(ENCODERS)}; or a list of them",
    lambda value: all(
        _is_known("encoder", each)
        for each in (value if isinstance(value, list | tuple) else [value])
    ),
)
