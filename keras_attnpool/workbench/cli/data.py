"""Loads the texts that `train` learns from, and remarks on odd data."""

import hashlib
import os
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_attnpool.workbench import corpora, datasets
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.options import ENCODER, FILE_OPTIONS, MINILM, Options
from keras_attnpool.workbench.cli.reporting import reported
from keras_attnpool.workbench.datasets import LabeledTexts

VALIDATION_SHARE = 0.1
TEST_SHARE = 0.2
REVIEW_SEEDS = {"train": 1, "test": 2}
LOADERS = {".tsv": datasets.load_tsv, ".txt": datasets.load_tsv, ".csv": datasets.load_csv}
HEADER_LABELS = set(
    "label labels class classes category categories target y sentiment topic intent rating stars "
    "score tag id".split()
)
HEADER_TEXTS = set(
    "text texts body content sentence sentences review reviews message comment title document "
    "question description tweet x".split()
)
COLUMNS = ("text_column", "label_column")
MOST_LISTED = 5
# The English texts of benchmarks/own_files.py have four times this share of these words. Other
# languages have almost none of these words.
ENGLISH, LEAST_ENGLISH = frozenset("the and of that this you with".split()), 0.02


class Data(NamedTuple):
    """The training texts, the validation texts and the test texts."""

    train: LabeledTexts
    validation: LabeledTexts
    test: LabeledTexts

    @property
    def sizes(self) -> dict[str, int]:
        """Returns the number of texts of each part."""
        return {name: len(part) for name, part in self._asdict().items()}

    @property
    def digest(self) -> str:
        """Returns a hash of all texts and labels."""
        content = hashlib.sha256()
        for part in self:
            for row in zip(part.texts, part.labels.tolist(), strict=True):
                content.update(repr(row).encode())
        return content.hexdigest()


def load(options: Options) -> tuple[Data, list[str]]:
    """Loads the data that the options name, and returns warnings about a user's file.

    Raises:
        CommandError: If the data cannot be read.
    """
    remarks: list[str] = []
    test = None
    with reported():
        if options.file:
            whole = load_file(options.file, options)
            remarks = header_remark(whole) or swap_remark(whole)
            if options.test:
                with reported("--test"):
                    test = load_file(options.test, options, label_names=whole.label_names)
                if os.path.samefile(options.file, options.test):
                    remarks.append("--test is FILE itself: scores tell what was remembered")
        elif options.dataset:
            whole, test = (_load_public(options.dataset, split) for split in ("train", "test"))
        else:
            whole = corpora.reviews(options.train_size, seed=REVIEW_SEEDS["train"])
            test = corpora.reviews(options.test_size, seed=REVIEW_SEEDS["test"])
    try:
        rest, test = (whole, test) if test is not None else whole.split(TEST_SHARE, options.seed)
        train, validation = rest.split(VALIDATION_SHARE, options.seed)
    except ValueError as error:
        raise CommandError(
            f"{options.file or '--train-size'}: each class must have some dozens of texts, "
            f"which are split into parts. Received: {len(whole)} texts"
        ) from error
    data = Data(train, validation, test)
    if options.file and not remarks:
        remarks = class_remarks(data) + overlap_remarks(data)
        if str(options.encoder).startswith(MINILM):
            remarks += language_remark(train)
    return data, remarks


def header_remark(whole: LabeledTexts) -> list[str]:
    """Returns a remark if the first row of a file may hold column names."""
    text, label = whole.texts[0], whole.label_names[whole.labels[0]]
    occurs_once = np.count_nonzero(whole.labels == whole.labels[0]) == 1
    if not occurs_once or not (label.lower() in HEADER_LABELS or text.lower() in HEADER_TEXTS):
        return []
    return [
        f"the first line of FILE was read as a text ({text!r}) of the class {label!r}; if it names "
        "the columns, say --header"
    ]


