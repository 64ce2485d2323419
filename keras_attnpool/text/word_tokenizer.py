"""Words and punctuation marks to ids and back, over the `tokenizers` library."""

import json
import os
import pathlib
import reprlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_attnpool.text.sentences import split_sentences

PADDING = "[PAD]"
UNKNOWN = "[UNK]"

_VERSION = 1
# The Rust side keeps about a hundred bytes per token of a batch: bounded this way.
_TEXTS_AT_ONCE = 1024


def _tokenizers() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise ImportError(
            "WordTokenizer needs the tokenizers library: pip install keras_attnpool[text]"
        ) from error
    return tokenizers


def _rust_tokenizer(vocabulary: Sequence[str], lowercase: bool) -> Any:
    """The library's tokenizer; without special tokens, so that no text can yield id 0."""
    tokenizers = _tokenizers()
    ids = {word: index for index, word in enumerate(vocabulary)}
    rust = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token=UNKNOWN))
    # NFC last: a lower-case letter may have a composed form where the capital has none.
    steps = [tokenizers.normalizers.Lowercase()] if lowercase else []
    rust.normalizer = tokenizers.normalizers.Sequence([*steps, tokenizers.normalizers.NFC()])
    rust.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return rust


def checked_texts(owner: str, texts: Iterable[str]) -> list[str]:
    """Returns texts as a list, or raises.

    Args:
        owner: Name for the error message.
        texts: What should be a sequence of strings.

    Returns:
        The texts, all of them strings and valid Unicode.

    Raises:
        TypeError: If `texts` is one string or holds something else than strings.
        ValueError: If a text is not valid Unicode.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise TypeError(
            f"{owner} expects `texts` to be a sequence of strings. Received: {type(texts).__name__}"
        )
    texts = list(texts)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"{owner} expects every text to be a string. "
                f"Received: {type(text).__name__} at index {index}"
            )
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{owner} expects valid Unicode. Received: a lone surrogate at character "
                f"{error.start} of the text at index {index}"
            ) from None
    return texts


def check_positive(owner: str, **limits: int | None) -> None:
    """Raises unless every limit is `None` or a positive integer.

    Args:
        owner: Name for the error message.
        **limits: The limits by the names of their arguments.

    Raises:
        ValueError: If a limit is something else.
    """
    for name, limit in limits.items():
        if limit is None:
            continue
        if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1:
            raise ValueError(
                f"{owner} expects `{name}` to be None or a positive integer. "
                f"Received: {name}={limit!r}"
            )


def checked_vocabulary(owner: str, vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Returns a vocabulary as a tuple, or raises.

    Args:
        owner: Name for the error message.
        vocabulary: Words, index = id.

    Returns:
        The words: distinct non-empty strings, the first two `[PAD]` and `[UNK]`.

    Raises:
        ValueError: If that does not hold.
    """
    words = () if isinstance(vocabulary, str | bytes) else tuple(vocabulary)
    if words[:2] != (PADDING, UNKNOWN):
        found = vocabulary if isinstance(vocabulary, str | bytes) else words[:2]
        raise ValueError(
            f"{owner} expects a vocabulary that starts with {PADDING!r}, {UNKNOWN!r}. "
            f"Received: {reprlib.repr(found)}"
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


def cut_rows(
    owner: str,
    rows: Iterable[list[Any]],
    max_length: int | None,
    pad_to: int | None,
    truncate: str,
) -> tuple[list[list[Any]], int]:
    """Cuts rows as `encode` is asked to, and says how long they become with padding.

    Args:
        owner: Name for the error message.
        rows: One list per text.
        max_length: Longest length that is kept, or `None`.
        pad_to: Fixed length, which also cuts, or `None`.
        truncate: Which part is dropped: `"end"`, `"start"` or `"middle"`.

    Returns:
        The rows and the length T, at least 1, that none of them exceeds.

    Raises:
        ValueError: If a length is below 1 or `truncate` is unknown.
    """
    check_positive(owner, max_length=max_length, pad_to=pad_to)
    if truncate not in ("end", "start", "middle"):
        raise ValueError(
            f"{owner} expects `truncate` to be 'end', 'start' or 'middle'. "
            f"Received: truncate={truncate!r}"
        )
    limit = min(max_length or sys.maxsize, pad_to or sys.maxsize)
    kept = [_cut(row, limit, truncate) for row in rows]
    return kept, pad_to or max((len(row) for row in kept), default=1) or 1


def save_vocabulary(
    owner: str, path: str | os.PathLike[str], vocabulary: Sequence[str], lowercase: bool
) -> None:
    """Writes what a tokenizer is made of as one JSON file, whole or not at all.

    Args:
        owner: Name of the tokenizer's class, for the file and the error message.
        path: The file; one that exists is replaced.
        vocabulary: Words or characters, index = id.
        lowercase: Whether the tokenizer lower-cases.

    Raises:
        FileNotFoundError: If its folder does not exist.
    """
    path = pathlib.Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{owner}.save expects an existing folder. Received: path={str(path)!r}"
        )
    content = {
        "format": f"keras_attnpool.{owner}",
        "version": _VERSION,
        "lowercase": lowercase,
        "vocabulary": vocabulary,
    }
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        text = json.dumps(content, ensure_ascii=False, indent=0)
        temporary.write_text(text + "\n", encoding="utf-8", newline="\n")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_vocabulary(owner: str, path: str | os.PathLike[str]) -> tuple[tuple[str, ...], bool]:
    """Reads what `save_vocabulary` wrote for the same owner.

    Args:
        owner: Name of the tokenizer's class.
        path: The file.

    Returns:
        The vocabulary and whether the tokenizer lower-cases.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is damaged or something else.
    """
    caller = f"{owner}.load({str(path)!r})"
    try:
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{caller} expects a file written by {owner}.save. Received: no JSON ({error})"
        ) from error
    found = content.get("format") if isinstance(content, dict) else None
    if found != f"keras_attnpool.{owner}":
        raise ValueError(f"{caller} expects a file written by {owner}.save. Received: other JSON")
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
    return checked_vocabulary(caller, vocabulary), lowercase


