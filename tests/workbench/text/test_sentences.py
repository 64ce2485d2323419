import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refused

from keras_attnpool.workbench import text

pytestmark = pytest.mark.one_backend("texts in, texts out")


@pytest.mark.parametrize(
    ("given_text", "sentences"),
    [
        ("Good film. Bad end!", ["Good film.", "Bad end!"]),
        ("good film . bad end ! why", ["good film .", "bad end !", "why"]),
        ("Really?! Well... yes", ["Really?!", "Well...", "yes"]),
        ("wow ! ! ! no . . . yes", ["wow ! ! !", "no . . .", "yes"]),
        ("It cost 3.5 euros at example.com today", ["It cost 3.5 euros at example.com today"]),
        ('"Go." (He went.) Then', ['"Go."', "(He went.)", "Then"]),
        ("a != b", ["a != b"]),
        ("... and then", ["...", "and then"]),
        ("?!", ["?!"]),
        ("  one.\n\t two.  ", ["one.", "two."]),
        ("no mark", ["no mark"]),
        ("", []),
        (" \n\t\u2003 ", []),
        ("👍👍! 🎉", ["👍👍!", "🎉"]),
        ("שלום. עולם", ["שלום.", "עולם"]),
    ],
)
def test_split_sentences(given_text, sentences):
    assert text.split_sentences(given_text) == sentences


# U+001C is white space to Python alone.
@given(st.text(st.one_of(st.sampled_from(" .!?\"')ab1\n\x1c\u0301"), st.characters())))
@example(".\x1c!")
def test_no_text_is_lost_and_no_sentence_is_empty(given_text):
    sentences = text.split_sentences(given_text)
    assert all(sentence.strip(" \n") == sentence != "" for sentence in sentences)
    assert "".join("".join(sentences).split()) == "".join(given_text.split())


def test_long_runs_take_linear_time():
    start = time.perf_counter()
    for run in ("." * 200_000 + "a", ".)" * 100_000 + "a", ")" * 200_000 + "a", ". " * 100_000):
        assert len(text.split_sentences(run)) == 1
    assert time.perf_counter() - start < 2.0


@pytest.mark.parametrize("wrong", [None, 3, b"a. b.", ["a."]])
def test_other_than_a_string_is_refused(wrong):
    with refused("text", "split_sentences", type(wrong).__name__):
        text.split_sentences(wrong)
