import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from keras_attnpool.workbench import text

pytestmark = pytest.mark.one_backend("texts in, ids out")

ANY_TEXT = st.text(
    st.one_of(
        st.sampled_from("aBcÉ.!?'[] \n\x1c\u0301\u0308\u200d"),
        st.characters(exclude_categories=["Cs"]),
    )
)


@pytest.fixture
def tokenizer():
    return text.WordTokenizer(("[PAD]", "[UNK]", "a", "b", "c", "d", "e", "."))


def test_frequent_words_come_first_and_ties_are_alphabetical():
    words = ["zoo", "bee", "été", "ant", "a"]
    for texts in (words + ["zoo"], ["zoo"] + words[::-1]):
        vocabulary = text.WordTokenizer.train(texts).vocabulary
        assert vocabulary == ("[PAD]", "[UNK]", "zoo", "a", "ant", "bee", "été")


def test_rare_words_and_words_beyond_the_limit_are_unknown():
    texts = ["c c c b b a a d"]
    assert text.WordTokenizer.train(texts, min_frequency=2).vocabulary[2:] == ("c", "a", "b")
    limited = text.WordTokenizer.train(texts, max_vocabulary=4)
    assert limited.vocabulary == ("[PAD]", "[UNK]", "c", "a")
    assert limited.vocabulary_size == 4
    assert limited.encode(["a d c"]).tolist() == [[3, 1, 2]]


def test_no_vocabulary_limit_by_default():
    # The library's own default stops at 30 000.
    texts = [" ".join(f"w{i}" for i in range(40_000))]
    assert text.WordTokenizer.train(texts).vocabulary_size == 40_002


def test_case():
    assert text.WordTokenizer.train(["Good good"]).vocabulary[2:] == ("good",)
    cased = text.WordTokenizer.train(["Good good"], lowercase=False)
    assert cased.vocabulary[2:] == ("Good", "good")
    assert not cased.lowercase


@pytest.mark.parametrize(
    ("given_text", "tokens"),
    [
        ("Don't stop...", ["don", "'", "t", "stop", "..."]),
        ("", []),
        (" \n\t ", []),
        ("?! ...", ["?!", "..."]),
        ("😀 ok", ["😀", "ok"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("مرحبا!", ["مرحبا", "!"]),
        ("cafe\u0301", ["caf\u00e9"]),
        # Only the small letter has a composed form.
        ("T\u0308", ["\u1e97"]),
        ("[PAD] [UNK]", ["[", "pad", "]", "[", "unk", "]"]),
    ],
)
def test_tokenize(given_text, tokens):
    tokenizer = text.WordTokenizer.train([given_text])
    assert tokenizer.tokenize(given_text) == tokens
    assert tokenizer.decode(tokenizer.encode([given_text])[0]) == tokens


@given(st.lists(ANY_TEXT, max_size=4), st.booleans())
def test_decode_gives_back_the_tokens_when_all_words_are_known(texts, lowercase):
    tokenizer = text.WordTokenizer.train(texts, lowercase=lowercase)
    ids = tokenizer.encode(texts)
    assert ids.dtype == np.int32
    assert ids.shape == (len(texts), max([1, *(len(tokenizer.tokenize(t)) for t in texts)]))
    for given_text, row in zip(texts, ids, strict=True):
        tokens = tokenizer.tokenize(given_text)
        assert tokenizer.decode(row) == tokens
        # Padding stands at the right and nowhere else.
        np.testing.assert_array_equal(row != 0, np.arange(len(row)) < len(tokens))
        assert 1 not in row


@given(st.lists(ANY_TEXT, min_size=1, max_size=4))
def test_sentences_put_together_are_the_text(texts):
    tokenizer = text.WordTokenizer.train(texts)
    ids = tokenizer.encode_sentences(texts)
    assert ids.dtype == np.int32 and ids.ndim == 3 and min(ids.shape) >= 1
    for given_text, document in zip(texts, ids, strict=True):
        assert tokenizer.decode(document.ravel()) == tokenizer.tokenize(given_text)
        used = [len(tokenizer.tokenize(s)) for s in text.split_sentences(given_text)]
        lengths = used + [0] * (len(document) - len(used))
        np.testing.assert_array_equal(
            document != 0, np.arange(document.shape[1]) < np.array(lengths)[:, None]
        )


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("given_text", ["[PAD]", "a [PAD] b", "[PAD][PAD]", "[pad]", "[UNK]"])
def test_no_text_contains_the_padding_id(given_text, lowercase):
    for tokenizer in (
        text.WordTokenizer.train([given_text], lowercase=lowercase),
        text.WordTokenizer(("[PAD]", "[UNK]", "PAD", "pad"), lowercase=lowercase),
    ):
        (row,) = tokenizer.encode([given_text])
        assert len(row) == len(tokenizer.tokenize(given_text)) and (row != 0).all()


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({}, ["abcde", "ab..."]),
        ({"max_length": 3}, ["abc", "ab."]),
        ({"max_length": 3, "truncate": "start"}, ["cde", "ab."]),
        ({"max_length": 3, "truncate": "middle"}, ["abe", "ab."]),
        ({"max_length": 4, "truncate": "middle"}, ["abde", "ab.."]),
        ({"max_length": 1, "truncate": "middle"}, ["a", "a"]),
        ({"max_length": 9}, ["abcde", "ab..."]),
        ({"pad_to": 7}, ["abcde..", "ab....."]),
        ({"pad_to": 3}, ["abc", "ab."]),
        ({"pad_to": 4, "max_length": 2}, ["ab..", "ab.."]),
        ({"pad_to": 2, "max_length": 4}, ["ab", "ab"]),
    ],
)
def test_truncation_and_padding(tokenizer, options, rows):
    ids = {".": 0, "a": 2, "b": 3, "c": 4, "d": 5, "e": 6}
    expected = [[ids[letter] for letter in row] for row in rows]
    np.testing.assert_array_equal(tokenizer.encode(["a b c d e", "A b"], **options), expected)


