"""SAM's tables 2-5 on features of MiniLM: TREC, SST-5, SUBJ, HaHackathon.

The paper has RoBERTa, fine-tuned in its tables 2 and 3 and frozen in table 5. Here the language
model is all-MiniLM-L6-v2, frozen: the states of its last layer are computed once and kept in
`--cache`. Rows called fine-tuned train it with what stands on it, which wants a GPU. Another preset
of KerasHub is taken with `--preset`.
"""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import keras
import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.reproduce import floors, pieces, tasks
from benchmarks.reproduce.paper import Paper, told
from benchmarks.reproduce.tasks import Options, Parts, Task, few
from benchmarks.reproduce.timing import Timed, Turns, compiled
from keras_attnpool import layers, models
from keras_attnpool.batches import SequenceBatches, kept_lengths
from keras_attnpool.workbench import datasets, text

CACHE = Path.home() / ".cache" / "keras_attnpool" / "features"
UNITS = 128
FULL_UNITS = 256
DROPOUT = 0.2
FOLDS = 5
# Sets without a development part of their own.
FOLDED = ("trec", "subj", "cr")

ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "language model": ("BackboneClassifier", {"pooling": "first"}),
    "language model, mean": ("BackboneClassifier", {"pooling": "mean"}),
    "RB": ("SAM", {"order": ()}),
    "RBA": ("AttentionBiLSTM", {}),
    "DiSAN": ("DiSAN", {"units": UNITS, "hidden_units": None}),
    "SAM": ("SAM", {}),
    "SAM -FAM": ("SAM", {"order": ("token",)}),
    "SAM -TAM": ("SAM", {"order": ("feature",)}),
    "SAM TAM+FAM": ("SAM", {"order": ("token", "feature")}),
    "SAM 0.1": ("SAM", {"threshold": 0.1}),
    "SAM pointwise": ("SAM", {"mode": "pointwise"}),
    "SAM, no BiLSTM": ("SAM", {"num_layers": 0}),
    "AttentionPooling": ("BackboneClassifier", {"pooling": "AttentionPooling"}),
}
# Rows without a BiLSTM have few weights, and learn slower and longer.
LIGHT = ("language model", "language model, mean", "SAM, no BiLSTM", "AttentionPooling")
LIGHTER = "language model, plain attention and SAM on it without BiLSTMs"
HOW = "frozen, states of the last layer at unit variance (the paper: RoBERTa)"
# As in tables 2 and 3: the language model is trained with what stands on it.
FINE = ", fine-tuned"
TUNED = {f"{row}{FINE}": ROWS[row] for row in ("language model", "RB", "RBA", "SAM")}
FINE_TUNED_SETS = ("sst5", "sst5_phrases", "humor", "controversy")
# Figure 3: the threshold, on TREC.
THRESHOLDS = {f"SAM {delta}": ("SAM", {"threshold": delta}) for delta in (0.15, 0.2, 0.4, 0.6, 0.8)}
BUILT = {**ROWS, **THRESHOLDS, **TUNED}

TOLD = told("sam")
PUBLISHED, TIMED = TOLD["figures"], TOLD["times"]


def _sources(name: str, folder: str) -> Parts:
    """Reads the texts to train on, the development part where there is one, and the test part."""
    if name in ("subj", "cr"):
        # No split is given. As many texts to test as in the paper.
        size: int | float = 2000
        if name == "subj":
            whole = datasets.load("subj", split="all")
        else:
            whole, size = datasets.load_tsv(Path(folder) / "cr.tsv"), 0.2
        rest, test = train_test_split(
            np.arange(len(whole)), test_size=size, stratify=whole.labels, random_state=0
        )
        return whole.subset(rest), whole.subset(test)
    splits = ("train", "test") if name == "trec" else ("train", "dev", "test")
    return tuple(datasets.load(name, split=split) for split in splits)


def _task(name: str, length: int, table: str, max_epochs: int, **more: Any) -> Task:
    recipe = {
        "optimizer": "adamw",
        "learning_rate": 1e-3,
        "clip_norm": None,
        "weight_decay": 1e-2,
        "batch_size": 32,
    }
    # Dense weights need one length.
    boundaries = (length,)
    parts = functools.partial(_sources, name)
    runs = FOLDS if name in FOLDED else 3
    return Task(
        parts, recipe, length, boundaries, max_epochs, table, PUBLISHED[name], runs=runs, **more
    )


