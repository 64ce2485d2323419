"""How the weights of a layer or model start: each with a path and with numbers of its own."""

import itertools

import keras
import numpy as np
import pytest
from backend_functions import numpy
from catalogue import CASES, DIM, LAYERS

# What a backend makes of an initializer with a seed, the contract of the layers asks of each.
pytestmark = pytest.mark.one_backend("Keras gives paths and seeds alike under every backend")


@pytest.mark.parametrize("name", CASES)
def test_no_two_weights_have_one_path(name):
    """Nor have the states of dropout, by which PyTorch's `state_dict` would lose one."""
    paths = [variable.path for variable in CASES[name].model().variables]
    assert len(set(paths)) == len(paths), sorted(p for p in paths if paths.count(p) > 1)


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("name", LAYERS)
def test_no_two_weights_start_with_the_same_numbers(name, seed):
    """Kernels and biases from initializers with seeds of their own, which draw what they drew."""
    config = LAYERS[name]().get_config()
    # Hidden layers as wide as the inputs: biases with one entry could not be told apart.
    wanted = {"seed": seed, "reduction": 1, "mode": "dense"}
    config.update({key: value for key, value in wanted.items() if key in config})
    for argument in [argument for argument in config if argument.endswith("_initializer")]:
        config[argument] = keras.initializers.RandomNormal(seed=3 if "bias" in argument else 4)
    layer = type(LAYERS[name]()).from_config(config)
    layer.build((None, DIM, DIM))
    arrays = {weight.path: numpy(weight).ravel() for weight in layer.weights}
    for (first, a), (second, b) in itertools.combinations(arrays.items(), 2):
        if min(a.size, b.size) > 2 and np.ptp(a) > 0:
            size = min(a.size, b.size)
            assert not np.allclose(a[:size], b[:size]), (first, second)
