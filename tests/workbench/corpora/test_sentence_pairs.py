import pytest

from keras_attnpool.workbench.corpora._pair_frames import (
    CONTRADICTION,
    ENTAILMENT,
    NEUTRAL,
    Frame,
    label,
    rationale,
    relatedness,
)
from keras_attnpool.workbench.corpora._sentence_pairs import _Writer

pytestmark = pytest.mark.one_backend("generates texts")


GIRL = Frame("girl", "pushing", "boy", agent_trait="tall", patient_trait="short")
RUN = Frame("dog", "running", place="park")


def but(frame, **values):
    return frame._replace(**values)


# (first, second, label): one clause each, or two.
KNOWN = [
    # Less said, or by more general words.
    (RUN, Frame("dog", "running"), ENTAILMENT),
    (RUN, Frame("animal", "moving", place="outdoors"), ENTAILMENT),
    (Frame("animal", "running"), Frame("dog", "running"), NEUTRAL),
    (Frame("dog", "running"), RUN, NEUTRAL),
    (GIRL, but(GIRL, agent_trait=None), ENTAILMENT),
    # Who does it to whom, and who is what.
    (GIRL, Frame("boy", "pushing", "girl", "short", "tall"), NEUTRAL),
    (GIRL, but(GIRL, agent_trait="short", patient_trait="tall"), CONTRADICTION),
    (but(GIRL, patient_trait=None), but(GIRL, agent_trait=None), NEUTRAL),
    (but(GIRL, patient_trait="happy"), but(GIRL, agent_trait="happy"), NEUTRAL),
    # Exclusive values, and others.
    (RUN, but(RUN, place="kitchen"), CONTRADICTION),
    (RUN, but(RUN, place="indoors"), CONTRADICTION),
    (RUN, Frame("dog", "sitting"), CONTRADICTION),
    (RUN, but(RUN, action="barking"), NEUTRAL),
    (RUN, but(RUN, agent="cat"), NEUTRAL),
    (GIRL, but(GIRL, action="pulling"), CONTRADICTION),
    (GIRL, but(GIRL, action="pulling", patient="nurse", patient_trait=None), NEUTRAL),
    (but(RUN, manner="quickly"), but(RUN, manner="slowly"), CONTRADICTION),
    (but(RUN, quantity="two"), but(RUN, quantity="three"), CONTRADICTION),
    # Denied.
    (RUN, but(RUN, negated=True), CONTRADICTION),
    (RUN, Frame("dog", "running", negated=True), CONTRADICTION),
    (Frame("dog", "running"), but(RUN, negated=True), NEUTRAL),
    (Frame("dog", "running", negated=True), but(RUN, negated=True), ENTAILMENT),
    (but(RUN, negated=True), Frame("dog", "running", negated=True), NEUTRAL),
    (RUN, Frame("dog", "sitting", negated=True), ENTAILMENT),
    (RUN, Frame("dog", "barking", negated=True), NEUTRAL),
    # Relations that hold both ways, and that cannot.
    (Frame("man", "next to", "dog"), Frame("dog", "next to", "man"), ENTAILMENT),
    (Frame("man", "far from", "dog"), Frame("dog", "next to", "man"), CONTRADICTION),
    (Frame("man", "taller than", "dog"), Frame("dog", "taller than", "man"), CONTRADICTION),
    (Frame("man", "taller than", "dog"), Frame("dog", "as tall as", "man"), CONTRADICTION),
    (
        Frame("man", "taller than", "dog"),
        Frame("dog", "taller than", "man", negated=True),
        ENTAILMENT,
    ),
    (Frame("man", "taller than", "dog", negated=True), Frame("dog", "taller than", "man"), NEUTRAL),
    # Quantities.
    (but(RUN, quantity="all"), but(RUN, quantity="some"), ENTAILMENT),
    (but(RUN, quantity="some"), but(RUN, quantity="all"), NEUTRAL),
    (but(RUN, quantity="three"), but(RUN, quantity="some"), ENTAILMENT),
    (but(RUN, quantity="some"), but(RUN, quantity="three"), NEUTRAL),
    (but(RUN, quantity="all"), but(RUN, quantity="not all"), CONTRADICTION),
    (but(RUN, quantity="some"), but(RUN, quantity="not all"), NEUTRAL),
    (but(RUN, quantity="no"), but(RUN, quantity="not all"), ENTAILMENT),
    (but(RUN, quantity="no"), but(RUN, quantity="some", agent="beagle"), CONTRADICTION),
    (Frame("dog", "running", quantity="no"), but(RUN, quantity="no", agent="beagle"), ENTAILMENT),
    (but(RUN, quantity="no", agent="beagle"), but(RUN, quantity="no"), NEUTRAL),
    (but(RUN, quantity="all"), but(RUN, quantity="all", agent_trait="old"), ENTAILMENT),
    (but(RUN, quantity="all", agent_trait="old"), but(RUN, quantity="all"), NEUTRAL),
    (but(RUN, quantity="all"), but(RUN, quantity="no", agent="beagle"), CONTRADICTION),
    (but(RUN, quantity="three"), but(RUN, quantity="no"), CONTRADICTION),
    # Two clauses.
    ((RUN, Frame("man", "singing")), Frame("man", "singing"), ENTAILMENT),
    (Frame("man", "singing"), (RUN, Frame("man", "singing")), NEUTRAL),
    ((RUN, Frame("man", "singing")), (Frame("man", "singing"), RUN), ENTAILMENT),
    (
        (Frame("boy", "dancing"), Frame("man", "singing")),
        (Frame("boy", "singing"), Frame("man", "dancing")),
        NEUTRAL,
    ),
    (
        (Frame("boy", "dancing", negated=True), Frame("man", "singing")),
        (Frame("boy", "dancing"), Frame("man", "singing", negated=True)),
        CONTRADICTION,
    ),
    (
        (Frame("boy", "dancing", negated=True), Frame("man", "singing")),
        Frame("man", "dancing", negated=True),
        NEUTRAL,
    ),
]