# Lengths are those in word pieces; longer texts are cut.
TASKS = {
    "trec": _task("trec", 40, "4 and 5, TREC", 15),
    "sst5": _task("sst5", 48, "3 and 4, SST", 10),
    "subj": _task("subj", 48, "4 and 5, SUBJ", 10),
    "cr": _task("cr", 48, "4 and 5, CR", 10, needs=tasks.ONE_FILE.format("cr")),
    "humor": _task("humor", 48, "2 and 4, Humor.", 10, positive_f1=True),
    "controversy": _task("controversy", 48, "2 and 4, Contro.", 10, positive_f1=True),
}


TASKS["sst5_phrases"] = dataclasses.replace(TASKS["sst5"], parts=tasks.sst5_phrases, column="sst5")


class Features:
    """The features of a data set, and the parts that a fold of it has."""

    def __init__(self, dataset: str, sources: Parts, options: Options) -> None:
        self.task = TASKS[dataset]
        self.dataset, self.preset = dataset, options.preset
        self.texts = sources = few(sources, options)
        self.num_classes = sources[0].num_classes
        model = text.LanguageModel.from_preset(options.preset, sequence_length=self.task.max_length)
        self.dim = model.dim
        cache = options.cache or CACHE
        self.sources = [
            (model.features(part.texts, cache=cache, verbose=1), np.array(part.labels))
            for part in sources
        ]
        first = {name: array[:500] for name, array in self.sources[0][0].items()}
        kept = first["features"][first["padding_mask"]].astype("float32")
        self.scale = float(1 / kept.std())
        self.long = [float(np.mean(source["padding_mask"][:, -1])) for source, _ in self.sources]
        self.fold(0)

    def fold(self, index: int) -> None:
        """Takes the parts of a fold: its fifth of the training texts chooses the epoch.

        Where there is a development part, that one does, and folds are repeated runs.
        """
        if len(self.sources) == 3:
            used = [(*source, None) for source in self.sources]
        else:
            train, test = self.sources
            used = [*[(*train, rows) for rows in _fold(train[1], index)], (*test, None)]
        self.used = used
        self.parts = [(None, labels if rows is None else labels[rows]) for _, labels, rows in used]

    def batches(self, part: int, seed: int | None = None) -> SequenceBatches:
        features, labels, rows = self.used[part]
        lengths = kept_lengths(features["padding_mask"])
        chosen = np.arange(len(labels)) if rows is None else rows
        return ScaledBatches(
            self.scale,
            {n: [x[row, : lengths[row]] for row in chosen] for n, x in features.items()},
            np.asarray(labels)[chosen],
            self.task.batch_size,
            (features["padding_mask"].shape[1],),
            shuffle=seed is not None,
            seed=seed or 0,
        )


class ScaledBatches(SequenceBatches):
    """Batches of states that are multiplied with a number."""

    def __init__(self, scale: float, *args: Any, **kwargs: Any) -> None:
        self._scale = np.float32(scale)
        super().__init__(*args, **kwargs)

    def inputs_of(self, rows: np.ndarray) -> Any:
        inputs = super().inputs_of(rows)
        return inputs | {"features": inputs["features"] * self._scale}


