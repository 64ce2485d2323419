"""Splits texts into sentences."""

import re

from keras_attnpool._checks import ArgumentError

# U+001C..U+001F are white space for Python, but not for the tokenizer's regular expressions. A cut
# at these characters could split a token.
_CHUNK = re.compile(r"[\S\x1c-\x1f]+")
_SENTENCE_END = re.compile(r"""[.!?]['"’”»)\]}]*\Z""")
_ONLY_MARKS = re.compile(r"[.!?]+")


def split_sentences(text: str) -> list[str]:
    r"""Splits a text into sentences after `.`, `!` and `?`.

    A mark ends a sentence if white space or the end of the text follows. Closing quotes and
    brackets may follow the mark directly. So `...`, `?!`, `3.5` and `example.com` are not split,
    and `good .` is treated like `good.`. Separate marks after a sentence (`wow ! ! !`) belong to
    this sentence. Words after the last mark form the last sentence.

    Abbreviations are not recognised: `Dr. Who` becomes two sentences. Line breaks and marks of
    other scripts do not end a sentence.

    Args:
        text: Any string, tokenized or not.

    Returns:
        The sentences in order, without the white space around them. No sentence is empty, and all
        other characters of `text` are kept. An empty or blank text gives an empty list.

    Raises:
        ValueError: If `text` is not a string.

    Example:

    >>> from keras_attnpool.workbench.text import split_sentences
    >>> split_sentences("It cost 3.5 euros. Worth it?! I think so ...")
    ['It cost 3.5 euros.', 'Worth it?!', 'I think so ...']
    """
    if not isinstance(text, str):
        raise ArgumentError("text", "be a string", f"{type(text).__name__}", "split_sentences")
    spans: list[tuple[int, int]] = []
    ended = True
    for chunk in _CHUNK.finditer(text):
        only_marks = _ONLY_MARKS.fullmatch(chunk[0]) is not None
        if spans and (not ended or only_marks):
            spans[-1] = (spans[-1][0], chunk.end())
        else:
            spans.append((chunk.start(), chunk.end()))
        ended = only_marks or _SENTENCE_END.search(chunk[0]) is not None
    return [text[start:end] for start, end in spans]
