"""What runs experiments: chosen, resumed, shared between processes, measured.

An experiment is one table of a paper on one data set; its rows are models. A paper's module says
what there is: `DATASETS`, `rows`, `header`, `seeds`, `needs`, `config`, `load`, `parts` and `run`.
"""

import contextlib
import dataclasses
import fnmatch
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import numpy as np
from tqdm import tqdm

from benchmarks.devices import device
from benchmarks.reproduce import floors
from benchmarks.reproduce.results import Results

RESULTS = Path(__file__).resolve().parent.parent / "results"


@dataclasses.dataclass(frozen=True)
class Options:
    """How the rows are run.

    Args:
        quick: One epoch on 200 texts: does it run at all?
        full: The paper's sizes, texts and number of runs, not a CPU's.
        folder: Where the user's files of a set are that is not passed on.
        vectors: File of word vectors in GloVe's format.
        preset: Language model of KerasHub.
        cache: Folder that keeps the language model's features.
    """

    quick: bool = False
    full: bool = False
    folder: str | None = None
    vectors: str | None = None
    preset: str = "minilm"
    cache: str | None = None


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of one experiment."""

    module: ModuleType
    dataset: str
    name: str
    published: float | None

    @property
    def paper(self) -> str:
        return self.module.__name__.rpartition(".")[2]

    @property
    def key(self) -> str:
        return f"{self.paper}/{self.dataset}/{self.name}"

    @property
    def drawn(self) -> bool:
        """Whether chance has a part in it: what draws nothing has one run, or one a fold."""
        return self.name not in floors.ROWS and self.name not in getattr(self.module, "LINEAR", ())

    def config(self, options: Options) -> dict[str, Any]:
        if self.name in floors.ROWS:
            return floors.config(self.name)
        return dict(self.module.config(self.dataset, self.name, options))

    def seeds(self, options: Options, given: list[int] | None = None) -> list[int]:
        """The runs that are planned, or those of the user."""
        planned = list(range(self.module.seeds(self.dataset, options.full)))
        if not self.drawn and not self.module.header(self.dataset).get("folded"):
            return planned[:1]
        seeds = planned if given is None else given
        return seeds[:1] if options.quick else seeds


def rows_of(
    modules: list[ModuleType], datasets: list[str] | None = None, only: list[str] | None = None
) -> list[Row]:
    """All rows of the papers, or those whose key fits one of the patterns of `only`."""
    found = [
        Row(module, dataset, name, published)
        for module in modules
        for dataset in module.DATASETS
        if not datasets or dataset in datasets
        for name, published in module.rows(dataset).items()
    ]
    if only:
        found = [row for row in found if any(fnmatch.fnmatchcase(row.key, each) for each in only)]
    return found


def results_of(row: Row, options: Options, folder: Path = RESULTS) -> Results:
    """The file of the row's experiment."""
    name = f"{row.paper}_{row.dataset}"
    if options.full:
        name += ".full"
    if options.preset != "minilm":
        name += "." + re.sub(r"\W+", "_", options.preset)
    if options.quick:
        name += ".quick"
    return Results(folder / f"{name}.json", row.module.header(row.dataset))


def reproduce(
    rows: list[Row], options: Options, seeds: list[int] | None = None, folder: Path = RESULTS
) -> None:
    """Runs what is missing, seed by seed, so that an interrupted pass has every row.

    Several processes may work on the same rows: a run that another has begun is left to it.
    """
    files = {row.dataset + row.paper: results_of(row, options, folder) for row in rows}
    jobs = [
        (row, seed)
        for row in rows
        for seed in row.seeds(options, seeds)
        if seed not in files[row.dataset + row.paper].done(row.name, row.config(options))
    ]
    # Data set by data set, for reading one takes a while.
    order = {(row.paper, row.dataset): place for place, row in enumerate(rows)}
    jobs.sort(key=lambda job: (order[job[0].paper, job[0].dataset], job[1]))
    bar = tqdm(jobs, unit="run", dynamic_ncols=True)
    for row, seed in bar:
        bar.set_description(f"{row.key}, seed {seed}")
        results = files[row.dataset + row.paper]
        with results.claimed(row.name, seed) as mine:
            if not mine or seed in results.done(row.name, row.config(options)):
                continue
            result, facts = run(row, seed, options, results)
            results.add(row.name, row.config(options), {"paper": row.published, **facts}, result)
        measure = f"test_{results.header['measure']}"
        bar.write(f"{row.key}, seed {seed}: {measure} {result[measure]:.4f}")


def run(
    row: Row, seed: int, options: Options, results: Results
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One run of one row."""
    start, cpu = time.perf_counter(), time.process_time()
    if row.name in floors.ROWS:
        parts = row.module.parts(row.dataset, options, seed)
        if options.quick:
            # From all over the part: some files are sorted by class.
            parts = tuple(
                part.subset(np.linspace(0, len(part) - 1, min(200, len(part))).astype(int))
                for part in parts
            )
        results.header["test_examples"] = len(parts[2])
        with peak_memory() as peak:
            result, facts = floors.run(row.name, parts, seed, results.header["measure"])
    else:
        keras.utils.clear_session()
        data = row.module.load(row.dataset, options, seed)
        results.describe(row.module.described(data))
        start, cpu = time.perf_counter(), time.process_time()
        with peak_memory() as peak:
            result, facts = row.module.run(row.dataset, row.name, data, seed, options)
    result["seconds"] = round(time.perf_counter() - start, 1)
    if device() != "cpu" and row.drawn:
        # A process that waits for a GPU tells neither the work nor the memory.
        return {**result, "device": device()}, facts
    result["cpu_seconds"] = round(time.process_time() - cpu, 1)
    return {**result, **peak}, facts


@contextlib.contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """The most megabytes that the process holds during a block; empty where no system tells."""
    found: dict[str, float] = {}
    try:
        Path("/proc/self/clear_refs").write_text("5")  # The peak so far is forgotten.
    except OSError:
        yield found
        return
    yield found
    found["process_memory_mb"] = round(_status("VmHWM") / 1024)


def _status(name: str) -> int:
    """Kilobytes that the system counts for this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise OSError(f"/proc/self/status does not tell {name}")


def listed(rows: list[Row], options: Options, folder: Path = RESULTS) -> Iterator[str]:
    """A line for each row: how many of its runs are there, what it needs, the paper's figure."""
    for row in rows:
        done = len(results_of(row, options, folder).seeds(row.name))
        planned = len(row.seeds(options))
        needs = row.module.needs(row.dataset)
        published = "-" if row.published is None else f"{100 * row.published:.2f}"
        yield "  ".join(
            [
                f"{row.key:60}",
                f"{done} of {planned} runs",
                f"paper: {published}",
                *([f"needs {needs}"] if needs else []),
            ]
        )
