"""Generalized pooling: stacked BiLSTMs pooled by vectors of attention, for texts and for pairs."""

from collections.abc import Sequence

import keras
import numpy as np

from keras_attnpool._checks import Refused, checked
from keras_attnpool.layers import GeneralizedPooling, PairMatching
from keras_attnpool.layers.shortcut_stacked_bilstm import SHORTCUTS
from keras_attnpool.models._blocks import (
    classify_with_shortcut,
    embed_characters,
    embed_tokens,
    encode_states,
)
from keras_attnpool.models.bilstm import POOLINGS, plain_pooling
from keras_attnpool.types import ActivationLike, RegularizerLike


@checked(shortcut=SHORTCUTS)
def GeneralizedPoolingClassifier(
    vocabulary_size: int,
    num_classes: int,
    *,
    num_heads: int = 5,
    attention_dim: int = 300,
    scalar: bool = False,
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
    embedding_regularizer: RegularizerLike = None,
    hidden_units: int = 300,
    dropout: float = 0.5,
    classifier_activation: ActivationLike = "softmax",
    name: str = "generalized_pooling_classifier",
) -> keras.Model:
    """Builds the text classifier: embeddings, stacked BiLSTMs, generalized pooling, MLP.

    Every row of the paper's table 4 is an argument: the penalty on the parameter matrices is
    `kernel_regularizer=HeadDistance(...)`, on the attention `attention_regularizer=`, on the heads'
    vectors `embedding_regularizer=`. Its figure 1 varies `num_heads` and `scalar`.

    Args:
        vocabulary_size: Number of token ids, padding (id 0) included.
        num_classes: Number of classes.
        num_heads: Number of attention heads, the paper's I.
        attention_dim: Size of the hidden layer in front of the scores, the paper's d_a.
        scalar: `True`: one weight a step and head; `False`: one for every feature too.
        embedding_dim: Size of the word embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the word embeddings are fine-tuned.
        num_characters: Number of character ids, padding included, to join to each word what a
            `CharacterEmbedding` makes of its characters; `None` for words alone.
        char_dim: Size of a character's embedding.
        char_filters: Filters of each width.
        char_kernel_sizes: Widths of the windows, in characters.
        embedding_dropout: Share of the embeddings dropped in training (the released code has 0.5,
            the paper does not mention it).
        lstm_units: Units of the LSTMs per direction.
        num_layers: Number of stacked BiLSTMs; the paper has 1 for texts, 3 for pairs.
        shortcut: Wiring of the stack, `"full"` or `"per_direction"`, see `ShortcutStackedBiLSTM`.
        attention_dropout: Share of the attention weights dropped in training.
        kernel_regularizer: Penalty on the kernels of the scores (eq. 7).
        attention_regularizer: Penalty on the attention weights (eq. 8).
        embedding_regularizer: Penalty on the heads' vectors (eq. 9).
        hidden_units: Units of each of the classifier's two hidden layers.
        dropout: Dropout of both hidden layers (0.5 in the released code).
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` from int32 ids `(batch, time)`, 0 = padding, to float32 scores
        `(batch, num_classes)`; with `num_characters` from the list of these and of character ids
        `(batch, time, word length)`, named `"tokens"` and `"characters"`. Not compiled.

    Raises:
        ValueError: For a matrix that does not fit the vocabulary, fewer than 2 classes, or sizes
            that the layers refuse.

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
        - Chen, Ling and Zhu, Enhancing Sentence Embedding with Generalized Pooling, eq. 1-9
    """
    tokens, embedded = embed_tokens(
        vocabulary_size, embedding_dim, embeddings, trainable_embeddings
    )
    characters, embedded = embed_characters(
        embedded, num_characters, char_dim, char_filters, char_kernel_sizes
    )
    states = encode_states(embedded, lstm_units, num_layers, shortcut, embedding_dropout)
    vector = GeneralizedPooling(
        num_heads,
        attention_dim,
        scalar=scalar,
        dropout=attention_dropout,
        kernel_regularizer=kernel_regularizer,
        attention_regularizer=attention_regularizer,
        embedding_regularizer=embedding_regularizer,
        name="pooling",
    )(states)
    outputs = classify_with_shortcut(
        vector, num_classes, hidden_units, dropout, classifier_activation
    )
    inputs = tokens if characters is None else [tokens, characters]
    return keras.Model(inputs, outputs, name=name)


