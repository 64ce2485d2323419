"""Token weights scored against gold rationales."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keras_attnpool.analysis._token_rows import aligned_rows


class RationaleScore(NamedTuple):
    """What `rationale_mass` and `rationale_auc` return.

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
    scored = [gold.any() and not gold.all() for _, gold in rows]
    return _score(rows, scored, _auc, lambda gold: 0.5, "rationale_auc")


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
