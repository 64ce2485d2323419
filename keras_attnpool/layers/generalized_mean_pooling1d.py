"""GeM: a mean over time with a learned power, between the average and the maximum."""

import math
from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._masked import GlobalPoolingBase
from keras_attnpool.ops._devices import scalar_like
from keras_attnpool.ops.masking import at_least_float32, highest_along, mean_of_zeroed
from keras_attnpool.types import ConstraintLike, InitializerLike, RegularizerLike, Shape, Tensor

SMALLEST_POWER = 1e-3
"""With a power nearer to 0, the division by it would leave no correct digit in float32."""


@keras.saving.register_keras_serializable(package="keras_attnpool")
class GeneralizedMeanPooling1D(GlobalPoolingBase):
    """Pools the kept steps of a sequence by a generalized mean with a learned power.

    With inputs `h_t` of one example and `n` kept steps, for each feature:

    `output = (sum_t max(h_t, epsilon)^p / n)^(1 / p)`

    With `p = 1` the output is the mean. With a larger `p` the output is nearer to the maximum. An
    input below `epsilon` counts as `epsilon` and gets no gradient. So the inputs should be mostly
    positive, such as the outputs of a ReLU. The layer computes the powers by logarithms and
    relative to the largest value. So no power overflows or vanishes, even in half precision. If the
    learned power becomes negative, the output approaches the minimum. A power between -0.001 and
    0.001 counts as 0.001. With the power 0.001 the output is nearly the geometric mean.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. Padded steps
    never change the result, whatever values they hold. A row without a kept step gives a zero
    vector. The output has no mask.

    Args:
        p: The initial power, a number > 0.
        per_feature: Whether each feature has a separate power. With `False` all features share one
            power.
        epsilon: A number > 0. Inputs below `epsilon` count as `epsilon`.
        keepdims: Whether to keep the time axis with size 1.
        p_initializer: Initializer of the powers. `None` starts all powers at `p`.
        p_regularizer: Regularizer of the powers.
        p_constraint: Constraint of the powers.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`;
            `trainable=False` fixes the power at `p`.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step. Defaults to the
            inputs' Keras mask.

    Input shape:
        `(batch, time, dim)`; batch and time may be `None`.

    Output shape:
        `(batch, dim)`, or `(batch, 1, dim)` with `keepdims=True`.

    Returns:
        The generalized means in the layer's compute dtype.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, or if the mask has a wrong shape or values other than 0 and 1.

    Example:

    ```python
    import keras
    import numpy as np
    import keras_attnpool

    x = np.array([[[1.0], [7.0], [np.nan]]], "float32")
    layer = keras_attnpool.layers.GeneralizedMeanPooling1D(p=2)
    output = keras.ops.convert_to_numpy(layer(x, mask=np.array([[1, 1, 0]])))
    assert np.allclose(output, 5)  # the root of (1 + 49) / 2
    ```

    Weights, by name: `power` `(1,)`, or `(dim,)` with `per_feature=True`, is p.

    Reference:
        - Radenovic, Tolias and Chum, 2018, Fine-tuning CNN Image Retrieval with No Human
          Annotation: generalized-mean pooling, GeM
    """

    def __init__(
        self,
        *,
        p: float = 3.0,
        per_feature: bool = False,
        epsilon: float = 1e-6,
        keepdims: bool = False,
        p_initializer: InitializerLike | None = None,
        p_regularizer: RegularizerLike = None,
        p_constraint: ConstraintLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals())

    def build(self, input_shape: Shape) -> None:
        """Creates the power, or one power per feature."""
        dim = self._feature_dim(input_shape)
        self.power = self.add_weight(
            name="power",
            shape=(dim if self.per_feature else 1,),
            initializer=self.p_initializer or keras.initializers.Constant(self.p),
            regularizer=self.p_regularizer,
            constraint=self.p_constraint,
            autocast=False,
        )

    def _pool(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        given = at_least_float32(self.power)
        smallest = scalar_like(SMALLEST_POWER, given)
        power = ops.where(ops.abs(given) < smallest, smallest, given)
        # The forward pass uses the moved power. The gradient belongs to the given power.
        power = given + ops.stop_gradient(power - given)
        values = at_least_float32(inputs)
        logs = power * ops.log(ops.maximum(values, scalar_like(self.epsilon, values)))
        if mask is not None:
            some = ops.any(mask, axis=1, keepdims=True)
            # A row without a kept step keeps all its zeros. Its finite result is replaced at the
            # end.
            mask = ops.equal(mask, some)
            logs = ops.where(ops.expand_dims(mask, 2), logs, scalar_like(-math.inf, logs))
        largest = ops.stop_gradient(highest_along(logs, 1))
        shares = ops.exp(logs - ops.expand_dims(largest, 1))
        mean = ops.exp((largest + ops.log(mean_of_zeroed(shares, mask))) / power)
        return mean if mask is None else ops.where(some, mean, scalar_like(0, mean))
