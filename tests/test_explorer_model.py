"""The model of the site's explorer: its file is small, whole, and as good as it says."""

import numpy as np
import pytest
from docs_hooks import REPOSITORY, hook

from keras_attnpool.workbench.text import WordTokenizer

pytestmark = pytest.mark.one_backend("reads one file and counts what is right")

explorer_model = hook("explorer_model", REPOSITORY / "tools")


def test_the_file_is_small():
    assert explorer_model.FILE.stat().st_size < 150_000


def test_what_is_packed_is_what_was_there_to_half_a_step():
    content, models = explorer_model.load()
    variables = {}
    for reader, parts in models.items():
        variables |= explorer_model.named_weights(reader, parts)
    assert list(variables) == list(content["weights"])
    generator = np.random.default_rng(1)
    drawn = {name: generator.normal(size=each.shape) for name, each in variables.items()}
    for name, variable in variables.items():
        variable.assign(drawn[name])
    table, numbers = explorer_model.packed(variables)
    for name, array in explorer_model.unpacked({"weights": table, "numbers": numbers}).items():
        assert np.abs(array - drawn[name]).max() <= 0.51 * table[name][1]


def test_it_knows_the_sentences_and_its_first_model_answers_them_rightly():
    content, models = explorer_model.load()
    sentences = explorer_model.sentences()
    assert [tuple(each) for each in content["sentences"]] == sentences
    ids = WordTokenizer(content["words"]).encode([text for _, text in sentences])
    shares = models["context"][0].predict(ids, verbose=0)["attention"]
    alone = models["words"][0].predict(ids[1:2], verbose=0)["attention"]
    for (stars, text), row in zip(sentences, shares, strict=True):
        assert row[stars - 1] - np.delete(row, stars - 1).max() > 0.2, text
    # The second is the lesson: right with its neighbours, the opposite without.
    assert shares[1, 0] > 0.7 and alone[0].argmax() == 4


def test_the_share_of_right_answers_is_the_one_it_tells():
    content, models = explorer_model.load()
    texts, labels = explorer_model.texts(1000, 300)
    ids = WordTokenizer(content["words"]).encode(texts)
    for reader, (model, *_) in models.items():
        found = model.predict(ids, verbose=0)
        assert set(content["right"][reader]) == set(found)
        for name, told in content["right"][reader].items():
            right = (found[name].argmax(-1) == labels).mean()
            # Four standard errors of 1,000 answers.
            assert abs(right - told) < 4 * np.sqrt(told * (1 - told) / 1000), (reader, name)
