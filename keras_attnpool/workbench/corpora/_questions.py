"""The corpus of questions."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.workbench.corpora._words import Pattern, group, pattern, sections
from keras_attnpool.workbench.corpora._writer import Writer, check_arguments
from keras_attnpool.workbench.datasets import LabeledTexts

_LISTS = sections("questions")
_NOUNS = {name: tuple(body.split()) for name, body in group(_LISTS, "nouns").items()}
_ADVERBS = {name: body.splitlines() for name, body in group(_LISTS, "adverbs").items()}
_ADVERB_RATE = 0.4
_CANDIDATES = "XYZW"  # the question asks for X

Words = tuple[str, ...]
Candidate = tuple[Words, int]  # words and type
Question = tuple[list[str], list[bool], int]  # tokens, whether each token decides, type


class Bag(NamedTuple):
    """The words of a question before they are put into order."""

    patterns: tuple[Pattern, ...]
    fillings: Mapping[str, Words]
    candidates: tuple[Candidate, ...]


_FRAMES = {
    kind: [tuple(map(pattern, frame.splitlines())) for frame in body.split("\n\n")]
    for kind, body in group(_LISTS, "frames").items()
}
LABEL_NAMES = tuple(_NOUNS)
KINDS = tuple(_FRAMES)
_VERBS = [verb.split("/") for verb in _LISTS["verbs"].split()]
_OTHER_SLOTS = {
    **{slot: body.split() for slot, body in group(_LISTS, "slot").items()},
    **{slot: body.splitlines() for slot, body in group(_LISTS, "phrases").items()},
    **dict.fromkeys("PQN", _NOUNS["person"]),
    "S": [base for base, _ in _VERBS],
    "T": [past for _, past in _VERBS],
}
_OTHER_SLOTS["B"] = _OTHER_SLOTS["A"]


def _written(frame: Pattern, bag: Bag, order: Sequence[int]) -> Question:
    """Writes the question that names the candidates in this order of X, Y, Z, W."""
    tokens: list[str] = []
    decides: list[bool] = []
    for text, decisive in frame:
        words: Words = (text,)
        if text in _CANDIDATES:
            words = bag.candidates[order[_CANDIDATES.index(text)]][0]
        elif text.isupper():
            words = bag.fillings[text]
        tokens.extend(words)
        decides.extend(decisive and word != "about" for word in words)
    return [*tokens, "?"], [*decides, False], bag.candidates[order[0]][1]


class _Writer(Writer):
    """Draws questions of some kinds."""

    def __init__(self, seed: int, kinds: Sequence[str]) -> None:
        super().__init__(seed)
        self.kinds = kinds

    def bag(self) -> Bag:
        """Draws the words of a question; the nouns that it may ask for differ in type."""
        kind = self.pick(self.kinds)
        patterns = self.pick(_FRAMES[kind])
        slots = [text for text, _ in patterns[0] if text.isupper()]
        used: set[str] = set()

        def fresh(items: Sequence[str]) -> str:
            while (word := self.common(items)) in used:
                pass
            used.add(word)
            return word

        size = sum(slot in _CANDIDATES for slot in slots)
        candidates = []
        for name in self.shuffled(LABEL_NAMES)[:size]:
            if kind != "clause":
                words: Words = (fresh(_NOUNS[name]),)
            elif self.chance(_ADVERB_RATE):
                words = tuple(self.pick(_ADVERBS[name]).split())
            else:
                words = ("about", "which", fresh(_NOUNS[name]))
            candidates.append((words, LABEL_NAMES.index(name)))
        fillings = {
            slot: tuple(fresh(_OTHER_SLOTS[slot]).split())
            for slot in slots
            if slot not in _CANDIDATES
        }
        return Bag(patterns, fillings, tuple(candidates))

    def question(self) -> Question:
        """Draws an arrangement of a bag. All arrangements are equally likely."""
        bag = self.bag()
        return _written(self.pick(bag.patterns), bag, self.shuffled(range(len(bag.candidates))))


def questions(
    num_examples: int = 2000, seed: int = 0, *, kinds: Sequence[str] = KINDS
) -> LabeledTexts:
    """Generates questions whose type depends on the order of the words, with rationales.

    The corpus shows whether a model uses the order of words. "which year did the king describe
    before the harbour" asks for a time, and "which harbour did the king describe before the year"
    asks for a place. Questions have 8 to 24 tokens in lower case, joined by one space. Labels 0 to
    5 are person, place, time, number, thing and description. In `rationales`, True marks the
    question word or another pivot, and the noun or adverb that belongs to the pivot. A model that
    ignores the order of words has an accuracy of at most 0.39. The kinds are "head", "distance",
    "direction", "order" and "clause". The datasheet (see corpora in the documentation of the API)
    describes each kind.

    Args:
        num_examples: Number of questions, at least 1. A larger corpus of the same seed and kinds
            starts with the questions of a smaller corpus.
        seed: Integer in [0, 2**31). The same seed gives the same questions on every platform and
            NumPy version. Other seeds give other questions of the same distribution. Use different
            seeds for training and testing.
        kinds: The kinds to draw from. A kind that is listed twice is drawn twice as often. Defaults
            to all five kinds.

    Returns:
        `LabeledTexts` with `num_examples` texts, int32 labels of shape `(num_examples,)`, and
        rationales, boolean arrays of shape `(num_tokens,)`.

    Raises:
        ValueError: If the size is below 1, if the seed is negative, or if `kinds` are empty or
            unknown.

    Example:
        >>> from keras_attnpool.workbench.corpora import questions
        >>> data = questions(100, seed=1)
        >>> len(data), data.label_names[0]
        (100, 'person')
        >>> len(data.texts[0].split(" ")) == len(data.rationales[0])
        True
    """
    check_arguments("questions", num_examples, seed)
    if isinstance(kinds, str) or not kinds or not set(kinds) <= set(KINDS):
        must, received = f"be a sequence of names from {KINDS}", {"kinds": kinds}
        raise ArgumentError("kinds", must, received, "questions")
    writer = _Writer(seed, tuple(kinds))
    rows = [writer.question() for _ in range(num_examples)]
    return LabeledTexts(
        texts=tuple(" ".join(tokens) for tokens, _, _ in rows),
        labels=np.array([label for _, _, label in rows], np.int32),
        label_names=LABEL_NAMES,
        rationales=tuple(np.array(decides) for _, decides, _ in rows),
    )
