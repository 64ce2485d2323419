"""The measured files, and what pages say of each in the same words."""

import json
import sys
from pathlib import Path

# For `benchmarks`, which hooks import.
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))
RESULTS = REPOSITORY / "benchmarks" / "results"
BACKENDS = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}


def read(path):
    """A file; one that is missing stops the build."""
    return json.loads(path.read_text(encoding="utf-8"))


def versions(found):
    """The packages that a file was measured with."""
    return ", ".join(f"{name} {version}" for name, version in found["versions"].items())


def dated(found):
    """When and with which packages a file was measured."""
    return f"{found['date']}, with {versions(found)}."
