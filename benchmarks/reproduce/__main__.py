"""Command line of the reproductions."""

import argparse
from pathlib import Path

from benchmarks.reproduce import lama
from benchmarks.reproduce.results import Results

RESULTS = Path(__file__).resolve().parent.parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce",
        description="Reproduce a paper's table. Runs that are in the results file are kept.",
    )
    parser.add_argument("paper", choices=["lama"])
    parser.add_argument("--dataset", choices=["r8"], default="r8")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    parser.add_argument("--rows", nargs="+", metavar="ROW", help="these rows only")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument(
        "--quick", action="store_true", help="one epoch, one seed, into a file of its own"
    )
    arguments = parser.parse_args()
    if arguments.list:
        for row, (paper, *_) in lama.ROWS.items():
            print(f"{row}  (paper: {'-' if paper is None else paper})")
        return
    rows = arguments.rows or list(lama.ROWS)
    unknown = [row for row in rows if row not in lama.ROWS]
    if unknown:
        parser.error(f"unknown rows {unknown}; --list names them")
    name = f"{arguments.paper}_{arguments.dataset}"
    if arguments.quick:
        results = Results(RESULTS / f"{name}.quick.json", lama.HEADER)
        lama.reproduce(results, rows, arguments.seeds[:1], max_epochs=1)
    else:
        results = Results(RESULTS / f"{name}.json", lama.HEADER)
        lama.reproduce(results, rows, arguments.seeds, lama.MAX_EPOCHS)


if __name__ == "__main__":
    main()
