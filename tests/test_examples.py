"""Runs the examples: Python blocks of README and docs, and the examples of the docstrings.

The blocks of a page, or of a docstring, run in order from an empty namespace, as they are copied,
and share their names and a working folder that is thrown away.
"""

import contextlib
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import textwrap
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_attnpool
from keras_attnpool import analysis

pytestmark = pytest.mark.every_backend

REPOSITORY = Path(__file__).parent.parent
FENCE = re.compile(r"^(?P<indent> *)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```", re.M | re.S)
DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def fenced_blocks(text):
    """Yields `(line, code)` of each ```python block."""
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        yield line, textwrap.dedent(match["code"])


def docstring_blocks(doc):
    """Yields `(line, code)` of each fenced block, and of the lines that start with `>>>`."""
    prompted = any(">>>" in code for _, code in fenced_blocks(doc))
    for line, code in fenced_blocks(doc):
        if ">>>" not in code:
            yield line, code
    if prompted or ">>>" in FENCE.sub("", doc):
        # A closing fence is no expected output.
        bare = re.sub(r"^ *```.*$", "", doc, flags=re.M)
        yield doc[: doc.index(">>>")].count("\n") + 1, bare


def run_block(code, names, where, line):
    """Runs a block; a block with prompts must print what it says it prints."""
    if ">>>" not in code:
        exec(compile("\n" * (line - 1) + code, where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(code, {}, where, where, 0)
    test.globs = names
    output = []
    runner = doctest.DocTestRunner(optionflags=DOCTEST_FLAGS)
    if runner.run(test, out=output.append, clear_globs=False).failed:
        pytest.fail("".join(output), pytrace=False)


class Page:
    """Blocks that share their names. Running one first runs those before it that have not run."""

    def __init__(self, where, blocks):
        self.where = where
        self.blocks = list(blocks)
        self.names = {"__name__": "__main__"}
        self.folder = None
        self.done = 0
        self.lacks = None
        self.printed = ""

    def run(self, index):
        """Runs the block at `index`."""
        for line, code in self.blocks[self.done : index + 1]:
            if self.lacks is not None:  # what an earlier block imports in vain
                raise self.lacks
            self.done += 1
            try:
                with contextlib.redirect_stdout(io.StringIO()) as told:
                    run_block(code, self.names, self.where, line)
                self.printed += told.getvalue()
            except ImportError as error:
                self.lacks = error
                raise


def pages():
    """README and the documentation."""
    for path in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]:
        where = path.relative_to(REPOSITORY).as_posix()
        yield Page(where, fenced_blocks(path.read_text(encoding="utf-8")))


def members(value, prefix):
    """Yields `(dotted name, object)` of what a module or class defines itself."""
    yield prefix, value
    for name, member in vars(value).items():
        member = inspect.unwrap(getattr(member, "__func__", member))
        member = member.fget if isinstance(member, property) else member
        if inspect.isclass(member) or inspect.isfunction(member):
            own = inspect.isclass(value) or member.__module__ == value.__name__
            if own and not name.startswith("_"):
                if inspect.isclass(member):
                    yield from members(member, f"{prefix}.{name}")
                else:
                    yield f"{prefix}.{name}", member


def docstrings():
    """The docstrings of the package."""
    names = [i.name for i in pkgutil.walk_packages(keras_attnpool.__path__, "keras_attnpool.")]
    for name in ["keras_attnpool", *(n for n in names if not n.endswith("__main__"))]:
        module = importlib.import_module(name)
        for where, value in members(module, name):
            doc = inspect.cleandoc(value.__doc__ or "")
            yield Page(where, docstring_blocks(doc))


# One object a page: what a test has run, the next finds.
EVERY_PAGE = [*pages(), *docstrings()]
ELSEWHERE = pytest.mark.one_backend("make examples-jax and make examples-tensorflow run it there")


@pytest.mark.parametrize(
    ("page", "index"),
    [
        pytest.param(
            page,
            index,
            id=f"{page.where}-{index}",
            marks=() if page.where == "README.md" else ELSEWHERE,
        )
        for page in EVERY_PAGE
        for index in range(len(page.blocks))
    ],
)
def test_example(page, index, tmp_path_factory, monkeypatch):
    page.folder = page.folder or tmp_path_factory.mktemp("example")
    monkeypatch.chdir(page.folder)
    page.run(index)


def test_readme_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = EVERY_PAGE[0]
    page.run(len(page.blocks) - 1)
    text = (REPOSITORY / page.where).read_text(encoding="utf-8")
    number = r"\b0\.\d+"
    said = "".join(re.findall("^```text\n(.*?)^```", text, re.S | re.M))
    assert re.sub(number, "", page.printed) == re.sub(number, "", said)
    # The backends draw other first weights.
    numbers = [[float(n) for n in re.findall(number, each)] for each in (page.printed, said)]
    np.testing.assert_allclose(*numbers, atol=0.06)
    means, attentions = numbers[0][1:-2:2], numbers[0][2:-2:2]
    assert len(means) == len(attentions) and sum(attentions) > sum(means)


SHOWN = re.compile(r"^```\n\n```text\n((?:(?!```).*\n)*)```$", re.M)
QUANTITY = re.compile(r"\b\d+(?:\.\d+)?(?:e-\d+)?(?P<percent>%)?")
SHOWING = [
    page
    for page in EVERY_PAGE
    if page.where.startswith("docs/")
    and SHOWN.search((REPOSITORY / page.where).read_text(encoding="utf-8"))
]


@ELSEWHERE
@pytest.mark.parametrize("page", [pytest.param(page, id=page.where) for page in SHOWING])
def test_a_page_prints_what_it_shows(page, tmp_path_factory, monkeypatch):
    """Its words under every backend, and nearly its numbers under PyTorch."""
    page.folder = page.folder or tmp_path_factory.mktemp("example")
    monkeypatch.chdir(page.folder)
    page.run(len(page.blocks) - 1)
    text = (REPOSITORY / page.where).read_text(encoding="utf-8")
    printed, shown = page.printed.split(), "".join(SHOWN.findall(text)).split()
    words = [[QUANTITY.sub("", word) for word in each] for each in (printed, shown)]
    assert words[0] == words[1]
    if keras.backend.backend() == "torch":
        numbers = [
            [
                float(found[0].rstrip("%")) / (100 if found["percent"] else 1)
                for found in QUANTITY.finditer(" ".join(each))
            ]
            for each in (printed, shown)
        ]
        np.testing.assert_allclose(*numbers, atol=0.06)


def test_pages_show_outputs():
    assert len(SHOWING) > 3


def modules_not_imported(blocks):
    """The parts of the package that blocks name, neither public rooms nor imported by them.

    An example that needs them would run here, where something else has imported them.
    """
    code = "\n".join(code for _, code in blocks)
    named = set(re.findall(r"\bkeras_attnpool\.(\w+)", code))
    imported = set(re.findall(r"\b(?:import|from) keras_attnpool\.(\w+)", code))
    return named - imported - {*keras_attnpool.__all__, "__version__"}


@pytest.mark.one_backend("reads docstrings")
def test_examples_import_the_modules_they_name():
    planted = "import keras_attnpool\nkeras_attnpool.layers\nkeras_attnpool.types.Tensor"
    assert modules_not_imported([(1, planted)]) == {"types"}
    assert not modules_not_imported([(1, f"import keras_attnpool.types\n{planted}")])
    for page in EVERY_PAGE:
        assert not modules_not_imported(page.blocks), page.where


@pytest.mark.one_backend("the notebook on bags runs the same code under each")
def test_the_example_for_keras_io_runs(monkeypatch, capsys):
    path = REPOSITORY / "docs/support/keras-io-bags.py"
    code = path.read_text(encoding="utf-8")
    head = code.split('"""')[1].strip().splitlines()
    fields = {line.partition(": ")[0] for line in head}
    assert {"Title", "Author", "Date created", "Last modified", "Description"} <= fields
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {"__name__": "__main__"}
    exec(compile(code, str(path), "exec"), names)
    printed = capsys.readouterr().out
    for claim in ("Shuffled", "More padding", "By hand"):
        assert f"{claim}: True" in printed
    floor, share = re.findall(r": ([.\d]+) of the weight on positive instances", printed)
    assert float(share) > 2 * float(floor)
    accuracy = re.search(r"Accuracy on the validation bags: ([.\d]+)", printed)
    assert float(accuracy[1]) > 0.8


def test_readme_has_examples():
    assert next(pages()).blocks


# The models that show a leak, and say so.
LEAK_ON_PURPOSE = {
    ("docs/guides/masking.md", "leaky"),
    ("docs/guides/batch-independence.md", "leaky"),
    ("keras_attnpool.analysis.independence.batch_independence", "leaky"),
}
OURS = re.compile(r"Attention\w*\(|Pooling\w*\(|models\.[A-Z]")


def padded(tensor):
    """An array for an input of a model: the rows end in padding, the second in more of it."""
    shape = [2, *(6 if size is None else size for size in tensor.shape[1:])]
    steps = np.arange(shape[1])[None] < np.array([[shape[1] - 1], [max(1, shape[1] // 2)]])
    steps = steps.reshape(2, shape[1], *[1] * (len(shape) - 2))
    if tensor.dtype == "bool":
        return np.broadcast_to(steps, shape)
    random = np.random.default_rng(0)
    # The smallest of the tables that ids look up has two rows.
    values = random.normal(size=shape) if "float" in tensor.dtype else np.ones(shape)
    return (values * steps).astype(tensor.dtype)


@pytest.mark.one_backend("Keras hands masks on alike under every backend")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.where)
        for page in EVERY_PAGE
        if any(OURS.search(code) for _, code in page.blocks)
    ],
)
def test_no_example_gives_weight_to_padding(page, tmp_path_factory, monkeypatch):
    """The models that the examples leave behind, whatever masks this Keras hands on."""
    page.folder = page.folder or tmp_path_factory.mktemp("example")
    monkeypatch.chdir(page.folder)
    page.run(len(page.blocks) - 1)
    for name, model in list(page.names.items()):
        if not isinstance(model, keras.Model) or getattr(model, "inputs", None) is None:
            continue
        if any(len(x.shape) < 2 for x in model.inputs):
            continue
        if isinstance(model.input, dict) and "documents" in model.input:
            continue  # packed sentences are no rows of a batch
        fed = keras.tree.map_structure(padded, model.input)
        found = analysis.batch_independence(model, fed)
        leaks = (page.where, name) in LEAK_ON_PURPOSE
        assert found.holds != leaks, (name, str(found))


def test_an_example_that_gives_weight_to_padding_is_seen():
    ids = keras.Input((None,), dtype="int32")
    x = 2 * keras.layers.Embedding(9, 4, mask_zero=True)(ids)
    with pytest.warns(UserWarning, match="called without a mask"):
        leaky = keras.Model(ids, keras_attnpool.layers.AttentionPooling()(x))
    assert not analysis.batch_independence(leaky, padded(ids)).holds


def public_names():
    """Yields `(module, name)` of all classes and functions that the public modules offer."""
    rooms = {f"workbench.{name}" for name in keras_attnpool.workbench.__all__} - {
        "workbench.load_run"
    }
    for part in rooms | set(keras_attnpool.__all__) - {"ArgumentError", "workbench"}:
        module = importlib.import_module(f"keras_attnpool.{part}")
        offered = ["main"] if part == "workbench.cli" else vars(module)
        for name in offered:
            value = getattr(module, name)
            is_code = inspect.isclass(value) or inspect.isfunction(value)
            if is_code and not name.startswith("_") and "keras_attnpool" in value.__module__:
                yield part, name


def test_public_names_are_found():
    found = set(public_names())
    assert {("layers", "AttentionPooling"), ("ops", "masked_softmax")} <= found
    assert {
        ("models", "LAMA"),
        ("workbench.text", "WordTokenizer"),
        ("analysis", "RationaleScore"),
    } <= found


@pytest.mark.one_backend("reads docstrings")
@pytest.mark.parametrize(("part", "name"), sorted(public_names()))
def test_every_public_name_has_an_example(part, name):
    """Its own, not one that a base class has; `test_example` runs it."""
    value = getattr(importlib.import_module(f"keras_attnpool.{part}"), name)
    blocks = list(docstring_blocks(inspect.cleandoc(value.__doc__ or "")))
    assert blocks
    lines = [line.strip() for _, code in blocks for line in code.splitlines()]
    prompted = [line for line in lines if line.startswith((">>>", "..."))]
    shown = "\n".join(prompted or lines)
    assert re.search(rf"\b{name}\b", shown), "the example does not use the name"


PAGE = """
Text.

```python
x = 1
```

- in a list

  ```python
  assert x == 1
  y = 2
  ```

```bash
make demo
```
"""


def test_blocks_share_names_and_run_in_order():
    page = Page("page", fenced_blocks(PAGE))
    assert [line for line, _ in page.blocks] == [5, 11]
    page.run(1)
    assert page.names["y"] == 2


def test_failing_block_is_seen_with_its_line():
    page = Page("page.md", fenced_blocks("# Title\n\n```python\nok = 1\n1 / 0\n```\n"))
    with pytest.raises(ZeroDivisionError) as error:
        page.run(0)
    assert error.traceback[-1].lineno + 1 == 5


@pytest.mark.parametrize("fences", [("", ""), ("```python\n", "```\n")])
def test_prompts_are_compared(fences):
    right, wrong = (f"Example:\n\n{fences[0]}>>> 1 + 1\n{n}\n{fences[1]}" for n in (2, 3))
    (good,), (bad,) = docstring_blocks(right), docstring_blocks(wrong)
    run_block(good[1], {}, "good", good[0])
    with pytest.raises(pytest.fail.Exception, match="Expected"):
        run_block(bad[1], {}, "bad", bad[0])
