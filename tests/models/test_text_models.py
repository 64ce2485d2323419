"""What every text model promises, and what each is made of."""

import keras
import numpy as np
import pytest
from backend_functions import everywhere, numpy, predict, trained_and_read_again

from keras_attnpool import models, regularizers

pytestmark = pytest.mark.every_backend

VOCABULARY, CLASSES = 30, 3
SMALL = {"embedding_dim": 8, "hidden_units": 6}
GRU = {**SMALL, "gru_units": 4}
LSTM = {**SMALL, "lstm_units": 3, "hidden_dim": 4, "num_heads": 2}

# Every row of the papers' tables so far is one call.
ROWS = {
    "LAMA+ctx": (models.LAMA, {**GRU, "num_heads": 3}),
    "LAMA": (models.LAMA, {**GRU, "num_heads": 3, "context": "learned"}),
    "LAMA, mean of states": (models.LAMA, {**GRU, "num_heads": 3, "context": "mean"}),
    "LAMA+ctx+d_p": (
        models.LAMA,
        {**GRU, "attention_regularizer": regularizers.AttentionOrthogonality(0.2)},
    ),
    "LAMA+ctx+d_e": (
        models.LAMA,
        {**GRU, "vector_regularizer": regularizers.CosineDisagreement(0.2)},
    ),
    "LAMA, rank 2, scaled": (models.LAMA, {**GRU, "rank": 2, "learn_scale": True}),
    "LAMA, linear": (models.LAMA, {**GRU, "hidden_units": None}),
    "LAMA Encoder": (models.LAMAEncoder, {**SMALL, "num_heads": 3}),
    "SAN": (models.SAN, {**GRU, "num_heads": 3, "hidden_dim": 5}),
    "BiGRU": (models.BiGRU, GRU),
    "BiGRU, mean": (models.BiGRU, {**GRU, "pooling": "mean"}),
    "BiGRU, last": (models.BiGRU, {**GRU, "pooling": "last"}),
    "CNN": (models.TextCNN, {"embedding_dim": 8, "filters": 4}),
    "TE": (
        models.TransformerEncoderClassifier,
        {**SMALL, "num_heads": 2, "feedforward_dim": 16, "max_length": 20},
    ),
    "AVG": (models.AverageEmbedding, SMALL),
    "BiLSTM": (models.BiLSTM, LSTM),
    "BiLSTM, mean": (models.BiLSTM, {**LSTM, "pooling": "mean"}),
    "BiLSTM, last": (models.BiLSTM, {**LSTM, "pooling": "last"}),
    "BiLSTM, self-attention": (
        models.BiLSTM,
        {
            **LSTM,
            "pooling": "self_attention",
            "attention_regularizer": regularizers.AttentionOrthogonality(0.1),
        },
    ),
    "BiLSTM, multi-dimensional": (models.BiLSTM, {**LSTM, "pooling": "multi_dim"}),
    "MPSAN": (models.MPSAN, SMALL),
    "MPSAN, gates": (models.MPSAN, {**SMALL, "positions": (("earlier",),), "fusion": "gate"}),
    "DiSAN": (models.DiSAN, {**SMALL, "units": 5}),
    "Bi-BloSAN": (models.BiBloSAN, {**SMALL, "units": 5}),
    "RBA": (models.AttentionBiLSTM, {**SMALL, "lstm_units": 3}),
    "multi-head": (models.MultiHeadSAN, {**SMALL, "num_heads": 2, "key_dim": 3}),
    "Generalized pooling": (models.GeneralizedPoolingClassifier, LSTM),
    "Generalized pooling, scalar, two layers": (
        models.GeneralizedPoolingClassifier,
        {**LSTM, "per_feature": False, "num_layers": 2, "shortcut": "per_direction"},
    ),
    "Generalized pooling, all penalties": (
        models.GeneralizedPoolingClassifier,
        {
            **LSTM,
            "kernel_regularizer": regularizers.HeadDistance(0.1, threshold=100.0),
            "attention_regularizer": regularizers.HeadDistance(0.1),
            "vector_regularizer": regularizers.HeadDistance(0.1),
        },
    ),
}


BUILDERS = [function for function, _ in ROWS.values()]
LATER = {row for i, row in enumerate(ROWS) if BUILDERS[i] in BUILDERS[:i]}


def build(row, **kwargs):
    function, arguments = ROWS[row]
    return function(VOCABULARY, CLASSES, **{**arguments, **kwargs})


def ids():
    """A full row, a padded one, one token, and an empty text."""
    return np.array([[5, 8, 2, 9, 4], [1, 2, 3, 0, 0], [7, 0, 0, 0, 0], [0, 0, 0, 0, 0]], "int32")


# The layers hold every promise under every backend; of each builder one row joins them there.
once = pytest.mark.one_backend("an earlier row of the same builder runs everywhere")


@pytest.fixture(
    params=[pytest.param(row, marks=once if row in LATER else ()) for row in ROWS], scope="module"
)
def row(request):
    return request.param


