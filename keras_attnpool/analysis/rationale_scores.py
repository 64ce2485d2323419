"""Scores token weights against gold rationales: by weight, by rank, and by ERASER's measures."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._token_rows import aligned_rows, flag_rows
from keras_attnpool.types import Array, Bools, Float64s


class RationaleScore(NamedTuple):
    """The result of the functions `rationale_...`.

    Attributes:
        mean: Mean over the scored texts.
        uniform: The mean score that uniform weights would have. Compare `mean` with `uniform`.
        per_text: float64 array `(batch,)`; NaN for the texts that were left out.
        num_scored: Number of scored texts.
        num_left_out: Number of texts that were left out, because they have no rationale tokens or
            no other tokens. `rationale_mass` also leaves out texts without weight.

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
    per_text: Float64s
    num_scored: int
    num_left_out: int


def rationale_mass(weights: Any, rationales: Sequence[Any], mask: Any = None) -> RationaleScore:
    """Computes the share of the weight that lies on the rationale tokens.

    For this score, weights must not be negative. `uniform` ignores tokens that do not count.

    Args:
        weights: One number per token, positive or negative: a row `(time,)` per text, or one array
            `(batch, time)`. Padding after the tokens must have the weight 0. `reduce_scores`
            computes such weights from attention scores.
        rationales: One array `(num_tokens,)` per text, of booleans or of 0 and 1. True means that
            the token belongs to the rationale.
        mask: `None`, or a mask in the layout of `weights`, of booleans or of 0 and 1. True means
            that the token counts.

    Returns:
        `RationaleScore`. `uniform` is the mean share of rationale tokens, the score of mean
        pooling.

    Raises:
        ValueError: If shapes do not fit together, if an option is out of range, or if no text can
            be scored.

    Example:

    >>> from keras_attnpool.analysis import rationale_mass
    >>> rationale_mass([[0.1, 0.9], [0.5, 0.5]], [[False, True], [True, False]]).mean
    0.7
    """
    owner = "rationale_mass"
    rows = _checked(weights, rationales, mask, owner)
    lowest = min((row.min(initial=0) for row, _ in rows), default=0)
    if lowest < 0:
        must = "be non-negative; take np.abs of a signed saliency"
        raise ArgumentError("weights", must, f"a minimum of {lowest}", owner)
    # A text without weight has no share. It gets an empty rationale, so it is left out.
    rows = [(row, gold if row.any() else gold[:0]) for row, gold in rows]
    return _score(rows, lambda row, gold: row[gold].sum() / row.sum(), np.mean, owner)


def rationale_auc(weights: Any, rationales: Sequence[Any], mask: Any = None) -> RationaleScore:
    """Computes how well the weights rank rationale tokens before other tokens.

    The score of a text is the probability that a rationale token has a larger weight than another
    token. Ties count one half. So the score of a text is the area under its ROC curve.

    Args:
        weights: One number per token, positive or negative: a row `(time,)` per text, or one array
            `(batch, time)`. Padding after the tokens must have the weight 0. `reduce_scores`
            computes such weights from attention scores.
        rationales: One array `(num_tokens,)` per text, of booleans or of 0 and 1. True means that
            the token belongs to the rationale.
        mask: `None`, or a mask in the layout of `weights`, of booleans or of 0 and 1. True means
            that the token counts.

    Returns:
        `RationaleScore`; `uniform` is 0.5.

    Raises:
        ValueError: If shapes do not fit together, if an option is out of range, or if no text can
            be scored.

    Example:

    >>> from keras_attnpool.analysis import rationale_auc
    >>> rationale_auc([[0.1, 0.6, 0.3]], [[False, True, False]]).mean
    1.0
    """
    rows = _checked(weights, rationales, mask, "rationale_auc")
    return _score(rows, _auc, lambda gold: 0.5, "rationale_auc")


