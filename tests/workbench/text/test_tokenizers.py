"""What both tokenizers promise of their files and arguments."""

import json

import numpy as np
import pytest
from refusals import refused

from keras_attnpool.workbench import text

pytestmark = pytest.mark.one_backend("texts in, ids out")

KINDS = {"WordTokenizer": text.WordTokenizer, "CharacterTokenizer": text.CharacterTokenizer}
TEXTS = ['Été, 😀 "quoted" \\ back', "שלום a\x85\x1cb", "cafe\u0301 caf\u00e9", " \n"]


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture
def tokenizer(kind):
    return kind(("[PAD]", "[UNK]", "a", "b", "c"))


@pytest.mark.parametrize("lowercase", [True, False])
def test_saved_and_loaded(tmp_path, kind, lowercase):
    tokenizer = kind.train(TEXTS, lowercase=lowercase)
    path = tmp_path / "vocabulary.json"
    path.write_text("what stood here before")
    tokenizer.save(path)
    loaded = kind.load(str(path))
    assert (loaded.vocabulary, loaded.lowercase) == (tokenizer.vocabulary, lowercase)
    np.testing.assert_array_equal(loaded.encode(TEXTS), tokenizer.encode(TEXTS))
    assert [file.name for file in tmp_path.iterdir()] == ["vocabulary.json"]


def test_failed_save_leaves_the_old_file(tmp_path, tokenizer, monkeypatch):
    path = tmp_path / "vocabulary.json"
    path.write_text("old")

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        tokenizer.save(path)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(FileNotFoundError, match="nowhere"):
        tokenizer.save(tmp_path / "nowhere" / "vocabulary.json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": "x"}, "'format': 'x'"),
        ({"version": 2}, "'version': 2"),
        ({"vocabulary": "abc"}, "'vocabulary': 'abc'"),
        ({"lowercase": 1}, "'lowercase': 1"),
        ({"vocabulary": ["a", "b"]}, "start with '[PAD]'"),
        ({"vocabulary": ["[PAD]", "[UNK]", "a", "a"]}, "'a' at index 3"),
        ({"vocabulary": ["[PAD]", "[UNK]", 3]}, "int at index 2"),
        ({"vocabulary": ["[PAD]", "[UNK]", ""]}, "'' at index 2"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path, kind, tokenizer, change, told):
    path = tmp_path / "vocabulary.json"
    tokenizer.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | change))
    with pytest.raises(ValueError) as error:
        kind.load(path)
    assert told in str(error.value) and kind.__name__ in str(error.value)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"word 1", b"\xff\xfe", b"[" * 100_000, b'{"format": "keras_attn']
)
def test_a_file_without_json_is_refused(tmp_path, kind, content):
    path = tmp_path / "vocabulary.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"vocabulary\.json.*no JSON"):
        kind.load(path)
    with pytest.raises(FileNotFoundError):
        kind.load(tmp_path / "absent.json")


@pytest.mark.parametrize("method", ["encode", "train"])
@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ("one text", "one string"),
        (b"bytes", "one string"),
        (None, "NoneType"),
        (["a", None], "NoneType at index 1"),
        ([float("nan")], "float at index 0"),
        ([["a"]], "list at index 0"),
    ],
)
def test_what_is_no_text_is_refused(kind, tokenizer, method, texts, told):
    with refused("texts", f"{kind.__name__}.{method}", told):
        getattr(tokenizer, method)(texts)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "3", True])
def test_limits_must_be_positive_integers(kind, tokenizer, wrong):
    names = ["max_length", "pad_to", *["max_word_length"] * (kind is text.CharacterTokenizer)]
    for name in names:
        with refused(name, f"{kind.__name__}.encode"):
            tokenizer.encode(["a"], **{name: wrong})
    with refused("min_frequency", f"{kind.__name__}.train"):
        kind.train(["a"], min_frequency=wrong)


def test_other_arguments_are_refused(kind, tokenizer):
    with refused("truncate", f"{kind.__name__}.encode", "'left'"):
        tokenizer.encode(["a"], truncate="left")
    with refused("min_frequency", f"{kind.__name__}.train"):
        kind.train(["a"], min_frequency=None)
    with refused("vocabulary", kind.__name__, "start with"):
        kind(["a"])
