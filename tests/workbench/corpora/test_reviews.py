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
