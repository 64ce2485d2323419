"""Trains word vectors on texts, or reads them from a file, to initialise an embedding."""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.types import Float32s, PathLike
from keras_attnpool.workbench._text_files import VECTOR_ADVICE, opened
from keras_attnpool.workbench.text._vocabulary import (
    UNKNOWN,
    check_integers,
    checked_texts,
    checked_vocabulary,
)
from keras_attnpool.workbench.text.word_tokenizer import WordTokenizer

# gensim silently drops the further words of a longer "sentence".
_LONGEST_FOR_GENSIM = 10_000
_NUMBER = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?")


def _random_vectors(size: int, dim: int, seed: int) -> Float32s:
    """Draws rows from N(0, 0.1) for words without a vector. Row 0 (padding) is zero."""
    vectors = np.random.default_rng(seed).normal(0.0, 0.1, (size, dim)).astype(np.float32)
    vectors[0] = 0.0
    return vectors


def word2vec(
    texts: Iterable[str],
    tokenizer: WordTokenizer,
    dim: int = 100,
    window: int = 5,
    epochs: int = 5,
    skip_gram: bool = True,
    min_count: int = 1,
    seed: int = 0,
    workers: int = 1,
) -> Float32s:
    """Trains word2vec vectors (Mikolov et al., 2013) on texts, with gensim.

    The training uses the tokens that the model will read. Each word outside the vocabulary counts
    as `[UNK]`, so `[UNK]` gets a trained vector, too.

    Args:
        texts: Sequence of strings, the training split.
        tokenizer: The `WordTokenizer` that makes the model's inputs.
        dim: Length of a vector.
        window: Number of context words on each side of a word.
        epochs: Number of passes over the texts.
        skip_gram: Whether to train skip-gram instead of a continuous bag of words.
        min_count: Words with fewer occurrences in `texts` get no trained vector.
        seed: Seed of the training and of the random rows.
        workers: Number of threads. The result is reproducible only with 1 thread.

    Returns:
        float32 array of shape `(tokenizer.vocabulary_size, dim)`, the initial weights of an
        `Embedding`. Row 0 (padding) is zero. Words without a trained vector get a random vector
        from N(0, 0.1).

    Raises:
        ValueError: If `texts` is not a sequence of strings, if `texts` have no words to train on,
            or if a number is below 1.
        ImportError: If gensim is missing.

    Example:

    >>> from keras_attnpool.workbench.text import WordTokenizer, word2vec
    >>> texts = ["a good film", "a bad film"] * 10
    >>> vectors = word2vec(texts, WordTokenizer.train(texts), dim=8)
    >>> vectors.shape, vectors.dtype
    ((6, 8), dtype('float32'))
    """
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise ImportError("word2vec needs gensim: pip install keras_attnpool[text]") from error
    check_integers(
        "word2vec", dim=dim, window=window, epochs=epochs, min_count=min_count, workers=workers
    )
    known = set(tokenizer.vocabulary)
    sentences = []
    for text in checked_texts("word2vec", texts):
        words = [word if word in known else UNKNOWN for word in tokenizer.tokenize(text)]
        for start in range(0, len(words), _LONGEST_FOR_GENSIM):
            sentences.append(words[start : start + _LONGEST_FOR_GENSIM])
    vectors = _random_vectors(tokenizer.vocabulary_size, dim, seed)
    model = Word2Vec(
        vector_size=dim,
        window=window,
        sg=int(skip_gram),
        min_count=min_count,
        seed=seed,
        workers=workers,
    )
    model.build_vocab(sentences)
    if not len(model.wv):
        must = f"have a word that occurs at least min_count={min_count} times"
        raise ArgumentError("texts", must, f"{len(sentences)} texts that are not empty", "word2vec")
    model.train(sentences, total_examples=len(sentences), epochs=epochs)
    for index, word in enumerate(tokenizer.vocabulary):
        if word in model.wv:
            vectors[index] = model.wv[word]
    return vectors


