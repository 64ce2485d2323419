"""The weights that are shown are those the output was made of, whatever the model."""

import keras
import numpy as np
import pytest
from backend_functions import numpy
from catalogue import CASES
from refusals import refused

from keras_attnpool import analysis, layers, models

pytestmark = pytest.mark.every_backend

IDS = np.array([[3, 4, 5, 0], [1, 0, 2, 0], [0, 0, 0, 0]], "int32")


def lama():
    return models.LAMAEncoder(20, 3, num_heads=3, embedding_dim=6)


def nested():
    """An encoder with attention inside a Sequential model, which an outer model calls twice."""
    x = keras.Input((None, 6))
    encoder = keras.Model(x, layers.AttentionPooling(4, name="att")(x), name="encoder")
    inner = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(20, 6, mask_zero=True),
            encoder,
        ],
        name="inner",
    )
    left = keras.Input((None,), dtype="int32", name="left")
    right = keras.Input((None,), dtype="int32", name="right")
    both = keras.layers.concatenate([inner(left), inner(right)])
    return inner, keras.Model({"left": left, "right": right}, keras.layers.Dense(2)(both))


def by_hand(model, ids):
    """The states that go into the pooling layer, and what it makes of them."""
    states, mask = model.get_layer("embedding")(ids), keras.ops.convert_to_tensor(ids != 0)
    context = model.get_layer("context")(states, mask=mask)
    pooling = model.get_layer("pooling")
    output, scores = pooling(states, context=context, mask=mask, return_attention_scores=True)
    return numpy(states), numpy(output), numpy(scores)


def test_scores_are_those_of_the_output():
    model = lama()
    scores, predictions = analysis.attention_scores(model, IDS, return_predictions=True)
    assert isinstance(scores, np.ndarray) and scores.dtype == np.float32
    states, output, expected = by_hand(model, IDS)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    # The model's mask was at work: nothing on padding, holes and empty texts.
    np.testing.assert_array_equal(scores == 0, np.broadcast_to(IDS[:, None] == 0, scores.shape))
    np.testing.assert_allclose(scores.sum(-1), [[1] * 3, [1] * 3, [0] * 3], atol=1e-6)
    pooled = np.einsum("bht,btd->bhd", scores, states).reshape(3, -1)
    np.testing.assert_allclose(pooled, output, atol=1e-5)
    np.testing.assert_allclose(predictions, model.predict(IDS, verbose=0), atol=1e-6)


