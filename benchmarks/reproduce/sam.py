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

from benchmarks.devices import clock, suffix
from benchmarks.reproduce import floors, pieces, tasks
from benchmarks.reproduce.engine import Options
from benchmarks.reproduce.results import Results
from benchmarks.reproduce.tasks import Task
from keras_attnpool import datasets, layers, models, text

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
FINE_TUNED_SETS = ("sst5", "humor", "controversy")
ON_GPU = tuple(TUNED)
# Figure 3: the threshold, on TREC.
THRESHOLDS = {f"SAM {delta}": ("SAM", {"threshold": delta}) for delta in (0.15, 0.2, 0.4, 0.6, 0.8)}

# Tables 2, 3 and 5, table 4 for the ablations, section 4.6 for a threshold of 0.15.
PAPER = {
    "cr": {
        "language model": 87.56,
        "RB": 88.14,
        "RBA": 89.52,
        "DiSAN": 87.60,
        "SAM": 90.03,
        "SAM -FAM": 89.77,
        "SAM -TAM": 89.02,
        "SAM TAM+FAM": 89.91,
        "SAM 0.1": 89.97,
    },
    "humor": {
        "language model": 95.42,
        "RB": 95.48,
        "RBA": 95.68,
        "SAM": 96.41,
        "SAM -FAM": 95.70,
        "SAM -TAM": 95.50,
        "SAM TAM+FAM": 95.98,
        "SAM 0.1": 96.12,
    },
    "controversy": {
        "language model": 59.29,
        "RB": 59.06,
        "RBA": 60.33,
        "SAM": 62.89,
        "SAM -FAM": 60.50,
        "SAM -TAM": 60.65,
        "SAM TAM+FAM": 61.03,
        "SAM 0.1": 60.86,
    },
    "sst5": {
        "language model": 59.10,
        "RB": 59.30,
        "RBA": 59.40,
        "DiSAN": 59.20,
        "SAM": 59.70,
        "SAM -FAM": 59.30,
        "SAM -TAM": 59.10,
        "SAM TAM+FAM": 58.45,
        "SAM 0.1": 59.40,
    },
    "subj": {
        "language model": 94.09,
        "RB": 95.39,
        "RBA": 95.05,
        "DiSAN": 94.11,
        "SAM": 95.78,
        "SAM -FAM": 95.69,
        "SAM -TAM": 94.99,
        "SAM TAM+FAM": 95.83,
        "SAM 0.1": 95.84,
    },
    "trec": {
        "language model": 91.9,
        "RB": 92.4,
        "RBA": 92.6,
        "DiSAN": 91.9,
        "SAM": 93.4,
        "SAM -FAM": 92.6,
        "SAM -TAM": 92.4,
        "SAM TAM+FAM": 93.2,
        "SAM 0.1": 93.2,
        "SAM 0.15": 93.8,
    },
}
# Seconds an epoch, tables 4 and 5, SUBJ.
TIMED = {
    "language model": 40,
    "RB": 43,
    "RBA": 43,
    "DiSAN": 84,
    "SAM": 43,
    "SAM -FAM": 41,
    "SAM -TAM": 41,
    "SAM TAM+FAM": 43,
    "SAM 0.1": 45,
}


def _task(name: str, length: int, table: str, max_epochs: int, f1: bool = False) -> Task:
    recipe = {
        "optimizer": "adamw",
        "learning_rate": 1e-3,
        "clip_norm": None,
        "weight_decay": 1e-2,
        "batch_size": 32,
    }
    return Task(
        functools.partial(_sources, name),
        recipe,
        length,
        (length,),
        max_epochs,
        table,
        PAPER[name],
        patience=3,
        positive_f1=f1,
    )


