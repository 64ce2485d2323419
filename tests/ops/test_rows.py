"""Rows that are known before computing, and batches without any."""

import keras
import numpy as np
import pytest
from backend_functions import compiled

from keras_attnpool.ops._rows import empty_batch_safe, rows_at_hand

pytestmark = pytest.mark.every_backend

BACKEND = keras.config.backend()


def known(x, mask):
    """1 where the rows are known in this call, else 0."""
    return x * 0 + (0.0 if rows_at_hand(keras.ops.any(mask, axis=1)) is None else 1.0)


class Known(keras.layers.Layer):
    def call(self, x, mask):
        return known(x, mask)


def both(x):
    return keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(x > 0)


X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]], "float32")


@pytest.mark.parametrize("keep", [[1, 0, 1, 1, 0], [0, 0], [1]])
def test_an_eager_call_knows_them_but_on_jax(keep):
    rows_kept = rows_at_hand(keras.ops.convert_to_tensor(np.array(keep, bool)))
    if BACKEND == "jax":
        assert rows_kept is None
    else:
        assert isinstance(rows_kept, np.ndarray)
        np.testing.assert_array_equal(rows_kept, np.flatnonzero(keep))
    assert float(known(*both(X))[0, 0]) == (BACKEND != "jax")


def test_a_compiled_function_does_not():
    assert float(compiled(known)(*both(X))[0, 0]) == 0


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_a_traced_function_does_not():
    """Neither a plain graph nor a symbolic call; a trace would keep the rows of its example."""
    x, keep = both(X)
    if BACKEND == "tensorflow":
        import tensorflow as tf

        assert float(tf.function(known)(x, keep)[0, 0]) == 0
    elif BACKEND == "torch":
        import torch

        traced = torch.jit.trace(known, (x, keep), check_trace=False)
        assert float(traced(x, keep)[0, 0]) == 0
    symbolic = Known()(keras.Input((2,)), keras.Input((2,), dtype="bool"))
    assert symbolic.shape == (None, 2)


def test_the_gradient_is_not_asked_for_the_rows():
    """The mask may hang on what is trained."""
    layer = keras.layers.Dense(1, kernel_initializer="ones")
    rows_kept = rows_at_hand(layer(X)[:, 0] > 0.5)
    assert rows_kept is None or rows_kept.tolist() == [0, 2]


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_batch_of_any_number_of_rows(rows):
    x, keep = np.ones((rows, 2, 4), "float32"), np.ones((rows, 2), bool)

    def longest(x, keep):
        return keras.ops.amax(keras.ops.where(keep[..., None], x, 0), axis=1)

    tensors = keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(keep)
    longest_steps = keras.ops.convert_to_numpy(empty_batch_safe(longest, *tensors))
    np.testing.assert_array_equal(longest_steps, np.ones((rows, 4)))
