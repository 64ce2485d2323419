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

from benchmarks.tables import table
from keras_attnpool.workbench import cli
from keras_attnpool.workbench.datasets import cache_folder

RESULTS = Path(__file__).parent / "results" / "command_line" / "own_files.json"
# Of every set: its name, the file to train on, the one to test on if there is one, its texts.
SETS = {
    "trec": ("TREC", "TREC/train", "TREC/test", "questions"),
    "sst2": ("SST-2", "SST/train.binary", "SST/test.binary", "sentences of film reviews"),
    "sst5": ("SST-5", "SST/train", "SST/test", "sentences of film reviews, 5 grades"),
    "subj": ("SUBJ", "SUBJ/all", None, "sentences, opinion or plot"),
    "humor": (
        *("HaHackathon, humor", "HaHackathon/humor.train", "HaHackathon/humor.test"),
        "short texts, funny or not",
    ),
    "r8": ("R8", "R8/train", "R8/test", "newswire stories"),
    "imdb": ("IMDB, a part", "IMDB/train", "IMDB/test", "whole film reviews"),
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
# The simpler models of the tables: how a column names them, and their rows. Of several rows the
# most accurate one is shown.
TF_IDF = ("TF-IDF of words", "TF-IDF of characters", "TF-IDF of both")
SIMPLER = {
    "its network alone": (NETWORK,),
    "network with the mean": (WITH_MEAN,),
    "regression": (MEAN,),
    "TF-IDF": TF_IDF,
}


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
    parser.add_argument("--table", action="store_true", help="print what the page shows of them")
    arguments = parser.parse_args()
    if arguments.table:
        print(*tables(_read(RESULTS)), sep="\n\n")
        return
    for name in arguments.names:
        kind, make = ("few", few) if "@" in name else ("runs", run)
        record = make(name, arguments.runs / name, arguments.features)
        kept = _read(RESULTS)
        kept[kind][name] = record
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def run(name: str, out: Path, features: Path | None) -> dict[str, Any]:
    """What `train` gives, with the seconds and the megabytes that it takes."""
    which, _, options = name.partition("-")
    base = _set_of(which)
    title, train, test, _ = SETS[base]
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
    metrics = _read(out / "metrics.json")
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
    title, train, test, _ = SETS[base]
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
            metrics = _read(out / "metrics.json")
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
    """What the page shows of the runs: the answer and the tables."""
    runs, few_runs = kept["runs"], kept["few"]
    shown = [each(runs) for each in (defaults, with_options, sizes)]
    return [answer(runs, few_runs), *shown, few_table(few_runs), tried(kept["tried"])]


def beside(rows: dict[str, Any], names: tuple[str, ...]) -> tuple[float, str]:
    """The accuracy of the most accurate of some rows, and how it stands beside the first row."""
    accuracy, *difference = max(
        [each["accuracy"], *each.get("difference", ())] for each in map(rows.__getitem__, names)
    )
    if not difference:  # the row is the model itself
        return accuracy, "the same"
    _, low, high = difference
    return accuracy, "ahead" if low > 0 else "behind" if high < 0 else "level"


def answer(runs: dict[str, dict[str, Any]], few_runs: dict[str, dict[str, Any]]) -> str:
    """How often the default is ahead of the simpler models."""
    words = {
        name: {each: beside(runs[name]["results"], rows)[1] for each, rows in SIMPLER.items()}
        for name in _without_options(runs)
    }
    whole = {SETS[name][0]: each for name, each in words.items() if name in SETS}
    best = [name for name, each in whole.items() if {*each.values()} == {"behind"}]
    level = [sum(each[model] == "level" for each in whole.values()) for model in SIMPLER]
    ahead = sum("ahead" in each.values() for each in words.values())
    parts, count = len(words) - len(whole), len(whole)
    first = f"In {ahead} rows a simpler model is" if ahead else "No simpler model is"
    texts = [record["texts"] for record in few_runs.values()]
    draws = [
        [beside(rows, names)[1] for names in SIMPLER.values() if names[0] in rows]
        for record in few_runs.values()
        for rows in drawn(record)
    ]
    return "\n".join(
        [
            f"- {first} ahead of the default, on any of the {count} sets, or on any of "
            f"{parts} smaller parts of these sets.",
            f"  With only {min(texts)} to {max(texts)} texts of each class, a simpler model is "
            f"ahead in {sum('ahead' in each for each in draws)} of {len(draws)} draws "
            "([Few texts](#few-texts)).",
            f"- On {len(best)} of the {count} sets ({' and '.join(best)}) all simpler models are "
            "behind the default.",
            f"- On the other {count - len(best)} sets at least one simpler model is level with the "
            "default. But no simpler model is level",
            f"  everywhere: each one is behind on at least {count - max(level)} of the {count} "
            "sets.",
        ]
    )


def _without_options(runs: dict[str, dict[str, Any]]) -> list[str]:
    """The runs without options: whole sets first, both in the order of `SETS`."""
    return sorted((name for name in runs if runs[name]["options"] == "none"), key=_order)


def defaults(runs: dict[str, dict[str, Any]]) -> str:
    """A row per run without options."""
    lines = []
    for name in _without_options(runs):
        results, title = runs[name]["results"], runs[name]["data"]
        told = ["{:.3f} {}".format(*beside(results, rows)) for rows in SIMPLER.values()]
        kind = f" ({SETS[name][3]})" if name in SETS else ""
        lines.append((title + kind, f"**{_first(results):.3f}**", *told))
    return table(("texts", "default", *SIMPLER), lines)


def with_options(runs: dict[str, dict[str, Any]]) -> str:
    """A row per set that was read with options too; a dash for what was not run."""
    head = ("texts", "default", "MiniLM, `generalized_scalar`", "`gru`", "TF-IDF beside `gru`")
    lines = []
    for name in sorted({name.partition("-")[0] for name in runs if "-" in name}, key=_order):
        each = [runs.get(name + more, {}).get("results") for more in ("", "-minilm", "-gru")]
        told = [f"{_first(results):.3f}" if results else "-" for results in each]
        results = each[-1] or {}
        found = tuple(row for row in results if row.startswith("TF-IDF"))
        lines.append((runs[name]["data"], *told, beside(results, found)[1] if found else "-"))
    return table(head, lines)


def sizes(runs: dict[str, dict[str, Any]]) -> str:
    """The sizes of the sets and the memory that a run without options takes."""
    lines = []
    for each in map(runs.get, _without_options(runs)):
        parts = [each["sizes"][part] for part in ("train", "validation", "test")]
        lines.append((each["data"], *(f"{number:,}" for number in (*parts, each["memory_mb"]))))
    return table(("texts", "training", "validation", "test", "peak memory, MB"), lines)


def _first(rows: dict[str, Any]) -> float:
    """The accuracy of the first row, which is the model."""
    return float(next(iter(rows.values()))["accuracy"])


def _set_of(name: str) -> str:
    """The set of a run."""
    return max((each for each in SETS if name.startswith(each)), key=len)


def _order(name: str) -> tuple[bool, int]:
    return name not in SETS, list(SETS).index(_set_of(name))


def drawn(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of each draw, as they are in a run."""
    return [
        {row: {"accuracy": first, "difference": more} for row, (first, *more) in rows.items()}
        for rows in (draw["rows"] for draw in record["draws"])
    ]


def few_table(runs: dict[str, dict[str, Any]]) -> str:
    """A row per number of texts: means over the draws, and in how many draws which word holds."""
    columns = {name: rows for name, rows in SIMPLER.items() if rows != (WITH_MEAN,)}
    lines = []
    for record in runs.values():
        draws = drawn(record)
        models = [*map(_first, draws)]
        mean = f"**{sum(models) / len(models):.3f}** ({min(models):.3f} to {max(models):.3f})"
        cells = [record["data"], str(record["texts"]), mean]
        for rows in columns.values():
            found = [beside(draw, rows) for draw in draws]
            words = [word for _, word in found]
            told = [f"{words.count(word)} {word}" for word in dict.fromkeys(sorted(words))]
            cells.append(f"{sum(x for x, _ in found) / len(found):.3f} ({', '.join(told)})")
        lines.append(cells)
    return table(("texts", "of each class", "default", *columns), lines, left=range(6))


def tried(trials: list[dict[str, Any]]) -> str:
    """A row per change that was tried."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in trials:
        told = f"{each['texts']}: {each['without']:.3f} → {each['with']:.3f}"
        found.setdefault((each["tried"], each["by"]), []).append(told)
    head = ("change", "tried on", "accuracy without → with the change")
    lines = [(*key, "; ".join(told)) for key, told in found.items()]
    return table(head, lines, left=range(len(head)))


if __name__ == "__main__":
    main()
