"""The terminal sessions of the guide "Your texts, step by step".

`python -m benchmarks.guide` follows the page in an empty folder: it makes the page's files, types
its commands, keeps what they print and measure in `benchmarks/results/command_line/guide.json`, and
brings the figures of the page up to date.
"""

import contextlib
import io
import json
import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

from keras_attnpool.workbench.cli import main

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guides" / "your-texts.md"
RESULTS = ROOT / "benchmarks" / "results" / "command_line" / "guide.json"
COMMAND = r"(?P<command>(?:[^\n]*\\\n)*[^\n]*)"  # in several lines, where it is long
BLOCK = re.compile(rf"^```console\n\$ {COMMAND}\n(?P<printed>.*?)^```", re.S | re.M)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
# A class that is never predicted has no precision: "-" stands for a number.
CELL = re.compile(r"\S+(?: \S+)*")
NUMBERS = re.compile(r"[+-]?\d[\d.,]*|(?<=\s)-(?=\s|$)")
LEFT_OUT = "..."


def sessions(page: str) -> list[tuple[str, str]]:
    """Every command of the page, and what the page shows of its answer."""
    return [(one_line(block["command"]), block["printed"]) for block in BLOCK.finditer(page)]


def one_line(command: str) -> str:
    """A command as it is typed."""
    return " ".join(command.replace("\\\n", " ").split())


def shape(line: str) -> str:
    """A line without its numbers and without its spaces."""
    return "".join(NUMBERS.sub("#", line).split())


def shown(printed: str, received: str) -> str:
    """The answer in the page's form: its lines, with the numbers that were received.

    A line of the page that ends in "..." shows the first cells of the line.

    Raises:
        ValueError: When the command prints a line of the page no longer.
    """
    lines, rest = [], iter(received.splitlines())
    for line in printed.splitlines():
        found: str | None = line
        if line.strip() and line != LEFT_OUT:
            cells = len(CELL.findall(line.removesuffix(LEFT_OUT).rstrip()))
            cut = line.endswith(LEFT_OUT)
            answers = (first_cells(each, cells) if cut else each for each in rest)
            found = next((each for each in answers if shape(each) == shape(line)), None)
        if found is None:
            raise ValueError(f"the page shows a line that is not printed: {line!r}\n{received}")
        lines.append(found.rstrip())
    return "\n".join(lines) + "\n"


def first_cells(line: str, count: int) -> str:
    """The beginning of a line, and that more follows."""
    ends = [cell.end() for cell in CELL.finditer(line)]
    return f"{line[: ends[count - 1]]} {LEFT_OUT}" if len(ends) > count else line


def replay(page: str, folder: Path) -> list[dict[str, Any]]:
    """Follows the page in an empty folder: what each command printed, and what `train` measured."""
    records = []
    with contextlib.chdir(folder):
        exec(PYTHON.findall(page)[0], {})  # its files
        for command, _ in sessions(page):
            arguments = shlex.split(command)[3:]  # python -m keras_attnpool
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main(arguments)
            # As a terminal shows remarks, which come first.
            printed = err.getvalue() + out.getvalue()
            record: dict[str, Any] = {"command": command, "printed": printed}
            if status:
                raise ValueError(f"{command}: exit status {status}\n{printed}")
            if arguments[0] == "train":
                run = Path(arguments[arguments.index("--out") + 1])
                metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
                told = ("accuracy", "difference")
                record["results"] = {
                    row: {key: each[key] for key in told if key in each}
                    for row, each in metrics["results"].items()
                }
            records.append(record)
    return records


def refreshed(page: str, records: list[dict[str, Any]]) -> str:
    """The page with the numbers of these records."""
    printed = {record["command"]: record["printed"] for record in records}

    def block(match: re.Match[str]) -> str:
        answer = shown(match["printed"], printed[one_line(match["command"])])
        return f"```console\n$ {match['command']}\n{answer}```"

    return BLOCK.sub(block, page)


def update() -> None:
    """Follows the page, and brings it up to date."""
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        records = replay(page, Path(folder))
    kept = {"backend": os.environ.get("KERAS_BACKEND", "tensorflow"), "sessions": records}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(refreshed(page, records), encoding="utf-8")


if __name__ == "__main__":
    update()
