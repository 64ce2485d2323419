"""HCAN's table 2 on IMDB (2 classes, 8 ratings) and R8: the rows, their order, their time.

Its own sets, Yelp, Amazon and PubMed, are not passed on: `--data` names a folder with `NAME.tsv`, a
line `label<TAB>text` each, which is divided as the paper does, 80, 10 and 10 percent.

As in the paper, texts keep letters, digits and the marks that end sentences, words that are rarer
than 5 are unknown, and the word vectors are trained by word2vec on the training texts.
"""

import dataclasses
import functools
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from benchmarks.devices import clock, device, suffix
from benchmarks.reproduce import tasks
from benchmarks.reproduce.engine import Options
from benchmarks.reproduce.results import Results, packed
from benchmarks.reproduce.tasks import Task, adam
from benchmarks.reproduce.training import embedding_size
from keras_attnpool import datasets, models, text

SIZES = {"dim": 64, "heads": 4}
FULL_SIZES = {"dim": 512, "heads": 8}
PACKED = 3
MAX_WORDS = 60

LINEAR = {
    "Naive Bayes": (MultinomialNB, {}),
    "logistic regression, L1": (
        LogisticRegression,
        {"l1_ratio": 1.0, "C": 1.0, "solver": "liblinear"},
    ),
    "linear SVM": (LinearSVC, {}),
}
NEURAL = {
    "TextCNN": ("TextCNN", {}),
    "HAN": ("HAN", {}),
    "CAN 1 max": ("HCAN", {"hierarchical": False, "parallel": False, "pooling": "max"}),
    "CAN 1 target": ("HCAN", {"hierarchical": False, "parallel": False}),
    "CAN 2 max": ("HCAN", {"hierarchical": False, "pooling": "max"}),
    "CAN 2 target": ("HCAN", {"hierarchical": False}),
    "HCAN 1 max": ("HCAN", {"parallel": False, "pooling": "max"}),
    "HCAN 1 target": ("HCAN", {"parallel": False}),
    "HCAN 2 max": ("HCAN", {"pooling": "max"}),
    "HCAN 2 target": ("HCAN", {}),
    "mean of words": ("AverageEmbedding", {}),
    "HCAN 2 target, code": ("HCAN", {"value_conv": False, "classifier_dropout": 0.1}),
}
# Yelp 2016, Amazon sentiment, Amazon category, PubMed: accuracies of the paper's table 2.
PAPER = {
    "Naive Bayes": (63.12, 61.66, 88.14, 75.81),
    "logistic regression, L1": (71.31, 67.57, 88.69, 78.57),
    "TextCNN": (74.44, 70.75, 88.20, 78.15),
    "HAN": (76.30, 72.56, 89.68, 79.89),
    "CAN 1 max": (75.01, 71.24, 89.27, 79.21),
    "CAN 1 target": (75.17, 71.45, 89.35, 79.70),
    "CAN 2 max": (75.21, 71.45, 89.41, 79.86),
    "CAN 2 target": (75.25, 71.78, 89.71, 79.95),
    "HCAN 1 max": (75.00, 71.09, 88.85, 79.31),
    "HCAN 1 target": (75.75, 72.33, 89.55, 79.91),
    "HCAN 2 max": (75.54, 72.43, 89.34, 80.09),
    "HCAN 2 target": (76.51, 72.85, 89.89, 80.13),
}
# Milliseconds to train on one document, one at a time on a GPU, Amazon sentiment.
PAPER_TIMES = {"HCAN": 38, "HAN": 97, "TextCNN": 15}
ONE = ", one document at a time"


def _parts(name: str, **options: Any) -> tuple[Any, Any, Any]:
    train, validation = datasets.load(name, split="train", **options).split(0.1, seed=0)
    return train, validation, datasets.load(name, split="test", **options)


# Many lengths, for the rows that read a text as one sequence pay for the square of its length.
def _imdb(**options: Any) -> Task:
    # The longest texts are cut, so that the rows that read them as one sequence stay affordable.
    return Task(
        lambda folder: _parts("imdb", **options),
        adam(5e-4, 1.0),
        600,
        (128, 160, 192, 224, 256, 320, 400, 500, 600),
        8,
        "2",
        patience=3,
    )


