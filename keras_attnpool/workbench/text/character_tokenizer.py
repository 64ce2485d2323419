"""Turns the characters of every word of `WordTokenizer` into ids."""

import collections
import reprlib
from collections.abc import Iterable

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
from keras_attnpool.workbench.text.word_tokenizer import WordTokenizer


class CharacterTokenizer(Vocabulary):
    """Turns the characters of every word into ids, to embed the spelling.

    `CharacterTokenizer` splits texts into the same words as `WordTokenizer`, but it can keep upper
    case. Row t of a text's characters belongs to word t of `WordTokenizer.encode`, if both
    tokenizers cut the text at the same length. A character is a code point of the text's composed
    form (NFC). Id 0 is `[PAD]`, which pads short words and short texts. Id 1 is `[UNK]`, the id of
    all characters outside the vocabulary. So the ids of a word are never all 0.

    Args:
        vocabulary: Distinct characters, whose indices are the ids. The first two entries are
            `"[PAD]"` and `"[UNK]"`. `CharacterTokenizer.train` computes a vocabulary from texts.
        lowercase: Whether to convert texts to lower case.

    Raises:
        ValueError: If `vocabulary` does not have the form above.
        ImportError: If the tokenizers library is missing.

    Example:

    >>> from keras_attnpool.workbench.text import CharacterTokenizer
    >>> tokenizer = CharacterTokenizer.train(["an apple"])
    >>> tokenizer.vocabulary
    ('[PAD]', '[UNK]', 'a', 'p', 'e', 'l', 'n')
    >>> tokenizer.encode(["plane", "a lap"], max_word_length=4)
    array([[[3, 5, 2, 6],
            [0, 0, 0, 0]],
    <BLANKLINE>
           [[2, 0, 0, 0],
            [5, 2, 3, 0]]], dtype=int32)
    """

    _owner = "CharacterTokenizer"

    def __init__(self, vocabulary: Iterable[str], lowercase: bool = False) -> None:
        super().__init__(vocabulary, lowercase)
        for index, character in enumerate(self._vocabulary[2:], start=2):
            if len(character) != 1:
                must = "be single characters"
                received = f"{reprlib.repr(character)} at index {index}"
                raise ArgumentError("vocabulary", must, received, "CharacterTokenizer")
        self._ids = {character: index for index, character in enumerate(self._vocabulary)}
        self._words = WordTokenizer((PADDING, UNKNOWN), lowercase)

    @classmethod
    def train(
        cls, texts: Iterable[str], min_frequency: int = 1, lowercase: bool = False
    ) -> "CharacterTokenizer":
        """Makes a tokenizer from training texts, with the most frequent characters first.

        Characters of equal frequency are sorted by code point.

        Args:
            texts: Sequence of strings, the training texts.
            min_frequency: Smallest number of occurrences. Rarer characters become `[UNK]`.
            lowercase: Whether to convert texts to lower case, in training and in use.

        Returns:
            The tokenizer. Without texts, the vocabulary has only `[PAD]` and `[UNK]`.

        Raises:
            ValueError: If `texts` is not a sequence of strings, if a text is not valid Unicode, or
                if `min_frequency` is below 1.

        Example:

        >>> from keras_attnpool.workbench.text import CharacterTokenizer
        >>> CharacterTokenizer.train(["to be or not to be"], min_frequency=3).vocabulary
        ('[PAD]', '[UNK]', 'o', 't')
        """
        owner = "CharacterTokenizer.train"
        texts = checked_texts(owner, texts)
        check_integers(owner, min_frequency=min_frequency)
        words = WordTokenizer((PADDING, UNKNOWN), lowercase)
        counts: collections.Counter[str] = collections.Counter()
        for text in texts:
            for word in words.tokenize(text):
                counts.update(word)
        frequent = [character for character in counts if counts[character] >= min_frequency]
        frequent.sort(key=lambda character: (-counts[character], character))
        return cls([PADDING, UNKNOWN, *frequent], lowercase)

    def encode(
        self,
        texts: Iterable[str],
        max_length: int | None = None,
        max_word_length: int = 16,
        pad_to: int | None = None,
        truncate: str = "end",
    ) -> Int32s:
        """Turns texts into one array of character ids, padded with 0 at the end.

        Lengths are counted in words, as in `WordTokenizer.encode`.

        Args:
            texts: Sequence of B strings.
            max_length: Longer texts are cut to this length. `None` sets no limit.
            max_word_length: Number W of characters per word in the result. Longer words keep only
                their first W characters.
            pad_to: Fixed length T of the result. Longer texts are cut to this length. `None` takes
                the length of the longest text.
            truncate: The part that a long text loses: `"end"`, `"start"` or `"middle"`.

        Returns:
            int32 array of shape `(B, T, W)`, with the same T as `WordTokenizer.encode`.

        Raises:
            TypeError: If `texts` is not a sequence of strings.
            ValueError: If a text is not valid Unicode, if a length is below 1, or if `truncate` is
                unknown.

        Example:

        >>> from keras_attnpool.workbench.text import CharacterTokenizer
        >>> tokenizer = CharacterTokenizer.train(["ab"])
        >>> tokenizer.encode(["a b", "bac"], max_length=1, max_word_length=3)
        array([[[2, 0, 0]],
        <BLANKLINE>
               [[3, 2, 1]]], dtype=int32)
        """
        owner = "CharacterTokenizer.encode"
        texts = checked_texts(owner, texts)
        check_integers(owner, max_word_length=max_word_length)
        # The characters of every distinct word are encoded once. Number 0 stands for padding.
        places: dict[str, int] = {"": 0}
        rows = (
            [places.setdefault(word, len(places)) for word in self._words.tokenize(text)]
            for text in texts
        )
        chosen = cut_and_padded(owner, rows, max_length, pad_to, truncate)
        spelled = [[self._ids.get(c, 1) for c in word[:max_word_length]] for word in places]
        return padded(spelled, max_word_length)[chosen]
