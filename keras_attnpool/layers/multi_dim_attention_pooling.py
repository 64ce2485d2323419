"""Attention with a weight for every feature: the source2token pooling of DiSAN and MPSAN."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers.base import AttentionPoolingBase
from keras_attnpool.ops.masking import at_least_float32
from keras_attnpool.types import (
    ActivationLike,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    Shape,
    Tensor,
)


@keras.saving.register_keras_serializable(package="keras_attnpool")
class MultiDimAttentionPooling(AttentionPoolingBase):
    """Pools a sequence to one vector; every feature of it has attention weights of its own.

    With inputs `u_t` of one example:

    1. `e_t = W_b activation(W_a u_t + b_a) + b_b`, one score for each of the `dim` features
    2. `p_t = softmax over time of e_t`, each feature by itself
    3. `output = sum_t p_t * u_t`, element by element

    DiSAN calls this source2token attention; MPSAN ends in it. It is `GeneralizedPooling` with one
    head and an ELU. `b_b` moves all steps alike, so that the softmax cancels it: the weight is
    there as in the papers, and its gradient is exactly 0.

    Masking: the mask `(batch, time)` of the inputs, True = keep, holes allowed, comes from the
    layers before or as `mask=`. Padded steps have weight exactly 0 whatever they hold; a row
    without a kept step gives a zero vector. The output carries no mask.

    Args:
        hidden_dim: Size of the hidden layer, or `None` for that of the inputs, as in the papers.
        activation: Activation of the hidden layer.
        dropout: Share of the attention weights dropped in training, in [0, 1).
        use_bias: Whether there are `b_a` and `b_b`.
        kernel_initializer: Initializer of both kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of both kernels.
        bias_regularizer: Regularizer of the biases.
        attention_regularizer: Regularizer of the attention weights of each example.
        embedding_regularizer: Regularizer of the pooled vector of each example.
        kernel_constraint: Constraint of both kernels.
        bias_constraint: Constraint of the biases.
        seed: Seed of the dropout, and of initializers that have none of their own.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        mask: Boolean or 0/1 tensor `(batch, time)`, True = keep. Defaults to the inputs' Keras
            mask.
        training: Whether dropout is on.
        return_attention_scores: Whether to return `(output, scores)`.

    Input shape:
        `(batch, time, dim)`; batch and time may be unknown.

    Output shape:
        `(batch, dim)`; the scores are `(batch, time, dim)`.

    Returns:
        The vector, and on request the attention weights before dropout, both in the layer's compute
        dtype.

    Raises:
        ValueError: For an invalid argument, inputs that are not `(batch, time, dim)` with a known
            `dim`, or a mask that is not `(batch, time)` of 0 and 1.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    layer = keras_attnpool.layers.MultiDimAttentionPooling()
    output, scores = layer(np.ones((2, 5, 16), "float32"), return_attention_scores=True)
    assert output.shape == (2, 16) and scores.shape == (2, 5, 16)
    ```

    Weights, by name: `score_kernel` `(hidden_dim, dim)`, W_b transposed; `hidden/kernel` `(dim,
    hidden_dim)`, W_a transposed; with biases `score_bias` `(dim,)` and `hidden/bias`
    `(hidden_dim,)`.

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
        activation: ActivationLike = "elu",
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        attention_regularizer: RegularizerLike = None,
        embedding_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            dropout=dropout,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            attention_regularizer=attention_regularizer,
            embedding_regularizer=embedding_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            seed=seed,
            **kwargs,
        )
        self.hidden_dim = None if hidden_dim is None else self._positive(hidden_dim, "hidden_dim")
        self.activation = self._from_keras(keras.activations, activation, "activation")

    def build(self, input_shape: Shape) -> None:
        """Creates the hidden layer and the scores' kernel."""
        dim = self._feature_dim(input_shape)
        width = self.hidden_dim or dim
        self.hidden = self._hidden_dense(width, self.activation, input_shape)
        self.score_kernel = self._add_kernel("score_kernel", (width, dim))
        if self.use_bias:
            self.score_bias = self._add_bias("score_bias", (dim,))

    def call(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ) -> Any:
        """Pools `(batch, time, dim)` to `(batch, dim)`."""
        inputs, mask = self._read(inputs, mask)
        hidden = at_least_float32(self.hidden(inputs))
        logits = ops.matmul(hidden, at_least_float32(self.score_kernel))
        vectors, weights = self._attend_features(
            inputs, [logits], mask, training, return_attention_scores
        )
        output = ops.squeeze(vectors, 1)
        if self.use_bias:
            # Without a gradient, be it zero, Keras would warn that the weight is not trained.
            output = output + 0 * at_least_float32(self.score_bias)
        scores = None if weights is None else ops.squeeze(weights, 1)
        return self._output(output, scores, return_attention_scores)

    def _scores_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], input_shape[1], input_shape[2])

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "hidden_dim": self.hidden_dim,
            "activation": keras.activations.serialize(self.activation),
        }