def test_the_model_stays_as_it_is(tmp_path):
    model = lama()
    model.get_layer("embedding").trainable = False
    model.compile("sgd", "sparse_categorical_crossentropy")
    weights, optimizer, layout = model.get_weights(), model.optimizer, model.to_json()
    flags = [v.trainable for v in model.variables]
    before = model.predict(IDS, verbose=0)
    for _ in range(2):
        analysis.attention_scores(model, IDS)
    for old, new in zip(weights, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    assert model.optimizer is optimizer and [v.trainable for v in model.variables] == flags
    assert model.to_json() == layout
    model.train_on_batch(IDS, np.array([0, 1, 2]))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert not np.allclose(model.predict(IDS, verbose=0), before)
    np.testing.assert_allclose(
        loaded.predict(IDS, verbose=0), model.predict(IDS, verbose=0), atol=1e-6
    )


def test_the_attention_model_shares_the_weights_and_follows_training():
    model = lama()
    shown = analysis.attention_model(model, "pooling")
    assert {id(v) for v in shown.variables} == {id(v) for v in model.variables}
    first = shown.predict(IDS, verbose=0)[1]["pooling"][0]
    kernel = model.get_layer("pooling").token_kernel
    kernel.assign(-3 * numpy(kernel.value))
    second = shown.predict(IDS, verbose=0)[1]["pooling"][0]
    np.testing.assert_allclose(second, by_hand(model, IDS)[2], atol=1e-6)
    assert np.abs(first - second).max() > 1e-3


def test_nested_and_shared_layers():
    inner, outer = nested()
    alone = analysis.attention_scores(inner, IDS)
    assert alone.shape == (3, 4)
    np.testing.assert_array_equal(alone[1] == 0, [False, True, False, True])
    other = IDS[:, ::-1].copy()
    data = {"left": IDS, "right": other}
    for layer in (None, "att", "inner/encoder/att", inner.layers[-1].get_layer("att")):
        left, right = analysis.attention_scores(outer, data, layer)
        np.testing.assert_allclose(left, alone, atol=1e-6)
        np.testing.assert_allclose(right, analysis.attention_scores(inner, other), atol=1e-6)


def test_keras_own_attention_and_several_layers():
    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(20, 6, mask_zero=True)(tokens)
    x, _ = keras.layers.MultiHeadAttention(2, 3, name="self")(x, x, return_attention_scores=True)
    x = layers.StructuredSelfAttentionPooling(3, 4, dropout=0.5, name="pooling")(x)
    model = keras.Model(tokens, x)
    scores = analysis.attention_scores(model, IDS, batch_size=2)
    assert {name: each.shape for name, each in scores.items()} == {
        "self": (3, 2, 4, 4),
        "pooling": (3, 3, 4),
    }
    full = scores["self"][0][:, :3]
    np.testing.assert_allclose(full.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(full[..., 3], 0, atol=1e-6)
    again = analysis.attention_scores(model, IDS, "pooling")
    np.testing.assert_allclose(again, scores["pooling"], atol=1e-6)  # no dropout


def test_half_precision_comes_out_as_float32():
    x = keras.Input((4, 6))
    model = keras.Model(x, layers.AttentionPooling(dtype="bfloat16")(x))
    scores = analysis.attention_scores(model, np.ones((2, 4, 6), "float32"))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, 0.25, atol=1e-2)


class TestErrors:
    @pytest.mark.parametrize(
        "layer", ["nowhere", "embedding", keras.layers.Dense(1, name="foreign")]
    )
    def test_layer(self, layer):
        with refused("layer", "attention_scores", "pooling", getattr(layer, "name", layer)):
            analysis.attention_scores(lama(), IDS, layer)

    def test_model_without_attention(self):
        model = models.AverageEmbedding(20, 2, embedding_dim=4)
        with refused("model", "attention_scores", "return_attention_scores"):
            analysis.attention_scores(model, IDS)

    def test_model_that_has_not_been_built(self):
        with refused("model", "attention_model", "call it once"):
            analysis.attention_model(keras.Sequential([keras.layers.Dense(1)]))

    def test_no_model(self):
        with refused("model", None, "a keras.Model"):
            analysis.attention_scores("lama", IDS)

    def test_inputs(self):
        with refused("inputs", "attention_scores", "(0, 4)"):
            analysis.attention_scores(lama(), IDS[:0])
        with refused("batch_size", "attention_scores"):
            analysis.attention_scores(lama(), IDS, batch_size=0)

    def test_ambiguous_name(self):
        parts = []
        tokens = keras.Input((None, 4))
        for name in "ab":
            x = keras.Input((None, 4))
            part = keras.Model(x, layers.AttentionPooling(name="att")(x), name=name)
            parts.append(part(tokens))
        model = keras.Model(tokens, keras.layers.add(parts))
        with refused("layer", "attention_scores", "['a/att', 'b/att']"):
            analysis.attention_scores(model, np.ones((1, 2, 4)), "att")
        assert analysis.attention_scores(model, np.ones((1, 2, 4)), "b/att").shape == (1, 2)


def test_a_graph_may_have_a_cast_of_its_own():
    """Names start anew in a process that loads a model: what is added must not take one twice."""
    inputs = keras.Input((4,), dtype="int32")
    embedded = keras.layers.Embedding(9, 6)(inputs)
    kept = keras.ops.cast(inputs, "bool")
    model = keras.Model(inputs, layers.AttentionPooling(name="pooling")(embedded, mask=kept))
    keras.utils.clear_session()
    scores = analysis.attention_scores(model, np.array([[3, 1, 0, 0]]), "pooling")
    np.testing.assert_allclose(scores.sum(), 1, atol=1e-5)
    np.testing.assert_array_equal(scores[0, 2:], 0)


@pytest.mark.parametrize("name", ["blocks", "fusion", "BiBloSAN"])
def test_layers_that_cannot_be_traced_with_an_unknown_length(name):
    """`fusion` has `2 * x` in its graph, a sparse tensor to Keras."""
    model = CASES[name].model()
    predictions, scores = analysis.attention_model(model).output
    assert predictions.shape == model.output_shape
    (calls,) = list(scores.values())[:1]
    assert all(x.dtype == "float32" for x in keras.tree.flatten(calls))


def test_scores_of_a_layer_called_twice_stand_in_the_order_of_its_calls():
    """Whatever the outputs read first; of a layer inside a shared encoder too."""
    _, model = nested()
    inner, pooling = model.get_layer("inner"), layers.AttentionPooling(4, name="own")
    ids = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    words = keras.layers.Embedding(20, 6, mask_zero=True)
    encoded, pooled = [], []
    for each in ids:
        encoded.append(inner(each))
        pooled.append(pooling(words(each)))
    swapped = keras.layers.concatenate([encoded[1], encoded[0], pooled[1], pooled[0]])
    model = keras.Model(list(ids), keras.layers.Dense(2)(swapped))
    given = [IDS, np.array([[7, 8], [9, 1], [2, 2]], "int32")]
    for layer in ("own", "inner/encoder/att"):
        scores = analysis.attention_scores(model, given, layer)
        assert [each.shape for each in scores] == [(3, 4), (3, 2)]
