"""The guides on loops of one's own: their code runs, and each trap that they tell of is one."""

import re
from pathlib import Path

import keras
import numpy as np
import pytest
from catalogue import CASES, DIM, LAYERS, randomized

pytestmark = pytest.mark.every_backend

GUIDES = Path(__file__).parent.parent / "docs" / "guides"
BACKEND = keras.backend.backend()
ON_TORCH = pytest.mark.skipif(BACKEND != "torch", reason="a loop of PyTorch")
ON_TENSORFLOW = pytest.mark.skipif(BACKEND != "tensorflow", reason="a loop of TensorFlow")
ON_JAX = pytest.mark.skipif(BACKEND != "jax", reason="a loop of JAX")


def run(page):
    """The names that a guide defines; its asserts state the traps."""
    names = {}
    for code in re.findall(r"^```py\n(.*?)^```", (GUIDES / page).read_text("utf-8"), re.M | re.S):
        exec(code, names)
    return names


@pytest.fixture(scope="module")
def torch_guide():
    return run("pytorch-loops.md")


@ON_TORCH
def test_the_torch_loop_trains_every_weight_with_its_penalty(torch_guide):
    net, ids = torch_guide["Net"](), torch_guide["ids"]
    net.train()
    net(ids)
    torch_guide["penalties"](net).backward()
    kernels = [p for name, p in net.pooling.named_parameters() if name.endswith("kernel")]
    assert kernels and all(p.grad.abs().max() > 0 for p in kernels)


@ON_TORCH
@pytest.mark.parametrize("name", CASES)
def test_strict_loading_into_a_second_instance(torch_guide, name):
    first, second = randomized(CASES[name].model()), randomized(CASES[name].model(), seed=2)
    state = torch_guide["renamed"](first.state_dict(), second)
    second.load_state_dict(state, strict=True)
    for a, b in zip(first.weights, second.weights, strict=True):
        np.testing.assert_array_equal(
            keras.ops.convert_to_numpy(b), keras.ops.convert_to_numpy(a), err_msg=a.path
        )


@ON_TORCH
def test_a_name_alone_makes_the_keys_equal():
    for case, make in LAYERS.items():
        keys = []
        for _ in range(2):
            layer = type(make()).from_config({**make().get_config(), "name": "the_layer"})
            layer.build((None, None, DIM))
            keys.append(list(layer.state_dict()))
        # The dropout states of Keras's own layers inside have no fixed name.
        assert (keys[0] == keys[1]) == (case not in ("bigru", "bilstm", "one_bilstm")), case


@ON_JAX
def test_the_jax_guide():
    names = run("jax-loops.md")
    assert np.isfinite(float(names["loss"]))


@ON_TENSORFLOW
def test_the_tensorflow_guide():
    names = run("tensorflow-loops.md")
    assert np.isfinite(float(names["loss"]))
