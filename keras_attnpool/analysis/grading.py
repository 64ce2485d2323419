"""Attributions of one model, graded by all measures at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool.analysis._removal import Flags, Floats, Removal, checked_shares
from keras_attnpool.analysis.agreement import kendall_tau
from keras_attnpool.analysis.bounds import (
    aopc_bounds,
    check_beam,
    normalized,
    texts_at_once,
)
from keras_attnpool.analysis.concentration import weight_entropy, weight_gini
from keras_attnpool.analysis.erasure import SHARES, drops_at
from keras_attnpool.analysis.occlusion import token_effects
from keras_attnpool.analysis.rationale_scores import (
    rationale_auc,
    rationale_auprc,
    rationale_iou_f1,
    rationale_token_f1,
)
from keras_attnpool.analysis.saliency import gradient_saliency
from keras_attnpool.analysis.score_table import ScoreTable, mean_of

RATIONALE_SCORES = {
    "AUC": rationale_auc,
    "AUPRC": rationale_auprc,
    "token F1": rationale_token_f1,
    "IOU F1": rationale_iou_f1,
}


def grade_attributions(
    model: keras.Model,
    ids: Any,
    attributions: Any,
    rationales: Sequence[Any] | None = None,
    *,
    shares: Sequence[float] = SHARES,
    beam_size: int | None = 5,
    gradients: bool = True,
    layer: Any = None,
    classes: Any = None,
    replacement: int | None = None,
    seed: int = 0,
    from_logits: bool = False,
    batch_size: int = 32,
    verbose: int = 1,
) -> ScoreTable:
    """Grades one or several attributions of a model's predictions, in one table.

    A row for each attribution, and "uniform": equal weights, whose order is drawn at random, the
    floor of every measure. Columns, with up or down for what is better:

    | column | what it is |
    |---|---|
    | `comprehensiveness` (up), `sufficiency` (down) | AOPC over `shares`: see `faithfulness` |
    | `NAOPC` (up), `NAOPC sufficiency` (down) | between the text's bounds: see `normalized_aopc` |
    | `tau leave-one-out`, `tau gradient` (up) | `kendall_tau` with these two |
    | `polarity violations` (down) | share of texts where the sign of the top token is wrong |
    | `entropy`, `gini` | how concentrated the weights are, no better or worse |
    | `AUC`, `AUPRC`, `token F1`, `IOU F1` (up) | against `rationales`, where there are some |

    Compare models by the normalised ones, attributions of one model by any. A polarity violation is
    a text where the token of largest absolute weight, alone removed, moves the probability against
    the weight's sign: for attention, where it rises.

    Cost: the predictions of all columns together, of which `NAOPC` takes nearly all. The bounds
    are searched once for all attributions; `beam_size=0` leaves them out.

    Args:
        model: A classifier of ids, `(batch, classes)`, or `(batch, 1)` for two classes.
        ids: Integer array `(texts, time)`, 0 = padding.
        attributions: A dict from names to arrays, or one array: a row `(time,)` per text or
            `(texts, time)`, of any sign, one number for each place of `ids`. Attention comes from
            `reduce_scores`; arrays of other libraries will do.
        rationales: `None`, or one boolean or 0/1 array per text, True = the token decides; as long
            as the text or padded.
        shares: Increasing shares in [0, 1].
        beam_size: Number of sets that the search of bounds goes on with; `None` for all, 0 for no
            bounds.
        gradients: Whether the agreement with `gradient_saliency` is measured.
        layer: The embedding layer, for `gradient_saliency`.
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted one.
        replacement: `None` takes tokens out and closes the gap; an id is put in their place.
        seed: Seed of the order of equal weights.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step. 256 is quicker than 32.
        verbose: 0 or 1, whether there is a progress bar over the texts.

    Returns:
        `ScoreTable`: `{attribution: {column: mean over texts}}`. Its attribute `per_text` has the
        same layout with float64 arrays `(texts,)`, NaN where a text has no value.

    Raises:
        ValueError: If shapes do not fit, an option is out of range, the model returns no finite
            probabilities, no text has a token, or, with gradients, the model has no graph.

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
        check_beam(beam_size, owner)
    removal = Removal(
        model,
        ids,
        owner,
        classes=classes,
        replacement=replacement,
        from_logits=from_logits,
        batch_size=batch_size,
    )
    if not isinstance(attributions, Mapping):
        attributions = {"attribution": attributions}
    scores = {name: removal.scores(given, str(name)) for name, given in attributions.items()}
    scores.setdefault("uniform", removal.tokens / removal.sizes[:, None])
    rng = np.random.default_rng(seed)
    places = {name: removal.places(each, rng) for name, each in scores.items()}
    slopes = None
    if gradients:
        slopes = gradient_saliency(
            model,
            removal.ids,
            removal.classes,
            layer=layer,
            from_logits=from_logits,
            batch_size=batch_size,
        )
    parts: dict[str, list[dict[str, Floats]]] = {name: [] for name in scores}
    effects = []
    bar = keras.utils.Progbar(len(removal.ids), verbose=verbose, unit_name="text")
    for texts in removal.parts(texts_at_once(removal, beam_size)):
        bounds = None if beam_size == 0 else aopc_bounds(removal, texts, beam_size)
        effects.append(token_effects(removal, texts))
        for name, order in places.items():
            parts[name].append(_by_removal(removal, texts, order, values, bounds))
        bar.add(len(texts))
    witnesses = {"tau leave-one-out": np.concatenate(effects), "tau gradient": slopes}
    per_text = {}
    for name, each in scores.items():
        columns = {c: np.concatenate([part[c] for part in parts[name]]) for c in parts[name][0]}
        columns |= _by_weight(each, witnesses, removal.tokens, places[name])
        per_text[name] = {column: removal.everywhere(x) for column, x in columns.items()}
    rows = {n: {column: mean_of(x) for column, x in c.items()} for n, c in per_text.items()}
    if rationales is not None:
        golds = _golds(rationales, removal)
        for name, each in scores.items():
            cut = [row[: len(gold)] for row, gold in zip(each, golds, strict=True)]
            keep = [row[: len(gold)] for row, gold in zip(removal.tokens, golds, strict=True)]
            for column, measure in RATIONALE_SCORES.items():
                found = measure(cut, golds, keep)
                rows[name][column] = found.mean
                per_text[name][column] = removal.everywhere(found.per_text)
    return ScoreTable(rows, per_text)


