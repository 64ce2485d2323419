"""One row of numbers per text, cut to the text's tokens."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def aligned_rows(
    weights: Any, lengths: Sequence[int], owner: str, name: str = "weights"
) -> list[npt.NDArray[np.float64]]:
    """The weights of each text's tokens, without the padding.

    Args:
        weights: One array `(time,)` per text, or one array `(batch, time)`; a row may be longer
            than its text if what is beyond it is exactly 0 (padding).
        lengths: Number of tokens of each text.
        owner: The public function, for the error text.
        name: The argument's name, for the error text.

    Returns:
        float64 arrays, row i of shape `(lengths[i],)`.

    Raises:
        ValueError: If rows and texts do not fit together, or a weight is not finite.
    """
    if len(weights) != len(lengths):
        raise ValueError(
            f"{owner} expects `{name}` with one row per text, {len(lengths)} in all. Received: "
            f"{len(weights)} rows"
        )
    rows = []
    for index, (row, length) in enumerate(zip(weights, lengths, strict=True)):
        row = np.asarray(row, np.float64)
        if row.ndim != 1:
            raise ValueError(
                f"{owner} expects one number per token: each row of `{name}` has shape (time,); "
                f"see reduce_scores for several heads. Received: row {index} of shape {row.shape}"
            )
        if not np.isfinite(row).all():
            raise ValueError(f"{owner} expects finite `{name}`. Received: row {index} with NaN/inf")
        if len(row) < length or row[length:].any():
            beyond = int(np.count_nonzero(row[length:]))
            raise ValueError(
                f"{owner} expects as many `{name}` as tokens, and 0 on padding behind them. "
                f"Received: text {index} with {length} tokens and {len(row)} {name}, {beyond} of "
                "those behind the last token not 0"
            )
        rows.append(row[:length])
    return rows


def kept_rows(
    weights: Any, mask: Any, owner: str, name: str = "weights"
) -> list[npt.NDArray[np.float64]]:
    """The weights of each text's kept tokens; all of them without a mask.

    Args:
        weights: One array `(time,)` per text, or one array `(texts, time)`.
        mask: `None`, or a boolean or 0/1 array of the same layout.
        owner: The public function, for the error text.
        name: The argument's name, for the error text.

    Raises:
        ValueError: If the two do not fit together, or a weight is not finite.
    """
    rows = aligned_rows(weights, [np.size(row) for row in weights], owner, name)
    if mask is None:
        return rows
    keep = [np.asarray(row) for row in mask]
    if [row.shape for row in keep] != [row.shape for row in rows]:
        raise ValueError(
            f"{owner} expects `mask` in the layout of `{name}`. Received: {len(keep)} rows for "
            f"{len(rows)}, or rows of other lengths"
        )
    return [row[flags.astype(bool)] for row, flags in zip(rows, keep, strict=True)]


def checked_tokens(tokens: Any, owner: str) -> list[list[str]]:
    """The tokens of every text as lists of strings.

    Raises:
        ValueError: If `tokens` is not a sequence of sequences of strings.
    """
    if isinstance(tokens, str) or any(isinstance(row, str) for row in tokens):
        raise ValueError(
            f"{owner} expects `tokens` as one list of strings per text. Received: a string where "
            "a list should be; split the texts first"
        )
    rows = [list(row) for row in tokens]
    for index, row in enumerate(rows):
        for token in row:
            if not isinstance(token, str):
                raise ValueError(
                    f"{owner} expects `tokens` to be strings. Received: {token!r} in text {index}"
                )
    return rows


def checked_labels(
    labels: Any, rows: int, label_names: Sequence[str], owner: str
) -> npt.NDArray[np.int64]:
    """Class indices `(rows,)` into `label_names`.

    Raises:
        ValueError: If the labels are no such indices, or names appear twice.
    """
    labels = np.asarray(labels)
    if labels.shape != (rows,) or (rows and not np.issubdtype(labels.dtype, np.integer)):
        raise ValueError(
            f"{owner} expects `labels` as integer array ({rows},), one per text. Received: shape "
            f"{labels.shape}, dtype {labels.dtype}"
        )
    if len(set(label_names)) != len(label_names):
        raise ValueError(f"{owner} expects distinct `label_names`. Received: {label_names}")
    if rows and (labels.min() < 0 or labels.max() >= len(label_names)):
        raise ValueError(
            f"{owner} expects labels in [0, {len(label_names)}), one per entry of `label_names`. "
            f"Received: labels from {labels.min()} to {labels.max()}"
        )
    return np.asarray(labels, np.int64)
