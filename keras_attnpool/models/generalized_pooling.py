"""Stacked BiLSTMs with generalized pooling, for texts and for pairs."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import GeneralizedPooling
from keras_attnpool.layers.shortcut_stacked_bilstm import SHORTCUTS
from keras_attnpool.models._blocks import classifier, pair_classifier
from keras_attnpool.models.bilstm import POOLINGS, pooling_of, stacked_bilstm
from keras_attnpool.types import ActivationLike, RegularizerLike


@checked(shortcut=SHORTCUTS)
def GeneralizedPoolingClassifier(
    vocabulary_size: int,
    num_classes: int,
    *,
    num_heads: int = 5,
    hidden_dim: int = 300,
    per_feature: bool = True,
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
    attention_dropout: float = 0.0,
    kernel_regularizer: RegularizerLike = None,
    attention_regularizer: RegularizerLike = None,
    vector_regularizer: RegularizerLike = None,
    hidden_units: int = 300,
    dropout: float = 0.5,
    classifier_activation: ActivationLike = "softmax",
    name: str = "generalized_pooling_classifier",
) -> keras.Model:
    """Builds the text classifier: embeddings, stacked BiLSTMs, generalized pooling, MLP.

    With the right arguments, this function builds the model of every row of the paper's table 4.
    The penalty on the parameter matrices is `kernel_regularizer=HeadDistance(...)`, the penalty on
    the attention is `attention_regularizer`, and the penalty on the heads' vectors is
    `vector_regularizer`. The paper's figure 1 varies `num_heads` and `per_feature`.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        num_heads: Number of attention heads, the paper's I.
        hidden_dim: Size of the hidden layer that computes the scores, the paper's d_a.
        per_feature: Whether each feature has separate attention weights. With `False` all features
            share one weight per step.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        num_characters: Number of character ids, including padding. If a number is given, the output
            of a `CharacterEmbedding` is joined to each word's embedding. With `None` the model
            reads only the words.
        char_dim: Size of a character's embedding.
        char_filters: Number of filters per width.
        char_kernel_sizes: Widths of the windows, in characters.
        embedding_dropout: Share of the embeddings that is dropped in training. The released code
            has 0.5, and the paper does not mention this dropout.
        lstm_units: Units of the LSTMs per direction.
        num_layers: Number of stacked BiLSTMs. The paper has 1 BiLSTM for texts and 3 BiLSTMs for
            pairs.
        shortcut: Kind of shortcuts, `"full"` or `"per_direction"`, see `ShortcutStackedBiLSTM`.
        attention_dropout: Share of the attention weights that is dropped in training.
        kernel_regularizer: Penalty on the kernels of the scores (equation 7).
        attention_regularizer: Penalty on the attention weights (equation 8).
        vector_regularizer: Penalty on the heads' vectors (equation 9).
        hidden_units: Units of each of the classifier's two hidden layers.
        dropout: Dropout of both hidden layers (0.5 in the released code).
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

    model = keras_attnpool.models.GeneralizedPoolingClassifier(
        vocabulary_size=1000,
        num_classes=3,
        attention_regularizer=keras_attnpool.regularizers.HeadDistance(0.01),
    )
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Chen, Ling and Zhu, Enhancing Sentence Embedding with Generalized Pooling, equations 1-9
    """
    inputs, states = stacked_bilstm(locals())
    return classifier(locals(), inputs, _generalized(locals())(states), shortcut=True)


@checked(pooling=("generalized", *POOLINGS), shortcut=SHORTCUTS)
def GeneralizedPoolingPair(
    vocabulary_size: int,
    num_classes: int = 3,
    *,
    pooling: str = "generalized",
    num_heads: int = 5,
    hidden_dim: int = 300,
    per_feature: bool = True,
    embedding_dim: int = 300,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    num_characters: int | None = None,
    char_dim: int = 15,
    char_filters: int = 100,
    char_kernel_sizes: Sequence[int] = (1, 3, 5),
    embedding_dropout: float = 0.5,
    lstm_units: int = 300,
    num_layers: int = 3,
    shortcut: str = "full",
    attention_dropout: float = 0.0,
    kernel_regularizer: RegularizerLike = None,
    attention_regularizer: RegularizerLike = None,
    vector_regularizer: RegularizerLike = None,
    hidden_units: int = 300,
    dropout: float = 0.5,
    classifier_activation: ActivationLike = "softmax",
    name: str = "generalized_pooling_pair",
) -> keras.Model:
    """Builds the sentence-pair model: one encoder for both sentences, matching, MLP.

    The same encoder (word embeddings, stacked BiLSTMs, pooling) reads both sentences.
    `PairMatching` joins the sentences' vectors. The encoder is an inner model,
    `model.get_layer("sentences").get_layer("sentence_encoder")`.

    - Entailment: `num_classes=3`, with cross-entropy as the loss.
    - Graded relatedness on a scale from 1 to K: `num_classes=K`, with the KL divergence as the
      loss. The targets are `ops.score_distribution(scores, K)`, and the prediction is
      `ops.expected_score(probabilities)`.

    The sizes of the paper's SNLI model are `lstm_units=600, hidden_dim=600, hidden_units=600`. The
    loss contains the penalties on the attention and on the vectors of both sentences.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes, or number K of grades on the scale.
        pooling: `"generalized"`, or one of the baselines `"max"`, `"mean"`, `"last"`,
            `"self_attention"` and `"multi_dim"` as in `BiLSTM`.
        num_heads: Number of attention heads, the paper's I.
        hidden_dim: Size of the hidden layer that computes the scores, the paper's d_a.
        per_feature: Whether each feature has separate attention weights. With `False` all features
            share one weight per step.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the word embeddings are trained. The paper does not train the
            embeddings for pairs.
        num_characters: Number of character ids, including padding. If a number is given, the output
            of a `CharacterEmbedding` is joined to each word's embedding. With `None` the model
            reads only the words.
        char_dim: Size of a character's embedding.
        char_filters: Number of filters per width.
        char_kernel_sizes: Widths of the windows, in characters.
        embedding_dropout: Share of the embeddings that is dropped in training. The released code
            has 0.5, and the paper does not mention this dropout.
        lstm_units: Units of the LSTMs per direction.
        num_layers: Number of stacked BiLSTMs. The paper has 1 BiLSTM for texts and 3 BiLSTMs for
            pairs.
        shortcut: Kind of shortcuts, `"full"` or `"per_direction"`, see `ShortcutStackedBiLSTM`.
        attention_dropout: Share of the attention weights that is dropped in training.
        kernel_regularizer: Penalty on the kernels of the scores (equation 7).
        attention_regularizer: Penalty on the attention weights (equation 8).
        vector_regularizer: Penalty on the heads' vectors (equation 9).
        hidden_units: Units of each of the classifier's two hidden layers.
        dropout: Dropout of both hidden layers (0.5 in the released code).
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that returns float32 scores `(batch, num_classes)`. The inputs
        are a list of two arrays of int32 ids `(batch, time)`, where 0 is padding. The inputs have
        the names `"tokens_a"` and `"tokens_b"`. With `num_characters` the list also has
        `"characters_a"` and `"characters_b"` `(batch, time, word length)`. The sentences of a pair
        may differ in length. The model is not compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    model = keras_attnpool.models.GeneralizedPoolingPair(vocabulary_size=1000, lstm_units=8)
    premise = np.array([[4, 8, 15, 0]])
    hypothesis = np.array([[16, 23]])
    assert model([premise, hypothesis]).shape == (1, 3)
    ```

    Reference:
        - Chen, Ling and Zhu, Enhancing Sentence Embedding with Generalized Pooling, equations 1-10
        - Tai, Socher and Manning, 2015, Improved Semantic Representations From Tree-Structured Long
          Short-Term Memory Networks, section 4.2 (graded relatedness)
    """
    if pooling == "generalized":
        layer = _generalized(locals())
    else:
        layer = pooling_of(
            locals(),
            per_feature=True,
            attention_dropout=0.0,
            kernel_regularizer=None,
            vector_regularizer=None,
        )
    inputs, states = stacked_bilstm(locals())
    return pair_classifier(locals(), inputs, layer(states), shortcut=True)


def _generalized(given: dict[str, Any]) -> keras.layers.Layer:
    """The pooling layer from a builder's arguments."""
    names = ("per_feature", "kernel_regularizer", "attention_regularizer", "vector_regularizer")
    return GeneralizedPooling(
        given["num_heads"],
        given["hidden_dim"],
        dropout=given["attention_dropout"],
        **{name: given[name] for name in names},
        name="pooling",
    )
