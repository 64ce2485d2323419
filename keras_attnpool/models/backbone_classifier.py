"""Any pooling layer on any token encoder."""

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

    With `pooling="first"` it is the usual fine-tuning of a language model: the state of the first
    token, `[CLS]` or `<s>`, and a linear classifier.

    Args:
        backbone: Replaces the embeddings: a KerasHub backbone, or any functional `keras.Model` that
            gives `(batch, time, dim)`. An integer stands for features that are computed before
            (`text.LanguageModel.features`), and is their `dim`. The mask is the input
            `"padding_mask"` or `"attention_mask"`. Without such an input, the zeros of a single
            integer input are padding; for other inputs the Keras mask of the states counts.
        num_classes: Number of classes.
        pooling: `"first"` (the first kept token), `"mean"`, `"max"`, or a layer from
            `(batch, time, dim)` to a vector, any pooling layer of this package.
        encoder: A layer from `(batch, time, dim)` to `(batch, time, other dim)` between backbone
            and pooling, or several in order. Layers whose call takes a mask get it; the others see
            zeros at padded steps.
        sequence_length: Steps of every text; needed by layers that must know it.
        trainable_backbone: Whether the backbone is fine-tuned. This sets `backbone.trainable`; a
            part that is frozen already, as LoRA freezes it, stays frozen. A frozen backbone runs in
            inference mode, without dropout.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share of the hidden layer (of the pooled vector when there is none) dropped in
            training.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` to float32 scores `(batch, num_classes)`. Without a backbone its
        input is int32 ids `(batch, time)`, 0 = padding. With one, its inputs are the backbone's.
        With features, its input is a dictionary of `"features"` `(batch, time, dim)` and
        `"padding_mask"` `(batch, time)`. Not compiled.

    Raises:
        ValueError: For an argument that does not fit, alone or with the others. The message names
            the builder, the argument and its possible values.

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
    # The arguments are checked; an error inside is this builder's.
    return inspect.unwrap(TextClassifier)(None, **locals())
