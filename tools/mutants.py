"""Says which single-line faults of the library its tests notice.

    python tools/mutants.py                     # all of them: a line each, and the share killed
    python tools/mutants.py --only layers --jobs 2
    python tools/mutants.py --list

A mutant of the list, mutants.toml, is put into a copy of the tree, never into the tree itself. The
tests that ought to notice are those of the file of the same name, unless the list names others; on
the tree as it is they must pass. Those that compile are left out, for they take most of the time.
No part of `make test`.
"""

import argparse
import fnmatch
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
COPIED = ("keras_attnpool", "tests", "pyproject.toml")


class Mutant(NamedTuple):
    """An entry of mutants.toml."""

    file: str
    why: str
    original: str
    replacement: str
    tests: tuple[str, ...] = ()
    only: str = ""
    alive: str = ""


LISTED = tomllib.loads((REPOSITORY / "tools" / "mutants.toml").read_text(encoding="utf-8"))
MUTANTS = [Mutant(**each) for each in LISTED["mutant"]]


def tests_of(mutant: Mutant) -> list[str]:
    """The files of the tests that ought to notice."""
    return [*mutant.tests] or [re.sub(r"/_?(\w+\.py)$", r"/test_\1", f"tests/{mutant.file}")]


def fault(mutant: Mutant) -> str | None:
    """What is wrong with an entry of the list."""
    text = (REPOSITORY / "keras_attnpool" / mutant.file).read_text(encoding="utf-8")
    count = text.count(mutant.original)
    if count != 1:
        return f"{mutant.file} holds {count} times, not once: {mutant.original.strip()}"
    missing = [path for path in tests_of(mutant) if not (REPOSITORY / path).exists()]
    return f"{mutant.file}: there is no {missing[0]}" if missing else None


def outcome(mutant: Mutant) -> int:
    """What pytest returns for a copy with the mutant; in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="mutant") as folder:
        ignored = shutil.ignore_patterns("__pycache__")
        for name in COPIED:
            source, goal = REPOSITORY / name, Path(folder, name)
            if source.is_dir():
                shutil.copytree(source, goal, ignore=ignored)
            else:
                shutil.copy(source, goal)
        path = Path(folder, "keras_attnpool", mutant.file)
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(mutant.original, mutant.replacement), encoding="utf-8")
        os.chdir(folder)
        sys.path.insert(0, folder)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1), os.dup2(silent, 2)
        import pytest

        import keras_attnpool

        assert Path(keras_attnpool.__file__).is_relative_to(folder), "the tests see another package"
        chosen = "not compiled" + (f" and ({mutant.only})" if mutant.only else "")
        plugins = ["-p", "pytest_timeout", "-p", "no:cacheprovider"]
        return int(pytest.main(["-x", *plugins, *tests_of(mutant), "-k", chosen]))


def main() -> int:
    """Runs what is chosen; 1 where a mutant without a reason is alive, or an entry is at fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the mutants, run none")
    parser.add_argument("--only", default="", help="those with this in file or text; * may stand")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    given = parser.parse_args()
    pattern = f"*{given.only}*"
    chosen = [m for m in MUTANTS if fnmatch.fnmatch(f"{m.file} {m.original} {m.why}", pattern)]
    faults = [found for m in chosen if (found := fault(m))]
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    if given.list:
        print("\n".join(f"{m.file}: {m.why} ({m.original.strip()})" for m in chosen))
        return 0
    os.environ.setdefault("KERAS_BACKEND", "torch")
    # To find and load all plugins takes longer than the tests of many a file.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    # What all need is imported once; a process for each mutant starts from there.
    import keras
    import pytest  # noqa: F401

    keras.utils.set_random_seed(0)  # imports TensorFlow where it is installed

    alive = []
    context = multiprocessing.get_context("fork")
    with context.Pool(given.jobs, maxtasksperchild=1) as pool:
        for m, code in zip(chosen, pool.imap(outcome, chosen), strict=True):
            state = {0: "alive", 1: "killed"}.get(code, f"error {code}")
            if state != "killed":
                alive.append(m)
            reason = f" [{m.alive}]" if state == "alive" and m.alive else ""
            print(f"{state:7} {m.file}: {m.why}{reason}", flush=True)
    killed = len(chosen) - len(alive)
    print(f"{killed} of {len(chosen)} killed, {killed / max(1, len(chosen)):.0%}")
    return int(any(not m.alive for m in alive))


if __name__ == "__main__":
    sys.exit(main())
