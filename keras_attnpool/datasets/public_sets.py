"""Named loaders of the papers' public data sets.

Each set is looked for in the cache folder, else downloaded from its home,
checked and converted. Nothing of any set is part of this package.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import tarfile
import tempfile
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_attnpool.datasets import _parsers, _tables
from keras_attnpool.datasets._download import Download
from keras_attnpool.datasets.labeled_texts import LabeledTexts, SentencePairs


def _first_field(row: Sequence[str]) -> str:
    return row[0]


def _coarse_label(row: Sequence[str]) -> str:
    return row[0].partition(":")[0]


@dataclasses.dataclass(frozen=True)
class Table:
    """What a table of the cache must hold.

    Args:
        counts: Rows per key. With more than one mapping each of them will do in the
            cache; a download must agree with the first.
        key: From a row to the key that is counted.
        fields: Number of fields of a row.
        header: Its first row, if it has a header.
        content: SHA-256 of the uncompressed reference copy, where there is one.
    """

    counts: tuple[Mapping[str, int], ...]
    key: Callable[[Sequence[str]], str] = _first_field
    fields: int = 2
    header: tuple[str, ...] | None = None
    content: str | None = None

    def check(self, name: str, rows: Sequence[Sequence[str]]) -> Mapping[str, int]:
        """Return which of `counts` the rows agree with.

        Raises:
            ValueError: If they agree with none, or a row has too few or too many fields.
        """
        start = 0 if self.header is None else 1
        if start and (not rows or tuple(rows[0]) != self.header):
            raise ValueError(f"{name}: the header is not {self.header}")
        for number, row in enumerate(rows, 1):
            if len(row) != self.fields:
                raise ValueError(f"{name}, line {number}: {len(row)} fields, not {self.fields}")
        found = Counter(self.key(row) for row in rows[start:])
        for counts in self.counts:
            if found == counts:
                return counts
        wanted = " or ".join(_listed(counts) for counts in self.counts)
        raise ValueError(f"{name} holds {_listed(found)}; expected {wanted}")


def _listed(counts: Mapping[str, int]) -> str:
    shown = [f"{key[:40]} {count}" for key, count in sorted(counts.items())]
    more = ", ..." if len(shown) > 12 else ""
    return f"{sum(counts.values())} rows ({', '.join(shown[:12])}{more})"


@dataclasses.dataclass(frozen=True)
class PublicSet:
    """Where a set comes from and what it must hold.

    Args:
        folder: Its folder in the cache.
        page: Its home page.
        tables: What each table must hold, by file name without `.tsv.gz`.
        downloads: The files of its home; none if they cannot be had without registering.
        parse: From the downloaded files to the rows of every table.
    """

    folder: str
    page: str
    tables: Mapping[str, Table]
    downloads: tuple[Download, ...] = ()
    parse: Callable[[Mapping[str, Path]], Mapping[str, Sequence[Sequence[str]]]] | None = None


def _table(content: str | None, **counts: int) -> Table:
    return Table(
        ({key.replace("_", "-"): count for key, count in counts.items()},), content=content
    )


def _numbered(content: str, *counts: int) -> Table:
    """A table whose labels are 0, 1, 2 ..."""
    return Table(({str(label): count for label, count in enumerate(counts)},), content=content)


_R8_TRAIN = dict(
    acq=1596, crude=253, earn=2840, grain=41, interest=190, money_fx=206, ship=108, trade=251
)
_R8_TEST = dict(
    acq=696, crude=121, earn=1083, grain=10, interest=81, money_fx=87, ship=36, trade=75
)
_TREC_TRAIN = dict(ABBR=86, DESC=1162, ENTY=1250, HUM=1223, LOC=835, NUM=896)
_TREC_TEST = dict(ABBR=9, DESC=138, ENTY=94, HUM=65, LOC=81, NUM=113)
_TREC_FINE = tuple(
    """
    ABBR:abb ABBR:exp DESC:def DESC:desc DESC:manner DESC:reason ENTY:animal ENTY:body ENTY:color
    ENTY:cremat ENTY:currency ENTY:dismed ENTY:event ENTY:food ENTY:instru ENTY:lang ENTY:letter
    ENTY:other ENTY:plant ENTY:product ENTY:religion ENTY:sport ENTY:substance ENTY:symbol
    ENTY:techmeth ENTY:termeq ENTY:veh ENTY:word HUM:desc HUM:gr HUM:ind HUM:title LOC:city
    LOC:country LOC:mount LOC:other LOC:state NUM:code NUM:count NUM:date NUM:dist NUM:money
    NUM:ord NUM:other NUM:perc NUM:period NUM:speed NUM:temp NUM:volsize NUM:weight
    """.split()
)
_IMDB_STARS = ("1", "2", "3", "4", "7", "8", "9", "10")  # nobody gave 5 or 6


def _imdb_stars(full: Sequence[int], subset: Sequence[int]) -> Table:
    counts = tuple(dict(zip(_IMDB_STARS, c, strict=True)) for c in (full, subset))
    header = _parsers.IMDB_META_HEADER
    return Table(counts, key=lambda row: row[1], header=header)


SETS: dict[str, PublicSet] = {
    "r8": PublicSet(
        folder="R8",
        page="http://www.daviddlewis.com/resources/testcollections/reuters21578/",
        downloads=(
            Download(
                "reuters21578.tar.gz",
                (
                    "http://www.daviddlewis.com/resources/testcollections/reuters21578/"
                    "reuters21578.tar.gz",
                    "https://kdd.ics.uci.edu/databases/reuters21578/reuters21578.tar.gz",
                ),
                "sha256:3bae43c9b14e387f76a61b6d82bf98a4fb5d3ef99ef7e7075ff2ccbcf59f9d30",
            ),
        ),
        parse=_parsers.r8,
        tables={
            "train": _table(
                "7a9f0f429b25039321bf480bcf57afe45483c55596b18f20d03927108752760b", **_R8_TRAIN
            ),
            "test": _table(
                "be614a3bc7f9cd9987bddeb7850a3ca2d4cf51308d6e9d7508301cf5a107072e", **_R8_TEST
            ),
            "train.allterms": _table(
                "015bddccc661d2e604bbdb2bf0405c184f35af21a48a55d8e5a8e9947698b2ed", **_R8_TRAIN
            ),
            "test.allterms": _table(
                "9ed028ab5dbcc8dfb575b2efde93ecc166529e70849dc041113fed6598b0302c", **_R8_TEST
            ),
        },
    ),
    "trec": PublicSet(
        folder="TREC",
        page="https://cogcomp.seas.upenn.edu/Data/QA/QC/",
        downloads=tuple(
            Download(name, (f"https://cogcomp.seas.upenn.edu/Data/QA/QC/{name}",))
            for name in ("train_5500.label", "TREC_10.label")
        ),
        parse=_parsers.trec,
        tables={
            "train": _table(
                "0c35c0ad80b2667b10ce8f0beab4e4e6aa72e13bbc3c6b3ffcb10def7fb6428b", **_TREC_TRAIN
            ),
            "test": _table(
                "bc8b9b5aaa3617167b8ff2a5a7028bb7e8a8fb0fc06162a7db9b15566cc0424d", **_TREC_TEST
            ),
            "train.fine": Table(
                (_TREC_TRAIN,),
                key=_coarse_label,
                content="4428b0118135b9122ac9671f66fe7fd45c61b08beacb591ddbdc2a1a09ea5834",
            ),
            "test.fine": Table(
                (_TREC_TEST,),
                key=_coarse_label,
                content="362f949499f30ea9c006498007971397ad6c9a46c75d598ce7b5729673785de3",
            ),
        },
    ),
    "sst": PublicSet(
        folder="SST",
        page="https://nlp.stanford.edu/sentiment/",
        downloads=(
            Download(
                "trainDevTestTrees_PTB.zip",
                ("https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",),
                "sha256:5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
            ),
        ),
        parse=_parsers.sst,
        tables={
            "train": _numbered(
                "e00b4605977f857795f09f460ae94bddd34e4df03d0ca97b1c0c33a91f563861",
                *(1092, 2218, 1624, 2322, 1288),
            ),
            "dev": _numbered(
                "850e036e41368beee56cd71aeb69b49444932d5f242bcd7cce7e31a98abb5a63",
                *(139, 289, 229, 279, 165),
            ),
            "test": _numbered(
                "0ed335e1461d0b79cb827b88ec4a612ecd463f8a6500a6ddf2c9021ee65b2535",
                *(279, 633, 389, 510, 399),
            ),
            "train.phrases": _numbered(
                "1a9c4f7541613a7b2071b846f24c2ab1586d4a5b7f3acd3a89337700b72760ca",
                *(7233, 27711, 81658, 33361, 9311),
            ),
            "train.binary": _numbered(
                "fe35e421c3630908f15e99b74db4208de5350bfb4d5ed2d1811d765a2738b20c", 3310, 3610
            ),
            "dev.binary": _numbered(
                "f83ae81070f1c0cc35550ea73435e2e4c25bd766b500d82c9aace5825c3ff816", 428, 444
            ),
            "test.binary": _numbered(
                "25a111e99c1213996d38bba3176a2cd3459f805e9ca8aa4f05651199651795c6", 912, 909
            ),
        },
    ),
    "subj": PublicSet(
        folder="SUBJ",
        page="https://www.cs.cornell.edu/people/pabo/movie-review-data/",
        downloads=(
            Download(
                "rotten_imdb.tar.gz",
                ("https://www.cs.cornell.edu/people/pabo/movie-review-data/rotten_imdb.tar.gz",),
            ),
        ),
        parse=_parsers.subj,
        tables={
            "all": _table(
                "879a7d918ef78c9744b6d5954f8b0a506a26cfd3d4010a1a68fc80c9c564bbb3",
                objective=5000,
                subjective=5000,
            ),
        },
    ),
    "sick": PublicSet(
        folder="SICK",
        page="https://zenodo.org/records/2787612",
        downloads=(
            Download("SICK.zip", ("https://zenodo.org/records/2787612/files/SICK.zip?download=1",)),
        ),
        parse=_parsers.sick,
        tables={
            "sick": Table(
                (
                    {
                        "train NEUTRAL": 2536,
                        "train ENTAILMENT": 1299,
                        "train CONTRADICTION": 665,
                        "dev NEUTRAL": 282,
                        "dev ENTAILMENT": 144,
                        "dev CONTRADICTION": 74,
                        "test NEUTRAL": 2793,
                        "test ENTAILMENT": 1414,
                        "test CONTRADICTION": 720,
                    },
                ),
                key=lambda row: f"{row[5]} {row[4]}",
                fields=6,
                header=_parsers.SICK_HEADER,
                content="a095b728defdedae53adfcb7ca626d84130c5bf49ccf4bf229bfde7c41d5193e",
            ),
        },
    ),
    "imdb": PublicSet(
        folder="IMDB",
        page="https://ai.stanford.edu/~amaas/data/sentiment/",
        downloads=(
            Download(
                "aclImdb_v1.tar.gz",
                ("https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",),
                "md5:7c2ac02c03563afcf9b574c7e56c153a",
            ),
        ),
        parse=_parsers.imdb,
        tables={
            "train": Table(({"neg": 12500, "pos": 12500}, {"neg": 5000, "pos": 5000})),
            "test": Table(({"neg": 12500, "pos": 12500}, {"neg": 4000, "pos": 4000})),
            "train.meta": _imdb_stars(
                (5100, 2284, 2420, 2696, 2496, 3009, 2263, 4732),
                (2066, 930, 930, 1074, 1020, 1221, 869, 1890),
            ),
            "test.meta": _imdb_stars(
                (5022, 2302, 2541, 2635, 2307, 2850, 2344, 4999),
                (1566, 742, 841, 851, 738, 868, 763, 1631),
            ),
        },
    ),
    "hahackathon": PublicSet(
        folder="HaHackathon",
        page="https://competitions.codalab.org/competitions/27446",
        tables={
            "humor.train": _numbered(
                "124885f5a7390ffba4c1f19a9ec53f965ff21003ab462577b22e75bd4ea7dd5b", 3068, 4932
            ),
            "humor.dev": _numbered(
                "bc1ff731aa378b9aadafbc7f063fcd8c9f8feafb4fc0e40492bcb7fdefd81333", 368, 632
            ),
            "humor.test": _numbered(
                "0f466e9d0b86945d69eb5111fd736fe036d65231e7b2f4298e341fb24f8fab52", 385, 615
            ),
            "controversy.train": _numbered(
                "170a72f23f47e49e7d22c6863d33e32ae7887e2bcd161bf73dcb9989ca7e4517", 2467, 2465
            ),
            "controversy.dev": _numbered(
                "4ccc62630741b6e803dbd24cc3e3cd59e83911f9091e2a52c2a63957967bfb31", 324, 308
            ),
            "controversy.test": _numbered(
                "2af6e46b3446e142a2351d752e219057780c397e8ba8ace1fe6d17740decf4df", 336, 279
            ),
        },
    ),
}


def cache_folder() -> Path:
    """Folder that the public data sets are kept in.

    Returns:
        The folder named by the environment variable `KERAS_ATTNPOOL_DATA` if that is
        set and not empty, else `keras_attnpool` in Keras's own folder (`KERAS_HOME`,
        `~/.keras` by default). It need not exist yet.

    Example:
        >>> from keras_attnpool.datasets import cache_folder
        >>> r8 = cache_folder() / "R8" / "train.tsv.gz"
    """
    own = os.environ.get("KERAS_ATTNPOOL_DATA")
    if own:
        return Path(own).expanduser()
    return Path(os.environ.get("KERAS_HOME") or "~/.keras").expanduser() / "keras_attnpool"


def _rows(source: PublicSet, name: str, verbose: int) -> list[list[str]]:
    """The checked rows (no header) of one table, fetched first if need be."""
    path = cache_folder() / source.folder / f"{name}.tsv.gz"
    if not path.is_file():
        _fetch(source, path, verbose)
    rows, found = _tables.read(path)
    table = source.tables[name]
    try:
        table.check(str(path), rows)
    except ValueError as error:
        raise ValueError(f"{error}. Delete the file, so that it is fetched again.") from error
    beside, expected = _hash_file(path), table.content
    if beside.is_file():  # as we write it, or as sha256sum does
        expected = beside.read_text(encoding="utf-8", errors="replace").partition(" ")[0].strip()
    if expected not in (None, found):
        raise ValueError(
            f"{path} is not the expected file: its content has the SHA-256 {found}, expected "
            f"{expected}. Delete the file, so that it is fetched again; or, if it is to differ, "
            f"write its SHA-256 into {beside}."
        )
    return rows[1:] if table.header else rows


def _hash_file(path: Path) -> Path:
    """Where the hash of a table stands that is not the reference copy."""
    return path.with_name(path.name.replace(".tsv.gz", ".sha256"))


def _fetch(source: PublicSet, wanted: Path, verbose: int) -> None:
    """Download, check and convert a set, and write all its tables into the cache."""
    if source.parse is None:
        raise FileNotFoundError(
            f"{wanted} is not there, and this set is not downloaded for you: its home asks for "
            f"registration and it may not be passed on. Get it from {source.page} and write "
            "the table yourself: gzipped UTF-8, one example a line, `label<TAB>text`, no header "
            "(or set KERAS_ATTNPOOL_DATA to a folder that has it)."
        )
    folder = wanted.parent
    names = " and ".join(download.filename for download in source.downloads)
    by_hand = (
        f"Get {names} from {source.page}, put it as it is into {folder} and call again (or set "
        f"KERAS_ATTNPOOL_DATA to a folder that has {folder.name}/{wanted.name})."
    )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".download-") as temporary:
            files = {}
            for download in source.downloads:
                local = folder / download.filename
                if local.is_file():
                    download.check(local)
                else:
                    local = download.fetch(Path(temporary), verbose)
                files[download.filename] = local
            tables = _converted(source, files)
        paths = {name: folder / f"{name}.tsv.gz" for name in tables}
        _tables.write_all({paths[name]: rows for name, rows in tables.items()})
        for name, rows in tables.items():
            _keep_hash(paths[name], _tables.content_hash(rows), source.tables[name].content)
    except ConnectionError as error:
        raise ConnectionError(
            f"{folder.name} could not be downloaded: {error}. {by_hand}"
        ) from error
    except ValueError as error:
        raise ValueError(f"{folder.name} could not be fetched: {error}. {by_hand}") from error
    except OSError as error:
        raise OSError(
            f"{folder.name} is not in the cache and cannot be written to it: {error}. Set "
            "KERAS_ATTNPOOL_DATA to a folder that can be written."
        ) from error


def _keep_hash(path: Path, found: str, reference: str | None) -> None:
    """Writes the hash of a table beside it, unless it is known from the reference copy."""
    if found == reference:
        _hash_file(path).unlink(missing_ok=True)
    else:
        _hash_file(path).write_text(f"{found}\n", encoding="ascii", newline="\n")


def _converted(
    source: PublicSet, files: Mapping[str, Path]
) -> Mapping[str, Sequence[Sequence[str]]]:
    """Parse and check the files of a set's home."""
    assert source.parse is not None  # `_fetch` has seen to it
    try:
        tables = source.parse(files)
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        LookupError,
        OverflowError,
        ValueError,
        # What tarfile and zipfile make of a cut header, a password or an unknown method.
        TypeError,
        RuntimeError,
    ) as error:
        names = " or ".join(files)
        raise ValueError(
            f"{names} is damaged or not the expected file "
            f"({type(error).__name__}: {str(error)[:300]})"
        ) from error
    for name, table in source.tables.items():
        first_only = dataclasses.replace(table, counts=table.counts[:1])
        first_only.check(f"{name} of the download", tables[name])
        if table.content and _tables.content_hash(tables[name]) != table.content:
            warnings.warn(
                f"{source.folder}/{name}: labels and counts are right, but the text is not byte "
                "for byte that of the reference copy; figures may differ a little.",
                stacklevel=6,
            )
    return tables


