"""Shuffles some weights of a trained model inside a context."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np

from keras_attnpool.analysis._graph import layers_by_path


def weights_around(model: keras.Model, path: str, owner: str) -> tuple[list[Any], list[Any]]:
    """Returns the weights of the layer at `path`, and the weights of all earlier layers.

    The order follows the graph. Models that contain the layer do not count as earlier layers.
    """
    layers = layers_by_path(model, owner)
    before = list(layers)[: list(layers).index(path)]
    pooling = list(layers[path].weights)
    known = {id(weight) for weight in pooling}
    encoder: dict[int, Any] = {}
    for name in before:
        if not path.startswith(f"{name}/"):
            encoder |= {id(w): w for w in layers[name].weights if id(w) not in known}
    return pooling, list(encoder.values())


@contextmanager
def shuffled(weights: list[Any], rng: np.random.Generator) -> Iterator[None]:
    """Inside the context, the values of each weight are shuffled, so that nothing learned is left.

    The values keep their mean and spread, so that no activation saturates. Integers, such as the
    states of random generators, are not changed.
    """
    weights = [w for w in weights if keras.backend.is_float_dtype(w.dtype)]
    trained = [keras.ops.convert_to_numpy(weight.value) for weight in weights]
    try:
        for weight, values in zip(weights, trained, strict=True):
            weight.assign(rng.permutation(values.ravel()).reshape(values.shape))
        yield
    finally:
        for weight, values in zip(weights, trained, strict=True):
            weight.assign(values)
