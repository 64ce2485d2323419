"""Tiny archives in the form of each set's home, served from files and from 127.0.0.1."""

import dataclasses
import gzip
import hashlib
import http.server
import threading

import numpy as np
import pytest
from archives import tar_gz, zipped
from refusals import refused

from keras_attnpool.workbench import datasets
from keras_attnpool.workbench.datasets import public_sets
from keras_attnpool.workbench.datasets.public_sets import Download, Table

pytestmark = pytest.mark.one_backend("reads files")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("KERAS_ATTNPOOL_DATA", str(folder))
    return folder


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """Let a set's home hold the given files and its tables the given counts."""

    def offer(name, files, tables, urls=None):
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        downloads = []
        for filename, content in files.items():
            (home / filename).write_bytes(content)
            url = (urls or {}).get(filename, (home / filename).as_uri())
            downloads.append(Download(filename, url))
        changed = dataclasses.replace(
            public_sets.SETS[name], downloads=tuple(downloads), tables=tables
        )
        monkeypatch.setitem(public_sets.SETS, name, changed)

    return offer


def counts(**by_label):
    return Table((by_label,))


def leftovers(cache):
    """Every file of the cache but finished tables and hand-fetched ones; empty if clean."""
    return [p for p in cache.rglob("*") if p.name.startswith(".")]


def story(topics, text, split="TRAIN", flag="YES"):
    listed = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="{flag}" LEWISSPLIT="{split}" CGISPLIT="TRAINING-SET" NEWID="1">\n'
        f"<DATE>1-JAN-1987</DATE>\n<TOPICS>{listed}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n"
        f"{text}\n</REUTERS>\n"
    )


NORMAL = (
    "<TEXT>&#2;\n<TITLE>WHEAT &lt;WHT> UP 5 PCT</TITLE>\n<DATELINE> ROME, Jan 1 - </DATELINE>"
    "<BODY>Wheat rose 5 pct\nat R&amp;D Co.\n Reuter\n&#3;</BODY></TEXT>"
)
R8_FILES = {
    "reut2-001.sgm": story(["ship"], "<TEXT><TITLE>LATER FILE</TITLE></TEXT>").encode(),
    "reut2-000.sgm": (
        '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'
        + story(["grain"], NORMAL)
        + story(["grain", "wheat"], NORMAL)  # two topics
        + story(["cocoa"], NORMAL)  # not one of the eight
        + story([], NORMAL)
        + story(["earn"], NORMAL, flag="NO")
        + story(["earn"], NORMAL, split="NOT-USED")
        + story(["earn"], '<TEXT TYPE="UNPROC">&#2;\nQTLY DIV\n 9 cts\xfc\n&#3;</TEXT>', "TEST")
    ).encode("latin-1"),
    "README.txt": b"not a story",
}
R8_TABLES = {
    "train": counts(grain=1, ship=1),
    "test": counts(earn=1),
    "train.allterms": counts(grain=1, ship=1),
    "test.allterms": counts(earn=1),
}


def test_r8_from_sgml(cache, offer):
    offer("r8", {"reuters21578.tar.gz": tar_gz(R8_FILES)}, R8_TABLES)
    train = datasets.load("r8", view="original", verbose=0)
    assert train.texts == ("WHEAT <WHT> UP 5 PCT Wheat rose 5 pct at R&D Co. Reuter", "LATER FILE")
    assert [train.label_names[i] for i in train.labels] == ["grain", "ship"]
    assert datasets.load("r8", "test", view="original", verbose=0).texts == ("QTLY DIV 9 ctsü",)
    assert datasets.load("r8").texts[0] == "wheat wht up pct wheat rose pct at r d co reuter"
    assert train.label_names == tuple(sorted(train.label_names)) and train.num_classes == 8


def test_trec_from_label_files(cache, offer):
    files = {
        "train_5500.label": "DESC:manner How did\xf0it go ?\nHUM:ind Who ?\n".encode("latin-1"),
        "TREC_10.label": b"NUM:dist How far ?\n",
    }
    train_counts, test_counts = {"DESC": 1, "HUM": 1}, {"NUM": 1}
    tables = {
        "train": Table((train_counts,)),
        "test": Table((test_counts,)),
        "train.fine": Table((train_counts,), key=lambda row: row[0].split(":")[0]),
        "test.fine": Table((test_counts,), key=lambda row: row[0].split(":")[0]),
    }
    offer("trec", files, tables)
    train = datasets.load("trec", verbose=0)
    assert train.texts == ("How didðit go ?", "Who ?") and train.num_classes == 6
    fine = datasets.load("trec", "test", fine=True)
    assert fine.num_classes == 50 and fine.label_names[fine.labels[0]] == "NUM:dist"


