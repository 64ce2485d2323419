"""Peak memory of one variant in this process, which runs nothing else.

What the process holds with the inputs, after a run on a short text, is taken off. On a CPU Linux
alone tells the peak; on a GPU the backends tell that of the memory they gave out.
"""

import json
import sys
from pathlib import Path
from typing import Any

import keras

from benchmarks.devices import device
from benchmarks.speed import measure
from benchmarks.speed.grid import built, inputs_of


def status(name: str) -> int:
    """Bytes that the system counts for this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status does not tell {name}")


def forget_the_peak() -> int:
    """Bytes held now; the peak so far, of drawing the inputs say, counts no more."""
    if device() == "cpu":
        Path("/proc/self/clear_refs").write_text("5")
        return status("VmRSS")
    if keras.backend.backend() == "torch":
        import torch

        torch.cuda.reset_peak_memory_stats()
        return int(torch.cuda.memory_allocated())
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.reset_memory_stats("GPU:0")
    return _given_out("bytes_in_use", "current")


def peak() -> int:
    """The most bytes that were held at a time."""
    if device() == "cpu":
        return status("VmHWM")
    if keras.backend.backend() == "torch":
        import torch

        return int(torch.cuda.max_memory_allocated())
    return _given_out("peak_bytes_in_use", "peak")


def _given_out(on_jax: str, on_tensorflow: str) -> int:
    """What a backend tells of its memory. JAX's peak is that of the process, which is fresh."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return int(tf.config.experimental.get_memory_info("GPU:0")[on_tensorflow])
    import jax

    counts: dict[str, Any] = jax.devices()[0].memory_stats() or {}
    return int(counts[on_jax])


def main() -> None:
    name, time, dim, heads, batch, mode, gradient = sys.argv[1:]
    layer = built(name, int(dim), int(heads), "float32")
    short = inputs_of(1, 16, int(dim))
    measure.finish(measure.runner(layer, *short, mode, gradient == "True")())
    inputs = [keras.ops.convert_to_tensor(x) for x in inputs_of(int(batch), int(time), int(dim))]
    run = measure.runner(layer, *inputs, mode, gradient == "True")
    held = forget_the_peak()
    measure.finish(run())
    print(json.dumps({"bytes": peak() - held}))


if __name__ == "__main__":
    main()
