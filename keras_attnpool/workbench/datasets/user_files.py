"""Loaders for a user's own labelled file."""

import codecs
import csv
import gzip
import io
import reprlib
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.types import PathLike
from keras_attnpool.workbench.datasets.labeled_texts import LabeledTexts

_LARGEST = 2**30  # bytes that are unpacked
Row = tuple[int, list[str]]  # line number (from 1) and fields


def load_tsv(
    path: PathLike,
    *,
    header: bool = False,
    text_column: str | int = 1,
    label_column: str | int = 0,
    label_names: Sequence[str] | None = None,
    encoding: str = "utf-8",
    skip_empty: bool = False,
) -> LabeledTexts:
    """Load a tab-separated file with one labelled text a line.

    Without further arguments a line is `label<TAB>text`, with no header. There is
    no quoting: a tab always separates, and quotation marks are part of the text.

    Args:
        path: The file; gzip is recognised by its content.
        header: Whether the first line names the columns. Taken as True if a column is
            given by name.
        text_column: Name of the text's column, or its position from 0.
        label_column: Name of the label's column, or its position from 0.
        label_names: The classes, in order, for instance those of the training file
            (`train.label_names`); any other label is an error. `None` takes the labels
            found, sorted (as numbers if all of them are).
        encoding: Encoding of the file. A byte order mark is dropped; that of UTF-16 replaces
            the default.
        skip_empty: Whether lines without a text or a label are left out, with a warning that
            counts them; otherwise they are an error.

    Returns:
        `LabeledTexts` in the order of the lines: labels int32 of shape `(N,)`, no
        rationales. White space around texts and labels is dropped.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: With file name and line, for: bytes that are not in `encoding`,
            missing columns, one column for both, lines with more or fewer fields than the
            first, empty texts or labels, unknown labels, a single class, no rows, a gzip file
            that is damaged or holds more than 1 GiB.

    Example:
        ```python
        from pathlib import Path
        from keras_attnpool.workbench.datasets import load_tsv

        Path("train.tsv").write_text("good\\tI liked it.\\nbad\\tI did not.\\n")
        Path("test.tsv").write_text("good\\tNot bad at all!\\n")
        train = load_tsv("train.tsv")
        test = load_tsv("test.tsv", label_names=train.label_names)
        ```
    """
    lines = _decoded("load_tsv", Path(path), encoding).split("\n")
    rows = ((i, line.removesuffix("\r").split("\t")) for i, line in enumerate(lines, 1))
    header = header or isinstance(text_column, str) or isinstance(label_column, str)
    columns = text_column, label_column
    return _labeled_texts("load_tsv", Path(path), rows, header, *columns, label_names, skip_empty)


def load_csv(
    path: PathLike,
    *,
    text_column: str | int = "text",
    label_column: str | int = "label",
    header: bool = True,
    label_names: Sequence[str] | None = None,
    delimiter: str = ",",
    encoding: str = "utf-8",
    skip_empty: bool = False,
) -> LabeledTexts:
    """Load a CSV file with one labelled text a row.

    Fields may be quoted with `"` and then hold delimiters and line breaks.

    Args:
        path: As in `load_tsv`.
        text_column: As in `load_tsv`.
        label_column: As in `load_tsv`.
        header: Whether the first row names the columns. Columns can only be given by
            position if not.
        label_names: As in `load_tsv`.
        delimiter: Character between fields.
        encoding: As in `load_tsv`.
        skip_empty: As in `load_tsv`.

    Returns:
        `LabeledTexts` in the order of the rows, as from `load_tsv`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: As in `load_tsv`, and for a quotation mark that is never closed.

    Example:
        ```python
        from pathlib import Path
        from keras_attnpool.workbench.datasets import load_csv

        Path("mail.csv").write_text('label,body\\nspam,"Win, now!"\\nham,See you at six.\\n')
        data = load_csv("mail.csv", text_column="body")
        ```
    """
    path = Path(path)
    by_name = isinstance(text_column, str) or isinstance(label_column, str)
    if by_name and not header:
        given = {"text_column": text_column, "label_column": label_column}
        raise ArgumentError("header", "be True for columns by name", given, "load_csv")
    rows = _csv_rows(path, _decoded("load_csv", path, encoding), delimiter)
    columns = text_column, label_column
    return _labeled_texts("load_csv", path, rows, header, *columns, label_names, skip_empty)


_UTF_16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


def _decoded(owner: str, path: Path, encoding: str) -> str:
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = _unpacked(path, content)
    try:
        if codecs.lookup(encoding).name == "utf-8" and content[:2] in _UTF_16:
            encoding = "utf-16"  # what spreadsheets call "Unicode text"
        return content.decode(encoding).removeprefix("\ufeff")
    except LookupError as error:
        must = "be an encoding of text that Python knows"
        raise ArgumentError("encoding", must, {"encoding": encoding}, owner) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        guess = "utf-16-le" if b"\0" in content else "latin-1"
        raise ArgumentError(
            "encoding",
            f"be that of the file, {guess!r} say, unless you save it as UTF-8",
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not valid {encoding}",
            owner,
        ) from error
    except (ValueError, TypeError) as error:
        received = f"encoding={encoding!r}: {error}"
        raise ArgumentError("encoding", f"be that of {path}", received, owner) from error


