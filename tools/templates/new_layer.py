"""TODO: what the layer is, in half a line."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._masked import GlobalPoolingBase
from keras_attnpool.ops.masking import at_least_float32, masked_mean
from keras_attnpool.types import InitializerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class NewLayer(GlobalPoolingBase):
    """TODO: what the layer does, a verb first, in one line.

    TODO: the equation in plain symbols, each tied to an argument. With inputs `h_t` of one example
    and `n` kept steps: `output = w * sum_t h_t / n`, feature by feature.

    TODO: what the base class says of masks, of the output's shape and of errors is filled in too.
    Where the layer does something else, write a paragraph "Masking: ..." or that section here.

    Args:
        kernel_initializer: TODO: Initializer of `w`. What other layers have too (`keepdims`,
            `seed`, the call's arguments ...) is filled in from the docstrings of the bases.

    Returns:
        The TODO in the layer's compute dtype.

    Example:

    ```python
    import keras
    import numpy as np
    import keras_attnpool

    x = np.array([[[2.0], [4.0], [np.nan]]], "float32")
    layer = keras_attnpool.layers.NewLayer()
    output = keras.ops.convert_to_numpy(layer(x, mask=np.array([[1, 1, 0]])))
    assert output.tolist() == [[3.0]]  # TODO
    ```

    Weights, by name: `kernel` `(dim,)`, TODO: w.

    Reference:
        - TODO: authors, year, title, equation
    """

    def __init__(
        self,
        *,
        keepdims: bool = False,
        kernel_initializer: InitializerLike = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._keep(locals())  # checked, kept and given back by get_config

    def build(self, input_shape: Shape) -> None:
        """Creates the weights."""
        dim = self._feature_dim(input_shape)
        self.kernel = self.add_weight(
            name="kernel", shape=(dim,), initializer=self._fresh(self.kernel_initializer)
        )

    def _pool(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        # `inputs` are zero where `mask` is False. TODO: the equation, in float32 at least.
        return ops.multiply(masked_mean(inputs, mask), at_least_float32(self.kernel))
