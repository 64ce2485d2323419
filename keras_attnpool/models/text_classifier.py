"""A text classifier with any encoder and any pooling."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import ArgumentError, checked
from keras_attnpool.models._blocks import classifier, documents, tokens_or_backbone
from keras_attnpool.models._parts import (
    ENCODER,
    POOLING,
    both_directions,
    encode,
    final_states,
    made,
    pool,
)
from keras_attnpool.types import ActivationLike, LayerLike, RegularizerLike, Tensor


@checked(pooling=POOLING, encoder=ENCODER)
def TextClassifier(
    vocabulary_size: int | None,
    num_classes: int,
    *,
    encoder: LayerLike | Sequence[LayerLike] = "none",
    pooling: LayerLike = "mean",
    attention_regularizer: RegularizerLike = None,
    vector_regularizer: RegularizerLike = None,
    embedding_dim: int = 100,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    embedding_dropout: float = 0.0,
    hierarchical: bool = False,
    packed: int = 0,
    backbone: keras.Model | int | None = None,
    sequence_length: int | None = None,
    trainable_backbone: bool = True,
    hidden_units: int | None = None,
    hidden_activation: ActivationLike = "relu",
    dropout: float = 0.2,
    classifier_activation: ActivationLike = "softmax",
    name: str = "text_classifier",
) -> keras.Model:
    """Builds a text classifier from word vectors, any encoder, any pooling and a classifier.

    `encoder` and `pooling` are each a name, a configuration `{"class_name": name, "config":
    arguments}`, or a Keras layer. A name is one of the short names below, or the name of a class of
    `keras_attnpool.layers` or `keras.layers`.

    These are the encoders. `"none"` keeps the words' vectors unchanged. `"gru"`, `"lstm"` and
    `"stacked_lstm"` are `BidirectionalGRU`, `BidirectionalLSTM` and `ShortcutStackedBiLSTM`.
    `"cnn"` has windows of several widths, as in `TextCNN`. `"conv_attention"` and `"positions"` are
    HCAN's `ConvMultiHeadAttention` and `AddPositionEmbedding`. `"positional"` has MPSAN's
    self-attentions with their fusion. `"directional"` and `"block"` have the self-attentions of
    DiSAN and Bi-BloSAN.

    The names of poolings are listed in `layers.get`. Examples are `"mean"`, `"max"`, `"attention"`,
    `"lama"` and `"learned_query"`.

    Every layer gets the mask, even if an earlier layer loses the mask. A layer of another package
    gets inputs that are 0 at padded steps. Short names may have hyphens instead of underscores.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0). `None` with a backbone.
        num_classes: Number of classes.
        encoder: Layer from the words' vectors `(batch, time, dim)` to states `(batch, time, other
            dim)`, or a list of such layers. The states of a layer that reads backwards are
            reversed, so that each state belongs to its word.
        pooling: Layer from the states to one vector. After a bidirectional encoder, `"last"` takes
            the final state of each direction. For this, only dropout, noise, normalization,
            activations or positions may stand between encoder and pooling, and the config must not
            set `bidirectional`. In all other cases `"last"` takes the last step.
        attention_regularizer: Penalty on the attention weights of the pooling, for instance
            `AttentionOrthogonality`. The pooling must be given by its name.
        vector_regularizer: Penalty on the heads' vectors. The pooling must be given by its name.
        embedding_dim: Size of the embeddings when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        embedding_dropout: Share of the words' vectors that is dropped in training.
        hierarchical: Whether a text is divided into sentences. With `True` an encoder and a pooling
            compute one vector per sentence. A second encoder and pooling, with separate weights,
            compute one vector from the sentences' vectors.
        packed: 0 for padded inputs; k for the inputs of `text.DocumentBatches(..., packed=k)`.
            Every value of `packed` gives the same weights with the same names.
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
        hidden_activation: Activation of the hidden layer.
        dropout: Share of the hidden layer that is dropped in training. Without a hidden layer the
            dropout acts on the pooled vector.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that returns float32 scores `(batch, num_classes)`. The input is
        int32 ids `(batch, time)`, where 0 is padding. With `hierarchical=True` the ids are `(batch,
        sentences, words)`. With a backbone the model has the inputs of the backbone. Layers given
        by name are named `encoder` and `pooling`. Several encoders are named `encoder_0`,
        `encoder_1` and so on. In a hierarchical model, the layers of the words are named
        `word_encoder` and `word_pooling`. The model is not compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import keras
    import keras_attnpool

    model = keras_attnpool.models.TextClassifier(1000, 3, encoder="gru", pooling="attention")
    assert model.output_shape == (None, 3)
    other = keras_attnpool.models.TextClassifier(
        1000,
        3,
        encoder=[keras.layers.Conv1D(32, 3, padding="same"), "lstm"],
        pooling={"class_name": "lama", "config": {"num_heads": 4, "rank": 2}},
        attention_regularizer=keras_attnpool.regularizers.AttentionOrthogonality(0.2),
    )
    assert other.get_layer("pooling").num_heads == 4
    ```
    """
    if hierarchical and vocabulary_size is None:
        raise ArgumentError("hierarchical", "be False on a `backbone`", {"backbone": backbone})
    if packed and not hierarchical:
        raise ArgumentError("packed", "be 0 with hierarchical=False", {"packed": packed})
    stages = list(encoder) if isinstance(encoder, list | tuple) else [encoder]
    penalties: dict[str, Any] = {}
    if attention_regularizer is not None:
        penalties["attention_regularizer"] = attention_regularizer
    if vector_regularizer is not None:
        penalties["vector_regularizer"] = vector_regularizer

    def level(x: Tensor, mask: Tensor | None, prefix: str = "") -> Tensor:
        both = False
        for number, stage in enumerate(stages):
            several = f"_{number}" if len(stages) > 1 else ""
            part = made("encoder", _renamed(stage, prefix), f"{prefix}encoder{several}")
            x, both = encode(part, x, mask), both_directions(part, both)
        options = {**penalties, **(final_states(pooling) if both else {})}
        return pool(
            made("pooling", _renamed(pooling, prefix), f"{prefix}pooling", options), x, mask
        )

    inputs, x, mask = tokens_or_backbone(locals())
    if embedding_dropout:
        x = keras.layers.Dropout(embedding_dropout, name="embedding_dropout")(x)
    if hierarchical:
        inputs, x, mask = documents((inputs, x, mask), level, packed)
    return classifier(locals(), inputs, level(x, mask), hidden_activation)


def _renamed(identifier: Any, prefix: str) -> Any:
    """Returns a separate layer for the words, because the given layer belongs to the sentences."""
    if not prefix or not isinstance(identifier, keras.layers.Layer):
        return identifier
    config = {**identifier.get_config(), "name": f"{prefix}{identifier.name}"}
    return type(identifier).from_config(config)
