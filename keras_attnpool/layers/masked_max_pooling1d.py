"""Takes the maximum of the kept steps over time."""

from typing import Any

import keras

from keras_attnpool.layers._masked import GlobalPoolingBase
from keras_attnpool.ops.masking import max_of_zeroed
from keras_attnpool.types import Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class MaskedMaxPooling1D(GlobalPoolingBase):
    """Takes the maximum of each feature over the kept steps of a sequence.

    `keras.layers.GlobalMaxPooling1D` ignores masks. If all kept values are negative, the Keras
    layer returns the 0 of a padded step. In this layer a padded step is never the maximum.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. Padded steps
    never change the result, whatever values they hold. A row without a kept step gives a zero
    vector. The output has no mask.

    Args:
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
        The maxima in the layer's compute dtype.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, or if the mask has a wrong shape or values other than 0 and 1.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    x = np.array([[[-2.0], [-4.0], [9.0]]], "float32")
    output = keras_attnpool.layers.MaskedMaxPooling1D()(x, mask=np.array([[1, 1, 0]]))
    assert float(output[0, 0]) == -2.0
    ```

    Reference:
        - The BiGRU baseline of Mehta et al., Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 4.2
    """

    def __init__(self, *, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(locals())

    def _pool(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        return max_of_zeroed(inputs, mask)
