import pytest

from keras_attnpool.workbench import corpora, datasets

pytestmark = pytest.mark.one_backend("reads names")


@pytest.mark.parametrize("name", ["questions", "reviews", "sentence_pairs"])
def test_the_corpora_keep_the_names_that_they_had_here(name):
    with pytest.warns(DeprecationWarning, match=f"datasets.{name} is now .*corpora.{name}") as told:
        assert getattr(datasets, name) is getattr(corpora, name)
    assert told[0].filename == __file__


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="has no attribute 'poems'"):
        _ = datasets.poems