def test_sst_from_trees(cache, offer):
    archive = zipped(
        {
            "trees/train.txt": "(4 (3 Good) (2 (2 film) (2 -LRB-)))\n(0 (2 It) (1 bad\\/sad))\n"
            "(2 (2 It) (2 is))\n",
            "trees/dev.txt": "(1 (2 So) (2 so))\n",
            "trees/test.txt": "(2 (2 A) (2 B))\n(3 (2 A) (2 C))\n",
        }
    )
    tables = {
        "train": Table(({"4": 1, "0": 1, "2": 1},)),
        "dev": Table(({"1": 1},)),
        "test": Table(({"2": 1, "3": 1},)),
        "train.binary": Table(({"0": 1, "1": 1},)),
        "dev.binary": Table(({"0": 1},)),
        "test.binary": Table(({"1": 1},)),
        "train.phrases": Table(({"4": 1, "3": 1, "2": 6, "0": 1, "1": 1},)),
    }
    offer("sst", {"trainDevTestTrees_PTB.zip": archive}, tables)
    train = datasets.load("sst5", verbose=0)
    assert train.texts == ("Good film (", "It bad/sad", "It is")
    assert train.labels.tolist() == [4, 0, 2] and train.label_names[0] == "very negative"
    two = datasets.load("sst2")
    assert two.texts == ("Good film (", "It bad/sad") and two.labels.tolist() == [1, 0]
    phrases = datasets.load("sst5", phrases=True)
    assert phrases.texts[:5] == ("Good", "film", "(", "film (", "Good film (")
    assert phrases.texts.count("It") == 1
    with refused("split", None, "phrases"):
        datasets.load("sst5", "dev", phrases=True)


def test_subj_and_its_splits(cache, offer):
    files = {
        "rotten_imdb/quote.tok.gt9.5000": "it \x93works\x94\n".encode("latin-1") * 10,
        "rotten_imdb/plot.tok.gt9.5000": b"".join(b"plot %d \n" % i for i in range(20)),
    }
    offer(
        "subj", {"rotten_imdb.tar.gz": tar_gz(files)}, {"all": counts(objective=20, subjective=10)}
    )
    everything = datasets.load("subj", "all", verbose=0)
    assert everything.labels.tolist() == [0] * 20 + [1] * 10
    assert everything.texts[-1] == "it \u201cworks\u201d"
    train, test = datasets.load("subj"), datasets.load("subj", "test")
    assert np.bincount(test.labels).tolist() == [4, 2] and len(train) == 24
    assert sorted(train.texts + test.texts) == sorted(everything.texts)
    assert datasets.load("subj", "test", seed=1).texts != test.texts


def test_sick_from_txt(cache, offer):
    header = (
        "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\t"
        "entailment_AB\tSemEval_set\n"
    )
    rows = (
        "1\tA dog  runs\tA cat sits\tNEUTRAL\t2.5\tx\tTEST\r\n"
        "2\tA man\tA person\tENTAILMENT\t4.75\tx\tTRAIN\r\n"
        "3\tNo man\tA man\tCONTRADICTION\t3\tx\tTRIAL\r\n"
    )
    table = dataclasses.replace(
        public_sets.SETS["sick"].tables["sick"],
        counts=({"train ENTAILMENT": 1, "dev CONTRADICTION": 1, "test NEUTRAL": 1},),
        content=None,
    )
    offer("sick", {"SICK.zip": zipped({"SICK.txt": header + rows})}, {"sick": table})
    train = datasets.load("sick", verbose=0)
    assert (train.sentences_a, train.sentences_b) == (("A man",), ("A person",))
    assert train.label_names[train.labels[0]] == "ENTAILMENT"
    assert train.relatedness.tolist() == [4.75]
    assert datasets.load("sick", "test").sentences_a == ("A dog runs",)
    assert datasets.load("sick", "dev").relatedness.tolist() == [3.0]


IMDB_TABLES = {
    "train": Table(({"neg": 1, "pos": 2}, {"neg": 1, "pos": 1})),
    "test": Table(({"pos": 1},)),
    "train.meta": dataclasses.replace(
        public_sets.SETS["imdb"].tables["train.meta"],
        counts=({"1": 1, "10": 1, "8": 1}, {"1": 1, "10": 1}),
    ),
    "test.meta": dataclasses.replace(
        public_sets.SETS["imdb"].tables["test.meta"], counts=({"7": 1},)
    ),
}


def imdb_archive():
    files = {
        "aclImdb/train/neg/0_1.txt": b"bad<br />film",
        "aclImdb/train/pos/0_10.txt": "gr\u00e9at".encode(),
        "aclImdb/train/pos/1_8.txt": b"good",
        "aclImdb/train/unsup/0_0.txt": b"unlabelled",
        "aclImdb/test/pos/5_7.txt": b"fine",
        "aclImdb/README": b"read me",
    }
    return files, tar_gz(files)


