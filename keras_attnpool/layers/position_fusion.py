"""Mixes several attentions and the tokens, feature by feature: the position fusion of MPSAN."""

import functools
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError, is_shape
from keras_attnpool.layers._fusion import FusionBase
from keras_attnpool.ops.masking import at_least_float32, zero_masked
from keras_attnpool.types import InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class PositionFusion(FusionBase):
    """Mixes several attentions over a text with the tokens, by weights computed from the tokens.

    The layer computes from attentions `s_1 ... s_k` and tokens `w`, all `(batch, time, dim)`:

    1. `a_1, ..., a_{k+1} = softmax over the k + 1 sources of W_P w + b_P`
    2. `output = a_1 * s_1 + ... + a_k * s_k + a_{k+1} * w`

    The paper calls the weights Tokens-Position-Weight. The tokens are the last source. So even a
    step whose attentions are zero keeps its token.

    Masking: `mask` has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. If the call has no `mask=`, the layer uses the mask of the first argument.
    If the first argument has no mask, the layer uses the mask of the second argument. The output
    and the weights are exactly 0 at padded steps, whatever values these steps hold. The output has
    the same mask.

    Args:
        dropout: Share of the tokens' features, in [0, 1), that is dropped in training before the
            weights are computed.
        use_bias: Whether the layer has biases.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        seed: Seed of the dropout. Initializers that have no seed get this seed too.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        attentions: List of `k >= 1` float tensors `(batch, time, dim)`.
        tokens: Float tensor `(batch, time, dim)`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step.
        training: Whether dropout is on.
        return_attention_scores: Whether to return `(output, scores)`.

    Input shape:
        `k + 1` shapes `(batch, time, dim)`; batch and time may be `None`.

    Output shape:
        `(batch, time, dim)`; the scores are `(batch, time, k + 1, dim)`, with the tokens as the
        last source.

    Returns:
        The mixture in the layer's compute dtype. `return_attention_scores=True` returns a pair: the
        mixture and its weights.

    Raises:
        ValueError: If an argument is invalid, if there is no attention, if the tensors do not have
            one shape `(batch, time, dim)`, if the number of attentions changes after the first
            call, or if the mask is not `(batch, time)` of 0 and 1.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    near = keras_attnpool.layers.PositionalSelfAttention(32, positions=("faraway_2",))(x)
    before = keras_attnpool.layers.PositionalSelfAttention(32, positions=("earlier",))(x)
    fused = keras_attnpool.layers.PositionFusion()([near, before], x)
    assert fused.shape == (None, None, 32)
    ```

    Weights, by name:

    - `kernel` `(dim, (k + 1) * dim)` is W_P transposed. The columns of one source are adjacent.
    - `bias` `((k + 1) * dim,)` is b_P.

    Difference: in the paper `b_P` has a column for each position, so the paper's layer could read
    only texts of one length. In the released code the bias is a vector, as in this layer. The
    released code also has a second bias vector, which has no effect.

    Reference:
        - Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
          equations 13-16
    """

    def __init__(
        self,
        *,
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals())

    def build(self, attentions_shape: Sequence[Shape] = (), tokens_shape: Shape = ()) -> None:
        """Creates W_P and b_P for the given number of sources."""
        self._check(attentions_shape, tokens_shape)
        dim = self._feature_dim(tokens_shape, "tokens")
        size = (len(attentions_shape) + 1) * dim
        self.kernel = self._add_kernel("kernel", (dim, size))
        self.bias = self._add_bias("bias", (size,))

    def call(
        self,
        attentions: Sequence[Tensor],
        tokens: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
        attentions_mask: Sequence[Tensor | None] | None = None,
        tokens_mask: Tensor | None = None,
    ) -> Any:
        """Mixes `k + 1` tensors `(batch, time, dim)` into one."""
        self._check([tuple(a.shape) for a in attentions], tuple(tokens.shape))
        tokens, mask = self._mask_inputs(tokens, self._mask(mask, attentions_mask, tokens_mask))
        sources = [zero_masked(ops.cast(a, self.compute_dtype), mask) for a in attentions]
        logits = self._dropped_product(tokens, training, self.kernel, self.bias)
        # The softmax loops over sources, because over a middle axis it is slow on some backends.
        logits = ops.split(logits, len(sources) + 1, axis=-1)
        highest = ops.stop_gradient(functools.reduce(ops.maximum, logits))
        exps = [ops.exp(logit - highest) for logit in logits]
        total = sum(exps)
        # Every source is 0 at padded steps, and so is their mixture.
        mixed = sum(e * at_least_float32(s) for e, s in zip(exps, [*sources, tokens], strict=True))
        scores = None
        if return_attention_scores:
            scores = zero_masked(ops.stack([e / total for e in exps], axis=2), mask)
        return self._mixed(mixed / total, scores, mask, return_attention_scores)

    def compute_mask(self, attentions: Any, mask: Any = None) -> Any:
        """Returns the mask of the attentions: the output has the same steps."""
        return self._mask(None, mask)

    def compute_output_shape(self, attentions_shape: Any, tokens_shape: Shape) -> Shape:
        """Returns the shape of the tokens."""
        return tuple(tokens_shape)

    def compute_output_spec(
        self,
        attentions: Sequence[Tensor],
        tokens: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
        **masks: Any,
    ) -> Any:
        """Returns the symbolic output, or the pair of output and scores."""
        self._check([tuple(a.shape) for a in attentions], tuple(tokens.shape))
        batch, time, dim = tokens.shape
        scores = (batch, time, len(attentions) + 1, dim)
        mask = self._mask(mask, *masks.values())
        return self._mixed_spec(tokens, scores, mask, return_attention_scores)

    def _check(self, attentions_shape: Any, tokens_shape: Any) -> None:
        # For a single tensor, Keras passes its shape instead of a list.
        listed = bool(attentions_shape) and isinstance(attentions_shape[0], (list, tuple))
        shapes = [tuple(s) for s in attentions_shape] if listed else [tuple(attentions_shape)]
        fits = listed and len(tokens_shape) == 3 and all(is_shape(s, tokens_shape) for s in shapes)
        expected = ""
        if self.built:
            dim, size = self.kernel.shape
            fits = fits and (len(shapes) + 1) * tokens_shape[-1] == size
            expected = f", as built: {size // dim - 1} attentions of dim {dim}"
        if not fits:
            raise ArgumentError(
                "attentions",
                f"be a list of tensors (batch, time, dim) of the shape of the `tokens`{expected}",
                f"attentions of shape {', '.join(map(str, shapes))}, tokens of shape "
                f"{tuple(tokens_shape)}",
                self,
            )
