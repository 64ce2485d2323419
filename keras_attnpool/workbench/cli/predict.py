"""The command `predict`."""

import csv
import errno
import itertools
import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from keras_attnpool.analysis.html_heatmaps import visible
from keras_attnpool.workbench._files import whole_file
from keras_attnpool.workbench._text_files import (
    check_width,
    code_page,
    column_places,
    control_remark,
    csv_rows,
    opened,
    tsv_rows,
)
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.options import flag
from keras_attnpool.workbench.cli.reporting import reported
from keras_attnpool.workbench.cli.trained import Run

BATCH = 64  # number of texts that are predicted at once
NUMBER = re.compile(r"[+-]?[\d., ]+(e[+-]?\d+)?%?", re.IGNORECASE)  # phone numbers match as well
# A table escapes these control characters. In a .csv, quotes keep tabs and line breaks.
BUT_LINES, ALL = r"[^\r\n\t]+|\r(?!\n)", r"(?s).+"


def predict(given: dict[str, Any]) -> int:
    """Prints the class of every text, batch by batch.

    Args:
        given: The option `run`, and those of the options `texts`, `file`, `input` (with its reading
            options), `output` and `json` that the user gave.

    Returns:
        The exit status, 0.

    Raises:
        CommandError: If the run or the input cannot be used.
    """
    with _output(given) as (stream, kind):
        table = given_table(given)
        run = Run.load(given["run"])
        # A user who types texts needs each answer at once.
        size = 1 if reads_stdin(given) and sys.stdin.isatty() else BATCH
        start, done, empty, shown = time.monotonic(), 0, 0, 0.0
        mark = "\t" if kind == ".tsv" else given.get("delimiter", ",")
        write = WRITERS[kind](stream, table.names, run.label_names, mark)
        while batch := list(itertools.islice(table.rows, size)):
            answers = run.probabilities([content for content, _ in batch]).tolist()
            for (content, row), answer in zip(batch, answers, strict=True):
                each = dict(zip(run.label_names, answer, strict=True))
                write(content, row, max(each, key=each.__getitem__), each)
            stream.flush()
            done += len(batch)
            empty += sum(not content.strip() for content, _ in batch)
            seconds = time.monotonic() - start
            if stream is not sys.stdout and sys.stderr.isatty() and seconds > shown + 1:
                print(f"\r{done} texts, {done / seconds:.0f} a second", end="", file=sys.stderr)
                shown = seconds
        if stream is not sys.stdout:
            print(f"{done} texts: {given['output']}")
        tell_of_empty(empty, done)
    return 0


def tell_of_empty(empty: int, texts: int) -> None:
    """Reports on standard error how many texts have no words."""
    if empty:
        told = f"note: {empty} of {texts} texts" if texts > 1 else "note: the text"
        are = "is" if 1 in (empty, texts) else "are"
        print(f"{told} {are} empty: the answer is what the model says of nothing", file=sys.stderr)


@contextmanager
def _output(given: dict[str, Any]) -> Iterator[tuple[TextIO, str]]:
    """Opens the output in its format. A file is written whole or not at all."""
    if "output" not in given:
        yield sys.stdout, "json" if given.get("json") else ""
        return
    path = Path(given["output"])
    if given.get("json"):
        raise CommandError("--json is for lines on standard output: the ending of --output says it")
    if path.is_dir():
        raise CommandError(f"--output {path} must be the name of a file, not of a folder")
    if path.suffix.lower() not in TABLES:
        raise CommandError(f"--output must end in {', '.join(TABLES)}. Received: {path}")
    if not path.parent.is_dir():
        raise CommandError(f"--output {path}: there is no folder {path.parent}")
    source = given.get("input", given.get("file"))
    if source and path.exists() and os.path.exists(source) and path.samefile(source):
        raise CommandError(f"--output {path} is the file that the texts are read from")
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        yield file, path.suffix.lower()


class Table(NamedTuple):
    """Texts with the other cells of their rows.

    Attributes:
        names: The names of the columns.
        rows: One pair per text: the text and the cells of its row.
    """

    names: list[str]
    rows: Iterator[tuple[str, list[str]]]


