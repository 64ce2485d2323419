"""What the runs of the comparison say: ranks over tasks, what differs, and at what cost.

The ranks and tests are those of Demsar (2006): Friedman's for any difference, Nemenyi's critical
difference for pairs, and Wilcoxon's with Holm's correction against one row. A task counts once,
with the mean over those of its encoders behind which every row was run.
"""

import csv
import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.reproduce.significance import paired_interval

BASE = "MaskedAveragePooling1D"
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
    """The paired 95 % interval of a difference within a block."""
    size = int(block[better][0]["examples"].split()[2])
    rows = {row: {"runs": block[row]} for row in (better, worse)}
    return paired_interval(
        {"measure": "accuracy", "test_examples": size, "rows": rows}, better, worse
    )


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Rows over tasks.

    Args:
        tasks: The tasks that count, with the encoders behind which all rows were run.
        accuracy: `(tasks, rows)`.
        ranks: The mean rank of each row, 1 is the best; the best comes first.
        p_value: Friedman's, that the rows do not differ.
        distance: Nemenyi's critical difference of two mean ranks.
    """

    tasks: dict[str, list[str]]
    accuracy: dict[str, np.ndarray]
    ranks: dict[str, float]
    p_value: float
    distance: float


def ranking(lines: Lines, rows: list[str]) -> Ranking | None:
    """Ranks the rows; `None` before two tasks have all of them."""
    tasks: dict[str, list[str]] = {}
    figures: dict[str, list[list[float]]] = {}
    for (task, encoder), block in blocks(lines).items():
        if set(rows) <= set(block):
            tasks.setdefault(task, []).append(encoder)
            figures.setdefault(task, []).append([mean(block[row]) for row in rows])
    if len(tasks) < 2:
        return None
    accuracy = np.array([np.mean(figures[task], axis=0) for task in tasks])
    ranked = stats.rankdata(-accuracy, axis=1).mean(axis=0)
    count = len(rows)
    critical = stats.studentized_range.ppf(1 - LEVEL, count, math.inf) / math.sqrt(2)
    return Ranking(
        tasks,
        dict(zip(rows, accuracy.T, strict=True)),
        dict(sorted(zip(rows, map(float, ranked), strict=True), key=lambda pair: pair[1])),
        float(stats.friedmanchisquare(*accuracy.T).pvalue),
        float(critical * math.sqrt(count * (count + 1) / (6 * len(tasks)))),
    )


def against(ranked: Ranking, base: str = BASE) -> dict[str, tuple[float, float]]:
    """Of each other row the mean difference to one, and Wilcoxon's p corrected by Holm."""
    leads = {row: each - ranked.accuracy[base] for row, each in ranked.accuracy.items()}
    raw = {
        row: float(stats.wilcoxon(lead).pvalue) if lead.any() else 1.0
        for row, lead in leads.items()
        if row != base
    }
    corrected, worst = {}, 0.0
    for place, row in enumerate(sorted(raw, key=lambda name: raw[name])):
        worst = corrected[row] = max(worst, min(1.0, raw[row] * (len(raw) - place)))
    return {row: (float(leads[row].mean()), p) for row, p in corrected.items()}


def cost(lines: Lines, row: str) -> float | None:
    """The processor's time for an epoch of a row in units of the mean's; over all blocks."""
    ratios = []
    for block in blocks(lines).values():
        if row in block and BASE in block:
            used = [
                np.mean([run["cpu_seconds"] / run["epochs"] for run in runs])
                for runs in (block[row], block[BASE])
            ]
            ratios.append(used[0] / used[1])
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else None


def best(block: dict[str, Lines], rows: list[str]) -> tuple[str, list[str]]:
    """The best row of a block, and all whose interval to it does not leave out zero."""
    first = max((row for row in rows if row in block), key=lambda row: mean(block[row]))
    level = []
    for row in rows:
        ends = interval(block, first, row) if row in block and row != first else None
        if row == first or (ends is not None and ends[0] <= 0):
            level.append(row)
    return first, level


def joined(names: list[str]) -> str:
    """Names as a sentence has them."""
    quoted = [f"`{name}`" for name in names]
    return " and ".join([*([", ".join(quoted[:-1])] if quoted[1:] else []), *quoted[-1:]])


def sentences(lines: Lines, rows: list[str], floors: tuple[str, ...]) -> list[str]:
    """What the figures say; nothing here is typed by hand."""
    ranked = ranking(lines, rows)
    if ranked is None:
        return ["There is no verdict before two tasks have all of their rows."]
    names = list(ranked.ranks)
    first, count = names[0], len(ranked.tasks)
    differ = "differ" if ranked.p_value < LEVEL else "are not shown to differ"
    told = [
        f"Over {count} tasks the {len(rows)} rows {differ} (Friedman's test, "
        f"p = {ranked.p_value:.2g})."
    ]
    behind = [row for row in names if ranked.ranks[row] - ranked.ranks[first] > ranked.distance]
    told.append(
        f"`{first}` has the best mean rank, {ranked.ranks[first]:.1f} of {len(rows)}; two rows "
        f"differ where their ranks are {ranked.distance:.1f} apart, "
        + (
            f"which is so for {joined(behind)}."
            if behind
            else "which no row is from it: no winner is shown."
        )
    )
    leads = against(ranked)
    real = [row for row in names if row in leads and leads[row][1] < LEVEL]
    better = [row for row in real if leads[row][0] > 0]
    worse = [row for row in real if row not in better]
    ahead = max(leads, key=lambda row: leads[row][0])
    said = [
        f"{joined(these)} {'is' if len(these) == 1 else 'are'} {how}"
        for these, how in ((better, "better"), (worse, "worse"))
        if these
    ] or ["No row differs"]
    test = "by Wilcoxon's test with Holm's correction"
    said[0] += " than the mean of the states" if real else " from the mean of the states"
    shown = f"{', '.join(said)}, {test}"
    if not real:
        # The least p that the signs of so few differences can have.
        shown += ", and with so few tasks none can" * (2 * 0.5**count * len(leads) >= LEVEL)
    lead = f"{100 * leads[ahead][0]:+.1f}".replace("-", "−")
    told.append(f"{shown}; the largest mean lead is that of `{ahead}`, {lead} points.")
    behind += [BASE, *worse] if first in better else []
    top = [row for row in names if row not in behind]
    times = {row: cost(lines, row) for row in top}
    cheap = min(top, key=lambda row: times[row] or math.inf)
    told.append(
        f"Of the rows that are not shown to be worse, `{cheap}` is the cheapest: an epoch takes "
        f"{times[cheap]:.1f} times that of the mean"
        + (f"; that of `{first}` takes {times[first]:.1f}." if cheap != first else ".")
    )
    beaten = []
    for (task, encoder), block in blocks(lines).items():
        if encoder not in ranked.tasks.get(task, ()):
            continue
        found = [row for row in floors if row in block]
        top_row, _ = best(block, rows)
        if found and max(mean(block[row]) for row in found) >= mean(block[top_row]):
            beaten.append(f"{task} ({encoder})")
    total = sum(map(len, ranked.tasks.values()))
    told.append(
        f"A linear classifier is as good as the best row or better in {len(beaten)} of {total} "
        "blocks" + (f": {', '.join(beaten)}." if beaten else ".")
    )
    return told
