"""Finds layers by name or configuration, and tells which layers have attention scores."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import keras

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._attention import AttentionBase
from keras_attnpool.types import LayerLike

# The name of a layer's class, or a function that makes a part of a model, and its sizes.
Maker = tuple[str | Callable[..., Any], dict[str, Any]]

POOLINGS: dict[str, Maker] = {
    "mean": ("MaskedAveragePooling1D", {}),
    "max": ("MaskedMaxPooling1D", {}),
    "last": ("LastPooling1D", {}),
    "first": ("FirstPooling1D", {}),
    "statistics": ("StatisticsPooling1D", {}),
    "generalized_mean": ("GeneralizedMeanPooling1D", {}),
    "attention": ("AttentionPooling", {"hidden_dim": 100}),
    "gated_attention": ("AttentionPooling", {"hidden_dim": 100, "gated": True}),
    "learned_query": ("LearnedQueryPooling", {}),
    "attentive_statistics": ("AttentiveStatisticsPooling", {"hidden_dim": 100}),
    "self_attention": ("StructuredSelfAttentionPooling", {"num_heads": 5, "hidden_dim": 100}),
    "lama": ("LowRankAttentionPooling", {"num_heads": 15}),
    "generalized": ("GeneralizedPooling", {"num_heads": 5, "hidden_dim": 100}),
    "generalized_scalar": (
        "GeneralizedPooling",
        {"num_heads": 5, "hidden_dim": 100, "per_feature": False},
    ),
    "multi_dim": ("MultiDimAttentionPooling", {}),
    "target": ("ConvAttentionPooling", {"num_heads": 8, "filters": 128}),
    "sequential": ("SequentialAttention", {"mode": "pointwise"}),
}
ENCODERS: dict[str, Maker] = {
    "gru": ("BidirectionalGRU", {"units": 50}),
    "lstm": ("BidirectionalLSTM", {"units": 50}),
    "stacked_lstm": ("ShortcutStackedBiLSTM", {"units": 50}),
    "positions": ("AddPositionEmbedding", {"max_length": 512}),
    "conv_attention": ("ConvMultiHeadAttention", {"num_heads": 8, "filters": 128}),
}


def get(identifier: LayerLike) -> keras.layers.Layer:
    """Retrieves a layer by its name, as `keras.optimizers.get` retrieves an optimizer.

    These are the names of poolings: `"mean"`, `"max"`, `"last"`, `"first"`, `"statistics"`,
    `"generalized_mean"`, `"attention"`, `"gated_attention"`, `"learned_query"`,
    `"attentive_statistics"`, `"self_attention"`, `"lama"`, `"generalized"`, `"generalized_scalar"`,
    `"multi_dim"`, `"target"` and `"sequential"`. The names of encoders are `"gru"`, `"lstm"`,
    `"stacked_lstm"`, `"positions"` and `"conv_attention"`. A name may have hyphens instead of
    underscores.

    Args:
        identifier: One of the names above, or the name of a class of `keras_attnpool.layers` or
            `keras.layers`. A configuration `{"class_name": name, "config": arguments}` is also
            allowed; its arguments replace the defaults of the name. The result of
            `keras.saving.serialize_keras_object` is allowed too. A layer is returned unchanged.

    Returns:
        The layer.

    Raises:
        ValueError: If there is no such layer.

    Example:

    ```python
    from keras_attnpool import layers

    pooling = layers.get("attention")
    assert isinstance(pooling, layers.AttentionPooling) and pooling.hidden_dim == 100
    smaller = layers.get({"class_name": "attention", "config": {"hidden_dim": 8}})
    assert smaller.hidden_dim == 8
    ```
    """
    if isinstance(identifier, keras.layers.Layer):
        return identifier
    if is_made(identifier):
        return keras.saving.deserialize_keras_object(identifier)
    try:
        make, config = resolve(identifier, {**POOLINGS, **ENCODERS})
    except ValueError as error:
        must, received = f"be {identifiers((*POOLINGS, *ENCODERS))}", {"identifier": identifier}
        raise ArgumentError("identifier", must, received, "keras_attnpool.layers.get") from error
    return make(**config)


def identifiers(names: Iterable[str]) -> str:
    """Lists the short names and the class names of all layers, for messages."""
    return (
        f"one of {tuple(names)}, the class name of a layer, a config "
        "{'class_name': one of these, 'config': its arguments}, or a keras layer"
    )


def is_attention_layer(layer: Any) -> bool:
    """Returns whether an object is a layer of this package with attention scores.

    Args:
        layer: Anything.

    Returns:
        True or False.

    Example:

    >>> from keras_attnpool import layers
    >>> layers.is_attention_layer(layers.AttentionPooling()), layers.is_attention_layer("mean")
    (True, False)
    """
    return isinstance(layer, AttentionBase)


def is_made(identifier: Any) -> bool:
    """Returns whether the identifier is a layer, or a layer's whole configuration."""
    whole = isinstance(identifier, dict) and "module" in identifier
    return whole or isinstance(identifier, keras.layers.Layer)


def resolve(
    identifier: Any, names: Mapping[str, Maker]
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Returns the class or function for a name or configuration, and its arguments.

    Args:
        identifier: An identifier as in `get`, but no layer and no whole configuration.
        names: Meaning of each short name.

    Returns:
        The class or function that makes the layer, and its arguments.

    Raises:
        ValueError: If the identifier is not a known name or configuration.
    """
    given = {}
    if isinstance(identifier, dict) and identifier.keys() <= {"class_name", "config"}:
        identifier, given = identifier.get("class_name"), identifier.get("config", {})
    if isinstance(identifier, str) and isinstance(given, dict):
        key = identifier.replace("-", "_")
        make, sizes = names.get(key, (key, {}))
        given = {**sizes, **given}
        if not isinstance(make, str):
            return make, given
        ours = keras.saving.get_registered_object(f"keras_attnpool>{make}")
        if not str(getattr(ours, "__module__", "")).startswith("keras_attnpool.layers."):
            ours = None
        for kind in (ours, getattr(keras.layers, make, None)):
            if inspect.isclass(kind) and issubclass(kind, keras.layers.Layer):
                return cast(Callable[..., Any], kind), given
    raise ValueError(f"unknown: {identifier!r}")
