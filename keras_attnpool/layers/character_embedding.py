"""Embeds words by their characters: a convolution, and the maximum over each word."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._arguments import LayerArguments
from keras_attnpool.layers._masked import MaskReader
from keras_attnpool.ops._devices import affine
from keras_attnpool.ops.masking import check_mask_shape, highest_along
from keras_attnpool.types import InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class CharacterEmbedding(LayerArguments, MaskReader):
    """Embeds each word of a text by a convolution over its characters.

    A word has the character vectors `c_1 ... c_W`. The id 0 is padding, and its vector is zero. For
    each kernel size `k` and each filter:

    1. `y_i = relu(K_1 c_i + K_2 c_{i+1} + ... + K_k c_{i+k-1})`
    2. `e = max over i of y_i`, over the windows that start at a character

    The word's vector concatenates the `e` of all kernel sizes in their order. A window may reach
    past the end of its word. So a word that is shorter than a kernel also has a vector, and padding
    changes no result.

    Masking: the id 0 is padding. Inside a word, padding counts as a zero vector, and no window
    starts there. A word without a character gives zeros. The mask of the output, `(batch, time)`,
    keeps the words with a character. If the words also have a mask, from previous layers or from
    `mask=`, a word is kept only if it has a character and this mask keeps it. A masked word counts
    as a word without characters.

    Args:
        num_characters: Number of character ids, padding included.
        char_dim: Size of a character's vector.
        filters: Number of filters per kernel size.
        kernel_sizes: Sizes of the windows in characters, all different.
        use_bias: Whether the convolutions have biases. The official code has no biases.
        embeddings_initializer: Initializer of the characters' vectors.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        embeddings_regularizer: Regularizer of the characters' vectors.
        kernel_regularizer: Regularizer of the kernels.
        seed: Seed of the initializers. An initializer with its own seed ignores this seed.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: Character ids `(batch, time, word_length)`, integers or whole floats. The id 0 is
            padding. The layer treats ids outside `[0, num_characters)` like
            `keras.layers.Embedding`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a word. Defaults to the
            inputs' Keras mask.

    Input shape:
        `(batch, time, word_length)`; all three sizes may be `None`.

    Output shape:
        `(batch, time, filters * len(kernel_sizes))`.

    Returns:
        The words' vectors in the layer's compute dtype.

    Raises:
        ValueError: If an argument is invalid, if the ids are not `(batch, time, word_length)` with
            at least one character, or if the mask is not `(batch, time)` of 0 and 1.

    Example:

    ```python
    import keras
    import numpy as np
    import keras_attnpool

    words = ["pool", "of", ""]
    ids = np.array([[[ord(c) - 96 for c in word.ljust(4, "`")] for word in words]])
    layer = keras_attnpool.layers.CharacterEmbedding(num_characters=27, filters=8)
    output = layer(ids)
    assert output.shape == (1, 3, 24)
    assert not keras.ops.any(output[0, 2])
    ```

    Weights, by name:

    - `embeddings` `(num_characters, char_dim)` holds the characters' vectors.
    - `kernel_k` `(k, char_dim, filters)` for each kernel size k, such as `kernel_1` and `kernel_3`.
    - `bias_k` `(filters,)` for each kernel size k, with `use_bias=True`.

    Difference: the official code pads all words of a batch to the longest word. In the official
    code, windows reach past the end of a shorter word, but not past the end of the longest word. In
    this layer, windows may reach past the end of every word.

    Reference:
        - Chen, Ling and Zhu, Enhancing Sentence Embedding with Generalized Pooling, sections 3.1
          and 4.2
        - Kim, 2014, Convolutional Neural Networks for Sentence Classification
    """

    def __init__(
        self,
        num_characters: int,
        char_dim: int = 15,
        filters: int = 100,
        kernel_sizes: Sequence[int] = (1, 3, 5),
        *,
        use_bias: bool = False,
        embeddings_initializer: InitializerLike = "uniform",
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        embeddings_regularizer: RegularizerLike = None,
        kernel_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals())
        self.input_spec = keras.layers.InputSpec(ndim=3)
        # Half precision rounds ids above 2048, so float ids keep their dtype.
        self.autocast = False

    def build(self, input_shape: Shape) -> None:
        """Creates the characters' vectors and a kernel for each size."""
        shape = (self.num_characters, self.char_dim)
        self.embeddings = self._add("embeddings", "embeddings", shape)
        # Each kernel is an attribute, for Flax NNX: docs/upstream/keras-nnx-lists.md.
        for size in self.kernel_sizes:
            kernel = self._add_kernel(f"kernel_{size}", (size, self.char_dim, self.filters))
            setattr(self, f"kernel_{size}", kernel)
        for size in self.kernel_sizes:
            setattr(self, f"bias_{size}", self._add_bias(f"bias_{size}", (self.filters,)))

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Embeds `(batch, time, word_length)` as `(batch, time, filters * kernels)`."""
        mask = self._bool_mask(inputs, mask)
        if inputs.shape[2] == 0:
            must = "have room for at least one character a word; pad empty words with 0"
            raise ArgumentError("inputs", must, f"shape {tuple(inputs.shape)}", self)
        ids = _whole(inputs)
        if mask is not None:
            ids = ops.where(ops.expand_dims(mask, -1), ids, ops.zeros((), dtype=ids.dtype))
        kept = ops.expand_dims(ops.not_equal(ids, 0), -1)
        zero = ops.zeros((), dtype=self.compute_dtype)
        characters = ops.cast(ops.take(self.embeddings, ids, axis=0), self.compute_dtype)
        characters = ops.where(kept, characters, zero)
        # The windows that reach past the end of a word read zeros.
        room = max(self.kernel_sizes) - 1
        characters = ops.pad(characters, ((0, 0), (0, 0), (0, room), (0, 0)))
        width = ops.shape(ids)[2]
        outputs = []
        for size in self.kernel_sizes:
            # If the characters of each window are joined, the convolution is one matrix product.
            windows = ops.concatenate(
                [characters[:, :, start : start + width] for start in range(size)], axis=-1
            )
            kernel = getattr(self, f"kernel_{size}")
            kernel = ops.reshape(kernel, (size * self.char_dim, self.filters))
            features = affine(windows, kernel, getattr(self, f"bias_{size}"))
            # No value is below 0, so zeros at padding do not change the maximum.
            outputs.append(highest_along(ops.where(kept, ops.relu(features), zero), 2))
        return ops.cast(ops.concatenate(outputs, axis=-1), self.compute_dtype)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns a mask `(batch, time)` of the kept words that have a character."""
        characters = ops.any(ops.not_equal(_whole(inputs), 0), axis=-1)
        return characters if mask is None else ops.logical_and(characters, ops.cast(mask, "bool"))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, time, filters * kernels)`."""
        return (input_shape[0], input_shape[1], self.filters * len(self.kernel_sizes))

    def compute_output_spec(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Returns the symbolic output."""
        if mask is not None:
            check_mask_shape(tuple(mask.shape), tuple(inputs.shape), self.name)
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)


def _whole(ids: Tensor) -> Tensor:
    """Returns the ids as integers that can be indices."""
    ids = ops.convert_to_tensor(ids)
    whole = keras.backend.standardize_dtype(ids.dtype) in ("int32", "int64")
    return ids if whole else ops.cast(ids, "int32")
