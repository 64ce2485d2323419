"""MPSAN's tables 1-7 on TREC, SST-5, SUBJ and SICK: the rows, their order, their time.

The paper has 300-dimensional GloVe vectors; `--vectors` takes the file. Without it words have the
vectors of `benchmarks/reproduce/vectors.py`, which are not trained on.
"""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import keras
from sklearn.model_selection import StratifiedKFold

from benchmarks.reproduce import floors, tasks
from benchmarks.reproduce.paper import Paper, told
from benchmarks.reproduce.tasks import Data, Options, Parts, Task, adam, held_out, official
from benchmarks.reproduce.timing import Timed, Turns, compiled
from keras_attnpool import models, ops
from keras_attnpool.workbench import datasets

BW, FW, FA2, FA3 = ("earlier",), ("later",), ("faraway_2",), ("faraway_3",)
SD, D = ("scaled_distance",), ("distance",)

# row: (builder, its arguments). Attentions are as wide as the word vectors.
TABLE_1 = {
    "MPSAN": ("MPSAN", {}),
    "DiSAN": ("DiSAN", {"units": "embedding"}),
    "Bi-BloSAN": ("BiBloSAN", {"units": "embedding"}),
    "Bi-LSTM": (
        "BiLSTM",
        {"pooling": "multi_dim", "lstm_units": "half", "embedding_dropout": 0.3, "dropout": 0.3},
    ),
    "multi-head": ("MultiHeadSAN", {"num_heads": 6, "key_dim": 64}),
    "no positions": ("MPSAN", {"positions": ()}),
}
TABLES_2_TO_5 = {
    "model 1": ("MPSAN", {"positions": (BW, FW)}),
    "model 2": ("MPSAN", {"positions": (BW + SD, FW + SD)}),
    "model 3": ("MPSAN", {"positions": (FA2, FA3)}),
    "model 4": ("MPSAN", {"positions": (FA2, FA3, BW, FW)}),
    "model 5": ("MPSAN", {"positions": (FA2 + SD, FA3 + SD, BW + SD, FW + SD)}),
    "model 6": ("MPSAN", {"positions": (FA2, FA3, BW + D, FW + D)}),
    "B&F + FG": ("MPSAN", {"positions": (BW, FW), "fusion": "gate"}),
    "mul + FG": ("MPSAN", {"fusion": "gate"}),
    "M-D + B&F + TPW": ("MPSAN", {"positions": (BW, FW), "per_feature": True}),
    "M-D + mul + TPW": ("MPSAN", {"per_feature": True}),
    "w/o fusion": ("MPSAN", {"fusion": None}),
    "w/o attention": ("MPSAN", {"positions": (), "pooling": "mean"}),
    "released code": (
        "MPSAN",
        {
            "positions": (("faraway_1",), FA2, BW + SD, FW + SD),
            "score_activation": "tanh",
            "rescale_scores": True,
        },
    ),
}
PAIR_ROWS = {
    "MPSAN": ("MPSANPair", {"dropout": 0.3}),
    "no positions": ("MPSANPair", {"positions": (), "dropout": 0.3}),
    "Bi-LSTM": (
        "GeneralizedPoolingPair",
        {
            "pooling": "multi_dim",
            "lstm_units": "half",
            "num_layers": 1,
            "dropout": 0.3,
            "embedding_dropout": 0.3,
        },
    ),
    # Classifiers of texts, made into models of pairs.
    **{row: TABLE_1[row] for row in ("multi-head", "DiSAN", "Bi-BloSAN")},
    "TextCNN": ("TextCNN", {}),
    # The encoder stands for as many gated convolutions.
    "hierarchical CNN": (
        "TextClassifier",
        {"encoder": 5, "pooling": "multi_dim", "embedding_dropout": 0.3, "dropout": 0.3},
    ),
    "w/o attention": ("MPSANPair", {"positions": (), "pooling": "mean", "dropout": 0.3}),
}


