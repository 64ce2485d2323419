import collections
import itertools

import numpy as np
import pytest

from keras_attnpool.workbench.corpora import questions
from keras_attnpool.workbench.corpora._questions import KINDS, LABEL_NAMES, _Writer, _written
from keras_attnpool.workbench.corpora._words import group, sections

pytestmark = pytest.mark.one_backend("generates texts")

LISTS = sections("questions")
NOUN_LISTS = [listed.split() for listed in group(LISTS, "nouns").values()]
NOUNS = {word: label for label, words in enumerate(NOUN_LISTS) for word in words}
ADVERBS = {
    phrase: LABEL_NAMES.index(name)
    for name, phrases in group(LISTS, "adverbs").items()
    for phrase in phrases.splitlines()
}


@pytest.fixture(scope="module")
def corpus():
    return questions(1000, seed=11)


def arrangements(bag):
    """Every question that can be written with these words."""
    orders = list(itertools.permutations(range(len(bag.candidates))))
    return [_written(pattern, bag, order) for pattern in bag.patterns for order in orders]


def test_the_lists_are_large_and_share_no_word():
    others = (LISTS["slot A"], LISTS["slot D"], LISTS["verbs"].replace("/", " "))
    listed = NOUN_LISTS + [words.split() for words in others]
    counts = collections.Counter(word for words in listed for word in words)
    assert [word for word, count in counts.items() if count > 1] == []
    assert min(len(words) for words in listed[:6]) > 110 and len(NOUNS) > 1000


@pytest.mark.parametrize("kind", KINDS)
def test_a_bag_of_words_has_several_types_in_equal_shares(kind):
    # What the bound on models that are blind to order stands on.
    writer = _Writer(5, (kind,))
    for _ in range(200):
        bag = writer.bag()
        written = arrangements(bag)
        assert len({tuple(sorted(tokens)) for tokens, _, _ in written}) == 1
        assert len({tuple(tokens) for tokens, _, _ in written}) == len(written)
        labels = collections.Counter(label for _, _, label in written)
        assert len(labels) == len(bag.candidates) >= 2
        assert len(set(labels.values())) == 1


def test_the_bound_of_the_datasheet():
    shares = []
    for frames in group(LISTS, "frames").values():
        firsts = [frame.splitlines()[0].replace("*", "") for frame in frames.split("\n\n")]
        sizes = [len(set(first.split()) & set("XYZW")) for first in firsts]
        shares.append(np.mean([1 / size for size in sizes]))
    assert round(np.mean(shares), 2) == 0.39 and max(shares) < 0.42


def test_rationales_hold_the_answer_and_nothing_of_the_others(corpus):
    for text, label, mask in zip(corpus.texts, corpus.labels, corpus.rationales, strict=True):
        kept = [word for word, decides in zip(text.split(), mask, strict=True) if decides]
        types = [NOUNS[word] for word in kept if word in NOUNS]
        if not types:
            types = [kind for phrase, kind in ADVERBS.items() if " ".join(kept[:-1]) == phrase]
        assert types == [label], text
        assert len(kept) >= 2, text
        others = {NOUNS[word] for word in text.split() if word in NOUNS} | {
            kind for phrase, kind in ADVERBS.items() if phrase in text
        }
        assert len(others) >= 2
