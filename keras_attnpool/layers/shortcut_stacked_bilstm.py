"""Stacked bidirectional LSTMs with shortcuts: every layer also reads the words."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._recurrent import BidirectionalBase
from keras_attnpool.ops._recurrence import BothDirections
from keras_attnpool.types import InitializerLike, RegularizerLike, Shape, Tensor

SHORTCUTS = ("full", "per_direction", "none")


@keras.saving.register_keras_serializable(package="keras_attnpool")
class ShortcutStackedBiLSTM(BidirectionalBase):
    """Encodes a sequence by a stack of bidirectional LSTMs, with shortcuts.

    The lowest layer reads the inputs `e_t`. With `shortcut="full"`, each higher layer `l` computes:

    1. `f_t^l = LSTM([e_t; f_t^{l-1}; b_t^{l-1}], f_{t-1}^l)`, forward
    2. `b_t^l = LSTM([e_t; f_t^{l-1}; b_t^{l-1}], b_{t+1}^l)`, backward
    3. `h_t^l = [f_t^l; b_t^l]`; the output is `h_t` of the highest layer

    With `shortcut="per_direction"` each direction reads only the states of the same direction: step
    1 reads `[e_t; f_t^{l-1}]`, and step 2 reads `[e_t; b_t^{l-1}]`. With `shortcut="none"` both
    steps read `[f_t^{l-1}; b_t^{l-1}]`, as in a plain stack of bidirectional LSTMs.

    The recurrence is `keras.layers.LSTM`.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. Padded steps
    do not change the states, whatever values they hold. The output is exactly 0 at padded steps. A
    row without a kept step gives zeros. The output has the same mask. The backends' fast kernels do
    not take a mask. To use these kernels, the layer moves the kept steps to the front of each row.
    With JAX or TensorFlow on a CPU, the steps stay in their places, because a mask costs less time
    than moving the steps. With PyTorch on a CPU and in float32, the layer calls PyTorch's own
    kernel.

    Args:
        units: Size of the state of one direction, the paper's d.
        num_layers: Number of layers, the paper's L.
        shortcut: `"full"` as in the official code, `"per_direction"` as in the printed equations,
            or `"none"`.
        merge_mode: How the directions of the highest layer are joined, `"concat"` or `"sum"`.
        dropout: Share of each layer's inputs that is dropped in training, in [0, 1).
        use_bias: Whether the layer has biases.
        kernel_initializer: Initializer of the kernels that multiply the inputs.
        recurrent_initializer: Initializer of the kernels that multiply the states.
        bias_initializer: Initializer of the biases.
        unit_forget_bias: Whether the forget gates' biases start at 1.
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
    x = keras_attnpool.layers.ShortcutStackedBiLSTM(units=16, num_layers=2)(x)
    assert x.shape == (None, None, 32)
    vector = keras_attnpool.layers.MaskedMaxPooling1D()(x)
    ```

    Weights, by name, for the layers from n = 1, the lowest layer, to the highest layer:

    - `forward_n/lstm_cell/kernel` `(dim of the layer's input, 4 * units)`.
    - `forward_n/lstm_cell/recurrent_kernel` `(units, 4 * units)`.
    - `forward_n/lstm_cell/bias` `(4 * units,)`.
    - `backward_n` has weights with the same names and shapes as `forward_n`.

    The gates are in the order input, forget, cell, output.

    Difference: in the earlier shortcut-stacked LSTMs of Nie and Bansal, a layer reads the words and
    the states of all layers below. In the paper of Chen, Ling and Zhu, and in this layer, each
    layer reads the words and the states of only the layer below.

    Reference:
        - Chen, Ling and Zhu, Enhancing Sentence Embedding with Generalized Pooling, equations 1-3
        - Nie and Bansal, 2017, Shortcut-Stacked Sentence Encoders for Multi-Domain Inference
    """

    def __init__(
        self,
        units: int,
        num_layers: int = 3,
        *,
        shortcut: str = "full",
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
        super().__init__(locals(), shortcut=SHORTCUTS)

    def build(self, input_shape: Shape) -> None:
        """Creates the LSTMs of both directions, layer after layer."""
        dim = self._feature_dim(input_shape)
        states = 2 * self.units
        above = {"full": dim + states, "per_direction": dim + self.units, "none": states}
        dims = [dim] + [above[self.shortcut]] * (self.num_layers - 1)
        # Each layer is an attribute, for Flax NNX: docs/upstream/keras-nnx-lists.md. The attributes
        # come after the properties in the alphabet, so that files keep the properties' names.
        for direction in ("forward", "backward"):
            for n, d in enumerate(dims, 1):
                lstm = self._recurrent(keras.layers.LSTM, f"{direction}_{n}", d)
                setattr(self, f"{direction}_lstms_{n}", lstm)

    @property
    def forward_lstms(self) -> list[keras.layers.LSTM]:
        """Returns the LSTMs of the forward direction, the lowest first."""
        return [getattr(self, f"forward_lstms_{n}") for n in range(1, self.num_layers + 1)]

    @property
    def backward_lstms(self) -> list[keras.layers.LSTM]:
        """Returns the LSTMs of the backward direction, the lowest first."""
        return [getattr(self, f"backward_lstms_{n}") for n in range(1, self.num_layers + 1)]

    def _states(self, words: Tensor, steps: BothDirections, training: bool | None) -> Any:
        read_forward = read_backward = words
        for n in range(self.num_layers):
            read_forward = self._apply_dropout(read_forward, training)
            if n == 0 or self.shortcut != "per_direction":
                read_backward = read_forward
            else:
                read_backward = self._apply_dropout(read_backward, training)
            forward, backward = steps.read(
                read_forward, self.forward_lstms[n], self.backward_lstms[n], read_backward
            )
            if self.shortcut == "full":
                read_forward = ops.concatenate([words, forward, backward], axis=-1)
            elif self.shortcut == "none":
                read_forward = ops.concatenate([forward, backward], axis=-1)
            else:
                read_forward = ops.concatenate([words, forward], axis=-1)
                read_backward = ops.concatenate([words, backward], axis=-1)
        return forward, backward
