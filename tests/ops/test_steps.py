import keras
import numpy as np
import pytest
from backend_functions import numpy

from keras_attnpool.ops._steps import counted, looked_up, take_steps
from keras_attnpool.ops.masking import masked_softmax

pytestmark = pytest.mark.every_backend

X = np.arange(24, dtype="float32").reshape(2, 4, 3)
STEPS = np.array([[3, 0], [1, 1]], "int32")
only_torch = pytest.mark.skipif(
    keras.config.backend() != "torch", reason="PyTorch alone traces a call by running it"
)


@pytest.mark.parametrize("count", [7, 2**17])
def test_what_is_looked_up_is_what_is_computed(count):
    """In a table, and where the table would be too large."""

    def compute(keys):
        return [keys + 1, keras.ops.concatenate([keys * keys, -keys], axis=1)]

    keys = keras.ops.transpose(counted(2, 5))
    for _ in range(2):
        plus, rest = looked_up(("a test", count), keys, count, (1, 2), compute)
        assert numpy(plus).tolist() == [[3], [4], [5]]
        assert numpy(rest).tolist() == [[4, -2], [9, -3], [16, -4]]


@only_torch
@pytest.mark.filterwarnings("ignore")
def test_a_trace_takes_steps_of_other_batches():
    import torch

    traced = torch.jit.trace(take_steps, (torch.from_numpy(X[:1, :1]), torch.zeros(1, 1).int()))
    assert "take_along_dim" not in str(traced.graph)
    found = traced(torch.from_numpy(X), torch.from_numpy(STEPS))
    assert (numpy(found) == numpy(take_steps(X, STEPS))).all()


@only_torch
@pytest.mark.filterwarnings("ignore")
def test_a_trace_of_one_step_serves_longer_texts():
    import torch

    logits = torch.from_numpy(X[..., 0])
    traced = torch.jit.trace(masked_softmax, (logits[:, :1], torch.ones(2, 1, dtype=torch.bool)))
    found = traced(logits, torch.ones(2, 4, dtype=torch.bool))
    np.testing.assert_allclose(numpy(found), numpy(masked_softmax(logits)), rtol=1e-6)
