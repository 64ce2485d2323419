"""Peak memory of one variant: on a CPU in a process that runs nothing else.

What the process holds with the inputs, after a run before it, is taken off. On a CPU Linux with
glibc alone tells the peak, and the run before is on a short text. On a GPU PyTorch and TensorFlow
tell the peak of the memory they gave out, and JAX's compiler tells how much memory its program
takes.
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


def taken_by(run: measure.Run, short: Callable[[], measure.Run]) -> int:
    """Bytes that a run takes at a time, beside what is held after one before it.

    On a CPU this is a `short` one: TensorFlow and JAX keep memory of one run for the next.
    """
    if device() != "cpu" and keras.backend.backend() == "jax":
        sizes = run.func.memory_analysis()  # type: ignore[attr-defined]
        return int(sizes.temp_size_in_bytes + sizes.output_size_in_bytes)
    measure.finish(run() if device() != "cpu" else short()())
    held = _forget_the_peak()
    measure.finish(run())
    return _peak() - held


def _forget_the_peak() -> int:
    """Bytes held now; the peak so far, of drawing the inputs say, counts no more."""
    if device() == "cpu":
        peak = Path("/proc/self/clear_refs")
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if peak.exists() else None
        if trim is None:
            raise SystemExit(
                "python -m benchmarks.speed: on a CPU --memory, --bags, and the peaks of --growth "
                "and --targets need Linux with glibc"
            )
        # What was freed goes back to the system, or a run could take it unseen.
        trim(0)
        peak.write_text("5")
        return status("VmRSS")
    if keras.backend.backend() == "torch":
        import torch

        torch.cuda.reset_peak_memory_stats()
        return int(torch.cuda.memory_allocated())
    import tensorflow as tf

    tf.config.experimental.reset_memory_stats("GPU:0")
    return int(tf.config.experimental.get_memory_info("GPU:0")["current"])


def _peak() -> int:
    """The most bytes that were held at a time."""
    if device() == "cpu":
        return status("VmHWM")
    if keras.backend.backend() == "torch":
        import torch

        return int(torch.cuda.max_memory_allocated())
    import tensorflow as tf

    return int(tf.config.experimental.get_memory_info("GPU:0")["peak"])


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives in a process that has imported, and done nothing else.

    A GPU's memory is told run by run, so that no process has to start for each.
    """
    if device() != "cpu":
        return function(*arguments)
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
    inputs = [keras.ops.convert_to_tensor(x) for x in inputs_of(batch, time, dim)]
    run = measure.runner(layer, *inputs, mode, gradient)
    return taken_by(run, lambda: measure.runner(layer, *inputs_of(1, 16, dim), mode, gradient))
