"""The corpus of reviews."""

import itertools
from bisect import bisect
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.workbench.corpora._words import Pattern, group, pattern, sections
from keras_attnpool.workbench.corpora._writer import Writer, check_arguments, with_articles
from keras_attnpool.workbench.datasets import LabeledTexts

LABEL_NAMES = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")

# Cumulative shares of reviews with 1, 2 or 3 counted sentences. Cumulative shares of clauses with
# OP, VERB or THING; all other clauses have ADJ.
_COUNTED_SENTENCES = (0.35, 0.75, 1.0)
_CLAUSE_KINDS = (0.60, 0.75, 0.85)
_CONTRAST_RATE = 0.3
_OPENING_RATE = 0.4

T = TypeVar("T")


class _Table(Generic[T]):
    """Items with the cumulative sum of their odds. By default, the odds follow Zipf's law."""

    def __init__(self, items: Sequence[T], odds: Sequence[float] | None = None) -> None:
        self.items = tuple(items)
        odds = odds or [1 / (rank + 1) for rank in range(len(items))]
        self.sums = list(itertools.accumulate(odds))
        self.total = self.sums[-1]


def _patterns(lines: Sequence[str]) -> _Table[Pattern]:
    return _Table([pattern(line) for line in lines])


_LISTS = sections("reviews")


def _kinds(name: str) -> dict[str, _Table[Pattern]]:
    return {kind: _patterns(body.splitlines()) for kind, body in group(_LISTS, name).items()}


_OPINION_WORDS = {
    slot: {
        int(value): _Table([word.split("/")[form] for word in body.split()])
        for value, body in group(_LISTS, name).items()
    }
    for slot, name, form in (
        ("ADJ", "adjectives", 0),
        ("VERB", "verbs", 0),
        ("INF", "verbs", 1),
        ("THING", "things", 0),
    )
}
_ADJECTIVES = _OPINION_WORDS["ADJ"]
_MODIFIERS: dict[str, _Table[Sequence[str]]] = {
    kind: _Table([line.split() for line in body.splitlines()])
    for kind, body in group(_LISTS, "modifiers").items()
}
_STATEMENTS, _OWN_STATEMENTS, _OPENINGS, _CONTRASTS, _FILLERS = (
    _patterns(_LISTS[name].splitlines())
    for name in ("statements", "own statements", "own openings", "contrasts", "fillers")
)
_VERB_FORMS = _kinds("verb forms")
_THING_FORMS = _kinds("thing forms")
_ABOUT_FORMS = _kinds("about forms")
_DISTRACTORS = list(_kinds("distractors").values())
_PLAIN_SLOTS = _kinds("phrases") | {
    slot: _patterns(body.split()) for slot, body in group(_LISTS, "words").items()
}
_DOMAINS = [
    (
        _patterns(places.split()),
        [_patterns(nouns.split()) for nouns in group(_LISTS, f"nouns {domain}").values()],
    )
    for domain, places in group(_LISTS, "places").items()
]


def _stars(values: Sequence[int], weights: Sequence[int]) -> int | None:
    """Rounds the weighted mean to a label; returns None if it lies between two labels."""
    total = sum(weights)
    twice = 2 * sum(v * w for v, w in zip(values, weights, strict=True)) + 5 * total
    return None if twice % (2 * total) == 0 else twice // (2 * total)


def _plans() -> dict[tuple[int, int, int], _Table[tuple[int, ...]]]:
    """Lists the values for every (plain clauses, contrasts, label). Contrasts come first.

    The odds of a tuple fall to a quarter for every unit between its highest and lowest value.
    """
    plans = {}
    for contrasts, plain in itertools.product(range(4), range(4)):
        if not 1 <= contrasts + plain <= 3:
            continue
        weights = (1, 2) * contrasts + (1,) * plain
        by_label: list[list[tuple[int, ...]]] = [[] for _ in LABEL_NAMES]
        for values in itertools.product((-2, -1, 0, 1, 2), repeat=len(weights)):
            label = _stars(values, weights)
            opposed = all(values[2 * i] * values[2 * i + 1] < 0 for i in range(contrasts))
            if label is not None and opposed:
                by_label[label].append(values)
        for label, tuples in enumerate(by_label):
            if tuples:
                odds = [0.25 ** (max(values) - min(values)) for values in tuples]
                plans[plain, contrasts, label] = _Table(tuples, odds)
    return plans


