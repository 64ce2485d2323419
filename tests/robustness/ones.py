"""One of everything: one head, query, feature, step, channel and row, in a process of its own.

`python -m robustness.ones CLASS ...` compares each call in float32 with the same in float64, whose
equations the contracts hold, and refuses the product that TensorFlow computes beyond its memory on
a CPU: of a batch of several axes and weights that all of it shares.
"""

import inspect
import os
import sys
from collections.abc import Iterator
from typing import Any

import catalogue
import keras
import numpy as np
from backend_functions import numpy

from keras_attnpool import layers, models

SIZES = {
    **{"num_heads": 2, "num_queries": 2, "units": 4, "filters": 4, "hidden_dim": 4, "key_dim": 3},
    **{"max_length": 17, "num_characters": 20, "char_dim": 3, "char_filters": 4, "rank": 2},
    **{"vocabulary_size": 20, "num_classes": 3, "embedding_dim": 6, "hidden_units": 5},
    **{"lstm_units": 3, "gru_units": 3, "feedforward_dim": 8, "num_layers": 2, "kernel_size": 2},
}
# Not sizes of anything that is multiplied.
KEPT = ("max_length", "num_characters", "vocabulary_size", "num_classes", "num_layers")
FORMS: dict[str, list[dict[str, Any]]] = {
    "AttentionPooling": [{}, {"gated": True}],
    "AttentiveStatisticsPooling": [{}, {"per_feature": True}],
    "ConvMultiHeadAttention": [{}, {"parallel": False}],
    "GeneralizedPooling": [{}, {"per_feature": False}, {"chunk_size": 2}],
    "LearnedQueryPooling": [{}, {"num_queries": 9}],
    "LowRankAttentionPooling": [{}, {"context": "learned"}],
    "PositionalSelfAttention": [{}, {"positions": ("earlier", "distance")}, {"per_feature": True}],
    "SAM": [{"mode": "pointwise"}],
    "SequentialAttention": [{}, {"mode": "pointwise"}],
    "TokenWiseAttention": [{}, {"mode": "pointwise"}],
}
# Rows, steps, features.
SHAPES = [(5, 7, 6), (1, 7, 6), (5, 1, 6), (5, 7, 1), (33, 17, 6), (1, 1, 1)]


def arguments(name: str) -> Iterator[dict[str, Any]]:
    """A small class's arguments, with one size after the other as 1, and then all."""
    cls = getattr(layers, name, None) or getattr(models, name)
    base = {each: SIZES[each] for each in inspect.signature(cls).parameters if each in SIZES}
    ones = [each for each in base if each not in KEPT]
    if "backbone" in inspect.signature(cls).parameters and "vocabulary_size" not in base:
        base["backbone"] = catalogue.backbone()
    for form in FORMS.get(name, [{}]):
        yield base | form
        for each in ones:
            # What heads share must be as many as they are.
            shared = ["num_heads"] if each in ("filters", "embedding_dim") else []
            yield base | {one: 1 for one in [each, *shared] if one in base} | form
        yield base | dict.fromkeys(ones, 1) | form


def layer_calls(name: str) -> Iterator[tuple[Any, Any, list[Any]]]:
    """The layer, the same in float64, and what both are called with."""
    rng = np.random.default_rng(0)
    cls = getattr(layers, name)
    for options in arguments(name):
        for rows, time, dim in SHAPES:
            x = rng.normal(size=(rows, time, dim)).astype("float32")
            mask = rng.random((rows, time)) < 0.7
            mask[:, 0] = True
            inputs: list[Any] = [x]
            if name == "CharacterEmbedding":
                inputs = [rng.integers(0, 20, size=(rows, time, 4))]
            elif name == "FusionGate":
                inputs = [x, 2 * x]
            elif name == "PositionFusion":
                inputs = [[x, 2 * x], x]
            elif name == "PairMatching":
                inputs, mask = [[x[:, 0], 2 * x[:, 0]]], None
            elif name == "HierarchicalEncoder":
                inputs, mask = [rng.integers(0, 20, size=(rows, 3, time))], None
            pair = []
            for dtype in ("float32", "float64"):
                with catalogue.policy(dtype):
                    if name == "HierarchicalEncoder":
                        tokens = keras.Input((None,), dtype="int32")
                        words = keras.layers.Embedding(20, dim, mask_zero=True)(tokens)
                        pooled = layers.AttentionPooling()(words)
                        pair.append(cls(keras.Model(tokens, pooled)))
                    else:
                        pair.append(cls(**options))
            yield *pair, [inputs, mask]


def check(name: str) -> float:
    """The largest difference between float32 and float64."""
    worst = 0.0
    if hasattr(layers, name):
        for single, double, (inputs, mask) in layer_calls(name):
            wide = keras.tree.map_structure(
                lambda x: x.astype("float64") if x.dtype.kind == "f" else x, inputs
            )
            masked = {} if mask is None else {"mask": mask}
            double(*wide, **masked), single(*inputs, **masked)
            catalogue.randomized(single)
            double.set_weights(single.get_weights())
            worst = max(worst, difference(single(*inputs, **masked), double(*wide, **masked)))
        return worst
    rng = np.random.default_rng(0)
    for options in arguments(name):
        pair = []
        for dtype in ("float32", "float64"):
            with catalogue.policy(dtype):
                if "backbone" in options:
                    options = options | {"backbone": catalogue.backbone()}
                pair.append(getattr(models, name)(**options))
        catalogue.randomized(pair[0])
        pair[1].set_weights(pair[0].get_weights())
        for rows, time in ((3, 5), (1, 5), (3, 1), (1, 1)):
            # Ids of words, then of their characters or of the words of sentences.
            shapes = [(rows, time, 4)[: len(x.shape)] for x in pair[0].inputs]
            fed: Any = [rng.integers(1, 20, size=shape) for shape in shapes]
            fed = fed if len(fed) > 1 else fed[0]
            worst = max(worst, difference(pair[0](fed), pair[1](fed)))
    return worst


def difference(single: Any, double: Any) -> float:
    """The largest, relative to numbers above 1."""
    found, target = (numpy(keras.tree.flatten(x)[0]).astype("float64") for x in (single, double))
    return float((np.abs(found - target) / np.maximum(1, np.abs(target))).max())


def refuse_the_product() -> None:
    """Makes TensorFlow refuse it."""
    import tensorflow as tf

    multiply = tf.matmul

    def matmul(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
        first, second = (tuple(tf.convert_to_tensor(x).shape)[:-2] for x in (a, b))
        if len(first) > 1 and first != second:
            raise AssertionError(f"a product of {a.shape} by {b.shape}")
        return multiply(a, b, *args, **kwargs)

    tf.matmul = tf.linalg.matmul = matmul


if __name__ == "__main__":
    if os.environ["KERAS_BACKEND"] == "tensorflow":
        refuse_the_product()
    for each in sys.argv[1:]:
        print(each, check(each), flush=True)
