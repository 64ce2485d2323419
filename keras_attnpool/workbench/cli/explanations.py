"""Explains predictions by the effect of each word and by the attention weights."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool import analysis
from keras_attnpool.workbench.cli.networks import embeddings
from keras_attnpool.workbench.cli.readers import Reader, Words

# Gradients explain longer texts, because leaving out words needs one prediction per word.
LONG = 128
CHUNK = 32
# A heat map with more cells than this shows only the mean of the heads.
MOST_CELLS = 20_000
POOLING = "pooling"  # the layer whose weights pool the words
# Terminal, heat maps and reports use the same scale. A word has the full colour if its effect is a
# quarter of the probability, or if its attention is four times the uniform weight.
EFFECT_COLOUR, ATTENTION_COLOUR = 0.25, 4.0
EFFECT = (
    "Effect: by how much the probability of the predicted class falls without the word; 1 is all "
    "of it, + speaks for the class, - against it."
)
# If all effects are smaller, no single word changes the prediction.
NOTHING = 0.01
UNMOVED = (
    "Where all effects are near 0, no single word decides: the model stays as sure without it."
)
BY_GRADIENT = "The text is long: its effects are gradient x input, a first guess at the same."
ATTENTION = "Attention: 1 is what a mean over all words would give to each."
# If no weight of a text differs more from the uniform weight than this, its attention counts as
# uniform. On the generated reviews, the differences are 0.04 to 0.5 with LAMA, and 1.6 to 21 with
# SAN.
FLAT = 0.5


class Explanation(NamedTuple):
    """The prediction for a text, and the reasons for it.

    Attributes:
        text: The text.
        label: The predicted class.
        probability: The probability of the predicted class.
        words: The words that the model reads, in order.
        effects: float32 array `(words,)`: how much the probability falls without each word.
        heads: float32 array `(heads, words)`, the attention weights of each head as multiples of
            the uniform weight. `None` for a model without attention over words.
        by_gradient: Whether the effects are gradient x input, as for long texts.
    """

    text: str
    label: str
    probability: float
    words: list[str]
    effects: npt.NDArray[np.float32]
    heads: npt.NDArray[np.float32] | None
    by_gradient: bool

    @property
    def attention(self) -> npt.NDArray[np.float32] | None:
        """The mean attention over the heads, float32 `(words,)`."""
        return None if self.heads is None else self.heads.mean(axis=0)

    def first(self, number: int) -> Self:
        """Returns the explanation, cut after the given number of words."""
        heads = None if self.heads is None else self.heads[:, :number]
        words, effects = self.words[:number], self.effects[:number]
        return self._replace(words=words, effects=effects, heads=heads)


class Explainer:
    """Explains the predictions of a model.

    Args:
        model: The model.
        reader: Reader that makes the model's inputs.
        label_names: The classes.
    """

    def __init__(self, model: keras.Model, reader: Reader, label_names: Sequence[str]) -> None:
        self._model, self._reader, self._names = model, reader, label_names
        try:
            self._attention = analysis.attention_model(model, POOLING)
        except ValueError:  # the layer returns no weights
            self._attention = None

    def explain(self, texts: Sequence[str]) -> Iterator[Explanation]:
        """Yields the explanation of every text as soon as it is ready."""
        for start in range(0, len(texts), CHUNK):
            some = texts[start : start + CHUNK]
            for content, heads in zip(some, self.attention(some), strict=True):
                effects, probabilities, by_gradient = self.effects(content)
                yield Explanation(
                    content,
                    self._names[int(probabilities.argmax())],
                    float(probabilities.max()),
                    self._reader.words(content),
                    effects,
                    heads,
                    by_gradient,
                )

    def attention(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32] | None]:
        """Returns each head's attention relative to uniform attention, float32 `(heads, words)`."""
        if not self._attention:
            return [None] * len(texts)
        found = []
        for start in range(0, len(texts), CHUNK):
            some = texts[start : start + CHUNK]
            inputs = self._reader.encode(some)
            filled = _filled(inputs, len(some))
            _, by_path = self._attention.predict(filled, batch_size=CHUNK, verbose=0)
            (scores, *_), (symbols, *_) = by_path[POOLING], self._attention.output[1][POOLING]
            for row, (content, mask) in enumerate(
                zip(some, self._reader.mask(inputs), strict=True)
            ):
                weights = _over_steps(_row(scores, row), symbols, mask) if mask.any() else None
                found.append(
                    None
                    if weights is None
                    else self._reader.over_words(content, weights * weights.shape[1])
                )
        return found

    def effects(self, content: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[Any], bool]:
        """Returns the words' effects, the probabilities, and whether the effects are gradients."""
        inputs = self._reader.encode([content])
        whole = np.asarray(self._model.predict(inputs, verbose=0))[0]
        chosen, number = int(whole.argmax()), len(self._reader.words(content))
        if not number:
            return np.zeros(0, np.float32), whole, False
        if number > LONG and isinstance(self._reader, Words):
            (layer,) = embeddings(self._model)
            slopes = analysis.gradient_saliency(self._model, inputs, [chosen], layer=layer)[0]
            # The gradient is of the log-probability, so this product is the change of the
            # probability.
            return slopes[self._reader.mask(inputs)[0]] * whole[chosen], whole, True
        numbered = Numbered(self._model, self._reader, [content])
        return analysis.leave_one_out(numbered, numbered.ids)[0], whole, False