_PLANS = _plans()


class _Writer(Writer):
    """Writes reviews."""

    def __init__(self, seed: int, distractor_rate: float, negation_rate: float) -> None:
        super().__init__(seed)
        self.distractor_rate = distractor_rate
        self.negation_rate = negation_rate
        self.tokens: list[str] = []
        self.decides: list[bool] = []
        self.places, self.aspects = _DOMAINS[0]
        self.pair: tuple[int, ...] = ()  # values of the two clauses of a contrast

    def draw(self, table: _Table[T]) -> T:
        """Draws an item of a table by its odds."""
        return table.items[bisect(table.sums, self.uniform() * table.total)]

    def add(self, tokens: Sequence[str], decides: bool) -> None:
        self.tokens.extend(tokens)
        self.decides.extend([decides] * len(tokens))

    def manner(self, value: int) -> tuple[str, int]:
        """Returns a random form that expresses `value`, and the value of its opinion word."""
        sign, size = (1, value) if value > 0 else (-1, -value)
        if self.chance(self.negation_rate):
            return ("weak", "strong")[size - 1], -sign * (1 + self.below(2))
        if self.chance(0.5):
            return "plain", value
        return ("intense", sign) if size == 2 else ("soft", 2 * sign)

    def opinion(self, value: int, counted: bool) -> None:
        """Writes an adjective with its modifiers."""
        if value == 0:
            self.add((self.draw(_ADJECTIVES[0]),), counted)
            return
        kind, word = self.manner(value)
        if kind != "plain":
            self.add(self.draw(_MODIFIERS[kind]), counted)
        self.add((self.draw(_ADJECTIVES[word]),), counted)

    def clause(self, value: int, counted: bool, own: bool) -> None:
        """Writes a clause that gives a noun this `value`. `own` allows "i" and "we"."""
        which = self.uniform()
        adjective, verb, thing = _CLAUSE_KINDS
        if value == 0 or which < adjective or (which < verb and not own):
            forms = _OWN_STATEMENTS if own and self.chance(0.4) else _STATEMENTS
            self.write(self.draw(forms), value, counted)
            return
        if which < verb:
            forms_of = _VERB_FORMS
        else:
            forms_of = _THING_FORMS if which < thing else _ABOUT_FORMS
        kind, word = self.manner(value)
        if kind == "soft":  # these clauses have no soft form, so a mild word is used
            kind, word = "plain", value
        self.write(self.draw(forms_of[kind]), word, counted)

    def write(self, tokens: Pattern, value: int = 0, counted: bool = False) -> None:
        for text, decides in tokens:
            if text.isupper() and text != "A":
                self.slot(text, value, counted)
            else:
                self.tokens.append(text)
                self.decides.append(decides and counted)

    def slot(self, name: str, value: int, counted: bool) -> None:
        if name == "NOUN":
            self.write(self.draw(self.pick(self.aspects)))
        elif name == "OP":
            self.opinion(value, counted)
        elif name in _PLAIN_SLOTS:
            self.write(self.draw(_PLAIN_SLOTS[name]))
        elif name == "PLACE":
            self.write(self.draw(self.places))
        elif name == "CLAUSE":
            self.clause(value, counted, own=False)
        elif name == "ANY":
            self.clause(value, counted, own=True)
        elif name in ("FIRST", "SECOND"):
            self.clause(self.pair[name == "SECOND"], counted, own=True)
        else:  # ADJ, VERB, INF, THING
            self.add((self.draw(_OPINION_WORDS[name][value]),), counted)

    def review(self, lowest: int, highest: int) -> int:
        """Appends one review to `tokens` and `decides`, and returns its label."""
        self.tokens, self.decides = [], []
        self.places, self.aspects = self.pick(_DOMAINS)
        label = self.below(5)
        total = lowest + self.below(highest - lowest + 1)
        while True:
            sentences = min(total, 1 + bisect(_COUNTED_SENTENCES, self.uniform()))
            contrasts = sum(self.chance(_CONTRAST_RATE) for _ in range(sentences))
            plans = _PLANS.get((sentences - contrasts, contrasts, label))
            if plans:  # a single contrast never gives 1 or 5 stars
                break
        values = self.draw(plans)
        jobs: list[tuple[int, ...]] = [values[2 * i : 2 * i + 2] for i in range(contrasts)]
        jobs += [(value,) for value in values[2 * contrasts :]]
        jobs += [()] * (total - sentences)
        for job in self.shuffled(jobs):
            if not job:
                self.aside()
            else:
                if self.chance(_OPENING_RATE):
                    self.write(self.draw(_OPENINGS))
                    if self.chance(0.5):
                        self.add((",",), False)
                if len(job) == 2:
                    self.pair = job
                    self.write(self.draw(_CONTRASTS), 0, True)
                else:
                    self.clause(job[0], True, own=True)
            self.add((".",) if self.chance(0.9) else ("!",), False)
        self.tokens = with_articles(self.tokens)
        return label

    def aside(self) -> None:
        """Writes a sentence whose opinion does not count."""
        if not self.chance(self.distractor_rate):
            self.write(self.draw(_FILLERS))
            return
        value = self.pick((-2, -1, 1, 2))
        self.write(self.draw(self.pick(_DISTRACTORS)), value)


