"""Every table and figure of the five papers, and where each stands: the matrix of the book.

A place is a table's column or a figure. A column has an experiment of `benchmarks.reproduce`, a
figure has rows of one, a chart of the documentation or a section of a notebook; all are looked up,
so a place cannot claim what is not there.
"""

import dataclasses
import functools
import json
import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.reproduce.engine import RESULTS, rows_of
from benchmarks.reproduce.hcan import ONE
from benchmarks.reproduce.paper import Claim, Paper, told
from benchmarks.reproduce.significance import (
    HELD,
    LEVEL,
    REVERSED,
    SMALLER,
    Judged,
    judged,
    points,
    printed,
    verdict,
)
from benchmarks.tables import table

NOTEBOOKS = RESULTS.parents[1] / "notebooks"
PAGES = RESULTS.parents[1] / "docs"
PAPERS = {
    "lama": "LAMA",
    "hcan": "HCAN",
    "mpsan": "MPSAN",
    "generalized_pooling": "Generalized Pooling",
    "sam": "SAM",
}


@dataclasses.dataclass(frozen=True)
class Place:
    """A column of a table, or a figure.

    Args:
        paper: The paper's name in `PAPERS`.
        name: "Table 4".
        what: What it shows, for a table the column.
        dataset: The experiment that measures it.
        stands_in: Whether the experiment's data stand in for the paper's, and how they differ.
        rows: The experiment's rows that the place is about; `None` for all that the paper has.
        notebook: File and heading of the section that shows it on generated texts.
        note: Entry of the results file that holds it beside the rows, as (file, entry).
        drawn: Page of the documentation and marker of the chart or table there.
        section: Section of the paper's page in the documentation that shows it.
        reason: Why it is not run, or what is left out.
    """

    paper: str
    name: str
    what: str
    dataset: str | None = None
    stands_in: str | None = None
    rows: tuple[str, ...] | None = None
    notebook: tuple[str, str] | None = None
    note: tuple[str, str] | None = None
    drawn: tuple[str, str] | None = None
    section: str = "what-we-found"
    reason: str = ""

    @property
    def link(self) -> str:
        """The page that shows it, from the documentation's root."""
        if self.drawn is not None:
            return self.drawn[0]
        if self.notebook is not None:
            return f"notebooks/{self.notebook[0]}.ipynb"
        return f"papers/{self.paper.replace('_', '-')}.md#{self.section}"


PLACES = tuple(Place(name, **place) for name in PAPERS for place in told(name)["places"])


@dataclasses.dataclass(frozen=True)
class State:
    """Where a place stands."""

    place: Place
    state: str
    done: int = 0
    rows: int = 0
    runs: tuple[int, int] = (0, 0)
    planned: int = 0
    needs: str = ""
    orders: str = ""


def states(papers: dict[str, Paper], folder: Path = RESULTS) -> list[State]:
    """All places against the results that are there."""
    return [state(place, papers, folder) for place in PLACES]


def state(place: Place, papers: dict[str, Paper], folder: Path = RESULTS) -> State:
    """One place against the results."""
    if place.drawn is not None:
        page, marker = place.drawn
        if f"<!-- {marker} -->" not in (PAGES / page).read_text(encoding="utf-8"):
            raise ValueError(f"{place.paper}, {place.name}: {page} has no marker {marker!r}")
        return State(place, "reproduced")
    if place.notebook is not None:
        file, heading = place.notebook
        if heading not in headings(NOTEBOOKS / f"{file}.ipynb"):
            raise ValueError(f"{place.paper}, {place.name}: {file} has no section {heading!r}")
        return State(place, "reproduced")
    if place.note is not None:
        file, entry = place.note
        measured = _read(folder / f"{file}.json")
        return State(place, "reproduced" if entry in measured else "not run")
    paper = papers[place.paper]
    rows = [
        row
        for row in rows_of([paper], [str(place.dataset)])
        if place.rows is None or row.name in place.rows
    ]
    path = folder / f"{place.paper}_{place.dataset}.json"
    measured = _read(path).get("rows", {})
    runs = [len(measured[row.name]["runs"]) for row in rows if row.name in measured]
    drawn = [row for row in rows if row.drawn and row.name in measured]
    counts = [len(measured[row.name]["runs"]) for row in drawn] or runs or [0]
    planned = paper.seeds(place.dataset, False)
    needs = paper.needs(place.dataset) or ""
    if not runs:
        word = "not run"
    elif len(runs) < len(rows) or min(counts) < planned:
        word = "in part"
    else:
        word = "reproduced"
    orders = orders_of(judged_of(path)) if runs and place.rows is None else ""
    ran = (min(counts), max(counts))
    return State(place, word, len(runs), len(rows), ran, planned, needs, orders)


