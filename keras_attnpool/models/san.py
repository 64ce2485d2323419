"""SAN: a BiGRU pooled by the structured self-attention of Lin et al."""

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import BidirectionalGRU, StructuredSelfAttentionPooling
from keras_attnpool.models._blocks import classifier, embed_tokens
from keras_attnpool.types import ActivationLike, RegularizerLike


@checked()
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

    The original SAN of Lin et al., 2017, has an LSTM. This model has a GRU, as in the comparison of
    the LAMA paper.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        num_heads: Number of attention heads, the paper's r.
        hidden_dim: Size of the hidden layer that computes the scores, the paper's d_a.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        gru_units: Units of the GRUs per direction.
        attention_dropout: Share of the attention weights that is dropped in training.
        attention_regularizer: Penalty on the attention weights. The paper has
            `AttentionOrthogonality`.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
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

    model = keras_attnpool.models.SAN(vocabulary_size=1000, num_classes=3)
    assert model.output_shape == (None, 3)
    ```

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
