"""What the page on attention makes of its results."""

import base64
import json
import re

import numpy as np
import pytest
from docs_hooks import RESULTS, drawn, hook

pytestmark = pytest.mark.one_backend("pages, pictures and results files")

explanations = hook("explanations")
from benchmarks.arena.words import named  # noqa: E402
from benchmarks.reproduce.significance import graded, graded_interval  # noqa: E402


def packed(values):
    return base64.b64encode(np.asarray(values, "<f2").tobytes()).decode("ascii")


def entry(attention, uniform, runs=1):
    """A row whose texts all have these grades, but one that has none."""
    grades = {"attention": attention, "uniform": uniform, "leave_one_out": 0.9}
    texts = {
        name: packed([*np.linspace(x - 0.05, x + 0.05, 20), np.nan]) for name, x in grades.items()
    }
    summary = {
        "accuracy": 0.5,
        "naopc_of_uniform": uniform,
        "naopc_of_leave_one_out": 0.9,
        "naopc_of_gradient": 0.55,
        "auc": 0.7,
        "mass": attention,
        "mass_of_uniform": 0.45,
        "gini": attention,
    }
    return {
        "runs": [{"naopc_per_text": texts} for _ in range(runs)],
        "summary": {f"test_{key}": {"mean": value} for key, value in summary.items()},
    }


EXAMPLE = {
    "protocol": {"graded": "the first texts"},
    "planned": ["A", "B", "C", "A, no encoder", "D"],
    "rows": {
        "A": entry(0.6, 0.5, runs=3),
        "B": entry(0.5, 0.5),
        "C": entry(0.4, 0.5),
        "A, no encoder": entry(0.9, 0.5),
    },
}


def test_interval_is_over_texts_and_runs():
    own = graded(EXAMPLE, "A")
    assert own.shape == (3, 21)
    low, high = graded_interval(own)
    error = np.nanstd(own[0]) / np.sqrt(20)
    assert low == pytest.approx(0.6 - 1.96 * error, abs=error / 3)
    assert high == pytest.approx(0.6 + 1.96 * error, abs=error / 3)
    # Of the same texts the difference is the same everywhere.
    np.testing.assert_allclose(graded_interval(own, graded(EXAMPLE, "B")), (0.1, 0.1), atol=1e-3)
    apart = np.stack([own[0] - 0.1, own[0], own[0] + 0.1])
    wide = graded_interval(apart)
    assert wide[1] - wide[0] > 3 * (high - low)


def test_verdict_and_table():
    lines = explanations.verdict(EXAMPLE).split("\n")
    assert lines[0].startswith(
        "- **With the encoder**, the weights of 1 of 3 mechanisms are better than a random"
    )
    assert "`B` may be no better than" in lines[1] and "`C` are worse than" in lines[2]
    assert "sharper weights tend to have the higher grade: " in lines[3]
    assert lines[3].endswith("the weights are) is 1.00 over 3 mechanisms.")
    assert lines[4].startswith(
        "- **Without an encoder**, the weights of 1 of 1 mechanisms are better"
    )
    assert lines[5] == (
        "- **Leave-one-out** is ahead of attention beyond chance for 3 of 3 mechanisms with the "
        "encoder, and for 0 of 1 mechanisms without an encoder. For the others, the interval of "
        "the difference contains zero."
    )
    assert "contains zero or lies below" in explanations.verdict({"rows": {"A": entry(1, 0.5)}})
    assert lines[6].endswith("is 50.0 % with the encoder, and 50.0 % without an encoder.")
    assert lines[7] == "- Not run yet: D." and "have one run" in lines[8]
    *table, _, told = explanations.grades(EXAMPLE).split("\n")[2:]
    assert [line.split(" | ")[0] for line in table] == ["| A, no encoder", "| A", "| B", "| C"]
    assert table[0].split(" | ")[3] == "–" and table[1].split(" | ")[3].startswith("0.30<br>(")
    assert "attention in 3 of 4 rows, and the gradient in 2." in told
    assert "the first texts, and over 1 or 3 runs. The first row is the best of 4, " in told
    told, _, *table = explanations.rationales(EXAMPLE).split("\n")
    assert told.endswith("a mass of 0.45. 3 of 4 models are above both. Not above both: `C`.")
    assert sum("| 0.70 |" in line for line in table) == 4


def test_scope_names_what_was_tested_with_an_encoder_alone():
    told = explanations.scope(EXAMPLE)
    assert told.startswith("For 3 mechanisms") and "all but `B` and `C` also without" in told


def test_changes_are_paired_and_told_where_they_are_real():
    rows = {
        "AttentionPooling": entry(0.5, 0.5),
        "AttentionPooling, gated": entry(0.6, 0.5),
        "AttentionPooling, no encoder": entry(0.4, 0.5),
    }
    # One that is higher on some texts and lower on others.
    rows["AttentionPooling, entmax15"] = entry(0.5, 0.5)
    values = packed([*np.linspace(0, 1.02, 20), np.nan])
    rows["AttentionPooling, entmax15"]["runs"][0]["naopc_per_text"]["attention"] = values
    counted, written, told = explanations.changes({"rows": rows}).split("\n\n")
    assert counted == "2 of the 3 intervals are bold."
    assert told == "Taken alone, these have better weights with an encoder: `AttentionPooling`."
    lines = [line.strip("| ").split(" | ") for line in written.split("\n")[2:]]
    found = {line[0]: line[1:] for line in lines}
    assert found["a gate"] == ["**0.10 (0.10 to 0.10)**", "–"]
    assert found["entmax15 for softmax"][0].startswith("0.01 (−0.")
    assert found["sparsemax for softmax"] == ["–", "–"]
    assert found["the encoder, over 1 mechanisms"][0].startswith("**0.10 (0.10")


def test_chart_and_file(tmp_path):
    pictures = explanations.chart(EXAMPLE).split("\n\n")
    names = [{text.text for text in drawn(picture).iter("text")} for picture in pictures]
    assert {"A", "B", "C", "Normalized AOPC with the encoder"} <= names[0]
    assert {"A", "Normalized AOPC without an encoder"} <= names[1] and not {"B", "C"} & names[1]
    assert "In 1 of 3 lines the round mark lies between bar and square." in pictures[0]
    (tmp_path / "explanations_toys.json").write_text(json.dumps(EXAMPLE))
    assert explanations.written("toys", "verdict", tmp_path).startswith("- **With")


def test_the_page_is_of_what_was_measured():
    results = json.loads((RESULTS / "explanations_reviews.json").read_text(encoding="utf-8"))
    table = explanations.grades(results)
    for name, row in results["rows"].items():
        own = np.nanmean(graded(results, name))
        assert re.search(rf"^\| {re.escape(name)} \| \S+ \| {own:.2f}<br>\(", table, re.M)
        # The mean of the grades that are kept for the intervals is that of the summary.
        assert own == pytest.approx(row["summary"]["test_naopc"]["mean"], abs=2e-3)


def test_the_layer_of_the_chart_is_among_those_that_may_be_read():
    path = RESULTS / "explanations_reviews.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    names = explanations.readable(results)
    assert "AttentionPooling" in names and "LowRankAttentionPooling" not in names
    assert all(named(name) in explanations.advice(results) for name in names)