def _sources(name: str, folder: str | None = None) -> tuple[Any, ...]:
    """The texts to train on, the development part where there is one, and the test part."""
    if name == "subj":
        # No split is given.
        whole = datasets.load("subj", split="all")
    elif name == "cr":
        if folder is None:
            raise SystemExit(f"cr is not passed on: it needs {needs(name)}.")
        whole = datasets.load_tsv(Path(folder) / "cr.tsv")
    if name in ("subj", "cr"):
        # As many texts to test as in the paper.
        size = 2000 if name == "subj" else 0.2
        rest, test = train_test_split(
            np.arange(len(whole)), test_size=size, stratify=whole.labels, random_state=0
        )
        return whole.subset(rest), whole.subset(test)
    splits = ("train", "test") if name == "trec" else ("train", "dev", "test")
    return tuple(datasets.load(name, split=split) for split in splits)


# Word pieces; longer texts are cut. Dense weights need one length.
TASKS = {
    "trec": _task("trec", 40, "4 and 5, TREC", 15),
    "sst5": _task("sst5", 48, "3 and 4, SST", 10),
    "subj": _task("subj", 48, "4 and 5, SUBJ", 10),
    "cr": _task("cr", 48, "4 and 5, CR", 10),
    "humor": _task("humor", 48, "2 and 4, Humor.", 10, f1=True),
    "controversy": _task("controversy", 48, "2 and 4, Contro.", 10, f1=True),
}
DATASETS = tuple(TASKS)


class Features:
    """The features of a data set, and the parts that a fold of it has."""

    def __init__(self, dataset: str, options: Options) -> None:
        self.task = task = TASKS[dataset]
        preset, quick, cache = options.preset, options.quick, options.cache or CACHE
        self.dataset, self.preset = dataset, preset
        sources = list(task.parts(options.folder))
        self.num_classes = sources[0].num_classes
        if quick:
            sources = [part.subset(np.arange(200)) for part in sources]
        model = text.LanguageModel.from_preset(preset, sequence_length=task.max_length)
        self.dim = model.dim
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
            folds = _folds(train[1])
            used = [*[(*train, rows) for rows in folds[index % FOLDS]], (*test, None)]
        self.used = used
        self.parts = [(None, labels if rows is None else labels[rows]) for _, labels, rows in used]

    def batches(self, part: int, seed: int | None = None) -> text.FeatureBatches:
        features, labels, rows = self.used[part]
        size = self.task.recipe["batch_size"]
        return text.FeatureBatches(
            features, labels, rows, size, seed is not None, seed or 0, self.scale
        )


def _task_of(row: str, task: Task) -> Task:
    """The task with the recipe of a row."""
    if row in TUNED:
        return dataclasses.replace(
            task, recipe=pieces.RECIPE, max_epochs=pieces.MAX_EPOCHS, patience=pieces.PATIENCE
        )
    if row not in LIGHT:
        return task
    recipe = {**task.recipe, "learning_rate": 3e-3}
    return dataclasses.replace(task, recipe=recipe, max_epochs=40, patience=5)


def rows(dataset: str) -> dict[str, float | None]:
    """The rows of a data set's tables with the paper's figure, as shares."""
    names = (*floors.ROWS, *ROWS, *(THRESHOLDS if dataset == "trec" else ()))
    names += tuple(TUNED) if dataset in FINE_TUNED_SETS else ()
    paper = {f"{row}{fine}": value for row, value in PAPER[dataset].items() for fine in ("", FINE)}
    return {row: paper[row] / 100 if row in paper else None for row in names}


def build(row: str, data: Features | pieces.Pieces, units: int = UNITS) -> keras.Model:
    """The model of a row."""
    builder, arguments = {**ROWS, **THRESHOLDS, **TUNED}[row]
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


def needs(dataset: str) -> str | None:
    """What the user has to bring, if anything."""
    if dataset == "cr":
        return "cr.tsv, a line `label<TAB>text` each, in the folder that `--data` names"
    return None


def seeds(dataset: str, full: bool) -> int:
    """Planned runs: the paper's five folds where there are folds."""
    return FOLDS if dataset in FOLDED else 3


def config(dataset: str, row: str, options: Options) -> dict[str, Any]:
    """What is kept of a row beside its runs."""
    task = TASKS[dataset]
    model, arguments = {**ROWS, **THRESHOLDS, **TUNED}[row]
    return {
        "model": model,
        "arguments": arguments,
        "preset": options.preset,
        "max_length": task.max_length,
        "lstm_units": FULL_UNITS if options.full else UNITS,
        "dropout": DROPOUT,
        **_task_of(row, task).recipe,
    }


