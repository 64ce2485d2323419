"""Attention-based BiLSTM, the baseline RBA in SAM's paper."""

import keras
import numpy as np

from keras_attnpool._checks import checked
from keras_attnpool.layers import AttentionPooling, ShortcutStackedBiLSTM
from keras_attnpool.models._blocks import classifier, tokens_or_backbone
from keras_attnpool.models._parts import with_mask
from keras_attnpool.types import ActivationLike


@checked(merge_mode=("concat", "sum"))
def AttentionBiLSTM(
    vocabulary_size: int | None,
    num_classes: int,
    *,
    merge_mode: str = "sum",
    lstm_units: int = 256,
    num_layers: int = 2,
    embedding_dim: int = 300,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    backbone: keras.Model | int | None = None,
    sequence_length: int | None = None,
    trainable_backbone: bool = True,
    hidden_units: int | None = None,
    dropout: float = 0.2,
    classifier_activation: ActivationLike = "softmax",
    name: str = "attention_bilstm",
) -> keras.Model:
    """Builds the attention-based BiLSTM: BiLSTMs, attention with tanh, and a softmax classifier.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0). `None` with a backbone.
        num_classes: Number of classes.
        merge_mode: `"sum"` adds the states of the two directions, as in the original paper.
            `"concat"` concatenates these states.
        lstm_units: Units of the LSTMs per direction.
        num_layers: Number of BiLSTMs. The original paper uses 1 BiLSTM, and SAM's paper uses 2
            BiLSTMs.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        backbone: A KerasHub backbone, or any functional `keras.Model` that returns `(batch, time,
            dim)`. The backbone replaces the embeddings. For precomputed features
            (`text.LanguageModel.features`) give an integer, the size `dim` of the features. The
            mask is the backbone's input `"padding_mask"` or `"attention_mask"`. If the backbone has
            no input for a mask, but a single input of integers, the zeros in this input are
            padding. In all other cases the model uses the Keras mask of the backbone's states.
        sequence_length: Number of steps of every text, with a backbone. `None` allows any number.
        trainable_backbone: Whether the backbone is fine-tuned. The builder sets
            `backbone.trainable`. Parts that are already frozen stay frozen, for example the parts
            that LoRA has frozen. A frozen backbone runs in inference mode, without dropout.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share of the attention's inputs and of the pooled vector that is dropped in
            training.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that returns float32 scores `(batch, num_classes)`. Without a
        backbone the input is int32 ids `(batch, time)`, where 0 is padding. With a backbone the
        model has the inputs of the backbone. With precomputed features the input is a dictionary of
        `"features"` `(batch, time, dim)` and `"padding_mask"` `(batch, time)`. The model is not
        compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.AttentionBiLSTM(vocabulary_size=1000, num_classes=3)
    assert model.output_shape == (None, 3)
    ```

    Reference:
        - Zhou et al., 2016, Attention-Based Bidirectional LSTM Networks for Relation
          Classification
        - Zhou et al., Sequential Attention Module for Natural Language Processing, section 4.2
    """
    inputs, x, mask = tokens_or_backbone(locals())
    encoder = ShortcutStackedBiLSTM(
        lstm_units, num_layers, shortcut="none", merge_mode=merge_mode, name="encoder"
    )
    x = with_mask(encoder, x, mask)
    if dropout:
        x = keras.layers.Dropout(dropout, name="states_dropout")(x)
    vector = with_mask(AttentionPooling(output_activation="tanh", name="pooling"), x, mask)
    return classifier(locals(), inputs, vector)
