"""Peak memory and time of one long bag: whole, in chunks, and written by hand in the framework.

On a CPU each case has a process of its own; on a GPU there are fewer lengths. The bag's features
are given: a training step has gradients of the weights alone. Texts, for layers with a weight per
feature, have gradients of the inputs too.
`python -m benchmarks.speed --bags` writes the file of the backend.
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from benchmarks.devices import device
from benchmarks.speed import measure
from benchmarks.speed.memory import taken_by
from keras_attnpool import layers

# The bags that are held against code by hand, and those that show the growth.
LONG, LONG_DIM = (30_000, 100_000), 1024
GROWING, GROWING_DIM = (1_000, 10_000, 100_000, 1_000_000), 128
ON_GPU = (1_000, 100_000, 1_000_000)
CHUNK = 1000
HIDDEN, HEADS = 128, 4
KINDS = ("training", "prediction", "training, inputs too")
LAYERS: dict[str, Any] = {
    "AttentionPooling": {"hidden_dim": HIDDEN},
    "AttentionPooling, gated": {"hidden_dim": HIDDEN, "gated": True},
    "StructuredSelfAttentionPooling": {"num_heads": HEADS, "hidden_dim": HIDDEN},
    "LearnedQueryPooling": {"num_heads": HEADS},
    "AttentiveStatisticsPooling": {"hidden_dim": HIDDEN},
}
# On texts `(batch, time, dim)`.
PER_FEATURE: dict[str, Any] = {
    "GeneralizedPooling": {"num_heads": 5, "hidden_dim": HIDDEN},
    "MultiDimAttentionPooling": {},
}
TEXTS, SHORT_CHUNK = {"batch": 32, "time": 512, "dim": 256}, 32


class Words:
    """What the equations are written in, on each framework."""

    def __init__(self) -> None:
        backend = keras.backend.backend()
        if backend == "jax":
            import jax
            from jax import numpy as base

            self.sigmoid, self.softmax = jax.nn.sigmoid, jax.nn.softmax
            self.transposed = base.matrix_transpose
        elif backend == "torch":
            import torch as base

            self.sigmoid, self.softmax = base.sigmoid, base.softmax
            self.transposed = lambda x: x.mT
        else:
            import tensorflow as base

            self.sigmoid, self.softmax = base.sigmoid, base.nn.softmax
            self.transposed = base.linalg.matrix_transpose
        self.tanh, self.matmul, self.concat = base.tanh, base.matmul, base.concat


class ByHand(keras.layers.Layer):  # type: ignore[misc]
    """The equation of a layer, for a batch without a mask, as one writes it in the framework."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.case, self.words = name, Words()

    def build(self, input_shape: Any) -> None:
        dim = input_shape[-1]
        shapes = {"hidden": (dim, HIDDEN), "bias": (HIDDEN,), "score": (HIDDEN, 1)}
        if self.case.endswith("gated"):
            shapes |= {"gate": (dim, HIDDEN), "gate_bias": (HIDDEN,)}
        if self.case == "StructuredSelfAttentionPooling":  # whose equation has no bias
            shapes = {"hidden": (dim, HIDDEN), "score": (HIDDEN, HEADS)}
        if self.case == "LearnedQueryPooling":
            shapes = {"query": (1, dim), "mixing": (dim, dim), "bias": (dim,)}
            shapes |= {name: (dim, dim) for name in ("keys", "values")}
        for name, shape in shapes.items():
            setattr(self, name, self.add_weight(name=name, shape=shape))

    def call(self, x: Any, mask: Any = None) -> Any:
        words = self.words
        if self.case == "LearnedQueryPooling":
            return self._query(x)
        hidden = words.matmul(x, self.weight("hidden"))
        if self.case != "StructuredSelfAttentionPooling":
            hidden = hidden + self.weight("bias")
        hidden = words.tanh(hidden)
        if self.case.endswith("gated"):
            gate = words.matmul(x, self.weight("gate")) + self.weight("gate_bias")
            hidden = hidden * words.sigmoid(gate)
        scores = words.matmul(hidden, self.weight("score"))
        weights = words.softmax(words.transposed(scores), -1)
        mean = words.matmul(weights, x)
        if self.case != "AttentiveStatisticsPooling":
            return mean
        variance = words.matmul(weights, (x - mean) ** 2)
        return words.concat([mean, (variance + 1e-12) ** 0.5], axis=-1)

    def _query(self, x: Any) -> Any:
        """Keys and values of all instances, as `MultiHeadAttention` has them."""
        words, size = self.words, x.shape[2] // HEADS
        keys, values = (words.matmul(x, self.weight(name)) for name in ("keys", "values"))
        query, heads = self.weight("query")[None], []
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            scores = words.matmul(query[:, :, part], words.transposed(keys[:, :, part]))
            weights = words.softmax(scores / math.sqrt(size), -1)
            heads.append(words.matmul(weights, values[:, :, part]))
        return words.matmul(words.concat(heads, axis=-1), self.weight("mixing")) + self.weight(
            "bias"
        )

    def weight(self, name: str) -> Any:
        """A weight as a tensor of the framework."""
        return keras.ops.convert_to_tensor(getattr(self, name))


