"""Trains a model on one device and on several; for test_scaling_out.py, in a process of its own.

JAX and TensorFlow must know their virtual devices before they start, TensorFlow's strategies take
the sums of one model for those of another in the same process, and PyTorch's workers are processes.
`python scaling_out.py name folder` writes `found_<rank>.json` into the folder.
"""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from catalogue import randomized

from keras_attnpool import layers, models, regularizers

ROWS, TIME, VOCABULARY, CLASSES = 16, 6, 40, 3
BATCHES, RATE = 3, 0.05
LSTM = {"embedding_dim": 8, "lstm_units": 4, "hidden_dim": 8, "hidden_units": 8}


def pooled() -> keras.Model:
    """The smallest model: two penalties, and a layer that a mask of holes reaches."""
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(VOCABULARY, 8, mask_zero=True, name="embedding")(ids)
    pooling = layers.LowRankAttentionPooling(
        4,
        attention_regularizer=regularizers.AttentionOrthogonality(0.5),
        vector_regularizer=regularizers.CosineDisagreement(0.5),
        name="pooling",
    )
    return keras.Model(ids, keras.layers.Dense(CLASSES, activation="softmax")(pooling(x)))


# No dropout: every device would draw numbers of its own.
MODELS: dict[str, Callable[[], keras.Model]] = {
    "pooled": pooled,
    "LAMA": lambda: models.LAMA(
        VOCABULARY, CLASSES, num_heads=4, embedding_dim=8, gru_units=4, hidden_units=8, dropout=0.0
    ),
    "GeneralizedPooling": lambda: models.GeneralizedPoolingClassifier(
        VOCABULARY,
        CLASSES,
        num_heads=2,
        embedding_dropout=0.0,
        dropout=0.0,
        kernel_regularizer=regularizers.HeadDistance(0.1, 1.0),
        attention_regularizer=regularizers.HeadDistance(0.1, 1.0),
        **LSTM,
    ),
    "MPSAN": lambda: models.MPSAN(
        VOCABULARY, CLASSES, embedding_dim=8, hidden_units=8, dropout=0.0
    ),
    "HCAN": lambda: models.HCAN(
        VOCABULARY, CLASSES, embedding_dim=8, filters=8, num_heads=2, dropout=0.0
    ),
}  # fmt: skip
DOCUMENTS = ("HCAN",)
# Those with a penalty on attention, which is a mean over the texts with a word.
PENALIZED = ("pooled", "GeneralizedPooling")

# Which weights a mesh axis called "model" cuts, and along which of their axes: the guide's table.
LAYOUT = {
    "embedding/embeddings": (None, "model"),
    ".*pooling/(context|token)_kernel": (None, "model"),
    ".*pooling/hidden_kernel": (None, None, "model"),
    ".*pooling/hidden_bias": (None, "model"),
    ".*attention(_[0-9]+)?/hidden/kernel": (None, "model"),
    ".*attention(_[0-9]+)?/hidden/bias": ("model",),
    "fusion/kernel": (None, "model"),
    ".*attention/(parallel_)?(query|key|value)_kernel": (None, None, "model"),
    ".*attention/(parallel_)?(query|key|value)_bias": ("model",),
    "encoder/.*_cell/(recurrent_)?kernel": (None, "model"),
    "classifier_hidden(_[0-9]+)?/kernel": (None, "model"),
}


def layout_of(path: str) -> str | None:
    """The one pattern of `LAYOUT` that a weight's path fits; two are an error in Keras too."""
    fits = [pattern for pattern in LAYOUT if re.fullmatch(pattern, path)]
    assert len(fits) < 2, (path, fits)
    return fits[0] if fits else None


