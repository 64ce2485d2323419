"""TextCNN: convolutions of several widths with maximum over time."""

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from keras_attnpool.layers import MaskedMaxPooling1D
from keras_attnpool.models.blocks import check_sizes, classify, embed_tokens, load_embeddings
from keras_attnpool.types import ActivationLike


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

    The windows are centred on the kept tokens ("same" padding) and see zeros past the text's ends,
    so that a text shorter than a window is welcome and padding changes nothing.

    Args:
        vocabulary_size: Number of token ids, padding (id 0) included.
        num_classes: Number of classes.
        filters: Filters of each width.
        kernel_sizes: Widths of the windows, in tokens.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Dropout of the classifier.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` from int32 ids `(batch, time)`, 0 = padding, to float32 scores
        `(batch, num_classes)`; not compiled.

    Raises:
        ValueError: For a matrix that does not fit the vocabulary, no kernel size, or fewer than 2
            classes.

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
    check_sizes(filters=filters)
    if isinstance(kernel_sizes, str) or not kernel_sizes:
        raise ValueError(
            f"`kernel_sizes` of TextCNN must name at least one width. Received: {kernel_sizes!r}"
        )
    # Convolutions know no masks: what they see at padding is zeroed here, the pooling is told.
    tokens, embedded, embedding = embed_tokens(
        vocabulary_size, embedding_dim, embeddings, trainable_embeddings, mask_zero=False
    )
    mask = ops.not_equal(tokens, 0)
    embedded = embedded * ops.cast(ops.expand_dims(mask, -1), embedded.dtype)
    pooled = []
    for size in kernel_sizes:
        check_sizes(kernel_sizes=size)
        conv = keras.layers.Conv1D(
            filters, size, padding="same", activation="relu", name=f"conv_{size}"
        )
        pooled.append(MaskedMaxPooling1D(name=f"pooling_{size}")(conv(embedded), mask=mask))
    vector = keras.layers.Concatenate(name="pooling")(pooled) if len(pooled) > 1 else pooled[0]
    outputs = classify(vector, num_classes, hidden_units, dropout, classifier_activation)
    model = keras.Model(tokens, outputs, name=name)
    load_embeddings(embedding, embeddings)
    return model
