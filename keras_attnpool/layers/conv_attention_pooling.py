"""Convolutional multi-head target attention (HCAN)."""

import math
from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._attention import AttentionPoolingBase, Call
from keras_attnpool.ops._dot_product_attention import split_heads
from keras_attnpool.ops.masking import at_least_float32
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class ConvAttentionPooling(AttentionPoolingBase):
    """Pools a sequence by a learned target that attends to the convolved steps.

    For one example with inputs `E` `(time, dim)` and the learned target `T` `(filters,)`:

    1. `K = elu(conv(E, W_k) + b_k)` and `V = elu(conv(E, W_v) + b_v)`, `(time, filters)`; each
       window has `kernel_size` steps and is centred
    2. `a_i = softmax over time of (K_i T_i / scale)` on the i-th of `num_heads` slices of the
       features
    3. `output = [a_1 V_1; ...; a_h V_h]`, `(filters,)`

    Masking: the inputs' mask has the shape `(batch, time)`, and True keeps a step. Padded steps may
    lie between kept steps. The convolutions read zeros at padded steps and outside of the text. A
    padded step has a weight of exactly 0, whatever values it holds. A row without a kept step gives
    a zero vector. The output has no mask.

    Args:
        num_heads: Number of attention heads.
        filters: Size of K, V and the output; a multiple of `num_heads`.
        kernel_size: Number of steps of a window.
        value_conv: Whether V is convolved. With `False` V equals the inputs, as in the official
            code, and `dim` must be `filters`.
        activation: Activation of K and V.
        scale: Divisor of the scores. With `None` the divisor is `sqrt(filters / num_heads)`.
        normalizer: Function that turns scores into weights: `"softmax"`, `"sparsemax"` or
            `"entmax15"`. `"sparsemax"` and `"entmax15"` can give weights of exactly 0.
        dropout: Share of the attention weights that is dropped in training, in [0, 1).
        use_bias: Whether the layer has biases.
        kernel_initializer: Initializer of the kernels.
        target_initializer: Initializer of the target. A target of zeros gives mean pooling.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels and of the target.
        attention_regularizer: Regularizer of the attention weights of each example.
        vector_regularizer: Regularizer of the heads' vectors of each example.
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
        `(batch, filters)`; the scores are `(batch, num_heads, time)`.

    Returns:
        The output in the compute dtype. `return_attention_scores=True` returns a pair: the output
        and the attention weights before dropout.

    Raises:
        ValueError: If an argument is invalid, if `num_heads` does not divide `filters`, if the
            inputs are not `(batch, time, dim)` with a known `dim`, if `dim` is not `filters` with
            `value_conv=False`, or if the mask is not `(batch, time)` of 0 and 1.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    x = keras_attnpool.layers.ConvAttentionPooling(num_heads=4, filters=64)(x)
    model = keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(x))
    ```

    Weights, by name:

    - `target` `(filters,)` is T. The entries of one head are adjacent.
    - `key_kernel` `(kernel_size, dim, filters)` is W_k, and `key_bias` `(filters,)` is b_k.
    - With `value_conv=True`, `value_kernel` and `value_bias` have the shapes of `key_kernel` and
      `key_bias`.

    Reference:
        - Gao, Ramanathan and Tourassi, Hierarchical Convolutional Attention Networks for Text
          Classification, equation 5
    """

    def __init__(
        self,
        num_heads: int,
        filters: int,
        kernel_size: int = 3,
        *,
        value_conv: bool = True,
        activation: ActivationLike = "elu",
        scale: float | None = None,
        normalizer: str = "softmax",
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        target_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        attention_regularizer: RegularizerLike = None,
        vector_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals())
        self._check_heads()

    def build(self, input_shape: Shape) -> None:
        """Creates the target and the convolutions."""
        dim = self._feature_dim(input_shape)
        if not self.value_conv and dim != self.filters:
            must = f"have the last dimension filters={self.filters} with value_conv=False"
            raise ArgumentError("inputs", must, f"shape {tuple(input_shape)}", self)
        shape = (self.kernel_size, dim, self.filters)
        self.key_kernel = self._add_kernel("key_kernel", shape)
        self.key_bias = self._add_bias("key_bias", (self.filters,))
        if self.value_conv:
            self.value_kernel = self._add_kernel("value_kernel", shape)
            self.value_bias = self._add_bias("value_bias", (self.filters,))
        self.target = self._add_kernel("target", (self.filters,), self.target_initializer)

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        keys = self._convolve(inputs, self.key_kernel, self.key_bias, self.activation)
        values = inputs
        if self.value_conv:
            values = self._convolve(inputs, self.value_kernel, self.value_bias, self.activation)
        size = self.filters // self.num_heads
        scale = math.sqrt(size) if self.scale is None else self.scale
        target = ops.reshape(at_least_float32(self.target), (1, self.num_heads, 1, size)) / scale
        # This is not a matrix product, because with one head TensorFlow would write outside of its
        # memory (docs/upstream/tensorflow-batch-matmul.md).
        logits = ops.sum(at_least_float32(split_heads(keys, self.num_heads)) * target, axis=-1)
        values = split_heads(values, self.num_heads)
        vectors, weights = self._pool(values, logits, call)
        output = ops.reshape(vectors, (-1, self.filters))
        return output, weights

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, filters)`."""
        return (input_shape[0], self.filters)

    def _scores_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], self.num_heads, input_shape[1])
