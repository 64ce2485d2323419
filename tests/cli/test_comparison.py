"""The figures of a run and what its last line makes of them."""

import numpy as np
import pytest

from keras_attnpool import datasets
from keras_attnpool.cli import comparison, networks, options, train
from keras_attnpool.datasets import LabeledTexts
from keras_attnpool.layers import BidirectionalGRU, MaskedAveragePooling1D

pytestmark = pytest.mark.every_backend


def test_scores_by_hand():
    data = LabeledTexts(tuple("abcd"), np.array([0, 0, 1, 1]), ("x", "y", "z"))
    scores = comparison.scores(data, np.array([0, 1, 1, 1]))
    # x: 1 hit of 1 predicted and 2 true; y: 2 of 3 and 2; z is nowhere.
    assert scores["accuracy"] == 0.75
    assert scores["f1"] == pytest.approx({"x": 2 / 3, "y": 4 / 5})
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2)


def test_sign_test():
    assert comparison.sign_test(0, 0) == comparison.sign_test(3, 3) == 1
    assert comparison.sign_test(5, 0) == pytest.approx(2 / 32)
    assert comparison.sign_test(2, 8) == comparison.sign_test(8, 2)
    assert comparison.sign_test(2, 8) == pytest.approx(112 / 1024)
    assert 0 < comparison.sign_test(1000, 800) < 1e-5
    assert comparison.sign_test(100_000, 100_001) == pytest.approx(1)


def compared(better, worse, size=100):
    labels = np.zeros(size, int)
    own, other = np.zeros(size, int), np.zeros(size, int)
    other[:better] = 1
    own[better : better + worse] = 1
    return comparison.sentence(labels, {"lama": own, "mean pooling": other})


def test_sentence():
    assert compared(12, 10) == (
        "lama alone is right on 12 of 100 test texts, mean pooling behind the same encoder alone "
        "on 10. Such a difference can be chance: here the mean is as good."
    )
    assert compared(30, 5).endswith("Here lama is better.")
    assert compared(5, 30).endswith("Here the mean is better.")
    assert compared(0, 0).endswith("the mean is as good.")


@pytest.mark.parametrize("name", ["lama", "san", "bigru"])
def test_the_mean_stands_behind_the_same_encoder(name):
    chosen = options.Options(model=name, embedding_dim=3, hidden_units=4, dropout=0)
    assert networks.baseline_of(name) == "mean pooling"
    model, mean = (
        networks.build(each, chosen, 9, 3, None) for each in (name, networks.baseline_of(name))
    )
    assert isinstance(mean.get_layer("encoder"), BidirectionalGRU)
    assert isinstance(mean.get_layer("pooling"), MaskedAveragePooling1D)
    # The same sizes, and the same first weights.
    for layer in ("embedding", "encoder"):
        weights = [each.get_layer(layer).get_weights() for each in (model, mean)]
        assert all(np.array_equal(*pair) for pair in zip(*weights, strict=True))
    assert mean.get_layer("classifier_hidden").units == 4


def test_models_without_an_encoder_have_the_mean_of_embeddings():
    names = {name: networks.baseline_of(name) for name in options.MODELS}
    assert names["lama-encoder"] == "mean pooling" and names["average"] is None
    assert names["text-cnn"] == names["transformer"] == "mean of embeddings"
    for name in ("lama-encoder", "text-cnn", "transformer"):
        mean = networks.build(names[name], options.Options(model=name, embedding_dim=3), 9, 3, None)
        layers = [layer.name for layer in mean.layers]
        assert "pooling" in layers and not any(name.startswith("encoder") for name in layers)


def test_names_are_those_of_the_builders():
    assert tuple(networks.MODELS) == options.MODELS
    assert ("none", *networks.PENALTIES) == options.PENALTIES
    assert options.DATASETS == datasets.available()
    assert set(train.LEARNING_RATES) <= set(options.MODELS)
