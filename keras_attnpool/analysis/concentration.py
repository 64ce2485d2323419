"""On how few tokens the weight lies: entropy and Gini index."""

from typing import Any

import numpy as np
import numpy.typing as npt

from keras_attnpool.analysis._token_rows import kept_rows


def weight_entropy(weights: Any, mask: Any = None) -> npt.NDArray[np.float64]:
    """Computes the entropy of each text's weights, relative to that of uniform weights.

    `- sum_t p_t log p_t / log n` with `p_t = |w_t| / sum |w|` over the n tokens of a text: 1 for
    uniform weights, 0 where one token has all the weight.

    Args:
        weights: One row `(time,)` per text, or `(texts, time)`. Signs do not count.
        mask: Boolean or 0/1 array `(texts, time)`, True = the token counts. `None` counts every
            number of `weights`, so give it for padded texts.

    Returns:
        float64 array `(texts,)` in [0, 1]; NaN for texts of fewer than two tokens or without
        weight.

    Raises:
        ValueError: If shapes do not fit together, or a weight is not finite.

    Example:

    >>> from keras_attnpool.analysis import weight_entropy
    >>> weight_entropy([[0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0]]).tolist()
    [1.0, 0.0]
    """
    return _per_text(weights, mask, _entropy, "weight_entropy")


def weight_gini(weights: Any, mask: Any = None) -> npt.NDArray[np.float64]:
    """Computes the Gini index of each text's weights.

    `sum_i (2 i - n - 1) |w|_i / (n sum |w|)` with the n weights in rising order: 0 for uniform
    weights, `1 - 1 / n` where one token has all the weight.

    Args:
        weights: One row `(time,)` per text, or `(texts, time)`. Signs do not count.
        mask: Boolean or 0/1 array `(texts, time)`, True = the token counts. `None` counts every
            number of `weights`, so give it for padded texts.

    Returns:
        float64 array `(texts,)` in [0, 1); NaN for texts of fewer than two tokens or without
        weight.

    Raises:
        ValueError: If shapes do not fit together, or a weight is not finite.

    Example:

    >>> from keras_attnpool.analysis import weight_gini
    >>> weight_gini([[0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0]]).tolist()
    [0.0, 0.75]

    Reference:
        - Hurley and Rickard, 2009, Comparing Measures of Sparsity
        - Chalasani et al., 2020, Concise Explanations of Neural Networks using Adversarial Training
    """
    return _per_text(weights, mask, _gini, "weight_gini")


def _per_text(weights: Any, mask: Any, measure: Any, owner: str) -> npt.NDArray[np.float64]:
    rows = [np.abs(row) for row in kept_rows(weights, mask, owner)]
    return np.array([measure(row) if len(row) > 1 and row.any() else np.nan for row in rows])


def _entropy(row: npt.NDArray[np.float64]) -> float:
    shares = row[row > 0] / row.sum()
    found = (shares * np.log(1 / shares)).sum() / np.log(len(row))
    return float(np.clip(found, 0, 1))


def _gini(row: npt.NDArray[np.float64]) -> float:
    ranks = 2 * np.arange(1, len(row) + 1) - len(row) - 1
    return float(max(0.0, (ranks * np.sort(row)).sum() / (len(row) * row.sum())))
