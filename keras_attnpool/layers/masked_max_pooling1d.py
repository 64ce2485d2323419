"""Maximum over time that sees kept steps only."""

from typing import Any

import keras

from keras_attnpool.layers._masked import GlobalPoolingBase
from keras_attnpool.ops.masking import max_of_zeroed
from keras_attnpool.types import Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class MaskedMaxPooling1D(GlobalPoolingBase):
    """Takes the maximum of each feature over the kept steps of a sequence.

    `keras.layers.GlobalMaxPooling1D` ignores masks, so that a padded step wins wherever the kept
    ones are negative; here it never does.

    Returns:
        The maxima in the layer's compute dtype.

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
        super().__init__(**kwargs)
        self._keep(locals())

    def _pool(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        return max_of_zeroed(inputs, mask)
