"""Gradient x input against the backend's own gradient, integrated gradients by their sum."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy
from keras import ops
from refusals import refused

from keras_attnpool import analysis, layers, models, regularizers

pytestmark = pytest.mark.every_backend

IDS = np.array([[3, 4, 5, 0], [1, 0, 2, 0], [7, 8, 9, 9], [0, 0, 0, 0], [6, 0, 0, 0]], "int32")


def classifier(activation="softmax", classes=3, penalty=0.5):
    """A model with dropout, penalties and batch statistics, and its part behind the embedding."""
    tail = [
        layers.StructuredSelfAttentionPooling(
            2,
            4,
            dropout=0.5,
            attention_regularizer=regularizers.AttentionOrthogonality(penalty),
            name="pooling",
        ),
        keras.layers.BatchNormalization(),
        keras.layers.Dropout(0.5),
        keras.layers.Dense(classes, activation=activation),
    ]
    tokens = keras.Input((None,), dtype="int32")
    embedding = keras.layers.Embedding(
        10, 6, mask_zero=True, embeddings_initializer=keras.initializers.RandomNormal(stddev=1.0)
    )
    x = embedding(tokens)
    for layer in tail:
        x = layer(x)
    vectors, mask = keras.Input((None, 6)), keras.Input((None,), dtype="bool")
    y = tail[0](vectors, mask=mask)
    for layer in tail[1:]:
        y = layer(y)
    return keras.Model(tokens, x), embedding, keras.Model([vectors, mask], y)


def by_backend(embedding, tail, chosen, log_probabilities):
    """Sum over features of embedding x its gradient, by the backend."""
    vectors = numpy(embedding(IDS))
    picks = ops.convert_to_tensor(np.eye(3, dtype="float32")[chosen])

    def loss(x):
        mask = ops.convert_to_tensor(IDS != 0)
        return ops.sum(log_probabilities(tail([x, mask], training=False)) * picks)

    return (gradients(tail, vectors, loss)[0] * vectors).sum(-1)


def test_it_is_the_gradient_of_the_backend():
    model, embedding, tail = classifier()
    expected = by_backend(embedding, tail, model.predict(IDS, verbose=0).argmax(1), ops.log)
    assert np.abs(expected).max() > 1e-2
    found = analysis.gradient_saliency(model, IDS, batch_size=2)  # the last batch is filled up
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert not found[IDS == 0].any()


def test_classes_without_any_probability_are_no_nan():
    model, *_ = classifier()
    kernel, bias = model.layers[-1].get_weights()
    model.layers[-1].set_weights([kernel, bias + np.array([300.0, 0.0, 0.0])])
    assert (model.predict(IDS, verbose=0)[:, 1:] == 0).all()
    assert np.isfinite(analysis.gradient_saliency(model, IDS)).all()


def test_given_classes_and_logits():
    model, embedding, tail = classifier(activation=None)
    classes = np.array([2, 0, 1, 0, 2])
    found = analysis.gradient_saliency(model, IDS, classes, from_logits=True)
    expected = by_backend(embedding, tail, classes, ops.log_softmax)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(("activation", "from_logits"), [("sigmoid", False), (None, True)])
def test_one_output_is_two_classes(activation, from_logits):
    # p = sigmoid(w e): d log p / de * e = (1 - p) w e, and -p w e for the other class.
    tokens = keras.Input((1,), dtype="int32")
    x = keras.layers.Embedding(3, 1, embeddings_initializer="ones")(tokens)
    x = keras.layers.Dense(1, activation, use_bias=False, kernel_initializer="ones")(
        keras.layers.Flatten()(x)
    )
    model = keras.Model(tokens, x)
    found = analysis.gradient_saliency(model, [[1], [2]], np.array([1, 0]), from_logits=from_logits)
    p = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(found, [[1 - p], [-p]], rtol=1e-5)
    predicted = analysis.gradient_saliency(model, [[1]], from_logits=from_logits)
    np.testing.assert_allclose(predicted, [[1 - p]], rtol=1e-5)


def test_the_model_comes_out_unchanged():
    model, embedding, _ = classifier()
    embedding.trainable = False
    model.compile(keras.optimizers.Adam(), "sparse_categorical_crossentropy")
    model.train_on_batch(IDS, np.zeros(5))
    state = [numpy(v) for v in [*model.variables, *model.optimizer.variables]]
    flags = [v.trainable for v in model.variables]
    optimizer, layout = model.optimizer, model.to_json()
    analysis.gradient_saliency(model, IDS, batch_size=2)
    for old, new in zip(state, [*model.variables, *model.optimizer.variables], strict=True):
        np.testing.assert_array_equal(old, numpy(new))
    assert [v.trainable for v in model.variables] == flags
    assert model.optimizer is optimizer and model.to_json() == layout
    assert all(getattr(v.value, "grad", None) is None for v in embedding.variables)
    model.train_on_batch(IDS, np.zeros(5))


def test_a_nested_embedding():
    inner, _, _ = classifier()
    tokens = keras.Input((None,), dtype="int32")
    model = keras.Sequential([tokens, inner])
    expected = analysis.gradient_saliency(inner, IDS)
    np.testing.assert_allclose(analysis.gradient_saliency(model, IDS), expected, atol=1e-6)
    # Its path; and its name alone, as `attention_scores` takes it.
    for name in (f"{inner.name}/{inner.layers[1].name}", inner.layers[1].name):
        found = analysis.gradient_saliency(model, IDS, layer=name)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_model_with_a_second_path_from_the_embeddings():
    model = models.LAMAEncoder(10, 3, num_heads=2, embedding_dim=4)
    matrix = np.random.default_rng(0).normal(size=(10, 4)).astype("float32")
    model.get_layer("embedding").set_weights([matrix])
    found = analysis.gradient_saliency(model, IDS, np.array([0, 1, 2, 0, 0]))

    def loss(x):
        predictions = model(keras.ops.convert_to_tensor(IDS), training=False)
        return ops.log(predictions[0, 0]) + ops.log(predictions[2, 2]) + 0 * ops.sum(x)

    on_matrix = gradients(model, np.zeros(1, "float32"), loss)[1]["embedding/embeddings"]
    # The gradient with respect to a word's vector is the sum over its places; the rows with a term
    # in the loss share no word.
    by_word = (on_matrix * matrix).sum(1)
    expected = [found[0, 0], found[0, 1], found[0, 2], found[2, 0], found[2, 1], found[2, 2:].sum()]
    np.testing.assert_allclose(by_word[[3, 4, 5, 7, 8, 9]], expected, atol=1e-5)
    assert np.abs(expected).min() > 1e-4


class TestErrors:
    def test_ids(self):
        model = classifier()[0]
        for ids in (np.ones((2, 3)), np.ones(3, int), np.ones((0, 3), int)):
            with refused("inputs", "gradient_saliency"):
                analysis.gradient_saliency(model, ids)

    @pytest.mark.parametrize("classes", [[0], [0] * 4 + [3], [0.0] * 5])
    def test_classes(self, classes):
        with refused("classes"):
            analysis.gradient_saliency(classifier()[0], IDS, classes)

    def test_layer(self):
        with refused("layer", None, "nowhere"):
            analysis.gradient_saliency(classifier()[0], IDS, layer="nowhere")
        with refused("layer", None, "'pooling' with output"):
            analysis.gradient_saliency(classifier()[0], IDS, layer="pooling")
        x = keras.Input((4,))
        with refused("layer", None, "exactly one"):
            analysis.gradient_saliency(keras.Model(x, keras.layers.Dense(2)(x)), IDS)

    def test_logits_taken_for_probabilities(self):
        with refused("model", None, "from_logits=True"):
            analysis.gradient_saliency(classifier(activation=None)[0], IDS)


class TestIntegratedGradients:
    def test_they_add_up_to_what_the_embeddings_change(self):
        model, embedding, tail = classifier(activation=None)
        classes = np.array([2, 0, 1, 0, 2])
        found = analysis.integrated_gradients(
            model, IDS, classes, steps=30, from_logits=True, batch_size=2
        )
        mask = ops.convert_to_tensor(IDS != 0)
        vectors = ops.convert_to_tensor(numpy(embedding(IDS)))
        ends = [
            numpy(ops.log_softmax(tail([x, mask], training=False)))[np.arange(5), classes]
            for x in (vectors, ops.zeros_like(vectors))
        ]
        np.testing.assert_allclose(found.sum(1), ends[0] - ends[1], atol=1e-4)
        assert found.dtype == np.float32 and not found[IDS == 0].any()
        assert np.abs(found.sum(1)).max() > 0.05
        # One step in the middle is not the integral, and no gradient x input.
        coarse = analysis.integrated_gradients(model, IDS, classes, steps=1, from_logits=True)
        assert np.abs(coarse - found).max() > 1e-3
        with refused("steps", "integrated_gradients"):
            analysis.integrated_gradients(model, IDS, steps=0)

    def test_by_hand(self):
        # log p of one sigmoid is no linear function: integrate (1 - sigmoid(a)) over a.
        tokens = keras.Input((1,), dtype="int32")
        x = keras.layers.Embedding(3, 1, embeddings_initializer="ones")(tokens)
        dense = keras.layers.Dense(1, "sigmoid", use_bias=False, kernel_initializer="ones")
        model = keras.Model(tokens, dense(keras.layers.Flatten()(x)))
        found = analysis.integrated_gradients(model, [[1]], np.array([1]))
        expected = np.log(1 / (1 + np.exp(-1))) - np.log(0.5)
        np.testing.assert_allclose(found, [[expected]], rtol=1e-5)
