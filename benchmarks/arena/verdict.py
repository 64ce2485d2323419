"""What the runs of the comparison say: ranks over sets of data, what differs, and at what cost.

The ranks and tests are those of Demsar (2006): Friedman's for any difference, Nemenyi's critical
difference for pairs, and Wilcoxon's with Holm's correction against one row. A task counts with the
mean over those of its encoders behind which every row was run, and tasks that share their texts or
pictures with the mean over them: the tests ask for figures that do not depend on each other.
"""

import csv
import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.reproduce.significance import paired_interval

BASE = "MaskedAveragePooling1D"
LARGEST = "largest class"  # always answered
LEVEL = 0.05
Lines = list[dict[str, Any]]
WORDS = ("task", "encoder", "row", "stopped", "fingerprint", "protocol", "commit", "correct")
WORDS += ("versions", "examples")


def read(path: Path) -> Lines:
    """The lines of `results.csv`, figures as numbers; none if there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        lines: Lines = list(csv.DictReader(file))
    for line in lines:
        for name, value in line.items():
            if name == "stopped":
                line[name] = value == "True"
            elif name not in WORDS:
                line[name] = float(value) if value else None
        for name in ("seed", "size", "epochs", "best_epoch", "parameters"):
            line[name] = None if line[name] is None else int(line[name])
    return lines


def blocks(lines: Lines) -> dict[tuple[str, str], dict[str, Lines]]:
    """The runs of each row of each block."""
    found: dict[tuple[str, str], dict[str, Lines]] = {}
    for line in lines:
        block = found.setdefault((line["task"], line["encoder"]), {})
        block.setdefault(line["row"], []).append(line)
    return found


def mean(runs: Lines, name: str = "test_accuracy") -> float:
    """The mean over runs."""
    return float(np.mean([run[name] for run in runs]))


def interval(block: dict[str, Lines], better: str, worse: str) -> tuple[float, float] | None:
    """The paired 95 % interval of a difference within a block; one run tells nothing of another."""
    if min(len(block[better]), len(block[worse])) < 2:
        return None
    size = int(block[better][0]["examples"].split()[2])
    rows = {row: {"runs": block[row]} for row in (better, worse)}
    return paired_interval(
        {"measure": "accuracy", "test_examples": size, "rows": rows}, better, worse
    )


def ahead(block: dict[str, Lines], better: str, worse: str) -> bool:
    """Whether one row of a block is shown to be ahead of another."""
    ends = interval(block, better, worse)
    return ends is not None and ends[0] > 0


def one_class(run: dict[str, Any], block: dict[str, Lines]) -> bool:
    """Whether a run gives every text the same answer, by its macro-F1.

    With the share a of the texts right it is 2 a / (1 + a) over the number of classes, which the
    row that always answers the largest class tells.
    """
    if run["row"] == LARGEST or LARGEST not in block:
        return False

    def classes(of: dict[str, Any]) -> float:
        right = of["test_accuracy"]
        return 2 * right / (1 + right) / max(of["test_macro_f1"], 1e-9)

    known = round(classes(block[LARGEST][0]))
    return abs(classes(run) / known - 1) < 1e-3


def whole(lines: Lines, rows: list[str]) -> dict[tuple[str, str], dict[str, Lines]]:
    """The blocks with all rows; of each the runs of those seeds that all of them have."""
    found = {}
    for key, block in blocks(lines).items():
        if set(rows) <= set(block):
            seeds = set.intersection(*({run["seed"] for run in block[row]} for row in rows))
            even = {
                row: [run for run in runs if run["seed"] in seeds] for row, runs in block.items()
            }
            if seeds:
                found[key] = {row: runs for row, runs in even.items() if runs}
    return found


def counted(lines: Lines, rows: list[str]) -> dict[tuple[str, str], dict[str, Lines]]:
    """The whole blocks in which some row is shown to be ahead of the largest class."""
    found = {}
    for key, block in whole(lines, rows).items():
        best = max(rows, key=lambda row: mean(block[row]))
        if LARGEST not in block or len(block[best]) < 2 or ahead(block, best, LARGEST):
            found[key] = block
    return found


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Rows over sets of data.

    Args:
        tasks: The tasks that count, with the encoders behind which all rows were run.
        sets: The sets of data, with their tasks.
        accuracy: Of each row, `(sets,)`.
        ranks: The mean rank of each row, 1 is the best; the best comes first.
        p_value: Friedman's, that the rows do not differ.
        distance: Nemenyi's critical difference of two mean ranks.
    """

    tasks: dict[str, list[str]]
    sets: dict[str, list[str]]
    accuracy: dict[str, np.ndarray]
    ranks: dict[str, float]
    p_value: float
    distance: float


