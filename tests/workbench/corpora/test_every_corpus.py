"""What the generated corpora promise alike: their seeds, their beginnings, their refusals."""

import hashlib

import numpy as np
import pytest
from refusals import refused

from keras_attnpool.workbench.corpora import questions, reviews, sentence_pairs

pytestmark = pytest.mark.one_backend("generates texts")

DIGESTS = {
    questions: "f42556a3f1058107a50e4fdaddc02e2d28d43f2a573bd8e411a02dd264c99d91",
    reviews: "f78aa23da66abece0e0975968a3b3b5cfaa996e1cbe0c865175aff022af86876",
    sentence_pairs: "abe2efc00a5ab1e3d47ef4ad4ca39c6c9da2ea6fda5046e10412145d7ea31332",
}


def texts_of(data):
    return (data.sentences_a, data.sentences_b) if hasattr(data, "sentences_a") else (data.texts,)


@pytest.mark.parametrize("make", DIGESTS)
def test_the_same_seed_gives_the_same_bytes_everywhere(make):
    data = make(200, seed=7)
    content = [*texts_of(data), data.labels.tolist()]
    if make is sentence_pairs:
        content.append([round(float(score), 2) for score in data.relatedness])
        masks = data.rationales_a + data.rationales_b
    else:
        masks = data.rationales
    content.append([np.flatnonzero(mask).tolist() for mask in masks])
    assert hashlib.sha256(repr(tuple(content)).encode()).hexdigest() == DIGESTS[make]


@pytest.mark.parametrize("make", DIGESTS)
def test_a_larger_corpus_starts_with_the_smaller_one(make):
    small, large, other = make(50, seed=3), make(80, seed=3), make(50, seed=4)
    assert tuple(texts[:50] for texts in texts_of(large)) == texts_of(small)
    assert large.labels[:50].tolist() == small.labels.tolist()
    assert not set(texts_of(other)[0]) & set(texts_of(small)[0])


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        *((make, "num_examples", value) for make in DIGESTS for value in (0, 2.5)),
        *((make, "seed", -1) for make in DIGESTS),
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
