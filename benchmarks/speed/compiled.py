"""Every layer as the backend's compiler makes it, beside compiled peers, in float32 and bfloat16.

PyTorch's inductor, XLA of JAX and of TensorFlow. One layer after the other: what is measured is in
the file, and the next call goes on from there. What a layer, a form or a peer fails with is a
result too, and stops no other.
"""

import contextlib
import dataclasses
import signal
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


class TimeIsUp(BaseException):
    """The time is over. Not an Exception, which a compiler, or `_case`, would take for its own."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises `TimeIsUp` when the seconds are over, as soon as Python has its turn."""

    def stop(*_: Any) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    # Again each second: what a finalizer raises, say of a weak reference, Python only prints.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def cases(
    known: list[dict[str, Any]],
    chosen: list[grid.Setting],
    rounds: int,
    seconds: float,
    only: list[str] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[dict[str, Any]]:
    """The cases that are not known yet, as long as another one is likely to end in time.

    One that does not is cut off. The next call begins with it, and has all its time for it; where
    that is too little, the case says so, and the call after goes on behind it, unless it has more
    time to give.
    """
    start, longest = clock(), 0.0
    done = {key(case) for case in known if case.get("seconds", seconds) >= seconds}
    for setting in chosen:
        peers: dict[str, measure.Run | str] = {}
        for layer in LAYERS:
            if (layer, setting.precision) in done or not grid.wanted(layer, only):
                continue
            began = clock()
            left = seconds - (began - start)
            if 1.5 * longest > left:
                return
            try:
                with time_limit(left):
                    case = _case(layer, setting, rounds, peers)
            except TimeIsUp:
                if longest > 0:
                    return
                case = _nothing_yet(layer, setting)
                case["left_out"][layer] = f"takes more than {seconds / 60:g} minutes"
                case["seconds"] = seconds
            yield case
            longest = max(longest, clock() - began)


def key(case: dict[str, Any]) -> tuple[str, str]:
    """What tells the cases of a file apart."""
    return case["layer"], case["precision"]


def _nothing_yet(layer: str, setting: grid.Setting) -> dict[str, Any]:
    return {"layer": layer, **dataclasses.asdict(setting), "left_out": {}}


def _reason(error: Exception) -> str:
    first, *rest = str(error).splitlines() or [""]
    if first.endswith(":") and rest:  # A compiler's name; what it refused comes behind it.
        first = f"{first} {rest[0].strip()}"
    return f"{type(error).__name__}: {first[:160]}"


def _case(
    layer: str, setting: grid.Setting, rounds: int, peers: dict[str, measure.Run | str]
) -> dict[str, Any]:
    """What a layer costs; how many times as much its peers, its other forms and its eager self."""
    x, mask = grid.inputs_of(setting.batch, setting.time, setting.dim)
    case = _nothing_yet(layer, setting)
    made: dict[str, Any] = {}

    def run(name: str, mode: str = "compiled") -> measure.Run | str:
        """What runs a variant, or why nothing does."""
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
            reason = _reason(error)
        return str(reason)

    runs: dict[str, Any] = {layer: run(layer)}
    if not isinstance(runs[layer], str):
        runs |= {form: run(form) for form, variant in FORMS.items() if variant.of == layer}
        runs["eager"] = run(layer, "eager")
        for peer in PEERS:
            peers[peer] = peers.get(peer) or run(peer)
        runs |= peers
    case["left_out"] = {name: why for name, why in runs.items() if isinstance(why, str)}
    runs = {name: run for name, run in runs.items() if not isinstance(run, str)}
    if layer not in runs:
        return case
    try:
        costs = measure.in_turns(runs, rounds)
    except Exception as error:  # All of them together may be too much for a device.
        case["left_out"][layer] = _reason(error)
        return case
    case["cost"] = grid.spread(costs[layer])
    case["ratios"] = {
        name: grid.spread(np.array(values) / np.array(costs[layer]))
        for name, values in costs.items()
        if name != layer
    }
    return case