def ranking(
    lines: Lines, rows: list[str], set_of: Callable[[str], str] = lambda task: task
) -> Ranking | None:
    """Ranks the rows; `None` before two sets have all of them."""
    tasks: dict[str, list[str]] = {}
    sets: dict[str, list[str]] = {}
    figures: dict[str, list[list[float]]] = {}
    for (task, encoder), block in counted(lines, rows).items():
        tasks.setdefault(task, []).append(encoder)
        figures.setdefault(task, []).append([mean(block[row]) for row in rows])
    for task in tasks:
        sets.setdefault(set_of(task), []).append(task)
    if len(sets) < 2:
        return None
    each = {task: np.mean(figures[task], axis=0) for task in tasks}
    # Rounded, so that a tie is one.
    accuracy = np.array(
        [np.mean([each[task] for task in those], axis=0) for those in sets.values()]
    ).round(9)
    count = len(rows)
    critical = stats.studentized_range.ppf(1 - LEVEL, count, math.inf) / math.sqrt(2)
    return Ranking(
        tasks,
        sets,
        dict(zip(rows, accuracy.T, strict=True)),
        _ranks(rows, accuracy),
        float(stats.friedmanchisquare(*accuracy.T).pvalue),
        float(critical * math.sqrt(count * (count + 1) / (6 * len(sets)))),
    )


def _ranks(rows: list[str], accuracy: np.ndarray) -> dict[str, float]:
    """The mean rank of each row, the best first."""
    ranked = stats.rankdata(-accuracy, axis=1).mean(axis=0)
    return dict(sorted(zip(rows, map(float, ranked), strict=True), key=lambda pair: pair[1]))


def ranks_in(those: list[dict[str, Lines]], rows: list[str]) -> dict[str, float]:
    """The mean rank of each row over some blocks, the best first."""
    return _ranks(rows, np.array([[mean(b[row]) for row in rows] for b in those]).round(9))


@dataclasses.dataclass(frozen=True)
class Lead:
    """How far a row is ahead of another over the sets: median, which of them is ahead, and p."""

    median: float
    ahead: bool
    p_value: float


def against(ranked: Ranking, base: str = BASE) -> dict[str, Lead]:
    """Of each other row its lead on one, by Wilcoxon's signed ranks; p is corrected by Holm."""
    leads = {
        row: (each - ranked.accuracy[base]).round(9)
        for row, each in ranked.accuracy.items()
        if row != base
    }
    raw = {
        row: float(stats.wilcoxon(lead).pvalue) if lead.any() else 1.0
        for row, lead in leads.items()
    }
    found, worst = {}, 0.0
    for place, row in enumerate(sorted(raw, key=lambda name: raw[name])):
        lead, worst = leads[row], max(worst, min(1.0, raw[row] * (len(raw) - place)))
        signed = np.sign(lead) * stats.rankdata(abs(lead))
        found[row] = Lead(float(np.median(lead)), bool(signed.sum() > 0), worst)
    return found


def shown(leads: dict[str, Lead], is_ahead: bool) -> list[str]:
    """The rows that are shown to be ahead, or behind."""
    return [row for row, lead in leads.items() if lead.p_value < LEVEL and lead.ahead == is_ahead]


def steady(ranked: Ranking, is_ahead: bool) -> list[str]:
    """The rows that are shown to be ahead of the mean, or behind, whichever set is left out."""
    left = set(ranked.accuracy)
    for place in range(len(ranked.sets)):
        rest = {row: np.delete(each, place) for row, each in ranked.accuracy.items()}
        left &= set(shown(against(dataclasses.replace(ranked, accuracy=rest)), is_ahead))
    return [row for row in ranked.ranks if row in left]


