"""Counts what a call has an accelerator do, which needs none: the counts are those of any machine.

On PyTorch the operations that compute, each of which a GPU is told by itself; on JAX the kernels of
the program that the compiler made, for the device at hand.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest import mock

import keras
from keras import ops

from benchmarks.speed import comparisons, grid
from benchmarks.speed.variants import LAYERS, PEERS, QUERIES
from keras_attnpool import layers
from keras_attnpool.ops import _devices

BATCH, TIME, DIM, HEADS = 8, 64, 64, 4
# Neither computes: memory that is not filled, and names for what is there. Views are told apart by
# PyTorch itself.
FREE_OF_TORCH = {"empty", "empty_like", "new_empty", "new_empty_strided", "_unsafe_view"}
FREE_OF_HLO = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}


def probe(name: str) -> Any:
    """An efficient probe; the published order reads the weights of our layer."""
    probes = comparisons.probes(HEADS)
    grid.build(probes["the efficient probe"], (BATCH, TIME, DIM))
    return probes[name]


COUNTED: dict[str, Callable[[], Any]] = {
    name: lambda variant=variant: variant.make(DIM, HEADS)
    for name, variant in {**LAYERS, **PEERS, **QUERIES}.items()
    if name not in ("GeneralizedPooling, chunks", "GlobalAveragePooling1D")  # a loop; ours
} | {
    "GeneralizedPooling, scalar": lambda: layers.GeneralizedPooling(
        HEADS, DIM // 2, per_feature=False
    ),
    "PositionalSelfAttention, later words": lambda: layers.PositionalSelfAttention(
        DIM, positions=("later",)
    ),
    **{
        name: lambda name=name: grid.built(name, DIM, HEADS, "float32")
        for name in ("LAMA, its products alone", "Generalized Pooling, all weights at once")
    },
    "GeneralizedPooling, bfloat16": lambda: layers.GeneralizedPooling(
        HEADS, DIM // 2, dtype="mixed_bfloat16"
    ),
    "the efficient probe": lambda: probe("the efficient probe"),
    "the efficient probe, its published order": lambda: probe("its published order"),
    "MPSAN's layers": lambda: comparisons.Multiple(DIM),
    "squeeze and excitation": lambda: comparisons.SqueezeExcite(DIM),
}
# Forward, and with gradients.
TARGETS = {
    "MaskedAveragePooling1D": (6, 10),
    "AttentionPooling": (9, None),
    "GeneralizedPooling": (14, 36),
    "GeneralizedPooling, scalar": (12, 32),
    "MultiDimAttentionPooling": (12, None),
    "ConvMultiHeadAttention": (26, 70),
    "PositionalSelfAttention, near words": (20, 50),
    "DirectionalSelfAttention": (28, 75),
}
# Those that we have struck; docs/targets.md has the reasons.
STRUCK = {
    "AttentionPooling": (None, 22),
    "LowRankAttentionPooling": (18, 48),
    "MultiDimAttentionPooling": (None, 26),
    "PositionalSelfAttention, later words": (15, 36),
    "BlockSelfAttention": (60, 140),
    "SequentialAttention": (24, 64),
}


def counted(name: str) -> dict[str, Any]:
    """The counts of a layer, forward and with gradients, in the form that accelerators are given.

    `sent` is how many constants PyTorch copies to the device in a forward call, and waits for.
    """
    count = {"jax": _jax, "torch": _torch}[keras.backend.backend()]
    keras.utils.set_random_seed(0)
    with mock.patch.object(_devices, "on_cpu", return_value=False):
        layer = COUNTED[name]()
        inputs = keras.random.normal((BATCH, TIME, DIM))
        mask = ops.ones((BATCH, TIME), dtype="bool")
        grid.build(layer, inputs.shape)
        counts = count(layer, inputs, mask)
    return {"layer": name, **counts}


def _torch(layer: Any, inputs: Any, mask: Any) -> dict[str, Any]:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counts(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.of: Counter[str] = Counter()

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = function.overloadpacket.__name__
            if name == "lift_fresh" or not (function.is_view or name in FREE_OF_TORCH):
                self.of[name] += 1
            return function(*args, **(kwargs or {}))

    def launches(with_gradients: bool) -> Counter[str]:
        wanted = inputs.detach().requires_grad_(with_gradients)
        with torch.set_grad_enabled(with_gradients), Counts() as counts:
            output = layer(wanted, mask=mask)
            if with_gradients:
                output.sum().backward()
        return counts.of

    layer(inputs, mask=mask)  # The first call alone makes some constants.
    forward, training = launches(False), launches(True)
    # What makes a tensor of a number ends in this operation.
    sent = forward.pop("lift_fresh", 0)
    training.pop("lift_fresh", 0)
    return {"forward": forward.total(), "training": training.total(), "sent": sent}


def _jax(layer: Any, inputs: Any, mask: Any) -> dict[str, Any]:
    import jax

    weights = [v.value for v in layer.trainable_variables]
    others = [v.value for v in layer.non_trainable_variables]

    def forward(weights: Any, inputs: Any, mask: Any) -> Any:
        return layer.stateless_call(weights, others, inputs, mask=mask)[0]

    # With the loss itself, or the compiler leaves the forward pass out where it can.
    training = jax.value_and_grad(lambda w, x, m: ops.sum(forward(w, x, m)), argnums=(0, 1))

    def kernels(function: Any) -> int:
        return kernels_of(jax.jit(function).lower(weights, inputs, mask).compile().as_text())

    return {"forward": kernels(forward), "training": kernels(training)}


def kernels_of(program: str) -> int:
    """The kernels of a compiled program's text: what is fused counts as one, as does a loop."""
    entry = program[program.index("\nENTRY ") :]
    entry = entry[: entry.index("\n}")]
    operations = re.findall(r"^ +(?:ROOT )?%?\S+ = (?:\(.*?\)|\S+) ([\w-]+)\(", entry, re.M)
    return sum(operation not in FREE_OF_HLO for operation in operations)
