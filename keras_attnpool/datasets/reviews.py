"""The embedded diagnostic corpus: its datasheet is the docstring of `reviews`."""

from __future__ import annotations

import itertools
from bisect import bisect
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np

from keras_attnpool.datasets import _review_words as lexicon
from keras_attnpool.datasets.labeled_texts import LabeledTexts

LABEL_NAMES = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")

# Running shares: 1, 2 or 3 counted sentences; a clause with OP, VERB or THING (else ADJ).
_COUNTED_SENTENCES = (0.35, 0.75, 1.0)
_CLAUSE_KINDS = (0.60, 0.75, 0.85)
_CONTRAST_RATE = 0.3
_OPENING_RATE = 0.4

T = TypeVar("T")
Pattern = tuple[tuple[str, bool, bool], ...]  # (token, is it a slot, does it decide)


class _Table(Generic[T]):
    """Items with the running sum of their odds: Zipf's law, common ones first, by default."""

    def __init__(self, items: Sequence[T], odds: Sequence[float] | None = None) -> None:
        self.items = tuple(items)
        odds = odds or [1 / (rank + 1) for rank in range(len(items))]
        self.sums = list(itertools.accumulate(odds))
        self.total = self.sums[-1]


def _patterns(lines: Sequence[str]) -> _Table[Pattern]:
    return _Table(
        [
            tuple(
                (token.lstrip("*"), token.isupper() and token != "A", token.startswith("*"))
                for token in line.split()
            )
            for line in lines
        ]
    )


def _values(table: Mapping[int, Sequence[T]]) -> dict[int, _Table[T]]:
    return {value: _Table(items) for value, items in table.items()}


def _kinds(table: Mapping[str, Sequence[str]]) -> dict[str, _Table[Pattern]]:
    return {kind: _patterns(lines) for kind, lines in table.items()}


_ADJECTIVES = _values(lexicon.ADJECTIVES)
_THINGS = _values(lexicon.NOUNS)
_VERBS = _values({v: [past for past, _ in pairs] for v, pairs in lexicon.VERBS.items()})
_INFINITIVES = _values({v: [inf for _, inf in pairs] for v, pairs in lexicon.VERBS.items()})
_OPINION_WORDS = {"ADJ": _ADJECTIVES, "VERB": _VERBS, "INF": _INFINITIVES, "THING": _THINGS}
_MODIFIERS: dict[str, _Table[Sequence[str]]] = {
    "intense": _Table([line.split() for line in lexicon.INTENSIFIERS]),
    "soft": _Table([line.split() for line in lexicon.DOWNTONERS]),
    "weak": _Table([line.split() for line in lexicon.WEAK_NEGATORS]),
    "strong": _Table([line.split() for line in lexicon.STRONG_NEGATORS]),
}
_STATEMENTS = _patterns(lexicon.STATEMENTS)
_OWN_STATEMENTS = _patterns(lexicon.OWN_STATEMENTS)
_VERB_FORMS = _kinds(lexicon.VERB_FORMS)
_THING_FORMS = _kinds(lexicon.THING_FORMS)
_ABOUT_FORMS = _kinds(lexicon.ABOUT_FORMS)
_CONTRASTS = _patterns(lexicon.CONTRASTS)
_DISTRACTORS = [_patterns(lines) for lines in lexicon.DISTRACTORS.values()]
_FILLERS = _patterns(lexicon.FILLERS)
_OPENINGS = _patterns(lexicon.OWN_OPENINGS)
_PLAIN_SLOTS = {
    "PAST": _patterns(lexicon.PAST),
    "OTHERWHERE": _patterns(lexicon.OTHERWHERE),
    "HEARSAY": _patterns(lexicon.HEARSAY),
    **{
        slot: _patterns(items)
        for slot, items in {
            "SAID": lexicon.SAID,
            "ADVERT": lexicon.ADVERT,
            "PERSON": lexicon.PEOPLE,
            "LANDMARK": lexicon.LANDMARKS,
            "DAY": lexicon.DAYS,
            "MONTH": lexicon.MONTHS,
            "DAYTIME": lexicon.DAYTIMES,
            "COUNT": lexicon.COUNTS,
            "ORDINAL": lexicon.ORDINALS,
            "COLOUR": lexicon.COLOURS,
            "OBTAINED": lexicon.OBTAINED,
            "VERBED": lexicon.VERBED,
            "OBJECT": lexicon.OBJECTS,
        }.items()
    },
}
_DOMAINS = [
    (_patterns(places), [_patterns(nouns) for nouns in aspects.values()])
    for places, aspects in lexicon.DOMAINS.values()
]


