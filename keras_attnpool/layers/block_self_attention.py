"""Attention within blocks and between blocks, for long texts: the layer of Bi-BloSAN."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._attention import Call
from keras_attnpool.layers._directional import DirectionalAttentionBase
from keras_attnpool.layers.directional_self_attention import DirectionalSelfAttention
from keras_attnpool.ops._devices import constant
from keras_attnpool.ops._steps import counted, front_first, looked_up, take_steps
from keras_attnpool.ops._vector_pooling import normalized, softmax_terms
from keras_attnpool.ops.masking import highest_along, zero_masked
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor

LARGEST_ROOT = 1290
"""The largest root whose cube is a 32-bit integer."""


@keras.saving.register_keras_serializable(package="keras_attnpool")
class BlockSelfAttention(DirectionalAttentionBase):
    """Attends in one direction within short blocks of a text, and between the blocks.

    The layer is one direction of Bi-BloSAN. The inputs `x_t` of one example are cut into blocks of
    `r` steps:

    1. `h_t = activation(W x_t + b)`
    2. `g_t` is the output of an attention inside the block: step `t` attends to the steps that
       `direction` allows, as in steps 2 to 4 of `DirectionalSelfAttention`
    3. `v = sum_t p_t * g_t` for each block, with `p_t = softmax over the block's steps of W_v g_t +
       b_v`, for each feature separately
    4. `o = DirectionalSelfAttention(v)`, with each block as one step
    5. `z_t = [h_t; g_t; o of the block of t]`
    6. `F_t = activation(W_z z_t + b_z)` and `G_t = sigmoid(W_g z_t + b_g)`
    7. `output_t = G_t * F_t + (1 - G_t) * h_t`

    A text of `n` steps has blocks of `r = ceil((2 n)^(1/3))` steps. With these blocks, memory grows
    as `n^(4/3)`. With attention between all steps, memory would grow as `n^2`. `b_v` adds the same
    number to all steps of a block, and the softmax cancels this number. So the gradient of `b_v` is
    exactly 0. The layer has `b_v` only because the released code has it.

    The first block begins at the first kept step. A padded step between kept steps takes a place in
    its block. A block without a kept step is 0. Without `block_length`, `n` is the length of each
    text, from the first to the last kept step. So the length and the side of the padding do not
    change a result.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. No step
    attends to a padded step. The output and the weights are exactly 0 at padded steps, whatever
    values these steps hold. The output has the same mask.

    Args:
        units: Size of the output and of the hidden states.
        direction: The steps and the blocks that a step attends to. `"forward"` allows earlier
            steps, `"backward"` allows later steps, and `None` allows all steps except the step
            itself. For a block, `"forward"` allows earlier blocks, `"backward"` allows later
            blocks, and `None` allows all other blocks. The paper uses the same names.
        block_length: Number of steps of a block, the paper's r. `None` is `ceil((2 n)^(1/3))`.
        scale: Bound of the scores, the paper's c.
        activation: Activation of steps 1 and 6, and of the hidden layer in step 4.
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
        return_attention_scores: Whether to return `(output, scores)`.

    Input shape:
        `(batch, time, dim)`; batch and time may be `None`.

    Output shape:
        `(batch, time, units)`. The scores are a dict with two entries. `"intra"` `(batch, blocks,
        query, key, units)` holds the scores between the steps of each block. `"inter"` `(batch,
        blocks, blocks, units)` holds the scores between blocks, with the query block first. The
        sizes of both entries are computed for a text of `time` steps.

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

    layer = keras_attnpool.layers.BlockSelfAttention(8, direction="forward", block_length=10)
    output, scores = layer(np.ones((2, 100, 16), "float32"), return_attention_scores=True)
    assert output.shape == (2, 100, 8)
    assert scores["intra"].shape == (2, 10, 10, 10, 8) and scores["inter"].shape == (2, 10, 10, 8)
    ```

    Weights, by name:

    - `hidden/kernel` `(dim, units)` is W transposed.
    - `source_kernel` and `target_kernel` `(units, units)` make the scores within a block.
    - `block_kernel` `(units, units)` is W_v transposed.
    - `fusion_kernel` and `gate_kernel` `(3 * units, units)` are the transposes of W_z and W_g.
    - `hidden/bias`, `score_bias`, `block_bias`, `fusion_bias` and `gate_bias` have the shape
      `(units,)`.
    - The names of the attention between blocks begin with `inter/`, see `DirectionalSelfAttention`.

    Difference: the released code computes the block length from the padded length of a batch, and
    blocks of words attend to blocks of padding. So the result of the released code depends on the
    padding. The result of this layer does not depend on the padding.

    Reference:
        - Shen et al., 2018, Bi-Directional Block Self-Attention for Fast and Memory-Efficient
          Sequence Modeling, its masked block self-attention
    """

    def __init__(
        self,
        units: int,
        *,
        direction: str | None = "forward",
        block_length: int | None = None,
        scale: float = 5.0,
        activation: ActivationLike = "elu",
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
        """Creates the weights of both attentions and of the fusion."""
        super().build(input_shape)
        units = self.units
        self.block_kernel = self._add_kernel("block_kernel", (units, units))
        self.fusion_kernel = self._add_kernel("fusion_kernel", (3 * units, units))
        self.gate_kernel = self._add_kernel("gate_kernel", (3 * units, units))
        self.block_bias = self._add_bias("block_bias", (units,))
        self.fusion_bias = self._add_bias("fusion_bias", (units,))
        self.gate_bias = self._add_bias("gate_bias", (units,))
        self.inter = DirectionalSelfAttention(
            units,
            direction=self.direction,
            scale=self.scale,
            activation=self.activation,
            **self._sublayer_arguments("inter"),
        )
        self.inter.build((None, None, units))

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        blocks, places = self._grid(ops.shape(inputs)[1])
        mask = call.mask
        if mask is None:
            mask = ops.ones(ops.shape(inputs)[:2], dtype="bool")
            steps, filled, back = self._cut(mask, blocks, places)
        else:
            # Blocks count from the first kept step.
            order, return_order = front_first(mask)
            steps, filled, back = self._cut(take_steps(mask, order), blocks, places)
            steps, back = take_steps(order, steps), take_steps(back, return_order)
        units = self.units
        # From here on, each row is a block: (batch * blocks, places, units).
        hidden = ops.reshape(take_steps(self._values(inputs, call), steps), (-1, places, units))
        within, intra = self._directional_attention(hidden, call._replace(mask=filled))
        # A block of padding has a zero vector already.
        vectors = ops.reshape(self._pool(within, filled, call), (-1, blocks, units))
        some = ops.reshape(ops.any(filled, axis=1), (-1, blocks))
        between, inter = self.inter._compute_attention(vectors, call._replace(mask=some))
        # Each filled place gets the vector of its block. The other places are never read.
        between = ops.multiply(ops.reshape(between, (-1, 1, units)), ops.expand_dims(filled, 2))
        output = self._fuse(hidden, within, between, call)
        output = take_steps(ops.reshape(output, (-1, blocks * places, units)), back)
        if call.with_scores:
            intra = ops.reshape(intra, (-1, blocks, places, places, units))
        scores = {"intra": intra, "inter": inter}
        return zero_masked(output, mask), scores

    def _scores_shape(self, input_shape: Shape) -> Any:
        batch, time, _ = input_shape
        blocks, places = (None, None) if time is None else self._grid(time)
        return {
            "intra": (batch, blocks, places, places, self.units),
            "inter": (batch, blocks, blocks, self.units),
        }

    def _grid(self, time: Any) -> tuple[Any, Any]:
        """Returns the number of blocks and the places per block, for up to `time` steps.

        Both are integers if `time` is an integer. Both are tensors if the length is unknown until
        the graph runs.
        """
        static = isinstance(time, int)
        lower, higher = (min, max) if static else (ops.minimum, ops.maximum)
        if self.block_length is None:
            length = _block_length_of_int(time) if static else _block_length(time)
            # A shorter text has shorter blocks, so it may have more blocks. The number is largest
            # for (length - 1)^3 / 2 steps in blocks of length - 1.
            shorter = ((length - 1) * (length - 1) + 1) // 2
        else:
            length, shorter = self.block_length, 1
        sizes = higher((time + length - 1) // length, shorter), lower(length, time)
        # All sizes of a shape have one dtype in ONNX. The sizes of PyTorch are int64.
        return sizes if static else tuple(ops.cast(size, time.dtype) for size in sizes)

    def _cut(self, mask: Tensor, blocks: Any, places: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the indices from steps to places in blocks, and back.

        Returns three tensors. The first is the step at each place `(batch, blocks * places)`. The
        second tells whether this step is kept `(batch * blocks, places)`. The third is the place of
        each step `(batch, time)`.
        """
        time, size = ops.shape(mask)[1], blocks * places

        def of_length(length: Tensor) -> list[Tensor]:
            """Computes the numbers that follow from the block length of each text, `(n, 1)`."""
            length = ops.maximum(length, 1)  # a table begins with 0
            step = ops.transpose(counted(0, blocks)) * ops.expand_dims(length, 2)
            step = step + counted(0, places)
            inside = ops.logical_and(counted(0, places) < ops.expand_dims(length, 2), step < time)
            back = counted(0, time) // length * places + counted(0, time) % length
            return [
                ops.reshape(ops.where(inside, step, 0), (-1, size)),
                # A place without a step gets a number above the numbers of all steps.
                ops.reshape(ops.where(inside, 1, time + 1), (-1, size)),
                # Such a block may lie beyond the end of a text. Its values are never read.
                ops.minimum(back, size - 1),
            ]

        # Kept steps are numbered from 1; padded steps have the number 0.
        kept = ops.multiply(mask, constant(("numbers", time), mask, lambda: counted(1, time + 1)))
        length = ops.expand_dims(highest_along(kept, 1), 1)
        if self.block_length is None:
            static = isinstance(time, int)
            (length,) = looked_up(
                ("length", time), length, time + 1, (1,), lambda ends: [_block_length(ends)]
            )
            longest = _block_length_of_int(time) if static else time
        else:
            length, longest = ops.full_like(length, self.block_length), self.block_length
        name = ("blocks", self.block_length, time)
        step, least, back = looked_up(name, length, longest + 1, (size, size, time), of_length)
        filled = take_steps(kept, step) >= least
        return step, ops.reshape(filled, (-1, places)), back

    def _pool(self, within: Tensor, filled: Tensor, call: Call) -> Tensor:
        """Computes the vector `v` of each block; 0 for a block of padding."""
        logits = self._dropped_product(within, call.training, self.block_kernel, self.block_bias)
        exps, total = softmax_terms(logits, filled, exact=False)
        return normalized(ops.sum(exps * within, axis=1), total)

    def _fuse(self, hidden: Tensor, within: Tensor, between: Tensor, call: Call) -> Tensor:
        """Computes steps 5 to 7."""
        every = ops.concatenate([hidden, within, between], axis=-1)
        fusion = self._dropped_product(every, call.training, self.fusion_kernel, self.fusion_bias)
        gate = self._dropped_product(every, call.training, self.gate_kernel, self.gate_bias)
        gate = ops.sigmoid(gate)
        return hidden + gate * (self.activation(fusion) - hidden)


def _block_length_of_int(length: int) -> int:
    """Returns the smallest `r` with `r^3 >= 2 * length`. (A float root may be wrong by one.)"""
    root = 1
    while root**3 < 2 * length:
        root += 1
    return root


def _block_length(lengths: Tensor) -> Tensor:
    """The same as `_block_length_of_int`, for a tensor of integers."""
    # The count starts from 0, because OpenVINO lost a 1 that was added to the sum in this layer. A
    # model of the sum alone is right there, so no page in docs/upstream/ has a program.
    roots = ops.arange(0, LARGEST_ROOT + 1, dtype="int32")
    smaller = roots * roots * roots < ops.maximum(2 * ops.expand_dims(lengths, -1), 1)
    return ops.sum(ops.cast(smaller, lengths.dtype), axis=-1)
