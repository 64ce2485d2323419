"""A sentence encoder over documents: each sentence as if it were alone."""

import keras
import numpy as np
import pytest
from backend_functions import compiled, gradients, numpy
from keras import ops
from layer_contract import probed

from keras_attnpool import ArgumentError, layers

BACKEND = keras.config.backend()

# Keras says so of every functional model that is called on a mask.
pytestmark = [
    pytest.mark.every_backend,
    pytest.mark.filterwarnings("ignore:.*does not support masking"),
]

# A full sentence, a hole, an empty sentence in the middle, one at the end, a document of none.
IDS = np.array(
    [
        [[1, 2, 3, 4], [5, 0, 6, 0], [0, 0, 0, 0]],
        [[7, 0, 3, 0], [0, 0, 0, 0], [2, 9, 8, 1]],
        [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    ],
    "int32",
)
MASK = IDS != 0
SENTENCES = MASK.any(axis=2)
FEATURES = np.random.default_rng(0).normal(size=(3, 3, 4, 3)).astype("float32")
CHARACTERS = np.random.default_rng(0).integers(1, 9, (3, 3, 4, 2)) * MASK[..., None]
CHARACTERS[0, 0, :2, 1] = 0


def hcan():
    """The word level of HCAN, on ids."""
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(10, 3, mask_zero=True)(ids)
    x = layers.AddPositionEmbedding(4)(x)
    x = layers.ConvMultiHeadAttention(2, 4)(x)
    return keras.Model(ids, layers.ConvAttentionPooling(2, 4)(x))


def pooling():
    """A layer that is no model, on features."""
    return layers.AttentionPooling(2, bias_initializer="ones")


def bigru():
    """The word level of HAN, on features."""
    x = keras.Input((None, 3))
    states = layers.BidirectionalGRU(2)(x)
    return keras.Model(x, layers.AttentionPooling()(states))


def characters():
    ids = keras.Input((None, None), dtype="int32")
    x = layers.CharacterEmbedding(9, char_dim=2, filters=2, kernel_sizes=(1, 2))(ids)
    return keras.Model(ids, layers.AttentionPooling()(x))


class Mean(keras.layers.Layer):
    """Divides by the number of words, so that none gives NaN; a bias, so that zeros do not stay."""

    supports_masking = True

    def build(self, input_shape):
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], 2))
        self.bias = self.add_weight(name="bias", shape=(2,), initializer="ones")

    def call(self, x, mask=None):
        kept = ops.expand_dims(ops.cast(mask, x.dtype), -1)
        mean = ops.sum(x * kept, axis=1) / ops.sum(kept, axis=1)
        return ops.matmul(mean, self.kernel) + self.bias

    def compute_mask(self, x, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (input_shape[0], 2)


class MeanOfIds(keras.layers.Layer):
    """As `Mean`, of the embeddings of ids."""

    def build(self, input_shape):
        self.table = self.add_weight(name="table", shape=(20, 2))
        self.bias = self.add_weight(name="bias", shape=(2,), initializer="ones")

    def call(self, ids):
        ids = ops.cast(ids, "int32")
        kept = ops.expand_dims(ops.cast(ids != 0, "float32"), -1)
        words = ops.take(self.table, ids, axis=0) * kept
        return ops.sum(words, axis=1) / ops.sum(kept, axis=1) + self.bias

    def compute_output_shape(self, input_shape):
        return (input_shape[0], 2)


ENCODERS = {
    "hcan": (hcan, IDS),
    "pooling": (pooling, FEATURES),
    "bigru": (bigru, FEATURES),
    "characters": (characters, CHARACTERS),
    "mean": (Mean, FEATURES),
    "mean of ids": (MeanOfIds, IDS),
}


def made(name):
    """The layer, what it reads, and the mask of features."""
    make, inputs = ENCODERS[name]
    encoder = make()
    layer = layers.HierarchicalEncoder(encoder)
    layer.build(inputs.shape)
    rng = np.random.default_rng(1)
    for variable in encoder.trainable_variables:
        variable.assign(rng.normal(size=variable.shape))
    return layer, inputs, MASK if inputs is FEATURES else None


def alone(encoder, inputs, number):
    """What the encoder makes of one sentence, up to its last word; shorter only by half."""
    b, s = number
    length = 4 if MASK[b, s, 3] else 3
    words = inputs[b : b + 1, s, :length]
    if len(inputs.shape) == 4 and inputs.shape[3] == 3:
        return encoder(words, mask=ops.convert_to_tensor(MASK[b : b + 1, s, :length]))
    return encoder(words)


# torch.compile cannot trace Keras's recurrent layers with a mask, nor the model of characters, as a
# whole, whether they stand alone or in here; on JAX most tests compile anyway.
COMPILED = list(ENCODERS) if BACKEND == "tensorflow" else ["pooling", "hcan"]


def jitted(function):
    """As one function on JAX, which else compiles operation after operation."""
    if BACKEND != "jax":
        return function
    import jax

    # A function of its own each time: what was traced under one gradient is of no use to the next.
    return jax.jit(lambda x: function(x))


class TestEachSentenceAlone:
    @pytest.mark.parametrize("name", ENCODERS)
    def test_outputs_and_gradients(self, name):
        layer, inputs, mask = made(name)
        encoder = layer.encoder
        numbers = np.argwhere(SENTENCES)
        tensor = ops.convert_to_tensor(inputs)
        values = numpy(jitted(lambda x: layer(x, mask=mask))(tensor))
        np.testing.assert_array_equal(values[~SENTENCES], 0)
        each = jitted(lambda x: ops.concatenate([alone(encoder, x, n) for n in numbers]))
        target = numpy(each(tensor))
        assert np.abs(target).max(axis=1).min() > 1e-2
        np.testing.assert_allclose(values[SENTENCES], target, atol=1e-5)

        # One with a hole and padding, one behind an empty one.
        numbers = [(0, 1), (1, 2)]
        probe = np.zeros(values.shape)
        for n in numbers:
            probe[n] = np.random.default_rng(2).normal(size=values.shape[2])
        is_features = inputs is FEATURES

        def together(x):
            return probed(layer(x if is_features else inputs, mask=mask), probe)

        def one_by_one(x):
            x = x if is_features else tensor
            return sum(probed(alone(encoder, x, n), probe[n][None]) for n in numbers)

        x = inputs if is_features else np.zeros(1, "float32")
        on_x, on_weights = gradients(encoder, x, jitted(together))
        alone_on_x, alone_on_weights = gradients(encoder, x, jitted(one_by_one))
        np.testing.assert_allclose(on_x, alone_on_x, atol=1e-5)
        if is_features:
            np.testing.assert_array_equal(on_x[~MASK], 0)
            assert all((np.abs(on_x[n][MASK[n]]).max(axis=1) > 0).all() for n in numbers)
        for path, target in alone_on_weights.items():
            assert np.abs(target).max() > 0 or "score" in path, path
            np.testing.assert_allclose(on_weights[path], target, atol=1e-5, err_msg=path)

    @pytest.mark.parametrize("name", COMPILED)
    def test_compiled_is_eager(self, name):
        layer, inputs, _ = made(name)
        # Ids are masked here as well: a word the less.
        mask = MASK.copy()
        mask[1, 2, 0] = False
        output = compiled(layer)(ops.convert_to_tensor(inputs), ops.convert_to_tensor(mask))
        values = numpy(output)
        np.testing.assert_array_equal(values[~SENTENCES], 0)
        np.testing.assert_allclose(values, numpy(layer(inputs, mask=mask)), atol=1e-5)
        assert np.abs(values - numpy(layer(inputs, mask=MASK)))[1, 2].max() > 1e-3

    @pytest.mark.parametrize("name", ENCODERS)
    def test_packed_is_padded(self, name):
        """Two groups of two widths, in another order, with rows to spare."""
        layer, inputs, mask = made(name)
        rows = inputs.reshape(9, *inputs.shape[2:])
        narrow, wide = [3, 1, 2], [5, 0]
        packed = {
            "sentences_0": rows[narrow][:, :3],
            "sentences_1": rows[wide],
            "documents": np.array([[5, 2, 0], [1, 3, 4], [0, 0, 0]], "int32"),
        }
        if mask is not None:
            flat = MASK.reshape(9, 4)
            mask = {"sentences_0": flat[narrow][:, :3], "sentences_1": flat[wide]}
        output = numpy(jitted(lambda x: layer(x, mask=mask))(packed))
        padded_mask = None if mask is None else MASK
        padded = numpy(jitted(lambda x: layer(x, mask=padded_mask))(inputs))
        np.testing.assert_allclose(output, padded, atol=1e-5)
        np.testing.assert_array_equal(output[~SENTENCES], 0)
        np.testing.assert_array_equal(numpy(layer.compute_mask(packed, mask)), SENTENCES)


@pytest.mark.parametrize(
    ("name", "garbage"), [("bigru", np.nan), ("mean", np.nan), ("mean", np.inf), ("mean", 1e9)]
)
def test_what_padding_holds_changes_nothing(name, garbage):
    layer, x, mask = made(name)
    dirty = np.where(mask[..., None], x, np.float32(garbage))
    call = jitted(lambda t: layer(t, mask=mask))
    np.testing.assert_array_equal(numpy(call(dirty)), numpy(call(x)))

    def slopes(t):
        return gradients(layer, t, jitted(lambda t: ops.sum(layer(t, mask=mask))))

    for clean, other in zip(slopes(x), slopes(dirty), strict=True):
        for value, target in zip(keras.tree.flatten(other), keras.tree.flatten(clean), strict=True):
            np.testing.assert_array_equal(value, target)


@pytest.mark.parametrize("name", ["mean", "mean of ids"])
def test_nothing_but_padding_gives_zeros_and_no_gradients(name):
    layer, inputs, mask = made(name)
    inputs = inputs * 0
    mask = None if mask is None else np.zeros_like(mask)
    np.testing.assert_array_equal(numpy(layer(inputs, mask=mask)), np.zeros((3, 3, 2)))
    if mask is None:
        loss = lambda _: ops.sum(layer(inputs))  # noqa: E731
        slopes = gradients(layer, np.zeros(1, "float32"), loss)
    else:
        slopes = gradients(layer, inputs, lambda x: ops.sum(layer(x, mask=mask)))
    for gradient in (slopes[0], *slopes[1].values()):
        np.testing.assert_array_equal(gradient, 0)


def test_features_without_a_mask_are_all_words():
    layer, x, _ = made("pooling")
    output = layer(x)
    assert getattr(output, "_keras_mask", None) is None
    np.testing.assert_allclose(numpy(output), numpy(layer(x, mask=np.ones_like(MASK))), atol=1e-6)


@pytest.mark.parametrize("name", ["mean of ids", "characters"])
def test_a_mask_takes_words_away_from_ids(name):
    """One word of a sentence, and all of another."""
    layer, ids, _ = made(name)
    keep = MASK.copy()
    keep[1, 2, 0] = keep[0, 1] = False
    output = layer(ids, mask=keep)
    fewer = ids * keep.reshape(*keep.shape, *[1] * (ids.ndim - 3))
    np.testing.assert_array_equal(numpy(output), numpy(layer(fewer)))
    np.testing.assert_array_equal(numpy(output._keras_mask), keep.any(axis=2))
    assert np.abs(numpy(output) - numpy(layer(ids)))[1, 2].max() > 1e-3


def test_ids_of_any_dtype_and_masks_of_any_kind_mean_the_same():
    layer, ids, _ = made("mean of ids")
    target = numpy(layer(ids))
    for dtype in ("int64", "uint8", "float32"):
        np.testing.assert_array_equal(numpy(layer(ids.astype(dtype))), target)
    layer, x, mask = made("mean")
    target = numpy(layer(x, mask=mask))
    for same in (mask.tolist(), mask.astype("int32"), mask.astype("float32")):
        np.testing.assert_array_equal(numpy(layer(x, mask=same)), target)


class Spy(MeanOfIds):
    """Notes how many sentences it sees."""

    rows: list

    def call(self, ids):
        self.rows.append(ids.shape[0])
        return super().call(ids)


def test_an_eager_call_leaves_empty_sentences_out():
    spy = Spy()
    spy.rows = []
    layer = layers.HierarchicalEncoder(spy)
    assert numpy(layer(IDS)).shape == (3, 3, 2)
    # JAX would compile its operations for every number anew.
    assert spy.rows == [9 if BACKEND == "jax" else 4]


def test_more_than_ten_groups_are_read_in_the_order_of_their_numbers():
    layer, _, _ = made("mean of ids")
    packed = {f"sentences_{n}": np.array([[n + 1]]) for n in range(12)}
    numbers = np.arange(1, 13)
    output = numpy(layer({**packed, "documents": numbers.reshape(2, 6)}))
    np.testing.assert_array_equal(output, numpy(layer(numbers.reshape(2, 6, 1))))


def test_packed_sentences_without_a_word_are_zero_whatever_the_other_groups_say():
    """A number that stands for a row without words; only one group has a mask."""
    layer, x, mask = made("mean")
    rows, kept = x.reshape(9, 4, 3), MASK.reshape(9, 4)
    packed = {"sentences_0": rows[:2], "sentences_1": rows[2:], "documents": np.array([[1, 3, 6]])}
    output = layer(packed, mask={"sentences_0": kept[:2] * 1, "sentences_1": kept[2:]})
    np.testing.assert_array_equal(numpy(output._keras_mask), [[True, False, True]])
    np.testing.assert_array_equal(numpy(output)[0, 1], 0)
    some = layers.HierarchicalEncoder(pooling())
    output = some(packed, mask={"sentences_1": kept[2:]})
    np.testing.assert_array_equal(numpy(output._keras_mask), [[True, False, True]])
    np.testing.assert_array_equal(numpy(output)[0, 1], 0)


def document_model(encoder, unknown=True):
    """The vectors of documents, a mean over their sentences, from ids."""
    ids = keras.Input((None, None) if unknown else (3, 4), dtype="int32")
    sentences = layers.HierarchicalEncoder(encoder)(ids)
    return keras.Model(ids, layers.MaskedAveragePooling1D()(sentences))


def test_the_sentence_mask_reaches_the_layer_behind():
    """In functional models, of padded and of packed documents."""
    encoder = made("mean of ids")[0].encoder
    sentences = numpy(layers.HierarchicalEncoder(encoder)(IDS))
    target = sentences.sum(axis=1) / np.maximum(SENTENCES.sum(axis=1), 1)[:, None]
    for unknown in (True, False):
        model = document_model(encoder, unknown)
        np.testing.assert_allclose(model.predict(IDS, verbose=0), target, atol=1e-6)
    inputs = {
        "sentences_0": keras.Input((None,), dtype="int32", name="sentences_0"),
        "documents": keras.Input((None,), dtype="int32", name="documents"),
    }
    x = layers.HierarchicalEncoder(encoder)(inputs)
    model = keras.Model(inputs, layers.MaskedAveragePooling1D()(x))
    packed = {"sentences_0": IDS.reshape(9, 4), "documents": np.arange(1, 10).reshape(3, 3)}
    np.testing.assert_allclose(model.predict_on_batch(packed), target, atol=1e-6)


def test_the_mask_comes_from_the_layers_before():
    """Features of an embedding of four axes, whose mask has three."""
    embedding = keras.layers.Embedding(10, 3, mask_zero=True)
    layer, _, _ = made("mean")
    embedded = embedding(IDS)
    output = layer(embedded)
    np.testing.assert_array_equal(numpy(output), numpy(layer(numpy(embedded), mask=MASK)))
    np.testing.assert_array_equal(numpy(output._keras_mask), SENTENCES)
    packed = {"sentences_0": embedding(IDS.reshape(9, 4)), "documents": np.array([[1, 3, 0, 6]])}
    output = layer(packed)
    np.testing.assert_array_equal(numpy(output._keras_mask), [[True, False, False, True]])


def test_empty_sentences_do_not_spoil_a_compiled_training_step():
    """The encoder would give NaN for them: one step, compiled and not, from the same weights."""
    after = []
    for eagerly in (False, True):
        model = document_model(made("mean of ids")[0].encoder)
        model.compile("sgd", "mse", run_eagerly=eagerly)
        before = model.get_weights()
        model.train_on_batch(IDS, np.ones((3, 2)))
        after.append(model.get_weights())
    assert len(before) == 2
    for start, weight, target in zip(before, *after, strict=True):
        assert np.abs(weight - start).max() > 1e-4
        np.testing.assert_allclose(weight, target, atol=1e-6)
    # No document holds the word 10; the word that stands in for none has gained nothing by it.
    np.testing.assert_array_equal(after[0][0][10:], before[0][10:])


@pytest.mark.parametrize("kind", [dict, tuple])
def test_an_encoder_may_return_several_outputs(kind):
    x = keras.Input((None, 3))
    vectors, weights = layers.AttentionPooling(2)(x, return_attention_scores=True)
    several = {"vectors": vectors, "weights": weights} if kind is dict else (vectors, weights)
    layer = layers.HierarchicalEncoder(keras.Model(x, several))
    outputs = layer(FEATURES, mask=MASK)
    assert isinstance(outputs, kind)
    names = ("vectors", "weights") if kind is dict else (0, 1)
    vectors, weights = (numpy(outputs[name]) for name in names)
    assert vectors.shape == (3, 3, 3) and weights.shape == (3, 3, 4)
    np.testing.assert_array_equal(weights[~MASK], 0)
    np.testing.assert_allclose(weights.sum(axis=2), SENTENCES, atol=1e-6)
    np.testing.assert_allclose(np.einsum("bsw,bswd->bsd", weights, FEATURES), vectors, atol=1e-5)
    symbolic = layer(keras.Input((None, None, 3)))
    assert [symbolic[name].shape for name in names] == [(None, None, 3), (None, None, None)]
    shapes = layer.compute_output_shape((3, 3, 4, 3))
    assert [shapes[name] for name in names] == [(3, 3, 3), (3, 3, 4)]
    np.testing.assert_array_equal(numpy(layer.compute_mask(FEATURES, MASK)), SENTENCES)


def test_half_precision():
    """The encoder computes in it; whole ids that it cannot hold stay what they are."""
    single, x, mask = made("pooling")
    encoder = layers.AttentionPooling(2, bias_initializer="ones", dtype="mixed_float16")
    half = layers.HierarchicalEncoder(encoder, dtype="mixed_float16")
    half.build(x.shape)
    half.set_weights(single.get_weights())
    output = half(np.where(mask[..., None], x, 1e30).astype("float32"), mask=mask)
    assert keras.backend.standardize_dtype(output.dtype) == "float16"
    symbolic = half(keras.Input((None, None, 3)))
    assert symbolic.dtype == "float16"
    np.testing.assert_allclose(numpy(output), numpy(single(x, mask=mask)), atol=1e-2)

    ids = keras.Input((None,))
    table = keras.layers.Embedding(5000, 2, mask_zero=True, dtype="mixed_float16")
    model = keras.Model(ids, layers.AttentionPooling(dtype="mixed_float16")(table(ids)))
    layer = layers.HierarchicalEncoder(model, dtype="mixed_float16")
    many = np.array([[[4001.0], [4002.0]]], "float32")
    target = numpy(table.embeddings)[[[4001, 4002]]]
    np.testing.assert_allclose(numpy(layer(many)), target, atol=1e-4)


def test_symbolic_shapes():
    layer, _, _ = made("hcan")
    for known in ((None, None), (3, None), (None, 4), (3, 4)):
        symbolic = layer(keras.Input(known, dtype="int32"))
        assert symbolic.shape == (None, known[0], 4) and symbolic.dtype == "float32"
    assert layer.compute_output_shape((2, 3, 4)) == (2, 3, 4)
    packed = {
        "sentences_0": keras.Input((4,), dtype="int32"),
        "sentences_1": keras.Input((None,), dtype="int32"),
        "documents": keras.Input((7,), dtype="int32"),
    }
    assert layer(packed).shape == (None, 7, 4)
    assert layer.compute_output_shape({k: v.shape for k, v in packed.items()}) == (None, 7, 4)
    # A sequence for each sentence.
    steps = layers.HierarchicalEncoder(keras.layers.Dense(5))
    assert steps(keras.Input((3, 4, 2))).shape == (None, 3, 4, 5)
    assert tuple(steps(np.zeros((2, 3, 4, 2), "float32")).shape) == (2, 3, 4, 5)


PACKED = {"sentences_0": (2, 4, 3), "documents": (2, 2)}
# Shapes of the inputs and of the mask, and what is told.
UNFIT = [
    ((2, 5), None, "(batch, sentences, words"),
    ((2, 3, 4, 3, 1), None, "(batch, sentences, words"),
    ((2, 3, 0, 3), None, "at least one word"),
    ([(2, 5, 4, 3)], None, "(batch, sentences, words"),
    *(((2, 3, 4, 3), shape, "3, 4), True") for shape in ((2, 3), (2, 3, 5), (2, 3, 4, 3))),
    ({"sentences_0": (2, 4, 3)}, None, "['sentences_0']"),
    ({"documents": (2, 4)}, None, "['documents']"),
    ({**PACKED, "labels": (2, 1)}, None, "'labels'"),
    ({**PACKED, "sentences_0": (2, 4, 3, 2, 1)}, None, "(rows, words"),
    ({**PACKED, "sentences_0": (2,)}, None, "(rows, words"),
    ({**PACKED, "documents": (2,)}, None, "(batch, sentences"),
    (PACKED, (2, 4), "`mask` of layer 'the_name' (HierarchicalEncoder) must be a dictionary"),
    (PACKED, {"sentences_0": (2, 5)}, "4), True"),
    (PACKED, {"sentences_1": (2, 4)}, "names of the packed"),
]


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(("shapes", "mask", "told"), UNFIT)
def test_what_does_not_fit_is_refused_before_the_encoder_sees_it(
    shapes, mask, told, symbolic, built
):
    layer = layers.HierarchicalEncoder(pooling(), name="the_name")
    if built:
        layer.build((None, None, None, 3))

    def made(structure, dtype):
        make = lambda s: keras.Input(s[1:], dtype=dtype) if symbolic else np.ones(s, dtype)  # noqa: E731
        return keras.tree.map_shape_structure(make, structure)

    with pytest.raises(ArgumentError, match=r"layer 'the_name' \(HierarchicalEncoder\)") as error:
        layer(made(shapes, "float32"), mask=made(mask, "bool") if mask else None)
    assert told in str(error.value)


@pytest.mark.parametrize("padding", [-1e9, np.nan, 0.5, 2])
def test_a_mask_of_other_values_is_an_error(padding):
    layer = layers.HierarchicalEncoder(pooling(), name="the_name")
    steps = np.ones((2, 4, 3, 3), "float32")
    with pytest.raises(ValueError, match="`mask` of layer 'the_name'"):
        layer(steps, mask=np.full((2, 4, 3), padding))
    packed = {"sentences_0": steps[0], "documents": np.ones((1, 2), "int32")}
    with pytest.raises(ValueError, match="`mask` of layer 'the_name'"):
        layer(packed, mask={"sentences_0": np.full((4, 3), padding)})


def test_no_document_at_all():
    layer = layers.HierarchicalEncoder(pooling())
    steps, mask = np.ones((0, 4, 3, 3), "float32"), np.ones((0, 4, 3), bool)
    assert layer(steps, mask=mask).shape == layer(steps).shape == (0, 4, 3)
    assert layer(steps[:, :0], mask=mask[:, :0]).shape == (0, 0, 3)
