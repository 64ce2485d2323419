"""Similarity of heads, worked out by hand."""

import numpy as np
import pytest
from refusals import refused

from keras_attnpool.analysis import head_redundancy, head_similarity

pytestmark = pytest.mark.one_backend("NumPy arrays in, NumPy arrays out")

SCORES = np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]])


def test_cosine_and_overlap():
    half = np.sqrt(0.5)
    np.testing.assert_allclose(
        head_similarity(SCORES), [[1, 0, half], [0, 1, half], [half, half, 1]]
    )
    overlap = head_similarity(SCORES, measure="overlap")
    np.testing.assert_allclose(overlap, [[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])
    np.testing.assert_allclose(head_redundancy(overlap), 1 / 3)


@pytest.mark.parametrize("measure", ["cosine", "overlap"])
def test_mean_over_texts_without_empty_ones(measure):
    equal = np.full((1, 3, 3), 1 / 3)
    scores = np.concatenate([SCORES, equal, np.zeros((1, 3, 3))])
    found = head_similarity(scores, measure=measure)
    np.testing.assert_allclose(found, (head_similarity(SCORES, measure=measure) + 1) / 2)


def test_mask():
    # Without token 1 heads 1 and 3 are the same, and head 2 looks at token 2 alone.
    scores = np.array([[[0.6, 0.4, 0.0], [0.0, 0.5, 0.5], [0.2, 0.8, 0.0]]])
    found = head_similarity(scores, [[1, 0, 1]], measure="overlap")
    np.testing.assert_allclose(found, [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"scores": SCORES[0]}, "(batch, heads, time)"),
        ({"scores": -SCORES}, "not negative"),
        ({"scores": SCORES * np.nan}, "finite"),
        ({"scores": SCORES * 0}, "at least one text"),
        ({"mask": [[1, 1]]}, "(1, 3)"),
        ({"measure": "dot"}, "one of"),
    ],
)
def test_errors(change, told):
    with refused(*change, "head_similarity", told):
        head_similarity(**{"scores": SCORES, **change})


def test_redundancy_needs_two_heads():
    with refused("similarity", "head_redundancy", "two heads"):
        head_redundancy([[1.0]])
    with refused("similarity", "head_redundancy", "(heads, heads)"):
        head_redundancy([[1.0, 0.5]])
