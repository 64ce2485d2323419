"""Loads the papers' public data sets by name.

A set is read from the cache folder. If it is missing, it is downloaded from its home page, checked
and converted. This package contains no data of the sets.
"""

import contextlib
import dataclasses
import functools
import inspect
import io
import os
import sys
import tempfile
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from keras_attnpool._checks import ArgumentError, one_of, validate
from keras_attnpool.workbench.datasets import _parsers, _tables
from keras_attnpool.workbench.datasets.labeled_texts import LabeledTexts, SentencePairs

Row = Sequence[str]

# The functions that count the rows of a table, by their names in `public_sets.toml`.
_KEYS: dict[str, Callable[[Row], str]] = {
    "class": lambda row: row[0],
    "coarse_class": lambda row: row[0].partition(":")[0],
    "rating": lambda row: row[1],
    "split_and_class": lambda row: f"{row[5]} {row[4]}",
}


@dataclasses.dataclass(frozen=True)
class Table:
    """The contents that a table in the cache must have."""

    # The number of rows of each key. A table must agree with one of the entries. A download agrees
    # with the first entry.
    counts: Sequence[Mapping[str, int]]
    # Maps a row to the key that is counted.
    key: Callable[[Row], str] = _KEYS["class"]
    # The first row if the table has a header. Without a header, a row has two fields.
    header: Sequence[str] = ()
    # SHA-256 of the uncompressed reference copy, if it exists.
    content: str | None = None

    def check(self, name: str, rows: Sequence[Row]) -> None:
        """Raises an error if the rows do not agree with this description."""
        if self.header and (not rows or tuple(rows[0]) != tuple(self.header)):
            raise ValueError(f"{name}: the header is not {tuple(self.header)}")
        width = len(self.header) or 2
        for number, row in enumerate(rows, 1):
            if len(row) != width:
                raise ValueError(f"{name}, line {number}: {len(row)} fields, not {width}")
        counted = Counter(self.key(row) for row in rows[bool(self.header) :])
        if counted not in self.counts:
            expected = " or ".join(map(_listed, self.counts))
            raise ValueError(f"{name} holds {_listed(counted)}; expected {expected}")


def _listed(counts: Mapping[str, int]) -> str:
    keys = [f"{key[:40]} {count}" for key, count in sorted(counts.items())]
    more = ", ..." if len(keys) > 12 else ""
    return f"{sum(counts.values())} rows ({', '.join(keys[:12])}{more})"


@dataclasses.dataclass(frozen=True)
class Download:
    """A file to download from the home of a data set."""

    filename: str  # a copy that the user fetched by hand has this name, too
    url: str
    digest: str | None = None  # SHA-256 or MD5, if it is known


@dataclasses.dataclass(frozen=True)
class PublicSet:
    """The source of a set, and the content that it must have."""

    folder: str  # its folder in the cache
    page: str  # its home page
    tables: Mapping[str, Table]  # by file name without `.tsv.gz`
    # Empty if the home asks for registration.
    downloads: Sequence[Download] = ()
    labels: Sequence[str] = ()  # given if no file lists the labels in order
    # Maps the downloaded files to the rows of every table.
    parse: Callable[[Mapping[str, Path]], Mapping[str, Sequence[Row]]] | None = None


def _described_sets() -> dict[str, PublicSet]:
    """Reads the sets of `public_sets.toml`."""
    file = resources.files("keras_attnpool.workbench.datasets") / "public_sets.toml"
    sets = {}
    for name, entry in tomllib.loads(file.read_text(encoding="utf-8")).items():
        entry["downloads"] = [Download(**download) for download in entry.get("downloads", ())]
        for table, spec in entry["tables"].items():
            spec["key"] = _KEYS[spec.get("key", "class")]
            entry["tables"][table] = Table(**spec)
        # The parser of a set has the name of the set.
        sets[name] = PublicSet(**entry, parse=getattr(_parsers, name, None))
    return sets


SETS = _described_sets()
_IMDB_STARS = ("1", "2", "3", "4", "7", "8", "9", "10")  # no review has 5 or 6


