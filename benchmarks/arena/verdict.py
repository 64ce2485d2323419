"""What the runs of the comparison say, by the rule of `rule.toml`, and how steady it is.

The unit is a set of data. Of each row stands first how far it is ahead of the mean and of the best
linear classifier, with an interval over sets; then the probabilities of the Bayesian signed-rank
test (Benavoli et al., 2017) that it is better, equal for practical purposes, or worse; then the
tests of Demsar (2006). A word is *shown* where it stays the same under each choice of the rule.
"""

import csv
import dataclasses
import functools
import hashlib
import json
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.arena import words
from benchmarks.arena.words import joined, named
from benchmarks.reproduce.significance import paired_interval

RULE_PATH = Path(__file__).with_name("rule.toml")
RULE = tomllib.loads(RULE_PATH.read_text(encoding="utf-8"))
BASE = RULE["base"]
FLOOR = "the best linear classifier"
LARGEST = "largest class"  # always answered
LEVEL = RULE["level"]
BETTER, EQUAL, WORSE = "better", "equal", "worse"
Lines = list[dict[str, Any]]
Block = dict[str, Lines]
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


def blocks(lines: Lines) -> dict[tuple[str, str], Block]:
    """The runs of each row of each block."""
    found: dict[tuple[str, str], Block] = {}
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


def whole(lines: Lines, rows: list[str]) -> dict[tuple[str, str], Block]:
    """The blocks with all rows; of each the counted runs of those seeds that all of them have."""
    found = {}
    for key, block in blocks(lines).items():
        if set(rows) <= set(block):
            seeds = set.intersection(*({run["seed"] for run in block[row]} for row in rows))
            seeds -= {RULE["tuned_seed"]}
            even = {
                row: [run for run in runs if run["seed"] in seeds] for row, runs in block.items()
            }
            if seeds:
                found[key] = {row: runs for row, runs in even.items() if runs}
    return found


def learned(block: Block, rows: list[str]) -> bool:
    """Whether some row is shown to be ahead of the largest class, where that can be seen."""
    best = max(rows, key=lambda row: mean(block[row]))
    return LARGEST not in block or len(block[best]) < 2 or ahead(block, best, LARGEST)


def counted(lines: Lines, rows: list[str]) -> dict[tuple[str, str], Block]:
    """The whole blocks in which something was learned."""
    return {key: block for key, block in whole(lines, rows).items() if learned(block, rows)}


def cost(those: list[Block], row: str) -> float:
    """The processor's time for an epoch of a row in units of the mean's, the median over blocks.

    A median over runs too: where an epoch takes milliseconds, some runs were disturbed.
    """
    one, base = (
        [np.median([run["cpu_seconds"] / run["epochs"] for run in block[name]]) for block in those]
        for name in (row, BASE)
    )
    return float(np.median(np.divide(one, base)))


def epoch(found: dict[tuple[str, str], Block], row: str) -> str:
    """The time of a row's epoch over all blocks, and the range over encoders."""
    every = cost(list(found.values()), row)
    ends = [
        cost([block for (_, other), block in found.items() if other == encoder], row)
        for encoder in {encoder for _, encoder in found}
    ]
    return (
        f"an epoch takes {every:.2f} times that of the mean ({min(ends):.2f} to {max(ends):.2f} "
        "by encoder)"
    )


# --- sets, under a choice ----------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Cell:
    """A block as the verdict sees it: of each counted seed the accuracy of every row, then of
    the best linear classifier (NaN where the rule has none)."""

    task: str
    encoder: str
    kind: str
    learned: bool
    accuracy: dict[int, np.ndarray]


