"""Tests the attention of one layer as the literature does, for any kind of input."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._graph import layers_by_path
from keras_attnpool.analysis._guided import guided_accuracy
from keras_attnpool.analysis._probabilities import class_probabilities
from keras_attnpool.analysis._randomizing import shuffled, weights_around
from keras_attnpool.analysis._reweighting import Reweighting
from keras_attnpool.analysis._token_rows import checked_classes
from keras_attnpool.analysis.reduction import LAYOUTS, reduce_scores
from keras_attnpool.analysis.score_table import ScoreTable, mean_of
from keras_attnpool.analysis.scores import attention_model
from keras_attnpool.analysis.weight_measures import kendall_tau
from keras_attnpool.layers import LearnedQueryPooling, is_attention_layer
from keras_attnpool.types import Array, Bools, Float32s, Float64s

# This number marks the time axis in the shape of scores. No layer has so many heads.
ANY_TIME = 7919
KERAS_LAYOUTS = {
    "bqt": (keras.layers.Attention, keras.layers.AdditiveAttention),
    "bhqt": (keras.layers.MultiHeadAttention, keras.layers.GroupQueryAttention),
}


class AttentionTests:
    """Tests the attention of one layer and makes the second table of `attention_report`.

    Args:
        model: A functional classifier.
        inputs: Inputs of the model's `predict`, as arrays.
        mask: Boolean array `(texts, steps)`. True means that the step counts. For a layer inside a
            `HierarchicalEncoder` the mask is `(texts, sentences, words)`. In such a layer, each
            sentence has its own weights, and a text's value is the mean over its sentences.
        path: The path of the layer.
        owner: The public function, for messages.
        layout: The layout of the layer's scores, see `reduce_scores`.
        labels: `None`, or the class of every text.
        steps: With `labels`, the ids `(texts, steps)` or vectors `(texts, steps, dim)`.
        from_logits: Whether the model returns logits.
        batch_size: Number of texts in one step.

    Attributes:
        weights: float32 array of the mask's shape, the unchanged attention.
    """

    def __init__(
        self,
        model: keras.Model,
        inputs: Any,
        mask: Bools,
        path: str,
        owner: str,
        *,
        layout: str | None = None,
        labels: Any = None,
        steps: Any = None,
        from_logits: bool = False,
        batch_size: int = 32,
    ) -> None:
        self.model, self.inputs, self.mask, self.path = model, inputs, mask, path
        self.owner, self.layout = owner, layout
        self.from_logits, self.batch_size = from_logits, batch_size
        self.shown = attention_model(model, path)
        self.weights, self.predictions = self._attention(self.shown)
        self.before = class_probabilities(self.predictions, from_logits, owner)
        self.labels, self.steps = labels, steps
        if labels is not None:
            if len(mask) < 2:
                raise ArgumentError("labels", "be of two texts or more", "one", owner)
            classes = self.before.shape[1]
            self.labels = checked_classes(labels, len(mask), classes, owner, "labels")

    def table(self, others: Sequence[keras.Model] = (), seed: int = 0) -> ScoreTable:
        """Computes one row per test.

        `others` are models that were trained with other seeds. A test that shuffles variables has
        no row if there are no such variables, for instance in a model without an encoder.
        """
        table = ScoreTable({})
        self._add(table, "as it is", self.weights, self.predictions)
        rng = np.random.default_rng(seed)
        swap = Reweighting(
            self.model, self.path, str(self.layout), self.inputs, self.mask, self.batch_size
        )
        uniform = self.mask / np.maximum(self.mask.sum(axis=-1, keepdims=True), 1)
        dealt = _dealt_out(self.weights, self.mask, rng)
        for name, given in (("uniform weights", uniform), ("shuffled weights", dealt)):
            self._add(table, name, given, swap.predict(given) if swap.possible else None)
        for number, other in enumerate(others, 1):
            theirs, answers = self._attention(attention_model(other, self.path))
            given = swap.predict(theirs) if swap.possible else None
            self._add(table, f"weights of other {number}", theirs, given)
            self._add(table, f"other {number}", theirs, answers)
        pooling, encoder = weights_around(self.model, self.path, self.owner)
        parts = {"pooling": pooling, "encoder": encoder}
        parts |= {"both": pooling + encoder} if pooling and encoder else {}
        for name, disordered in parts.items():
            if disordered:
                with shuffled(disordered, rng):
                    theirs, answers = self._attention(self.shown)
                self._add(table, f"random {name}", theirs, answers)
        return table

    def _attention(self, shown: keras.Model) -> tuple[Float32s, Array]:
        """Returns the weights, one per step, and the predictions."""
        predictions, by_path = shown.predict(self.inputs, batch_size=self.batch_size, verbose=0)
        (path,) = by_path
        scores = by_path[path][0] if len(by_path[path]) == 1 else by_path[path]
        if not isinstance(scores, np.ndarray):
            must = "name a layer with one array of scores, called once"
            received = f"layer '{path}' with a {type(scores).__name__}"
            raise ArgumentError("layer", must, received, self.owner)
        # Sentences, if any, become rows.
        rows = scores.reshape(-1, *scores.shape[self.mask.ndim - 1 :])
        mask = self._rows(self.mask)
        self.layout = self._layout(path, rows.shape)
        place = self.layout.find("t")
        if len(self.layout) != rows.ndim or place < 0 or rows.shape[place] != mask.shape[1]:
            raise ArgumentError(
                "layout",
                f"have a letter for each axis of the scores, `t` for the {mask.shape[1]} steps",
                f"layout={self.layout!r} for layer '{path}' with scores of shape {rows.shape}",
                self.owner,
            )
        weights = reduce_scores(rows, layout=self.layout, mask=mask)
        return weights.reshape(self.mask.shape), predictions

    def _layout(self, path: str, shape: tuple[int, ...]) -> str:
        """Returns the given layout, or finds it from the layer or the shape of the scores."""
        layer = layers_by_path(self.model, self.owner)[path]
        if isinstance(layer, LearnedQueryPooling):
            return (self.layout or "blht").replace("q", "l")
        if self.layout:
            return self.layout
        if is_attention_layer(layer):
            return _own_layout(layer)
        for layout, kinds in KERAS_LAYOUTS.items():
            if isinstance(layer, kinds):
                return layout
        steps = self.mask.shape[-1]
        if len(shape) == 2 or (len(shape) == 3 and shape[2] == steps != shape[1]):
            return LAYOUTS[len(shape)]
        must = "be given where the scores could be read in several ways"
        received = f"layer '{path}' with scores of shape {shape}"
        raise ArgumentError("layout", must, received, self.owner)

    def _rows(self, values: Array) -> Array:
        return values.reshape(-1, values.shape[-1])

    def _add(self, table: ScoreTable, name: str, weights: Array, predictions: Any) -> None:
        own, given, mask = map(self._rows, (self.weights, weights, self.mask))
        overlap = np.minimum(_scaled(given), _scaled(own)).sum(axis=1)
        columns = {
            "tau": self._by_text(kendall_tau(given, own, mask)),
            "overlap": self._by_text(np.where(mask.any(axis=1), overlap, np.nan)),
        }
        if predictions is not None:
            after = class_probabilities(predictions, self.from_logits, self.owner)
            classes = after.argmax(axis=1)
            columns["same class"] = (classes == self.before.argmax(axis=1)).astype(np.float64)
            columns["change"] = np.abs(after - self.before).sum(axis=1) / 2
            if self.labels is not None:
                columns["accuracy"] = (classes == self.labels).astype(np.float64)
        # Texts without a token are left out, as in the grades.
        used = self.mask.reshape(len(self.mask), -1).any(axis=1)
        columns = {column: np.where(used, values, np.nan) for column, values in columns.items()}
        table.per_text[name] = columns
        table[name] = {column: mean_of(values) for column, values in columns.items()}
        if self.labels is not None:
            table[name]["guided accuracy"] = guided_accuracy(
                self.steps, _scaled(given), self.labels, self.before.shape[1]
            )

    def _by_text(self, values: Float64s) -> Float64s:
        return np.array([mean_of(each) for each in values.reshape(len(self.mask), -1)])


def _own_layout(layer: Any) -> str:
    """The layout of a layer of this package: heads before the time axis, features after it."""
    steps = keras.KerasTensor((None, ANY_TIME, 1))
    # The copy is not built, so it accepts steps of any size.
    layer = layer.from_config(layer.get_config())
    sizes = layer.compute_output_spec(steps, return_attention_scores=True)[1].shape
    times = [place for place, size in enumerate(sizes) if size == ANY_TIME]
    if not times:
        return "b" + "d" * (len(sizes) - 1)
    letters = {0: "b", **dict.fromkeys(times, "q"), times[-1]: "t"}
    return "".join(letters.get(n, "h" if n < times[-1] else "d") for n in range(len(sizes)))


def _scaled(weights: Array) -> Float64s:
    """Divides weights by their sum; texts without weight keep zeros."""
    total = weights.sum(axis=1, keepdims=True, dtype=np.float64)
    return np.asarray(weights / np.where(total == 0, 1, total))


def _dealt_out(weights: Array, mask: Bools, rng: np.random.Generator) -> Array:
    """Shuffles the weights of each row over its steps."""
    dealt = weights.copy()
    for place in np.ndindex(mask.shape[:-1]):
        kept = mask[place]
        dealt[place][kept] = rng.permutation(dealt[place][kept])
    return dealt
