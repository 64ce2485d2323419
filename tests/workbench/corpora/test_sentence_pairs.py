import collections
import re

import numpy as np
import pytest

from keras_attnpool.workbench.corpora import sentence_pairs
from keras_attnpool.workbench.corpora._concepts import LISTS, SYMMETRIC, WORDINGS
from keras_attnpool.workbench.corpora._pair_frames import (
    CONTRADICTION,
    ENTAILMENT,
    NEUTRAL,
    SLOTS,
    UNKNOWN,
    Frame,
    label,
    rationale,
    relatedness,
)
from keras_attnpool.workbench.corpora._sentence_pairs import _plural, _Writer

pytestmark = pytest.mark.one_backend("generates texts")

SMALL = {"a", "an", "the", *LISTS["joins"].split()}


@pytest.fixture(scope="module")
def corpus():
    return sentence_pairs(2500, seed=11)


@pytest.fixture(scope="module")
def meanings():
    """[(label, first, second)]"""
    writer = _Writer(21, 0.5)
    return [(target, *writer.pair(target)) for target in (0, 1, 2) * 250]


def test_form(corpus):
    word = re.compile(r"[a-z]+")
    lengths = []
    for texts, masks in (
        (corpus.sentences_a, corpus.rationales_a),
        (corpus.sentences_b, corpus.rationales_b),
    ):
        for text, mask in zip(texts, masks, strict=True):
            tokens = text.split(" ")
            assert all(word.fullmatch(token) for token in tokens) and len(mask) == len(tokens)
            lengths.append(len(tokens))
            for token, following in zip(tokens, tokens[1:], strict=False):
                if token in ("a", "an"):
                    assert (token == "an") == (following[0] in "aeiou"), text
    assert min(lengths) >= 4 and max(lengths) <= 16 and 9 < np.mean(lengths) < 11.5
    shares = np.bincount(corpus.labels) / len(corpus)
    assert len(shares) == 3 and shares.min() > 0.3 and shares.max() < 0.37
    types = {word for text in corpus.sentences_a + corpus.sentences_b for word in text.split()}
    assert len(types) > 550
    assert len(set(zip(corpus.sentences_a, corpus.sentences_b, strict=True))) == len(corpus)
    assert all(
        first.any() or second.any()
        for first, second in zip(corpus.rationales_a, corpus.rationales_b, strict=True)
    )


def test_agreement(corpus):
    text = " . ".join(corpus.sentences_a + corpus.sentences_b)
    assert not re.search(r"\b(two|three|four|five|several|all of the) (\w+ ){1,2}is\b", text)
    assert not re.search(r"\b(every|a|an) (\w+ ){0,1}\w+ are\b", text)
    assert not re.search(r"\b(\w+) \1\b", text)
    plurals = {"boy": "boys", "pony": "ponies", "woman": "women", "human": "humans", "fox": "foxes"}
    plurals |= {"schoolchild": "schoolchildren", "sheep": "sheep", "wolf": "wolves"}
    assert {word: _plural(word) for word in plurals} == plurals


GIRL = Frame("girl", "pushing", "boy", agent_trait="tall", patient_trait="short")
RUN = Frame("dog", "running", place="park")


def but(frame, **values):
    return frame._replace(**values)