def _labeled(
    rows: Sequence[Sequence[str]], labels: Sequence[str], names: Sequence[str] | None = None
) -> LabeledTexts:
    """Rows as LabeledTexts; `labels` as the file has them, `names` as shown."""
    index = {label: i for i, label in enumerate(labels)}
    return LabeledTexts(
        texts=tuple(row[1] for row in rows),
        labels=np.array([index[row[0]] for row in rows], np.int32),
        label_names=tuple(names or labels),
    )


def _check_choice(name: str, argument: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(
            f"datasets.load({name!r}) expects `{argument}` to be one of {tuple(choices)}. "
            f"Received: {argument}={value!r}"
        )


def _load_r8(split: str, verbose: int, *, view: str = "allterms") -> LabeledTexts:
    _check_choice("r8", "split", split, ("train", "test"))
    _check_choice("r8", "view", view, ("allterms", "original"))
    name = f"{split}.allterms" if view == "allterms" else split
    return _labeled(_rows(SETS["r8"], name, verbose), _parsers.R8_TOPICS)


def _load_trec(split: str, verbose: int, *, fine: bool = False) -> LabeledTexts:
    _check_choice("trec", "split", split, ("train", "test"))
    rows = _rows(SETS["trec"], f"{split}.fine" if fine else split, verbose)
    return _labeled(rows, _TREC_FINE if fine else tuple(_TREC_TRAIN))


def _load_sst5(split: str, verbose: int, *, phrases: bool = False) -> LabeledTexts:
    _check_choice("sst5", "split", split, ("train", "dev", "test"))
    if phrases and split != "train":
        raise ValueError(
            f"datasets.load('sst5') has phrases for split='train' only. Received: split={split!r}"
        )
    names = ("very negative", "negative", "neutral", "positive", "very positive")
    rows = _rows(SETS["sst"], "train.phrases" if phrases else split, verbose)
    return _labeled(rows, "01234", names)


def _load_sst2(split: str, verbose: int) -> LabeledTexts:
    _check_choice("sst2", "split", split, ("train", "dev", "test"))
    return _labeled(_rows(SETS["sst"], f"{split}.binary", verbose), "01", ("negative", "positive"))


def _load_subj(split: str, verbose: int, *, seed: int = 0) -> LabeledTexts:
    _check_choice("subj", "split", split, ("train", "test", "all"))
    data = _labeled(_rows(SETS["subj"], "all", verbose), ("objective", "subjective"))
    if split == "all":
        return data
    train, test = data.split(0.2, seed=seed)
    return train if split == "train" else test


def _load_sick(split: str, verbose: int) -> SentencePairs:
    _check_choice("sick", "split", split, ("train", "dev", "test"))
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
    _check_choice("imdb", "split", split, ("train", "test"))
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


def _load_hahackathon(
    split: str, verbose: int, *, task: str, names: tuple[str, str]
) -> LabeledTexts:
    _check_choice(task, "split", split, ("train", "dev", "test"))
    return _labeled(_rows(SETS["hahackathon"], f"{task}.{split}", verbose), "01", names)


_LOADERS: dict[str, Callable[..., Any]] = {
    "r8": _load_r8,
    "trec": _load_trec,
    "sst5": _load_sst5,
    "sst2": _load_sst2,
    "subj": _load_subj,
    "sick": _load_sick,
    "imdb": _load_imdb,
    "humor": functools.partial(_load_hahackathon, task="humor", names=("not humorous", "humorous")),
    "controversy": functools.partial(
        _load_hahackathon, task="controversy", names=("not controversial", "controversial")
    ),
}


def available() -> tuple[str, ...]:
    """Names that `load` knows.

    Returns:
        The names, as strings.

    Example:
        >>> from keras_attnpool.datasets import available
        >>> "r8" in available()
        True
    """
    return tuple(_LOADERS)


def load(
    name: str, split: str = "train", *, verbose: int = 1, **options: Any
) -> LabeledTexts | SentencePairs:
    """Load a public data set by name: from the cache folder, else from its home.

    The cache folder is the one that the environment variable
    `KERAS_ATTNPOOL_DATA` names; if that is not set, `keras_attnpool` in Keras's own
    folder (`~/.keras`, or `KERAS_HOME`). It is only written to when a table is missing,
    which fetches the whole set; a read-only folder that has the sets will do. A download is
    checked (its hash where one is known, the number of rows of every class) and
    converted before anything appears in the cache; whatever goes wrong leaves
    nothing half-written. A file of the set's home that you put into the set's
    folder by hand is used instead of a download.

    A table of the cache is checked whenever it is read: the number of rows of every class, and
    the SHA-256 of its uncompressed bytes. The expected hash is that of the reference copy, or
    the one in `FOLDER/SPLIT.sha256` where there is such a file: a download writes it where its
    text differs from the reference copy or where there is none (IMDB), and so can you for a
    table that you changed on purpose. An IMDB without that file is checked by its rows alone.

    The sets, with their splits and options; the cache has a folder for each
    (`R8`, `TREC`, `SST`, `SUBJ`, `SICK`, `IMDB`, `HaHackathon`):

    - `"r8"`: topic of a newswire story, 8 classes; train, test. `view="allterms"`
      (default: lower case, letters only, as in published figures) or `"original"`.
    - `"trec"`: type of a question, 6 classes; train, test. `fine=True`: 50 classes.
    - `"sst5"`: sentiment of a sentence, 5 classes; train, dev, test. `phrases=True`:
      every labelled phrase of train.
    - `"sst2"`: the same without neutral ones, 2 classes; train, dev, test.
    - `"subj"`: objective or subjective sentence; train, test, all. `seed=0`: see below.
    - `"sick"`: entailment (3 classes) and relatedness of two sentences; train, dev, test.
    - `"imdb"`: sentiment of a movie review, 2 classes; train, test. `stars=True`: the
      8 star ratings.
    - `"humor"`, `"controversy"`: HaHackathon (SemEval-2021 task 7), 2 classes; train,
      dev, test.

    SUBJ has no official split: a stratified random 20 % of the 10,000 sentences is
    the test part, drawn by `seed`; `"all"` is the whole, objective sentences first.
    Sets without a dev split: take one off train with `LabeledTexts.split`.
    IMDB: a download gives the full 25,000 + 25,000 reviews. A cache may hold the
    subset of 10,000 + 8,000 instead; the number of rows decides which it is, and the
    subset comes with a warning. HaHackathon has to be fetched by hand.

    A table of the cache is `FOLDER/SPLIT.tsv.gz`: gzipped UTF-8, one example a line,
    `label<TAB>text`, no header and no quoting. Each set keeps its own terms of use;
    see its home page.

    Args:
        name: One of `available()`.
        split: Part of the set, see the list.
        verbose: 1 shows a progress bar while downloading, 0 does not.
        **options: The set's own options, see the list.

    Returns:
        `SentencePairs` for `"sick"`, else `LabeledTexts` (labels int32 of shape
        `(N,)`, no rationales).

    Raises:
        ValueError: For an unknown name, split or option; for a file that is damaged,
            not the set or not the expected content.
        ConnectionError: If a download fails; says what to fetch by hand and where to
            put it.
        FileNotFoundError: If the set must be fetched by hand and is not there.
        OSError: If the cache folder cannot be written.

    Example:
        `train = load("r8")` downloads R8 once and reads it from the cache from then on.
        A part that a set does not have is refused:

        >>> from keras_attnpool.datasets import load
        >>> load("r8", split="dev")
        Traceback (most recent call last):
        ValueError: datasets.load('r8') expects `split` to be one of ('train', 'test'). ...
    """
    if name not in _LOADERS:
        raise ValueError(
            f"datasets.load expects `name` to be one of {available()}. Received: name={name!r}"
        )
    loader = _LOADERS[name]
    known = [
        option
        for option, parameter in inspect.signature(loader).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and option not in ("task", "names")
    ]
    for option in options:
        if option not in known:
            allowed = f"one of {tuple(known)}" if known else "no options"
            raise ValueError(
                f"datasets.load({name!r}) expects {allowed}. Received: {option}={options[option]!r}"
            )
    result: LabeledTexts | SentencePairs = loader(split, verbose, **options)
    return result
