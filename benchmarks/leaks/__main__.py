"""Checks every planted leak under KERAS_BACKEND; writes results/leaks/<backend>.json."""

import json
import warnings
from pathlib import Path

import keras

from benchmarks.leaks.planted import PLANTED, rows_of
from benchmarks.speed.measure import versions
from keras_attnpool.analysis import batch_independence

RESULTS = Path(__file__).resolve().parent.parent / "results" / "leaks"


def main() -> None:
    """Writes, for each fault, the largest difference, the check, the layer, and the cure's."""
    warnings.simplefilter("ignore", UserWarning)  # masks are lost on purpose
    found = {}
    for fault, planted in PLANTED.items():
        keras.utils.set_random_seed(0)
        leaky, sound = (
            batch_independence(planted.make(leaks), rows_of(planted.rows))
            for leaks in (True, False)
        )
        found[fault] = {
            "largest": leaky.largest,
            "check": leaky.check,
            "layer": leaky.layer,
            "cure": planted.cure,
            "after": sound.largest,
        }
        print(fault, found[fault], flush=True)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{keras.backend.backend()}.json"
    told = {"versions": versions(), "leaks": found}
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