def parts(dataset: str, options: Options, seed: int) -> tuple[Any, Any, Any]:
    """The texts of the three parts; a seed is a fold, where there is no development part."""
    sources = TASKS[dataset].parts(options.folder)
    if len(sources) == 3:
        return sources
    train, test = sources
    rest, chosen = _folds(np.array(train.labels))[seed % FOLDS]
    return train.subset(rest), train.subset(chosen), test


def _folds(labels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(labels, labels))


@functools.lru_cache(maxsize=1)
def _features(dataset: str, options: Options) -> Features:
    return Features(dataset, options)


def load(dataset: str, options: Options, seed: int) -> Features:
    """The features, with the parts of the fold."""
    data = _features(dataset, options)
    data.fold(seed)
    return data


def described(data: Features) -> dict[str, Any]:
    """What the results file says of the data."""
    preset, length = data.preset, data.task.max_length
    cut = [f"{100 * share:.1f} %" for share in data.long]
    sizes = [len(labels) for _, labels in data.parts]
    return {
        "examples": sizes,
        "test_examples": sizes[2],
        "protocol": {
            **header(data.dataset)["protocol"],
            "language_model": f"{pieces.NAMES.get(preset, preset)}, {HOW}",
            "max_length": f"{length} word pieces; as long or longer are {cut[0]} of the texts to "
            f"train on and {cut[-1]} of those to test",
        },
    }


