import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from keras_attnpool.workbench import text

pytestmark = pytest.mark.one_backend("texts in, ids out")

ODD_TEXTS = [
    "",
    " \n\t ",
    "Don't stop...",
    "cafe\u0301 caf\u00e9 T\u0308",
    "İstanbul I\u0307x ıI ß ŉ ΑΣ.",
    "😀👩\u200d👩 ok",
    "“quoted” 'so' \u2260 =\u0338",
    "[PAD] [UNK]",
    "שלום مرحبا!",
]
ANY_TEXT = st.text(
    st.one_of(
        st.sampled_from("aBcÉİ.!?'[] \n\x1c\u0301\u0308\u0338\u200d"),
        st.characters(exclude_categories=["Cs"]),
    )
)


def spelled(tokenizer, texts, **options):
    """The characters of every word; unknown ones as `?`."""
    found = tokenizer.encode(texts, **options)
    letters = ("", "?", *tokenizer.vocabulary[2:])
    return [["".join(letters[i] for i in word) for word in row] for row in found]


@pytest.fixture
def tokenizer():
    return text.CharacterTokenizer(("[PAD]", "[UNK]", "a", "b", "c"))


def test_frequent_characters_come_first_and_ties_follow_their_code_points():
    for texts in (["zz éa", "b a"], ["b a", "éa zz"]):
        vocabulary = text.CharacterTokenizer.train(texts).vocabulary
        assert vocabulary == ("[PAD]", "[UNK]", "a", "z", "b", "é")
    rare = text.CharacterTokenizer.train(["aab ccc"], min_frequency=2)
    assert rare.vocabulary[2:] == ("c", "a") and rare.vocabulary_size == 4
    assert text.CharacterTokenizer.train([]).vocabulary == ("[PAD]", "[UNK]")


def test_case():
    assert text.CharacterTokenizer.train(["Aa"]).vocabulary[2:] == ("A", "a")
    lower = text.CharacterTokenizer.train(["Aa"], lowercase=True)
    assert lower.vocabulary[2:] == ("a",) and lower.lowercase
    assert spelled(lower, ["aA"]) == [["aa"]]


def test_ids(tokenizer):
    ids = tokenizer.encode(["ab! xac", "", "c"], max_word_length=4)
    assert ids.dtype == np.int32
    assert ids.tolist() == [
        [[2, 3, 0, 0], [1, 0, 0, 0], [1, 2, 4, 0]],
        [[0, 0, 0, 0]] * 3,
        [[4, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    ]
    assert tokenizer.encode(["a"]).shape == (1, 1, 16)
    assert tokenizer.encode([]).shape == (0, 1, 16)
    assert tokenizer.encode([""], pad_to=3).shape == (1, 3, 16)


def test_long_words_keep_their_first_characters(tokenizer):
    assert spelled(tokenizer, ["abcabc ab"], max_word_length=4) == [["abca", "ab"]]
    assert spelled(tokenizer, ["abcabc ab"], max_word_length=1) == [["a", "a"]]
    assert spelled(tokenizer, ["a" * 17]) == [["a" * 16]]


@pytest.mark.parametrize("options", [{}, {"max_length": 2}, {"pad_to": 3, "truncate": "middle"}])
@pytest.mark.parametrize("lowercase", [True, False])
def test_odd_texts_have_a_row_of_characters_for_every_word(lowercase, options):
    words = text.WordTokenizer.train(ODD_TEXTS, lowercase=lowercase)
    characters = text.CharacterTokenizer.train(ODD_TEXTS, lowercase=lowercase)
    ids = words.encode(ODD_TEXTS, **options)
    found = spelled(characters, ODD_TEXTS, max_word_length=99, **options)
    assert found == [["" if i == 0 else words.vocabulary[i] for i in row] for row in ids]


@given(st.lists(ANY_TEXT, max_size=3), st.booleans(), st.sampled_from(["end", "start", "middle"]))
def test_words_and_characters_run_side_by_side(texts, lowercase, truncate):
    # Also when the words are lower-cased and their characters are not.
    ids = text.WordTokenizer.train(texts, lowercase=lowercase).encode(
        texts, max_length=3, truncate=truncate
    )
    characters = text.CharacterTokenizer(("[PAD]", "[UNK]", "a")).encode(
        texts, max_length=3, max_word_length=2, truncate=truncate
    )
    assert characters.shape == (*ids.shape, 2)
    # Whatever a word is made of, its first id is not padding.
    np.testing.assert_array_equal(characters[..., 0] != 0, ids != 0)


def test_an_entry_that_is_no_character_is_refused():
    with refused("vocabulary", "CharacterTokenizer", "'ab' at index 3"):
        text.CharacterTokenizer(["[PAD]", "[UNK]", "a", "ab"])
