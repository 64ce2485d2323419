"""Feature-wise attention (SAM): a gate for each feature of a text."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._attention import AttentionBase, Call
from keras_attnpool.ops.masking import (
    at_least_float32,
    max_of_zeroed,
    mean_of_zeroed,
    zero_masked_rows,
)
from keras_attnpool.types import InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class FeatureWiseAttention(AttentionBase):
    """Multiplies each feature by a gate computed from its maximum and mean over time.

    For one example with inputs `X` `(time, dim)` and `ffn(x) = relu(x W1 + b1) W2 + b2`:

    1. `M = sigmoid(ffn(max over time of X) + ffn(mean over time of X))`, `(dim,)`
    2. `M' = max(0, M - threshold)`
    3. `output_t = M' * x_t`

    Features whose weight is below the threshold become 0. Untrained weights are near 0.5. So a
    threshold above 0.5 sets nearly all features to 0 at the start of training, and these features
    get no gradient.

    Masking: the inputs' mask has the shape `(batch, time)`, and True keeps a step. Padded steps may
    lie between kept steps. Maximum and mean use only the kept steps. Padded steps are 0 in the
    output. A row without a kept step has a gate of zeros. The output has the same mask.

    Args:
        reduction: The hidden layer has `dim // reduction` units, but at least 1 unit.
        threshold: Number in [0, 1] that is subtracted from the weight of every feature, the paper's
            delta.
        dropout: Share of the gate's entries that is dropped in training, in [0, 1).
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
        `(batch, time, dim)`; the scores are `(batch, dim)`, the gate after the threshold.

    Returns:
        The weighted steps in the layer's compute dtype. `return_attention_scores=True` returns a
        pair: the weighted steps and the gate.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, or if the mask has a wrong shape or values other than 0 and 1.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    x = keras_attnpool.layers.FeatureWiseAttention(reduction=4)(x)
    x = keras_attnpool.layers.TokenWiseAttention(mode="pointwise")(x)
    model = keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(x))
    ```

    Weights, by name:

    - `hidden/kernel` `(dim, hidden)` is W1, and `hidden/bias` `(hidden,)` is b1.
    - `score_kernel` `(hidden, dim)` is W2, and `score_bias` `(dim,)` is b2.

    Reference:
        - Zhou et al., Sequential Attention Module for Natural Language Processing, equations 1-4
    """

    def __init__(
        self,
        reduction: int = 16,
        *,
        threshold: float = 0.0,
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals())

    def build(self, input_shape: Shape) -> None:
        """Creates the two dense layers."""
        dim = self._feature_dim(input_shape)
        self._build_scores((None, dim), max(1, dim // self.reduction), dim, "relu")

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        logits = self._scores(max_of_zeroed(inputs, call.mask), mean_of_zeroed(inputs, call.mask))
        gate = ops.sigmoid(logits)
        if self.threshold:
            gate = ops.relu(gate - self.threshold)
        if call.with_scores:
            # The steps of an empty row are zero with any gate.
            gate = zero_masked_rows(gate, call.mask)
        # The gate's gradient is a sum over time, which can overflow float16.
        used = self._apply_dropout(gate, call.training)
        return at_least_float32(inputs) * ops.expand_dims(used, 1), gate

    def _scores_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], input_shape[2])

    def _scores(self, *pooled: Tensor) -> Tensor:
        """Applies the shared network to each `(batch, dim)`, and adds the outputs."""
        both = ops.stack([ops.cast(x, self.compute_dtype) for x in pooled], axis=1)
        return ops.sum(self._attention_logits(both), axis=1)