WORDS = (HELD, LEVEL, SMALLER, REVERSED)
UNTESTED = "untested"


@functools.cache
def _judged(text: str) -> list[Judged]:
    return list(judged(json.loads(text)))


def judged_of(path: Path) -> list[Judged]:
    """The claims of a results file, judged once: the matrix and the list of claims read them."""
    return _judged(path.read_text(encoding="utf-8")) if path.exists() else []


def orders_of(claims: Iterable[Judged]) -> str:
    """What became of the pairs of rows whose order the paper gives, in the words of a cell."""
    words = Counter(claim.word for claim in claims if claim.paper is not None)
    return ", ".join(f"{words[word]} {word}" for word in WORDS if words[word])


@dataclasses.dataclass(frozen=True)
class Line:
    """A claim that a table of a paper makes, and what became of it here.

    Args:
        paper: The paper's name in `PAPERS`.
        table: The table, and its column.
        claim: The claim in words.
        said: The paper's figures.
        here: What was measured, with its interval.
        on: What it was measured on, or why it was not.
        word: One of `WORDS`, or `UNTESTED`.
        judged: The claim on each of our sets and rows that can test it; the first gives the word.
    """

    paper: str
    table: str
    claim: str
    said: str
    here: str
    on: str
    word: str
    judged: tuple[tuple[Judged, str], ...] = ()


def lines(papers: dict[str, Paper], folder: Path = RESULTS) -> list[Line]:
    """Every claim that the papers' tables make on mechanisms, one line each."""
    found = []
    for name in PAPERS:
        found += _orders(papers[name], folder)
        places = [place for place in PLACES if place.paper == name and place.note]
        found += [line for place in places for line in _times(place, folder)]
        found += [
            Line(name, table, claim, said, "–", reason, UNTESTED)
            for table, claim, said, reason in told(name)["open"]
        ]
    return found


def _orders(paper: Paper, folder: Path) -> Iterator[Line]:
    """The orders of rows that the paper's figures give, on each of its sets.

    Several data sets or rows of ours may stand for the paper's. The first that has more than one
    run gives the word, fine-tuned rows before frozen ones.
    """
    places = {
        place.dataset: place for place in PLACES if place.paper == paper.name and not place.rows
    }
    columns: dict[str, list[str]] = {}
    for dataset in paper.tasks:
        columns.setdefault(paper.column(dataset), []).append(dataset)
    for column, datasets in columns.items():
        measured = {
            dataset: {
                (claim.better, claim.worse): claim
                for claim in judged_of(folder / f"{paper.name}_{dataset}.json")
            }
            for dataset in datasets
        }
        name = paper.tasks[column if column in paper.tasks else datasets[0]].table
        name = f"Table{'s' * (' and ' in name or ' to ' in name)} {name}"
        pairs: dict[tuple[str, str], list[Claim]] = {}
        for claim in paper.claims:
            pairs.setdefault((paper.original(claim[0]), paper.original(claim[1])), []).append(claim)
        for (better, worse), twins in pairs.items():
            distance = paper.distance(datasets[0], better, worse)
            if distance is None:
                continue
            known = sorted(
                (
                    (measured[dataset][twin[:2]], dataset)
                    for dataset in datasets
                    for twin in twins
                    if twin[:2] in measured[dataset]
                ),
                key=lambda found: (found[0].once, found[0].better not in paper.on_gpu),
            )
            claim = f"{twins[0][2]} ({better} − {worse})"
            said = _said(paper.published(column), better, worse, distance)
            if not known:
                place = places.get(datasets[0])
                run = any(measured.values())
                reason = "rows not run" if run or place is None else place.reason
                if run:
                    reason = paper.idle.get(better) or paper.idle.get(worse) or reason
                yield Line(paper.name, name, claim, said, "–", reason, UNTESTED)
                continue
            (first, dataset), *others = known
            on = [_on(first, dataset, better) + ", one run" * first.once]
            on += [f"{_on(other, where, better)}: {other.verdict}" for other, where in others]
            here, measured_on = f"{points(first.difference)} ({first.span})", "; ".join(on)
            judged = first.word, tuple(known)
            yield Line(paper.name, name, claim, said, here, measured_on, *judged)