def reviews(
    num_examples: int = 2000,
    seed: int = 0,
    *,
    sentences: tuple[int, int] = (3, 6),
    distractor_rate: float = 0.5,
    negation_rate: float = 0.2,
    label_noise: float = 0.03,
) -> LabeledTexts:
    """Generates reviews with a star rating, and rationales of the rating.

    The corpus shows whether a model reads more than a bag of words. The reviews have negation,
    intensity, contrast, opinions that do not count, and filler. A review has several sentences
    about one place or thing, in lower case, with tokens joined by one space. The label, 0 to 4, is
    the rounded mean of the counted opinions. Opinions after a contrast have twice the weight. A
    share `label_noise` of the labels is then changed by one star. In `rationales`, True marks the
    contrast words. In clauses whose opinion counts, True also marks the opinion words with their
    negators and intensifiers. The datasheet (see corpora in the documentation of the API) describes
    the generator, the shortcuts of the corpus, and the expected accuracy.

    Args:
        num_examples: Number of reviews, at least 1. A larger corpus of the same seed and options
            starts with the reviews of a smaller corpus.
        seed: Integer in [0, 2**31). The same seed gives the same reviews on every platform and
            NumPy version. Other seeds give other reviews of the same distribution. Use different
            seeds for training and testing.
        sentences: Smallest and largest number of sentences.
        distractor_rate: Share of distractors among the sentences that do not count. The remaining
            sentences are filler.
        negation_rate: Share of opinions that are expressed by a negation.
        label_noise: Share of labels that are changed to a neighbouring rating.

    Returns:
        `LabeledTexts`: `num_examples` texts, labels int32 of shape `(num_examples,)` and
        rationales, boolean arrays of shape `(num_tokens,)`.

    Raises:
        ValueError: If the size is below 1, if the seed is negative, if a rate is outside [0, 1], or
            if the range of sentences is empty or starts below 1.

    Example:
        >>> from keras_attnpool.workbench.corpora import reviews
        >>> data = reviews(100, seed=1)
        >>> len(data), data.label_names[0]
        (100, '1 star')
        >>> len(data.texts[0].split(" ")) == len(data.rationales[0])
        True
    """
    check_arguments(
        "reviews",
        num_examples,
        seed,
        distractor_rate=distractor_rate,
        negation_rate=negation_rate,
        label_noise=label_noise,
    )
    whole = np.ndim(sentences) == 1 and all(isinstance(n, int | np.integer) for n in sentences)
    if not whole or len(sentences) != 2 or not 1 <= sentences[0] <= sentences[1]:
        must = "be (smallest, largest) with 1 <= smallest <= largest"
        raise ArgumentError("sentences", must, {"sentences": sentences}, "reviews")
    writer = _Writer(seed, distractor_rate, negation_rate)
    texts, labels, rationales = [], [], []
    for _ in range(num_examples):
        label = writer.review(*sentences)
        # Both numbers are always drawn, so that the noise does not change the texts.
        is_noisy, step = writer.chance(label_noise), 1 if writer.chance(0.5) else -1
        if is_noisy:
            label += step if 0 <= label + step <= 4 else -step
        texts.append(" ".join(writer.tokens))
        labels.append(label)
        rationales.append(np.array(writer.decides))
    return LabeledTexts(tuple(texts), np.array(labels, np.int32), LABEL_NAMES, tuple(rationales))
