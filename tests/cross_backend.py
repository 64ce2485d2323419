"""Loads every model of a folder on this process's backend and compares its predictions.

Run by test_cross_backend.py with another `KERAS_BACKEND`.
"""

import sys
from pathlib import Path

import keras
import numpy as np

import keras_attnpool  # noqa: F401  (registers the layers; no `custom_objects`)


def main(folder: Path) -> None:
    paths = sorted(folder.glob("*.keras"))
    for path in paths:
        model = keras.models.load_model(path)
        data = np.load(path.with_suffix(".npz"))
        inputs = [data[name] for name in data.files if name.startswith("input")]
        output = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
        np.testing.assert_allclose(output, data["output"], atol=1e-5, err_msg=path.stem)
    print(f"{keras.config.backend()}: {len(paths)} models agree")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
