"""`layers.get`: a layer by its name, its configuration, or itself."""

import keras
import pytest

from keras_attnpool import layers
from keras_attnpool.layers.names import ENCODERS, POOLINGS

pytestmark = pytest.mark.one_backend("nothing is computed")


@pytest.mark.parametrize("name", [*POOLINGS, *ENCODERS])
def test_every_name_stands_for_a_layer(name):
    cls, sizes = {**POOLINGS, **ENCODERS}[name]
    layer = layers.get(name.replace("_", "-"))
    assert type(layer) is getattr(layers, cls)
    assert {key: getattr(layer, key) for key in sizes} == sizes
    pooled = layer(keras.KerasTensor((None, None, 8)))
    assert len(pooled.shape) == (2 if name in POOLINGS else 3)
    assert f'"{name}"' in layers.get.__doc__


def test_a_class_a_configuration_and_a_layer():
    layer = layers.get({"class_name": "attention", "config": {"hidden_dim": 8, "name": "mine"}})
    assert (layer.hidden_dim, layer.name) == (8, "mine")
    assert type(layers.get("MultiDimAttentionPooling")) is layers.MultiDimAttentionPooling
    assert type(layers.get("GlobalMaxPooling1D")) is keras.layers.GlobalMaxPooling1D
    assert layers.get(layer) is layer
    again = layers.get(keras.saving.serialize_keras_object(layer))
    assert again is not layer and again.get_config() == layer.get_config()


@pytest.mark.parametrize(
    "wrong",
    [
        "attentoin",
        "Layer1D",
        "WindowConv1D",
        None,
        3,
        {"config": {}},
        {"class_name": "attention", "hidden_dim": 8},
        layers.FusionGate,
    ],
)
def test_anything_else_is_an_error_with_the_names(wrong):
    with pytest.raises(ValueError, match="`identifier` of .*get must.*'attention'.*Received"):
        layers.get(wrong)


def test_a_configuration_that_does_not_fit_names_the_layer():
    with pytest.raises(ValueError, match="`hidden_dim` of AttentionPooling"):
        layers.get({"class_name": "attention", "config": {"hidden_dim": -1}})