class TestEveryRow:
    @pytest.mark.torch_first(
        "every layer has its contract; each builder trains, is saved and read everywhere"
    )
    def test_padding_changes_nothing_and_an_empty_text_is_welcome(self, row):
        model = build(row)
        tokens = ids()
        scores = predict(model, tokens)
        assert scores.shape == (4, CLASSES) and np.isfinite(scores).all()
        np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-5)
        longer = np.pad(tokens, ((0, 0), (0, 6)))
        np.testing.assert_allclose(predict(model, longer), scores, atol=1e-6)
        np.testing.assert_allclose(predict(model, tokens[2:3, :1]), scores[2:3], atol=1e-6)

    def test_it_trains_saves_and_reloads(self, row, tmp_path):
        model = build(row)
        before = [numpy(w) for w in model.trainable_weights]
        trained_and_read_again(model, ids(), np.array([0, 1, 2, 0]), tmp_path)
        after = [numpy(w) for w in model.trainable_weights]
        assert all(np.isfinite(w).all() for w in after)
        moved = [np.abs(a - b).max() > 0 for a, b in zip(before, after, strict=True)]
        assert np.mean(moved) > 0.8

    @pytest.mark.torch_first(
        "every layer has its contract; each builder trains, is saved and read everywhere"
    )
    def test_pre_trained_embeddings_are_set_and_can_be_frozen(self, row):
        matrix = np.random.default_rng(0).normal(size=(VOCABULARY, 4)).astype("float32")
        model = build(row, embeddings=matrix, trainable_embeddings=False)
        layer = model.get_layer("embedding")
        np.testing.assert_array_equal(numpy(layer.embeddings), matrix)
        assert not layer.trainable_weights
        assert len(str(model.get_config())) < 40_000, "the matrix may not sit in the config"

    @pytest.mark.one_backend("refused before anything is computed")
    def test_a_matrix_of_another_vocabulary_is_an_error(self, row):
        with pytest.raises(ValueError, match=r"\(30, dim\).*\(29, 4\)"):
            build(row, embeddings=np.zeros((29, 4)))

    @pytest.mark.torch_first(
        "every layer has its contract; each builder trains, is saved and read everywhere"
    )
    def test_logits_on_request_and_a_name(self, row):
        model = build(row, classifier_activation=None, name="the_name")
        assert model.name == "the_name"
        scores = numpy(model(ids()))
        assert np.abs(scores.sum(axis=1) - 1).max() > 1e-3


# Not the Transformer in float16: jax's own attention has no float16 gradient on a CPU ("the
# precision 'F16_F16_F32' is not supported by dot_general on CPU").
@pytest.mark.parametrize(
    ("name", "policy"),
    everywhere(
        [
            *((name, "mixed_float16") for name in ("LAMA+ctx", "SAN", "CNN", "AVG")),
            *((name, "mixed_float16") for name in ("MPSAN", "DiSAN", "Bi-BloSAN")),
            *((name, "mixed_bfloat16") for name in ("LAMA+ctx", "TE")),
        ],
        ("LAMA+ctx", "mixed_float16"),
        ("TE", "mixed_bfloat16"),
        reason="each layer has its contract in half precision",
    ),
)
def test_mixed_precision_trains(name, policy):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        model = build(name)
        model.compile("adam", "sparse_categorical_crossentropy")
        assert np.isfinite(model.train_on_batch(ids(), np.array([0, 1, 2, 0])))
        scores = model(ids())
        assert keras.backend.standardize_dtype(scores.dtype) == "float32"
        assert np.isfinite(numpy(scores)).all()
    finally:
        keras.config.set_dtype_policy(before)


class TestLAMA:
    @pytest.mark.one_backend("counts parameters")
    def test_parameters_with_the_papers_sizes(self):
        """Embeddings V d, BiGRU, P and Q, W and b, MLP (512), classes; GRU with two biases."""
        model = models.LAMA(1000, 8, num_heads=10)
        d = 100
        gru = 2 * 3 * (d * 50 + 50 * 50 + 2 * 50)
        pooling = 2 * d * 10 + d * d + d
        head = 10 * d * 512 + 512 + 512 * 8 + 8
        assert model.count_params() == 1000 * d + gru + pooling + head

    @pytest.mark.one_backend("counts parameters")
    def test_two_more_heads_cost_2_d_each_at_d_512(self):
        """Table 5: BiGRU of 512 dimensions; the classifier does not see the heads there."""
        counts = []
        for heads in (2, 4):
            model = models.LAMA(50, 2, num_heads=heads, embedding_dim=512, gru_units=256)
            counts.append(model.get_layer("pooling").count_params())
        assert counts[1] - counts[0] == 2 * 1024

    def test_penalties_are_in_the_loss(self):
        plain, penalised = build("LAMA+ctx"), build("LAMA+ctx+d_p", num_heads=3)
        penalised.set_weights(plain.get_weights())
        losses = []
        for model in (plain, penalised):
            model.compile(keras.optimizers.SGD(0.0), "sparse_categorical_crossentropy")
            # Dropout off, so that the models differ by the penalty alone.
            losses.append(model.test_on_batch(ids(), np.array([0, 1, 2, 0])))
        assert losses[1] > losses[0] + 0.01


