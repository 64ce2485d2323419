"""Attention to the steps of one direction with a weight for every feature: DiSAN's unit."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers.base import SequenceAttentionBase
from keras_attnpool.layers.fusion_gate import FusionGate
from keras_attnpool.ops._additive_attention import additive_attention
from keras_attnpool.ops.masking import at_least_float32
from keras_attnpool.ops.positions import Relation
from keras_attnpool.types import (
    ActivationLike,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    Shape,
    Tensor,
)

# Where the key is allowed, seen from the query.
DIRECTIONS = {
    "forward": Relation(highest=-1),
    "backward": Relation(lowest=1),
    None: Relation(itself=False),
}


class DirectionalAttentionBase(SequenceAttentionBase):
    """Base of the layers with DiSAN's masked attention; not public.

    A subclass computes `_hidden_states`, attends to them by `_attend`, and makes its output of
    both.
    """

    wide_inside = True

    def __init__(
        self,
        units: int,
        *,
        direction: str | None,
        scale: float,
        activation: ActivationLike,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, **kwargs)
        if not isinstance(direction, str | None) or direction not in DIRECTIONS:
            raise ValueError(
                f"`direction` of {type(self).__name__} must be one of {tuple(DIRECTIONS)}. "
                f"Received: direction={direction!r}"
            )
        self.direction = direction
        self.scale = self._positive_number(scale, "scale")
        self.activation = self._from_keras(keras.activations, activation, "activation")

    def build(self, input_shape: Shape) -> None:
        """Creates the hidden layer and the weights of the scores."""
        self._feature_dim(input_shape)
        self.hidden = self._hidden_dense(self.units, self.activation, input_shape)
        self.source_kernel = self._add_kernel("source_kernel", (self.units, self.units))
        self.target_kernel = self._add_kernel("target_kernel", (self.units, self.units))
        if self.use_bias:
            self.score_bias = self._add_bias("score_bias", (self.units,))

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "direction": self.direction,
            "scale": self.scale,
            "activation": keras.activations.serialize(self.activation),
        }

    def _inner_arguments(self) -> dict[str, Any]:
        """The common arguments for a layer inside, with numbers of its own where they are drawn.

        It must be made after this layer's own weights, since its seeds go on where theirs end.
        """
        return {
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "kernel_initializer": self._fresh(self.kernel_initializer),
            "bias_initializer": self._fresh(self.bias_initializer),
            "kernel_regularizer": self.kernel_regularizer,
            "bias_regularizer": self.bias_regularizer,
            "kernel_constraint": self.kernel_constraint,
            "bias_constraint": self.bias_constraint,
            "seed": None if self.seed is None else self.seed + 1,
            "dtype": self._inner_policy(),
        }

    def _hidden_states(self, inputs: Tensor, training: bool | None) -> Tensor:
        """`h`, `(batch, time, units)`, in float32 at least; not 0 at padded steps."""
        return at_least_float32(self.hidden(self._drop(inputs, training)))

    def _product(self, x: Tensor, kernel: Any) -> Tensor:
        """`x` times a kernel; a product in float16 can leave its range."""
        dtype = "float32" if self.compute_dtype == "float16" else self.compute_dtype
        return at_least_float32(ops.matmul(ops.cast(x, dtype), ops.cast(kernel, dtype)))

    def _attend(
        self,
        hidden: Tensor,
        mask: Tensor | None,
        training: bool | None,
        return_attention_scores: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """The attention `s`, 0 at padded steps, and its weights `(..., query, key, units)`."""
        dropped = self._drop(hidden, training)
        source = self._product(dropped, self.source_kernel)
        target = self._product(dropped, self.target_kernel)
        if self.use_bias:
            target = target + at_least_float32(self.score_bias)
        output, scores = additive_attention(
            # Divided before the sums: those are far more numbers.
            source / self.scale,
            target / self.scale,
            hidden,
            lambda x: self.scale * ops.tanh(x),
            mask,
            DIRECTIONS[self.direction].allowed(ops.shape(hidden)[1]),
            return_attention_scores=return_attention_scores,
            bounded=self.scale <= 10,
        )
        # One feature comes without an axis of features.
        if scores is not None and self.units == 1:
            scores = ops.expand_dims(scores, -1)
        return output, scores


@keras.saving.register_keras_serializable(package="keras_attnpool")
class DirectionalSelfAttention(DirectionalAttentionBase):
    """Each step attends to those before it, or to those after it, and is mixed with what it finds.

    With inputs `x_t` of one example, `i` the step attended to and `j` the one that attends:

    1. `h_t = activation(W x_t + b)`
    2. `f_ij = scale * tanh((W_1 h_i + W_2 h_j + b_s) / scale)`, one score for each of the `units`
       features
    3. `P_ij = softmax over i of f_ij`, each feature by itself, over the steps `i < j` with
       `direction="forward"`, `i > j` with `"backward"`, all but `j` with `None`
    4. `s_j = sum_i P_ij * h_i`, element by element
    5. `F_j = sigmoid(W_f1 h_j + W_f2 s_j + b_f)`, a `FusionGate`
    6. `output_j = F_j * h_j + (1 - F_j) * s_j`

    A step that may attend to nothing, the first one with `"forward"`, has `s_j = 0`. DiSAN joins a
    forward and a backward layer. The scores take `time^2 * units` numbers; for long texts there is
    `BlockSelfAttention`.

    Masking: the mask `(batch, time)` of the inputs, True = keep, holes allowed, comes from the
    layers before or as `mask=`. Padded steps are attended to by none, and are exactly 0 in output
    and weights, whatever they hold. The output carries the mask.

    Args:
        units: Size of the output, and of everything inside.
        direction: `"forward"`: attend to earlier steps; `"backward"`: to later ones; `None`: to all
            but the step itself.
        scale: Bound of the scores, the paper's c.
        activation: Activation of step 1.
        dropout: Share of the features dropped in training in front of every kernel, in [0, 1). The
            values that are summed and mixed are not dropped.
        use_bias: Whether there are biases.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        bias_regularizer: Regularizer of the biases.
        kernel_constraint: Constraint of the kernels.
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
        `(batch, time, units)`; the scores are `(batch, query, key, units)`.

    Returns:
        The mixture, and on request the attention weights `P`, both in the layer's compute dtype.

    Raises:
        ValueError: For an invalid argument, inputs that are not `(batch, time, dim)` with a known
            `dim`, or a mask that is not `(batch, time)` of 0 and 1.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    forward = keras_attnpool.layers.DirectionalSelfAttention(32, "forward")(x)
    backward = keras_attnpool.layers.DirectionalSelfAttention(32, "backward")(x)
    x = keras.layers.Concatenate()([forward, backward])
    vector = keras_attnpool.layers.MultiDimAttentionPooling()(x)
    assert vector.shape == (None, 64)
    ```

    Weights, by name: `hidden/kernel` `(dim, units)`, W transposed; `source_kernel` and
    `target_kernel` `(units, units)`, W_1 and W_2 transposed; `gate/inputs_kernel` and
    `gate/attention_kernel` `(units, units)`, W_f1 and W_f2 transposed; with biases `hidden/bias`
    and `score_bias`, and `gate/inputs_bias`, `gate/attention_bias` and `gate/output_bias`, whose
    sum is b_f, all `(units,)`.

    What differs: at a step without a source, and at padding, a softmax over numbers lowered by a
    large constant would be uniform, which the released code then multiplies away. Here such weights
    are 0 from the start.

    Reference:
        - Shen et al., 2018, DiSAN: Directional Self-Attention Network for RNN/CNN-Free Language
          Understanding: directional self-attention
    """

    def __init__(
        self,
        units: int,
        direction: str | None = "forward",
        scale: float = 5.0,
        activation: ActivationLike = "elu",
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            units,
            direction=direction,
            scale=scale,
            activation=activation,
            dropout=dropout,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            seed=seed,
            **kwargs,
        )

    def build(self, input_shape: Shape) -> None:
        """Creates the weights of the attention and the gate."""
        super().build(input_shape)
        self.gate = FusionGate(**self._inner_arguments(), name="gate")
        shape = self.compute_output_shape(input_shape)
        self.gate.build(shape, shape)

    def call(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ) -> Any:
        """Maps `(batch, time, dim)` to `(batch, time, units)`."""
        inputs, mask = self._read(inputs, mask)
        hidden = self._hidden_states(inputs, training)
        attention, scores = self._attend(hidden, mask, training, return_attention_scores)
        output = self.gate(hidden, attention, mask=mask, training=training)
        return self._output(output, scores, return_attention_scores)

    def _scores_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], input_shape[1], input_shape[1], self.units)
