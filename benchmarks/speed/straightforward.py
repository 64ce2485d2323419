"""Each mechanism as its paper, or the code beside it, computes it.

A form takes a built layer of the package and reads its weights, so that both give the same numbers,
which every run checks. Masks are those of the package: padding weighs nothing.
"""

from typing import Any

import keras
from keras import ops

LOW = -1e30


class Form(keras.layers.Layer):
    """A form of `layer`; the weights are the layer's."""

    def __init__(self, layer: Any) -> None:
        super().__init__(dtype=layer.dtype_policy)
        self.layer = layer
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Has no weights of its own."""

    def weight(self, name: str) -> Any:
        """A weight of the layer in the compute dtype."""
        return ops.cast(getattr(self.layer, name), self.compute_dtype)


def softmax_over_time(logits: Any, mask: Any) -> Any:
    """Softmax of `(batch, time, ...)` over time."""
    logits = ops.cast(logits, "float32")
    if mask is None:
        return ops.softmax(logits, axis=1)
    mask = ops.reshape(mask, (*mask.shape, *[1] * (len(logits.shape) - 2)))
    return ops.softmax(ops.where(mask, logits, LOW), axis=1)


class LowRankHeads(Form):
    """LAMA, eq. 7-15: the context beside every word, one head after the other."""

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Pools `(batch, time, dim)`."""
        inputs = ops.cast(inputs, self.compute_dtype)
        kept = ops.cast(ops.expand_dims(mask, -1), inputs.dtype)
        context = ops.sum(inputs * kept, axis=1, keepdims=True) / ops.sum(
            kept, axis=1, keepdims=True
        )
        context = ops.tile(context, (1, inputs.shape[1], 1))
        hidden = self.layer.hidden(inputs)
        factors = ops.matmul(context, self.weight("context_kernel")) * ops.matmul(
            hidden, self.weight("token_kernel")
        )
        factors = ops.tanh(factors)
        norm = ops.sqrt(ops.maximum(ops.sum(factors * factors, axis=-1, keepdims=True), 1e-8))
        weights = softmax_over_time(factors / norm, mask)
        weights = ops.cast(weights, inputs.dtype)
        heads = [
            ops.sum(weights[:, :, head : head + 1] * inputs, axis=1)
            for head in range(self.layer.num_heads)
        ]
        return ops.concatenate(heads, axis=-1)


class LowRankProducts(Form):
    """The matrix products and the tanh of LAMA and nothing else: what it cannot do without."""

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Products of the sizes of `(batch, time, dim)`; not what the layer computes."""
        inputs = ops.cast(inputs, self.compute_dtype)
        scores = ops.matmul(self.layer.hidden(inputs), self.weight("token_kernel"))
        return ops.reshape(
            ops.matmul(ops.transpose(scores, (0, 2, 1)), inputs), (inputs.shape[0], -1)
        )


class StackedVectorHeads(Form):
    """Generalized Pooling, eq. 5-6: weights `(batch, time, heads, dim)`, all heads at once."""

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Pools `(batch, time, dim)`."""
        inputs = ops.cast(inputs, self.compute_dtype)
        hidden = ops.relu(
            ops.einsum("btd,hda->btha", inputs, self.weight("hidden_kernel"))
            + self.weight("hidden_bias")
        )
        logits = ops.einsum("btha,had->bthd", hidden, self.weight("score_kernel"))
        logits = logits + self.weight("score_bias")
        weights = ops.cast(softmax_over_time(logits, mask), inputs.dtype)
        vectors = ops.sum(weights * ops.expand_dims(inputs, 2), axis=1)
        return ops.reshape(vectors, (inputs.shape[0], -1))


