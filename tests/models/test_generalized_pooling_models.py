"""The models of the generalized pooling paper beyond what every text model promises."""

import keras
import numpy as np
import pytest
from backend_functions import numpy, trained_and_read_again

from keras_attnpool import models, regularizers
from keras_attnpool.models._blocks import classifier

pytestmark = pytest.mark.every_backend

VOCABULARY = 30
SMALL = {
    "embedding_dim": 6,
    "lstm_units": 3,
    "num_layers": 2,
    "hidden_dim": 4,
    "num_heads": 2,
    "hidden_units": 5,
}
CHARACTERS = {"num_characters": 9, "char_dim": 3, "char_filters": 2}
once = pytest.mark.one_backend("a pooling layer in the place of another")
POOLINGS = ("generalized", "max", "mean", "last", "self_attention")


def pair_ids():
    """Pairs of different lengths, a padded sentence, and an empty one."""
    first = np.array([[5, 8, 2, 9], [1, 2, 0, 0], [7, 0, 0, 0]], "int32")
    second = np.array([[4, 8, 1], [1, 2, 3], [0, 0, 0]], "int32")
    return [first, second]


def spelt(ids):
    """Characters of every word: as many as its id modulo 4, plus one."""
    lengths = np.where(ids > 0, ids % 4 + 1, 0)
    positions = np.arange(5)
    letters = (ids[..., None] + positions) % 8 + 1
    return np.where(positions < lengths[..., None], letters, 0).astype("int32")


class TestPair:
    @pytest.mark.parametrize(
        "pooling", [POOLINGS[0], *(pytest.param(each, marks=once) for each in POOLINGS[1:])]
    )
    def test_every_row_trains_saves_and_reloads(self, pooling, tmp_path):
        model = models.GeneralizedPoolingPair(VOCABULARY, pooling=pooling, **SMALL)
        assert [i.name for i in model.inputs] == ["tokens_a", "tokens_b"]
        scores = numpy(model(pair_ids()))
        assert scores.shape == (3, 3)
        np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-5)
        trained_and_read_again(model, pair_ids(), np.array([0, 1, 2]), tmp_path)

    @pytest.mark.torch_first("every layer has its contract, and a row of the pair runs everywhere")
    def test_both_sentences_share_the_encoder(self):
        model = models.GeneralizedPoolingPair(VOCABULARY, **SMALL)
        encoder = model.get_layer("sentences").get_layer("sentence_encoder")
        same = pair_ids()[0]
        matched = keras.Model(model.inputs, model.get_layer("matching").output)([same, same])
        a, b, difference, product = np.split(numpy(matched), 4, axis=1)
        np.testing.assert_allclose(a, numpy(encoder(same)), atol=1e-6)
        np.testing.assert_allclose(b, a, atol=1e-6)
        np.testing.assert_allclose(difference, 0, atol=1e-6)
        np.testing.assert_allclose(product, a * a, atol=1e-6)

    def test_penalties_count_once_a_sentence(self):
        """With all weights 0 the heads coincide: each of the two sentences costs the threshold."""
        model = models.GeneralizedPoolingPair(
            VOCABULARY, vector_regularizer=regularizers.HeadDistance(0.5), **SMALL
        )
        model.set_weights([np.zeros_like(w) for w in model.get_weights()])
        model.compile(keras.optimizers.SGD(0.0), "sparse_categorical_crossentropy")
        loss = model.test_on_batch([np.ones((2, 3), "int32")] * 2, np.array([0, 1]))
        np.testing.assert_allclose(loss, np.log(3) + 2 * 0.5, rtol=1e-5)

    @pytest.mark.one_backend("refused before anything is computed")
    def test_options_without_use_are_errors(self):
        for option in (
            {"per_feature": False},
            {"attention_dropout": 0.1},
            {"kernel_regularizer": "l2"},
            {"vector_regularizer": "l2"},
            {"attention_regularizer": "l2"},
        ):
            received = ", ".join(f"{name}={value!r}" for name, value in option.items())
            with pytest.raises(ValueError, match=f"Received: pooling='max', {received}"):
                models.GeneralizedPoolingPair(VOCABULARY, pooling="max", **option, **SMALL)
        with pytest.raises(ValueError, match="'generalized', 'max'"):
            models.GeneralizedPoolingPair(VOCABULARY, pooling="first", **SMALL)

    @pytest.mark.one_backend("counts parameters")
    def test_parameters_of_the_papers_classifier(self):
        """A pair's 8 d I numbers, two layers of d with a shortcut, 3 classes: here d = 6, I = 2."""
        model = models.GeneralizedPoolingPair(VOCABULARY, **{**SMALL, "lstm_units": 6})
        names = ("classifier_hidden_0", "classifier_hidden", "classifier")
        wide, units = 8 * 6 * 2, 5
        assert [model.get_layer(name).count_params() for name in names] == [
            wide * units + units,
            (wide + units) * units + units,
            units * 3 + 3,
        ]


@pytest.mark.one_backend("counts parameters")
def test_the_snli_classifier_has_the_released_models_size():
    """d = 600 and I = 5 heads: 24,000 numbers a pair."""
    matched = keras.Input((8 * 600 * 5,))
    given = {"num_classes": 3, "hidden_units": 600, "dropout": 0.5, "name": "snli"}
    model = classifier(
        {**given, "classifier_activation": "softmax"}, matched, matched, shortcut=True
    )
    assert model.count_params() == 29_163_003


class TestCharacters:
    @pytest.mark.torch_first("every layer has its contract, and a row of the pair runs everywhere")
    @pytest.mark.parametrize("build", [models.GeneralizedPoolingClassifier, models.BiLSTM])
    def test_a_classifier_reads_words_and_their_characters(self, build, tmp_path):
        model = build(VOCABULARY, 3, **SMALL, **CHARACTERS)
        tokens = pair_ids()[0]
        inputs = [tokens, spelt(tokens)]
        assert [i.name for i in model.inputs] == ["tokens", "characters"]
        scores = numpy(model(inputs))
        # Longer words and longer texts are padding only; other characters are not.
        wider = [np.pad(inputs[0], ((0, 0), (0, 2))), np.pad(inputs[1], ((0, 0), (0, 2), (0, 3)))]
        np.testing.assert_allclose(numpy(model(wider)), scores, atol=1e-6)
        other = np.where(inputs[1] > 0, inputs[1] % 8 + 1, 0)
        assert np.abs(numpy(model([tokens, other])) - scores)[:2].max() > 1e-6
        trained_and_read_again(model, inputs, np.array([0, 1, 2]), tmp_path)

    @pytest.mark.torch_first("every layer has its contract, and a row of the pair runs everywhere")
    def test_a_pair_reads_words_and_their_characters(self):
        model = models.GeneralizedPoolingPair(VOCABULARY, **SMALL, **CHARACTERS)
        assert [i.name for i in model.inputs] == [
            "tokens_a",
            "tokens_b",
            "characters_a",
            "characters_b",
        ]
        a, b = pair_ids()
        scores = numpy(model([a, b, spelt(a), spelt(b)]))
        assert scores.shape == (3, 3) and np.isfinite(scores).all()
        assert np.abs(numpy(model([a, b, spelt(a), spelt(b) * 0])) - scores)[:2].max() > 1e-6
