"""Loads every model of a folder on this process's backend and compares its outputs.

Run by test_cross_backend.py with another `KERAS_BACKEND`.
"""

import sys
from pathlib import Path

import keras
import numpy as np

import keras_attnpool  # noqa: F401  (registers the layers; no `custom_objects`)


def main(folder: Path) -> None:
    count = 0
    for path in sorted(folder.glob("*.keras")):
        model = keras.models.load_model(path)
        inputs = list(np.load(path.with_suffix(".inputs.npz")).values())
        inputs = inputs if len(inputs) > 1 else inputs[0]
        if keras.config.backend() == "openvino":  # whose `predict` may compute in half precision
            found = keras.tree.map_structure(keras.ops.convert_to_numpy, model(inputs))
        else:
            found = model.predict(inputs, verbose=0)
        targets = np.load(path.with_suffix(".outputs.npz"))
        for name, target in targets.items():
            np.testing.assert_allclose(found[name], target, atol=1e-5, err_msg=name)
            count += 1
    print(f"{keras.config.backend()}: {count} outputs agree")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
