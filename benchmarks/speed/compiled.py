"""Every layer as the backend's compiler makes it, beside compiled peers, in float32 and bfloat16.

PyTorch's inductor, XLA of JAX and of TensorFlow. One layer after the other: what is measured is in
the file, and the next call goes on from there.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.speed import grid, measure
from benchmarks.speed.variants import FORMS, LAYERS

PEERS = ("MultiHeadAttention, average", "TransformerEncoder, average")
PRECISIONS = ("float32", "mixed_bfloat16")


def settings(**sizes: int) -> list[grid.Setting]:
    """32 x 256 words on a CPU, more on a GPU, with gradients."""
    sizes = {"time": 256, "dim": 128, "heads": 4} | sizes
    return [
        grid.Setting(mode="compiled", precision=precision, gradient=True, **sizes)
        for precision in PRECISIONS
    ]


def cases(
    known: list[dict[str, Any]],
    chosen: list[grid.Setting],
    rounds: int,
    seconds: float,
    only: list[str] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[dict[str, Any]]:
    """The cases that are not known yet, as long as another one is sure to end in time."""
    start, longest = clock(), 0.0
    done = {(case["layer"], case["precision"]) for case in known}
    for setting in chosen:
        peers: dict[str, measure.Run] = {}
        for layer in LAYERS:
            wanted = only is None or any(part.lower() in layer.lower() for part in only)
            if (layer, setting.precision) in done or not wanted:
                continue
            began = clock()
            if began - start + 1.5 * longest > seconds:
                return
            yield _case(layer, setting, rounds, peers)
            longest = max(longest, clock() - began)


def _case(
    layer: str, setting: grid.Setting, rounds: int, peers: dict[str, measure.Run]
) -> dict[str, Any]:
    """What a layer costs; how many times as much its peers, its other forms and its eager self."""
    x, mask = grid.inputs_of(setting.batch, setting.time, setting.dim)
    case: dict[str, Any] = {"layer": layer, **dataclasses.asdict(setting), "left_out": {}}
    made: dict[str, Any] = {}

    def run(name: str, mode: str = "compiled") -> measure.Run | None:
        variant = grid.variants()[name]
        reason = grid.reason_to_leave_out(variant, setting)
        try:
            if reason is None:
                of = made.get(variant.of)
                made[name] = grid.built(name, setting.dim, setting.heads, setting.precision, of)
                call = measure.runner(made[name], x, mask, mode, setting.gradient)
                measure.finish(call())
                return call
        except Exception as error:  # A compiler's refusal is a result.
            reason = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
        case["left_out"][name if mode == "compiled" else "eager"] = reason
        return None

    ours = run(layer)
    if ours is None:
        return case
    runs: dict[str, Any] = {layer: ours}
    runs |= {form: run(form) for form, variant in FORMS.items() if variant.of == layer}
    runs["eager"] = run(layer, "eager")
    for peer in PEERS:
        peers[peer] = peers.get(peer) or run(peer)
    runs |= peers
    costs = measure.in_turns({name: run for name, run in runs.items() if run}, rounds)
    case["cost"] = grid.spread(costs[layer])
    case["ratios"] = {
        name: grid.spread(np.array(values) / np.array(costs[layer]))
        for name, values in costs.items()
        if name != layer
    }
    return case
