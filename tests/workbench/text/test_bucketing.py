import itertools

import keras
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refused

from keras_attnpool.workbench import text

pytestmark = pytest.mark.every_backend

LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=60)


def rows_of(lengths):
    """Rows whose every id is the row's number + 1."""
    return [[index + 1] * length for index, length in enumerate(lengths)]


def make_rows(size=50, seed=0):
    return rows_of(np.random.default_rng(seed).integers(1, 30, size))


@pytest.mark.parametrize(
    ("lengths", "num_buckets", "boundaries"),
    [
        # 4 x 16 + 32 + 61 steps; with (8, 16, 61) they would be 2 x 8 + 2 x 16 + 2 x 61.
        ([3, 5, 9, 11, 30, 61], 3, (16, 32, 61)),
        ([3, 5, 9, 11, 30, 61], 2, (16, 61)),
        ([3, 5, 9, 11, 30, 61], 1, (61,)),
        ([3, 5, 9, 11, 30, 61], 9, (8, 16, 32, 61)),
        ([8, 16, 17], 3, (8, 16, 17)),
        ([5, 5, 5, 5], 3, (5,)),
        ([0, 0, 0], 3, (1,)),
        ([0, 0, 20], 3, (8, 20)),
        ([7, 7, 7, 7, 7, 100], 3, (8, 100)),
    ],
)
def test_length_buckets(lengths, num_buckets, boundaries):
    found = text.length_buckets(lengths, num_buckets)
    assert found == boundaries
    assert all(type(boundary) is int for boundary in found)
    assert text.length_buckets(np.array(lengths, "uint8"), num_buckets) == boundaries


@given(LENGTHS, st.integers(1, 6))
def test_buckets_increase_to_the_greatest_length(lengths, num_buckets):
    *inner, last = text.length_buckets(lengths, num_buckets)
    assert len(inner) < num_buckets
    assert last == max(1, *lengths, 1)
    assert inner == sorted(set(inner)) and all(b % 8 == 0 and 0 < b < last for b in inner)


@given(LENGTHS, st.integers(1, 5))
def test_no_other_buckets_pad_less(lengths, num_buckets):
    def steps(boundaries):
        return sum(min(b for b in boundaries if b >= length) for length in lengths)

    longest = max(1, *lengths, 1)
    choices = itertools.combinations(range(8, longest, 8), num_buckets - 1)
    least = min((steps((*inner, longest)) for inner in choices), default=None)
    found = steps(text.length_buckets(lengths, num_buckets))
    # Without a default there are fewer multiples than buckets: then each of them is one.
    assert found == (steps((*range(8, longest, 8), longest)) if least is None else least)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "one row of integers"),
        (([[1]],), "shape \\(1, 1\\)"),
        (([1.5],), "float64"),
        (([-1],), "0 or more. Received: -1"),
        (([1], 0), "num_buckets=0"),
        (([1], 2.0), "num_buckets=2.0"),
    ],
)
def test_length_buckets_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        text.length_buckets(*arguments)


@given(LENGTHS, st.integers(1, 9), st.booleans(), st.integers(0, 3))
def test_every_text_is_served_once_and_whole(lengths, batch_size, shuffle, epochs):
    rows = rows_of(lengths)
    batches = text.BucketedBatches(
        rows, np.arange(len(rows)), batch_size=batch_size, shuffle=shuffle
    )
    size = len(batches)
    for _ in range(epochs):
        batches.on_epoch_end()
    assert len(batches) == size
    served, padding, steps = [], 0, 0
    for ids, labels in batches:
        assert ids.dtype == np.int32 and 1 <= len(ids) <= batch_size
        assert ids.shape[1] in batches.boundaries
        for label, row in zip(labels, ids, strict=True):
            assert row.tolist() == rows[label] + [0] * (len(row) - len(rows[label]))
            # The smallest boundary that holds it.
            assert ids.shape[1] == min(b for b in batches.boundaries if b >= len(rows[label]))
        served += labels.tolist()
        padding += int((ids == 0).sum())
        steps += ids.size
    assert sorted(served) == list(range(len(rows)))
    np.testing.assert_array_equal(batches.order, served)
    assert batches.padding_share == pytest.approx(padding / steps)


