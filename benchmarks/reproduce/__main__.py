"""Command line of the reproductions."""

import argparse

from benchmarks import devices
from benchmarks.reproduce import (
    book,
    explanations,
    generalized_pooling,
    hcan,
    lama,
    mpsan,
    sam,
)
from benchmarks.reproduce.engine import data_at_hand, listed, reproduce, results_of, rows_of
from benchmarks.reproduce.tasks import Options
from benchmarks.reproduce.timing import take_turns

PAPERS = {
    file.PAPER.name: file.PAPER
    for file in (lama, hcan, mpsan, generalized_pooling, sam, explanations)
}


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce",
        description="Reproduce the papers' tables: all, one paper's, or single rows. Runs that are "
        "in the results files are kept, so an interrupted pass goes on where it was; several "
        "processes may share one.",
    )
    parser.add_argument("paper", nargs="?", choices=PAPERS, help="this paper only")
    parser.add_argument("--dataset", nargs="+", metavar="NAME", help="these data sets only")
    parser.add_argument("--rows", nargs="+", metavar="ROW", help="these rows only")
    parser.add_argument(
        "--only", nargs="+", metavar="PATTERN", help='paper/dataset/row, as in "mpsan/*/DiSAN"'
    )
    parser.add_argument("--list", action="store_true", help="show what there is, and end")
    parser.add_argument(
        "--matrix", action="store_true", help="show where every table and figure stands, and end"
    )
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", help="these runs only")
    parser.add_argument(
        "--quick", action="store_true", help="one epoch on 200 texts, into files of their own"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="the paper's sizes and number of runs, into files of their own: for a GPU",
    )
    parser.add_argument(
        "--data", dest="folder", metavar="FOLDER", help="the files of sets that are not passed on"
    )
    parser.add_argument("--vectors", metavar="FILE", help="word vectors, GloVe's format")
    parser.add_argument("--preset", default="minilm", help="language model, of KerasHub (sam)")
    parser.add_argument("--cache", metavar="FOLDER", help="keeps the language model's features")
    parser.add_argument(
        "--epoch-times",
        action="store_true",
        help="time epochs side by side instead (mpsan sst5, sam subj, hcan imdb_4000)",
    )
    return parser


def main(given: list[str] | None = None) -> None:
    commands = parser()
    arguments = commands.parse_args(given)
    papers = [PAPERS[arguments.paper]] if arguments.paper else list(PAPERS.values())
    known = {name for paper in papers for name in paper.tasks}
    unknown = [name for name in arguments.dataset or [] if name not in known]
    if unknown:
        commands.error(f"unknown data sets {unknown}; known are {sorted(known)}")
    options = Options(
        **{
            name: getattr(arguments, name)
            for name in ("quick", "full", "folder", "vectors", "preset", "cache")
        }
    )
    if arguments.matrix:
        print(book.matrix(PAPERS))
        return
    rows = rows_of(papers, arguments.dataset, arguments.only)
    if arguments.rows:
        names = {row.name for row in rows}
        unknown = [name for name in arguments.rows if name not in names]
        if unknown:
            commands.error(f"unknown rows {unknown}; --list names them")
        rows = [row for row in rows if row.name in arguments.rows]
    if arguments.only and not rows:
        commands.error(f"no row fits {arguments.only}; --list names them")
    if arguments.list:
        print("\n".join(listed(rows, options)))
        return
    experiments = {row.experiment: row for row in rows}
    if arguments.epoch_times:
        for row in experiments.values():
            if row.dataset not in row.paper.timed:
                timed = f"has them on {list(row.paper.timed)}" if row.paper.timed else "has none"
                commands.error(f"no times of epochs on {row.dataset}: {row.paper.name} {timed}")
        for row in experiments.values():
            with data_at_hand(row):
                turns = row.paper.turns(row.dataset, options)
            take_turns(turns, results_of(row, options))
        return
    missing = {
        name: row
        for name, row in experiments.items()
        if row.paper.needs(row.dataset) and not options.folder
    }
    for row in missing.values():
        needs = row.paper.needs(row.dataset)
        print(f"left out: {row.paper.name}/{row.dataset} needs {needs}")
    rows = [row for row in rows if row.experiment not in missing]
    if devices.device() == "cpu" and not (arguments.only or arguments.rows or options.quick):
        dear = [row for row in rows if row.name in row.paper.on_gpu]
        rows = [row for row in rows if row not in dear]
        for row in dear:
            print(f"left out: {row.key} takes hours without a GPU; --only names it")
    reproduce(rows, options, arguments.seeds)


if __name__ == "__main__":
    main()