# (first, second, label): one clause each, or two.
KNOWN = [
    # Less said, or by more general words.
    (RUN, Frame("dog", "running"), ENTAILMENT),
    (RUN, Frame("animal", "moving", place="outdoors"), ENTAILMENT),
    (Frame("animal", "running"), Frame("dog", "running"), NEUTRAL),
    (Frame("dog", "running"), RUN, NEUTRAL),
    (GIRL, but(GIRL, agent_trait=None), ENTAILMENT),
    # Who does it to whom, and who is what.
    (GIRL, Frame("boy", "pushing", "girl", "short", "tall"), NEUTRAL),
    (GIRL, but(GIRL, agent_trait="short", patient_trait="tall"), CONTRADICTION),
    (but(GIRL, patient_trait=None), but(GIRL, agent_trait=None), NEUTRAL),
    (but(GIRL, patient_trait="happy"), but(GIRL, agent_trait="happy"), NEUTRAL),
    # Exclusive values, and others.
    (RUN, but(RUN, place="kitchen"), CONTRADICTION),
    (RUN, but(RUN, place="indoors"), CONTRADICTION),
    (RUN, Frame("dog", "sitting"), CONTRADICTION),
    (RUN, but(RUN, action="barking"), NEUTRAL),
    (RUN, but(RUN, agent="cat"), NEUTRAL),
    (GIRL, but(GIRL, action="pulling"), CONTRADICTION),
    (GIRL, but(GIRL, action="pulling", patient="nurse", patient_trait=None), NEUTRAL),
    (but(RUN, manner="quickly"), but(RUN, manner="slowly"), CONTRADICTION),
    (but(RUN, quantity="two"), but(RUN, quantity="three"), CONTRADICTION),
    # Denied.
    (RUN, but(RUN, negated=True), CONTRADICTION),
    (RUN, Frame("dog", "running", negated=True), CONTRADICTION),
    (Frame("dog", "running"), but(RUN, negated=True), NEUTRAL),
    (Frame("dog", "running", negated=True), but(RUN, negated=True), ENTAILMENT),
    (but(RUN, negated=True), Frame("dog", "running", negated=True), NEUTRAL),
    (RUN, Frame("dog", "sitting", negated=True), ENTAILMENT),
    (RUN, Frame("dog", "barking", negated=True), NEUTRAL),
    # Relations that hold both ways, and that cannot.
    (Frame("man", "next to", "dog"), Frame("dog", "next to", "man"), ENTAILMENT),
    (Frame("man", "far from", "dog"), Frame("dog", "next to", "man"), CONTRADICTION),
    (Frame("man", "taller than", "dog"), Frame("dog", "taller than", "man"), CONTRADICTION),
    (Frame("man", "taller than", "dog"), Frame("dog", "as tall as", "man"), CONTRADICTION),
    (
        Frame("man", "taller than", "dog"),
        Frame("dog", "taller than", "man", negated=True),
        ENTAILMENT,
    ),
    (Frame("man", "taller than", "dog", negated=True), Frame("dog", "taller than", "man"), NEUTRAL),
    # Quantities.
    (but(RUN, quantity="all"), but(RUN, quantity="some"), ENTAILMENT),
    (but(RUN, quantity="some"), but(RUN, quantity="all"), NEUTRAL),
    (but(RUN, quantity="three"), but(RUN, quantity="some"), ENTAILMENT),
    (but(RUN, quantity="some"), but(RUN, quantity="three"), NEUTRAL),
    (but(RUN, quantity="all"), but(RUN, quantity="not all"), CONTRADICTION),
    (but(RUN, quantity="some"), but(RUN, quantity="not all"), NEUTRAL),
    (but(RUN, quantity="no"), but(RUN, quantity="not all"), ENTAILMENT),
    (but(RUN, quantity="no"), but(RUN, quantity="some", agent="beagle"), CONTRADICTION),
    (Frame("dog", "running", quantity="no"), but(RUN, quantity="no", agent="beagle"), ENTAILMENT),
    (but(RUN, quantity="no", agent="beagle"), but(RUN, quantity="no"), NEUTRAL),
    (but(RUN, quantity="all"), but(RUN, quantity="all", agent_trait="old"), ENTAILMENT),
    (but(RUN, quantity="all", agent_trait="old"), but(RUN, quantity="all"), NEUTRAL),
    (but(RUN, quantity="all"), but(RUN, quantity="no", agent="beagle"), CONTRADICTION),
    (but(RUN, quantity="three"), but(RUN, quantity="no"), CONTRADICTION),
    # Two clauses.
    ((RUN, Frame("man", "singing")), Frame("man", "singing"), ENTAILMENT),
    (Frame("man", "singing"), (RUN, Frame("man", "singing")), NEUTRAL),
    ((RUN, Frame("man", "singing")), (Frame("man", "singing"), RUN), ENTAILMENT),
    (
        (Frame("boy", "dancing"), Frame("man", "singing")),
        (Frame("boy", "singing"), Frame("man", "dancing")),
        NEUTRAL,
    ),
    (
        (Frame("boy", "dancing", negated=True), Frame("man", "singing")),
        (Frame("boy", "dancing"), Frame("man", "singing", negated=True)),
        CONTRADICTION,
    ),
    (
        (Frame("boy", "dancing", negated=True), Frame("man", "singing")),
        Frame("man", "dancing", negated=True),
        NEUTRAL,
    ),
]


