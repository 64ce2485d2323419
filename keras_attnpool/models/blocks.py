"""What the models share: token ids to embeddings, embeddings to states, a vector to scores."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool.layers import CharacterEmbedding, ShortcutStackedBiLSTM
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


def document_inputs(owner: str, packed: int) -> Any:
    """The symbolic ids of documents, padded or packed.

    Args:
        owner: The model that is built, for the message.
        packed: 0, or the number of arrays of sentences that `text.DocumentBatches` serves.

    Returns:
        Ids `(batch, sentences, words)`, or a dictionary of `"sentences_0"` `(rows, words)` ... and
        `"documents"` `(batch, sentences)`.

    Raises:
        ValueError: If `packed` is not an integer from 0.
    """
    if isinstance(packed, bool) or not isinstance(packed, int) or packed < 0:
        raise ValueError(
            f"`packed` of {owner} must be an integer from 0. Received: packed={packed!r}"
        )
    if not packed:
        return keras.Input((None, None), dtype="int32", name="tokens")
    names = [*(f"sentences_{group}" for group in range(packed)), "documents"]
    return {name: keras.Input((None,), dtype="int32", name=name) for name in names}


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
    hidden_activation: ActivationLike = "relu",
) -> Tensor:
    """The classifier head: an optional hidden layer with dropout, then one unit a class.

    Args:
        vector: Symbolic `(batch, dim)`.
        num_classes: Number of classes, at least 2.
        hidden_units: Units of the hidden layer, or `None` for a linear classifier.
        dropout: Share of the hidden layer (of the vector when there is none) dropped in training.
        activation: Activation of the output, `"softmax"`, or `None` for logits.
        hidden_activation: Activation of the hidden layer.

    Returns:
        Symbolic `(batch, num_classes)`.

    Raises:
        ValueError: If there are fewer than 2 classes.
    """
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be at least 2. Received: num_classes={num_classes}")
    if hidden_units is not None:
        vector = keras.layers.Dense(
            hidden_units, activation=hidden_activation, name="classifier_hidden"
        )(vector)
    if dropout:
        vector = keras.layers.Dropout(dropout, name="classifier_dropout")(vector)
    # The output stays float32 under mixed precision, so that the loss does.
    return keras.layers.Dense(
        num_classes, activation=activation, dtype=_output_dtype(), name="classifier"
    )(vector)


def embed_characters(
    embedded: Tensor,
    num_characters: int | None,
    char_dim: int,
    char_filters: int,
    char_kernel_sizes: Sequence[int],
) -> tuple[Tensor | None, Tensor]:
    """Joins to the words' embeddings what a convolution over their characters makes of them.

    Args:
        embedded: Symbolic word embeddings `(batch, time, dim)`.
        num_characters: Number of character ids, padding included; `None` for no characters.
        char_dim: Size of a character's embedding.
        char_filters: Filters of each width.
        char_kernel_sizes: Widths of the windows, in characters.

    Returns:
        The symbolic character ids `(batch, time, word length)`, or `None`, and the embeddings.
    """
    if num_characters is None:
        return None, embedded
    characters = keras.Input((None, None), dtype="int32", name="characters")
    layer = CharacterEmbedding(
        num_characters, char_dim, char_filters, char_kernel_sizes, name="character_embedding"
    )
    joined = keras.layers.Concatenate(name="word_and_characters")([embedded, layer(characters)])
    return characters, joined


def encode_states(
    embedded: Tensor, lstm_units: int, num_layers: int, shortcut: str, embedding_dropout: float
) -> Tensor:
    """Stacked BiLSTMs with shortcuts over the embeddings: `(batch, time, 2 * lstm_units)`."""
    if embedding_dropout:
        embedded = keras.layers.Dropout(embedding_dropout, name="embedding_dropout")(embedded)
    encoder = ShortcutStackedBiLSTM(lstm_units, num_layers, shortcut=shortcut, name="encoder")
    states: Tensor = encoder(embedded)
    return states


def classify_with_shortcut(
    vector: Tensor,
    num_classes: int,
    hidden_units: int,
    dropout: float,
    activation: ActivationLike,
) -> Tensor:
    """The classifier of the generalized pooling paper: two hidden ReLU layers with a shortcut.

    The second hidden layer reads the vector beside the first one's output.

    Args:
        vector: Symbolic `(batch, dim)`.
        num_classes: Number of classes, at least 2.
        hidden_units: Units of each hidden layer.
        dropout: Share of each hidden layer's output dropped in training.
        activation: Activation of the output, `"softmax"`, or `None` for logits.

    Returns:
        Symbolic `(batch, num_classes)`.

    Raises:
        ValueError: If there are fewer than 2 classes.
    """
    first = keras.layers.Dense(hidden_units, activation="relu", name="classifier_hidden_0")(vector)
    if dropout:
        first = keras.layers.Dropout(dropout, name="classifier_dropout_0")(first)
    both = keras.layers.Concatenate(name="classifier_shortcut")([vector, first])
    return classify(both, num_classes, hidden_units, dropout, activation)


def _output_dtype() -> str:
    """float32, or float64 where that is the global policy."""
    return str(keras.config.dtype_policy().variable_dtype)
