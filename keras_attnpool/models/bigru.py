"""A bidirectional GRU with plain pooling."""

import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import (
    BidirectionalGRU,
    LastPooling1D,
    MaskedAveragePooling1D,
    MaskedMaxPooling1D,
)
from keras_attnpool.models._blocks import classify, embed_tokens
from keras_attnpool.types import ActivationLike

POOLINGS: dict[str, Callable[..., Any]] = {
    "max": MaskedMaxPooling1D,
    "mean": MaskedAveragePooling1D,
    "last": functools.partial(LastPooling1D, bidirectional=True),
}


@checked(pooling=POOLINGS)
def BiGRU(
    vocabulary_size: int,
    num_classes: int,
    *,
    pooling: str = "max",
    embedding_dim: int = 100,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    gru_units: int = 50,
    hidden_units: int | None = 512,
    dropout: float = 0.4,
    classifier_activation: ActivationLike = "softmax",
    name: str = "bigru",
) -> keras.Model:
    """Builds the BiGRU baseline: embeddings, BiGRU, max pooling over the kept steps, MLP.

    Args:
        vocabulary_size: Number of token ids, padding (id 0) included.
        num_classes: Number of classes.
        pooling: `"max"` (the paper's), `"mean"` or `"last"`. `"last"` is each direction's final
            state: the forward one's at the last kept token, the backward one's at the first.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        gru_units: Units of the GRU per direction.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Dropout of the classifier.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` from int32 ids `(batch, time)`, 0 = padding, to float32 scores
        `(batch, num_classes)`; not compiled.

    Raises:
        ValueError: For an unknown pooling, a matrix that does not fit the vocabulary, or fewer than
            2 classes.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.BiGRU(vocabulary_size=1000, num_classes=3, pooling="mean")
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 4.2
    """
    tokens, embedded = embed_tokens(
        vocabulary_size, embedding_dim, embeddings, trainable_embeddings
    )
    states = BidirectionalGRU(gru_units, name="encoder")(embedded)
    vector = POOLINGS[pooling](name="pooling")(states)
    outputs = classify(vector, num_classes, hidden_units, dropout, classifier_activation)
    return keras.Model(tokens, outputs, name=name)
