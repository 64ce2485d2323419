"""A Transformer encoder with learned positions and mean pooling."""

import keras
import numpy as np

from keras_attnpool._checks import ArgumentError, checked, integer
from keras_attnpool.layers import AddPositionEmbedding, MaskedAveragePooling1D
from keras_attnpool.models._blocks import classifier, embed_and_mask
from keras_attnpool.ops.masking import zero_masked
from keras_attnpool.types import ActivationLike


@checked(num_layers=integer(0))
def TransformerEncoderClassifier(
    vocabulary_size: int,
    num_classes: int,
    *,
    max_length: int = 512,
    num_heads: int = 8,
    feedforward_dim: int = 2048,
    num_layers: int = 1,
    attention_dropout: float = 0.0,
    embedding_dim: int = 512,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    hidden_units: int | None = 1024,
    dropout: float = 0.4,
    classifier_activation: ActivationLike = "softmax",
    name: str = "transformer_encoder_classifier",
) -> keras.Model:
    """Builds the TE baseline: embeddings with positions, Transformer encoder, mean, MLP.

    The encoder (post-norm, ReLU) is from KerasHub, so building and loading this model needs
    `keras-hub`. The attention masks padded keys, and the mean ignores the outputs at padding. So
    padding never changes the result. An empty text gives the classifier a zero vector.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        max_length: Number of learned positions. A longer input raises an error.
        num_heads: Number of attention heads per encoder layer. `num_heads` must divide the size of
            the embeddings.
        feedforward_dim: Hidden units of each encoder layer's feed-forward part.
        num_layers: Number of encoder layers. The paper has 1.
        attention_dropout: Dropout inside the encoder.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Dropout of the classifier.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that maps int32 ids `(batch, time)`, where 0 is padding, to
        float32 scores `(batch, num_classes)`. The model is not compiled.

    Raises:
        ImportError: If `keras-hub` is not installed.
        ValueError: If the number of heads does not divide the size of the embeddings, or if an
            argument is invalid.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.TransformerEncoderClassifier(
        vocabulary_size=1000, num_classes=3, embedding_dim=32, feedforward_dim=64, max_length=50
    )
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Vaswani et al., 2017, Attention Is All You Need
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 4.2 and table 5
    """
    try:
        from keras_hub.layers import TransformerEncoder
    except ImportError as error:
        raise ImportError(
            "TransformerEncoderClassifier is built on KerasHub's TransformerEncoder: "
            "pip install keras_attnpool[nlp]"
        ) from error
    tokens, embedded, mask = embed_and_mask(locals())
    if embedded.shape[-1] % num_heads:
        must = "divide the size of the embeddings"
        received = {"num_heads": num_heads, "embedding_dim": embedded.shape[-1]}
        raise ArgumentError("num_heads", must, received)
    x = AddPositionEmbedding(max_length, embeddings_initializer="glorot_uniform", name="positions")(
        embedded, mask=mask
    )
    for index in range(num_layers):
        # On OpenVINO the encoder's output is NaN at padding
        # (docs/upstream/openvino-empty-query.md).
        x = zero_masked(x, mask) if index else x
        x = TransformerEncoder(
            feedforward_dim, num_heads, dropout=attention_dropout, name=f"encoder_{index}"
        )(x, padding_mask=mask)
    return classifier(locals(), tokens, MaskedAveragePooling1D(name="pooling")(x, mask=mask))
