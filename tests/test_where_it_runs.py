"""The tables of what runs where: of every layer and cell, the same on README, and still true."""

import json
import re

import pytest
import where_it_runs
from catalogue import CASES
from docs_hooks import DOCS, REPOSITORY, hook

from keras_attnpool import layers

pytestmark = pytest.mark.one_backend("each backend has a process of its own")

FOLDER = DOCS / "support"
TABLE = json.loads(where_it_runs.TABLE.read_text(encoding="utf-8"))
support = hook("support")


def test_every_layer_has_every_cell():
    public = {value.__name__ for value in vars(layers).values() if isinstance(value, type)}
    assert set(TABLE["layers"].values()) == public
    assert {name: set(said) for name, said in TABLE["runs"].items()} == {
        name: set(checks) for name, checks in where_it_runs.CHECKS.items()
    }
    for backend in where_it_runs.CHECKS:
        rows = support.cells(FOLDER, backend)
        assert set(rows) == public
        assert all(list(row) == list(support.COLUMNS) for row in rows.values())


def test_readme_and_the_page_say_what_the_files_say():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (line,) = support.LINE.findall(readme)
    assert line == support.line(FOLDER), "run `python docs/hooks/support.py`"
    page = (DOCS / "backends.md").read_text(encoding="utf-8")
    asked = re.findall(r"^ *<!-- runs: (\w+) -->$", page, re.M)
    assert asked == ["summary", *support.BACKENDS, "versions"]


def test_a_cell_is_the_worst_of_a_layers_cases(tmp_path):
    found = {"layers": {"a": "One", "b": "One", "c": "Two"}, "date": "", "versions": {}}
    found["runs"] = {"jax": {"train": {"a": "yes", "b": "Error: no `op`", "c": "nothing inside"}}}
    (tmp_path / "layers.json").write_text(json.dumps(found), encoding="utf-8")
    formats = {"onnx": {"a": "same numbers", "b": "static length only"}}
    (tmp_path / "export_jax.json").write_text(json.dumps({"formats": formats}), encoding="utf-8")
    rows = support.cells(tmp_path, "jax")
    assert rows["One"]["train"] == ["Error: no `op`"] and rows["Two"]["train"] == support.NONE
    assert (rows["One"]["onnx"], rows["Two"]["onnx"]) == ("length fixed", support.NOT_TRIED)
    assert "| `One` | **no** (1) |" in support.runs("jax", tmp_path)
    assert "\n1. `Error: no op`" in support.runs("jax", tmp_path)
    assert support.count(rows, "train") == "0 of 1"
    assert support.count(rows, "onnx") == "0 of 2, 1 more fixed"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("backend", where_it_runs.CHECKS)
def test_each_backend_does_what_the_table_says(backend):
    if backend == "nnx":
        pytest.importorskip("flax", reason="comes with the extra `export`, as a part of jax2onnx")
    if backend == "openvino":
        pytest.importorskip("openvino", reason="comes with the extra `export` or `openvino`")
    assert set(TABLE["layers"]) == {name for name, case in CASES.items() if case.is_layer}
    found = where_it_runs.verdicts([backend])
    assert found["layers"] == TABLE["layers"]
    assert found["runs"][backend] == TABLE["runs"][backend]


def test_the_versions_begin_with_the_lowest():
    versions = hook("versions", REPOSITORY / "tools")
    (lowest,) = (each for each in versions.lowest() if each.startswith("keras=="))
    first = tuple(map(int, lowest.removeprefix("keras==").split(".")))
    assert tuple(map(int, versions.KERAS[0].split("."))) == (first[0], first[1] + 1)
    tested = json.loads((FOLDER / "versions.json").read_text(encoding="utf-8"))
    assert set(tested) <= set(versions.rows())
