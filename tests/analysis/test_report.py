"""The tests of attention on models whose answers are known; the page; the model afterwards."""

import keras
import numpy as np
import pytest
from backend_functions import numpy
from keras import ops
from refusals import refused

from keras_attnpool import analysis, layers
from keras_attnpool.analysis._guided import guided_accuracy
from keras_attnpool.analysis._randomizing import shuffled, weights_around
from keras_attnpool.analysis._reweighting import Reweighting
from keras_attnpool.analysis.attention_tests import AttentionTests

pytestmark = [
    pytest.mark.every_backend,
    pytest.mark.torch_first(
        "gradients and scores, which it prints, run everywhere in their own tests"
    ),
]

IDS = np.random.default_rng(0).integers(1, 9, (12, 6)) * (np.arange(6) < [[6], [4], [5]] * 4)


def model_of(pooling, seed=0):
    """A classifier with one pooling layer."""
    keras.utils.set_random_seed(seed)
    tokens = keras.Input((None,), dtype="int32")
    wide = keras.initializers.RandomNormal(stddev=1.0)
    x = keras.layers.Embedding(9, 4, mask_zero=True, embeddings_initializer=wide)(tokens)
    x = keras.layers.Dense(4, "tanh", kernel_initializer="orthogonal", name="encoder")(x)
    x = pooling(x)
    return keras.Model(tokens, keras.layers.Dense(2, "softmax")(x))


def sharp(seed=0):
    wide = keras.initializers.RandomNormal(stddev=3.0, seed=seed)
    return model_of(layers.AttentionPooling(name="pooling", kernel_initializer=wide), seed)


def states(model):
    """The vectors that the pooling reads, and what stands behind it."""
    inner = keras.Model(model.input, model.get_layer("encoder").output)
    kernel, bias = model.layers[-1].get_weights()
    return numpy(inner(IDS)), kernel, bias


POOLINGS = {
    "bt": lambda: layers.AttentionPooling(3, name="pooling"),
    "bht": lambda: layers.StructuredSelfAttentionPooling(2, 3, name="pooling"),
    "btd": lambda: layers.MultiDimAttentionPooling(name="pooling"),
    "bhtd": lambda: layers.GeneralizedPooling(2, 3, name="pooling"),
}


@pytest.mark.parametrize("layout", POOLINGS)
def test_given_weights_take_the_place_of_the_layers_own(layout):
    model = model_of(POOLINGS[layout]())
    swap = Reweighting(
        model, "pooling", layout, IDS, IDS != 0, batch_size=5
    )  # the last batch is filled up
    assert swap.possible
    weights = np.random.default_rng(1).random(IDS.shape) * (IDS != 0)
    x, kernel, bias = states(model)
    pooled = np.einsum("bt,btd->bd", weights, x)
    pooled = np.tile(pooled, (1, 2)) if "h" in layout else pooled
    logits = pooled @ kernel + bias
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(swap.predict(weights), expected, atol=1e-5)


# Of the three texts one has a sentence less than the others, one an empty sentence in between.
DOCUMENTS = np.array(
    [
        [[1, 2, 0, 0], [3, 0, 0, 0], [4, 5, 6, 0]],
        [[7, 8, 1, 2], [3, 4, 0, 0], [0, 0, 0, 0]],
        [[5, 6, 7, 0], [0, 0, 0, 0], [8, 1, 0, 0]],
    ]
)


def documents_model():
    """A classifier of documents: words, sentences, and a mask of the words as a second input."""
    keras.utils.set_random_seed(0)
    wide = keras.initializers.RandomNormal(stddev=2.0)
    words = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(9, 4, mask_zero=True, embeddings_initializer=wide)(words)
    x = layers.AttentionPooling(name="words", kernel_initializer=wide)(x)
    encoder = keras.Model(words, x)
    ids, kept = (keras.Input((None, None), dtype="int32", name=name) for name in ("ids", "kept"))
    x = layers.HierarchicalEncoder(encoder, name="sentences")(ids * kept)
    x = layers.AttentionPooling(name="pooling", kernel_initializer=wide)(x)
    return keras.Model({"ids": ids, "kept": kept}, keras.layers.Dense(2, "softmax")(x))


