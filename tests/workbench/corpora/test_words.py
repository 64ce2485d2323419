"""The files of words: what the reader makes of them."""

import pytest

from keras_attnpool.workbench.corpora._words import entries, group, sections

pytestmark = pytest.mark.one_backend("reads files")


@pytest.mark.parametrize("corpus", ["questions", "reviews", "sentence_pairs"])
def test_a_section_holds_entries_alone(corpus):
    lists = sections(corpus)
    assert len(lists) > 20
    for head, body in lists.items():
        assert body and not {"#", "["} & set(body), head
        assert body == body.strip() and "\r" not in body


def test_groups_and_entries_have_keys():
    lists = {"days": "monday", "days off": "sunday", "days of work": "friday: late\nmonday: early"}
    assert group(lists, "days") == {"off": "sunday", "of work": "friday: late\nmonday: early"}
    assert entries(lists["days of work"]) == {"friday": "late", "monday": "early"}
