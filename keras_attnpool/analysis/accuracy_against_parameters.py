"""What accuracy costs in parameters (LAMA, figure 3)."""

from collections.abc import Mapping
from typing import Any

from keras_attnpool.analysis._axes import axes_or_new, plain_grid


def plot_accuracy_against_parameters(
    points: Mapping[str, tuple[float, float]], ax: Any = None, *, title: str | None = None
) -> Any:
    """Draws the accuracy of models against their number of parameters, on a log scale.

    Args:
        points: Name of each model to `(number of parameters, accuracy)`, the accuracy in [0, 1];
            `model.count_params()` gives the number.
        ax: The Axes to draw on; a new figure's by default.
        title: The title.

    Returns:
        The Axes; each point bears its model's name.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there is no point, a number is not positive or an accuracy not in [0, 1].

    Example:

    ```python
    from keras_attnpool.analysis import plot_accuracy_against_parameters

    ax = plot_accuracy_against_parameters({"mean": (1e5, 0.5), "LAMA": (2e5, 0.7)})
    assert ax.get_xscale() == "log"
    ```
    """
    if not isinstance(points, Mapping) or not points:
        raise ValueError(
            "plot_accuracy_against_parameters expects `points` as a dict of at least one model. "
            f"Received: {points!r}"
        )
    for name, (parameters, accuracy) in points.items():
        if not (parameters > 0 and 0 <= accuracy <= 1):
            raise ValueError(
                "plot_accuracy_against_parameters expects (parameters > 0, accuracy in [0, 1]). "
                f"Received: {name!r}: {(parameters, accuracy)}"
            )
    ax = axes_or_new(ax, "plot_accuracy_against_parameters", (5.8, 3.8))
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    for index, (parameters, accuracy) in enumerate(points.values()):
        ax.plot([parameters], [accuracy], "o", color=f"C{index % 10}")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.margins(x=0.25, y=0.2)
    ax.set(xlabel="parameters", ylabel="accuracy")
    _name_points(ax, points)
    if title is not None:
        ax.set_title(title, parse_math=False)
    plain_grid(ax)
    return ax


def _name_points(ax: Any, points: Mapping[str, tuple[float, float]]) -> None:
    """Writes each name above or below its point, where no earlier name stands."""
    ax.autoscale_view()  # places are those of the picture from now on
    heights = [height for row in range(len(points)) for height in (5 + 14 * row, -14 - 14 * row)]
    boxes: list[Any] = []
    for name, place in points.items():
        label = ax.annotate(
            name, place, xytext=(6, 5), textcoords="offset points", parse_math=False
        )
        for height in heights:
            label.set_y(height)
            if not any(label.get_window_extent().overlaps(box) for box in boxes):
                break
        boxes.append(label.get_window_extent())
