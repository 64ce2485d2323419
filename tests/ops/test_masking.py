"""The masked reductions, each with its promise about padding and empty rows."""

import warnings

import keras
import numpy as np
import pytest
from backend_functions import compiled, gradients, numpy
from hypothesis import given
from hypothesis import strategies as st
from layer_contract import batch

import keras_attnpool
from keras_attnpool import ops
from keras_attnpool.ops import _devices as devices

pytestmark = pytest.mark.every_backend


class Identity(keras.layers.Layer):
    """Gives the gradient helper something to differentiate through."""

    def call(self, x):
        return x


def gradient(function, x):
    layer = Identity()
    layer.build(x.shape)
    return gradients(layer, x, lambda t: keras.ops.sum(function(layer(t))))[0]


class TestMaskedSoftmax:
    @given(rows=st.integers(1, 4), time=st.integers(1, 6), seed=st.integers(0, 50))
    def test_it_is_the_softmax_of_the_kept_entries(self, rows, time, seed):
        rng = np.random.default_rng(seed)
        logits = rng.normal(size=(rows, time)).astype("float32") * 5
        mask = rng.random((rows, time)) < 0.5
        every = numpy(ops.masked_softmax(logits, mask))
        for row, kept, weights in zip(logits.astype("float64"), mask, every, strict=True):
            target = np.zeros(time)
            if kept.any():
                exps = np.exp(row[kept] - row[kept].max())
                target[kept] = exps / exps.sum()
            np.testing.assert_allclose(weights, target, atol=1e-6)
            np.testing.assert_array_equal(weights[~kept], 0)

    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_without_a_mask_and_along_any_axis(self, axis):
        logits = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
        weights = numpy(ops.masked_softmax(logits, axis=axis))
        np.testing.assert_allclose(weights, numpy(keras.ops.softmax(logits, axis=axis)), atol=1e-6)
        masked = numpy(ops.masked_softmax(logits, np.ones((3, 4), bool), axis=axis))
        np.testing.assert_allclose(masked, weights, atol=1e-6)

    def test_masked_logits_may_hold_anything(self):
        mask = np.array([[True, True, False, False]])
        target = numpy(ops.masked_softmax(np.array([[1.0, 2.0, 0.0, 0.0]], "float32"), mask))
        for garbage in (np.nan, np.inf, -np.inf, 1e38):
            logits = np.array([[1.0, 2.0, garbage, garbage]], "float32")
            np.testing.assert_array_equal(numpy(ops.masked_softmax(logits, mask)), target)
            slopes = gradient(lambda t: ops.masked_softmax(t, mask)[:, 0], logits)
            assert np.isfinite(slopes).all() and (slopes[~mask] == 0).all()

    @pytest.mark.parametrize("mask", [None, np.ones((1, 3), bool)])
    def test_logits_at_the_edge_of_the_range(self, mask):
        logits = np.array([[3e38, 3e38, -3e38]], "float32")
        np.testing.assert_allclose(numpy(ops.masked_softmax(logits, mask)), [[0.5, 0.5, 0]])

    def test_half_precision_becomes_float32(self):
        logits = np.array([[-4e4, -4e4 - 64]], "float16")
        weights = ops.masked_softmax(logits, np.array([[True, True]]))
        assert keras.backend.standardize_dtype(weights.dtype) == "float32"
        np.testing.assert_allclose(numpy(weights), [[1, 0]], atol=1e-6)

    @pytest.mark.parametrize("mask", [None, np.array([[True], [False]])])
    def test_a_single_step_is_no_reason_for_a_warning(self, mask):
        logits = np.array([[5.0], [-3e38]], "float32")
        target = [[1], [1]] if mask is None else [[1], [0]]
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            np.testing.assert_array_equal(numpy(ops.masked_softmax(logits, mask)), target)
        np.testing.assert_array_equal(gradient(lambda t: ops.masked_softmax(t, mask), logits), 0)

    def test_an_empty_row_gives_zeros_with_a_zero_gradient(self):
        logits = np.array([[5.0, 3.0]], "float32")
        mask = np.zeros((1, 2), bool)
        np.testing.assert_array_equal(numpy(ops.masked_softmax(logits, mask)), 0)
        np.testing.assert_array_equal(gradient(lambda t: ops.masked_softmax(t, mask), logits), 0)


