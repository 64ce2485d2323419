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
from pathlib import Path
from typing import Any

import keras
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from benchmarks.devices import device
from benchmarks.reproduce import floors, tasks
from benchmarks.reproduce.paper import Paper, told
from benchmarks.reproduce.tasks import Options, Parts, Task, adam, few, held_out
from benchmarks.reproduce.timing import Timed, Turns, compiled
from keras_attnpool import models
from keras_attnpool.batches import SequenceBatches
from keras_attnpool.workbench import datasets, text

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
TOLD = told("hcan")
# Table 2's, in the order of its figures.
COLUMNS = ("yelp", "amazon_sentiment", "amazon_category", "pubmed")
PUBLISHED = TOLD["figures"]
ONE = ", one document at a time"


def _own(name: str, folder: str) -> Parts:
    rest, test = datasets.load_tsv(Path(folder) / f"{name}.tsv").split(0.1, seed=0)
    return *rest.split(1 / 9, seed=0), test


# The longest texts are cut, so that the rows that read them as one sequence stay affordable. Many
# lengths, for these rows pay for the square of a text's length.
IMDB = Task(
    held_out("imdb"),
    adam(5e-4, 1.0),
    600,
    (128, 160, 192, 224, 256, 320, 400, 500, 600),
    8,
    "2",
    train_embeddings=True,
)
TASKS = {
    "imdb_stars": dataclasses.replace(IMDB, parts=held_out("imdb", stars=True)),
    "imdb": IMDB,
    "imdb_4000": IMDB,
    "r8": dataclasses.replace(
        IMDB,
        parts=held_out("r8", view="original"),
        boundaries=(32, 64, 96, 128, 192, 256, 384, 600),
        max_epochs=10,
    ),
} | {
    name: dataclasses.replace(
        IMDB, parts=functools.partial(_own, name), needs=tasks.ONE_FILE.format(name)
    )
    for name in COLUMNS
}
# Texts to train on, where not all.
EXAMPLES = {"imdb_4000": 4000, "imdb_stars": 4000}
_OTHERS = re.compile(r"[^\w.!?\s]|_")


def cleaned(line: str) -> str:
    """Lower case; letters, digits and the marks that end sentences; marks stand alone."""
    line = _OTHERS.sub("", line.lower().replace("<br />", " "))
    return re.sub(r"([.!?]+)", r" \1 ", line)


class Documents:
    """Ids of a task's three parts, as sentences and as one sequence, and the word vectors."""

    def __init__(self, task: Task, parts: Parts, limit: int | None, options: Options) -> None:
        self.task = task
        self.sizes = FULL_SIZES if options.full else SIZES
        train, *others = parts
        if limit is not None and limit < len(train):
            train = train.subset(np.random.default_rng(0).permutation(len(train))[:limit])
        chosen = few((train, *others), options)
        self.num_classes = train.num_classes
        self.texts = [[cleaned(line) for line in part.texts] for part in chosen]
        self.tokenizer = text.WordTokenizer.train(self.texts[0], min_frequency=5)
        self.vectors = text.word2vec(
            self.texts[0], self.tokenizer, dim=self.sizes["dim"], epochs=5, seed=0
        )
        self.documents = [[self._sentences(line) for line in texts] for texts in self.texts]
        self.labels = [np.asarray(part.labels) for part in chosen]
        self.parts = list(zip(self.documents, self.labels, strict=True))

    def _sentences(self, line: str) -> list[np.ndarray]:
        """Numbers the words of each sentence, `max_length` in all; cuts long ones into parts.

        What a text without marks is made of would else be one sentence of hundreds of words, and
        every batch would have room for one.
        """
        sentences, used = [], 0
        for sentence in text.split_sentences(line):
            ids = self.tokenizer.encode([sentence])[0][: self.task.max_length - used]
            used += len(ids)
            sentences += [ids[at : at + MAX_WORDS] for at in range(0, len(ids), MAX_WORDS)]
        return sentences


@dataclasses.dataclass
class View:
    """The documents as `benchmarks.reproduce.tasks.run` reads them."""

    source: Documents
    hierarchical: bool

    @property
    def parts(self) -> list[Any]:
        return self.source.parts

    def batches(self, part: int, seed: int | None = None) -> Any:
        documents, labels = self.parts[part]
        task = self.source.task
        order: dict[str, Any] = {"shuffle": seed is not None, "seed": seed or 0}
        if self.hierarchical:
            return text.DocumentBatches(documents, labels, task.batch_size, packed=PACKED, **order)
        rows = [np.concatenate(d) if d else np.zeros(0, "int32") for d in documents]
        return SequenceBatches(rows, labels, task.batch_size, task.boundaries, **order)


def is_hierarchical(row: str) -> bool:
    return row == "HAN" or row.startswith("HCAN")


def build(row: str, data: Documents, packed: int = PACKED) -> keras.Model:
    """Builds the model of a row; with `packed=0` it reads padded documents."""
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
    result = {
        "seed": seed,
        **floors.outcome(classifier, features, data.labels, "accuracy"),
        "seconds_per_epoch": round(seconds, 2),
        "milliseconds_per_document": _milliseconds(seconds, data),
    }
    return result, floors.size(features, data.num_classes)


def _milliseconds(seconds_per_epoch: float, data: Documents) -> float:
    """Divides the time of an epoch by its documents."""
    return round(1000 * seconds_per_epoch / len(data.labels[0]), 2)


