"""Turns words and punctuation marks into ids and back, with the `tokenizers` library."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_attnpool._checks import ArgumentError
from keras_attnpool.types import Int32s
from keras_attnpool.workbench.text._vocabulary import (
    PADDING,
    UNKNOWN,
    Vocabulary,
    check_integers,
    checked_texts,
    cut_and_padded,
    padded,
)
from keras_attnpool.workbench.text.sentences import split_sentences

# The Rust code needs about a hundred bytes per token of a batch. This number bounds the memory.
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
    """Makes the library's tokenizer without special tokens, so that no text gets the id 0."""
    tokenizers = _tokenizers()
    ids = {word: index for index, word in enumerate(vocabulary)}
    rust = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token=UNKNOWN))
    # NFC is the last step, because some lower-case letters have a composed form and their capitals
    # have none.
    steps = [tokenizers.normalizers.Lowercase()] if lowercase else []
    rust.normalizer = tokenizers.normalizers.Sequence([*steps, tokenizers.normalizers.NFC()])
    rust.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return rust


class WordTokenizer(Vocabulary):
    """Splits texts into words and punctuation marks, and turns them into ids.

    A token is a run of letters, digits and underscores, or a run of other characters except white
    space (`...`, `?!`). Texts are normalised to Unicode's composed form (NFC). So a text may have
    its accents as separate characters. Id 0 is `[PAD]`. No text gets this id, not even the text
    "[PAD]". Id 1 is `[UNK]`, the id of all words outside the vocabulary.

    Args:
        vocabulary: Distinct words, whose indices are the ids. The first two entries are `"[PAD]"`
            and `"[UNK]"`. `WordTokenizer.train` computes a vocabulary from texts.
        lowercase: Whether to convert texts to lower case.

    Raises:
        ValueError: If `vocabulary` does not have the form above.
        ImportError: If the tokenizers library is missing.

    Example:

    >>> from keras_attnpool.workbench.text import WordTokenizer
    >>> tokenizer = WordTokenizer.train(["A good film.", "Not a good film!"])
    >>> tokenizer.vocabulary
    ('[PAD]', '[UNK]', 'a', 'film', 'good', '!', '.', 'not')
    >>> tokenizer.encode(["A film", "A very good film."])
    array([[2, 3, 0, 0, 0],
           [2, 1, 4, 3, 6]], dtype=int32)
    """

    _owner = "WordTokenizer"

    def __init__(self, vocabulary: Iterable[str], lowercase: bool = True) -> None:
        super().__init__(vocabulary, lowercase)
        self._rust = _rust_tokenizer(self._vocabulary, self._lowercase)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        min_frequency: int = 1,
        max_vocabulary: int | None = None,
        lowercase: bool = True,
    ) -> "WordTokenizer":
        """Makes a tokenizer from training texts, with the most frequent words first.

        Words of equal frequency are sorted by code point, so the same texts always give the same
        ids.

        Args:
            texts: Sequence of strings, the training texts.
            min_frequency: Smallest number of occurrences. Rarer words become `[UNK]`.
            max_vocabulary: Largest size of the vocabulary, including `[PAD]` and `[UNK]`. `None`
                sets no limit.
            lowercase: Whether to convert texts to lower case, in training and in use.

        Returns:
            The tokenizer. Without any text, the vocabulary has only `[PAD]` and `[UNK]`.

        Raises:
            ValueError: If `texts` is not a sequence of strings, if a text is not valid Unicode, if
                `min_frequency` is below 1, or if `max_vocabulary` is below 2.

        Example:

        >>> from keras_attnpool.workbench.text import WordTokenizer
        >>> WordTokenizer.train(["to be or not to be"], min_frequency=2).vocabulary
        ('[PAD]', '[UNK]', 'be', 'to')
        """
        owner = "WordTokenizer.train"
        texts = checked_texts(owner, texts)
        check_integers(owner, min_frequency=min_frequency)
        check_integers(owner, or_none=True, max_vocabulary=max_vocabulary)
        if max_vocabulary is not None and max_vocabulary < 2:
            must = f"be 2 or more, for {PADDING} and {UNKNOWN}"
            raise ArgumentError("max_vocabulary", must, {"max_vocabulary": max_vocabulary}, owner)
        trainer = _tokenizers().trainers.WordLevelTrainer(
            vocab_size=sys.maxsize if max_vocabulary is None else max_vocabulary,
            min_frequency=min_frequency,
            special_tokens=[PADDING, UNKNOWN],
            show_progress=False,
        )
        rust = _rust_tokenizer((PADDING, UNKNOWN), lowercase)
        rust.train_from_iterator(texts, trainer)
        # The trained object searches for "[PAD]" in texts, but the tokenizer of `cls` does not.
        ids = rust.get_vocab()
        return cls(sorted(ids, key=ids.__getitem__), lowercase)

    def tokenize(self, text: str) -> list[str]:
        """Splits one text into its normalised tokens, including words outside the vocabulary.

        Args:
            text: A string.

        Returns:
            The tokens, one for each id of the text.

        Raises:
            ValueError: If `text` is not a valid Unicode string.

        Example:

        >>> from keras_attnpool.workbench.text import WordTokenizer
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
    ) -> Int32s:
        """Turns texts into one array of ids, padded with 0 at the end.

        Args:
            texts: Sequence of B strings.
            max_length: Longer texts are cut to this length. `None` sets no limit.
            pad_to: Fixed length T of the result. Longer texts are cut to this length. `None` takes
                the length of the longest text.
            truncate: The part that a long text loses: `"end"`, `"start"` or `"middle"`.

        Returns:
            int32 array of shape `(B, T)`, with T at least 1. An empty text gives a row of zeros.

        Raises:
            ValueError: If `texts` is not a sequence of strings, if a text is not valid Unicode, if
                a length is below 1, or if `truncate` is unknown.

        Example:

        >>> from keras_attnpool.workbench.text import WordTokenizer
        >>> tokenizer = WordTokenizer.train(["a b c d"])
        >>> tokenizer.encode(["a b c d", ""], max_length=3, truncate="middle")
        array([[2, 3, 5],
               [0, 0, 0]], dtype=int32)
        """
        owner = "WordTokenizer.encode"
        texts = checked_texts(owner, texts)
        return cut_and_padded(owner, self._ids(texts), max_length, pad_to, truncate)

    def encode_sentences(
        self, texts: Iterable[str], max_sentences: int | None = None, max_words: int | None = None
    ) -> Int32s:
        """Turns each text into rows of ids, one row per sentence, in one array.

        `split_sentences` finds the sentences. Together the sentences have all tokens of the text.

        Args:
            texts: Sequence of B strings.
            max_sentences: Largest number of sentences of a text. Further sentences are dropped.
                `None` sets no limit.
            max_words: Largest number of tokens of a sentence. Further tokens of the sentence are
                dropped. `None` sets no limit.

        Returns:
            int32 array of shape `(B, S, W)`, padded with 0. S is the largest number of sentences of
            a text, and W is the length of the longest kept sentence. S and W are at least 1. An
            empty text gives zeros.

        Raises:
            ValueError: If `texts` is not a sequence of strings, if a text is not valid Unicode, or
                if a limit is below 1.

        Example:

        >>> from keras_attnpool.workbench.text import WordTokenizer
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
        check_integers(owner, or_none=True, max_sentences=max_sentences, max_words=max_words)
        documents = [split_sentences(text)[:max_sentences] for text in texts]
        flat = [sentence for document in documents for sentence in document]
        rows = [row[:max_words] for row in self._ids(flat)]
        width = max(map(len, rows), default=1)
        counts = [len(document) for document in documents]
        parts = np.split(padded(rows, width), np.cumsum(counts, dtype=np.intp))[:-1]
        return padded(parts, max(counts, default=1) or 1, width)

    def decode(self, ids: npt.ArrayLike) -> list[str]:
        """Turns one row of ids back into tokens.

        Args:
            ids: Integers of shape `(T,)`.

        Returns:
            The tokens without padding.

        Raises:
            ValueError: If `ids` are not integers.
            ValueError: If `ids` is not a single row or contains an id outside the vocabulary.

        Example:

        >>> from keras_attnpool.workbench.text import WordTokenizer
        >>> tokenizer = WordTokenizer.train(["a good film"])
        >>> tokenizer.decode([3, 4, 1, 0, 0])
        ['film', 'good', '[UNK]']
        """
        owner = "WordTokenizer.decode"
        row = np.asarray(ids)
        if row.ndim != 1:
            raise ArgumentError("ids", "be one row", f"shape {row.shape}", owner)
        if not row.size:
            return []
        if not np.issubdtype(row.dtype, np.integer):
            raise ArgumentError("ids", "be integers", f"dtype {row.dtype}", owner)
        if row.min() < 0 or row.max() >= self.vocabulary_size:
            must = f"be in [0, {self.vocabulary_size})"
            raise ArgumentError("ids", must, f"ids from {row.min()} to {row.max()}", owner)
        return [self._vocabulary[index] for index in row[row != 0]]

    def _ids(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yields the ids of each text, neither cut nor padded."""
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            batch = texts[start : start + _TEXTS_AT_ONCE]
            for encoding in self._rust.encode_batch_fast(batch, add_special_tokens=False):
                yield encoding.ids
