"""DiSAN and Bi-BloSAN: directional self-attention of both directions, whole or in blocks."""

from typing import Any

import keras
import numpy as np

from keras_attnpool.layers import (
    BlockSelfAttention,
    DirectionalSelfAttention,
    MultiDimAttentionPooling,
)
from keras_attnpool.models._blocks import classifier, tokens_or_backbone
from keras_attnpool.models._builder import builder
from keras_attnpool.models._parts import directional, with_mask
from keras_attnpool.types import ActivationLike, RegularizerLike


@builder()
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
        units: Size of the attention of one direction.
        activation: Activation of the attentions and of the pooling (the code for sentiment has
            `"relu"`, its library `"elu"`).
        dropout: Share dropped in training of what goes into the kernels of the attentions and of
            the classifier.

    Reference:
        - Shen et al., 2018, DiSAN: Directional Self-Attention Network for RNN/CNN-Free Language
          Understanding
    """
    return _bidirectional(locals(), DirectionalSelfAttention)


@builder(like=DiSAN)
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
        block_length: Tokens of a block; `None`: from each text's own length, see
            `BlockSelfAttention`.

    Reference:
        - Shen et al., 2018, Bi-Directional Block Self-Attention for Fast and Memory-Efficient
          Sequence Modeling
    """
    return _bidirectional(locals(), BlockSelfAttention, block_length=block_length)


def _bidirectional(given: dict[str, Any], attention: Any, **sizes: Any) -> keras.Model:
    """Attention of both directions, pooling and classifier, by the arguments of a builder."""
    inputs, x, mask = tokens_or_backbone(given)
    shared = {name: given[name] for name in ("activation", "kernel_regularizer")}
    sizes |= {"units": given["units"], "dropout": given["dropout"], **shared}
    x = with_mask(directional(attention, **sizes), x, mask)
    vector = with_mask(MultiDimAttentionPooling(**shared, name="pooling"), x, mask)
    return classifier(given, inputs, vector, "elu", drops_vector=True)