class Numbered:
    """A classifier of fixed texts.

    The inputs of this classifier are a number for each word, not the model's inputs. The functions
    of `analysis` remove single ids, so here they remove whole words.

    Args:
        model: The model.
        reader: Reader that makes the model's inputs.
        texts: The texts.

    Attributes:
        ids: Integer array `(texts, words)` with a different number for each word of each text. 0
            is padding.
    """

    def __init__(self, model: keras.Model, reader: Reader, texts: Sequence[str]) -> None:
        self._model, self._reader, self._texts = model, reader, texts
        sizes = [len(reader.words(content)) for content in texts]
        mask = np.arange(max(sizes)) < np.array(sizes)[:, None]
        self.ids = np.where(mask, np.cumsum(mask).reshape(mask.shape), 0)
        self._known: dict[bytes, npt.NDArray[np.float32]] = {}  # tests repeat texts

    def predict(self, ids: npt.NDArray[Any], **options: Any) -> npt.NDArray[np.float32]:
        """Returns the probabilities for texts without some of their words."""
        left = [np.sort(row[row != 0]) for row in ids]
        keys = [each.tobytes() for each in left]
        asked = dict(zip(keys, left, strict=True))
        new = [key for key in asked if key not in self._known]
        for start in range(0, len(new), CHUNK):
            texts, left_out, chunk = [], [], new[start : start + CHUNK]
            for row in map(asked.__getitem__, chunk):
                # If no word is left, all texts have the same probabilities.
                owner = int(np.searchsorted(self.ids.max(axis=1), row.max(initial=0)))
                own = self.ids[owner]
                texts.append(self._texts[owner])
                left_out.append(np.flatnonzero(~np.isin(own[own != 0], row)).tolist())
            filled = _filled(self._reader.without(texts, left_out), len(chunk))
            answers = self._model.predict(filled, batch_size=CHUNK, verbose=0)
            self._known |= zip(chunk, answers, strict=False)
        return np.stack([self._known[key] for key in keys])


def flat_remark(attention: Sequence[npt.NDArray[np.float32]]) -> str | None:
    """Returns a warning if attention is almost uniform in at least half of the texts.

    Args:
        attention: The attention on each text's words. Uniform attention is 1.
    """
    farthest = sorted(float(np.abs(each - 1).max()) for each in attention if each.size > 1)
    if not farthest or (middle := farthest[(len(farthest) - 1) // 2]) > FLAT:
        return None
    whose = " of half of the texts" if len(farthest) > 1 else ""
    return (
        f"The attention weights{whose} are within {math.ceil(100 * middle)} % of uniform: do not "
        "read them as an explanation. The effects of the words are one."
    )


def heatmaps(explanation: Explanation, label: str) -> list[str]:
    """Returns the heat maps of a text: the effects of its words, and the attention on its words."""
    pieces = [
        analysis.heatmap_html(
            explanation.words,
            explanation.effects,
            vmax=EFFECT_COLOUR,
            unit="of the probability",
            title="What each word does",
            label=label,
        )
    ]
    if explanation.heads is not None:
        is_large = explanation.heads.size > MOST_CELLS
        pieces.append(
            analysis.heatmap_html(
                explanation.words,
                explanation.attention if is_large else explanation.heads,
                vmax=ATTENTION_COLOUR,
                unit="1: as the mean",
                title="Where attention looks",
            )
        )
    return pieces


def _filled(inputs: Any, number: int) -> Any:
    """Fills up inputs to whole chunks, so that a compiled model gets few shapes."""
    return keras.tree.map_structure(
        lambda each: np.concatenate([each, np.repeat(each[:1], -number % CHUNK, axis=0)]), inputs
    )


def _row(scores: Any, row: int) -> Any:
    return keras.tree.map_structure(lambda each: np.asarray(each)[row], scores)


def _over_steps(
    scores: Any, symbols: Any, mask: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float32] | None:
    """Turns scores of any layout into weights `(heads, kept steps)` that sum to 1 over time.

    Args:
        scores: Weights of the layer for one text, or a dictionary of weights. Heads and queries may
            precede the axis of steps, and features may follow it.
        symbols: The symbolic tensors of these weights. Their axis of steps has no size, unless all
            texts have the same length.
        mask: Boolean array `(steps,)`.
    """
    flat = zip(*map(keras.tree.flatten, (scores, symbols)), strict=True)
    for each, symbol in ((np.asarray(values), symbol) for values, symbol in flat):
        sizes = symbol.shape[-each.ndim :]
        for axis in reversed(range(each.ndim)):
            if each.shape[axis] != mask.size or (None in sizes and sizes[axis] is not None):
                continue
            over_time = np.moveaxis(each, axis, -1)
            sums = over_time[..., mask].sum(axis=-1)
            # A padded query has no attention.
            if not np.isclose(np.median(sums[sums > 0]) if sums.any() else 0, 1, atol=0.01):
                continue
            if axis < each.ndim - 1:  # each feature has its own weights
                over_time = over_time.mean(axis=-2)
            # Each step gets the mean attention of all steps. Learned queries are not steps.
            if over_time.ndim == 3 and over_time.shape[1] == mask.size:
                over_time = over_time[:, mask].mean(axis=1)
            return np.asarray(over_time[..., mask].reshape(-1, mask.sum()), np.float32)
    return None