def cost(those: list[dict[str, Lines]], row: str) -> float:
    """The processor's time for an epoch of a row in units of the mean's; over some blocks."""
    ratios = [
        np.mean([run["cpu_seconds"] / run["epochs"] for run in block[row]])
        / np.mean([run["cpu_seconds"] / run["epochs"] for run in block[BASE]])
        for block in those
    ]
    return float(np.exp(np.mean(np.log(ratios))))


def joined(names: list[str]) -> str:
    """Names as a sentence has them."""
    quoted = [f"`{name}`" for name in names]
    return " and ".join([*([", ".join(quoted[:-1])] if quoted[1:] else []), *quoted[-1:]])


def sentences(
    lines: Lines,
    rows: list[str],
    linear: tuple[str, ...],
    set_of: Callable[[str], str] = lambda task: task,
) -> list[str]:
    """What the figures say; nothing here is typed by hand."""
    ranked = ranking(lines, rows, set_of)
    if ranked is None:
        return ["There is no verdict before two sets of data have all of their rows."]
    names, those = list(ranked.ranks), counted(lines, rows)
    first, count = names[0], len(ranked.sets)
    differ = "differ" if ranked.p_value < LEVEL else "are not shown to differ"
    told = [
        f"Over {len(ranked.tasks)} tasks from {count} sets of data the {len(rows)} rows {differ} "
        f"(Friedman's test, p = {ranked.p_value:.2g})."
    ]
    behind = [row for row in names if ranked.ranks[row] - ranked.ranks[first] > ranked.distance]
    told.append(
        f"`{first}` has the best mean rank, {ranked.ranks[first]:.1f} of {len(rows)}. Nemenyi's "
        f"test compares every row with every other, and so asks for {ranked.distance:.1f} ranks "
        f"between two: it shows `{first}` to be better than {joined(behind) or 'no other row'}."
    )
    leads = against(ranked)
    better, worse = ([row for row in names if row in shown(leads, way)] for way in (True, False))
    said = [
        f"{joined(some)} {'is' if len(some) == 1 else 'are'} {how}"
        for some, how in ((better, "better"), (worse, "worse"))
        if some
    ] or ["no row is shown to be better or worse"]
    stay = [row for way in (True, False) for row in steady(ranked, way)]
    fall = [row for row in (*better, *worse) if row not in stay]
    kept = [
        f"{joined(some)} {verb} so"
        for some, verb in (
            (stay, "stays" if len(stay) == 1 else "stay"),
            (fall, "does not stay" if len(fall) == 1 else "do not stay"),
        )
        if some
    ]
    best = max(leads, key=lambda row: leads[row].median)
    lead = f"{100 * leads[best].median:+.1f}".replace("-", "\N{MINUS SIGN}")
    told.append(
        "Wilcoxon's test with Holm's correction compares with the mean of the states alone: "
        + ", ".join(said)
        # The least p that the signs of so few differences can have.
        + ", and with so few sets none can be" * (2 * 0.5**count * len(leads) >= LEVEL)
        + (f". Whichever set is left out, {', '.join(kept)}" if kept else "")
        + f". The largest median lead is that of `{best}`, {lead} points."
    )
    lost = shown(against(ranked, first), False)
    upper = [
        row
        for row in names[: (len(names) + 1) // 2]
        if row not in (*lost, *worse, *[BASE] * bool(better))
    ]
    times = {row: cost(list(those.values()), row) for row in upper}
    cheap = min(upper, key=lambda row: times[row])
    told.append(
        f"The same test against `{first}` shows {len(lost)} rows to be worse. Of the others in the "
        f"upper half of ranks `{cheap}` is the cheapest: an epoch takes {times[cheap]:.2f} times "
        "that of the mean"
        + (f", that of `{first}` {times[first]:.2f} times." if cheap != first else ".")
    )
    beaten = []
    for task, encoders in ranked.tasks.items():
        found = [those[task, encoder] for encoder in encoders]
        floors = {
            row: mean([x for b in found for x in b[row]]) for row in linear if row in found[0]
        }
        if floors:
            floor = max(floors, key=lambda row: floors[row])
            if not any(ahead(block, first, floor) for block in found):
                beaten.append(task)
    told.append(
        f"`{first}` is shown to be ahead of the best linear classifier on "
        f"{len(ranked.tasks) - len(beaten)} of {len(ranked.tasks)} tasks"
        + (f", but not on {', '.join(beaten)}." if beaten else ".")
    )
    return told
