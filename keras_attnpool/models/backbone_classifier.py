"""Any pooling layer on any token encoder."""

import inspect
from collections.abc import Sequence

import keras

from keras_attnpool.models._builder import builder
from keras_attnpool.models._parts import ENCODER, POOLING
from keras_attnpool.models.text_classifier import TextClassifier
from keras_attnpool.types import ActivationLike, LayerLike


@builder(like=TextClassifier, pooling=POOLING, encoder=ENCODER)
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
        pooling: `"first"` (the first kept token), `"mean"`, `"max"`, or a layer from
            `(batch, time, dim)` to a vector, any pooling layer of this package.
        encoder: A layer from `(batch, time, dim)` to `(batch, time, other dim)` between backbone
            and pooling, or several in order. The mask goes to those whose call takes one; the
            others see zeros at padded steps.
        sequence_length: Steps of every text; needed by layers that must know it.

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
