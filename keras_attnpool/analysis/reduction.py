"""Reduces the weights of several heads or features to one number per token."""

from typing import Any

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._token_rows import checked_mask
from keras_attnpool.types import Array, Float32s

LAYOUTS = {2: "bt", 3: "bht"}
REDUCTIONS = ("mean", "max", "norm")


def reduce_scores(
    scores: Any,
    heads: str | int = "mean",
    features: str | int = "mean",
    *,
    layout: str | None = None,
    mask: Any = None,
) -> Float32s:
    """Reduces attention scores to one number per token.

    The axes are reduced in this order: features, queries, heads. The mean over the kept queries
    tells how much attention a token gets. If weights sum to 1, their mean also sums to 1. Maxima
    and norms need not sum to 1.

    Args:
        scores: Float array with the axes of `layout`.
        heads: `"mean"` or `"max"` over heads, or the index of one head.
        features: `"mean"`, `"max"` or `"norm"` (the l2 norm) over features, or the index of one
            feature.
        layout: One letter per axis: `b` batch, `h` heads, `q` query, `t` time (the token that gets
            the attention), `d` features, `l` learned query. Defaults to `"bt"` for two axes and
            `"bht"` for three axes. Other layouts, such as `"btd"`, `"bhtd"`, `"bqt"`, `"bhqt"` or
            `"blht"`, must be given.
        mask: Array `(batch, time)` of booleans, or of 0 and 1. True keeps a token. Tokens that are
            not kept get 0, and their queries do not count. A text without a kept token gets zeros.
            All learned queries count. `q` may also mean learned queries if their number differs
            from the number of tokens.

    Returns:
        float32 array `(batch, time)`.

    Raises:
        ValueError: If the layout does not fit the array, if an index is out of range, if a
            reduction is unknown, or if the mask has another shape.

    Example:

    >>> from keras_attnpool.analysis import reduce_scores
    >>> weights = reduce_scores([[[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]]])
    >>> weights.round(2).tolist()
    [[0.30000001192092896, 0.699999988079071, 0.0]]
    >>> reduce_scores([[[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]]], heads=0).tolist()
    [[0.5, 0.5, 0.0]]
    """
    values = np.asarray(scores, np.float64)
    layout = _checked_layout(values, layout)
    keep = mask
    if mask is not None:
        shape = (values.shape[0], values.shape[layout.index("t")])
        keep = checked_mask(mask, shape, "reduce_scores")
    if "d" in layout:
        values = _reduced(values, layout.index("d"), features, "features", REDUCTIONS)
        layout = layout.replace("d", "")
    else:
        _check_unused(features, "features", REDUCTIONS)
    if "l" in layout:
        values, layout = values.mean(axis=layout.index("l")), layout.replace("l", "")
    if "q" in layout:
        # Queries that are not tokens are learned, and all of them count.
        tokens = values.shape[layout.index("q")] == values.shape[layout.index("t")]
        values = _mean_over_queries(values, layout, keep if tokens else None)
        layout = layout.replace("q", "")
    if "h" in layout:
        values = _reduced(values, layout.index("h"), heads, "heads", REDUCTIONS[:2])
    else:
        _check_unused(heads, "heads", REDUCTIONS[:2])
    if keep is not None:
        values = np.where(keep, values, 0)
    return values.astype(np.float32)


def _checked_layout(values: Array, layout: str | None) -> str:
    if layout is None:
        layout = LAYOUTS.get(values.ndim)
        if layout is None:
            must = (
                "be given for other than two or three axes: 'bhqt' for self-attention, 'bqht' for "
                "LearnedQueryPooling, 'bhtd' for weights per feature"
            )
            raise ArgumentError("layout", must, f"scores of shape {values.shape}", "reduce_scores")
    right_letters = (
        isinstance(layout, str) and set(layout) <= set("bhlqtd") and {"b", "t"} <= set(layout)
    )
    if not right_letters or len(set(layout)) != len(layout) or layout[0] != "b":
        must = "be distinct letters out of 'bhlqtd', with 'b' first and 't' among them"
        raise ArgumentError("layout", must, {"layout": layout}, "reduce_scores")
    if len(layout) != values.ndim or 0 in values.shape:
        must = f"have {len(layout)} axes ({layout}), none of size 0"
        raise ArgumentError("scores", must, f"shape {values.shape}", "reduce_scores")
    return layout


def _reduced(
    values: Array, axis: int, how: str | int, name: str, allowed: tuple[str, ...]
) -> Array:
    if isinstance(how, int | np.integer) and not isinstance(how, bool):
        if not 0 <= how < values.shape[axis]:
            must, received = f"be in [0, {values.shape[axis]}) as an index", {name: how}
            raise ArgumentError(name, must, received, "reduce_scores")
        return np.asarray(values.take(int(how), axis=axis))
    if how not in allowed:
        raise ArgumentError(name, f"be an index or one of {allowed}", {name: how}, "reduce_scores")
    if how == "norm":
        return np.asarray(np.sqrt(np.square(values).sum(axis=axis)))
    return np.asarray(values.mean(axis=axis) if how == "mean" else values.max(axis=axis))


def _check_unused(how: str | int, name: str, allowed: tuple[str, ...]) -> None:
    """Raises an error if the reduction of a missing axis is neither a known name nor 0."""
    if how not in (*allowed, 0) or isinstance(how, bool):
        must, received = f"be one of {allowed} where the layout has no such axis", {name: how}
        raise ArgumentError(name, must, received, "reduce_scores")


def _mean_over_queries(values: Array, layout: str, keep: Array | None) -> Array:
    values = np.moveaxis(values, layout.index("q"), 1)
    if keep is None:
        return np.asarray(values.mean(axis=1))
    kept = keep.reshape(*keep.shape, *[1] * (values.ndim - 2))
    total = np.where(kept, values, 0).sum(axis=1)
    return np.asarray(total / np.maximum(kept.sum(axis=1), 1))