class TestReductions:
    @given(seed=st.integers(0, 20))
    def test_sum_mean_and_max_see_kept_steps_only(self, seed):
        x, mask = batch(seed=seed)
        dirty = np.where(mask[..., None], x, np.nan).astype("float32")
        for function, reference in (
            (ops.masked_sum, np.sum),
            (ops.masked_mean, np.mean),
            (ops.masked_max, np.max),
        ):
            values = numpy(function(dirty, mask))
            for row, kept, value in zip(x, mask, values, strict=True):
                target = reference(row[kept], axis=0) if kept.any() else np.zeros(row.shape[1])
                np.testing.assert_allclose(value, target, atol=1e-5)

    @pytest.mark.parametrize("function", [ops.masked_sum, ops.masked_mean, ops.masked_max])
    def test_no_mask_keeps_everything(self, function):
        x, _ = batch()
        ones = np.ones(x.shape[:2], bool)
        np.testing.assert_allclose(numpy(function(x)), numpy(function(x, ones)), atol=1e-6)

    @pytest.mark.parametrize(
        ("dtype", "low"),
        [("float16", -6e4), ("bfloat16", -3e38), ("float32", -3e38), ("float64", -3e38)],
    )
    def test_padding_is_below_the_lowest_maximum(self, dtype, low):
        x = keras.ops.cast(np.array([[[low], [0.0]]]), dtype)
        highest = keras.ops.cast(ops.masked_max(x, np.array([[True, False]])), "float32")
        np.testing.assert_allclose(numpy(highest), [[low]], rtol=0.01)

    @pytest.mark.parametrize("function", [ops.masked_sum, ops.masked_mean, ops.masked_max])
    def test_a_batch_without_rows(self, function):
        x, mask = batch()
        assert numpy(function(x[:0], mask[:0])).shape == (0, x.shape[-1])
        assert numpy(function(x[:0])).shape == (0, x.shape[-1])

    @pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "bool"])
    def test_the_maximum_of_integers(self, dtype):
        low = 0 if dtype in ("bool", "uint8") else np.iinfo(dtype).min
        x = np.array([[[low], [low], [1]], [[1], [low], [1]], [[1], [1], [1]]]).astype(dtype)
        mask = np.array([[True, True, False], [True, False, True], [False] * 3])
        target = np.array([[low], [1], [0]]).astype(dtype)
        highest = ops.masked_max(x, mask)
        # JAX has no int64 but in its x64 mode.
        wanted = keras.ops.convert_to_tensor(x).dtype
        assert highest.dtype == wanted
        if keras.backend.standardize_dtype(wanted) == dtype:
            np.testing.assert_array_equal(numpy(highest), target)

    @pytest.mark.parametrize("function", [ops.masked_sum, ops.masked_mean, ops.masked_max])
    def test_gradients_at_padding_are_zero(self, function):
        x, mask = batch()
        dirty = np.where(mask[..., None], x, np.nan).astype("float32")
        slopes = gradient(lambda t: function(t, mask), dirty)
        assert np.isfinite(slopes).all()
        np.testing.assert_array_equal(slopes[~mask], 0)


class TestMasks:
    def test_lengths(self):
        target = [[True, True, False], [False] * 3, [True] * 3]
        np.testing.assert_array_equal(numpy(ops.lengths_to_mask(np.array([2, 0, 3]))), target)
        assert numpy(ops.lengths_to_mask(np.array([2, 0]), max_length=5)).shape == (2, 5)

    @pytest.mark.parametrize(
        "lengths",
        [
            [2.0, 3.0],
            np.array([True, False]),
            3,
            np.ones((2, 1), "int32"),
            [],
            ["2"],
            None,
            [[1], 2],
        ],
    )
    def test_lengths_of_another_kind_are_refused(self, lengths):
        with pytest.raises(ValueError, match=r"`lengths` of lengths_to_mask must be integers \("):
            ops.lengths_to_mask(lengths, max_length=4)

    @pytest.mark.parametrize("steps", [-1, 2.0, "4", True, [4], np.float32(3)])
    def test_a_number_of_steps_of_another_kind_is_refused(self, steps):
        with pytest.raises(ValueError, match="`max_length` of lengths_to_mask must be None or an"):
            ops.lengths_to_mask([1, 2], max_length=steps)

    def test_a_number_of_steps_may_be_a_tensor(self):
        for steps in (np.int64(4), keras.ops.convert_to_tensor(4), keras.ops.shape(np.ones(4))[0]):
            assert numpy(ops.lengths_to_mask([1, 2], max_length=steps)).shape == (2, 4)

        def of_inputs(x, mask):
            return ops.lengths_to_mask(mask, max_length=keras.ops.shape(x)[1])

        lengths = keras.ops.convert_to_tensor([1, 2])
        assert numpy(compiled(of_inputs)(keras.ops.ones((2, 4)), lengths)).shape == (2, 4)

    def test_lists_and_numbers_become_booleans(self):
        x = np.zeros((1, 3, 2), "float32")
        for mask in ([[1, 0, 1]], np.array([[1.0, 0.0, 1.0]]), np.array([[True, False, True]])):
            booleans = numpy(ops.as_bool_mask(mask, x))
            assert booleans.dtype == bool
            np.testing.assert_array_equal(booleans, [[True, False, True]])
        assert ops.as_bool_mask(None, x) is None

    @pytest.mark.parametrize(
        ("mask", "told"),
        [
            (np.array([[0.0, -1e9, 0.0]]), "additive mask: pass `mask == 0`"),
            (np.array([[0.0, -np.inf, 0.0]]), "additive mask: pass `mask == 0`"),
            (np.array([[0.0, -3.4e38, 0.0]], "float32"), "additive mask: pass `mask == 0`"),
            (np.array([[17, 4, 0]]), "ids: pass `mask=ids != 0`"),
            ([[17, 4, 0]], "from 0 to 17"),
            (np.array([[1.0, 0.5, 0.0]]), "from 0.0 to 1.0"),
            (np.array([[1.0, np.nan, 0.0]]), "nan"),
            (np.array([[-1, 1, 1]]), "from -1 to 1"),
        ],
    )
    def test_other_values_than_0_and_1_are_refused(self, mask, told):
        x = np.zeros((1, 3, 2), "float32")
        with pytest.raises(ValueError, match="`mask` of layer 'pool'") as error:
            ops.as_bool_mask(mask, x, "pool")
        assert told in str(error.value)

    def test_values_that_cannot_be_seen_are_not_checked(self):
        x = keras.ops.ones((2, 3, 2))

        def total(x, mask):
            return ops.masked_sum(x, ops.as_bool_mask(mask, x))

        twos = keras.ops.full((2, 3), 2.0)
        np.testing.assert_array_equal(numpy(compiled(total)(x, twos)), 3)
        assert ops.as_bool_mask(keras.Input((3,)), keras.Input((3, 2))).shape == (None, 3)

    def test_an_accelerator_is_asked_once_by_each_layer(self, monkeypatch):
        """The first eager call waits for the values of its mask; later ones do not."""
        monkeypatch.setattr(devices, "_in_host_memory", lambda x: False)
        x, mask = batch()
        layer = keras_attnpool.layers.AttentionPooling()
        with pytest.raises(ValueError, match="`mask` of layer"):
            layer(x, mask=2.0 * mask)
        layer(x, mask=mask)
        with pytest.raises(ValueError, match="`mask` of layer"):
            layer(x, mask=2.0 * mask)
        target = numpy(layer(x, mask=1.0 * mask))
        np.testing.assert_array_equal(numpy(layer(x, mask=2.0 * mask)), target)

    def test_both_shapes_are_named(self):
        with pytest.raises(ValueError, match=r"layer 'pool'.*\(2, 3\).*\(2, 4\)"):
            ops.check_mask_shape((2, 4), (2, 3, 8), "pool")
        ops.check_mask_shape((None, None), (2, 3, 8), "pool")


