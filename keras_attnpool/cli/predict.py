"""The command `predict`."""

import codecs
import csv
import functools
import gzip
import itertools
import json
import os
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from keras_attnpool._files import whole_file
from keras_attnpool.analysis.html_heatmaps import visible
from keras_attnpool.cli.data import delimiter_remark
from keras_attnpool.cli.errors import CommandError
from keras_attnpool.cli.options import flag
from keras_attnpool.cli.trained import Run

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
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


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
        texts = given_texts(given)
        run = Run.load(given["run"])
        # Whoever types waits for each answer.
        size = 1 if reads_stdin(given) and sys.stdin.isatty() else BATCH
        start, done, shown = time.monotonic(), 0, 0.0
        writer = WRITERS[kind](stream, run.label_names)
        while batch := list(itertools.islice(texts, size)):
            for content, row in zip(batch, run.probabilities(batch).tolist(), strict=True):
                writer(content, dict(zip(run.label_names, row, strict=True)))
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
    if path.suffix.lower() not in TABLES or path.is_dir():
        raise CommandError(
            f"--output expects a name that ends in {', '.join(TABLES)}. Received: {path}"
        )
    if not path.parent.is_dir():
        raise CommandError(f"--output {path}: there is no folder {path.parent}")
    source = given.get("input", given.get("file"))
    if source and path.exists() and os.path.exists(source) and path.samefile(source):
        raise CommandError(f"--output {path} is the file that the texts are read from")
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        yield file, path.suffix.lower()


Writer = Callable[[str, dict[str, float]], None]


def _lines(stream: TextIO, names: list[str]) -> Writer:
    """Lines to read: label, probability, text."""

    def write(content: str, probabilities: dict[str, float]) -> None:
        label = max(probabilities, key=probabilities.__getitem__)
        line = field(" ".join(content.split()))
        print(field(label), f"{probabilities[label]:.4f}", line, sep="\t", file=stream)

    return write


def _objects(stream: TextIO, names: list[str]) -> Writer:
    """JSON objects with the probabilities of all classes, one a line."""

    def write(content: str, probabilities: dict[str, float]) -> None:
        label = max(probabilities, key=probabilities.__getitem__)
        answer = {"label": label, "probability": probabilities[label]}
        print(json.dumps(answer | {"probabilities": probabilities, "text": content}), file=stream)

    return write


def _table(delimiter: str, stream: TextIO, names: list[str]) -> Writer:
    """A table with one column a class, and nothing that a spreadsheet would compute."""
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["label", "probability", *(f"p({field(name)})" for name in names), "text"])

    def write(content: str, probabilities: dict[str, float]) -> None:
        label = max(probabilities, key=probabilities.__getitem__)
        numbers = [f"{value:.6f}" for value in (probabilities[label], *probabilities.values())]
        writer.writerow([field(label), *numbers, field(content)])

    return write


TABLES = (".csv", ".tsv", ".jsonl")
TABLE_OPTIONS = ("text_column", "header", "delimiter")  # of --input
WRITERS: dict[str, Callable[[TextIO, list[str]], Writer]] = {
    "": _lines,
    ".jsonl": _objects,
    ".csv": functools.partial(_table, ","),
    ".tsv": functools.partial(_table, "\t"),
}


def given_texts(given: dict[str, Any]) -> Iterator[str]:
    """The texts of a command: its arguments, or the lines of a file or of standard input.

    Raises:
        CommandError: If a file stands where a text is expected, or cannot be read as texts.
    """
    sources = [name for name in ("texts", "file", "input") if given.get(name)]
    if len(sources) > 1:
        raise CommandError("TEXT, --file and --input exclude each other")
    for name in TABLE_OPTIONS:
        if name in given and "input" not in given:
            raise CommandError(f"{flag(name)} needs an --input")
    if "encoding" in given and (given.get("texts") or reads_stdin(given)):
        raise CommandError("--encoding needs an --input or a --file")
    if "input" in given:
        return column(given["input"], given)
    if "file" in given or not sources:
        return lines(sys.stdin) if reads_stdin(given) else _lines_of(given["file"], given)
    for content in given["texts"]:
        if os.path.isfile(content):
            raise CommandError(
                f"{content} is a file, not a text: --file {content} reads one text a line (if it "
                "is a text after all, write it to standard input)"
            )
    return iter(given["texts"])


def reads_stdin(given: dict[str, Any]) -> bool:
    """Whether the texts are the lines of standard input."""
    return not given.get("texts") and "input" not in given and given.get("file", "-") == "-"


