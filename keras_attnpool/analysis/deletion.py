"""Deletion test: does the prediction depend on the attended tokens?"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attnpool._checks import SIZE, validate
from keras_attnpool.analysis._axes import axes_or_new, plain_grid, plain_legend
from keras_attnpool.analysis._removal import Removal, checked_shares
from keras_attnpool.types import Array, Float64s

FRACTIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)


class DeletionCurve(NamedTuple):
    """The result of `deletion_curve`.

    Attributes:
        fractions: float64 array `(steps,)`, the removed shares of the tokens.
        attended: float64 array `(steps,)`, the mean probability of the class without the tokens of
            largest weight. The class is the predicted class of the full text.
        random: float64 array `(steps,)`, the mean probability of the class without random tokens.
        attended_area: Mean height of the curve `attended`: its area divided by the range of the
            fractions. A low value means that the prediction depends on the tokens of largest
            weight.
        random_area: Mean height of the curve `random`.
        num_texts: Number of texts with at least one token.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.analysis import DeletionCurve
    >>> shares = np.array([0, 0.5])
    >>> curve = DeletionCurve(shares, np.array([0.9, 0.3]), np.array([0.9, 0.7]), 0.6, 0.8, 10)
    >>> curve.attended_area < curve.random_area
    True
    """

    fractions: Float64s
    attended: Float64s
    random: Float64s
    attended_area: float
    random_area: float
    num_texts: int


def deletion_curve(
    model: keras.Model,
    inputs: Any,
    weights: Any,
    fractions: Sequence[float] = FRACTIONS,
    *,
    mask: Any = None,
    baseline: Any = "masked",
    num_random: int = 3,
    seed: int = 0,
    from_logits: bool = False,
    batch_size: int = 32,
) -> DeletionCurve:
    """Removes the most attended tokens of each text and measures how the prediction changes.

    The class is the predicted class of the full text. A text with n tokens loses its `ceil(fraction
    * n)` tokens of largest weight. Equal weights are ordered at random. The control removes random
    tokens. If the curve lies below the control, the weights find tokens that matter.

    Args:
        model: A classifier with outputs `(batch, classes)`, or `(batch, 1)` for two classes.
        inputs: Inputs of `model.predict`: ids `(rows, time)`, where 0 is padding; vectors `(rows,
            time, dim)`; a list or dict of these, with or without a mask; or batches (a `PyDataset`,
            `tf.data.Dataset` or `DataLoader`). A list of sequences of unequal length is padded, and
            gets a mask if the model takes a mask. If there are several inputs, the first input that
            is not a mask has the steps.
        weights: One number per step of the inputs, positive or negative: a row `(time,)` per text,
            or one array `(texts, time)`. `reduce_scores` computes such weights from attention
            scores. Arrays of other libraries are accepted.
        fractions: Two or more shares in [0, 1], in increasing order.
        mask: `None`, or an array `(rows, time)` of booleans, or of 0 and 1. True means that the
            step counts. With `None` the mask comes from the model's inputs, from a `Masking` layer,
            from the ids that are not 0, or from the lengths of unequal rows.
        baseline: The replacement of a removed step: `"zeros"`, `"mean"` (of all steps that count),
            a vector, or an id, such as the id of the unknown token. `"masked"` masks the step
            instead, or writes id 0 if the model reads ids without a mask.
        num_random: Number of random orders. The control is the mean over these orders.
        seed: Seed of the random orders.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.

    Returns:
        `DeletionCurve`. Texts without any token are left out.

    Raises:
        ValueError: If shapes do not fit, if an option is out of range, if the model returns no
            finite probabilities, or if no text has a token.

    Example:

    ```python
    import numpy as np
    from keras_attnpool import analysis, models

    model = models.LAMAEncoder(100, 2, num_heads=3)
    ids = np.array([[4, 8, 15, 16], [23, 42, 0, 0]])
    weights = analysis.reduce_scores(analysis.attention_scores(model, ids))
    measured = analysis.deletion_curve(model, ids, weights)
    print(measured)
    ```

    Reference:
        - Samek et al., 2017, Evaluating the Visualization of What a Deep Neural Network Has Learned
    """
    owner = "deletion_curve"
    shares = checked_shares(fractions, owner, "fractions", least=2)
    validate("num_random", num_random, SIZE, owner)
    removal = Removal(model, inputs, owner, None, baseline, from_logits, batch_size, mask)
    scores = removal.scores(weights)
    rng = np.random.default_rng(seed)

    def curve(places: Array) -> Float64s:
        after = [
            removal.probability(removal.first(places, share)) if share else removal.full
            for share in shares
        ]
        return np.array([values.mean() for values in after])

    attended = curve(removal.places(scores, rng))
    controls = [curve(removal.places(np.zeros_like(scores), rng)) for _ in range(num_random)]
    random = np.mean(controls, axis=0)
    areas = _area(shares, attended), _area(shares, random)
    return DeletionCurve(shares, attended, random, *areas, len(scores))


def plot_deletion_curve(
    curve: DeletionCurve,
    ax: Any = None,
    *,
    name: str = "most attended",
    control: bool = True,
    title: str | None = None,
) -> Any:
    """Draws a deletion curve beside its random control.

    Args:
        curve: The result of `deletion_curve`.
        ax: The Axes to draw on. Defaults to new Axes in a new figure.
        name: Name of the removed steps, for the legend.
        control: Whether the random control is drawn. If several curves share the Axes, draw the
            control only once.
        title: The title.

    Returns:
        The Axes.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there is nothing to draw, if the data do not fit together or are not finite,
            or if `ax` is not an Axes.

    Example:

    ```python
    import numpy as np
    from keras_attnpool.analysis import DeletionCurve, plot_deletion_curve

    shares = np.array([0, 0.5])
    curve = DeletionCurve(shares, np.array([0.9, 0.3]), np.array([0.9, 0.7]), 0.6, 0.8, 10)
    assert plot_deletion_curve(curve).get_xlabel() == "tokens removed (%)"
    ```
    """
    ax = axes_or_new(ax, "plot_deletion_curve", (5.5, 3.6), title)
    percent = 100 * curve.fractions
    label = f"{name} (area {curve.attended_area:.2f})"
    (line,) = ax.plot(percent, curve.attended, marker="o", markersize=4, label=label)
    if control:
        label = f"random (area {curve.random_area:.2f})"
        style = {"marker": "o", "markersize": 3, "linestyle": "--", "color": "0.5"}
        ax.plot(percent, curve.random, label=label, **style)
        ax.fill_between(percent, curve.attended, curve.random, color=line.get_color(), alpha=0.12)
    ax.set(xlabel="tokens removed (%)", ylabel="probability of the predicted class")
    ax.set_ylim(0, 1)
    plain_grid(ax)
    plain_legend(ax)
    return ax


def _area(shares: Array, heights: Array) -> float:
    return float(np.average((heights[1:] + heights[:-1]) / 2, weights=np.diff(shares)))
