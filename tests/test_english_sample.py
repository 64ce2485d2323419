"""What tools/english_sample.py takes for a sentence."""

import pytest
from docs_hooks import REPOSITORY, hook

pytestmark = pytest.mark.one_backend("reads files")

sample = hook("english_sample", REPOSITORY / "tools")
DOCSTRING = """Returns the mean, as eq. 8 of the paper defines it.

Args:
    inputs: A tensor of floats with a name of
        its own. A mask may come with the inputs.
    mask: One number for each step of the inputs.

Returns:
    The mean of each row in float32. A row without a step
    gives a vector of zeros.

Raises:
    ValueError: If the inputs are no tensor of floats.

Reference:
    - Lin et al., A Structured Self-Attentive Sentence Embedding, eq. 8.

The layer has no weights and no bias.
"""


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "mean.py",
            DOCSTRING,
            [
                "Returns the mean, as eq. 8 of the paper defines it.",
                "A mask may come with the inputs.",
                "A row without a step gives a vector of zeros.",
                "The layer has no weights and no bias.",
            ],
        ),
        (
            "quiz.ipynb",
            "(a) The words of the text alone. (b) is wrong, because Lin et al. have heads.",
            ["(b) is wrong, because Lin et al. have heads."],
        ),
        ("page.md", "- A page may begin with a list.", ["A page may begin with a list."]),
    ],
)
def test_whole_sentences_alone_are_drawn(name, text, found, monkeypatch):
    monkeypatch.setattr(sample, "texts", lambda: [(REPOSITORY / name, text)])
    assert list(sample.sentences()) == [f"{name}: {sentence}" for sentence in found]
