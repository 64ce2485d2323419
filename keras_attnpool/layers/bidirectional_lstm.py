"""A bidirectional LSTM that is right and fast on masked rows."""

from typing import Any

import keras

from keras_attnpool.layers._recurrent import BidirectionalBase
from keras_attnpool.ops._recurrence import BothDirections
from keras_attnpool.types import InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class BidirectionalLSTM(BidirectionalBase):
    """Encodes a sequence by an LSTM from either end.

    With inputs `x_t`, the gates' order being input, forget, cell, output, for one direction:

    1. `i_t, f_t, o_t = sigmoid(x_t W + h_{t-1} U + b)`, each gate with weights of its own
    2. `g_t = tanh(x_t W_g + h_{t-1} U_g + b_g)`
    3. `c_t = f_t * c_{t-1} + i_t * g_t`
    4. `h_t = o_t * tanh(c_t)`

    and the output is `[forward h_t; backward h_t]`, or their sum.

    The recurrence is `keras.layers.LSTM`.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    x = keras_attnpool.layers.BidirectionalLSTM(16)(x)
    assert x.shape == (None, None, 32)
    vector = keras_attnpool.layers.AttentionPooling(hidden_dim=8)(x)
    ```

    Weights, by name: `forward/lstm_cell/kernel` `(dim, 4 * units)`,
    `forward/lstm_cell/recurrent_kernel` `(units, 4 * units)`, `forward/lstm_cell/bias`
    `(4 * units,)`, the gates in the order input, forget, cell, output, and the same for `backward`:
    the order of `keras.layers.Bidirectional` around `keras.layers.LSTM`, whose `get_weights()` fit.

    Reference:
        - Hochreiter and Schmidhuber, 1997, Long Short-Term Memory; with the forget gate of Gers,
          Schmidhuber and Cummins, 2000, Learning to Forget
        - Lin et al., 2017, A Structured Self-attentive Sentence Embedding, section 2
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
        unit_forget_bias: bool = True,
        kernel_regularizer: RegularizerLike = None,
        recurrent_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._keep(locals())

    def build(self, input_shape: Shape) -> None:
        """Creates the LSTMs of both directions."""
        dim = self._feature_dim(input_shape)
        gates = {"unit_forget_bias": self.unit_forget_bias}
        self.forward_lstm = self._recurrent(keras.layers.LSTM, "forward", dim, **gates)
        self.backward_lstm = self._recurrent(keras.layers.LSTM, "backward", dim, **gates)

    def _states(self, words: Tensor, steps: BothDirections, training: bool | None) -> Any:
        return steps.read(self._drop(words, training), self.forward_lstm, self.backward_lstm)
