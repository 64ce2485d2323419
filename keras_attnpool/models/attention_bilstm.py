"""Attention-based BiLSTM: the baseline RBA of SAM's paper."""

import keras
import numpy as np

from keras_attnpool.layers import AttentionPooling, ShortcutStackedBiLSTM
from keras_attnpool.models._blocks import classifier, tokens_or_backbone
from keras_attnpool.models._builder import builder
from keras_attnpool.models._parts import with_mask
from keras_attnpool.types import ActivationLike


@builder(merge_mode=("concat", "sum"))
def AttentionBiLSTM(
    vocabulary_size: int | None,
    num_classes: int,
    *,
    merge_mode: str = "sum",
    lstm_units: int = 256,
    num_layers: int = 2,
    embedding_dim: int = 300,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    backbone: keras.Model | int | None = None,
    sequence_length: int | None = None,
    trainable_backbone: bool = True,
    hidden_units: int | None = None,
    dropout: float = 0.2,
    classifier_activation: ActivationLike = "softmax",
    name: str = "attention_bilstm",
) -> keras.Model:
    """Builds the attention-based BiLSTM: states of both directions, attention with tanh, softmax.

    Args:
        merge_mode: `"sum"` adds the states of the two directions, as Zhou et al. do; `"concat"`
            joins them.
        num_layers: Number of BiLSTMs (Zhou et al.: 1; SAM's paper: 2).

    Reference:
        - Zhou et al., 2016, Attention-Based Bidirectional LSTM Networks for Relation
          Classification
        - Zhou et al., Sequential Attention Module for Natural Language Processing, section 4.2
    """
    inputs, x, mask = tokens_or_backbone(locals())
    encoder = ShortcutStackedBiLSTM(
        lstm_units, num_layers, shortcut="none", merge_mode=merge_mode, name="encoder"
    )
    x = with_mask(encoder, x, mask)
    if dropout:
        x = keras.layers.Dropout(dropout, name="states_dropout")(x)
    vector = with_mask(AttentionPooling(output_activation="tanh", name="pooling"), x, mask)
    return classifier(locals(), inputs, vector)
