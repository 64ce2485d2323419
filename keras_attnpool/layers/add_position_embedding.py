"""Adds a learned vector of the position to each step of a sequence."""

import math
from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._masked import MaskedInputs
from keras_attnpool.ops._devices import scalar_like, values_at_hand
from keras_attnpool.ops._steps import before_first, counted
from keras_attnpool.ops.masking import zero_masked
from keras_attnpool.types import InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class AddPositionEmbedding(MaskedInputs):
    """Adds to each step the learned vector of the step's position.

    `output_t = inputs_t + P_(t - f)`. P `(max_length, dim)` has one row per position. `f` is the
    index of the example's first kept step, or 0 without a mask.

    Masking: the inputs' mask has the shape `(batch, time)`, and True keeps a step. Padded steps may
    lie between kept steps. The output has the same mask, and its padded steps are 0. Positions are
    counted from the first kept step, so padding in front changes nothing. A padded step between
    kept steps counts as a position.

    Args:
        max_length: Number of positions: the largest number of steps from the first to the last kept
            step of a text. Padding before and after does not count.
        embeddings_initializer: Initializer of P. `None` is a normal distribution with mean 0 and
            standard deviation 0.1.
        embeddings_regularizer: Regularizer of P.
        seed: Seed of the initializer. An initializer with its own seed ignores this seed.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step. Defaults to the
            inputs' Keras mask.

    Input shape:
        `(batch, time, dim)`; batch and time may be `None`.

    Output shape:
        `(batch, time, dim)`.

    Returns:
        The sum in the layer's compute dtype.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, if a text is longer than `max_length`, or if the mask is not `(batch,
            time)` of 0 and 1. A compiled function cannot read the mask. In a compiled function,
            steps beyond `max_length` are NaN, or TensorFlow raises an error.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    x = keras_attnpool.layers.AddPositionEmbedding(max_length=200)(x)
    assert x.shape == (None, None, 32)
    ```

    Weights, by name: `embeddings` `(max_length, dim)` is P.

    Difference: `keras_hub.layers.PositionEmbedding` returns the vectors without adding them, and
    ignores masks.

    Reference:
        - Gao, Ramanathan and Tourassi, Hierarchical Convolutional Attention Networks for Text
          Classification, section 3.6
    """

    def __init__(
        self,
        max_length: int,
        *,
        embeddings_initializer: InitializerLike | None = None,
        embeddings_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        if embeddings_initializer is None:
            embeddings_initializer = keras.initializers.RandomNormal(stddev=0.1)
        super().__init__(locals())

    def build(self, input_shape: Shape) -> None:
        """Creates P."""
        shape = (self.max_length, self._feature_dim(input_shape))
        self.embeddings = self._add("embeddings", "embeddings", shape)

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Adds the positions to `(batch, time, dim)`."""
        inputs, mask = self._mask_inputs(inputs, mask)
        time = ops.shape(inputs)[1]
        positions = ops.cast(self.embeddings, self.compute_dtype)
        if mask is None:
            # Only the graph knows the length. If rows are missing, the reshape raises an error; an
            # addition would broadcast a single row.
            positions = ops.reshape(positions[:time], (1, time, self.embeddings.shape[1]))
            return inputs + positions
        # The position is 0 at padded steps, and below `max_length` at all other steps.
        place = ops.multiply(mask, counted(0, time) - before_first(mask))
        known = inputs.shape[1]
        if isinstance(known, int) and known <= self.max_length:
            return zero_masked(inputs + ops.take(positions, place, axis=0), mask)
        places = values_at_hand(place)
        if places is not None and places.size:
            self._check_length(int(places.max()) + 1, inputs.shape)
        beyond = ops.expand_dims(place >= self.max_length, 2)
        taken = ops.take(positions, ops.minimum(place, self.max_length - 1), axis=0)
        taken = ops.where(beyond, scalar_like(math.nan, taken), taken)
        return zero_masked(inputs + taken, mask)

    def _check_steps(self, inputs: Tensor, mask: Tensor | None, owner: Any = None) -> None:
        if mask is None:
            self._check_length(inputs.shape[1], inputs.shape)

    def _check_length(self, length: int | None, input_shape: Shape) -> None:
        if isinstance(length, int) and length > self.max_length:
            raise ArgumentError(
                "inputs",
                f"have no more than max_length={self.max_length} steps, from the first kept one to "
                "the last; cut or split longer ones, or raise `max_length`",
                f"{length} steps in inputs of shape {tuple(input_shape)}",
                self,
            )