def _said(known: Mapping[str, float], better: str, worse: str, distance: float) -> str:
    """The paper's figures of two rows, where they give the difference, and the difference."""
    if better in known and worse in known:
        first, second = known[better], known[worse]
        if abs(first - second - distance) < 1e-9:
            return f"{100 * first:.4g} against {100 * second:.4g}: {printed(distance)}"
    return printed(distance)


def _on(claim: Judged, dataset: str, row: str) -> str:
    """The data set, and the row where it is not the paper's by name."""
    more = [claim.better.removeprefix(f"{row}, ")] if claim.better != row else []
    return ", ".join([f"`{dataset}`", *more])


# How the name of a table of times ends.
TIME = ", time"
# Whole seconds, of some 40: the paper's ratio is not known more exactly.
ROUNDED = 0.012
# How far apart two times may be that are said to be equal.
EQUAL_TIMES = 0.1


def _times(place: Place, folder: Path) -> Iterator[Line]:
    """Times of an epoch in units of another row's: the paper's, and the range of ours.

    What was timed on a GPU, as the paper's was, comes first.
    """
    file, entry = place.note or ("", "")
    results = _read(folder / f"{file}.json")
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for name in sorted((each for each in results if each.startswith(entry)), key=len)[::-1]:
        times, where = results[name], "a CPU" if name == entry else "a GPU"
        (first,) = [row for row, each in times.items() if each["relative"] == [1.0, 1.0, 1.0]]
        for row, each in times.items():
            if each["paper"] is not None and row != first:
                pair = f"{row.split(ONE)[0]} against {first.split(ONE)[0]}"
                found.setdefault(pair, []).append((where, each))
    for pair, several in found.items():
        words = []
        for _, each in several:
            _, low, high = each["relative"]
            span = math.log(low) - ROUNDED, math.log(high) + ROUNDED
            words.append(verdict(span, math.log(each["paper"]), EQUAL_TIMES))
        (where, each), *others = several
        middle, low, high = each["relative"]
        on = [f"`{file}`, {where}"]
        on += [f"{other}: {word}" for (other, _), word in zip(others, words[1:], strict=True)]
        here = f"{middle:.2f} times ({low:.2f} to {high:.2f})"
        said, name = f"{each['paper']:.2f} times", place.name + TIME
        yield Line(place.paper, name, f"time of {pair}", said, here, "; ".join(on), words[0])


