"""One learned context attends to the sequence: the simplest attention pooling."""

from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._attention import AttentionPoolingBase, Call
from keras_attnpool.ops.masking import at_least_float32, zero_masked_rows
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class AttentionPooling(AttentionPoolingBase):
    """Pools a sequence to one vector by attention with one learned context vector.

    With `hidden_dim` this is the attention of hierarchical attention networks:

    1. `u_t = activation(x_t W + b)`, `(batch, time, hidden_dim)`
    2. `alpha = softmax over time of u_t^T context`, `(batch, time)`
    3. `output = output_activation(sum_t alpha_t x_t)`, `(batch, dim)`

    Without `hidden_dim`, `u_t = activation(x_t)`, and the context vector is the only weight.
    Without `hidden_dim` and with `output_activation="tanh"`, the layer is the attention of Zhou et
    al. With `gated=True` the hidden layer has the form of Ilse et al.: `u_t = activation(x_t W + b)
    * sigmoid(x_t U + b_g)`.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. A padded step
    has a weight of exactly 0, whatever values it holds. A row without a kept step gives zeros. The
    output has no mask.

    Args:
        hidden_dim: Size of the hidden layer that computes the scores. `None` leaves out the hidden
            layer.
        activation: Activation of the hidden layer, or of the inputs if there is no hidden layer.
        output_activation: Activation of the pooled vector. `None` is the identity. A row without a
            kept step gives zeros with every activation.
        gated: Whether the hidden layer is multiplied by a learned gate. A gate needs `hidden_dim`.
        normalizer: Function that turns scores into weights: `"softmax"`, `"sparsemax"` or
            `"entmax15"`. `"sparsemax"` and `"entmax15"` can give weights of exactly 0.
        chunk_size: `None`, or the number of time steps that are scored at once. The layer does not
            store the scores of a chunk. The backward pass computes these scores again. With chunks
            a long text needs less memory and more time. Chunks change the result only by rounding
            errors. `return_attention_scores=True` computes all scores at once. Chunks work only
            with `normalizer="softmax"`. Chunks do not work with `dropout` or
            `attention_regularizer`, which need all weights at once.
        dropout: Share of the attention weights that is dropped in training, in [0, 1).
        use_bias: Whether the hidden layer and its gate have biases.
        kernel_initializer: Initializer of the hidden kernels and the context.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the hidden kernels and the context.
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
        `(batch, dim)`; the scores are `(batch, time)`.

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
    x = keras_attnpool.layers.AttentionPooling(hidden_dim=16)(x)
    model = keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(x))
    ```

    Weights, by name:

    - `hidden/kernel` `(dim, hidden_dim)` is W, and `hidden/bias` `(hidden_dim,)` is b.
    - `context` has the shape `(hidden_dim,)`, or `(dim,)` without a hidden layer.
    - With `gated=True`, `gate/kernel` is U, and `gate/bias` is b_g. U has the shape of W, and b_g
      has the shape of b.

    Reference:
        - Yang et al., 2016, Hierarchical Attention Networks for Document Classification, equations
          5-7
        - Zhou et al., 2016, Attention-Based Bidirectional LSTM Networks for Relation
          Classification, equations 9-12
        - Ilse, Tomczak and Welling, 2018, Attention-based Deep Multiple Instance Learning,
          equations 7-9
    """

    def __init__(
        self,
        hidden_dim: int | None = None,
        *,
        activation: ActivationLike = "tanh",
        output_activation: ActivationLike = None,
        gated: bool = False,
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
        if self.gated and self.hidden_dim is None:
            received = {"gated": True, "hidden_dim": None}
            raise ArgumentError(
                "gated", "be False without `hidden_dim`", received, "AttentionPooling"
            )

    def build(self, input_shape: Shape) -> None:
        """Creates the hidden layer, if any, and the context vector."""
        dim = self._feature_dim(input_shape)
        if self.hidden_dim is not None:
            self._build_hidden(input_shape, self.hidden_dim, self.activation)
        self.context = self._add_kernel("context", (self.hidden_dim or dim,))

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        vectors, weights = self._pool_scored(self._logits, inputs, call)
        output = self.output_activation(ops.squeeze(vectors, 1))
        if self.output_activation not in (keras.activations.linear, keras.activations.tanh):
            # `output_activation` may map the zeros of an empty row to other values.
            output = zero_masked_rows(output, call.mask)
        return output, None if weights is None else ops.squeeze(weights, 1)

    def _logits(self, inputs: Tensor) -> Tensor:
        """Returns the scores `(batch, time, 1)`, in float32 or float64."""
        hidden = self.activation(inputs) if self.hidden_dim is None else self._hidden_states(inputs)
        context = at_least_float32(ops.expand_dims(self.context, 1))
        return ops.matmul(at_least_float32(hidden), context)
