"""Measures predictions without the explanation, and from the explanation alone."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attnpool.analysis._removal import Removal, checked_shares
from keras_attnpool.types import Array, Float32s, Float64s

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


class Faithfulness(NamedTuple):
    """The result of `faithfulness`.

    Attributes:
        shares: float64 array `(shares,)`.
        comprehensiveness: float64 array `(texts, shares)`: the probability of the class on the full
            text, minus its probability without the top tokens. Large is good.
        sufficiency: float64 array `(texts, shares)`: the probability of the class on the full text,
            minus its probability on the top tokens alone. Small is good.
        aopc_comprehensiveness: The mean of `comprehensiveness` over shares and texts.
        aopc_sufficiency: The mean of `sufficiency` over shares and texts.

    Texts without a token have NaN, and do not count in the means.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.analysis import Faithfulness
    >>> shares = np.array([0.1, 0.5])
    >>> scores = Faithfulness(shares, np.array([[0.2, 0.4]]), np.array([[0.3, 0.0]]), 0.3, 0.15)
    >>> scores.aopc_comprehensiveness > scores.aopc_sufficiency
    True
    """

    shares: Float64s
    comprehensiveness: Float64s
    sufficiency: Float64s
    aopc_comprehensiveness: float
    aopc_sufficiency: float


def faithfulness(
    model: keras.Model,
    inputs: Any,
    weights: Any,
    shares: Sequence[float] = SHARES,
    *,
    classes: Any = None,
    mask: Any = None,
    baseline: Any = "masked",
    seed: int = 0,
    from_logits: bool = False,
    batch_size: int = 32,
) -> Faithfulness:
    """Computes ERASER's measures of faithfulness: comprehensiveness, sufficiency and their AOPC.

    The explanation of a text with n tokens is its `ceil(share * n)` tokens of largest weight.
    Comprehensiveness removes these tokens. Sufficiency removes all other tokens. AOPC, the area
    over the perturbation curve, is the mean over the shares. Equal weights are ordered at random.

    The largest possible value depends on the model. To compare attributions of two models, use
    `normalized_aopc`.

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
        shares: Shares in [0, 1], in increasing order.
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted class.
        mask: `None`, or an array `(rows, time)` of booleans, or of 0 and 1. True means that the
            step counts. With `None` the mask comes from the model's inputs, from a `Masking` layer,
            from the ids that are not 0, or from the lengths of unequal rows.
        baseline: The replacement of a removed step: `"zeros"`, `"mean"` (of all steps that count),
            a vector, or an id, such as the id of the unknown token. `"masked"` masks the step
            instead, or writes id 0 if the model reads ids without a mask.
        seed: Seed of the random order of tokens with equal weights.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.

    Returns:
        `Faithfulness`. The model runs once on the full texts and twice per share.

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
    measured = analysis.faithfulness(model, ids, weights)
    print(measured)
    ```

    Reference:
        - DeYoung et al., 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models, section 4.3
    """
    owner = "faithfulness"
    values = checked_shares(shares, owner, "shares", least=1)
    removal = Removal(model, inputs, owner, classes, baseline, from_logits, batch_size, mask)
    places = removal.places(removal.scores(weights), np.random.default_rng(seed))
    texts = np.arange(len(places))
    without, alone = (removal.everywhere(x) for x in drops_at(removal, places, values, texts))
    return Faithfulness(
        values, without, alone, float(np.nanmean(without)), float(np.nanmean(alone))
    )


def drops_at(
    removal: Removal, places: Array, shares: Float64s, texts: Array
) -> tuple[Float64s, Float64s]:
    """Computes comprehensiveness and sufficiency of some texts, `(texts, shares)` each."""
    tops = [removal.first(places, share)[texts] for share in shares]
    others = [removal.mask[texts] & ~top for top in tops]
    without, alone = (
        np.stack([removal.full[texts] - removal.probability(gone, texts) for gone in each], axis=1)
        for each in (tops, others)
    )
    return without, alone


def leave_one_out(
    model: keras.Model,
    inputs: Any,
    classes: Any = None,
    *,
    mask: Any = None,
    baseline: Any = "masked",
    from_logits: bool = False,
    batch_size: int = 32,
    verbose: int = 0,
) -> Float32s:
    """Computes how much the probability of a class falls without each token.

    The value of token t is `p(class | text) - p(class | text without t)`. A token with a positive
    value speaks for the class. The method needs only predictions, and no gradients. Papers often
    compare attention with the result of this method.

    An input is a mask if it holds booleans, or if its name contains "mask". An input is also a mask
    if each of its rows consists of 1 and 0 with at most one change, and another input has floats
    for the same steps. `batch_independence` has the same rule for masks.

    Args:
        model: A classifier with outputs `(batch, classes)`, or `(batch, 1)` for two classes.
        inputs: Inputs of `model.predict`: ids `(rows, time)`, where 0 is padding; vectors `(rows,
            time, dim)`; a list or dict of these, with or without a mask; or batches (a `PyDataset`,
            `tf.data.Dataset` or `DataLoader`). A list of sequences of unequal length is padded, and
            gets a mask if the model takes a mask. If there are several inputs, the first input that
            is not a mask has the steps.
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted class.
        mask: `None`, or an array `(rows, time)` of booleans, or of 0 and 1. True means that the
            step counts. With `None` the mask comes from the model's inputs, from a `Masking` layer,
            from the ids that are not 0, or from the lengths of unequal rows.
        baseline: The replacement of a removed step: `"zeros"`, `"mean"` (of all steps that count),
            a vector, or an id, such as the id of the unknown token. `"masked"` masks the step
            instead, or writes id 0 if the model reads ids without a mask.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.
        verbose: 1 shows a progress bar over the texts, 0 shows nothing.

    Returns:
        float32 array with one value per step of the inputs, 0 on padding. The model predicts once
        per step.

    Raises:
        ValueError: If shapes do not fit, if an option is out of range, if the model returns no
            finite probabilities, or if no text has a token.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    model = keras_attnpool.models.LAMAEncoder(100, 2, num_heads=3)
    ids = np.array([[4, 8, 15, 0]])
    effects = keras_attnpool.analysis.leave_one_out(model, ids)
    assert effects.shape == (1, 4) and effects[0, 3] == 0
    ```

    Reference:
        - Li, Monroe and Jurafsky, 2016, Understanding Neural Networks through Representation
          Erasure
    """
    owner = "leave_one_out"
    removal = Removal(model, inputs, owner, classes, baseline, from_logits, batch_size, mask)
    effects = [token_effects(removal, texts) for texts in removal.parts(batch_size, verbose)]
    spread = np.nan_to_num(removal.everywhere(np.concatenate(effects))).astype(np.float32)
    return spread.reshape(removal.inputs.mask.shape)


def token_effects(removal: Removal, texts: Array) -> Float64s:
    """Computes how much the class's probability falls without each token, `(texts, time)`."""
    rows, places = np.nonzero(removal.mask[texts])
    gone = np.zeros((len(rows), removal.mask.shape[1]), bool)
    gone[np.arange(len(rows)), places] = True
    effects = np.zeros(removal.mask[texts].shape)
    effects[rows, places] = removal.full[texts[rows]] - removal.probability(gone, texts[rows])
    return effects
