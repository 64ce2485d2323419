"""Computes AOPC relative to each text's bounds, so that models can be compared."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attnpool._checks import SIZE, validate, validator_of
from keras_attnpool.analysis._removal import Removal
from keras_attnpool.types import Array, Bools, Float64s

# If the bounds differ by less, no removal changes the prediction.
APART = 1e-6
BEAM = validator_of("beam_size", SIZE, int | None)


class NormalizedAOPC(NamedTuple):
    """The result of `normalized_aopc`: float64 arrays `(texts,)`, with NaN for missing values.

    Attributes:
        comprehensiveness: The normalised AOPC if tokens are removed from the largest weight to the
            smallest. The value is 0 at the lower bound and 1 at the upper bound. Large is good.
        sufficiency: The normalised AOPC if tokens are removed from the smallest weight to the
            largest. Small is good.
        lower: The lowest AOPC of all orders of removal that were tried, including the two orders by
            weight.
        upper: The highest AOPC of all orders of removal that were tried.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.analysis import NormalizedAOPC
    >>> scores = NormalizedAOPC(*np.array([[0.9, np.nan], [0.1, np.nan], [-0.1, 0], [0.5, 0]]))
    >>> float(np.nanmean(scores.comprehensiveness))
    0.9
    """

    comprehensiveness: Float64s
    sufficiency: Float64s
    lower: Float64s
    upper: Float64s


def normalized_aopc(
    model: keras.Model,
    inputs: Any,
    weights: Any,
    *,
    beam_size: int | None = 5,
    classes: Any = None,
    mask: Any = None,
    baseline: Any = "masked",
    seed: int = 0,
    from_logits: bool = False,
    batch_size: int = 32,
    verbose: int = 0,
) -> NormalizedAOPC:
    """Computes AOPC relative to the lowest and the highest AOPC that each text allows.

    Tokens are removed one after the other until none is left. AOPC is the mean drop of the class's
    probability over all steps of the removal. The range of AOPC depends on the model and the text.
    So plain AOPC cannot compare attributions of different models. A beam search looks for the
    orders with the lowest and the highest AOPC. The lowest and the highest AOPC that the search
    finds are the bounds. If two orders have removed the same tokens, the search keeps the better
    order. The search may miss the best order. If the tokens are removed in the order of the
    weights, the AOPC may lie outside the bounds that the search found. This AOPC then becomes the
    bound. So every value lies in [0, 1].

    Cost: a text of n tokens takes about `beam_size * n ** 2` predictions. For example, a text of 20
    tokens takes about 2,000 predictions with 5 beams. The two orders by weight, from the largest
    and from the smallest, take n more predictions each. `beam_size=None` tries all `2 ** n` sets.
    So its bounds are exact, but it allows at most 12 tokens.

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
        beam_size: Number of token sets that each search keeps after every step. `None` keeps all.
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted class.
        mask: `None`, or an array `(rows, time)` of booleans, or of 0 and 1. True means that the
            step counts. With `None` the mask comes from the model's inputs, from a `Masking` layer,
            from the ids that are not 0, or from the lengths of unequal rows.
        baseline: The replacement of a removed step: `"zeros"`, `"mean"` (of all steps that count),
            a vector, or an id, such as the id of the unknown token. `"masked"` masks the step
            instead, or writes id 0 if the model reads ids without a mask.
        seed: Seed of the random order of tokens with equal weights.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step. The search fills large batches, so a large
            `batch_size` such as 256 is quicker.
        verbose: 1 shows a progress bar over the texts, 0 shows nothing.

    Returns:
        `NormalizedAOPC`. Texts without a token have NaN. Texts on which all orders of removal have
        the same AOPC, such as texts of one token, have NaN too.

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
    measured = analysis.normalized_aopc(model, ids, weights)
    print(measured)
    ```

    Reference:
        - Edin et al., 2025, Normalized AOPC: Fixing Misleading Faithfulness Metrics for Feature
          Attributions Explainability
    """
    owner = "normalized_aopc"
    validate("beam_size", beam_size, BEAM, owner)
    removal = Removal(model, inputs, owner, classes, baseline, from_logits, batch_size, mask)
    places = removal.places(removal.scores(weights), np.random.default_rng(seed))
    parts = []
    for texts in removal.parts(texts_at_once(removal, beam_size), verbose):
        values, *bounds = normalized(removal, texts, [places], beam_size)
        parts.append([*values[0], *bounds])
    joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
    return NormalizedAOPC(*map(removal.everywhere, joined))


def normalized(
    removal: Removal, texts: Array, orders: Iterable[Array], beam_size: int | None
) -> tuple[Float64s, Float64s, Float64s]:
    """Computes normalised comprehensiveness and sufficiency of some texts, and the bounds.

    The lower bound is the lowest AOPC that the beam search finds or that one of `orders` has. The
    upper bound is the highest.
    """
    last = removal.sizes[:, None] - 1
    both = [(places, np.where(removal.mask, last - places, places)) for places in orders]
    aopcs = np.array([[_aopc(removal, texts, each) for each in pair] for pair in both])
    lower, upper = _searched(removal, texts, beam_size)
    lower = np.minimum(lower, aopcs.min(axis=(0, 1)))
    upper = np.maximum(upper, aopcs.max(axis=(0, 1)))
    room = np.where(upper - lower > APART, upper - lower, np.nan)
    return (aopcs - lower) / room, lower, upper


def _aopc(removal: Removal, texts: Array, places: Array) -> Float64s:
    """Computes the mean drop over the steps of an order."""
    sizes = removal.sizes[texts]
    rows = np.repeat(texts, sizes)
    step = np.concatenate([np.arange(1, size + 1) for size in sizes])
    gone = removal.mask[rows] & (places[rows] < step[:, None])
    drops = removal.full[rows] - removal.probability(gone, rows)
    means: Float64s = np.bincount(np.repeat(np.arange(len(texts)), sizes), drops) / sizes
    return means


def _searched(removal: Removal, texts: Array, beam_size: int | None) -> tuple[Float64s, Float64s]:
    """Finds the lowest and the highest AOPC of some texts by beam search."""
    time = removal.mask.shape[1]
    start: tuple[Bools, Float64s] = (np.zeros((1, time), bool), np.zeros(1))
    # One beam looks for large sums of drops, and the other beam for small sums.
    beams = {(text, sign): start for text in texts.tolist() for sign in (1, -1)}
    for step in range(int(removal.sizes[texts].max())):
        grown = {
            key: _grown(*beam, removal.mask[key[0]])
            for key, beam in beams.items()
            if step < removal.sizes[key[0]]
        }
        rows = np.repeat([text for text, _ in grown], [len(sums) for _, sums in grown.values()])
        gone = np.concatenate([sets for sets, _ in grown.values()])
        drops = removal.full[rows] - removal.probability(gone, rows)
        at = 0
        for key, (sets, sums) in grown.items():
            reached = sums + key[1] * drops[at : at + len(sums)]
            at += len(sums)
            best = np.argsort(-reached, kind="stable")[:beam_size]
            beams[key] = sets[best], reached[best]
    lower, upper = (
        np.array([sign * beams[text, sign][1][0] for text in texts.tolist()]) / removal.sizes[texts]
        for sign in (-1, 1)
    )
    return lower, upper


def _grown(sets: Bools, sums: Float64s, tokens: Bools) -> tuple[Bools, Float64s]:
    """Adds each token to each set; returns every new set once, with its best sum."""
    parents, added = np.nonzero(tokens & ~sets)
    larger = sets[parents]
    larger[np.arange(len(added)), added] = True
    distinct, where = np.unique(larger, axis=0, return_inverse=True)
    best = np.full(len(distinct), -np.inf)
    np.maximum.at(best, where.ravel(), sums[parents])
    return distinct, best


def texts_at_once(removal: Removal, beam_size: int | None) -> int:
    """The number of texts that one search can hold in memory."""
    beams = 1000 if beam_size is None else max(beam_size, 1)
    room: int = 2**24 // (beams * int(removal.sizes.max()) * removal.mask.shape[1])
    return max(1, min(removal.batch_size, room))