def counts(papers: dict[str, Paper], folder: Path = RESULTS) -> str:
    """Counts what became of the claims of each paper, and says how much chance is in the words."""
    found, words = lines(papers, folder), (*WORDS, UNTESTED)
    numbers = _counted(found)
    times = Counter(line.word for line in found if line.table.endswith(TIME))
    rows = [
        (
            title,
            *_numbers(numbers[name]),
            orders_of(_everywhere(name, found)).replace(", ", ",<br>"),
        )
        for name, title in PAPERS.items()
    ]
    every = sum(numbers.values(), Counter[str]())
    rows += [("all papers", *_numbers(every), "–"), ("all papers, times", *_numbers(times), "–")]
    judged, timed = (n.total() - n[UNTESTED] for n in (every, times))
    paired = sum(line.judged[0][0].paired for line in found if line.judged)
    idle = {reason for paper in papers.values() for reason in paper.idle.values()}
    without = sum(line.on in idle for line in found)
    missing = ("the set may not", "not collected")
    lacking = sum(line.word == UNTESTED and line.on.startswith(missing) for line in found)
    head = ("paper", *words, "claims", "verdicts on all our sets")
    return (
        f"{table(head, rows)}\n\nThe last line counts the claims on times. Sometimes "
        "several of our sets can test one claim. Then the first columns count the verdict on one "
        "of them ([which one](#claims)). The last column counts the verdicts on all of them, also "
        "those by one run. "
        f"Of the {every[UNTESTED]} *untested* claims above the last line, {lacking} are about sets "
        "that we do not have or that may not be passed on. "
        f"{without} are about [a penalty of Generalized "
        "Pooling](papers/generalized-pooling.md#idle) that starts at zero.\n\n"
        f"Without the times, {judged} claims are judged. {every[LEVEL]} of them are *level*: their "
        f"intervals are too wide to tell. {paired} of the {judged} have a paired 95 % interval: "
        f"about {paired / 20:.0f} of these intervals miss the true difference. How often the other "
        f"{judged - paired} intervals miss it is not known: they are unpaired, and two standard "
        f"errors are few for three runs. The {timed} judged times have a range and no interval."
    )


def total(paper: str, papers: dict[str, Paper]) -> str:
    """Counts what became of the claims of one paper, in a sentence."""
    every = lines(papers)
    found = _counted(every)[paper]
    told = ", ".join(f"{found[word]} *{word}*" for word in (*WORDS, UNTESTED) if found[word])
    said = (
        f"The tables of the paper make {found.total()} claims, times left out. Of these claims we "
        f"found {told} ([the words](../results.md#how-differences-are-judged), [our "
        "results](#what-we-found))."
    )
    mine = [line for line in every if line.paper == paper]
    kept = [line for line in mine if line.word == HELD and line.judged]
    kinds = Counter(map(_weakness, kept))
    for kind in WEAKNESSES[:-1]:
        if weak := kinds[kind]:
            part = "The one *held* claim" if len(kept) == 1 else f"All {weak} *held* claims"
            part = part if weak == len(kept) else f"Of the {len(kept)} *held* claims, {weak}"
            said += f" {part} {'is' if weak == 1 else 'are'} weak evidence: {kind}."
    others = [[other.word for other, _ in line.judged[1:]] for line in kept]
    if len(kept) > 1 and all(words and HELD not in words for words in others):
        said += f" None of the {len(kept)} is held on another of our sets."
    # The word that is counted is that of one set: another of our sets may say something else.
    if any(len(line.judged) > 1 for line in mine):
        words = orders_of(_everywhere(paper, mine))
        said += f" One verdict is counted per claim. On all our sets the verdicts are {words}."
    return said


def _counted(found: Iterable[Line]) -> dict[str, Counter[str]]:
    """By paper, how many claims have each word, without those on times."""
    numbers = {name: Counter[str]() for name in PAPERS}
    for line in found:
        if not line.table.endswith(TIME):
            numbers[line.paper][line.word] += 1
    return numbers


def _numbers(found: Counter[str]) -> tuple[int, ...]:
    return (*(found[word] for word in (*WORDS, UNTESTED)), found.total())


def _everywhere(paper: str, found: Iterable[Line]) -> Iterator[Judged]:
    """The claims of a paper on all our sets."""
    return (claim for line in found if line.paper == paper for claim, _ in line.judged)


# Why a claim that is held may still be weak evidence.
WEAKNESSES = (
    "the other row is the first token of MiniLM, a weak baseline",
    "another of our sets or recipes says *refuted in size* or *reversed*",
    "the interval is unpaired",
    "the interval begins less than 0.1 points from zero, so with other draws of the bootstrap it "
    "can contain zero",
    "none of these weaknesses",
)


