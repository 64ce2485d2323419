"""The figures of a run and what its last line makes of them."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from benchmarks.arena import grid, verdict
from keras_attnpool.layers import BidirectionalGRU, MaskedAveragePooling1D
from keras_attnpool.workbench import datasets
from keras_attnpool.workbench.cli import (
    comparison,
    data,
    networks,
    options,
    tfidf,
)
from keras_attnpool.workbench.datasets import LabeledTexts

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"

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
    ahead = "own is better than every simpler row."
    assert compared(own=5, largest=60, linear=40, mean=30) == ahead
    # Not told apart is level, and the cheapest row comes first.
    level = compared(own=5, largest=60, linear=8, mean=5)
    assert level.startswith(
        "linear is level with own, as far as 100 test texts can tell (-3.0 points, 95 % interval"
    )
    assert level.endswith("), and simpler; so is mean.")
    assert compared(own=40, largest=60, linear=5, mean=20).startswith(
        "linear is better than own (+35.0 points"
    )
    # Right on other texts, and 16 texts in question: half an interval is 1.96 * sqrt(0.4 / 40).
    labels = np.zeros(40, int)
    few = {"own": labels + (np.arange(40) < 8), "linear": labels + (np.arange(40) > 31)}
    told = comparison.sentence(labels, few, ["linear"])
    assert re.search(r"simpler\. They are too few to tell less than about (19|20) points\.$", told)
    # Rows that answer 16 texts alike: each further text may be another, with a share up to 3 / 16.
    alike = {"own": labels[:16], "linear": labels[:16]}
    told = comparison.sentence(labels[:16], alike, ["linear"])
    assert "+0.0 to +0.0" in told and told.endswith("less than about 19 points.")
    # Balanced, the rare class tells least; of many texts the interval tells enough.
    rare = np.array([0] * 90 + [1] * 10)
    told = comparison.sentence(rare, {"own": rare, "linear": rare}, ["linear"], balanced=True)
    assert told.endswith("less than about 15 points.")
    assert "too few" not in comparison.sentence(rare, {"own": rare, "linear": rare}, ["linear"])
    # Rows that were not made are not told of.
    assert compared(own=5, largest=60) == ahead


LINEAR = [comparison.WORDS, comparison.CHARACTERS, comparison.BOTH]


def predicted(*parts, **options):
    return {
        name: row.predicted for name, row in comparison.linear(data.Data(*parts), **options).items()
    }


def test_linear_classifiers():
    texts = tuple(f"{word} film {i % 7}" for i in range(40) for word in ("good", "bad"))
    part = LabeledTexts(texts, np.arange(80) % 2, ("good", "bad"))
    found = predicted(part, part, part)
    assert list(found) == LINEAR and all((each == part.labels).all() for each in found.values())
    assert list(predicted(part, part, part, kinds=LINEAR[:1])) == LINEAR[:1]
    empty = LabeledTexts(("", ""), np.array([0, 1]), ("a", "b"))
    one = part.subset(np.arange(0, 80, 2))
    for parts in ([empty] * 3, [one, one, part]):
        found = predicted(*parts)
        assert list(found) == LINEAR and not any(each.any() for each in found.values())


def test_linear_classifiers_learn_from_the_validation_part_too():
    """Its texts choose the strength first: what only they hold is known in the end."""
    train = LabeledTexts(("good film", "bad film") * 9, np.arange(18) % 2, ("good", "bad"))
    rest = LabeledTexts(("superb", "awful") * 3, np.arange(6) % 2, ("good", "bad"))
    for each in predicted(train, rest, rest).values():
        assert (each == rest.labels).all()


@pytest.mark.parametrize("names", [("good", "bad"), ("good", "bad", "never")])
def test_scores_are_those_of_the_row(names, tmp_path):
    """Also after a round trip; a class without texts never comes first."""
    made = tuple(f"{word} film {i % 7}" for i in range(20) for word in ("superb", "awful"))
    part = LabeledTexts(made, np.arange(40) % 2, names)
    row = comparison.linear(data.Data(part, part, part))[comparison.BOTH]
    scores = row.scorer(part.texts)
    assert scores.shape == row.validation.shape == (40, len(names))
    assert (scores.argmax(axis=1) == row.predicted).all()
    row.scorer.save(tmp_path)
    again = tfidf.TfIdf.load(tmp_path)
    np.testing.assert_allclose(again(part.texts), scores, atol=1e-2)
    np.testing.assert_array_equal(again.times(1)(part.texts), row.scorer.times(1)(part.texts))


@pytest.mark.parametrize("names", ["xy", "xyz", "xyz-"])
def test_logistic_regression_on_means(names):
    """Its weights score means as the classifier does; a class without texts never comes first."""
    seen = len(names.removesuffix("-"))
    part = LabeledTexts(("a",) * 60, np.arange(60) % seen, tuple(names))
    means = np.random.default_rng(0).normal(3, 5, size=(60, 4)).astype("float32")
    means[np.arange(60), part.labels] += 20
    row = comparison.logistic(data.Data(part, part, part), [means] * 3)[comparison.MEAN]
    assert (row.predicted == part.labels).all()
    weights, bias = row.weights
    assert ((means @ weights + bias).argmax(axis=1) == part.labels).all()
    np.testing.assert_allclose(np.exp(row.validation).sum(axis=1), 1)
    assert row.validation.shape == (60, len(names))


def test_scores_are_joined_as_far_as_validation_likes_it():
    """Here the network is sure and often wrong, and the scores are right where it is not."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    noise = rng.normal(size=(3, 300, 3))
    noise[:, np.arange(300), labels] += 1
    probabilities, logistic = (np.exp(tfidf.log_softmax(4 * each)) for each in noise[:2])
    logistic, scores = np.log(logistic) / 4, noise[2]
    factor, weight, share = comparison.mixed(probabilities, scores, logistic, labels, False)
    assert factor < 1 and weight > 0 and share > 0
    both = tfidf.joined(probabilities, factor, weight * scores, share * logistic)
    np.testing.assert_allclose(np.exp(both).sum(axis=1), 1)
    alone = comparison.accuracy(labels, probabilities.argmax(axis=1), False)
    assert comparison.accuracy(labels, both.argmax(axis=1), False) > alone + 0.03
    # Scores that tell nothing, or the opposite, get no weight; too few texts choose nothing.
    assert comparison.mixed(probabilities, -scores, -logistic, labels, False)[1:] == (0, 0)
    few = (each[:9] for each in (probabilities, -scores, -logistic, labels))
    assert comparison.mixed(*few, False) == comparison.UNCHOSEN


