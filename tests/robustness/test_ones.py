"""One head, query, feature, step, channel and row: right on TensorFlow, where a product is not."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from keras_attnpool import layers, models

BUILDERS = [name for name in sorted(dir(models)) if name[0].isupper()]
LAYERS = [name for name in sorted(dir(layers)) if name[0].isupper()]
WITH_HEADS = [n for n in LAYERS if "num_heads" in inspect.signature(getattr(layers, n)).parameters]
TESTS = Path(__file__).parents[1]

pytestmark = pytest.mark.one_backend("a process of its own under TensorFlow")


def walk(*names: str) -> None:
    """A process that writes beyond its memory dies, or ends with numbers that are off."""
    path = os.pathsep.join([str(TESTS.parent), str(TESTS), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-m", "robustness.ones", *names],
        env={**os.environ, "KERAS_BACKEND": "tensorflow", "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, f"{ended.returncode}: {ended.stderr[-2000:]}"
    differences = dict(line.split() for line in ended.stdout.splitlines())
    assert list(differences) == list(names)
    assert all(float(difference) < 1e-5 for difference in differences.values()), differences


def test_layers_with_heads():
    assert "ConvAttentionPooling" in WITH_HEADS
    walk(*WITH_HEADS)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [*LAYERS, *BUILDERS])
def test_each_class_in_a_process_of_its_own(name):
    walk(name)
