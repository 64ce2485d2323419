import collections

import numpy as np
import pytest

from keras_attnpool.workbench.corpora import reviews
from keras_attnpool.workbench.corpora._words import group, sections

pytestmark = pytest.mark.one_backend("generates texts")

LISTS = sections("reviews")
OPINION_WORDS = {
    word: int(value)
    for name in ("adjectives", "things", "verbs")
    for value, listed in group(LISTS, name).items()
    for word in listed.replace("/", " ").split()
}
PHRASES = {kind: listed.splitlines() for kind, listed in group(LISTS, "modifiers").items()}


@pytest.fixture(scope="module")
def corpus():
    return reviews(3000, seed=11, label_noise=0.0)


def sentences(text, rationale):
    """[(tokens, rationale)] of every sentence."""
    tokens = text.split(" ")
    start = 0
    for i, token in enumerate(tokens):
        if token in ".!":
            yield tokens[start : i + 1], rationale[start : i + 1]
            start = i + 1


def value_of(words):
    """Value of a clause from its rationale tokens alone, by the rule of the datasheet."""
    (opinion,) = [word for word in words if word in OPINION_WORDS and word not in MODIFIERS]
    value = OPINION_WORDS[opinion]
    modifiers = " ".join(word for word in words if word != opinion)
    sign = np.sign(value)
    if not modifiers:
        return value
    if modifiers in STRONG:
        return -2 * sign
    if modifiers in WEAK:
        return -sign
    if modifiers in PHRASES["soft"]:
        return sign
    assert modifiers in INTENSE
    return 2 * sign


INTENSE = {*PHRASES["intense"], "greatly", "real", "complete", "huge", "total"}
WEAK = {*PHRASES["weak"], "no", "little"}
STRONG = {*PHRASES["strong"], "nothing", "not a single"}
MODIFIERS = {word for phrase in INTENSE | WEAK | STRONG for word in phrase.split()}


def test_rationales_decide_the_label():
    data = reviews(1500, seed=5, sentences=(1, 2), label_noise=0.0)
    contrast_words = {word[1:] for word in LISTS["contrasts"].split() if word[0] == "*"}
    seen = 0
    kinds = collections.Counter()
    for text, label, mask in zip(data.texts, data.labels, data.rationales, strict=True):
        values = []
        for tokens, decides in sentences(text, mask):
            words = [word for word, kept in zip(tokens, decides, strict=True) if kept]
            if contrast_words & set(words):
                break  # two clauses: the next test
            if words:
                values.append(value_of(words))
                kinds[len(words)] += 1
        else:
            seen += 1
            assert label == round(np.mean(values)) + 2, text
    assert seen > 500 and min(kinds[1], kinds[2], kinds[3]) > 50


def test_rates_do_what_they_say():
    plain = reviews(300, seed=2, distractor_rate=0.0, negation_rate=0.0)
    strong_words = {word for word, value in OPINION_WORDS.items() if abs(value) == 2}
    for text, mask in zip(plain.texts, plain.rationales, strict=True):
        for word, kept in zip(text.split(), mask, strict=True):
            assert kept or word not in strong_words, (word, text)
            assert not (kept and word in ("not", "hardly", "nothing", "no")), text
    clean, noisy = (reviews(300, seed=9, label_noise=rate) for rate in (0.0, 1.0))
    assert clean.texts == noisy.texts
    assert set(np.abs(noisy.labels - clean.labels)) == {1}
    assert set(noisy.labels) == {0, 1, 2, 3, 4}
    few = [text.count(".") + text.count("!") for text in reviews(50, sentences=(2, 2)).texts]
    assert set(few) == {2}


def test_cue_words_alone_give_nothing_away(corpus):
    # Filler uses them too: outside of rationales "not", "very" and "but" are common.
    outside = collections.Counter(
        word
        for text, mask in zip(corpus.texts, corpus.rationales, strict=True)
        for word, kept in zip(text.split(), mask, strict=True)
        if not kept
    )
    assert min(outside["not"], outside["very"], outside["but"], outside["nothing"]) > 20