def cells(
    lines: Lines, rows: list[str], linear: tuple[str, ...], kind_of: Callable[[str], str]
) -> list[Cell]:
    """The blocks with all rows."""
    found = []
    for (task, encoder), block in whole(lines, rows).items():
        floors = [row for row in linear if row in block and kind_of(task) not in RULE["no_floor"]]
        best = max(floors, key=lambda row: mean(block[row])) if floors else None
        by_seed: dict[int, np.ndarray] = {}
        for seed in sorted({run["seed"] for run in block[rows[0]]}):
            of = {r: x["test_accuracy"] for r in block for x in block[r] if x["seed"] == seed}
            floor = of.get(best, math.nan) if best else math.nan
            by_seed[seed] = np.array([*(of[row] for row in rows), floor])
        found.append(Cell(task, encoder, kind_of(task), learned(block, rows), by_seed))
    return found


@dataclasses.dataclass(frozen=True)
class Choice:
    """One way to merge and to leave out; the declared one has the defaults.

    Args:
        told: The choice in words.
        keeps: Which cells count.
        seeds: Whether a seed counts.
        apart: The merged sets that are split into their tasks.
        excludes: Whether the blocks that the rule excludes are.
    """

    told: str = "as declared"
    keeps: Callable[[Cell], bool] = lambda cell: True
    seeds: Callable[[int], bool] = lambda seed: True
    apart: tuple[str, ...] = ()
    excludes: bool = True


def set_of(task: str, apart: tuple[str, ...] = ()) -> str:
    """The set of data of a task; those that share texts or pictures are one witness."""
    return next(
        (name for name, tasks in RULE["merged"].items() if task in tasks and name not in apart),
        task,
    )


def choices(those: list[Cell]) -> Iterator[Choice]:
    """Every choice of the rule, the declared one first."""
    yield Choice()
    for name in dict.fromkeys(set_of(cell.task) for cell in those if cell.learned):
        yield Choice(f"without {name}", lambda cell, name=name: set_of(cell.task) != name)  # type: ignore[misc]
    for kind in dict.fromkeys(cell.kind for cell in those):
        told = f"without {words.DATA.get(kind, kind)}"
        yield Choice(told, lambda cell, kind=kind: cell.kind != kind)  # type: ignore[misc]
    for encoder in dict.fromkeys(cell.encoder for cell in those):
        yield Choice(f"without the encoder {encoder}", lambda cell, e=encoder: cell.encoder != e)  # type: ignore[misc]
    for seed in sorted({seed for cell in those for seed in cell.accuracy}):
        yield Choice(f"without seed {seed}", seeds=lambda each, seed=seed: each != seed)  # type: ignore[misc]
    said = RULE["choices"]
    for encoder in said["alone"]["encoder"]:
        yield Choice(f"{encoder} alone", lambda cell, e=encoder: cell.encoder == e)  # type: ignore[misc]
    for seed in said["alone"]["seed"]:
        yield Choice(f"seed {seed} alone", seeds=lambda each, seed=seed: each == seed)  # type: ignore[misc]
    if any(cell.task in said["generated"] for cell in those):
        yield Choice("real data alone", lambda cell: cell.task not in said["generated"])
    here = {cell.task for cell in those}
    merged = [name for name, tasks in RULE["merged"].items() if len(here & set(tasks)) > 1]
    for name in merged:
        yield Choice(f"{name} apart", apart=(name,))
    if merged[1:]:
        yield Choice("nothing merged", apart=tuple(merged))
    if not all(cell.learned for cell in those):
        yield Choice("with what nothing learns", excludes=False)
        if merged:
            yield Choice("the same, nothing merged", apart=tuple(merged), excludes=False)


def by_set(those: list[Cell], choice: Choice) -> dict[str, np.ndarray]:
    """Of each set the accuracy of every row and of the best linear classifier."""
    tasks: dict[str, list[np.ndarray]] = {}
    for cell in those:
        kept = [acc for seed, acc in cell.accuracy.items() if choice.seeds(seed)]
        if kept and choice.keeps(cell) and (cell.learned or not choice.excludes):
            tasks.setdefault(cell.task, []).append(np.mean(kept, axis=0))
    sets: dict[str, list[np.ndarray]] = {}
    for task, each in tasks.items():
        sets.setdefault(set_of(task, choice.apart), []).append(np.mean(each, axis=0))
    # Rounded, so that a tie is one.
    return {name: np.mean(each, axis=0).round(9) for name, each in sets.items()}


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


