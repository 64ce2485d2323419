"""Accuracy over the epochs (LAMA, figure 5)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_attnpool.analysis._axes import axes_or_new, plain_grid


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
        ax: The Axes to draw on; a new figure's by default.
        metric: The entry to draw: `"val_accuracy"`, `"loss"` ...
        title: The title.

    Returns:
        The Axes.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there is no run, or one has no value of the metric.

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
    if title is not None:
        ax.set_title(title, parse_math=False)
    plain_grid(ax)
    for text in ax.legend(frameon=False).get_texts():
        text.set_parse_math(False)
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
