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
    lines = _decoded(Path(path), encoding).split("\n")
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
        raise ValueError(
            "load_csv expects columns by position when header=False. Received: "
            f"text_column={text_column!r}, label_column={label_column!r}"
        )
    rows = _csv_rows(path, _decoded(path, encoding), delimiter)
    columns = text_column, label_column
    return _labeled_texts("load_csv", path, rows, header, *columns, label_names, skip_empty)


_UTF_16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


def _decoded(path: Path, encoding: str) -> str:
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = _unpacked(path, content)
    try:
        if codecs.lookup(encoding).name == "utf-8" and content[:2] in _UTF_16:
            encoding = "utf-16"  # what spreadsheets call "Unicode text"
        return content.decode(encoding).removeprefix("\ufeff")
    except LookupError as error:
        raise ValueError(
            f"{path}: `encoding` must be an encoding of text that Python knows. "
            f"Received: encoding={encoding!r}"
        ) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        guess = "utf-16-le" if b"\0" in content else "latin-1"
        raise ValueError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not valid {encoding}. "
            f'Save the file as UTF-8, or pass its encoding (for instance encoding="{guess}").'
        ) from error
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: cannot be read with encoding={encoding!r} ({error})") from error


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
        raise ValueError(
            f"{function} expects distinct strings in `label_names`. Received: {label_names!r}"
        )
    rows = list(numbered_rows)
    while rows and rows[-1][1] == [""]:  # blank lines at the end
        rows.pop()
    if not rows[header:]:
        raise ValueError(f"{path}: {function} found no rows in it")
    first = rows[0][1]
    text_place = _place(f"{path}, line 1: {function}", "text_column", text_column, first)
    label_place = _place(f"{path}, line 1: {function}", "label_column", label_column, first)
    if text_place == label_place:
        raise ValueError(
            f"{path}: {function} expects `text_column` and `label_column` to be two columns. "
            f"Received: text_column={text_column!r}, label_column={label_column!r}"
        )
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
            raise ValueError(
                f"{path}, line {line}: the {'label' if text else 'text'} is empty "
                "(skip_empty=True leaves such lines out)"
            )
        if label_names is not None and label not in label_names:
            raise ValueError(
                f"{path}, line {line}: {function} expects labels from "
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
            f"{path}: {function} expects at least two classes. Received: {reprlib.repr(classes)} "
            f"in {len(texts)} row(s)"
        )
    index = {label: i for i, label in enumerate(classes)}
    return LabeledTexts(tuple(texts), np.array([index[name] for name in labels]), classes)


def _place(caller: str, argument: str, column: str | int, first: Sequence[str]) -> int:
    """Returns the position of a column, by its name in the first line or as it is given."""
    if isinstance(column, int | np.integer):
        if 0 <= column < len(first):
            return int(column)
        raise ValueError(
            f"{caller} expects {argument}={column} (counted from 0), but the line has "
            f"{len(first)} field(s)"
        )
    names = [name.strip() for name in first]
    if names.count(column) != 1:
        problem = "more than one column" if column in names else "no column"
        raise ValueError(
            f"{caller} found {problem} named {column!r} ({argument}). "
            f"The columns are {reprlib.repr(tuple(names))}"
        )
    return names.index(column)


def _sorted_labels(labels: Sequence[str]) -> tuple[str, ...]:
    unique = sorted(set(labels))
    try:
        return tuple(sorted(unique, key=float))
    except ValueError:
        return tuple(unique)
