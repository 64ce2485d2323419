"""The words that the texts of each class are read by (LAMA, table 6)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from keras_attnpool.analysis._token_rows import aligned_rows, checked_labels, checked_tokens

SCORES = ("relative", "mean", "sum")


def top_attended_words(
    tokens: Sequence[Sequence[str]],
    weights: Any,
    labels: Any,
    label_names: Sequence[str],
    k: int = 20,
    *,
    min_count: int = 5,
    score: str = "relative",
) -> dict[str, list[tuple[str, float, int]]]:
    """Lists the words with the most attention in the texts of each class.

    Args:
        tokens: The tokens of every text.
        weights: One row `(time,)` per text, or `(batch, time)`; padding behind the tokens must be
            0. One number per token: see `reduce_scores`.
        labels: Integer array `(batch,)`, the true or the predicted class of each text.
        label_names: The name of each class.
        k: Number of words per class, at least 1.
        min_count: Words with fewer occurrences in the texts of a class are left out.
        score: `"relative"`: the mean over the word's occurrences of weight x number of tokens of
            the text, so that 1 is uniform attention and text length does not matter; `"mean"`: the
            mean weight; `"sum"`: the summed weight, which favours frequent words.

    Returns:
        For each class its list of `(word, score, count)`, best first; equal scores by count, then
        by alphabet. A class without such words has an empty list.

    Raises:
        ValueError: If texts, weights and labels do not fit together, or an option is invalid.

    Example:

    >>> from keras_attnpool.analysis import top_attended_words
    >>> texts = [["so", "good"], ["so", "bad"]]
    >>> weights = [[0.1, 0.9], [0.4, 0.6]]
    >>> words = top_attended_words(texts, weights, [1, 0], ["neg", "pos"], k=1, min_count=1)
    >>> words
    {'neg': [('bad', 1.2, 1)], 'pos': [('good', 1.8, 1)]}
    """
    texts = checked_tokens(tokens, "top_attended_words")
    rows = aligned_rows(weights, [len(text) for text in texts], "top_attended_words")
    labels = checked_labels(labels, len(texts), label_names, "top_attended_words")
    if score not in SCORES:
        raise ValueError(
            f"top_attended_words expects `score` to be one of {SCORES}. Received: score={score!r}"
        )
    for name, value in (("k", k), ("min_count", min_count)):
        if value < 1:
            raise ValueError(f"top_attended_words expects `{name}` >= 1. Received: {name}={value}")
    sums: list[dict[str, float]] = [defaultdict(float) for _ in label_names]
    counts: list[dict[str, int]] = [defaultdict(int) for _ in label_names]
    for text, row, label in zip(texts, rows, labels, strict=True):
        factor = len(text) if score == "relative" else 1
        for word, weight in zip(text, row.tolist(), strict=True):
            sums[label][word] += weight * factor
            counts[label][word] += 1
    result = {}
    for name, total, count in zip(label_names, sums, counts, strict=True):
        found = [
            (word, total[word] if score == "sum" else total[word] / count[word], count[word])
            for word in total
            if count[word] >= min_count
        ]
        result[name] = sorted(found, key=lambda entry: (-entry[1], -entry[2], entry[0]))[:k]
    return result
