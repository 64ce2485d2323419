"""A backend's own recurrent kernel against Keras's layer, and the order of steps."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy, on_gpu
from layer_contract import probed

from keras_attnpool.ops._devices import masks_are_cheap
from keras_attnpool.ops._recurrence import BothDirections, recurrent_states

pytestmark = pytest.mark.every_backend

# JAX has float64 only when it is switched on for the whole process.
WIDE = [] if keras.backend.backend() == "jax" else ["float64"]
KINDS = {"LSTM": keras.layers.LSTM, "GRU": keras.layers.GRU}


def built(kind, dim, units, **arguments):
    """A layer whose weights and biases are all random."""
    layer = KINDS[kind](units, return_sequences=True, **arguments)
    layer.build((None, None, dim))
    rng = np.random.default_rng(0)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    return layer


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("shape", [(3, 7, 4), (1, 1, 2)])
def test_the_kernel_is_the_layer(kind, use_bias, shape):
    layer = built(kind, shape[-1], 5, use_bias=use_bias)
    x = np.random.default_rng(1).normal(size=shape).astype("float32")
    np.testing.assert_allclose(
        numpy(recurrent_states(layer, keras.ops.convert_to_tensor(x))), numpy(layer(x)), atol=2e-6
    )


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_the_kernel_are_those_of_the_layer(kind):
    layer = built(kind, 4, 5)
    x = np.random.default_rng(1).normal(size=(3, 7, 4)).astype("float32")
    probe = np.random.default_rng(2).normal(size=(3, 7, 5)).astype("float32")

    target = gradients(layer, x, lambda t: probed(layer(t), probe))
    slopes = gradients(layer, x, lambda t: probed(recurrent_states(layer, t), probe))
    np.testing.assert_allclose(slopes[0], target[0], rtol=1e-4, atol=1e-5)
    for path, gradient in target[1].items():
        np.testing.assert_allclose(slopes[1][path], gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16", *WIDE])
@pytest.mark.parametrize("kind", KINDS)
def test_other_precisions(kind, dtype):
    layer = built(kind, 4, 5, dtype=dtype)
    x = np.random.default_rng(1).normal(size=(3, 7, 4)).astype(layer.compute_dtype)
    all_states = recurrent_states(layer, keras.ops.convert_to_tensor(x))
    assert keras.backend.standardize_dtype(all_states.dtype) == layer.compute_dtype
    tolerance = 1e-12 if dtype == "float64" else 0
    np.testing.assert_allclose(
        numpy(keras.ops.cast(all_states, "float64")),
        numpy(keras.ops.cast(layer(x), "float64")),
        atol=tolerance,
    )


def test_kept_steps_go_to_the_front_and_back():
    mask = np.array([[True, False, True, True], [False, False, False, False]])
    steps = BothDirections(keras.ops.convert_to_tensor(mask))
    x = np.arange(8, dtype="float32").reshape(2, 4, 1)
    front = numpy(steps.to_front(keras.ops.convert_to_tensor(x)))
    # Where masks are cheap, they stay where they are.
    order = [0, 1, 2, 3] if masks_are_cheap() else [0, 2, 3]
    np.testing.assert_array_equal(front[0, : len(order), 0], order)
    places = numpy(steps.to_places(keras.ops.convert_to_tensor(front)))
    np.testing.assert_array_equal(places[mask], x[mask])


@pytest.mark.skipif(not masks_are_cheap(), reason="the recurrence is shown no mask here")
def test_moved_steps_and_shown_masks_give_the_same(monkeypatch):
    layers = [built("GRU", 4, 5), built("GRU", 4, 5)]
    rng = np.random.default_rng(1)
    x = keras.ops.convert_to_tensor(rng.normal(size=(4, 7, 4)).astype("float32"))
    mask = rng.random((4, 7)) < 0.6
    mask[0], mask[3] = True, False

    def states():
        steps = BothDirections(keras.ops.convert_to_tensor(mask))
        both = steps.read(steps.to_front(x), *layers)
        return [numpy(steps.to_places(each))[mask] for each in both]

    masked = states()
    monkeypatch.setattr("keras_attnpool.ops._recurrence.masks_are_cheap", lambda: False)
    for one, other in zip(masked, states(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_no_row_gives_no_states():
    layer = built("GRU", 4, 5)
    all_states = recurrent_states(layer, keras.ops.zeros((0, 3, 4)))
    assert tuple(all_states.shape) == (0, 3, 5)


@pytest.mark.skipif(
    keras.backend.backend() != "torch" or on_gpu(),
    reason="the kernel is PyTorch's for CPUs; Keras itself calls that of GPUs",
)
def test_pytorch_takes_its_kernel(monkeypatch):
    """Keras's loop over the steps is not run."""
    layer = built("GRU", 4, 5)
    monkeypatch.setattr(type(layer), "call", None)
    assert tuple(recurrent_states(layer, keras.ops.ones((2, 3, 4))).shape) == (2, 3, 5)
