"""Similarity of heads, worked out by hand."""

import numpy as np
import pytest

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
    ("args", "kwargs", "message"),
    [
        ((SCORES[0],), {}, r"\(batch, heads, time\)"),
        ((-SCORES,), {}, "non-negative"),
        ((SCORES * np.nan,), {}, "finite"),
        ((SCORES * 0,), {}, "at least one text"),
        ((SCORES, [[1, 1]]), {}, r"\(1, 3\)"),
        ((SCORES,), {"measure": "dot"}, "one of"),
    ],
)
def test_errors(args, kwargs, message):
    with pytest.raises(ValueError, match=message):
        head_similarity(*args, **kwargs)


def test_redundancy_needs_two_heads():
    with pytest.raises(ValueError, match="two heads"):
        head_redundancy([[1.0]])
    with pytest.raises(ValueError, match=r"\(heads, heads\)"):
        head_redundancy([[1.0, 0.5]])
