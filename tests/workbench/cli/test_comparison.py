"""The figures of a run and what its last line makes of them."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from keras_attnpool import models
from keras_attnpool.layers import BidirectionalGRU, MaskedAveragePooling1D
from keras_attnpool.workbench import datasets, text
from keras_attnpool.workbench.cli import comparison, data, export, networks, options, readers
from keras_attnpool.workbench.datasets import LabeledTexts

pytestmark = [
    pytest.mark.every_backend,
    pytest.mark.torch_first("the command line's whole way runs everywhere in test_smoke.py"),
]


def test_scores_by_hand():
    part = LabeledTexts(tuple("abcd"), np.array([0, 0, 1, 1]), ("x", "y", "z"))
    scores = comparison.scores(part, np.array([0, 1, 1, 1]))
    # x: 1 hit of 1 predicted and 2 true; y: 2 of 3 and 2; z is nowhere.
    assert scores["accuracy"] == 0.75
    assert scores["f1"] == pytest.approx({"x": 2 / 3, "y": 4 / 5})
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2)


def test_difference():
    labels = np.zeros(400, int)
    own, other = np.zeros(400, int), np.zeros(400, int)
    assert comparison.difference(labels, own, other) == (0, 0, 0)
    own[:40], other[20:30] = 1, 1
    middle, low, high = comparison.difference(labels, own, other)
    # Of the signs: 30 texts only the other one is right on, none the other way round.
    assert middle == 30 / 400
    spread = 1.96 * np.sqrt(0.075 * 0.925 / 400)
    assert (low, high) == pytest.approx((middle - spread, middle + spread), abs=0.004)


def test_balanced_accuracy():
    """The mean of the accuracies of the classes, however few texts one of them has."""
    labels = np.array([0] * 90 + [1] * 10)
    own, other = np.zeros(100, int), labels.copy()
    other[:18] = 1
    assert comparison.accuracy(labels, own, False) == 0.9
    assert comparison.accuracy(labels, own, True) == 0.5
    middle, low, high = comparison.difference(labels, own, other, balanced=True)
    assert middle == pytest.approx(0.9 - 0.5) and low < middle < high
    # All of the rare class's texts are won: only the frequent one varies, and half of it counts.
    spread = 1.96 * np.sqrt(0.2 * 0.8 / 90) / 2
    assert (low, high) == pytest.approx((middle - spread, middle + spread), abs=0.005)
    predicted = {"own": own, "linear": other}
    said = comparison.sentence(labels, predicted, ["linear"], balanced=True)
    assert said.startswith("linear is better than own (+40.0 points of balanced accuracy, 95 %")
    assert not comparison.sentence(labels, predicted, ["linear"]).startswith("linear is better")


def compared(**wrong):
    """The sentence about 100 texts of which each row has so many wrong, the last ones."""
    labels = np.zeros(100, int)
    predicted = {}
    for name, number in wrong.items():
        predicted[name] = np.zeros(100, int)
        predicted[name][100 - number :] = 1
    return comparison.sentence(labels, predicted, ["largest", "linear", "mean"])


def test_sentence():
    assert (
        compared(own=5, largest=60, linear=40, mean=30) == "own is better than every simpler row."
    )
    assert compared(own=5, largest=60, linear=5, mean=5).startswith(
        "linear is as good as own, as far as 100 test texts can tell (+0.0 points, 95 % interval"
    )
    assert compared(own=40, largest=60, linear=5, mean=20).startswith(
        "linear is better than own (+35.0 points"
    )
    # Rows that were not made are not told of.
    assert compared(own=5, largest=60) == "own is better than every simpler row."


def test_linear_classifier():
    texts = tuple(f"{word} film {i % 7}" for i in range(40) for word in ("good", "bad"))
    part = LabeledTexts(texts, np.arange(80) % 2, ("good", "bad"))
    predicted = comparison.linear(data.Data(part, part, part))
    assert (predicted == part.labels).all()
    empty = LabeledTexts(("", ""), np.array([0, 1]), ("a", "b"))
    assert comparison.linear(data.Data(empty, empty, empty)).tolist() == [0, 0]
    one = part.subset(np.arange(0, 80, 2))
    assert not comparison.linear(data.Data(one, part, part)).any()


def test_the_linear_classifier_is_silent(recwarn):
    """As many classes as texts, and a support vector machine that does not converge."""
    names = tuple(f"word{i}" for i in range(30))
    one_each = LabeledTexts(names, np.arange(30), names)
    assert len(comparison.linear(data.Data(one_each, one_each, one_each))) == 30
    assert not list(recwarn)


def test_linear_classifier_with_class_weights():
    """A word counts for the rare class where a third of the texts that have it are rare."""
    texts = ("film",) * 35 + ("film seldom",) * 15
    part = LabeledTexts(texts, np.array([0] * 45 + [1] * 5), ("often", "rare"))
    parts = data.Data(part, part, part)
    assert not comparison.linear(parts)[:35].any()
    assert comparison.linear(parts, class_weights=True).tolist() == [0] * 35 + [1] * 15


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    part = LabeledTexts(("good", "bad"), np.array([0, 1]), ("a", "b"))
    assert comparison.linear(data.Data(part, part, part)) is None
    assert "pip install" in comparison.NO_LINEAR


SMALL = {"embedding_dim": 3, "hidden_units": 4, "dropout": 0}


@pytest.mark.parametrize("name", ["lama", "san", "bigru", None])
def test_the_mean_stands_behind_the_same_encoder(name):
    chosen = options.Options(model=name, **SMALL)
    assert networks.baseline_of(chosen) == "gru + mean"
    model, mean = (
        networks.build(chosen, {"vocabulary_size": 9}, 3, None, each) for each in (None, "mean")
    )
    assert isinstance(mean.get_layer("encoder"), BidirectionalGRU)
    assert isinstance(mean.get_layer("pooling"), MaskedAveragePooling1D)
    # The same sizes, and the same first weights.
    for layer in ("embedding", "encoder"):
        weights = [each.get_layer(layer).get_weights() for each in (model, mean)]
        assert all(np.array_equal(*pair) for pair in zip(*weights, strict=True))
    assert mean.get_layer("classifier_hidden").units == 4


@pytest.mark.parametrize("name", sorted(networks.MODELS))
def test_every_model_has_the_mean_of_its_encoder(name):
    """Of the model's own sizes; none of its options leads to an argument that nothing has."""
    chosen = options.Options(model=name, embedding_dim=4, dropout=0, encoder=None)
    if name == "average":
        assert networks.baseline_of(chosen) is None
        return
    inputs = {"vocabulary_size": 9}
    if name == "sam":
        inputs = {"vocabulary_size": None, "backbone": 4, "sequence_length": 7}
    mean = networks.build(chosen, inputs, 3, None, "mean")
    assert mean.output_shape == (None, 3)


