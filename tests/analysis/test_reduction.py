"""Heads, features and queries reduced to one number per token, worked out by hand."""

import numpy as np
import pytest
from refusals import refused

from keras_attnpool.analysis import reduce_scores

pytestmark = pytest.mark.one_backend("NumPy arrays in, NumPy arrays out")

HEADS = [[[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]]]


@pytest.mark.parametrize(
    ("heads", "expected"),
    [("mean", [0.3, 0.7, 0]), ("max", [0.5, 0.9, 0]), (0, [0.5, 0.5, 0]), (1, [0.1, 0.9, 0])],
)
def test_heads(heads, expected):
    found = reduce_scores(HEADS, heads=heads)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [expected], atol=1e-7)


def test_two_axes_pass():
    np.testing.assert_allclose(reduce_scores([[0.25, 0.75]]), [[0.25, 0.75]])


@pytest.mark.parametrize(
    ("features", "expected"), [("mean", [3.5, 0.5]), ("norm", [5, 1]), ("max", [4, 1]), (0, [3, 0])]
)
def test_features(features, expected):
    scores = [[[3.0, 4.0], [0.0, 1.0]]]
    np.testing.assert_allclose(reduce_scores(scores, features=features, layout="btd"), [expected])
    # Features first, then heads: the mean of two norms, not the norm of a mean.
    both = np.stack([scores, np.zeros((1, 2, 2))], axis=1)
    found = reduce_scores(both, features=features, layout="bhtd")
    np.testing.assert_allclose(found, [np.array(expected) / 2])


def test_queries_of_kept_tokens_only():
    # Query 2 is padding and looks where it likes.
    scores = [[[[0.5, 0.5, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]]]
    mask = [[1, 1, 0]]
    np.testing.assert_allclose(
        reduce_scores(scores, layout="bhqt", mask=mask), [[0.3, 0.7, 0]], atol=1e-7
    )
    np.testing.assert_allclose(
        reduce_scores(scores, layout="bhqt"), [[0.2, 1.4 / 3, 1 / 3]], atol=1e-7
    )
    np.testing.assert_array_equal(reduce_scores(scores, layout="bhqt", mask=[[0, 0, 0]]), 0)


def test_learned_queries_all_count():
    """Two queries of one head over three tokens, the last of which is padding."""
    scores = [[[[0.4, 0.6, 0.0]], [[0.8, 0.2, 0.0]]]]
    np.testing.assert_allclose(
        reduce_scores(scores, layout="bqht", mask=[[1, 1, 0]]), [[0.6, 0.4, 0]], atol=1e-7
    )


def test_mask_without_queries():
    np.testing.assert_allclose(reduce_scores(HEADS, mask=[[0, 1, 1]]), [[0, 0.7, 0]], atol=1e-7)


@pytest.mark.parametrize(
    ("name", "kwargs", "told"),
    [
        ("layout", {"scores": np.ones((1, 2, 3, 4))}, "'bqht' for LearnedQueryPooling"),
        ("scores", {"layout": "bhqt"}, "4 axes"),
        ("layout", {"layout": "bhx"}, "distinct letters"),
        ("layout", {"layout": "hbt"}, "'b' first"),
        ("layout", {"layout": 5}, "distinct letters"),
        ("scores", {"scores": np.ones((1, 0, 3))}, "size 0"),
        ("heads", {"heads": 2}, "in [0, 2)"),
        ("heads", {"heads": "norm"}, "index or one of"),
        ("mask", {"mask": [[1, 1]]}, "(1, 3)"),
        ("mask", {"mask": [[0.0, 0.0, -1e9]]}, "float64"),  # additive: it says the opposite
        *(
            (*given, {"scores": [[0.5, 0.5]], **given}, "no such axis")
            for given in ({"heads": 7}, {"features": "nonsense"}, {"heads": "norm"})
        ),
    ],
)
def test_errors(name, kwargs, told):
    with refused(name, "reduce_scores", told):
        reduce_scores(**{"scores": HEADS, **kwargs})


def test_learned_queries_are_no_tokens():
    """Their letter says so, also where there are as many as tokens."""
    scores = np.random.default_rng(0).dirichlet([1, 1], size=(1, 4, 1))
    narrow, wide = (np.pad(scores, [(0, 0)] * 3 + [(0, n)]) for n in (2, 3))
    expected = scores.mean(axis=(1, 2))
    for padded in (narrow, wide):
        mask = np.arange(padded.shape[-1]) < 2
        found = reduce_scores(padded, layout="blht", mask=mask[None])
        np.testing.assert_allclose(found[:, :2], expected, rtol=1e-6)
        assert not found[:, 2:].any()
