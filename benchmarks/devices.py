"""What the benchmarks run on, and the clock that tells the cost of it."""

import functools
import re
import time
from pathlib import Path

import keras


@functools.cache
def device() -> str:
    """`"cpu"` or the name of the GPU that the backend uses."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        kind = jax.devices()[0]
        return "cpu" if kind.platform == "cpu" else str(kind.device_kind)
    if backend == "torch":
        import torch

        return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return "cpu"
    return str(tf.config.experimental.get_device_details(gpus[0])["device_name"])


def clock() -> float:
    """Seconds of the process on a CPU, which others at work do not change; of the wall on a GPU."""
    return time.process_time() if device() == "cpu" else time.perf_counter()


def status(name: str) -> int:
    """Bytes that the system counts for this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status does not tell {name}")


def suffix() -> str:
    """What is put behind the name of a measurement on a GPU: `"_nvidia_h200"`."""
    name = device()
    return "" if name == "cpu" else "_" + re.sub(r"\W+", "_", name.lower())
