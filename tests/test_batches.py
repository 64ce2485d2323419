"""Rows of unequal length: served whole, once, in few shapes; predictions in the data's order."""

import itertools
import pickle

import keras
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keras_attnpool import layers
from keras_attnpool.batches import SequenceBatches, in_buckets, length_buckets, pad_rows
from keras_attnpool.workbench import text

pytestmark = pytest.mark.every_backend

LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=60)
# In any order, sorted, and with long rows in front: the first two batches must differ in length.
MANY = st.one_of(LENGTHS, LENGTHS.map(sorted), LENGTHS.map(lambda x: sorted(x)[::-1]))


def rows_of(lengths, *shape):
    """Rows whose every number is the row's number + 1."""
    kind = "float32" if shape else "int32"
    return [np.full((size, *shape), index + 1, kind) for index, size in enumerate(lengths)]


def of(batches):
    return [batches[index] for index in range(len(batches))]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_pad_rows(side, shape):
    padded, mask = pad_rows(rows_of([2, 0, 3], *shape), 4, side=side, value=-1)
    assert padded.shape == (3, 4, *shape) and padded.dtype == ("float32" if shape else "int32")
    kept = [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]
    assert mask.tolist() == [row[:: 1 if side == "right" else -1] for row in kept]
    assert (padded[~mask] == -1).all()
    for row, flags, number in zip(padded, mask, (1, 2, 3), strict=True):
        assert (row[flags] == number).all()


def test_pad_rows_refuses():
    for rows, options, message in (
        ([[1, 2]], {"length": 1}, "at least the longest row, 2"),
        ([[1]], {"side": "middle"}, "`side` of pad_rows"),
        ([[[1]], [[1, 2]]], {}, r"alike, \(n, 1\). Received: shape \(1, 2\) at index 1"),
        ("ab", {}, "sequence of arrays"),
    ):
        with pytest.raises(ValueError, match=message):
            pad_rows(rows, **options)


@pytest.mark.parametrize(
    ("lengths", "num_buckets", "boundaries"),
    [
        # 4 x 16 + 32 + 61 steps; with (8, 16, 61) they would be 2 x 8 + 2 x 16 + 2 x 61.
        ([3, 5, 9, 11, 30, 61], 3, (16, 32, 61)),
        ([3, 5, 9, 11, 30, 61], 9, (8, 16, 32, 61)),
        ([5, 5, 5, 5], 3, (5,)),
        ([0, 0, 20], 3, (8, 20)),
        (np.array([7, 7, 7, 7, 7, 100], "uint8"), 3, (8, 100)),
    ],
)
def test_length_buckets(lengths, num_buckets, boundaries):
    assert length_buckets(lengths, num_buckets) == boundaries


