"""Convolutional multi-head self-attention (HCAN)."""

import math
from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._attention import AttentionBase
from keras_attnpool.ops._dot_product_attention import dot_product_weights, join_heads, split_heads
from keras_attnpool.ops.masking import at_least_float32, zero_masked
from keras_attnpool.ops.normalization import layer_normalize
from keras_attnpool.types import (
    ActivationLike,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    Shape,
    Tensor,
)

PARTS = ("query", "key", "value")


@keras.saving.register_keras_serializable(package="keras_attnpool")
class ConvMultiHeadAttention(AttentionBase):
    """Self-attention over convolved steps, alone or as the product of two side by side.

    For one example with inputs `E` `(time, dim)`:

    1. `Q = elu(conv(E, W_q) + b_q)`, and K and V likewise, `(time, filters)`; each window spans
       `kernel_size` steps and is centred
    2. `head_i = softmax over keys of (Q_i K_i^T / scale) V_i` on the i-th of `num_heads` slices of
       the features; the heads are joined
    3. with `parallel=True` the elementwise product with a second such attention of its own kernels,
       whose V has `tanh` in place of `elu`
    4. layer norm over the features of each step

    A weighted mean of words cannot turn their meaning round; a product of two can: the second
    attention's values lie in (-1, 1) and may negate or scale what the first one found.

    Masking: the mask `(batch, time)` of the inputs, True = keep, holes allowed. The convolutions
    see zeros at padded steps, as past the ends; no query attends to a padded key; outputs and
    weights of padded queries are exactly 0. A hole stays a position. The mask goes on.

    Args:
        filters: Size of Q, K, V and the output; a multiple of `num_heads`.
        kernel_size: Steps that a window spans.
        parallel: Whether step 3 is done.
        activation: Activation of Q, K and V.
        parallel_activation: Activation of the second attention's V.
        scale: What the scores are divided by. `None` is `sqrt(filters / num_heads)`, the square
            root of the width of a head's queries; `math.sqrt(filters)` reads eq. 1 by the letter.
        layer_norm: Whether step 4 is done; epsilon is 1e-6.

    Output shape:
        `(batch, time, filters)`; the scores are `(batch, num_heads, time, time)`, queries before
        keys, and with `parallel=True` a tuple of two of these, the second attention's last.

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

    Weights, by name: `query_kernel`, `key_kernel` and `value_kernel`
    `(kernel_size, dim, filters)`, `query_bias`, `key_bias` and `value_bias` `(filters,)`; with
    `parallel=True` the same again with `parallel_` in front; `gamma` and `beta` `(filters,)` of the
    layer norm.

    What differs: the official code normalises over steps and features at once, padding included,
    and lets convolutions see the position vectors of padded steps. Here each step is normalised
    alone and padding is zero, so that no result depends on it.

    Reference:
        - Gao, Ramanathan and Tourassi, Hierarchical Convolutional Attention Networks for Text
          Classification, eq. 1-4
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
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._keep(locals())
        self._check_heads()

    def build(self, input_shape: Shape) -> None:
        """Creates three kernels, three more for the second attention, and the layer norm."""
        dim = self._feature_dim(input_shape)
        self.projections = self._add_projections("", dim)
        if self.parallel:
            self.parallel_projections = self._add_projections("parallel_", dim)
        if self.layer_norm:
            self.gamma = self.add_weight(name="gamma", shape=(self.filters,), initializer="ones")
            self.beta = self.add_weight(name="beta", shape=(self.filters,), initializer="zeros")

    def _weigh(self, inputs: Tensor, mask: Any, training: bool | None, with_scores: bool) -> Any:
        output, scores = self._multi_head(inputs, mask, training, self.projections, self.activation)
        if self.parallel:
            second, second_scores = self._multi_head(
                inputs, mask, training, self.parallel_projections, self.parallel_activation
            )
            output, scores = output * second, (scores, second_scores)
        if self.layer_norm:
            output = layer_normalize(output, self.gamma, self.beta)
        return zero_masked(output, mask), scores

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, time, filters)`."""
        return (input_shape[0], input_shape[1], self.filters)

    def _scores_shape(self, input_shape: Shape) -> Any:
        shape = (input_shape[0], self.num_heads, input_shape[1], input_shape[1])
        return (shape, shape) if self.parallel else shape

    def _add_projections(self, prefix: str, dim: int) -> list[tuple[Any, Any]]:
        """Kernel and bias (or `None`) of query, key and value."""
        return [
            (
                self._add_kernel(f"{prefix}{part}_kernel", (self.kernel_size, dim, self.filters)),
                self._add_bias(f"{prefix}{part}_bias", (self.filters,)),
            )
            for part in PARTS
        ]

    def _multi_head(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        training: bool | None,
        projections: list[tuple[Any, Any]],
        value_activation: Any,
    ) -> tuple[Tensor, Tensor]:
        """Steps 1 and 2: `(batch, time, filters)` in float32 at least, and the weights."""
        activations = (self.activation, self.activation, value_activation)
        query, key, value = (
            split_heads(self._convolve(inputs, *projection, activation), self.num_heads)
            for projection, activation in zip(projections, activations, strict=True)
        )
        if mask is not None:
            mask = ops.expand_dims(mask, 1)
            mask = ops.logical_and(ops.expand_dims(mask, 3), ops.expand_dims(mask, 2))
        scale = math.sqrt(self.filters / self.num_heads) if self.scale is None else self.scale
        weights = dot_product_weights(query, key, scale, mask)
        heads = ops.matmul(self._drop(weights, training), at_least_float32(value))
        return join_heads(heads), weights
