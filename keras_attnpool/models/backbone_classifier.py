"""Any pooling layer on any token encoder."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_attnpool._checks import Kind, Refused, checked
from keras_attnpool.layers import MaskedAveragePooling1D, MaskedMaxPooling1D
from keras_attnpool.models._blocks import classify, encode_tokens, model_on_backbone, with_mask
from keras_attnpool.types import ActivationLike, Tensor

POOLINGS = {"mean": MaskedAveragePooling1D, "max": MaskedMaxPooling1D}
NAMES = ("first", *POOLINGS)


def _is_layer(value: Any) -> bool:
    return isinstance(value, keras.layers.Layer)


POOLING = Kind(
    f"one of {NAMES} or a keras layer",
    lambda value: _is_layer(value) or (isinstance(value, str) and value in NAMES),
)
ENCODER = Kind(
    "a keras layer or a list of layers",
    lambda value: (
        _is_layer(value) or (isinstance(value, list | tuple) and all(map(_is_layer, value)))
    ),
)


@checked(pooling=POOLING, encoder=ENCODER)
def BackboneClassifier(
    backbone: keras.Model | int,
    num_classes: int,
    *,
    pooling: str | keras.layers.Layer = "first",
    encoder: keras.layers.Layer | Sequence[keras.layers.Layer] = (),
    sequence_length: int | None = None,
    trainable_backbone: bool = True,
    hidden_units: int | None = None,
    dropout: float = 0.1,
    classifier_activation: ActivationLike = "softmax",
    name: str = "backbone_classifier",
) -> keras.Model:
    """Builds a text classifier from a pre-trained token encoder and a pooling layer.

    With `pooling="first"` it is the usual fine-tuning of a language model: the state of the first
    token, `[CLS]` or `<s>`, and a linear classifier.

    Args:
        backbone: A KerasHub backbone, or any functional `keras.Model` to `(batch, time, dim)`; or
            an integer, the `dim` of precomputed token features as `text.LanguageModel.features`
            makes them. The mask is the input `"padding_mask"` or `"attention_mask"` if there is
            one, else "id is not 0" where a single integer tensor comes in, else the Keras mask of
            the states.
        num_classes: Number of classes.
        pooling: `"first"` (the first kept token), `"mean"`, `"max"`, or a layer from
            `(batch, time, dim)` to a vector, any pooling layer of this package.
        encoder: A layer from `(batch, time, dim)` to `(batch, time, other dim)` between backbone
            and pooling, or several in order. The mask goes to those whose call takes one; the
            others see what stands at padded steps.
        sequence_length: Steps of every text; needed by layers that must know it.
        trainable_backbone: Whether the backbone is fine-tuned. This sets `backbone.trainable`. If
            not, the backbone runs in inference mode, without dropout.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share of the hidden layer (of the pooled vector when there is none) dropped in
            training.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` from the backbone's inputs, for features a dictionary of
        `"features"` `(batch, time, dim)` and `"padding_mask"` `(batch, time)`, to float32 scores
        `(batch, num_classes)`; not compiled.

    Raises:
        ValueError: For a backbone of another kind or with layers called like those behind it, an
            encoder that is no layer, an unknown pooling or one that returns no vector, or fewer
            than 2 classes.

    Example:

    ```python
    import keras
    from keras_attnpool import layers, models

    tokens = keras.Input((None,), dtype="int32")
    encoder = keras.Model(tokens, keras.layers.Embedding(1000, 32)(tokens))
    pooling = layers.AttentionPooling(hidden_dim=16, name="pooling")
    model = models.BackboneClassifier(encoder, 3, pooling=pooling, trainable_backbone=False)
    assert model.output_shape == (None, 3)
    ```
    """
    inputs, x, mask = encode_tokens(backbone, sequence_length, trainable_backbone)
    for stage in [encoder] if isinstance(encoder, keras.layers.Layer) else encoder:
        x = with_mask(stage, x, mask)
        if len(x.shape) != 3:
            raise Refused(
                "encoder",
                "return sequences, (batch, time, dim)",
                f"{stage!r}, which returns the shape {x.shape}",
            )
    if pooling == "first":
        vector = _first(x, mask)
    else:
        layer = POOLINGS[pooling](name="pooling") if isinstance(pooling, str) else pooling
        vector = with_mask(layer, x, mask)
    if len(vector.shape) != 2:
        raise Refused(
            "pooling",
            "return one vector a text, (batch, dim)",
            f"{pooling!r}, which returns the shape {vector.shape}",
        )
    outputs = classify(vector, num_classes, hidden_units, dropout, classifier_activation)
    return model_on_backbone(inputs, outputs, name)


def _first(x: Tensor, mask: Tensor | None) -> Tensor:
    """The first kept step of `x` `(batch, time, dim)`, zeros where there is none."""
    ops = keras.ops
    if mask is None:
        return ops.take(x, 0, axis=1)
    first = ops.expand_dims(ops.argmax(ops.cast(mask, "int32"), axis=1), axis=-1)
    steps = ops.take_along_axis(x, ops.expand_dims(first, axis=-1), axis=1)
    some = ops.expand_dims(ops.any(mask, axis=1), axis=-1)
    return ops.where(some, ops.squeeze(steps, axis=1), 0.0)
