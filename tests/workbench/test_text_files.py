"""Which kind of file it is: the cure that an error names is applied here, and gives the texts."""

import gzip
import io
import re
import struct
import tarfile
import zipfile

import numpy as np
import pytest

from keras_attnpool.workbench import datasets, text
from keras_attnpool.workbench.cli import data, errors, options, predict
from keras_attnpool.workbench.datasets import load_csv, load_tsv

pytestmark = pytest.mark.one_backend("reads files")

# Texts, and the code pages of a user who writes such.
PAGES = [
    ("cp1252", ["“Great” – he’s back…", "à la carte, c'était «très» bien", "schön, ½ price £5"]),
    ("cp1252", ["café", "müde"]),
    ("cp1250", ["Příliš žluťoučký kůň", "to był świetny film", "Foarte bună şi mare"]),
    ("cp1254", ["Bu film çok güzeldi, ağladım", "bir daha gitmeyeceğim, kötü"]),
    ("cp1251", ["Отличный отель, всё понравилось", "«плохо» – сказал он", "привет"]),
    ("koi8-r", ["Отличный отель, всё понравилось", "Плохо"]),
    ("cp1253", ["Πολύ καλό ξενοδοχείο", "ωραία θέα"]),
    ("gb18030", ["这个酒店的房间很好，服务也不错。", "很好", "你好"]),
    ("cp949", ["이 영화는 정말 재미있다", "방이 깨끗하고 좋았어요"]),
    ("shift_jis", ["とても良い部屋でした", "アイスクリーム", "悪い"]),
    ("euc_jp", ["とても良い部屋でした", "悪い"]),
    ("big5", ["這個酒店的房間很好，服務也不錯。", "很好"]),
    ("utf-16-le", ["schön", "plain"]),
    ("utf-16-be", ["a", "b"]),
    ("utf-32", ["schön", "b"]),
]
LOADERS = {".tsv": load_tsv, ".csv": load_csv}


def written(path, texts, between=","):
    rows = ["label,text".replace(",", between)] if path.suffix == ".csv" else []
    rows += [f"{'ab'[i % 2]}{between}{each}" for i, each in enumerate(texts)]
    return "\n".join([*rows, ""])


@pytest.mark.parametrize(("page", "texts"), PAGES)
@pytest.mark.parametrize("ending", LOADERS)
def test_a_named_code_page_reads_the_file(tmp_path, page, texts, ending):
    path = tmp_path / f"x{ending}"
    between = "\t" if ending == ".tsv" else ";"
    path.write_bytes(written(path, texts, between).encode(page))
    given = {} if ending == ".tsv" else {"delimiter": ";"}
    if page != "utf-32":  # its mark tells it
        with pytest.raises(ValueError, match="`encoding` of load_.*x") as error:
            LOADERS[ending](path, **given)
        given["encoding"] = re.search("perhaps '([^']+)'", str(error.value))[1]
    assert list(LOADERS[ending](path, **given).texts) == texts
    if page in ("cp1252", "gb18030"):
        columns = {"encoding": None, "delimiter": given.get("delimiter")}
        with pytest.raises(errors.CommandError, match="--encoding.*perhaps") as error:
            data.load_file(str(path), options.Options(**columns))
        columns["encoding"] = re.search("perhaps '([^']+)'", str(error.value))[1]
        assert list(data.load_file(str(path), options.Options(**columns)).texts) == texts


