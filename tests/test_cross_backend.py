"""A file saved on one backend loads on the others, in a new process, and predicts the same."""

import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_attnpool import layers, models

DIM = 6
SMALL = {"embedding_dim": 6, "hidden_units": 5}
LSTM = {**SMALL, "lstm_units": 3, "attention_dim": 4, "num_heads": 2}


def embedded() -> keras.Model:
    """The smallest of backbones."""
    tokens = keras.Input((None,), dtype="int32")
    return keras.Model(tokens, keras.layers.Embedding(20, DIM, name="table")(tokens), name="words")


# Every layer, called with `(batch, time, dim)` and a mask.
LAYERS = {
    "low_rank": layers.LowRankAttentionPooling(3, dropout=0.1),
    "low_rank_learned": layers.LowRankAttentionPooling(
        3, rank=2, context="learned", learn_scale=True
    ),
    "structured": layers.StructuredSelfAttentionPooling(3, 4, use_bias=True),
    "generalized": layers.GeneralizedPooling(2, 4),
    "generalized_scalar": layers.GeneralizedPooling(2, 4, scalar=True, chunk_size=2),
    "attention": layers.AttentionPooling(4, output_activation="tanh"),
    "attention_plain": layers.AttentionPooling(),
    "multi_dim": layers.MultiDimAttentionPooling(),
    "conv": layers.ConvMultiHeadAttention(2, 4, dropout=0.1),
    "conv_one": layers.ConvMultiHeadAttention(2, 4, 2, parallel=False, layer_norm=False),
    "target": layers.ConvAttentionPooling(2, 4),
    "target_code": layers.ConvAttentionPooling(2, DIM, value_conv=False),
    "places": layers.AddPositionEmbedding(7),
    "features": layers.FeatureWiseAttention(2, threshold=0.1),
    "tokens": layers.TokenWiseAttention("pointwise", pooled=False),
    "sequential": layers.SequentialAttention(mode="pointwise"),
    "average": layers.MaskedAveragePooling1D(),
    "max": layers.MaskedMaxPooling1D(),
    "last": layers.LastPooling1D(),
    "bilstm": layers.ShortcutStackedBiLSTM(3, num_layers=2),
    "bigru": layers.BidirectionalGRU(3),
    "window": layers.PositionalSelfAttention(4),
    "behind": layers.PositionalSelfAttention(4, ("backward", "distance"), multi_dim=True),
    "directional": layers.DirectionalSelfAttention(4, "backward"),
    "blocks": layers.BlockSelfAttention(4),
}
MODELS = {
    "LAMA": lambda: models.LAMA(20, 3, num_heads=3, gru_units=4, **SMALL),
    "LAMAEncoder": lambda: models.LAMAEncoder(20, 3, context="learned", **SMALL),
    "SAN": lambda: models.SAN(20, 3, num_heads=3, gru_units=4, **SMALL),
    "BiGRU": lambda: models.BiGRU(20, 3, gru_units=4, **SMALL),
    "BiLSTM": lambda: models.BiLSTM(20, 3, pooling="last", **LSTM),
    "GeneralizedPooling": lambda: models.GeneralizedPoolingClassifier(20, 3, **LSTM),
    "MPSAN": lambda: models.MPSAN(20, 3, **SMALL),
    "DiSAN": lambda: models.DiSAN(20, 3, units=4, **SMALL),
    "BiBloSAN": lambda: models.BiBloSAN(20, 3, units=4, **SMALL),
    "MultiHeadSAN": lambda: models.MultiHeadSAN(20, 3, num_heads=2, key_dim=3, **SMALL),
    "TextCNN": lambda: models.TextCNN(20, 3, embedding_dim=6, filters=4),
    "TE": lambda: models.TransformerEncoderClassifier(
        20, 3, embedding_dim=8, num_heads=2, feedforward_dim=8, max_length=9
    ),
    "AverageEmbedding": lambda: models.AverageEmbedding(20, 3, **SMALL),
    "AttentionBiLSTM": lambda: models.AttentionBiLSTM(20, 3, lstm_units=3, **SMALL),
    "SAM": lambda: models.SAM(embedded(), 3, mode="pointwise", lstm_units=3),
    "BackboneClassifier": lambda: models.BackboneClassifier(
        embedded(), 3, pooling="mean", trainable_backbone=False
    ),
}
DOCUMENTS = {
    "HCAN": lambda: models.HCAN(20, 3, embedding_dim=6, filters=4, num_heads=2),
    "HAN": lambda: models.HAN(20, 3, embedding_dim=6, gru_units=3, attention_dim=4),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Every layer and every model, with inputs and outputs.

    Side by side in three models, one file each: what takes time is to compile a model.
    """
    folder = tmp_path_factory.mktemp("saved")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 5, DIM)).astype("float32")
    mask = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
    ids = np.array([[1, 2, 3, 4, 5], [6, 7, 0, 0, 0], [0, 0, 0, 0, 0]], "int32")
    letters = rng.integers(0, 9, size=(3, 5, 4)).astype("int32")

    inputs, keep = keras.Input((None, DIM)), keras.Input((None,), dtype="bool")
    spelt = keras.Input((None, None), dtype="int32")
    found = {name: layer(inputs, mask=keep) for name, layer in LAYERS.items()}
    found["fusion"] = layers.PositionFusion()([inputs, 2 * inputs], inputs, mask=keep)
    found["gate"] = layers.FusionGate()(inputs, 2 * inputs, mask=keep)
    found["matching"] = layers.PairMatching()([found["average"], found["max"]])
    found["characters"] = layers.CharacterEmbedding(9, char_dim=3, filters=2)(spelt)
    save(keras.Model([inputs, keep, spelt], found), folder / "layers", [x, mask, letters])

    tokens = keras.Input((None,), dtype="int32")
    found = {name: make()(tokens) for name, make in MODELS.items()}
    save(keras.Model(tokens, found), folder / "models", [ids])

    documents = keras.Input((None, None), dtype="int32")
    found = {name: make()(documents) for name, make in DOCUMENTS.items()}
    words = layers.CharacterEmbedding(20, char_dim=3, filters=2, kernel_sizes=(1, 3))
    found["HierarchicalEncoder"] = layers.HierarchicalEncoder(words)(documents[..., None])
    save(keras.Model(documents, found), folder / "documents", [np.stack([ids, ids[::-1]], axis=1)])

    pair = [keras.Input((None,), dtype="int32") for _ in range(2)]
    found = {
        "GeneralizedPoolingPair": models.GeneralizedPoolingPair(20, num_layers=1, **LSTM)(pair),
        "MPSANPair": models.MPSANPair(20, **SMALL)(pair),
    }
    save(keras.Model(pair, found), folder / "pairs", [ids, ids[:, :3]])
    return folder


def save(model: keras.Model, path: Path, inputs: list[np.ndarray]) -> None:
    outputs = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    model.save(path.with_suffix(".keras"))
    np.savez(path.with_suffix(".outputs.npz"), **outputs)
    np.savez(path.with_suffix(".inputs.npz"), *inputs)


def test_every_layer_and_model_is_saved():
    """Nothing public is forgotten above."""
    public = {value for value in vars(layers).values() if isinstance(value, type)}
    source = Path(__file__).read_text(encoding="utf-8")
    assert len(public) > 15
    assert all(f"layers.{layer.__name__}(" in source for layer in public)
    builders = [name for name, value in vars(models).items() if inspect.isfunction(value)]
    assert len(builders) > 12
    assert all(f"models.{name}(" in source for name in builders)


@pytest.mark.parametrize("name", [*MODELS, *DOCUMENTS, "GeneralizedPoolingPair", "MPSANPair"])
def test_no_two_weights_of_a_model_have_one_path(name):
    """On PyTorch Keras keeps parameters by path: it would never clear the gradients of one."""
    makers = {
        **MODELS,
        **DOCUMENTS,
        "GeneralizedPoolingPair": lambda: models.GeneralizedPoolingPair(20, num_layers=2, **LSTM),
        "MPSANPair": lambda: models.MPSANPair(20, **SMALL),
    }
    paths = [variable.path for variable in makers[name]().variables]
    assert len(set(paths)) == len(paths)


@pytest.mark.timeout(450)
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
        timeout=400,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    count = len(LAYERS) + 4 + len(MODELS) + len(DOCUMENTS) + 1 + 2
    assert found.stdout.strip().endswith(f"{backend}: {count} outputs agree")
