"""How the attention on a word spreads, class by class (LAMA, figure 4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_attnpool.analysis._axes import axes_or_new, plain_grid
from keras_attnpool.analysis._token_rows import aligned_rows, checked_labels, checked_tokens

MIN_FOR_CURVE = 5


def weight_distribution(
    tokens: Sequence[Sequence[str]],
    weights: Any,
    words: Sequence[str],
    labels: Any,
    label_names: Sequence[str],
    *,
    relative: bool = True,
) -> dict[str, dict[str, npt.NDArray[np.float64]]]:
    """Collects the attention weights of chosen words, by the class of their text.

    Args:
        tokens: The tokens of every text.
        weights: One row `(time,)` per text, or `(batch, time)`; padding behind the tokens must be
            0. One number per token: see `reduce_scores`.
        words: The words to look at.
        labels: Integer array `(batch,)`, the class of each text.
        label_names: The name of each class.
        relative: Whether a weight is multiplied by its text's number of tokens: 1 is uniform, and
            texts of different lengths can be compared. `False` keeps the weights.

    Returns:
        For each word and class the float64 array of the weights of all occurrences, in the order of
        the texts, possibly empty.

    Raises:
        ValueError: If texts, weights and labels do not fit together.

    Example:

    >>> from keras_attnpool.analysis import weight_distribution
    >>> texts = [["so", "good"], ["good"]]
    >>> found = weight_distribution(texts, [[0.2, 0.8], [1.0]], ["good"], [0, 1], ["no", "yes"])
    >>> {name: weights.tolist() for name, weights in found["good"].items()}
    {'no': [1.6], 'yes': [1.0]}
    """
    texts = checked_tokens(tokens, "weight_distribution")
    rows = aligned_rows(weights, [len(text) for text in texts], "weight_distribution")
    labels = checked_labels(labels, len(texts), label_names, "weight_distribution")
    if isinstance(words, str):
        raise ValueError(
            f"weight_distribution expects `words` as a list. Received: words={words!r}"
        )
    found: dict[str, list[list[float]]] = {word: [[] for _ in label_names] for word in words}
    for text, row, label in zip(texts, rows, labels, strict=True):
        factor = len(text) if relative else 1
        for word, weight in zip(text, row.tolist(), strict=True):
            if word in found:
                found[word][label].append(weight * factor)
    return {
        word: {name: np.array(values) for name, values in zip(label_names, by_class, strict=True)}
        for word, by_class in found.items()
    }


def plot_weight_distribution(
    by_class: Mapping[str, npt.NDArray[Any]],
    ax: Any = None,
    *,
    title: str | None = None,
    xlabel: str = "attention weight x number of tokens (1 = uniform)",
) -> Any:
    """Draws the distribution of one word's attention weights, a curve for each class.

    The curves are Gaussian kernel density estimates (Silverman's bandwidth); the weights themselves
    are the ticks below. Classes with fewer than 5 occurrences have ticks only.

    Args:
        by_class: One word's entry of `weight_distribution`: class name to weights `(n,)`.
        ax: The Axes to draw on; a new figure's by default.
        title: The title, the word say.
        xlabel: Label of the horizontal axis; change it for weights that are not relative.

    Returns:
        The Axes.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there is no weight at all.

    Example:

    ```python
    import numpy as np
    from keras_attnpool.analysis import plot_weight_distribution

    rng = np.random.default_rng(0)
    by_class = {"1 star": rng.gamma(1, size=30), "5 stars": rng.gamma(4, size=30)}
    ax = plot_weight_distribution(by_class, title="amazing")
    assert ax.get_ylabel() == "density"
    ```
    """
    values = {name: np.asarray(weights, np.float64) for name, weights in by_class.items()}
    if not sum(len(each) for each in values.values()):
        raise ValueError(
            "plot_weight_distribution expects at least one weight. Received: no occurrence in "
            f"the classes {list(values)}"
        )
    ax = axes_or_new(ax, "plot_weight_distribution", (6, 3.6))
    from matplotlib import colormaps

    everything = np.concatenate(list(values.values()))
    spread = max(np.ptp(everything), 0.1 * np.abs(everything).max(), 1e-9)
    low, high = everything.min() - 0.1 * spread, everything.max() + 0.1 * spread
    grid = np.linspace(min(low, 0), high, 400)
    # Classes are often ordered: stars, say. The map's ends are left out, one is too pale.
    colors = colormaps["viridis"](np.linspace(0, 0.88, len(values)))
    for row, ((name, weights), color) in enumerate(zip(values.items(), colors, strict=True)):
        label: str | None = f"{name} (n = {len(weights)})"
        ticks = {"marker": "|", "linestyle": "none", "markersize": 6}
        if len(weights) >= MIN_FOR_CURVE:
            ax.plot(grid, _density(weights, grid, 0.02 * spread), color=color, label=label)
            label = None
        height = -0.04 * (row + 1)
        ax.plot(
            weights,
            np.full(len(weights), height),
            color=color,
            label=label,
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            **ticks,
        )
    ax.set_ylim(bottom=0)
    ax.set_xlim(grid[0], grid[-1])
    ax.tick_params(axis="x", pad=6 + 8 * len(values))
    ax.set(xlabel=xlabel, ylabel="density")
    if title is not None:
        ax.set_title(title, parse_math=False)
    plain_grid(ax)
    ax.legend(frameon=False, fontsize="small")
    return ax


def _density(
    weights: npt.NDArray[Any], grid: npt.NDArray[Any], narrowest: float
) -> npt.NDArray[Any]:
    """Gaussian kernel density; equal weights get a narrow peak instead of none."""
    width = 0.9 * weights.std() * len(weights) ** -0.2
    width = max(width, narrowest)
    z = (grid[:, None] - weights) / width
    return np.asarray(np.exp(-0.5 * z**2).mean(axis=1) / (width * np.sqrt(2 * np.pi)))