def rationale_auprc(weights: Any, rationales: Sequence[Any], mask: Any = None) -> RationaleScore:
    """Computes the area under the precision-recall curve of the weights, as ERASER does.

    The curve has one point per distinct weight, and starts at (recall 0, precision 1). The
    trapezoidal rule gives the area. Equal weights give a single point, and therefore reach
    `(1 + share of rationale tokens) / 2`. Random weights reach about the share.

    Args:
        weights: One number per token, positive or negative: a row `(time,)` per text, or one array
            `(batch, time)`. Padding after the tokens must have the weight 0. `reduce_scores`
            computes such weights from attention scores.
        rationales: One array `(num_tokens,)` per text, of booleans or of 0 and 1. True means that
            the token belongs to the rationale.
        mask: `None`, or a mask in the layout of `weights`, of booleans or of 0 and 1. True means
            that the token counts.

    Returns:
        `RationaleScore`.

    Raises:
        ValueError: If shapes do not fit together, if an option is out of range, or if no text can
            be scored.

    Example:

    >>> from keras_attnpool.analysis import rationale_auprc
    >>> score = rationale_auprc([[0.1, 0.6, 0.2, 0.1]], [[False, True, False, False]])
    >>> score.mean, score.uniform
    (1.0, 0.625)

    Reference:
        - DeYoung et al., 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models
    """
    rows = _checked(weights, rationales, mask, "rationale_auprc")
    return _score(rows, _auprc, lambda gold: (1 + gold.mean()) / 2, "rationale_auprc")


def rationale_token_f1(
    weights: Any, rationales: Sequence[Any], mask: Any = None, *, share: float | None = None
) -> RationaleScore:
    """Computes F1 of the tokens of largest weight against the rationale tokens, as ERASER does.

    The explanation of a text with n tokens is its `ceil(share * n)` tokens of largest weight. If
    tokens of equal weight compete for the last places, the F1 is the expected F1 of a random choice
    among these tokens.

    Args:
        weights: One number per token, positive or negative: a row `(time,)` per text, or one array
            `(batch, time)`. Padding after the tokens must have the weight 0. `reduce_scores`
            computes such weights from attention scores.
        rationales: One array `(num_tokens,)` per text, of booleans or of 0 and 1. True means that
            the token belongs to the rationale.
        mask: `None`, or a mask in the layout of `weights`, of booleans or of 0 and 1. True means
            that the token counts.
        share: Share of each text's tokens that is selected. Defaults to the mean share of rationale
            tokens over the scored texts, as in ERASER.

    Returns:
        `RationaleScore`. `mean` is ERASER's macro F1 of tokens.

    Raises:
        ValueError: If shapes do not fit together, if an option is out of range, or if no text can
            be scored.

    Example:

    >>> from keras_attnpool.analysis import rationale_token_f1
    >>> rationale_token_f1([[0.1, 0.6, 0.2, 0.1]], [[False, True, True, False]]).mean
    1.0

    Reference:
        - DeYoung et al., 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models
    """
    rows = _checked(weights, rationales, mask, "rationale_token_f1")
    share = _share(rows, share, "rationale_token_f1")

    def f1(row: Array, gold: Array) -> float:
        number = number_of(row, share)
        least = np.sort(row)[-number]
        tied = row == least
        right = gold[row > least].sum() + gold[tied].mean() * (number - (row > least).sum())
        return float(2 * right / (number + gold.sum()))

    return _score(rows, f1, lambda gold: f1(np.zeros(len(gold)), gold), "rationale_token_f1")


def rationale_iou_f1(
    weights: Any,
    rationales: Sequence[Any],
    mask: Any = None,
    *,
    share: float | None = None,
    threshold: float = 0.5,
    seed: int = 0,
) -> RationaleScore:
    """Computes F1 of the spans of largest weight against the rationale spans, as ERASER does.

    The explanation is chosen as in `rationale_token_f1`. Neighbouring tokens form a span. A span
    matches if its intersection over union with a rationale span reaches the threshold. Precision is
    the share of the explanation's spans that match. Recall is the number of matching spans divided
    by the number of rationale spans, so recall may exceed 1.

    Args:
        weights: One number per token, positive or negative: a row `(time,)` per text, or one array
            `(batch, time)`. Padding after the tokens must have the weight 0. `reduce_scores`
            computes such weights from attention scores.
        rationales: One array `(num_tokens,)` per text, of booleans or of 0 and 1. True means that
            the token belongs to the rationale.
        mask: `None`, or a mask in the layout of `weights`. True means that the token counts. Spans
            contain only tokens that count.
        share: Share of each text's tokens that is selected. Defaults to the mean share of rationale
            tokens over the scored texts, as in ERASER.
        threshold: The smallest intersection over union of spans that match.
        seed: Seed of the random order of tokens with equal weights.

    Returns:
        `RationaleScore`. `mean` is ERASER's macro F1: the F1 of the mean precision and the mean
        recall. `mean` is not the mean of `per_text`. `uniform` is the macro F1 of random tokens.

    Raises:
        ValueError: If shapes do not fit together, if an option is out of range, or if no text can
            be scored.

    Example:

    >>> from keras_attnpool.analysis import rationale_iou_f1
    >>> rationale_iou_f1([[0.1, 0.6, 0.2, 0.1]], [[False, True, True, False]]).mean
    1.0

    Reference:
        - DeYoung et al., 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models
    """
    owner = "rationale_iou_f1"
    rows = _checked(weights, rationales, mask, owner)
    share = _share(rows, share, owner)
    if not 0 < threshold <= 1:
        raise ArgumentError("threshold", "be in (0, 1]", {"threshold": threshold}, owner)
    rng = np.random.default_rng(seed)
    pairs: list[tuple[float, float]] = []
    floors: list[tuple[float, float]] = []

    def f1(row: Array, gold: Array, kept: Any = pairs) -> float:
        order = np.lexsort((rng.random(len(row)), -row))
        taken = np.zeros(len(row), bool)
        taken[order[: number_of(row, share)]] = True
        mine, truth = token_spans(taken), token_spans(gold)
        hits = sum(max(_iou(span, other) for other in truth) >= threshold for span in mine)
        kept.append((hits / len(mine), hits / len(truth)))
        return _f1(*kept[-1])

    score = _score(rows, f1, lambda gold: f1(np.zeros(len(gold)), gold, floors), owner)
    means = [_f1(*np.mean(values, axis=0)) for values in (pairs, floors)]
    return score._replace(mean=means[0], uniform=means[1])