class GatedConvolution(keras.layers.Layer):  # type: ignore[misc]
    """A layer of table 7's hierarchical CNN: `y = x + a * sigmoid(b)`, `[a, b] = conv(x)`.

    The paper names Gehring et al. (2017) and nothing else. The gate and the sum are theirs. From
    the public code of Bi-BloSAN, whose table has the same figures, are the windows of five words,
    the five layers, and the pooling by multi-dimensional attention; it has a ReLU before the gate
    and no sum around the first layer.
    """

    def __init__(self, units: int, dropout: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.convolution = keras.layers.Conv1D(2 * units, 5, padding="same")
        self.dropout = keras.layers.Dropout(dropout)

    def call(self, x: Any, mask: Any = None, training: bool | None = None) -> Any:
        """Convolves `(batch, time, units)`; the windows see zeros at padding."""
        kept = x if mask is None else ops.zero_masked(x, mask)
        gated = self.convolution(self.dropout(kept, training=training))
        return x + keras.activations.glu(gated)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`(batch, time, units)`, as the input."""
        return input_shape


def _folded(name: str, folder: str, fold: int = 0) -> Parts:
    """Nine tenths to train on, less a tenth of them to choose by; the fold to test."""
    if name == "subj":
        whole = datasets.load("subj", split="all")
    else:
        whole = datasets.load_tsv(Path(folder) / f"{name}.tsv")
    folds = StratifiedKFold(10, shuffle=True, random_state=0).split(whole.texts, whole.labels)
    rest, test = list(folds)[fold]
    return *whole.subset(rest).split(0.1, seed=0), whole.subset(test)


TOLD = told("mpsan")
PUBLISHED, TIMED = TOLD["figures"], TOLD["times"]
# The paper has five runs on TREC and SICK, the best of ten on SST-5, and ten folds elsewhere.
TASKS: dict[str, Task] = {
    "trec": Task(
        held_out("trec"),
        adam(1e-3, None, 64),
        37,
        (8, 12, 20, 37),
        15,
        "6, TREC",
        PUBLISHED["trec"],
        patience=4,
        full_runs=5,
    ),
    "sst5": Task(
        official("sst5"),
        adam(1e-3, None, 64),
        56,
        (16, 24, 56),
        8,
        "1 to 5, SST",
        PUBLISHED["sst5"],
        full_runs=10,
    ),
    "subj": Task(
        functools.partial(_folded, "subj"),
        adam(1e-3, None, 64),
        64,
        (24, 64),
        5,
        "6, SUBJ",
        PUBLISHED["subj"],
        patience=2,
        runs=10,
    ),
    "sick": Task(
        official("sick"),
        adam(1e-3, None, 32),
        32,
        (14, 32),
        8,
        "7, SICK",
        PUBLISHED["sick"],
        graded=True,
        full_runs=5,
    ),
}
# As in DiSAN's public code, whose settings for SST-5 MPSAN has.
TASKS = {
    "sst5_phrases": dataclasses.replace(
        TASKS["sst5"],
        parts=tasks.sst5_phrases,
        boundaries=tasks.PHRASE_LENGTHS,
        column="sst5",
    ),
    **TASKS,
}
# Sets of table 6 that are not passed on: whoever has them gives their texts.
for _name in ("cr", "mpqa"):
    TASKS[_name] = dataclasses.replace(
        TASKS["subj"],
        table=f"6, {_name.upper()}",
        paper=PUBLISHED[_name],
        parts=functools.partial(_folded, _name),
        needs=tasks.ONE_FILE.format(_name),
    )
FOLDED = ("subj", "cr", "mpqa")


class _MPSAN(Paper):
    name, title = "mpsan", "MPSAN"
    tasks = TASKS
    claims = TOLD["claims"]
    timed = ("sst5",)

    def names(self, dataset: str) -> tuple[str, ...]:
        if dataset == "sick":
            return (*floors.ROWS, *PAIR_ROWS)
        more = TABLES_2_TO_5 if dataset.startswith("sst5") else ("w/o attention",)
        return (*floors.ROWS, *TABLE_1, *more)

    def config(self, dataset: str, row: str, options: Options) -> dict[str, Any]:
        builder, arguments = _row(dataset, row)
        return {
            "model": builder,
            "arguments": arguments,
            "vectors": options.vectors and Path(options.vectors).name,
            **TASKS[dataset].recipe,
        }

    def fold(self, dataset: str, seed: int) -> int:
        return seed if dataset in FOLDED else 0

    def parts(self, dataset: str, options: Options, seed: int) -> Parts:
        if dataset in FOLDED and (options.folder or not TASKS[dataset].needs):
            return _folded(dataset, options.folder or "", seed)
        return super().parts(dataset, options, seed)

    def build(self, dataset: str, row: str, data: Data, options: Options) -> keras.Model:
        builder, arguments = _row(dataset, row)
        dim = data.vectors.shape[1]
        sizes = {"embedding": dim, "half": dim // 2}
        arguments = {k: sizes.get(v, v) if isinstance(v, str) else v for k, v in arguments.items()}
        if "encoder" in arguments:
            arguments["encoder"] = [GatedConvolution(dim) for _ in range(arguments["encoder"])]
        model = getattr(models, builder)(
            data.tokenizer.vocabulary_size,
            data.num_classes,
            embeddings=data.vectors,
            trainable_embeddings=data.task.train_embeddings,
            hidden_units=dim,
            **arguments,
        )
        if data.pairs and not builder.endswith("Pair"):
            return tasks.pair_of(model, data.num_classes, dim)
        return model

    def run(
        self, dataset: str, row: str, data: Data, seed: int, options: Options
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        result, facts = super().run(dataset, row, data, seed, options)
        return result, {**facts, "word_vectors": data.vectors_from}

    def turns(self, dataset: str, options: Options) -> Turns:
        data = self.read(dataset, options, 0)
        # 40 batches tell the ratio as well as all 134.
        columns, targets = data.parts[0]
        data.parts[0] = ({name: ids[:2560] for name, ids in columns.items()}, targets[:2560])
        models_of = {}
        for row in TIMED:
            keras.utils.set_random_seed(0)
            model = compiled(self.build(dataset, row, data, options))
            models_of[row] = Timed(model, data.batches(0, 0))
        return Turns(models_of, TIMED, first="MPSAN", rounds=1 if options.quick else 5)

    def distance(self, dataset: str, better: str, worse: str) -> float | None:
        # Tables 3 and 4 have 51.76 for model 1, table 2 has 51.54.
        others = {("model 1", "B&F + FG"): 0.004, ("M-D + B&F + TPW", "model 1"): 0.0019}
        printed = super().distance(dataset, better, worse)
        return printed and others.get((better, worse), printed)

    def header(self, dataset: str) -> dict[str, Any]:
        published = {"published": TOLD["related"]} if TASKS[dataset].graded else {}
        return {**super().header(dataset), **published, "folded": dataset in FOLDED}

    def protocol(self, dataset: str) -> dict[str, Any]:
        task = TASKS[dataset]
        # For relatedness the paper has settings of its own.
        rate, penalty, keep = ("0.7", "5e-4", "0.55") if task.graded else ("0.5", "1e-7", "0.7")
        runs = "the ten folds of a cross-validation"
        if dataset not in FOLDED:
            of_the_paper = "the best of ten" if dataset.startswith("sst5") else "the mean of five"
            runs = f"seeds; the paper takes {of_the_paper}"
        protocol = {
            **super().protocol(dataset),
            "runs": runs,
            "length_boundaries": task.boundaries,
            "word_vectors": "frozen",
            "dropout": f"0.3 of the inputs of every kernel but the pooling's "
            f"(the paper keeps {keep})",
            "optimizer": f"Adam, 1e-3 (the paper: Adadelta, {rate}), no penalty ({penalty})",
        }
        if task.graded:
            protocol["pairs"] = (
                "multi-head attention, DiSAN, Bi-BloSAN and the CNNs are the encoders of the "
                "classifiers of texts, with MPSAN's matching and classifier behind them"
            )
        return protocol


def _row(dataset: str, row: str) -> tuple[str, dict[str, Any]]:
    return PAIR_ROWS[row] if dataset == "sick" else {**TABLE_1, **TABLES_2_TO_5}[row]


PAPER = _MPSAN()
