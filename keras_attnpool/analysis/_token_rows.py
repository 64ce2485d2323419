"""Cuts the numbers of each text to the number of its tokens."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_attnpool._checks import ArgumentError, column
from keras_attnpool.types import Array, Bools, Float64s, Int64s


def aligned_rows(
    weights: Any, lengths: Sequence[int], owner: str, name: str = "weights"
) -> list[Float64s]:
    """The weights of each text's tokens as float64 rows; row i has shape `(lengths[i],)`.

    A row may be longer than its text if the additional numbers are exactly 0 (padding). Errors name
    the public function and its argument.
    """
    if len(weights) != len(lengths):
        must, received = f"have one row per text, {len(lengths)} in all", f"{len(weights)} rows"
        raise ArgumentError(name, must, received, owner)
    rows = []
    for index, (row, length) in enumerate(zip(weights, lengths, strict=True)):
        row = np.asarray(row, np.float64)
        if row.ndim != 1:
            raise ArgumentError(
                name,
                "have one number per token: each row of shape (time,); see reduce_scores for "
                "several heads",
                f"row {index} of shape {row.shape}",
                owner,
            )
        if not np.isfinite(row).all():
            raise ArgumentError(name, "be finite", f"row {index} with NaN/inf", owner)
        if len(row) < length or row[length:].any():
            beyond = int(np.count_nonzero(row[length:]))
            raise ArgumentError(
                name,
                "be as many as the tokens, and 0 on padding behind them",
                f"text {index} with {length} tokens and {len(row)} {name}, {beyond} of those "
                "behind the last token not 0",
                owner,
            )
        rows.append(row[:length])
    return rows


def kept_rows(weights: Any, mask: Any, owner: str, name: str = "weights") -> list[Float64s]:
    """The weights of each text's kept tokens. Without a mask, all tokens are kept."""
    rows = aligned_rows(weights, [np.size(row) for row in weights], owner, name)
    if mask is None:
        return rows
    keep = flag_rows(mask, owner, "mask")
    if [row.shape for row in keep] != [row.shape for row in rows]:
        received = f"{len(keep)} rows for {len(rows)}, or rows of other lengths"
        raise ArgumentError("mask", f"have the layout of `{name}`", received, owner)
    return [row[flags] for row, flags in zip(rows, keep, strict=True)]


def flag_rows(values: Any, owner: str, name: str) -> list[Bools]:
    """Returns one boolean row per text, from booleans or from 0 and 1."""
    rows = [np.asarray(row) for row in values]
    for index, row in enumerate(rows):
        if row.ndim != 1 or not np.isin(row, (0, 1)).all():
            received = f"row {index} of shape {row.shape}, dtype {row.dtype}"
            raise ArgumentError(name, "be boolean or 0/1 arrays (num_tokens,)", received, owner)
    return [row.astype(bool) for row in rows]


def checked_mask(mask: Any, shape: tuple[int, int], owner: str) -> Bools:
    """A boolean mask `(batch, time)` of the given shape, from booleans or 0 and 1."""
    keep: Array = np.asarray(mask)
    if keep.shape != shape or not np.isin(keep, (0, 1)).all():
        must = f"be a boolean or 0/1 array of shape (batch, time) = {shape}"
        received = f"shape {keep.shape}, dtype {keep.dtype}, values {np.unique(keep)[:3]}"
        raise ArgumentError("mask", must, received, owner)
    return keep.astype(bool)


def checked_names(names: Any, mask: Bools | None, owner: str) -> list[list[str]]:
    """Returns, for each row, the names of the steps that count; the default names are numbers."""
    sizes = None if mask is None else np.asarray(mask).sum(axis=1).tolist()
    if names is None and sizes is not None:
        return [[str(step) for step in range(1, size + 1)] for size in sizes]
    of = "lists of names (split texts first)"
    rows = column(owner, "names", names, axes=2, of=of)
    rows = [[str(name) for name in column(owner, "names", row, of=of)] for row in rows]
    if sizes is not None and [len(row) for row in rows] != sizes:
        must = f"have a name for each step that counts, {sizes[:3]} ... in {len(sizes)} rows"
        received = f"{[len(row) for row in rows][:3]} ... in {len(rows)} rows"
        raise ArgumentError("names", must, received, owner)
    return rows


def checked_labels(labels: Any, rows: int, label_names: Sequence[str], owner: str) -> Int64s:
    """Class indices `(rows,)` into `label_names`."""
    if len(set(column(owner, "label_names", label_names))) != len(label_names):
        raise ArgumentError("label_names", "be distinct", {"label_names": label_names}, owner)
    return checked_classes(labels, rows, len(label_names), owner, "labels")


def checked_classes(
    classes: Any, rows: int, number: int, owner: str, name: str = "classes"
) -> Int64s:
    """Class indices `(rows,)` below `number`."""
    classes = np.asarray(classes)
    if classes.shape != (rows,) or (rows and not np.issubdtype(classes.dtype, np.integer)):
        must = f"be an integer array ({rows},), one per text"
        raise ArgumentError(name, must, f"shape {classes.shape}, dtype {classes.dtype}", owner)
    if rows and (classes.min() < 0 or classes.max() >= number):
        must, received = f"be in [0, {number})", f"from {classes.min()} to {classes.max()}"
        raise ArgumentError(name, must, received, owner)
    return np.asarray(classes, np.int64)