def test_one_line_in_another_encoding_names_no_code_page(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_bytes("a\tschön\nb\tübel\nb\tgrößer\n".encode() + b"a\tcaf\xe9\n")
    with pytest.raises(ValueError, match="line 4: .*whose rest is UTF-8; save the file as UTF-8"):
        load_tsv(path)


def test_controls_are_warned_of_once_with_the_encoding_that_is_meant(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_bytes("a\t“fine”\nb\t“bad”\n".encode("cp1252"))
    with pytest.warns(UserWarning, match="U\\+0093 .*its encoding may be cp1252") as told:
        load_tsv(path, encoding="latin-1")
    assert len(told) == 1
    path.write_bytes(b"a\tone\x1b\nb\ttwo\x00\n")
    with pytest.warns(UserWarning, match=r"U\+001B in 'a\\tone"):
        load_tsv(path)


def tarred(content):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as file:
        entry = tarfile.TarInfo("x.tsv")
        entry.size = len(content)
        file.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def archive(*names):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name in names:
            packed.writestr(name, "a\tone\nb\ttwo\n")
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (archive("docProps/app.xml", "xl/workbook.xml"), "a workbook: save it as CSV.*read_excel"),
        (archive("[Content_Types].xml"), "a workbook: save it as CSV, or .*pandas.read_excel"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is a workbook"),
        (archive("x.tsv"), "is a zip archive: unpack it"),
        (archive("[Content_Types].xml", "word/document.xml"), "a document, not a table"),
        (b"%PDF-1.7", "a document, not a table"),
        (tarred(b"a\tone\n"), "is a tar archive: unpack it"),
        (b"BZh91AY&SY", "not by gzip: unpack it"),
        (gzip.compress(gzip.compress(b"a\tone\n")), "is compressed twice"),
        (b"SQLite format 3\0\x10\xdd\0\0\x9a\0", "is no text.*line 1: byte 0xdd"),
        (b"PAR1\x15\x04", "pandas.read_parquet"),
        (b"\x80\x04\x95\x10", "pandas.read_pickle"),
    ],
)
@pytest.mark.parametrize("load", [load_tsv, load_csv, datasets.load_nli])
def test_what_is_no_text_is_named(tmp_path, load, content, message):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"x.csv: .*{message}"):
        load(path)
    with pytest.raises(errors.CommandError, match=f"x.csv: .*{message}"):
        list(predict.table_rows(str(path), {}))
    assert path.read_bytes() == content


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize("quoted", [False, True])
def test_the_delimiter_is_named(tmp_path, mark, quoted):
    path = tmp_path / "x.csv"
    content = written(path, ["one, two", "three"], mark)
    path.write_text(re.sub(f"([^{mark}\n]+)", r'"\1"', content) if quoted else content)
    with pytest.raises(ValueError, match="`delimiter` of load_csv") as error:
        load_csv(path)
    assert f"looks like {mark!r}" in str(error.value)
    assert load_csv(path, delimiter=mark).texts == ("one, two", "three")
    with pytest.raises(errors.CommandError, match="--delimiter"):
        data.load_file(str(path), options.Options())
    with pytest.raises(errors.CommandError, match="--delimiter"):
        list(predict.table_rows(str(path), {}))


