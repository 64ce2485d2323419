"""Words from their characters, section 4.2 of the Generalized Pooling paper."""

import keras
import numpy as np
import pytest
from backend_functions import compiled, gradients, numpy
from layer_contract import central_differences
from reference import generalized_pooling_encoder as reference

from keras_attnpool.layers import CharacterEmbedding

pytestmark = pytest.mark.every_backend

# A full word, words shorter than the largest kernel, a hole, padding in front, words without
# characters.
IDS = np.array(
    [
        [[1, 2, 3, 4, 5, 6], [7, 1, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0]],
        [[2, 0, 5, 6, 0, 0], [0, 0, 4, 4, 1, 2], [0, 0, 0, 0, 0, 0]],
    ]
)


def make(**kwargs):
    """A layer on 9 characters, with random weights throughout."""
    layer = CharacterEmbedding(9, **{"char_dim": 3, "filters": 4, **kwargs})
    layer.build((None, None, None))
    rng = np.random.default_rng(1)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape).astype("float32"))
    return layer


def expected(layer, ids, words=None):
    weights = {w.path.split("/", 1)[1]: numpy(w).astype("float64") for w in layer.weights}
    sizes = layer.kernel_sizes
    return reference.character_embedding(
        ids,
        weights["embeddings"],
        [weights[f"kernel_{k}"] for k in sizes],
        [weights[f"bias_{k}"] for k in sizes] if layer.use_bias else None,
        words,
    )


@pytest.mark.parametrize("use_bias", [False, True])
@pytest.mark.parametrize("kernel_sizes", [(1, 3, 5), (4, 2)])
def test_agrees_with_the_float64_reference(use_bias, kernel_sizes):
    layer = make(use_bias=use_bias, kernel_sizes=kernel_sizes)
    np.testing.assert_allclose(numpy(layer(IDS)), expected(layer, IDS), atol=1e-5)


@pytest.mark.torch_first("the reference has the same equations")
def test_worked_by_hand():
    """Characters of one feature, 1 and 10; the window of two weighs them 2 and 3."""
    layer = CharacterEmbedding(3, char_dim=1, filters=1, kernel_sizes=(1, 2), use_bias=True)
    layer.build((None, None, None))
    kernels = [np.full((1, 1, 1), -1.0), np.array([2.0, 3.0]).reshape(2, 1, 1)]
    layer.set_weights(
        [np.array([[99.0], [1.0], [10.0]]), *kernels, np.array([1.5]), np.array([-5.0])]
    )
    ids = np.array([[[1, 2, 0], [2, 0, 0], [1, 0, 0], [0, 0, 0]]])
    # "ab": 0.5 and -8.5; 27 from both, 15 from the end. "b": 15. "a": -3 is below 0.
    target = [[[0.5, 27.0], [0.0, 15.0], [0.5, 0.0], [0.0, 0.0]]]
    np.testing.assert_allclose(numpy(layer(ids)), target, atol=1e-6)


def test_no_result_depends_on_how_far_words_are_padded():
    layer = make(use_bias=True)
    target = numpy(layer(IDS))
    for width in ((0, 3), (3, 0)):
        padded = np.pad(IDS, ((0, 0), (0, 0), width))
        np.testing.assert_allclose(numpy(layer(padded)), target, atol=1e-6)
    words = np.pad(IDS, ((0, 0), (0, 2), (0, 0)))
    output = numpy(layer(words))
    np.testing.assert_allclose(output[:, :3], target, atol=1e-6)
    np.testing.assert_array_equal(output[:, 3:], 0)


def test_ids_of_any_kind_mean_the_same():
    layer = make()
    target = numpy(layer(IDS))
    for dtype in ("int8", "uint8", "int32", "int64", "float32"):
        np.testing.assert_array_equal(numpy(layer(IDS.astype(dtype))), target)


def test_large_float_ids_survive_half_precision():
    layer = CharacterEmbedding(3000, char_dim=2, filters=2, dtype="mixed_float16")
    ids = np.array([[[2049, 2999]]])
    np.testing.assert_array_equal(numpy(layer(ids.astype("float32"))), numpy(layer(ids)))


