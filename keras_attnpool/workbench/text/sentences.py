"""Splits texts into sentences."""

import re

from keras_attnpool._checks import ArgumentError

# U+001C..U+001F are white space to Python but not to the tokenizer's regular expressions. A cut at
# these characters could fall inside a token.
_CHUNK = re.compile(r"[\S\x1c-\x1f]+")
_SENTENCE_END = re.compile(r"""[.!?]['"’”»)\]}]*\Z""")
_ONLY_MARKS = re.compile(r"[.!?]+")


def split_sentences(text: str) -> list[str]:
    r"""Splits a text into sentences after `.`, `!` and `?`.

    A mark ends a sentence if white space or the end of the text follows it. Closing quotes and
    brackets may stand between them. So runs such as `...` and `?!` stay together, `3.5` and
    `example.com` stay whole, and `good .` is cut like `good.`. Marks that stand alone after a
    sentence (`wow ! ! !`) belong to it. Words behind the last mark form the last sentence.

    Abbreviations are not recognised: `Dr. Who` becomes two sentences. Neither a line break nor a
    mark of another script ends a sentence.

    Args:
        text: Any string. Its tokens may be separated by spaces.

    Returns:
        The sentences in order, without the white space around them. No sentence is empty, and no
        other character of `text` is lost. An empty or blank text gives an empty list.

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
