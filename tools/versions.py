"""Runs the quick tests in each Python that it finds, with old and new Keras and backends.

    python tools/versions.py                          # `make versions`; hours for the whole table
    python tools/versions.py 3.12-jax keras-3.13      # these rows alone; the others stay
    python tools/versions.py --core lowest            # four tests of each layer: minutes a row

Each row has an environment of its own in `build/versions/`, and each result is written at once to
`docs/support/versions.json`, from which the documentation makes a table.
"""

import datetime
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / "build" / "versions"
TABLE = REPOSITORY / "docs" / "support" / "versions.json"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# What each is installed by.
BACKENDS = {
    "jax": ["jax"],
    "torch": ["torch"],
    "tensorflow": ["tensorflow"],
    "numpy": ["jax", "scipy"],  # docs/upstream/keras-numpy-needs-jax.md
}
# The Keras versions behind the lowest; the newest comes with the other rows.
KERAS = ("3.13", "3.14")
TOOLS = ["pytest", "pytest-timeout", "hypothesis"]
HURRY = "--xla_backend_optimization_level=0"  # JAX 0.11 ends at the other flag of the Makefile
# What can run, as arguments of pytest, by the name that the table has.
TESTS = {
    "quick tests": [
        *("-m", "not one_backend and not torch_first and not slow and not browser"),
        *("tests/ops", "tests/layers", "tests/test_regularizers.py"),
    ],
    "core": [
        *("-m", "not one_backend and not slow and not browser", "tests/layers"),
        *("-k", "float64_reference or gradients_agree or what_padding_holds or saved_model"),
    ],
}


def lowest() -> list[str]:
    """The oldest versions that pyproject.toml declares, of Keras, NumPy and JAX."""
    path = REPOSITORY / "tests" / "lower_bounds.py"
    spec = importlib.util.spec_from_file_location("lower_bounds", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return module.lowest([*project["dependencies"], *project["optional-dependencies"]["jax"]])


def rows() -> dict[str, tuple[str, str, list[str]]]:
    """By name: Python, backend, and what is installed."""
    oldest = PYTHONS[0]
    return {
        **{
            f"{python}-{backend}": (python, backend, ["keras", *packages])
            for python in PYTHONS
            for backend, packages in BACKENDS.items()
        },
        "lowest": (oldest, "jax", lowest()),
        # Under PyTorch, which compiles nothing.
        **{f"keras-{v}": (oldest, "torch", [f"keras=={v}.*", "torch"]) for v in KERAS},
        "keras-nightly": (oldest, "torch", ["keras-nightly", "torch"]),
    }


def interpreter(python: str) -> str | None:
    """This Python, on the path or of pyenv, if there is one that starts."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    named = [shutil.which(f"python{python}")]
    named += sorted(map(str, root.glob(f"versions/{python}.*/bin/python")))
    for path in filter(None, named):
        if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return None


def run(name: str, path: str, backend: str, needed: list[str], what: str) -> dict[str, object]:
    """One row: what was installed, and what these tests said."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([path, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "-qq", *needed, *TOOLS]
    installed = subprocess.run(install, capture_output=True, text=True)
    if installed.returncode:
        return {"result": "not to be installed: " + installed.stderr.strip().splitlines()[-1]}
    keras = "keras-nightly" if "keras-nightly" in needed else "keras"
    asked = dict.fromkeys([keras, "numpy", backend])
    listed = subprocess.run([python, "-m", "pip", "list", "--format=json"], capture_output=True)
    versions = {each["name"].lower(): each["version"] for each in json.loads(listed.stdout)}
    report = folder / "report.xml"
    environment = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": str(REPOSITORY)}
    if name == "lowest":  # the oldest JAX computes other last digits with compiled code of a cache
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    else:  # ... and does not know these flags, with which XLA compiles in a hurry
        environment["XLA_FLAGS"] = HURRY
    tests = [python, "-m", "pytest", "-q", f"--junitxml={report}", *TESTS[what]]
    ended = subprocess.run(tests, cwd=REPOSITORY, env=environment)
    if not report.exists():
        return {"result": f"the tests ended with {ended.returncode}"}
    suite = ElementTree.parse(report).getroot().find("testsuite").attrib
    skipped, bad = int(suite["skipped"]), int(suite["failures"]) + int(suite["errors"])
    return {
        "python": versions_of(python),
        "versions": {each: versions[each] for each in asked},
        "tests": what,
        "passed": int(suite["tests"]) - skipped - bad,
        "skipped": skipped,
        "failed": bad,
    }


def versions_of(python: str) -> str:
    """What the interpreter calls itself."""
    call = [python, "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()


def main(chosen: list[str]) -> int:
    """Runs the rows; 1 if a test failed or a row could not be installed."""
    bad = 0
    what = "core" if "--core" in chosen else "quick tests"
    for name in [each for each in chosen if each != "--core"] or rows():
        python, *asked = rows()[name]
        path = interpreter(python)
        found = {"result": "not found"} if path is None else run(name, path, *asked, what)
        table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
        table[name] = {"date": datetime.date.today().isoformat(), **found}
        ordered = {each: table[each] for each in rows() if each in table}
        TABLE.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
        print(name, found)
        bad += bool(found.get("failed") or found.get("result", "not found") != "not found")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
