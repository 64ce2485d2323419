"""Constants, counts, and whether values can be read, on each backend and in each kind of trace."""

import keras
import numpy as np
import pytest
from backend_functions import numpy

from keras_attnpool.ops import _devices as devices
from keras_attnpool.ops._devices import values_at_hand

pytestmark = pytest.mark.every_backend

BACKEND = keras.backend.backend()
X = np.array([[1.0, 0.5], [0.0, -2.0]], "float32")


@pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, keras.ops.convert_to_tensor])
def test_an_eager_call_reads_them(make):
    np.testing.assert_array_equal(values_at_hand(make(X)), X)


def traces():
    """Functions that run another one in a trace of the backend."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return [tf.function, lambda f: lambda x: tf.vectorized_map(f, x)]
    if BACKEND == "torch":
        import torch

        def traced(function):
            return lambda x: torch.jit.trace(function, (x,), check_trace=False)

        return [torch.func.vmap, torch.func.grad, traced]
    import jax

    return [jax.jit, jax.vmap, jax.grad]


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("wait", [True, False])
def test_a_traced_or_mapped_function_has_none(wait):
    found = []

    def function(x):
        found.append(values_at_hand(x, wait))
        return keras.ops.sum(x)

    for trace in traces():
        trace(function)(keras.ops.convert_to_tensor(X))
    assert len(found) >= 2 and all(values is None for values in found)


def test_without_waiting_an_accelerator_keeps_its_own(monkeypatch):
    x = keras.ops.convert_to_tensor(X)
    monkeypatch.setattr(devices, "_in_host_memory", lambda x: False)
    assert values_at_hand(x, wait=False) is None
    np.testing.assert_array_equal(values_at_hand(x), X)


def test_a_number_and_a_tensor_of_a_cpu_are_in_host_memory():
    assert devices._in_host_memory([[1, 0]])
    assert devices._in_host_memory(X)
    with keras.device("cpu"):
        assert devices._in_host_memory(keras.ops.convert_to_tensor(X))


def test_a_constant_is_made_once_on_pytorch():
    x = keras.ops.zeros((2, 3))
    made = []

    def make():
        made.append(1)
        return keras.ops.ones((2, 2))

    for _ in range(3):
        assert numpy(devices.constant("of this test", x, make)).sum() == 4
    assert len(made) == (1 if keras.backend.backend() == "torch" else 3)


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="constants of PyTorch")
def test_a_constant_outlives_what_made_it():
    import torch
    from torch._subclasses import FakeTensorMode

    def kept(value):
        return (value, torch.float32, torch.device("cpu")) in devices._CONSTANTS

    def times(x, value):
        return (x * devices.scalar_like(value, x)).sum()

    x = torch.ones(3)
    with torch.inference_mode():
        times(x, 41.0)
    wanted = torch.ones(3, requires_grad=True)
    times(wanted, 41.0).backward()
    assert kept(41.0) and wanted.grad.tolist() == [41.0] * 3
    torch.func.grad(times)(x, 42.0)
    with FakeTensorMode():
        times(torch.ones(3), 43.0)
        # Nor does a fake mode take what is kept.
        times(torch.ones(3), 41.0)
    torch.func.jvp(lambda x: times(x, 44.0), (x,), (x,))
    torch.func.vmap(lambda x: times(x, 45.0))(torch.ones(2, 3))
    assert not kept(42.0) and not kept(43.0)
    assert float(times(x, 42.0)) == 126 and kept(42.0)
    for value in (44.0, 45.0):
        wanted = torch.ones(3, requires_grad=True)
        torch.func.grad(times)(x, value)
        times(wanted, value).backward()
        assert wanted.grad.tolist() == [value] * 3


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="constants of PyTorch")
def test_a_constant_of_another_device_is_not_kept():
    import torch

    x = torch.ones(3)
    with keras.device("meta"):
        assert devices.scalar_like(46.0, x).device.type == "meta"
    assert devices.scalar_like(46.0, x).device.type == "cpu"


def test_constants_are_not_kept_without_end(monkeypatch):
    monkeypatch.setattr(devices, "_CONSTANTS", {})
    x = keras.ops.zeros((2,))
    for value in range(3 * devices.MOST_CONSTANTS):
        assert float(numpy(devices.scalar_like(value, x))) == value
    large = (devices.LARGEST_CONSTANT + 1,)
    devices.constant("large", x, lambda: keras.ops.zeros(large))
    assert len(devices._CONSTANTS) <= devices.MOST_CONSTANTS
    assert "large" not in {name for name, *_ in devices._CONSTANTS}
