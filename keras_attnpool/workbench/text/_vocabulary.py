"""The base class of the tokenizers, with checks of texts and lengths."""

import json
import pathlib
import reprlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from keras_attnpool._checks import ArgumentError, column, integer, one_of, validate
from keras_attnpool.types import Int32s, PathLike
from keras_attnpool.workbench._files import whole_file

PADDING = "[PAD]"
UNKNOWN = "[UNK]"

_VERSION = 1


def checked_texts(owner: str, texts: Iterable[str]) -> list[str]:
    """Returns texts as a list; raises an error unless each text is a valid Unicode string."""
    checked = column(owner, "texts", texts)
    for index, text in enumerate(checked):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            received = f"a lone surrogate at character {error.start} of the text at index {index}"
            raise ArgumentError("texts", "be valid Unicode", received, owner) from None
    return checked


def check_integers(owner: str, least: int = 1, or_none: bool = False, **values: int | None) -> None:
    """Raises an error unless every value is an integer >= `least`, or `None` with `or_none`."""
    for name, value in values.items():
        if value is not None or not or_none:
            validate(name, value, integer(least), owner)


def checked_vocabulary(owner: str, vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Checks that strings are distinct and not empty, and begin with `[PAD]` and `[UNK]`."""
    words = tuple(column(owner, "vocabulary", vocabulary))
    if words[:2] != (PADDING, UNKNOWN):
        must, received = f"start with {PADDING!r}, {UNKNOWN!r}", reprlib.repr(words[:2])
        raise ArgumentError("vocabulary", must, received, owner)
    seen: set[str] = set()
    for index, word in enumerate(words):
        if not word or word in seen:
            must = "be distinct words, none empty"
            raise ArgumentError("vocabulary", must, f"{reprlib.repr(word)} at index {index}", owner)
        seen.add(word)
    return words


def cut_and_padded(
    owner: str, rows: Iterable[list[int]], max_length: int | None, pad_to: int | None, truncate: str
) -> Int32s:
    """Cuts and pads rows as the arguments of `encode` demand."""
    check_integers(owner, or_none=True, max_length=max_length, pad_to=pad_to)
    validate("truncate", truncate, one_of(("end", "start", "middle")), owner)
    limit = min(max_length or sys.maxsize, pad_to or sys.maxsize)
    # The number of steps that are kept at the end of the row.
    tail = {"end": 0, "middle": limit // 2, "start": limit}[truncate]
    kept = [
        row if len(row) <= limit else row[: limit - tail] + row[len(row) - tail :] for row in rows
    ]
    return padded(kept, pad_to or max(map(len, kept), default=1) or 1)


def padded(rows: Sequence[Any], length: int, *inner: int) -> Int32s:
    """Puts rows of ids into one array `(rows, length, *inner)`, with zeros after each row."""
    ids = np.zeros((len(rows), length, *inner), np.int32)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
    return ids


class Vocabulary:
    """Base class of the tokenizers. The class saves vocabulary and options in one JSON file.

    Args:
        vocabulary: Distinct non-empty strings, whose indices are the ids. The first two strings are
            `"[PAD]"` and `"[UNK]"`.
        lowercase: Whether the tokenizer converts texts to lower case.

    Raises:
        ValueError: If `vocabulary` does not have this form.
    """

    # Files and error messages have this name of the public class. A user's subclass writes it too.
    _owner: str

    def __init__(self, vocabulary: Iterable[str], lowercase: bool) -> None:
        self._vocabulary = checked_vocabulary(self._owner, vocabulary)
        self._lowercase = bool(lowercase)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words or characters, whose indices are the ids."""
        return self._vocabulary

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, including padding: the `input_dim` of an embedding."""
        return len(self._vocabulary)

    @property
    def lowercase(self) -> bool:
        """Whether texts are converted to lower case."""
        return self._lowercase

    def __repr__(self) -> str:
        return f"{self._owner}(vocabulary_size={self.vocabulary_size}, lowercase={self.lowercase})"

    def save(self, path: PathLike) -> None:
        """Writes the tokenizer as one JSON file; an error leaves no half-written file.

        Args:
            path: The file. An existing file is replaced.

        Raises:
            FileNotFoundError: If the folder does not exist.
        """
        path = pathlib.Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"{self._owner}.save must have an existing folder. Received: path={str(path)!r}"
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
            ValueError: If the file is damaged or contains no vocabulary.
        """
        owner = cls._owner
        caller = f"{owner}.load({str(path)!r})"
        try:
            content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            content = f"no JSON ({error})"
        wanted = {"format": f"keras_attnpool.{owner}", "version": _VERSION}
        if not isinstance(content, dict) or not wanted.items() <= content.items():
            must = f"be a file written by {owner}.save, of {wanted}"
            raise ArgumentError("path", must, reprlib.repr(content), caller)
        vocabulary, lowercase = content.get("vocabulary"), content.get("lowercase")
        if not isinstance(vocabulary, list) or not isinstance(lowercase, bool):
            must = "hold a list `vocabulary` and a boolean `lowercase`"
            raise ArgumentError("path", must, reprlib.repr(content), caller)
        vocabulary = checked_vocabulary(caller, vocabulary)
        try:
            return cls(vocabulary, lowercase)
        except ArgumentError as error:
            raise error.renamed(owner=caller) from None
