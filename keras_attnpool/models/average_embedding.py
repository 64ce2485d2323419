"""A classifier of the mean word embedding, the simplest baseline."""

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import MaskedAveragePooling1D
from keras_attnpool.models._blocks import classifier, embed_tokens
from keras_attnpool.types import ActivationLike


@checked()
def AverageEmbedding(
    vocabulary_size: int,
    num_classes: int,
    *,
    embedding_dim: int = 100,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    hidden_units: int | None = 512,
    dropout: float = 0.4,
    classifier_activation: ActivationLike = "softmax",
    name: str = "average_embedding",
) -> keras.Model:
    """Builds the AVG baseline: an MLP on the mean of the text's word embeddings.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
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
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.AverageEmbedding(vocabulary_size=1000, num_classes=3)
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 4.2
    """
    tokens, embedded = embed_tokens(locals())
    return classifier(locals(), tokens, MaskedAveragePooling1D(name="pooling")(embedded))
