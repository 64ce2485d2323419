"""The library stands without the workbench: its tests pass where that folder is deleted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import keras_attnpool

pytestmark = pytest.mark.every_backend

TESTS = Path(__file__).parent
# Some of everything; the slow test runs all.
QUICK = ["ops/test_masking.py", "layers/test_masked_max_pooling1d.py"]
ALL = ["ops", "layers", "models", "analysis", "test_regularizers.py"]


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(QUICK, marks=pytest.mark.one_backend("no import asks for the backend")),
        pytest.param(ALL, marks=pytest.mark.slow),
    ],
    ids=["some", "all"],
)
def test_the_library_needs_no_workbench(tests, tmp_path):
    shutil.copytree(
        Path(keras_attnpool.__file__).parent,
        tmp_path / "keras_attnpool",
        ignore=shutil.ignore_patterns("workbench", "__pycache__"),
    )
    for name in [*tests, "golden", "reference", *(p.name for p in TESTS.glob("[!t]*.py"))]:
        copy = shutil.copytree if (TESTS / name).is_dir() else shutil.copy
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        copy(TESTS / name, tmp_path / "tests" / name)
    shutil.copy(TESTS.parent / "pyproject.toml", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    marks = ["-m", "not slow and not browser"]
    run = subprocess.run(
        [*command, *marks, *(f"tests/{name}" for name in tests)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert " passed" in run.stdout