@functools.lru_cache(maxsize=64)
def _weights(count: int) -> np.ndarray:
    """Draws of the weights of the prior's pseudo-set and of the sets, `(draws, 1 + count)`."""
    strength, draws = RULE["statistic"]["prior_strength"], RULE["statistic"]["draws"]
    return np.random.default_rng(0).dirichlet([strength, *[1.0] * count], size=draws)


def probabilities(leads: np.ndarray) -> dict[str, float]:
    """The Bayesian signed-rank test: that a row is better, practically equal, or worse.

    Each draw weighs the pairs of sets; the means of pairs above, within and below the region share
    its weight. A probability is the share of draws in which a part has the most.
    """
    z, region = np.concatenate([[0.0], np.sort(leads)]), RULE["practical"]
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


@dataclasses.dataclass(frozen=True)
class Effect:
    """A row beside another over the sets.

    Args:
        mean: The mean difference of accuracy.
        median: The median difference. One set with a large difference moves it little.
        interval: Its 95 % interval over sets, or `None`.
        probabilities: That the row is better, equal, worse.
        word: Which of these is certain, if any.
        holds: In how many choices the word is the same.
        choices: How many choices there are.
        breaks: The choices under which it is another.
    """

    mean: float
    median: float
    interval: tuple[float, float] | None
    probabilities: dict[str, float]
    word: str | None
    holds: int
    choices: int
    breaks: tuple[str, ...]

    @property
    def status(self) -> str:
        """How the word is published."""
        if self.word is None:
            return "not told apart"
        return "shown" if self.holds == self.choices else "suggested"


@dataclasses.dataclass(frozen=True)
class Part:
    """How many sets there are, and there the leads of every row on the base, with intervals."""

    sets: int
    leads: dict[str, tuple[float, tuple[float, float] | None]]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """All that is said.

    Args:
        rows: The judged rows, the largest mean difference to the base first.
        sets: The sets that count, with their tasks and encoders.
        against: The effects of every row by what it is held against: the base, the best linear
            classifier.
        accuracy: Of each row, `(sets,)`.
        ranks: The mean rank of each row, the best first.
        friedman: The p-value that no row differs.
        distance: Nemenyi's critical difference of two mean ranks.
        holm: Wilcoxon's p-value of each row against the base, corrected.
        level_with: The rows that the first row is not certainly better than.
        choices: What is found under each choice: the rows that are better and worse than the base,
            those that Wilcoxon's test with Holm's correction tells from it, the number of sets.
        situations: What to take in each situation, in plain words.
        kinds: The leads by kind of data.
        origin: The leads on the small series, on all other sets, and on the real ones of these.
        behind_linear: In how many blocks no row is shown to be ahead of the best linear
            classifier, and how many blocks have one.
    """

    rows: list[str]
    sets: dict[str, list[str]]
    against: dict[str, dict[str, Effect]]
    accuracy: dict[str, np.ndarray]
    ranks: dict[str, float]
    friedman: float
    distance: float
    holm: dict[str, float]
    level_with: list[str]
    choices: dict[str, dict[str, Any]]
    situations: dict[str, str]
    kinds: dict[str, Part]
    origin: dict[str, Part]
    behind_linear: tuple[int, int]


def _ranks(rows: list[str], accuracy: np.ndarray) -> dict[str, float]:
    """The mean rank of each row, the best first."""
    ranked = stats.rankdata(-accuracy, axis=1).mean(axis=0)
    return dict(sorted(zip(rows, map(float, ranked), strict=True), key=lambda pair: pair[1]))


def ranks_in(those: list[Block], rows: list[str]) -> dict[str, float]:
    """The mean rank of each row over some blocks, the best first."""
    return _ranks(rows, np.array([[mean(b[row]) for row in rows] for b in those]).round(9))


