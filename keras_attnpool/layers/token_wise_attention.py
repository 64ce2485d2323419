"""Token-wise attention (SAM): one weight per step, from the maximum and mean of its features."""

from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._attention import AttentionBase, Call
from keras_attnpool.ops._steps import front_first, take_steps
from keras_attnpool.ops.masking import (
    at_least_float32,
    highest_along,
    masked_softmax,
    masked_softmax_or_even,
)
from keras_attnpool.types import InitializerLike, RegularizerLike, Shape, Tensor

MODES = ("dense", "pointwise")
POINTWISE_UNITS = 8


def known_length(owner: keras.layers.Layer, input_shape: Shape) -> int:
    """Returns the number of steps that the dense weights are made for.

    Raises:
        ValueError: If the number is unknown; the message names the layer `owner`.
    """
    if input_shape[1] is None:
        raise ArgumentError(
            "inputs",
            'have a known length with mode="dense", which has weights for each position; '
            'mode="pointwise" takes any length',
            f"shape {tuple(input_shape)}",
            owner,
        )
    return int(input_shape[1])


@keras.saving.register_keras_serializable(package="keras_attnpool")
class TokenWiseAttention(AttentionBase):
    """Weights the steps of a sequence by the maximum and the mean of their features.

    For one example with inputs `X` `(time, dim)` and `ffn(x) = relu(x W1 + b1) W2 + b2`:

    1. `M = softmax over time of (ffn(max over dim of X) + ffn(mean over dim of X))`, `(time,)`
    2. `output = sum over t of M_t x_t`, or the steps `M_t x_t` with `pooled=False`

    The paper's network is `mode="dense"`, which maps the `time` numbers of a text to `time` scores.
    So each position has separate weights, and all texts must have the same known length. Positions
    are counted from the first kept step. `mode="pointwise"` computes the score of each step from
    the number of this step alone, so texts may have any length.

    Masking: the inputs' mask has the shape `(batch, time)`, and True keeps a step. Padded steps may
    lie between kept steps. The network reads 0 at padded steps, and their weight is exactly 0. A
    row without a kept step gives zeros. The side of the padding does not change the result. In
    pointwise mode the length of the padding does not change the result either. A pooled output has
    no mask. Weighted steps carry the mask of the inputs.

    Args:
        mode: `"dense"` or `"pointwise"`.
        reduction: In dense mode the hidden layer has `time // reduction` units, but at least 1. In
            pointwise mode the hidden layer has 8 units.
        hidden_dim: Units of the hidden layer. `None` uses the number that `reduction` gives.
        pooled: Whether the weighted steps are summed.
        dropout: Share of the attention weights that is dropped in training, in [0, 1).
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
        `(batch, time, dim)`; batch may be `None`. In pointwise mode time may be `None` as well.

    Output shape:
        `(batch, dim)`, or `(batch, time, dim)` with `pooled=False`; the scores are
        `(batch, time)`.

    Returns:
        The output in the compute dtype. `return_attention_scores=True` returns a pair: the output
        and the attention weights before dropout.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, if the length is unknown or changes in dense mode, or if the mask is not
            `(batch, time)` of 0 and 1.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((50,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    x = keras_attnpool.layers.TokenWiseAttention()(x)
    model = keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(x))
    ```

    Weights, by name, with `n = time` in dense mode and `n = 1` in pointwise mode:

    - `hidden/kernel` `(n, hidden)` is W1, and `hidden/bias` `(hidden,)` is b1.
    - `score_kernel` `(hidden, n)` is W2, and `score_bias` `(n,)` is b2. In pointwise mode the
      softmax cancels b2.

    Reference:
        - Zhou et al., Sequential Attention Module for Natural Language Processing, equations 1, 5
          and 6
    """

    def __init__(
        self,
        *,
        mode: str = "dense",
        reduction: int = 16,
        hidden_dim: int | None = None,
        pooled: bool = True,
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), mode=MODES)

    def build(self, input_shape: Shape) -> None:
        """Creates the two dense layers."""
        self._feature_dim(input_shape)
        size, hidden = 1, POINTWISE_UNITS
        if self.mode == "dense":
            size = known_length(self, input_shape)
            hidden = max(1, size // self.reduction)
        self._build_scores((None, size), self.hidden_dim or hidden, size, "relu")

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        values = at_least_float32(inputs)
        pooled = highest_along(values, 2), ops.mean(values, axis=2)
        if self.mode == "dense" and call.mask is not None:
            order, back = front_first(call.mask)
            logits = take_steps(self._scores(*(take_steps(x, order) for x in pooled)), back)
        else:
            logits = self._scores(*pooled)
        # The steps of an empty row are zero with any gate.
        softmax = masked_softmax if call.with_scores else masked_softmax_or_even
        weights = softmax(logits, call.mask)
        used = self._apply_dropout(weights, call.training)
        if self.pooled:
            # This is one matrix product, because a sum would write the weighted steps first.
            output = ops.squeeze(ops.matmul(ops.expand_dims(used, 1), values), 1)
        else:
            output = ops.expand_dims(used, 2) * values
        return output, weights

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Returns `None` if the output is pooled, else the mask of the inputs."""
        return None if self.pooled else mask

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, dim)`, or `(batch, time, dim)` with `pooled=False`."""
        return (input_shape[0], input_shape[2]) if self.pooled else tuple(input_shape)

    def _check_steps(self, inputs: Tensor, mask: Tensor | None, owner: Any = None) -> None:
        """Raises if dense weights exist for another length."""
        if self.mode == "pointwise" or not self.built:
            return
        expected = self.score_kernel.shape[1]
        if inputs.shape[1] not in (None, expected):
            raise ArgumentError(
                "inputs",
                f'have {expected} steps with mode="dense", as those that it was built for; pad or '
                'cut them, or take mode="pointwise"',
                f"shape {tuple(inputs.shape)}",
                owner or self,
            )

    def _scores(self, *pooled: Tensor) -> Tensor:
        """Applies the shared network to each `(batch, time)`, and adds the outputs."""
        both = ops.stack([ops.cast(x, self.compute_dtype) for x in pooled], axis=1)
        if self.mode == "dense":
            return ops.sum(self._attention_logits(both), axis=1)
        # The inputs are rows, because TensorFlow cannot multiply all 4-axis tensors with a kernel
        # (docs/upstream/tensorflow-batch-matmul.md).
        scores = self._attention_logits(ops.reshape(both, (-1, 1)))
        return ops.sum(ops.reshape(scores, ops.shape(both)), axis=1)