@given(LENGTHS, st.booleans())
@example([1] * 9 + [20], False)
@example([1] * 30 + [20], True)
def test_first_two_batches_differ_in_length_where_any_do(lengths, shuffle):
    batches = text.BucketedBatches(rows_of(lengths), batch_size=3, shuffle=shuffle)
    lengths_served = [ids.shape[1] for ids in batches]
    if len(set(lengths_served)) > 1:
        assert lengths_served[0] != lengths_served[1]


def test_shapes_are_few():
    batches = text.BucketedBatches(make_rows(500), batch_size=16, boundaries=(8, 16, 30))
    assert len({ids.shape for ids in batches}) <= 2 * 3
    assert {ids.shape[1] for ids in batches} == {8, 16, 30}
    whole = text.BucketedBatches(make_rows(500), boundaries=(30,))
    assert batches.padding_share < 0.6 * whole.padding_share


def test_order_changes_with_the_epoch_and_follows_the_seed():
    def orders(seed, shuffle=True):
        batches = text.BucketedBatches(make_rows(), batch_size=8, shuffle=shuffle, seed=seed)
        found = []
        for _ in range(3):
            found.append(batches.order.tolist())
            batches.on_epoch_end()
        return found

    first, second, third = orders(1)
    assert first != second != third != first
    assert orders(1) == [first, second, third]
    assert orders(2)[0] != first
    assert orders(1, shuffle=False) == [orders(2, shuffle=False)[0]] * 3


def test_batch_is_the_same_however_often_it_is_asked_for():
    batches = text.BucketedBatches(make_rows(), batch_size=8)
    backwards = [batches[i] for i in reversed(range(len(batches)))][::-1]
    for ids, again in zip(batches, backwards, strict=True):
        np.testing.assert_array_equal(ids, again)


def test_padding_of_an_array_does_not_count():
    ids = np.array([[1, 2, 0, 0], [3, 0, 0, 0], [0, 0, 0, 0], [0, 4, 0, 0]])
    batches = text.BucketedBatches(ids, boundaries=(2,), shuffle=False)
    (batch,) = batches
    np.testing.assert_array_equal(batch, ids[:, :2])


def test_labels_and_weights_travel_with_their_text():
    rows = make_rows(20)
    labels = np.arange(40).reshape(20, 2)
    weights = np.arange(20) / 2
    batches = text.BucketedBatches(rows, labels, batch_size=6, sample_weight=weights)
    for ids, batch_labels, batch_weights in batches:
        index = ids[:, 0] - 1
        np.testing.assert_array_equal(batch_labels, labels[index])
        np.testing.assert_array_equal(batch_weights, weights[index])


def make_model():
    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(60, 4)(inputs)
    x = keras.layers.GlobalAveragePooling1D()(x)
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model.compile(optimizer="sgd", loss="mse")
    return model


# With two workers Keras fetches batches ahead in threads of its own.
@pytest.mark.parametrize("workers", [1, 2])
def test_fit_evaluate_and_predict(workers):
    rows = rows_of([3, 9] * 8 + [1] * 4)
    labels = np.linspace(-1, 1, 20)
    options = {"batch_size": 8, "boundaries": (4, 10), "workers": workers}
    train = text.BucketedBatches(rows, labels, **options)
    fixed = text.BucketedBatches(rows, labels, shuffle=False, **options)
    orders = []
    keep = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda *_: orders.append(train.order.tolist())
    )
    model = make_model()
    history = model.fit(train, validation_data=fixed, epochs=3, verbose=0, callbacks=[keep])
    assert len(history.history["val_loss"]) == 3
    assert len({tuple(order) for order in orders}) == 3

    predictions = fixed.restore(model.predict(fixed, verbose=0))
    embeddings, kernel, bias = model.get_weights()
    for row, prediction in zip(rows, predictions, strict=True):
        padded = row + [0] * ((4 if len(row) <= 4 else 10) - len(row))
        expected = embeddings[padded].mean(axis=0) @ kernel + bias
        np.testing.assert_allclose(prediction, expected, rtol=1e-4, atol=1e-6)
    loss = np.mean((predictions[:, 0] - labels) ** 2)
    assert model.evaluate(fixed, verbose=0) == pytest.approx(loss, rel=1e-4)