def dropout():
    return keras.layers.Dropout(0.1)


def of_keras():
    return keras.layers.Bidirectional(keras.layers.GRU(2, return_sequences=True))


TANH = {"class_name": "Activation", "config": {"activation": "tanh"}}
SUMMED = {"class_name": "gru", "config": {"merge_mode": "sum"}}


class TestTextClassifier:
    @pytest.mark.one_backend("looks at the layers that are made")
    @pytest.mark.parametrize(
        ("stages", "both"),
        [
            (["gru"], True),
            (["gru", dropout], True),
            (["stacked_lstm", "LayerNormalization", "positions", "none"], True),
            (["cnn", of_keras, TANH], True),
            (["gru", {"class_name": "Dense", "config": {"units": 4}}], False),
            (["gru", "cnn", dropout], False),
            (["gru", SUMMED], False),
            ([dropout], False),
        ],
    )
    def test_last_is_the_final_state_of_both_directions(self, stages, both):
        """However it is named, as long as the features still are the states of both."""
        for pooling in ("last", {"class_name": "last", "config": {}}, "LastPooling1D"):
            encoder = [stage() if callable(stage) else stage for stage in stages]
            model = models.TextClassifier(9, 2, encoder=encoder, pooling=pooling)
            assert model.get_layer("pooling").bidirectional is both

    @pytest.mark.one_backend("looks at the layers that are made")
    @pytest.mark.parametrize("named", [True, False])
    def test_a_config_decides_what_last_is(self, named):
        config = {"class_name": "last", "config": {"bidirectional": named}}
        for encoder in ("gru", "none"):
            model = models.TextClassifier(9, 2, encoder=encoder, pooling=config)
            assert model.get_layer("pooling").bidirectional is named

    @pytest.mark.parametrize("kind", ["GRU", "LSTM"])
    def test_states_of_an_encoder_that_reads_backwards_stand_at_their_words(self, kind):
        """Keras leaves them in the order of reading, where right padding comes first."""
        config = {"units": 3, "return_sequences": True, "go_backwards": True}
        encoder = {"class_name": kind, "config": config}
        model = models.TextClassifier(VOCABULARY, 3, encoder=encoder, pooling="first", **SMALL)
        pooled = keras.Model(model.input, model.get_layer("pooling").output)
        vectors = predict(pooled, ids())
        # The final state of a backward reading is that at the first word.
        words = numpy(model.get_layer("embedding")(ids()))
        for row, length in enumerate((5, 3, 1)):
            final = numpy(model.get_layer("encoder")(words[row : row + 1, :length]))[0, -1]
            np.testing.assert_allclose(vectors[row], final, atol=1e-6)


def test_stacked_transformer_encoders_get_zeros_at_padding():
    """On OpenVINO the first of them has NaN there (docs/upstream/openvino-empty-query.md)."""
    model = models.TransformerEncoderClassifier(
        20, 2, embedding_dim=8, num_heads=2, feedforward_dim=8, max_length=9, num_layers=2
    )
    ids = np.array([[1, 2, 3, 0], [4, 0, 0, 0], [0, 0, 0, 0]])
    states = numpy(keras.Model(model.input, model.get_layer("encoder_1").input[0])(ids))
    np.testing.assert_array_equal(np.any(states, axis=-1), ids != 0)


class TestBaselines:
    @pytest.mark.one_backend("counts parameters")
    def test_transformer_parameters(self):
        """MHA 4 (d^2 + d), feed-forward 2048, two layer norms: 3,152,384, whatever the heads."""
        for heads in (2, 8, 64):
            model = models.TransformerEncoderClassifier(20, 2, num_heads=heads, max_length=10)
            assert model.get_layer("encoder_0").count_params() == 3_152_384
            assert model.get_layer("positions").count_params() == 10 * 512

    def test_a_text_longer_than_the_positions_is_an_error(self):
        with pytest.raises(Exception, match=r"\S"):
            build("TE")(np.ones((1, 21), "int32"))

    @pytest.mark.one_backend("counts parameters")
    @pytest.mark.parametrize(("dim", "count"), [(100, 120_300), (300, 360_300), (512, 614_700)])
    def test_cnn_parameters(self, dim, count):
        """(3 + 4 + 5) d 100 + 300."""
        model = models.TextCNN(10, 2, embedding_dim=dim)
        convolutions = sum(model.get_layer(f"conv_{k}").count_params() for k in (3, 4, 5))
        assert convolutions == count

    @pytest.mark.one_backend("refused before anything is computed")
    def test_bilstm_pooling_is_checked(self):
        with pytest.raises(ValueError, match="`attention_regularizer` of BiLSTM must be left out"):
            build("BiLSTM", attention_regularizer=regularizers.HeadDistance())