def column(path: str, given: dict[str, Any]) -> Iterator[str]:
    """The texts of one column of a .csv, .tsv or .jsonl file, gzipped or not, as they are read.

    Args:
        path: The file.
        given: What was given of `text_column`, `header`, `delimiter` and `encoding`.

    Raises:
        CommandError: If the file has no such column, or cannot be read.
    """
    ending = Path(path.lower().removesuffix(".gz")).suffix
    if ending not in TABLES:
        raise CommandError(
            f"--input expects a file that ends in {', '.join(TABLES)}. Received: {path}"
        )
    wanted = given.get("text_column", "text")
    is_named = isinstance(wanted, str)
    if ending != ".csv" and "delimiter" in given:
        raise CommandError(f"--delimiter is for a .csv. Received: {path}")
    if ending == ".jsonl" and "header" in given:
        raise CommandError(f"--header is for a .csv or .tsv. Received: {path}")
    if is_named and not given.get("header", True):
        raise CommandError("--no-header expects --text-column to be a position from 0")
    # As `train` reads them: the first line names the columns of a .csv, unless --no-header says
    # otherwise, and of a .tsv if a column is named.
    header = given.get("header", ending == ".csv") or is_named
    opened = gzip.open if path.lower().endswith(".gz") else open
    stream = opened(path, "rt", encoding=_encoding(path, given), newline="")
    return _column(stream, path, ending, wanted, header, given.get("delimiter", ","))


def _column(
    stream: Any, path: str, ending: str, wanted: str | int, header: bool, delimiter: str
) -> Iterator[str]:
    where = path
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
                            f"{where}: expects an object with a string as {str(wanted)!r} "
                            "(--text-column)"
                        )
                    yield row[str(wanted)]
                return
            csv.field_size_limit(2**31 - 1)  # as in `train`, a text may be long
            rows = csv.reader(stream, delimiter=delimiter, strict=True)
            if ending == ".tsv":
                rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
            first = next(rows, [])
            place = _place(path, first, wanted)
            for cells in itertools.chain([] if header else [first], rows):
                if cells and len(cells) != len(first):
                    raise CommandError(
                        f"{path}, line {rows.line_num}: has {len(cells)} columns, the first line "
                        f"{len(first)}"
                    )
                if cells:
                    yield cells[place]
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
            f"{path}: --text-column expects one of the columns {', '.join(names)[:300]} or a "
            f"position from 0. Received: {wanted!r}"
            f"{delimiter_remark(names[0]) if len(names) == 1 else ''}"
        )
    return names.index(wanted)


def lines(stream: TextIO) -> Iterator[str]:
    """The lines of a stream, each of them a text.

    Raises:
        CommandError: If they are not in the encoding of the stream.
    """
    name = "standard input" if stream is sys.stdin else stream.name
    if stream.isatty():
        print("Reading texts, one a line, until Ctrl-D.", file=sys.stderr)
    try:
        for line in stream:
            yield line.rstrip("\r\n")
    except UnicodeError as error:
        expected = getattr(error, "encoding", stream.encoding)
        raise CommandError(f"{name}: expects {expected}. Received: {error}") from error


def _lines_of(path: str, given: dict[str, Any]) -> Iterator[str]:
    if path.lower().endswith((".csv", ".tsv", ".gz")):
        raise CommandError(
            f"--file expects texts, one a line, and nothing else. Received: {path}; "
            "--input with --text-column reads a column of a table"
        )
    return _read(path, _encoding(path, given))


def _encoding(path: str, given: dict[str, Any]) -> str:
    wanted = str(given.get("encoding", "utf-8"))
    try:
        "".encode(wanted)
    except LookupError as error:
        raise CommandError(
            f"--encoding expects an encoding of text that Python knows. Received: {wanted!r}"
        ) from error
    if codecs.lookup(wanted).name != "utf-8":
        return wanted
    try:
        with (gzip.open if path.lower().endswith(".gz") else open)(path, "rb") as file:
            start = file.read(2)
    except ERRORS as error:
        raise CommandError(f"{path} cannot be read: {error}") from error
    return "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def _read(path: str, encoding: str) -> Iterator[str]:
    with open(path, encoding=encoding) as stream:
        yield from lines(stream)


def field(content: str) -> str:
    """A label or a text as part of one line, which neither terminal nor spreadsheet obeys."""
    line = visible(content)
    is_formula = line.startswith(("=", "+", "-", "@")) and not NUMBER.fullmatch(line)
    return f"'{line}" if is_formula else line
