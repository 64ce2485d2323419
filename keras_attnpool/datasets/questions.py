"""The embedded corpus of questions: its datasheet is the docstring of `questions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from keras_attnpool.datasets import _question_words as lexicon
from keras_attnpool.datasets.labeled_texts import LabeledTexts

LABEL_NAMES = tuple(lexicon.NOUNS)
KINDS = tuple(lexicon.FRAMES)
_ADVERB_RATE = 0.4
_CANDIDATES = "XYZW"  # X is the one that is asked for

T = TypeVar("T")
Words = tuple[str, ...]
Pattern = tuple[tuple[str, bool], ...]  # (word or slot, does it decide)
Candidate = tuple[Words, int]  # words and type
Question = tuple[list[str], list[bool], int]  # tokens, which of them decide, type


class Bag(NamedTuple):
    """The words of a question before they are put in order."""

    patterns: tuple[Pattern, ...]
    fillings: Mapping[str, Words]
    candidates: tuple[Candidate, ...]


def _pattern(line: str) -> Pattern:
    return tuple((token.lstrip("*"), token.startswith("*")) for token in line.split())


_FRAMES = {
    kind: tuple(tuple(_pattern(line) for line in frame) for frame in frames)
    for kind, frames in lexicon.FRAMES.items()
}
_NOUNS = tuple(tuple(words.split()) for words in lexicon.NOUNS.values())
_ADVERBS = tuple(lexicon.ADVERBS[name] for name in LABEL_NAMES)
_OTHER_SLOTS = {
    **dict.fromkeys("PQN", _NOUNS[LABEL_NAMES.index("person")]),
    **dict.fromkeys("AB", tuple(lexicon.ADJECTIVES.split())),
    "S": tuple(pair.split()[0] for pair in lexicon.VERBS),
    "T": tuple(pair.split()[1] for pair in lexicon.VERBS),
    "D": tuple(lexicon.DOCUMENTS.split()),
    "V": tuple(lexicon.TALKING.split()),
    "K": tuple(lexicon.ASKING.split()),
    "J": lexicon.JOINS,
    "G": tuple(lexicon.PREPOSITIONS.split()),
    "I": lexicon.INSTEAD,
    "H": lexicon.WHICH,
}


def _written(pattern: Pattern, bag: Bag, order: Sequence[int]) -> Question:
    """The question that says the candidates in this order of X, Y, Z, W."""
    tokens: list[str] = []
    decides: list[bool] = []
    for text, decisive in pattern:
        words: Words = (text,)
        if text in _CANDIDATES:
            words = bag.candidates[order[_CANDIDATES.index(text)]][0]
        elif text.isupper():
            words = bag.fillings[text]
        tokens.extend(words)
        decides.extend(decisive and word != "about" for word in words)
    return [*tokens, "?"], [*decides, False], bag.candidates[order[0]][1]


class _Writer:
    """Draws questions from one stream of random bits, those of PCG64 itself."""

    def __init__(self, seed: int, kinds: Sequence[str]) -> None:
        self.bits = np.random.PCG64(seed)
        self.buffer: list[float] = []
        self.kinds = kinds

    def uniform(self) -> float:
        if not self.buffer:
            raw = self.bits.random_raw(16384)
            self.buffer = ((raw >> np.uint64(11)) * 2.0**-53)[::-1].tolist()
        return self.buffer.pop()

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self.uniform() * len(items))]

    def common(self, items: Sequence[T]) -> T:
        """One of the items, by Zipf's law: the first are the common ones."""
        return items[int((len(items) + 1) ** self.uniform()) - 1]

    def shuffled(self, size: int) -> list[int]:
        order = list(range(size))
        for i in range(size - 1, 0, -1):
            j = int(self.uniform() * (i + 1))
            order[i], order[j] = order[j], order[i]
        return order

    def bag(self) -> Bag:
        """Words of one question, with as many types as there are candidates."""
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
        for label in self.shuffled(len(LABEL_NAMES))[:size]:
            if kind != "clause":
                words: Words = (fresh(_NOUNS[label]),)
            elif self.uniform() < _ADVERB_RATE:
                words = tuple(self.pick(_ADVERBS[label]).split())
            else:
                words = ("about", "which", fresh(_NOUNS[label]))
            candidates.append((words, label))
        fillings = {
            slot: tuple(fresh(_OTHER_SLOTS[slot]).split())
            for slot in slots
            if slot not in _CANDIDATES
        }
        return Bag(patterns, fillings, tuple(candidates))

    def question(self) -> Question:
        """One of the arrangements of a bag, each as likely as the others."""
        bag = self.bag()
        return _written(self.pick(bag.patterns), bag, self.shuffled(len(bag.candidates)))


