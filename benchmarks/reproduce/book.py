"""Every table and figure of the five papers, and where each stands: the matrix of the book.

A place is a table's column or a figure. A column has an experiment of `benchmarks.reproduce`, a
figure has rows of one, a chart of the documentation or a section of a notebook; all are looked up,
so a place cannot claim what is not there.
"""

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.reproduce import generalized_pooling, lama, sam
from benchmarks.reproduce.engine import RESULTS, Row, rows_of
from benchmarks.reproduce.paper import Paper
from benchmarks.reproduce.significance import SMALLER, judged

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


LICENCE = "the set may not be passed on"
SUBSET = "reviews of a public subset"
YELP = "reviews of films for reviews of shops"
DAYS = "days on two cores"
TABLE = "MiniLM's word table for GloVe"
BOTH = "the notebook has it too"
FROZEN = "frozen MiniLM for frozen RoBERTa"
THIRD = "a third run of three fine-tuned rows wants a GPU"
PLACES = (
    Place("lama", "Table 4", "Reuters", "r8", reason="MiniLM stands in for BERT"),
    Place("lama", "Table 4", "IMDB", "imdb_4000", f"4,000 {SUBSET}", section="imdb"),
    Place(
        "lama",
        "Table 4",
        "IMDB, all reviews",
        "imdb",
        f"9,000 {SUBSET}",
        section="imdb-all",
        reason=f"{DAYS}: one run a row",
    ),
    Place("lama", "Table 4", "News", "news", reason=LICENCE),
    Place("lama", "Table 4", "Yelp", "yelp", reason=LICENCE),
    Place("lama", "Table 4", "Yelp-L", "yelp_l", reason=LICENCE),
    Place("lama", "Table 4", "Yelp-P", "yelp_p", reason=LICENCE),
    Place(
        "lama",
        "Table 5",
        "parameters against heads",
        notebook=("01_lama", "Table 5: parameters against heads"),
    ),
    Place(
        "lama", "Table 6", "top attended words", notebook=("01_lama", "Table 6: top attended words")
    ),
    Place(
        "lama",
        "Figure 2",
        "time against length",
        stands_in="layers alone, other lengths, for whole models on IMDB and Reuters",
        drawn=("speed.md", "speed: jax growth"),
        reason=BOTH,
    ),
    Place(
        "lama",
        "Figure 3",
        "accuracy against parameters",
        stands_in="R8 for Yelp-P",
        drawn=("papers/lama.md", "results: lama_r8 parameters"),
        reason=BOTH,
    ),
    Place(
        "lama",
        "Figure 4",
        "weights of a word by rating",
        notebook=("01_lama", "Figure 4: the weight of a word depends on its company"),
    ),
    Place(
        "lama",
        "Figure 5",
        "number of heads, IMDB",
        "imdb_4000",
        f"4,000 {SUBSET}",
        rows=("LAMA+ctx", *lama.HEAD_ROWS),
        section="heads",
    ),
    Place("lama", "Figure 5", "number of heads, Yelp-L", "yelp_l", reason=LICENCE),
    Place("hcan", "Table 2", "Yelp 2016", "yelp", reason=LICENCE),
    Place("hcan", "Table 2", "Amazon sentiment", "amazon_sentiment", reason=LICENCE),
    Place("hcan", "Table 2", "Amazon category", "amazon_category", reason=LICENCE),
    Place("hcan", "Table 2", "PubMed", "pubmed", reason="not collected"),
    Place(
        "hcan",
        "Table 2",
        "a sentiment set",
        "imdb_4000",
        f"{YELP}, 4,000 of them",
        section="imdb",
    ),
    Place(
        "hcan",
        "Table 2",
        "a sentiment set, ratings",
        "imdb_stars",
        f"8 ratings, {YELP}, 4,000 of them",
        section="stars",
    ),
    Place(
        "hcan",
        "Table 2",
        "a sentiment set, all reviews",
        "imdb",
        f"{YELP}, 9,000 of them",
        section="imdb",
    ),
    Place(
        "hcan", "Table 2", "a topic set", "r8", "newswire for products and abstracts", section="r8"
    ),
    Place(
        "hcan",
        "Table 2",
        "time a document",
        stands_in=YELP,
        note=("hcan_imdb_4000", "times_torch"),
        section="time",
        reason="HCAN, HAN and the CNN; no total time of training",
    ),
    Place(
        "hcan",
        "Figure 3",
        "accuracy against time",
        stands_in="ratings of films, whole trainings",
        drawn=("papers/hcan.md", "results: hcan_imdb_stars time"),
        reason=f"{BOTH}, by epochs",
    ),
    Place(
        "hcan",
        "Figure 4",
        "target attention of words and sentences, self-attention of a word",
        notebook=("02_hcan", "Figure 4: words and sentences under target attention"),
        reason="the lower half, self-attention, is shown with figure 5",
    ),
    Place(
        "hcan",
        "Figure 5",
        "one self-attention and two",
        notebook=("02_hcan", "Figure 5: what one word looks at"),
    ),
    Place(
        "mpsan", "Tables 1 to 5", "SST-5", "sst5", f"{TABLE}, sentences for phrases", section="sst5"
    ),
    Place(
        "mpsan",
        "Tables 1 to 5",
        "SST-5, trained on phrases",
        "sst5_phrases",
        TABLE,
        section="sst5",
        reason="half an hour a row on a core",
    ),
    Place(
        "mpsan",
        "Tables 1 to 5",
        "seconds an epoch",
        note=("mpsan_sst5", "epoch_times"),
        section="time",
    ),
    Place("mpsan", "Table 6", "TREC", "trec", TABLE, section="trec"),
    Place("mpsan", "Table 6", "SUBJ", "subj", TABLE, section="subj"),
    Place("mpsan", "Table 6", "CR", "cr", reason="not collected"),
    Place("mpsan", "Table 6", "MPQA", "mpqa", reason=LICENCE),
    Place(
        "mpsan",
        "Table 7",
        "SICK, relatedness",
        "sick",
        TABLE,
        section="sick",
        reason="without the hierarchical CNN",
    ),
    Place("generalized_pooling", "Tables 1 and 4", "SNLI", "snli", reason="not collected"),
    Place(
        "generalized_pooling",
        "Tables 2 and 4",
        "MultiNLI",
        "multinli",
        reason="not collected; of its two columns the cross-domain one",
    ),
    Place("generalized_pooling", "Tables 3 and 4", "Yelp", "yelp", reason=LICENCE),
    Place("generalized_pooling", "Tables 3 and 4", "Age", "age", reason="not collected"),
    Place(
        "generalized_pooling",
        "Tables 1 and 4",
        "pairs, three classes",
        "sick_entailment",
        f"SICK's 4,500 pairs for SNLI's 550,000, {TABLE}",
        section="sick",
    ),
    Place(
        "generalized_pooling",
        "Tables 1 and 4",
        "pairs, graded",
        "sick_relatedness",
        f"SICK's relatedness, {TABLE}",
        section="relatedness",
    ),
    Place(
        "generalized_pooling",
        "Tables 3 and 4",
        "stars of a sentence",
        "sst5",
        f"SST-5 for Yelp, {TABLE}",
        section="sst5",
    ),
    Place(
        "generalized_pooling",
        "Tables 3 and 4",
        "reviews",
        "imdb",
        f"{YELP}, 2,000 of them, {TABLE}",
        section="imdb",
    ),
    Place(
        "generalized_pooling",
        "Figure 1",
        "vectors and scalars, number of heads",
        "sick_entailment",
        f"SICK's 4,500 pairs for SNLI's 550,000, {TABLE}",
        rows=("generalized", "scalar", *generalized_pooling.HEAD_ROWS),
        section="heads",
    ),
    Place(
        "generalized_pooling",
        "Figure 2",
        "what heads look at",
        notebook=("04_generalized_pooling", "Figure 2: a head, word by word"),
    ),
    Place(
        "sam",
        "Tables 2 and 4",
        "Humor.",
        "humor",
        "MiniLM, frozen and fine-tuned, for fine-tuned RoBERTa",
        section="humor",
        reason=THIRD,
    ),
    Place(
        "sam",
        "Tables 2 and 4",
        "Contro.",
        "controversy",
        "MiniLM, frozen and fine-tuned, for fine-tuned RoBERTa",
        section="controversy",
        reason=THIRD,
    ),
    Place(
        "sam",
        "Tables 3 and 4",
        "SST",
        "sst5",
        "MiniLM, frozen and fine-tuned, for fine-tuned RoBERTa",
        section="sst5",
        reason=THIRD,
    ),
    Place("sam", "Tables 4 and 5", "SUBJ", "subj", FROZEN, section="subj"),
    Place("sam", "Tables 4 and 5", "TREC", "trec", FROZEN, section="trec"),
    Place("sam", "Tables 4 and 5", "CR", "cr", reason="not collected"),
    Place(
        "sam",
        "Tables 4 and 5",
        "seconds an epoch, SUBJ",
        stands_in="what stands on the language model, without it",
        note=("sam_subj", "epoch_times"),
        section="time",
    ),
    Place(
        "sam",
        "Figure 2",
        "heat maps of RBA and SAM",
        notebook=("05_sam", "8. Figure 2: what do the weights tell?"),
    ),
    Place(
        "sam",
        "Figure 3",
        "the threshold, TREC",
        "trec",
        FROZEN,
        rows=("SAM", "SAM 0.1", *sam.THRESHOLDS),
        section="trec",
        reason="7 of the 17 thresholds, the paper's best among them",
    ),
)


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
    rows = [row for row in rows_of([paper], [str(place.dataset)]) if _belongs(row, place)]
    results = _read(folder / f"{place.paper}_{place.dataset}.json")
    measured = results.get("rows", {})
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
    orders = orders_of(results) if runs and place.rows is None else ""
    ran = (min(counts), max(counts))
    return State(place, word, len(runs), len(rows), ran, planned, needs, orders)


