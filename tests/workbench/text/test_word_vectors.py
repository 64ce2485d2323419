import gzip
import sys

import numpy as np
import pytest
from refusals import refused

from keras_attnpool.workbench import text

pytestmark = pytest.mark.one_backend("reads files")

VOCABULARY = ("[PAD]", "[UNK]", "good", "film", "odd")
# Many repetitions: word2vec passes over most occurrences of words as frequent as these.
TEXTS = ["a good film .", "a bad film .", "a good book ."] * 200


@pytest.fixture(scope="module")
def tokenizer():
    return text.WordTokenizer.train(TEXTS)


@pytest.mark.parametrize("skip_gram", [True, False])
def test_word2vec_repeats_itself(tokenizer, skip_gram):
    options = {"dim": 8, "epochs": 2, "skip_gram": skip_gram}
    first = text.word2vec(TEXTS, tokenizer, seed=3, **options)
    np.testing.assert_array_equal(first, text.word2vec(TEXTS, tokenizer, seed=3, **options))
    assert not np.array_equal(first, text.word2vec(TEXTS, tokenizer, seed=4, **options))


def test_word2vec_learns_which_words_are_alike():
    # "cat" and "dog" share their neighbours, "cat" and "sun" have none in common.
    texts = ["the cat eats fish", "the dog eats fish", "a red sun sets late"] * 1000
    tokenizer = text.WordTokenizer.train(texts)
    vectors = text.word2vec(texts, tokenizer, dim=16, epochs=10)
    vectors[1:] /= np.linalg.norm(vectors[1:], axis=1, keepdims=True)
    cat, dog, sun = (vectors[tokenizer.vocabulary.index(word)] for word in ("cat", "dog", "sun"))
    assert cat @ dog > cat @ sun + 0.1


def test_word2vec_reads_texts_to_their_end():
    # gensim alone leaves out what follows the 10 000th word.
    given_text = "a b " * 5000 + "c d " * 50
    tokenizer = text.WordTokenizer.train([given_text])
    one, two = (text.word2vec([given_text], tokenizer, dim=4, epochs=e) for e in (1, 2))
    row = tokenizer.vocabulary.index("c")
    assert (one[row] != two[row]).any()


def test_word2vec_refuses_bad_arguments(tokenizer):
    for texts in ([], ["", " "]):
        with refused("texts", "word2vec", "0 texts"):
            text.word2vec(texts, tokenizer)
    with pytest.raises(ValueError, match="min_count=1000"):
        text.word2vec(TEXTS, tokenizer, min_count=1000)
    with refused("texts", "word2vec", "one string"):
        text.word2vec("one text", tokenizer)
    with refused("texts", "word2vec", "index 1"):
        text.word2vec(["a", None], tokenizer)
    for name in ("dim", "window", "epochs", "min_count", "workers"):
        with refused(name, "word2vec"):
            text.word2vec(TEXTS, tokenizer, **{name: 0})


def test_missing_gensim_says_what_to_install(tokenizer, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ImportError, match=r"pip install keras_attnpool\[text\]"):
        text.word2vec(TEXTS, tokenizer)


GLOVE = "film 1 2 3\nother 9 9 9\n. . . 4 4 4\ngood -0.5 1e-1 0\nfilm 7 7 7\n"


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
@pytest.mark.parametrize("header", ["", "5 3\n"])
@pytest.mark.parametrize("ending", ["\n", " \r\n"])
def test_load_word_vectors(tmp_path, name, header, ending):
    path = tmp_path / name
    content = (header + GLOVE).replace("\n", ending).encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    vectors, coverage = text.load_word_vectors(path, VOCABULARY)
    assert vectors.shape == (5, 3) and vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors[0], 0)
    np.testing.assert_allclose(vectors[2:4], [[-0.5, 0.1, 0], [1, 2, 3]])
    assert coverage == pytest.approx(2 / 3)
    assert vectors[1].any() and vectors[4].any()


def test_padding_row_stays_zero_and_special_words_do_not_count(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("[PAD] 1 1\n[UNK] 2 2\n")
    vectors, coverage = text.load_word_vectors(path, VOCABULARY)
    assert vectors[:2].tolist() == [[0, 0], [2, 2]]
    assert coverage == 0.0
    assert text.load_word_vectors(path, VOCABULARY[:2])[1] == 0.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"3 4\n", "the file is empty"),
        (b"good 1 2\nfilm 1\n", "line 2 must be a word and 2 numbers. Received: 'film 1'"),
        (b"good\n", "line 1 must be a word and its numbers"),
        (b"2 3\ngood 1 2\n", "line 2 must be a word and 3 numbers"),
        (b"odd 1 2\nfilm 1 -2e-1 3\n", "line 2 must be a word and 2 numbers"),
        (b"2 2\ncaf\xe9 1 2\ngood 3 4\n", "line 2: byte 0xe9.*it may be cp1252"),
        (b"good 1 2\n\nfilm 1 x\n", "line 3 must hold numbers.*x"),
        (b"good 1 nan\n", "line 1 must hold finite"),
        (b"good 1 1e99\n", "line 1 must hold finite"),
        (b"a 1 2\n\xff 1 2\n", r"\(line 2: byte 0xff.*save it as UTF-8; it may be cp1252"),
    ],
)
def test_bad_files_are_refused_with_the_line(tmp_path, content, message):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"vectors\.txt.*{message}"):
        text.load_word_vectors(path, VOCABULARY)


def test_damaged_gzip_is_refused(tmp_path):
    path = tmp_path / "vectors.txt.gz"
    whole = gzip.compress(GLOVE.encode())
    no_such_block = whole[:10] + b"\xff" + whole[11:]
    wrong_checksum = whole[:-5] + bytes([whole[-5] ^ 0xFF]) + whole[-4:]
    for content in (whole[:-9], no_such_block, wrong_checksum):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="the gzip file is damaged"):
            text.load_word_vectors(path, VOCABULARY)


def test_missing_file_and_bad_vocabulary(tmp_path):
    with pytest.raises(FileNotFoundError):
        text.load_word_vectors(tmp_path / "absent.txt", VOCABULARY)
    with refused("vocabulary", "load_word_vectors"):
        text.load_word_vectors(tmp_path / "absent.txt", ["good"])


def test_a_byte_order_mark_and_two_spaces_are_no_part_of_a_word(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes("\ufeffgood 1 2\nfilm  3 4\n".encode())
    vectors, coverage = text.load_word_vectors(path, VOCABULARY)
    np.testing.assert_array_equal(vectors[2:4], [[1, 2], [3, 4]])
    assert coverage == pytest.approx(2 / 3)
