"""Applies a sentence encoder to every sentence of every document."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_attnpool._checks import ArgumentError, is_shape
from keras_attnpool.layers._masked import MaskReader
from keras_attnpool.ops._devices import torch_traces
from keras_attnpool.ops._rows import rows_at_hand
from keras_attnpool.ops.masking import _as_bool, check_dense, zero_masked
from keras_attnpool.types import Shape, Tensor

SENTENCES, DOCUMENTS = "sentences_", "documents"


@keras.saving.register_keras_serializable(package="keras_attnpool")
class HierarchicalEncoder(MaskReader, keras.layers.Layer):  # type: ignore[misc]
    """Applies a layer or model for sentences to each sentence of a batch of documents.

    The encoder gets the sentences of all documents as one batch. Each result is put in the place of
    its sentence:

    1. `v_i = encoder(sentence i)` for every sentence that has a word
    2. `output[b, s]` is the `v` of sentence s of document b, or zeros if document b has no such
       sentence

    The result for a document does not depend on the other documents or on padding. There are two
    kinds of input:

    - Padded: a tensor `(batch, sentences, words)` of ids, or `(batch, sentences, words, dim)` of
      features with their mask. An eager call computes only the sentences that have words. A
      compiled function (TensorFlow, JAX, `torch.compile`) also computes the empty sentences and
      drops their results. If the encoder adds losses, these losses count an empty sentence as a
      sentence of one word.
    - Packed: the dictionary of `keras_attnpool.workbench.text.DocumentBatches(..., packed=k)`. The
      arrays `"sentences_0"`, `"sentences_1"` and so on hold the sentences `(rows, words)`, or their
      features `(rows, words, dim)`. Short sentences are in narrow arrays, and long sentences are in
      wide arrays. So packed inputs have little padding, on every backend. The array `"documents"`
      `(batch, sentences)` holds the number of each sentence's row, or 0 for no sentence. The rows
      of all arrays are numbered together. The first row has the number 1.

    Masking: the integer id 0 is padding. If ids also have a mask, from previous layers or from
    `mask=`, a word is kept only if the mask keeps it and its id is not 0. A sentence without a kept
    word gives zeros and zero gradients with every encoder. The mask of the output, `(batch,
    sentences)`, keeps the sentences with a kept word. If the encoder has several outputs, the first
    output has this mask. In a dictionary of outputs, the first output is the output whose name
    comes first in alphabetical order.

    Args:
        encoder: A `keras.layers.Layer` or `keras.Model` that maps a batch of sentences `(rows,
            words[, dim])` to one tensor `(rows, ...)` or a structure of such tensors. Features are
            passed with `mask=`, so an encoder of features must accept this argument.
        **kwargs: `name`, `dtype`, `trainable` of `keras.layers.Layer`.

    Call arguments:
        inputs: One of the two kinds of input. Ids may also be floats with integer values.
        mask: Tensor `(batch, sentences, words)` of booleans, or of 0 and 1. True keeps a word. For
            packed inputs the mask is a dictionary of tensors `(rows, words)`. Defaults to the
            inputs' Keras mask.
        training: Whether the encoder runs in training mode.

    Input shape:
        `(batch, sentences, words)`, `(batch, sentences, words, dim)`, or the packed dictionary; all
        sizes but `dim` may be `None`.

    Output shape:
        `(batch, sentences, ...)` for each output `(rows, ...)` of the encoder.

    Returns:
        The encoder's result. The first axis of the result is split into documents and sentences.

    Raises:
        ValueError: If `encoder` is not a Keras layer, if the inputs have another rank, if a
            dictionary has no sentences or no documents, or if the mask has a wrong shape or values
            other than 0 and 1.

    Example:

    ```python
    import keras
    import keras_attnpool

    words = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(words)
    sentence_encoder = keras.Model(words, keras_attnpool.layers.AttentionPooling()(x))

    documents = keras.Input((None, None), dtype="int32")
    x = keras_attnpool.layers.HierarchicalEncoder(sentence_encoder)(documents)
    x = keras_attnpool.layers.AttentionPooling()(x)
    model = keras.Model(documents, keras.layers.Dense(2, activation="softmax")(x))
    ```

    Weights: the layer has only the weights of the encoder.

    Reference:
        - Yang et al., 2016, Hierarchical Attention Networks for Document Classification
        - Gao, Ramanathan and Tourassi, Hierarchical Convolutional Attention Networks for Text
          Classification, section 3.7
    """

    def __init__(self, encoder: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(encoder, keras.layers.Layer):
            must = "be a keras layer or model"
            raise ArgumentError("encoder", must, {"encoder": encoder}, "HierarchicalEncoder")
        self.encoder = encoder
        self.supports_masking = True
        # Half precision rounds ids above 2048. The encoder casts features.
        self.autocast = False

    def build(self, input_shape: Any) -> None:
        """Builds the encoder for one batch of sentences."""
        # This check precedes the encoder's check, whose message would name inputs that the user
        # never passed.
        packed = isinstance(input_shape, dict)
        for shape, _ in self._pairs(input_shape, None):
            self._check(shape, None, packed)
        if not self.encoder.built:
            self.encoder.build(self._rows_shape(input_shape))

    def call(self, inputs: Any, mask: Any = None, training: bool | None = None) -> Any:
        """Encodes every sentence to `(batch, sentences, ...)`."""
        groups = self._groups(inputs, mask)
        if isinstance(inputs, dict):
            places = _where_any_word(groups, ops.cast(inputs[DOCUMENTS], "int32"))
        else:
            groups, places = _as_rows(*groups[0])
        # The call's `training` reaches the encoder through Keras's call context.
        encoded = [self._encode(rows, kept) for rows, kept in groups]
        return keras.tree.map_structure(lambda *parts: _placed(parts, places), *encoded)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor | None:
        """Returns a mask `(batch, sentences)` of the sentences that have a kept word."""
        groups = self._groups(inputs, mask)
        if isinstance(inputs, dict):
            places = ops.cast(inputs[DOCUMENTS], "int32")
            return ops.not_equal(_where_any_word(groups, places), 0)
        kept = groups[0][1]
        return None if kept is None else ops.any(kept, axis=2)

    def compute_output_spec(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        """Returns the symbolic outputs."""
        for words, words_mask in self._pairs(inputs, mask):
            self._check(words.shape, words_mask, packed=isinstance(inputs, dict))
        shapes = keras.tree.map_structure(lambda x: tuple(x.shape), inputs)
        dtype = keras.tree.flatten(self._pairs(inputs, None))[0].dtype
        rows = keras.KerasTensor(self._rows_shape(shapes), dtype)
        axes = _places_shape(shapes)
        return keras.tree.map_structure(
            lambda x: keras.KerasTensor((*axes, *x.shape[1:]), x.dtype),
            self.encoder.compute_output_spec(rows),
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns `(batch, sentences, ...)` for each output of the encoder."""
        shapes = self.encoder.compute_output_shape(self._rows_shape(input_shape))
        axes = _places_shape(input_shape)
        return keras.tree.map_shape_structure(lambda shape: (*axes, *shape[1:]), shapes)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "encoder": keras.saving.serialize_keras_object(self.encoder),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "HierarchicalEncoder":
        """Creates a layer with a new encoder from its config."""
        # This layer's `build` builds the encoder, so its weights keep their paths.
        fresh = {key: x for key, x in config["encoder"].items() if key != "build_config"}
        encoder = keras.saving.deserialize_keras_object(fresh)
        return cls(**{**config, "encoder": encoder})

    def _pairs(self, inputs: Any, mask: Any) -> list[tuple[Any, Any]]:
        """Returns the arrays of sentences, each with its mask or `None`."""
        if not isinstance(inputs, dict):
            if isinstance(inputs, list) and any(hasattr(each, "shape") for each in inputs):
                must = "have shape (batch, sentences, words[, dim]), or be a dictionary"
                raise ArgumentError("sentences", must, f"a list of {len(inputs)}", self)
            return [(inputs, mask)]
        names = sorted((n for n in inputs if n.startswith(SENTENCES)), key=lambda n: (len(n), n))
        if not names or DOCUMENTS not in inputs or len(names) + 1 < len(inputs):
            must = "be a dictionary of 'sentences_0', 'sentences_1' ... and 'documents'"
            raise ArgumentError("inputs", must, f"{sorted(inputs)}", self)
        documents: Any = inputs[DOCUMENTS]
        shape = getattr(documents, "shape", documents)
        if len(shape) != 2:
            must, received = "have shape (batch, sentences)", f"shape {tuple(shape)}"
            raise ArgumentError(DOCUMENTS, must, received, self)
        masks = {} if mask is None else mask
        if not isinstance(masks, dict) or not set(masks) <= set(inputs):
            must = f"be a dictionary with the names of the packed inputs, {names}"
            received = f"{sorted(masks) if isinstance(masks, dict) else type(masks)}"
            raise ArgumentError("mask", must, received, self)
        return [(inputs[name], masks.get(name)) for name in names]

    def _groups(self, inputs: Any, mask: Any) -> list[tuple[Tensor, Tensor | None]]:
        """Returns the arrays of sentences, each with its kept words or `None`."""
        packed = isinstance(inputs, dict)
        groups = []
        for words, words_mask in self._pairs(inputs, mask):
            check_dense(words, self.name)
            words = ops.convert_to_tensor(words)
            kept = _as_bool(words_mask, self.name, kind="layer ")
            self._validate_mask_once(words_mask)
            self._check(words.shape, kept, packed)
            axes = 3 - packed
            if _are_ids(words, axes):
                real = ops.not_equal(words, 0)
                if len(words.shape) > axes:
                    real = ops.any(real, axis=-1)
                if kept is not None:
                    real = ops.logical_and(real, kept)
                    present = real if len(words.shape) == axes else ops.expand_dims(real, -1)
                    words = ops.where(present, words, ops.zeros((), dtype=words.dtype))
                kept = real
            groups.append((words, kept))
        return groups

    def _encode(self, rows: Tensor, kept: Tensor | None) -> Any:
        """Returns the encoder's outputs for the sentences.

        An empty sentence gets a single word, and its result is dropped. Without this word, an
        encoder that divides by the number of words would give NaN gradients for all sentences.
        """
        if kept is None:
            return self.encoder(rows)
        empty = ops.logical_not(ops.any(kept, axis=1, keepdims=True))
        first = ops.equal(ops.arange(0, ops.shape(kept)[1], dtype="int32"), 0)
        added = ops.logical_and(empty, first)
        if not _are_ids(rows, 2):
            return self.encoder(zero_masked(rows, kept), mask=ops.logical_or(kept, added))
        if len(rows.shape) == 3:
            added = ops.logical_and(
                ops.expand_dims(added, 2),
                ops.equal(ops.arange(0, ops.shape(rows)[2], dtype="int32"), 0),
            )
        return self.encoder(ops.where(added, ops.ones((), dtype=rows.dtype), rows))

    def _check(self, shape: Shape, mask: Tensor | None, packed: bool) -> None:
        if len(shape) + packed not in (3, 4):
            wanted = "(rows, words[, dim])" if packed else "(batch, sentences, words[, dim])"
            raise ArgumentError("sentences", f"have shape {wanted}", f"shape {tuple(shape)}", self)
        if shape[2 - packed] == 0:
            must = "have room for at least one word; pad empty ones and mask them"
            raise ArgumentError("sentences", must, f"shape {tuple(shape)}", self)
        expected = tuple(shape)[: 3 - packed]
        if mask is not None and not is_shape(mask.shape, expected):
            must = f"have shape {expected}, True where a word is kept"
            received = f"mask of shape {tuple(mask.shape)} for sentences of shape {tuple(shape)}"
            raise ArgumentError("mask", must, received, self)

    def _rows_shape(self, input_shape: Any) -> Shape:
        """Returns the shape of a batch of sentences."""
        if not isinstance(input_shape, dict):
            return (None, *input_shape[2:])
        shapes = [tuple(shape) for name, shape in input_shape.items() if name != DOCUMENTS]
        return (None, shapes[0][1] if len(shapes) == 1 else None, *shapes[0][2:])


