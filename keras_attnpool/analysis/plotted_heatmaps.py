"""Draws heat maps of weights in matplotlib."""

from collections.abc import Sequence
from typing import Any

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._axes import axes_or_new
from keras_attnpool.analysis.html_heatmaps import checked_heatmap
from keras_attnpool.types import Array

# If there are more steps than this, only every n-th step has its name.
_NAMED_STEPS = 60


def plot_heatmap(
    names: Sequence[Any],
    weights: Any,
    ax: Any = None,
    *,
    title: str | None = None,
    row_names: Sequence[str] | None = None,
    vmax: float | None = None,
    colorbar_label: str = "attention weight",
) -> Any:
    """Draws weights as a matrix with one row per head and one column per step.

    Args:
        names: The name of each step.
        weights: Float array `(time,)` or `(rows, time)`. If a weight is negative, the colours
            diverge around 0.
        ax: The Axes to draw on. Defaults to new Axes in a new figure.
        title: The title.
        row_names: Name of each row. Defaults to the heads' numbers.
        vmax: The weight that gets the full colour. Defaults to the largest weight.
        colorbar_label: Meaning of the colours.

    Returns:
        The Axes.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there is nothing to draw, if the data do not fit together or are not finite,
            or if `ax` is not an Axes.

    Example:

    ```python
    from keras_attnpool.analysis import plot_heatmap

    ax = plot_heatmap(["not", "bad"], [[0.9, 0.1], [0.3, 0.7]])
    assert ax.get_ylabel() == "head"
    ```
    """
    steps, rows, top = checked_heatmap("plot_heatmap", names, weights, row_names, vmax)
    if not steps:
        must, received = "have at least one step", "none"
        raise ArgumentError("names", must, received, "plot_heatmap")
    size = (min(max(4.0, 1.8 + 0.34 * len(steps)), 16), 2.4 + 0.3 * min(len(rows), 20))
    ax = axes_or_new(ax, "plot_heatmap", size, title)
    image = ax.imshow(rows, aspect="auto", interpolation="nearest", **colours(rows, top))
    step = -(-len(steps) // _NAMED_STEPS)
    named = range(0, len(steps), step)
    # A $ in a name is a dollar, not a formula.
    ax.set_xticks(
        named,
        [steps[column] for column in named],
        rotation=90 if len(steps) > 8 else 0,
        parse_math=False,
    )
    step = -(-len(rows) // 20)
    heads = [str(row + 1) for row in range(len(rows))] if row_names is None else list(row_names)
    ax.set_yticks(range(0, len(rows), step), heads[::step], parse_math=False)
    ax.set_xlabel("step")
    ax.set_ylabel("head" if row_names is None else "")
    if len(rows) == 1 and row_names is None:
        ax.set_yticks([])
        ax.set_ylabel("")
    ax.figure.colorbar(image, ax=ax, label=colorbar_label)
    return ax


def colours(rows: Array, top: float) -> dict[str, Any]:
    """The colours of weights up to `top`; negative weights have a second colour."""
    signed, top = bool((rows < 0).any()), top or 1.0
    return {"cmap": "RdBu_r" if signed else "Oranges", "vmin": -top if signed else 0, "vmax": top}
