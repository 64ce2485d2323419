"""TextCNN: convolutions of several widths with maximum over time."""

from collections.abc import Sequence

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import MaskedMaxPooling1D
from keras_attnpool.models._blocks import classifier, embed_and_mask
from keras_attnpool.models._parts import joined, window
from keras_attnpool.types import ActivationLike


@checked()
def TextCNN(
    vocabulary_size: int,
    num_classes: int,
    *,
    filters: int = 100,
    kernel_sizes: Sequence[int] = (3, 4, 5),
    embedding_dim: int = 100,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    hidden_units: int | None = None,
    dropout: float = 0.5,
    classifier_activation: ActivationLike = "softmax",
    name: str = "text_cnn",
) -> keras.Model:
    """Builds TextCNN: embeddings, convolutions of several widths, maximum over time, classifier.

    The windows are centred on the kept tokens ("same" padding) and read zeros past the ends of the
    text. So a text may be shorter than a window, and padding does not change the result.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        filters: Number of filters of each width.
        kernel_sizes: Widths of the windows, in tokens.
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

    model = keras_attnpool.models.TextCNN(vocabulary_size=1000, num_classes=3)
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Kim, 2014, Convolutional Neural Networks for Sentence Classification
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 4.2
    """
    # Convolutions take no mask: they read zeros at padding, and the pooling gets the mask.
    tokens, embedded, mask = embed_and_mask(locals())
    pooled = [
        MaskedMaxPooling1D(name=f"pooling_{size}")(
            window(filters, size, f"conv_{size}")(embedded), mask=mask
        )
        for size in kernel_sizes
    ]
    return classifier(locals(), tokens, joined(pooled, "pooling"))
