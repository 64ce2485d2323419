"""The mean of the word embeddings, classified: the floor of every comparison."""

import keras
import numpy as np

from keras_attnpool.layers import MaskedAveragePooling1D
from keras_attnpool.models._blocks import classifier, embed_tokens
from keras_attnpool.models._builder import builder
from keras_attnpool.types import ActivationLike


@builder()
def AverageEmbedding(
    vocabulary_size: int,
    num_classes: int,
    *,
    embedding_dim: int = 100,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    hidden_units: int | None = 512,
    dropout: float = 0.4,
    classifier_activation: ActivationLike = "softmax",
    name: str = "average_embedding",
) -> keras.Model:
    """Builds the AVG baseline: the mean of the text's word embeddings and an MLP.

    Reference:
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 4.2
    """
    tokens, embedded = embed_tokens(locals())
    return classifier(locals(), tokens, MaskedAveragePooling1D(name="pooling")(embedded))