def _weakness(line: Line) -> str:
    """The first weakness of a claim that is held."""
    (first, _), *others = line.judged
    found = (
        first.worse == "language model",
        any(other.word in (SMALLER, REVERSED) for other, _ in others),
        not first.paired,
        min(map(abs, first.interval)) < 0.001,
        True,
    )
    return WEAKNESSES[found.index(True)]


def held(papers: dict[str, Paper], folder: Path = RESULTS) -> str:
    """Lists why a claim that is held may still be weak evidence; each is listed once."""
    kinds: dict[str, list[str]] = {kind: [] for kind in WEAKNESSES}
    for line in lines(papers, folder):
        if line.word == HELD and line.judged:
            first, dataset = line.judged[0]
            told = f"{PAPERS[line.paper]}: {first.better} − {first.worse}, `{dataset}`"
            kinds[_weakness(line)].append(told)
    total = sum(map(len, kinds.values()))
    rows = [
        (kind, len(each), "all are claims of SAM" if kind == WEAKNESSES[0] else "; ".join(each))
        for kind, each in kinds.items()
    ]
    shown = table((f"the {total} *held* claims", "number", "which"), rows, left=range(3))
    return f"{shown}\n\nA claim is counted once, in the first line that fits."


def claims(papers: dict[str, Paper], folder: Path = RESULTS) -> str:
    """Lists what became of the claims, a table for each paper behind its sets that stand in."""
    found, parts = lines(papers, folder), []
    head = ("table", "claim", "paper", "here, 95 % interval", "measured on", "so it is")
    for name, title in PAPERS.items():
        cells = [
            (line.table, line.claim, line.said, line.here, line.on, line.word)
            for line in found
            if line.paper == name
        ]
        sets = {
            f"- `{place.dataset or (place.note or ('',))[0]}`{', times' * bool(place.note)}: "
            f"{place.stands_in}"
            for place in PLACES
            if place.paper == name and place.stands_in and (place.note or place.dataset)
        }
        noted = "\n".join(["Stand-ins:", "", *sorted(sets)])
        shown = table(head, cells, left=range(len(head)))
        body = textwrap.indent(f"{noted}\n\n{shown}", "    ")
        parts.append(f'??? abstract "{title}: {len(cells)} claims"\n\n{body}')
    return "\n\n".join(parts)


def headings(path: Path) -> set[str]:
    """The headings of a notebook."""
    told = ["".join(c["source"]) for c in _read(path)["cells"] if c["cell_type"] == "markdown"]
    lines = "\n".join(told).splitlines()
    return {line.lstrip("# ").strip() for line in lines if line.startswith("#")}


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def matrix(papers: dict[str, Paper], folder: Path = RESULTS) -> str:
    """The places as a Markdown table for each paper, with links from the documentation's root."""
    places = states(papers, folder)
    return "\n\n".join(
        f"**{name}**\n\n" + _table([each for each in places if each.place.paper == paper])
        for paper, name in PAPERS.items()
    )


def _table(places: list[State]) -> str:
    rows = []
    for each in places:
        place = each.place
        stand_in = "generated texts, in the notebook" if place.notebook else place.stands_in
        stands = "**reproduced**" if each.state == "reproduced" else each.state
        reasons = [place.reason] if place.reason else []
        if each.state == "not run":
            reasons += [f"runs with {each.needs}"] if each.needs else []
        elif stand_in:
            stands = f"{each.state} on a stand-in: {stand_in}"
        least, most = each.runs
        runs = str(least) if least == most else f"{least} – {most}"
        cells = [
            place.name if each.state == "not run" else f"[{place.name}]({place.link})",
            place.what + (f", `{place.dataset}`" if place.dataset else ""),
            "; ".join([stands, *reasons]),
            f"{each.done} of {each.rows} rows, {runs} of {each.planned} runs"
            if each.done
            else f"0 of {each.rows} rows"
            if each.rows
            else "–",
            each.orders or "–",
        ]
        rows.append(cells)
    head = ("place", "what, `data`", "where it stands", "rows and runs", "its orders here")
    return table(head, rows, left=range(len(head)))
