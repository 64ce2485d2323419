"""Run by `make test-serve`: trains a model on JAX, or predicts with it where no framework is.

KERAS_BACKEND=jax     python tests/serve_check.py train FOLDER
KERAS_BACKEND=numpy   python tests/serve_check.py predict FOLDER   # ... or openvino
"""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np

FRAMEWORKS = ["jax", "tensorflow", "torch"]
# Keras imports JAX under its backend for NumPy: docs/upstream/keras-numpy-needs-jax.md.
NEEDED = {"numpy": ["jax"], "openvino": []}


def train(folder: Path) -> None:
    """A model that learns which of two words a text holds, what it predicts, and its scores."""
    import keras

    from keras_attnpool import analysis, models

    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    ids = rng.integers(3, 20, size=(64, 8)) * (np.arange(8) < rng.integers(2, 9, size=(64, 1)))
    ids[:, 0] = labels = rng.integers(1, 3, size=64)
    model = models.LAMA(20, 2, num_heads=2, gru_units=4, embedding_dim=8, hidden_units=8)
    model.compile(keras.optimizers.Adam(0.03), "sparse_categorical_crossentropy")
    model.fit(ids, labels - 1, epochs=20, verbose=0)
    predictions = model.predict(ids, verbose=0)
    assert (predictions.argmax(-1) == labels - 1).mean() > 0.9
    folder.mkdir(exist_ok=True)
    model.save(folder / "model.keras")
    scores = analysis.attention_scores(model, ids)
    np.savez(folder / "expected.npz", ids=ids, predictions=predictions, scores=scores)


def predict(folder: Path) -> None:
    """The same numbers from the file alone, and the scores of one text."""
    needed = NEEDED[os.environ["KERAS_BACKEND"]]
    present = [name for name in FRAMEWORKS if importlib.util.find_spec(name) and name not in needed]
    assert not present, f"the environment is not clean: {present}"
    import keras

    import keras_attnpool

    expected = np.load(folder / "expected.npz")
    ids = expected["ids"]
    model = keras.models.load_model(folder / "model.keras", compile=False)
    shown = keras_attnpool.analysis.attention_model(model)
    # A call, not `predict`: OpenVINO's may compute in half precision.
    outputs = keras.tree.map_structure(keras.ops.convert_to_numpy, shown(ids))
    predictions, (scores,) = outputs[0], keras.tree.flatten(outputs[1])
    np.testing.assert_allclose(predictions, expected["predictions"], atol=1e-5)
    np.testing.assert_allclose(scores, expected["scores"], atol=1e-5)
    np.testing.assert_allclose(model.predict(ids, verbose=0), predictions, atol=0.02)
    print(f"text {ids[0].tolist()}: {predictions[0].round(3).tolist()}")
    for head, weights in enumerate(scores[0]):
        print(f"  head {head}: {weights.round(3).tolist()}")


if __name__ == "__main__":
    {"train": train, "predict": predict}[sys.argv[1]](Path(sys.argv[2]))
    print(f"{sys.argv[1]} with {os.environ['KERAS_BACKEND']}: ok")
