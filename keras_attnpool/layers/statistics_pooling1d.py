"""Mean and standard deviation over time, the pooling of x-vectors."""

from typing import Any

import keras

from keras_attnpool.layers._masked import GlobalPoolingBase
from keras_attnpool.ops.masking import statistics_of_zeroed, zero_masked_rows
from keras_attnpool.types import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class StatisticsPooling1D(GlobalPoolingBase):
    """Pools the kept steps of a sequence to their mean and their standard deviation.

    With inputs `h_t` of one example and `n` kept steps, for each feature:

    1. `mu = sum_t h_t / n`
    2. `sigma = sqrt(max(sum_t (h_t - mu)^2 / n, epsilon))`
    3. `output = [mu; sigma]`

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. Padded steps
    never change the result, whatever values they hold. A row without a kept step gives a zero
    vector. The output has no mask.

    Args:
        epsilon: The smallest variance, a number > 0. Smaller variances are set to `epsilon`, and
            get no gradient.
        keepdims: Whether to keep the time axis with size 1.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step. Defaults to the
            inputs' Keras mask.

    Input shape:
        `(batch, time, dim)`; batch and time may be `None`.

    Output shape:
        `(batch, 2 * dim)`, or `(batch, 1, 2 * dim)` with `keepdims=True`.

    Returns:
        The means and the standard deviations in the layer's compute dtype.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, or if the mask has a wrong shape or values other than 0 and 1.

    Example:

    ```python
    import keras
    import numpy as np
    import keras_attnpool

    x = np.array([[[2.0], [6.0], [np.nan]]], "float32")
    layer = keras_attnpool.layers.StatisticsPooling1D()
    output = keras.ops.convert_to_numpy(layer(x, mask=np.array([[1, 1, 0]])))
    assert output.tolist() == [[4.0, 2.0]]
    ```

    Reference:
        - Snyder et al., 2018, X-Vectors: Robust DNN Embeddings for Speaker Recognition: the
          statistics pooling layer
    """

    def __init__(self, *, epsilon: float = 1e-12, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(locals())

    def _pool(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        return zero_masked_rows(statistics_of_zeroed(inputs, mask, self.epsilon), mask)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, 2 * dim)`, or `(batch, 1, 2 * dim)` with `keepdims`."""
        *rest, dim = super().compute_output_shape(input_shape)
        return (*rest, None if dim is None else 2 * dim)
