import numpy as np
import pytest
from refusals import refused

from keras_attnpool.workbench.datasets import LabeledTexts, SentencePairs

pytestmark = pytest.mark.one_backend("texts and labels, no tensors")


def numbered(counts):
    """Texts t0, t1, ... with `counts[c]` rows of class c, rationale True on the last token."""
    labels = np.repeat(np.arange(len(counts)), counts)
    texts = tuple(f"text {i}" for i in range(len(labels)))
    rationales = tuple(np.array([False, True]) for _ in texts)
    return LabeledTexts(texts, labels, tuple("abc"[: len(counts)]), rationales)


def test_fields_are_normalised():
    data = LabeledTexts(["x", "y z"], [1, 0], ["no", "yes"], [[True], [0, 1]])
    assert data.texts == ("x", "y z") and data.label_names == ("no", "yes")
    assert data.labels.dtype == np.int32 and data.num_classes == 2 and len(data) == 2
    assert [mask.dtype for mask in data.rationales] == [bool, bool]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"labels": [0, 1]}, "(2,)"),
        ({"labels": [2]}, "in [0, 2)"),
        ({"labels": [-1]}, "from -1"),
        ({"labels": [0.5]}, "float64"),
        ({"texts": "a"}, "one string"),
        ({"rationales": [[True], [True]]}, "one per text"),
        ({"rationales": [[True]]}, "(2,) at index 0"),
    ],
)
def test_fields_that_do_not_fit_are_named(change, told):
    with refused(*change, "LabeledTexts", told):
        LabeledTexts(**{"texts": ("a b",), "labels": [0], "label_names": ("x", "y"), **change})


def test_subset_keeps_rows_together():
    data = LabeledTexts(("a", "b", "c"), [0, 1, 0], ("x", "y"), [[False], [True], [True]])
    picked = data.subset([2, 1])
    assert picked.texts == ("c", "b") and picked.labels.tolist() == [0, 1]
    assert [mask.tolist() for mask in picked.rationales] == [[True], [True]]
    assert data.subset(np.array([True, False, False])).texts == ("a",)
    assert len(data.subset([])) == 0
    with refused("indices", "LabeledTexts.subset"):
        data.subset([0.5])
    with pytest.raises(IndexError):
        data.subset([3])


def test_split_is_stratified_disjoint_and_complete():
    data = numbered([60, 30, 10])
    rest, part = data.split(0.2, seed=3)
    assert np.bincount(part.labels).tolist() == [12, 6, 2]
    assert np.bincount(rest.labels).tolist() == [48, 24, 8]
    assert set(rest.texts) | set(part.texts) == set(data.texts)
    assert len(rest) + len(part) == 100
    assert data.split(0.2, seed=3)[1].texts == part.texts
    assert data.split(0.2, seed=4)[1].texts != part.texts


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 2, 0.01])
def test_split_refuses_empty_parts(fraction):
    with refused("fraction", "LabeledTexts.split"):
        numbered([5, 5]).split(fraction)


def test_pairs_are_checked():
    pairs = SentencePairs(["a"], ["b"], [1], ["n", "e"], [3.5])
    assert len(pairs) == 1 and pairs.num_classes == 2
    assert pairs.relatedness.dtype == np.float32 and pairs.labels.dtype == np.int32
    with refused("relatedness"):
        SentencePairs(["a"], ["b"], [1], ["n", "e"], [3.5, 4])
    with refused("labels"):
        SentencePairs(["a"], ["b"], [2], ["n", "e"], [3.5])
    assert SentencePairs(["a"], ["b"], [1], ["n", "e"]).relatedness is None
    with refused("sentences_b"):
        SentencePairs(["a"], ["b", "c"], [1], ["n", "e"])
    with refused("rationales_b"):
        SentencePairs(["a"], ["b c"], [1], ["n", "e"], rationales_b=[[True]])


def test_pairs_are_picked_and_split():
    texts = tuple("abcdefgh")
    masks = [[i % 2 == 0] for i in range(8)]
    pairs = SentencePairs(
        texts, texts[::-1], np.arange(8) % 2, ("n", "e"), np.arange(8), masks, masks
    )
    part = pairs.subset([3, 0])
    assert part.sentences_a == ("d", "a") and part.sentences_b == ("e", "h")
    assert part.relatedness.tolist() == [3, 0] and part.labels.tolist() == [1, 0]
    assert [mask.tolist() for mask in part.rationales_b] == [[False], [True]]
    rest, part = pairs.split(0.25, seed=1)
    assert len(rest) == 6 and sorted(part.labels) == [0, 1]
    with refused("indices", "SentencePairs.subset"):
        pairs.subset([0.5])
    with refused("fraction", "SentencePairs.split"):
        pairs.split(1.0)
