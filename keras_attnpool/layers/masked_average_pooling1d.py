"""Averages the kept steps over time."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._masked import GlobalPoolingBase
from keras_attnpool.ops.masking import at_least_float32, mean_of_zeroed
from keras_attnpool.types import Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class MaskedAveragePooling1D(GlobalPoolingBase):
    """Averages the kept steps of a sequence.

    Unlike in `keras.layers.GlobalAveragePooling1D`, padding never changes the result, and the sum
    is computed in float32 or float64.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. Padded steps
    never change the result, whatever values they hold. A row without a kept step gives a zero
    vector. The output has no mask.

    Args:
        position_weighted: Whether the n-th kept step has the weight n. Such weights suit the states
            of a decoder, because later states have read more tokens.
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
        The averages in the layer's compute dtype.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, or if the mask has a wrong shape or values other than 0 and 1.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    x = np.array([[[2.0], [4.0], [np.nan]]], "float32")
    output = keras_attnpool.layers.MaskedAveragePooling1D()(x, mask=np.array([[1, 1, 0]]))
    assert float(output[0, 0]) == 3.0
    ```

    Reference:
        - The AVG baseline of Mehta et al., Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, section 4.2
        - Muennighoff, 2022, SGPT: GPT Sentence Embeddings for Semantic Search, equation 2: weights
          that grow with the position
    """

    def __init__(
        self, *, position_weighted: bool = False, keepdims: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(locals())

    def _pool(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        if not self.position_weighted:
            return mean_of_zeroed(inputs, mask)
        inputs = at_least_float32(inputs)
        kept = ops.ones_like(inputs[:, :, 0]) if mask is None else ops.cast(mask, inputs.dtype)
        places = ops.expand_dims(kept * ops.cumsum(kept, axis=1), 2)
        return ops.sum(inputs * places, axis=1) / ops.maximum(ops.sum(places, axis=1), 1)
