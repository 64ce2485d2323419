"""What `make test` prints of its checks, and when it fails: tools/checks.py."""

import importlib.util
import pathlib
import re
import sys

import pytest

pytestmark = pytest.mark.one_backend("starts small processes")

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
# Stands for make: what it is to do is told by the name of its target.
PROGRAM = """
import sys
name = sys.argv[1]
print(f"this is {name}")
if name.startswith("tests"):
    print("tests/test_x.py .... [100%]")
    print(f"===== {name[5:]} passed, 1 skipped in 0.12s =====")
sys.exit(name == "broken")
"""


@pytest.fixture
def checks(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("checks", REPOSITORY / "tools" / "checks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "LOGS", tmp_path)
    return module


def run(checks, capsys, *names, within=None, workers=2):
    """Whether all is green, and the lines that were printed, without their times."""
    command = [sys.executable, "-c", PROGRAM]
    green = checks.run(dict(checks.part(name) for name in names), workers, within, command)
    return green, re.sub(r"\d+:\d\d", "0:00", capsys.readouterr().out).splitlines()


def test_green_checks_end_in_one_line(checks, capsys):
    green, lines = run(checks, capsys, "tests1000", "tests234", "docs")
    assert green
    assert lines[-1].startswith("All green: ")
    assert lines[-1].endswith(" 1,234 tests in 0:00 on 2 cores.")
    assert "[ 0:00] docs ..." in lines and "[ 0:00] docs done in 0:00" in lines
    # How pytest closed.
    assert "[ 0:00] tests234 done in 0:00; 234 passed, 1 skipped in 0.12s" in lines
    assert not any("this is" in line for line in lines)


def test_a_failure_is_shown_whole_and_the_others_run_on(checks, capsys):
    green, lines = run(checks, capsys, "broken", "docs", "tests3", workers=1)
    assert not green
    assert "this is broken" in lines and "this is docs" not in lines
    assert "[ 0:00] broken FAILED in 0:00" in lines
    assert lines[-1] == "FAILED: broken (green: docs, tests3), in 0:00."


def test_what_does_not_fit_is_not_started(checks, capsys):
    green, lines = run(checks, capsys, "long=999", "docs=5", within=60)
    assert green
    assert "[ 0:00] long is left out: it takes 0:00" in lines
    assert lines[-2:] == [
        "Not run, for want of time: long.",
        "All green: docs. 0 tests in 0:00 on 2 cores.",
    ]


def test_the_makefile_names_targets_that_there_are():
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    named = re.findall(r"^(?:CHECKS|REST) +:= (.*)$", makefile, re.M)
    parts = [part.partition("=")[0] for line in named for part in line.split()]
    targets = set(re.findall(r"^([a-z][a-z -]*):", makefile, re.M))
    targets = {name for line in targets for name in line.split()}
    assert len(named) == 2 and len(set(parts)) == len(parts) > 12
    assert set(parts) <= targets
    assert all("=" in part for part in named[1].split())