def test_sentences(tokenizer):
    texts = ["a b c. d! e", "", "e"]
    ids = tokenizer.encode_sentences(texts)
    assert ids.shape == (3, 3, 4)
    assert ids[0].tolist() == [[2, 3, 4, 7], [5, 1, 0, 0], [6, 0, 0, 0]]
    assert not ids[1].any()
    assert ids[2].tolist() == [[6, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    cut = tokenizer.encode_sentences(texts, max_sentences=2, max_words=3)
    np.testing.assert_array_equal(cut, ids[:, :2, :3])


def test_empty_batches_and_texts(tokenizer):
    assert tokenizer.encode([]).shape == (0, 1)
    assert tokenizer.encode([""]).tolist() == [[0]]
    assert tokenizer.encode_sentences([]).shape == (0, 1, 1)
    assert tokenizer.encode_sentences(["", " "]).tolist() == [[[0]], [[0]]]
    assert text.WordTokenizer.train([]).vocabulary == ("[PAD]", "[UNK]")


def test_more_texts_than_go_to_the_library_at_once(tokenizer):
    ids = tokenizer.encode(["a", "b c"] * 1500)
    np.testing.assert_array_equal(ids, [[2, 0], [3, 4]] * 1500)


def test_decode(tokenizer):
    assert tokenizer.decode(np.array([0, 2, 1, 0], np.int64)) == ["a", "[UNK]"]
    assert tokenizer.decode([]) == []
    with refused("ids", "WordTokenizer.decode", "(1, 2)"):
        tokenizer.decode([[1, 2]])
    with refused("ids", None, "[0, 8)", "from 1 to 8"):
        tokenizer.decode([1, 8])
    with refused("ids", None, "from -1 to 1"):
        tokenizer.decode([1, -1])
    with refused("ids", None, "float64"):
        tokenizer.decode([1.0])


def test_lone_surrogate_is_refused(tokenizer):
    with pytest.raises(ValueError, match="character 2 of the text at index 1"):
        tokenizer.encode(["a", "b \ud800"])
    with pytest.raises(ValueError, match="tokenize.*lone surrogate"):
        tokenizer.tokenize("\ud800")
    with pytest.raises(ValueError, match="tokenize.*int"):
        tokenizer.tokenize(3)


@pytest.mark.parametrize("name", ["max_sentences", "max_words"])
def test_limits_of_sentences_must_be_positive_integers(tokenizer, name):
    for wrong in (0, -1, 2.5, "3", True):
        with refused(name, "WordTokenizer.encode_sentences"):
            tokenizer.encode_sentences(["a"], **{name: wrong})


def test_other_bad_arguments():
    with refused("max_vocabulary", None, "2 or more"):
        text.WordTokenizer.train(["a"], max_vocabulary=1)
    with pytest.raises(ValueError, match="must be a sequence.*'abc'"):
        text.WordTokenizer("abc")


def test_missing_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r"pip install keras_attnpool\[text\]"):
        text.WordTokenizer.train(["a"])
