"""Writes files of the catalogue for the tests of later versions: `python tests/golden.py`.

Run when a version is released, on any backend. What lies in `tests/golden` is never written anew:
files that users have saved must go on loading.
"""

import sys
import zipfile
from pathlib import Path

import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from catalogue import CASES, randomized, together  # noqa: E402

import keras_attnpool  # noqa: E402

FOLDER = Path(__file__).parent / "golden"


def packed(path: Path) -> None:
    """Compresses the members, which Keras stores as they are: a tenth remains."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def main() -> None:
    folder = FOLDER / keras_attnpool.__version__
    folder.mkdir(parents=True)
    keras.utils.set_random_seed(0)
    for number, (model, inputs) in enumerate(together(CASES)):
        randomized(model)
        outputs = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
        path = folder / f"model_{number}"
        model.save(path.with_suffix(".keras"))
        packed(path.with_suffix(".keras"))
        np.savez_compressed(path.with_suffix(".inputs.npz"), *inputs)
        np.savez_compressed(path.with_suffix(".outputs.npz"), **outputs)


if __name__ == "__main__":
    main()
