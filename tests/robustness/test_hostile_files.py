"""Files and texts of every kind of damage: read as what they say, or refused by a clear ValueError.

Damaged files are drawn from whole ones: bits, bytes and parts are changed, and what parsers stumble
over is put in.
"""

import gzip
import html.parser
import io
import json
import random
import shutil
import sys
import warnings

import numpy as np
import pytest
from archives import tar_gz, zipped
from hypothesis import given
from hypothesis import strategies as st

from keras_attnpool import analysis
from keras_attnpool.workbench import datasets, text
from keras_attnpool.workbench.datasets import _parsers, _tables, public_sets

pytestmark = pytest.mark.one_backend("reads files")

TRAPS = [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\t", b'"', b",", b"\\"]
TRAPS += [
    b"{",
    b"[",
    b"null",
    b"NaN",
    b"1e999",
    b"-1",
    "😀\u202e\u2028\x85".encode(),
    b"\xed\xa0\x80",
]
TRAPS += [b"\\ud800", b"A" * 200_000, b"9" * 5000, b"(", b")", b"&#99999999999;", b"&#55296;", b"<"]
TRAPS += [b" ", "٣".encode(), b"\x1a", b"[" * 100_000]


def damaged(rng, content):
    copy = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        place, size = rng.randrange(len(copy) + 1), rng.randrange(1, 20)
        kind = rng.randrange(6)
        if kind == 0:
            copy[place : place + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            copy[place:place] = rng.choice(TRAPS)
        elif kind == 2:
            del copy[place : place + size]
        elif kind == 3:
            del copy[place:]
        elif kind == 4:
            copy[place:place] = copy[:size]
        else:
            copy[place : place + size] = rng.choice(TRAPS)
    return bytes(copy)


def converted(name):
    """Reads one file as every download of a public set, put there by hand."""

    def read(path):
        source = public_sets.SETS[name]
        folder = path.parent / source.folder
        folder.mkdir(exist_ok=True)
        for download in source.downloads:
            shutil.copy(path, folder / download.filename)
        public_sets._fetch(source, folder / "train.tsv.gz", verbose=0)

    return read


WORDS = ["[PAD]", "[UNK]", "a", "b"]
VOCABULARY = {"format": "keras_attnpool.WordTokenizer", "version": 1, "lowercase": True}
VOCABULARY["vocabulary"] = WORDS
SAVED = json.dumps(VOCABULARY).encode()
CSV = b'label,text\na,"one, ""two""\nthree"\nb,four\n'
NLI = b'{"gold_label": "neutral", "sentence1": "A dog", "sentence2": "A cat"}\n'
VECTORS = b"4 3\na 1 2 3\nb 0.1 1e-3 -4\n. . 1 2 3\n"
STORY = b'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN"><TOPICS><D>acq</D></TOPICS><TEXT><TITLE>A &lt;B'
STORY += b"&gt;</TITLE><BODY>Body &#3;</BODY></TEXT></REUTERS>"
TREE = b"(3 (2 It) (4 (2 works) (2 -LRB-)))\n"
SICK = b"pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_label\tSemEval_set\n"
SICK += b"1\ta\tb\t3.5\tNEUTRAL\tTRAIN\n"


def load_vectors(path):
    vectors, _ = text.load_word_vectors(path, WORDS)
    assert np.isfinite(vectors).all()


# A whole file, how it is packed, the function that reads it, and the file's name.
READERS = {
    "tsv": (b"pos\ta good one\nneg\tbad\r\n", bytes, datasets.load_tsv, "x.tsv"),
    "csv": (CSV, bytes, datasets.load_csv, "x.csv"),
    "csv.gz": (gzip.compress(CSV), bytes, datasets.load_csv, "x.csv"),
    "utf-16": (
        "pos\tgood\nneg\tbad\n".encode("utf-16"),
        bytes,
        lambda path: datasets.load_tsv(path, encoding="utf-16"),
        "x.tsv",
    ),
    "nli": (NLI, bytes, datasets.load_nli, "x.jsonl"),
    "words": (SAVED, bytes, text.WordTokenizer.load, "x.json"),
    "characters": (
        SAVED.replace(b"Word", b"Character"),
        bytes,
        text.CharacterTokenizer.load,
        "x.json",
    ),
    "vectors": (VECTORS, bytes, load_vectors, "x.txt"),
    "vectors.gz": (gzip.compress(VECTORS), bytes, load_vectors, "x.txt.gz"),
    "cache": (gzip.compress(b"acq\tone\nearn\ttwo\n"), bytes, _tables.read, "x.tsv.gz"),
    "r8": (STORY, lambda c: tar_gz({"reut2-000.sgm": c}), converted("r8"), "reuters"),
    "r8.tar.gz": (tar_gz({"reut2-000.sgm": STORY}), bytes, converted("r8"), "reuters"),
    "trec": (b"DESC:def What is it ?\nHUM:ind Who\xe9 ?\n", bytes, converted("trec"), "TREC_10"),
    "sst": (
        TREE,
        lambda c: zipped({"train.txt": c, "dev.txt": c, "test.txt": c}),
        converted("sst"),
        "trainDevTest",
    ),
    "sst.zip": (zipped({"train.txt": TREE}), bytes, converted("sst"), "trainDevTest"),
    "sick": (SICK, lambda c: zipped({"SICK.txt": c}), converted("sick"), "SICK.zip"),
    "imdb": (tar_gz({"aclImdb/train/neg/0_3.txt": b"bad"}), bytes, converted("imdb"), "aclImdb"),
}


def check_damage(kind, path, content, packed, read, named):
    """A file is read, or refused in a message of some length that names it."""
    path.write_bytes(packed(content))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(path)
    except (ValueError, OSError) as error:
        message = str(error)
        # The tables of a download have names of their own.
        assert named in message or "of the download" in message, (kind, content[:99], message)
        assert len(message) < 2500 and not isinstance(error, UnicodeError), (kind, message[:99])
        message.encode()
        return 1
    return 0


@pytest.mark.parametrize(
    "size", [40, pytest.param(3000, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
@pytest.mark.parametrize("kind", READERS)
def test_damaged_files(kind, size, tmp_path):
    content, packed, read, named = READERS[kind]
    path = tmp_path / (named if named.startswith("x.") else "file")
    rng = random.Random(kind + str(size))
    refused = sum(
        check_damage(kind, path, damaged(rng, content), packed, read, named) for _ in range(size)
    )
    assert refused > size // 4


def test_sentences_that_are_no_unicode(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(NLI + NLI.replace(b"A dog", b"\\ud800"))
    with pytest.raises(ValueError, match=r"mine\.jsonl, line 2: a sentence is not valid Unicode"):
        datasets.load_nli(path)


def test_members_that_climb_out_of_an_archive(tmp_path):
    """Archives are read and never unpacked."""
    story = STORY.replace(b"TRAIN", b"TEST")
    path = tmp_path / "inner" / "reuters"
    path.parent.mkdir()
    path.write_bytes(tar_gz({"../../reut2-000.sgm": story, "/reut2-001.sgm": STORY}))
    tables = _parsers.r8({"reuters21578.tar.gz": path})
    assert len(tables["train"]) == len(tables["test"]) == 1
    assert [p.name for p in tmp_path.rglob("*")] == ["inner", "reuters"]


# -- texts -----------------------------------------------------------------------------------------

# Combining, right-to-left, emoji, control characters, lone surrogates, HTML.
HOSTILE = st.text(
    st.one_of(
        st.sampled_from("<>&\"'/=\0\x1b\u0301\u05d0\u202e\u2066\u200d😀\ud800\udfff\x85\u2028 a\n"),
        st.characters(),
    ),
    max_size=30,
)


class Tags(html.parser.HTMLParser):
    """Collects what a browser would take for elements, and their attributes."""

    def __init__(self, page):
        super().__init__()
        self.pairs = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.pairs |= {(tag, name) for name, _ in attrs} | {(tag, None)}

    def handle_comment(self, data):
        self.pairs.add(("comment", None))


def drawn(strings):
    return analysis.heatmap_html(
        strings, [0.5] * len(strings), title=strings[0], label=strings[-1], row_names=[strings[0]]
    )


PLAIN = Tags(drawn(["word", "other"])).pairs


@given(st.lists(HOSTILE, min_size=1, max_size=4))
def test_no_text_is_markup(strings):
    page = drawn(strings)
    page.encode("utf-8")
    assert Tags(page).pairs <= PLAIN
    for control in ("\0", "\x1b", "\u202e", "\u2028"):
        assert control not in page


@given(st.lists(HOSTILE, max_size=4))
def test_tokenizers_read_any_text(strings):
    valid = [s for s in strings if s.encode("utf-8", "ignore").decode() == s]
    for kind in (text.WordTokenizer, text.CharacterTokenizer):
        if len(valid) < len(strings):
            with pytest.raises(ValueError, match="valid Unicode"):
                kind.train(strings)
        tokenizer = kind.train(valid)
        ids = tokenizer.encode(valid)
        assert ids.dtype == np.int32 and 0 <= ids.min(initial=0)
        assert ids.max(initial=0) < tokenizer.vocabulary_size
    for each in strings:
        kept = "".join(text.split_sentences(each)).split()
        assert "".join(kept) == "".join(each.split())


# -- the streams of a process ----------------------------------------------------------------------


def test_bytes_that_are_no_text_on_standard_input(tmp_path, monkeypatch):
    from keras_attnpool.workbench.cli import errors, predict

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"good\nb\xff\n"), "utf-8"))
    with pytest.raises(errors.CommandError, match="standard input must hold utf-8"):
        list(predict.lines(sys.stdin))
