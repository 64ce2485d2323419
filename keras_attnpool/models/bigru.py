"""A bidirectional GRU with plain pooling."""

import keras
import numpy as np

from keras_attnpool.layers import BidirectionalGRU
from keras_attnpool.models._blocks import classifier, embed_tokens
from keras_attnpool.models._builder import builder
from keras_attnpool.models._parts import plain_pooling
from keras_attnpool.types import ActivationLike


@builder(pooling=("max", "mean", "last"))
def BiGRU(
    vocabulary_size: int,
    num_classes: int,
    *,
    pooling: str = "max",
    embedding_dim: int = 100,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    gru_units: int = 50,
    hidden_units: int | None = 512,
    dropout: float = 0.4,
    classifier_activation: ActivationLike = "softmax",
    name: str = "bigru",
) -> keras.Model:
    """Builds the BiGRU baseline: embeddings, BiGRU, max pooling over the kept steps, MLP.

    Args:
        pooling: `"max"` (the paper's), `"mean"` or `"last"`. `"last"` is each direction's final
            state: the forward one's at the last kept token, the backward one's at the first.

    Reference:
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 4.2
    """
    tokens, embedded = embed_tokens(locals())
    states = BidirectionalGRU(gru_units, name="encoder")(embedded)
    return classifier(locals(), tokens, plain_pooling(pooling)(states))