@checked(pooling=("generalized", *POOLINGS), shortcut=SHORTCUTS)
def GeneralizedPoolingPair(
    vocabulary_size: int,
    num_classes: int = 3,
    *,
    pooling: str = "generalized",
    num_heads: int = 5,
    attention_dim: int = 300,
    scalar: bool = False,
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
    embedding_regularizer: RegularizerLike = None,
    hidden_units: int = 300,
    dropout: float = 0.5,
    classifier_activation: ActivationLike = "softmax",
    name: str = "generalized_pooling_pair",
) -> keras.Model:
    """Builds the sentence-pair model: one encoder for both sentences, matching, MLP.

    Both sentences go through the same encoder (word embeddings, stacked BiLSTMs, pooling);
    `PairMatching` joins their vectors. The encoder is a model of its own,
    `model.get_layer("sentences").get_layer("sentence_encoder")`.

    - Entailment: `num_classes=3`, trained with the cross-entropy.
    - Graded relatedness on a scale 1 to K: `num_classes=K`, trained with the KL divergence towards
      `ops.score_distribution(scores, K)`; the prediction is `ops.expected_score(probabilities)`.

    The sizes of the paper's SNLI model are `lstm_units=600, attention_dim=600, hidden_units=600`.
    Penalties count once a sentence.

    Args:
        vocabulary_size: Number of token ids, padding (id 0) included.
        num_classes: Number of classes, or of points on the scale.
        pooling: `"generalized"`, or one of the baselines `"max"`, `"mean"`, `"last"`,
            `"self_attention"` and `"multi_dim"` as in `BiLSTM`.
        num_heads: Number of attention heads, the paper's I.
        attention_dim: Size of the hidden layer in front of the scores, the paper's d_a.
        scalar: `True`: one weight a step and head; `False`: one for every feature too.
        embedding_dim: Size of the word embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the word embeddings are trained; the paper keeps pre-trained
            ones fixed for pairs.
        num_characters: Number of character ids, padding included, to join to each word what a
            `CharacterEmbedding` makes of its characters; `None` for words alone.
        char_dim: Size of a character's embedding.
        char_filters: Filters of each width.
        char_kernel_sizes: Widths of the windows, in characters.
        embedding_dropout: Share of the embeddings dropped in training.
        lstm_units: Units of the LSTMs per direction.
        num_layers: Number of stacked BiLSTMs.
        shortcut: Wiring of the stack, `"full"` or `"per_direction"`, see `ShortcutStackedBiLSTM`.
        attention_dropout: Share of the attention weights dropped in training.
        kernel_regularizer: Penalty on the kernels of the scores (eq. 7).
        attention_regularizer: Penalty on the attention weights (eq. 8).
        embedding_regularizer: Penalty on the heads' vectors (eq. 9).
        hidden_units: Units of each of the classifier's two hidden layers.
        dropout: Dropout of both hidden layers.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` from the list of the two sentences' int32 ids `(batch, time)`,
        0 = padding, named `"tokens_a"` and `"tokens_b"`, to float32 scores `(batch, num_classes)`.
        With `num_characters` two inputs `(batch, time, word length)` follow, `"characters_a"` and
        `"characters_b"`. The sentences of a pair need not be equally long. Not compiled.

    Raises:
        ValueError: For an unknown pooling, an option that the pooling has no use for, a matrix that
            does not fit the vocabulary, fewer than 2 classes, or sizes that the layers refuse.

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
        - Chen, Ling and Zhu, Enhancing Sentence Embedding with Generalized Pooling, eq. 1-10
        - Tai, Socher and Manning, 2015, Improved Semantic Representations From Tree-Structured Long
          Short-Term Memory Networks, section 4.2 (graded relatedness)
    """
    if pooling == "generalized":
        layer = GeneralizedPooling(
            num_heads,
            attention_dim,
            scalar=scalar,
            dropout=attention_dropout,
            kernel_regularizer=kernel_regularizer,
            attention_regularizer=attention_regularizer,
            embedding_regularizer=embedding_regularizer,
            name="pooling",
        )
    else:
        unused = {
            "scalar": scalar,
            "attention_dropout": attention_dropout,
            "kernel_regularizer": kernel_regularizer,
            "embedding_regularizer": embedding_regularizer,
        }
        for option, value in unused.items():
            if value:
                raise Refused(
                    option,
                    "be left out with a pooling that does not use it",
                    f"pooling={pooling!r}, {option}={value!r}",
                )
        layer = plain_pooling(pooling, num_heads, attention_dim, attention_regularizer)
    tokens, embedded = embed_tokens(
        vocabulary_size, embedding_dim, embeddings, trainable_embeddings
    )
    characters, embedded = embed_characters(
        embedded, num_characters, char_dim, char_filters, char_kernel_sizes
    )
    states = encode_states(embedded, lstm_units, num_layers, shortcut, embedding_dropout)
    inputs = tokens if characters is None else [tokens, characters]
    encoder = keras.Model(inputs, layer(states), name="sentence_encoder")

    pair = [keras.Input((None,), dtype="int32", name=f"tokens_{side}") for side in "ab"]
    if characters is None:
        vectors = [encoder(sentence) for sentence in pair]
    else:
        spelt = [
            keras.Input((None, None), dtype="int32", name=f"characters_{side}") for side in "ab"
        ]
        vectors = [encoder([words, letters]) for words, letters in zip(pair, spelt, strict=True)]
        pair = pair + spelt
    # A model around both calls: on JAX, Keras forgets a layer's penalties when the layer is called
    # again, unless both calls are made by one layer.
    vectors = keras.Model(pair, vectors, name="sentences")(pair)
    matched = PairMatching(name="matching")(vectors)
    outputs = classify_with_shortcut(
        matched, num_classes, hidden_units, dropout, classifier_activation
    )
    return keras.Model(pair, outputs, name=name)