def swap_remark(whole: LabeledTexts) -> list[str]:
    """Returns a remark if labels are longer than texts, because columns may be swapped."""
    mean_label = np.mean([len(whole.label_names[label]) for label in whole.labels])
    if mean_label <= np.mean([len(text) for text in whole.texts]):
        return []
    what = "labels are longer than texts"
    return [f"{what}: are --text-column and --label-column the right way round?"]


def class_remarks(data: Data) -> list[str]:
    """Returns remarks on classes with a single text, and on classes that a part lacks."""
    names = data.train.label_names
    counts = {
        name: np.bincount(part.labels, minlength=len(names))
        for name, part in data._asdict().items()
    }
    total = sum(counts.values())
    remarks = []
    for chosen, what in [
        (total == 1, "with a single text cannot be both learned and tested"),
        ((total != 1) & (counts["train"] == 0), "without a training text cannot be learned"),
        ((total != 1) & (counts["test"] == 0), "without a test text cannot be tested"),
    ]:
        if chosen.any():
            listed = [repr(names[label]) for label in np.flatnonzero(chosen)]
            more = ", ..." if len(listed) > MOST_LISTED else ""
            number = "1 class" if len(listed) == 1 else f"{len(listed)} classes"
            remarks.append(f"{number} {what}: {', '.join(listed[:MOST_LISTED])}{more}")
    return remarks


def overlap_remarks(data: Data) -> list[str]:
    """Returns a remark if test texts are in the training part too; case and blanks do not count."""
    parts = {
        name: [" ".join(text.casefold().split()) for text in part.texts]
        for name, part in data._asdict().items()
    }
    learned = set(parts["train"])
    remarks = []
    for name in ("validation", "test"):
        known = sum(text in learned for text in parts[name])
        if known:
            count = "all" if known == len(parts[name]) else f"{known} of"
            remarks.append(
                f"{count} {len(parts[name])} {name} texts are training texts too: scores on them "
                "tell what was remembered"
            )
    return remarks


def language_remark(texts: LabeledTexts) -> list[str]:
    """Returns a remark if texts for an English model lack common English words."""
    words = [word for text in texts.texts for word in text.casefold().split()]
    if sum(word in ENGLISH for word in words) >= LEAST_ENGLISH * len(words):
        return []
    return [
        "the texts do not look English, as few of their words are 'the', 'and' or 'of': "
        f"{MINILM} reads English; --encoder {ENCODER} reads words of any language"
    ]


def _load_public(name: str, split: str) -> LabeledTexts:
    data = datasets.load(name, split)
    if isinstance(data, LabeledTexts):
        return data
    raise CommandError(f"--dataset {name} holds pairs of sentences, not single texts")


def load_file(path: str, options: Options, **kwargs: Any) -> LabeledTexts:
    """Reads the labelled texts of a file as the options say.

    Raises:
        CommandError: If the options do not fit the file.
    """
    suffix = Path(path.lower().removesuffix(".gz")).suffix
    if suffix not in LOADERS:
        endings = ", ".join(LOADERS)
        raise CommandError(f"{path}: the name must end in one of {endings} (or with .gz)")
    for name in FILE_OPTIONS[1:]:
        if getattr(options, name) is not None:
            kwargs[name] = getattr(options, name)
    columns = [kwargs.get(name, "" if suffix == ".csv" else 0) for name in COLUMNS]
    if options.header is False and any(isinstance(column, str) for column in columns):
        raise CommandError(
            "--no-header must have columns by their positions, counted from 0, as --text-column 1 "
            "--label-column 0"
        )
    loader = LOADERS[suffix]
    if options.delimiter and loader is datasets.load_tsv:
        # The file is read as csv. By default it has the columns of a .tsv.
        named = any(isinstance(column, str) for column in columns)
        kwargs = {"header": named, "text_column": 1, "label_column": 0, **kwargs}
        loader = datasets.load_csv
    with warnings.catch_warnings(record=True) as told, reported():
        warnings.simplefilter("always")
        texts = loader(path, **kwargs)
    for warning in told:
        print(f"note: {warning.message}", file=sys.stderr)
    return texts
