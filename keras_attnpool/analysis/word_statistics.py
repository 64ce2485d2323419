"""Computes statistics of attended words for each class (LAMA, table 6 and figure 4)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from keras_attnpool._checks import SIZE, ArgumentError, column, one_of, validate
from keras_attnpool.analysis._axes import axes_or_new, plain_grid, plain_legend
from keras_attnpool.analysis._token_rows import aligned_rows, checked_labels, checked_names
from keras_attnpool.types import Array, Float64s

SCORES = ("relative", "mean", "sum")
MIN_FOR_CURVE = 5


def top_attended_words(
    names: Sequence[Sequence[Any]],
    weights: Any,
    labels: Any,
    label_names: Sequence[str],
    k: int = 20,
    *,
    min_count: int = 5,
    score: str = "relative",
) -> dict[str, list[tuple[str, float, int]]]:
    """Lists the words with the most attention in the texts of each class.

    Args:
        names: The name of each row's steps, such as words or file names.
        weights: One number per token, positive or negative: a row `(time,)` per text, or one array
            `(batch, time)`. Padding after the tokens must have the weight 0. `reduce_scores`
            computes such weights from attention scores.
        labels: Integer array `(batch,)`, the true or the predicted class of each text.
        label_names: The name of each class.
        k: Number of words per class, at least 1.
        min_count: Words with fewer occurrences in the texts of a class are left out.
        score: `"mean"` is the mean weight of the word's occurrences. `"relative"` is the mean of
            the weight times the text's length in tokens. With `"relative"`, uniform attention has
            the score 1 for texts of any length. `"sum"` is the sum of the weights, which favours
            frequent words.

    Returns:
        A dict from each class to its list of `(word, score, count)`, with the largest score first.
        Words of equal score are ordered by count, then alphabetically. A class without words has an
        empty list.

    Raises:
        ValueError: If the texts and their data do not fit together, or if an option is invalid.

    Example:

    >>> from keras_attnpool.analysis import top_attended_words
    >>> texts = [["so", "good"], ["so", "bad"]]
    >>> weights = [[0.1, 0.9], [0.4, 0.6]]
    >>> words = top_attended_words(texts, weights, [1, 0], ["neg", "pos"], k=1, min_count=1)
    >>> words
    {'neg': [('bad', 1.2, 1)], 'pos': [('good', 1.8, 1)]}
    """
    owner = "top_attended_words"
    validate("score", score, one_of(SCORES), owner)
    validate("k", k, SIZE, owner)
    validate("min_count", min_count, SIZE, owner)
    sums: list[dict[str, float]] = [defaultdict(float) for _ in label_names]
    counts: list[dict[str, int]] = [defaultdict(int) for _ in label_names]
    relative = score == "relative"
    for word, label, weight in _words(names, weights, labels, label_names, relative, owner):
        sums[label][word] += weight
        counts[label][word] += 1
    result = {}
    for name, total, count in zip(label_names, sums, counts, strict=True):
        entries = [
            (word, total[word] if score == "sum" else total[word] / count[word], count[word])
            for word in total
            if count[word] >= min_count
        ]
        result[name] = sorted(entries, key=lambda entry: (-entry[1], -entry[2], entry[0]))[:k]
    return result


def weight_distribution(
    names: Sequence[Sequence[Any]],
    weights: Any,
    words: Sequence[str],
    labels: Any,
    label_names: Sequence[str],
    *,
    relative: bool = True,
) -> dict[str, dict[str, Float64s]]:
    """Collects the attention weights of chosen words, by the class of their text.

    Args:
        names: The name of each row's steps, such as words or file names.
        weights: One number per token, positive or negative: a row `(time,)` per text, or one array
            `(batch, time)`. Padding after the tokens must have the weight 0. `reduce_scores`
            computes such weights from attention scores.
        words: The words whose weights are collected.
        labels: Integer array `(batch,)`, the class of each text.
        label_names: The name of each class.
        relative: Whether each weight is multiplied by the number of tokens of its text. With `True`
            uniform attention has the value 1, and texts of different lengths can be compared.

    Returns:
        A dict `{word: {class: weights}}`. `weights` is a float64 array of all occurrences in the
        order of the texts. The array may be empty.

    Raises:
        ValueError: If the texts and their data do not fit together, or if an option is invalid.

    Example:

    >>> from keras_attnpool.analysis import weight_distribution
    >>> texts = [["so", "good"], ["good"]]
    >>> by_word = weight_distribution(texts, [[0.2, 0.8], [1.0]], ["good"], [0, 1], ["no", "yes"])
    >>> {name: weights.tolist() for name, weights in by_word["good"].items()}
    {'no': [1.6], 'yes': [1.0]}
    """
    owner = "weight_distribution"
    wanted = column(owner, "words", words)
    by_word: dict[str, list[list[float]]] = {word: [[] for _ in label_names] for word in wanted}
    for word, label, weight in _words(names, weights, labels, label_names, relative, owner):
        if word in by_word:
            by_word[word][label].append(weight)
    return {
        word: {name: np.array(values) for name, values in zip(label_names, by_class, strict=True)}
        for word, by_class in by_word.items()
    }


def plot_weight_distribution(
    by_class: Mapping[str, Array],
    ax: Any = None,
    *,
    title: str | None = None,
    xlabel: str = "attention weight x number of tokens (1 = uniform)",
) -> Any:
    """Draws the distribution of one word's attention weights, one curve per class.

    The curves are Gaussian kernel density estimates with Silverman's bandwidth. Each tick below a
    curve is one weight. Classes with fewer than 5 occurrences have only ticks.

    Args:
        by_class: The result of `weight_distribution` for one word: a dict from class name to
            weights `(n,)`.
        ax: The Axes to draw on. Defaults to new Axes in a new figure.
        title: The title, such as the word.
        xlabel: Label of the horizontal axis. The default label says that weights are relative
            (`relative=True` in `weight_distribution`). If the weights are not relative, pass
            another label.

    Returns:
        The Axes.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there is nothing to draw, if the data do not fit together or are not finite,
            or if `ax` is not an Axes.

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
        must, received = "have at least one weight", f"no occurrence in the classes {list(values)}"
        raise ArgumentError("by_class", must, received, "plot_weight_distribution")
    ax = axes_or_new(ax, "plot_weight_distribution", (6, 3.6), title)
    from matplotlib import colormaps

    everything = np.concatenate(list(values.values()))
    spread = max(np.ptp(everything), 0.1 * np.abs(everything).max(), 1e-9)
    signed = bool((everything < 0).any())
    low, high = everything.min() - 0.1 * spread, everything.max() + 0.1 * spread
    grid = np.linspace(low if signed else 0, high, 400)
    # Classes are often ordered, such as stars. The pale end of the colour map is left out.
    colors = colormaps["viridis"](np.linspace(0, 0.88, len(values)))
    for row, ((name, weights), color) in enumerate(zip(values.items(), colors, strict=True)):
        label: str | None = f"{name} (n = {len(weights)})"
        ticks: dict[str, Any] = {"marker": "|", "linestyle": "none", "markersize": 6}
        if len(weights) >= MIN_FOR_CURVE:
            density = _density(weights, grid, 0.02 * spread)
            if not signed:  # adds the reflected part below 0
                density += _density(weights, -grid, 0.02 * spread)
            ax.plot(grid, density, color=color, label=label)
            label = None
        height = -0.04 * (row + 1)
        ticks |= {"color": color, "label": label, "transform": ax.get_xaxis_transform()}
        ax.plot(weights, np.full(len(weights), height), clip_on=False, **ticks)
    ax.set_ylim(bottom=0)
    ax.set_xlim(grid[0], grid[-1])
    ax.tick_params(axis="x", pad=6 + 8 * len(values))
    ax.set(xlabel=xlabel, ylabel="density")
    plain_grid(ax)
    plain_legend(ax, fontsize="small")
    return ax


def _density(weights: Array, grid: Array, narrowest: float) -> Array:
    """Computes a Gaussian kernel density. Equal weights get a narrow peak."""
    width = max(0.9 * weights.std() * len(weights) ** -0.2, narrowest)
    z = (grid[:, None] - weights) / width
    return np.asarray(np.exp(-0.5 * z**2).mean(axis=1) / (width * np.sqrt(2 * np.pi)))


def _words(
    names: Any, weights: Any, labels: Any, classes: Sequence[str], relative: bool, owner: str
) -> Iterator[tuple[str, int, float]]:
    """Yields each word of each text, the text's class, and the word's weight times the length."""
    texts = checked_names(names, None, owner)
    rows = aligned_rows(weights, [len(text) for text in texts], owner)
    labels = checked_labels(labels, len(texts), classes, owner)
    for text, row, label in zip(texts, rows, labels.tolist(), strict=True):
        factor = len(text) if relative else 1
        for word, weight in zip(text, row.tolist(), strict=True):
            yield word, label, weight * factor
