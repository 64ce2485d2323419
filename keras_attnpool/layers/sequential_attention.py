"""Sequential attention (SAM): feature-wise and token-wise attention, in either order."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import Validator
from keras_attnpool.layers._attention import AttentionBase, Call
from keras_attnpool.layers.feature_wise_attention import FeatureWiseAttention
from keras_attnpool.layers.token_wise_attention import MODES, TokenWiseAttention, known_length
from keras_attnpool.types import InitializerLike, RegularizerLike, Shape, Tensor

PARTS = ("feature", "token")
ORDER = Validator(
    "a list of 'feature', 'token' or both, each once",
    lambda value: (
        isinstance(value, list | tuple)
        and all(isinstance(part, str) and part in PARTS for part in value)
        and len(set(value)) == len(value) > 0
    ),
    tuple,
)


@keras.saving.register_keras_serializable(package="keras_attnpool")
class SequentialAttention(AttentionBase):
    """Weights the features and the tokens of an encoded sequence, in either order.

    The layer applies `FeatureWiseAttention` and `TokenWiseAttention` in the given `order`. The
    output is one vector if the tokens come last and `pooled=True`. In all other cases the output is
    the sequence of the weighted steps.

    Masking: the inputs' mask has the shape `(batch, time)`, and True keeps a step. Padded steps may
    lie between kept steps. Both parts use the mask. Padded steps have no effect. A row without a
    kept step gives zeros.

    Args:
        order: `("feature", "token")`, `("token", "feature")`, or a tuple with only one of these
            names.
        reduction: Divisor of the sizes of both hidden layers, see `FeatureWiseAttention` and
            `TokenWiseAttention`.
        threshold: Number in [0, 1] that is subtracted from the weight of every feature, the paper's
            delta.
        mode: Kind of network in the token-wise attention, `"dense"` or `"pointwise"`. `"dense"`
            needs a known length.
        hidden_dim: Hidden units of the token-wise attention. `None` takes the default of `mode`.
        pooled: Whether the token-wise attention sums the steps, if it is the last part.
        dropout: Share of each part's weights that is dropped in training, in [0, 1).
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
        `(batch, dim)` if the tokens come last and `pooled=True`, else `(batch, time, dim)`.

    Returns:
        The output. `return_attention_scores=True` returns a pair: the output and a dictionary. The
        entry `"feature"` `(batch, dim)` is the gate after the threshold. The entry `"token"`
        `(batch, time)` holds the weights of the steps.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, if the length is unknown or changes in dense mode, or if the mask is not
            `(batch, time)` of 0 and 1.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    x = keras_attnpool.layers.SequentialAttention(mode="pointwise")(x)
    model = keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(x))
    ```

    Weights, by name: each weight has its name in its own layer, with `feature/` or `token/` in
    front.

    Reference:
        - Zhou et al., Sequential Attention Module for Natural Language Processing, equations 1-6
    """

    def __init__(
        self,
        *,
        order: Sequence[str] = PARTS,
        reduction: int = 16,
        threshold: float = 0.0,
        mode: str = "dense",
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
        super().__init__(locals(), mode=MODES, order=ORDER)
        # Kernel initializers are cloned before bias initializers, so that no two parts share a
        # seed.
        kernels = [self._clone_initializer(self.kernel_initializer) for _ in self.order]
        biases = [self._clone_initializer(self.bias_initializer) for _ in self.order]
        # This creates the states of the parts' dropout, named after the layer and the part.
        with keras.name_scope(self.name):
            # Each layer is an attribute, for Flax NNX: docs/upstream/keras-nnx-lists.md. The
            # attributes come after the property in the alphabet, so that files keep the property's
            # name.
            for index, each in enumerate(zip(kernels, biases, strict=True)):
                setattr(self, f"parts_{index}", self._part(index, *each))

    @property
    def parts(self) -> list[FeatureWiseAttention | TokenWiseAttention]:
        """The layers, in their order."""
        return [getattr(self, f"parts_{index}") for index in range(len(self.order))]

    def build(self, input_shape: Shape) -> None:
        """Builds the parts for the shape of the inputs."""
        self._feature_dim(input_shape)
        if "token" in self.order and self.mode == "dense":
            known_length(self, input_shape)
        for part in self.parts:
            part.build(input_shape)

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        output, scores = inputs, {}
        for name, part in zip(self.order, self.parts, strict=True):
            # The output of a part is 0 at padding, so the next part does not mask it again.
            output, scores[name] = part._compute_attention(output, call)
            output = ops.cast(output, self.compute_dtype)
        return output, scores

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Returns the mask of the inputs, or `None` if the last part pools."""
        return self.parts[-1].compute_mask(inputs, mask)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns the output shape of the last part."""
        return tuple(self.parts[-1].compute_output_shape(input_shape))

    def _scores_shape(self, input_shape: Shape) -> Any:
        return {
            name: part._scores_shape(input_shape)
            for name, part in zip(self.order, self.parts, strict=True)
        }

    def _check_steps(self, inputs: Tensor, mask: Tensor | None, owner: Any = None) -> None:
        for part in self.parts:
            part._check_steps(inputs, mask, self)

    def _part(
        self, index: int, kernel_initializer: Any, bias_initializer: Any
    ) -> FeatureWiseAttention | TokenWiseAttention:
        """Creates the layer for one place in the order, with separate initial values."""
        common = self._sublayer_kwargs(
            self.order[index],
            reduction=self.reduction,
            dropout=self.dropout,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            seed=None if self.seed is None else (self.seed + index) % 2**31,
        )
        if self.order[index] == "feature":
            return FeatureWiseAttention(threshold=self.threshold, **common)
        last = index == len(self.order) - 1
        return TokenWiseAttention(
            mode=self.mode, hidden_dim=self.hidden_dim, pooled=self.pooled and last, **common
        )