def wilcoxon(leads: np.ndarray) -> float:
    """The exact two-sided p-value of Wilcoxon's signed-rank test; ties share a rank, zeros go.

    SciPy's tries every sign where there are ties, which takes as long as all the rest.
    """
    kept = leads[leads != 0]
    ranks, shares = (2 * stats.rankdata(np.abs(kept))).astype(int), np.ones(1)
    for rank in ranks:  # the distribution of the sum of the positive ranks, doubled
        shares = (np.pad(shares, (0, rank)) + np.pad(shares, (rank, 0))) / 2
    found = ranks[kept > 0].sum()
    return float(min(1.0, 2 * min(shares[: found + 1].sum(), shares[found:].sum())))


def _holm(leads: dict[str, np.ndarray]) -> dict[str, float]:
    raw = {row: wilcoxon(each) for row, each in leads.items()}
    found, worst = {}, 0.0
    for place, row in enumerate(sorted(raw, key=lambda name: raw[name])):
        worst = max(worst, min(1.0, raw[row] * (len(raw) - place)))
        found[row] = worst
    return found


def judge(
    lines: Lines, rows: list[str], linear: tuple[str, ...], kind_of: Callable[[str], str]
) -> Verdict | None:
    """The verdict; `None` before two sets have all rows."""
    those = cells(lines, rows, linear, kind_of)
    every = list(choices(those))
    under = {choice.told: by_set(those, choice) for choice in every}
    declared = under[every[0].told]
    if len(declared) < 2:
        return None
    # One set that is left alone tells nothing.
    under = {told: sets for told, sets in under.items() if len(sets) > 1}
    table = np.stack(list(declared.values()))
    columns = {row: place for place, row in enumerate([*rows, FLOOR])}

    def leads(sets: dict[str, np.ndarray], row: str, other: str) -> np.ndarray:
        each = np.array([acc[columns[row]] - acc[columns[other]] for acc in sets.values()])
        return np.asarray(each[~np.isnan(each)]).round(9)

    def effect(row: str, other: str) -> Effect:
        here = leads(declared, row, other)
        said = word(here)
        breaks = [told for told, sets in under.items() if word(leads(sets, row, other)) != said]
        return Effect(
            float(here.mean()) if len(here) else math.nan,
            float(np.median(here)) if len(here) else math.nan,
            over_sets(here),
            probabilities(here),
            said,
            len(under) - len(breaks),
            len(under),
            tuple(breaks),
        )

    against = {
        other: {row: effect(row, other) for row in rows if row != other} for other in (BASE, FLOOR)
    }
    audit: dict[str, dict[str, Any]] = {}
    for told, sets in under.items():
        ahead_of = {row: leads(sets, row, BASE) for row in rows if row != BASE}
        words_here = {row: word(each) for row, each in ahead_of.items()}
        audit[told] = {
            said: [row for row, each in words_here.items() if each == said]
            for said in (BETTER, EQUAL, WORSE)
        }
        holm = _holm(ahead_of)
        audit[told] |= {"holm": [r for r in rows if holm.get(r, 1) < LEVEL], "sets": len(sets)}
    order = sorted(rows, key=lambda row: -table[:, columns[row]].mean())
    count, accuracy = len(rows), table[:, : len(rows)]
    critical = stats.studentized_range.ppf(1 - LEVEL, count, math.inf) / math.sqrt(2)
    first = order[0]
    return Verdict(
        order,
        {
            name: sorted({f"{c.task} ({c.encoder})" for c in those if set_of(c.task) == name})
            for name in declared
        },
        against,
        dict(zip(rows, accuracy.T, strict=True)),
        _ranks(rows, accuracy),
        float(stats.friedmanchisquare(*accuracy.T).pvalue),
        float(critical * math.sqrt(count * (count + 1) / (6 * len(declared)))),
        _holm({row: leads(declared, row, BASE) for row in rows if row != BASE}),
        [row for row in order if row == first or word(leads(declared, first, row)) != BETTER],
        audit,
        situations(those, lines, rows),
        parts(those, rows, {kind: lambda c, k=kind: c.kind == k for kind in RULE["kinds"]}),  # type: ignore[misc]
        parts(those, rows, ORIGIN),
        behind_linear(lines, rows, linear, kind_of),
    )