def test_imdb_with_stars(cache, offer):
    files, archive = imdb_archive()
    offer("imdb", {"aclImdb_v1.tar.gz": archive}, IMDB_TABLES)
    train = datasets.load("imdb", verbose=0)
    labelled = [path for path in files if path.startswith(("aclImdb/train/n", "aclImdb/train/p"))]
    by_hash = sorted(labelled, key=lambda path: hashlib.sha1(path.encode()).hexdigest())
    assert train.texts == tuple(files[path].decode() for path in by_hash)
    stars = datasets.load("imdb", stars=True)
    found = dict(zip(stars.texts, (stars.label_names[i] for i in stars.labels), strict=True))
    assert found == {"bad<br />film": "1 star", "gréat": "10 stars", "good": "8 stars"}


def write_table(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def test_imdb_subset_in_the_cache_is_told_apart(cache, offer):
    offer("imdb", {}, IMDB_TABLES)
    write_table(cache / "IMDB/train.tsv.gz", "neg\tbad\npos\tgood\n")
    write_table(cache / "IMDB/train.meta.tsv.gz", "review\trating\npos/1\t10\nneg/0\t1\n")
    with pytest.warns(UserWarning, match="subset of IMDB"):
        assert len(datasets.load("imdb")) == 2
    with pytest.raises(ValueError, match="do not belong together"):  # neg beside pos/1
        datasets.load("imdb", stars=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("objective\ta\n", r"all.tsv.gz holds 1 rows \(objective 1\); expected 2 rows"),
        ("objective\ta\nsubjective\tb\tc\n", "line 2: 3 fields, not 2"),
    ],
)
def test_a_wrong_table_in_the_cache_is_an_error(cache, offer, text, message):
    offer("subj", {}, {"all": counts(objective=1, subjective=1)})
    write_table(cache / "SUBJ/all.tsv.gz", text)
    with pytest.raises(ValueError, match=message):
        datasets.load("subj", "all")


class Home(http.server.BaseHTTPRequestHandler):
    """Serves `content`; announces `announced` bytes."""

    content = b""
    announced = 0

    def do_GET(self):
        self.send_response(200 if self.path == "/file" else 404)
        self.send_header("Content-Length", str(self.announced))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def serve():
    servers = []

    def serve(content, announced=None):
        handler = type("Handler", (Home,), {})
        handler.content = content
        handler.announced = len(content) if announced is None else announced
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/file"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


SUBJ_TABLES = {"all": counts(objective=1, subjective=1)}
SUBJ_ARCHIVE = tar_gz({"quote.tok.gt9.5000": b"me\n", "plot.tok.gt9.5000": b"him\n"})


def offer_subj(offer, url, content=b""):
    offer("subj", {"rotten_imdb.tar.gz": content}, SUBJ_TABLES, {"rotten_imdb.tar.gz": url})


def test_download_over_http_shows_progress_and_is_kept(cache, offer, serve, capsys):
    offer_subj(offer, serve(SUBJ_ARCHIVE))
    assert datasets.load("subj", "all").texts == ("him", "me")
    assert "Downloading data from http://127.0.0.1" in capsys.readouterr().out
    assert [path.name for path in sorted(cache.rglob("*"))] == ["SUBJ", "all.tsv.gz"]
    first = (cache / "SUBJ/all.tsv.gz").read_bytes()
    (cache / "SUBJ/all.tsv.gz").unlink()
    datasets.load("subj", "all", verbose=0)
    assert capsys.readouterr().out == ""
    assert (cache / "SUBJ/all.tsv.gz").read_bytes() == first  # no time stamp inside


BY_HAND = r"Get rotten_imdb.tar.gz from https://www.cs.cornell.edu.*put it as it is into .*SUBJ"


NOWHERE = "http://127.0.0.1:9/file"
ONE_TOO_MANY = tar_gz({"quote.tok.gt9.5000": b"me\nus\n", "plot.tok.gt9.5000": b"him\n"})