def test_layers_of_words_and_of_sentences():
    """Each has its own weights to replace; of sentences without a word there are none."""
    model, mask = documents_model(), DOCUMENTS != 0
    inputs = {"ids": np.where(mask, DOCUMENTS, 1), "kept": mask.astype("int32")}
    inner = AttentionTests(model, inputs, mask, "sentences/words", "test")
    outer = AttentionTests(model, inputs, mask.any(axis=2), "pooling", "test")
    np.testing.assert_allclose(inner.weights.sum(axis=2), mask.any(axis=2), atol=1e-6)
    np.testing.assert_allclose(outer.weights.sum(axis=1), 1, atol=1e-6)
    embeddings = model.get_layer("sentences").encoder.layers[1].get_weights()[0][DOCUMENTS]
    kernel, bias = model.layers[-1].get_weights()
    context = np.ravel(model.get_layer("pooling").get_weights()[0])
    kept = mask.any(axis=2)
    equal = mask / np.maximum(mask.sum(axis=2, keepdims=True), 1)
    # Other words give other sentences, and these other weights.
    scores = np.tanh(np.einsum("bsw,bswd->bsd", equal, embeddings)) @ context
    theirs = np.exp(scores) * kept
    theirs /= theirs.sum(axis=1, keepdims=True)
    alike = kept / kept.sum(axis=1, keepdims=True)
    before = model.predict(inputs, verbose=0)
    for tests, words, sentences in [(inner, equal, theirs), (outer, inner.weights, alike)]:
        logits = np.einsum("bs,bsw,bswd->bd", sentences, words, embeddings) @ kernel + bias
        after = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        table = tests.table()
        uniform = table.per_text["uniform weights"]
        change = np.abs(after - before).sum(axis=1) / 2
        np.testing.assert_allclose(uniform["change"], change, atol=1e-5)
        overlap = np.minimum(alike, outer.weights).sum(axis=1)
        if tests is inner:  # the mean over the sentences that have words
            overlap = np.minimum(equal, inner.weights).sum(axis=(1, 2)) / kept.sum(axis=1)
        np.testing.assert_allclose(uniform["overlap"], overlap, atol=1e-5)
        assert list(table)[-3:] == ["random pooling", "random encoder", "random both"]


def test_there_is_no_row_for_what_has_no_weights():
    """A pooling of features that were computed once has no encoder in front of it."""
    features = keras.Input((None, 3))
    x = layers.AttentionPooling(name="pooling")(features)
    model = keras.Model(features, keras.layers.Dense(2, "softmax")(x))
    states = np.random.default_rng(0).normal(size=(4, 5, 3)).astype("float32")
    table = AttentionTests(model, states, np.ones((4, 5), bool), "pooling", "test").table()
    assert list(table) == ["as it is", "uniform weights", "shuffled weights", "random pooling"]
    assert table["random pooling"]["tau"] < 1


@pytest.mark.parametrize(
    "pooling",
    [
        pytest.param(lambda: layers.ConvAttentionPooling(2, 4, name="pooling"), id="own values"),
        pytest.param(
            lambda: layers.AttentionPooling(output_activation="tanh", name="pooling"), id="bent"
        ),
    ],
)
def test_a_layer_that_does_more_than_weigh_is_told(pooling):
    layout = "bht" if isinstance(pooling(), layers.ConvAttentionPooling) else "bt"
    assert not Reweighting(model_of(pooling()), "pooling", layout, IDS, IDS != 0, 12).possible
    assert not Reweighting(model_of(pooling()), "pooling", "bqt", IDS, IDS != 0, 12).possible


def test_weights_in_disorder_come_back():
    model = sharp()
    pooling, encoder = weights_around(model, "pooling", "test")
    assert len(pooling) == 1 and len(encoder) == 3  # words, and a kernel and a bias
    before = [numpy(w) for w in model.weights]
    with shuffled(encoder, np.random.default_rng(0)):
        inside = [numpy(w) for w in model.weights]
    for old, new, weight in zip(before, inside, model.weights, strict=True):
        np.testing.assert_array_equal(np.sort(old, axis=None), np.sort(new, axis=None))
        moved = any(weight is each for each in encoder) and old.any()
        assert (old != new).any() == moved
        np.testing.assert_array_equal(old, numpy(weight))
    with pytest.raises(KeyboardInterrupt), shuffled(encoder, np.random.default_rng(0)):
        raise KeyboardInterrupt
    assert all((numpy(w) == b).all() for w, b in zip(model.weights, before, strict=True))


