"""A file saved on one backend loads on the others, in a new process, and predicts the same."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_attnpool import layers, models

DIM = 6
LAYERS = {
    "low_rank": lambda: layers.LowRankAttentionPooling(3, dropout=0.1),
    "low_rank_learned": lambda: layers.LowRankAttentionPooling(
        3, rank=2, context="learned", learn_scale=True
    ),
    "structured": lambda: layers.StructuredSelfAttentionPooling(3, 4, use_bias=True),
    "attention": lambda: layers.AttentionPooling(4, output_activation="tanh"),
    "attention_plain": lambda: layers.AttentionPooling(),
    "average": layers.MaskedAveragePooling1D,
    "max": layers.MaskedMaxPooling1D,
    "last": layers.LastPooling1D,
}
MODELS = {
    "LAMA": lambda: models.LAMA(20, 3, num_heads=3, embedding_dim=6, gru_units=4),
    "LAMAEncoder": lambda: models.LAMAEncoder(20, 3, context="learned", embedding_dim=6),
    "SAN": lambda: models.SAN(20, 3, num_heads=3, embedding_dim=6, gru_units=4),
    "BiGRU": lambda: models.BiGRU(20, 3, embedding_dim=6, gru_units=4),
    "TextCNN": lambda: models.TextCNN(20, 3, embedding_dim=6, filters=4),
    "TE": lambda: models.TransformerEncoderClassifier(
        20, 3, embedding_dim=8, num_heads=2, feedforward_dim=8, max_length=9
    ),
    "AverageEmbedding": lambda: models.AverageEmbedding(20, 3, embedding_dim=6),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Every layer (with an explicit mask) and every model, with inputs and outputs."""
    folder = tmp_path_factory.mktemp("saved")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 5, DIM)).astype("float32")
    mask = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
    for name, make in LAYERS.items():
        inputs, keep = keras.Input((None, DIM)), keras.Input((None,), dtype="bool")
        save(keras.Model([inputs, keep], make()(inputs, mask=keep)), folder / name, [x, mask])
    ids = np.array([[1, 2, 3, 4, 5], [6, 7, 0, 0, 0], [0, 0, 0, 0, 0]], "int32")
    for name, make in MODELS.items():
        save(make(), folder / name, [ids])
    return folder


def save(model: keras.Model, path: Path, inputs: list[np.ndarray]) -> None:
    # Dots in a name would end it: "LAMA.keras" and "LAMA.npz" share their stem.
    output = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    model.save(path.with_suffix(".keras"))
    np.savez(
        path.with_suffix(".npz"), output=output, **{f"input_{i}": a for i, a in enumerate(inputs)}
    )


@pytest.mark.parametrize("backend", ["jax", "tensorflow", "torch"])
def test_every_file_loads_and_predicts_the_same(folder, backend):
    assert importlib.util.find_spec(backend), f"the test environment must hold {backend}"
    script = Path(__file__).with_name("cross_backend.py")
    root = str(script.parent.parent)
    found = subprocess.run(
        [sys.executable, str(script), str(folder)],
        env={**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.strip().endswith(f"{backend}: {len(LAYERS) + len(MODELS)} models agree")
