"""Recognises the kind of a text file, for all readers of text files.

A file is opened as text. Other files raise an error with advice: another encoding, another
delimiter, or a call that converts the file.
"""

import codecs
import csv
import gzip
import io
import itertools
import re
import reprlib
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any, TextIO

from keras_attnpool._checks import ArgumentError
from keras_attnpool.types import PathLike

_LARGEST = 2**30  # the most bytes that a gzip file may unpack to
_SEEN = 2**16  # the number of bytes that show the code page
Row = tuple[int, list[str]]  # line number (from 1) and fields

_TOLD = tomllib.loads(
    resources.files(__package__).joinpath("text_files.toml").read_text(encoding="utf-8")
)
_KINDS, _CODE_PAGES = (
    # The pattern does not include line breaks.
    {name: re.compile("".join(each.splitlines()).encode()) for name, each in _TOLD[table].items()}
    for table in ("kinds", "code_pages")
)
ADVICE = _TOLD["advice"]
VECTOR_ADVICE = ADVICE | _TOLD["vectors"]
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class _Lines(io.TextIOWrapper):
    """A text stream that counts the lines that were read."""

    given = 0

    def __next__(self) -> str:  # type: ignore[override]
        line = super().__next__()
        self.given += 1
        return line


@contextmanager
def opened(
    owner: str,
    path: PathLike,
    encoding: Any = "utf-8",
    *,
    newline: str | None = "",
    advice: Mapping[str, str] = ADVICE,
) -> Iterator[TextIO]:
    """Opens a text file, gzipped or not. The file is opened only once, so it may be a pipe.

    Args:
        owner: The public function with the argument `encoding`, for error messages, or `""`.
        path: The file.
        encoding: The encoding. If no encoding is given, a byte order mark of UTF-16 or UTF-32 sets
            the encoding.
        newline: As in `open`.
        advice: For each kind of file that is not text, a sentence for the error.

    Raises:
        ValueError: If the file is not a text file, or if it is not in this encoding.
    """
    try:
        if not isinstance(encoding, str):
            raise LookupError
        "".encode(encoding)
    except (LookupError, ValueError) as error:
        must = f"be an encoding of text that Python knows, that of {path}"
        raise ArgumentError("encoding", must, {"encoding": encoding}, owner) from error
    try:
        with open(path, "rb") as file:
            is_packed = file.peek(2)[:2] == b"\x1f\x8b"
            stream: Any = gzip.GzipFile(fileobj=file) if is_packed else file
            start = stream.peek(_SEEN)
            if (kind := _kind(start)) in advice:
                raise ValueError(f"{path}: {advice[kind].format(path=repr(str(path)))}")
            if codecs.lookup(encoding).name == "utf-8":
                encoding = _marked(start)
                if encoding == "utf-8-sig" and (guess := _utf_16(start)):
                    raise _other_encoding(owner, path, "utf-8", guess, start, "")
            with _Lines(stream, encoding, newline=newline) as text:
                yield text
    except UnicodeDecodeError as error:
        # The error contains the bytes after the last returned line.
        number = text.given + 1 + error.object.count(b"\n", 0, error.start)
        raise _undecodable(owner, path, encoding, error, number) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: the gzip file is damaged ({error})") from error
    except UnicodeError as error:
        raise ValueError(f"{path}: cannot be read with encoding={encoding!r} ({error})") from error


def read_text(owner: str, path: PathLike, encoding: Any = "utf-8") -> str:
    """Returns the whole content of a text file, without a byte order mark.

    Raises:
        ValueError: As in `opened`, and if a gzip file unpacks to more than 1 GiB.
    """
    with opened(owner, path, encoding) as stream:
        buffer: Any = stream.buffer
        limit = _LARGEST + 1 if isinstance(buffer, gzip.GzipFile) else -1
        content = buffer.read(limit)
        if len(content) == limit:
            raise ValueError(
                f"{path}: the gzip file holds more than {_LARGEST:,} bytes. If that is meant, "
                "unpack it and name the unpacked file."
            )
        return str(content.decode(stream.encoding)).removeprefix("\ufeff")


