"""The last kept step of a sequence."""

import keras
from keras import ops

from keras_attnpool.layers.base import MaskedPooling1D
from keras_attnpool.types import Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class LastPooling1D(MaskedPooling1D):
    """Takes the last kept step of a sequence.

    Where the padding is, at the end, in front or in holes, does not matter. A row without a kept
    step gives a zero vector. The mask, True = keep, comes from the layers before or as `mask=`; the
    output carries none.

    Args:
        **kwargs: `name`, `dtype`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        mask: Boolean or 0/1 tensor `(batch, time)`, True = keep. Defaults to the inputs' Keras
            mask.

    Input shape:
        `(batch, time, dim)`; batch and time may be unknown.

    Output shape:
        `(batch, dim)`.

    Returns:
        The last kept steps in the layer's compute dtype.

    Raises:
        ValueError: For inputs that are not `(batch, time, dim)` with a known `dim`, or a mask that
            is not `(batch, time)`.

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
          Pooling, section 4
    """

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Takes the last kept step of `(batch, time, dim)`: `(batch, dim)`."""
        inputs, mask = self._read(inputs, mask)
        if mask is None:
            return inputs[:, -1]
        # A step is the last one if it is kept and one kept step remains from it on.
        remaining = ops.flip(ops.cumsum(ops.cast(ops.flip(mask, axis=1), "int32"), axis=1), axis=1)
        last = ops.logical_and(mask, ops.equal(remaining, 1))
        zero = ops.zeros((), dtype=inputs.dtype)
        return ops.sum(ops.where(ops.expand_dims(last, -1), inputs, zero), axis=1)