def data(name: str, even: bool = True) -> list[tuple[np.ndarray, np.ndarray]]:
    """Batches with holes, padding and empty texts: one in each half, or two in the first half."""
    random = np.random.default_rng(3)
    batches = []
    for _ in range(BATCHES):
        ids = random.integers(1, VOCABULARY, size=(ROWS, TIME)).astype("int32")
        lengths = random.integers(1, TIME + 1, size=ROWS)
        ids[np.arange(TIME) >= lengths[:, None]] = 0
        ids[2, 1] = 0
        ids[[1, ROWS - 2 if even else 3]] = 0
        if name in DOCUMENTS:
            ids = ids.reshape(ROWS, 2, TIME // 2)
        batches.append((ids, random.integers(0, CLASSES, size=ROWS).astype("int32")))
    return batches


def outcome(model: keras.Model, losses: list[float]) -> dict[str, Any]:
    weights = {v.path: keras.ops.convert_to_numpy(v).tolist() for v in model.trainable_variables}
    return {"losses": losses, "weights": weights}


def fit(name: str, batches: list[tuple[np.ndarray, np.ndarray]]) -> tuple[keras.Model, dict]:
    """Trains on each batch once; the weights start the same wherever that is."""
    model = randomized(MODELS[name]())
    model.compile(keras.optimizers.SGD(RATE), "sparse_categorical_crossentropy")
    losses = [
        model.fit(x, y, batch_size=ROWS, shuffle=False, verbose=0).history["loss"][0]
        for x, y in batches
    ]
    return model, outcome(model, losses)


def mean_of_halves(name: str) -> float:
    """The first loss, uneven: of each half alone, as two devices compute it, and the mean."""
    x, y = data(name, even=False)[0]
    losses = []
    for half in (slice(0, ROWS // 2), slice(ROWS // 2, ROWS)):
        keras.utils.clear_session()
        model = randomized(MODELS[name]())
        model.compile(loss="sparse_categorical_crossentropy")
        # `evaluate` leaves the weights alone; the penalties on them count once in the mean.
        losses.append(model.evaluate(x[half], y[half], batch_size=ROWS, verbose=0))
    return float(np.mean(losses))


def on_jax(name: str) -> dict[str, Any]:
    import jax
    from keras import distribution

    devices = distribution.list_devices()
    assert len(devices) == len(jax.devices()) == 8
    results = {"one device": fit(name, data(name))[1]}
    mesh = distribution.DeviceMesh((2, 4), ["batch", "model"], devices)
    layout = distribution.LayoutMap(mesh)
    for path, axes in LAYOUT.items():
        layout[path] = axes
    ways = {
        "data parallel": distribution.DataParallel(devices=devices),
        "model parallel": distribution.ModelParallel(layout_map=layout, batch_dim_name="batch"),
    }
    for way, each in ways.items():
        keras.utils.clear_session()
        with each.scope():
            model, results[way] = fit(name, data(name))
        results[way]["parts"] = {
            v.path: v.value.size // v.value.addressable_shards[0].data.size
            for v in model.trainable_variables
        }
    return results


def on_tensorflow(name: str) -> dict[str, Any]:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    if len(tf.config.get_logical_device_configuration(cpu) or []) != 2:
        halves = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, halves)
    results = {}
    for kind, even in (("", True), (", uneven", False)):
        keras.utils.clear_session()
        batches = data(name, even)
        results["one device" + kind] = fit(name, batches)[1]
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        assert strategy.num_replicas_in_sync == 2
        keras.utils.clear_session()
        with strategy.scope():
            results["mirrored" + kind] = fit(name, batches)[1]
    results["mean of halves, uneven"] = mean_of_halves(name)
    return results


def on_torch(name: str) -> dict[str, Any]:
    """One of two workers: DDP averages the gradients that each finds on its half of a batch."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    rank, workers = dist.get_rank(), dist.get_world_size()

    def train(batches: Any, wrap: Callable[[Any], Any], part: slice) -> dict[str, Any]:
        keras.utils.clear_session()
        model = randomized(MODELS[name]())
        module = wrap(model)
        # PyTorch's optimizer: Keras's would not wait for the other workers.
        optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=RATE)
        loss_of = keras.losses.SparseCategoricalCrossentropy()
        losses = []
        for x, y in batches:
            optimizer.zero_grad()
            loss = loss_of(y[part], module(torch.from_numpy(x[part]))) + sum(model.losses)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return outcome(model, losses)

    half = ROWS // workers
    part = slice(rank * half, (rank + 1) * half)
    results = {}
    for kind, even in (("", True), (", uneven", False)):
        batches = data(name, even)
        results["one device" + kind] = train(batches, lambda model: model, slice(None))
        results["workers" + kind] = train(batches, DistributedDataParallel, part)
        losses = torch.tensor(results["workers" + kind]["losses"])
        dist.all_reduce(losses)
        results["workers" + kind]["losses"] = (losses / workers).tolist()
    results["mean of halves, uneven"] = mean_of_halves(name)
    return results


def main(name: str, folder: Path) -> None:
    backend, rank = keras.config.backend(), int(os.environ.get("RANK", 0))
    if backend == "torch":
        import torch.distributed as dist

        meeting = f"file://{folder}/meeting"
        dist.init_process_group(
            "gloo", meeting, rank=rank, world_size=int(os.environ["WORLD_SIZE"])
        )
    train = {"jax": on_jax, "tensorflow": on_tensorflow, "torch": on_torch}[backend]
    results = train(name)
    (folder / f"found_{rank}.json").write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
