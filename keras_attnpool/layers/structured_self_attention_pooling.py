"""Several learned contexts attend to the sequence: the matrix embedding of Lin et al."""

from typing import Any

import keras

from keras_attnpool.layers._attention import MultiHeadPoolingBase, heads_first
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

    With `gated=True` the hidden layer is that of Ilse et al., `activation(W_s1 H^T) *
    sigmoid(W_g H^T)`.

    The paper's penalty `||A A^T - I||_F^2` is
    `attention_regularizer=keras_attnpool.regularizers.AttentionOrthogonality(...)`.

    Args:
        num_heads: Number of attention heads, the paper's r.
        hidden_dim: Size of the hidden layer in front of the scores, the paper's d_a.
        activation: Activation of the hidden layer.
        use_bias: Whether the hidden layer, its gate and the scores have biases; the paper has none.
            A bias of the scores moves all steps of a head alike, so that the softmax cancels it.

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
    `(hidden_dim,)`; with `gated=True` `gate/kernel` and `gate/bias` as those of `hidden`.

    Reference:
        - Lin et al., 2017, A Structured Self-Attentive Sentence Embedding, eq. 5-8
        - Ilse, Tomczak and Welling, 2018, Attention-based Deep Multiple Instance Learning, eq. 9
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
        super().__init__(**kwargs)
        self._keep(locals())

    def build(self, input_shape: Shape) -> None:
        """Creates the hidden layer and the scores' kernel."""
        self._feature_dim(input_shape)
        self._build_scores(input_shape, self.hidden_dim, self.num_heads, self.activation)

    def _weigh(self, inputs: Tensor, mask: Any, training: bool | None, with_scores: bool) -> Any:
        logits = heads_first(self._scored(inputs))
        vectors, weights = self._attend(inputs, logits, mask, training, with_scores)
        return self._lay_out(vectors), weights