@pytest.mark.parametrize(
    ("content", "announced", "told"),
    [
        (SUBJ_ARCHIVE[:50], 500, "got only 50 out of 500 bytes"),
        (SUBJ_ARCHIVE[: len(SUBJ_ARCHIVE) // 2], None, "(EOF|Read)Error"),
        (b"<html>moved</html>", None, "ReadError"),
        (ONE_TOO_MANY, None, r"objective 1, subjective 2\); expected 2 rows"),
    ],
    ids=["cut", "cut, and believed whole", "a page", "wrong counts"],
)
def test_what_is_not_the_archive_is_told_and_not_kept(
    cache, offer, serve, content, announced, told
):
    offer_subj(offer, serve(content, announced))
    with pytest.raises(OSError, match=f"{told}.*{BY_HAND}"):
        datasets.load("subj", verbose=0)
    assert list(cache.rglob("*")) == []


@pytest.mark.parametrize("kind", ["refused", "missing"])
def test_no_network_says_what_to_fetch_by_hand(cache, offer, serve, kind):
    offer_subj(offer, serve(b"").replace("/file", "/gone") if kind == "missing" else NOWHERE)
    with pytest.raises(OSError, match=BY_HAND):
        datasets.load("subj", verbose=0)
    assert list(cache.rglob("*")) == []


def with_digest(monkeypatch, digest):
    source = public_sets.SETS["subj"]
    download = dataclasses.replace(source.downloads[0], digest=digest)
    changed = dataclasses.replace(source, downloads=(download,))
    monkeypatch.setitem(public_sets.SETS, "subj", changed)


def test_hash_of_the_download(cache, offer, monkeypatch):
    offer("subj", {"rotten_imdb.tar.gz": SUBJ_ARCHIVE}, SUBJ_TABLES)
    with_digest(monkeypatch, "0" * 32)
    with pytest.raises(OSError, match=rf"hash does not match.*{BY_HAND}"):
        datasets.load("subj", verbose=0)
    assert list(cache.rglob("*")) == []
    with_digest(monkeypatch, hashlib.sha256(SUBJ_ARCHIVE).hexdigest())
    assert len(datasets.load("subj", "all", verbose=0)) == 2


def test_a_file_put_there_by_hand_is_used_and_kept(cache, offer):
    offer_subj(offer, NOWHERE)
    (cache / "SUBJ").mkdir(parents=True)
    (cache / "SUBJ/rotten_imdb.tar.gz").write_bytes(SUBJ_ARCHIVE)
    assert len(datasets.load("subj", "all", verbose=0)) == 2
    assert (cache / "SUBJ/rotten_imdb.tar.gz").exists() and not leftovers(cache)


def test_sets_that_need_registration_say_so(cache):
    with pytest.raises(FileNotFoundError, match=r"HaHackathon.humor.dev.tsv.gz.*registration"):
        datasets.load("humor", "dev")
    assert not cache.exists()


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("r8", {"split": "dev"}, "('train', 'test')"),
        ("r8", {"view": "raw"}, "allterms"),
        ("r8", {"fine": True}, "'view'"),
        ("sst2", {"phrases": True}, "no options"),
        ("humor", {"task": "x"}, "no options"),
    ],
)
def test_bad_arguments_are_named(cache, name, options, told):
    with refused(*options, None, told):
        datasets.load(name, **options)
    with refused("name", "datasets.load", "'r8'"):
        datasets.load("r9")


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_ATTNPOOL_DATA", str(tmp_path))
    assert datasets.cache_folder() == tmp_path
    monkeypatch.setenv("KERAS_ATTNPOOL_DATA", "")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))
    assert datasets.cache_folder() == tmp_path / "home" / "keras_attnpool"
    monkeypatch.delenv("KERAS_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert datasets.cache_folder() == tmp_path / ".keras" / "keras_attnpool"


def test_every_available_name_has_a_loader_and_real_counts():
    assert datasets.available() == (
        *("r8", "trec", "sst5", "sst2", "subj", "sick", "imdb", "humor", "controversy"),
    )
    rows = {
        (name, table): sum(spec.counts[0].values())
        for name, source in public_sets.SETS.items()
        for table, spec in source.tables.items()
    }
    assert rows["r8", "train"] == 5485 and rows["r8", "test"] == 2189
    assert rows["trec", "train"] == 5452 and rows["sst", "train.phrases"] == 159_274
    assert rows["imdb", "train.meta"] == rows["imdb", "test.meta"] == 25_000
    assert rows["sick", "sick"] == 9927 and rows["hahackathon", "controversy.test"] == 615


@pytest.mark.parametrize("text", ["objective\ta\nsubjective\tb\n", "objective\ta\nsubjective\tc\n"])
def test_a_table_that_is_not_the_reference_copy_is_told(cache, offer, text, recwarn):
    digest = hashlib.sha256(b"objective\ta\nsubjective\tb\n").hexdigest()
    table = dataclasses.replace(SUBJ_TABLES["all"], content=digest)
    offer("subj", {}, {"all": table})
    write_table(cache / "SUBJ/all.tsv.gz", text)
    assert len(datasets.load("subj", "all")) == 2
    told = [str(each.message) for each in recwarn]
    assert len(told) == ("\tc" in text) and all("not byte for byte" in each for each in told)