@given(LENGTHS, st.integers(1, 5))
def test_no_other_buckets_pad_less(lengths, num_buckets):
    def steps(boundaries):
        return sum(min(b for b in boundaries if b >= length) for length in lengths)

    longest = max(1, *lengths, 1)
    found = length_buckets(lengths, num_buckets)
    rounded = sorted({min(-(-max(length, 1) // 8) * 8, longest) for length in lengths})
    others = itertools.combinations(rounded[:-1], min(num_buckets, len(rounded)) - 1)
    assert steps(found) == min(steps((*other, longest)) for other in others)


@given(MANY, st.integers(1, 9), st.booleans(), st.integers(0, 2), st.booleans())
@example([20] * 9 + [1], 3, False, 0, True)
@example([1] * 9 + [20], 3, False, 0, True)
@example([20, 20, 1, 20], 3, False, 0, False)
def test_every_row_is_served_once_and_whole(lengths, batch_size, shuffle, epochs, vectors):
    rows = rows_of(lengths, *((2,) if vectors else ()))
    labels = np.arange(len(rows))
    batches = SequenceBatches(rows, labels, batch_size, mask=True, shuffle=shuffle, seed=1)
    for _ in range(epochs):
        batches.on_epoch_end()
    served, places, shapes = [], 0, set()
    for (x, mask), found in of(batches):
        assert x.dtype == ("float32" if vectors else "int32") and 1 <= len(x) <= batch_size
        assert x.shape[1] in batches.boundaries and x.shape[1] >= mask.sum(axis=1).max()
        for label, row, flags in zip(found, x, mask, strict=True):
            size = lengths[label]
            assert flags.tolist() == [True] * size + [False] * (len(row) - size)
            assert (row[:size] == label + 1).all() and not row[size:].any()
        served += found.tolist()
        places += mask.size
        shapes.add(x.shape)
    assert served == labels.tolist() if not shuffle else sorted(served) == labels.tolist()
    assert batches.padding_share == pytest.approx(1 - sum(lengths) / places)
    # Full batches, a quarter, one row, and what is left over.
    assert len(shapes) <= (2 if shuffle else 4) * len(batches.boundaries)
    widths = [x.shape[1] for (x, _), _ in of(batches)]
    assert len(set(widths)) == 1 or widths[0] != widths[1]


def test_a_long_row_does_not_pad_its_neighbours():
    """Bags as unequal as those of musk2: 4.4 MB padded to one array are 70.7."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(2.6, 1.6, 102).astype(int), 1, 1044)
    lengths[[5, 50]] = 1044, 911
    rows = rows_of(lengths, 166)
    for shuffle, most in ((True, 10e6), (False, 20e6)):
        batches = SequenceBatches(rows, shuffle=shuffle)
        assert max(x.nbytes for x in of(batches)) < 8e6
        assert sum(x.nbytes for x in of(batches)) < most
    assert f"{100 * batches.padding_share:.0f} % padding" in repr(batches)


def test_order_changes_with_the_epoch_and_follows_the_seed():
    def orders(seed, shuffle=True):
        rows = rows_of(np.random.default_rng(0).integers(1, 30, 50))
        batches = SequenceBatches(rows, range(50), 8, shuffle=shuffle, seed=seed)
        found = []
        for _ in range(3):
            found.append([label for _, labels in of(batches) for label in labels.tolist()])
            batches.on_epoch_end()
        return found

    first, second, third = orders(1)
    assert first != second != third != first
    assert orders(1) == [first, second, third]
    assert orders(2)[0] != first
    assert orders(1, shuffle=False) == [list(range(50))] * 3


def test_zeros_at_the_end_are_padding_of_arrays_of_ids_alone():
    ids = np.array([[1, 2, 0, 0], [3, 0, 0, 0], [0, 0, 0, 0], [0, 4, 0, 0]])
    np.testing.assert_array_equal(SequenceBatches(ids, boundaries=(2,))[0], ids[:, :2])
    (_, mask), *_ = SequenceBatches([[1, 0], [0, 0]], mask=True)[0]
    assert mask.all()
    (_, mask), *_ = SequenceBatches(np.zeros((2, 3, 1)), mask=True)[0]
    assert mask.all()


PAIRS = {"a": [[1], [2, 2, 2, 2, 2], [3, 3]], "b": [[1, 1, 1], [2], []]}


def test_named_inputs():
    batches = SequenceBatches(
        {**PAIRS, "age": np.arange(3.0)},
        {"y": [0, 1, 2]},
        3,
        boundaries=(6,),
        mask={"a": "mask_a", "b": "mask_b"},
        fixed=("age",),
        sample_weight=[1, 2, 3],
    )
    inputs, labels, weights = batches[0]
    assert inputs["mask_a"].sum(axis=1).tolist() == [1, 5, 2]
    assert inputs["mask_b"].sum(axis=1).tolist() == [3, 1, 0]
    assert inputs["age"].tolist() == [0, 1, 2] and labels["y"].tolist() == [0, 1, 2]
    assert inputs["a"].shape == inputs["b"].shape == (3, 6) and weights.tolist() == [1, 2, 3]
    assert batches.padding_share == pytest.approx(1 - 12 / 36)
    inputs = SequenceBatches(PAIRS, boundaries=(6,), mask="kept")[0]
    assert inputs["kept"].sum(axis=1).tolist() == [3, 5, 2]
    words = {"words": np.array([[1, 2, 0]]), "letters": np.ones((1, 3, 4), int) * [[1], [1], [0]]}
    inputs = SequenceBatches(words)[0]
    assert inputs["letters"].shape == (1, 2, 4)


def bags_model(named):
    x, kept = keras.Input((None, 3), name="x"), keras.Input((None,), dtype="bool", name="kept")
    vector = layers.AttentionPooling(4, gated=True)(x, mask=kept)
    outputs = keras.layers.Dense(1, activation="sigmoid")(vector)
    model = keras.Model({"x": x, "kept": kept} if named else [x, kept], outputs)
    model.compile("sgd", "binary_crossentropy")
    return model


# Keras fetches batches ahead, in two threads of its own or in two processes.
@pytest.mark.parametrize("fetched", ["here", "threads", "processes"])
@pytest.mark.parametrize("named", [True, False])
def test_fit_evaluate_and_predict(named, fetched):
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(size, 3)) for size in [3, 9, 30] * 6 + [1] * 4]
    labels = np.arange(22) % 2
    options = {
        "boundaries": (4, 10, 30),
        "batch_size": 8,
        "mask": "kept" if named else True,
        "workers": 1 if fetched == "here" else 2,
        "use_multiprocessing": fetched == "processes",
    }
    given = {"x": rows} if named else rows
    train = SequenceBatches(given, labels, shuffle=True, **options)
    pickle.loads(pickle.dumps(train))
    fixed = SequenceBatches(given, labels, **options)
    model = bags_model(named)
    model.fit(train, validation_data=fixed, class_weight={0: 1, 1: 2}, epochs=2, verbose=0)

    def alone(row):
        row = row[None].astype("float32")
        inputs = {"x": row, "kept": np.ones(row.shape[:2], bool)}
        return keras.ops.convert_to_numpy(model(inputs if named else list(inputs.values())))[0]

    expected = np.stack([alone(row) for row in rows])
    unlabelled = SequenceBatches(given, **options)
    for found in (
        model.predict(fixed, verbose=0),
        model.predict(unlabelled, verbose=0),
        fixed.predict(model),
        train.predict(model),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    chosen = np.where(labels == 1, expected[:, 0], 1 - expected[:, 0])
    loss = pytest.approx(-np.log(chosen).mean(), rel=1e-4)
    assert model.evaluate(fixed, verbose=0) == loss
    weighted = SequenceBatches(given, labels, sample_weight=labels * 1.0, **options)
    loss = -(labels * np.log(chosen)).sum()
    found = model.evaluate(weighted, verbose=0)
    assert found == pytest.approx(loss / 22, rel=1e-4) or found == pytest.approx(
        loss / 11, rel=1e-4
    )


def test_buckets_contrast():
    batches = in_buckets(np.array([0, 0, 1, 2]), [(1, 5), (1, 6), (2, 6)], 1)
    assert [int(rows[0]) for rows in batches][:2] == [0, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": []}, "`rows` of SequenceBatches must be sequences"),
        ({"rows": {}}, "must be sequences"),
        ({"rows": {"a": [[1], [2]], "b": [[1]]}}, "equally many.*'a': 2, 'b': 1"),
        ({"rows": [1, 2]}, r"arrays \(n, ...\). Received: shape \(\) at index 0"),
        ({"rows": [[[1], [2, 3]]]}, "`rows` of .* unequal length at index 0"),
        ({"rows": {"a": [[[1, 2]], [1]]}}, r"`a` of .* alike, \(n, 2\).*\(1,\) at index 1"),
        ({"rows": [[1], [2**31]]}, "integers from 0 to 2147483647.*2147483648.*index 1"),
        ({"rows": [[-1]]}, "from -1 to -1"),
        ({"labels": [1]}, r"`labels` of SequenceBatches must have 2 entries.*\(1,\)"),
        ({"labels": {"y": 1}}, "`labels` of SequenceBatches must have 2 entries"),
        ({"labels": [1, 2], "sample_weight": [1]}, "`sample_weight` .* 2 entries"),
        ({"sample_weight": [1, 2]}, "`labels` of SequenceBatches must be given"),
        ({"batch_size": 2.0}, "`batch_size` of SequenceBatches.*batch_size=2.0"),
        ({"seed": -1}, "`seed` of SequenceBatches"),
        ({"boundaries": ()}, r"increasing positive.*\(\)"),
        ({"boundaries": (0, 4)}, "increasing positive"),
        ({"boundaries": 4}, "increasing positive.*boundaries=4"),
        ({"boundaries": (4, 4)}, "increasing positive"),
        ({"boundaries": (2,)}, "longest row's length, 3"),
        ({"mask": "m"}, "`mask` of SequenceBatches"),
        ({"rows": {"a": [[1]]}, "mask": True}, "`mask` of SequenceBatches"),
        ({"rows": {"a": [[1]]}, "mask": {"b": "m"}}, "`mask` of SequenceBatches"),
        ({"rows": {"a": [[1]]}, "mask": "a"}, "`mask` of SequenceBatches"),
        ({"fixed": ("age",)}, "`fixed` of SequenceBatches"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SequenceBatches(**({"rows": [[1, 2, 3], [4]]} | arguments))


@pytest.mark.parametrize("rows", [[[1], [1.5]], ["a text".split()], [[None]]])
def test_rows_must_hold_numbers_of_one_kind(rows):
    with pytest.raises(ValueError, match="`rows` of SequenceBatches must hold numbers"):
        SequenceBatches(rows)


@pytest.mark.parametrize("id_", [2**31, -1])
def test_ids_that_int32_cannot_hold(id_):
    for document in ([[1, 2], [id_, 3]], np.array([[1, 2], [id_, 3]])):
        with pytest.raises(ValueError, match=f"ids from 0 to 2147483647.*{id_}"):
            text.DocumentBatches([document])
