"""Learned queries attend to the sequence with several heads: MAP heads and PMA, folded."""

import math
from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._attention import MultiHeadPoolingBase
from keras_attnpool.ops._devices import affine
from keras_attnpool.ops._vector_pooling import chunked_softmax_pooling
from keras_attnpool.ops.masking import at_least_float32, zero_masked_rows
from keras_attnpool.ops.normalization import layer_normalize
from keras_attnpool.types import (
    ActivationLike,
    InitializerLike,
    RegularizerLike,
    Shape,
    Tensor,
)


@keras.saving.register_keras_serializable(package="keras_attnpool")
class LearnedQueryPooling(MultiHeadPoolingBase):
    """Pools a sequence to one vector a learned query, by multi-head attention.

    The pooling of SigLIP (MAP head), CoCa and V-JEPA, and of sets (PMA). With inputs `x_t` of one
    example, query `s_j`, and head `h` of size `d = key_dim`:

    1. `q_jh = W_q[h] s_j + b_q[h]`, `k_th = W_k[h] x_t`, `v_th = W_v[h] x_t + b_v[h]`
    2. `a_jh = softmax over time of q_jh . k_th / sqrt(d)`
    3. `o_jh = sum_t a_jht v_th`
    4. `y_j = W_o [o_j1; ...; o_jH] + b_o`, plus `s_j` with `residual=True`
    5. with `feedforward_dim`: `y_j + FF(norm(y_j))`, and with `normalize_first=False` `norm(z_j +
       FF(z_j))`, `z_j = norm(y_j)`; `FF` has one hidden layer

    The queries do not depend on the sequence, so that keys and values need not be computed: `a_jh =
    softmax over time of (W_k[h]^T q_jh) . x_t / sqrt(d)`, and `o_jh = W_v[h] sum_t a_jht x_t`, plus
    the bias. The layer computes it in this order where that takes fewer multiplications, as it does
    for one or a few queries, and in the other order for many; the result is the same. A key bias
    would move all scores of a head alike, and the softmax cancels it: there is none.

    Masking: the mask `(batch, time)` of the inputs, True = keep, holes allowed, comes from the
    layers before or as `mask=`. Padded steps have weight exactly 0 whatever they hold; a row
    without a kept step gives zeros. The output carries no mask.

    Args:
        num_queries: Number of learned queries; PMA's seeds, SigLIP's probe.
        num_heads: Number of attention heads.
        key_dim: Size of each head. `None` is `dim // num_heads`, which must leave no rest.
        residual: Whether each query is added to what it finds (PMA).
        feedforward_dim: Size of the hidden layer of step 5, or `None` to leave the step out.
        normalize_first: Whether the layer norm stands in front of the feedforward network (SigLIP)
            or behind each of the two parts (PMA; needs `feedforward_dim`).
        activation: Activation of the feedforward network's hidden layer.
        normalizer: Makes weights of scores: `"softmax"`; `"sparsemax"` and `"entmax15"` give exact
            zeros.
        flatten: `True`: the output is `(batch, num_queries * dim)`; `False`: `(batch, num_queries,
            dim)`.
        chunk_size: `None`, or the number of time steps that are scored at once. Then the scores of
            a chunk are forgotten and computed again in the backward pass: less memory for long
            texts, more time; the same result up to rounding. With `return_attention_scores=True`
            they are computed whole. Needs the softmax, no `dropout` and no `attention_regularizer`:
            these need all weights at once.
        dropout: Share of the attention weights dropped in training, in [0, 1).
        use_bias: Whether queries, values, output and feedforward network have biases.
        kernel_initializer: Initializer of the queries and the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the queries and the kernels.
        attention_regularizer: Regularizer of the attention weights of each example; the heads of
            all queries count as so many heads.
        vector_regularizer: Regularizer of the vectors of each example, one a query.
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
        `(batch, num_queries * dim)`, or `(batch, num_queries, dim)` with `flatten=False`; the
        scores are `(batch, num_queries, num_heads, time)`.

    Returns:
        The output, and on request the attention weights before dropout, in the compute dtype.

    Raises:
        ValueError: For an invalid argument, inputs that are not `(batch, time, dim)` with a known
            `dim`, or a mask that is not `(batch, time)` or holds other values than 0 and 1.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    layer = keras_attnpool.layers.LearnedQueryPooling(num_queries=2, num_heads=4)
    output, scores = layer(np.ones((3, 5, 16), "float32"), return_attention_scores=True)
    assert output.shape == (3, 32) and scores.shape == (3, 2, 4, 5)
    ```

    Weights, by name: `queries` `(num_queries, dim)`; `query_kernel`, `key_kernel` and
    `value_kernel` `(dim, heads * key_dim)`, head after head; `output_kernel` `(heads * key_dim,
    dim)`; with biases `query_bias` and `value_bias` `(heads * key_dim,)`, `output_bias` `(dim,)`;
    with `feedforward_dim` `hidden/kernel` `(dim, feedforward_dim)`, `hidden/bias`
    `(feedforward_dim,)`, `feedforward_kernel` `(feedforward_dim, dim)`, `feedforward_bias`
    `(dim,)`, `gamma` and `beta` `(dim,)`; with `normalize_first=False` also `output_gamma` and
    `output_beta` `(dim,)`.

    Reference:
        - Lee et al., 2019, Set Transformer: pooling by multihead attention, eq. 6-7 and 11
        - Zhai et al., 2022, Scaling Vision Transformers: the MAP head, which SigLIP has
    """

    def __init__(
        self,
        num_queries: int = 1,
        num_heads: int = 1,
        key_dim: int | None = None,
        *,
        residual: bool = False,
        feedforward_dim: int | None = None,
        normalize_first: bool = True,
        activation: ActivationLike = "gelu",
        normalizer: str = "softmax",
        flatten: bool = True,
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
        super().__init__(**kwargs)
        self._store_arguments(locals())
        if self.feedforward_dim is None and not self.normalize_first:
            received = {"normalize_first": False, "feedforward_dim": None}
            must = "be True without `feedforward_dim`"
            raise ArgumentError("normalize_first", must, received, "LearnedQueryPooling")

    def build(self, input_shape: Shape) -> None:
        """Creates queries, projections, and the feedforward network, if any."""
        dim = self._feature_dim(input_shape)
        if self.key_dim is None and dim % self.num_heads:
            must = f"have features that num_heads={self.num_heads} divides, or give a `key_dim`"
            raise ArgumentError("inputs", must, f"shape {tuple(input_shape)}", self)
        self._size = size = self.key_dim or dim // self.num_heads
        width = self.num_heads * size
        # Multiplications for each step and head, folded and not.
        self._folds = 2 * self.num_queries * dim < 2 * size * (dim + self.num_queries)
        self.queries = self._add_kernel("queries", (self.num_queries, dim))
        self.query_kernel = self._add_kernel("query_kernel", (dim, width))
        self.key_kernel = self._add_kernel("key_kernel", (dim, width))
        self.value_kernel = self._add_kernel("value_kernel", (dim, width))
        self.output_kernel = self._add_kernel("output_kernel", (width, dim))
        self.query_bias = self._add_bias("query_bias", (width,))
        self.value_bias = self._add_bias("value_bias", (width,))
        self.output_bias = self._add_bias("output_bias", (dim,))
        if self.feedforward_dim is None:
            return
        self.norms = [self._add_norm("", dim)]
        if not self.normalize_first:
            self.norms.append(self._add_norm("output_", dim))
        self.hidden = self._hidden_dense(self.feedforward_dim, self.activation, (None, None, dim))
        self.feedforward_kernel = self._add_kernel(
            "feedforward_kernel", (self.feedforward_dim, dim)
        )
        self.feedforward_bias = self._add_bias("feedforward_bias", (dim,))

    def _compute_attention(
        self, inputs: Tensor, mask: Any, training: bool | None, with_scores: bool
    ) -> Any:
        """Pools `(batch, time, dim)` to `(batch, num_queries * dim)`."""
        queries = at_least_float32(self.queries)
        asked = affine(queries, self.query_kernel, self.query_bias) / math.sqrt(self._size)
        asked = ops.reshape(asked, (-1, self.num_heads, self._size))
        if self._in_chunks(with_scores):
            heads, weights = self._project(self._chunked_sums(inputs, asked, mask), asked, 1), None
        else:
            attend = self._folded_attention if self._folds else self._projected_attention
            heads, weights = attend(at_least_float32(inputs), asked, mask, training)
        # Rows, not batches of them: on TensorFlow the gradient of a kernel that batches share is
        # made for each example first.
        heads = ops.reshape(heads, (-1, self.num_heads * self._size))
        vectors = affine(heads, self.output_kernel, self.output_bias)
        vectors = ops.reshape(vectors, (-1, *queries.shape))
        if self.residual:
            vectors = vectors + queries
        if self.feedforward_dim is not None:
            vectors = self._feed_forward(vectors)
        vectors = zero_masked_rows(vectors, mask)
        self._penalize(self.vector_regularizer, vectors, mask)
        return self._merge_heads(vectors), weights

    def _folded_attention(
        self, inputs: Tensor, asked: Tensor, mask: Any, training: bool | None
    ) -> tuple[Tensor, Tensor]:
        """Scores and sums the inputs, and projects the sums: `(batch, queries, heads, size)`."""
        folded = ops.einsum("jhd,fhd->fjh", asked, self._split_heads("key_kernel"))
        logits = ops.einsum("btf,fjh->bjht", inputs, folded)
        weights, used = self._normalize_heads(logits, mask, training)
        sums = ops.einsum("bjht,btf->bjhf", used, inputs)
        # What dropout leaves of the weights need not sum to 1.
        return self._project(sums, asked, ops.sum(used, axis=-1, keepdims=True)), weights

    def _chunked_sums(self, inputs: Tensor, asked: Tensor, mask: Any) -> Tensor:
        """The sums `(batch, queries * heads, dim)` of the inputs, scored a chunk at a time."""
        folded = ops.einsum("jhd,fhd->fjh", asked, self._split_heads("key_kernel"))
        folded = ops.reshape(folded, (folded.shape[0], -1))

        def score(chunk: Tensor, folded: Tensor) -> Tensor:
            return ops.expand_dims(ops.matmul(at_least_float32(chunk), folded), 3)

        features, size = (folded.shape[1], 1), self.chunk_size or 0
        return chunked_softmax_pooling(score, [folded], inputs, mask, size, features)

    def _project(self, sums: Tensor, asked: Tensor, total: Any) -> Tensor:
        """The values of the sums; `total` is that of the weights."""
        # One product a head, of the rows of all examples and queries.
        rows = ops.transpose(ops.reshape(sums, (-1, self.num_heads, sums.shape[-1])), (1, 0, 2))
        heads = ops.matmul(rows, ops.transpose(self._split_heads("value_kernel"), (1, 0, 2)))
        heads = ops.reshape(ops.transpose(heads, (1, 0, 2)), (-1, *asked.shape))
        if self.use_bias:
            heads = heads + total * self._split_heads("value_bias")
        return heads

    def _projected_attention(
        self, inputs: Tensor, asked: Tensor, mask: Any, training: bool | None
    ) -> tuple[Tensor, Tensor]:
        """Projects each step to a key and a value: `(batch, queries, heads, size)`."""
        keys = ops.einsum("btf,fhd->bthd", inputs, self._split_heads("key_kernel"))
        values = ops.einsum("btf,fhd->bthd", inputs, self._split_heads("value_kernel"))
        if self.use_bias:
            values = values + self._split_heads("value_bias")
        logits = ops.einsum("jhd,bthd->bjht", asked, keys)
        weights, used = self._normalize_heads(logits, mask, training)
        return ops.einsum("bjht,bthd->bjhd", used, values), weights

    def _normalize_heads(
        self, logits: Tensor, mask: Any, training: bool | None
    ) -> tuple[Tensor, Tensor]:
        """`_normalize` of logits `(batch, queries, heads, time)`."""
        shape = (-1, *logits.shape[1:3], ops.shape(logits)[3])
        flat = ops.reshape(logits, (-1, shape[1] * shape[2], shape[3]))
        weights, used = self._normalize(flat, mask, training)
        return ops.reshape(weights, shape), ops.reshape(used, shape)

    def _feed_forward(self, vectors: Tensor) -> Tensor:
        """Step 5, for `(batch, queries, dim)`."""
        normed = layer_normalize(vectors, *self.norms[0])
        rows = ops.cast(ops.reshape(normed, (-1, normed.shape[2])), self.compute_dtype)
        hidden = at_least_float32(self.hidden(rows))
        fed = affine(hidden, self.feedforward_kernel, self.feedforward_bias)
        fed = ops.reshape(fed, (-1, *normed.shape[1:]))
        if self.normalize_first:
            return vectors + fed
        return layer_normalize(normed + fed, *self.norms[1])

    def _split_heads(self, name: str) -> Tensor:
        """The weight of this name, in float32 at least, with an axis for the heads."""
        weight = at_least_float32(getattr(self, name))
        return ops.reshape(weight, (*weight.shape[:-1], self.num_heads, self._size))

    def _add_norm(self, prefix: str, dim: int) -> tuple[Any, Any]:
        """Scale and offset of a layer norm."""
        return (
            self.add_weight(name=f"{prefix}gamma", shape=(dim,), initializer="ones"),
            self.add_weight(name=f"{prefix}beta", shape=(dim,), initializer="zeros"),
        )

    @property
    def _num_vectors(self) -> int:
        return int(self.num_queries)

    def _scores_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], self.num_queries, self.num_heads, input_shape[1])
