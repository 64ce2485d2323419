"""SAN: a BiGRU pooled by the structured self-attention of Lin et al."""

import keras
import numpy as np

from keras_attnpool.layers import BidirectionalGRU, StructuredSelfAttentionPooling
from keras_attnpool.models._blocks import classifier, embed_tokens
from keras_attnpool.models._builder import builder
from keras_attnpool.types import ActivationLike, RegularizerLike


@builder()
def SAN(
    vocabulary_size: int,
    num_classes: int,
    *,
    num_heads: int = 15,
    hidden_dim: int = 100,
    embedding_dim: int = 100,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    gru_units: int = 50,
    attention_dropout: float = 0.0,
    attention_regularizer: RegularizerLike = None,
    hidden_units: int | None = 512,
    dropout: float = 0.4,
    classifier_activation: ActivationLike = "softmax",
    name: str = "san",
) -> keras.Model:
    """Builds SAN: embeddings, BiGRU, structured self-attention pooling, MLP.

    Lin et al. use an LSTM; in the comparison of the LAMA paper all models share the GRU.

    Args:
        num_heads: Number of attention heads, the paper's r.
        attention_regularizer: Penalty on the attention weights; the paper's is
            `AttentionOrthogonality`.

    Reference:
        - Lin et al., 2017, A Structured Self-Attentive Sentence Embedding
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 4.2
    """
    tokens, embedded = embed_tokens(locals())
    states = BidirectionalGRU(gru_units, name="encoder")(embedded)
    vector = StructuredSelfAttentionPooling(
        num_heads,
        hidden_dim,
        dropout=attention_dropout,
        attention_regularizer=attention_regularizer,
        name="pooling",
    )(states)
    return classifier(locals(), tokens, vector)
