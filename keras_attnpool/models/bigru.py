"""A bidirectional GRU with plain pooling."""

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import BidirectionalGRU
from keras_attnpool.models._blocks import classifier, embed_tokens
from keras_attnpool.models._parts import plain_pooling
from keras_attnpool.types import ActivationLike


@checked(pooling=("max", "mean", "last"))
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
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        pooling: `"max"` (as in the paper), `"mean"` or `"last"`. `"last"` concatenates the forward
            state at the last kept token and the backward state at the first kept token.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        gru_units: Units of the GRUs per direction.
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

    model = keras_attnpool.models.BiGRU(vocabulary_size=1000, num_classes=3)
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 4.2
    """
    tokens, embedded = embed_tokens(locals())
    states = BidirectionalGRU(gru_units, name="encoder")(embedded)
    return classifier(locals(), tokens, plain_pooling(pooling)(states))
