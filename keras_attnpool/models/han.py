"""HAN: recurrent attention over words, then over sentences."""

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import AttentionPooling, BidirectionalGRU
from keras_attnpool.models._blocks import classifier, documents, embed_tokens
from keras_attnpool.types import ActivationLike, Tensor


@checked()
def HAN(
    vocabulary_size: int,
    num_classes: int,
    *,
    gru_units: int = 50,
    hidden_dim: int = 200,
    packed: int = 0,
    embedding_dim: int = 512,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    dropout: float = 0.0,
    hidden_units: int | None = None,
    classifier_activation: ActivationLike = "softmax",
    name: str = "han",
) -> keras.Model:
    """Builds HAN: a BiGRU and attention with a learned context, for words and then for sentences.

    Sentences and texts without a word give zero vectors. Padding never changes a result.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        gru_units: Units of the GRUs per direction.
        hidden_dim: Hidden units of the attentions. HCAN's paper has 200 units, and HAN's paper has
            100 units.
        packed: 0 for padded inputs; k for the inputs of `text.DocumentBatches(..., packed=k)`.
            Every value of `packed` gives the same weights with the same names.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        dropout: Share of the GRUs' states that is dropped in training, as in HCAN's official code.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that returns float32 scores `(batch, num_classes)`. The inputs
        are int32 ids `(batch, sentences, words)`, where 0 is padding. With `packed` the inputs are
        a dictionary. The entries of the dictionary are `"sentences_0"` `(rows, words)`,
        `"sentences_1"` and so on, and `"documents"` `(batch, sentences)`. In
        `keras_attnpool.analysis` the attention over sentences has the path `pooling`, and the
        attention over words has the path `sentences/word_pooling`. The model is not compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.HAN(vocabulary_size=1000, num_classes=5, embedding_dim=64)
    assert model.input_shape == (None, None, None)
    ```

    Reference:
        - Yang et al., 2016, Hierarchical Attention Networks for Document Classification
        - Gao, Ramanathan and Tourassi, Hierarchical Convolutional Attention Networks for Text
          Classification, section 4.2
    """

    def level(x: Tensor, mask: Tensor | None, prefix: str = "") -> Tensor:
        states = BidirectionalGRU(gru_units, name=f"{prefix}encoder")(x)
        if dropout:
            states = keras.layers.Dropout(dropout, name=f"{prefix}dropout")(states)
        return AttentionPooling(hidden_dim, name=f"{prefix}pooling")(states)

    inputs, sentences, _ = documents((*embed_tokens(locals()), None), level, packed)
    return classifier({**locals(), "dropout": 0.0}, inputs, level(sentences, None))
