"""Command line of the reproductions."""

import argparse

from benchmarks import devices
from benchmarks.reproduce import book, comparison, generalized_pooling, hcan, lama, mpsan, sam
from benchmarks.reproduce.engine import Options, listed, reproduce, results_of, rows_of

PAPERS = {
    "lama": lama,
    "hcan": hcan,
    "mpsan": mpsan,
    "generalized_pooling": generalized_pooling,
    "sam": sam,
    "comparison": comparison,
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
    modules = [PAPERS[arguments.paper]] if arguments.paper else list(PAPERS.values())
    known = {name for module in modules for name in module.DATASETS}
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
    rows = rows_of(modules, arguments.dataset, arguments.only)
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
    if arguments.epoch_times:
        for paper, dataset in dict.fromkeys((row.paper, row.dataset) for row in rows):
            first = next(row for row in rows if (row.paper, row.dataset) == (paper, dataset))
            if not hasattr(first.module, "epoch_times"):
                commands.error(f"{paper} has no times of epochs")
            first.module.epoch_times(results_of(first, options), dataset, options)
        return
    missing = [row for row in rows if row.module.needs(row.dataset) and not options.folder]
    rows = [row for row in rows if row not in missing]
    for row in {f"{row.paper}/{row.dataset}": row for row in missing}.values():
        print(f"left out: {row.paper}/{row.dataset} needs {row.module.needs(row.dataset)}")
    if devices.device() == "cpu" and not (arguments.only or arguments.rows or options.quick):
        dear = [row for row in rows if row.name in getattr(row.module, "ON_GPU", ())]
        rows = [row for row in rows if row not in dear]
        for row in dear:
            print(f"left out: {row.key} takes hours without a GPU; --only names it")
    reproduce(rows, options, arguments.seeds)


if __name__ == "__main__":
    main()
