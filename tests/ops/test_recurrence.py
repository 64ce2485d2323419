"""A backend's own recurrent kernel against Keras's layer, and the order of steps."""

import keras
import numpy as np
import pytest
from backend_functions import numpy, on_gpu

from keras_attnpool.ops._devices import masks_are_cheap
from keras_attnpool.ops._recurrence import BothDirections, recurrent_states

pytestmark = pytest.mark.every_backend


def built():
    """A layer whose weights and biases are all random."""
    layer = keras.layers.GRU(5, return_sequences=True)
    layer.build((None, None, 4))
    rng = np.random.default_rng(0)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    return layer


@pytest.mark.skipif(not masks_are_cheap(), reason="the recurrence is shown no mask here")
def test_moved_steps_and_shown_masks_give_the_same(monkeypatch):
    layers = [built(), built()]
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


@pytest.mark.skipif(
    keras.backend.backend() != "torch" or on_gpu(),
    reason="the kernel is PyTorch's for CPUs; Keras itself calls that of GPUs",
)
def test_pytorch_takes_its_kernel(monkeypatch):
    """Keras's loop over the steps is not run."""
    layer = built()
    monkeypatch.setattr(type(layer), "call", None)
    assert tuple(recurrent_states(layer, keras.ops.ones((2, 3, 4))).shape) == (2, 3, 5)
