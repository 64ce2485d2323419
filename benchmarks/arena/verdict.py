"""What the runs of the comparison say, by the rule of `rule.toml`, and how steady it is.

The unit is a set of data. Of each row stands first how far it is ahead of the mean and of the best
linear classifier, with an interval over sets; then the probabilities of the Bayesian signed-rank
test (Benavoli et al., 2017) that it is better, equal for practical purposes, or worse; then the
tests of Demsar (2006). A word is *shown* where it stays the same under each choice of the rule.
"""

import csv
import dataclasses
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.arena import words
from benchmarks.arena.words import RULE, counts, named, region, spanned
from benchmarks.reproduce.significance import paired_interval

BASE = RULE["base"]
FLOOR = "the best linear classifier"
LARGEST = "largest class"  # always answered
BETTER, EQUAL, WORSE = "better", "equal", "worse"
DECLARED = "as declared"
Lines = list[dict[str, Any]]
Block = dict[str, Lines]
Blocks = dict[tuple[str, str], Block]
WORDS = ("task", "encoder", "row", "stopped", "fingerprint", "protocol", "commit", "correct")
WORDS += ("versions", "examples")


def file_of(folder: Path, kind: str) -> Path:
    """Where the runs of a kind of tasks are."""
    return folder / f"{kind.replace(' ', '_')}.csv"


def read(folder: Path) -> Lines:
    """The runs in the files of a folder, kind by kind, figures as numbers.

    An empty cell of `versions` says what the first line of its file says.
    """
    lines: Lines = []
    for path in filter(Path.exists, (file_of(folder, kind) for kind in RULE["kinds"])):
        with path.open(encoding="utf-8", newline="") as file:
            those = list(csv.DictReader(file))
        lines += [{**line, "versions": line["versions"] or those[0]["versions"]} for line in those]
    for line in lines:
        for name, value in line.items():
            if name == "stopped":
                line[name] = value == "True"
            elif name not in WORDS:
                line[name] = float(value) if value else None
        for name in ("seed", "size", "epochs", "best_epoch", "parameters"):
            line[name] = None if line[name] is None else int(line[name])
    return lines


def rule_digest() -> str:
    """Eight letters of all that the rule says but for its history."""
    told = {name: value for name, value in RULE.items() if name != "changes"}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:8]


# --- blocks ------------------------------------------------------------------------------------


def blocks(lines: Lines) -> Blocks:
    """The runs of each row of each block."""
    found: Blocks = {}
    for line in lines:
        block = found.setdefault((line["task"], line["encoder"]), {})
        block.setdefault(line["row"], []).append(line)
    return found


def mean(runs: Lines, name: str = "test_accuracy") -> float:
    """The mean over runs."""
    return float(np.mean([run[name] for run in runs]))


def spread(block: Block) -> tuple[float, int] | None:
    """Variance of a run beside the means of its row and of its split, and degrees of freedom.

    Two runs of a row tell little of their spread, but all rows of a block were trained alike.
    """
    most = max(map(len, block.values()))
    table = np.array(
        [
            [run["test_accuracy"] for run in sorted(runs, key=lambda run: run["seed"])]
            for runs in block.values()
            if len(runs) == most
        ]
    )
    rest = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    degrees = (len(table) - 1) * (most - 1)
    return (float((rest**2).sum() / degrees), degrees) if degrees else None


def interval(block: Block, better: str, worse: str) -> tuple[float, float] | None:
    """The paired 95 % interval of a difference within a block; one run tells nothing of another."""
    if min(len(block[better]), len(block[worse])) < 2:
        return None
    size = int(block[better][0]["examples"].split()[2])
    rows = {row: {"runs": block[row]} for row in (better, worse)}
    results = {"measure": "accuracy", "test_examples": size, "rows": rows, "spread": spread(block)}
    return paired_interval(results, better, worse)


def ahead(block: Block, better: str, worse: str) -> bool:
    """Whether one row of a block is shown to be ahead of another."""
    ends = interval(block, better, worse)
    return ends is not None and ends[0] > 0


