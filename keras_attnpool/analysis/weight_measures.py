"""Measures how concentrated weights are, and how similarly two attributions rank tokens."""

from typing import Any

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._token_rows import kept_rows
from keras_attnpool.types import Float64s


def weight_entropy(weights: Any, mask: Any = None) -> Float64s:
    """Computes the entropy of each text's weights, relative to the entropy of uniform weights.

    The value is `- sum_t p_t log p_t / log n` with `p_t = |w_t| / sum |w|` over the n tokens of a
    text. The value is 1 for uniform weights, and 0 if one token has all the weight.

    Args:
        weights: One row `(time,)` per text, or an array `(texts, time)`. The signs of the weights
            are ignored.
        mask: Array `(texts, time)` of booleans, or of 0 and 1. True means that the token counts.
            With `None` every number counts, so padded texts need a mask.

    Returns:
        float64 array `(texts,)` in [0, 1]. A text has NaN if it has fewer than two tokens, or if
        all its weights are 0.

    Raises:
        ValueError: If shapes do not fit together, or if a number is not finite.

    Example:

    >>> from keras_attnpool.analysis import weight_entropy
    >>> weight_entropy([[0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0]]).tolist()
    [1.0, 0.0]
    """
    return _per_text(weights, mask, _entropy, "weight_entropy")


def weight_gini(weights: Any, mask: Any = None) -> Float64s:
    """Computes the Gini index of each text's weights.

    The value is `sum_i (2 i - n - 1) |w|_i / (n sum |w|)` for n weights in ascending order. The
    index is 0 for uniform weights, and `1 - 1 / n` if one token has all the weight.

    Args:
        weights: One row `(time,)` per text, or an array `(texts, time)`. The signs of the weights
            are ignored.
        mask: Array `(texts, time)` of booleans, or of 0 and 1. True means that the token counts.
            With `None` every number counts, so padded texts need a mask.

    Returns:
        float64 array `(texts,)` in [0, 1). A text has NaN if it has fewer than two tokens, or if
        all its weights are 0.

    Raises:
        ValueError: If shapes do not fit together, or if a number is not finite.

    Example:

    >>> from keras_attnpool.analysis import weight_gini
    >>> weight_gini([[0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0]]).tolist()
    [0.0, 0.75]

    Reference:
        - Hurley and Rickard, 2009, Comparing Measures of Sparsity
        - Chalasani et al., 2020, Concise Explanations of Neural Networks using Adversarial Training
    """
    return _per_text(weights, mask, _gini, "weight_gini")


def _per_text(weights: Any, mask: Any, measure: Any, owner: str) -> Float64s:
    rows = [np.abs(row) for row in kept_rows(weights, mask, owner)]
    return np.array([measure(row) if len(row) > 1 and row.any() else np.nan for row in rows])


def _entropy(row: Float64s) -> float:
    shares = row[row > 0] / row.sum()
    relative = (shares * np.log(1 / shares)).sum() / np.log(len(row))
    return float(np.clip(relative, 0, 1))


def _gini(row: Float64s) -> float:
    ranks = 2 * np.arange(1, len(row) + 1) - len(row) - 1
    return float(max(0.0, (ranks * np.sort(row)).sum() / (len(row) * row.sum())))


def kendall_tau(weights: Any, others: Any, mask: Any = None) -> Float64s:
    """Computes Kendall's tau-b between two attributions of each text.

    Tau is `(same - opposite) / sqrt(pairs untied in the first * pairs untied in the second)`. Here
    `same` is the number of token pairs that both attributions rank in the same order, and
    `opposite` is the number of pairs that they rank in opposite order. A pair of tokens that is
    tied in one of the attributions is not counted. Tau lies between -1 and 1. Tau of unrelated
    orders is 0 on average.

    Args:
        weights: One row `(time,)` per text, or one array `(texts, time)`, of positive or negative
            numbers.
        others: The other attribution, in the same layout, for instance from `leave_one_out`,
            `gradient_saliency` or another model.
        mask: Array `(texts, time)` of booleans, or of 0 and 1. True means that the token counts.
            With `None` every number counts, so padded texts need a mask.

    Returns:
        float64 array `(texts,)` in [-1, 1]. Texts with fewer than two tokens, or with all tokens
        tied in one attribution, have NaN. The computing time for a text grows with the square of
        its length.

    Raises:
        ValueError: If shapes do not fit together, or if a number is not finite.

    Example:

    >>> from keras_attnpool.analysis import kendall_tau
    >>> kendall_tau([[0.1, 0.2, 0.7], [0.2, 0.3, 0.5]], [[1, 2, 3], [3, 2, 1]]).tolist()
    [1.0, -1.0]

    Reference:
        - Kendall, 1945, The Treatment of Ties in Ranking Problems
        - Jain and Wallace, 2019, Attention is not Explanation
    """
    first = kept_rows(weights, mask, "kendall_tau")
    second = kept_rows(others, mask, "kendall_tau", "others")
    if [len(row) for row in first] != [len(row) for row in second]:
        received = f"{len(second)} and {len(first)} rows, of other lengths"
        raise ArgumentError("others", "be of the texts of `weights`", received, "kendall_tau")
    return np.array([_tau(*rows) for rows in zip(first, second, strict=True)])


def _tau(first: Float64s, second: Float64s) -> float:
    a, b = (np.sign(row[:, None] - row[None]) for row in (first, second))
    untied = float((a != 0).sum()) * float((b != 0).sum())
    return float((a * b).sum() / np.sqrt(untied)) if untied else float("nan")
