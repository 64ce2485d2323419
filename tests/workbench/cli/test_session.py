"""The terminal session of the guide "Your texts, step by step", replayed."""

import doctest
import json
import re
import shlex
from pathlib import Path

import pytest

from benchmarks import own_files
from keras_attnpool.workbench.cli import main

pytestmark = pytest.mark.one_backend("test_smoke.py trains and predicts under every backend")

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "your-texts.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# A class that is never predicted has no precision: "-" stands for a number.
NUMBERS = re.compile(r"[+-]?\d[\d.,]*|(?<=\s)-(?=\s)")


def sessions(page):
    """`(command, what it prints)` of every command of the page's terminal sessions."""
    blocks = re.findall(r"^```console\n(.*?)^```", page, re.S | re.M)
    return [
        (command.removeprefix("$ "), printed)
        for block in blocks
        for command, printed in [block.split("\n", 1)]
    ]


def alike(expected, received):
    """Whether the output is that of the page, but for numbers and for what the page leaves out."""
    expected, received = (NUMBERS.sub("#", each) for each in (expected, received))
    return doctest.OutputChecker().check_output(expected, received, FLAGS)


@pytest.mark.timeout(300)
def test_replay(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = GUIDE.read_text(encoding="utf-8")
    exec(re.search(r"^```python\n(.*?)^```", page, re.S | re.M)[1], {})
    replayed = sessions(page)
    assert len(replayed) == 4
    for command, printed in replayed:
        start, *arguments = shlex.split(command)[2:]
        assert start == "keras_attnpool"
        status, (out, err) = main(arguments), capsys.readouterr()
        received = err + out  # as a terminal shows remarks, which come first
        assert status == 0, received
        assert alike(printed, received), f"{command}\n{received}"
    assert not alike("Accuracy 0.4", "Precision 0.4") and alike("a 1\n...\nb", "a -22\nx\ny\nb")


def test_the_table_is_that_of_the_runs():
    kept = json.loads(own_files.RESULTS.read_text(encoding="utf-8"))
    assert own_files.table(kept["runs"]) in GUIDE.read_text(encoding="utf-8")
