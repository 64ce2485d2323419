"""The two ends of every text classifier: token ids to embeddings, a vector to class scores."""

import keras
import numpy as np

from keras_attnpool.types import ActivationLike, Tensor


def embed_tokens(
    vocabulary_size: int,
    embedding_dim: int,
    embeddings: np.ndarray | None,
    trainable: bool,
    mask_zero: bool = True,
) -> tuple[Tensor, Tensor, keras.layers.Embedding]:
    """Token ids `(batch, time)`, 0 = padding, their embeddings and the embedding layer.

    Args:
        vocabulary_size: Number of ids, padding included.
        embedding_dim: Size of an embedding; `embeddings` overrides it.
        embeddings: Pre-trained matrix `(vocabulary_size, dim)`, or `None` to start at random. It is
            set by `load_embeddings` once the model stands, so that it is not part of the config.
        trainable: Whether the embeddings are trained (fine-tuned).
        mask_zero: Whether the embeddings carry the Keras mask "id is not 0".

    Returns:
        The symbolic ids, the symbolic embeddings `(batch, time, dim)` and the layer.

    Raises:
        ValueError: If the matrix does not have `vocabulary_size` rows.
    """
    if embeddings is not None:
        shape = np.shape(embeddings)
        if len(shape) != 2 or shape[0] != vocabulary_size:
            raise ValueError(
                f"`embeddings` must have shape (vocabulary_size, dim) = ({vocabulary_size}, dim). "
                f"Received: an array of shape {shape}"
            )
        embedding_dim = shape[1]
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    layer = keras.layers.Embedding(
        vocabulary_size, embedding_dim, mask_zero=mask_zero, trainable=trainable, name="embedding"
    )
    return tokens, layer(tokens), layer


def load_embeddings(layer: keras.layers.Embedding, embeddings: np.ndarray | None) -> None:
    """Sets the pre-trained matrix, if there is one."""
    if embeddings is not None:
        layer.set_weights([np.asarray(embeddings)])


def classify(
    vector: Tensor,
    num_classes: int,
    hidden_units: int | None,
    dropout: float,
    activation: ActivationLike,
) -> Tensor:
    """The classifier head: an optional hidden ReLU layer with dropout, then one unit a class.

    Args:
        vector: Symbolic `(batch, dim)`.
        num_classes: Number of classes, at least 2.
        hidden_units: Units of the hidden layer, or `None` for a linear classifier.
        dropout: Share of the hidden layer (of the vector when there is none) dropped in training.
        activation: Activation of the output, `"softmax"`, or `None` for logits.

    Returns:
        Symbolic `(batch, num_classes)`.

    Raises:
        ValueError: If there are fewer than 2 classes.
    """
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be at least 2. Received: num_classes={num_classes}")
    if hidden_units is not None:
        vector = keras.layers.Dense(hidden_units, activation="relu", name="classifier_hidden")(
            vector
        )
    if dropout:
        vector = keras.layers.Dropout(dropout, name="classifier_dropout")(vector)
    # The output stays float32 under mixed precision, so that the loss does.
    return keras.layers.Dense(
        num_classes, activation=activation, dtype=_output_dtype(), name="classifier"
    )(vector)


def _output_dtype() -> str:
    """float32, or float64 where that is the global policy."""
    return str(keras.config.dtype_policy().variable_dtype)