@pytest.mark.parametrize("function", ["masked_sum", "masked_mean", "masked_max", "zero_masked"])
@pytest.mark.parametrize("shape", [(3, 1), (1, 4), (4,), (3, 4, 1), (3, 5)])
def test_masks_of_another_shape_are_refused_by_functions_too(function, shape):
    """Also those that could be broadcast."""
    with pytest.raises(ValueError, match=rf"`mask` of '{function}' must .* \(3, 4\), True"):
        getattr(ops, function)(np.ones((3, 4, 2), "float32"), np.ones(shape, bool))


@pytest.mark.parametrize("shape", [(3, 1), (1, 4), (4, 3), (6, 2), (3, 5), (1, 12)])
def test_a_mask_of_another_shape_is_refused_where_sizes_are_unknown(shape):
    """They are, in a graph of TensorFlow; elsewhere the shapes are known to the call."""
    mean = keras_attnpool.layers.MaskedAveragePooling1D()

    def of_layer(x, mask):
        return mean(x, mask=mask)

    for function in (of_layer, ops.masked_mean, ops.masked_max):
        called = function
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            unknown = [tf.TensorSpec((None, None, 2)), tf.TensorSpec((None, None), "bool")]
            called = tf.function(function, input_signature=unknown)
        x, mask = keras.ops.ones((3, 4, 2)), keras.ops.ones((3, 4), "bool")
        np.testing.assert_array_equal(numpy(called(x, mask)), 1)
        assert numpy(called(x[:0], mask[:0])).shape == (0, 2)
        with pytest.raises(Exception, match=r"\S"):
            numpy(called(x, keras.ops.ones(shape, "bool")))


@pytest.mark.parametrize("function", ["masked_sum", "masked_mean", "masked_max", "masked_softmax"])
def test_additive_masks_are_refused_by_functions_too(function):
    additive = np.array([[0.0, 0.0, -1e9]], "float32")
    x = np.ones((1, 3) if function == "masked_softmax" else (1, 3, 2), "float32")
    with pytest.raises(ValueError, match=rf"`mask` of '{function}' .*pass `mask == 0`"):
        getattr(ops, function)(x, additive)
    kept = numpy(getattr(ops, function)(x, np.array([[1.0, 1.0, 0.0]])))
    target = numpy(getattr(ops, function)(x, np.array([[True, True, False]])))
    np.testing.assert_array_equal(kept, target)


def test_a_mask_of_float_zeros_may_be_an_additive_one():
    with pytest.warns(UserWarning, match="keeps no step.*additive.*mask == 0"):
        ops.as_bool_mask(np.zeros((2, 3), "float32"), np.ones((2, 3, 4)), "reader")


@pytest.mark.parametrize("lengths", [[2, 6], [-1, 2]])
def test_lengths_beyond_the_mask_are_refused(lengths):
    with pytest.raises(ValueError, match=r"`lengths` of lengths_to_mask must lie in \[0, max_.*=5"):
        ops.lengths_to_mask(lengths, max_length=5)
