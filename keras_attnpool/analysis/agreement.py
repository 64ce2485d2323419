"""Whether two attributions rank the tokens of a text alike."""

from typing import Any

import numpy as np
import numpy.typing as npt

from keras_attnpool.analysis._token_rows import kept_rows


def kendall_tau(weights: Any, others: Any, mask: Any = None) -> npt.NDArray[np.float64]:
    """Computes Kendall's tau-b between two attributions of each text.

    Of all pairs of tokens: those that both rank alike minus those that they rank the other way
    round. A pair that one of them holds equal is neither; tau-b divides by
    `sqrt(pairs untied in the first * pairs untied in the second)`, so that 1 and -1 can be reached
    with ties too. 0 is what orders without relation have on average.

    Args:
        weights: One row `(time,)` per text, or `(texts, time)`, of any sign.
        others: The other attribution, in the same layout: of `leave_one_out`,
            `gradient_saliency` or another model, say.
        mask: Boolean or 0/1 array `(texts, time)`, True = the token counts. `None` counts every
            number, so give it for padded texts.

    Returns:
        float64 array `(texts,)` in [-1, 1]; NaN where one of the two holds all tokens equal, and
        for texts of fewer than two tokens. The cost of a text grows as the square of its length.

    Raises:
        ValueError: If shapes do not fit together, or a number is not finite.

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
        raise ValueError(
            "kendall_tau expects `weights` and `others` of the same texts. Received: "
            f"{len(first)} and {len(second)} rows, of other lengths"
        )
    return np.array([_tau(*rows) for rows in zip(first, second, strict=True)])


def _tau(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    a, b = (np.sign(row[:, None] - row[None]) for row in (first, second))
    untied = float((a != 0).sum()) * float((b != 0).sum())
    return float((a * b).sum() / np.sqrt(untied)) if untied else float("nan")