TASKS = {
    "imdb": _imdb(),
    "imdb_4000": _imdb(),
    "imdb_stars": _imdb(stars=True),
    "r8": Task(
        lambda folder: _parts("r8", view="original"),
        adam(5e-4, 1.0),
        600,
        (32, 64, 96, 128, 192, 256, 384, 600),
        10,
        "2",
        patience=3,
    ),
}
# Texts to train on, where not all.
EXAMPLES = {"imdb_4000": 4000, "imdb_stars": 4000}
# The paper's own sets, by the column of its table.
COLUMNS = ("yelp", "amazon_sentiment", "amazon_category", "pubmed")


def _own(name: str, folder: str | None) -> tuple[Any, Any, Any]:
    if folder is None:
        raise SystemExit(f"{name} is not passed on: it needs {needs(name)}.")
    whole = datasets.load_tsv(Path(folder) / f"{name}.tsv")
    rest, test = whole.split(0.1, seed=0)
    train, validation = rest.split(1 / 9, seed=0)
    return train, validation, test


TASKS |= {
    name: dataclasses.replace(TASKS["imdb"], parts=functools.partial(_own, name))
    for name in COLUMNS
}
DATASETS = tuple(TASKS)
_OTHERS = re.compile(r"[^\w.!?\s]|_")


def cleaned(line: str) -> str:
    """Lower case; letters, digits and the marks that end sentences; marks stand alone."""
    line = _OTHERS.sub("", line.lower().replace("<br />", " "))
    return re.sub(r"([.!?]+)", r" \1 ", line)


class Documents:
    """Ids of a task's three parts, as sentences and as one sequence, and the word vectors."""

    def __init__(self, task: Task, limit: int | None, options: Options) -> None:
        self.task = task
        quick = options.quick
        self.sizes = FULL_SIZES if options.full else SIZES
        parts = list(task.parts(options.folder))
        if limit is not None and limit < len(parts[0].texts):
            keep = np.random.default_rng(0).permutation(len(parts[0].texts))[:limit]
            parts[0] = parts[0].subset(keep)
        self.texts = [[cleaned(line) for line in part.texts] for part in parts]
        self.labels = [np.asarray(part.labels) for part in parts]
        if quick:
            self.texts = [texts[:200] for texts in self.texts]
            self.labels = [labels[:200] for labels in self.labels]
        self.num_classes = parts[0].num_classes
        self.tokenizer = text.WordTokenizer.train(self.texts[0], min_frequency=5)
        self.vectors = text.word2vec(
            self.texts[0], self.tokenizer, dim=self.sizes["dim"], epochs=5, seed=0
        )
        self.documents = [
            [self._sentences(line, task.max_length) for line in texts] for texts in self.texts
        ]

    def _sentences(self, line: str, limit: int) -> list[np.ndarray]:
        """The ids of each sentence, `limit` words together; long ones in several parts.

        What a text without marks is made of would else be one sentence of hundreds of words, and
        every batch would have room for one.
        """
        found, used = [], 0
        for sentence in text.split_sentences(line):
            ids = self.tokenizer.encode([sentence])[0][: limit - used]
            used += len(ids)
            found += [ids[at : at + MAX_WORDS] for at in range(0, len(ids), MAX_WORDS)]
        return found

    def view(self, hierarchical: bool) -> "View":
        return View(self, hierarchical)


@dataclasses.dataclass
class View:
    """The documents as `benchmarks.reproduce.tasks.run` reads them."""

    source: Documents
    hierarchical: bool

    @property
    def task(self) -> Task:
        return self.source.task

    @property
    def parts(self) -> list[tuple[None, np.ndarray]]:
        return [(None, labels) for labels in self.source.labels]

    def batches(self, part: int, seed: int | None = None) -> Any:
        documents, labels = self.source.documents[part], self.source.labels[part]
        order: dict[str, Any] = {"shuffle": seed is not None, "seed": seed or 0}
        size = self.task.recipe["batch_size"]
        if self.hierarchical:
            return text.DocumentBatches(documents, labels, size, packed=PACKED, **order)
        rows = [np.concatenate(d) if d else np.zeros(0, "int32") for d in documents]
        return text.BucketedBatches(rows, labels, size, self.task.boundaries, **order)


