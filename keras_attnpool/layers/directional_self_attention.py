"""Attention to the steps of one direction with one weight per feature, as in DiSAN."""

from typing import Any

import keras

from keras_attnpool.layers._attention import Call
from keras_attnpool.layers._directional import DirectionalAttentionBase
from keras_attnpool.layers.fusion_gate import FusionGate
from keras_attnpool.ops.masking import zero_masked
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class DirectionalSelfAttention(DirectionalAttentionBase):
    """Attends from each step to earlier or later steps, and mixes the result with the step.

    With inputs `x_t` of one example, where step `j` attends to step `i`:

    1. `h_t = activation(W x_t + b)`
    2. `f_ij = scale * tanh((W_1 h_i + W_2 h_j + b_s) / scale)`, one score for each of the `units`
       features
    3. `P_ij = softmax over i of f_ij`, for each feature separately. The softmax is over the steps
       `i < j` with `direction="forward"`, over `i > j` with `"backward"`, and over `i != j` with
       `None`
    4. `s_j = sum_i P_ij * h_i`, element by element
    5. `F_j = sigmoid(W_f1 h_j + W_f2 s_j + b_f)`, a `FusionGate`
    6. `output_j = F_j * h_j + (1 - F_j) * s_j`

    With `"forward"` the first step attends to no step, so its `s_j` is 0. DiSAN concatenates a
    forward and a backward layer. The scores are `time^2 * units` numbers. `BlockSelfAttention`
    computes fewer scores for long texts.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. No step
    attends to a padded step. The output and the weights are exactly 0 at padded steps, whatever
    values these steps hold. The output has the same mask.

    Args:
        units: Size of the output and of the hidden states.
        direction: The steps that a step attends to. `"forward"` allows earlier steps, `"backward"`
            allows later steps, and `None` allows all steps except the step itself. DiSAN uses these
            names.
        scale: Bound of the scores, the paper's c.
        activation: Activation of step 1.
        dropout: Share of each kernel's input features that is dropped in training, in [0, 1). The
            vectors that are summed or mixed keep all features.
        use_bias: Whether the layer has biases.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        seed: Seed of the dropout. Initializers that have no seed get this seed too.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step. Defaults to the
            inputs' Keras mask.
        training: Whether dropout is on.
        return_attention_scores: Whether to return `(output, scores)`.

    Input shape:
        `(batch, time, dim)`; batch and time may be `None`.

    Output shape:
        `(batch, time, units)`; the scores are `(batch, query, key, units)`.

    Returns:
        The output in the compute dtype. `return_attention_scores=True` returns a pair: the output
        and the attention weights before dropout.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, or if the mask has a wrong shape or values other than 0 and 1.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    forward = keras_attnpool.layers.DirectionalSelfAttention(32, direction="forward")(x)
    backward = keras_attnpool.layers.DirectionalSelfAttention(32, direction="backward")(x)
    x = keras.layers.Concatenate()([forward, backward])
    vector = keras_attnpool.layers.MultiDimAttentionPooling()(x)
    assert vector.shape == (None, 64)
    ```

    Weights, by name:

    - `hidden/kernel` `(dim, units)` is W transposed, and `hidden/bias` `(units,)` is b.
    - `source_kernel` and `target_kernel` `(units, units)` are the transposes of W_1 and W_2.
    - `score_bias` `(units,)` is b_s.
    - `gate/inputs_kernel` and `gate/attention_kernel` `(units, units)` are the transposes of W_f1
      and W_f2.
    - The sum of `gate/inputs_bias`, `gate/attention_bias` and `gate/output_bias` `(units,)` is b_f.

    Difference: here a padded step, and a step that has no step to attend to, have weights of
    exactly 0. If a step has no step to attend to, the released code subtracts a large constant from
    all its scores, so the softmax gives equal weights. Then the code multiplies the result by 0.

    Reference:
        - Shen et al., 2018, DiSAN: Directional Self-Attention Network for RNN/CNN-Free Language
          Understanding: directional self-attention
    """

    def __init__(
        self,
        units: int,
        *,
        direction: str | None = "forward",
        scale: float = 5.0,
        activation: ActivationLike = "elu",
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals())

    def build(self, input_shape: Shape) -> None:
        """Creates the weights of the attention and the gate."""
        super().build(input_shape)
        self.gate = FusionGate(**self._sublayer_arguments("gate"))
        shape = self.compute_output_shape(input_shape)
        self.gate.build(shape, shape)

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        hidden = self._values(inputs, call)
        attention, scores = self._directional_attention(hidden, call)
        output, _ = self.gate._mix(hidden, attention, call.training)
        return zero_masked(output, call.mask), scores
