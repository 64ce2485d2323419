"""What the command line gives on public sets, read as a user's own files.

`python -m benchmarks.own_files NAME ...` runs `train` once a name, each in a process of its own,
and keeps what came of it in `benchmarks/results/command_line/own_files.json`, from which the table
of the guide "Your texts, step by step" is made: `--table` prints its rows.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from keras_attnpool.workbench.datasets import cache_folder

RESULTS = Path(__file__).parent / "results" / "command_line" / "own_files.json"
MINILM, HIERARCHICAL, COMPARED = "--encoder minilm", "--encoder hierarchical", "--compare"
# Of every set: its name, the file to train on, and the one to test on if there is one.
SETS = {
    "trec": ("TREC", "TREC/train", "TREC/test"),
    "sst5": ("SST-5", "SST/train", "SST/test"),
    "subj": ("SUBJ", "SUBJ/all", None),
    "r8": ("R8", "R8/train", "R8/test"),
    "imdb": ("IMDB, a part", "IMDB/train", "IMDB/test"),
}
OPTIONS = {
    "default": "default",
    "minilm": MINILM,
    "hierarchical": HIERARCHICAL,
    "compare": COMPARED,
    "minilm-compare": f"{MINILM} {COMPARED}",
    "hierarchical-compare": f"{HIERARCHICAL} {COMPARED}",
}
SOME = 500  # texts of the training file of a run such as trec500-minilm


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own_files", description=__doc__)
    names = f"SET-OPTIONS, or SET{SOME}-OPTIONS for a part of the texts; sets: {', '.join(SETS)}; "
    parser.add_argument("names", nargs="*", help=f"{names}options: {', '.join(OPTIONS)}")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the runs are left")
    text = "where features of language models are kept; a run that finds its own there takes fewer "
    text += "seconds (default: each run computes them anew)"
    parser.add_argument("--features", type=Path, help=text)
    parser.add_argument("--table", action="store_true", help="print the rows of the guide's tables")
    arguments = parser.parse_args()
    for name in arguments.names:
        record = run(name, arguments.runs / name, arguments.features)
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
        kept["compared" if "chosen" in record else "runs"][name] = record
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if arguments.table:
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
        print(*map(row, [*kept["runs"].values(), *kept["compared"].values()]), sep="\n")


def run(name: str, out: Path, features: Path | None) -> dict[str, Any]:
    """What `train` gives, with the seconds and the megabytes that it takes."""
    which, options = name.split("-", 1)
    title, train, test = SETS[which.removesuffix(str(SOME))]
    typed = OPTIONS[options].replace("default", "").split()
    with tempfile.TemporaryDirectory() as temporary:
        file = cache_folder() / f"{train}.tsv.gz"
        if which.endswith(str(SOME)):
            title, file = f"{title}, {SOME} texts", _part(file, Path(temporary))
        typed += ["--test", str(cache_folder() / f"{test}.tsv.gz")] if test else []
        command = [sys.executable, "-m", "keras_attnpool", "train", str(file), *typed]
        command += ["--out", str(out), "--overwrite"]
        own = {"KERAS_ATTNPOOL_DATA": str(features or temporary)}
        start = time.monotonic()
        child = subprocess.Popen(command, env=os.environ | own)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
    if status:
        raise SystemExit(f"{name}: exit status {os.waitstatus_to_exitcode(status)}")
    metrics = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    results = metrics["results"].items()
    told = ("accuracy", "macro_f1", "difference", "parameters", "seconds")
    return {
        "data": title,
        "options": OPTIONS[options],
        "seconds": round(seconds),
        "memory_mb": round(used.ru_maxrss / 1024),
        "cpu_seconds": round(used.ru_utime + used.ru_stime),
        "sizes": metrics["sizes"],
        "comparison": metrics["comparison"],
        "results": {row: {key: each[key] for key in told if key in each} for row, each in results},
        **({"chosen": metrics["chosen"]} if "chosen" in metrics else {}),
    }


def _part(file: Path, folder: Path) -> Path:
    """Some texts of a file, drawn at random."""
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        chosen = Random(0).sample(list(lines), SOME)
    part = folder / "part.tsv"
    part.write_text("".join(chosen), encoding="utf-8", newline="\n")
    return part


def row(record: dict[str, Any]) -> str:
    """A row of the guide's tables."""
    cells = [record["data"], record["options"]]
    cells += [f"{each['accuracy']:.3f}" for each in record["results"].values()]
    cells += [record.get("chosen") or f"{record['seconds']} | {record['memory_mb']}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