def meaning(frames):
    return (frames,) if isinstance(frames, Frame) else frames


@pytest.mark.parametrize(("first", "second", "expected"), KNOWN)
def test_known_labels(first, second, expected):
    first, second = meaning(first), meaning(second)
    assert label(first, second) == expected
    assert label(first, first) == ENTAILMENT
    if expected == CONTRADICTION:  # holds both ways
        assert label(second, first) == CONTRADICTION


def test_relatedness_by_hand():
    # 2 + 3 + 1 and 2 + 3: shared 5, 1 + 8 * 5 / 11
    assert relatedness((RUN,), (Frame("dog", "running"),)) == 4.64
    # The agent at 0.75: 1 + 8 * (1.5 + 3 + 1) / 12
    assert relatedness((RUN,), (but(RUN, agent="animal"),)) == 4.67
    assert relatedness((RUN,), (but(RUN, negated=True),)) == 4.2
    # Exchanged roles: 3 + (2 + 2 + 1 + 1) / 2 of 9
    turned = Frame("boy", "pushing", "girl", "short", "tall")
    assert relatedness((GIRL,), (turned,)) == 3.67
    near = (Frame("man", "next to", "dog"),)
    assert relatedness(near, (Frame("dog", "next to", "man"),)) == 5
    assert relatedness((GIRL,), (Frame("apple", "next to", "box"),)) == 1


def test_rationale_tokens_of_a_known_pair():
    writer = _Writer(0, 0.0)
    first, second = (GIRL,), (but(GIRL, agent_trait="short"),)
    marks = rationale(first, second)
    for frames, found, expected in (
        (first, marks[0], "girl tall"),
        (second, marks[1], "girl short"),
    ):
        text, mask = writer.sentence(frames, found)
        kept = [word for word, kept in zip(text.split(), mask, strict=True) if kept]
        assert sorted(kept) == sorted(expected.split())
