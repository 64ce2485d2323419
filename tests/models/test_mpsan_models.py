"""MPSAN, DiSAN and Bi-BloSAN: the rows of the paper's tables and their published sizes."""

import numpy as np
import pytest
from backend_functions import numpy, trained_and_read_again
from models.test_generalized_pooling_models import pair_ids
from models.test_text_models import ids

from keras_attnpool import models, ops

pytestmark = pytest.mark.every_backend

# The layers hold every promise under every backend; what joins them runs there in these rows.
ROWS_EVERYWHERE = ("released code",)
later = pytest.mark.torch_first("other positions in the model of a row that runs everywhere")

VOCABULARY = 30
BW, FW, FA2, FA3 = ("earlier",), ("later",), ("faraway_2",), ("faraway_3",)
SD, D = ("scaled_distance",), ("distance",)
BOTH = (BW, FW)
PAPER = {"num_classes": 5, "vocabulary_size": 2}

# Tables 2 to 5; the default is MPSAN.
ROWS = {
    "0": {"positions": ()},
    "1": {"positions": BOTH},
    "2": {"positions": (BW + SD, FW + SD)},
    "3": {"positions": (FA2, FA3)},
    "4": {"positions": (FA2, FA3, BW, FW)},
    "5": {"positions": (FA2 + SD, FA3 + SD, BW + SD, FW + SD)},
    "6": {"positions": (FA2, FA3, BW + D, FW + D)},
    "MPSAN": {},
    "B&F + FG": {"positions": BOTH, "fusion": "gate"},
    "mul + FG": {"fusion": "gate"},
    "M-D + B&F + TPW": {"positions": BOTH, "per_feature": True},
    "M-D + mul + TPW": {"per_feature": True},
    "w/o fusion": {"fusion": None},
    "w/o attention": {"positions": (), "pooling": "mean"},
    "released code": {
        "positions": (("faraway_1",), FA2, BW + SD, FW + SD),
        "score_activation": "tanh",
        "rescale_scores": True,
    },
}


def size(model):
    """Parameters without the embeddings, as the paper counts."""
    return model.count_params() - model.get_layer("embedding").count_params()


class TestMPSAN:
    @pytest.mark.parametrize(
        "row", [pytest.param(row, marks=() if row in ROWS_EVERYWHERE else later) for row in ROWS]
    )
    def test_every_row_trains_saves_and_reloads(self, row, tmp_path):
        model = models.MPSAN(VOCABULARY, 3, embedding_dim=4, hidden_units=5, **ROWS[row])
        trained_and_read_again(model, ids(), np.array([0, 1, 2, 0]), tmp_path)

    @pytest.mark.one_backend("counts parameters")
    @pytest.mark.parametrize(
        ("row", "count", "published"),
        [
            ("MPSAN", 1_087_509, 1.09),
            ("1", 725_107, 0.73),
            ("M-D + mul + TPW", 1_806_305, 1.81),
            ("B&F + FG", 1_446_607, 1.45),
            ("mul + FG", 4_331_409, 4.33),
            ("w/o attention", 91_805, 0.09),
        ],
    )
    def test_published_parameters(self, row, count, published):
        """In millions, without the embeddings; five classes, 300 dimensions."""
        model = models.MPSAN(**PAPER, **ROWS[row])
        assert size(model) == count
        assert round(count / 1e6, 2) == published

    @pytest.mark.one_backend("counts parameters")
    def test_the_positions_are_the_papers_four(self):
        model = models.MPSAN(VOCABULARY, 3, embedding_dim=8)
        positions = [model.get_layer(f"attention_{index}").positions for index in range(4)]
        directed = [("earlier", "scaled_distance"), ("later", "scaled_distance")]
        assert [tuple(each) for each in positions] == [("faraway_2",), ("faraway_3",), *directed]

    @pytest.mark.one_backend("counts parameters")
    def test_one_redundant_vector_is_between_us_and_the_published_m_d_b_and_f(self):
        """1.09 million come out with the second bias of the released code alone."""
        count = size(models.MPSAN(**PAPER, **ROWS["M-D + B&F + TPW"]))
        assert count == 1_084_505
        assert round((count + 3 * 300) / 1e6, 2) == 1.09

    @pytest.mark.torch_first("the positions are in the contract of the layer")
    def test_the_order_of_the_words_counts_unless_there_are_no_positions(self):
        forth, back = np.array([[1, 2, 3, 4]]), np.array([[4, 2, 3, 1]])
        for row, blind in (("MPSAN", False), ("0", True), ("w/o attention", True)):
            model = models.MPSAN(VOCABULARY, 3, embedding_dim=8, **ROWS[row])
            apart = np.abs(numpy(model(forth)) - numpy(model(back))).max()
            assert (apart < 1e-6) == blind, row


class TestDiSAN:
    @pytest.mark.one_backend("counts parameters")
    def test_published_parameters(self):
        """1.8 million."""
        assert size(models.DiSAN(**PAPER)) == 1_806_005

    @pytest.mark.one_backend("counts parameters")
    def test_block_attention_of_240_units_has_the_published_size(self):
        """2.2 million: two directions, the pooling and the classes, with no hidden layer."""
        model = models.BiBloSAN(**PAPER, units=240, hidden_units=None)
        assert size(model) == 2_223_360 + 480 * 5 + 5


@pytest.mark.torch_first("the losses of `ops` and MPSAN run everywhere")
def test_graded_relatedness_of_pairs_trains_saves_and_reloads(tmp_path):
    model = models.MPSANPair(VOCABULARY, embedding_dim=6, hidden_units=5)
    assert [i.name for i in model.inputs] == ["tokens_a", "tokens_b"]
    target = numpy(ops.score_distribution(np.array([4.3, 1.0, 5.0], "float32"), 5))
    trained_and_read_again(model, pair_ids(), target, tmp_path, "kl_divergence")
    grades = numpy(ops.expected_score(model(pair_ids())))
    assert grades.shape == (3,) and (grades >= 1).all() and (grades <= 5).all()