def load_word_vectors(
    path: PathLike, tokenizer_or_vocabulary: WordTokenizer | Iterable[str], seed: int = 0
) -> tuple[Float32s, float]:
    r"""Reads pre-trained vectors of the vocabulary's words from a text file, such as GloVe.

    Each line has a word and its numbers, separated by single spaces, in UTF-8. If the first line
    has only two integers, it is the header of word2vec's text format, and its second integer is the
    length of the vectors. Words must match exactly: "paris" in the vocabulary does not match
    "Paris" in the file. If a word occurs twice, its first vector is used.

    Args:
        path: The file; gzip is recognised by its content.
        tokenizer_or_vocabulary: A `WordTokenizer`, or its vocabulary: words whose indices are the
            ids. The first two words are `"[PAD]"` and `"[UNK]"`.
        seed: Seed of the random vectors of words that the file lacks.

    Returns:
        `(vectors, coverage)`. `vectors` is a float32 array of shape `(V, dim)`. Row 0 (padding) is
        zero. Words that the file lacks get random vectors from N(0, 0.1). `coverage` is the share
        of the vocabulary's words that were found, without `[PAD]` and `[UNK]`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file contains no vectors or is damaged, or if a line is malformed. The
            message names the line.

    Example:

    >>> from pathlib import Path
    >>> from keras_attnpool.workbench.text import load_word_vectors
    >>> _ = Path("vectors.txt").write_text("good 0.5 -1\nfilm 2 0.25\n")
    >>> vectors, coverage = load_word_vectors("vectors.txt", ["[PAD]", "[UNK]", "good", "odd"])
    >>> vectors[2], coverage
    (array([ 0.5, -1. ], dtype=float32), 0.5)
    """
    owner = f"load_word_vectors({str(path)!r})"
    if isinstance(tokenizer_or_vocabulary, WordTokenizer):
        vocabulary = tokenizer_or_vocabulary.vocabulary
    else:
        vocabulary = checked_vocabulary("load_word_vectors", tokenizer_or_vocabulary)
    wanted = {word: index for index, word in enumerate(vocabulary)}
    del wanted[vocabulary[0]]
    vector_of: dict[int, Float32s] = {}
    dim, is_empty = 0, True
    for number, line in _lines(path):
        fields = line.split(" ")
        if number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields):
            dim = int(fields[1])
            continue
        is_empty = False
        dim = dim or len(fields) - 1
        # Some published words contain spaces, so the numbers are counted from the right.
        index = wanted.get(" ".join(fields[:-dim]).strip(" "))
        is_wide = index is None and len(fields) > dim + 1 and fields[0] in wanted
        if dim < 1 or len(fields) < dim + 1 or (is_wide and _NUMBER.fullmatch(fields[1])):
            raise ValueError(
                f"{owner}, line {number} must be a word and {dim or 'its'} numbers. "
                f"Received: {line[:60]!r}"
            )
        if index is not None and index not in vector_of:
            vector_of[index] = _vector(f"{owner}, line {number}", fields[-dim:])
    if is_empty:
        raise ValueError(f"{owner}: the file is empty")
    vectors = _random_vectors(len(vocabulary), dim, seed)
    for index, vector in vector_of.items():
        vectors[index] = vector
    vector_of.pop(1, None)  # A file may contain [UNK], but it is not a word.
    return vectors, len(vector_of) / max(len(vocabulary) - 2, 1)


def _lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Yields the lines that are not blank, with their line numbers from 1."""
    # Only "\n" ends a line, while words may contain U+0085 or U+2028.
    with opened("", path, newline="\n", advice=VECTOR_ADVICE) as stream:
        for number, line in enumerate(stream, start=1):
            if text := line.rstrip(" \r\n"):
                yield number, text


def _vector(owner: str, fields: list[str]) -> Float32s:
    try:
        with np.errstate(over="ignore"):  # An overflow gives infinity, which raises an error below.
            vector = np.array(fields, np.float32)
    except ValueError as error:
        raise ValueError(f"{owner} must hold numbers. Received: {str(error)[:100]}") from error
    if not np.isfinite(vector).all():
        raise ValueError(f"{owner} must hold finite numbers. Received: NaN or infinity")
    return vector