def _stars(values: Sequence[int], weights: Sequence[int]) -> int | None:
    """Label of the weighted mean, rounded; None where it lies between two stars."""
    total = sum(weights)
    twice = 2 * sum(v * w for v, w in zip(values, weights, strict=True)) + 5 * total
    return None if twice % (2 * total) == 0 else twice // (2 * total)


def _plans() -> dict[tuple[int, int, int], _Table[tuple[int, ...]]]:
    """The value tuples of every (plain clauses, contrasts, label); contrasts first, in pairs.

    Every step between the highest and the lowest value quarters the odds of a tuple.
    """
    plans = {}
    for contrasts, plain in itertools.product(range(4), range(4)):
        if not 1 <= contrasts + plain <= 3:
            continue
        weights = (1, 2) * contrasts + (1,) * plain
        found: list[list[tuple[int, ...]]] = [[] for _ in LABEL_NAMES]
        for values in itertools.product((-2, -1, 0, 1, 2), repeat=len(weights)):
            label = _stars(values, weights)
            opposed = all(values[2 * i] * values[2 * i + 1] < 0 for i in range(contrasts))
            if label is not None and opposed:
                found[label].append(values)
        for label, tuples in enumerate(found):
            if tuples:
                odds = [0.25 ** (max(values) - min(values)) for values in tuples]
                plans[plain, contrasts, label] = _Table(tuples, odds)
    return plans


_PLANS = _plans()


class _Writer:
    """Writes reviews from one stream of random bits.

    The bits are those of PCG64 itself, which NumPy promises never to change (a
    `Generator`'s methods carry no such promise).
    """

    def __init__(self, seed: int, distractor_rate: float, negation_rate: float) -> None:
        self.bits = np.random.PCG64(seed)
        self.buffer: list[float] = []
        self.distractor_rate = distractor_rate
        self.negation_rate = negation_rate
        self.tokens: list[str] = []
        self.decides: list[bool] = []
        self.places, self.aspects = _DOMAINS[0]
        self.pair: tuple[int, ...] = ()  # values of a contrast's two clauses

    def uniform(self) -> float:
        if not self.buffer:
            raw = self.bits.random_raw(16384)
            self.buffer = ((raw >> np.uint64(11)) * 2.0**-53)[::-1].tolist()
        return self.buffer.pop()

    def below(self, stop: int) -> int:
        return int(self.uniform() * stop)

    def pick(self, table: _Table[T]) -> T:
        return table.items[bisect(table.sums, self.uniform() * table.total)]

    def add(self, tokens: Sequence[str], decides: bool) -> None:
        self.tokens.extend(tokens)
        self.decides.extend([decides] * len(tokens))

    def manner(self, value: int) -> tuple[str, int]:
        """Choose how to say `value`: kind of form and the value of its opinion word."""
        sign, size = (1, value) if value > 0 else (-1, -value)
        if self.uniform() < self.negation_rate:
            return ("weak", "strong")[size - 1], -sign * (1 + self.below(2))
        if self.uniform() < 0.5:
            return "plain", value
        return ("intense", sign) if size == 2 else ("soft", 2 * sign)

    def opinion(self, value: int, counted: bool) -> None:
        """An adjective with its modifiers."""
        if value == 0:
            self.add((self.pick(_ADJECTIVES[0]),), counted)
            return
        kind, word = self.manner(value)
        if kind != "plain":
            self.add(self.pick(_MODIFIERS[kind]), counted)
        self.add((self.pick(_ADJECTIVES[word]),), counted)

    def clause(self, value: int, counted: bool, own: bool) -> None:
        """A clause that asserts `value` of a noun; with `own`, also one with "i" or "we"."""
        which = self.uniform()
        adjective, verb, thing = _CLAUSE_KINDS
        if value == 0 or which < adjective or (which < verb and not own):
            forms = _OWN_STATEMENTS if own and self.uniform() < 0.4 else _STATEMENTS
            self.write(self.pick(forms), value, counted)
            return
        if which < verb:
            forms_of = _VERB_FORMS
        else:
            forms_of = _THING_FORMS if which < thing else _ABOUT_FORMS
        kind, word = self.manner(value)
        if kind == "soft":  # these clauses have no form for it: a mild word says the same
            kind, word = "plain", value
        self.write(self.pick(forms_of[kind]), word, counted)

    def write(self, pattern: Pattern, value: int = 0, counted: bool = False) -> None:
        for text, is_slot, decides in pattern:
            if is_slot:
                self.slot(text, value, counted)
            else:
                self.tokens.append(text)
                self.decides.append(decides and counted)

    def slot(self, name: str, value: int, counted: bool) -> None:
        if name == "NOUN":
            self.write(self.pick(self.aspects[self.below(len(self.aspects))]))
        elif name == "OP":
            self.opinion(value, counted)
        elif name in _PLAIN_SLOTS:
            self.write(self.pick(_PLAIN_SLOTS[name]))
        elif name == "PLACE":
            self.write(self.pick(self.places))
        elif name == "CLAUSE":
            self.clause(value, counted, own=False)
        elif name == "ANY":
            self.clause(value, counted, own=True)
        elif name in ("FIRST", "SECOND"):
            self.clause(self.pair[name == "SECOND"], counted, own=True)
        else:  # ADJ, VERB, INF, THING
            self.add((self.pick(_OPINION_WORDS[name][value]),), counted)

    def review(self, lowest: int, highest: int) -> int:
        """Write one review into `tokens` and `decides`; return its label."""
        self.tokens, self.decides = [], []
        self.places, self.aspects = _DOMAINS[self.below(len(_DOMAINS))]
        label = self.below(5)
        total = lowest + self.below(highest - lowest + 1)
        while True:
            sentences = min(total, 1 + bisect(_COUNTED_SENTENCES, self.uniform()))
            contrasts = sum(self.uniform() < _CONTRAST_RATE for _ in range(sentences))
            plans = _PLANS.get((sentences - contrasts, contrasts, label))
            if plans:  # one contrast alone is never 1 or 5 stars
                break
        values = self.pick(plans)
        jobs: list[tuple[int, ...]] = [values[2 * i : 2 * i + 2] for i in range(contrasts)]
        jobs += [(value,) for value in values[2 * contrasts :]]
        jobs += [()] * (total - sentences)
        for i in range(total - 1, 0, -1):
            j = self.below(i + 1)
            jobs[i], jobs[j] = jobs[j], jobs[i]
        for job in jobs:
            if not job:
                self.aside()
            else:
                if self.uniform() < _OPENING_RATE:
                    self.write(self.pick(_OPENINGS))
                    if self.uniform() < 0.5:
                        self.add((",",), False)
                if len(job) == 2:
                    self.pair = job
                    self.write(self.pick(_CONTRASTS), 0, True)
                else:
                    self.clause(job[0], True, own=True)
            self.add((".",) if self.uniform() < 0.9 else ("!",), False)
        for i, token in enumerate(self.tokens):
            if token in ("A", "a"):
                self.tokens[i] = "an" if self.tokens[i + 1][0] in "aeiou" else "a"
        return label

    def aside(self) -> None:
        """A sentence that does not count."""
        if self.uniform() >= self.distractor_rate:
            self.write(self.pick(_FILLERS))
            return
        value = (-2, -1, 1, 2)[self.below(4)]
        self.write(self.pick(_DISTRACTORS[self.below(len(_DISTRACTORS))]), value)


