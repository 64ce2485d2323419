"""The command `predict`."""

import codecs
import csv
import errno
import functools
import gzip
import io
import itertools
import json
import os
import re
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from keras_attnpool.analysis.html_heatmaps import visible
from keras_attnpool.workbench._files import whole_file
from keras_attnpool.workbench.cli.errors import CommandError, reported
from keras_attnpool.workbench.cli.options import flag
from keras_attnpool.workbench.cli.trained import Run

BATCH = 64  # texts that are answered at once
# What a file of texts that is none makes its readers raise.
ERRORS = (
    UnicodeError,
    EOFError,
    gzip.BadGzipFile,
    zlib.error,
    json.JSONDecodeError,
    RecursionError,
)
NUMBER = re.compile(r"[+-]?[\d., ]+(e[+-]?\d+)?%?", re.IGNORECASE)  # also one to call
# Where a table shows control characters. The quotes of a .csv keep tabs and line breaks.
BUT_LINES, ALL = r"[^\r\n\t]+|\r(?!\n)", r"(?s).+"


def predict(given: dict[str, Any]) -> int:
    """Prints the class of every text, batch by batch.

    Args:
        given: `run`, and what was given of `texts`, `file`, `input` with how it is read, `output`
            and `json`.

    Returns:
        The exit status, 0.

    Raises:
        CommandError: If the run or the input cannot be used.
    """
    with _output(given) as (stream, kind):
        table = given_table(given)
        run = Run.load(given["run"])
        # Whoever types waits for each answer.
        size = 1 if reads_stdin(given) and sys.stdin.isatty() else BATCH
        start, done, shown = time.monotonic(), 0, 0.0
        write = WRITERS[kind](stream, table.names, run.label_names, given.get("delimiter", ","))
        while batch := list(itertools.islice(table.rows, size)):
            answers = run.probabilities([content for content, _ in batch]).tolist()
            for (content, row), answer in zip(batch, answers, strict=True):
                write(content, row, dict(zip(run.label_names, answer, strict=True)))
            stream.flush()
            done += len(batch)
            seconds = time.monotonic() - start
            if stream is not sys.stdout and sys.stderr.isatty() and seconds > shown + 1:
                print(f"\r{done} texts, {done / seconds:.0f} a second", end="", file=sys.stderr)
                shown = seconds
        if stream is not sys.stdout:
            print(f"{done} texts: {given['output']}")
    return 0


@contextmanager
def _output(given: dict[str, Any]) -> Iterator[tuple[TextIO, str]]:
    """Where answers go and in what form; a file is there as a whole or not at all."""
    if "output" not in given:
        yield sys.stdout, ".jsonl" if given.get("json") else ""
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
    """Texts, each with what stands beside it.

    Attributes:
        names: The names of the columns, or the keys of the first object.
        rows: Of every text the text and its row: the cells, or the object.
    """

    names: list[str]
    rows: Iterator[tuple[str, Any]]


# What writes a text, its row and the probabilities of the classes.
Writer = Callable[[str, Any, dict[str, float]], None]


def _lines(stream: TextIO, names: list[str], classes: list[str], mark: str) -> Writer:
    """Lines to read: label, probability, text."""

    def write(content: str, row: Any, probabilities: dict[str, float]) -> None:
        label = max(probabilities, key=probabilities.__getitem__)
        line = field(" ".join(content.split()))
        print(field(label), f"{probabilities[label]:.4f}", line, sep="\t", file=stream)

    return write


def _objects(stream: TextIO, names: list[str], classes: list[str], mark: str) -> Writer:
    """JSON objects, one a line: what the input says, then the answer."""
    own, numbers = _own_names(["label", "probability", "probabilities"], names), itertools.count(1)
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise CommandError(
            f"the input has two columns {twice[0]!r}: an object has one, a .csv both"
        )

    def write(content: str, row: Any, probabilities: dict[str, float]) -> None:
        row = row if isinstance(row, dict) else dict(zip(names, row, strict=True))
        _check_keys(row.keys() & set(own), next(numbers))
        label = max(probabilities, key=probabilities.__getitem__)
        answer = zip(own, (label, probabilities[label], probabilities), strict=True)
        print(json.dumps(row | dict(answer)), file=stream)

    return write


def _table(ending: str, stream: TextIO, names: list[str], classes: list[str], mark: str) -> Writer:
    """A table with the input's columns, then the answer, one column a class."""
    own = ["label", "probability", *(f"p({field(name)})" for name in classes)]
    own, numbers = _own_names(own, names), itertools.count(1)
    writer = csv.writer(stream, delimiter=mark, lineterminator="\n")

    def put(cells: list[str]) -> None:
        if ending == ".csv":
            writer.writerow([_cell(cell, BUT_LINES) for cell in cells])
        else:
            print(*(_cell(cell, ALL) for cell in cells), sep="\t", file=stream)

    def write(content: str, row: Any, probabilities: dict[str, float]) -> None:
        if isinstance(row, dict):
            _check_keys(row.keys() - set(names), next(numbers), " (a .jsonl keeps it)")
            row = [_as_text(row.get(name)) for name in names]
        label = max(probabilities, key=probabilities.__getitem__)
        answer = [f"{value:.6f}" for value in (probabilities[label], *probabilities.values())]
        put([*row, label, *answer])

    put([*names, *own])
    return write


