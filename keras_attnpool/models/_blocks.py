"""What the models share: token ids to embeddings, embeddings to states, a vector to scores."""

import inspect
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import Refused
from keras_attnpool.layers import CharacterEmbedding, ShortcutStackedBiLSTM
from keras_attnpool.types import ActivationLike, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class InferenceMode(keras.layers.Layer):  # type: ignore[misc]
    """Calls an encoder with `training=False` whatever its own call is given; not public.

    A functional model hands its own `training` to every layer, also to one that was called with
    another when the model was built.

    Args:
        encoder: The `keras.Model` to be called.
        **kwargs: `name`, `dtype` of `keras.layers.Layer`.
    """

    def __init__(self, encoder: keras.Model, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.encoder = encoder
        self.built = True

    def call(self, inputs: Any) -> Any:
        """Returns what the encoder makes of its inputs."""
        return self.encoder(inputs, training=False)

    def compute_output_spec(self, inputs: Any) -> Any:
        """Returns the encoder's symbolic output; it may have a longest length."""
        return self.encoder.compute_output_spec(inputs)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        encoder = keras.saving.serialize_keras_object(self.encoder)
        return {**super().get_config(), "encoder": encoder}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "InferenceMode":
        """Returns a layer made of a configuration."""
        encoder = keras.saving.deserialize_keras_object(config["encoder"])
        # On PyTorch a loaded backbone of KerasHub says that it is frozen, and its layers are not.
        encoder.trainable = encoder.trainable
        return cls(**{**config, "encoder": encoder})


def embed_tokens(
    vocabulary_size: int,
    embedding_dim: int,
    embeddings: np.ndarray | None,
    trainable: bool,
    mask_zero: bool = True,
) -> tuple[Tensor, Tensor]:
    """Token ids `(batch, time)`, 0 = padding, and their embeddings.

    Args:
        vocabulary_size: Number of ids, padding included.
        embedding_dim: Size of an embedding; `embeddings` overrides it.
        embeddings: Pre-trained matrix `(vocabulary_size, dim)`, or `None` to start at random. It is
            set once the layer is built, so that it is not part of the config.
        trainable: Whether the embeddings are trained (fine-tuned).
        mask_zero: Whether the embeddings carry the Keras mask "id is not 0".

    Returns:
        The symbolic ids and the symbolic embeddings `(batch, time, dim)`.

    Raises:
        ValueError: If the matrix does not have `vocabulary_size` rows.
    """
    if embeddings is not None:
        if len(embeddings) != vocabulary_size:
            raise Refused(
                "embeddings",
                f"have shape (vocabulary_size, dim) = ({vocabulary_size}, dim)",
                f"an array of shape {embeddings.shape}",
            )
        embedding_dim = embeddings.shape[1]
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    layer = keras.layers.Embedding(
        vocabulary_size, embedding_dim, mask_zero=mask_zero, trainable=trainable, name="embedding"
    )
    embedded = layer(tokens)
    if embeddings is not None:
        layer.set_weights([embeddings])
    return tokens, embedded


def embed_and_mask(
    vocabulary_size: int, embedding_dim: int, embeddings: np.ndarray | None, trainable: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """`embed_tokens` for layers that know no Keras mask.

    Returns:
        The ids; their embeddings, zeros at padding whatever row 0 of the matrix holds; and the mask
        "id is not 0".
    """
    tokens, embedded = embed_tokens(
        vocabulary_size, embedding_dim, embeddings, trainable, mask_zero=False
    )
    mask = keras.ops.not_equal(tokens, 0)
    return tokens, keras.ops.where(keras.ops.expand_dims(mask, -1), embedded, 0.0), mask


def document_inputs(packed: int) -> Any:
    """The symbolic ids of documents, padded or packed.

    Args:
        packed: 0, or the number of arrays of sentences that `text.DocumentBatches` serves.

    Returns:
        Ids `(batch, sentences, words)`, or a dictionary of `"sentences_0"` `(rows, words)` ... and
        `"documents"` `(batch, sentences)`.
    """
    if not packed:
        return keras.Input((None, None), dtype="int32", name="tokens")
    names = [*(f"sentences_{group}" for group in range(packed)), "documents"]
    return {name: keras.Input((None,), dtype="int32", name=name) for name in names}


def encode_tokens(
    backbone: keras.Model | int, sequence_length: int | None, trainable: bool
) -> tuple[Any, Tensor, Tensor | None]:
    """Symbolic inputs of a token encoder, the states that it makes of them, and their mask.

    Args:
        backbone: A `keras.Model` to `(batch, time, dim)`, or to a dictionary that holds this as
            `"sequence_output"`, as KerasHub's backbones are; or an integer, the `dim` of token
            features that come precomputed.
        sequence_length: Steps of every text, or `None` where that is left open.
        trainable: Whether the backbone is trained. Otherwise it runs in inference mode, without
            dropout.

    Returns:
        The inputs in the structure of the backbone's, for features a dictionary of `"features"`
        `(batch, time, dim)` and `"padding_mask"` `(batch, time)`; the states
        `(batch, time, dim)`; and the mask: the input `"padding_mask"` or `"attention_mask"` if
        there is one, else "id is not 0" where a single integer tensor comes in, else `None`, where
        the states may carry a Keras mask.

    Raises:
        ValueError: If the backbone returns no states, or nothing tells which ids are padding.
    """
    if isinstance(backbone, int):
        features = keras.Input((sequence_length, backbone), name="features")
        mask = keras.Input((sequence_length,), dtype="bool", name="padding_mask")
        return {"features": features, "padding_mask": mask}, features, mask
    backbone.trainable = trainable
    structure = backbone.inputs[0] if isinstance(backbone, keras.Sequential) else backbone.input
    inputs = keras.tree.map_structure(lambda x: _same_input(x, sequence_length), structure)
    states = backbone(inputs) if trainable else InferenceMode(backbone, name="frozen")(inputs)
    if isinstance(states, dict) and "sequence_output" in states:
        states = states["sequence_output"]
    if not isinstance(states, keras.KerasTensor) or len(states.shape) != 3:
        raise Refused(
            "backbone",
            "return states (batch, time, dim), or a dictionary that holds them as "
            "'sequence_output'",
            f"{backbone.name!r} with the output {states}",
        )
    return inputs, states, _padding_mask(backbone, inputs, states)


def _padding_mask(backbone: keras.Model, inputs: Any, states: Tensor) -> Tensor | None:
    """The mask of a backbone's tokens, from its inputs; `None` if the states carry their own."""
    for name in ("padding_mask", "attention_mask"):
        if isinstance(inputs, dict) and name in inputs:
            return keras.ops.cast(inputs[name], "bool")
    flat = keras.tree.flatten(inputs)
    ids = [x for x in flat if keras.backend.standardize_dtype(x.dtype).startswith("int")]
    if len(flat) == 1 and ids:
        return keras.ops.not_equal(flat[0], 0)
    if ids and getattr(states, "_keras_mask", None) is None:
        raise Refused(
            "backbone",
            "tell padding from tokens: by an input 'padding_mask' or 'attention_mask', by a Keras "
            "mask, or by a single input of ids where 0 is padding",
            f"{backbone.name!r} with the inputs {[x.name for x in flat]}",
        )
    return None


def tokens_or_backbone(
    vocabulary_size: int | None,
    embedding_dim: int,
    embeddings: np.ndarray | None,
    trainable_embeddings: bool,
    backbone: keras.Model | int | None,
    sequence_length: int | None,
    trainable_backbone: bool,
) -> tuple[Any, Tensor, Tensor | None]:
    """Inputs, states and mask of embedded tokens or of a backbone, whichever is asked for.

    Returns:
        Those of `encode_tokens`, or those of `embed_and_mask`.

    Raises:
        ValueError: Unless exactly one of `vocabulary_size` and `backbone` is given, and no
            `embeddings` beside a backbone.
    """
    if backbone is None and vocabulary_size is not None:
        return embed_and_mask(vocabulary_size, embedding_dim, embeddings, trainable_embeddings)
    if backbone is None or vocabulary_size is not None:
        raise Refused(
            "vocabulary_size",
            "be given where there is no `backbone`, and be None where there is one",
            f"vocabulary_size={vocabulary_size!r}, backbone={backbone!r}",
        )
    if embeddings is not None:
        raise Refused(
            "embeddings",
            "be None on a `backbone`",
            f"embeddings of shape {embeddings.shape}, backbone={backbone!r}",
        )
    return encode_tokens(backbone, sequence_length, trainable_backbone)


def with_mask(layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    """Calls a layer with the mask, if there is one and the layer reads one."""
    reads = mask is not None and "mask" in inspect.signature(layer.call).parameters
    return layer(x, mask=mask) if reads else layer(x)


def model_on_backbone(inputs: Any, outputs: Tensor, name: str) -> keras.Model:
    """The model, once no two of its weights have one path.

    Keras keeps PyTorch's parameters by the paths of weights: of two with one path, the optimizer
    would never clear the gradients of one.

    Raises:
        ValueError: If two weights have one path.
    """
    model = keras.Model(inputs, outputs, name=name)
    paths = [weight.path for weight in model.weights]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise Refused(
            "backbone",
            "have no layers that are called like those behind it: two weights would have one path",
            f"a backbone with the weights {twice}",
        )
    return model


def _same_input(x: Tensor, sequence_length: int | None) -> Tensor:
    """A symbolic input like another, of that many steps where it has some."""
    shape = x.shape[1:]
    if shape and sequence_length:
        if shape[0] not in (None, sequence_length):
            raise Refused(
                "sequence_length",
                f"be None or the steps that the `backbone` is made for, {shape[0]}",
                f"sequence_length={sequence_length}",
            )
        shape = (sequence_length, *shape[1:])
    return keras.Input(shape, dtype=x.dtype, name=x.name)


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
    """
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
    """
    first = keras.layers.Dense(hidden_units, activation="relu", name="classifier_hidden_0")(vector)
    if dropout:
        first = keras.layers.Dropout(dropout, name="classifier_dropout_0")(first)
    both = keras.layers.Concatenate(name="classifier_shortcut")([vector, first])
    return classify(both, num_classes, hidden_units, dropout, activation)


def _output_dtype() -> str:
    """float32, or float64 where that is the global policy."""
    return str(keras.config.dtype_policy().variable_dtype)
