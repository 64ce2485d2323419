"""Low-rank multi-head attention pooling (LAMA)."""

from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError, Validator, is_shape
from keras_attnpool.layers._attention import Call, MultiHeadPoolingBase, heads_first
from keras_attnpool.ops.masking import at_least_float32, mean_of_zeroed, zero_masked_rows
from keras_attnpool.ops.normalization import l2_normalize
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor

CONTEXT = Validator(
    "one of ('mean', 'learned'); pass a tensor at the call instead",
    lambda value: isinstance(value, str) and value in ("mean", "learned"),
)


@keras.saving.register_keras_serializable(package="keras_attnpool")
class LowRankAttentionPooling(MultiHeadPoolingBase):
    """Pools a sequence to several vectors by low-rank bilinear attention with a context.

    For one example with inputs `h_t` `(dim,)` and a context `c` `(context_dim,)`:

    1. `u_t = tanh(W h_t + b)`, or `u_t = h_t` with `use_hidden=False`
    2. `f_t = (P^T c) * (Q^T u_t)`, `(heads,)`; with `rank=k` both factors have `heads * k` entries,
       and each head adds up its k products
    3. `f_t = l2(activation(f_t))`: each token's scores are divided by their norm over the heads
    4. `A = softmax over time of f`, `(heads, time)`
    5. `S = A H`, `(heads, dim)`; the output joins the heads' vectors

    Each head has `(context_dim + dim) * rank` parameters. After the l2 norm every score is in [-1,
    1]. So the largest weight of a head is at most `e^2` (7.4) times the smallest weight. For a long
    text, the result is then almost the mean. `learn_scale=True` multiplies the scores of each head
    by a learned number. `learn_scale` is our addition, and it is off by default. With `num_heads=1`
    the layer leaves out the l2 norm, because every score would become 1 or -1, without a gradient.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. A padded step
    has a weight of exactly 0, whatever values it holds. A row without a kept step gives zeros. The
    output has no mask.

    Args:
        num_heads: Number of attention heads, the paper's m.
        rank: Rank of each head's bilinear form, the paper's k.
        context: The context that the layer uses if the call has no `context=`. `"mean"` is the
            masked mean of the inputs of each row. `"learned"` is one learned vector for all rows.
        use_hidden: Whether the layer has the hidden layer of step 1.
        l2_normalize: Whether step 3 divides by the l2 norm.
        learn_scale: Whether each head's scores are multiplied by a learned number before step 4.
        activation: Activation of the scores in step 3; `None` leaves it out.
        normalizer: Function that turns scores into weights: `"softmax"`, `"sparsemax"` or
            `"entmax15"`. `"sparsemax"` and `"entmax15"` can give weights of exactly 0.
        flatten: Whether the output is `(batch, heads * dim)`. With `False` the output is `(batch,
            heads, dim)`.
        dropout: Share of the attention weights that is dropped in training, in [0, 1).
        use_bias: Whether the hidden layer of step 1 has a bias. P and Q have no bias.
        kernel_initializer: Initializer of P, Q and the learned context.
        hidden_initializer: Initializer of W. `None` is the paper's normal distribution with mean 0
            and standard deviation 0.1.
        bias_initializer: Initializer of b. `None` is the same normal distribution as for W.
        scale_initializer: Initializer of the learned scale. With `"ones"`, training starts from the
            paper's scores.
        kernel_regularizer: Regularizer of W, P, Q and the learned context.
        attention_regularizer: Regularizer of the attention weights of each example. The paper's
            equation 19a is `AttentionOrthogonality(0.2)`.
        vector_regularizer: Regularizer of the heads' vectors of each example. The paper's equation
            19b is `CosineDisagreement(0.2)`.
        seed: Seed of the dropout. Initializers that have no seed get this seed too.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step. Defaults to the
            inputs' Keras mask.
        context: Float tensor `(batch, context_dim)`, such as the mean of the word embeddings, as a
            keyword argument. `context=` is not allowed with `context="learned"`. Defaults to the
            constructor's `context`. The first call fixes `context_dim`.
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
            known `dim`, if the context is not a float tensor `(batch, context_dim)`, or if the mask
            has a wrong shape or values other than 0 and 1.

    Example:

    ```python
    import keras
    import keras_attnpool

    tokens = keras.Input((None,), dtype="int32")
    embeddings = keras.layers.Embedding(1000, 32, mask_zero=True)(tokens)
    x = keras_attnpool.layers.BidirectionalGRU(16)(embeddings)
    context = keras_attnpool.layers.MaskedAveragePooling1D()(embeddings)
    x = keras_attnpool.layers.LowRankAttentionPooling(num_heads=4)(x, context=context)
    model = keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(x))
    ```

    Weights, by name:

    - `context_kernel` `(context_dim, heads * rank)` is P. The columns of one head are adjacent.
    - `token_kernel` `(dim, heads * rank)` is Q. The columns of one head are adjacent.
    - `hidden/kernel` `(dim, dim)` is W, and `hidden/bias` `(dim,)` is b.
    - `context` `(dim,)` is the learned context, with `context="learned"`.
    - `scale` `(heads,)` multiplies the scores, with `learn_scale=True`.

    Reference:
        - Mehta, Rangwala and Ramakrishnan, Compact Multi-Head Self-Attention for Learning
          Supervised Text Representations, equations 7-15
    """

    def __init__(
        self,
        num_heads: int,
        rank: int = 1,
        *,
        context: str = "mean",
        use_hidden: bool = True,
        l2_normalize: bool = True,
        learn_scale: bool = False,
        activation: ActivationLike = "tanh",
        normalizer: str = "softmax",
        flatten: bool = True,
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        hidden_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        scale_initializer: InitializerLike = "ones",
        kernel_regularizer: RegularizerLike = None,
        attention_regularizer: RegularizerLike = None,
        vector_regularizer: RegularizerLike = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        if bias_initializer is None:
            bias_initializer = keras.initializers.RandomNormal(stddev=0.1)
        if hidden_initializer is None:
            hidden_initializer = keras.initializers.RandomNormal(stddev=0.1)
        super().__init__(locals(), context=CONTEXT)

    def build(self, inputs_shape: Shape, context_shape: Shape | None = None) -> None:
        """Creates W, P, Q and the weights of the options."""
        dim = self._feature_dim(inputs_shape)
        self._check_context_shape(inputs_shape, context_shape)
        self._built_with_context = context_shape is not None
        context_dim = dim if context_shape is None else self._feature_dim(context_shape, "context")
        size = self.num_heads * self.rank
        self.context_kernel = self._add_kernel("context_kernel", (context_dim, size))
        self.token_kernel = self._add_kernel("token_kernel", (dim, size))
        if self.context == "learned":
            self.context_vector = self._add_kernel("context", (dim,))
        if self.learn_scale:
            self.scale = self._add("scale", "scale", (self.num_heads,))
        if self.use_hidden:
            own = {"kernel_initializer": self._clone_initializer(self.hidden_initializer)}
            self.hidden = self._hidden_dense(dim, "tanh", inputs_shape, **own)

    def call(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        *,
        context: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
        inputs_mask: Tensor | None = None,
    ) -> Any:
        """Pools `(batch, time, dim)` to `(batch, num_heads * dim)`."""
        # With a second tensor argument Keras passes the mask of the inputs as `inputs_mask`.
        inputs, mask = self._mask_inputs(inputs, inputs_mask if mask is None else mask)
        context = None if context is None else ops.convert_to_tensor(context)
        self._check_context(inputs.shape, context, mask)
        logits = heads_first(self._scores(inputs, context, mask))
        call = Call(mask, training, return_attention_scores)
        vectors, weights = self._pool(inputs, logits, call)
        return self._output(self._merge_heads(vectors), weights, return_attention_scores)

    def compute_output_shape(
        self, inputs_shape: Shape, context_shape: Shape | None = None
    ) -> Shape:
        """Returns `(batch, heads * dim)`, or `(batch, heads, dim)` with `flatten=False`."""
        return super().compute_output_shape(inputs_shape)

    def compute_output_spec(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        *,
        context: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
        inputs_mask: Tensor | None = None,
    ) -> Any:
        """Returns the symbolic output, or the pair of output and scores."""
        self._check_context(inputs.shape, context, mask)
        mask = inputs_mask if mask is None else mask
        return super().compute_output_spec(inputs, mask, training, return_attention_scores)

    def _check_context(
        self, inputs_shape: Shape, context: Tensor | None, mask: Tensor | None
    ) -> None:
        """Raises an error if mask and context are swapped."""
        if context is None:
            # `layer(x, context)` passes the context as the mask.
            floats = isinstance(mask, keras.KerasTensor) and mask.dtype.startswith("float")
            other_size = self.built and self.context_kernel.shape[0] != inputs_shape[-1]
            if self.built and self._built_with_context and (floats or other_size):
                raise ArgumentError(
                    "context",
                    "be passed as `context=`, since the layer was built with one; the second "
                    "argument is the mask",
                    f"context=None, mask={mask!r}",
                    self,
                )
            return
        dtype = keras.backend.standardize_dtype(context.dtype)
        if "float" not in dtype:
            must = "be floats, one vector per row; pass a mask as `mask=`"
            received = f"context of dtype {dtype} and shape {tuple(context.shape)}"
            raise ArgumentError("context", must, received, self)
        self._check_context_shape(inputs_shape, tuple(context.shape))

    def _check_context_shape(self, inputs_shape: Shape, context_shape: Shape | None) -> None:
        if context_shape is None:
            return
        if self.context == "learned":
            must = "be left out of the call of a layer with context='learned'"
            raise ArgumentError("context", must, f"a context of shape {tuple(context_shape)}", self)
        # A built layer knows the context's size.
        expected = (inputs_shape[0], self.context_kernel.shape[0] if self.built else None)
        if not is_shape(context_shape, expected):
            raise ArgumentError(
                "context",
                f"have shape (batch, context_dim) = {expected}, one vector per row; pass a mask as "
                "`mask=`",
                f"context of shape {tuple(context_shape)} for inputs of shape "
                f"{tuple(inputs_shape)}",
                self,
            )

    def _scores(self, inputs: Tensor, context: Tensor | None, mask: Tensor | None) -> Tensor:
        """Computes steps 1 to 3: `(batch, time, heads)`, in float32 or float64."""
        tokens = at_least_float32(self.hidden(inputs) if self.use_hidden else inputs)
        query = ops.matmul(
            self._context(inputs, context, mask), at_least_float32(self.context_kernel)
        )
        kernel = at_least_float32(self.token_kernel)
        # One projection of the tokens contains the context, which is never repeated over time.
        if self.rank == 1:
            scores = ops.matmul(tokens, kernel) * ops.expand_dims(query, 1)
        else:
            heads = (self.num_heads, self.rank)
            query = ops.reshape(query, (-1, 1, *heads))
            kernel = ops.sum(query * ops.reshape(kernel, (1, kernel.shape[0], *heads)), axis=-1)
            scores = ops.matmul(tokens, kernel)
        scores = self.activation(scores)
        if self.l2_normalize and self.num_heads > 1:
            scores = l2_normalize(scores)
        if self.learn_scale:
            scores = scores * at_least_float32(self.scale)
        return scores

    def _context(self, inputs: Tensor, context: Tensor | None, mask: Tensor | None) -> Tensor:
        """Returns the context `(batch or 1, context_dim)`, zero for rows without a kept step."""
        if self.context == "learned":
            return ops.expand_dims(at_least_float32(self.context_vector), 0)
        if context is None:
            return mean_of_zeroed(inputs, mask)
        # The context of an empty row may be NaN, which would reach the gradients.
        return zero_masked_rows(at_least_float32(context), mask)
