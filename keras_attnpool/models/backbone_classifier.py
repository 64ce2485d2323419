"""A classifier with any pooling layer on any token encoder."""

import inspect
from collections.abc import Sequence

import keras

from keras_attnpool._checks import checked
from keras_attnpool.models._parts import ENCODER, POOLING
from keras_attnpool.models.text_classifier import TextClassifier
from keras_attnpool.types import ActivationLike, LayerLike


@checked(pooling=POOLING, encoder=ENCODER)
def BackboneClassifier(
    backbone: keras.Model | int,
    num_classes: int,
    *,
    pooling: LayerLike = "first",
    encoder: LayerLike | Sequence[LayerLike] = (),
    sequence_length: int | None = None,
    trainable_backbone: bool = True,
    hidden_units: int | None = None,
    dropout: float = 0.1,
    classifier_activation: ActivationLike = "softmax",
    name: str = "backbone_classifier",
) -> keras.Model:
    """Builds a text classifier from a pre-trained token encoder and a pooling layer.

    `pooling="first"` is the usual way to fine-tune a language model: a linear classifier reads the
    state of the first token, `[CLS]` or `<s>`.

    Args:
        backbone: A KerasHub backbone, or any functional `keras.Model` that returns `(batch, time,
            dim)`. The backbone replaces the embeddings. For precomputed features
            (`text.LanguageModel.features`) give an integer, the size `dim` of the features. The
            mask is the backbone's input `"padding_mask"` or `"attention_mask"`. If the backbone has
            no input for a mask, but a single input of integers, the zeros in this input are
            padding. In all other cases the model uses the Keras mask of the backbone's states.
        num_classes: Number of classes.
        pooling: `"first"` (the first kept token), `"mean"`, `"max"`, or a layer from `(batch, time,
            dim)` to a vector, such as any pooling layer of this package.
        encoder: A layer from `(batch, time, dim)` to `(batch, time, other dim)` between backbone
            and pooling, or a list of such layers. Layers with a mask argument get the mask. Other
            layers read zeros at padded steps.
        sequence_length: Number of steps of every text, for layers that need a known length.
        trainable_backbone: Whether the backbone is fine-tuned. The builder sets
            `backbone.trainable`. Parts that are already frozen stay frozen, for example the parts
            that LoRA has frozen. A frozen backbone runs in inference mode, without dropout.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share of the hidden layer that is dropped in training. Without a hidden layer the
            dropout acts on the pooled vector.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that returns float32 scores `(batch, num_classes)`. Without a
        backbone the input is int32 ids `(batch, time)`, where 0 is padding. With a backbone the
        model has the inputs of the backbone. With precomputed features the input is a dictionary of
        `"features"` `(batch, time, dim)` and `"padding_mask"` `(batch, time)`. The model is not
        compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

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
    # The arguments are already checked, so an error of an inner builder names this builder.
    return inspect.unwrap(TextClassifier)(None, **locals())
