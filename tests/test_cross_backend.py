"""A file saved on one backend loads on the others, in a new process, and predicts the same."""

import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from catalogue import CASES, together

from keras_attnpool import layers, models

pytestmark = pytest.mark.every_backend

# PyTorch writes for JAX, and the others for PyTorch, which compiles nothing; TensorFlow reads what
# earlier versions wrote, in robustness/test_saving.py. Slow tests have the other three pairs.
BACKEND = keras.backend.backend()
READER = "jax" if BACKEND == "torch" else "torch"
(LAST,) = {"torch", "jax", "tensorflow"} - {BACKEND, READER}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Every layer and every model, with inputs and outputs."""
    folder = tmp_path_factory.mktemp("saved")
    for number, (model, inputs) in enumerate(together(CASES)):
        save(model, folder / f"model_{number}", inputs)
    return folder


def save(model: keras.Model, path: Path, inputs: list[np.ndarray]) -> None:
    outputs = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    model.save(path.with_suffix(".keras"))
    np.savez(path.with_suffix(".outputs.npz"), **outputs)
    np.savez(path.with_suffix(".inputs.npz"), *inputs)


@pytest.mark.one_backend("reads names")
def test_every_layer_and_model_is_in_the_catalogue():
    public = {value for value in vars(layers).values() if isinstance(value, type)}
    source = Path(__file__).with_name("catalogue.py").read_text(encoding="utf-8")
    assert len(public) > 15
    assert all(f"layers.{layer.__name__}(" in source for layer in public)
    builders = [name for name, value in vars(models).items() if inspect.isfunction(value)]
    assert len(builders) > 12
    assert all(f"models.{name}(" in source for name in builders)


@pytest.mark.one_backend("reads names")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.is_layer])
def test_no_two_weights_of_a_model_have_one_path(name):
    """On PyTorch Keras keeps parameters by path: it would never clear the gradients of one."""
    paths = [variable.path for variable in CASES[name].model().variables]
    assert len(set(paths)) == len(paths)


# NumPy and OpenVINO read what PyTorch writes: one writer is enough, when three write the same.
PREDICT_ALONE = ["numpy", "openvino"] if BACKEND == "torch" else []


@pytest.mark.timeout(450)
@pytest.mark.parametrize(
    "backend", [READER, pytest.param(LAST, marks=pytest.mark.slow), *PREDICT_ALONE]
)
def test_every_file_loads_and_predicts_the_same(folder, backend):
    if backend == "openvino":
        pytest.importorskip("openvino", reason="comes with the extra `export` or `openvino`")
    else:
        assert importlib.util.find_spec(backend), f"the test environment must hold {backend}"
    script = Path(__file__).with_name("cross_backend.py")
    root = str(script.parent.parent)
    chosen = {"KERAS_BACKEND": backend, "PYTHONPATH": root}
    if backend == "jax":  # its compiler in a hurry, as the Makefile has it for JAX's own tests
        hurry = os.environ.get("XLA_HURRY", "--xla_backend_optimization_level=0")
        chosen["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {hurry}".strip()
    found = subprocess.run(
        [sys.executable, str(script), str(folder)],
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.strip().endswith(f"{backend}: {len(CASES)} outputs agree")