def _fold(labels: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Divides the rows into those to train on and those to choose the epoch by."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(labels, labels)
    return list(folds)[index % FOLDS]


def build(row: str, data: Features | pieces.Pieces, units: int = UNITS) -> keras.Model:
    """Builds the model of a row."""
    builder, arguments = BUILT[row]
    given: dict[str, Any] = dict(arguments)
    tuned = isinstance(data, pieces.Pieces)
    source: Any = data.language_model().backbone if tuned else data.dim
    if given.get("pooling") == "AttentionPooling":
        given["pooling"] = layers.AttentionPooling(hidden_dim=units, name="pooling")
    if builder in ("SAM", "AttentionBiLSTM"):
        given["lstm_units"] = units
    given |= {"dropout": DROPOUT, "sequence_length": data.task.max_length}
    maker = getattr(models, builder)
    if builder in ("SAM", "BackboneClassifier"):
        return maker(source, data.num_classes, **given)
    return maker(None, data.num_classes, backbone=source, **given)


class _SAM(Paper):
    name, title = "sam", "SAM"
    tasks = TASKS
    claims = TOLD["claims"]
    on_gpu = tuple(TUNED)
    timed = ("subj",)

    def names(self, dataset: str) -> tuple[str, ...]:
        more = {"trec": THRESHOLDS, **dict.fromkeys(FINE_TUNED_SETS, TUNED)}.get(dataset, ())
        return (*floors.ROWS, *ROWS, *more)

    def published(self, dataset: str) -> dict[str, float]:
        shares = super().published(dataset)
        return shares | {f"{row}{FINE}": share for row, share in shares.items()}

    def config(self, dataset: str, row: str, options: Options) -> dict[str, Any]:
        model, arguments = BUILT[row]
        return {
            "model": model,
            "arguments": arguments,
            "preset": options.preset,
            "max_length": TASKS[dataset].max_length,
            "lstm_units": FULL_UNITS if options.full else UNITS,
            "dropout": DROPOUT,
            **self.task(dataset, row).recipe,
        }

    def task(self, dataset: str, row: str) -> Task:
        task = TASKS[dataset]
        if row in TUNED:
            return pieces.fine_tuned(task)
        if row not in LIGHT:
            return task
        recipe = {**task.recipe, "learning_rate": 3e-3}
        return dataclasses.replace(task, recipe=recipe, max_epochs=40, patience=5)

    def parts(self, dataset: str, options: Options, seed: int) -> Parts:
        """Reads the three parts; a seed is a fold, where there is no development part."""
        sources = super().parts(dataset, options, seed)
        if len(sources) == 3:
            return sources
        train, test = sources
        rest, chosen = _fold(np.array(train.labels), seed)
        return train.subset(rest), train.subset(chosen), test

    def read(self, dataset: str, options: Options, fold: int) -> Features:
        return Features(dataset, super().parts(dataset, options, fold), options)

    def data(self, dataset: str, options: Options, seed: int) -> Features:
        data = super().data(dataset, options, seed)
        data.fold(seed)
        return data

    def described(self, data: Features) -> dict[str, Any]:
        preset, length = data.preset, data.task.max_length
        cut = [f"{100 * share:.1f} %" for share in data.long]
        protocol = {
            **self.protocol(data.dataset),
            "language_model": f"{pieces.NAMES.get(preset, preset)}, {HOW}",
            "max_length": f"{length} word pieces; as long or longer are {cut[0]} of the texts to "
            f"train on and {cut[-1]} of those to test",
        }
        return {**super().described(data), "protocol": protocol}

    def build(self, dataset: str, row: str, data: Any, options: Options) -> keras.Model:
        return build(row, data, FULL_UNITS if options.full else UNITS)

    def run(
        self, dataset: str, row: str, data: Features, seed: int, options: Options
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if row in TUNED:
            source = pieces.Pieces(self.task(dataset, row), data.texts, options.preset)
            return super().run(dataset, row, source, seed, options)
        return super().run(dataset, row, data, seed, options)

    def turns(self, dataset: str, options: Options) -> Turns:
        """Builds the rows whose seconds the paper gives, in tables 4 and 5."""
        data = Features(dataset, super().parts(dataset, options, 0), options)
        features, labels, rows = data.used[0]
        data.used[0] = (features, labels, rows[:1280])
        turns = {}
        for row in TIMED:
            keras.utils.set_random_seed(0)
            turns[row] = Timed(compiled(build(row, data)), data.batches(0, 0))
        return Turns(turns, TIMED, first="RB", rounds=1 if options.quick else 3)

    def original(self, row: str) -> str:
        return row.removesuffix(FINE)

    def distance(self, dataset: str, better: str, worse: str) -> float | None:
        # Fine-tuned and frozen rows have the same figure.
        if self.original(better) == self.original(worse):
            return None
        distance = super().distance(dataset, better, worse)
        # Table 4 has another SAM for controversy.
        if distance is None or dataset != "controversy" or not worse.startswith("SAM "):
            return distance
        return round((61.22 - PUBLISHED[dataset][worse]) / 100, 5) if better == "SAM" else distance

    def protocol(self, dataset: str) -> dict[str, Any]:
        task = TASKS[dataset]
        values = (pieces.PATIENCE, pieces.MAX_EPOCHS, f"{pieces.RECIPE['learning_rate']:g}")
        tuned = [f"; fine-tuned: {v}" if dataset in FINE_TUNED_SETS else "" for v in values]
        return {
            **super().protocol(dataset),
            "language_model": HOW,
            "of_the_paper": "RoBERTa, frozen on TREC, SUBJ and CR, fine-tuned elsewhere",
            "runs": f"{FOLDS} folds of the training texts: one chooses the epoch, the test part "
            "stays the same"
            if dataset in FOLDED
            else "seeds; the development part chooses the epoch",
            "patience": f"{task.patience}; {LIGHTER}: 5{tuned[0]}",
            "max_epochs": f"{task.max_epochs}; {LIGHTER}: 40{tuned[1]}",
            "sizes": f"two BiLSTMs of {UNITS} units (the paper: 256); DiSAN {UNITS} units",
            "optimizer": f"AdamW, 1e-3, weight decay 1e-2; {LIGHTER}: 3e-3{tuned[2]} (the paper: "
            "with lookahead, rates tuned)",
        }


PAPER = _SAM()
