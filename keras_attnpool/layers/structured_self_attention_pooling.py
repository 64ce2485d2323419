"""Several learned contexts attend to the sequence, as in the matrix embedding of Lin et al."""

from typing import Any

import keras

from keras_attnpool.layers._attention import Call, MultiHeadPoolingBase
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class StructuredSelfAttentionPooling(MultiHeadPoolingBase):
    """Pools a sequence to several vectors, one per head, by structured self-attention.

    With inputs `H` `(time, dim)` of one example:

    1. `A = softmax over time of W_s2 activation(W_s1 H^T)`, `(heads, time)`
    2. `M = A H`, `(heads, dim)`; the output joins the heads' vectors

    With `gated=True` the hidden layer has the form of Ilse et al.,
    `activation(W_s1 H^T) * sigmoid(W_g H^T)`.

    The paper's penalty `||A A^T - I||_F^2` is
    `attention_regularizer=keras_attnpool.regularizers.AttentionOrthogonality(...)`.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. A padded step
    has a weight of exactly 0, whatever values it holds. A row without a kept step gives zeros. The
    output has no mask.

    Args:
        num_heads: Number of attention heads, the paper's r.
        hidden_dim: Size of the hidden layer in front of the scores, the paper's d_a.
        activation: Activation of the hidden layer.
        gated: Whether the hidden layer is multiplied by a learned gate.
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
        use_bias: Whether the hidden layer, its gate and the scores have biases. The paper has no
            biases. A bias of the scores adds the same number to all steps of a head, and the
            softmax cancels this number.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
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
        `(batch, num_heads * dim)`, or `(batch, num_heads, dim)` with `flatten=False`; the scores
        are `(batch, num_heads, time)`.

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

    layer = keras_attnpool.layers.StructuredSelfAttentionPooling(num_heads=4, hidden_dim=8)
    output, scores = layer(np.ones((2, 5, 16), "float32"), return_attention_scores=True)
    assert output.shape == (2, 64) and scores.shape == (2, 4, 5)
    ```

    Weights, by name:

    - `hidden/kernel` `(dim, hidden_dim)` is W_s1 transposed.
    - `score_kernel` `(hidden_dim, num_heads)` is W_s2 transposed.
    - `hidden/bias` `(hidden_dim,)` and `score_bias` `(num_heads,)`, with `use_bias=True`.
    - With `gated=True`, `gate/kernel` and `gate/bias` have the shapes of `hidden/kernel` and
      `hidden/bias`.

    Reference:
        - Lin et al., 2017, A Structured Self-Attentive Sentence Embedding, equations 5-8
        - Ilse, Tomczak and Welling, 2018, Attention-based Deep Multiple Instance Learning, equation
          9
    """

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        *,
        activation: ActivationLike = "tanh",
        gated: bool = False,
        normalizer: str = "softmax",
        flatten: bool = True,
        chunk_size: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = False,
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
        self._feature_dim(input_shape)
        self._build_scores(input_shape, self.hidden_dim, self.num_heads, self.activation)

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        vectors, weights = self._pool_scored(self._attention_logits, inputs, call, self.num_heads)
        return self._merge_heads(vectors), weights