def run(
    dataset: str, row: str, data: Features, seed: int, options: Options
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One run of a row."""
    if row in TUNED:
        return _fine_tuned(dataset, row, seed, options)
    data.task = _task_of(row, TASKS[dataset])
    limit = 1 if options.quick else data.task.max_epochs
    units = FULL_UNITS if options.full else UNITS
    return tasks.run(functools.partial(build, row, data, units), data, seed, limit)


def _fine_tuned(
    dataset: str, row: str, seed: int, options: Options
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run of a row in which the language model is trained too."""
    task = _task_of(row, TASKS[dataset])
    sources = list(task.parts(options.folder))
    if options.quick:
        sources = [part.subset(np.arange(200)) for part in sources]
    read = [(part.texts, part.labels) for part in sources]
    data = pieces.Pieces(task, read, sources[0].num_classes, options.preset)
    units = FULL_UNITS if options.full else UNITS
    limit = 1 if options.quick else task.max_epochs
    return tasks.run(functools.partial(build, row, data, units), data, seed, limit)


def epoch_times(results: Results, dataset: str, options: Options) -> None:
    """Times an epoch of the rows whose seconds the paper gives (tables 4 and 5)."""
    if dataset != "subj":
        raise SystemExit("The paper's seconds that --epoch-times stands beside are those of subj.")
    _time_epochs(results, load(dataset, options, 0), rounds=1 if options.quick else 3)


def _time_epochs(results: Results, data: Features, rounds: int) -> None:
    """Trains the timed rows in turns on the same batches; their time relative to RB."""
    features, labels, rows = data.used[0]
    data.used[0] = (features, labels, (np.arange(len(labels)) if rows is None else rows)[:1280])
    compiled = {}
    for row in TIMED:
        keras.utils.set_random_seed(0)
        model = build(row, data)
        model.compile("adam", "sparse_categorical_crossentropy")
        model.fit(data.batches(0, 0), verbose=0, shuffle=False)  # compiles
        compiled[row] = model
    seconds: dict[str, list[float]] = {row: [] for row in TIMED}
    for index in range(rounds):
        for row, model in compiled.items():
            start = clock()
            model.fit(data.batches(0, 0), verbose=0, shuffle=False)
            seconds[row].append(clock() - start)
        print(index, {row: round(values[-1], 1) for row, values in seconds.items()}, flush=True)
    first = np.array(seconds["RB"])
    results.note(
        f"epoch_times{suffix()}",
        {
            row: {
                "paper": round(TIMED[row] / TIMED["RB"], 3),
                "parameters": compiled[row].count_params(),
                "relative": [
                    round(float(f(np.array(values) / first)), 3)
                    for f in (np.median, np.min, np.max)
                ],
            }
            for row, values in seconds.items()
        },
    )


# What the paper says of the order of its rows, and what we ask beside it.
CLAIMS = (
    ("SAM", "language model", "SAM beats the language model alone"),
    ("SAM", "language model, mean", "... its mean"),
    ("SAM", "RB", "... BiLSTMs on it (RB)"),
    ("SAM", "RBA", "... with attention (RBA)"),
    ("SAM", "DiSAN", "... DiSAN on it"),
    ("RB", "language model", "BiLSTMs help"),
    ("RBA", "RB", "attention helps"),
    ("SAM", "SAM -FAM", "the weights of features help"),
    ("SAM", "SAM -TAM", "the weights of tokens help"),
    ("SAM", "SAM TAM+FAM", "features should come first"),
    ("SAM", "SAM 0.1", "no threshold against 0.1 (table 4)"),
    ("SAM 0.15", "SAM", "a threshold of 0.15 is better than none (figure 3)"),
    ("SAM", "SAM pointwise", "weights for positions against weights for words"),
    ("SAM", "SAM, no BiLSTM", "BiLSTMs in front of the attention"),
    ("AttentionPooling", "language model, mean", "plain attention against the mean"),
    ("language model, mean", "language model", "the mean against the first token"),
    (f"SAM{FINE}", f"language model{FINE}", "SAM beats the language model alone, both fine-tuned"),
    (f"SAM{FINE}", f"RB{FINE}", "... BiLSTMs on it, fine-tuned"),
    (f"SAM{FINE}", f"RBA{FINE}", "... with attention, fine-tuned"),
    (f"language model{FINE}", "language model", "fine-tuning helps"),
    (f"SAM{FINE}", "SAM", "... SAM"),
)


def _distance(dataset: str, better: str, worse: str) -> float | bool | None:
    """The paper's difference where it is not that of the rows, `False` where it has none.

    Table 4 has another SAM for controversy. Fine-tuned and frozen rows have the same figure.
    """
    if better.endswith(FINE) and not worse.endswith(FINE):
        return False
    if dataset != "controversy" or better != "SAM" or worse not in PAPER[dataset]:
        return None
    return round((61.22 - PAPER[dataset][worse]) / 100, 5) if worse.startswith("SAM") else None


def header(dataset: str) -> dict[str, Any]:
    """What stands at the head of a data set's results file."""
    task = TASKS[dataset]
    folded = dataset in FOLDED
    values = (pieces.PATIENCE, pieces.MAX_EPOCHS, f"{pieces.RECIPE['learning_rate']:g}")
    tuned = [f"; fine-tuned: {v}" if dataset in FINE_TUNED_SETS else "" for v in values]
    return {
        "paper": "SAM",
        "table": task.table,
        "dataset": dataset,
        "measure": "f1" if task.positive_f1 else "accuracy",
        "claims": [(*claim, _distance(dataset, *claim[:2])) for claim in CLAIMS],
        "protocol": {
            "language_model": HOW,
            "of_the_paper": "RoBERTa, frozen on TREC, SUBJ and CR, fine-tuned elsewhere",
            "selection": "epoch with the best validation accuracy, ties by loss; test read once",
            "runs": f"{FOLDS} folds of the training texts: one chooses the epoch, the test part "
            "stays the same"
            if folded
            else "seeds; the development part chooses the epoch",
            "patience": f"{task.patience}; {LIGHTER}: 5{tuned[0]}",
            "max_epochs": f"{task.max_epochs}; {LIGHTER}: 40{tuned[1]}",
            "batch_size": task.recipe["batch_size"],
            "max_length": task.max_length,
            "sizes": f"two BiLSTMs of {UNITS} units (the paper: 256); DiSAN {UNITS} units",
            "optimizer": f"AdamW, 1e-3, weight decay 1e-2; {LIGHTER}: 3e-3{tuned[2]} (the paper: "
            "with lookahead, rates tuned)",
        },
    }
