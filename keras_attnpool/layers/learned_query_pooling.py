"""Learned queries attend to the sequence with several heads: MAP heads, PMA and probes."""

import math
from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._attention import Call, MultiHeadPoolingBase
from keras_attnpool.ops._devices import affine
from keras_attnpool.ops._vector_pooling import chunked_softmax_pooling
from keras_attnpool.ops.masking import at_least_float32, zero_masked_rows
from keras_attnpool.ops.normalization import layer_normalize
from keras_attnpool.types import ActivationLike, InitializerLike, RegularizerLike, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class LearnedQueryPooling(MultiHeadPoolingBase):
    """Pools a sequence to one vector per learned query, by multi-head attention.

    Examples of learned queries are the MAP head of SigLIP, CoCa, V-JEPA and, for sets, PMA. With
    inputs `x_t` of one example, query `s_j`, and head `h` of size `d = key_dim`:

    1. `q_jh = W_q[h] s_j + b_q[h]`, `k_th = W_k[h] x_t`, `v_th = W_v[h] x_t + b_v[h]`
    2. `a_jh = softmax over time of q_jh^T k_th / sqrt(d)`
    3. `o_jh = sum_t a_jht v_th`
    4. `y_j = W_o [o_j1; ...; o_jH] + b_o`, plus `s_j` with `residual=True`
    5. with `feedforward_dim`: `y_j + FF(norm(y_j))`. With `normalize_first=False` the output is
       `norm(z_j + FF(z_j))`, where `z_j = norm(y_j)`. `FF` has one hidden layer

    The queries do not depend on the sequence. So the layer can compute the same result without keys
    and values: `a_jh = softmax over time of (W_k[h]^T q_jh)^T x_t / sqrt(d)`, and `o_jh = W_v[h]
    sum_t a_jht x_t + b_v[h]`. The layer uses these formulas for few queries, because the formulas
    need fewer multiplications. For many queries the layer computes keys and values. Keys have no
    bias, because a bias would add the same number to all scores of a head, and the softmax would
    cancel this number.

    With `key_projection=False` each head has its own query of size `dim`. Step 2 is then `a_jh =
    softmax over time of s_jh^T x_t / sqrt(dim)`. With `output_projection=False` step 4 is `y_j =
    [o_j1; ...; o_jH]`. The efficient probe of `M` queries has `key_projection=False`,
    `output_projection=False`, `num_heads=M` and `use_bias=False`. The efficient probe has `dim^2 +
    M dim` weights.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. A padded step
    has a weight of exactly 0, whatever values it holds. A row without a kept step gives zeros. The
    output has no mask.

    Args:
        num_queries: Number of learned queries. PMA calls the queries seeds. SigLIP has one query
            and calls this query the probe.
        num_heads: Number of attention heads.
        key_dim: Size of each head. With `None` the size is `dim // num_heads`, and `num_heads` must
            divide `dim`.
        key_projection: Whether queries and inputs are projected before the scores are computed.
            With `False` queries and inputs are not projected, and each head learns its own query.
        output_projection: Whether the joined heads are projected to `dim` features. With `False`
            the output has `num_heads * key_dim` features.
        residual: Whether each query is added to its result (PMA). `residual=True` needs
            `key_projection=True`.
        feedforward_dim: Size of the hidden layer of step 5, or `None` to leave the step out.
        normalize_first: Whether a layer norm precedes the feedforward network (SigLIP). With
            `False` one layer norm follows the attention, and another follows the feedforward
            network (PMA). `False` needs `feedforward_dim`.
        activation: Activation of the feedforward network's hidden layer.
        normalizer: Function that turns scores into weights: `"softmax"`, `"sparsemax"` or
            `"entmax15"`. `"sparsemax"` and `"entmax15"` can give weights of exactly 0.
        flatten: Whether the output is `(batch, num_queries * dim)`. With `False` the output is
            `(batch, num_queries, dim)`. With `output_projection=False`, `num_heads * key_dim`
            replaces `dim`.
        chunk_size: `None`, or the number of time steps that are scored at once. The layer does not
            store the scores of a chunk. The backward pass computes these scores again. With chunks
            a long text needs less memory and more time. Chunks change the result only by rounding
            errors. `return_attention_scores=True` computes all scores at once. Chunks work only
            with `normalizer="softmax"`. Chunks do not work with `dropout` or
            `attention_regularizer`, which need all weights at once.
        dropout: Share of the attention weights that is dropped in training, in [0, 1).
        use_bias: Whether the queries, the values, the output and the feedforward network have
            biases.
        kernel_initializer: Initializer of the queries and the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the queries and the kernels.
        attention_regularizer: Regularizer of the attention weights of each example. The weights
            count as `num_queries * num_heads` heads.
        vector_regularizer: Regularizer of the vectors of each example, one per query.
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
        `(batch, num_queries * dim)`, or `(batch, num_queries, dim)` with `flatten=False`. With
        `output_projection=False`, `num_heads * key_dim` replaces `dim`. The scores are `(batch,
        num_queries, num_heads, time)`.

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

    layer = keras_attnpool.layers.LearnedQueryPooling(num_queries=2, num_heads=4)
    output, scores = layer(np.ones((3, 5, 16), "float32"), return_attention_scores=True)
    assert output.shape == (3, 32) and scores.shape == (3, 2, 4, 5)
    ```

    Weights, by name:

    - `queries` `(num_queries, dim)`, or `(num_queries, num_heads, dim)` with
      `key_projection=False`.
    - `query_kernel` and `key_kernel` `(dim, heads * key_dim)`, and `query_bias` `(heads *
      key_dim,)`, with `key_projection=True`. The columns of one head are adjacent.
    - `value_kernel` `(dim, heads * key_dim)` and `value_bias` `(heads * key_dim,)`.
    - `output_kernel` `(heads * key_dim, dim)` and `output_bias` `(dim,)`, with
      `output_projection=True`.
    - `hidden/kernel` `(dim, feedforward_dim)` and `hidden/bias` `(feedforward_dim,)`, with
      `feedforward_dim`.
    - `feedforward_kernel` `(feedforward_dim, dim)` and `feedforward_bias` `(dim,)`, with
      `feedforward_dim`.
    - With `feedforward_dim`, the layer norm has the weights `gamma` and `beta` `(dim,)`.
    - With `normalize_first=False`, the second layer norm has the weights `output_gamma` and
      `output_beta` `(dim,)`.

    Reference:
        - Lee et al., 2019, Set Transformer: pooling by multihead attention, equations 6-7 and 11
        - Zhai et al., 2022, Scaling Vision Transformers: the MAP head, which SigLIP has
        - Psomas et al., 2025, Attention, Please! Revisiting Attentive Probing Through the Lens of
          Efficiency: the efficient probe
    """

    def __init__(
        self,
        num_queries: int = 1,
        num_heads: int = 1,
        key_dim: int | None = None,
        *,
        key_projection: bool = True,
        output_projection: bool = True,
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
        super().__init__(locals())
        if self.feedforward_dim is None and not self.normalize_first:
            received = {"normalize_first": False, "feedforward_dim": None}
            must = "be True without `feedforward_dim`"
            raise ArgumentError("normalize_first", must, received, "LearnedQueryPooling")
        if self.residual and not self.key_projection:
            received = {"residual": True, "key_projection": False}
            must = "be False without `key_projection`: each head then has a separate query"
            raise ArgumentError("residual", must, received, "LearnedQueryPooling")

    def build(self, input_shape: Shape) -> None:
        """Creates queries, projections, and the feedforward network, if any."""
        dim = self._feature_dim(input_shape)
        if self.key_dim is None and dim % self.num_heads:
            must = f"have features that num_heads={self.num_heads} divides, or give a `key_dim`"
            raise ArgumentError("inputs", must, f"shape {tuple(input_shape)}", self)
        self._size = size = self.key_dim or dim // self.num_heads
        width = self.num_heads * size
        behind = {"residual": self.residual, "feedforward_dim": self.feedforward_dim}
        for name, value in behind.items():
            if value and not self.output_projection and width != dim:
                must = "be left out without `output_projection`, unless the heads have as many "
                must += f"features as the inputs: num_heads * key_dim = {width}, not {dim}"
                raise ArgumentError(name, must, {name: value, "key_dim": self.key_dim}, self)
        # Multiplications per step and head, without and with keys and values.
        self._folds = 2 * self.num_queries * dim < 2 * size * (dim + self.num_queries)
        if self.key_projection:
            self.queries = self._add_kernel("queries", (self.num_queries, dim))
            self.query_kernel = self._add_kernel("query_kernel", (dim, width))
            self.key_kernel = self._add_kernel("key_kernel", (dim, width))
        else:
            # The queries are drawn as the rows of a matrix. Otherwise the initializer would treat
            # their axis as a convolution's axis.
            draw = self._clone_initializer(self.kernel_initializer)
            rows = (self.num_queries * self.num_heads, dim)
            self.queries = self._add_kernel(
                "queries",
                (self.num_queries, self.num_heads, dim),
                lambda shape, dtype=None: ops.reshape(draw(rows, dtype=dtype), shape),
            )
        self.value_kernel = self._add_kernel("value_kernel", (dim, width))
        if self.output_projection:
            self.output_kernel = self._add_kernel("output_kernel", (width, dim))
        if self.key_projection:
            self.query_bias = self._add_bias("query_bias", (width,))
        self.value_bias = self._add_bias("value_bias", (width,))
        if self.output_projection:
            self.output_bias = self._add_bias("output_bias", (dim,))
        if self.feedforward_dim is None:
            return
        self.gamma, self.beta = self._add_norm("", dim)
        if not self.normalize_first:
            self.output_gamma, self.output_beta = self._add_norm("output_", dim)
        self.hidden = self._hidden_dense(self.feedforward_dim, self.activation, (None, None, dim))
        self.feedforward_kernel = self._add_kernel(
            "feedforward_kernel", (self.feedforward_dim, dim)
        )
        self.feedforward_bias = self._add_bias("feedforward_bias", (dim,))

    def _compute_attention(self, inputs: Tensor, call: Call) -> Any:
        """Pools `(batch, time, dim)` to `(batch, num_queries * dim)`."""
        queries = at_least_float32(self.queries)
        if call.in_chunks:
            vectors, weights = self._chunked_head_vectors(inputs, queries, call.mask), None
        else:
            inputs = at_least_float32(inputs)
            logits = self._head_logits(inputs, queries)
            weights, used = self._normalize_heads(logits, call)
            vectors = self._head_vectors(inputs, used)
        # The rows have no batch axis: otherwise TensorFlow computes the gradient of the shared
        # kernel for each example first.
        vectors = ops.reshape(vectors, (-1, self.num_heads * self._size))
        if self.output_projection:
            vectors = affine(vectors, self.output_kernel, self.output_bias)
        vectors = ops.reshape(vectors, (-1, self.num_queries, vectors.shape[1]))
        if self.residual:
            vectors = vectors + queries
        if self.feedforward_dim is not None:
            vectors = self._feed_forward(vectors)
        vectors = zero_masked_rows(vectors, call.mask)
        self._penalize(self.vector_regularizer, vectors, call)
        return self._merge_heads(vectors), weights

    def _folded_queries(self, queries: Tensor) -> Tensor:
        """Returns the kernel `(dim, queries * heads)` that computes scores from the inputs."""
        if self.key_projection:
            kernel = ops.einsum(
                "jhd,fhd->fjh", self._asked(queries), self._split_heads("key_kernel")
            )
            return ops.reshape(kernel, (kernel.shape[0], -1))
        dim = queries.shape[2]
        return ops.transpose(ops.reshape(queries / math.sqrt(dim), (-1, dim)))

    def _asked(self, queries: Tensor) -> Tensor:
        """Returns the projected queries `(queries, heads, size)`."""
        asked = affine(queries, self.query_kernel, self.query_bias) / math.sqrt(self._size)
        return ops.reshape(asked, (-1, self.num_heads, self._size))

    def _head_logits(self, inputs: Tensor, queries: Tensor) -> Tensor:
        """Computes the scores `(batch, queries, heads, time)`."""
        if self._folds or not self.key_projection:
            # The rows have no batch axis, as in `_compute_attention`. For an einsum JAX would
            # transpose the inputs.
            rows = ops.reshape(inputs, (-1, inputs.shape[2]))
            logits = affine(rows, self._folded_queries(queries))
            shape = (-1, ops.shape(inputs)[1], self.num_queries, self.num_heads)
            return ops.transpose(ops.reshape(logits, shape), (0, 2, 3, 1))
        keys = ops.einsum("btf,fhd->bthd", inputs, self._split_heads("key_kernel"))
        return ops.einsum("jhd,bthd->bjht", self._asked(queries), keys)

    def _head_vectors(self, inputs: Tensor, used: Tensor) -> Tensor:
        """Computes the heads' weighted sums of values, `(batch, queries, heads, size)`."""
        if self._folds:
            sums = ops.einsum("bjht,btf->bjhf", used, inputs)
            # After dropout the sum of the weights may differ from 1.
            return self._project(sums, ops.sum(used, axis=-1, keepdims=True))
        values = ops.einsum("btf,fhd->bthd", inputs, self._split_heads("value_kernel"))
        if self.use_bias:
            values = values + self._split_heads("value_bias")
        return ops.einsum("bjht,bthd->bjhd", used, values)

    def _chunked_head_vectors(self, inputs: Tensor, queries: Tensor, mask: Any) -> Tensor:
        """Computes `_head_vectors` chunk by chunk, without keys and values."""
        kernel = self._folded_queries(queries)

        def score(chunk: Tensor, kernel: Tensor) -> Tensor:
            return ops.expand_dims(ops.matmul(at_least_float32(chunk), kernel), 3)

        features, size = (kernel.shape[1], 1), self.chunk_size or 0
        return self._project(
            chunked_softmax_pooling(score, [kernel], inputs, mask, size, features), 1
        )

    def _project(self, sums: Tensor, total: Any) -> Tensor:
        """Computes the heads' sums of values from sums of inputs; `total` sums the weights."""
        # Each head has one product for the rows of all examples and queries.
        rows = ops.transpose(ops.reshape(sums, (-1, self.num_heads, sums.shape[-1])), (1, 0, 2))
        heads = ops.matmul(rows, ops.transpose(self._split_heads("value_kernel"), (1, 0, 2)))
        shape = (-1, self.num_queries, self.num_heads, self._size)
        heads = ops.reshape(ops.transpose(heads, (1, 0, 2)), shape)
        return heads + total * self._split_heads("value_bias") if self.use_bias else heads

    def _normalize_heads(self, logits: Tensor, call: Call) -> tuple[Tensor, Tensor]:
        """Does `_normalize` for logits `(batch, queries, heads, time)`."""
        shape = (-1, *logits.shape[1:3], ops.shape(logits)[3])
        flat = ops.reshape(logits, (-1, shape[1] * shape[2], shape[3]))
        weights, used = self._normalize(flat, call)
        return ops.reshape(weights, shape), ops.reshape(used, shape)

    def _feed_forward(self, vectors: Tensor) -> Tensor:
        """Applies step 5 to `(batch, queries, dim)`."""
        normed = layer_normalize(vectors, self.gamma, self.beta)
        rows = ops.cast(ops.reshape(normed, (-1, normed.shape[2])), self.compute_dtype)
        hidden = at_least_float32(self.hidden(rows))
        fed = affine(hidden, self.feedforward_kernel, self.feedforward_bias)
        fed = ops.reshape(fed, (-1, *normed.shape[1:]))
        if self.normalize_first:
            return vectors + fed
        return layer_normalize(normed + fed, self.output_gamma, self.output_beta)

    def _split_heads(self, name: str) -> Tensor:
        """Returns the weight of this name, in float32 or float64, with an axis for the heads."""
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

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, queries * dim)`, or `(batch, queries, dim)` with `flatten=False`.

        With `output_projection=False`, `num_heads * key_dim` replaces `dim`.
        """
        batch, time, dim = input_shape
        if not self.output_projection and self.key_dim is not None:
            dim = self.num_heads * self.key_dim
        return super().compute_output_shape((batch, time, dim))

    def _scores_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], self.num_queries, self.num_heads, input_shape[1])
