"""What runs experiments: chosen, resumed, shared between processes, measured.

An experiment is one table of a paper on one data set; its rows are models. `paper.py` says what a
paper gives for it.
"""

import contextlib
import dataclasses
import fnmatch
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import keras
from tqdm import tqdm

from benchmarks.devices import device, status
from benchmarks.reproduce import floors
from benchmarks.reproduce.paper import Paper
from benchmarks.reproduce.results import Results
from benchmarks.reproduce.tasks import Options, few

RESULTS = Path(__file__).resolve().parent.parent / "results"


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of one experiment."""

    paper: Paper
    dataset: str
    name: str
    published: float | None

    @property
    def experiment(self) -> str:
        """The table that the row stands in, and the name of its results file."""
        return f"{self.paper.name}_{self.dataset}"

    @property
    def key(self) -> str:
        """What `--only` compares with its patterns."""
        return f"{self.paper.name}/{self.dataset}/{self.name}"

    @property
    def drawn(self) -> bool:
        """Whether chance has a part in it: what draws nothing has one run, or one a fold."""
        return self.name not in floors.ROWS and self.name not in self.paper.fixed

    def config(self, options: Options) -> dict[str, Any]:
        """Describes the settings of the row."""
        if self.name in floors.ROWS:
            return floors.config(self.name)
        return self.paper.config(self.dataset, self.name, options)

    def seeds(self, options: Options, given: list[int] | None = None) -> list[int]:
        """Lists the runs that are planned, or those of the user."""
        planned = list(range(self.paper.seeds(self.dataset, options.full)))
        if not self.drawn and not self.paper.header(self.dataset).get("folded"):
            return planned[:1]
        seeds = planned if given is None else given
        return seeds[:1] if options.quick else seeds


def rows_of(
    papers: Iterable[Paper], datasets: list[str] | None = None, only: list[str] | None = None
) -> list[Row]:
    """Lists all rows of the papers, or those whose key fits one of the patterns of `only`."""
    rows = [
        Row(paper, dataset, name, published)
        for paper in papers
        for dataset in paper.tasks
        if not datasets or dataset in datasets
        for name, published in paper.rows(dataset).items()
    ]
    if only:
        rows = [row for row in rows if any(fnmatch.fnmatchcase(row.key, each) for each in only)]
    return rows


def results_of(row: Row, options: Options, folder: Path = RESULTS) -> Results:
    """Opens the results file of the row's experiment."""
    name = row.experiment
    if options.full:
        name += ".full"
    if options.preset != "minilm":
        name += "." + re.sub(r"\W+", "_", options.preset)
    if options.quick:
        name += ".quick"
    return Results(folder / f"{name}.json", row.paper.header(row.dataset))


def reproduce(
    rows: list[Row], options: Options, seeds: list[int] | None = None, folder: Path = RESULTS
) -> None:
    """Runs what is missing, seed by seed, so that an interrupted pass has every row.

    Several processes may work on the same rows: a run that another has begun is left to it. Files
    that are there get the paper's claims of today.
    """
    files = {row.experiment: results_of(row, options, folder) for row in rows}
    for each in files.values():
        if each.path.exists() and "claims" in each.header:
            each.note("claims", each.header["claims"])
    jobs = [
        (row, seed)
        for row in rows
        for seed in row.seeds(options, seeds)
        if seed not in files[row.experiment].done(row.name, row.config(options))
    ]
    # Data set by data set, for reading one takes a while.
    order = {row.experiment: place for place, row in enumerate(rows)}
    jobs.sort(key=lambda job: (order[job[0].experiment], job[1]))
    bar = tqdm(jobs, unit="run", dynamic_ncols=True)
    for row, seed in bar:
        bar.set_description(f"{row.key}, seed {seed}")
        results = files[row.experiment]
        with results.claimed(row.name, seed) as mine:
            if not mine or seed in results.done(row.name, row.config(options)):
                continue
            result, facts = run(row, seed, options, results)
            results.add(row.name, row.config(options), {"paper": row.published, **facts}, result)
        measure = f"test_{results.header['measure']}"
        quick = " (not comparable: one epoch on 200 texts)" * options.quick
        bar.write(f"{row.key}, seed {seed}: {measure} {result[measure]:.4f}{quick}")


def run(
    row: Row, seed: int, options: Options, results: Results
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Runs one row once."""
    start, cpu = time.perf_counter(), time.process_time()
    if row.name in floors.ROWS:
        with data_at_hand(row):
            parts = few(row.paper.parts(row.dataset, options, seed), options)
        results.header["test_examples"] = len(parts[2])
        with peak_memory() as peak:
            result, facts = floors.run(row.name, parts, seed, results.header["measure"])
    else:
        keras.utils.clear_session()
        with data_at_hand(row):
            data = row.paper.data(row.dataset, options, seed)
        results.describe(row.paper.described(data))
        start, cpu = time.perf_counter(), time.process_time()
        with peak_memory() as peak:
            result, facts = row.paper.run(row.dataset, row.name, data, seed, options)
    result["seconds"] = round(time.perf_counter() - start, 1)
    if device() != "cpu" and row.drawn:
        # A process that waits for a GPU tells neither the work nor the memory.
        return {**result, "device": device()}, facts
    result["cpu_seconds"] = round(time.process_time() - cpu, 1)
    return {**result, **peak}, facts


@contextlib.contextmanager
def data_at_hand(row: Row) -> Iterator[None]:
    """Ends the command with a sentence where the data or the word vectors cannot be read."""
    try:
        yield
    except (OSError, ValueError, ImportError) as error:
        raise SystemExit(f"{row.paper.name}/{row.dataset} cannot be read: {error}") from error


@contextlib.contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """Measures the most megabytes that the process holds during a block, where the system tells."""
    peak: dict[str, float] = {}
    try:
        Path("/proc/self/clear_refs").write_text("5")  # The peak so far is forgotten.
    except OSError:
        yield peak
        return
    yield peak
    peak["process_memory_mb"] = round(status("VmHWM") / 2**20)


def listed(rows: list[Row], options: Options, folder: Path = RESULTS) -> Iterator[str]:
    """Writes a line for each row: its runs, our figure beside the paper's, and what it needs."""
    for row in rows:
        results = results_of(row, options, folder)
        planned = len(row.seeds(options))
        ours = results.mean(row.name)
        parts = [f"{row.key:60}", f"{len(results.seeds(row.name))} of {planned} runs"]
        parts += [f"here: {_percent(ours)}", f"paper: {_percent(row.published)}"]
        needs = row.paper.needs(row.dataset)
        yield "  ".join([*parts, *([f"needs {needs}"] if needs else [])])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}"
