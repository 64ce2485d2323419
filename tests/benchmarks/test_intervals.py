"""The picture of a paper's claims: where its marks lie, and that its words follow the numbers."""

import re

import pytest

from benchmarks.intervals import claims_html, half_interval, outcomes

pytestmark = pytest.mark.one_backend("draws numbers")

SETS = {
    "a<b": [["x", "y", 6.0, 2.0, 1.0, 3.0], ["y", "x", None, -2.0, -3.0, -1.0]],
    "c": [["x", "y", 1.0, 0.5, -2.0, 3.0]],
    "d": [["x", "y", 1.0, -1.0, -1.5, -0.5], ["x", "z", 9.0, 9.0, 9.0, 9.0]],
}
CLAIMS = {"x is ahead": ("x", "y"), "y is ahead": ["y", "x"]}


def test_a_verdict_follows_the_interval_and_a_set_without_the_rows_is_left_out():
    assert outcomes(CLAIMS, SETS) == {
        "x is ahead": {
            "a<b": (1, 6.0, 2.0, 1.0, 3.0),
            "c": (0, 1.0, 0.5, -2.0, 3.0),
            "d": (-1, 1.0, -1.0, -1.5, -0.5),
        },
        "y is ahead": {"a<b": (-1, None, -2.0, -3.0, -1.0)},
    }


def test_the_picture_says_what_its_numbers_are():
    page = claims_html(outcomes(CLAIMS, SETS))
    words = " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page).split())
    assert "4 intervals: 1 confirmed, 1 level, 2 other way" in words
    assert "2 of 3 lie outside our interval" in words
    assert "1 of 2 lies outside" in claims_html(outcomes(CLAIMS, {k: SETS[k] for k in "cd"}))
    assert "x is ahead : confirmed on 1, level on 1, other way on 1 of 3 sets" in words
    assert "a&lt;b +2.0 (+1.0 to +3.0) +6.0 confirmed c +0.5 (−2.0 to +3.0) +1.0 level" in words
    assert "a&lt;b −2.0 (−3.0 to −1.0) other way" in words  # no figure of the paper
    # From -3 to 6, the ends of the axis: the bar, our point and the paper's circle.
    marks = re.findall(r'<svg aria-hidden="true">(.*?)</svg>', page)
    assert re.findall(r">([^<]+)</text>", marks[0]) == ["−3", "0", "+6"]
    assert re.findall(r'"([\d.]+)%"', marks[1]) == ["33.3", "33.3", "44.4", "66.7", "55.6", "100.0"]
    shapes = [re.findall(r'<g class="(.*?)">.*?/><(\w+)', each)[0] for each in marks[1:]]
    assert shapes == [("s1", "circle"), ("s0", "circle"), ("s-1", "rect"), ("s-1", "rect")]
    assert ['class="paper"' in each for each in marks[1:]] == [True, True, True, False]


def test_a_small_number_keeps_its_sign_and_sets_have_another_name_if_asked():
    page = claims_html({"x": {"a": (-1, -0.0, -0.7, -1.3, -0.04)}}, what="kind")
    assert "(−1.3 to −0.04)</td><td>+0.0<" in page and "other way on 1 of 1 kind<" in page


def test_half_of_an_interval_is_by_the_normal_without_runs_and_by_t_with_them():
    assert half_interval(4.0) == half_interval(4.0, [7.0]) == pytest.approx(1.96 * 2, rel=0.02)
    assert half_interval(0.0, [1, 2, 3]) == pytest.approx(4.303 * 3**-0.5, rel=0.02)
    # Welch: equal spreads of two rows of three runs have four degrees of freedom.
    assert half_interval(0.0, [1, 2, 3], [3, 4, 5]) == pytest.approx(2.776 * 1.5**-0.5, rel=0.02)
    assert half_interval(4.0, [1, 2, 3]) > half_interval(0.0, [1, 2, 3])
