"""Stacked BiLSTMs with plain pooling, the baseline of generalized pooling."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import ArgumentError, checked
from keras_attnpool.layers import (
    MultiDimAttentionPooling,
    ShortcutStackedBiLSTM,
    StructuredSelfAttentionPooling,
)
from keras_attnpool.layers.shortcut_stacked_bilstm import SHORTCUTS
from keras_attnpool.models._blocks import classifier, embed_words_and_characters
from keras_attnpool.models._parts import plain_pooling
from keras_attnpool.types import ActivationLike, RegularizerLike, Tensor

POOLINGS = ("max", "mean", "last", "self_attention", "multi_dim")


def stacked_bilstm(given: dict[str, Any]) -> tuple[Any, Tensor]:
    """Builds inputs, and stacked BiLSTMs over words and, if given, characters."""
    inputs, x = embed_words_and_characters(given)
    if given["embedding_dropout"]:
        x = keras.layers.Dropout(given["embedding_dropout"], name="embedding_dropout")(x)
    encoder = ShortcutStackedBiLSTM(
        given["lstm_units"], given["num_layers"], shortcut=given["shortcut"], name="encoder"
    )
    return inputs, encoder(x)


def pooling_of(given: dict[str, Any], **unused: Any) -> keras.layers.Layer:
    """Makes the layer for a name of `POOLINGS`; the layer's name is "pooling".

    Args:
        given: The arguments of a builder.
        **unused: Arguments that this layer does not use, with their default values.

    Raises:
        ValueError: If an argument that the layer does not use was changed.
    """
    pooling, penalty = given["pooling"], given["attention_regularizer"]
    if pooling != "self_attention":
        unused["attention_regularizer"] = None
    for option, default in unused.items():
        if given[option] != default:
            must = "be left out with a pooling that does not use it"
            raise ArgumentError(option, must, {"pooling": pooling, option: given[option]})
    if pooling == "multi_dim":
        return MultiDimAttentionPooling(name="pooling")
    if pooling != "self_attention":
        return plain_pooling(pooling)
    return StructuredSelfAttentionPooling(
        given["num_heads"], given["hidden_dim"], attention_regularizer=penalty, name="pooling"
    )


@checked(pooling=POOLINGS, shortcut=SHORTCUTS)
def BiLSTM(
    vocabulary_size: int,
    num_classes: int,
    *,
    pooling: str = "max",
    num_heads: int = 5,
    hidden_dim: int = 300,
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

    The model differs from `GeneralizedPoolingClassifier` only in the pooling.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        pooling: `"max"`, `"mean"`, `"last"`, `"self_attention"` or `"multi_dim"`. `"last"`
            concatenates the forward state at the last kept token and the backward state at the
            first kept token. `"self_attention"` is the self-attention of Lin et al. `"multi_dim"`
            is `MultiDimAttentionPooling`, as in the Bi-LSTM baseline of DiSAN and MPSAN.
        num_heads: Heads of `"self_attention"`.
        hidden_dim: Size of the hidden layer that computes the scores, the paper's d_a.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        num_characters: Number of character ids, including padding. If a number is given, the output
            of a `CharacterEmbedding` is joined to each word's embedding. With `None` the model
            reads only the words.
        char_dim: Size of a character's embedding.
        char_filters: Number of filters per width.
        char_kernel_sizes: Widths of the windows, in characters.
        embedding_dropout: Share of the embeddings that is dropped in training.
        lstm_units: Units of the LSTMs per direction.
        num_layers: Number of stacked BiLSTMs.
        shortcut: Kind of shortcuts, `"full"` or `"per_direction"`, see `ShortcutStackedBiLSTM`.
        attention_regularizer: Penalty on the weights of `"self_attention"`, for instance
            `AttentionOrthogonality`.
        hidden_units: Units of each of the classifier's two hidden layers.
        dropout: Dropout of both hidden layers.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that maps int32 ids `(batch, time)`, where 0 is padding, to
        float32 scores `(batch, num_classes)`. With `num_characters` the model has two inputs,
        `"tokens"` and `"characters"`. The characters are ids `(batch, time, word length)`. The
        model is not compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.BiLSTM(vocabulary_size=1000, num_classes=3)
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Chen, Ling and Zhu, Enhancing Sentence Embedding with Generalized Pooling, tables 1-3
        - Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
          table 1
    """
    inputs, states = stacked_bilstm(locals())
    return classifier(locals(), inputs, pooling_of(locals())(states), shortcut=True)
