"""The base of the layers that read a sequence by LSTMs or GRUs."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._masked import MaskedInputs
from keras_attnpool.ops._recurrence import BothDirections
from keras_attnpool.ops.masking import zero_masked
from keras_attnpool.types import Shape, Tensor


class BidirectionalBase(MaskedInputs):
    """Base of the layers that read a masked sequence in both directions by LSTMs or GRUs.

    Not public. A subclass defines the method `_states`. The inputs of this method have the kept
    steps of each row in front. The method returns the states of both directions.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. Padded steps
    do not change the states, whatever values they hold. The output is exactly 0 at padded steps. A
    row without a kept step gives zeros. The output has the same mask. The backends' fast kernels do
    not take a mask. To use these kernels, the layer moves the kept steps to the front of each row.
    With JAX or TensorFlow on a CPU, the steps stay in their places, because a mask costs less time
    than moving the steps. With PyTorch on a CPU and in float32, the layer calls PyTorch's own
    kernel.

    Args:
        units: Size of the state of one direction.
        merge_mode: How the directions are joined, `"concat"` or `"sum"`.
        dropout: Share of the inputs that is dropped in training, in [0, 1).
        kernel_initializer: Initializer of the kernels that multiply the inputs.
        recurrent_initializer: Initializer of the kernels that multiply the states.
        unit_forget_bias: Whether the forget gates' biases start at 1.
        kernel_regularizer: Regularizer of the kernels that multiply the inputs.
        recurrent_regularizer: Regularizer of the kernels that multiply the states.

    Output shape:
        `(batch, time, 2 * units)`, or `(batch, time, units)` with `merge_mode="sum"`.

    Returns:
        The forward states followed by the backward states, or the sum of both, in the layer's
        compute dtype.
    """

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, time, 2 * units)`, or `(batch, time, units)` with `merge_mode="sum"`."""
        directions = 2 if self.merge_mode == "concat" else 1
        return (input_shape[0], input_shape[1], directions * self.units)

    def _recurrent(self, kind: Any, name: str, dim: int) -> Any:
        """Builds an LSTM or GRU that reads `(batch, time, dim)` and returns all its states."""
        arguments = self._sublayer_kwargs(name)
        recurrent_initializer = _drawn_in_float32(arguments.pop("recurrent_initializer"))
        layer = kind(
            self.units,
            recurrent_initializer=recurrent_initializer,
            return_sequences=True,
            **arguments,
        )
        # Since Keras 3.16 the default is False. Then every call with a mask would warn.
        layer.supports_masking = True
        layer.build((None, None, dim))
        return layer

    def call(
        self, inputs: Tensor, mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Encodes `(batch, time, dim)` to `(batch, time, 2 * units)`, or `(batch, time, units)`."""
        inputs, mask = self._mask_inputs(inputs, mask)
        steps = BothDirections(mask)
        forward, backward = self._states(steps.to_front(inputs), steps, training)
        if self.merge_mode == "sum":
            states = forward + backward
        else:
            states = ops.concatenate([forward, backward], axis=-1)
        return zero_masked(steps.to_places(states), mask)


def _drawn_in_float32(initializer: Any) -> Any:
    """Makes the initializer draw in float32 for weights in half precision.

    An orthogonal matrix comes from a QR decomposition, which no backend has in half precision.
    """

    def draw(shape: tuple[int, ...], dtype: Any = None) -> Tensor:
        wanted = keras.backend.standardize_dtype(dtype)
        half = wanted in ("float16", "bfloat16")
        return ops.cast(initializer(shape, dtype="float32" if half else wanted), wanted)

    return draw
