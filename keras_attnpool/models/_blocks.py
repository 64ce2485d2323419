"""Parts of the models: from token ids to embeddings and states, and from a vector to scores."""

from collections.abc import Callable
from typing import Any

import keras

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers import CharacterEmbedding, HierarchicalEncoder, PairMatching
from keras_attnpool.ops.masking import check_mask_values
from keras_attnpool.types import ActivationLike, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class InferenceMode(keras.layers.Layer):  # type: ignore[misc]
    """Calls an encoder with `training=False` in every call of the model; not public.

    Without this layer, a functional model would pass its own `training` to the encoder, even if the
    encoder was called with `training=False` when the model was built.
    """

    def __init__(self, encoder: keras.Model, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.encoder = encoder
        self.built = True

    def call(self, inputs: Any) -> Any:
        """Returns the outputs of the encoder."""
        return self.encoder(inputs, training=False)

    def compute_output_spec(self, inputs: Any) -> Any:
        """Returns the symbolic output of the encoder, which may limit the length."""
        return self.encoder.compute_output_spec(inputs)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        encoder = keras.saving.serialize_keras_object(self.encoder)
        return {**super().get_config(), "encoder": encoder}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "InferenceMode":
        """Makes a layer from a configuration."""
        encoder = keras.saving.deserialize_keras_object(config["encoder"])
        # On PyTorch a loaded KerasHub backbone says that it is frozen, but its layers are not
        # frozen (docs/upstream/kerashub-torch-frozen.md).
        encoder.trainable = encoder.trainable
        return cls(**{**config, "encoder": encoder})


@keras.saving.register_keras_serializable(package="keras_attnpool")
class CheckedMask(keras.layers.Layer):  # type: ignore[misc]
    """Turns an input of 0 and 1 into a boolean mask; other values, if readable, raise an error.

    Not public. Keras casts an input to the input's `dtype` before any layer reads it. So a boolean
    input would reverse an additive mask, which has 0 for kept steps and -1e9 for padding. `source`
    is the input's name.
    """

    _has_looked = False

    def __init__(self, source: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        """Returns the mask, True where a step is kept."""
        self._validate_mask_once(inputs)
        return keras.ops.cast(inputs, "bool")

    def _validate_mask_once(self, mask: Tensor) -> None:
        """Checks the values; on an accelerator only the first eager call reads them."""
        try:
            if check_mask_values(mask, self.name, wait=not self._has_looked):
                self._has_looked = True
        except ArgumentError as error:
            raise error.renamed(owner="the inputs", spell=lambda _: self.source) from None

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "source": self.source}


def embed_tokens(given: dict[str, Any], mask_zero: bool = True) -> tuple[Tensor, Tensor]:
    """Builds symbolic token ids `(batch, time)` and their embeddings `(batch, time, dim)`.

    The id 0 is padding. `given` holds the arguments of a builder. With `mask_zero` the embeddings
    have the Keras mask "id is not 0".
    """
    size, dim, matrix = (given[k] for k in ("vocabulary_size", "embedding_dim", "embeddings"))
    if matrix is not None:
        if len(matrix) != size:
            must = f"have shape (vocabulary_size, dim) = ({size}, dim)"
            raise ArgumentError("embeddings", must, f"an array of shape {matrix.shape}")
        dim = matrix.shape[1]
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    trainable = given["trainable_embeddings"]
    layer = keras.layers.Embedding(
        size, dim, mask_zero=mask_zero, trainable=trainable, name="embedding"
    )
    embedded = layer(tokens)
    if matrix is not None:
        # The matrix is assigned after the build, so that the config does not contain it.
        layer.set_weights([matrix])
    return tokens, embedded


def embed_and_mask(given: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Like `embed_tokens`; also returns the mask "id is not 0" for layers that read no Keras mask.

    The embeddings of padding are zeros, whatever values row 0 of the matrix has.
    """
    tokens, embedded = embed_tokens(given, mask_zero=False)
    mask = keras.ops.not_equal(tokens, 0)
    return tokens, keras.ops.where(keras.ops.expand_dims(mask, -1), embedded, 0.0), mask


def embed_words_and_characters(given: dict[str, Any]) -> tuple[Any, Tensor]:
    """Joins the embeddings of `embed_tokens` and the output of a `CharacterEmbedding`.

    Returns the ids of the words, or `[words, characters]` with `num_characters`, and the vectors.
    """
    tokens, embedded = embed_tokens(given)
    if given["num_characters"] is None:
        return tokens, embedded
    characters = keras.Input((None, None), dtype="int32", name="characters")
    layer = CharacterEmbedding(
        given["num_characters"],
        char_dim=given["char_dim"],
        filters=given["char_filters"],
        kernel_sizes=given["char_kernel_sizes"],
        name="character_embedding",
    )
    joined = keras.layers.Concatenate(name="word_and_characters")([embedded, layer(characters)])
    return [tokens, characters], joined


def documents(
    words: tuple[Tensor, Tensor, Tensor | None],
    level: Callable[[Tensor, Tensor | None, str], Tensor],
    packed: int,
) -> tuple[Any, Tensor, Tensor | None]:
    """Builds the inputs of documents, the vectors of their sentences, and the sentences' mask.

    Args:
        words: Ids, vectors and mask of a sentence's words. The mask is `None` if the vectors have a
            Keras mask. The sentences' mask is then also `None`.
        level: Function from vectors and mask to one vector. The last argument of `level` is the
            prefix of the layers' names, so that all weights have different paths.
        packed: 0 for ids `(batch, sentences, words)`, or the number of arrays of sentences from
            `text.DocumentBatches`.
    """
    tokens, x, mask = words
    encoder = keras.Model(tokens, level(x, mask, "word_"), name="sentence_encoder")
    inputs: Any = keras.Input((None, None), dtype="int32", name="tokens")
    if packed:
        names = [*(f"sentences_{group}" for group in range(packed)), "documents"]
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    layer = HierarchicalEncoder(encoder, name="sentences")
    x = layer(inputs)
    return inputs, x, None if mask is None else layer.compute_mask(inputs)


def encode_tokens(
    backbone: keras.Model | int, sequence_length: int | None, trainable: bool
) -> tuple[Any, Tensor, Tensor | None]:
    """Builds the symbolic inputs of a token encoder, its states, and their mask.

    The arguments are the same as in the builders. The mask is `None` if no input is a mask and no
    input holds ids. Later layers then use the Keras mask of the states.
    """
    if isinstance(backbone, int):
        features = keras.Input((sequence_length, backbone), name="features")
        mask = keras.Input((sequence_length,), dtype="int32", name="padding_mask")
        inputs = {"features": features, "padding_mask": mask}
        return inputs, features, CheckedMask("padding_mask", name="mask")(mask)
    # Frozen parts of a backbone, such as by LoRA, stay frozen.
    if not trainable or not backbone.trainable_weights:
        backbone.trainable = trainable
    structure = backbone.inputs[0] if isinstance(backbone, keras.Sequential) else backbone.input
    inputs = keras.tree.map_structure(lambda x: _same_input(x, sequence_length), structure)
    states = backbone(inputs) if trainable else InferenceMode(backbone, name="frozen")(inputs)
    if isinstance(states, dict) and "sequence_output" in states:
        states = states["sequence_output"]
    if not isinstance(states, keras.KerasTensor) or len(states.shape) != 3:
        raise ArgumentError(
            "backbone",
            "return states (batch, time, dim), or a dictionary that holds them as "
            "'sequence_output'",
            f"{backbone.name!r} with the output {states}",
        )
    return inputs, states, _padding_mask(backbone, inputs, states)


def _padding_mask(backbone: keras.Model, inputs: Any, states: Tensor) -> Tensor | None:
    """Returns the mask of a backbone's tokens, or `None` if no input tells where padding is."""
    for name in ("padding_mask", "attention_mask"):
        if isinstance(inputs, dict) and name in inputs:
            return CheckedMask(name, name="mask")(inputs[name])
    flat = keras.tree.flatten(inputs)
    ids = [x for x in flat if keras.backend.standardize_dtype(x.dtype).startswith("int")]
    if len(flat) == 1 and ids:
        return keras.ops.not_equal(flat[0], 0)
    if ids and getattr(states, "_keras_mask", None) is None:
        raise ArgumentError(
            "backbone",
            "tell padding from tokens: by an input 'padding_mask' or 'attention_mask', by a Keras "
            "mask, or by a single input of ids where 0 is padding",
            f"{backbone.name!r} with the inputs {[x.name for x in flat]}",
        )
    return None


def tokens_or_backbone(given: dict[str, Any]) -> tuple[Any, Tensor, Tensor | None]:
    """Calls `encode_tokens` if the builder got a backbone, else `embed_and_mask`."""
    size, backbone, matrix = (given[k] for k in ("vocabulary_size", "backbone", "embeddings"))
    if (size is None) == (backbone is None):
        must = "be given where there is no `backbone`, and be None where there is one"
        given = {"vocabulary_size": size, "backbone": backbone}
        raise ArgumentError("vocabulary_size", must, given)
    if backbone is None:
        return embed_and_mask(given)
    if matrix is not None:
        must = "be None on a `backbone`"
        received = f"embeddings of shape {matrix.shape}, backbone={backbone!r}"
        raise ArgumentError("embeddings", must, received)
    return encode_tokens(backbone, given["sequence_length"], given["trainable_backbone"])


def _same_input(x: Tensor, sequence_length: int | None) -> Tensor:
    """Creates a symbolic input like `x`; a time axis gets the length `sequence_length`."""
    shape = x.shape[1:]
    if shape and sequence_length:
        if shape[0] not in (None, sequence_length):
            must = f"be None or the steps that the `backbone` is made for, {shape[0]}"
            raise ArgumentError("sequence_length", must, {"sequence_length": sequence_length})
        shape = (sequence_length, *shape[1:])
    return keras.Input(shape, dtype=x.dtype, name=x.name)


def classifier(
    given: dict[str, Any],
    inputs: Any,
    vector: Tensor,
    activation: ActivationLike = "relu",
    shortcut: bool = False,
    drops_vector: bool = False,
) -> keras.Model:
    """Builds the model: an optional hidden layer with dropout, then one unit per class.

    Args:
        given: The arguments of a builder.
        inputs: Symbolic inputs.
        vector: Symbolic `(batch, dim)`.
        activation: Activation of the hidden layer.
        shortcut: Whether there are two hidden layers. The second layer then reads the vector and
            the output of the first layer, as in the generalized pooling paper.
        drops_vector: Whether dropout acts on the vector even if a hidden layer follows.
    """
    units, dropout = given["hidden_units"], given["dropout"]
    dense, drop = keras.layers.Dense, keras.layers.Dropout
    if shortcut:
        first = dense(units, activation=activation, name="classifier_hidden_0")(vector)
        if dropout:
            first = drop(dropout, name="classifier_dropout_0")(first)
        vector = keras.layers.Concatenate(name="classifier_shortcut")([vector, first])
    if drops_vector and dropout and units is not None:
        vector = drop(dropout, name="pooled_dropout")(vector)
    if units is not None:
        vector = dense(units, activation=activation, name="classifier_hidden")(vector)
    if dropout:
        vector = drop(dropout, name="classifier_dropout")(vector)
    # The loss needs float32 scores under mixed precision, and float64 scores under `float64`.
    outputs = dense(
        given["num_classes"],
        activation=given["classifier_activation"],
        dtype=keras.config.dtype_policy().variable_dtype,
        name="classifier",
    )(vector)
    model = keras.Model(inputs, outputs, name=given["name"])
    # Keras stores PyTorch's parameters by the paths of weights. If two weights had the same path,
    # the optimizer would never clear the gradients of one weight
    # (docs/upstream/keras-torch-one-path.md).
    paths = [weight.path for weight in model.weights]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise ArgumentError(
            "backbone" if given.get("backbone") is not None else "encoder",
            "have no layers that are called like those behind it: two weights would have one path",
            f"a model with the weights {twice}",
        )
    return model


def pair_classifier(
    given: dict[str, Any],
    inputs: Any,
    vector: Tensor,
    activation: ActivationLike = "relu",
    shortcut: bool = False,
) -> keras.Model:
    """Builds a classifier of two texts; one encoder, from `inputs` to `vector`, reads both."""
    encoder = keras.Model(inputs, vector, name="sentence_encoder")
    pair = [keras.Input((None,), dtype="int32", name=f"tokens_{side}") for side in "ab"]
    each: list[Any] = pair
    if isinstance(inputs, list):
        spelt = [
            keras.Input((None, None), dtype="int32", name=f"characters_{side}") for side in "ab"
        ]
        each, pair = [list(both) for both in zip(pair, spelt, strict=True)], pair + spelt
    # Both calls are in one inner model. On JAX, Keras forgets a layer's penalties at a second call,
    # unless one layer makes both calls (docs/upstream/keras-jax-penalty-twice.md).
    sentences = keras.Model(pair, [encoder(sentence) for sentence in each], name="sentences")
    matched = PairMatching(name="matching")(sentences(pair))
    return classifier(given, pair, matched, activation, shortcut)
