"""Token weights scored against gold rationales: by rank, by weight, and as ERASER does."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keras_attnpool.analysis._token_rows import aligned_rows


class RationaleScore(NamedTuple):
    """What the functions `rationale_...` return.

    Attributes:
        mean: Mean over the scored texts.
        uniform: The same mean for uniform weights, the floor.
        per_text: float64 array `(batch,)`; NaN for the texts that were left out.
        num_scored: Number of scored texts.
        num_left_out: Number of texts without a rationale token, with nothing but rationale tokens,
            or without any weight (mass only).

    Example:

    >>> from keras_attnpool.analysis import RationaleScore, rationale_mass
    >>> score = rationale_mass([[0.2, 0.8], [0.5, 0.5]], [[False, True], [False, False]])
    >>> score.mean, score.uniform, score.num_scored, score.num_left_out
    (0.8, 0.5, 1, 1)
    >>> isinstance(score, RationaleScore)
    True
    """

    mean: float
    uniform: float
    per_text: npt.NDArray[np.float64]
    num_scored: int
    num_left_out: int


def rationale_mass(weights: Any, rationales: Sequence[Any], mask: Any = None) -> RationaleScore:
    """Computes the share of the weight that lies on the rationale tokens.

    Args:
        weights: One row `(time,)` per text, or `(batch, time)`, non-negative; padding behind the
            tokens must be 0. One number per token: see `reduce_scores`.
        rationales: One boolean or 0/1 array `(num_tokens,)` per text, True = the token decides.
        mask: `None`, or the same layout, True = the token counts. Other tokens are dropped, from
            the floor as well.

    Returns:
        `RationaleScore`. `uniform` is the mean share of rationale tokens, what mean pooling
        reaches.

    Raises:
        ValueError: If shapes do not fit together, a weight is negative, or no text can be scored.

    Example:

    >>> from keras_attnpool.analysis import rationale_mass
    >>> rationale_mass([[0.1, 0.9], [0.5, 0.5]], [[False, True], [True, False]]).mean
    0.7
    """
    rows = _checked(weights, rationales, mask, "rationale_mass")
    if any((row < 0).any() for row, _ in rows):
        raise ValueError(
            "rationale_mass expects non-negative weights; take np.abs of a signed saliency. "
            f"Received: a minimum of {min(row.min(initial=0) for row, _ in rows)}"
        )
    scored = [gold.any() and not gold.all() and row.any() for row, gold in rows]
    return _score(
        rows,
        scored,
        lambda row, gold: row[gold].sum() / row.sum(),
        lambda gold: gold.mean(),
        "rationale_mass",
    )


def rationale_auc(weights: Any, rationales: Sequence[Any], mask: Any = None) -> RationaleScore:
    """Computes how well the weights rank rationale tokens before the others.

    For each text: the probability that a rationale token has a larger weight than another token,
    ties counting one half (the area under the ROC curve).

    Args:
        weights: One row `(time,)` per text, or `(batch, time)`, of any sign; padding behind the
            tokens must be 0. One number per token: see `reduce_scores`.
        rationales: One boolean or 0/1 array `(num_tokens,)` per text, True = the token decides.
        mask: `None`, or the same layout, True = the token counts.

    Returns:
        `RationaleScore`; `uniform` is 0.5.

    Raises:
        ValueError: If shapes do not fit together, or no text can be scored.

    Example:

    >>> from keras_attnpool.analysis import rationale_auc
    >>> rationale_auc([[0.1, 0.6, 0.3]], [[False, True, False]]).mean
    1.0
    """
    rows = _checked(weights, rationales, mask, "rationale_auc")
    return _score(rows, _both(rows), _auc, lambda gold: 0.5, "rationale_auc")


def rationale_auprc(weights: Any, rationales: Sequence[Any], mask: Any = None) -> RationaleScore:
    """Computes the area under the precision-recall curve of the weights, as ERASER does.

    The curve has a point for each distinct weight, and (recall 0, precision 1). The area is that of
    trapezoids, so that weights without an order have `(1 + share of rationale tokens) / 2`: compare
    with `uniform` and not with 0.

    Args:
        weights: One row `(time,)` per text, or `(batch, time)`, of any sign; padding behind the
            tokens must be 0. One number per token: see `reduce_scores`.
        rationales: One boolean or 0/1 array `(num_tokens,)` per text, True = the token decides.
        mask: `None`, or the same layout, True = the token counts.

    Returns:
        `RationaleScore`.

    Raises:
        ValueError: If shapes do not fit together, or no text can be scored.

    Example:

    >>> from keras_attnpool.analysis import rationale_auprc
    >>> score = rationale_auprc([[0.1, 0.6, 0.2, 0.1]], [[False, True, False, False]])
    >>> score.mean, score.uniform
    (1.0, 0.625)

    Reference:
        - DeYoung et al., 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models
    """
    rows = _checked(weights, rationales, mask, "rationale_auprc")
    return _score(rows, _both(rows), _auprc, lambda gold: (1 + gold.mean()) / 2, "rationale_auprc")


def rationale_token_f1(
    weights: Any, rationales: Sequence[Any], mask: Any = None, *, share: float | None = None
) -> RationaleScore:
    """Computes F1 of the tokens of largest weight against the rationale tokens, as ERASER does.

    Of a text with n tokens the `ceil(share * n)` of largest weight are the explanation. Of tokens
    of equal weight of which only some fit in, each counts by its chance: the F1 is what is
    expected if they are drawn at random.

    Args:
        weights: One row `(time,)` per text, or `(batch, time)`, of any sign; padding behind the
            tokens must be 0. One number per token: see `reduce_scores`.
        rationales: One boolean or 0/1 array `(num_tokens,)` per text, True = the token decides.
        mask: `None`, or the same layout, True = the token counts.
        share: The share of each text that is taken. Defaults to the mean share of rationale tokens
            over the texts that are scored, as in ERASER.

    Returns:
        `RationaleScore`; the mean is ERASER's macro F1 of tokens.

    Raises:
        ValueError: If shapes do not fit together, `share` is not in (0, 1], or no text can be
            scored.

    Example:

    >>> from keras_attnpool.analysis import rationale_token_f1
    >>> rationale_token_f1([[0.1, 0.6, 0.2, 0.1]], [[False, True, True, False]]).mean
    1.0

    Reference:
        - DeYoung et al., 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models
    """
    rows = _checked(weights, rationales, mask, "rationale_token_f1")
    share = _share(rows, share, "rationale_token_f1")

    def f1(row: npt.NDArray[Any], gold: npt.NDArray[Any]) -> float:
        number = _number(row, share)
        least = np.sort(row)[-number]
        tied = row == least
        right = gold[row > least].sum() + gold[tied].mean() * (number - (row > least).sum())
        return float(2 * right / (number + gold.sum()))

    return _score(
        rows, _both(rows), f1, lambda gold: f1(np.zeros(len(gold)), gold), "rationale_token_f1"
    )


def rationale_iou_f1(
    weights: Any,
    rationales: Sequence[Any],
    mask: Any = None,
    *,
    share: float | None = None,
    threshold: float = 0.5,
    seed: int = 0,
) -> RationaleScore:
    """Computes F1 of the spans of largest weight that match a rationale span, as ERASER does.

    The tokens that `rationale_token_f1` takes are joined to spans. A span matches where its
    intersection with a rationale span, divided by their union, reaches the threshold. Precision is
    the share of matching spans among those of the explanation, recall their number divided by that
    of the rationale spans, which may so exceed 1.

    Args:
        weights: One row `(time,)` per text, or `(batch, time)`, of any sign; padding behind the
            tokens must be 0. One number per token: see `reduce_scores`.
        rationales: One boolean or 0/1 array `(num_tokens,)` per text, True = the token decides.
        mask: `None`, or the same layout, True = the token counts. Spans are of the tokens that
            count.
        share: The share of each text that is taken. Defaults to the mean share of rationale tokens
            over the texts that are scored, as in ERASER.
        threshold: The intersection over union from which on spans match.
        seed: Seed of the order of tokens of equal weight.

    Returns:
        `RationaleScore`. Its mean is ERASER's macro F1, the F1 of the mean precision and the mean
        recall, and not the mean of `per_text`. `uniform` is what tokens drawn at random got.

    Raises:
        ValueError: If shapes do not fit together, `share` is not in (0, 1], or no text can be
            scored.

    Example:

    >>> from keras_attnpool.analysis import rationale_iou_f1
    >>> rationale_iou_f1([[0.1, 0.6, 0.2, 0.1]], [[False, True, True, False]]).mean
    1.0

    Reference:
        - DeYoung et al., 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models
    """
    rows = _checked(weights, rationales, mask, "rationale_iou_f1")
    share = _share(rows, share, "rationale_iou_f1")
    scored = _both(rows)
    rng = np.random.default_rng(seed)

    def matched(row: npt.NDArray[Any], gold: npt.NDArray[Any]) -> tuple[float, float]:
        order = np.lexsort((rng.random(len(row)), -row))
        taken = np.zeros(len(row), bool)
        taken[order[: _number(row, share)]] = True
        mine, truth = token_spans(taken), token_spans(gold)
        hits = sum(max(_iou(span, other) for other in truth) >= threshold for span in mine)
        return hits / len(mine), hits / len(truth)

    found = [matched(*row) for row, use in zip(rows, scored, strict=True) if use]
    floors = [
        matched(np.zeros(len(row)), gold)
        for (row, gold), use in zip(rows, scored, strict=True)
        if use
    ]
    each = iter(found)
    score = _score(
        rows, scored, lambda *_: _f1(*next(each)), lambda gold: np.nan, "rationale_iou_f1"
    )
    means = [_f1(*np.mean(values, axis=0)) for values in (found, floors)]
    return score._replace(mean=means[0], uniform=means[1])


def token_spans(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The runs of True of a row, as `(first, behind the last)`."""
    edges = np.flatnonzero(np.diff(np.pad(flags.astype(np.int8), 1)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _iou(first: tuple[int, int], second: tuple[int, int]) -> float:
    shared = max(0, min(first[1], second[1]) - max(first[0], second[0]))
    return shared / (first[1] - first[0] + second[1] - second[0] - shared)


def _f1(precision: float, recall: float) -> float:
    return float(2 * precision * recall / (precision + recall)) if precision and recall else 0.0


def _both(rows: Any) -> list[Any]:
    """Whether each text has rationale tokens and others."""
    return [gold.any() and not gold.all() for _, gold in rows]


def _share(rows: Any, share: float | None, owner: str) -> float:
    if share is None:
        of_texts = [gold.mean() for (_, gold), use in zip(rows, _both(rows), strict=True) if use]
        return float(np.mean(of_texts)) if of_texts else 1.0
    if not 0 < share <= 1:
        raise ValueError(f"{owner} expects `share` in (0, 1]. Received: share={share}")
    return share


def _number(row: npt.NDArray[Any], share: float) -> int:
    return int(np.ceil(share * len(row) - 1e-9))


def _auprc(row: npt.NDArray[Any], gold: npt.NDArray[Any]) -> float:
    order = np.argsort(-row, kind="stable")
    last = np.flatnonzero(np.diff(row[order], append=np.nan) != 0)  # of each distinct weight
    right = gold[order].cumsum()[last]
    precision = np.concatenate([[1.0], right / (last + 1)])
    recall = np.concatenate([[0.0], right / gold.sum()])
    return float((np.diff(recall) * (precision[1:] + precision[:-1]) / 2).sum())


def _auc(row: npt.NDArray[Any], gold: npt.NDArray[Any]) -> float:
    others = np.sort(row[~gold])
    below = np.searchsorted(others, row[gold], side="left")
    not_above = np.searchsorted(others, row[gold], side="right")
    return float((below + not_above).mean() / (2 * len(others)))


def _checked(
    weights: Any, rationales: Sequence[Any], mask: Any, owner: str
) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """The weights and rationales of each text, without the tokens that do not count."""
    golds = [_flags(each, owner, "rationales", index) for index, each in enumerate(rationales)]
    rows = aligned_rows(weights, [len(gold) for gold in golds], owner)
    if mask is None:
        return list(zip(rows, golds, strict=True))
    if len(mask) != len(golds):
        raise ValueError(
            f"{owner} expects `mask` with one row per text, {len(golds)} in all. Received: "
            f"{len(mask)} rows"
        )
    kept = []
    for index, (row, gold, flags) in enumerate(zip(rows, golds, mask, strict=True)):
        keep = _flags(flags, owner, "mask", index)
        if len(keep) < len(gold) or keep[len(gold) :].any():
            raise ValueError(
                f"{owner} expects `mask` for the same tokens as the rationales. Received: row "
                f"{index} with {len(keep)} entries for {len(gold)} tokens"
            )
        keep = keep[: len(gold)]
        kept.append((row[keep], gold[keep]))
    return kept


def _flags(values: Any, owner: str, name: str, index: int) -> npt.NDArray[np.bool_]:
    flags = np.asarray(values)
    if flags.ndim != 1 or not np.isin(flags, (0, 1)).all():
        raise ValueError(
            f"{owner} expects `{name}` as boolean or 0/1 arrays (num_tokens,). Received: row "
            f"{index} of shape {flags.shape}, dtype {flags.dtype}"
        )
    return flags.astype(bool)


def _score(rows: Any, scored: list[Any], value: Any, floor: Any, owner: str) -> RationaleScore:
    if not any(scored):
        raise ValueError(
            f"{owner} needs a text with rationale and other tokens. Received: {len(rows)} texts, "
            "none of them such"
        )
    per_text = np.array(
        [value(*row) if use else np.nan for row, use in zip(rows, scored, strict=True)], np.float64
    )
    uniform = [floor(gold) for (_, gold), use in zip(rows, scored, strict=True) if use]
    number = sum(map(bool, scored))
    return RationaleScore(
        float(np.nanmean(per_text)), float(np.mean(uniform)), per_text, number, len(rows) - number
    )