def cache_folder() -> Path:
    """Returns the folder that holds the public data sets.

    Returns:
        The folder in the environment variable `KERAS_ATTNPOOL_DATA`. If this variable is empty or
        not set, the result is the folder `keras_attnpool` in the folder of Keras (`KERAS_HOME`, by
        default `~/.keras`). The folder need not exist.

    Example:
        >>> from keras_attnpool.workbench.datasets import cache_folder
        >>> r8 = cache_folder() / "R8" / "train.tsv.gz"
    """
    own = os.environ.get("KERAS_ATTNPOOL_DATA")
    if own:
        return Path(own).expanduser()
    return Path(os.environ.get("KERAS_HOME") or "~/.keras").expanduser() / "keras_attnpool"


def _rows(source: PublicSet, name: str, verbose: int) -> list[list[str]]:
    """Reads and checks the rows of one table without the header; fetches a missing table."""
    path = cache_folder() / source.folder / f"{name}.tsv.gz"
    if not path.is_file():
        _fetch(source, path, verbose)
    rows, content = _tables.read(path)
    table = source.tables[name]
    try:
        table.check(str(path), rows)
    except ValueError as error:
        raise ValueError(f"{error}. Delete the file, so that it is fetched again.") from error
    if table.content not in (None, content):
        warnings.warn(
            f"{path}: labels and counts are right, but the text is not byte for byte that of the "
            f"reference copy (SHA-256 {content}, expected {table.content}); figures may differ a "
            "little. Delete the file, so that it is fetched again.",
            stacklevel=4,
        )
    return rows[1:] if table.header else rows


def _fetch(source: PublicSet, wanted: Path, verbose: int) -> None:
    """Downloads, checks and converts a set, and writes all its tables into the cache."""
    if source.parse is None:
        raise FileNotFoundError(
            f"{wanted} is not there, and this set is not downloaded for you: its home asks for "
            f"registration and it may not be passed on. Get it from {source.page} and write "
            "the table yourself: gzipped UTF-8, one example a line, `label<TAB>text`, no header "
            "(or set KERAS_ATTNPOOL_DATA to a folder that has it)."
        )
    folder = wanted.parent
    try:
        with tempfile.TemporaryDirectory() as temporary:
            files = {each.filename: folder / each.filename for each in source.downloads}
            for each in source.downloads:
                if not files[each.filename].is_file():  # fetched by hand
                    files[each.filename] = _downloaded(each, temporary, verbose)
            tables = source.parse(files)
        for name, table in source.tables.items():
            table.check(f"{name} of the download", tables[name])
        _tables.write_all({folder / f"{name}.tsv.gz": rows for name, rows in tables.items()})
    except Exception as error:  # any error of networks, archives, parsers and disks
        names = " and ".join(each.filename for each in source.downloads)
        raise OSError(
            f"{folder.name} could not be fetched ({type(error).__name__}: {str(error)[:300]}). Get "
            f"{names} from {source.page}, put it as it is into {folder} and call again (or set "
            f"KERAS_ATTNPOOL_DATA to a folder that has {folder.name}/{wanted.name}, or that can be "
            "written)."
        ) from error


def _downloaded(download: Download, folder: str, verbose: int) -> Path:
    import keras  # imported here, so that reading a cached set needs no backend

    with contextlib.redirect_stdout(sys.stdout if verbose else io.StringIO()):
        return Path(
            keras.utils.get_file(
                download.filename,
                download.url,
                file_hash=download.digest,
                cache_dir=folder,
                cache_subdir="",
            )
        )


def _labeled(
    rows: Sequence[Row], labels: Sequence[str], names: Sequence[str] | None = None
) -> LabeledTexts:
    """Makes LabeledTexts from rows. `labels` are the file's labels, and `names` are the user's."""
    index = {label: i for i, label in enumerate(labels)}
    return LabeledTexts(
        texts=tuple(row[1] for row in rows),
        labels=np.array([index[row[0]] for row in rows], np.int32),
        label_names=tuple(names or labels),
    )


def _load_r8(split: str, verbose: int, *, view: str = "allterms") -> LabeledTexts:
    validate("view", view, one_of(("allterms", "original")), "datasets.load('r8')")
    name = f"{split}.allterms" if view == "allterms" else split
    return _labeled(_rows(SETS["r8"], name, verbose), _parsers.R8_TOPICS)