def control_remark(path: PathLike, content: str, encoding: str) -> str:
    """Returns a remark for a message if a text has control characters, else `""`."""
    found = _CONTROL.search(content)
    if not found:
        return ""
    page = None
    if "\x80" <= found[0] <= "\x9f":
        page = code_page(content.encode(encoding, "replace"))
    meant = f"; its encoding may be {page}" if page and page != encoding else ""
    return (
        f"{path}: control characters, first U+{ord(found[0]):04X} in "
        f"{content[max(0, found.start() - 20) : found.end() + 20]!r}{meant}"
    )


@contextmanager
def long_fields() -> Iterator[None]:
    """Inside the context, csv reads fields of any length. Then the old limit is restored."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def tsv_rows(content: str) -> Iterator[Row]:
    """Yields the rows of a tab-separated file. Quoted fields are read as in csv.

    Any other quotation mark is part of the text, even at the start of a field without a closing
    mark.
    """
    ending = "\n" if "\n" in content else "\r"
    lines = [line.removesuffix("\r") for line in content.split(ending)]
    tabs, start = lines[0].count("\t"), 0
    while start < len(lines):
        end = start + 1
        fields = lines[start].split("\t")
        if '"' in lines[start]:
            is_open, is_row = lines[start].count('"') % 2, len(fields) == tabs + 1
            while is_open and end < len(lines):
                if is_row and lines[end].count("\t") == tabs:
                    break
                is_open ^= lines[end].count('"') % 2
                end += 1
            part = io.StringIO("\n".join(lines[start:end]), newline="")
            try:
                with long_fields():
                    rows = list(csv.reader(part, delimiter="\t", strict=True))
            except csv.Error:
                rows = []
            if len(rows) == 1 and len(rows[0]) == tabs + 1:
                fields = rows[0]
            else:
                end = start + 1
        yield start + 1, fields
        start = end


def csv_rows(path: PathLike, lines: Iterable[str], delimiter: str) -> Iterator[Row]:
    """Yields each row of a CSV file as soon as it is read.

    If the first row has quoted fields but not this delimiter, each row is a single field.
    `column_places` refuses such rows.

    Raises:
        ValueError: If a quotation mark is never closed.
    """
    lines, start = iter(lines), 1
    first = next(lines, "")
    reader = csv.reader(itertools.chain([first], lines), delimiter=delimiter, strict=True)
    try:
        with long_fields():
            for fields in reader:
                yield start, fields or [""]
                start = reader.line_num + 1
    except csv.Error as error:
        if start > 1 or not re.search('"[;\t,|]"', first.replace(delimiter, "")):
            raise ValueError(f"{path}, line {start}: {error}") from error
        yield from ((start, [line]) for line in itertools.chain([first], lines))


def check_width(path: PathLike, line: int, fields: Sequence[str], first: Sequence[str]) -> None:
    """Raises an error if a row has more or fewer fields than the first row."""
    if len(fields) != len(first):
        raise ValueError(
            f"{path}, line {line}: {len(fields)} field(s), but the first line has {len(first)}"
        )


def column_places(
    owner: str,
    path: PathLike,
    first: Sequence[str],
    delimiter: str,
    columns: Mapping[str, str | int],
    advice: str = "",
) -> list[int]:
    """Finds the positions of columns; a column is given by name or position.

    Args:
        owner: The calling function. The keys of `columns` are the names of the caller's arguments.
        path: The file.
        first: The fields of the first line.
        delimiter: Character between the fields.
        columns: The columns.
        advice: Message if another delimiter seems to be right; `{!r}` stands for this delimiter.

    Raises:
        ArgumentError: If there is no such column, or several columns have this name.
    """
    marks = [mark for mark in ";\t,|" if mark != delimiter and mark in "".join(first)]
    if len(first) == 1 and marks:
        mark = max(marks, key=first[0].count)
        must = f"be what stands between the columns of {path}, which looks like {mark!r}"
        must += advice.format(mark)
        raise ArgumentError("delimiter", must, {"delimiter": delimiter}, owner)
    names, places = [name.strip() for name in first], []
    for argument, column in columns.items():
        if not isinstance(column, str) and 0 <= column < len(names):
            places.append(int(column))
        elif isinstance(column, str) and names.count(column) == 1:
            places.append(names.index(column))
        else:
            must = f"name one of the columns of {path}, {reprlib.repr(tuple(names))}, or be its "
            must += f"position, from 0 to {len(names) - 1}"
            raise ArgumentError(argument, must, {argument: column}, owner)
    return places


def _kind(start: bytes) -> str:
    """Returns the kind of file that the first bytes show, or `""` for text."""
    return next((name for name, pattern in _KINDS.items() if pattern.match(start)), "")


def _marked(start: bytes) -> str:
    """Returns the encoding that a byte order mark shows, or UTF-8 without a mark."""
    if start[:4] in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "utf-32"
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    return "utf-8-sig"


def _utf_16(content: bytes) -> str:
    """Recognises UTF-16 without a mark: ASCII text has a 0 in every second byte."""
    even, odd = content[::2].count(0), content[1::2].count(0)
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    if max(even, odd) < 3 or max(even, odd) < 3 * min(even, odd):
        return ""
    return encoding if "\n" in content.decode(encoding, "replace") else ""


def code_page(content: bytes) -> str | None:
    """Guesses the encoding of bytes that are not UTF-8: the one with the likeliest text."""
    if guess := _utf_16(content):
        return guess
    if b"\0" in content:
        return None
    seen = content[:_SEEN]
    scores = {}
    for page, pattern in _CODE_PAGES.items():
        covered = b"".join(match[0] for match in pattern.finditer(seen))
        try:
            codecs.getincrementaldecoder(page)().decode(content)
        except UnicodeDecodeError:
            continue
        scores[page] = sum(byte > 127 for byte in covered)
    best = max(scores, key=scores.__getitem__, default=None)
    return best if best and 2 * scores[best] > sum(byte > 127 for byte in seen) else None


def _undecodable(
    owner: str, path: PathLike, encoding: str, error: UnicodeDecodeError, number: int
) -> ValueError:
    """Makes the error for bytes that do not fit an encoding; names an encoding that fits."""
    content, encoding = error.object, encoding.removesuffix("-sig")
    begin = content.rfind(b"\n", 0, error.start) + 1
    line = content[begin:].partition(b"\n")[0]
    as_utf_8 = content[max(0, begin - _SEEN) : begin + _SEEN].decode("utf-8", "replace")
    bad, others = as_utf_8.count("\ufffd"), sum(letter > "\x7f" for letter in as_utf_8)
    where = f" (line {number}: byte 0x{content[error.start]:02x} is not valid {encoding})"
    if encoding == "utf-8" and others > 2 * bad:
        return _other_encoding(owner, path, encoding, None, line, where + ", whose rest is UTF-8")
    guess = code_page(content[begin:])
    if not guess and b"\0" in content:
        return ValueError(f"{path}: is no text, as bytes of it are 0{where}")
    return _other_encoding(owner, path, encoding, guess, line, where)


def _other_encoding(
    owner: str, path: PathLike, encoding: str, guess: str | None, line: bytes, where: str
) -> ValueError:
    read = line.decode(guess, "replace").strip()[:60] if guess else ""
    if not owner:
        cure = f"; it may be {guess}, which reads {read!r}" if guess else ""
        return ValueError(f"{path}{where}: save it as UTF-8{cure}")
    cure = f", perhaps {guess!r}, which reads {read!r}" if guess else "; save the file as UTF-8"
    must = f"be that of {path}{where}{cure}"
    return ArgumentError("encoding", must, {"encoding": encoding}, owner)