class WordTokenizer:
    """Splits text into words and punctuation and numbers them; id 0 is padding only.

    A token is a run of letters, digits and underscores or a run of other characters that are not
    white space (`...`, `?!`). Text is brought into Unicode's composed form (NFC), so that an
    accent typed as a character of its own makes no difference. Id 0 is `[PAD]`: no text,
    not even the text "[PAD]", contains it. Id 1 is `[UNK]`, any word outside the vocabulary.

    Args:
        vocabulary: Distinct words, index = id, the first two `"[PAD]"` and `"[UNK]"`.
            `WordTokenizer.train` makes one from texts.
        lowercase: Whether to lower-case the text first.

    Raises:
        ValueError: If `vocabulary` is not of that form.
        ImportError: If the tokenizers library is missing.

    Example:

    >>> from keras_attnpool.text import WordTokenizer
    >>> tokenizer = WordTokenizer.train(["A good film.", "Not a good film!"])
    >>> tokenizer.vocabulary
    ('[PAD]', '[UNK]', 'a', 'film', 'good', '!', '.', 'not')
    >>> tokenizer.encode(["A film", "A very good film."])
    array([[2, 3, 0, 0, 0],
           [2, 1, 4, 3, 6]], dtype=int32)
    """

    def __init__(self, vocabulary: Iterable[str], lowercase: bool = True) -> None:
        self._vocabulary = checked_vocabulary("WordTokenizer", vocabulary)
        self._lowercase = bool(lowercase)
        self._rust = _rust_tokenizer(self._vocabulary, self._lowercase)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        min_frequency: int = 1,
        max_vocabulary: int | None = None,
        lowercase: bool = True,
    ) -> "WordTokenizer":
        """Makes the vocabulary of some texts, the most frequent words first.

        Words of equal frequency come in the order of their code points, so that the same texts
        always give the same ids.

        Args:
            texts: Sequence of strings: the training texts.
            min_frequency: Rarer words are left to `[UNK]`.
            max_vocabulary: Size limit, `[PAD]` and `[UNK]` counted; `None` for no limit.
            lowercase: Whether to lower-case the texts, now and whenever the tokenizer is used.

        Returns:
            The tokenizer. Without any text it knows `[PAD]` and `[UNK]` alone.

        Raises:
            TypeError: If `texts` is not a sequence of strings.
            ValueError: If a text is not valid Unicode, `min_frequency` is below 1 or
                `max_vocabulary` below 2.

        Example:

        >>> from keras_attnpool.text import WordTokenizer
        >>> WordTokenizer.train(["to be or not to be"], min_frequency=2).vocabulary
        ('[PAD]', '[UNK]', 'be', 'to')
        """
        owner = "WordTokenizer.train"
        texts = checked_texts(owner, texts)
        if min_frequency is None:
            raise ValueError(f"{owner} expects a positive `min_frequency`. Received: None")
        check_positive(owner, min_frequency=min_frequency, max_vocabulary=max_vocabulary)
        if max_vocabulary is not None and max_vocabulary < 2:
            raise ValueError(
                f"{owner} expects `max_vocabulary` of 2 or more, for {PADDING} and {UNKNOWN}. "
                f"Received: max_vocabulary={max_vocabulary}"
            )
        trainer = _tokenizers().trainers.WordLevelTrainer(
            vocab_size=sys.maxsize if max_vocabulary is None else max_vocabulary,
            min_frequency=min_frequency,
            special_tokens=[PADDING, UNKNOWN],
            show_progress=False,
        )
        rust = _rust_tokenizer((PADDING, UNKNOWN), lowercase)
        rust.train_from_iterator(texts, trainer)
        # The trained object also looks for "[PAD]" inside texts; the one built here does not.
        ids = rust.get_vocab()
        return cls(sorted(ids, key=ids.__getitem__), lowercase)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words; the index of a word is its id."""
        return self._vocabulary

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, padding included: the `input_dim` of an embedding."""
        return len(self._vocabulary)

    @property
    def lowercase(self) -> bool:
        """Whether text is lower-cased first."""
        return self._lowercase

    def __repr__(self) -> str:
        return f"WordTokenizer(vocabulary_size={self.vocabulary_size}, lowercase={self.lowercase})"

    def tokenize(self, text: str) -> list[str]:
        """Splits one text into its normalized tokens, known or not.

        Args:
            text: A string.

        Returns:
            The tokens, as many as the text has ids.

        Raises:
            TypeError: If `text` is not a string.
            ValueError: If it is not valid Unicode.

        Example:

        >>> from keras_attnpool.text import WordTokenizer
        >>> WordTokenizer.train([]).tokenize("Don't stop...")
        ['don', "'", 't', 'stop', '...']
        """
        (text,) = checked_texts("WordTokenizer.tokenize", [text])
        normalized = self._rust.normalizer.normalize_str(text)
        return [word for word, _ in self._rust.pre_tokenizer.pre_tokenize_str(normalized)]

    def encode(
        self,
        texts: Iterable[str],
        max_length: int | None = None,
        pad_to: int | None = None,
        truncate: str = "end",
    ) -> npt.NDArray[np.int32]:
        """Turns texts into one array of ids, padded with 0 at the right.

        Args:
            texts: Sequence of B strings.
            max_length: Longest length that is kept; longer texts are cut. `None` for no limit.
            pad_to: Fixed length T of the result, which also cuts. `None`: the longest text's.
            truncate: Which part of a text that is too long is dropped: `"end"`, `"start"`
                or `"middle"` (its first and last halves are kept).

        Returns:
            int32 array of shape `(B, T)`, T at least 1. An empty text gives a row of zeros.

        Raises:
            TypeError: If `texts` is not a sequence of strings.
            ValueError: If a text is not valid Unicode, a length is below 1 or `truncate` is
                unknown.

        Example:

        >>> from keras_attnpool.text import WordTokenizer
        >>> tokenizer = WordTokenizer.train(["a b c d"])
        >>> tokenizer.encode(["a b c d", ""], max_length=3, truncate="middle")
        array([[2, 3, 5],
               [0, 0, 0]], dtype=int32)
        """
        owner = "WordTokenizer.encode"
        texts = checked_texts(owner, texts)
        rows, length = cut_rows(owner, self._ids(texts), max_length, pad_to, truncate)
        ids = np.zeros((len(rows), length), np.int32)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
        return ids

    def encode_sentences(
        self,
        texts: Iterable[str],
        max_sentences: int | None = None,
        max_words: int | None = None,
    ) -> npt.NDArray[np.int32]:
        """Turns texts into one array of ids with a row for every sentence.

        The sentences are those of `split_sentences`. Their tokens put together are the tokens of
        the text.

        Args:
            texts: Sequence of B strings.
            max_sentences: Sentences beyond this number are dropped; `None` for no limit.
            max_words: Tokens of a sentence beyond this number are dropped; `None` for no limit.

        Returns:
            int32 array of shape `(B, S, W)`, S the most sentences of a text and W the longest
            sentence that is kept, each at least 1; 0 is padding. An empty text is all zeros.

        Raises:
            TypeError: If `texts` is not a sequence of strings.
            ValueError: If a text is not valid Unicode or a limit is below 1.

        Example:

        >>> from keras_attnpool.text import WordTokenizer
        >>> tokenizer = WordTokenizer.train(["a b . c"])
        >>> tokenizer.encode_sentences(["a b. c", "c."])
        array([[[3, 4, 2],
                [5, 0, 0]],
        <BLANKLINE>
               [[5, 2, 0],
                [0, 0, 0]]], dtype=int32)
        """
        owner = "WordTokenizer.encode_sentences"
        texts = checked_texts(owner, texts)
        check_positive(owner, max_sentences=max_sentences, max_words=max_words)
        documents = [split_sentences(text)[:max_sentences] for text in texts]
        counts = [len(sentences) for sentences in documents]
        flat = [sentence for sentences in documents for sentence in sentences]
        rows = [row[:max_words] for row in self._ids(flat)]
        words = max((len(row) for row in rows), default=1)
        ids = np.zeros((len(texts), max(counts, default=1) or 1, words), np.int32)
        places = ((d, s) for d, count in enumerate(counts) for s in range(count))
        for (document, sentence), row in zip(places, rows, strict=True):
            ids[document, sentence, : len(row)] = row
        return ids

    def decode(self, ids: npt.ArrayLike) -> list[str]:
        """Turns one row of ids back into tokens.

        Args:
            ids: Integers of shape `(T,)`.

        Returns:
            The tokens, padding left out.

        Raises:
            TypeError: If `ids` are not integers.
            ValueError: If `ids` is not one row or holds an id outside the vocabulary.

        Example:

        >>> from keras_attnpool.text import WordTokenizer
        >>> tokenizer = WordTokenizer.train(["a good film"])
        >>> tokenizer.decode([3, 4, 1, 0, 0])
        ['film', 'good', '[UNK]']
        """
        owner = "WordTokenizer.decode"
        row = np.asarray(ids)
        if row.ndim != 1:
            raise ValueError(f"{owner} expects one row of ids. Received: shape={row.shape}")
        if not row.size:
            return []
        if not np.issubdtype(row.dtype, np.integer):
            raise TypeError(f"{owner} expects integer ids. Received: dtype={row.dtype}")
        if row.min() < 0 or row.max() >= self.vocabulary_size:
            raise ValueError(
                f"{owner} expects ids in [0, {self.vocabulary_size}). "
                f"Received: ids from {row.min()} to {row.max()}"
            )
        return [self._vocabulary[index] for index in row[row != 0]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the tokenizer as one JSON file, whole or not at all.

        Args:
            path: The file; one that exists is replaced.

        Raises:
            FileNotFoundError: If its folder does not exist.
        """
        save_vocabulary("WordTokenizer", path, self._vocabulary, self._lowercase)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "WordTokenizer":
        """Reads a tokenizer that `save` wrote.

        Args:
            path: The file.

        Returns:
            The tokenizer.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file is damaged or something else.
        """
        return cls(*load_vocabulary("WordTokenizer", path))

    def _ids(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yields the ids of each text, neither cut nor padded."""
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            batch = texts[start : start + _TEXTS_AT_ONCE]
            for encoding in self._rust.encode_batch_fast(batch, add_special_tokens=False):
                yield encoding.ids


def _cut(row: list[int], limit: int, truncate: str) -> list[int]:
    if len(row) <= limit:
        return row
    if truncate == "end":
        return row[:limit]
    if truncate == "start":
        return row[-limit:]
    tail = limit // 2
    return row[: limit - tail] + row[len(row) - tail :]
