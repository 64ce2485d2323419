"""Attention with one weight per step and feature: the source2token pooling of DiSAN and MPSAN."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._attention import AttentionPoolingBase, Call
from keras_attnpool.ops._devices import heads_together
from keras_attnpool.ops.masking import at_least_float32
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class MultiDimAttentionPooling(AttentionPoolingBase):
    """Pools a sequence to one vector, with one attention weight per step and feature.

    With inputs `u_t` of one example:

    1. `e_t = W_b activation(W_a u_t + b_a) + b_b`, one score for each of the `dim` features
    2. `p_t = softmax over time of e_t`, for each feature separately
    3. `output = sum_t p_t * u_t`, element by element

    DiSAN calls this pooling source2token attention. MPSAN also has this pooling. The layer equals
    `GeneralizedPooling` with one head and `activation="elu"`. `b_b` adds the same number to all
    steps, and the softmax cancels this number. So the gradient of `b_b` is exactly 0. The layer has
    `b_b` only because the papers have it.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. A padded step
    has a weight of exactly 0, whatever values it holds. A row without a kept step gives zeros. The
    output has no mask.

    Args:
        hidden_dim: Size of the hidden layer. `None` is `dim`, as in the papers.
        activation: Activation of the hidden layer.
        normalizer: Function that turns scores into weights: `"softmax"`, `"sparsemax"` or
            `"entmax15"`. `"sparsemax"` and `"entmax15"` can give weights of exactly 0.
        chunk_size: `None`, or the number of time steps that are scored at once. The layer does not
            store the scores of a chunk. The backward pass computes these scores again. With chunks
            a long text needs less memory and more time. Chunks change the result only by rounding
            errors. `return_attention_scores=True` computes all scores at once. Chunks work only
            with `normalizer="softmax"`. Chunks do not work with `dropout` or
            `attention_regularizer`, which need all weights at once.
        dropout: Share of the attention weights that is dropped in training, in [0, 1).
        use_bias: Whether the layer has biases.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        attention_regularizer: Regularizer of the attention weights of each example.
        vector_regularizer: Regularizer of the pooled vector of each example.
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
        `(batch, dim)`; the scores are `(batch, time, dim)`.

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

    layer = keras_attnpool.layers.MultiDimAttentionPooling()
    output, scores = layer(np.ones((2, 5, 16), "float32"), return_attention_scores=True)
    assert output.shape == (2, 16) and scores.shape == (2, 5, 16)
    ```

    Weights, by name:

    - `hidden/kernel` `(dim, hidden_dim)` is W_a transposed, and `hidden/bias` `(hidden_dim,)` is
      b_a.
    - `score_kernel` `(hidden_dim, dim)` is W_b transposed, and `score_bias` `(dim,)` is b_b.

    Reference:
        - Shen et al., 2018, DiSAN: Directional Self-Attention Network for RNN/CNN-Free Language
          Understanding: multi-dimensional source2token self-attention
        - Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification, its
          multi-dimensional attention
    """

    wide_inside = True

    def __init__(
        self,
        hidden_dim: int | None = None,
        *,
        activation: ActivationLike = "elu",
        normalizer: str = "softmax",
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
        """Creates the hidden layer and the scores' kernel."""
        dim = self._feature_dim(input_shape)
        self._build_scores(input_shape, self.hidden_dim or dim, dim, self.activation)

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        if call.in_chunks:
            features = (1, inputs.shape[2])
            vectors, weights = self._pool_in_chunks(self._logits, inputs, call.mask, features), None
            self._penalize(self.vector_regularizer, vectors, call)
        elif heads_together(inputs, 1, inputs.shape[2]):
            hidden = ops.expand_dims(at_least_float32(self.hidden(inputs)), 2)
            kernel = at_least_float32(self.score_kernel)[None]
            vectors, weights = self._pool_per_feature_at_once(inputs, hidden, kernel, call)
        else:
            vectors, weights = self._pool_per_feature(inputs, [self._logits(inputs)], call)
        output = ops.squeeze(vectors, 1)
        if self.use_bias:
            # The bias needs a gradient, although it is zero. Without a gradient, Keras warns that
            # the weight is not trained.
            output = output + 0 * at_least_float32(self.score_bias)
        scores = None if weights is None else ops.squeeze(weights, 1)
        return output, scores

    def _logits(self, x: Tensor) -> Tensor:
        """Computes the scores `(..., dim)`, without the bias that the softmax cancels."""
        return ops.matmul(at_least_float32(self.hidden(x)), at_least_float32(self.score_kernel))

    def _scores_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], input_shape[1], input_shape[2])
