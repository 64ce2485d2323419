"""The first kept step of a sequence."""

from typing import Any

import keras

from keras_attnpool.layers._masked import GlobalPoolingBase
from keras_attnpool.ops._steps import first_step
from keras_attnpool.types import Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class FirstPooling1D(GlobalPoolingBase):
    """Takes the first kept step of a sequence.

    BERT and similar models pool this way: their first token, `[CLS]` or `<s>`, represents the text.
    Padding may be at the end, in front, or between kept steps.

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
        The first kept steps in the layer's compute dtype.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, or if the mask has a wrong shape or values other than 0 and 1.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    x = np.array([[[9.0], [1.0], [2.0]]], "float32")
    output = keras_attnpool.layers.FirstPooling1D()(x, mask=np.array([[0, 1, 1]]))
    assert float(output[0, 0]) == 1.0
    ```

    Reference:
        - Devlin et al., 2019, BERT: Pre-training of Deep Bidirectional Transformers for Language
          Understanding, section 3: the final hidden state of the first token
    """

    def __init__(self, *, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(locals())

    def _pool(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        return first_step(inputs, mask)
