"""LAMA: a BiGRU pooled by low-rank multi-head attention, and its variant without a GRU."""

import inspect

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import BidirectionalGRU, LowRankAttentionPooling, MaskedAveragePooling1D
from keras_attnpool.models._blocks import classifier, embed_tokens
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike

CONTEXTS = ("embeddings", "mean", "learned")


@checked(context=CONTEXTS)
def LAMA(
    vocabulary_size: int,
    num_classes: int,
    *,
    num_heads: int = 15,
    rank: int = 1,
    context: str = "embeddings",
    embedding_dim: int = 100,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    gru_units: int | None = 50,
    use_hidden: bool = True,
    l2_normalize: bool = True,
    learn_scale: bool = False,
    scale_initializer: InitializerLike = "ones",
    attention_dropout: float = 0.0,
    attention_regularizer: RegularizerLike = None,
    vector_regularizer: RegularizerLike = None,
    hidden_units: int | None = 512,
    dropout: float = 0.4,
    classifier_activation: ActivationLike = "softmax",
    name: str = "lama",
) -> keras.Model:
    """Builds LAMA: embeddings, BiGRU, low-rank multi-head attention pooling, MLP.

    With the right arguments, this function builds the models of the paper's table 4. The default is
    LAMA+ctx, and `context="learned"` gives LAMA. The penalty +d_p is
    `attention_regularizer=AttentionOrthogonality(0.2)`. The penalty +d_e is
    `vector_regularizer=CosineDisagreement(0.2)`. `gru_units=None` gives LAMA Encoder (see
    `LAMAEncoder`).

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        num_heads: Number of attention heads, the paper's m. In figure 5 of the paper, 15 heads are
            best.
        rank: Rank of each head's bilinear form, the paper's k.
        context: The context vector of the attention. `"embeddings"` is the mean of the text's word
            embeddings, `"mean"` is the mean of the encoder's states, and `"learned"` is one learned
            vector.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        gru_units: Units of the GRU per direction, or `None` for no GRU.
        use_hidden: Whether the scores are computed from a hidden layer of the tokens (equation 7).
        l2_normalize: Whether scores are normalised over the heads.
        learn_scale: Whether each head learns a scale for its scores (our addition).
        scale_initializer: Initializer of the scale.
        attention_dropout: Share of the attention weights that is dropped in training.
        attention_regularizer: Penalty on the attention weights (equation 19a).
        vector_regularizer: Penalty on the heads' vectors (equation 19b).
        hidden_units: Units of the classifier's hidden layer, or `None` for the linear classifier of
            equation 16.
        dropout: Dropout of the classifier.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that maps int32 ids `(batch, time)`, where 0 is padding, to
        float32 scores `(batch, num_classes)`. The model is not compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    model = keras_attnpool.models.LAMA(vocabulary_size=1000, num_classes=3, num_heads=4)
    model.compile("adam", "sparse_categorical_crossentropy")
    scores = model.predict(np.array([[5, 8, 2, 0, 0]]), verbose=0)
    assert scores.shape == (1, 3)
    ```

    Reference:
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, equations 1-19 and section 3.5
    """
    tokens, embedded = embed_tokens(locals())
    states = embedded
    if gru_units is not None:
        states = BidirectionalGRU(gru_units, name="encoder")(embedded)
    pooling = LowRankAttentionPooling(
        num_heads,
        rank=rank,
        context="learned" if context == "learned" else "mean",
        use_hidden=use_hidden,
        l2_normalize=l2_normalize,
        learn_scale=learn_scale,
        scale_initializer=scale_initializer,
        dropout=attention_dropout,
        attention_regularizer=attention_regularizer,
        vector_regularizer=vector_regularizer,
        name="pooling",
    )
    if context == "embeddings":
        vector = pooling(states, context=MaskedAveragePooling1D(name="context")(embedded))
    else:
        vector = pooling(states)
    return classifier(locals(), tokens, vector)


@checked(context=CONTEXTS)
def LAMAEncoder(
    vocabulary_size: int,
    num_classes: int,
    *,
    num_heads: int = 15,
    rank: int = 1,
    context: str = "embeddings",
    embedding_dim: int = 100,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    use_hidden: bool = True,
    l2_normalize: bool = True,
    learn_scale: bool = False,
    scale_initializer: InitializerLike = "ones",
    attention_dropout: float = 0.0,
    attention_regularizer: RegularizerLike = None,
    vector_regularizer: RegularizerLike = None,
    hidden_units: int | None = 512,
    dropout: float = 0.4,
    classifier_activation: ActivationLike = "softmax",
    name: str = "lama_encoder",
) -> keras.Model:
    """Builds LAMA Encoder: LAMA directly on the word embeddings, without a GRU.

    The model ignores word order. The model is faster than `LAMA`, because all steps are computed in
    parallel. The cost is linear in the length of the text.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        num_heads: Number of attention heads, the paper's m. In figure 5 of the paper, 15 heads are
            best.
        rank: Rank of each head's bilinear form, the paper's k.
        context: `"embeddings"`, `"mean"` or `"learned"`. `"embeddings"` and `"mean"` are equal in
            this model.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        use_hidden: Whether the scores are computed from a hidden layer of the tokens (equation 7).
        l2_normalize: Whether scores are normalised over the heads.
        learn_scale: Whether each head learns a scale for its scores (our addition).
        scale_initializer: Initializer of the scale.
        attention_dropout: Share of the attention weights that is dropped in training.
        attention_regularizer: Penalty on the attention weights (equation 19a).
        vector_regularizer: Penalty on the heads' vectors (equation 19b).
        hidden_units: Units of the classifier's hidden layer, or `None` for the linear classifier of
            equation 16.
        dropout: Dropout of the classifier.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that maps int32 ids `(batch, time)`, where 0 is padding, to
        float32 scores `(batch, num_classes)`. The model is not compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.LAMAEncoder(vocabulary_size=1000, num_classes=3)
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 5.2
    """
    # The arguments are already checked, so an error inside names this builder.
    return inspect.unwrap(LAMA)(**locals(), gru_units=None)