def test_predict_without_labels_keeps_the_order_of_the_texts():
    rows = rows_of([9, 3] * 10)
    unlabelled = text.BucketedBatches(rows, batch_size=10, boundaries=(4, 9), shuffle=False)
    inputs = keras.Input((None,), dtype="int32")
    first = keras.Model(inputs, keras.layers.Lambda(lambda x: x[:, :1])(inputs))
    served = first.predict(unlabelled, verbose=0)
    np.testing.assert_array_equal(unlabelled.restore(served)[:, 0], np.arange(1, 21))
    assert (served[:, 0] != np.arange(1, 21)).any()


PAIRS = {
    "tokens_a": [[1], [2, 2, 2, 2, 2], [3, 3], []],
    "tokens_b": np.array([[1, 1, 1, 1], [2, 0, 0, 0], [3, 3, 0, 0], [0, 0, 0, 0]]),
}


def test_longest_of_a_pair_decides_for_both():
    batches = text.BucketedBatches(
        PAIRS, np.arange(4), batch_size=2, boundaries=(2, 4, 6), shuffle=False
    )
    served = {}
    for inputs, labels in batches:
        assert list(inputs) == ["tokens_a", "tokens_b"]
        assert inputs["tokens_a"].shape == inputs["tokens_b"].shape
        for label, *rows in zip(labels, *inputs.values(), strict=True):
            served[int(label)] = [row.tolist() for row in rows]
    assert served == {
        0: [[1, 0, 0, 0], [1, 1, 1, 1]],
        1: [[2, 2, 2, 2, 2, 0], [2, 0, 0, 0, 0, 0]],
        2: [[3, 3], [3, 3]],
        3: [[0, 0], [0, 0]],
    }
    # 15 of 8 + 12 + 4 + 4 steps hold an id.
    assert batches.padding_share == pytest.approx(1 - 15 / 28)
    assert text.BucketedBatches(PAIRS).boundaries == (5,)


def test_characters_follow_their_words():
    texts = ["a bcd e f", "ab", ""]
    words, characters = (
        kind.train(texts).encode(texts) for kind in (text.WordTokenizer, text.CharacterTokenizer)
    )
    alone = text.BucketedBatches(words, boundaries=(2, 6), shuffle=False)
    both = text.BucketedBatches(
        {"words": words, "characters": characters}, boundaries=(2, 6), shuffle=False
    )
    np.testing.assert_array_equal(both.order, alone.order)
    assert both.padding_share == alone.padding_share
    for rows, ids, inputs in zip([[0], [1, 2]][::-1], alone, both, strict=True):
        np.testing.assert_array_equal(inputs["words"], ids)
        found, kept = inputs["characters"], min(4, ids.shape[1])
        assert found.dtype == np.int32 and found.shape == (*ids.shape, 16)
        np.testing.assert_array_equal(found[:, :kept], characters[rows, :kept])
        assert not found[:, kept:].any()


