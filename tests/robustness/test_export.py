"""Exported models give the numbers of the Keras model, in their own runtimes, scores included.

`docs/support/export_<backend>.json` says what works; the guide "Saving and export" shows it. With
`KERAS_ATTNPOOL_WRITE_SUPPORT=1` every case is tried and the file is written anew; otherwise what
the file calls supported must still be.
"""

import datetime
import importlib.metadata
import json
import os
from pathlib import Path

import keras
import numpy as np
import pytest
from backend_functions import reason
from catalogue import CASES, MASK, randomized
from robustness import exported
from robustness.exported import BACKEND, FORMATS, OPEN

pytestmark = pytest.mark.every_backend

SUPPORT = Path(__file__).parents[2] / "docs" / "support" / f"export_{BACKEND}.json"
WRITE = bool(os.environ.get("KERAS_ATTNPOOL_WRITE_SUPPORT"))
# What has a part in a format; the first writes it, the last reads it.
PACKAGES = {
    "tf_saved_model": ["tensorflow"],
    "onnx": {"tensorflow": ["tf2onnx"], "jax": ["jax2onnx"], "torch": ["torch"]}[BACKEND]
    + ["onnx", "onnxruntime"],
    "openvino": ["openvino"],
    "litert": ["tensorflow", "ai-edge-litert"],
    "torch": ["torch"],
}
# Rounding: other kernels than Keras's, in float32.
TOLERANCE = 1e-5


def support_file() -> dict:
    return json.loads(SUPPORT.read_text(encoding="utf-8")) if SUPPORT.exists() else {}


def attempt(format: str, name: str, opened: str, folder: Path) -> str | None:
    """Exports and compares; what went wrong, or `None`."""
    keras.utils.clear_session(free_memory=False)
    case = exported.on_one_input(CASES[name])
    model = exported.with_scores(case)
    model(exported.fed(case.inputs))  # JAX's ONNX exporter wants a model that was called.
    try:
        path = exported.export(model, format, folder / "model", case, opened)
        difference = exported.difference(model, format, path, case, opened)
    except Exception as error:  # The exporters raise whatever they like.
        return reason(error)
    return None if difference < TOLERANCE else f"wrong numbers, by {difference:.0e}"


def write(format: str, name: str, verdict: str) -> None:
    """Puts one verdict into the file."""
    support = support_file()
    packages = ["keras", "numpy", BACKEND, *PACKAGES[format]]
    versions = {package: importlib.metadata.version(package) for package in packages}
    support["date"] = datetime.date.today().isoformat()
    support["versions"] = dict(sorted({**support.get("versions", {}), **versions}.items()))
    verdicts = support.setdefault("formats", {}).setdefault(format, {})
    verdicts[name] = verdict
    support["formats"][format] = {each: verdicts[each] for each in CASES if each in verdicts}
    SUPPORT.parent.mkdir(exist_ok=True)
    SUPPORT.write_text(json.dumps(support, indent=1) + "\n", encoding="utf-8")


CLAIMS = [
    (format, name)
    for format in FORMATS
    for name in CASES
    if WRITE or support_file().get("formats", {}).get(format, {}).get(name) in OPEN
]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("format", "name"), CLAIMS)
def test_export(format, name, tmp_path):
    if not WRITE:
        opened = support_file()["formats"][format][name]
        assert attempt(format, name, opened, tmp_path) is None
        return
    problems = []
    for opened in OPEN:
        problem = attempt(format, name, opened, tmp_path)
        if problem is None:
            break
        problems.append(problem)
    write(format, name, opened if problem is None else problems[-1])


MASKED = [name for name, case in CASES.items() if case.is_layer and case.inputs[-1] is MASK]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in MASKED if ("onnx", n) in CLAIMS])
def test_onnx_of_a_layer_without_its_scores_runs_at_other_shapes(name, tmp_path):
    """More rows and steps, and a single row: tf2onnx once wrote a transpose that fits one shape."""
    runtime = pytest.importorskip("onnxruntime", reason="comes with the extra `export`")
    if support_file()["formats"]["onnx"][name] != OPEN[0]:
        return  # it is exported for one length
    case = exported.on_one_input(CASES[name])
    model = randomized(case.model())
    (steps,) = case.inputs
    model(exported.fed([steps]))
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    (given,) = session.get_inputs()
    for other in (np.concatenate([steps, steps[:, :2]], axis=1)[[0, 1, 0]], steps[:1]):
        other = np.ascontiguousarray(other, "float32")
        found = session.run(None, {given.name: other})[0]
        expected = keras.ops.convert_to_numpy(model(exported.fed([other])))
        np.testing.assert_allclose(found, expected, atol=TOLERANCE)


@pytest.mark.slow  # a release has tried all there is; until then a new layer's row says "not tried"
def test_the_table_speaks_of_what_there_is():
    support = support_file()
    assert set(support["formats"]) == set(FORMATS)
    for verdicts in support["formats"].values():
        assert list(verdicts) == list(CASES)


def test_another_number_is_noticed(tmp_path, monkeypatch):
    case = exported.on_one_input(CASES["low_rank"])
    model = exported.with_scores(case)
    right = [keras.ops.convert_to_numpy(x) for x in model(exported.fed(case.inputs))]
    wrong = [right[0], right[1] + 1e-3]
    monkeypatch.setattr(exported, "run", lambda format, path: lambda inputs, names: wrong)
    difference = exported.difference(model, "any", tmp_path, case, "static shape only")
    assert np.isclose(difference, 1e-3, rtol=1e-3)