def _load_trec(split: str, verbose: int, *, fine: bool = False) -> LabeledTexts:
    source = SETS["trec"]
    coarse = list(dict.fromkeys(label.partition(":")[0] for label in source.labels))
    rows = _rows(source, f"{split}.fine" if fine else split, verbose)
    return _labeled(rows, source.labels if fine else coarse)


def _load_sst5(split: str, verbose: int, *, phrases: bool = False) -> LabeledTexts:
    if phrases and split != "train":
        must, received = "be 'train' for phrases", {"split": split}
        raise ArgumentError("split", must, received, "datasets.load('sst5')")
    names = ("very negative", "negative", "neutral", "positive", "very positive")
    rows = _rows(SETS["sst"], "train.phrases" if phrases else split, verbose)
    return _labeled(rows, "01234", names)


def _load_sst2(split: str, verbose: int) -> LabeledTexts:
    return _labeled(_rows(SETS["sst"], f"{split}.binary", verbose), "01", ("negative", "positive"))


def _load_subj(split: str, verbose: int, *, seed: int = 0) -> LabeledTexts:
    data = _labeled(_rows(SETS["subj"], "all", verbose), ("objective", "subjective"))
    if split == "all":
        return data
    train, test = data.split(0.2, seed=seed)
    return train if split == "train" else test


def _load_sick(split: str, verbose: int) -> SentencePairs:
    names = ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")
    rows = [row for row in _rows(SETS["sick"], "sick", verbose) if row[5] == split]
    return SentencePairs(
        sentences_a=tuple(row[1] for row in rows),
        sentences_b=tuple(row[2] for row in rows),
        labels=np.array([names.index(row[4]) for row in rows], np.int32),
        label_names=names,
        relatedness=np.array([float(row[3]) for row in rows], np.float32),
    )


def _load_imdb(split: str, verbose: int, *, stars: bool = False) -> LabeledTexts:
    rows = _rows(SETS["imdb"], split, verbose)
    if stars:
        meta = _rows(SETS["imdb"], f"{split}.meta", verbose)
        aligned = len(meta) == len(rows) and all(
            review.partition("/")[0] == row[0] for (review, _), row in zip(meta, rows, strict=True)
        )
        if not aligned:
            raise ValueError(
                f"{split}.tsv.gz and {split}.meta.tsv.gz of {cache_folder() / 'IMDB'} do not "
                "belong together. Delete both, so that they are fetched again."
            )
        rows = [[rating, row[1]] for (_, rating), row in zip(meta, rows, strict=True)]
    full_size = sum(SETS["imdb"].tables[split].counts[0].values())
    if len(rows) < full_size:
        warnings.warn(
            f"The cache holds a subset of IMDB ({len(rows)} reviews in {split}, not "
            f"{full_size}): figures from it cannot be set beside published ones.",
            stacklevel=3,
        )
    if stars:
        names = ["1 star", *(f"{star} stars" for star in _IMDB_STARS[1:])]
        return _labeled(rows, _IMDB_STARS, names)
    return _labeled(rows, ("neg", "pos"))


def _load_hahackathon(task: str, is_so: str, split: str, verbose: int) -> LabeledTexts:
    rows = _rows(SETS["hahackathon"], f"{task}.{split}", verbose)
    return _labeled(rows, "01", (f"not {is_so}", is_so))


_TWO = ("train", "test")
_THREE = ("train", "dev", "test")
# Name -> (splits, loader). The keyword arguments of a loader are the options of the set.
_LOADERS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "r8": (_TWO, _load_r8),
    "trec": (_TWO, _load_trec),
    "sst5": (_THREE, _load_sst5),
    "sst2": (_THREE, _load_sst2),
    "subj": ((*_TWO, "all"), _load_subj),
    "sick": (_THREE, _load_sick),
    "imdb": (_TWO, _load_imdb),
    "humor": (_THREE, functools.partial(_load_hahackathon, "humor", "humorous")),
    "controversy": (_THREE, functools.partial(_load_hahackathon, "controversy", "controversial")),
}


def available() -> tuple[str, ...]:
    """Lists the names that `load` knows.

    Returns:
        The names, as strings.

    Example:
        >>> from keras_attnpool.workbench.datasets import available
        >>> "r8" in available()
        True
    """
    return tuple(_LOADERS)


