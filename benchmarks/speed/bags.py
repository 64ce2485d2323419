"""Peak memory and time of one long bag, whole and in chunks: a training step on given features.

Each case in a process of its own: `python -m benchmarks.speed.bags` on the backend of
KERAS_BACKEND (torch or jax) writes `bags_<backend>_cpu.json` beside the other results.
"""

import json
import subprocess
import sys
import time
from typing import Any

import keras
import numpy as np

from benchmarks import devices
from benchmarks.speed import measure
from benchmarks.speed.__main__ import RESULTS
from benchmarks.speed.memory import forget_the_peak, peak
from keras_attnpool import layers

DIM, CHUNK = 256, 500
LENGTHS = (1_000, 10_000, 100_000)
LAYERS: dict[str, Any] = {
    "AttentionPooling": {"hidden_dim": 128},
    "AttentionPooling, gated": {"hidden_dim": 128, "gated": True},
    "StructuredSelfAttentionPooling": {"num_heads": 5, "hidden_dim": 128},
    "LearnedQueryPooling": {"num_heads": 4},
    "AttentiveStatisticsPooling": {"hidden_dim": 128},
}


def step(layer: Any, bag: Any) -> Any:
    """One gradient of the weights, which are few: the bag's features are given."""
    if keras.backend.backend() == "jax":
        import jax

        weights = [v.value for v in layer.trainable_variables]

        def loss(weights: Any, bag: Any) -> Any:
            return measure.loss_of(layer.stateless_call(weights, [], bag)[0])

        compiled = jax.jit(jax.grad(loss)).lower(weights, bag).compile()
        return lambda: compiled(weights, bag)
    import torch

    weights = [v.value for v in layer.trainable_variables]
    return lambda: torch.autograd.grad(measure.loss_of(layer(bag)), weights)


def measured(name: str, length: int, chunk_size: int | None) -> dict[str, Any]:
    """Bytes and seconds of a step, in this process."""
    kind, options = name.split(",")[0], LAYERS[name]
    layer = getattr(layers, kind)(**options, chunk_size=chunk_size)
    layer.build((None, None, DIM))
    bag = np.random.default_rng(0).normal(size=(1, length, DIM)).astype("float32")
    bag = keras.ops.convert_to_tensor(bag)
    measure.finish(step(layer, bag[:, :64])())
    run = step(layer, bag)
    held = forget_the_peak()
    measure.finish(run())
    taken = peak() - held
    start = time.perf_counter()
    measure.finish(run())
    return {"bytes": taken, "seconds": time.perf_counter() - start}


def main() -> None:
    if len(sys.argv) > 1:
        name, length, chunk_size = sys.argv[1:]
        print(json.dumps(measured(name, int(length), int(chunk_size) or None)))
        return
    cases = []
    for name in LAYERS:
        for length in LENGTHS:
            for chunk_size in (0, CHUNK):
                command = [sys.executable, "-m", "benchmarks.speed.bags", name, str(length)]
                done = subprocess.run(
                    [*command, str(chunk_size)], check=True, capture_output=True, text=True
                )
                case = {"variant": name, "time": length, "chunk_size": chunk_size or None}
                cases.append(case | json.loads(done.stdout.splitlines()[-1]))
                print(cases[-1], flush=True)
    backend = keras.backend.backend()
    data = {"backend": backend, "device": devices.device(), "versions": measure.versions()}
    data |= {"dim": DIM, "batch": 1, "cases": cases}
    path = RESULTS / f"bags_{backend}{devices.suffix() or '_cpu'}.json"
    path.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
