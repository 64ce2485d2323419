"""Command line of the reproductions."""

import argparse
import re
from pathlib import Path

from benchmarks.reproduce import generalized_pooling, hcan, lama, mpsan, sam
from benchmarks.reproduce.results import Results

RESULTS = Path(__file__).resolve().parent.parent / "results"
PAPERS = {
    "lama": lama,
    "generalized_pooling": generalized_pooling,
    "mpsan": mpsan,
    "hcan": hcan,
    "sam": sam,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce",
        description="Reproduce a paper's table. Runs that are in the results file are kept.",
    )
    papers = parser.add_subparsers(dest="paper", required=True, metavar="PAPER")
    for name, module in PAPERS.items():
        paper = papers.add_parser(name, help=module.__doc__.splitlines()[0])
        paper.add_argument("--dataset", choices=module.DATASETS, default=module.DATASETS[0])
        paper.add_argument("--list", action="store_true", help="name the rows and end")
        paper.add_argument("--rows", nargs="+", metavar="ROW", help="these rows only")
        paper.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
        paper.add_argument(
            "--quick", action="store_true", help="one epoch, one seed, into a file of its own"
        )
        if module in (generalized_pooling, mpsan):
            paper.add_argument("--vectors", metavar="FILE", help="word vectors, GloVe's format")
        if module in (mpsan, sam):
            paper.add_argument(
                "--epoch-times", action="store_true", help="time epochs side by side (sst5, subj)"
            )
        if module is sam:
            paper.add_argument("--preset", default="minilm", help="language model, of KerasHub")
            paper.add_argument("--cache", metavar="FOLDER", help="keeps the features")
        if module is hcan:
            paper.add_argument(
                "--times", action="store_true", help="time HCAN, HAN and TextCNN side by side"
            )
        if module is generalized_pooling:
            paper.add_argument("--data", dest="folder", metavar="FOLDER", help="a set of your own")
            paper.add_argument(
                "--paper-sizes", action="store_true", help="the paper's sizes, not a CPU's"
            )
    arguments = vars(parser.parse_args())
    module = PAPERS[arguments.pop("paper")]
    dataset, seeds = arguments.pop("dataset"), arguments.pop("seeds")
    rows, chosen = module.rows(dataset), arguments.pop("rows")
    if arguments.pop("list"):
        for row, paper in rows.items():
            print(f"{row}  (paper: {'-' if paper is None else round(paper, 4)})")
        return
    unknown = [row for row in chosen or [] if row not in rows]
    if unknown:
        parser.error(f"unknown rows {unknown}; --list names them")
    name = f"{module.__name__.rpartition('.')[2]}_{dataset}"
    if arguments.get("paper_sizes"):
        name += ".paper_sizes"
    if arguments.get("preset", "minilm") != "minilm":
        name += "." + re.sub(r"\W+", "_", arguments["preset"])
    if arguments["quick"]:
        name, seeds = f"{name}.quick", seeds[:1]
    results = Results(RESULTS / f"{name}.json", module.header(dataset))
    module.reproduce(results, dataset, chosen or list(rows), seeds, **arguments)


if __name__ == "__main__":
    main()