def meaning(frames):
    return (frames,) if isinstance(frames, Frame) else frames


@pytest.mark.parametrize(("first", "second", "expected"), KNOWN)
def test_known_labels(first, second, expected):
    first, second = meaning(first), meaning(second)
    assert label(first, second) == expected
    assert label(first, first) == ENTAILMENT
    if expected == CONTRADICTION:  # holds both ways
        assert label(second, first) == CONTRADICTION


def test_relatedness_by_hand():
    # 2 + 3 + 1 and 2 + 3: shared 5, 1 + 8 * 5 / 11
    assert relatedness((RUN,), (Frame("dog", "running"),)) == 4.64
    # The agent at 0.75: 1 + 8 * (1.5 + 3 + 1) / 12
    assert relatedness((RUN,), (but(RUN, agent="animal"),)) == 4.67
    assert relatedness((RUN,), (but(RUN, negated=True),)) == 4.2
    # Exchanged roles: 3 + (2 + 2 + 1 + 1) / 2 of 9
    turned = Frame("boy", "pushing", "girl", "short", "tall")
    assert relatedness((GIRL,), (turned,)) == 3.67
    near = (Frame("man", "next to", "dog"),)
    assert relatedness(near, (Frame("dog", "next to", "man"),)) == 5
    assert relatedness((GIRL,), (Frame("apple", "next to", "box"),)) == 1


def test_relatedness_falls_with_every_difference():
    steps = [
        {},
        {"agent_trait": "rich"},
        {"patient_trait": "rich"},
        {"patient": "dog"},
        {"action": "feeding"},
        {"agent": "lion"},
    ]
    values, scores = {}, []
    for step in steps:
        values |= step
        scores.append(relatedness((GIRL,), (but(GIRL, **values),)))
    assert scores[0] == 5 and scores == sorted(scores, reverse=True) and len(set(scores)) == 6


def test_relatedness_of_the_corpus(corpus, meanings):
    scores = corpus.relatedness
    assert scores.dtype == np.float32 and scores.min() == 1 and scores.max() == 5
    means = [scores[corpus.labels == k].mean() for k in (CONTRADICTION, ENTAILMENT, NEUTRAL)]
    assert means[ENTAILMENT] > means[CONTRADICTION] > means[NEUTRAL]
    for _, first, second in meanings:
        assert abs(relatedness(first, second) - relatedness(second, first)) < 0.011
        assert relatedness(first, first) == 5


def with_slot(frames, place, slot, value):
    return (*frames[:place], but(frames[place], **{slot: value}), *frames[place + 1 :])


def test_rationales_decide(meanings):
    checked = collections.Counter()
    for target, first, second in meanings:
        assert label(first, second) == target
        marks = rationale(first, second)
        assert marks[0] or marks[1]
        if target == ENTAILMENT:
            # What is marked cannot be changed, anything else can.
            for which, frames in enumerate((first, second)):
                for i, frame in enumerate(frames):
                    for slot in SLOTS:
                        value = getattr(frame, slot)
                        if value is None:
                            continue
                        strange = not value if slot == "negated" else UNKNOWN
                        changed = with_slot(frames, i, slot, strange)
                        now = label(first, changed) if which else label(changed, second)
                        assert (now != ENTAILMENT) == ((i, slot) in marks[which])
        elif target == CONTRADICTION:
            # Without the marked slots of either sentence there is none.
            for which, frames in enumerate((first, second)):
                for i, slot in marks[which]:
                    if slot == "negated":
                        continue
                    frames = with_slot(frames, i, slot, UNKNOWN)
                assert label(*((first, frames) if which else (frames, second))) != CONTRADICTION
        else:
            # With these as in the first sentence, the second would follow.
            if len(first) == len(second) == 1 and first[0].action not in SYMMETRIC:
                for _, slot in marks[0] | marks[1]:
                    second = with_slot(second, 0, slot, getattr(first[0], slot))
                assert label(first, second) == ENTAILMENT
        checked[target] += 1
    assert min(checked.values()) == 250