def _own_names(wanted: list[str], names: list[str]) -> list[str]:
    """The names of the answer's columns; what the input has keeps its name."""
    taken, own, number = {name.strip() for name in names}, wanted, 1
    while taken.intersection(own):
        number += 1
        own = [f"{name}_{number}" for name in wanted]
    if own is not wanted:
        first = next(name for name in wanted if name in taken)
        told = f"the answer is in {', '.join(map(repr, own))}"
        print(f"note: the input has a column {visible(first)!r}: {told}", file=sys.stderr)
    return own


def _check_keys(keys: Set[str], number: int, advice: str = "") -> None:
    """Refuses an object with keys that the first one does not have and that would be lost."""
    if keys:
        key = visible(min(keys))
        raise CommandError(f"text {number} has the key {key!r}, which the first one lacks{advice}")


def _as_text(value: Any) -> str:
    """A value of an object as a cell."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


TABLES = (".csv", ".tsv", ".jsonl")
TABLE_OPTIONS = ("text_column", "header", "delimiter")  # of --input
WRITERS: dict[str, Callable[[TextIO, list[str], list[str], str], Writer]] = {
    "": _lines,
    ".jsonl": _objects,
    ".csv": functools.partial(_table, ".csv"),
    ".tsv": functools.partial(_table, ".tsv"),
}


def given_table(given: dict[str, Any]) -> Table:
    """The texts of a command: its arguments, the lines of a file or standard input, or a table.

    Raises:
        CommandError: If a file stands where a text is expected, or cannot be read as texts.
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
    for content in given.get("texts", ()):
        if os.path.isfile(content):
            is_table = content.lower().removesuffix(".gz").endswith(TABLES)
            how = (
                "--input {} reads a column of it" if is_table else "--file {} reads one text a line"
            )
            raise CommandError(
                f"{content} is a file, not a text: {how.format(content)} (if it is a text after "
                "all, write it to standard input)"
            )
    return Table(["text"], ((content, [content]) for content in texts))