def behind_linear(
    lines: Lines, rows: list[str], linear: tuple[str, ...], kind_of: Callable[[str], str]
) -> tuple[int, int]:
    """In how many blocks no row is shown to be ahead of the best linear classifier, of how many."""
    lost = []
    for (task, _), block in counted(lines, rows).items():
        floors = [row for row in linear if row in block]
        if floors and kind_of(task) not in RULE["no_floor"]:
            best = max(floors, key=lambda row, block=block: mean(block[row]))  # type: ignore[misc]
            lost.append(not any(ahead(block, row, best) for row in rows))
    return sum(lost), len(lost)


# The parts of the sets between which a lead is compared.
SMALL_SERIES, REST, REAL_REST = "small series", "other sets", "other sets, real data"
ORIGIN: dict[str, Callable[[Cell], bool]] = {
    SMALL_SERIES: lambda cell: cell.encoder in RULE["encoders"]["small_series"],
    REST: lambda cell: not ORIGIN[SMALL_SERIES](cell),
    REAL_REST: lambda cell: ORIGIN[REST](cell) and cell.task not in RULE["choices"]["generated"],
}


def parts(
    those: list[Cell], rows: list[str], named_by: dict[str, Callable[[Cell], bool]]
) -> dict[str, Part]:
    """The parts of the sets in which something was learned."""
    chosen = {name: [cell for cell in those if of(cell)] for name, of in named_by.items()}
    return {
        name: effects_in(some, rows)
        for name, some in chosen.items()
        if any(cell.learned for cell in some)
    }


def effects_in(those: list[Cell], rows: list[str], base: str = BASE) -> Part:
    """Of each row the mean difference to the base over the sets of some cells; its interval."""
    sets, place = by_set(those, Choice()), {row: at for at, row in enumerate(rows)}
    found = {}
    for row in rows:
        leads = np.array([acc[place[row]] - acc[place[base]] for acc in sets.values()])
        leads = leads[~np.isnan(leads)]
        found[row] = (float(leads.mean()) if len(leads) else math.nan, over_sets(leads))
    return Part(len(sets), found)


# --- by situation ------------------------------------------------------------------------------

WITHOUT_WEIGHTS = ("MaskedMaxPooling1D", "StatisticsPooling1D", "LastPooling1D", "FirstPooling1D")


def situations(those: list[Cell], lines: Lines, rows: list[str]) -> dict[str, str]:
    """What to take where one thing is known of the data, in plain words."""
    found = counted(lines, rows)
    told = {}
    for name, tasks in RULE["situations"].items():
        some = [cell for cell in those if cell.task in tasks]
        sets = by_set(some, Choice())
        if len(sets) < 3:
            told[name] = f"{len(sets) or 'No'} set{'s' * (len(sets) != 1)} so far: too few to say."
            continue
        these = [block for (task, _), block in found.items() if task in tasks]
        kinds = Counter({set_of(cell.task): cell.kind for cell in some if cell.learned}.values())
        (most, count), *_ = kinds.most_common()
        over = f"{len(sets)} sets, {count} of them {words.DATA[most]}"
        told[name] = _advice(sets, rows, lambda row, these=these: cost(these, row), over)  # type: ignore[misc]
    every = by_set(those, Choice())
    for name, (one, other) in RULE["twins"].items():
        if {one, other} <= set(rows):
            lead, ends = _lead(every, rows, one, other)
            told[name] = (
                f"{named(one)} is {_span(lead, ends)} points ahead of {named(other)}, its twin"
            )
            level = ends and ends[0] <= 0 <= ends[1]
            told[name] += ": either may be the better one." if level else "."
    return told


