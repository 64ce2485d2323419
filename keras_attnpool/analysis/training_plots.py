"""Accuracy over the epochs, and what it costs in parameters (LAMA, figures 5 and 3)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_attnpool.analysis._axes import axes_or_new, plain_grid, plain_legend
from keras_attnpool.analysis._documented import PLOT, documented


@documented(PLOT)
def plot_learning_curves(
    histories: Mapping[str, Any],
    ax: Any = None,
    *,
    metric: str = "val_accuracy",
    title: str | None = None,
) -> Any:
    """Draws one metric over the epochs, a line for each training run.

    Args:
        histories: Name of each run to what `model.fit` returned, or to its `history` dict, or to
            the list of values itself.
        metric: The entry to draw: `"val_accuracy"`, `"loss"` ...

    Example:

    ```python
    from keras_attnpool.analysis import plot_learning_curves

    runs = {"1 head": [0.4, 0.5, 0.52], "4 heads": {"val_accuracy": [0.45, 0.6, 0.63]}}
    ax = plot_learning_curves(runs)
    assert ax.get_ylabel() == "validation accuracy"
    ```
    """
    if not isinstance(histories, Mapping) or not histories:
        raise ValueError(
            "plot_learning_curves expects `histories` as a dict of at least one run. Received: "
            f"{histories!r}"
        )
    lines = {name: _values(name, history, metric) for name, history in histories.items()}
    ax = axes_or_new(ax, "plot_learning_curves", (6, 3.8))
    from matplotlib.ticker import MaxNLocator

    for name, values in lines.items():
        epochs = np.arange(1, len(values) + 1)
        ax.plot(epochs, values, marker="o", markersize=3.5, label=name)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    name = metric.replace("val_", "validation ", 1) if metric.startswith("val_") else metric
    ax.set(xlabel="epoch", ylabel=name.replace("_", " "))
    plain_grid(ax, title)
    plain_legend(ax)
    return ax


def _values(name: str, history: Any, metric: str) -> Any:
    values = getattr(history, "history", history)
    if isinstance(values, Mapping):
        if metric not in values:
            raise ValueError(
                f"plot_learning_curves finds no '{metric}' in run '{name}'. Received: "
                f"{sorted(values)}"
            )
        values = values[metric]
    values = np.asarray(values, np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            f"plot_learning_curves expects one number per epoch. Received: run '{name}' with "
            f"values of shape {values.shape}"
        )
    return values


@documented(PLOT)
def plot_accuracy_against_parameters(
    points: Mapping[str, tuple[float, float]], ax: Any = None, *, title: str | None = None
) -> Any:
    """Draws the accuracy of models against their number of parameters, on a log scale.

    Args:
        points: Name of each model to `(number of parameters, accuracy)`, the accuracy in [0, 1];
            `model.count_params()` gives the number.

    Returns:
        The Axes; each point bears its model's name.

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
    plain_grid(ax, title)
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
