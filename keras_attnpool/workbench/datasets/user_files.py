"""Loads a user's own labelled file."""

import io
import reprlib
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from keras_attnpool._checks import ArgumentError, column
from keras_attnpool.types import PathLike
from keras_attnpool.workbench._text_files import (
    Row,
    check_width,
    column_places,
    control_remark,
    csv_rows,
    read_text,
    tsv_rows,
)
from keras_attnpool.workbench.datasets.labeled_texts import LabeledTexts

_FEW = 9  # this many labels may all be different


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
    """Loads a tab-separated file with one labelled text per line.

    By default a line is `label<TAB>text`, and there is no header. A field that is quoted as a whole
    is read in the way in which csv and pandas write it: `"he said ""hi"" twice"` is the text `he
    said "hi" twice`. All other quotation marks are part of the text.

    Args:
        path: The file. Gzip is recognised by the content.
        header: Whether the first line names the columns. `header` is True if a column is given by
            name.
        text_column: Name of the column of texts, or its position from 0.
        label_column: Name of the column of labels, or its position from 0.
        label_names: The classes in order, for instance `train.label_names` of the training file.
            Any other label is an error. `None` takes the labels of the file. If all labels of the
            file are numbers, the labels are sorted as numbers. If not, the labels are sorted as
            texts.
        encoding: Encoding of the file. A byte order mark is dropped. If you give no encoding, a
            byte order mark of UTF-16 or UTF-32 sets the encoding.
        skip_empty: Whether lines without a text or a label are left out, with a warning that counts
            these lines. With `False`, such lines are an error.

    Returns:
        `LabeledTexts` in the order of the lines, with labels int32 of shape `(N,)` and without
        rationales. White space around texts and labels is dropped.

    Warns:
        UserWarning: If texts have control characters, if there are more distinct labels than half
            the number of texts, if labels are numbers that are not integers, or if two labels
            differ only in case, blanks or the format of a number.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file cannot be read as a table of labelled texts. Examples are another
            encoding or delimiter, missing columns, lines with more or fewer fields than the first
            line, empty texts, unknown labels, a single class, and a gzip file that is damaged or
            holds more than 1 GiB. The message names the file and what to do.

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
    content = _content("load_tsv", path, encoding)
    header = header or isinstance(text_column, str) or isinstance(label_column, str)
    columns = text_column, label_column
    rows = tsv_rows(content)
    return _labeled_texts(
        "load_tsv", Path(path), rows, "\t", header, *columns, label_names, skip_empty
    )


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
    """Loads a CSV file with one labelled text per row.

    Fields in quotation marks (`"`) may contain delimiters and line breaks.

    Args:
        path: As in `load_tsv`.
        text_column: As in `load_tsv`.
        label_column: As in `load_tsv`.
        header: Whether the first row names the columns. With `False`, columns can only be given by
            position.
        label_names: As in `load_tsv`.
        delimiter: Character between fields.
        encoding: As in `load_tsv`.
        skip_empty: As in `load_tsv`.

    Returns:
        `LabeledTexts` in the order of the rows, as `load_tsv` returns them.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: As in `load_tsv`, and if a quotation mark is never closed.

    Example:
        ```python
        from pathlib import Path
        from keras_attnpool.workbench.datasets import load_csv

        Path("mail.csv").write_text('label,body\\nspam,"Win, now!"\\nham,See you at six.\\n')
        data = load_csv("mail.csv", text_column="body")
        ```
    """
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        must = "be one character, and neither a quotation mark nor a line break"
        raise ArgumentError("delimiter", must, {"delimiter": delimiter}, "load_csv")
    path = Path(path)
    by_name = isinstance(text_column, str) or isinstance(label_column, str)
    if by_name and not header:
        name, position = ("text_column", text_column)
        if not isinstance(position, str):
            name, position = ("label_column", label_column)
        must = "be a position from 0 where no header names the columns"
        raise ArgumentError(name, must, {name: position}, "load_csv")
    content = _content("load_csv", path, encoding)
    rows = csv_rows(path, io.StringIO(content, newline=""), delimiter)
    columns = text_column, label_column
    return _labeled_texts(
        "load_csv", path, rows, delimiter, header, *columns, label_names, skip_empty
    )


def _content(function: str, path: PathLike, encoding: str) -> str:
    content = read_text(function, path, encoding)
    if remark := control_remark(path, content, encoding):
        warnings.warn(remark, stacklevel=3)
    return content


def _labeled_texts(
    function: str,
    path: Path,
    numbered_rows: Iterator[Row],
    delimiter: str,
    header: bool,
    text_column: str | int,
    label_column: str | int,
    label_names: Sequence[str] | None,
    skip_empty: bool,
) -> LabeledTexts:
    if label_names is not None:
        label_names = column(function, "label_names", label_names)
        if len(set(label_names)) != len(label_names):
            must = "be distinct strings"
            raise ArgumentError("label_names", must, {"label_names": label_names}, function)
    rows = list(numbered_rows)
    while rows and rows[-1][1] == [""]:  # blank lines at the end
        rows.pop()
    if not rows[header:]:
        raise ValueError(f"{path}: {function} found no rows in it")
    first = rows[0][1]
    advice = ""
    if function == "load_tsv":
        advice = f": load_csv(..., delimiter={{!r}}, header={header}, text_column={text_column!r}, "
        advice += f"label_column={label_column!r}) reads it"
    columns = {"text_column": text_column, "label_column": label_column}
    text_place, label_place = column_places(function, path, first, delimiter, columns, advice)
    if text_place == label_place:
        must = f"be another column of {path} than `text_column`"
        raise ArgumentError("label_column", must, {"label_column": label_column}, function)
    texts: list[str] = []
    labels: list[str] = []
    left_out: list[int] = []
    for line, fields in rows[header:]:
        if skip_empty and fields == [""]:
            left_out.append(line)
            continue
        check_width(path, line, fields, first)
        text, label = fields[text_place].strip(), fields[label_place].strip()
        if not (text and label):
            if skip_empty:
                left_out.append(line)
                continue
            empty = "label" if text else "text"
            must = f"be True to leave out line {line} of {path}, where the {empty} is empty"
            raise ArgumentError("skip_empty", must, {"skip_empty": skip_empty}, function)
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
    if label_names is None and (remark := _label_remark(labels, classes)):
        warnings.warn(f"{path}: {remark}", stacklevel=3)
    index = {label: i for i, label in enumerate(classes)}
    return LabeledTexts(tuple(texts), np.array([index[name] for name in labels]), classes)


def _label_remark(labels: Sequence[str], classes: Sequence[str]) -> str:
    """Returns a remark on labels that look wrong, or `""`."""
    numbers = [number for number in map(_number, classes) if number is not None]
    broken = sum(not number.is_integer() for number in numbers)
    remarks, seen = [], dict[float | str, str]()
    if len(labels) > _FEW and 2 * len(classes) > len(labels):
        remarks.append(f"{len(labels)} labels are {len(classes)} classes")
    if len(numbers) == len(classes) < 2 * broken:
        remarks.append("the labels are numbers that are not whole, and each becomes a class")
    if remarks:
        return f"{'; '.join(remarks)}. Is the right column taken for the labels?"
    for name in classes:
        number = _number(name)
        letters = unicodedata.normalize("NFKC", name).casefold()
        key = "".join(x for x in letters if not x.isspace() and unicodedata.category(x) != "Cf")
        other = seen.setdefault(key if number is None else number, name)
        if other != name:
            return f"the labels {other!r} and {name!r} are two classes; if they mean one, mend them"
    return ""


def _number(label: str) -> float | None:
    """Returns the number that a label spells, unless it is too large for an exact float."""
    try:
        number = float(label)
    except ValueError:
        return None
    return number if abs(number) < 2**53 else None


def _sorted_labels(labels: Sequence[str]) -> tuple[str, ...]:
    unique = sorted(set(labels))
    try:
        return tuple(sorted(unique, key=float))
    except ValueError:
        return tuple(unique)