def test_report(tmp_path, capsys):
    model, other = sharp(0), sharp(1)
    words = [[f"word <{i}>" for i in row[row != 0]] for row in IDS]
    before = [numpy(w) for w in model.weights]
    labels = np.arange(12) % 2
    report = analysis.attention_report(
        model,
        IDS,
        labels,
        others=[other],
        names=words,
        rationales=[row[row != 0] > 4 for row in IDS],
        path=tmp_path / "report.html",
        title="Mine & yours",
    )
    assert "12/12" in capsys.readouterr().out
    assert list(report.grades) == ["attention", "leave-one-out", "gradient", "uniform"]
    assert report.grades["leave-one-out"]["tau leave-one-out"] == 1
    tests = report.tests
    assert list(tests)[:4] == ["as it is", "uniform weights", "shuffled weights"] + [
        "weights of other 1"
    ]
    assert list(tests)[4:] == ["other 1", *(f"random {x}" for x in ("pooling", "encoder", "both"))]
    np.testing.assert_allclose(
        [tests["as it is"][c] for c in ("tau", "overlap", "same class", "change")],
        [1, 1, 1, 0],
        atol=1e-6,
    )
    assert np.isnan(tests["uniform weights"]["tau"])
    for name in list(tests)[2:]:
        assert tests[name]["tau"] < 0.9 and tests[name]["overlap"] < 0.99, name
    assert tests["other 1"]["tau"] == tests["weights of other 1"]["tau"]
    # Uniform weights by hand.
    x, kernel, bias = states(model)
    mask = IDS != 0
    uniform = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True) @ kernel + bias
    right = (uniform.argmax(1) == labels).mean()
    np.testing.assert_allclose(tests["uniform weights"]["accuracy"], right)
    assert 0 <= tests["uniform weights"]["guided accuracy"] <= 1
    assert all((numpy(w) == b).all() for w, b in zip(model.weights, before, strict=True))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report.path == tmp_path / "report.html" and "Mine &amp; yours" in page
    assert page.count("<table>") == 2 and page.count("<img ") == 2
    assert page.count('class="attn-map"') == 12 and "word &lt;" in page and "word <" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.one_backend("it has run under every backend in test_report")
def test_what_a_layer_cannot_say_is_left_open():
    model = model_of(layers.ConvAttentionPooling(2, 4, name="pooling"))
    ids = np.concatenate([IDS, 0 * IDS[:1]])  # the empty text counts nowhere
    report = analysis.attention_report(model, ids, beam_size=0, verbose=0)
    assert report.tests["as it is"]["overlap"] == pytest.approx(1)
    assert np.isnan(report.tests.per_text["random both"]["same class"]).tolist() == [
        *[False] * 12,
        True,
    ]
    assert set(report.tests["uniform weights"]) == {"tau", "overlap"}
    assert "accuracy" not in report.tests["random both"] and report.path is None


@pytest.mark.one_backend("it has run under every backend in test_report")
def test_weights_guide_another_model_where_they_know_more():
    # The class is that of the one word that the weights point at; the others say nothing.
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 9, (200, 8))
    place = rng.integers(0, 8, 200)
    labels = (ids[np.arange(200), place] > 4).astype(int)
    pointed = guided_accuracy(ids, np.eye(8)[place], labels, 2)
    blind = guided_accuracy(ids, np.full(ids.shape, 1 / 8), labels, 2)
    assert pointed > 0.95 and blind < 0.85
    assert guided_accuracy(ids, np.eye(8)[place], labels, 2) == pytest.approx(pointed, abs=0.03)


@pytest.mark.one_backend("it has run under every backend in test_report")
class TestErrors:
    def test_which_layer(self):
        tokens = keras.Input((None,), dtype="int32")
        x = keras.layers.Embedding(9, 4, mask_zero=True)(tokens)
        heads = [layers.AttentionPooling(name=name)(x) for name in "ab"]
        model = keras.Model(tokens, keras.layers.Dense(2, "softmax")(ops.add(*heads)))
        with refused("layer", "attention_report", "['a', 'b']"):
            analysis.attention_report(model, IDS, verbose=0)

    def test_several_scores(self):
        model = model_of(layers.SequentialAttention(mode="pointwise", name="pooling"))
        with refused("layer", "attention_report", "a dict"):
            analysis.attention_report(model, IDS, verbose=0)

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"labels": [0]}, "(12,)"),
            ({"labels": [1], "inputs": IDS[:1]}, "two texts or more"),
            ({"labels": [2] * 12}, "in [0, 2)"),
            ({"names": [["a"]] * 12}, ""),
            ({"path": "no/such/folder/page.html"}, "a folder that exists"),
        ],
    )
    def test_shapes(self, change, told):
        given = {"model": sharp(), "inputs": IDS, "beam_size": 0, "verbose": 0}
        with refused(next(iter(change)), "attention_report", told):
            analysis.attention_report(**{**given, **change})


