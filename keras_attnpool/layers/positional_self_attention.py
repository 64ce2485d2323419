"""Self-attention with position masks (windows, directions and distances), as in MPSAN."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._attention import Call, SequenceAttentionBase
from keras_attnpool.ops._additive_attention import additive_attention, banded_attention
from keras_attnpool.ops._devices import affine, pairs_together
from keras_attnpool.ops.positions import parse_positions
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class PositionalSelfAttention(SequenceAttentionBase):
    """Self-attention in which a step's position decides which steps it attends to.

    With inputs `w_t` of one example, where step `j` attends to step `i`:

    1. `h_t = activation(W_h w_t + b_h)`
    2. `f_ij = score_activation((U h_i + V h_j + b) / scale)`, one score, or `units` scores with
       `per_feature=True`. With `rescale_scores=True` the result is multiplied by `scale`
    3. `p_ij = softmax over i of (f_ij + M_ij)`
    4. `output_j = sum_i p_ij h_i`

    `M` is the sum of the masks in `positions`, and 0 for `()`:

    - `"faraway_m"` with a number for m: 0 where `0 < |i - j| <= m`, else -infinity
    - `"earlier"`: 0 where `i < j`, else -infinity
    - `"later"`: 0 where `i > j`, else -infinity
    - `"distance"`: `-|i - j|`
    - `"scaled_distance"`: `-log |i - j|`, 0 where `i = j`

    If a step may attend to no kept step, its vector and its weights are zero. Examples of such a
    step are the first step with `"earlier"`, the last step with `"later"`, and a single step with
    `"faraway_m"`. With a faraway mask, computing time and memory grow with `m * time`. Without a
    faraway mask, computing time and memory grow with `time^2`, or with `time^2 * units` if each
    feature has a score.

    ELU, the default score activation, is linear for positive values. For positive values, `V h_j`
    therefore adds the same number to all scores of a step, and the softmax cancels this number. The
    paper's equation has this property too.

    In distances, a padded step between kept steps counts as a step.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. No step
    attends to a padded step. The output and the weights are exactly 0 at padded steps, whatever
    values these steps hold. The output has the same mask.

    Args:
        units: Size of the output, the paper's d_h.
        positions: Tuple of the names of the position masks.
        scale: Divisor of the scores, the paper's c.
        per_feature: Whether each feature has a separate score.
        activation: Activation of step 1.
        score_activation: Activation of the scores.
        rescale_scores: Whether the activated scores are multiplied by `scale`. With
            `score_activation="tanh"` the scores then lie between -scale and scale, as in DiSAN and
            in MPSAN's published code.
        dropout: Share of each kernel's input features that is dropped in training, in [0, 1). The
            vectors that are summed or mixed keep all features.
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
        return_attention_scores: Whether to return `(output, scores)`. The scores have `time^2`
            entries, even with a faraway mask.

    Input shape:
        `(batch, time, dim)`; batch and time may be `None`.

    Output shape:
        `(batch, time, units)`; the scores are `(batch, query, key)`, with a last axis `units` if
        `per_feature=True`.

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
    words = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    layers = keras_attnpool.layers
    near = layers.PositionalSelfAttention(32, positions=("faraway_2",))(words)
    before = layers.PositionalSelfAttention(32, positions=("earlier", "scaled_distance"))(words)
    assert near.shape == before.shape == (None, None, 32)
    ```

    Weights, by name:

    - `hidden/kernel` `(dim, units)` is W_h transposed, and `hidden/bias` `(units,)` is b_h.
    - `source_kernel` and `target_kernel` `(units, 1)` are the transposes of U and V, and
      `score_bias` `(1,)` is b.
    - With `per_feature=True`, `units` replaces 1 in these shapes.

    Reference:
        - Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
          equations 1-12
    """

    def __init__(
        self,
        units: int,
        *,
        positions: Sequence[str] = ("faraway_2",),
        scale: float = 5.0,
        per_feature: bool = False,
        activation: ActivationLike = "elu",
        score_activation: ActivationLike = "elu",
        rescale_scores: bool = False,
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        relation = parse_positions(positions, type(self).__name__)
        super().__init__(locals())
        self._relation = relation

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        values = self._values(inputs, call)
        hidden = self._apply_dropout(values, call.training)
        # Division and bias come before the sums, because there are far more sums than terms.
        source = affine(hidden, self.source_kernel) / self.scale
        target = affine(hidden, self.target_kernel, self.score_bias) / self.scale
        offsets = self._relation.offsets
        if offsets is not None and not pairs_together(values, source.shape[-1]):
            output, scores = banded_attention(
                source,
                target,
                values,
                self._score,
                offsets,
                self._relation.offset_penalties,
                call.mask,
                call.with_scores,
            )
        else:
            output, scores = additive_attention(
                source,
                target,
                values,
                self._score,
                call.mask,
                *self._relation.tables(values),
                call.with_scores,
            )
        # The scores of one feature have no axis of features.
        if scores is not None and self.per_feature and self.units == 1:
            scores = ops.expand_dims(scores, -1)
        return output, scores

    def _score(self, x: Tensor) -> Tensor:
        x = self.score_activation(x)
        return x * self.scale if self.rescale_scores else x