def one_class(run: dict[str, Any], block: Block) -> bool:
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


def learned(block: Block, rows: list[str]) -> bool:
    """Whether some row is shown to be ahead of the largest class, where that can be seen."""
    best = max(rows, key=lambda row: mean(block[row]))
    return LARGEST not in block or len(block[best]) < 2 or ahead(block, best, LARGEST)


def cost(those: list[Block], row: str) -> float:
    """The processor's time for an epoch of a row in units of the mean's, the median over blocks.

    A median over runs too: where an epoch takes milliseconds, some runs were disturbed.
    """
    one, base = (
        [np.median([run["cpu_seconds"] / run["epochs"] for run in block[name]]) for block in those]
        for name in (row, BASE)
    )
    return float(np.median(np.divide(one, base)))


def by_encoder(found: Blocks) -> dict[str, list[Block]]:
    """The blocks of each encoder."""
    those: dict[str, list[Block]] = {}
    for (_, encoder), block in found.items():
        those.setdefault(encoder, []).append(block)
    return those


def epoch(found: Blocks, row: str) -> str:
    """How long a row's epoch takes over all blocks, and the range over encoders."""
    ends = [cost(those, row) for those in by_encoder(found).values()]
    return (
        f"{cost(list(found.values()), row):.2f} times the processor time of the mean "
        f"({min(ends):.2f} to {max(ends):.2f} by encoder)"
    )


# --- effects -----------------------------------------------------------------------------------