FATES = {
    "hold": "holds",
    "hold, but not by the paper's distance": f"holds{SMALLER}",
    "open": "too close to call",
    "open, but not by the paper's distance": f"too close to call{SMALLER}",
    "reversed": "**reversed**",
}


def fates_of(results: dict[str, Any]) -> dict[str, int]:
    """What became of the pairs of rows whose order the paper gives."""
    verdicts = [c.verdict.removesuffix(", by one run") for c in judged(results) if c.paper]
    return {fate: verdicts.count(words) for fate, words in FATES.items()}


def orders_of(results: dict[str, Any]) -> str:
    """The same, in the words of a cell."""
    return ", ".join(f"{count} {fate}" for fate, count in fates_of(results).items() if count)


def claims(papers: dict[str, Paper], folder: Path = RESULTS) -> str:
    """Counts what became of every order that the papers' figures give, set by set."""
    head, lines = ("paper", "orders", *FATES, "not testable here"), []
    for name, title in PAPERS.items():
        paper, fates, count = papers[name], Counter[str](), 0
        for dataset in paper.tasks:
            results = _read(folder / f"{name}_{dataset}.json")
            fates.update(fates_of(results) if results else {})
            known = set(paper.published(dataset))
            pairs = [claim[:2] for claim in paper.claims]
            count += sum({*pair} <= known or bool(paper.distance(dataset, *pair)) for pair in pairs)
        lines.append([title, count, *(fates[fate] for fate in FATES), count - fates.total()])
    lines.append(["all", *(sum(line[place] for line in lines) for place in range(1, len(head)))])
    rule = "|".join(["---", *["--:"] * (len(head) - 1)])
    body = (f"| {' | '.join(map(str, line))} |" for line in (head, *lines))
    first, *rest = body
    return "\n".join([first, f"|{rule}|", *rest])


def _belongs(row: Row, place: Place) -> bool:
    return place.rows is None or row.name in place.rows


def headings(path: Path) -> set[str]:
    """The headings of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    lines = [
        line
        for cell in cells
        if cell["cell_type"] == "markdown"
        for line in "".join(cell["source"]).splitlines()
    ]
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
    lines = [
        "| place | what, `data` | where it stands | rows and runs | its orders here |",
        "|---|---|---|---|---|",
    ]
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
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
