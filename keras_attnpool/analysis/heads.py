"""The similarity of the heads of an attention layer."""

from typing import Any

import numpy as np

from keras_attnpool._checks import ArgumentError, one_of, validate
from keras_attnpool.analysis._axes import axes_or_new
from keras_attnpool.analysis._token_rows import checked_mask
from keras_attnpool.types import Float64s

MEASURES = ("cosine", "overlap")


def head_similarity(scores: Any, mask: Any = None, *, measure: str = "cosine") -> Float64s:
    """Computes the pairwise similarity of heads, averaged over texts.

    Args:
        scores: Float array `(batch, heads, time)`, non-negative.
        mask: Array `(batch, time)` of booleans, or of 0 and 1. True keeps a token. Tokens that are
            not kept do not count.
        measure: `"cosine"` is the cosine similarity of the heads' weights. `"overlap"` scales the
            weights of each head to the sum 1. It takes the smaller of each token's two weights, and
            adds up these smaller weights. Both measures are 1 for equal heads and 0 for heads
            without a common token.

    Returns:
        Symmetric float64 array `(heads, heads)` in [0, 1], with ones on the diagonal. The mean
        leaves out texts on which a head has no weight, such as empty texts.

    Raises:
        ValueError: If the shapes do not fit, if a score is negative or not finite, if the measure
            is unknown, or if no text is left.

    Example:

    >>> from keras_attnpool.analysis import head_similarity
    >>> scores = [[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]]
    >>> head_similarity(scores, measure="overlap").tolist()
    [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.5, 0.5, 1.0]]
    """
    values = np.asarray(scores, np.float64)
    if values.ndim != 3:
        must, received = "have shape (batch, heads, time)", f"{values.shape}"
        raise ArgumentError("scores", must, received, "head_similarity")
    if not np.isfinite(values).all() or values.min(initial=0) < 0:
        must, received = "be finite and not negative", f"a minimum of {values.min(initial=0)}"
        raise ArgumentError("scores", must, received, "head_similarity")
    validate("measure", measure, one_of(MEASURES), "head_similarity")
    if mask is not None:
        keep = checked_mask(mask, (values.shape[0], values.shape[2]), "head_similarity")
        values = values * keep[:, None]
    values = values[(values.sum(axis=2) > 0).all(axis=1)]
    if not values.size:
        must = "have at least one text on which every head has weight"
        received = f"none in scores of shape {np.shape(scores)}"
        raise ArgumentError("scores", must, received, "head_similarity")
    if measure == "cosine":
        values = values / np.sqrt(np.square(values).sum(axis=2, keepdims=True))
        return np.asarray(np.matmul(values, values.transpose(0, 2, 1)).mean(axis=0).clip(0, 1))
    values = values / values.sum(axis=2, keepdims=True)
    heads = values.shape[1]
    rows = [np.minimum(values, values[:, [h]]).sum(axis=2).mean(axis=0) for h in range(heads)]
    return np.stack(rows)


def head_redundancy(similarity: Any) -> float:
    """Computes the mean similarity of all pairs of different heads.

    Args:
        similarity: Array `(heads, heads)` from `head_similarity`.

    Returns:
        The mean of the entries off the diagonal. The mean is 1 if all heads are equal, and 0 if no
        two heads share a token.

    Raises:
        ValueError: If the matrix is not square, or if it has only one head.

    Example:

    >>> from keras_attnpool.analysis import head_redundancy
    >>> head_redundancy([[1.0, 0.2], [0.2, 1.0]])
    0.2
    """
    matrix = _checked_matrix(similarity, "head_redundancy")
    heads = len(matrix)
    if heads < 2:
        raise ArgumentError("similarity", "be of at least two heads", "one", "head_redundancy")
    return float(matrix[~np.eye(heads, dtype=bool)].mean())


def plot_head_similarity(similarity: Any, ax: Any = None, *, title: str | None = None) -> Any:
    """Draws the similarity of heads as a matrix.

    Args:
        similarity: Array `(heads, heads)` from `head_similarity`.
        ax: The Axes to draw on. Defaults to new Axes in a new figure.
        title: The title. Defaults to the mean of the entries off the diagonal.

    Returns:
        The Axes, with a colour bar from 0 to 1.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there is nothing to draw, if the data do not fit together or are not finite,
            or if `ax` is not an Axes.

    Example:

    ```python
    from keras_attnpool.analysis import plot_head_similarity

    ax = plot_head_similarity([[1.0, 0.2], [0.2, 1.0]])
    assert ax.get_xlabel() == "head"
    ```
    """
    matrix = _checked_matrix(similarity, "plot_head_similarity")
    heads = len(matrix)
    size = min(3.2 + 0.3 * heads, 9)
    ax = axes_or_new(ax, "plot_head_similarity", (size + 0.9, size))
    image = ax.imshow(matrix, vmin=0, vmax=1, cmap="viridis")
    step = max(1, heads // 16)
    ticks = range(0, heads, step)
    ax.set_xticks(ticks, [str(t + 1) for t in ticks])
    ax.set_yticks(ticks, [str(t + 1) for t in ticks])
    ax.set(xlabel="head", ylabel="head")
    if heads <= 12:
        for (row, column), value in np.ndenumerate(matrix):
            color = "black" if value > 0.6 else "white"
            ax.text(
                column, row, f"{value:.2f}", ha="center", va="center", color=color, fontsize=7.5
            )
    if title is None and heads > 1:
        title = f"mean off the diagonal: {head_redundancy(matrix):.2f}"
    ax.set_title(title or "", parse_math=False, fontsize="medium")
    ax.figure.colorbar(image, ax=ax, label="similarity of two heads", shrink=0.85)
    return ax


def _checked_matrix(similarity: Any, owner: str) -> Float64s:
    matrix = np.asarray(similarity, np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ArgumentError("similarity", "have shape (heads, heads)", f"{matrix.shape}", owner)
    return matrix
