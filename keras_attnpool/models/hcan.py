"""HCAN: convolutional attention over words, then over sentences."""

from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import ArgumentError, checked
from keras_attnpool.layers import (
    AddPositionEmbedding,
    ConvAttentionPooling,
    ConvMultiHeadAttention,
    MaskedMaxPooling1D,
)
from keras_attnpool.models._blocks import classifier, documents, embed_tokens
from keras_attnpool.types import ActivationLike, Tensor


@checked(pooling=("target", "max"))
def HCAN(
    vocabulary_size: int,
    num_classes: int,
    *,
    hierarchical: bool = True,
    parallel: bool = True,
    pooling: str = "target",
    value_conv: bool = True,
    num_heads: int = 8,
    filters: int = 512,
    kernel_size: int = 3,
    max_words: int = 512,
    max_sentences: int = 128,
    packed: int = 0,
    embedding_dim: int = 512,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    dropout: float = 0.1,
    hidden_units: int | None = None,
    classifier_dropout: float = 0.0,
    classifier_activation: ActivationLike = "softmax",
    name: str = "hcan",
) -> keras.Model:
    """Builds HCAN: positions, self-attention and target attention, for words and then for
    sentences.

    With the right arguments, this function builds the eight neural models of the paper's table 2.
    `hierarchical=False` reads the whole text as one sequence. `parallel=False` uses one
    self-attention instead of the product of two. `pooling="max"` takes the maximum instead of the
    target attention.

    Padding never changes a result, and rows may differ in length. An eager call skips sentences
    without words. Packed batches need little padding on every backend, see
    `keras_attnpool.layers.HierarchicalEncoder`.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        hierarchical: Whether a text is divided into sentences.
        parallel: Whether each self-attention is the product of two attentions.
        pooling: `"target"` or `"max"`.
        value_conv: Whether the values of the target attention are convolved. With `False` the
            values are the outputs of the self-attention, as in the official code.
        num_heads: Number of attention heads.
        filters: Size of queries, keys, values and of the vectors of sentences and texts.
        kernel_size: Number of words or sentences of a window.
        max_words: Number of learned positions of words: the largest length of a sentence, or of a
            text with `hierarchical=False`. A longer input raises an error.
        max_sentences: Number of learned positions of sentences. A text with more sentences raises
            an error.
        packed: 0 for padded inputs; k for the inputs of `text.DocumentBatches(..., packed=k)`.
            Every value of `packed` gives the same weights with the same names.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        dropout: Dropout of the attention weights, and of the vectors of words and sentences after
            the positions are added.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        classifier_dropout: Dropout of the classifier's input. The official code has 0.1.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that returns float32 scores `(batch, num_classes)`. The inputs
        are int32 ids `(batch, sentences, words)`, where 0 is padding. With `hierarchical=False` the
        ids are `(batch, time)`. With `packed` the inputs are a dictionary. The entries of the
        dictionary are `"sentences_0"` `(rows, words)`, `"sentences_1"` and so on, and `"documents"`
        `(batch, sentences)`. In `keras_attnpool.analysis` the layers have the paths `attention` and
        `pooling`, and the word layers have the paths `sentences/word_attention` and
        `sentences/word_pooling`. The model is not compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.HCAN(vocabulary_size=1000, num_classes=5, filters=64)
    assert model.input_shape == (None, None, None)
    flat = keras_attnpool.models.HCAN(
        vocabulary_size=1000, num_classes=5, filters=64, hierarchical=False, pooling="max"
    )
    assert flat.input_shape == (None, None)
    ```

    Reference:
        - Gao, Ramanathan and Tourassi, Hierarchical Convolutional Attention Networks for Text
          Classification
    """
    if packed and not hierarchical:
        must = "be 0 with hierarchical=False: packed inputs are sentences"
        raise ArgumentError("packed", must, {"packed": packed})

    def level(x: Tensor, mask: Tensor | None, prefix: str = "") -> Tensor:
        max_length = max_words if prefix or not hierarchical else max_sentences
        sizes: dict[str, Any] = dict(num_heads=num_heads, filters=filters, kernel_size=kernel_size)
        x = AddPositionEmbedding(max_length, name=f"{prefix}positions")(x)
        if dropout:
            x = keras.layers.Dropout(dropout, name=f"{prefix}dropout")(x)
        x = ConvMultiHeadAttention(
            **sizes, parallel=parallel, dropout=dropout, name=f"{prefix}attention"
        )(x)
        if pooling == "max":
            return MaskedMaxPooling1D(name=f"{prefix}pooling")(x)
        return ConvAttentionPooling(
            **sizes, value_conv=value_conv, dropout=dropout, name=f"{prefix}pooling"
        )(x)

    inputs, x = embed_tokens(locals())
    if hierarchical:
        inputs, x, _ = documents((inputs, x, None), level, packed)
    return classifier({**locals(), "dropout": classifier_dropout}, inputs, level(x, None))
