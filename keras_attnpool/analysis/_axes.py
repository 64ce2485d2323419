"""The Axes that a plot draws on."""

from typing import Any

from keras_attnpool._checks import ArgumentError


def axes_or_new(ax: Any, owner: str, size: tuple[float, float], title: str | None = None) -> Any:
    """Returns `ax`, or the Axes of a new figure of `size` inches, with the title if there is one.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If `ax` is not `None` and not an Axes.
    """
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes
    except ImportError as error:
        raise ImportError(
            f"{owner} draws with matplotlib: pip install keras_attnpool[plots]"
        ) from error
    if ax is None:
        ax = pyplot.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise ArgumentError("ax", "be a matplotlib Axes", f"{type(ax)}", owner)
    if title is not None:
        ax.set_title(title, parse_math=False)  # $ is a dollar, not a formula
    return ax


def plain_legend(ax: Any, **options: Any) -> None:
    """Draws a legend that shows $ as a plain character, by default without a frame."""
    for text in ax.legend(**({"frameon": False} | options)).get_texts():
        text.set_parse_math(False)


def plain_grid(ax: Any, axis: str = "both") -> None:
    """Draws a light grid behind the data, and removes the frame at the top and on the right."""
    ax.grid(True, axis=axis, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
