import codecs
import gzip

import pytest

from keras_attnpool.workbench import _text_files
from keras_attnpool.workbench.datasets import load_csv, load_tsv

pytestmark = pytest.mark.one_backend("reads files")


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_tsv_default_is_label_tab_text(write):
    data = load_tsv(write('pos\ta "good" one\nneg\tbad\r\npos\t good  again \n\n'))
    assert data.texts == ('a "good" one', "bad", "good  again")
    assert data.label_names == ("neg", "pos") and data.labels.tolist() == [1, 0, 1]
    assert data.rationales is None


def test_tsv_columns_by_name_or_position(write):
    path = write("id\tbody\tkind\n1\thello\tx\n2\tbye\ty\n")
    expected = ("hello", "bye")
    assert load_tsv(path, text_column="body", label_column="kind").texts == expected
    assert load_tsv(path, header=True, text_column=1, label_column=2).texts == expected
    assert load_tsv(path, text_column=1, label_column=2).texts == ("body", *expected)


def test_gzip_and_byte_order_mark(write):
    packed = gzip.compress("\ufeffa\tx\nb\ty\n".encode())
    assert load_tsv(write(packed)).label_names == ("a", "b")
    with pytest.raises(ValueError, match=r"data.txt: the gzip file is damaged"):
        load_tsv(write(packed[:-10]))


def test_csv_quotes_line_breaks_and_delimiter(write):
    data = load_csv(write('label,text\na,"one, ""two""\nthree"\nb,four\n'))
    assert data.texts == ('one, "two"\nthree', "four")
    data = load_csv(
        write("good;1\nbad;0\n"), header=False, delimiter=";", text_column=0, label_column=1
    )
    assert data.texts == ("good", "bad") and data.labels.tolist() == [1, 0]


def test_numeric_labels_are_sorted_as_numbers(write):
    assert load_tsv(write("10\ta\n9\tb\n1\tc\n")).label_names == ("1", "9", "10")
    assert load_tsv(write("10\ta\n9\tb\nx\tc\n")).label_names == ("10", "9", "x")


def test_given_label_names_fix_the_classes(write):
    path = write("b\tx\nb\ty\n")
    data = load_tsv(path, label_names=("a", "b", "c"))
    assert data.num_classes == 3 and data.labels.tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"data.txt, line 1: .*\('a', 'c'\).*'b'"):
        load_tsv(path, label_names=("a", "c"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"a\tx\nb\tcaf\xe9\n",
            r"line 2: byte 0xe9 is not valid utf-8.*'cp1252', which reads 'b\\tcafé'",
        ),
        ("a\tx\nb\n", r"line 2: 1 field\(s\), but the first line has 2"),
        ("a\tx\nb\ty\tz\n", r"line 2: 3 field\(s\)"),
        (
            "only text\nmore\n",
            r"`text_column` of load_tsv must .* from 0 to 0. Received: text_column=1",
        ),
        ("a\tx\nb\t  \n", r"True to leave out line 2 .*the text is empty"),
        ("a\tx\n\ty\n", r"True to leave out line 2 .*the label is empty"),
        ("a\tx\na\ty\n", r"at least two classes. Received: \('a',\) in 2 row"),
        ("", "no rows"),
    ],
)
def test_tsv_faults_name_file_and_line(write, content, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_tsv(write(content))
    assert "data.txt" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "label,body\na,x\nb,y\n",
            {},
            r"`text_column` of load_csv must name one .*\('label', 'body'\)",
        ),
        ("label,text,text\na,x,y\nb,x,y\n", {}, r"must name one .*\('label', 'text', 'text'\)"),
        ('label,text\na,"x\n\ny"\nb\n', {}, r"line 5: 1 field\(s\)"),
        ('label,text\na,x\nb,"never closed\n', {}, r"line 3: unexpected end of data"),
        *(
            ("label,text\na,x\nb,y\n", {"delimiter": mark}, "`delimiter` of load_csv must be one")
            for mark in (";;", "", '"', "\n", None)
        ),
        ("a,x\nb,y\n", {"header": False}, r"`text_column` of load_csv must be a position .*'text'"),
    ],
)
def test_csv_faults_name_file_and_line(write, content, options, message):
    with pytest.raises(ValueError, match=message):
        load_csv(write(content), **options)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.csv"):
        load_csv(tmp_path / "nowhere.csv")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_unicode_text_of_spreadsheets(tmp_path, encoding):
    """UTF-16 with its byte order mark, which nobody has to name."""
    content = "label\ttext\ngut\tschön\nschlecht\tübel\n"
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    path = tmp_path / "sheet.txt"
    path.write_bytes(mark + content.encode(encoding))
    data = load_tsv(path, header=True)
    assert (data.texts, data.label_names) == (("schön", "übel"), ("gut", "schlecht"))
    path.write_bytes(gzip.compress(mark + content.encode(encoding)))
    for name in ("utf-8", "UTF-8", "utf8"):
        assert load_tsv(path, header=True, encoding=name).texts == ("schön", "übel")
    # What the caller names is what it is read as.
    with pytest.raises(ValueError, match="not valid ascii"):
        load_tsv(path, encoding="ascii")


@pytest.mark.parametrize("load", [load_tsv, load_csv])
def test_blank_lines_in_the_middle_can_be_left_out(tmp_path, load):
    between = "," if load is load_csv else "\t"
    path = tmp_path / "x"
    path.write_text(f"label{between}text\n\na{between}one\n\nb{between}two\n")
    with pytest.warns(UserWarning, match=r"2 line\(s\) without .* line 2"):
        data = load(path, header=True, text_column="text", label_column="label", skip_empty=True)
    assert data.texts == ("one", "two")
    with pytest.raises(ValueError, match="line 2: 1 field"):
        load(path, header=True, text_column="text", label_column="label")


@pytest.mark.parametrize("load", [load_tsv, load_csv])
def test_one_column_for_texts_and_labels(tmp_path, load):
    path = tmp_path / "x"
    path.write_text("label,text\na,b\nc,d\n" if load is load_csv else "a\tb\nc\td\n")
    with pytest.raises(ValueError, match="`label_column` .* another column"):
        load(path, text_column=0, label_column=0)
    if load is load_csv:
        with pytest.raises(ValueError, match="label_column=0"):
            load(path, text_column="label", label_column=0)


def test_a_gzip_file_that_unpacks_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(_text_files, "_LARGEST", 1000)
    path = tmp_path / "x.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n" * 251))
    with pytest.raises(ValueError, match=r"x\.tsv\.gz: the gzip file holds more than 1,000 bytes"):
        load_tsv(path)
    path.write_bytes(gzip.compress(b"a\tb\nc\td\n" * 125))
    assert len(load_tsv(path)) == 250


@pytest.mark.parametrize("names", ["abc", ["a", "a", "b"], {"a", "b"}, {"a": 0, "b": 1}, [0, 1]])
def test_label_names_are_distinct_strings(tmp_path, names):
    (tmp_path / "x.tsv").write_text("a\tone\nb\ttwo\n")
    with pytest.raises(ValueError, match="`label_names` of load_tsv must"):
        load_tsv(tmp_path / "x.tsv", label_names=names)
