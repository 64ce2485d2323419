"""Weighted mean and standard deviation: one attention weight per step, or per step and feature."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._attention import NORMALIZERS, AttentionPoolingBase, Call, heads_first
from keras_attnpool.ops._devices import scalar_like
from keras_attnpool.ops.masking import at_least_float32, statistics_of_zeroed, zero_masked_rows
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class AttentiveStatisticsPooling(AttentionPoolingBase):
    """Pools a sequence to its weighted mean and its weighted standard deviation.

    With inputs `h_t` of one example:

    1. `e_t = V activation(W h_t + b) + k`, one score, or one score per feature with
       `per_feature=True`
    2. `alpha = softmax over time of e`
    3. `mu = sum_t alpha_t * h_t`, `sigma = sqrt(max(sum_t alpha_t * (h_t - mu)^2, epsilon))`
    4. `output = [mu; sigma]`

    The paper of Okabe et al., 2018, writes the variance as `sum_t alpha_t * h_t^2 - mu^2`. The
    paper's formula gives the same number with larger rounding errors. `k` adds the same number to
    all steps, and the softmax cancels this number. With `global_context=True`, `W [h_t; m; s]`
    replaces `W h_t`. Here `m = sum_t h_t / n` is the mean of the `n` kept steps, and `s =
    sqrt(max(sum_t (h_t - m)^2 / n, epsilon))` is the standard deviation of these steps. The part `W
    [0; m; s] + b` is the same for all steps, so the layer computes this part only once per row.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. A padded step
    has a weight of exactly 0, whatever values it holds. A row without a kept step gives zeros. The
    output has no mask.

    Args:
        hidden_dim: Size of the hidden layer in front of the scores.
        per_feature: Whether each feature has separate weights. With `False` all features share one
            weight per step.
        global_context: Whether the hidden layer also reads the mean and the standard deviation of
            the whole sequence (ECAPA-TDNN).
        activation: Activation of the hidden layer.
        gated: Whether the hidden layer is multiplied by a learned gate.
        normalizer: Function that turns scores into weights: `"softmax"`, `"sparsemax"` or
            `"entmax15"`. `"sparsemax"` and `"entmax15"` can give weights of exactly 0.
        epsilon: The smallest variance, a number > 0. In `sigma` and `s`, smaller variances are set
            to `epsilon` and get no gradient.
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
        attention_regularizer: Regularizer of the attention weights. The weights of a text count as
            one head.
        vector_regularizer: Regularizer of the pooled vectors. The vector of a text counts as one
            head.
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
        `(batch, 2 * dim)`; the scores are `(batch, time)`, or `(batch, time, dim)` with
        `per_feature=True`.

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

    layer = keras_attnpool.layers.AttentiveStatisticsPooling(hidden_dim=8)
    output, scores = layer(np.ones((2, 5, 16), "float32"), return_attention_scores=True)
    assert output.shape == (2, 32) and scores.shape == (2, 5)
    ```

    Weights, by name:

    - `hidden/kernel` `(dim, hidden_dim)`, or `(3 * dim, hidden_dim)` with `global_context=True`, is
      W transposed.
    - `score_kernel` `(hidden_dim, 1)`, or `(hidden_dim, dim)` with `per_feature=True`, is V
      transposed.
    - `hidden/bias` `(hidden_dim,)` is b. `score_bias` `(1,)`, or `(dim,)` with `per_feature=True`,
      is k.
    - With `gated=True`, `gate/kernel` and `gate/bias` have the shapes of `hidden/kernel` and
      `hidden/bias`.

    Reference:
        - Okabe, Koshinaka and Shinoda, 2018, Attentive Statistics Pooling for Deep Speaker
          Embedding, equations 3-6
        - Desplanques, Thienpondt and Demuynck, 2020, ECAPA-TDNN, equations 1-3: weights for each
          feature, and the global context
    """

    def __init__(
        self,
        hidden_dim: int,
        *,
        per_feature: bool = False,
        global_context: bool = False,
        activation: ActivationLike = "tanh",
        gated: bool = False,
        normalizer: str = "softmax",
        epsilon: float = 1e-12,
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
        size = dim if self.per_feature else 1
        read = (*input_shape[:2], 3 * dim if self.global_context else dim)
        self._build_scores(read, self.hidden_dim, size, self.activation)

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        """Pools `(batch, time, dim)` to `(batch, 2 * dim)`."""
        if call.in_chunks:
            (mean, variance), weights = self._chunked_moments(inputs, call.mask), None
        else:
            mean, variance, weights = self._moments(inputs, call)
        sigma = ops.sqrt(ops.maximum(variance, scalar_like(self.epsilon, variance)))
        output = zero_masked_rows(ops.concatenate([mean, sigma], axis=-1), call.mask)
        self._penalize(self.vector_regularizer, ops.expand_dims(output, 1), call)
        return output, weights

    def _moments(self, inputs: Tensor, call: Call) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the weighted mean and the weighted variance `(batch, dim)`, and the weights."""
        values, mask = at_least_float32(inputs), call.mask
        kept = None if mask is None else ops.expand_dims(mask, 2)
        context = None
        if self.global_context:
            context = statistics_of_zeroed(values, mask, self.epsilon)
        logits = self._attention_logits(inputs, context)
        weights = NORMALIZERS[self.normalizer](logits, kept, axis=1)
        self._penalize(self.attention_regularizer, ops.expand_dims(weights, 1), call)
        used = self._apply_dropout(weights, call.training)

        def summed(x: Tensor) -> Tensor:
            if self.per_feature:
                return ops.sum(used * x, axis=1, keepdims=True)
            # A matrix product needs no intermediate tensor as large as the inputs.
            return ops.matmul(heads_first(used), x)

        mean = summed(values)
        variance = summed(ops.square(values - mean))
        scores = weights if self.per_feature else ops.squeeze(weights, 2)
        return ops.squeeze(mean, 1), ops.squeeze(variance, 1), scores

    def _chunked_moments(self, inputs: Tensor, mask: Any) -> list[Tensor]:
        """Returns the weighted mean and variance `(batch, dim)`, computed chunk by chunk."""
        context = []
        if self.global_context:
            # Equal weights give the moments of all kept steps.
            alike = self._pool_in_chunks(
                lambda chunk: 0 * chunk[..., :1], inputs, mask, variance=True
            )
            mean, variance = (ops.squeeze(each, 1) for each in alike)
            sigma = ops.sqrt(ops.maximum(variance, scalar_like(self.epsilon, variance)))
            context.append(ops.concatenate([mean, sigma], axis=-1))
        features = (1, self.score_kernel.shape[1])
        pooled = self._pool_in_chunks(
            self._attention_logits, inputs, mask, features, context, variance=True
        )
        return [ops.squeeze(each, 1) for each in pooled]

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, 2 * dim)`."""
        batch, _, dim = input_shape
        return (batch, None if dim is None else 2 * dim)

    def _scores_shape(self, input_shape: Shape) -> Shape:
        return tuple(input_shape) if self.per_feature else tuple(input_shape[:2])