def questions(
    num_examples: int = 2000, seed: int = 0, *, kinds: Sequence[str] = KINDS
) -> LabeledTexts:
    """Generate questions whose type depends on the order of the words, and what decides it.

    An embedded diagnostic corpus: nothing is downloaded, any size can be asked for, and the
    truth is known. The classes are in the style of question classification.

    **Motivation.** "which year did the king describe before the harbour" asks for a time, "which
    harbour did the king describe before the year" for a place: the words are the same. Where a
    word stands, what is next to it and how far away has to be known, as positional masks or
    recurrence know it. Models that are blind to order cannot do it, however large, and by how much
    they fall short is known.

    **Composition.** One question of 8 to 24 tokens, 16 on average, lower case, joined by one space;
    each token is letters only or one of `, ?`, and the last one is "?". Labels are 0 to 5 (person,
    place, time, number, thing, description) in about equal shares and exact: there is no noise.
    Some 1,000 nouns, 115 to 230 of a type, drawn with Zipf-like frequencies; each has one type and
    fits any place in any question. In `rationales`, True marks the deciding tokens (about one in
    six): the question word or other pivot, and the noun or adverb that it points to.

    **Generation.** A frame is drawn, then the words: 2 to 4 *candidates*, each of another type, and
    the rest. A frame has up to four patterns, which are made of the same words; with every order of
    the candidates they give all *arrangements*. One of them is drawn, each as likely as the others,
    so every candidate is as likely to be the one that is asked for. The other arrangements
    are not written: questions are independent, and any split is a fair one.

    **Label rule.** The type of the candidate that is asked for, by kind of frame (each a fifth):

    - *head*: the noun after "which" or "what", which stands anywhere, perhaps with an
      adjective between. "besides the king and the coat which old year did the nurse mention"
    - *distance*: the same farther off. Only the last of two nouns counts ("what kind of harbour
      price"), adjectives come between, or a clause with other nouns ("which is , apart from
      the coat and the year , the harbour that the king praised").
    - *direction*: on one side of a pivot. "the year for which the king praised the harbour and
      coat" and "for which year"; "not the coat but the year" and "the year but not the coat";
      "the year instead of the coat", "in place of the coat the year".
    - *order*: the first, second or last of a list; what came first, where something was done
      "before" or "after" something else; what one has before or after swapping two.
    - *clause*: of two or three wh-phrases ("where", "how often", "about which coat") the one with
      "did", first or last in the sentence. "when did the king ask where the nurse sang"

    **Bound.** All arrangements of k candidates have the same words, and the k labels in equal
    shares. Whatever is computed from the words without their order is therefore right in one of k
    cases at best. Over the default kinds that is **0.39** (head 0.38, distance 0.38, direction
    0.36, order 0.41, clause 0.42). Length and punctuation are the same for all arrangements, too.

    **Known shortcuts.** For "head" the first noun after "which" or "what" is nearly always right;
    over all kinds it is in 0.43 of the questions, the first noun of the question in 0.39, the last
    in 0.27. Persons also stand where they are no candidates.

    **Limits.** The language is made by patterns, and what it says is often odd: figures tell models
    apart, they do not predict those on real questions. "who did" and the like do not occur;
    "when did" only where another wh-phrase stands beside it.

    **What to expect** (accuracy; 3,000 training questions of seed 1, tested on 3,000 of seed 2,
    default options, one run of each network): largest class 0.17; naive Bayes on words 0.26,
    logistic regression 0.35; with word pairs 0.38 and 0.47, with triples 0.41 and 0.47. After 10
    epochs: mean of trained embeddings of 32 units 0.31, with a hidden layer 0.33; a bidirectional
    LSTM of 32 units with max pooling 0.67; three convolutions of 64 filters and width 5 with max
    pooling 0.82 (order 0.52, distance 0.83, the rest 0.91 to 0.95). In 0.09 of the test questions
    the deciding noun never decides in training: rare words are a difficulty, too.

    Args:
        num_examples: Number of questions, at least 1. A larger corpus of the same seed and
            option starts with the smaller one.
        seed: Integer >= 0. The same seed gives the same questions on every platform and NumPy
            version; other seeds give other questions of the same distribution (use one for
            training, another for testing).
        kinds: The kinds to draw from, each as often as it is listed; all five by default. With
            one kind, a test set for it.

    Returns:
        `LabeledTexts`: `num_examples` texts, labels int32 of shape `(num_examples,)` and
        rationales, boolean arrays of shape `(num_tokens,)`.

    Raises:
        ValueError: For a size below 1, a negative seed, or `kinds` that are empty or unknown.

    Example:
        >>> from keras_attnpool.datasets import questions
        >>> data = questions(100, seed=1)
        >>> len(data), data.label_names[0]
        (100, 'person')
        >>> len(data.texts[0].split(" ")) == len(data.rationales[0])
        True
    """
    for name, value, least in (("num_examples", num_examples, 1), ("seed", seed, 0)):
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(
                f"questions expects `{name}` to be an integer >= {least}. "
                f"Received: {name}={value!r}"
            )
    if isinstance(kinds, str) or not kinds or not set(kinds) <= set(KINDS):
        raise ValueError(
            f"questions expects `kinds` as a sequence of names from {KINDS}. "
            f"Received: kinds={kinds!r}"
        )
    writer = _Writer(seed, tuple(kinds))
    rows = [writer.question() for _ in range(num_examples)]
    return LabeledTexts(
        texts=tuple(" ".join(tokens) for tokens, _, _ in rows),
        labels=np.array([label for _, _, label in rows], np.int32),
        label_names=LABEL_NAMES,
        rationales=tuple(np.array(decides) for _, decides, _ in rows),
    )
