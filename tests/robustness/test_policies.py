"""What the layers inside of a layer compute in: after a new policy, and in float16."""

import keras
import numpy as np
import pytest
from backend_functions import numpy
from catalogue import DIM, LAYERS, MASK, STEPS, policy, randomized

pytestmark = pytest.mark.every_backend

# Stated in the guide on precision: they compute all in float32 inside under `mixed_float16`.
WIDE = {
    *("MultiDimAttentionPooling", "PositionalSelfAttention"),
    *("DirectionalSelfAttention", "BlockSelfAttention"),
}


def parts(layer):
    return layer._flatten_layers(include_self=False)


def dtypes(layer):
    """What the layer and those inside with weights compute in, by their paths below its name."""
    computing = [layer, *(part for part in parts(layer) if part.weights)]
    return {part.path.partition("/")[2]: part.compute_dtype for part in computing}


# Keras hands a policy on alike under every backend: a layer with parts inside, and one without.
EVERYWHERE = ("multi_dim", "attention")
once = pytest.mark.one_backend("takes its policy as those that run everywhere do")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in EVERYWHERE else once) for name in LAYERS]
)
def test_a_policy_set_after_build_is_one_set_before(name):
    with policy("mixed_float16"):
        target = randomized(LAYERS[name](), (None, None, DIM))
    layer = randomized(LAYERS[name](), (None, None, DIM))
    layer.dtype_policy = "mixed_float16"
    assert dtypes(layer) == dtypes(target)
    np.testing.assert_array_equal(
        numpy(layer(STEPS, mask=MASK)), numpy(target(STEPS, mask=MASK)), strict=True
    )
    layer.dtype_policy = "float32"
    assert set(dtypes(layer).values()) == {"float32"}


def test_the_layers_that_compute_in_float32_inside():
    wide = set()
    with policy("mixed_float16"):
        for make in LAYERS.values():
            layer = randomized(make(), (None, None, DIM))
            if any(part.compute_dtype == "float32" for part in parts(layer)):
                wide.add(type(layer).__name__)
    assert wide == WIDE
    assert keras.config.dtype_policy().name == "float32"
