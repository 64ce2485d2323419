"""Generalized Pooling: several heads, each with one attention weight per step and feature."""

from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._attention import Call, MultiHeadPoolingBase, heads_first
from keras_attnpool.ops._devices import heads_together
from keras_attnpool.ops._vector_pooling import chunked_softmax_pooling
from keras_attnpool.ops.masking import at_least_float32
from keras_attnpool.regularizers import HeadRegularizer
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class GeneralizedPooling(MultiHeadPoolingBase):
    """Pools a sequence to one vector per head, with one attention weight per step and feature.

    Each head `i` computes from the inputs `H` `(time, dim)` of one example:

    1. `A_i = softmax over time of (W2_i activation(W1_i H^T + b1_i) + b2_i)^T`, `(time, dim)`: each
       column is normalised separately
    2. `v_i = sum_t a_it * h_t`, element by element, `(dim,)`; the output is `[v_1; v_2; ...]`

    Special cases are mean pooling (W2 = 0), max pooling (scores that grow with the features), and
    attention with one weight per step (equal columns of scores). `per_feature=False` gives
    attention with one weight per step: W2_i has one row, and `A_i` is `(time,)`. With
    `activation="tanh"`, without biases, and with the same W1 for all heads, `per_feature=False`
    equals `StructuredSelfAttentionPooling`.

    `b2` adds the same number to all steps of a column, and the softmax cancels this number. So the
    gradient of `b2` is exactly 0. The layer has `b2` only because the paper has it.

    The paper's penalties are `keras_attnpool.regularizers.HeadDistance(...)` as
    `kernel_regularizer` (equation 7), `attention_regularizer` (equation 8) and `vector_regularizer`
    (equation 9).

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. A padded step
    has a weight of exactly 0, whatever values it holds. A row without a kept step gives zeros. The
    output has no mask.

    Args:
        num_heads: Number of attention heads, the paper's I. The paper uses 5.
        hidden_dim: Size of the hidden layer of each head, the paper's d_a.
        per_feature: Whether each feature has separate weights. With `False` all features share one
            weight per step.
        activation: Activation of the hidden layers.
        normalizer: Function that turns scores into weights: `"softmax"`, `"sparsemax"` or
            `"entmax15"`. `"sparsemax"` and `"entmax15"` can give weights of exactly 0.
        flatten: Whether the output is `(batch, heads * dim)`. With `False` the output is `(batch,
            heads, dim)`.
        chunk_size: `None`, or the number of time steps that are scored at once. The layer does not
            store the scores of a chunk. The backward pass computes these scores again. With chunks
            a long text needs less memory and more time. Chunks change the result only by rounding
            errors. `return_attention_scores=True` computes all scores at once. Chunks work only
            with `normalizer="softmax"`. Chunks do not work with `dropout` or
            `attention_regularizer`, which need all weights at once.
        dropout: Share of the attention weights that is dropped in training, in [0, 1).
        use_bias: Whether the layer has biases.
        kernel_initializer: Initializer of both kernels. Each head gets separate initial values.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of both kernels. A `HeadRegularizer` of this package applies
            to W1 alone, as in equation 7.
        attention_regularizer: Regularizer of the attention weights `(heads, time * dim)` of each
            example.
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
        `(batch, num_heads * dim)`, or `(batch, num_heads, dim)` with `flatten=False`; the scores
        are `(batch, num_heads, time, dim)`, or `(batch, num_heads, time)` with `per_feature=False`.

    Returns:
        The output in the compute dtype. `return_attention_scores=True` returns a pair: the output
        and the attention weights before dropout.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, or if the mask has a wrong shape or values other than 0 and 1.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    layer = keras_attnpool.layers.GeneralizedPooling(num_heads=3, hidden_dim=8)
    output, scores = layer(np.ones((2, 5, 16), "float32"), return_attention_scores=True)
    assert output.shape == (2, 48) and scores.shape == (2, 3, 5, 16)
    ```

    Weights, by name:

    - `hidden_kernel` `(heads, dim, hidden_dim)` is the transposed W1 of each head.
    - `hidden_bias` `(heads, hidden_dim)` is the b1 of each head.
    - `score_kernel` `(heads, hidden_dim, dim)` is the transposed W2 of each head.
    - `score_bias` `(heads, dim)` is the b2 of each head.
    - With `per_feature=False`, `score_kernel` is `(heads, hidden_dim, 1)` and `score_bias` is
      `(heads, 1)`.

    Reference:
        - Chen, Ling and Zhu, Enhancing Sentence Embedding with Generalized Pooling, equations 4-6
    """

    _heads_in_kernel = True

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        *,
        per_feature: bool = True,
        activation: ActivationLike = "relu",
        normalizer: str = "softmax",
        flatten: bool = True,
        chunk_size: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        attention_regularizer: RegularizerLike = None,
        vector_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals())

    def build(self, input_shape: Shape) -> None:
        """Creates the stacked kernels and biases of the heads."""
        dim = self._feature_dim(input_shape)
        width = dim if self.per_feature else 1
        only_hidden = isinstance(self.kernel_regularizer, HeadRegularizer)
        self.hidden_kernel = self._add_head_kernels(
            "hidden_kernel", (dim, self.hidden_dim), self.kernel_regularizer
        )
        self.score_kernel = self._add_head_kernels(
            "score_kernel",
            (self.hidden_dim, width),
            None if only_hidden else self.kernel_regularizer,
        )
        self.hidden_bias = self._add_bias("hidden_bias", (self.num_heads, self.hidden_dim))
        self.score_bias = self._add_bias("score_bias", (self.num_heads, width))

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        # A ReLU has no upper bound, so the products can overflow float16.
        dtype = "float32" if self.compute_dtype == "float16" else self.compute_dtype
        inputs = ops.cast(inputs, dtype)
        stacks = [self.hidden_kernel, self.score_kernel]
        if self.use_bias:
            stacks.append(self.hidden_bias)
        stacks = [ops.cast(stack, dtype) for stack in stacks]
        width = max(self.hidden_dim, self.score_kernel.shape[2])
        together = heads_together(inputs, self.num_heads, width)
        if call.in_chunks:
            weights = None
            vectors = chunked_softmax_pooling(
                self._logits,
                stacks,
                inputs,
                call.mask,
                self.chunk_size or 0,
                (self.num_heads, self.score_kernel.shape[-1]),
            )
            self._penalize(self.vector_regularizer, vectors, call)
        elif not self.per_feature:
            if together:
                logits = ops.squeeze(self._logits(inputs, *stacks), -1)
            else:
                logits = ops.concatenate(list(self._head_logits(inputs, *stacks)), axis=-1)
            vectors, weights = self._pool(inputs, heads_first(logits), call)
        elif together:
            hidden_kernel, score_kernel, *hidden_bias = stacks
            hidden = self._hidden(inputs, hidden_kernel, *hidden_bias)
            vectors, weights = self._pool_per_feature_at_once(inputs, hidden, score_kernel, call)
        else:
            heads = self._head_logits(inputs, *stacks)
            vectors, weights = self._pool_per_feature(inputs, heads, call)
        if self.use_bias:
            # The softmax over time cancels this bias, but its gradient must exist. Otherwise, Keras
            # warns that the weight is not trained.
            vectors = vectors + 0 * at_least_float32(self.score_bias)
        return self._merge_heads(vectors), weights

    def _scores_shape(self, input_shape: Shape) -> Shape:
        shape = super()._scores_shape(input_shape)
        return (*shape, input_shape[2]) if self.per_feature else shape

    def _logits(
        self, inputs: Tensor, hidden_kernel: Tensor, score_kernel: Tensor, *hidden_bias: Tensor
    ) -> Tensor:
        """Computes the logits `(batch, time, heads, dim or 1)` of the heads with given weights."""
        hidden = self._hidden(inputs, hidden_kernel, *hidden_bias)
        return at_least_float32(ops.einsum("bthe,hed->bthd", hidden, score_kernel))

    def _hidden(self, inputs: Tensor, kernel: Tensor, *biases: Tensor) -> Tensor:
        """Computes hidden layers `(batch, time, heads, hidden_dim)` of the heads in `kernel`."""
        hidden = ops.einsum("btd,hde->bthe", inputs, kernel)
        for bias in biases:
            hidden = hidden + bias
        return self.activation(hidden)

    def _head_logits(self, inputs: Tensor, *stacks: Tensor) -> Iterator[Tensor]:
        """Yields the logits `(batch, time, dim or 1)` head by head."""
        heads = zip(*(ops.split(stack, self.num_heads) for stack in stacks), strict=True)
        for weights in heads:
            yield ops.squeeze(self._logits(inputs, *weights), 2)
