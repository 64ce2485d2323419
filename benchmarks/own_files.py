"""What the command line gives on public sets, read as a user's own files.

`python -m benchmarks.own_files` runs `train` without any option once a set, each in a process of
its own, and keeps what came of it in `benchmarks/results/command_line/own_files.json`, from which
the table of the page "How `train` was measured" is made: `--table` prints it. Names ask for single
runs: `trec`, `trec3000` for a part of the texts, `trec-gru` for other options, `trec@8` for draws
of so many texts a class.
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
from unittest.mock import patch

from keras_attnpool.workbench import cli
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
    "compare": "--compare",
}

DRAWS, MOST_TESTED = 3, 1000
MEAN = "mean of the states, logistic"
NETWORK, WITH_MEAN = "minilm + multi_dim", "minilm + mean"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own_files", description=__doc__)
    told = (
        f"SET, SETn, SET-OPTIONS or SET@n; sets: {', '.join(SETS)}; options: {', '.join(OPTIONS)}"
    )
    parser.add_argument("names", nargs="*", default=list(SETS), help=f"{told} (default: the sets)")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the runs are left")
    text = "where features of language models are kept; a run that finds its own there takes fewer "
    text += "seconds (default: each run computes them anew)"
    parser.add_argument("--features", type=Path, help=text)
    parser.add_argument("--table", action="store_true", help="print the rows of the guide's tables")
    arguments = parser.parse_args()
    for name in [] if arguments.table else arguments.names:
        kind, make = ("few", few) if "@" in name else ("runs", run)
        record = make(name, arguments.runs / name, arguments.features)
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
        kept[kind][name] = record
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if arguments.table:
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
        print(*tables(kept), sep="\n\n")


def run(name: str, out: Path, features: Path | None) -> dict[str, Any]:
    """What `train` gives, with the seconds and the megabytes that it takes."""
    which, _, options = name.partition("-")
    base = max((each for each in SETS if which.startswith(each)), key=len)
    title, train, test = SETS[base]
    most = which.removeprefix(base)
    typed = OPTIONS[options].split()
    with tempfile.TemporaryDirectory() as temporary:
        file = cache_folder() / f"{train}.tsv.gz"
        tested = test and cache_folder() / f"{test}.tsv.gz"
        if most:
            drawn = Random(0).sample(_lines(file), int(most))
            title, file = f"{title}, {most} texts", _written(drawn, Path(temporary) / "part.tsv")
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


def few(name: str, out: Path, features: Path | None) -> dict[str, Any]:
    """What `train` gives of a few texts a class, drawn several times; the test texts are the same.

    Of a set without test texts some are put aside. The rows of the mean, and the report, which have
    no part in the model, are left out.
    """
    base, _, texts = name.partition("@")
    title, train, test = SETS[base]
    lines, draws = _lines(cache_folder() / f"{train}.tsv.gz"), []
    tested = _lines(cache_folder() / f"{test}.tsv.gz") if test else lines
    tested = Random(0).sample(tested, min(MOST_TESTED, len(tested)))
    lines = sorted({*lines} - {*tested})
    with tempfile.TemporaryDirectory() as temporary, patch.dict(os.environ) as environment:
        environment["KERAS_ATTNPOOL_DATA"] = str(features or temporary)
        file = _written(tested, Path(temporary) / "test.tsv")
        command = ["--test", str(file), "--no-baseline", "--no-report", "--overwrite"]
        for draw in range(DRAWS):
            classes: dict[str, list[str]] = {}
            for line in Random(draw).sample(lines, len(lines)):
                classes.setdefault(line.partition("\t")[0], []).append(line)
            drawn = [line for each in classes.values() for line in each[: int(texts)]]
            part = _written(drawn, Path(temporary) / "part.tsv")
            if cli.main(["train", str(part), *command, "--out", str(out)]):
                raise SystemExit(f"{name}: `train` failed")
            metrics = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
            rows = metrics["results"].items()
            told = {row: [each["accuracy"], *each.get("difference", ())] for row, each in rows}
            draws.append({"comparison": metrics["comparison"].splitlines()[-1], "rows": told})
    return {"data": title, "texts": int(texts), "tested": len(tested), "draws": draws}


def _lines(file: Path) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        return list(lines)


def _written(lines: list[str], file: Path) -> Path:
    file.write_text("".join(lines), encoding="utf-8", newline="\n")
    return file


def tables(kept: dict[str, Any]) -> list[str]:
    """The tables of the page."""
    tried = [("tried", "texts", "accuracy without it", "with it")]
    for each in kept["tried"]:
        told = [f"{each[column]:.3f}" for column in ("without", "with")]
        tried.append((each["tried"], each["texts"], *told))
    runs = kept["runs"]
    return [defaults(runs), with_options(runs), few_table(kept["few"]), _lined(tried)]


def _lined(rows: list[tuple[str, ...]]) -> str:
    head, *others = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *others))


def defaults(runs: dict[str, dict[str, Any]]) -> str:
    """A row per run without options: whole sets first, both in the order of `SETS`."""
    head = ("texts", "default", "its network alone", "with the mean", MEAN, "TF-IDF, the best")
    lines = [(*head, "beside the default (95 %)", "MB")]
    found = [name for name in runs if runs[name]["options"] == "none"]
    for name in sorted(found, key=_order):
        words = _words(results := runs[name]["results"])
        shown = (next(iter(results)), NETWORK, WITH_MEAN, MEAN, words)
        told = [results[row]["accuracy"] for row in shown]
        # The model holds parts that need no network, so a row without one is beside all of it.
        best = max(shown[2:], key=lambda row: results[row]["accuracy"])
        middle, low, high = (100 * each for each in results[best]["difference"])
        beside = f"{middle:+.1f} ({low:+.1f} to {high:+.1f})"
        cells = [f"{each:.3f}" for each in told]
        lines.append((runs[name]["data"], *cells, beside, str(runs[name]["memory_mb"])))
    return _lined(lines)


def with_options(runs: dict[str, dict[str, Any]]) -> str:
    """A row per set that was read with options too; a dash for what was not run."""
    lines = [("texts", *(f"`{OPTIONS[each]}`" for each in ("gru", "minilm")), "the default")]
    found = {name.partition("-")[0] for name in runs if "-" in name}
    for name in sorted(found, key=_order):
        three = [runs.get(f"{name}{each}") for each in ("-gru", "-minilm", "")]
        told = [f"{_first(run):.3f}" if run else "-" for run in three]
        lines.append((runs[name]["data"], *told))
    return _lined(lines)


def _first(run: dict[str, Any]) -> float:
    """The accuracy of the run's model."""
    return float(next(iter(run["results"].values()))["accuracy"])