def forms(name: str) -> dict[str, Callable[[], Any]]:
    """How the case of this name is computed."""
    kind, given = getattr(layers, name.split(",")[0]), (LAYERS | PER_FEATURE)[name]
    chunk = CHUNK if name in LAYERS else SHORT_CHUNK
    found = {"layer": lambda: kind(**given), "chunks": lambda: kind(**given, chunk_size=chunk)}
    if name in LAYERS:
        found["by hand"] = lambda: ByHand(name)
    return found


def stepper(layer: Any, bag: Any, kind: str) -> measure.Run:
    """A prediction, or the gradients of the weights, and of the inputs where they are wanted."""
    mode = measure.MODES[keras.backend.backend()][0]
    return measure.runner(layer, bag, None, mode, kind != KINDS[1], kind == KINDS[2])


# On a GPU the cases of one size follow each other in a process.
@functools.lru_cache(1)
def bag_of(batch: int, time: int, dim: int) -> Any:
    """The features."""
    # Made in place: a copy that is freed during the run would hide what the run takes.
    numbers = np.empty((batch, time, dim), "float32")
    np.random.default_rng(0).standard_normal(dtype="float32", out=numbers)
    bag = keras.ops.convert_to_tensor(numbers)
    measure.finish(bag)
    return bag


def measured(case: dict[str, Any]) -> dict[str, Any]:
    """Bytes and seconds of a run, in this process."""
    layer = forms(case["variant"])[case["form"]]()
    layer.build((None, None, case["dim"]))
    bag = bag_of(case["batch"], case["time"], case["dim"])
    run = stepper(layer, bag, case["kind"])
    taken = taken_by(run, lambda: stepper(layer, bag[:1, : 2 * CHUNK + 1], case["kind"]))
    short = device() != "cpu" and case["time"] <= max(LONG) or case["batch"] > 1
    return {"bytes": taken, "seconds": measure.seconds(run, 5 if short else 1)}


def cases() -> list[dict[str, Any]]:
    """All that the table holds, without the figures; the most telling first."""
    long, growing = (
        [time for time in times if device() == "cpu" or time in ON_GPU] for times in (LONG, GROWING)
    )
    found = [
        TEXTS | {"form": form, "variant": name, "kind": KINDS[2]}
        for name in PER_FEATURE
        for form in forms(name)
    ]
    for time, kind in itertools.product(long, KINDS[:2]):
        bag = {"batch": 1, "time": time, "dim": LONG_DIM, "kind": kind}
        found += [bag | {"variant": name, "form": form} for name in LAYERS for form in forms(name)]
    for time in growing:
        bag = {"batch": 1, "time": time, "dim": GROWING_DIM, "kind": KINDS[0]}
        found += [bag | {"variant": name, "form": "chunks"} for name in LAYERS]
    return found
