"""DiSAN and Bi-BloSAN: directional self-attention of both directions, whole or in blocks."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import (
    BlockSelfAttention,
    DirectionalSelfAttention,
    MultiDimAttentionPooling,
)
from keras_attnpool.models._blocks import (
    classify,
    model_on_backbone,
    tokens_or_backbone,
    with_mask,
)
from keras_attnpool.types import ActivationLike, RegularizerLike, Tensor


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
        vocabulary_size: Number of token ids, padding (id 0) included; `None` on a backbone.
        num_classes: Number of classes.
        units: Size of the attention of one direction.
        activation: Activation of the attentions and of the pooling (the code for sentiment has
            `"relu"`, its library `"elu"`).
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        backbone: A token encoder in place of the embeddings, or the size of precomputed token
            features, as in `SAM`.
        sequence_length: Steps of every text, or `None`; for backbones.
        trainable_backbone: Whether the backbone is fine-tuned. This sets `backbone.trainable`.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share dropped in training of what goes into the kernels of the attentions and of
            the classifier.
        kernel_regularizer: Penalty on the kernels of attentions and pooling.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` from int32 ids `(batch, time)`, 0 = padding, or from the
        backbone's inputs, to float32 scores `(batch, num_classes)`; not compiled.

    Raises:
        ValueError: For both a vocabulary and a backbone or neither, a matrix that does not fit the
            vocabulary, fewer than 2 classes, or sizes that the layers refuse.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.DiSAN(vocabulary_size=1000, num_classes=5)
    assert model.output_shape == (None, 5)
    ```

    Reference:
        - Shen et al., 2018, DiSAN: Directional Self-Attention Network for RNN/CNN-Free Language
          Understanding
    """
    return _bidirectional(
        tokens_or_backbone(
            vocabulary_size,
            embedding_dim,
            embeddings,
            trainable_embeddings,
            backbone,
            sequence_length,
            trainable_backbone,
        ),
        num_classes,
        lambda direction: DirectionalSelfAttention(
            units,
            direction=direction,
            activation=activation,
            dropout=dropout,
            kernel_regularizer=kernel_regularizer,
            name=direction,
        ),
        activation,
        hidden_units,
        dropout,
        kernel_regularizer,
        classifier_activation,
        name,
    )


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
        vocabulary_size: Number of token ids, padding (id 0) included; `None` on a backbone.
        num_classes: Number of classes.
        units: Size of the attention of one direction.
        block_length: Tokens of a block; `None`: from each text's own length, see
            `BlockSelfAttention`.
        activation: Activation of the attentions and of the pooling.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        backbone: A token encoder in place of the embeddings, or the size of precomputed token
            features, as in `SAM`.
        sequence_length: Steps of every text, or `None`; for backbones.
        trainable_backbone: Whether the backbone is fine-tuned. This sets `backbone.trainable`.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share dropped in training of what goes into the kernels of the attentions and of
            the classifier.
        kernel_regularizer: Penalty on the kernels of attentions and pooling.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` from int32 ids `(batch, time)`, 0 = padding, or from the
        backbone's inputs, to float32 scores `(batch, num_classes)`; not compiled.

    Raises:
        ValueError: For both a vocabulary and a backbone or neither, a matrix that does not fit the
            vocabulary, fewer than 2 classes, or sizes that the layers refuse.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.BiBloSAN(vocabulary_size=1000, num_classes=5)
    assert model.output_shape == (None, 5)
    ```

    Reference:
        - Shen et al., 2018, Bi-Directional Block Self-Attention for Fast and Memory-Efficient
          Sequence Modeling
    """
    return _bidirectional(
        tokens_or_backbone(
            vocabulary_size,
            embedding_dim,
            embeddings,
            trainable_embeddings,
            backbone,
            sequence_length,
            trainable_backbone,
        ),
        num_classes,
        lambda direction: BlockSelfAttention(
            units,
            direction=direction,
            block_length=block_length,
            activation=activation,
            dropout=dropout,
            kernel_regularizer=kernel_regularizer,
            name=direction,
        ),
        activation,
        hidden_units,
        dropout,
        kernel_regularizer,
        classifier_activation,
        name,
    )


def _bidirectional(
    tokens: tuple[Any, Tensor, Tensor | None],
    num_classes: int,
    attention: Callable[[str], keras.layers.Layer],
    activation: ActivationLike,
    hidden_units: int | None,
    dropout: float,
    kernel_regularizer: RegularizerLike,
    classifier_activation: ActivationLike,
    name: str,
) -> keras.Model:
    """Attention of both directions to what `tokens_or_backbone` returns, pooling, classifier."""
    inputs, x, mask = tokens
    both = [with_mask(attention(direction), x, mask) for direction in ("forward", "backward")]
    pooling = MultiDimAttentionPooling(
        activation=activation, kernel_regularizer=kernel_regularizer, name="pooling"
    )
    vector = with_mask(pooling, keras.layers.Concatenate(name="both_directions")(both), mask)
    if dropout and hidden_units is not None:
        vector = keras.layers.Dropout(dropout, name="pooled_dropout")(vector)
    outputs = classify(vector, num_classes, hidden_units, dropout, classifier_activation, "elu")
    return model_on_backbone(inputs, outputs, name)