def _lead(
    sets: dict[str, np.ndarray], rows: list[str], row: str, other: str
) -> tuple[float, tuple[float, float] | None]:
    """The mean difference of two rows over sets, and its interval."""
    one, two = rows.index(row), rows.index(other)
    leads = np.array([accuracy[one] - accuracy[two] for accuracy in sets.values()])
    return float(leads.mean()), over_sets(leads)


def _span(lead: float, ends: tuple[float, float] | None) -> str:
    return words.spanned({"points": 100 * lead, "interval": ends and [100 * x for x in ends]})


def keeping_up(sets: dict[str, np.ndarray], rows: list[str], first: str) -> list[str]:
    """The rows that are not shown to be behind one of them: its lead's interval contains zero."""
    ends = {row: _lead(sets, rows, first, row)[1] for row in rows}
    return [row for row, each in ends.items() if row == first or each is None or each[0] <= 0]


def _advice(
    sets: dict[str, np.ndarray], rows: list[str], time: Callable[[str], float], over: str
) -> str:
    """The row with the largest mean, the cheapest on a level with it, what has no weights.

    Of few sets the intervals are wide: a row that is not behind must at least lead the mean.
    """
    means = np.mean([accuracy[: len(rows)] for accuracy in sets.values()], axis=0)
    first = rows[int(means.argmax())]

    # Of five sets not even five alike are told from chance by their signs, at 0.05.
    hint = ", too few for more than a hint" * (len(sets) < 6)
    told = f"{named(first)} has the largest lead on the mean: "
    told += f"{_span(*_lead(sets, rows, first, BASE))} points over {over}{hint}. "
    level = keeping_up(sets, rows, first)
    if BASE in level:
        return told + "But the mean may be as good: the interval contains zero."
    base = means[rows.index(BASE)]
    cheap = min((row for row in level if means[rows.index(row)] > base), key=time)
    if cheap == first:
        told += f"No cheaper pooling keeps up; an epoch takes {time(cheap):.2f} times the mean's. "
    else:
        lead = _span(*_lead(sets, rows, cheap, BASE))
        told += f"{named(cheap)} is the cheapest that keeps up: {lead}, and an epoch takes "
        told += f"{time(cheap):.2f} times the mean's. "
    free = max(
        (row for row in WITHOUT_WEIGHTS if row in rows), key=lambda row: means[rows.index(row)]
    )
    if means[rows.index(free)] <= base:
        return told + "Of those without weights to learn, the mean itself is best."
    told += f"The best without weights to learn is {named(free)}: "
    return told + f"{_span(*_lead(sets, rows, free, BASE))}."


# --- sentences ---------------------------------------------------------------------------------


def points(share: float) -> str:
    """A difference of shares in points, with its sign."""
    return words.points(100 * share)


