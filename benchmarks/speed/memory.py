"""Peak memory of one variant in a process that runs nothing else.

What the process holds with the inputs, after a run on a short text, is taken off. On a CPU Linux
alone tells the peak; on a GPU the backends tell that of the memory they gave out.
"""

import ctypes
import multiprocessing
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import keras

from benchmarks.devices import device, status
from benchmarks.speed import measure
from benchmarks.speed.grid import built, inputs_of


def forget_the_peak() -> int:
    """Bytes held now; the peak so far, of drawing the inputs say, counts no more."""
    if device() == "cpu":
        # What was freed goes back to the system, or a run could take it unseen.
        ctypes.CDLL(None).malloc_trim(0)
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


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives in a process that has imported, and done nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([function.__module__])
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(function, *arguments).result()


def peak_memory(*arguments: Any) -> dict[str, Any]:
    """The peak of a variant, see `taken`, or why there is none."""
    try:
        return {"bytes": apart(taken, *arguments)}
    except BrokenProcessPool:
        return {"failed": ["the system ended its process"]}
    except Exception as error:  # A refusal is a result.
        # Keras puts a layer's arguments behind the backend's words.
        if re.search(r"out of memory|RESOURCE_EXHAUSTED", str(error), re.IGNORECASE):
            return {"failed": ["out of memory"]}
        return {"failed": [str(error).strip().splitlines()[-1]]}


def taken(name: str, time: int, dim: int, heads: int, batch: int, gradient: bool = True) -> int:
    """Bytes that a run of a variant takes beside its inputs."""
    mode = measure.MODES[keras.backend.backend()][0]
    layer = built(name, dim, heads, "float32")
    # Not on the inputs themselves: TensorFlow and JAX keep memory of one run for the next.
    measure.finish(measure.runner(layer, *inputs_of(1, 16, dim), mode, gradient)())
    inputs = [keras.ops.convert_to_tensor(x) for x in inputs_of(batch, time, dim)]
    run = measure.runner(layer, *inputs, mode, gradient)
    held = forget_the_peak()
    measure.finish(run())
    return peak() - held
