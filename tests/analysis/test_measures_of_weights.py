"""Entropy, Gini index and Kendall's tau: by hand, and against SciPy; the table that holds them."""

import numpy as np
import pytest
from refusals import refused
from scipy import stats

from keras_attnpool.analysis import ScoreTable, kendall_tau, weight_entropy, weight_gini

pytestmark = pytest.mark.one_backend("NumPy arrays in, numbers out")


def test_entropy_by_hand():
    half = -(0.5 * np.log(0.5) + 2 * 0.25 * np.log(0.25)) / np.log(3)
    rows = [[0.5, 0.25, 0.25], [2, -1, 1], [0.2] * 5, [0, 3, 0], [1], [0, 0]]
    expected = [half, half, 1, 0, np.nan, np.nan]
    np.testing.assert_allclose(weight_entropy(rows), expected, atol=1e-12)
    # Padding is no token of weight 0.
    padded = [[0.5, 0.5, 0, 0], [0.25] * 4]
    mask = [[1, 1, 0, 0], [1] * 4]
    assert weight_entropy(padded, mask).tolist() == [1, 1]
    assert weight_entropy(padded).tolist() == [0.5, 1]


def test_gini_is_the_mean_difference_of_two_tokens():
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=n) for n in (2, 5, 30)]
    expected = [
        np.abs(np.abs(row)[:, None] - np.abs(row)).mean() / (2 * np.abs(row).mean()) for row in rows
    ]
    np.testing.assert_allclose(weight_gini(rows), expected)
    np.testing.assert_allclose(weight_gini([[1, 1, 1], [0, 0, 1], [1], []])[:2], [0, 2 / 3])
    assert np.isnan(weight_gini([[1], []])).all()


def test_tau_by_hand():
    # Pairs of the first row: 3 alike. Of the second: 2 alike, 1 the other way round.
    found = kendall_tau([[1, 2, 3], [1, 2, 3], [1, 1, 1], [5, 0, 0]], [[1, 2, 3], [1, 3, 2]] * 2)
    np.testing.assert_allclose(found[:2], [1, 1 / 3])
    assert np.isnan(found[2])
    # 2 of 3 pairs are untied in the first, both the other way round: 1 - 1 over sqrt(2 * 3).
    np.testing.assert_allclose(found[3], (0 - 2) / np.sqrt(6))


def test_tau_is_that_of_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, (2, 20, 15)).astype(float)  # many ties
    mask = rng.random((20, 15)) < 0.8
    expected = [stats.kendalltau(x[m], y[m]).statistic for x, y, m in zip(a, b, mask, strict=True)]
    np.testing.assert_allclose(kendall_tau(a, b, mask), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"others": [[1, 2, 3]]}, "of the texts of `weights`"),
        ({"others": [[1, 2], [1, 2]]}, "of the texts of `weights`"),
        ({"others": [[1, np.nan]]}, "finite"),
        ({"mask": [[1, 1, 1]]}, "layout of `weights`"),
        ({"mask": [[1, np.nan]]}, "0/1"),
        ({"weights": [[[1], [2]]]}, "(time,)"),
    ],
)
def test_errors(change, told):
    with refused(*change, "kendall_tau", told):
        kendall_tau(**{"weights": [[1, 2]], "others": [[1, 2]], **change})


def test_table():
    table = ScoreTable({"a <b>": {"tau": 0.25, "AUC": np.nan}, "uniform": {"gini": -1.0}})
    assert str(table).split("\n") == [
        "         tau   AUC gini",
        "a <b>    0.250 -   -",
        "uniform  -     -   -1.000",
    ]
    assert "<td>a &lt;b&gt;</td><td>0.250</td><td>-</td>" in table._repr_html_()
    assert table["uniform"] == {"gini": -1.0} and table.per_text == {}
