"""A bidirectional GRU that is correct and fast on masked rows."""

from typing import Any

import keras

from keras_attnpool.layers._recurrent import BidirectionalBase
from keras_attnpool.ops._recurrence import BothDirections
from keras_attnpool.types import InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class BidirectionalGRU(BidirectionalBase):
    """Encodes a sequence by a forward GRU and a backward GRU.

    Each direction computes its states `h_t` from the inputs `x_t`. The gates are in the order
    update, reset, new:

    1. `z_t = sigmoid(x_t W_z + h_{t-1} U_z + b_z)`, the share of the old state that stays
    2. `r_t = sigmoid(x_t W_r + h_{t-1} U_r + b_r)`
    3. `n_t = tanh(x_t W_n + b_n + r_t * (h_{t-1} U_n + c_n))`
    4. `h_t = z_t * h_{t-1} + (1 - z_t) * n_t`

    The output is `[forward h_t; backward h_t]`, or their sum.

    The recurrence is `keras.layers.GRU`.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. Padded steps
    do not change the states, whatever values they hold. The output is exactly 0 at padded steps. A
    row without a kept step gives zeros. The output has the same mask. The backends' fast kernels do
    not take a mask. To use these kernels, the layer moves the kept steps to the front of each row.
    With JAX or TensorFlow on a CPU, the steps stay in their places, because a mask costs less time
    than moving the steps. With PyTorch on a CPU and in float32, the layer calls PyTorch's own
    kernel.

    Args:
        units: Size of the state of one direction.
        merge_mode: How the directions are joined, `"concat"` or `"sum"`.
        dropout: Share of the inputs that is dropped in training, in [0, 1).
        use_bias: Whether the layer has biases.
        kernel_initializer: Initializer of the kernels that multiply the inputs.
        recurrent_initializer: Initializer of the kernels that multiply the states.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels that multiply the inputs.
        recurrent_regularizer: Regularizer of the kernels that multiply the states.
        seed: Seed of the dropout. Initializers that have no seed get this seed too.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step. Defaults to the
            inputs' Keras mask.
        training: Whether dropout is on.

    Input shape:
        `(batch, time, dim)`; batch and time may be `None`.

    Output shape:
        `(batch, time, 2 * units)`, or `(batch, time, units)` with `merge_mode="sum"`.

    Returns:
        The forward states followed by the backward states, or the sum of both, in the layer's
        compute dtype.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, or if the mask has a wrong shape or values other than 0 and 1.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    x = keras_attnpool.layers.BidirectionalGRU(16)(x)
    assert x.shape == (None, None, 32)
    vector = keras_attnpool.layers.AttentionPooling(hidden_dim=8)(x)
    ```

    Weights, by name:

    - `forward/gru_cell/kernel` `(dim, 3 * units)` multiplies the inputs.
    - `forward/gru_cell/recurrent_kernel` `(units, 3 * units)` multiplies the states.
    - `forward/gru_cell/bias` `(2, 3 * units)` has a row for the inputs and a row for the states.
    - `backward` has weights with the same names and shapes as `forward`.

    The gates are in the order update, reset, new. The weights match
    `keras.layers.Bidirectional(keras.layers.GRU(...))` in order and shape.

    Reference:
        - Cho et al., 2014, Learning Phrase Representations using RNN Encoder-Decoder for
          Statistical Machine Translation. Here the reset gate acts after the product, as in cuDNN
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, equations 1-6
        - Yang et al., 2016, Hierarchical Attention Networks for Document Classification, section
          2.1
    """

    def __init__(
        self,
        units: int,
        *,
        merge_mode: str = "concat",
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        recurrent_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals())

    def build(self, input_shape: Shape) -> None:
        """Creates the GRUs of both directions."""
        dim = self._feature_dim(input_shape)
        self.forward_gru = self._recurrent(keras.layers.GRU, "forward", dim)
        self.backward_gru = self._recurrent(keras.layers.GRU, "backward", dim)

    def _states(self, words: Tensor, steps: BothDirections, training: bool | None) -> Any:
        return steps.read(self._apply_dropout(words, training), self.forward_gru, self.backward_gru)