def reviews(
    num_examples: int = 2000,
    seed: int = 0,
    *,
    sentences: tuple[int, int] = (3, 6),
    distractor_rate: float = 0.5,
    negation_rate: float = 0.2,
    label_noise: float = 0.03,
) -> LabeledTexts:
    """Generate reviews with a star rating and the tokens that decide it.

    An embedded diagnostic corpus: nothing is downloaded, any size can be asked for, and
    the truth is known, so that attention can be scored and not only looked at.

    **Motivation.** Which words of a text decide is unknown in real data. Here it is
    known, and a model that averages its word vectors cannot do well: it does not see
    what a negation refers to, nor which opinions do not count.

    **Composition.** A review is one text of several sentences about one place or thing
    (restaurant, hotel, theatre, shop, trip or course), 39 tokens on average, 90 % of
    them between 22 and 59. All is lower case, tokens are joined by one space, and each
    is letters only or one of `. , ; !`, so that splitting at white space gives the same
    tokens as any word tokenizer. About 1,450 word types with Zipf-like frequencies, among
    them some 500 opinion words; lexicon and patterns are fixed and were written for this
    corpus. Labels are 0 to 4 ("1 star" to "5 stars") in about equal shares. In
    `rationales`, True marks the deciding tokens (about one in ten).

    **Generation.** A label is drawn, then 1 to 3 counted sentences with values from -2 to
    2 that lead to it, then up to `sentences` of others; all are shuffled.

    - *Negation*: "not good" and "hardly good" are -1; "not at all good", "nothing good
      about" and the like are -2; both turn either way and take mild or strong words.
    - *Intensity*: "very good" is 2 as "superb" is; "slightly superb" is 1 as "good" is.
    - *Contrast*: "X but Y", "although X , Y": two opposed values, the last one counts
      twice.
    - *Distractors*: opinions that do not count, as they are about another place, an
      earlier visit, somebody else's or hearsay, or hypothetical. The cue may come before
      or after the opinion; their values are drawn independently of the label.
    - *Filler*: sentences with no opinion. They reuse the words of all of the above
      ("not", "very", "but", "my sister", "last year").

    **Label rule.** The mean of the counted values (twice the weight after a contrast),
    rounded, plus three stars; value sets whose mean lies between two ratings are not
    used. Then `label_noise` of the labels move to a neighbouring rating. Rationales are
    the opinion words of counted clauses with their negators and intensifiers, and the
    contrast words; never a distractor's.

    **Known shortcuts.** A contrast makes 2 to 4 stars likelier, a neutral word ("average")
    3 stars; the text's length says next to nothing. A bag of words knows the balance of
    all opinions, counted or not.

    **Limits.** The language is made by patterns, and aspects carry no weight of their
    own: figures tell models apart, they do not predict those on real reviews. No irony,
    no misspellings, and coreference is never needed.

    **What to expect** (accuracy; 4,000 training reviews of seed 1, tested on 4,000 of
    seed 2, default options, three runs of each network): largest class 0.21; logistic
    regression on words 0.44, on words and word pairs 0.47; mean of trained embeddings
    0.46, with a hidden layer 0.47; a bidirectional GRU of 50 units with max pooling, 8
    epochs, 0.68 to 0.73; with four attention heads 0.75 to 0.78, and 0.80 after 16 epochs
    (one run). The label noise alone keeps every model below 0.97.

    Args:
        num_examples: Number of reviews, at least 1. A larger corpus of the same seed and
            options starts with the smaller one.
        seed: Integer >= 0. The same seed gives the same reviews on every platform and
            NumPy version; other seeds give other reviews of the same distribution (use
            one for training, another for testing).
        sentences: Smallest and largest number of sentences.
        distractor_rate: Share of distractors among the sentences that do not count; the
            rest is filler.
        negation_rate: Share of opinions expressed by a negation.
        label_noise: Share of labels moved to a neighbouring rating.

    Returns:
        `LabeledTexts`: `num_examples` texts, labels int32 of shape `(num_examples,)` and
        rationales, boolean arrays of shape `(num_tokens,)`.

    Raises:
        ValueError: For a size below 1, a negative seed, a rate outside [0, 1] or a range
            of sentences that is empty or starts below 1.

    Example:
        >>> from keras_attnpool.datasets import reviews
        >>> data = reviews(100, seed=1)
        >>> len(data), data.label_names[0]
        (100, '1 star')
        >>> len(data.texts[0].split(" ")) == len(data.rationales[0])
        True
    """
    _check_arguments(num_examples, seed, sentences)
    for name, rate in (
        ("distractor_rate", distractor_rate),
        ("negation_rate", negation_rate),
        ("label_noise", label_noise),
    ):
        if not 0 <= rate <= 1:
            raise ValueError(f"reviews expects `{name}` in [0, 1]. Received: {name}={rate}")
    writer = _Writer(seed, distractor_rate, negation_rate)
    texts, labels, rationales = [], [], []
    for _ in range(num_examples):
        label = writer.review(*sentences)
        # Both are drawn in any case, so that the noise changes no text.
        is_noisy, step = writer.uniform() < label_noise, 1 if writer.uniform() < 0.5 else -1
        if is_noisy:
            label += step if 0 <= label + step <= 4 else -step
        texts.append(" ".join(writer.tokens))
        labels.append(label)
        rationales.append(np.array(writer.decides))
    return LabeledTexts(tuple(texts), np.array(labels, np.int32), LABEL_NAMES, tuple(rationales))


def _check_arguments(num_examples: int, seed: int, sentences: tuple[int, int]) -> None:
    if not isinstance(num_examples, int | np.integer) or num_examples < 1:
        raise ValueError(
            "reviews expects `num_examples` to be an integer >= 1. "
            f"Received: num_examples={num_examples!r}"
        )
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"reviews expects `seed` to be an integer >= 0. Received: seed={seed!r}")
    if len(sentences) != 2 or not 1 <= sentences[0] <= sentences[1]:
        raise ValueError(
            "reviews expects `sentences` as (smallest, largest) with 1 <= smallest <= largest. "
            f"Received: sentences={sentences!r}"
        )
