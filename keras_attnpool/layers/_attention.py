"""The base of the layers that have weights and attention scores."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._masked import MaskedInputs, MaskedPooling1D
from keras_attnpool.ops._devices import affine, torch_traces
from keras_attnpool.ops._rows import empty_batch_safe
from keras_attnpool.ops._vector_pooling import (
    attention_weights,
    chunked_softmax_pooling,
    normalized,
    softmax_terms,
)
from keras_attnpool.ops.masking import at_least_float32, masked_softmax, masked_softmax_or_even
from keras_attnpool.ops.sparse import masked_entmax15, masked_sparsemax
from keras_attnpool.regularizers import HeadRegularizer
from keras_attnpool.types import Shape, Tensor

NORMALIZERS = {
    "softmax": masked_softmax,
    "sparsemax": masked_sparsemax,
    "entmax15": masked_entmax15,
}


def heads_first(logits: Tensor) -> Tensor:
    """Turns `(batch, time, heads)` into `(batch, heads, time)`."""
    if logits.shape[2] == 1:
        # With one head this equals a transpose. tf2onnx writes that transpose wrongly
        # (docs/upstream/tf2onnx-transpose.md).
        return ops.expand_dims(ops.squeeze(logits, 2), 1)
    return ops.transpose(logits, (0, 2, 1))


def dense_beside(dense: keras.layers.Dense, x: Tensor, context: Tensor | None) -> Tensor:
    """Applies a dense layer to `[x_t; context]`, in float32 or float64."""
    if context is None:
        return at_least_float32(dense(x))
    if dense.quantization_mode is not None:
        # A quantized kernel accepts only inputs of the full width.
        tiled = ops.broadcast_to(ops.expand_dims(context, 1), (*ops.shape(x)[:2], context.shape[1]))
        both = ops.concatenate([x, ops.cast(tiled, x.dtype)], axis=2)
        return at_least_float32(dense(both))
    kernel, dim = dense.kernel, x.shape[2]
    row = affine(context, kernel[dim:], dense.bias)
    steps = at_least_float32(affine(x, kernel[:dim]))
    return dense.activation(steps + ops.expand_dims(row, 1))


class Call(NamedTuple):
    """The mask and the options of one call of a layer; not public."""

    mask: Any
    """Boolean tensor `(batch, time)`, or `None`."""
    training: bool | None
    with_scores: bool
    in_chunks: bool = False
    """Whether the steps are scored in chunks."""


class AttentionBase(MaskedInputs):
    """Base of the layers with weights and attention scores: their common arguments and call.

    Not public. A subclass defines the method `_compute_attention`, which returns the output and the
    scores in any dtype. With `with_scores=False` the scores are `None`. The method gets the inputs
    and the `Call`. The inputs are zero at padded steps, unless the call is `in_chunks`.

    Call arguments:
        return_attention_scores: Whether to return `(output, scores)`.

    Returns:
        The output in the compute dtype. `return_attention_scores=True` returns a pair: the output
        and the attention weights before dropout.
    """

    def call(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ) -> Any:
        """Attends to `(batch, time, dim)`; returns the output, or the pair of output and scores."""
        in_chunks = self.chunk_size is not None and not return_attention_scores
        inputs, mask = self._mask_inputs(inputs, mask, zeroed=not in_chunks)
        call = Call(mask, training, return_attention_scores, in_chunks)
        output, scores = self._compute_attention(inputs, call)
        return self._output(output, scores, return_attention_scores)

    def compute_output_spec(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ) -> Any:
        """Returns the symbolic output, or the pair of output and scores."""
        output = super().compute_output_spec(inputs, mask)
        if not return_attention_scores:
            return output
        return output, keras.tree.map_shape_structure(
            lambda shape: keras.KerasTensor(shape, self.compute_dtype),
            self._scores_shape(inputs.shape),
        )

    chunk_size: int | None = None

    def _scores_shape(self, input_shape: Shape) -> Any:
        """The shape of the scores, or a structure of shapes."""
        return (input_shape[0], input_shape[1])

    def _hidden_dense(
        self, units: int, activation: Any, input_shape: Shape, name: str = "hidden", **own: Any
    ) -> keras.layers.Dense:
        """The built hidden layer in front of the scores."""
        own = self._sublayer_kwargs(name, **own)
        dense = keras.layers.Dense(units, activation=activation, **own)
        dense.build(input_shape)
        return dense

    gated = False

    def _build_hidden(self, input_shape: Shape, hidden: int, activation: Any) -> None:
        """Creates a hidden layer, with a gate if `gated`."""
        self.hidden = self._hidden_dense(hidden, activation, input_shape)
        if self.gated:
            # `keras.activations.sigmoid` keeps its argument, which is as large as all hidden
            # states.
            self.gate = self._hidden_dense(hidden, ops.sigmoid, input_shape, name="gate")

    def _hidden_states(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Returns the hidden states `(..., hidden)`, gated or not, in float32 or float64.

        With a context `(batch, size)` the hidden layer reads each step of `(batch, time, dim)` and
        the context.
        """
        hidden = dense_beside(self.hidden, x, context)
        return hidden * dense_beside(self.gate, x, context) if self.gated else hidden

    def _build_scores(self, input_shape: Shape, hidden: int, size: int, activation: Any) -> None:
        """Creates a hidden layer, and the kernel and bias that compute `size` scores from it."""
        self._build_hidden(input_shape, hidden, activation)
        self.score_kernel = self._add_kernel("score_kernel", (hidden, size))
        self.score_bias = self._add_bias("score_bias", (size,))

    def _attention_logits(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Turns `(..., dim)` into scores `(..., size)`, see `_hidden_states`."""
        return affine(self._hidden_states(x, context), self.score_kernel, self.score_bias)

    def _product(self, x: Tensor, kernel: Any, bias: Any = None) -> Tensor:
        """Computes `x` times a kernel plus a bias; not in float16, which may overflow."""
        dtype = "float32" if self.compute_dtype == "float16" else self.compute_dtype
        x = ops.cast(x, dtype)
        if dtype != "bfloat16":
            return affine(x, kernel, bias)
        # The bias is added in float32.
        product = at_least_float32(affine(x, kernel))
        return product if bias is None else product + at_least_float32(bias)

    def _dropped_product(self, x: Tensor, training: bool | None, kernel: Any, bias: Any) -> Tensor:
        """Applies dropout, then `_product`."""
        return self._product(self._apply_dropout(x, training), kernel, bias)

    def _convolve(self, x: Tensor, kernel: Any, bias: Any, activation: Any) -> Tensor:
        """Convolves to `(batch, time, filters)`, centred; the inputs are 0 at padding."""
        kernel = ops.cast(kernel, self.compute_dtype)
        shape = (*ops.shape(x)[:2], kernel.shape[2])
        x = empty_batch_safe(lambda x: ops.conv(x, kernel, 1, "same", "channels_last"), x)
        # In a TensorFlow graph, an empty batch would keep the shape of the inputs.
        x = ops.reshape(x, shape)
        if bias is not None:
            x = x + ops.cast(bias, self.compute_dtype)
        return activation(x)

    def _output(self, output: Tensor, scores: Any, return_attention_scores: bool) -> Any:
        output = ops.cast(output, self.compute_dtype)
        if not return_attention_scores:
            return output
        return output, keras.tree.map_structure(
            lambda each: ops.cast(each, self.compute_dtype), scores
        )


class SequenceAttentionBase(AttentionBase):
    """Base of the layers in which each step attends to other steps; returns `(batch, time, units)`.

    Not public.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. No step
    attends to a padded step. The output and the weights are exactly 0 at padded steps, whatever
    values these steps hold. The output has the same mask.

    Args:
        dropout: Share of each kernel's input features that is dropped in training, in [0, 1). The
            vectors that are summed or mixed keep all features.
    """

    wide_inside = True
    per_feature = True

    def build(self, input_shape: Shape) -> None:
        """Creates the hidden layer and the weights of the scores."""
        self._feature_dim(input_shape)
        self.hidden = self._hidden_dense(self.units, self.activation, input_shape)
        size = self.units if self.per_feature else 1
        self.source_kernel = self._add_kernel("source_kernel", (self.units, size))
        self.target_kernel = self._add_kernel("target_kernel", (self.units, size))
        self.score_bias = self._add_bias("score_bias", (size,))

    def _values(self, inputs: Tensor, call: Call) -> Tensor:
        """Computes states `h` `(batch, time, units)`, in float32 or float64; not 0 at padding."""
        return at_least_float32(self.hidden(self._apply_dropout(inputs, call.training)))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, time, units)`."""
        return (input_shape[0], input_shape[1], self.units)

    def _scores_shape(self, input_shape: Shape) -> Any:
        shape = (input_shape[0], input_shape[1], input_shape[1])
        return (*shape, self.units) if self.per_feature else shape


class AttentionPoolingBase(AttentionBase, MaskedPooling1D):
    """Base of the attention pooling layers: penalties on attention weights and on pooled vectors.

    Not public. A subclass computes logits. The method `_pool` takes logits `(batch, heads, time)`.
    The method `_pool_per_feature` takes the logits `(batch, time, dim)` of each head.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. A padded step
    has a weight of exactly 0, whatever values it holds. A row without a kept step gives zeros. The
    output has no mask.

    Args:
        chunk_size: `None`, or the number of time steps that are scored at once. The layer does not
            store the scores of a chunk. The backward pass computes these scores again. With chunks
            a long text needs less memory and more time. Chunks change the result only by rounding
            errors. `return_attention_scores=True` computes all scores at once. Chunks work only
            with `normalizer="softmax"`. Chunks do not work with `dropout` or
            `attention_regularizer`, which need all weights at once.
    """

    normalizer = "softmax"

    def __init__(self, given: dict[str, Any], **special: Any) -> None:
        super().__init__(given, **special)
        if self.chunk_size is None:
            return
        if self.dropout or self.attention_regularizer or self.normalizer != "softmax":
            names = ("chunk_size", "dropout", "normalizer", "attention_regularizer")
            raise ArgumentError(
                "chunk_size",
                "be None with `dropout`, an `attention_regularizer` or a normalizer other than "
                "'softmax', because the weights of a chunk are not kept",
                {name: given[name] for name in names},
                type(self).__name__,
            )

    def _pool_in_chunks(
        self,
        score: Callable[..., Tensor],
        inputs: Tensor,
        mask: Tensor | None,
        features: tuple[int, int] = (1, 1),
        beside: Sequence[Tensor] = (),
        variance: bool = False,
    ) -> Any:
        """Calls `chunked_softmax_pooling` with logits `(batch, time, size)` of the layer's weights.

        `score` gets a chunk and the tensors `beside`.
        """
        # The recomputed function gets the weights as arguments: PyTorch cannot compile a Keras
        # scope.
        floats = [v for v in self.weights if keras.backend.is_float_dtype(v.dtype)]
        variables = [] if torch_traces() else floats

        def scored(chunk: Tensor, *values: Tensor) -> Tensor:
            mapping = zip(variables, values[len(beside) :], strict=True)
            with keras.StatelessScope(mapping) if variables else contextlib.nullcontext():
                logits = score(chunk, *values[: len(beside)])
            return ops.reshape(logits, (*ops.shape(chunk)[:2], *features))

        # A cast turns variables into tensors.
        values = [*beside, *(ops.cast(variable, variable.dtype) for variable in variables)]
        return chunked_softmax_pooling(
            scored, values, inputs, mask, self.chunk_size or 0, features, variance
        )

    def _normalizer(self, exact: bool) -> Callable[..., Tensor]:
        """Returns the function from logits to weights; `exact` gives empty rows weights of 0."""
        if self.normalizer == "softmax" and not exact:
            return masked_softmax_or_even
        return NORMALIZERS[self.normalizer]

    def _normalize(self, logits: Tensor, call: Call, exact: bool = True) -> tuple[Tensor, Tensor]:
        """Returns the weights for logits `(batch, heads, time)`, and the weights after dropout.

        The penalty is added here. With `exact` or a penalty, the weights of an empty row are 0. In
        other cases the weights of an empty row may have any values.
        """
        kept = None if call.mask is None else ops.expand_dims(call.mask, 1)
        exact = exact or self.attention_regularizer is not None
        weights = self._normalizer(exact)(logits, kept)
        self._penalize(self.attention_regularizer, weights, call)
        return weights, self._apply_dropout(weights, call.training)

    def _pool_scored(
        self, score: Callable[..., Tensor], inputs: Tensor, call: Call, num_heads: int = 1
    ) -> tuple[Tensor, Tensor | None]:
        """Calls `_pool` with logits `(batch, time, heads)` that `score` computes from inputs."""
        if not call.in_chunks:
            return self._pool(inputs, heads_first(score(inputs)), call)
        vectors = self._pool_in_chunks(score, inputs, call.mask, (num_heads, 1))
        self._penalize(self.vector_regularizer, vectors, call)
        return vectors, None

    def _pool(self, inputs: Tensor, logits: Tensor, call: Call) -> tuple[Tensor, Tensor]:
        """Computes weights over time, dropout, weighted sum and penalties, in float32 or float64.

        The inputs are `(batch, time, dim)`, zero at padded steps, or `(batch, heads, time, dim)` if
        each head has separate values. Returns the heads' vectors `(batch, heads, dim)` and the
        weights before dropout `(batch, heads, time)`. Without `with_scores` the weights of an empty
        row may have any values.
        """
        # The vector of an empty row is 0, because all inputs of the row are 0.
        shared = len(inputs.shape) == 3
        weights, used = self._normalize(logits, call, call.with_scores or not shared)
        # This is one batched product; a loop would write (batch, time, dim) for each head.
        if shared:
            vectors = ops.matmul(used, at_least_float32(inputs))
        else:
            vectors = ops.matmul(ops.expand_dims(used, 2), at_least_float32(inputs))
            vectors = ops.squeeze(vectors, 2)
        self._penalize(self.vector_regularizer, vectors, call)
        return vectors, weights

    def _pool_per_feature(
        self, inputs: Tensor, heads: Iterable[Tensor], call: Call
    ) -> tuple[Tensor, Tensor | None]:
        """Works like `_pool`, but with one weight per feature, and head by head.

        `heads` are the logits `(batch, time, dim)` of each head. The weights `(batch, heads, time,
        dim)` are `None` if neither the caller nor a penalty needs them.
        """
        values, mask = at_least_float32(inputs), call.mask
        kept = None if mask is None else ops.expand_dims(mask, 2)
        wanted = call.with_scores or self.attention_regularizer is not None
        vectors, weights = [], []
        # Matrix products take most of the time, so a loop costs almost nothing. The loop holds the
        # logits of one head at a time; one product for all heads would hold all logits.
        for logits in heads:
            if self.normalizer == "softmax":
                exps, total = softmax_terms(logits, mask, exact=wanted)
            else:
                exps, total = self._normalizer(wanted)(logits, kept, axis=1), None
            if wanted:
                weights.append(attention_weights(exps, total))
            exps = self._apply_dropout(exps, call.training)
            vectors.append(normalized(ops.sum(exps * values, axis=1), total))
        stacked = ops.stack(weights, axis=1) if wanted else None
        self._penalize(self.attention_regularizer, stacked, call)
        output = ops.stack(vectors, axis=1)
        self._penalize(self.vector_regularizer, output, call)
        return output, stacked

    def _pool_per_feature_at_once(
        self, inputs: Tensor, hidden: Tensor, kernel: Tensor, call: Call
    ) -> tuple[Tensor, Tensor | None]:
        """Does what `_pool_per_feature` does, for all heads at once; logits are `hidden @ kernel`.

        Time is the last axis, because PyTorch's softmax on a GPU is parallel over the last axis
        only.

        Args:
            inputs: `(batch, time, dim)`, zero at padded steps.
            hidden: `(batch, time, heads, units)`.
            kernel: `(heads, units, dim)`.
            call: The mask, and whether to return the weights.

        Returns:
            The same as `_pool_per_feature`.
        """
        batch, time = ops.shape(inputs)[:2]
        heads, units, dim = kernel.shape
        hidden = ops.reshape(ops.transpose(hidden, (2, 3, 0, 1)), (heads, units, -1))
        logits = ops.matmul(ops.transpose(kernel, (0, 2, 1)), hidden)
        logits = ops.reshape(logits, (heads, dim, batch, time))
        wanted = call.with_scores or self.attention_regularizer is not None
        weights = self._normalizer(wanted)(logits, call.mask)
        used = self._apply_dropout(weights, call.training)
        weights = ops.transpose(weights, (2, 0, 3, 1)) if wanted else None
        self._penalize(self.attention_regularizer, weights, call)
        values = at_least_float32(ops.transpose(inputs, (2, 0, 1))[None])
        vectors = ops.transpose(ops.sum(used * values, axis=-1), (2, 0, 1))
        self._penalize(self.vector_regularizer, vectors, call)
        return vectors, weights

    def _penalize(self, regularizer: Any, heads: Tensor | None, call: Call) -> None:
        if regularizer is None:
            return
        if isinstance(regularizer, HeadRegularizer):
            kept = None if call.mask is None else ops.any(call.mask, axis=1)
            self.add_loss(regularizer.batch_penalty(heads, kept))
        else:
            self.add_loss(regularizer(heads))


class MultiHeadPoolingBase(AttentionPoolingBase):
    """Base of the attention pooling layers with several heads; the output joins their vectors.

    Output shape:
        `(batch, num_heads * dim)`, or `(batch, num_heads, dim)` with `flatten=False`; the scores
        are `(batch, num_heads, time)`.
    """

    @property
    def _num_vectors(self) -> int:
        """The number of vectors in the output."""
        return int(self.num_heads)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, heads * dim)`, or `(batch, heads, dim)` with `flatten=False`."""
        batch, _, dim = input_shape
        if not self.flatten:
            return (batch, self._num_vectors, dim)
        return (batch, None if dim is None else self._num_vectors * dim)

    def _scores_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], self.num_heads, input_shape[1])

    def _add_head_kernels(self, name: str, shape: tuple[int, ...], regularizer: Any) -> Any:
        """Creates one kernel per head, `(heads, *shape)`, each drawn separately.

        An initializer that draws all kernels at once would count the heads as inputs or outputs.
        Then every weight would be smaller.
        """
        draws = [self._clone_initializer(self.kernel_initializer) for _ in range(self.num_heads)]
        return self.add_weight(
            name=name,
            shape=(self.num_heads, *shape),
            initializer=lambda _, dtype=None: ops.stack([d(shape, dtype=dtype) for d in draws]),
            regularizer=regularizer,
        )

    def _merge_heads(self, vectors: Tensor) -> Tensor:
        """Joins the heads' vectors `(batch, heads, dim)` in order if `flatten=True`."""
        if not self.flatten:
            return vectors
        return ops.reshape(vectors, (-1, vectors.shape[1] * vectors.shape[2]))
