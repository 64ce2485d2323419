"""Mixes a sequence and its attention by a gate for every feature: the fusion gate of DiSAN."""

from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError, is_shape
from keras_attnpool.layers._fusion import FusionBase
from keras_attnpool.ops.masking import at_least_float32, zero_masked
from keras_attnpool.types import InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class FusionGate(FusionBase):
    """Mixes a sequence and an attention's output by a gate that is computed from both.

    The layer computes from inputs `h` and attention `s`, both `(batch, time, dim)`:

    1. `F = sigmoid(W_1 h + b_1 + W_2 s + b_2 + b_o)`
    2. `output = F * h + (1 - F) * s`

    The paper has one bias. The released code has the three biases b_1, b_2 and b_o, but only their
    sum matters. The layer has all three biases, so that it can load published weights.

    Masking: `mask` has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. If the call has no `mask=`, the layer uses the mask of the first argument.
    If the first argument has no mask, the layer uses the mask of the second argument. The output
    and the weights are exactly 0 at padded steps, whatever values these steps hold. The output has
    the same mask.

    Args:
        dropout: Share of the gate's input features that is dropped in training, in [0, 1). The
            vectors that are mixed keep all their features.
        use_bias: Whether the layer has biases.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        seed: Seed of the dropout. Initializers that have no seed get this seed too.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        attention: Float tensor `(batch, time, dim)`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step.
        training: Whether dropout is on.
        return_attention_scores: Whether to return `(output, scores)`.

    Input shape:
        Two shapes `(batch, time, dim)`; batch and time may be `None`.

    Output shape:
        `(batch, time, dim)`; the scores are `(batch, time, dim)`.

    Returns:
        The mixture in the layer's compute dtype. `return_attention_scores=True` returns a pair: the
        mixture and the gate `F`, which is the share of the inputs.

    Raises:
        ValueError: If an argument is invalid, if the two tensors do not have one shape `(batch,
            time, dim)`, or if the mask is not `(batch, time)` of 0 and 1.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    words, attention = np.ones((2, 5, 16), "float32"), np.zeros((2, 5, 16), "float32")
    layer = keras_attnpool.layers.FusionGate()
    output, gate = layer(words, attention, return_attention_scores=True)
    assert output.shape == gate.shape == (2, 5, 16)
    ```

    Weights, by name:

    - `inputs_kernel` and `attention_kernel` `(dim, dim)` are the transposes of W_1 and W_2.
    - `inputs_bias`, `attention_bias` and `output_bias` `(dim,)` are b_1, b_2 and b_o.

    Reference:
        - Shen et al., 2018, DiSAN: Directional Self-Attention Network for RNN/CNN-Free Language
          Understanding: fusion gate
    """

    def __init__(
        self,
        *,
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals())

    def build(self, inputs_shape: Shape, attention_shape: Shape) -> None:
        """Creates both kernels and the biases."""
        self._check(inputs_shape, attention_shape)
        dim = self._feature_dim(inputs_shape)
        self.inputs_kernel = self._add_kernel("inputs_kernel", (dim, dim))
        self.attention_kernel = self._add_kernel("attention_kernel", (dim, dim))
        self.inputs_bias = self._add_bias("inputs_bias", (dim,))
        self.attention_bias = self._add_bias("attention_bias", (dim,))
        self.output_bias = self._add_bias("output_bias", (dim,))

    def call(
        self,
        inputs: Tensor,
        attention: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
        inputs_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> Any:
        """Mixes two tensors `(batch, time, dim)` into one."""
        self._check(tuple(inputs.shape), tuple(attention.shape))
        inputs, mask = self._mask_inputs(inputs, self._mask(mask, inputs_mask, attention_mask))
        attention = zero_masked(ops.cast(attention, self.compute_dtype), mask)
        # Both tensors are 0 at padded steps, and so is their mixture.
        output, gate = self._mix(inputs, attention, training)
        if return_attention_scores:
            gate = zero_masked(gate, mask)
        return self._mixed(output, gate, mask, return_attention_scores)

    def _mix(
        self, inputs: Tensor, attention: Tensor, training: bool | None
    ) -> tuple[Tensor, Tensor]:
        """Returns the mixture and the gate, in float32 or float64."""
        logits = self._dropped_product(inputs, training, self.inputs_kernel, self.inputs_bias)
        kernel, bias = self.attention_kernel, self.attention_bias
        logits = logits + self._dropped_product(attention, training, kernel, bias)
        if self.use_bias:
            logits = logits + at_least_float32(self.output_bias)
        gate = ops.sigmoid(logits)
        inputs, attention = at_least_float32(inputs), at_least_float32(attention)
        return attention + gate * (inputs - attention), gate

    def compute_output_shape(self, inputs_shape: Shape, attention_shape: Shape) -> Shape:
        """Returns the shape of the inputs."""
        return tuple(inputs_shape)

    def compute_output_spec(
        self,
        inputs: Tensor,
        attention: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
        **masks: Any,
    ) -> Any:
        """Returns the symbolic output, or the pair of output and gate."""
        self._check(tuple(inputs.shape), tuple(attention.shape))
        mask = self._mask(mask, *masks.values())
        return self._mixed_spec(inputs, inputs.shape, mask, return_attention_scores)

    def _check(self, inputs_shape: Shape, attention_shape: Shape) -> None:
        if len(inputs_shape) != 3 or not is_shape(attention_shape, inputs_shape):
            raise ArgumentError(
                "attention",
                "be (batch, time, dim) of the shape of the `inputs`",
                f"attention of shape {tuple(attention_shape)}, inputs of shape "
                f"{tuple(inputs_shape)}",
                self,
            )
