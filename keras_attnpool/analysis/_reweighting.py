"""Predicts with given attention weights instead of the weights that a pooling layer computes."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_attnpool.analysis._graph import graph_of, in_graph, rewire
from keras_attnpool.analysis.scores import FLAG, _WithScores, split_arguments
from keras_attnpool.types import Array, Bools

# For each layout of the scores, the equation of the inputs' weighted sum. A comparison of outputs
# finds layers that compute something else.
SUMS = {"bt": "bt,btd->bd", "bht": "bht,btd->bhd", "btd": "btd,btd->bd", "bhtd": "bhtd,btd->bhd"}
SAME = 1e-3


class Reweighting:
    """Predicts with given weights instead of the weights of a pooling layer.

    Args:
        model: A functional model.
        path: The path of the pooling layer.
        layout: The layout of the layer's scores, see `reduce_scores`.
        inputs: Inputs of `model.predict`, as arrays.
        mask: Boolean array of the steps that the layer weighs: `(texts, time)`, or `(texts,
            sentences, words)` for a layer inside a `HierarchicalEncoder`.
        batch_size: Number of texts in one step.

    Attributes:
        possible: Whether the layer's output is the weighted sum of its inputs, one sum per head.
            For any other output, the effect of other weights is unknown.
    """

    def __init__(
        self, model: keras.Model, path: str, layout: str, inputs: Any, mask: Bools, batch_size: int
    ) -> None:
        self.inputs, self.texts = inputs, len(mask)
        self.size = min(batch_size, len(mask))
        self.possible = layout in SUMS and graph_of(model) is not None and path in in_graph(model)
        if not self.possible:
            return
        swap: _Swap | None = None

        def visit(called: str, layer: Any, args: Any, kwargs: Any) -> Any:
            nonlocal swap
            if called != path:
                return layer(*args, **kwargs), {}
            tensors, others = split_arguments(layer, args, kwargs)
            shape = (self.size, *mask.shape[1:])
            swap = swap or _Swap(layer, others, layout, shape, next(iter(tensors)))
            outputs, apart = swap(tensors)
            return outputs, {"apart": [apart]}

        self.model = rewire(model, visit)
        self.swap: Any = swap
        uniform = mask / np.maximum(mask.sum(axis=-1, keepdims=True), 1)
        self.possible = bool(self._run(uniform)[1].max() <= SAME)

    def predict(self, weights: Array) -> Array:
        """Returns the model's outputs if every head uses `weights`, in the mask's shape."""
        return self._run(weights)[0]

    def _run(self, weights: Array) -> tuple[Array, Array]:
        outputs, apart = [], []
        for start in range(0, self.texts, self.size):
            rows = np.arange(start, start + self.size) % self.texts  # the last batch is filled up
            self.swap.given.assign(weights[rows])
            predictions, extras = self.model.predict_on_batch(_some(self.inputs, rows))
            outputs.append(np.asarray(predictions))
            apart.append(np.asarray(extras["apart"][0]))
        return np.concatenate(outputs)[: self.texts], np.concatenate(apart)[: self.texts]


class _Swap(_WithScores):
    """Pools with given weights; measures whether the layer's own weights explain its output."""

    def __init__(
        self, layer: Any, others: dict[str, Any], layout: str, shape: tuple[int, ...], first: str
    ) -> None:
        super().__init__(layer, others, layer.name)
        self.layout = layout
        self.first = first
        self.given = self.add_weight(
            name="given", shape=shape, initializer="zeros", trainable=False, dtype="float32"
        )

    def call(self, tensors: dict[str, Any]) -> Any:
        outputs, scores = self.layer(**{**self.others, **tensors, FLAG: True})
        values = ops.cast(tensors[self.first], "float32")
        given = self._of_rows(values.shape[0])
        shape = ops.shape(outputs)
        # Padding may be NaN, which a weight of 0 does not remove.
        values = ops.where(ops.expand_dims(ops.not_equal(given, 0), -1), values, 0.0)
        own = ops.einsum(SUMS[self.layout], ops.cast(scores, "float32"), values)
        own = ops.reshape(own, (shape[0], -1))
        plain = ops.cast(ops.reshape(outputs, (shape[0], -1)), "float32")
        if own.shape[1] != plain.shape[1]:
            return outputs, ops.full((shape[0],), np.inf)
        apart = ops.max(ops.abs(own - plain), axis=1) / (1e-6 + ops.max(ops.abs(plain), axis=1))
        heads = 1 if "h" not in self.layout else scores.shape[1]
        other = ops.tile(ops.einsum("bt,btd->bd", given, values), (1, heads))
        return ops.cast(ops.reshape(other, shape), outputs.dtype), apart

    def _of_rows(self, rows: int | None) -> Any:
        """The weights of the current rows, or of their sentences inside a `HierarchicalEncoder`."""
        given = self.given.value
        if len(given.shape) == 2:
            return given
        given = ops.reshape(given, (-1, given.shape[-1]))
        if rows in (None, given.shape[0]):
            return given
        # An eager call leaves out sentences without words.
        kept = np.any(ops.convert_to_numpy(given), axis=1)
        return ops.take(given, np.flatnonzero(kept), axis=0)

    def compute_output_spec(self, tensors: dict[str, Any]) -> Any:
        outputs = self.layer.compute_output_spec(**{**self.others, **tensors})
        return outputs, keras.KerasTensor((None,), "float32")


def _some(inputs: Any, rows: Array) -> Any:
    return keras.tree.map_structure(lambda each: each[rows], inputs)
