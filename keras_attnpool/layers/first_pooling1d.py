"""The first kept step of a sequence."""

from typing import Any

import keras

from keras_attnpool.layers._masked import GlobalPoolingBase
from keras_attnpool.ops._steps import first_step
from keras_attnpool.types import Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class FirstPooling1D(GlobalPoolingBase):
    """Takes the first kept step of a sequence.

    The pooling of BERT and its kin, whose first token, `[CLS]` or `<s>`, stands for the text. Where
    the padding is, at the end, in front or in holes, does not matter.

    Returns:
        The first kept steps in the layer's compute dtype.

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
        super().__init__(**kwargs)
        self._keep(locals())

    def _pool(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        return first_step(inputs, mask)