def _are_ids(words: Tensor, word_axes: int) -> bool:
    """Returns whether the last axes are word ids or integer character ids, not features."""
    integers = keras.backend.standardize_dtype(words.dtype).startswith(("int", "uint"))
    return len(words.shape) == word_axes or integers


def _places_shape(input_shape: Any) -> Shape:
    shape = input_shape[DOCUMENTS] if isinstance(input_shape, dict) else input_shape
    return (shape[0], shape[1])


def _where_any_word(groups: list[tuple[Tensor, Tensor | None]], places: Tensor) -> Tensor:
    """Returns the numbers of the packed sentences, 0 for sentences without a kept word."""
    if all(kept is None for _, kept in groups):
        return places
    rows = [
        ops.ones(ops.shape(words)[:1], "bool") if kept is None else ops.any(kept, axis=1)
        for words, kept in groups
    ]
    any_word = _placed([ops.cast(row, "int32") for row in rows], places)
    return ops.where(ops.equal(any_word, 1), places, ops.zeros((), dtype=places.dtype))


def _as_rows(
    words: Tensor, kept: Tensor | None
) -> tuple[list[tuple[Tensor, Tensor | None]], Tensor]:
    """Turns padded documents into one batch of sentences, and returns their places.

    The places are `(batch, sentences)`. Sentences without a word are left out if the values of the
    mask can be read.
    """
    shape = ops.shape(words)
    rows = ops.reshape(words, (-1, *shape[2:]))
    places = ops.reshape(ops.arange(1, shape[0] * shape[1] + 1, dtype="int32"), shape[:2])
    if kept is None:
        return [(rows, None)], places
    kept = ops.reshape(kept, (-1, shape[2]))
    any_word = ops.any(kept, axis=1)
    wanted = rows_at_hand(any_word)
    if wanted is None or not 0 < len(wanted) < shape[0] * shape[1]:
        any_word = ops.reshape(any_word, shape[:2])
        return [(rows, kept)], ops.where(any_word, places, ops.zeros((), dtype="int32"))
    numbers = np.zeros(tuple(shape[:2]), "int32")
    numbers.flat[wanted] = np.arange(1, len(wanted) + 1)
    rows, kept = ops.take(rows, wanted, axis=0), ops.take(kept, wanted, axis=0)
    return [(rows, kept)], ops.convert_to_tensor(numbers)


def _placed(parts: Any, places: Tensor) -> Tensor:
    """Puts each sentence in its place `(batch, sentences, ...)`, and zeros for the number 0."""
    rows = ops.concatenate(parts, axis=0) if len(parts) > 1 else parts[0]
    zeros_first = ops.pad(rows, [(1, 0)] + [(0, 0)] * (len(rows.shape) - 1))
    if torch_traces():
        # `ops.take` would call `ravel`, which PyTorch cannot export.
        return zeros_first[places]
    return ops.take(zeros_first, places, axis=0)
