"""What the tokenizers share: their vocabulary, its file, and the checks of texts and lengths."""

import json
import pathlib
import reprlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from keras_attnpool._checks import Refused, column
from keras_attnpool.types import Int32s, PathLike
from keras_attnpool.workbench._files import whole_file

PADDING = "[PAD]"
UNKNOWN = "[UNK]"

_VERSION = 1


def checked_texts(owner: str, texts: Iterable[str]) -> list[str]:
    """Returns texts as a list, or raises unless all are strings and valid Unicode."""
    checked = column(owner, "texts", texts)
    for index, text in enumerate(checked):
        if not isinstance(text, str):
            raise Refused(
                "texts", "hold strings only", f"{type(text).__name__} at index {index}"
            ).by(owner)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{owner} expects valid Unicode. Received: a lone surrogate at character "
                f"{error.start} of the text at index {index}"
            ) from None
    return checked


def check_integers(owner: str, least: int = 1, or_none: bool = False, **values: int | None) -> None:
    """Raises unless every value, given by its name, is an integer from 1 or 0 (or `None`)."""
    kind = "None or " * or_none + ("a positive integer" if least else "an integer from 0")
    for name, value in values.items():
        if value is None and or_none:
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{owner} expects `{name}` to be {kind}. Received: {name}={value!r}")


def checked_vocabulary(owner: str, vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Returns distinct non-empty strings, the first two `[PAD]` and `[UNK]`, or raises."""
    words = tuple(column(owner, "vocabulary", vocabulary))
    if words[:2] != (PADDING, UNKNOWN):
        raise ValueError(
            f"{owner} expects a vocabulary that starts with {PADDING!r}, {UNKNOWN!r}. "
            f"Received: {reprlib.repr(words[:2])}"
        )
    seen: set[str] = set()
    for index, word in enumerate(words):
        if not isinstance(word, str) or not word or word in seen:
            raise ValueError(
                f"{owner} expects distinct non-empty words. "
                f"Received: {reprlib.repr(word)} at index {index}"
            )
        seen.add(word)
    return words


def cut_and_padded(
    owner: str, rows: Iterable[list[int]], max_length: int | None, pad_to: int | None, truncate: str
) -> Int32s:
    """Cuts and pads rows as `encode` is asked to."""
    check_integers(owner, or_none=True, max_length=max_length, pad_to=pad_to)
    if truncate not in ("end", "start", "middle"):
        raise ValueError(
            f"{owner} expects `truncate` to be 'end', 'start' or 'middle'. "
            f"Received: truncate={truncate!r}"
        )
    limit = min(max_length or sys.maxsize, pad_to or sys.maxsize)
    # How many of the steps that are kept are the last ones.
    tail = {"end": 0, "middle": limit // 2, "start": limit}[truncate]
    kept = [
        row if len(row) <= limit else row[: limit - tail] + row[len(row) - tail :] for row in rows
    ]
    return padded(kept, pad_to or max(map(len, kept), default=1) or 1)


def padded(rows: Sequence[Any], length: int, *inner: int) -> Int32s:
    """Puts rows of ids into one array `(rows, length, *inner)`, with zeros behind each."""
    ids = np.zeros((len(rows), length, *inner), np.int32)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
    return ids


class Vocabulary:
    """Base class of the tokenizers: what they are made of, kept in one JSON file.

    Args:
        vocabulary: Distinct non-empty strings, index = id, the first two `"[PAD]"` and `"[UNK]"`.
        lowercase: Whether the tokenizer lower-cases.

    Raises:
        ValueError: If `vocabulary` is not of that form.
    """

    # The public class, for files and error messages; a user's subclass writes its files too.
    _owner: str

    def __init__(self, vocabulary: Iterable[str], lowercase: bool) -> None:
        self._vocabulary = checked_vocabulary(self._owner, vocabulary)
        self._lowercase = bool(lowercase)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words, or the characters; the index of each is its id."""
        return self._vocabulary

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, padding included: the size that their embedding needs."""
        return len(self._vocabulary)

    @property
    def lowercase(self) -> bool:
        """Whether text is lower-cased first."""
        return self._lowercase

    def __repr__(self) -> str:
        return f"{self._owner}(vocabulary_size={self.vocabulary_size}, lowercase={self.lowercase})"

    def save(self, path: PathLike) -> None:
        """Writes the tokenizer as one JSON file, whole or not at all.

        Args:
            path: The file; one that exists is replaced.

        Raises:
            FileNotFoundError: If its folder does not exist.
        """
        path = pathlib.Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"{self._owner}.save expects an existing folder. Received: path={str(path)!r}"
            )
        content = {
            "format": f"keras_attnpool.{self._owner}",
            "version": _VERSION,
            "lowercase": self._lowercase,
            "vocabulary": self._vocabulary,
        }
        with whole_file(path) as temporary:
            text = json.dumps(content, ensure_ascii=False, indent=0)
            temporary.write_text(text + "\n", encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Reads a tokenizer that `save` wrote.

        Args:
            path: The file.

        Returns:
            The tokenizer.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file is damaged or something else.
        """
        owner = cls._owner
        caller = f"{owner}.load({str(path)!r})"
        try:
            content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{caller} expects a file written by {owner}.save. Received: no JSON ({error})"
            ) from error
        is_ours = isinstance(content, dict) and content.get("format") == f"keras_attnpool.{owner}"
        if not is_ours:
            raise ValueError(
                f"{caller} expects a file written by {owner}.save. Received: other JSON"
            )
        if content.get("version") != _VERSION:
            raise ValueError(
                f"{caller} expects version {_VERSION} of the format. "
                f"Received: version={content.get('version')!r}"
            )
        vocabulary, lowercase = content.get("vocabulary"), content.get("lowercase")
        if not isinstance(vocabulary, list) or not isinstance(lowercase, bool):
            raise ValueError(
                f"{caller} expects a list `vocabulary` and a boolean `lowercase`. Received: "
                f"{type(vocabulary).__name__} and {type(lowercase).__name__}"
            )
        vocabulary = checked_vocabulary(caller, vocabulary)
        try:
            return cls(vocabulary, lowercase)
        except ValueError as error:
            raise ValueError(f"{caller}: {error}") from error
