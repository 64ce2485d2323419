"""Features from the disk, a batch at a time."""

import keras
import numpy as np
import pytest
from refusals import refused

from keras_attnpool import models
from keras_attnpool.workbench.text import FeatureBatches

pytestmark = pytest.mark.every_backend


@pytest.fixture
def features(tmp_path):
    """Seven texts; the features are on the disk."""
    values = np.random.default_rng(0).normal(size=(7, 5, 4)).astype("float16")
    np.save(tmp_path / "features.npy", values)
    mask = np.arange(5) < np.array([5, 3, 1, 2, 4, 5, 1])[:, None]
    return {"features": np.load(tmp_path / "features.npy", mmap_mode="r"), "padding_mask": mask}


def served(batches):
    """Features, masks and labels of all batches."""
    parts = [batches[index] for index in range(len(batches))]
    return [
        np.concatenate(each)
        for each in zip(*[(x["features"], x["padding_mask"], y) for x, y in parts], strict=True)
    ]


def test_everything_is_served_once_in_order(features):
    batches = FeatureBatches(features, range(7), batch_size=3, shuffle=False)
    assert len(batches) == 3 and batches[2][0]["features"].shape == (1, 5, 4)
    found, mask, labels = served(batches)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, features["features"])
    np.testing.assert_array_equal(mask, features["padding_mask"])
    np.testing.assert_array_equal(labels, np.arange(7))


def test_rows_and_scale(features):
    batches = FeatureBatches(features, range(7), rows=[4, 1, 6], shuffle=False, scale=2.0)
    found, mask, labels = served(batches)
    np.testing.assert_array_equal(labels, [4, 1, 6])
    np.testing.assert_allclose(found, 2 * features["features"][[4, 1, 6]].astype("float32"))
    np.testing.assert_array_equal(mask, features["padding_mask"][[4, 1, 6]])


def test_shuffled_epochs_differ_and_are_seeded(features):
    batches, again = (
        FeatureBatches(features, range(7), rows=range(1, 7), batch_size=2, seed=3) for _ in range(2)
    )
    orders = []
    for _ in range(3):
        found, _, labels = served(batches)
        np.testing.assert_array_equal(found, features["features"][labels])
        assert sorted(labels) == [1, 2, 3, 4, 5, 6]
        np.testing.assert_array_equal(served(again)[2], labels)
        np.testing.assert_array_equal(labels, np.arange(1, 7)[batches.order])
        orders.append(labels.tolist())
        batches.on_epoch_end()
        again.on_epoch_end()
    assert orders[0] != orders[1] != orders[2]


def test_predictions_are_restored_in_a_fixed_order_only(features):
    fixed = FeatureBatches(features, rows=[4, 1, 6], batch_size=2, shuffle=False)
    np.testing.assert_array_equal(fixed.restore([0.4, 0.1, 0.6]), [0.4, 0.1, 0.6])
    with refused("predictions", "FeatureBatches.restore", "3 rows"):
        fixed.restore(np.zeros(2))
    with refused("shuffle", "FeatureBatches"):
        FeatureBatches(features).restore(np.zeros(7))


def test_the_orders_are_those_of_earlier_versions(features):
    batches = FeatureBatches(features, seed=3)
    generator = np.random.default_rng(3)
    for _ in range(2):
        np.testing.assert_array_equal(batches.order, generator.permutation(7))
        batches.on_epoch_end()


def test_a_model_trains_and_predicts_on_them(features):
    model = models.SAM(4, 2, sequence_length=5, num_layers=0)
    model.compile("sgd", "sparse_categorical_crossentropy")
    labels = np.arange(7) % 2
    history = model.fit(FeatureBatches(features, labels, batch_size=3), epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    found = model.predict(FeatureBatches(features, batch_size=3, shuffle=False), verbose=0)
    whole = {**features, "features": features["features"].astype("float32")}
    np.testing.assert_allclose(found, model.predict_on_batch(whole), atol=1e-5)
    assert isinstance(FeatureBatches(features), keras.utils.PyDataset)


def test_what_does_not_fit_is_an_error(features):
    for wrong in (features["features"], {"features": features["features"]}):
        with refused("features", "FeatureBatches"):
            FeatureBatches(wrong)
    with refused("features", None, "(7, 4)"):
        FeatureBatches({**features, "padding_mask": features["padding_mask"][:, 1:]})
    with refused("labels", "FeatureBatches", "7 rows"):
        FeatureBatches(features, range(6))
    for rows in ([], [7], [-1], [0.5], [[1]]):
        with refused("rows", None, "from 0 to 6"):
            FeatureBatches(features, rows=rows)
    with refused("batch_size"):
        FeatureBatches(features, batch_size=0)


@pytest.mark.parametrize("shuffle", [False, True])
def test_texts_of_similar_length_share_a_batch(features, shuffle):
    batches = FeatureBatches(
        features, range(7), batch_size=2, shuffle=shuffle, boundaries=(2, 4, 9), scale=2.0
    )
    seen = []
    for _ in range(2):
        lengths = []
        for index in range(len(batches)):
            x, labels = batches[index]
            length = x["features"].shape[1]
            kept = features["padding_mask"][labels]
            np.testing.assert_array_equal(x["padding_mask"], kept[:, :length])
            np.testing.assert_allclose(x["features"], 2.0 * features["features"][labels, :length])
            # Nothing that is kept is cut away.
            assert x["padding_mask"].sum() == kept.sum()
            lengths.append(length)
            seen += labels.tolist()
        assert sorted(lengths) == [2, 2, 4, 5]
        batches.on_epoch_end()
    assert sorted(seen) == sorted([*range(7), *range(7)])
    assert batches.padding_share == pytest.approx(1 - 21 / (3 * 2 + 2 * 4 + 2 * 5))
    if not shuffle:
        answers = np.concatenate([batches[index][1] for index in range(len(batches))])
        np.testing.assert_array_equal(batches.restore(answers), np.arange(7))


def test_boundaries_that_do_not_fit(features):
    with refused("boundaries", "FeatureBatches", "end with"):
        FeatureBatches(features, boundaries=(2, 4))
    with refused("boundaries", "FeatureBatches", "increasing"):
        FeatureBatches(features, boundaries=(5, 5))
