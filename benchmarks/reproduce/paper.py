"""What a paper gives to the engine: its data sets, its rows, and how a row is run."""

import abc
import functools
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import keras

from benchmarks.reproduce import tasks
from benchmarks.reproduce.tasks import Options, Task
from benchmarks.reproduce.timing import Turns

Claim = tuple[str, str, str]  # better row, worse row, the claim in words


@functools.cache
def told(name: str) -> dict[str, Any]:
    """What a paper tells, from the file of its name: figures, claims, times, places.

    Args:
        name: The paper's name.
    """
    with Path(__file__).with_name(f"{name}.toml").open("rb") as file:
        found = tomllib.load(file)
    return {**found, "claims": tuple(map(tuple, found["claims"]))}


class Paper(abc.ABC):
    """The tables of a paper, as experiments: one for each data set, with a model in each row.

    The file of a paper holds its rows, its figures, its data sets, and one subclass. A subclass
    sets the attributes that it needs, and writes `names`, `config`, `build` and what differs from
    the methods here.

    Attributes:
        name: Name on the command line and in the names of the results files.
        title: Name in the results files.
        tasks: The data sets by name, each with its recipe.
        claims: What the paper says of the order of its rows, and what we ask beside it.
        idle: Rows that are trained like another row, and why: they test no claim.
        fixed: Rows that chance has no part in, beside the floors.
        on_gpu: Rows that take hours without a GPU.
        timed: Data sets on which epochs are timed side by side.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    tasks: ClassVar[Mapping[str, Task]]
    claims: ClassVar[Sequence[Claim]] = ()
    idle: ClassVar[Mapping[str, str]] = MappingProxyType({})
    fixed: ClassVar[Collection[str]] = ()
    on_gpu: ClassVar[Collection[str]] = ()
    timed: ClassVar[Collection[str]] = ()

    # What there is.

    @abc.abstractmethod
    def names(self, dataset: str) -> Sequence[str]:
        """Names the rows of a data set's table, in their order."""

    @abc.abstractmethod
    def config(self, dataset: str, row: str, options: Options) -> dict[str, Any]:
        """Describes the settings of a row; runs with other settings are kept apart from its own."""

    def published(self, dataset: str) -> Mapping[str, float]:
        """Gives the paper's figures as shares, by row."""
        return {row: percent / 100 for row, percent in self.tasks[dataset].paper.items()}

    def rows(self, dataset: str) -> dict[str, float | None]:
        """Lists the rows of a data set's table with the paper's figure."""
        published = self.published(dataset)
        return {row: published.get(row) for row in self.names(dataset)}

    def needs(self, dataset: str) -> str | None:
        """Says what the user has to bring, if anything."""
        return self.tasks[dataset].needs

    def seeds(self, dataset: str, full: bool) -> int:
        """Counts the planned runs."""
        task = self.tasks[dataset]
        return task.full_runs or task.runs if full else task.runs

    def header(self, dataset: str) -> dict[str, Any]:
        """Makes the head of the results file."""
        task = self.tasks[dataset]
        return {
            "paper": self.title,
            "table": task.table,
            "dataset": dataset,
            "measure": task.measure,
            "claims": [(*claim, self.distance(dataset, *claim[:2])) for claim in self.claims],
            **({"idle": dict(self.idle)} if self.idle else {}),
            "protocol": self.protocol(dataset),
        }

    def column(self, dataset: str) -> str:
        """Names the set of the paper whose figures those of a data set are compared with."""
        return self.tasks[dataset].column or dataset

    def original(self, row: str) -> str:
        """Names the paper's row, of which there may be several of ours."""
        return row

    def distance(self, dataset: str, better: str, worse: str) -> float | None:
        """Gives the paper's difference of two rows, on its own set, if it has one."""
        known = self.published(self.column(dataset))
        both = better in known and worse in known
        return round(known[better] - known[worse], 5) if both else None

    def protocol(self, dataset: str) -> dict[str, Any]:
        """Tells the reader of the results how the rows are trained and measured."""
        task = self.tasks[dataset]
        return {
            "selection": "epoch with the lowest validation loss"
            if task.graded
            else "epoch with the best validation accuracy, ties by loss; test read once",
            "patience": task.patience,
            "max_epochs": task.max_epochs,
            "batch_size": task.batch_size,
            "max_length": task.max_length,
        }

    # How a row is run.

    def parts(self, dataset: str, options: Options, seed: int) -> tuple[Any, ...]:
        """Reads the texts or pairs to train on, to choose the epoch by and to test."""
        task = self.tasks[dataset]
        if task.needs and options.folder is None:
            raise SystemExit(f"{dataset} is not passed on: it needs {task.needs}.")
        return task.parts(options.folder or "")

    def fold(self, dataset: str, seed: int) -> int:
        """Chooses which of several divisions of the data a run has."""
        return 0

    def data(self, dataset: str, options: Options, seed: int) -> Any:
        """Reads the data of a run, or takes those of the run before, if they are the same."""
        return _kept(self, dataset, options, self.fold(dataset, seed))

    def read(self, dataset: str, options: Options, fold: int) -> Any:
        """Reads the data of a fold: an object with `task`, `parts` and `batches`."""
        return tasks.Data(self.tasks[dataset], self.parts(dataset, options, fold), options)

    def described(self, data: Any) -> dict[str, Any]:
        """Describes the data for the results file."""
        sizes = [len(targets) for _, targets in data.parts]
        kept = {}
        if data.task.measure != "accuracy":
            # F1 and correlations of drawn items need the targets too.
            (targets,) = tasks.answers(data.task.measure, data.parts[2][1], 1).values()
            kept["test_targets"] = targets
        return {"examples": sizes, "test_examples": sizes[2], **kept}

    @abc.abstractmethod
    def build(self, dataset: str, row: str, data: Any, options: Options) -> keras.Model:
        """Builds the model of a row."""

    def run(
        self, dataset: str, row: str, data: Any, seed: int, options: Options
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Runs a row once: what came out, and the facts of the model."""
        build = functools.partial(self.build, dataset, row, data, options)
        return tasks.run(build, data, self.task(dataset, row), seed, options)

    def task(self, dataset: str, row: str) -> Task:
        """Returns the data set with the recipe of a row."""
        return self.tasks[dataset]

    def turns(self, dataset: str, options: Options) -> Turns:
        """Builds what `--epoch-times` measures on one of the data sets of `timed`."""
        raise NotImplementedError


@functools.lru_cache(maxsize=1)
def _kept(paper: Paper, dataset: str, options: Options, fold: int) -> Any:
    return paper.read(dataset, options, fold)