def _by_removal(
    removal: Removal,
    texts: npt.NDArray[Any],
    places: npt.NDArray[Any],
    shares: Floats,
    bounds: Any,
) -> dict[str, Floats]:
    without, alone = drops_at(removal, places, shares, texts)
    found = {"comprehensiveness": without.mean(axis=1), "sufficiency": alone.mean(axis=1)}
    if bounds is not None:
        between = normalized(removal, texts, places, bounds)
        found |= dict(zip(("NAOPC", "NAOPC sufficiency"), between, strict=True))
    return found


def _by_weight(
    scores: Floats,
    witnesses: dict[str, Any],
    tokens: Flags,
    places: npt.NDArray[Any],
) -> dict[str, Floats]:
    found = {
        column: kendall_tau(scores, other, tokens)
        for column, other in witnesses.items()
        if other is not None
    }
    found["polarity violations"] = polarity_violations(
        scores, witnesses["tau leave-one-out"], tokens, places
    )
    found["entropy"] = weight_entropy(scores, tokens)
    found["gini"] = weight_gini(scores, tokens)
    return found


def polarity_violations(
    scores: Floats, effects: Floats, tokens: Flags, places: npt.NDArray[Any]
) -> Floats:
    """1 where the effect of the token of largest absolute weight has the other sign, else 0.

    Args:
        scores: `(texts, time)`. Weights without any sign, those of zero too, say "for the class".
        effects: What the class loses without each token, `(texts, time)`.
        tokens: Boolean array `(texts, time)`.
        places: The order of equal weights, `(texts, time)`.
    """
    sizes = np.where(tokens, np.abs(scores), -1)
    top = np.lexsort((places, -sizes), axis=1)[:, :1]
    sign = np.where(np.take_along_axis(scores, top, 1) < 0, -1, 1)
    return (sign * np.take_along_axis(effects, top, 1) < 0)[:, 0].astype(np.float64)


def _golds(rationales: Sequence[Any], removal: Removal) -> list[npt.NDArray[Any]]:
    """The rationales of the used texts, without what is behind the last place of `ids`."""
    if len(rationales) != len(removal.used):
        raise ValueError(
            f"{removal.owner} expects `rationales` with one row per text, {len(removal.used)} in "
            f"all. Received: {len(rationales)} rows"
        )
    used = [np.asarray(row) for row, use in zip(rationales, removal.used, strict=True) if use]
    time = removal.ids.shape[1]
    for row in used:
        if len(row) > time:
            raise ValueError(
                f"{removal.owner} expects `rationales` no longer than `ids`, {time}. Received: a "
                f"row of {len(row)}: cut it as the text was cut"
            )
    return [np.pad(row, (0, time - len(row))) for row in used]