def test_the_model_that_is_kept_joins_likewise():
    rng = np.random.default_rng(0)
    states, scores = rng.normal(size=(7, 5, 4)), rng.normal(size=(7, 3))
    mask = np.arange(5) < np.array([5, 4, 3, 2, 1, 5, 2])[:, None]
    features, kept = (
        keras.Input((None, 4), name="features"),
        keras.Input((None,), name="padding_mask"),
    )
    first = keras.layers.Softmax()(features[:, 0, :3])
    network = keras.Model({"features": features, "padding_mask": kept}, first)
    weights, bias = rng.normal(size=(4, 3)), rng.normal(size=3)
    means = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    logistic = tfidf.log_softmax(means @ weights + bias)
    own = np.exp(tfidf.log_softmax(states[:, 0, :3]))
    inputs = {"features": np.float32(states), "padding_mask": mask, tfidf.INPUT: np.float32(scores)}
    for has_words, share in ((True, 0.5), (True, 0), (False, 1.5)):
        model = tfidf.model_with_scores(network, 0.5, has_words, share, (weights, bias))
        found = model.predict({name: inputs[name] for name in model.input}, verbose=0)
        wanted = tfidf.joined(own, 0.5, has_words * scores, share * logistic)
        np.testing.assert_allclose(found, np.exp(wanted), atol=1e-5)


def test_linear_classifiers_with_class_weights():
    """A word counts for the rare class where a third of the texts that have it are rare."""
    texts = ("film",) * 35 + ("film seldom",) * 15
    part = LabeledTexts(texts, np.array([0] * 45 + [1] * 5), ("often", "rare"))
    found, weighted = (predicted(part, part, part, balanced=each) for each in (False, True))
    for name in LINEAR:
        assert not found[name][:35].any()
        assert weighted[name].tolist() == [0] * 35 + [1] * 15


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    part = LabeledTexts(("good", "bad"), np.array([0, 1]), ("a", "b"))
    assert predicted(part, part, part) == {}


SMALL = {"embedding_dim": 3, "hidden_units": 4, "dropout": 0}


