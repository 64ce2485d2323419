"""Stacked BiLSTMs with plain pooling: what generalized pooling is compared with."""

from collections.abc import Sequence

import keras
import numpy as np

from keras_attnpool._checks import Refused, checked
from keras_attnpool.layers import (
    LastPooling1D,
    MaskedAveragePooling1D,
    MaskedMaxPooling1D,
    MultiDimAttentionPooling,
    StructuredSelfAttentionPooling,
)
from keras_attnpool.layers.shortcut_stacked_bilstm import SHORTCUTS
from keras_attnpool.models._blocks import (
    classify_with_shortcut,
    embed_characters,
    embed_tokens,
    encode_states,
)
from keras_attnpool.types import ActivationLike, RegularizerLike

POOLINGS = ("max", "mean", "last", "self_attention", "multi_dim")


def plain_pooling(
    pooling: str, num_heads: int, attention_dim: int, attention_regularizer: RegularizerLike
) -> keras.layers.Layer:
    """The layer, named "pooling", that each name of `POOLINGS` stands for."""
    if pooling == "self_attention":
        return StructuredSelfAttentionPooling(
            num_heads, attention_dim, attention_regularizer=attention_regularizer, name="pooling"
        )
    if attention_regularizer is not None:
        raise Refused(
            "attention_regularizer",
            "be left out with a pooling that does not use it",
            f"pooling={pooling!r}, attention_regularizer={attention_regularizer!r}",
        )
    if pooling == "last":
        return LastPooling1D(bidirectional=True, name="pooling")
    if pooling == "multi_dim":
        return MultiDimAttentionPooling(name="pooling")
    return {"max": MaskedMaxPooling1D, "mean": MaskedAveragePooling1D}[pooling](name="pooling")


@checked(pooling=POOLINGS, shortcut=SHORTCUTS)
def BiLSTM(
    vocabulary_size: int,
    num_classes: int,
    *,
    pooling: str = "max",
    num_heads: int = 5,
    attention_dim: int = 300,
    embedding_dim: int = 300,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    num_characters: int | None = None,
    char_dim: int = 15,
    char_filters: int = 100,
    char_kernel_sizes: Sequence[int] = (1, 3, 5),
    embedding_dropout: float = 0.5,
    lstm_units: int = 300,
    num_layers: int = 1,
    shortcut: str = "full",
    attention_regularizer: RegularizerLike = None,
    hidden_units: int = 300,
    dropout: float = 0.5,
    classifier_activation: ActivationLike = "softmax",
    name: str = "bilstm",
) -> keras.Model:
    """Builds the BiLSTM baseline: embeddings, stacked BiLSTMs, plain pooling, MLP with shortcut.

    It differs from `GeneralizedPoolingClassifier` in the pooling alone.

    Args:
        vocabulary_size: Number of token ids, padding (id 0) included.
        num_classes: Number of classes.
        pooling: `"max"`, `"mean"`, `"last"` (each direction's final state: the forward one's at the
            last kept token, the backward one's at the first), `"self_attention"` (Lin et al.) or
            `"multi_dim"` (`MultiDimAttentionPooling`: the Bi-LSTM self-attention that DiSAN and
            MPSAN compare with).
        num_heads: Heads of `"self_attention"`.
        attention_dim: Size of the hidden layer in front of the scores of `"self_attention"`.
        embedding_dim: Size of the word embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the word embeddings are fine-tuned.
        num_characters: Number of character ids, padding included, to join to each word what a
            `CharacterEmbedding` makes of its characters; `None` for words alone.
        char_dim: Size of a character's embedding.
        char_filters: Filters of each width.
        char_kernel_sizes: Widths of the windows, in characters.
        embedding_dropout: Share of the embeddings dropped in training.
        lstm_units: Units of the LSTMs per direction.
        num_layers: Number of stacked BiLSTMs.
        shortcut: Wiring of the stack, `"full"` or `"per_direction"`, see `ShortcutStackedBiLSTM`.
        attention_regularizer: Penalty on the weights of `"self_attention"`, for instance
            `AttentionOrthogonality`.
        hidden_units: Units of each of the classifier's two hidden layers.
        dropout: Dropout of both hidden layers.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` from int32 ids `(batch, time)`, 0 = padding, to float32 scores
        `(batch, num_classes)`; with `num_characters` from the list of these and of character ids
        `(batch, time, word length)`, named `"tokens"` and `"characters"`. Not compiled.

    Raises:
        ValueError: For an unknown pooling, a regularizer that the pooling has no use for, a matrix
            that does not fit the vocabulary, or fewer than 2 classes.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.BiLSTM(vocabulary_size=1000, num_classes=3, pooling="mean")
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Chen, Ling and Zhu, Enhancing Sentence Embedding with Generalized Pooling, tables 1-3
        - Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
          table 1
    """
    tokens, embedded = embed_tokens(
        vocabulary_size, embedding_dim, embeddings, trainable_embeddings
    )
    characters, embedded = embed_characters(
        embedded, num_characters, char_dim, char_filters, char_kernel_sizes
    )
    states = encode_states(embedded, lstm_units, num_layers, shortcut, embedding_dropout)
    layer = plain_pooling(pooling, num_heads, attention_dim, attention_regularizer)
    outputs = classify_with_shortcut(
        layer(states), num_classes, hidden_units, dropout, classifier_activation
    )
    inputs = tokens if characters is None else [tokens, characters]
    return keras.Model(inputs, outputs, name=name)