def sentences(verdict: Verdict | None, lines: Lines) -> list[str]:
    """What the figures say; nothing here is typed by hand."""
    if verdict is None:
        return ["There is no verdict before two sets of data have all of their rows."]
    count, region = len(verdict.sets), f"{100 * RULE['practical']:g} point"
    found = counted(lines, verdict.rows)
    splits = sorted(len(block[BASE]) for block in found.values())
    told = [
        f"{len(verdict.rows)} poolings over {count} sets of data; a difference of less than "
        f"{region} counts as none. Each pooling was judged {len(verdict.choices)} times: without "
        "each set, each kind, each encoder, each seed; with one encoder, one seed or real data "
        "alone; with the merged sets split.",
        f"A set has {splits[0]} to {splits[-1]} runs of each pooling that count, each with its own "
        "split or seed.",
    ]
    for other, name in ((BASE, "the mean"), (FLOOR, FLOOR)):
        effects = {row: verdict.against[other][row] for row in verdict.rows if row != other}
        for said in (BETTER, WORSE, EQUAL):
            rows = [row for row in effects if effects[row].word == said]
            how = f"{said} than {name}" if said != EQUAL else f"level with {name}"
            if rows:
                counts = [
                    f"{named(row)} ({effects[row].holds} of {effects[row].choices})" for row in rows
                ]
                told.append(f"**Surely {how}**, in so many judgements: {words.listed(counts)}.")
            if said == BETTER and all(effects[row].status != "shown" for row in rows):
                told.append(f"No pooling is surely {how} in every judgement.")
    first, group = verdict.rows[0], verdict.level_with
    cheap = min(group, key=functools.partial(cost, list(found.values())))
    told.append(
        f"{named(first)} has the largest mean; {len(group) - 1} others may be as good"
        f"{f': {joined([row for row in group if row != first])}' if group[1:] else ''}. The "
        f"cheapest of these is {named(cheap)}: {epoch(found, cheap)}."
    )
    holm = [row for row in verdict.rows if row in verdict.holm and verdict.holm[row] < LEVEL]
    told.append(
        f"The usual tests, without the other choices: Friedman's p = {verdict.friedman:.2g}; "
        f"Wilcoxon's with Holm's correction tells {joined(holm) or 'no row'} from the mean."
    )
    return told


def audit(verdict: Verdict) -> list[dict[str, Any]]:
    """What each choice says, and which published sentences about the base it contradicts.

    The usual test may tell other rows apart under each choice; what is published as shown may not
    change, or it would not be shown.
    """
    shown = {row: e.word for row, e in verdict.against[BASE].items() if e.status == "shown"}
    return [
        {
            "choice": told,
            **found,
            "contradicts": [row for row, said in shown.items() if row not in found[str(said)]],
        }
        for told, found in verdict.choices.items()
    ]


def as_json(verdict: Verdict | None, lines: Lines) -> dict[str, Any]:
    """The file that pages and defaults read."""
    told = {
        "rule": {"version": RULE["version"], "digest": rule_digest()},
        "runs": len(lines),
        "sentences": sentences(verdict, lines),
    }
    if verdict is None:
        return told

    first = verdict.rows[0]

    def lead_told(lead: float, ends: tuple[float, float] | None) -> dict[str, Any]:
        return {
            "points": round(100 * lead, 3),
            "interval": ends and [round(100 * x, 3) for x in ends],
        }

    def parts_told(those: dict[str, Part]) -> dict[str, dict[str, Any]]:
        return {
            name: {
                "sets": part.sets,
                **{
                    row: lead_told(*lead)
                    for row, lead in part.leads.items()
                    if row in (words.PLAIN, first)
                },
            }
            for name, part in those.items()
        }

    ahead_of = {
        row: verdict.accuracy[first] - verdict.accuracy[row]
        for row in (words.PLAIN, words.GATED)
        if row in verdict.rows and row != first
    }

    return told | {
        "sets": verdict.sets,
        "choices": list(verdict.choices),
        "situations": verdict.situations,
        "kinds": parts_told(verdict.kinds),
        "origin": parts_told(verdict.origin),
        "behind_linear": list(verdict.behind_linear),
        "first": first,
        "first_ahead_of": {
            row: lead_told(float(leads.mean()), over_sets(leads)) for row, leads in ahead_of.items()
        },
        "level_with_first": verdict.level_with,
        "rows": {
            row: {
                "mean_rank": round(verdict.ranks[row], 2),
                **{
                    "against_" + ("mean" if other == BASE else "linear"): {
                        "points": round(100 * e.mean, 3),
                        "median": round(100 * e.median, 3),
                        "interval": e.interval and [round(100 * x, 3) for x in e.interval],
                        **{name: round(p, 3) for name, p in e.probabilities.items()},
                        "word": e.word,
                        "status": e.status,
                        "holds": e.holds,
                        "breaks": list(e.breaks),
                    }
                    for other, effects in verdict.against.items()
                    if (e := effects.get(row))
                },
            }
            for row in verdict.rows
        },
    }