def test_rationale_tokens_of_a_known_pair():
    writer = _Writer(0, 0.0)
    first, second = (GIRL,), (but(GIRL, agent_trait="short"),)
    marks = rationale(first, second)
    for frames, found, expected in (
        (first, marks[0], "girl tall"),
        (second, marks[1], "girl short"),
    ):
        text, mask = writer.sentence(frames, found)
        kept = [word for word, kept in zip(text.split(), mask, strict=True) if kept]
        assert sorted(kept) == sorted(expected.split())


def test_the_plainest_wording():
    data = sentence_pairs(300, seed=2, paraphrase_rate=0.0)
    words = {word for text in data.sentences_a + data.sentences_b for word in text.split()}
    others = {word for words in WORDINGS.values() for word in words[1:] if " " not in word}
    others -= {"talking"}  # its own verb in "talking with"
    assert not words & (others | {"by", "being", "who", "there", "behind"})


def ridge_accuracy(train, test, features):
    """Accuracy of a linear classifier on `features(part)`, by least squares."""
    inputs, new = (np.hstack([features(part), np.ones((len(part), 1))]) for part in (train, test))
    targets = np.eye(3)[train.labels]
    weights = np.linalg.solve(inputs.T @ inputs + 10 * np.eye(inputs.shape[1]), inputs.T @ targets)
    return np.mean((new @ weights).argmax(1) == test.labels)


def test_no_easy_way(corpus):
    test = sentence_pairs(1000, seed=12)
    vocabulary = {}
    for text in corpus.sentences_a + corpus.sentences_b:
        for word in text.split():
            vocabulary.setdefault(word, len(vocabulary))

    def bag(texts):
        counts = np.zeros((len(texts), len(vocabulary) + 1))
        for row, text in enumerate(texts):
            for word in text.split():
                counts[row, vocabulary.get(word, -1)] += 1
        return counts

    def overlap(part):
        first, second = bag(part.sentences_a), bag(part.sentences_b)
        shared = np.minimum(first, second).sum(1)
        sizes = first.sum(1), second.sum(1)
        ratios = shared / sizes[0], shared / sizes[1], shared / (sizes[0] + sizes[1])
        return np.stack([*sizes, sizes[0] - sizes[1], shared, *ratios], 1)

    def both(part):
        first, second = bag(part.sentences_a), bag(part.sentences_b)
        shared = np.minimum(first, second)
        return np.hstack([first, second, np.abs(first - second), shared, overlap(part)])

    def accuracy(features):
        return ridge_accuracy(corpus, test, features)

    assert accuracy(lambda part: bag(part.sentences_a)) < 0.40
    assert accuracy(lambda part: bag(part.sentences_b)) < 0.43
    assert accuracy(overlap) < 0.43
    assert 0.40 < accuracy(both) < 0.52


def test_the_same_words_have_every_label():
    # Word order alone tells these apart.
    data = sentence_pairs(700, seed=13, paraphrase_rate=0.0)
    counts = collections.Counter()
    for first, second, answer in zip(data.sentences_a, data.sentences_b, data.labels, strict=True):
        bags = [sorted(set(text.split()) - SMALL) for text in (first, second)]
        if bags[0] == bags[1] and len(first.split()) == len(second.split()):
            counts[int(answer)] += 1
    assert min(counts[k] for k in range(3)) > 0.15 * sum(counts.values()) > 30