# The type of a function that writes a text, its row, its class and the probabilities of all
# classes.
Writer = Callable[[str, list[str], str, dict[str, float]], None]


def _lines(stream: TextIO, names: list[str], classes: list[str], mark: str) -> Writer:
    """Readable lines: label, probability, text."""

    def write(content: str, row: list[str], label: str, each: dict[str, float]) -> None:
        line = field(" ".join(content.split()))
        print(field(label), f"{each[label]:.4f}", line, sep="\t", file=stream)

    return write


def _objects(stream: TextIO, names: list[str], classes: list[str], mark: str) -> Writer:
    """JSON objects, one per line: the text, then the answer."""

    def write(content: str, row: list[str], label: str, each: dict[str, float]) -> None:
        answer = {"text": content, "label": label, "probability": each[label]}
        print(json.dumps(answer | {"probabilities": each}), file=stream)

    return write


def _table(stream: TextIO, names: list[str], classes: list[str], mark: str) -> Writer:
    """A table with the input's columns, the answer, and one column per class."""
    own = ["label", "probability", *(f"p({field(name)})" for name in classes)]
    own = _own_names(own, names)
    writer = csv.writer(stream, delimiter=mark, lineterminator="\n")
    shown = ALL if mark == "\t" else BUT_LINES

    def put(cells: list[str]) -> None:
        # With the dot, `visible` does not mark a text of only white space.
        told = (re.sub(shown, lambda part: visible(f".{part[0]}")[1:], cell) for cell in cells)
        writer.writerow(map(_no_formula, told))

    def write(content: str, row: list[str], label: str, each: dict[str, float]) -> None:
        put([*row, label, *(f"{value:.6f}" for value in (each[label], *each.values()))])

    put([*names, *own])
    return write


def _own_names(wanted: list[str], names: list[str]) -> list[str]:
    """Names the output's own columns; the names differ from the names of the input's columns."""
    taken, own, number = {name.strip() for name in names}, wanted, 1
    while taken.intersection(own):
        number += 1
        own = [f"{name}_{number}" for name in wanted]
    if own is not wanted:
        first = next(name for name in wanted if name in taken)
        told = f"the answer is in {', '.join(map(repr, own))}"
        print(f"note: the input has a column {visible(first)!r}: {told}", file=sys.stderr)
    return own


TABLES = (".csv", ".tsv")
TABLE_OPTIONS = ("text_column", "header", "delimiter")  # of --input
WRITERS: dict[str, Callable[[TextIO, list[str], list[str], str], Writer]] = {
    "": _lines,
    "json": _objects,
    ".csv": _table,
    ".tsv": _table,
}


def given_table(given: dict[str, Any]) -> Table:
    """Returns the texts of a command, from arguments, a file's lines, standard input or a table.

    Raises:
        CommandError: If a text is the name of a file, or if a file cannot be read as texts.
    """
    sources = [name for name in ("texts", "file", "input") if given.get(name)]
    if len(sources) > 1:
        raise CommandError("TEXT, --file and --input exclude each other")
    for name in TABLE_OPTIONS:
        if name in given and "input" not in given:
            raise CommandError(f"{flag(name)} needs an --input")
    for name in ("file", "input"):
        if given.get(name, "-") != "-":
            _check_file(f"--{name}", given[name])
    if "encoding" in given and (given.get("texts") or reads_stdin(given)):
        raise CommandError("--encoding needs an --input or a --file")
    if "input" in given:
        rows = table_rows(given["input"], given)
        return Table(next(rows), rows)
    texts = iter(given.get("texts", ()))
    if "file" in given or not sources:
        texts = lines(sys.stdin) if reads_stdin(given) else _lines_of(given["file"], given)
    for content in filter(os.path.isfile, given.get("texts", ())):
        is_table = content.lower().removesuffix(".gz").endswith(TABLES)
        how = f"--input {content} reads a column of it"
        raise CommandError(
            f"{content} is a file, not a text: "
            f"{how if is_table else f'--file {content} reads one text per line'} (if it is a text "
            "after all, write it to standard input)"
        )
    return Table(["text"], ((content, [content]) for content in texts))