def over_sets(leads: np.ndarray) -> tuple[float, float] | None:
    """The 95 % interval of a mean over sets, the sets drawn anew; `None` of fewer than three.

    Draws of fewer than six sets vary too little; there the interval is Student's.
    """
    if len(leads) < 3:
        return None
    if len(leads) < 6:
        half = stats.t.ppf(0.975, len(leads) - 1) * stats.sem(leads)
        return float(leads.mean() - half), float(leads.mean() + half)
    drawn = np.random.default_rng(0).integers(len(leads), size=(10_000, len(leads)))
    # Sorted, so that the order of the sets decides nothing.
    low, high = np.quantile(np.sort(leads)[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def over_splits(runs: Lines) -> tuple[float, float] | None:
    """The 95 % interval of a mean over splits that overlap (Nadeau and Bengio, 2003)."""
    values = np.array([run["test_accuracy"] for run in runs])
    if len(values) < 2:
        return None
    trained, chosen, tested = map(int, runs[0]["examples"].split())
    variance = values.var(ddof=1) * (1 / len(values) + tested / (trained + chosen))
    half = float(stats.t.ppf(0.975, len(values) - 1) * math.sqrt(variance))
    return max(float(values.mean() - half), 0.0), min(float(values.mean() + half), 1.0)


@lru_cache(maxsize=64)
def _weights(count: int) -> np.ndarray:
    """Draws of the weights of the prior's pseudo-set and of the sets, `(draws, 1 + count)`."""
    strength, draws = RULE["statistic"]["prior_strength"], RULE["statistic"]["draws"]
    return np.random.default_rng(0).dirichlet([strength, *[1.0] * count], size=draws)


def probabilities(leads: np.ndarray) -> dict[str, float]:
    """The Bayesian signed-rank test: that a row is better, practically equal, or worse.

    Each draw weighs the pairs of sets; the means of pairs above, within and below the region share
    its weight. A probability is the share of draws in which a part has the most.
    """
    z, region = np.concatenate([[0.0], np.sort(leads.round(9))]), RULE["practical"]
    walsh, weights = (z[:, None] + z[None, :]) / 2, _weights(len(leads))
    parts = {BETTER: walsh > region, EQUAL: np.abs(walsh) <= region, WORSE: walsh < -region}
    # As floats, for a product with booleans takes ten times as long.
    shares = np.stack(
        [((weights @ part.astype(float)) * weights).sum(axis=1) for part in parts.values()]
    )
    most = np.bincount(shares.argmax(axis=0), minlength=3) / shares.shape[1]
    return dict(zip(parts, map(float, most), strict=True))


def word(leads: np.ndarray) -> str | None:
    """Which of the three is certain, if any."""
    if len(leads) < 2:
        return None
    name, probability = max(probabilities(leads).items(), key=lambda pair: pair[1])
    return name if probability >= RULE["certain"] else None


def ranks(accuracy: dict[str, np.ndarray]) -> dict[str, float]:
    """The mean rank of each row over sets or blocks, the best first; equal shares have one rank."""
    ranked = stats.rankdata(-np.array([*accuracy.values()]).round(9), axis=0).mean(axis=1)
    return dict(sorted(zip(accuracy, map(float, ranked), strict=True), key=lambda pair: pair[1]))


def wilcoxon(leads: np.ndarray) -> float:
    """The exact two-sided p-value of Wilcoxon's signed-rank test; ties share a rank, zeros go.

    SciPy's tries every sign where there are ties, which takes as long as all the rest.
    """
    kept = leads.round(9)
    kept = kept[kept != 0]
    ranks, shares = (2 * stats.rankdata(np.abs(kept))).astype(int), np.ones(1)
    for rank in ranks:  # the distribution of the sum of the positive ranks, doubled
        shares = (np.pad(shares, (0, rank)) + np.pad(shares, (rank, 0))) / 2
    found = ranks[kept > 0].sum()
    return float(min(1.0, 2 * min(shares[: found + 1].sum(), shares[found:].sum())))


# --- sets, under a choice ----------------------------------------------------------------------


def set_of(task: str, apart: Sequence[str] = ()) -> str:
    """The set of data of a task; those that share texts or pictures are one witness."""
    return next(
        (name for name, tasks in RULE["merged"].items() if task in tasks and name not in apart),
        task,
    )


@dataclasses.dataclass(frozen=True)
class Cell:
    """A counted seed of a block: the accuracy of every row, then of the best linear classifier.

    The last one is NaN where the rule has none.
    """

    task: str
    encoder: str
    kind: str
    seed: int
    learned: bool
    accuracy: np.ndarray

    @property
    def set(self) -> str:
        """The set of data, as declared."""
        return set_of(self.task)


def _averaged(found: Iterable[tuple[Any, np.ndarray]]) -> dict[Any, np.ndarray]:
    """The means of what has the same name."""
    groups: dict[Any, list[np.ndarray]] = {}
    for name, accuracy in found:
        groups.setdefault(name, []).append(accuracy)
    return {name: np.mean(each, axis=0) for name, each in groups.items()}


@dataclasses.dataclass(frozen=True)
class Sets:
    """The accuracy of every row, and of the best linear classifier, on some data sets."""

    names: list[str]
    accuracy: dict[str, np.ndarray]

    @property
    def rows(self) -> dict[str, np.ndarray]:
        """The accuracy of the rows alone."""
        return {row: each for row, each in self.accuracy.items() if row != FLOOR}

    def leads(self, row: str, other: str = BASE) -> np.ndarray:
        """The differences of two rows, of the sets that have both."""
        each = self.accuracy[row] - self.accuracy[other]
        return np.asarray(each[~np.isnan(each)])

    def lead(self, row: str, other: str = BASE) -> dict[str, Any]:
        """The mean difference of two rows in points, and its interval."""
        leads = self.leads(row, other)
        ends = over_sets(leads)
        return {
            "points": 100 * float(leads.mean()) if len(leads) else math.nan,
            "interval": ends and [100 * end for end in ends],
        }

    def keeping_up(self, first: str) -> list[str]:
        """The rows that are not shown to be behind one: its lead's interval contains zero."""
        ends = {row: self.lead(first, row)["interval"] for row in self.rows}
        return [row for row, each in ends.items() if each is None or each[0] <= 0]


def holm(sets: Sets) -> dict[str, float]:
    """Wilcoxon's p-value of each row against the base, by Holm's correction, the least first."""
    raw = {row: wilcoxon(sets.leads(row)) for row in sets.rows if row != BASE}
    order = sorted(raw, key=lambda row: raw[row])
    each = [min(1.0, raw[row] * (len(raw) - place)) for place, row in enumerate(order)]
    return dict(zip(order, map(float, np.maximum.accumulate(each)), strict=True))


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The runs, and what follows from them, each computed once.

    Args:
        lines: The runs.
        rows: The judged rows.
        linear: The linear classifiers.
        kind_of: Gives the kind of a task.
    """

    lines: Lines
    rows: list[str]
    linear: tuple[str, ...]
    kind_of: Callable[[str], str]

    @cached_property
    def whole(self) -> Blocks:
        """The blocks with all rows; of each the counted runs of those seeds that all rows have."""
        found = {}
        for key, block in blocks(self.lines).items():
            if set(self.rows) <= set(block):
                seeds = set.intersection(*({run["seed"] for run in block[r]} for r in self.rows))
                seeds -= {RULE["tuned_seed"]}
                even = {
                    row: [run for run in runs if run["seed"] in seeds]
                    for row, runs in block.items()
                }
                if seeds:
                    found[key] = {row: runs for row, runs in even.items() if runs}
        return found

    @cached_property
    def counted(self) -> Blocks:
        """The whole blocks in which something was learned."""
        return {key: block for key, block in self.whole.items() if learned(block, self.rows)}

    def best_linear(self, task: str, block: Block) -> str | None:
        """The linear classifier with the largest mean, where the rule has one for a rival."""
        if self.kind_of(task) in RULE["no_floor"]:
            return None
        there = [row for row in self.linear if row in block]
        return max(there, key=lambda row: mean(block[row]), default=None)

    @cached_property
    def cells(self) -> list[Cell]:
        """The counted seeds of the whole blocks."""
        found = []
        for (task, encoder), block in self.whole.items():
            kind, counts = self.kind_of(task), (task, encoder) in self.counted
            of = {
                row: {run["seed"]: run["test_accuracy"] for run in runs}
                for row, runs in block.items()
            }
            floor = of.get(self.best_linear(task, block) or "", {})
            for seed in sorted(of[BASE]):
                accuracy = [*(of[row][seed] for row in self.rows), floor.get(seed, math.nan)]
                found.append(Cell(task, encoder, kind, seed, counts, np.array(accuracy)))
        return found

    def sets(
        self,
        keeps: Callable[[Cell], bool] = lambda cell: True,
        apart: Sequence[str] = (),
        excludes: bool = True,
    ) -> Sets:
        """The sets under a choice.

        Args:
            keeps: Which cells count.
            apart: The merged sets that are split into their tasks.
            excludes: Whether the blocks are left out that the rule excludes.
        """
        each = [cell for cell in self.cells if keeps(cell) and (cell.learned or not excludes)]
        by_block = _averaged(((cell.task, cell.encoder), cell.accuracy) for cell in each)
        by_task = _averaged((task, accuracy) for (task, _), accuracy in by_block.items())
        by_set = _averaged((set_of(task, apart), accuracy) for task, accuracy in by_task.items())
        # Rounded, so that a tie is one.
        table = np.array([*by_set.values()]).reshape(len(by_set), len(self.rows) + 1).round(9)
        return Sets([*by_set], dict(zip([*self.rows, FLOOR], table.T, strict=True)))

    def sets_by(self, name: str, values: Iterable[str]) -> dict[str, Sets]:
        """The sets of each kind or encoder in which something was learned."""
        found = {x: self.sets(lambda cell, x=x: getattr(cell, name) == x) for x in values}
        return {value: sets for value, sets in found.items() if sets.names}

    def choices(self) -> dict[str, Sets]:
        """The sets under every choice of the rule, the declared one first."""
        said = RULE["choices"]
        here = {"encoder": "the encoder ", "seed": "seed "}
        found = {DECLARED: self.sets()}
        for name in said["leave_out"]:
            # To leave out a set that does not count is no choice.
            each = [cell for cell in self.cells if cell.learned or name != "set"]
            for out in dict.fromkeys(getattr(cell, name) for cell in each):
                told = f"without {here.get(name, '')}{words.DATA.get(out, out)}"
                found[told] = self.sets(lambda cell, n=name, out=out: getattr(cell, n) != out)
        for encoder in said["alone"]["encoder"]:
            found[f"{encoder} alone"] = self.sets(lambda cell, e=encoder: cell.encoder == e)
        for seed in said["alone"]["seed"]:
            found[f"seed {seed} alone"] = self.sets(lambda cell, seed=seed: cell.seed == seed)
        found["real data alone"] = self.sets(lambda cell: cell.task not in said["generated"])
        tasks = {cell.task for cell in self.cells}
        merged = [name for name, each in RULE["merged"].items() if len(tasks & {*each}) > 1]
        found |= {f"{name} apart": self.sets(apart=[name]) for name in merged}
        found["nothing merged"] = self.sets(apart=merged)
        found["with what nothing learns"] = self.sets(excludes=False)
        found["the same, nothing merged"] = self.sets(apart=merged, excludes=False)
        # One set that is left alone tells nothing.
        return {told: sets for told, sets in found.items() if len(sets.names) > 1}

    @cached_property
    def told(self) -> dict[str, Any]:
        """The file that pages and defaults read."""
        under = self.choices()
        if DECLARED not in under:
            raise ValueError("There is no verdict before two data sets have all of their rows.")
        declared = under[DECLARED]
        small = {*self.sets(ORIGIN[SMALL_SERIES]).names}
        placed = ranks(declared.rows)
        order = sorted(self.rows, key=lambda row: -declared.accuracy[row].mean())
        first = order[0]
        shown = [row for row in self.rows if row in (words.PLAIN, first)]

        def leads(parts: dict[str, Sets]) -> dict[str, dict[str, Any]]:
            return {
                name: {"sets": len(sets.names), **{row: _rounded(sets.lead(row)) for row in shown}}
                for name, sets in parts.items()
                if sets.names
            }

        rivals = {"against_mean": BASE, "against_linear": FLOOR}
        return {
            "rule": {"version": RULE["version"], "digest": rule_digest()},
            "runs": len(self.lines),
            "sets": {
                name: sorted(
                    {f"{c.task} ({c.encoder})" for c in self.cells if c.set == name and c.learned}
                )
                for name in declared.names
            },
            "choices": [*under],
            "without_small_series": [
                choice for choice, sets in under.items() if small.isdisjoint(sets.names)
            ],
            "situations": self.situations(),
            "kinds": leads(self.sets_by("kind", RULE["kinds"])),
            "origin": leads({name: self.sets(keeps) for name, keeps in ORIGIN.items()}),
            "behind_linear": self.behind_linear(),
            "first": first,
            "first_ahead_of": {
                row: _rounded(declared.lead(first, row))
                for row in (words.PLAIN, words.GATED)
                if row in self.rows and row != first
            },
            "level_with_first": [
                row for row in order if row == first or word(declared.leads(first, row)) != BETTER
            ],
            "rows": {
                row: {
                    "mean_rank": round(placed[row], 2),
                    **{
                        name: effect(under, row, other)
                        for name, other in rivals.items()
                        if row != other and len(declared.leads(row, other))
                    },
                }
                for row in order
            },
        }

    def behind_linear(self) -> list[int]:
        """In how many blocks no row is shown to be ahead of the best linear one; of how many."""
        lost = [
            not any(ahead(block, row, best) for row in self.rows)
            for (task, _), block in self.counted.items()
            if (best := self.best_linear(task, block))
        ]
        return [sum(lost), len(lost)]

    def situations(self) -> dict[str, str]:
        """What to take where one thing is known of the data, in plain words."""
        told = {}
        for name, tasks in RULE["situations"].items():
            sets = self.sets(lambda cell, tasks=tasks: cell.task in tasks)
            count = len(sets.names)
            if count < 3:
                told[name] = f"{count or 'No'} set{'s' * (count != 1)} so far: too few to say."
                continue
            kinds = {c.set: c.kind for c in self.cells if c.task in tasks and c.learned}
            (most, of_it), *_ = Counter(kinds.values()).most_common()
            these = [block for (task, _), block in self.counted.items() if task in tasks]
            times = {row: cost(these, row) for row in self.rows}
            told[name] = advice(sets, times, f"{count} sets ({of_it} of {words.DATA[most]})")
        for name, (one, other) in RULE["twins"].items():
            if {one, other} <= set(self.rows):
                lead = self.sets().lead(one, other)
                told[name] = f"{named(one)} is {spanned(lead)} points ahead of {named(other)}."
                level = lead["interval"] and lead["interval"][0] <= 0 <= lead["interval"][1]
                told[name] += " Either may be the better one." * bool(level)
        return told


# The parts of the sets between which a lead is compared.
SMALL_SERIES, REST, REAL_REST = "small series", "other sets", "other sets, real data"
ORIGIN: dict[str, Callable[[Cell], bool]] = {
    SMALL_SERIES: lambda cell: cell.encoder in RULE["encoders"]["small_series"],
    REST: lambda cell: not ORIGIN[SMALL_SERIES](cell),
    REAL_REST: lambda cell: ORIGIN[REST](cell) and cell.task not in RULE["choices"]["generated"],
}


def _rounded(lead: dict[str, Any]) -> dict[str, Any]:
    """A lead as the file has it."""
    ends = lead["interval"]
    return {"points": round(lead["points"], 3), "interval": ends and [round(x, 3) for x in ends]}


def effect(under: dict[str, Sets], row: str, other: str) -> dict[str, Any]:
    """A row beside another over the sets: its lead, its word, and how steady the word is.

    One set with a large difference moves the median little. The word is *shown* where it holds in
    every choice; `breaks` names the choices under which it is another.
    """
    leads = under[DECLARED].leads(row, other)
    said = {told: word(sets.leads(row, other)) for told, sets in under.items()}
    breaks = [told for told, each in said.items() if each != said[DECLARED]]
    lead = _rounded(under[DECLARED].lead(row, other))
    if said[DECLARED] is None:
        status = "not told apart"
    else:
        status = "suggested" if breaks else "shown"
    return {
        "points": lead["points"],
        "median": round(100 * float(np.median(leads)), 3),
        "interval": lead["interval"],
        **{name: round(p, 3) for name, p in probabilities(leads).items()},
        "word": said[DECLARED],
        "status": status,
        "holds": len(under) - len(breaks),
        "breaks": breaks,
    }


WITHOUT_WEIGHTS = ("MaskedMaxPooling1D", "StatisticsPooling1D", "LastPooling1D", "FirstPooling1D")


def advice(sets: Sets, times: dict[str, float], over: str) -> str:
    """The row with the largest mean, the cheapest on a level with it, what has no weights.

    Of few sets the intervals are wide: a row that is not behind must at least lead the mean.
    """
    means = {row: each.mean() for row, each in sets.rows.items()}
    first = max(means, key=lambda row: means[row])

    # Of five sets not even five alike are told from chance by their signs, at 0.05.
    few = len(sets.names) < 6
    told = f"{named(first)} has the largest lead over the mean: "
    told += f"{spanned(sets.lead(first))} points over {over}. "
    told += "These sets are few, so this is only a hint. " * few
    if not counts(sets.lead(first)):
        return f"{told}The mean may be as good, because the interval reaches below {region()}."
    level = sets.keeping_up(first)
    cheap = min((row for row in level if means[row] > means[BASE]), key=lambda row: times[row])
    if cheap == first:
        told += "No cheaper pooling keeps up. "
    else:
        told += f"{named(cheap)} is the cheapest pooling that keeps up: its lead is "
        told += f"{spanned(sets.lead(cheap))} points. "
    told += f"An epoch takes {times[cheap]:.2f} times as long as with the mean. "
    told += "Of the poolings without learned weights, "
    free = max((row for row in WITHOUT_WEIGHTS if row in means), key=lambda row: means[row])
    if means[free] <= means[BASE]:
        return told + "the mean itself is best."
    return told + f"{named(free)} has the largest lead: {spanned(sets.lead(free))} points."
