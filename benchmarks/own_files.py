"""What the command line gives on public sets, read as a user's own files.

`python -m benchmarks.own_files` runs `train` without any option once a set, each in a process of
its own, and keeps what came of it in `benchmarks/results/command_line/own_files.json`, from which
the table of the guide "Your texts, step by step" is made: `--table` prints it. Names ask for single
runs: `trec`, `trec3000` for a part of the texts, `trec-gru` for other options.
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
# Of every set: its name, the file to train on, and the one to test on if there is one.
SETS = {
    "trec": ("TREC", "TREC/train", "TREC/test"),
    "sst2": ("SST-2", "SST/train.binary", "SST/test.binary"),
    "sst5": ("SST-5", "SST/train", "SST/test"),
    "subj": ("SUBJ", "SUBJ/all", None),
    "humor": ("HaHackathon, humor", "HaHackathon/humor.train", "HaHackathon/humor.test"),
    "r8": ("R8", "R8/train", "R8/test"),
    "imdb": ("IMDB, a part", "IMDB/train", "IMDB/test"),
}
OPTIONS = {
    "": "",
    "gru": "--encoder gru",
    "minilm": "--encoder minilm --pooling generalized_scalar --no-tfidf",
    "hierarchical": "--encoder hierarchical",
    "compare": "--compare",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own_files", description=__doc__)
    told = f"SET, SETn or SET-OPTIONS; sets: {', '.join(SETS)}; options: {', '.join(OPTIONS)}"
    parser.add_argument("names", nargs="*", default=list(SETS), help=f"{told} (default: the sets)")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the runs are left")
    text = "where features of language models are kept; a run that finds its own there takes fewer "
    text += "seconds (default: each run computes them anew)"
    parser.add_argument("--features", type=Path, help=text)
    parser.add_argument("--table", action="store_true", help="print the rows of the guide's tables")
    arguments = parser.parse_args()
    for name in [] if arguments.table else arguments.names:
        record = run(name, arguments.runs / name, arguments.features)
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
        kept["runs"][name] = record
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if arguments.table:
        print(table(json.loads(RESULTS.read_text(encoding="utf-8"))["runs"]))


def run(name: str, out: Path, features: Path | None) -> dict[str, Any]:
    """What `train` gives, with the seconds and the megabytes that it takes."""
    which, _, options = name.partition("-")
    base = max((each for each in SETS if which.startswith(each)), key=len)
    title, train, test = SETS[base]
    most = which.removeprefix(base)
    typed = OPTIONS[options].split()
    with tempfile.TemporaryDirectory() as temporary:
        file, tested = (each and cache_folder() / f"{each}.tsv.gz" for each in (train, test))
        if most:
            title, file = f"{title}, {most} texts", _part(file, int(most), Path(temporary))
        typed += ["--test", str(tested)] if tested else []
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
        "options": OPTIONS[options] or "none",
        "seconds": round(seconds),
        "memory_mb": round(used.ru_maxrss / 1024),
        "cpu_seconds": round(used.ru_utime + used.ru_stime),
        "sizes": metrics["sizes"],
        "comparison": metrics["comparison"],
        "results": {row: {key: each[key] for key in told if key in each} for row, each in results},
    }


def _part(file: Path, texts: int, folder: Path) -> Path:
    """Some texts of a file, drawn at random."""
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        chosen = Random(0).sample(list(lines), texts)
    part = folder / "part.tsv"
    part.write_text("".join(chosen), encoding="utf-8", newline="\n")
    return part


def table(runs: dict[str, dict[str, Any]]) -> str:
    """The guide's table: each run's model, and the best row that no network is needed for."""
    head = ("texts", "options", "model", "best row without a network", "beside the model (95 %)")
    lines = [(*head, "seconds", "MB"), ("---",) * 7, *map(cells, runs.values())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(record: dict[str, Any]) -> tuple[str, ...]:
    """A row of it."""
    results = record["results"]
    model = next(iter(results))
    simple = {row: each for row, each in results.items() if "parameters" not in each}
    best = max(simple, key=lambda row: simple[row]["accuracy"])
    middle, low, high = (100 * each for each in simple[best]["difference"])
    return (
        record["data"],
        record["options"],
        f"{model}: {results[model]['accuracy']:.3f}",
        f"{best}: {simple[best]['accuracy']:.3f}",
        f"{middle:+.1f} ({low:+.1f} to {high:+.1f})",
        str(record["seconds"]),
        str(record["memory_mb"]),
    )


if __name__ == "__main__":
    main()