def _words(results: dict[str, Any]) -> str:
    """The best of the linear rows on words or characters."""
    rows = [row for row in results if row.startswith("TF-IDF")]
    return max(rows, key=lambda row: results[row]["accuracy"])


def _order(name: str) -> tuple[bool, int]:
    base = max((each for each in SETS if name.startswith(each)), key=len)
    return name != base, list(SETS).index(base)


def few_table(runs: dict[str, dict[str, Any]]) -> str:
    """The guide's table of few texts a class: means over the draws, and the least and the most."""
    head = (
        "texts",
        "a class",
        "default",
        "its network alone",
        MEAN,
        "TF-IDF, the best",
        "beside the default, each draw",
    )
    lines = [head]
    for record in runs.values():
        draws = [each["rows"] for each in record["draws"]]
        models = [next(iter(rows.values()))[0] for rows in draws]
        networks = [rows[NETWORK][0] for rows in draws]
        words = [max(rows[row][0] for row in rows if row.startswith("TF-IDF")) for rows in draws]
        signs = [rows[MEAN][1:] for rows in draws]
        shown = ", ".join(f"{100 * a:+.1f} ({100 * b:+.1f} to {100 * c:+.1f})" for a, b, c in signs)
        four = (models, networks, [rows[MEAN][0] for rows in draws], words)
        told = [f"{sum(x) / len(x):.3f} ({min(x):.3f} to {max(x):.3f})" for x in four]
        lines.append((record["data"], str(record["texts"]), *told, shown))
    return _lined(lines)


if __name__ == "__main__":
    main()
