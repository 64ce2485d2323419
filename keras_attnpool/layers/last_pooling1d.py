"""The last kept step of a sequence."""

from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._masked import GlobalPoolingBase
from keras_attnpool.ops._steps import first_step, last_step
from keras_attnpool.types import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class LastPooling1D(GlobalPoolingBase):
    """Takes the last kept step of a sequence.

    Padding may be at the end, in front, or between kept steps.

    After a bidirectional layer, the last step holds a forward state that has read all steps, and a
    backward state that has read only this step. So `bidirectional=True` takes the final state of
    each direction: the first half of the features at the last kept step, and the second half at the
    first kept step.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. Padded steps
    never change the result, whatever values they hold. A row without a kept step gives a zero
    vector. The output has no mask.

    Args:
        bidirectional: Whether the first half of the features are forward states, and the second
            half are backward states.
        keepdims: Whether to keep the time axis with size 1.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step. Defaults to the
            inputs' Keras mask.

    Input shape:
        `(batch, time, dim)`; batch and time may be `None`.

    Output shape:
        `(batch, dim)`, or `(batch, 1, dim)` with `keepdims=True`.

    Returns:
        The last kept steps in the layer's compute dtype.

    Raises:
        ValueError: If the inputs are not `(batch, time, dim)` with a known `dim`, if `dim` is odd
            with `bidirectional=True`, or if the mask is not `(batch, time)` of 0 and 1.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    x = np.array([[[1.0], [2.0], [9.0]]], "float32")
    output = keras_attnpool.layers.LastPooling1D()(x, mask=np.array([[1, 1, 0]]))
    assert float(output[0, 0]) == 2.0
    ```

    Reference:
        - The last-state baseline of Chen et al., Enhancing Sentence Embedding with Generalized
          Pooling, section 4: with `bidirectional=True`, "the last hidden states of forward and
          backward LSTMs"
    """

    def __init__(
        self, *, bidirectional: bool = False, keepdims: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(locals())

    def build(self, input_shape: Shape) -> None:
        """Fixes the feature dimension, which must be even for two directions."""
        dim = self._feature_dim(input_shape)
        if self.bidirectional and dim % 2:
            must = "have an even last dimension, the states of both directions"
            raise ArgumentError("inputs", must, f"shape {tuple(input_shape)}", self)

    def _pool(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        if not self.bidirectional:
            return last_step(inputs, mask)
        half = inputs.shape[2] // 2
        ends = [last_step(inputs[:, :, :half], mask), first_step(inputs[:, :, half:], mask)]
        return ops.concatenate(ends, axis=-1)
