"""The docstrings in the sources: whole, in order, and alike where they say the same."""

import ast
import inspect
import re
import shutil

import pytest
from docs_hooks import REPOSITORY, hook

from keras_attnpool import layers, models

pytestmark = pytest.mark.one_backend("reads docstrings")

docstrings = hook("docstrings", REPOSITORY / "tools")
PUBLIC = [
    each
    for module in (layers, models)
    for name, each in vars(module).items()
    if callable(each) and name != "get" and not name.startswith("_")
]


def test_what_is_common_is_alike():
    """Where it is not, `make layers` writes it, or `[own]` of tools/docstrings.toml names it."""
    assert [str(path) for path in docstrings.stale()] == []


@pytest.mark.parametrize("each", PUBLIC, ids=lambda each: each.__name__)
def test_every_argument_stands_in_its_place_in_the_source(each):
    source = ast.parse(inspect.getsource(inspect.unwrap(each))).body[0]
    text = ast.get_docstring(source)
    assert inspect.getdoc(each).rstrip() == text.rstrip()
    for title, function in (("Args", each), ("Call arguments", getattr(each, "call", None))):
        if function:
            section = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
            names = [n for n in inspect.signature(function).parameters if n != "self"]
            listed = re.findall(r"^    \*{0,2}(\w+): ", section, re.M)
            assert listed == [n for n in names if n in listed]
            assert title != "Args" or listed == names


def test_the_command_brings_back_what_is_common_and_keeps_what_is_own(tmp_path):
    for name in ("layers", "models", "analysis"):
        shutil.copytree(REPOSITORY / "keras_attnpool" / name, tmp_path / "keras_attnpool" / name)
    (tmp_path / "tools").mkdir()
    table = tmp_path / "tools" / "docstrings.toml"
    shutil.copy(REPOSITORY / "tools" / "docstrings.toml", table)
    path = tmp_path / "keras_attnpool" / "layers" / "low_rank_attention_pooling.py"
    before = path.read_text(encoding="utf-8")
    seed = re.search(r"^        seed: .*\n", before, re.M)[0]
    own = before.replace("Number of attention heads, the paper's m", "The paper's m, the heads")
    assert own != before
    path.write_text(own.replace(seed, ""), encoding="utf-8")
    docstrings.write(tmp_path)
    assert path.read_text(encoding="utf-8") == own
    # A new docstring gets its line once it is no skeleton, with what it says otherwise.
    lines = table.read_text(encoding="utf-8")
    line = re.search(r"^LastPooling1D = .*\n", lines, re.M)[0]
    table.write_text(lines.replace(line, ""), encoding="utf-8")
    docstrings.write(tmp_path)
    assert line in table.read_text(encoding="utf-8") and docstrings.stale(tmp_path) == {}