class VectorProducts(Form):
    """The matrix products of Generalized Pooling and a sum over time, nothing else."""

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Products of the sizes of `(batch, time, dim)`; not what the layer computes."""
        inputs = ops.cast(inputs, self.compute_dtype)
        first, second = self.weight("hidden_kernel"), self.weight("score_kernel")
        # Times the inputs, as in the layer: a compiler would sum in front of the last product.
        heads = [
            ops.sum(inputs * ops.matmul(ops.relu(ops.matmul(inputs, first[h])), second[h]), axis=1)
            for h in range(self.layer.num_heads)
        ]
        return ops.concatenate(heads, axis=-1)


class EveryPair(Form):
    """MPSAN and DiSAN: additive scores of all pairs for every feature, `(batch, time, time, dim)`.

    MPSAN's public code repeats its scores over the features before the softmax.
    """

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Maps `(batch, time, dim)` to `(batch, time, units)`."""
        layer = self.layer
        inputs = ops.cast(inputs, self.compute_dtype)
        time = inputs.shape[1]
        hidden = layer.hidden(inputs)
        source = ops.matmul(hidden, self.weight("source_kernel"))
        target = ops.matmul(hidden, self.weight("target_kernel")) + self.weight("score_bias")
        # Row: the word that asks, which the weights of `target` meet.
        scores = self.scores(ops.expand_dims(source, 1) + ops.expand_dims(target, 2))
        scores = ops.broadcast_to(scores, (inputs.shape[0], time, time, layer.units))
        rows, columns = ops.arange(time)[:, None], ops.arange(time)[None]
        allowed, penalty = self.positions(rows, columns)
        allowed = ops.logical_and(ops.expand_dims(mask, 1), allowed[None])
        scores = ops.cast(scores, "float32") - penalty[None, :, :, None]
        weights = ops.softmax(ops.where(allowed[..., None], scores, LOW), axis=2)
        weights = weights * ops.cast(allowed[..., None], weights.dtype)
        attention = ops.sum(ops.cast(weights, inputs.dtype) * ops.expand_dims(hidden, 1), axis=2)
        output = self.joined(hidden, attention)
        return output * ops.cast(ops.expand_dims(mask, -1), output.dtype)


class EveryPairByDistance(EveryPair):
    """MPSAN's scalar scores, eq. 6-12, less the logarithm of the distance, of later words."""

    def scores(self, x: Any) -> Any:
        return ops.elu(x / self.layer.scale)

    def positions(self, rows: Any, columns: Any) -> Any:
        distance = ops.cast(ops.abs(rows - columns), "float32")
        return columns > rows, ops.log(ops.maximum(distance, 1.0))

    def joined(self, hidden: Any, attention: Any) -> Any:
        return attention


class EveryPairDirected(EveryPair):
    """DiSAN's forward block: a score for every feature, and the gate."""

    def scores(self, x: Any) -> Any:
        return self.layer.scale * ops.tanh(x / self.layer.scale)

    def positions(self, rows: Any, columns: Any) -> Any:
        return columns < rows, ops.zeros_like(rows - columns, dtype="float32")

    def joined(self, hidden: Any, attention: Any) -> Any:
        return self.layer.gate(hidden, attention)


class PublishedProbe(Form):
    """Efficient probing as published: a copy of the queries an example, a value a patch."""

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Pools `(batch, time, dim)`."""
        inputs = ops.cast(inputs, self.compute_dtype)
        batch, time, dim = inputs.shape
        queries = ops.tile(self.weight("queries"), (batch, 1, 1)) * dim**-0.5
        heads = queries.shape[1]
        weights = softmax_over_time(ops.matmul(inputs, ops.transpose(queries, (0, 2, 1))), mask)
        weights = ops.expand_dims(ops.transpose(weights, (0, 2, 1)), 2)
        values = ops.matmul(inputs, self.weight("value_kernel"))
        values = ops.transpose(ops.reshape(values, (batch, time, heads, -1)), (0, 2, 1, 3))
        return ops.reshape(ops.matmul(ops.cast(weights, values.dtype), values), (batch, -1))


class SeparateAttentions(Form):
    """SAM, eq. 2-6: the weighted sequence is written out, then weighed word by word."""

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Pools `(batch, time, dim)`."""
        inputs = ops.cast(inputs, self.compute_dtype)
        kept = ops.cast(ops.expand_dims(mask, -1), inputs.dtype)
        first, second = self.layer.parts
        highest = ops.max(ops.where(ops.expand_dims(mask, -1), inputs, -1e4), axis=1)
        average = ops.sum(inputs * kept, axis=1) / ops.sum(kept, axis=1)
        gate = ops.sigmoid(dense_pair(first, highest) + dense_pair(first, average))
        weighed = inputs * kept * ops.expand_dims(gate, 1)
        tops = ops.max(weighed, axis=2, keepdims=True)
        means = ops.mean(weighed, axis=2, keepdims=True)
        logits = dense_pair(second, tops) + dense_pair(second, means)
        weights = ops.cast(softmax_over_time(logits, mask), inputs.dtype)
        return ops.sum(weighed * weights, axis=1)


def dense_pair(layer: Any, x: Any) -> Any:
    """The two dense layers of a part of SAM."""
    kernel, bias = (ops.cast(w, x.dtype) for w in (layer.score_kernel, layer.score_bias))
    return ops.matmul(layer.hidden(x), kernel) + bias
