"""DiSAN and Bi-BloSAN: self-attention of both directions over the whole text or in blocks."""

from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import (
    BlockSelfAttention,
    DirectionalSelfAttention,
    MultiDimAttentionPooling,
)
from keras_attnpool.models._blocks import classifier, tokens_or_backbone
from keras_attnpool.models._parts import directional, with_mask
from keras_attnpool.types import ActivationLike, RegularizerLike


@checked()
def DiSAN(
    vocabulary_size: int | None,
    num_classes: int,
    *,
    units: int = 300,
    activation: ActivationLike = "elu",
    embedding_dim: int = 300,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    backbone: keras.Model | int | None = None,
    sequence_length: int | None = None,
    trainable_backbone: bool = True,
    hidden_units: int | None = 300,
    dropout: float = 0.3,
    kernel_regularizer: RegularizerLike = None,
    classifier_activation: ActivationLike = "softmax",
    name: str = "disan",
) -> keras.Model:
    """Builds DiSAN: forward and backward directional self-attention, multi-dimensional attention.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0). `None` with a backbone.
        num_classes: Number of classes.
        units: Size of the attention of one direction.
        activation: Activation of the attentions and of the pooling. The released code for sentiment
            uses `"relu"`. The default in the released library is `"elu"`.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        backbone: A KerasHub backbone, or any functional `keras.Model` that returns `(batch, time,
            dim)`. The backbone replaces the embeddings. For precomputed features
            (`text.LanguageModel.features`) give an integer, the size `dim` of the features. The
            mask is the backbone's input `"padding_mask"` or `"attention_mask"`. If the backbone has
            no input for a mask, but a single input of integers, the zeros in this input are
            padding. In all other cases the model uses the Keras mask of the backbone's states.
        sequence_length: Number of steps of every text, with a backbone. `None` allows any number.
        trainable_backbone: Whether the backbone is fine-tuned. The builder sets
            `backbone.trainable`. Parts that are already frozen stay frozen, for example the parts
            that LoRA has frozen. A frozen backbone runs in inference mode, without dropout.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share of the input features of the attentions and the classifier that is dropped in
            training.
        kernel_regularizer: Penalty on the kernels of the attention and pooling layers.
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
    import keras_attnpool

    model = keras_attnpool.models.DiSAN(vocabulary_size=1000, num_classes=3)
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Shen et al., 2018, DiSAN: Directional Self-Attention Network for RNN/CNN-Free Language
          Understanding
    """
    return _bidirectional(locals(), DirectionalSelfAttention)


@checked()
def BiBloSAN(
    vocabulary_size: int | None,
    num_classes: int,
    *,
    units: int = 300,
    block_length: int | None = None,
    activation: ActivationLike = "elu",
    embedding_dim: int = 300,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    backbone: keras.Model | int | None = None,
    sequence_length: int | None = None,
    trainable_backbone: bool = True,
    hidden_units: int | None = 300,
    dropout: float = 0.3,
    kernel_regularizer: RegularizerLike = None,
    classifier_activation: ActivationLike = "softmax",
    name: str = "bi_blosan",
) -> keras.Model:
    """Builds Bi-BloSAN: block self-attention of both directions, multi-dimensional attention.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0). `None` with a backbone.
        num_classes: Number of classes.
        units: Size of the attention of one direction.
        block_length: Number of tokens per block. With `None` the number follows from the length of
            each text, see `BlockSelfAttention`.
        activation: Activation of the attentions and of the pooling. The released code for sentiment
            uses `"relu"`. The default in the released library is `"elu"`.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        backbone: A KerasHub backbone, or any functional `keras.Model` that returns `(batch, time,
            dim)`. The backbone replaces the embeddings. For precomputed features
            (`text.LanguageModel.features`) give an integer, the size `dim` of the features. The
            mask is the backbone's input `"padding_mask"` or `"attention_mask"`. If the backbone has
            no input for a mask, but a single input of integers, the zeros in this input are
            padding. In all other cases the model uses the Keras mask of the backbone's states.
        sequence_length: Number of steps of every text, with a backbone. `None` allows any number.
        trainable_backbone: Whether the backbone is fine-tuned. The builder sets
            `backbone.trainable`. Parts that are already frozen stay frozen, for example the parts
            that LoRA has frozen. A frozen backbone runs in inference mode, without dropout.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share of the input features of the attentions and the classifier that is dropped in
            training.
        kernel_regularizer: Penalty on the kernels of the attention and pooling layers.
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
    import keras_attnpool

    model = keras_attnpool.models.BiBloSAN(vocabulary_size=1000, num_classes=3)
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Shen et al., 2018, Bi-Directional Block Self-Attention for Fast and Memory-Efficient
          Sequence Modeling
    """
    return _bidirectional(locals(), BlockSelfAttention, block_length=block_length)


def _bidirectional(given: dict[str, Any], attention: Any, **sizes: Any) -> keras.Model:
    """Builds the model: attention of both directions, pooling, classifier."""
    inputs, x, mask = tokens_or_backbone(given)
    shared = {name: given[name] for name in ("activation", "kernel_regularizer")}
    sizes |= {"units": given["units"], "dropout": given["dropout"], **shared}
    x = with_mask(directional(attention, **sizes), x, mask)
    vector = with_mask(MultiDimAttentionPooling(**shared, name="pooling"), x, mask)
    return classifier(given, inputs, vector, "elu", drops_vector=True)