def rows(dataset: str) -> dict[str, float | None]:
    """The rows with the paper's figure, on its own sets."""
    names = (*LINEAR, *NEURAL)
    if dataset not in COLUMNS:
        return dict.fromkeys(names)
    column = COLUMNS.index(dataset)
    return {row: PAPER[row][column] / 100 if row in PAPER else None for row in names}


def is_hierarchical(row: str) -> bool:
    return row == "HAN" or row.startswith("HCAN")


def build(row: str, data: Documents, packed: int = PACKED) -> keras.Model:
    """The model of a row."""
    builder, arguments = NEURAL[row]
    sizes: dict[str, Any] = {}
    if builder == "HCAN":
        sizes = {
            "filters": data.sizes["dim"],
            "num_heads": data.sizes["heads"],
            "max_words": data.task.max_length,
            "max_sentences": 600,
        }
    if is_hierarchical(row):
        sizes["packed"] = packed
    if builder == "AverageEmbedding":
        sizes["trainable_embeddings"] = True
    return getattr(models, builder)(
        data.tokenizer.vocabulary_size,
        data.num_classes,
        embeddings=data.vectors,
        **sizes,
        **arguments,
    )


def needs(dataset: str) -> str | None:
    """What the user has to bring, if anything."""
    if dataset in COLUMNS:
        return f"{dataset}.tsv, a line `label<TAB>text` each, in the folder that `--data` names"
    return None


def seeds(dataset: str, full: bool) -> int:
    """Planned runs."""
    return 3


def config(dataset: str, row: str, options: Options) -> dict[str, Any]:
    """What is kept of a row beside its runs."""
    if row in LINEAR:
        kind, arguments = LINEAR[row]
        return {"model": kind.__name__, "arguments": arguments}
    builder, arguments = NEURAL[row]
    full = {"sizes": FULL_SIZES} if options.full else {}
    return {"model": builder, "arguments": arguments, **_recipe(dataset, options), **full}


def _recipe(dataset: str, options: Options) -> dict[str, Any]:
    return {**TASKS[dataset].recipe, **({"learning_rate": 2e-5} if options.full else {})}


@functools.lru_cache(maxsize=1)
def _documents(dataset: str, options: Options) -> Documents:
    task = dataclasses.replace(TASKS[dataset], recipe=_recipe(dataset, options))
    return Documents(task, None if options.full else EXAMPLES.get(dataset), options)


def load(dataset: str, options: Options, seed: int) -> Documents:
    """The documents; the same for every seed."""
    return _documents(dataset, options)


def described(data: Documents) -> dict[str, Any]:
    """What the results file says of the data."""
    sizes = [len(labels) for labels in data.labels]
    return {"examples": sizes, "test_examples": sizes[2], "padding": _padding(data)}


