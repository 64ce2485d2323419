"""The list of faults that tools/mutants.py makes is kept with the code."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_backend("reads the source")

PATH = Path(__file__).parent.parent / "tools" / "mutants.py"
spec = importlib.util.spec_from_file_location("mutants", PATH)
mutants = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutants)


def test_every_fault_can_be_made():
    assert [found for m in mutants.MUTANTS if (found := mutants.fault(m))] == []
    made = {(m.file, m.original, m.replacement) for m in mutants.MUTANTS}
    assert len(made) == len(mutants.MUTANTS) >= 60
    rooms = {m.file.partition("/")[0] for m in mutants.MUTANTS}
    assert rooms == {"ops", "regularizers.py", "layers", "models", "analysis", "_checks.py"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"original": "nowhere in the file"}, "holds 0 times, not once: nowhere in the file"),
        ({"original": "mask"}, "times, not once: mask"),
        ({"tests": ("tests/test_nothing.py",)}, "there is no tests/test_nothing.py"),
    ],
)
def test_a_fault_that_cannot_be_made_is_named(changes, message):
    assert message in mutants.fault(mutants.MUTANTS[0]._replace(**changes))