def _check_file(option: str, path: str) -> None:
    # Not by opening it: a pipe can be opened once.
    with reported(option):
        if stat.S_ISDIR(os.stat(path).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


def reads_stdin(given: dict[str, Any]) -> bool:
    """Whether the texts are the lines of standard input."""
    return not given.get("texts") and "input" not in given and given.get("file", "-") == "-"


def table_rows(path: str, given: dict[str, Any]) -> Iterator[Any]:
    """The texts of one column of a .csv, .tsv or .jsonl file, gzipped or not, as they are read.

    Args:
        path: The file.
        given: What was given of `text_column`, `header`, `delimiter` and `encoding`.

    Returns:
        The names of the columns, then for every text the text and its row, as in `Table`.

    Raises:
        CommandError: If the file has no such column, or cannot be read.
    """
    ending = Path(path.lower().removesuffix(".gz")).suffix
    if ending not in TABLES:
        raise CommandError(f"--input must end in {', '.join(TABLES)}. Received: {path}")
    wanted = given.get("text_column", "text")
    is_named = isinstance(wanted, str)
    if ending != ".csv" and "delimiter" in given:
        raise CommandError(f"--delimiter is for a .csv. Received: {path}")
    if ending == ".jsonl" and "header" in given:
        raise CommandError(f"--header is for a .csv or .tsv. Received: {path}")
    if is_named and not given.get("header", True):
        raise CommandError("--no-header must have --text-column as a position from 0")
    # As `train` reads them: the first line names the columns of a .csv, unless --no-header says
    # otherwise, and of a .tsv if a column is named.
    header = given.get("header", ending == ".csv") or is_named
    # The lines of a .tsv end with \n, as in `train`; a csv.reader wants them as they are.
    stream = _opened(path, given, newline="\n" if ending == ".tsv" else "")
    return _rows(stream, path, ending, wanted, header, given.get("delimiter", ","))


def _rows(
    stream: Any, path: str, ending: str, wanted: str | int, header: bool, delimiter: str
) -> Iterator[Any]:
    where, names = path, None
    with stream:
        try:
            if ending == ".jsonl":
                for number, line in enumerate(stream, 1):
                    where = f"{path}, line {number}"
                    if not line.strip():
                        continue
                    row = json.loads(line)
                    if not isinstance(row, dict) or not isinstance(row.get(str(wanted)), str):
                        raise CommandError(
                            f"{where} must be an object with a string as {str(wanted)!r} "
                            "(--text-column)"
                        )
                    if names is None:
                        names = list(row)
                        yield names
                    yield row[str(wanted)], row
                if names is None:
                    yield []
                return
            csv.field_size_limit(2**31 - 1)  # as in `train`, a text may be long
            rows = csv.reader(stream, delimiter=delimiter, strict=True)
            cells_of = ((rows.line_num, cells) for cells in rows)
            if ending == ".tsv":
                cells_of = (
                    (number, line.removesuffix("\n").removesuffix("\r").split("\t"))
                    for number, line in enumerate(stream, 1)
                )
            start, first = next(cells_of, (1, []))
            first[:1] = [cell.removeprefix("\ufeff") for cell in first[:1]]
            place = _place(path, first, wanted)
            yield first if header else [str(position) for position in range(len(first))]
            for number, cells in itertools.chain([] if header else [(start, first)], cells_of):
                if cells in ([], [""]):
                    continue
                if len(cells) != len(first):
                    raise CommandError(
                        f"{path}, line {number}: has {len(cells)} columns, the first line "
                        f"{len(first)}"
                    )
                yield cells[place], cells
        except csv.Error as error:
            raise CommandError(f"{path}, line {rows.line_num}: {error}") from error
        except ERRORS as error:
            raise CommandError(f"{where} cannot be read: {error}") from error


def _place(path: str, names: list[str], wanted: str | int) -> int:
    names = [name.strip() for name in names]
    if isinstance(wanted, int) and wanted < len(names):
        return wanted
    if isinstance(wanted, int) or names.count(wanted) != 1:
        raise CommandError(
            f"{path}: --text-column must be one of the columns {', '.join(names)[:300]} or a "
            f"position from 0. Received: {wanted!r}"
            f"{_delimiter_remark(names[0]) if len(names) == 1 else ''}"
        )
    return names.index(wanted)


def _delimiter_remark(names: str) -> str:
    """What to say when the names of all columns were taken for one."""
    for typed_as, character in ((";", ";"), ("tab", "\t")):
        if character in names:
            return f". If the columns stand between {typed_as!r}: --delimiter {typed_as!r}"
    return ""


def lines(stream: TextIO) -> Iterator[str]:
    """The lines of a stream, each of them a text.

    Raises:
        CommandError: If they are not in the encoding of the stream.
    """
    name = "standard input" if stream is sys.stdin else stream.name
    if stream.isatty():
        print("Reading texts, one a line, until Ctrl-D.", file=sys.stderr)
    try:
        for place, line in enumerate(stream):
            yield line.rstrip("\r\n") if place else line.rstrip("\r\n").removeprefix("\ufeff")
    except UnicodeError as error:
        expected = getattr(error, "encoding", stream.encoding)
        raise CommandError(f"{name} must hold {expected}. Received: {error}") from error


def _lines_of(path: str, given: dict[str, Any]) -> Iterator[str]:
    if path.lower().endswith((*TABLES, ".gz")):
        raise CommandError(
            f"--file must hold texts, one per line, and nothing else. Received: {path}; "
            "--input with --text-column reads a column of a table"
        )
    return _read(_opened(path, given))


def _opened(path: str, given: dict[str, Any], newline: str | None = None) -> TextIO:
    """The content of a file, gzipped or not. A pipe can be opened once: its start is peeked at."""
    wanted = str(given.get("encoding", "utf-8"))
    try:
        "".encode(wanted)
    except LookupError as error:
        raise CommandError(
            f"--encoding must be an encoding of text that Python knows. Received: {wanted!r}"
        ) from error
    with ExitStack() as opened:
        try:
            stream: Any = opened.enter_context(open(path, "rb"))
            if stream.peek(2)[:2] == b"\x1f\x8b" or path.lower().endswith(".gz"):
                packed, stream = stream, gzip.GzipFile(fileobj=stream)
                stream.myfileobj = packed  # closed with it
            start = stream.peek(2)[:2]
        except ERRORS as error:
            raise CommandError(f"{path} cannot be read: {error}") from error
        opened.pop_all()
    if codecs.lookup(wanted).name == "utf-8":
        is_utf_16 = start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        wanted = "utf-16" if is_utf_16 else "utf-8-sig"
    return io.TextIOWrapper(stream, encoding=wanted, newline=newline)


def _read(stream: TextIO) -> Iterator[str]:
    with stream:
        yield from lines(stream)


def field(content: str) -> str:
    """A label or a text as part of one line, which neither terminal nor spreadsheet obeys."""
    return _no_formula(visible(content))


def _cell(content: str, shown: str) -> str:
    """A cell of a table, with visible control characters where `shown` matches."""
    # Behind a dot, white space alone is left as it is.
    return _no_formula(re.sub(shown, lambda part: visible(f".{part[0]}")[1:], content))


def _no_formula(line: str) -> str:
    is_formula = len(line) > 1 and line[0] in "=+-@" and not NUMBER.fullmatch(line)
    return f"'{line}" if is_formula else line
