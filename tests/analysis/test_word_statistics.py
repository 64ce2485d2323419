"""Top attended words and weight distributions on numbers worked out by hand."""

import numpy as np
import pytest
from refusals import refused

from keras_attnpool.analysis import top_attended_words, weight_distribution

pytestmark = pytest.mark.one_backend("counts words of NumPy arrays")

TEXTS = [["so", "good"], ["so", "good", "good", "bad"], ["bad"], []]
# Padded to one array, zeros behind the tokens.
WEIGHTS = np.array([[0.25, 0.75, 0, 0], [0.1, 0.2, 0.3, 0.4], [1, 0, 0, 0], [0, 0, 0, 0]])
RAGGED = [row[: len(text)] for row, text in zip(WEIGHTS, TEXTS, strict=True)]
LABELS = [1, 1, 0, 0]
NAMES = ["neg", "pos", "none"]


def top(score, **kwargs):
    kwargs = {"min_count": 1, **kwargs}
    return top_attended_words(TEXTS, WEIGHTS, LABELS, NAMES, score=score, **kwargs)


class TestTopAttendedWords:
    def test_relative_to_uniform(self):
        # good: (0.75 * 2 + (0.2 + 0.3) * 4) / 3; bad: 0.4 * 4; so: (0.25 * 2 + 0.1 * 4) / 2
        found = top("relative")
        assert [entry[0] for entry in found["pos"]] == ["bad", "good", "so"]
        np.testing.assert_allclose([e[1] for e in found["pos"]], [1.6, 3.5 / 3, 0.45])
        assert [entry[2] for entry in found["pos"]] == [1, 3, 2]
        assert found["neg"] == [("bad", 1.0, 1)] and found["none"] == []

    def test_mean_and_sum(self):
        np.testing.assert_allclose(top("mean")["pos"][0][1], 1.25 / 3)
        assert top("sum")["pos"][0][0] == "good"
        np.testing.assert_allclose(top("sum")["pos"][0][1], 1.25)

    def test_count_and_length(self):
        assert [e[0] for e in top("relative", min_count=2)["pos"]] == ["good", "so"]
        assert [e[0] for e in top("relative", k=1)["pos"]] == ["bad"]

    def test_equal_scores_go_by_count_then_alphabet(self):
        texts = [["b", "a", "c"], ["c"]]
        found = top_attended_words(
            texts, [[1 / 3] * 3, [1]], [0, 0], ["x"], min_count=1, score="relative"
        )
        assert [entry[0] for entry in found["x"]] == ["c", "a", "b"]

    def test_padded_and_ragged_are_the_same(self):
        ragged = top_attended_words(TEXTS, RAGGED, LABELS, NAMES, min_count=1)
        assert ragged == top("relative")

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"weights": WEIGHTS[:2]}, "4 in all"),
            ({"weights": WEIGHTS[:, :3]}, "text 1 with 4 tokens and 3 weights"),
            ({"weights": WEIGHTS + 0.1}, "not 0"),
            ({"weights": WEIGHTS[:, None]}, "see reduce_scores"),
            ({"weights": np.where(WEIGHTS == 1, np.nan, WEIGHTS)}, "NaN"),
            ({"names": ["so good", "b", "c", "d"]}, "split texts first"),
            ({"labels": [0, 1]}, "(4,)"),
            ({"labels": [0, 1, 2, 3]}, "in [0, 3)"),
            ({"label_names": ["a", "a"]}, "distinct"),
            ({"score": "best"}, "one of"),
            ({"k": 0}, ">= 1"),
            ({"min_count": 0}, ">= 1"),
            ({"k": 1.5}, "an integer"),
        ],
    )
    def test_errors(self, change, told):
        arguments = {"names": TEXTS, "weights": WEIGHTS, "labels": LABELS, "label_names": NAMES}
        with refused(*change, "top_attended_words", told):
            top_attended_words(**{**arguments, **change})


class TestWeightDistribution:
    def test_every_occurrence_by_class(self):
        found = weight_distribution(TEXTS, WEIGHTS, ["good", "bad", "never"], LABELS, NAMES)
        np.testing.assert_allclose(found["good"]["pos"], [1.5, 0.8, 1.2])
        np.testing.assert_allclose(found["bad"]["neg"], [1])
        assert [len(each) for each in found["never"].values()] == [0, 0, 0]

    def test_plain_weights(self):
        found = weight_distribution(TEXTS, RAGGED, ["good"], LABELS, NAMES, relative=False)
        np.testing.assert_allclose(found["good"]["pos"], [0.75, 0.2, 0.3])

    def test_one_word_is_no_list(self):
        with refused("words", "weight_distribution"):
            weight_distribution(TEXTS, WEIGHTS, "good", LABELS, NAMES)