def token_spans(flags: Bools) -> list[tuple[int, int]]:
    """The runs of True in a row, as pairs `(start, stop)`."""
    edges = np.flatnonzero(np.diff(np.pad(flags.astype(np.int8), 1)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _iou(first: tuple[int, int], second: tuple[int, int]) -> float:
    shared = max(0, min(first[1], second[1]) - max(first[0], second[0]))
    return shared / (first[1] - first[0] + second[1] - second[0] - shared)


def _f1(precision: float, recall: float) -> float:
    return float(2 * precision * recall / (precision + recall)) if precision and recall else 0.0


def _is_scored(gold: Array) -> bool:
    """Whether a text has rationale tokens and other tokens."""
    return bool(gold.any() and not gold.all())


def _share(rows: Any, share: float | None, owner: str) -> float:
    if share is None:
        of_texts = [gold.mean() for _, gold in rows if _is_scored(gold)]
        return float(np.mean(of_texts)) if of_texts else 1.0
    if not 0 < share <= 1:
        raise ArgumentError("share", "be in (0, 1]", {"share": share}, owner)
    return share


def number_of(row: Array, share: float) -> int:
    """The number of tokens in a share of a text: `ceil(share * n)` without rounding errors."""
    return max(1, int(np.ceil(share * len(row) - 1e-9)))


def _auprc(row: Array, gold: Array) -> float:
    order = np.argsort(-row, kind="stable")
    # the last place of each distinct weight
    last = np.flatnonzero(np.diff(row[order], append=np.nan) != 0)
    right = gold[order].cumsum()[last]
    precision = np.concatenate([[1.0], right / (last + 1)])
    recall = np.concatenate([[0.0], right / gold.sum()])
    return float((np.diff(recall) * (precision[1:] + precision[:-1]) / 2).sum())


def _auc(row: Array, gold: Array) -> float:
    others = np.sort(row[~gold])
    below = np.searchsorted(others, row[gold], side="left")
    not_above = np.searchsorted(others, row[gold], side="right")
    return float((below + not_above).mean() / (2 * len(others)))


def _checked(
    weights: Any, rationales: Sequence[Any], mask: Any, owner: str
) -> list[tuple[Array, Array]]:
    """The weights and rationales of each text, without the tokens that do not count."""
    golds = flag_rows(rationales, owner, "rationales")
    sizes = [len(gold) for gold in golds]
    rows = list(zip(aligned_rows(weights, sizes, owner), golds, strict=True))
    if mask is None:
        return rows
    keep = flag_rows(aligned_rows(mask, sizes, owner, "mask"), owner, "mask")
    return [(row[flags], gold[flags]) for (row, gold), flags in zip(rows, keep, strict=True)]


def _score(rows: Any, value: Any, floor: Any, owner: str) -> RationaleScore:
    golds = [gold for _, gold in rows if _is_scored(gold)]
    if not golds:
        must = "be of some but not all tokens, in one text at least"
        raise ArgumentError("rationales", must, f"{len(rows)} texts, none of them such", owner)
    values = [value(*row) if _is_scored(row[1]) else np.nan for row in rows]
    per_text = np.array(values, np.float64)
    means = float(np.nanmean(per_text)), float(np.mean([floor(gold) for gold in golds]))
    return RationaleScore(*means, per_text, len(golds), len(rows) - len(golds))