def run(
    dataset: str, row: str, data: Documents, seed: int, options: Options
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One run of a row; the linear ones draw nothing."""
    if row in LINEAR:
        return _fit_linear(row, data, seed)
    limit = 1 if options.quick else data.task.max_epochs
    make = functools.partial(build, row, data)
    result, facts = tasks.run(make, data.view(is_hierarchical(row)), seed, limit)
    milliseconds = 1000 * result["seconds_per_epoch"] / len(data.labels[0])
    return {**result, "milliseconds_per_document": round(milliseconds, 2)}, facts


def epoch_times(results: Results, dataset: str, options: Options) -> None:
    """Times HCAN and its peers side by side."""
    data = Documents(TASKS[dataset], 640, options)
    _time(results, data, rounds=1 if options.quick else 3)


def _fit_linear(row: str, data: Documents, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """TF-IDF of words and pairs of words in five texts or more, and a linear classifier."""
    kind, arguments = LINEAR[row]
    tfidf = TfidfVectorizer(ngram_range=(1, 2), min_df=5, token_pattern=r"\S+")
    features = [tfidf.fit_transform(data.texts[0]), *map(tfidf.transform, data.texts[1:])]
    classifier = kind(**arguments)
    if kind is LogisticRegression and data.num_classes > 2:
        classifier = OneVsRestClassifier(classifier)
    start = time.perf_counter()
    classifier.fit(features[0], data.labels[0])
    seconds = time.perf_counter() - start
    result: dict[str, Any] = {"seed": seed}
    for name, part in (("test", 2), ("validation", 1)):
        found = classifier.predict(features[part])
        if name == "test":
            result["correct"] = packed(found == data.labels[part])
        result[f"{name}_accuracy"] = round(float(np.mean(found == data.labels[part])), 5)
        result[f"{name}_macro_f1"] = round(f1_score(data.labels[part], found, average="macro"), 5)
    size = features[0].shape[1] * (1 if data.num_classes == 2 else data.num_classes)
    return (
        {
            **result,
            "best_epoch": 1,
            "epochs": 1,
            "stopped_by_the_epoch_limit": False,
            "seconds_per_epoch": round(seconds, 2),
            "milliseconds_per_document": round(1000 * seconds / len(data.labels[0]), 2),
        },
        {"parameters": size, "parameters_without_embeddings": size},
    )


def _padding(data: Documents) -> dict[str, float]:
    """The share of padding among the words served, for each kind of batch."""
    documents = data.documents[0]
    kinds = {"padded": {"packed": 0}, **{f"packed {k}": {"packed": k} for k in (1, PACKED)}}
    shares = {
        name: text.DocumentBatches(documents, shuffle=False, **options).padding_share
        for name, options in kinds.items()
    }
    flat = data.view(hierarchical=False).batches(0)
    return {name: round(share, 3) for name, share in {**shares, "flat": flat.padding_share}.items()}


class OneByOne(keras.utils.PyDataset):
    """One document a step, cut to its own sizes, as the paper trains; `flat` as one sequence."""

    def __init__(
        self, documents: list[list[np.ndarray]], labels: np.ndarray, flat: bool = False
    ) -> None:
        super().__init__()
        self.documents, self.labels = documents, labels
        if flat:
            # TextCNN needs as many words as its widest filter.
            self.documents = [
                [np.concatenate([*document, np.zeros(5, "int32")])] for document in documents
            ]
        self.flat = flat

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        document = self.documents[index]
        ids = np.zeros((1, max(len(document), 1), max(map(len, document), default=1)), "int32")
        for place, sentence in enumerate(document):
            ids[0, place, : len(sentence)] = sentence
        return ids[:, 0] if self.flat else ids, self.labels[index : index + 1]


def _time(results: Results, data: Documents, rounds: int) -> None:
    """Trains HCAN and its peers in turns on the same documents; time relative to HCAN.

    HCAN comes packed, padded, and one document at a time: the paper's way, and its peers' on a GPU.
    That way is left out on JAX, which would compile a program for each document. TensorFlow runs
    its graph without XLA, which would do the same.
    """
    jit = False if keras.config.backend() == "tensorflow" else "auto"
    documents, labels = data.documents[0], data.labels[0]
    ways: dict[str, tuple[str, int, Any]] = {
        "HCAN": ("HCAN 2 target", PACKED, {"packed": PACKED}),
        "HCAN, padded": ("HCAN 2 target", 0, {"packed": 0}),
        "HAN": ("HAN", PACKED, {"packed": PACKED}),
        "HAN, padded": ("HAN", 0, {"packed": 0}),
        "TextCNN": ("TextCNN", 0, None),
    }
    if keras.config.backend() != "jax":
        ways[f"HCAN{ONE}"] = ("HCAN 2 target", 0, "one")
        if device() != "cpu":
            ways[f"HAN{ONE}"] = ("HAN", 0, "one")
            ways[f"TextCNN{ONE}"] = ("TextCNN", 0, "one flat")
    passes = {}
    for name, (row, groups, kind) in ways.items():
        keras.utils.set_random_seed(0)
        model = build(row, data, groups)
        model.compile("adam", "sparse_categorical_crossentropy", jit_compile=jit)
        few = slice(0, 64 if kind in ("one", "one flat") else None)
        if kind == "one":
            batches: Any = OneByOne(documents[few], labels[few])
        elif kind == "one flat":
            batches = OneByOne(documents[few], labels[few], flat=True)
        elif kind is None:
            batches = data.view(hierarchical=False).batches(0)
        else:
            batches = text.DocumentBatches(documents, labels, shuffle=False, **kind)
        passes[name] = (model, batches, len(labels[few]))
        model.fit(batches, verbose=0, shuffle=False)  # compiles every shape
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for index in range(rounds):
        for name, (model, batches, count) in passes.items():
            start = clock()
            model.fit(batches, verbose=0, shuffle=False)
            seconds[name].append((clock() - start) / count)
        print(index, {name: round(1000 * v[-1], 1) for name, v in seconds.items()}, flush=True)
    # The paper's are those of one document at a time on a GPU.
    way = "" if device() == "cpu" else ONE
    first = np.array(seconds[f"HCAN{way}"])
    paper = {f"{name}{way}": each for name, each in PAPER_TIMES.items()}
    results.note(
        f"times_{keras.config.backend()}{suffix()}",
        {
            name: {
                "paper": round(paper[name] / PAPER_TIMES["HCAN"], 3) if name in paper else None,
                "parameters": passes[name][0].count_params() - embedding_size(passes[name][0]),
                "relative": list(_relative(np.array(values) / first)),
            }
            for name, values in seconds.items()
        },
    )


def _relative(ratios: np.ndarray) -> Iterator[float]:
    """Median, least and greatest."""
    for measure in (np.median, np.min, np.max):
        yield round(float(measure(ratios)), 3)


def _distance(better: str, worse: str) -> float | None:
    """The paper's mean difference over its four tasks, as a share."""
    if better not in PAPER or worse not in PAPER:
        return None
    return round(float(np.mean(np.subtract(PAPER[better], PAPER[worse]))) / 100, 5)


# What the paper says of the order of its rows, and what we ask beside it.
CLAIMS = (
    ("HCAN 2 target", "HAN", "HCAN is at least as accurate as HAN"),
    ("HCAN 2 target", "TextCNN", "... and better than a CNN"),
    ("HCAN 2 target", "logistic regression, L1", "... than logistic regression"),
    ("HCAN 2 target", "linear SVM", "... than a linear SVM, which is ours"),
    ("HCAN 2 target", "CAN 2 target", "the hierarchy helps (two self-attentions, target)"),
    ("HCAN 1 target", "CAN 1 target", "... (one, target)"),
    ("HCAN 2 max", "CAN 2 max", "... (two, maximum)"),
    ("HCAN 1 max", "CAN 1 max", "... (one, maximum)"),
    ("HCAN 2 target", "HCAN 1 target", "two self-attentions help (hierarchy, target)"),
    ("HCAN 2 max", "HCAN 1 max", "... (hierarchy, maximum)"),
    ("CAN 2 target", "CAN 1 target", "... (flat, target)"),
    ("HCAN 2 target", "HCAN 2 max", "target attention helps (hierarchy, two)"),
    ("HCAN 1 target", "HCAN 1 max", "... (hierarchy, one)"),
    ("CAN 2 target", "CAN 2 max", "... (flat, two)"),
    ("HCAN 2 target", "HCAN 2 target, code", "the values' convolution, which the code lacks"),
)


def header(dataset: str) -> dict[str, Any]:
    """What stands at the head of a data set's results file."""
    task = TASKS[dataset]
    return {
        "paper": "HCAN",
        "table": task.table,
        "dataset": dataset,
        "measure": "accuracy",
        "claims": [
            (better, worse, words, _distance(better, worse)) for better, worse, words in CLAIMS
        ],
        "protocol": {
            "selection": "epoch with the best validation accuracy, ties by loss; test read once",
            "patience": task.patience,
            "max_epochs": task.max_epochs,
            "batch_size": f"{task.recipe['batch_size']} (the paper: 1)",
            "training_examples": EXAMPLES.get(dataset, "all but the tenth that chooses the epoch"),
            "max_length": f"{task.max_length} words; sentences of more than {MAX_WORDS} in parts",
            "word_vectors": f"word2vec of {SIZES['dim']} dimensions on the training texts, "
            "fine-tuned (the paper: 512)",
            "sizes": f"{SIZES['dim']} filters, {SIZES['heads']} heads (the paper: 512, 8); "
            "HAN 50 units a direction, 200 hidden units; TextCNN 100 filters of 3, 4 and 5 words",
            "optimizer": f"Adam, {task.recipe['learning_rate']:g}, gradients clipped to norm 1 "
            "(the paper: 2e-5)",
            "linear rows": "TF-IDF of words and pairs of words in at least 5 texts",
        },
    }
