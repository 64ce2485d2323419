"""The command that begins a layer: what it writes, what it misses, and what it runs."""

import ast
import os
import re
import shutil
import subprocess
import sys

import pytest
from docs_hooks import REPOSITORY, hook
from layer_contract import batch

from keras_attnpool import layers

pytestmark = pytest.mark.one_backend("reads and writes files")

new_layer = hook("new_layer", REPOSITORY / "tools")
lists = new_layer.lists
LAYERS = {layer.name: layer for layer in lists.layers()}


@pytest.fixture
def copied(tmp_path):
    """The files that name layers, in a folder of their own."""
    for name in ("README.md", "CHANGELOG.md", "tests/catalogue.py", *new_layer.ROWS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    for name in ("keras_attnpool/layers", "docs/layers", "docs/assets/pictures", "tests/layers"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    return tmp_path


def test_a_new_layer_is_four_places_and_listed(copied):
    def content():
        files = (path for path in copied.rglob("*") if path.is_file())
        return {path.relative_to(copied).as_posix(): path.read_bytes() for path in files}

    before = content()
    new_layer.write("SoftPooling1D", copied)
    after = content()
    places = {
        "keras_attnpool/layers/soft_pooling1d.py",
        "tests/layers/test_soft_pooling1d.py",
        "docs/layers/soft-pooling1d.md",
        "docs/assets/pictures/soft_pooling1d.svg",
        "tests/catalogue.py",
    }
    changed = {name for name, text in after.items() if before.get(name) != text}
    assert changed == places | {"keras_attnpool/layers/__init__.py", "README.md"}
    assert b"import SoftPooling1D as" in after["keras_attnpool/layers/__init__.py"]
    assert b"| `SoftPooling1D` |" in after["README.md"]
    assert "::: keras_attnpool.layers.SoftPooling1D" in lists.fill("<!-- layers: api -->", copied)
    sheet = lists.fill("<!-- layers: cheat sheet of pooling -->", copied)
    row = "| [`SoftPooling1D`](layers/soft-pooling1d.md) | 0, TODO | words | \\(T\\) | \\(D\\) |"
    assert row in sheet and sheet.index("`MaskedMax") < sheet.index(row) < sheet.index("`Statis")
    # What is there stays as it is, also of a layer whose file has another name than expected.
    new_layer.write("SoftPooling1D", copied)
    new_layer.write("ShortcutStackedBiLSTM", copied)
    assert content() == after
    with pytest.raises(SystemExit, match="soft_pooling"):
        new_layer.write("soft_pooling", copied)
    # Once the class says what it does, CHANGELOG does too.
    module = copied / "keras_attnpool" / "layers" / "soft_pooling1d.py"
    does = "Takes the softmax of each feature, and the mean by these weights, over the kept steps."
    text = re.sub(r"TODO: what the layer does, .*", does, module.read_text(encoding="utf-8"))
    module.write_text(text, encoding="utf-8")
    for _ in range(2):
        new_layer.write("SoftPooling1D", copied)
    line = (
        "- `SoftPooling1D` takes the softmax of each feature, and the mean by these weights, over"
    )
    changes = before["CHANGELOG.md"].decode().partition("### Added\n\n")
    changes = f"{changes[0]}{changes[1]}{line} the kept\n  steps.\n{changes[2]}"
    assert content()["CHANGELOG.md"].decode() == changes


def test_the_top_of_a_page_that_cannot_be_read_names_the_page(copied):
    page = copied / "docs" / "layers" / "last-pooling1d.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("score: the", "score: none: the"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"last-pooling1d\.md is no YAML; .*single quotes"):
        lists.layers(copied)


@pytest.mark.parametrize("weights", [True, False])
def test_the_skeleton_is_a_layer_that_works(weights, tmp_path, monkeypatch):
    for template in ("new_layer.py", "test_new_layer.py"):
        skeleton = new_layer.TEMPLATES.get_template(f"{template}.jinja")
        text = skeleton.render(name="NewLayer", module="new_layer", weights=weights)
        (tmp_path / template).write_text(text, encoding="utf-8")
    config = ["--config", REPOSITORY / "pyproject.toml", tmp_path]
    for command in (["check", "--ignore", "D"], ["format", "--check"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *config], check=True)
    monkeypatch.setattr(layers, "NewLayer", hook("new_layer", tmp_path).NewLayer, raising=False)
    contract = hook("test_new_layer", tmp_path).TestNewLayer()
    contract.test_agrees_with_the_float64_reference(12, -1)
    layer = contract.built()
    contract.test_what_padding_holds_changes_nothing(
        (layer, contract.gradients_of(layer, batch()[0].shape))
    )
    contract.test_the_config_holds_every_argument()
    contract.test_by_hand()
    contract.test_parameters() if weights else contract.test_it_has_no_weights()


LAST = layers.LastPooling1D
# A part of each of the files of a layer, and the gap that is seen without it.
PARTS = {
    "keras_attnpool/layers/last_pooling1d.py": {
        "The last kept step of": "TODO",
        "bidirectional: Whether": "lacks `bidirectional` under Args",
        "Reference:": "lacks the parts Args, Call arguments",
    },
    "tests/layers/test_last_pooling1d.py": {
        "Contract)": "lacks the contract",
        "reference": "lacks a float64 reference",
    },
    "docs/layers/last-pooling1d.md": {
        "group: pooling": "lacks `group:` on its top",
        "  softmax over: –\n": "lacks `cheat_sheet:` on its top, with sees, score, softmax over, w",
        "# LastPooling1D": "lacks the title",
        "## Masking": "lacks the parts The equations",
        "$$": "lacks an equation",
        "assets/pictures/": "lacks a picture",
        "assert": "lacks an example",
        "`(batch, 1, dim)`": "lacks the docstring's output shapes",
        "No weights": "lacks the number of parameters",
        "/speed.md": "lacks a link to speed.md",
        "[API]": "lacks a link to the API",
    },
    "tests/catalogue.py": {"LastPooling1D": "does not name LastPooling1D"},
    "CHANGELOG.md": {"LastPooling1D": "does not name LastPooling1D"},
}


@pytest.mark.parametrize("path", PARTS)
def test_what_a_layer_lacks_is_seen(path, copied):
    file = copied / path
    whole = file.read_text(encoding="utf-8")
    module = copied / "keras_attnpool" / "layers" / "last_pooling1d.py"

    def gaps():
        layer = next(each for each in lists.layers(copied) if each.name == "LastPooling1D")
        source = lists.registered_class(module.read_text(encoding="utf-8"))
        cls = type(layer.name, (LAST,), {"__doc__": ast.get_docstring(source)})
        return new_layer.gaps(layer, cls, copied)

    assert gaps() == []
    for part, gap in PARTS[path].items():
        assert part in whole
        file.write_text(whole.replace(part, "TODO" * (gap == "TODO")), encoding="utf-8")
        (line,) = gaps()
        assert line.startswith(path) and gap in line


def test_what_arguments_ask_for_is_seen(copied):
    class SizedPooling1D(LAST):
        def __init__(self, softness, *, depth=1):
            super().__init__(locals(), depth=("deep",))

    catalogue = copied / "tests" / "catalogue.py"
    text = catalogue.read_text(encoding="utf-8").replace("layers.LastP", "layers.SizedP")
    catalogue.write_text(text, encoding="utf-8")
    layer = LAYERS["LastPooling1D"]._replace(name="SizedPooling1D")
    gaps = new_layer.gaps(layer, SizedPooling1D, copied)
    assert "tests/catalogue.py makes SizedPooling1D without softness" in gaps
    assert "benchmarks/arena/grid.py needs a line of MADE, which says softness" in gaps
    kinds = [gap for gap in gaps if "in VALIDATORS of keras_attnpool/_checks.py" in gap]
    assert len(kinds) == 1 and "lacks a line for `softness` in" in kinds[0]


@pytest.mark.slow  # a process of its own; what it calls is tested above
def test_the_command_writes_a_layer_and_tells_what_it_lacks(copied):
    for folder in ("keras_attnpool", "tools"):
        shutil.copytree(REPOSITORY / folder, copied / folder, dirs_exist_ok=True)
    command = [sys.executable, copied / "tools" / "new_layer.py", "LSEPooling1D", "--no-weights"]
    environment = {**os.environ, "PYTHONPATH": str(copied)}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=copied)
    assert told.stderr == ""
    lines = told.stdout.splitlines()
    assert "wrote  keras_attnpool/layers/lse_pooling1d.py" in lines
    lacks = lines[lines.index("LSEPooling1D lacks:") + 1 :]
    todos = {line.partition(":")[0] for line in lacks if "TODO" in line}
    assert len(todos) == 4 and "docs/assets/pictures/lse_pooling1d.svg" in todos
    assert [line for line in lacks if "TODO" not in line] == [
        "CHANGELOG.md does not name LSEPooling1D"
    ]


def test_the_command_runs_the_tests_that_name_the_layer_and_tells_what_is_open():
    words = new_layer.tests_of(LAYERS["LastPooling1D"])
    named = "LastPooling1D or last_pooling1d or last-pooling1d or last_word"
    assert named in words and words[-1] == str(REPOSITORY / "tests")
    layer = LAYERS["LastPooling1D"]
    assert new_layer.open_places(layer) == []
    (name, *_) = new_layer.open_places(layer._replace(name="SizedPooling1D"))
    assert name.startswith("keras_attnpool/layers/names.py: a short name")
