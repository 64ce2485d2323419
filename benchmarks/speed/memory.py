"""Peak memory of one variant in this process, which runs nothing else.

What the process holds with the inputs, after a run on a short text, is taken off. Linux alone tells
the peak.
"""

import json
import sys
from pathlib import Path

import keras

from benchmarks.speed import measure
from benchmarks.speed.grid import built, inputs_of


def status(name: str) -> int:
    """Bytes that the system counts for this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status does not tell {name}")


def main() -> None:
    name, time, dim, heads, batch, mode, gradient = sys.argv[1:]
    layer = built(name, int(dim), int(heads), "float32")
    short = inputs_of(1, 16, int(dim))
    measure.finish(measure.runner(layer, *short, mode, gradient == "True")())
    inputs = [keras.ops.convert_to_tensor(x) for x in inputs_of(int(batch), int(time), int(dim))]
    run = measure.runner(layer, *inputs, mode, gradient == "True")
    # The peak so far, of drawing the inputs say, is forgotten.
    Path("/proc/self/clear_refs").write_text("5")
    held = status("VmRSS")
    measure.finish(run())
    print(json.dumps({"bytes": status("VmHWM") - held}))


if __name__ == "__main__":
    main()