@pytest.mark.parametrize("name", ["lama", None])
def test_the_mean_stands_behind_the_same_encoder(name):
    chosen = options.Options(pooling=name, **SMALL)
    rows = networks.rows(chosen)
    assert rows == {chosen.name: chosen.pooling, "gru + mean": "mean"}
    assert networks.rows(options.Options(pooling="mean")) == {"gru + mean": "mean"}
    model, mean = (
        networks.build(chosen, {"vocabulary_size": 9}, 3, None, each) for each in rows.values()
    )
    assert isinstance(mean.get_layer("encoder"), BidirectionalGRU)
    assert isinstance(mean.get_layer("pooling"), MaskedAveragePooling1D)
    # The same sizes, and the same first weights.
    for layer in ("embedding", "encoder"):
        weights = [each.get_layer(layer).get_weights() for each in (model, mean)]
        assert all(np.array_equal(*pair) for pair in zip(*weights, strict=True))
    assert mean.get_layer("classifier_hidden").units == 4


def test_positions_reach_as_far_as_texts_are_read():
    chosen = options.Options(encoder="positions", pooling="mean", max_length=600, **SMALL)
    model = networks.build(chosen, {"vocabulary_size": 9}, 3, None, "mean")
    assert model.predict(np.ones((1, 600), "int32"), verbose=0).shape == (1, 3)


def test_the_page_has_every_encoder_and_pooling():
    page = Path(__file__).parents[3] / "docs" / "guides" / "command-line.md"
    listed = set(re.findall(r"`([\w-]+)`", page.read_text(encoding="utf-8")))
    assert {*networks.ENCODERS, *networks.POOLINGS} <= listed


def test_names_are_those_of_the_builders():
    assert options.DATASETS == datasets.available()
    assert options.ENCODER in networks.ENCODERS
    assert {*options.COMPARED, *options.BEST_BEHIND.values()} <= set(networks.POOLINGS)


def test_the_pooling_behind_an_encoder_is_the_best_of_the_comparison():
    """By mean rank over the real sets of single texts, each row tuned alike."""
    lines = verdict.read(RESULTS / "arena")
    rows = [row for row in grid.MECHANISMS if any(line["row"] == row for line in lines)]
    for encoder, pooling in options.BEST_BEHIND.items():
        real = [
            block
            for (task, behind), block in verdict.Comparison(
                lines, rows, (), grid.kind_of
            ).counted.items()
            if behind == encoder and task in options.DATASETS and grid.kind_of(task) != grid.PAIRS
        ]
        assert len(real) >= 7
        accuracy = {row: np.array([verdict.mean(each[row]) for each in real]) for row in rows}
        first = next(iter(verdict.ranks(accuracy)))
        found, given = grid.arguments(first, 0, encoder)
        layer, usual = networks.POOLINGS[pooling]
        assert found.__name__ == layer and given.get("per_feature") == usual.get("per_feature")


def test_what_minilm_is_worth_is_what_the_runs_say():
    runs = json.loads((RESULTS / "command_line" / "own_files.json").read_text("utf-8"))["runs"]
    gains = []
    for name in [each.removesuffix("-gru") for each in runs if each.endswith("-gru")]:
        words, minilm = (
            next(iter(runs[f"{name}-{each}"]["results"].values()))["accuracy"]
            for each in ("gru", "minilm")
        )
        gains.append(100 * (minilm - words))
    assert (round(min(gains), 1), round(max(gains), 1), len(gains)) == options.WORTH


def test_texts_of_the_user_are_read_by_minilm_where_it_is(monkeypatch):
    installed = set(options.NEEDED)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name in installed or None)
    given = {"file": "x.tsv"}
    assert "--encoder gru" in options.choose_encoder(given) and given["encoder"] == "minilm"
    assert options.Options(**given).name == "minilm + multi_dim"
    # Nothing is chosen for who says what reads the texts, nor for generated reviews.
    for asked in ({"encoder": "cnn"}, {"units": 9}, {"embeddings": "x.txt"}):
        given = {"file": "x.tsv", **asked}
        assert options.choose_encoder(given) is None and given == {"file": "x.tsv", **asked}
    assert options.choose_encoder({}) is None
    for name, command in options.NEEDED.items():
        installed = set(options.NEEDED) - {name}
        given = {"dataset": "r8"}
        told = options.choose_encoder(given)
        assert f"not installed: {command}." in told and "points of accuracy" in told
        assert options.Options(**given).name == "gru + generalized_scalar"