@pytest.mark.parametrize(
    ("encoder", "sizes", "shape"),
    [
        ("positions", {"max_length": 600}, (1, 600)),
        ("hierarchical+positions", {"max_sentences": 2, "max_words": 600}, (1, 2, 600)),
        ("hierarchical+positions", {"max_sentences": 600, "max_words": 2}, (1, 600, 2)),
    ],
)
def test_positions_reach_as_far_as_texts_are_read(encoder, sizes, shape):
    chosen = options.Options(encoder=encoder, pooling="mean", **SMALL, **sizes)
    model = networks.build(chosen, {"vocabulary_size": 9}, 3, None)
    assert model.predict(np.ones(shape, "int32"), verbose=0).shape == (1, 3)


@pytest.mark.parametrize("content", ["a " * 49, "A. " * 29, "a " * 90, "A. " * 40])
def test_sentences_are_never_longer_than_their_limits(content):
    """No multiples of what lengths are rounded to: HCAN has positions for just so many."""
    tokenizer = text.WordTokenizer(["[PAD]", "[UNK]", "a", "."])
    reader = readers.Sentences(tokenizer, max_sentences=30, max_words=50)
    ids = reader.encode([content])
    assert ids.shape[1] <= 30 and ids.shape[2] <= 50
    model = models.HCAN(
        4, 2, embedding_dim=4, num_heads=2, filters=4, max_words=50, max_sentences=30
    )
    assert model.predict(ids, verbose=0).shape == (1, 2)


def test_the_page_has_every_encoder_and_pooling():
    page = Path(__file__).parents[3] / "docs" / "guides" / "command-line.md"
    listed = set(re.findall(r"`([\w-]+)`", page.read_text(encoding="utf-8")))
    assert {*networks.ENCODERS, *networks.POOLINGS, *networks.MODELS} <= listed


def test_names_are_those_of_the_builders():
    assert set(networks.MODELS) == set(options.MODELS)
    assert ("none", *networks.PENALTIES) == options.PENALTIES
    assert options.DATASETS == datasets.available()
    assert options.ENCODER in networks.ENCODERS and set(options.COMPARED) <= set(networks.POOLINGS)
    assert set(networks.RATES) <= set(options.MODELS) and set(export.FORMATS) == set(
        options.FORMATS
    )
