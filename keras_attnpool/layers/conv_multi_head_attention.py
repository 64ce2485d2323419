"""Convolutional multi-head self-attention (HCAN)."""

import math
from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._attention import AttentionBase, Call
from keras_attnpool.ops._devices import heads_together
from keras_attnpool.ops._dot_product_attention import dot_product_weights, join_heads, split_heads
from keras_attnpool.ops.masking import at_least_float32, zero_masked
from keras_attnpool.ops.normalization import layer_normalize
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor

PARTS = ("query", "key", "value")


@keras.saving.register_keras_serializable(package="keras_attnpool")
class ConvMultiHeadAttention(AttentionBase):
    """Self-attention over convolved steps, or the product of two such attentions.

    For one example with inputs `E` `(time, dim)`:

    1. `Q = elu(conv(E, W_q) + b_q)`, `(time, filters)`, and K and V in the same way; each window
       has `kernel_size` steps and is centred
    2. `head_i = softmax over keys of (Q_i K_i^T / scale) V_i` on the i-th of `num_heads` slices of
       the features; the heads are joined
    3. with `parallel=True` the result is multiplied, element by element, by the result of a second
       attention. The second attention has other kernels, and `tanh` in place of `elu` for V
    4. layer norm over the features of each step

    A weighted mean of words cannot reverse their meaning, but a product can. The values of the
    second attention lie in (-1, 1), so they may negate or scale the result of the first attention.

    Masking: the inputs' mask has the shape `(batch, time)`, and True keeps a step. Padded steps may
    lie between kept steps. The convolutions read zeros at padded steps and outside of the text. No
    query attends to a padded key. Outputs and weights of padded queries are exactly 0. A padded
    step between kept steps keeps its place in the windows. The output has the same mask.

    Args:
        num_heads: Number of attention heads.
        filters: Size of Q, K, V and the output; a multiple of `num_heads`.
        kernel_size: Number of steps of a window.
        parallel: Whether the layer has the second attention of step 3.
        activation: Activation of Q, K and V.
        parallel_activation: Activation of the second attention's V.
        scale: Divisor of the scores. With `None` the divisor is `sqrt(filters / num_heads)`, the
            square root of a head's width. Equation 1 of the paper divides by `sqrt(filters)`.
        layer_norm: Whether the layer norm of step 4 is applied. Its epsilon is 1e-6.
        dropout: Share of the attention weights that is dropped in training, in [0, 1).
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
        `(batch, time, filters)`; the scores are `(batch, num_heads, time, time)`, queries before
        keys. With `parallel=True` the scores are a tuple of two such tensors, one per attention.

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
    x = keras_attnpool.layers.ConvMultiHeadAttention(num_heads=4, filters=64)(x)
    x = keras_attnpool.layers.ConvAttentionPooling(num_heads=4, filters=64)(x)
    model = keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(x))
    ```

    Weights, by name:

    - `query_kernel`, `key_kernel` and `value_kernel` have the shape `(kernel_size, dim, filters)`.
    - `query_bias`, `key_bias` and `value_bias` have the shape `(filters,)`.
    - With `parallel=True` the second attention has weights with the shapes of the first attention.
      The names of these weights are `parallel_query_kernel` and so on.
    - `gamma` and `beta` `(filters,)` belong to the layer norm.

    Difference: the official code normalises over all steps and features together, with padding, and
    its convolutions read the position vectors of padded steps. Here each step is normalised
    separately and padding is zero. So no result depends on padding.

    Reference:
        - Gao, Ramanathan and Tourassi, Hierarchical Convolutional Attention Networks for Text
          Classification, equations 1-4
    """

    def __init__(
        self,
        num_heads: int,
        filters: int,
        kernel_size: int = 3,
        *,
        parallel: bool = True,
        activation: ActivationLike = "elu",
        parallel_activation: ActivationLike = "tanh",
        scale: float | None = None,
        layer_norm: bool = True,
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals())
        self._check_heads()

    def build(self, input_shape: Shape) -> None:
        """Creates three kernels, three more for the second attention, and the layer norm."""
        dim = self._feature_dim(input_shape)
        # Each kernel is an attribute, for Flax NNX: docs/upstream/keras-nnx-lists.md.
        for name in self._projections:
            kernel = self._add_kernel(f"{name}_kernel", (self.kernel_size, dim, self.filters))
            setattr(self, f"{name}_kernel", kernel)
            setattr(self, f"{name}_bias", self._add_bias(f"{name}_bias", (self.filters,)))
        if self.layer_norm:
            self.gamma = self.add_weight(name="gamma", shape=(self.filters,), initializer="ones")
            self.beta = self.add_weight(name="beta", shape=(self.filters,), initializer="zeros")

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        mask = call.mask
        # LiteRT does not support slices that add two axes.
        if mask is None:
            pairs = None
        elif call.with_scores:
            queries, keys = ops.expand_dims(mask, (1, 3)), ops.expand_dims(mask, (1, 2))
            pairs = ops.logical_and(queries, keys)
        else:
            # The outputs of padded queries are set to 0 at the end, whatever these queries attend
            # to.
            pairs = ops.expand_dims(mask, (1, 2))
        count = 1 + self.parallel
        if heads_together(inputs, 3 * count, self.filters):
            parts = self._project_together(inputs)
            output, scores = self._multi_head(parts, pairs, call)
            outputs, all_scores = ops.split(output, count, axis=2), ops.split(scores, count, axis=1)
        else:
            each = (self._project(inputs, attention) for attention in range(count))
            found = [self._multi_head(parts, pairs, call) for parts in each]
            outputs, all_scores = zip(*found, strict=True)
        output, scores = outputs[0], all_scores[0]
        if self.parallel:
            output, scores = output * outputs[1], tuple(all_scores)
        if self.layer_norm:
            output = layer_normalize(output, self.gamma, self.beta)
        return zero_masked(output, mask), scores

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, time, filters)`."""
        return (input_shape[0], input_shape[1], self.filters)

    def _scores_shape(self, input_shape: Shape) -> Any:
        shape = (input_shape[0], self.num_heads, input_shape[1], input_shape[1])
        return (shape, shape) if self.parallel else shape

    @property
    def _projections(self) -> list[str]:
        """Returns the names of each attention's query, key and value."""
        prefixes = ("", "parallel_")[: 1 + self.parallel]
        return [prefix + part for prefix in prefixes for part in PARTS]

    def _projection(self, name: str) -> tuple[Any, Any]:
        """Returns the kernel, and the bias or `None`, of that name."""
        return getattr(self, f"{name}_kernel"), getattr(self, f"{name}_bias")

    def _activations(self, attention: int) -> list[Any]:
        """Returns the activations of one attention's query, key and value."""
        value = self.parallel_activation if attention else self.activation
        return [self.activation, self.activation, value]

    def _project(self, inputs: Tensor, attention: int) -> list[Tensor]:
        """Computes step 1 of one attention: query, key and value `(batch, time, filters)`."""
        return [
            self._convolve(inputs, *self._projection(name), activation)
            for name, activation in zip(
                self._projections[3 * attention :][:3], self._activations(attention), strict=True
            )
        ]

    def _project_together(self, inputs: Tensor) -> list[Tensor]:
        """Computes step 1 of all attentions by one convolution: queries, keys and values."""
        count = 1 + self.parallel
        # The order is: all queries, all keys, all values.
        weights = [self._projection(n) for part in range(3) for n in self._projections[part::3]]
        kernel = ops.concatenate([kernel for kernel, _ in weights], axis=2)
        bias = ops.concatenate([bias for _, bias in weights]) if self.use_bias else None
        x = self._convolve(inputs, kernel, bias, keras.activations.linear)
        # Each projection has a separate axis, for activations that read all its features, such as
        # softmax.
        x = ops.reshape(x, (*ops.shape(x)[:2], len(weights), self.filters))
        # This is a split, because the gradient of each slice would be a tensor of the full size.
        query, key, value = ops.split(x, 3, axis=2)
        values = [
            self._activations(attention)[2](part)
            for attention, part in enumerate(ops.split(value, count, axis=2))
        ]
        parts = self.activation(query), self.activation(key), ops.concatenate(values, axis=2)
        return [ops.reshape(each, (*ops.shape(x)[:2], count * self.filters)) for each in parts]

    def _multi_head(
        self, projected: list[Tensor], pairs: Tensor | None, call: Call
    ) -> tuple[Tensor, Tensor]:
        """Computes step 2: `(batch, time, filters)` in float32 or float64, and the weights."""
        size = self.filters // self.num_heads
        query, key, value = (split_heads(x, x.shape[2] // size) for x in projected)
        scale = math.sqrt(size) if self.scale is None else self.scale
        weights = dot_product_weights(query, key, scale, pairs, call.with_scores)
        heads = ops.matmul(self._apply_dropout(weights, call.training), at_least_float32(value))
        return join_heads(heads), weights
