"""Several learned contexts attend to the sequence: the matrix embedding of Lin et al."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers.base import MultiHeadPoolingBase
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
class StructuredSelfAttentionPooling(MultiHeadPoolingBase):
    """Pools a sequence to several vectors, one a head, by structured self-attention.

    With inputs `H` `(time, dim)` of one example:

    1. `A = softmax over time of W_s2 activation(W_s1 H^T)`, `(heads, time)`
    2. `M = A H`, `(heads, dim)`, laid out head after head

    Masking: the mask `(batch, time)` of the inputs, True = keep, holes allowed, comes from the
    layers before or as `mask=`. Padded steps have weight exactly 0 whatever they hold; a row
    without a kept step gives zero vectors. The output carries no mask.

    The paper's penalty `||A A^T - I||_F^2` is
    `attention_regularizer=keras_attnpool.regularizers.AttentionOrthogonality(...)`.

    Args:
        num_heads: Number of attention heads, the paper's r.
        hidden_dim: Size of the hidden layer in front of the scores, the paper's d_a.
        activation: Activation of the hidden layer.
        flatten: `True`: the output is `(batch, heads * dim)`; `False`: `(batch, heads, dim)`.
        dropout: Share of the attention weights dropped in training, in [0, 1).
        use_bias: Whether the hidden layer and the scores have biases; the paper has none. A bias of
            the scores moves all steps of a head alike, so that the softmax cancels it.
        kernel_initializer: Initializer of both kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of both kernels.
        bias_regularizer: Regularizer of the biases.
        attention_regularizer: Regularizer of the attention weights of each example.
        embedding_regularizer: Regularizer of the heads' vectors of each example.
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
        `(batch, num_heads * dim)`, or `(batch, num_heads, dim)` with `flatten=False`; the scores
        are `(batch, num_heads, time)`.

    Returns:
        The heads' vectors, and on request the attention weights before dropout, both in the
        layer's compute dtype.

    Raises:
        ValueError: For an invalid argument, inputs that are not `(batch, time, dim)` with a known
            `dim`, or a mask that is not `(batch, time)` of 0 and 1.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    layer = keras_attnpool.layers.StructuredSelfAttentionPooling(num_heads=4, hidden_dim=8)
    output, scores = layer(np.ones((2, 5, 16), "float32"), return_attention_scores=True)
    assert output.shape == (2, 64) and scores.shape == (2, 4, 5)
    ```

    Weights, by name: `score_kernel` `(hidden_dim, num_heads)`, W_s2 transposed; `hidden/kernel`
    `(dim, hidden_dim)`, W_s1 transposed; with biases `score_bias` `(num_heads,)` and `hidden/bias`
    `(hidden_dim,)`.

    Reference:
        - Lin et al., 2017, A Structured Self-Attentive Sentence Embedding, eq. 5-8
    """

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        activation: ActivationLike = "tanh",
        flatten: bool = True,
        dropout: float = 0.0,
        use_bias: bool = False,
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
            num_heads,
            flatten=flatten,
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
        self.hidden_dim = self._positive(hidden_dim, "hidden_dim")
        self.activation = self._from_keras(keras.activations, activation, "activation")

    def build(self, input_shape: Shape) -> None:
        """Creates the hidden layer and the scores' kernel."""
        self._feature_dim(input_shape)
        self.hidden = self._hidden_dense(self.hidden_dim, self.activation, input_shape)
        self.score_kernel = self._add_kernel("score_kernel", (self.hidden_dim, self.num_heads))
        if self.use_bias:
            self.score_bias = self.add_weight(
                name="score_bias",
                shape=(self.num_heads,),
                initializer=self._fresh(self.bias_initializer),
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def call(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ) -> Any:
        """Pools `(batch, time, dim)` to `(batch, num_heads * dim)`."""
        inputs, mask = self._read(inputs, mask)
        hidden = at_least_float32(self.hidden(inputs))
        logits = ops.matmul(hidden, at_least_float32(self.score_kernel))
        if self.use_bias:
            logits = logits + at_least_float32(self.score_bias)
        logits = ops.transpose(logits, (0, 2, 1))
        vectors, weights = self._attend(inputs, logits, mask, training)
        return self._output(self._lay_out(vectors), weights, return_attention_scores)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "hidden_dim": self.hidden_dim,
            "activation": keras.activations.serialize(self.activation),
        }
