"""What becomes of a prediction without its explanation, and with nothing but it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool.analysis._removal import Floats, Removal, checked_shares

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


class Faithfulness(NamedTuple):
    """What `faithfulness` returns.

    Attributes:
        shares: float64 array `(shares,)`.
        comprehensiveness: float64 array `(texts, shares)`, the probability of the class on the full
            text minus that without the top tokens. Large is good.
        sufficiency: float64 array `(texts, shares)`, the same minus that of the top tokens alone.
            Small is good.
        aopc_comprehensiveness: The mean of `comprehensiveness` over shares and texts.
        aopc_sufficiency: The mean of `sufficiency` over shares and texts.

    Texts without a token are NaN, and are left out of the means.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.analysis import Faithfulness
    >>> shares = np.array([0.1, 0.5])
    >>> found = Faithfulness(shares, np.array([[0.2, 0.4]]), np.array([[0.3, 0.0]]), 0.3, 0.15)
    >>> found.aopc_comprehensiveness > found.aopc_sufficiency
    True
    """

    shares: Floats
    comprehensiveness: Floats
    sufficiency: Floats
    aopc_comprehensiveness: float
    aopc_sufficiency: float


def faithfulness(
    model: keras.Model,
    ids: Any,
    weights: Any,
    shares: Sequence[float] = SHARES,
    *,
    classes: Any = None,
    replacement: int | None = None,
    seed: int = 0,
    from_logits: bool = False,
    batch_size: int = 32,
) -> Faithfulness:
    """Computes comprehensiveness, sufficiency and their AOPC, ERASER's measures of faithfulness.

    Of a text with n tokens the `ceil(share * n)` of largest weight are the explanation. They are
    taken out for comprehensiveness; all others are taken out for sufficiency. AOPC, the area over
    the perturbation curve, is the mean over the shares. Equal weights are ordered at random.

    What a model can reach depends on the model: to compare attributions of two models, take
    `normalized_aopc`.

    Args:
        model: A classifier of ids, `(batch, classes)`, or `(batch, 1)` for two classes.
        ids: Integer array `(texts, time)`, 0 = padding.
        weights: One row `(time,)` per text or `(texts, time)`, of any sign, one number for each
            place of `ids`: see `reduce_scores`. Any array will do, also one of another library.
        shares: Increasing shares in [0, 1].
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted one.
        replacement: `None` takes tokens out and closes the gap; an id is put in their place.
        seed: Seed of the order of equal weights.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.

    Returns:
        `Faithfulness`. The model runs once on the texts and twice for each share.

    Raises:
        ValueError: If shapes do not fit, the shares do not increase within [0, 1], the model
            returns no finite probabilities, or no text has a token.

    Example:

    ```python
    import numpy as np
    from keras_attnpool import analysis, models

    model = models.LAMAEncoder(100, 2, num_heads=3)
    ids = np.array([[4, 8, 15, 16], [23, 42, 0, 0]])
    weights = analysis.reduce_scores(analysis.attention_scores(model, ids))
    found = analysis.faithfulness(model, ids, weights)
    assert found.comprehensiveness.shape == found.sufficiency.shape == (2, 5)
    ```

    Reference:
        - DeYoung et al., 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models, section 4.3
    """
    values = checked_shares(shares, "faithfulness", "shares", least=1)
    removal = Removal(
        model,
        ids,
        "faithfulness",
        classes=classes,
        replacement=replacement,
        from_logits=from_logits,
        batch_size=batch_size,
    )
    places = removal.places(removal.scores(weights), np.random.default_rng(seed))
    texts = np.arange(len(places))
    without, alone = (removal.everywhere(x) for x in drops_at(removal, places, values, texts))
    return Faithfulness(
        values, without, alone, float(np.nanmean(without)), float(np.nanmean(alone))
    )


def drops_at(
    removal: Removal, places: npt.NDArray[Any], shares: Floats, texts: npt.NDArray[Any]
) -> tuple[Floats, Floats]:
    """Comprehensiveness and sufficiency of some of the texts, `(texts, shares)` each."""
    tops = [removal.first(places, share)[texts] for share in shares]
    others = [removal.tokens[texts] & ~top for top in tops]
    without, alone = (
        np.stack([removal.full[texts] - removal.probability(gone, texts) for gone in each], axis=1)
        for each in (tops, others)
    )
    return without, alone
