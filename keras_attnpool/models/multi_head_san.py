"""Multi-head self-attention with source2token pooling, a baseline of MPSAN and DiSAN."""

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import MultiDimAttentionPooling
from keras_attnpool.models._blocks import classifier, embed_and_mask
from keras_attnpool.models._parts import with_mask
from keras_attnpool.types import ActivationLike


@checked()
def MultiHeadSAN(
    vocabulary_size: int,
    num_classes: int,
    *,
    num_heads: int = 8,
    key_dim: int = 75,
    embedding_dim: int = 300,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    hidden_units: int | None = 300,
    dropout: float = 0.3,
    classifier_activation: ActivationLike = "softmax",
    name: str = "multi_head_san",
) -> keras.Model:
    """Builds the multi-head baseline: embeddings with sinusoidal positions, multi-head attention.

    The attention is `keras.layers.MultiHeadAttention`, and the pooling is
    `MultiDimAttentionPooling`. Without positions the model could not see the order of the words.
    The position layer is from KerasHub, so building and loading this model needs `keras-hub`.
    Positions are counted from the first kept step.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        num_heads: Number of attention heads.
        key_dim: Size of a head's queries, keys and values.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share of the attention's input and of the classifier's input that is dropped in
            training.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that maps int32 ids `(batch, time)`, where 0 is padding, to
        float32 scores `(batch, num_classes)`. The model is not compiled.

    Raises:
        ImportError: If `keras-hub` is not installed.
        ValueError: If an argument is invalid.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.MultiHeadSAN(vocabulary_size=1000, num_classes=3)
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Vaswani et al., 2017, Attention Is All You Need
        - Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
          table 1
    """
    try:
        from keras_hub.layers import SinePositionEncoding
    except ImportError as error:
        raise ImportError(
            "MultiHeadSAN has KerasHub's SinePositionEncoding: pip install keras_attnpool[nlp]"
        ) from error
    tokens, embedded, mask = embed_and_mask(locals())
    kept, ops = keras.ops.cast(mask, "int32"), keras.ops
    before = ops.sum(ops.cast(ops.equal(ops.cumsum(kept, axis=1), 0), "int32"), 1, keepdims=True)
    # Padded steps in front get position 0. Their vectors are never read.
    place = ops.maximum(ops.cumsum(ops.ones_like(kept), axis=1) - 1 - before, 0)
    place = ops.cast(place, embedded.dtype)
    x = embedded + SinePositionEncoding(name="positions")(embedded, positions=place)
    if dropout:
        x = keras.layers.Dropout(dropout, name="attention_dropout")(x)
    x = with_mask(keras.layers.MultiHeadAttention(num_heads, key_dim, name="attention"), x, mask)
    vector = MultiDimAttentionPooling(name="pooling")(x, mask=mask)
    return classifier(locals(), tokens, vector, "elu", drops_vector=True)