@pytest.mark.parametrize("shuffle", [True, False])
def test_named_inputs_in_fit_and_predict(shuffle):
    rows = rows_of([3, 9] * 8 + [1] * 4)
    pairs = {"left": rows, "right": [row[:2] for row in rows]}
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in pairs}
    embed = keras.layers.Embedding(60, 4)
    pooled = [keras.layers.GlobalMaxPooling1D()(embed(x)) for x in inputs.values()]
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.ops.concatenate(pooled, axis=-1)))
    model.compile(optimizer="sgd", loss="mse")
    options = {"batch_size": 8, "boundaries": (4, 10)}
    model.fit(
        text.BucketedBatches(pairs, np.zeros(20), shuffle=shuffle, **options), epochs=2, verbose=0
    )
    fixed = text.BucketedBatches(pairs, shuffle=False, **options)
    predictions = fixed.restore(model.predict(fixed, verbose=0))
    embeddings, kernel, bias = model.get_weights()
    for number, (row, found) in enumerate(zip(rows, predictions, strict=True)):
        # Each row is padded, to the boundary of the longer.
        expected = np.maximum(embeddings[number + 1], embeddings[0])
        assert len(row) < 10
        np.testing.assert_allclose(found, [*expected, *expected] @ kernel + bias, rtol=1e-4)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ({}, "at least one text"),
        ({"a": []}, "at least one text"),
        ({"a": [[1], [2]], "b": [[1]]}, "equally many texts. Received: 2 of 'a', 1 of 'b'"),
        ({"a": [1]}, "shape () at index 0 of 'a'"),
        ({"a": np.ones((1, 2, 3, 4), int)}, "shape (2, 3, 4) at index 0 of 'a'"),
        ({"a": [[[1, 2]], [[1]]]}, "shape (1, 1) at index 1 of 'a'"),
        ({"a": [[[1, 2]], [1]]}, "shape (1,) at index 1 of 'a'"),
    ],
)
def test_bad_named_inputs_are_refused(ids, message):
    with refused("ids", "BucketedBatches", message):
        text.BucketedBatches(ids)


def test_restore_refuses():
    with refused("shuffle", "BucketedBatches"):
        text.BucketedBatches([[1]]).restore([1])
    fixed = text.BucketedBatches([[1], [2]], shuffle=False)
    for wrong in ([1], [1, 2, 3], 1):
        with refused("predictions", "BucketedBatches.restore", "2 rows"):
            fixed.restore(wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ids": []}, "at least one text"),
        ({"ids": np.ones((2, 3, 4), int)}, "shape (3, 4) at index 0"),
        ({"ids": [1, 2]}, "rows of ids"),
        ({"labels": [1]}, "2 rows"),
        ({"labels": 1}, "2 rows"),
        ({"sample_weight": [1], "labels": [1, 2]}, "2 rows"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": 2.0}, "batch_size=2.0"),
        ({"boundaries": ()}, "increasing positive"),
        ({"boundaries": (0, 4)}, "increasing positive"),
        ({"boundaries": 4}, "several lengths"),
        ({"boundaries": (4, 4)}, "increasing positive"),
        ({"boundaries": (2,)}, "longest text's length 3"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with refused(next(iter(arguments)), "BucketedBatches", message):
        text.BucketedBatches(**({"ids": [[1, 2, 3], [4]]} | arguments))


def test_ids_must_be_integers():
    with refused("ids", None, "integer", "float64 at index 1"):
        text.BucketedBatches([[1], [1.5]])
    with refused("ids", None, "integer"):
        text.BucketedBatches(["a text".split()])
    with refused("ids", None, "float64 at index 0 of 'b'"):
        text.BucketedBatches({"a": [[1]], "b": [[1.5]]})
    with refused("labels", "BucketedBatches", "sample_weight"):
        text.BucketedBatches([[1]], sample_weight=[1])


@pytest.mark.parametrize("id_", [2**32, 2**31, -1])
def test_ids_that_int32_cannot_hold(id_):
    with refused("ids", None, "2147483647", str(id_)):
        text.BucketedBatches([[1], [id_, 3]])
    for document in ([[1, 2], [id_, 3]], np.array([[1, 2], [id_, 3]])):
        with refused("documents", None, "2147483647", str(id_)):
            text.DocumentBatches([document])