def _check_file(option: str, path: str) -> None:
    # The file is not opened for this check, because a pipe can be opened only once.
    with reported(option):
        if stat.S_ISDIR(os.stat(path).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


def reads_stdin(given: dict[str, Any]) -> bool:
    """Whether the texts are the lines of standard input."""
    return not given.get("texts") and "input" not in given and given.get("file", "-") == "-"


def table_rows(path: str, given: dict[str, Any]) -> Iterator[Any]:
    """Reads the texts of one column of a .csv or .tsv file, gzipped or not, one by one.

    Args:
        path: The file.
        given: Given values of `text_column`, `header`, `delimiter` and `encoding`.

    Returns:
        The names of the columns, and pairs of text and row as in `Table`.

    Raises:
        CommandError: If the file has no such column, or cannot be read.
    """
    ending = Path(path.lower().removesuffix(".gz")).suffix
    if ending not in TABLES:
        raise CommandError(f"--input must end in {', '.join(TABLES)}. Received: {path}")
    wanted = given.get("text_column", "text")
    is_named = isinstance(wanted, str)
    if is_named and not given.get("header", True):
        raise CommandError("--no-header must have --text-column as a position from 0")
    # The header is read as `train` reads it. The first line names the columns of a .csv, unless
    # --no-header is given. It names the columns of a .tsv if a column is given by name.
    header = given.get("header", ending == ".csv") or is_named
    if "delimiter" in given:
        ending = ".csv"
    return _rows(path, given, ending, wanted, header)


def _rows(
    path: str, given: dict[str, Any], ending: str, wanted: str | int, header: bool
) -> Iterator[Any]:
    delimiter = given.get("delimiter", "," if ending == ".csv" else "\t")
    with _opened("--input", path, given) as stream:
        watched = _watched(path, stream)
        is_tsv = ending == ".tsv"
        rows = tsv_rows("".join(watched)) if is_tsv else csv_rows(path, watched, delimiter)
        start, first = next(rows, (1, []))
        (place,) = column_places("", path, first, delimiter, {"text_column": wanted})
        yield first if header else [str(position) for position in range(len(first))]
        for number, cells in itertools.chain([] if header else [(start, first)], rows):
            if cells != [""]:
                check_width(path, number, cells, first)
                yield cells[place], cells


def lines(stream: TextIO, path: str = "standard input") -> Iterator[str]:
    """The lines of a stream. Each line is a text.

    Raises:
        CommandError: If standard input is not in its encoding.
    """
    if stream.isatty():
        print("Reading texts, one per line, until Ctrl-D.", file=sys.stderr)
    try:
        for line in _watched(path, stream):
            yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        if stream is not sys.stdin:
            raise
        page = code_page(error.object)
        cure = f"; iconv -f {page} -t utf-8 makes it" if page else ""
        raise CommandError(f"{path} must hold {error.encoding}{cure}. Received: {error}") from error


def _lines_of(path: str, given: dict[str, Any]) -> Iterator[str]:
    if path.lower().endswith((*TABLES, ".gz")):
        raise CommandError(
            f"--file must hold texts, one per line, and nothing else. Received: {path}; "
            "--input with --text-column reads a column of a table"
        )
    with _opened("--file", path, given, newline=None) as stream:
        yield from lines(stream, path)


@contextmanager
def _opened(
    option: str, path: str, given: dict[str, Any], newline: str | None = ""
) -> Iterator[TextIO]:
    encoding = given.get("encoding", "utf-8")
    with reported(), opened(option, path, encoding, newline=newline) as stream:
        yield stream


def _watched(path: str, stream: TextIO) -> Iterator[str]:
    """Yields the lines of a stream without a byte order mark, and warns of a control character."""
    is_told = False
    for place, line in enumerate(stream):
        if not is_told and (remark := control_remark(path, line, stream.encoding)):
            print(f"note: {remark}", file=sys.stderr)
            is_told = True
        yield line if place else line.removeprefix("\ufeff")


def field(content: str) -> str:
    """Turns a label or a text into a safe part of a line for terminals and spreadsheets."""
    return _no_formula(visible(content))


def _no_formula(line: str) -> str:
    is_formula = len(line) > 1 and line[0] in "=+-@" and not NUMBER.fullmatch(line)
    return f"'{line}" if is_formula else line