def test_a_tsv_of_another_delimiter_is_read_as_the_error_says(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text('a;one\nb;"two; three"\n')
    with pytest.raises(ValueError, match="`delimiter` of load_tsv") as error:
        load_tsv(path)
    call = re.search(r"load_csv\(\.\.\., (.*?)\) reads it", str(error.value))[1]
    assert eval(f"load_csv(path, {call})", {"load_csv": load_csv, "path": path}).texts == (
        "one",
        "two; three",
    )
    with pytest.raises(errors.CommandError, match="--delimiter"):
        data.load_file(str(path), options.Options())
    assert data.load_file(str(path), options.Options(delimiter=";")).texts[1] == "two; three"
    rows = list(predict.table_rows(str(path), {"delimiter": ";", "text_column": 1}))
    assert [each for each, _ in rows[1:]] == ["one", "two; three"]


# A file, and its texts: quotes are read as csv writes them, or stand as they are.
QUOTED = [
    ('a\t"he said ""hi"" twice"\nb\tplain\n', ['he said "hi" twice', "plain"]),
    ('a\t"""all quoted"""\nb\tx\n', ['"all quoted"', "x"]),
    ('a\t"open quote\nb\tsay "x" now\n', ['"open quote', 'say "x" now']),
    ('a\t"open\nb\tclosed"\n', ['"open', 'closed"']),
    ('a\t"Good" and "bad"\nb\tx\n', ['"Good" and "bad"', "x"]),
    ('a\t"two\n\nlines"\nb\t"a\ttab"\n', ["two\n\nlines", "a\ttab"]),
    ('a\tx\nb\t"never closed\n\n', ["x", '"never closed']),
    ('a\tone\rb\t"two"\r', ["one", "two"]),
]


@pytest.mark.parametrize(("content", "texts"), QUOTED)
def test_quotes_of_a_tsv(tmp_path, content, texts):
    path = tmp_path / "x.tsv"
    path.write_text(content)
    assert list(load_tsv(path).texts) == texts
    rows = list(predict.table_rows(str(path), {"text_column": 1}))
    assert [each for each, _ in rows[1:]] == texts


VECTORS = np.array([[0.1, -0.2, 0.3], [0.7, 0.8, -0.9]], "<f4")
BINARY = b"2 3\n" + b"".join(
    word + b" " + row.tobytes() + b"\n"
    for word, row in zip([b"good", b"bad"], VECTORS, strict=True)
)


def gensim_file(path, kind):
    from gensim.models import FastText, KeyedVectors, Word2Vec

    if kind == "keyed":
        vectors = written = KeyedVectors(3)
        vectors.add_vectors(["good", "bad"], VECTORS)
    else:
        options = {"vector_size": 3, "min_count": 1}
        made = FastText(**options, bucket=9) if "fasttext" in kind else Word2Vec(**options)
        made.build_vocab([["good", "bad"]])
        vectors, written = made.wv, made.wv if "keyed" in kind else made
    written.save(str(path))
    return vectors


@pytest.mark.parametrize(
    "kind", ["word2vec", "keyed", "model", "fasttext", "fasttext keyed", "zip"]
)
def test_vectors_of_other_formats_name_the_call_that_converts_them(tmp_path, monkeypatch, kind):
    path = tmp_path / "vectors.bin"
    expected = VECTORS
    if kind == "word2vec":
        path.write_bytes(BINARY)
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("vectors.txt", "good 0.1 -0.2 0.3\nbad 0.7 0.8 -0.9\n")
    else:
        vectors = gensim_file(path, kind)
        expected = [vectors["good"], vectors["bad"]]
    tokenizer = text.WordTokenizer(["[PAD]", "[UNK]", "good", "bad"])
    with pytest.raises(ValueError, match="vectors.bin: is ") as error:
        text.load_word_vectors(path, tokenizer)
    call = re.search(r"(?:convert it|unpack it), ([\w.]+\(.*\))", str(error.value))[1]
    monkeypatch.chdir(tmp_path)
    import gensim.models
    import gensim.utils

    eval(call, {"gensim": gensim, "zipfile": zipfile})
    found, coverage = text.load_word_vectors("vectors.txt", tokenizer)
    np.testing.assert_allclose(found[2:], expected, rtol=1e-5)
    assert coverage == 1


def test_fasttext_is_named(tmp_path):
    (tmp_path / "x.bin").write_bytes(struct.pack("<ii", 793712314, 12))
    with pytest.raises(ValueError, match="fastText's binary format: .*load_facebook_vectors"):
        text.load_word_vectors(tmp_path / "x.bin", ["[PAD]", "[UNK]"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([f"{i / 7:.3f}" for i in range(20)], "20 labels are 20 classes; .*not whole"),
        (["0.5", "1.5"] * 9, "numbers that are not whole"),
        (["1", "1.0"] * 9, "'1' and '1.0' are two classes"),
        (["Ham", "ham"] * 9, "'Ham' and 'ham'"),
        (["not spam", "notspam"] * 9, "two classes"),
        (["yes", "yes\u200b"] * 9, "two classes"),
        (["a", "b"] * 9, None),
        (["1.0", "2.0"] * 9, None),
        (["0.5", "1", "1.5", "2"] * 9, None),
        ([str(2**60), str(2**60 + 1)] * 9, None),
        (["nan", "inf"] * 9, None),
    ],
)
@pytest.mark.parametrize("command", [False, True])
def test_odd_labels_are_warned_of_in_one_line(tmp_path, recwarn, capsys, labels, message, command):
    path = tmp_path / "x.tsv"
    path.write_text("".join(f"{label}\ta text of {i}\n" for i, label in enumerate(labels)))
    if command:
        data.load_file(str(path), options.Options())
        told = capsys.readouterr().err.splitlines()
    else:
        load_tsv(path)
        told = [str(each.message) for each in recwarn]
    assert len(told) == (message is not None)
    assert not message or re.search(f"x.tsv: .*{message}", told[0])
