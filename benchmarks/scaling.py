"""Data-parallel training on several virtual devices: `python -m benchmarks.scaling`.

Every number of devices trains the same model on the same batches, by JAX's
`keras.distribution.DataParallel`, each in processes of its own, in turns. An operation of a virtual
device computes in one thread, so that two devices can use two cores.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results" / "speed" / "scaling_jax_cpu.json"
BATCH, TIME, DIM, VOCABULARY = 64, 256, 128, 2000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20, help="batches that are timed")
    parser.add_argument("--no-file", action="store_true", help="to the terminal alone")
    arguments = parser.parse_args()
    from benchmarks.speed import measure

    cases: list[dict[str, Any]] = [
        {"devices": devices, "runs": []} for devices in arguments.devices
    ]
    for _ in range(arguments.rounds):
        for case in cases:
            case["runs"].append(_in_a_process(case["devices"], arguments.steps))
            print(case["devices"], case["runs"][-1], flush=True)
    cores = len(os.sched_getaffinity(0))
    data = {"backend": "jax", "versions": measure.versions(), "cores": cores, "cases": cases}
    data["setting"] = f"LAMA without a GRU, dim {DIM}, {BATCH} × {TIME} words a batch"
    data["words"] = BATCH * TIME
    if not arguments.no_file:
        RESULTS.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")


def _in_a_process(devices: int, steps: int) -> dict[str, float]:
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = os.environ | {
        "KERAS_BACKEND": "jax",
        "OMP_NUM_THREADS": "1",
        # The threads of a device wait for those of the others: each needs some.
        "NPROC": "16",
        "XLA_FLAGS": f"{flags} --xla_cpu_multi_thread_eigen=false",
    }
    command = [sys.executable, "-c", f"from benchmarks import scaling; scaling.train({steps})"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"{devices} devices: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def train(steps: int) -> None:
    """Trains on all devices of this process; prints seconds a batch and the last loss."""
    import keras
    import numpy as np

    from keras_attnpool import models

    keras.distribution.set_distribution(keras.distribution.DataParallel())
    keras.utils.set_random_seed(1)
    model = models.LAMA(VOCABULARY, 2, embedding_dim=DIM, gru_units=None, dropout=0.0)
    model.compile("adam", "sparse_categorical_crossentropy")
    rng = np.random.default_rng(0)
    ids = rng.integers(1, VOCABULARY, size=(steps * BATCH, TIME), dtype="int32")
    labels = rng.integers(0, 2, size=len(ids))

    def fit() -> float:
        history = model.fit(ids, labels, batch_size=BATCH, shuffle=False, verbose=0)
        return float(history.history["loss"][-1])

    # The second compiles again: after the first the weights lie on the devices.
    fit()
    fit()
    start, used = time.perf_counter(), time.process_time()
    loss = fit()
    seconds, used = time.perf_counter() - start, time.process_time() - used
    print(json.dumps({"seconds": seconds / steps, "processor": used / steps, "loss": loss}))


if __name__ == "__main__":
    main()