class TestMask:
    words = np.array([[True, False, True], [True, True, True]])

    def test_a_word_that_the_mask_leaves_out_has_no_characters(self):
        layer = make(use_bias=True)
        dirty = IDS.copy()
        dirty[0, 1] = 10**6
        for mask in (self.words, self.words.astype("float32")):
            output = numpy(layer(dirty, mask=mask))
            np.testing.assert_allclose(output, expected(layer, IDS, self.words), atol=1e-5)
        np.testing.assert_array_equal(output[0, 1], 0)

    def test_the_output_carries_the_words_with_a_character(self):
        layer = make()
        any_character = np.array([[True, True, True], [True, True, False]])
        for ids in (IDS, IDS.astype("float32")):
            np.testing.assert_array_equal(numpy(layer(ids)._keras_mask), any_character)
        output = layer(IDS, mask=self.words)
        np.testing.assert_array_equal(numpy(output._keras_mask), any_character & self.words)

    def test_the_mask_is_that_of_a_models_words(self):
        """Joined with the words' own embeddings, as the paper's encoder does."""
        words, characters = keras.Input((None,), dtype="int32"), keras.Input((None, None))
        embedded = keras.layers.Embedding(9, 2, mask_zero=True)(words)
        joined = keras.layers.Concatenate()([embedded, make()(characters)])
        assert joined.shape == (None, None, 2 + 12)
        pooled = keras.layers.GlobalAveragePooling1D()(joined)
        model = keras.Model([words, characters], [joined, pooled])
        kept = IDS.any(axis=-1)
        vectors, mean = model.predict([kept.astype("int32"), IDS.astype("float32")], verbose=0)
        target = [row[k].mean(axis=0) for row, k in zip(vectors, kept, strict=True)]
        np.testing.assert_allclose(mean, target, atol=1e-5)

    @pytest.mark.parametrize("shape", [(2, 4), (2, 3, 6), (3,)])
    def test_a_mask_that_does_not_fit_is_an_error_with_both_shapes(self, shape):
        layer = CharacterEmbedding(9, name="the_name")
        with pytest.raises(ValueError, match="the_name") as error:
            layer(IDS, mask=np.ones(shape, bool))
        assert str(shape) in str(error.value) and "(2, 3, 6)" in str(error.value)
        with pytest.raises(ValueError, match="the_name"):
            layer(keras.Input((3, 6)), mask=keras.Input(batch_shape=(2, *shape[1:], 7)))


def test_gradients_agree_with_the_reference():
    """Central differences of the float64 reference, for every weight."""
    layer = make(use_bias=True, kernel_sizes=(1, 3))
    layer(IDS)
    probe = np.random.default_rng(2).normal(size=(2, 3, 8))
    weighed = keras.ops.convert_to_tensor(probe.astype("float32"))
    _, found = gradients(
        layer, np.zeros(1, "float32"), lambda t: keras.ops.sum(layer(IDS) * weighed)
    )
    arrays = [numpy(w).astype("float64") for w in layer.weights]

    def loss():
        output = reference.character_embedding(IDS, arrays[0], arrays[1:3], arrays[3:])
        return np.sum(output * probe)

    for array, value in zip(arrays, found.values(), strict=True):
        np.testing.assert_allclose(value, central_differences(array, loss), atol=1e-4, rtol=1e-4)


def test_empty_words_have_finite_zero_gradients():
    layer = make()
    layer(IDS)
    _, found = gradients(
        layer, np.zeros(1, "float32"), lambda t: keras.ops.sum(layer(np.zeros_like(IDS)))
    )
    assert all((value == 0).all() for value in found.values())


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16", "float64"])
def test_other_precisions_stay_near_float32(policy):
    single, other = make(), CharacterEmbedding(9, char_dim=3, filters=4, dtype=policy)
    other.build((None, None, None))
    other.set_weights(single.get_weights())
    output = other(IDS)
    wanted = policy.removeprefix("mixed_")
    if not (wanted == "float64" and keras.backend.backend() == "jax"):
        assert keras.backend.standardize_dtype(output.dtype) == wanted
    np.testing.assert_allclose(numpy(output), numpy(single(IDS)), atol=2e-1, rtol=2e-2)


def test_compiled_saved_and_of_unknown_sizes(tmp_path):
    layer = make()
    target = numpy(layer(IDS))
    found = compiled(layer)(*map(keras.ops.convert_to_tensor, (IDS, IDS.any(axis=-1))))
    np.testing.assert_allclose(numpy(found), target, atol=1e-5)
    inputs = keras.Input((None, None), dtype="int32")
    output = layer(inputs)
    assert output.shape == (None, None, 12)
    model = keras.Model(inputs, output)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for width in (6, 9):
        ids = np.pad(IDS, ((0, 0), (0, 0), (0, width - 6)))
        np.testing.assert_allclose(loaded.predict(ids, verbose=0), target, atol=1e-5)
    config = layer.get_config()
    again = CharacterEmbedding.from_config(config)
    assert again.get_config() == config
    for name in config:
        assert hasattr(layer, name if name != "dtype" else "dtype_policy"), name


def test_no_room_for_a_character_is_an_error():
    with pytest.raises(ValueError, match="'the_name'.*at least one character"):
        CharacterEmbedding(9, name="the_name")(np.zeros((2, 3, 0), "int32"))