def _unpacked(path: Path, content: bytes) -> bytes:
    """Unpacks a gzip file, as far as a file of texts can be large."""
    try:
        with gzip.open(io.BytesIO(content)) as file:
            unpacked = file.read(_LARGEST + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: the gzip file is damaged ({error})") from error
    if len(unpacked) > _LARGEST:
        raise ValueError(
            f"{path}: the gzip file holds more than {_LARGEST:,} bytes. If that is meant, unpack "
            "it and name the unpacked file."
        )
    return unpacked


def _csv_rows(path: Path, content: str, delimiter: str) -> Iterator[Row]:
    # Texts may be longer than csv's default limit. The limit is global, so we put it back.
    limit = csv.field_size_limit(max(len(content), 131072))
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    start = 1
    try:
        for fields in reader:
            yield start, fields or [""]
            start = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}, line {start}: {error}") from error
    finally:
        csv.field_size_limit(limit)


def _labeled_texts(
    function: str,
    path: Path,
    numbered_rows: Iterator[Row],
    header: bool,
    text_column: str | int,
    label_column: str | int,
    label_names: Sequence[str] | None,
    skip_empty: bool,
) -> LabeledTexts:
    if isinstance(label_names, str) or len(set(label_names or ())) != len(label_names or ()):
        must = "be distinct strings"
        raise ArgumentError("label_names", must, {"label_names": label_names}, function)
    rows = list(numbered_rows)
    while rows and rows[-1][1] == [""]:  # blank lines at the end
        rows.pop()
    if not rows[header:]:
        raise ValueError(f"{path}: {function} found no rows in it")
    first = rows[0][1]
    text_place = _place(function, path, "text_column", text_column, first)
    label_place = _place(function, path, "label_column", label_column, first)
    if text_place == label_place:
        given = {"text_column": text_column, "label_column": label_column}
        raise ArgumentError("label_column", "be another column than the text's", given, function)
    texts: list[str] = []
    labels: list[str] = []
    left_out: list[int] = []
    for line, fields in rows[header:]:
        if skip_empty and fields == [""]:
            left_out.append(line)
            continue
        if len(fields) != len(first):
            raise ValueError(
                f"{path}, line {line}: {len(fields)} field(s), but the first line has {len(first)}"
            )
        text, label = fields[text_place].strip(), fields[label_place].strip()
        if not (text and label):
            if skip_empty:
                left_out.append(line)
                continue
            received = f"{path}, line {line}: the {'label' if text else 'text'} is empty"
            must = "be True to leave out lines without a text or a label"
            raise ArgumentError("skip_empty", must, received, function)
        if label_names is not None and label not in label_names:
            raise ValueError(
                f"{path}, line {line}: the label must be one of "
                f"{reprlib.repr(tuple(label_names))}. Received: {reprlib.repr(label)}"
            )
        texts.append(text)
        labels.append(label)
    if left_out:
        warnings.warn(
            f"{path}: {len(left_out)} line(s) without a text or a label are left out, the first of "
            f"them line {left_out[0]}",
            stacklevel=3,
        )
    classes = tuple(label_names) if label_names is not None else _sorted_labels(labels)
    if len(classes) < 2:
        raise ValueError(
            f"{path} must hold at least two classes. Received: {reprlib.repr(classes)} in "
            f"{len(texts)} row(s)"
        )
    index = {label: i for i, label in enumerate(classes)}
    return LabeledTexts(tuple(texts), np.array([index[name] for name in labels]), classes)


def _place(owner: str, path: Path, argument: str, column: str | int, first: Sequence[str]) -> int:
    """Returns the position of a column, by its name in the first line or as it is given."""
    names = [name.strip() for name in first]
    if isinstance(column, int | np.integer):
        if 0 <= column < len(first):
            return int(column)
        must, received = "be a position, counted from 0", f"{column}, and {path}, line 1: {names}"
        raise ArgumentError(argument, must, received, owner)
    between = next((mark for mark in ";\t" if mark in first[0]), None)
    if len(first) == 1 and between and owner == "load_csv":
        received = f"{path}, with one column, {first[0]!r}"
        raise ArgumentError("delimiter", f"be {between!r} as in the file", received, owner)
    if names.count(column) != 1:
        received = f"{column!r}; {path} has {reprlib.repr(tuple(names))}"
        raise ArgumentError(argument, "name one of the file's columns", received, owner)
    return names.index(column)


def _sorted_labels(labels: Sequence[str]) -> tuple[str, ...]:
    unique = sorted(set(labels))
    try:
        return tuple(sorted(unique, key=float))
    except ValueError:
        return tuple(unique)
