"""Every file of tests says whether it runs under every backend or under one, and why."""

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_backend("reads the tests")

FOLDER = Path(__file__).parent
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("test_*.py"))


def marks(tree, name):
    """The places that name a marker of pytest."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == name]


def faults(source):
    """What is missing in a file of tests, as sentences."""
    tree = ast.parse(source)
    head = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(getattr(target, "id", "") == "pytestmark" for target in node.targets)
    ]
    every, one = (sum(len(marks(h, n)) for h in head) for n in ("every_backend", "one_backend"))
    if every + one != 1:
        yield (
            "does not say under which backends it runs. Write `pytestmark = "
            "pytest.mark.every_backend` below its imports, or, where no backend computes anything, "
            '`pytestmark = pytest.mark.one_backend("what it does instead")`'
        )
    if len(marks(tree, "every_backend")) > every:
        yield "has `every_backend` on a test: a file says so for all of its tests, in `pytestmark`"
    called = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    reasons = {id(call.func) for call in called if call.args and ast.unparse(call.args[0])[1:-1]}
    for name in ("one_backend", "torch_first"):
        if any(id(mark) not in reasons for mark in marks(tree, name)):
            yield f"has a `{name}` without a reason: `pytest.mark.{name}(reason)`"
    if one and marks(tree, "torch_first"):
        yield "has a `torch_first` that never comes to a second backend: the file has `one_backend`"


@pytest.mark.parametrize("path", FILES)
def test_a_file_says_under_which_backends_it_runs(path):
    found = [f"tests/{path} {fault}" for fault in faults((FOLDER / path).read_text("utf-8"))]
    assert not found, "\n".join(found)


EVERY = "pytestmark = pytest.mark.every_backend\n"
ONE = 'pytestmark = [pytest.mark.one_backend("files"), pytest.mark.slow]\n'


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("def test_it(): ...", "does not say"),
        ("pytestmark = pytest.mark.slow", "does not say"),
        (EVERY + ONE, "does not say"),
        (ONE.replace('"files"', '""'), "without a reason"),
        (ONE.replace('("files")', ""), "without a reason"),
        (EVERY + "@pytest.mark.one_backend\ndef test_it(): ...", "without a reason"),
        (EVERY + "@pytest.mark.torch_first()\ndef test_it(): ...", "without a reason"),
        (ONE + '@pytest.mark.torch_first("why")\ndef test_it(): ...', "never comes to a second"),
        (ONE + "@pytest.mark.every_backend\ndef test_it(): ...", "on a test"),
    ],
)
def test_a_fault_is_seen(source, fault):
    assert any(fault in each for each in faults(source))


@pytest.mark.parametrize(
    "source",
    [
        EVERY,
        ONE,
        EVERY + '@pytest.mark.one_backend("why")\ndef test_it(): ...',
        EVERY + '@pytest.mark.torch_first("why")\ndef test_it(): ...',
    ],
)
def test_a_decided_file_passes(source):
    assert not list(faults(source))
