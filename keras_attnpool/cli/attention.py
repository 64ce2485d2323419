"""What a trained model looks at: the words that it gets, and the attention on each."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool import analysis, text

# The layer with the attention weights; the other models have none.
LAYERS = {
    "lama": "pooling",
    "lama-encoder": "pooling",
    "san": "pooling",
    "transformer": "encoder_0",
}
CHUNK = 32
# Attention is shown by how much it is above or below that of mean pooling.
SCALE = (
    "A weight of 0 (no colour) is uniform attention, as mean pooling has it; 1 is twice as much, "
    "-1 none."
)
# A text in which no weight is further from the uniform one tells nothing. On the generated reviews
# LAMA's texts lie between 0.04 and 0.5, SAN's between 1.6 and 21.
FLAT = 0.5


class Attention(NamedTuple):
    """The attention of a model for some texts, and its predictions.

    Attributes:
        heads: float32 array `(texts, heads, time)`, 0 on padding.
        weights: float32 array `(texts, time)`, the mean over the heads.
        predictions: float32 array `(texts, classes)`.
    """

    heads: npt.NDArray[np.float32]
    weights: npt.NDArray[np.float32]
    predictions: npt.NDArray[np.float32]


def read_attention(name: str, model: keras.Model, ids: npt.NDArray[Any]) -> Attention:
    """Reads the attention weights of one of the models of `LAYERS`.

    Where words attend to words (the transformer), a word's weight is the mean over those that
    attend.

    Args:
        name: The model's name on the command line.
        model: The model.
        ids: Integer array `(texts, time)`, 0 = padding.
    """
    layer = LAYERS[name]
    reader = analysis.attention_model(model, layer)
    heads, predictions = [], []
    # Reduced chunk by chunk: weights between all pairs of words take much room.
    for start in range(0, len(ids), CHUNK):
        rows = ids[start : start + CHUNK]
        probabilities, scores = reader.predict(rows, verbose=0)
        heads.append(_by_head(np.asarray(scores[layer][0]), rows != 0))
        predictions.append(probabilities)
    by_head = np.concatenate(heads)
    weights = analysis.reduce_scores(by_head, mask=ids != 0)
    return Attention(by_head, weights, np.concatenate(predictions))


def _by_head(
    scores: npt.NDArray[np.float32], mask: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float32]:
    """Scores `(texts, heads, time)` or `(texts, heads, query, time)` without the queries."""
    layout = "bht" if scores.ndim == 3 else "bhqt"
    return np.stack(
        [
            analysis.reduce_scores(scores, heads=head, layout=layout, mask=mask)
            for head in range(scores.shape[1])
        ],
        axis=1,
    )


def above_uniform(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Weights `(..., time)` of a text as multiples of the uniform weight, minus 1."""
    above = weights * np.float32(weights.shape[-1]) - np.float32(1)
    # A text of one word: a hair below 0, so that its heat map has the scale of all the others.
    return above if above.any() else above - np.float32(1e-9)


def flat_remark(weights: Sequence[npt.NDArray[np.float32]]) -> str | None:
    """One line that says that attention is all but uniform, if it is for half of the texts.

    Args:
        weights: For each text the weights of its words, in sum 1.
    """
    farthest = sorted(
        float(np.abs(above_uniform(each)).max()) for each in weights if each.shape[-1] > 1
    )
    if not farthest or (middle := farthest[(len(farthest) - 1) // 2]) > FLAT:
        return None
    whose = " of half of the texts" if len(farthest) > 1 else ""
    return (
        f"The attention weights{whose} are within {math.ceil(100 * middle)} % of uniform: do not "
        "read them as an explanation. `explain --method saliency` shows what speaks for the "
        "predicted class."
    )


def full_colour(*weights: npt.NDArray[np.float32]) -> float:
    """The weight of full colour; not too small, else noise would look like a finding."""
    return max([0.25, *(float(np.abs(each).max(initial=0)) for each in weights)])


def words_of(
    tokenizer: text.WordTokenizer, texts: Sequence[str], ids: npt.NDArray[Any]
) -> list[list[str]]:
    """The words that each row of ids stands for, unknown ones with "[UNK]" behind them."""
    unknown = tokenizer.vocabulary[1]
    return [
        [
            f"{word} {unknown}" if index == 1 else word
            for word, index in zip(tokenizer.tokenize(content), row[row != 0], strict=False)
        ]
        for content, row in zip(texts, ids, strict=True)
    ]
