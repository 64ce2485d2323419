"""Parses the files of the public data sets into rows of the cache's tables.

Every parser takes a dict of the downloaded files by name. It returns a dict from the file name of
each table, without `.tsv.gz`, to the rows of the table.
"""

import hashlib
import re
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

Files = Mapping[str, Path]
Rows = list[tuple[str, ...]]

R8_TOPICS = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")


def _tar_members(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path, "r|gz") as archive:
        for member in archive:
            if member.isfile():
                stream = archive.extractfile(member)
                assert stream is not None  # every regular file has this property
                yield member.name, stream.read()


def _zip_member(path: Path, name: str) -> str:
    """Reads the file called `name` from any folder of the archive."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if PurePosixPath(member).name == name and not member.startswith("__MACOSX"):
                return archive.read(member).decode("utf-8")
    raise KeyError(f"no {name} in the archive")


_STORY = re.compile(r"<REUTERS([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)
_TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)


def _plain_text(sgml: str) -> str:
    text = re.sub(r"&#(\d+);", lambda match: chr(int(match[1])), sgml)
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return re.sub(r"[\x00-\x1f\x7f]", " ", text)


def r8(files: Files) -> dict[str, Rows]:
    """Reads Reuters-21578 (SGML): texts of the ModApte split with exactly one of eight topics."""
    stories = {
        PurePosixPath(name).name: content.decode("latin-1")
        for name, content in _tar_members(files["reuters21578.tar.gz"])
        if re.fullmatch(r"reut2-\d{3}\.sgm", PurePosixPath(name).name)
    }
    tables: dict[str, Rows] = {"train": [], "test": []}
    for name in sorted(stories):
        for attributes, content in _STORY.findall(stories[name]):
            split = re.search(r'LEWISSPLIT="(TRAIN|TEST)"', attributes)
            listed = _TOPICS.search(content)
            topics = re.findall(r"<D>(.*?)</D>", listed[1]) if listed else []
            text = _TEXT.search(content)
            usable = split and text and ' TOPICS="YES"' in f" {attributes}"
            if not usable or len(topics) != 1 or topics[0] not in R8_TOPICS:
                continue
            assert split and text  # `usable` ensures this; the line is for the type checker
            parts = [part[1] for tag in (_TITLE, _BODY) if (part := tag.search(text[1]))]
            story = _plain_text(" ".join(parts or [text[1]]))
            tables[split[1].lower()].append((topics[0], story))
    for split_name in ("train", "test"):
        tables[f"{split_name}.allterms"] = [
            (topic, " ".join(re.findall("[a-z]+", story.lower())))
            for topic, story in tables[split_name]
        ]
    return tables


def trec(files: Files) -> dict[str, Rows]:
    """Reads the two `.label` files with lines `COARSE:fine the question`, in Latin-1."""
    tables: dict[str, Rows] = {}
    for split, name in (("train", "train_5500.label"), ("test", "TREC_10.label")):
        rows: Rows = []
        for line in files[name].read_bytes().decode("latin-1").split("\n"):
            if line.strip():
                label, _, question = line.partition(" ")
                rows.append((label, question))
        tables[f"{split}.fine"] = rows
        tables[split] = [(label.partition(":")[0], question) for label, question in rows]
    return tables


_TREE_TOKEN = re.compile(r"\(([0-4]) |([^\s()]+)|\)")
_TREEBANK_ESCAPES = {"-LRB-": "(", "-RRB-": ")"}


def _tree_phrases(tree: str) -> Iterator[tuple[str, str]]:
    """Yields (label, phrase) of every node. Children precede parents, so the sentence is last."""
    words: list[str] = []
    open_nodes: list[tuple[str, int]] = []
    for match in _TREE_TOKEN.finditer(tree):
        if match[1]:
            open_nodes.append((match[1], len(words)))
        elif match[2]:
            word = _TREEBANK_ESCAPES.get(match[2], match[2])
            words.append(word.replace("\\/", "/").replace("\\*", "*"))
        else:
            label, start = open_nodes.pop()
            yield label, " ".join(words[start:])
    if open_nodes:
        raise ValueError(f"a tree is not closed: {tree[:60]}")


def sst(files: Files) -> dict[str, Rows]:
    """Reads sentences of bracketed trees, with five and two classes, and the training phrases."""
    tables: dict[str, Rows] = {}
    for split in ("train", "dev", "test"):
        trees = _zip_member(files["trainDevTestTrees_PTB.zip"], f"{split}.txt").split("\n")
        phrases = [list(_tree_phrases(tree)) for tree in trees if tree.strip()]
        tables[split] = [nodes[-1] for nodes in phrases]
        tables[f"{split}.binary"] = [
            ("1" if label > "2" else "0", text) for label, text in tables[split] if label != "2"
        ]
        if split == "train":
            unique = dict.fromkeys(node for nodes in phrases for node in nodes)
            tables["train.phrases"] = list(unique)
    return tables


def subj(files: Files) -> dict[str, Rows]:
    """Reads objective plot sentences and subjective review snippets, in Windows-1252."""
    kinds = {"plot.tok.gt9.5000": "objective", "quote.tok.gt9.5000": "subjective"}
    rows: dict[str, Rows] = {}
    for name, content in _tar_members(files["rotten_imdb.tar.gz"]):
        kind = kinds.get(PurePosixPath(name).name)
        if kind:
            lines = content.decode("windows-1252").split("\n")
            rows[kind] = [(kind, line) for line in lines if line.strip()]
    return {"all": rows["objective"] + rows["subjective"]}


SICK_HEADER = ("pair_id", "sentence_A", "sentence_B", "relatedness", "entailment", "split")


def sick(files: Files) -> dict[str, Rows]:
    """Reads `SICK.txt`, which has a header line. The trial set becomes dev."""
    splits = {"TRAIN": "train", "TRIAL": "dev", "TEST": "test"}
    header, *lines = _zip_member(files["SICK.zip"], "SICK.txt").split("\n")
    columns = header.strip().split("\t")
    names = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_label")
    places = [columns.index(name) for name in (*names, "SemEval_set")]
    rows: dict[str, Rows] = {split: [] for split in splits.values()}
    for line in lines:
        if line.strip():
            fields = line.rstrip("\r").split("\t")
            *values, source_split = (fields[place].strip() for place in places)
            rows[splits[source_split]].append((*values, splits[source_split]))
    return {"sick": [SICK_HEADER, *rows["train"], *rows["dev"], *rows["test"]]}


IMDB_META_HEADER = ("review", "rating")


def imdb(files: Files) -> dict[str, Rows]:
    """Reads reviews from files `aclImdb/train/neg/ID_RATING.txt`, sorted by the path's SHA-1."""
    reviews: dict[str, list[tuple[str, str, str, str, str]]] = {"train": [], "test": []}
    for name, content in _tar_members(files["aclImdb_v1.tar.gz"]):
        path = re.search(r"aclImdb/(train|test)/(neg|pos)/(\d+)_(\d+)\.txt$", name)
        if path:
            split, label, number, rating = path.groups()
            order = hashlib.sha1(path[0].encode()).hexdigest()
            text = content.decode("utf-8")
            reviews[split].append((order, label, text, f"{label}/{number}", rating))
    tables: dict[str, Rows] = {}
    for split, rows in reviews.items():
        rows.sort()
        tables[split] = [(label, text) for _, label, text, _, _ in rows]
        tables[f"{split}.meta"] = [IMDB_META_HEADER, *(row[3:] for row in rows)]
    return tables
