"""Grades attributions of one model by all measures at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import ArgumentError, validate
from keras_attnpool.analysis._removal import Removal, checked_shares
from keras_attnpool.analysis._token_rows import flag_rows
from keras_attnpool.analysis.bounds import BEAM, normalized, texts_at_once
from keras_attnpool.analysis.erasure import SHARES, drops_at, token_effects
from keras_attnpool.analysis.rationale_scores import (
    RationaleScore,
    rationale_auc,
    rationale_auprc,
    rationale_iou_f1,
    rationale_token_f1,
)
from keras_attnpool.analysis.saliency import gate_gradients
from keras_attnpool.analysis.score_table import ScoreTable, mean_of
from keras_attnpool.analysis.weight_measures import kendall_tau, weight_entropy, weight_gini
from keras_attnpool.types import Array, Bools, Float64s

RATIONALE_SCORES = {
    "AUC": rationale_auc,
    "AUPRC": rationale_auprc,
    "token F1": rationale_token_f1,
    "IOU F1": rationale_iou_f1,
}
# Two float32 predictions of the same probability differ by less than this number.
ROUNDING = 1e-6


def grade_attributions(
    model: keras.Model,
    inputs: Any,
    attributions: Any,
    rationales: Sequence[Any] | None = None,
    *,
    shares: Sequence[float] = SHARES,
    beam_size: int | None = 5,
    gradients: bool = True,
    layer: Any = None,
    classes: Any = None,
    mask: Any = None,
    baseline: Any = "masked",
    seed: int = 0,
    from_logits: bool = False,
    batch_size: int = 32,
    verbose: int = 1,
) -> ScoreTable:
    """Grades attributions of a model's predictions in one table.

    The table has a row for each attribution. The row "uniform" ranks the tokens at random: an
    attribution should be better than this row. "up" and "down" tell which direction is better:

    | column | meaning |
    |---|---|
    | `comprehensiveness` (up), `sufficiency` (down) | AOPC over `shares`: see `faithfulness` |
    | `NAOPC` (up), `NAOPC sufficiency` (down) | AOPC between the bounds: see `normalized_aopc` |
    | `tau leave-one-out`, `tau gradient` (up) | `kendall_tau` with these attributions |
    | `polarity violations` (down) | share of texts whose top token has the wrong sign |
    | `entropy`, `gini` | concentration of the weights; neither direction is better |
    | `AUC`, `AUPRC`, `token F1`, `IOU F1` (up) | agreement with `rationales`, if given |

    All columns can compare attributions of one model. Only the normalised columns can compare
    models. A polarity violation is a text whose token of largest absolute weight has the wrong
    sign. For example, the weight is positive, but the probability rises without the token, by more
    than 1e-6. Attention weights are never negative. For attention, a polarity violation is
    therefore a text whose probability rises without the token of largest weight.

    Cost: nearly all predictions are for `NAOPC`. One search finds the bounds for all attributions.
    `beam_size=0` leaves `NAOPC` out.

    Args:
        model: A classifier with outputs `(batch, classes)`, or `(batch, 1)` for two classes.
        inputs: Inputs of `model.predict`: ids `(rows, time)`, where 0 is padding; vectors `(rows,
            time, dim)`; a list or dict of these, with or without a mask; or batches (a `PyDataset`,
            `tf.data.Dataset` or `DataLoader`). A list of sequences of unequal length is padded, and
            gets a mask if the model takes a mask. If there are several inputs, the first input that
            is not a mask has the steps.
        attributions: One attribution, or a dict from names to attributions. An attribution has one
            number per step of the inputs, positive or negative: an array `(texts, time)`, or a list
            with a row `(time,)` per text. `reduce_scores` turns attention scores into an
            attribution. Arrays of other libraries are allowed.
        rationales: `None`, or one array per text, of booleans or of 0 and 1. True means that the
            token belongs to the rationale. An array has one value per token, or one per step of the
            inputs.
        shares: Shares in [0, 1], in increasing order.
        beam_size: Number of token sets that the search for bounds keeps after every step. `None`
            keeps all sets; 0 leaves the bounds out.
        gradients: Whether the table has a column for the agreement with `gradient_saliency`.
        layer: The embedding layer that `gradient_saliency` uses.
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted class.
        mask: `None`, or an array `(rows, time)` of booleans, or of 0 and 1. True means that the
            step counts. With `None` the mask comes from the model's inputs, from a `Masking` layer,
            from the ids that are not 0, or from the lengths of unequal rows.
        baseline: The replacement of a removed step: `"zeros"`, `"mean"` (of all steps that count),
            a vector, or an id, such as the id of the unknown token. `"masked"` masks the step
            instead, or writes id 0 if the model reads ids without a mask.
        seed: Seed of the random order of tokens with equal weights.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step. 256 is quicker than 32.
        verbose: 1 shows a progress bar over the texts, 0 shows nothing.

    Returns:
        `ScoreTable`: `{attribution: {column: mean over texts}}`. The attribute `per_text` of the
        table has float64 arrays `(texts,)` in the same layout. Texts without a value have NaN.

    Raises:
        ValueError: If shapes do not fit, if an option is out of range, if the model returns no
            finite probabilities, if no text has a token, if a rationale lies on padding, or if
            gradients are needed and the model has no graph.

    Example:

    ```python
    import numpy as np
    from keras_attnpool import analysis, models

    model = models.LAMAEncoder(100, 2, num_heads=3)
    ids = np.array([[4, 8, 15, 16], [23, 42, 0, 0]])
    weights = analysis.reduce_scores(analysis.attention_scores(model, ids))
    table = analysis.grade_attributions(model, ids, {"attention": weights}, verbose=0)
    assert list(table) == ["attention", "uniform"]
    ```

    Reference:
        - DeYoung et al., 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models
        - Edin et al., 2025, Normalized AOPC: Fixing Misleading Faithfulness Metrics for Feature
          Attributions Explainability
        - Liu et al., 2022, Rethinking Attention-Model Explainability through Faithfulness Violation
          Test
    """
    owner = "grade_attributions"
    values = checked_shares(shares, owner, "shares", least=1)
    if beam_size != 0:
        validate("beam_size", beam_size, BEAM, owner)
    removal = Removal(model, inputs, owner, classes, baseline, from_logits, batch_size, mask)
    if not isinstance(attributions, Mapping):
        attributions = {"attribution": attributions}
    scores = {name: removal.scores(given, str(name)) for name, given in attributions.items()}
    scores.setdefault("uniform", removal.mask / removal.sizes[:, None])
    # This check precedes the long search, so that invalid rationales raise their error at once.
    by_rationale = {} if rationales is None else _by_rationale(scores, rationales, removal)
    rng = np.random.default_rng(seed)
    places = {name: removal.places(each, rng) for name, each in scores.items()}
    slopes = None
    if gradients:
        classes = np.zeros(len(removal.used), int)
        classes[removal.used] = removal.classes
        every = gate_gradients(removal.inputs, classes, layer, from_logits)
        slopes = every.reshape(len(every), -1)[removal.used]
    parts: dict[str, list[dict[str, Float64s]]] = {name: [] for name in scores}
    effects = []
    for texts in removal.parts(texts_at_once(removal, beam_size), verbose):
        between: Any = {}
        if beam_size != 0:
            found, *_ = normalized(removal, texts, places.values(), beam_size)
            between = dict(zip(places, found, strict=True))
        effects.append(token_effects(removal, texts))
        for name, order in places.items():
            without, alone = drops_at(removal, order, values, texts)
            part = {"comprehensiveness": without.mean(axis=1), "sufficiency": alone.mean(axis=1)}
            if name in between:
                part["NAOPC"], part["NAOPC sufficiency"] = between[name]
            parts[name].append(part)
    lost, tokens = np.concatenate(effects), removal.mask
    rows, per_text = {}, {}
    for name, each in scores.items():
        columns = {c: np.concatenate([part[c] for part in parts[name]]) for c in parts[name][0]}
        columns["tau leave-one-out"] = kendall_tau(each, lost, tokens)
        if slopes is not None:
            columns["tau gradient"] = kendall_tau(each, slopes, tokens)
        columns["polarity violations"] = polarity_violations(each, lost, tokens, places[name])
        columns["entropy"] = weight_entropy(each, tokens)
        columns["gini"] = weight_gini(each, tokens)
        measured = by_rationale.get(name, {})
        columns |= {column: score.per_text for column, score in measured.items()}
        rows[name] = {column: mean_of(values) for column, values in columns.items()}
        rows[name] |= {column: score.mean for column, score in measured.items()}
        per_text[name] = {column: removal.everywhere(x) for column, x in columns.items()}
    return ScoreTable(rows, per_text)


def _by_rationale(
    scores: Mapping[str, Float64s], rationales: Sequence[Any], removal: Removal
) -> dict[str, dict[str, RationaleScore]]:
    """Scores every attribution on the rationales of the used texts."""
    if len(rationales) != len(removal.used):
        must = f"have one row per row of the inputs, {len(removal.used)} in all"
        raise ArgumentError("rationales", must, f"{len(rationales)} rows", removal.owner)
    golds = np.zeros(removal.mask.shape, bool)
    flags = flag_rows(rationales, removal.owner, "rationales")
    used = [row for row, use in zip(flags, removal.used, strict=True) if use]
    for gold, tokens, row in zip(golds, removal.mask, used, strict=True):
        if len(row) > len(gold):
            must = f"be no longer than the inputs, {len(gold)}"
            received = f"a row of {len(row)}: cut it as the text was cut"
            raise ArgumentError("rationales", must, received, removal.owner)
        number = np.count_nonzero(tokens)
        if len(row) < number:
            received = f"a row of {len(row)} for a text of {number} tokens"
            raise ArgumentError("rationales", "be as many as the tokens", received, removal.owner)
        # A row has one entry per position of `ids`, or one entry per token.
        of_tokens = tokens if len(row) == len(gold) else np.arange(len(row)) < number
        if row[~of_tokens].any():
            must = "stand in the places of the inputs"
            received = f"a row with {np.count_nonzero(row[~of_tokens])} of its tokens on padding"
            raise ArgumentError("rationales", must, received, removal.owner)
        gold[tokens] = row[of_tokens]
    return {
        name: {c: score(each, list(golds), removal.mask) for c, score in RATIONALE_SCORES.items()}
        for name, each in scores.items()
    }


def polarity_violations(
    scores: Float64s, effects: Float64s, tokens: Bools, places: Array
) -> Float64s:
    """Returns 1 if the token of largest absolute weight has an effect of the opposite sign, else 0.

    A weight of zero counts as positive. If several tokens share the largest weight, the first one
    counts. An effect that is at most `ROUNDING` from 0 has no sign.
    """
    sizes = np.where(tokens, np.abs(scores), -1)
    top = np.lexsort((places, -sizes), axis=1)[:, :1]
    sign = np.where(np.take_along_axis(scores, top, 1) < 0, -1, 1)
    return (sign * np.take_along_axis(effects, top, 1) < -ROUNDING)[:, 0].astype(np.float64)