# The scores of each layer could be read along another axis: time, features, heads are all 6.
LIKE_THE_TIME = {
    "btd": lambda: layers.MultiDimAttentionPooling(name="pooling"),
    "bht": lambda: layers.StructuredSelfAttentionPooling(6, 3, name="pooling"),
    "bhtd": lambda: layers.GeneralizedPooling(6, 3, name="pooling"),
    "blht": lambda: layers.LearnedQueryPooling(6, 2, name="pooling"),
}


@pytest.mark.parametrize("layout", LIKE_THE_TIME)
def test_a_layer_tells_the_layout_of_its_scores(layout):
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), dtype="int32")
    wide = keras.initializers.RandomNormal(stddev=1.0)
    x = keras.layers.Embedding(9, 6, mask_zero=True, embeddings_initializer=wide)(ids)
    model = keras.Model(ids, keras.layers.Dense(2, "softmax")(LIKE_THE_TIME[layout]()(x)))
    tests = AttentionTests(model, IDS, IDS != 0, "pooling", "test")
    scores = analysis.attention_scores(model, IDS)
    axes = tuple(n for n, letter in enumerate(layout) if letter not in "bt")
    np.testing.assert_allclose(tests.weights, scores.mean(axis=axes), atol=1e-6)
    assert tests.layout == layout
    # Padding changes nothing, neither do more queries than tokens.
    wider = np.pad(IDS, ((0, 0), (0, 1)))
    again = AttentionTests(model, wider, wider != 0, "pooling", "test")
    np.testing.assert_allclose(again.weights[:, :6], tests.weights, atol=1e-6)


def test_keras_layers_tell_theirs():
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(9, 6, mask_zero=True)(ids)
    attended = keras.layers.Attention(name="attention")([x, x])
    many = keras.layers.MultiHeadAttention(6, 2, name="many")(x, x)
    pooled = layers.MaskedAveragePooling1D()(attended + many, mask=ids != 0)
    model = keras.Model(ids, keras.layers.Dense(2, "softmax")(pooled))
    for name, layout in (("attention", "bqt"), ("many", "bhqt")):
        tests = AttentionTests(model, IDS, IDS != 0, name, "test")
        assert tests.layout == layout
        np.testing.assert_allclose(tests.weights.sum(axis=1), 1, atol=1e-5)


class Gate(keras.layers.Layer):
    """A user's layer whose scores are square."""

    def call(self, x, return_attention_scores=False):
        scores = keras.ops.softmax(x, axis=1)
        pooled = keras.ops.sum(scores * x, axis=1)
        return (pooled, scores) if return_attention_scores else pooled


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("layout", {}),
        ("layout", {"layout": "bt"}),
        ("others", {"others": "model"}),
        ("inputs", {"inputs": IDS[:, None]}),
    ],
)
def test_what_is_refused_by_its_name(name, given):
    ids = keras.Input((6,), dtype="int32")
    model = keras.Model(
        ids, keras.layers.Dense(2, "softmax")(Gate()(keras.layers.Embedding(9, 6)(ids)))
    )
    if "others" in given:
        given = {"others": model}
    with refused(name, "attention_report"):
        analysis.attention_report(model, **{"inputs": IDS, "beam_size": 0, "verbose": 0, **given})


def test_two_embeddings():
    """Gradients need one; a model of two says which."""
    ids = keras.Input((None,), dtype="int32")
    words, more = (
        keras.layers.Embedding(9, 4, mask_zero=True, name=name)(ids) for name in ("words", "more")
    )
    x = layers.AttentionPooling(name="pooling")(keras.layers.Add()([words, more]))
    model = keras.Model(ids, keras.layers.Dense(2, "softmax")(x))
    report = analysis.attention_report(model, IDS, embedding="words", beam_size=0, verbose=0)
    slopes = analysis.gradient_saliency(model, IDS, layer="words")
    tau = analysis.kendall_tau(report.weights, slopes, IDS != 0)
    np.testing.assert_allclose(report.grades.per_text["attention"]["tau gradient"], tau)
