"""What the generated corpora promise alike: their seeds, their beginnings, their refusals."""

import hashlib

import numpy as np
import pytest
from refusals import refused

from keras_attnpool.workbench.corpora import questions, reviews, sentence_pairs

pytestmark = pytest.mark.one_backend("generates texts")

MADE = (questions, reviews, sentence_pairs)
# The first 16 digits of the hash of 1,000 examples: the comparison ran on these bytes, and what the
# datasheets say of shares, bounds and shortcuts was measured on them.
DIGESTS = [
    (questions, {}, "c3c321f5121ad2c5"),
    (questions, {"kinds": ("order", "clause")}, "2b8692061fd6fdbe"),
    (reviews, {}, "9077b15b0d825fc6"),
    (reviews, {"sentences": (1, 2), "label_noise": 0.0}, "e1ad145d5793bc08"),
    (reviews, {"distractor_rate": 0.0, "negation_rate": 0.0}, "521e20ca619dbd39"),
    (
        reviews,
        {"distractor_rate": 1.0, "negation_rate": 1.0, "label_noise": 1.0},
        "aa48945bf039d8cb",
    ),
    (sentence_pairs, {}, "e3cfa24b101e013c"),
    (sentence_pairs, {"paraphrase_rate": 0.0}, "06d587b02644c4f4"),
    (sentence_pairs, {"paraphrase_rate": 1.0}, "53f4d0450f3d7713"),
]


def texts_of(data):
    return (data.sentences_a, data.sentences_b) if hasattr(data, "sentences_a") else (data.texts,)


def digest(make, **options):
    data = make(1000, seed=7, **options)
    content = [*texts_of(data), data.labels.tolist()]
    if make is sentence_pairs:
        content.append([round(float(score), 2) for score in data.relatedness])
        masks = data.rationales_a + data.rationales_b
    else:
        masks = data.rationales
    content.append([np.flatnonzero(mask).tolist() for mask in masks])
    return hashlib.sha256(repr(tuple(content)).encode()).hexdigest()[:16]


@pytest.mark.parametrize(("make", "options", "expected"), DIGESTS)
def test_the_same_seed_gives_the_same_bytes_everywhere(make, options, expected):
    assert digest(make, **options) == expected


@pytest.mark.parametrize("make", MADE)
def test_a_larger_corpus_starts_with_the_smaller_one(make):
    small, large, other = make(50, seed=3), make(80, seed=3), make(50, seed=4)
    assert tuple(texts[:50] for texts in texts_of(large)) == texts_of(small)
    assert large.labels[:50].tolist() == small.labels.tolist()
    assert not set(texts_of(other)[0]) & set(texts_of(small)[0])


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        *((make, "num_examples", value) for make in MADE for value in (0, 2.5)),
        *((make, "seed", -1) for make in MADE),
        *((questions, "kinds", value) for value in ((), "order", ("order", "odour"))),
        *((reviews, "sentences", value) for value in ((0, 3), (4, 3), 4, (2.5, 3))),
        (reviews, "distractor_rate", 1.5),
        (reviews, "negation_rate", -0.1),
        (reviews, "label_noise", float("nan")),
        *((sentence_pairs, "paraphrase_rate", value) for value in (1.5, float("nan"))),
    ],
)
def test_bad_options_are_named(make, name, value):
    with refused(name, make.__name__):
        make(**{name: value})