def _padding(data: Documents) -> dict[str, float]:
    """Measures the share of padding among the words served, for each kind of batch."""
    documents = data.documents[0]
    kinds = {"padded": {"packed": 0}, **{f"packed {k}": {"packed": k} for k in (1, PACKED)}}
    shares = {
        name: text.DocumentBatches(documents, shuffle=False, **options).padding_share
        for name, options in kinds.items()
    }
    flat = View(data, hierarchical=False).batches(0)
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


class _HCAN(Paper):
    name, title = "hcan", "HCAN"
    tasks = TASKS
    claims = TOLD["claims"]
    fixed = tuple(LINEAR)
    timed = ("imdb_4000",)

    def names(self, dataset: str) -> tuple[str, ...]:
        return (*LINEAR, *NEURAL)

    def published(self, dataset: str) -> dict[str, float]:
        if dataset not in COLUMNS:
            return {}
        column = COLUMNS.index(dataset)
        return {row: figures[column] / 100 for row, figures in PUBLISHED.items()}

    def config(self, dataset: str, row: str, options: Options) -> dict[str, Any]:
        if row in LINEAR:
            kind, arguments = LINEAR[row]
            return {"model": kind.__name__, "arguments": arguments}
        builder, arguments = NEURAL[row]
        full = {"sizes": FULL_SIZES} if options.full else {}
        recipe = _task(dataset, options).recipe
        return {"model": builder, "arguments": arguments, **recipe, **full}

    def read(self, dataset: str, options: Options, fold: int) -> Documents:
        limit = None if options.full else EXAMPLES.get(dataset)
        parts = self.parts(dataset, options, fold)
        return Documents(_task(dataset, options), parts, limit, options)

    def described(self, data: Documents) -> dict[str, Any]:
        return {**super().described(data), "padding": _padding(data)}

    def build(self, dataset: str, row: str, data: Documents, options: Options) -> keras.Model:
        return build(row, data)

    def run(
        self, dataset: str, row: str, data: Documents, seed: int, options: Options
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if row in LINEAR:
            return _fit_linear(row, data, seed)
        make = functools.partial(build, row, data)
        view = View(data, is_hierarchical(row))
        result, facts = tasks.run(make, view, data.task, seed, options)
        milliseconds = _milliseconds(result["seconds_per_epoch"], data)
        return {**result, "milliseconds_per_document": milliseconds}, facts

    def turns(self, dataset: str, options: Options) -> Turns:
        """HCAN and its peers, packed, padded, and one document at a time.

        The last is the paper's way, and its peers' on a GPU. It is left out on JAX, which would
        compile a program for each document. TensorFlow runs its graph without XLA, which would do
        the same.
        """
        data = Documents(TASKS[dataset], self.parts(dataset, options, 0), 640, options)
        documents, labels = data.parts[0]
        jit = False if keras.config.backend() == "tensorflow" else "auto"
        turns = {}

        def add(name: str, row: str, batches: Any, packed: int = 0, texts: int = 64) -> None:
            keras.utils.set_random_seed(0)
            turns[name] = Timed(compiled(build(row, data, packed), jit_compile=jit), batches, texts)

        for peer, row in (("HCAN", "HCAN 2 target"), ("HAN", "HAN")):
            for name, packed in ((peer, PACKED), (f"{peer}, padded", 0)):
                batches = text.DocumentBatches(documents, labels, shuffle=False, packed=packed)
                add(name, row, batches, packed, len(labels))
        add("TextCNN", "TextCNN", View(data, False).batches(0), texts=len(labels))
        if keras.config.backend() != "jax":
            one = functools.partial(OneByOne, documents[:64], labels[:64])
            add(f"HCAN{ONE}", "HCAN 2 target", one())
            if device() != "cpu":
                add(f"HAN{ONE}", "HAN", one())
                add(f"TextCNN{ONE}", "TextCNN", one(flat=True))
        # The paper's times are those of one document at a time on a GPU.
        way = "" if device() == "cpu" else ONE
        published = {f"{name}{way}": each for name, each in TOLD["times"].items()}
        entry = f"times_{keras.config.backend()}"
        return Turns(turns, published, f"HCAN{way}", 1 if options.quick else 3, entry)

    def column(self, dataset: str) -> str:
        return "its four sets, on average"

    def distance(self, dataset: str, better: str, worse: str) -> float | None:
        if better not in PUBLISHED or worse not in PUBLISHED:
            return None
        return round(float(np.mean(np.subtract(PUBLISHED[better], PUBLISHED[worse]))) / 100, 5)

    def protocol(self, dataset: str) -> dict[str, Any]:
        task = TASKS[dataset]
        return {
            **super().protocol(dataset),
            "batch_size": f"{task.batch_size} (the paper: 1)",
            "training_examples": EXAMPLES.get(dataset, "all but the tenth that chooses the epoch"),
            "max_length": f"{task.max_length} words; sentences of more than {MAX_WORDS} in parts",
            "word_vectors": f"word2vec of {SIZES['dim']} dimensions on the training texts, "
            "fine-tuned (the paper: 512)",
            "sizes": f"{SIZES['dim']} filters, {SIZES['heads']} heads (the paper: 512, 8); "
            "HAN 50 units a direction, 200 hidden units; TextCNN 100 filters of 3, 4 and 5 words",
            "optimizer": f"Adam, {task.recipe['learning_rate']:g}, gradients clipped to norm 1 "
            "(the paper: 2e-5)",
            "linear rows": "TF-IDF of words and pairs of words in at least 5 texts",
        }


def _task(dataset: str, options: Options) -> Task:
    """Returns the data set with the recipe of our sizes, or of the paper's."""
    task = TASKS[dataset]
    full = {"learning_rate": 2e-5} if options.full else {}
    return dataclasses.replace(task, recipe={**task.recipe, **full})


PAPER = _HCAN()