def load(
    name: str, split: str = "train", *, verbose: int = 1, **options: Any
) -> LabeledTexts | SentencePairs:
    """Loads a public data set by name, from the cache folder or from its home page.

    `cache_folder()` returns the cache folder. If a table is missing, `load` fetches the whole set
    and writes it to this folder. If the table is there, `load` only reads it, so a read-only folder
    with all sets is enough. A download is checked and converted before it is stored in the cache.
    The check compares the number of rows of every class, and the hash if it is known. Errors leave
    no incomplete files. If you put a file from the set's home page into the set's folder, `load`
    uses this file instead of a download.

    A table of the cache is checked whenever it is read. The number of rows of every class must be
    right. There is a warning if the SHA-256 of the table is not the expected one. For IMDB, only
    the numbers of rows are checked.

    The list shows the sets with their splits and options. The cache has the folders `R8`, `TREC`,
    `SST`, `SUBJ`, `SICK`, `IMDB` and `HaHackathon`.

    - `"r8"`: topic of a newswire story, 8 classes; train, test. `view="allterms"` (the default) has
      only lower-case letters, as in published results. `view="original"` has the original text.
    - `"trec"`: type of a question, 6 classes; train, test. `fine=True` gives 50 classes.
    - `"sst5"`: sentiment of a sentence, 5 classes; train, dev, test. `phrases=True` gives every
      labelled phrase of the split train.
    - `"sst2"`: sentiment of a sentence that is not neutral, 2 classes; train, dev, test.
    - `"subj"`: objective or subjective sentence; train, test, all. The option `seed` (default 0)
      draws the split, see below.
    - `"sick"`: entailment (3 classes) and relatedness of two sentences; train, dev, test.
    - `"imdb"`: sentiment of a movie review, 2 classes; train, test. `stars=True` gives the 8 star
      ratings as classes.
    - `"humor"`, `"controversy"`: HaHackathon (SemEval-2021 task 7), 2 classes; train,
      dev, test.

    SUBJ has no official split. The test part is a stratified random 20 % of the 10,000 sentences,
    drawn by `seed`. `"all"` is the whole set, with the objective sentences first. If a set has no
    dev split, make a dev part from train with `LabeledTexts.split`. A download of IMDB has 25,000 +
    25,000 reviews. A cache may hold the subset of 10,000 + 8,000 reviews instead. This subset gives
    a warning. You must download HaHackathon by hand.

    A table of the cache is a file `FOLDER/SPLIT.tsv.gz` in UTF-8. It has one example per line,
    `label<TAB>text`, without header and quoting. Each set has terms of use; see the set's home
    page.

    Args:
        name: One of `available()`.
        split: Part of the set, see the list above.
        verbose: 1 shows a progress bar during a download, 0 shows nothing.
        **options: Options of the set, see the list above.

    Returns:
        `SentencePairs` for `"sick"`, else `LabeledTexts` with int32 labels of shape `(N,)` and
        without rationales.

    Raises:
        ValueError: If the name, split or option is unknown, or if a table of the cache is damaged
            or belongs to another set.
        FileNotFoundError: If the set must be fetched by hand and is missing.
        OSError: If a download fails or has other contents. The message names the file to download
            by hand and its folder.

    Example:
        `train = load("r8")` downloads R8 once. Later calls read the set from the cache. An unknown
        split raises an error:

        >>> from keras_attnpool.workbench.datasets import load
        >>> load("r8", split="dev")
        Traceback (most recent call last):
        keras_attnpool.ArgumentError: `split` of datasets.load('r8') must be one of ...
    """
    validate("name", name, one_of(available()), "datasets.load")
    splits, loader = _LOADERS[name]
    known = tuple(
        option
        for option, parameter in inspect.signature(loader).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    )
    for option in options:
        if option not in known:
            allowed = f"one of {known}" if known else "no options"
            must, received = f"be left out: {name!r} takes {allowed}", {option: options[option]}
            raise ArgumentError(option, must, received, "datasets.load")
    validate("split", split, one_of(splits), f"datasets.load({name!r})")
    result: LabeledTexts | SentencePairs = loader(split, verbose, **options)
    return result
