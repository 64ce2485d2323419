"""Bags, series and words alike: every measure takes what the model takes, in any form."""

import warnings

import keras
import numpy as np
import pytest
from backend_functions import everywhere, numpy

from keras_attnpool import analysis, layers
from keras_attnpool.batches import SequenceBatches

pytestmark = pytest.mark.every_backend

LENGTHS = [6, 2, 4, 6, 1]
ROWS = [np.random.default_rng(n).normal(size=(n, 3)).astype("float32") for n in LENGTHS]
MASK = np.arange(6) < np.array(LENGTHS)[:, None]
X = np.zeros((5, 6, 3), "float32")
X[MASK] = np.concatenate(ROWS)


def head(vector, classes=2):
    return keras.layers.Dense(classes, activation="softmax")(vector)


def with_mask(named=False, dtype="bool"):
    keras.utils.set_random_seed(0)
    x, kept = keras.Input((None, 3), name="x"), keras.Input((None,), dtype=dtype, name="kept")
    states = keras.layers.Dense(4, activation="tanh")(x)
    vector = layers.AttentionPooling(4, gated=True, name="pooling")(states, mask=kept)
    return keras.Model({"x": x, "kept": kept} if named else [x, kept], head(vector))


class Subclassed(keras.Model):
    """The same model without a graph; its pooling stands in a layer of its own."""

    def __init__(self):
        super().__init__()
        self.states = keras.layers.Dense(4, activation="tanh")
        self.block = Block()
        self.dense = keras.layers.Dense(2, activation="softmax")

    def call(self, inputs):
        x, kept = inputs
        return self.dense(self.block(self.states(x), kept))


class Block(keras.layers.Layer):
    def __init__(self):
        super().__init__(name="block")
        self.pooling = layers.AttentionPooling(4, gated=True, name="pooling")

    def call(self, x, kept):
        return self.pooling(x, mask=kept)


def subclassed():
    model = Subclassed()
    model([X, MASK])
    model.set_weights(with_mask().get_weights())
    return model


def sequential(mask_value=0.0):
    model = keras.Sequential(
        [
            keras.Input((None, 3)),
            keras.layers.Masking(mask_value),
            keras.layers.Dense(4, activation="tanh"),
            layers.AttentionPooling(4, gated=True, name="pooling"),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.set_weights(with_mask().get_weights())
    return model


class OfUser(keras.utils.PyDataset):
    """Two rows at a time, each batch as long as its longest row."""

    def __init__(self, with_mask=True):
        super().__init__()
        self.with_mask = with_mask

    def __len__(self):
        return 3

    def __getitem__(self, index):
        rows = slice(2 * index, 2 * index + 2)
        end = max(LENGTHS[rows])
        x = X[rows, :end]
        return (x, MASK[rows, :end]) if self.with_mask else x, np.zeros(len(x))


def tf_data():
    tf = pytest.importorskip("tensorflow")
    return tf.data.Dataset.from_tensor_slices(((X, MASK), np.zeros(5))).batch(2)


def data_loader():
    torch = pytest.importorskip("torch")
    rows = [((x, kept), 0) for x, kept in zip(X, MASK, strict=True)]
    return torch.utils.data.DataLoader(rows, batch_size=2)


FORMS = {
    "list": (with_mask, lambda: [X, MASK]),
    "tuple": (with_mask, lambda: (X, MASK)),
    "dict": (lambda: with_mask(named=True), lambda: {"x": X, "kept": MASK}),
    "integer mask": (
        lambda: with_mask(named=True, dtype="int32"),
        lambda: {"kept": MASK.astype("int32"), "x": X},
    ),
    "unequal rows": (with_mask, lambda: ROWS),
    "unequal rows for names": (lambda: with_mask(named=True), lambda: ROWS),
    "named unequal rows": (lambda: with_mask(named=True), lambda: {"x": ROWS}),
    "rows that are dicts": (lambda: with_mask(named=True), lambda: [{"x": x} for x in ROWS]),
    "rows that are lists": (with_mask, lambda: [[x, np.ones(len(x), bool)] for x in ROWS]),
    "rows of each input": (with_mask, lambda: [ROWS, [np.ones(len(x), bool) for x in ROWS]]),
    "batches": (with_mask, lambda: SequenceBatches(ROWS, batch_size=2, mask=True, shuffle=True)),
    "PyDataset": (with_mask, OfUser),
    "tf.data": (with_mask, tf_data),
    "DataLoader": (with_mask, data_loader),
    "subclassed": (subclassed, lambda: [X, MASK]),
    "Sequential": (sequential, lambda: X),
    "Sequential, unequal rows": (sequential, lambda: ROWS),
    "Sequential, PyDataset": (sequential, lambda: OfUser(with_mask=False)),
    "another value is masked": (lambda: sequential(-1.0), lambda: ROWS),
}
EVERYWHERE = [
    "list",
    "unequal rows",
    "batches",
    "tf.data",
    "DataLoader",
    "subclassed",
    "Sequential",
]


def effects_by_hand():
    model, every = with_mask(), [X, MASK]
    full = numpy(model(every))
    chosen = full.argmax(axis=1)
    without = [numpy(model([X, MASK & (np.arange(6) != step)])) for step in range(6)]
    lost = [(full - each)[np.arange(5), chosen] for each in without]
    return np.stack(lost, axis=1) * MASK, chosen


def slopes_by_hand(chosen):
    model = with_mask()
    found = np.zeros(X.shape[:2])
    for step in range(6):
        logs = []
        for scale in (1.01, 0.99):
            changed = X.copy()
            changed[:, step] *= scale
            logs.append(np.log(numpy(model([changed, MASK])))[np.arange(5), chosen])
        found[:, step] = (logs[0] - logs[1]) / 0.02
    return found


@pytest.fixture(scope="module")
def by_hand():
    """Effects and slopes of the steps; attention and answers of the model that takes arrays."""
    effects, chosen = effects_by_hand()
    shown = analysis.attention_scores(with_mask(), [X, MASK], "pooling", return_predictions=True)
    return effects, slopes_by_hand(chosen), chosen, *shown


@pytest.fixture(scope="module")
def halves(by_hand):
    """What each row loses without the half of its steps that counts most: their number matters."""
    return analysis.faithfulness(with_mask(), [X, MASK], by_hand[0], [0.5]).comprehensiveness


@pytest.mark.parametrize(
    "form", everywhere(FORMS, *EVERYWHERE, reason="the others are read by NumPy alone")
)
def test_every_form_is_read(form, by_hand, halves):
    make, given = FORMS[form]
    model = make()
    effects, slopes, _, expected, answers = by_hand
    np.testing.assert_allclose(analysis.leave_one_out(model, given()), effects, atol=1e-5)
    found = analysis.gradient_saliency(model, given())
    np.testing.assert_allclose(found, slopes, atol=2e-3)
    assert np.abs(found[MASK]).min() > 0 and not found[~MASK].any()
    found = analysis.faithfulness(model, given(), effects, [0.5]).comprehensiveness
    np.testing.assert_allclose(found, halves, atol=1e-5)
    shown, predictions = analysis.attention_scores(
        model, given(), "pooling", return_predictions=True
    )
    np.testing.assert_allclose(shown, expected, atol=1e-6)
    np.testing.assert_allclose(predictions, answers, atol=1e-6)


@pytest.mark.parametrize("form", ["unequal rows", "batches", "subclassed"])
def test_every_measure_takes_it(form, by_hand, tmp_path):
    make, given = FORMS[form]
    model, reference = make(), with_mask()
    lost, _, chosen, expected, answers = by_hand
    by_layer = reference.get_layer("pooling")(
        reference.layers[1](X), mask=MASK, return_attention_scores=True
    )
    np.testing.assert_allclose(expected, numpy(by_layer[1]), atol=1e-6)
    curve = analysis.deletion_curve(model, given(), lost, [0, 0.2, 0.5])
    assert curve.num_texts == 5 and curve.attended[0] == pytest.approx(
        answers.max(axis=1).mean(), abs=1e-5
    )
    # The whole row is the explanation: without it the empty row is left.
    found = analysis.faithfulness(model, given(), lost, [1])
    empty = numpy(reference([X, np.zeros_like(MASK)]))[np.arange(5), chosen]
    np.testing.assert_allclose(
        found.comprehensiveness[:, 0], answers.max(axis=1) - empty, atol=1e-5
    )
    report = analysis.attention_report(
        model, given(), [0, 1, 0, 1, 0], verbose=0, path=tmp_path / "page.html"
    )
    np.testing.assert_allclose(report.weights, expected, atol=1e-6)
    assert report.grades["leave-one-out"]["tau leave-one-out"] == pytest.approx(1)
    assert 0 <= report.grades["attention"]["NAOPC"] <= 1
    assert "guided accuracy" in report.tests["uniform weights"]
    # Other weights need the graph.
    assert ("accuracy" in report.tests["uniform weights"]) == (form != "subclassed")


@pytest.mark.parametrize("named", [False, True])
def test_rows_that_happen_to_be_equal_are_a_batch_like_others(named):
    equal = [X[0], X[3]]
    expected = analysis.attention_scores(with_mask(), [X[[0, 3]], np.ones((2, 6), bool)])
    found = analysis.attention_scores(with_mask(named), equal)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_float_mask_of_any_name_is_known():
    model = with_mask(dtype="float32")
    lost = analysis.leave_one_out(model, [X, MASK.astype("float32")])
    np.testing.assert_allclose(lost, effects_by_hand()[0], atol=1e-5)


def test_integrated_gradients_add_up_from_each_baseline():
    model = with_mask()
    answers = np.log(numpy(model([X, MASK])))
    chosen = answers.argmax(axis=1)
    mean = X[MASK].mean(axis=0)
    for baseline, start in (("zeros", np.zeros(3)), ("mean", mean), (mean, mean)):
        found = analysis.integrated_gradients(model, [X, MASK], baseline=baseline, steps=30)
        there = np.broadcast_to(start, X.shape).astype("float32")
        change = answers - np.log(numpy(model([there, MASK])))
        np.testing.assert_allclose(found.sum(axis=1), change[np.arange(5), chosen], atol=1e-4)


@pytest.mark.torch_first("a sum on NumPy's side; the gradients run on all")
@pytest.mark.parametrize("mask_value", [0.0, -1.0])
def test_padding_stays_masked_on_the_way_from_a_baseline(mask_value):
    """A step between the baseline and the value that is masked would count."""
    for baseline in ("zeros", "mean"):
        found = analysis.integrated_gradients(sequential(mask_value), ROWS, baseline=baseline)
        expected = analysis.integrated_gradients(with_mask(), [X, MASK], baseline=baseline)
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.torch_first("Keras multiplies alike on each backend")
def test_steps_of_several_axes():
    """Frames of pictures: a step is a frame."""
    x, kept = keras.Input((None, 3, 1)), keras.Input((None,), dtype="bool")
    model = keras.Model([x, kept], with_mask()([keras.layers.Reshape((-1, 3))(x), kept]))
    for measure in (
        analysis.leave_one_out,
        analysis.gradient_saliency,
        analysis.integrated_gradients,
    ):
        found = measure(model, [X[..., None], MASK])
        np.testing.assert_allclose(found, measure(with_mask(), [X, MASK]), atol=1e-5)


def test_baselines():
    model, x = with_mask(), [X, MASK]
    mean = X[MASK].mean(axis=0)
    full = numpy(model(x))
    chosen = full.argmax(axis=1)
    for baseline, vector in (("zeros", 0), ("mean", mean), (mean + 1, mean + 1)):
        found = analysis.leave_one_out(model, x, baseline=baseline)
        changed = X.copy()
        changed[:, 0] = vector
        lost = (full - numpy(model([changed, MASK])))[np.arange(5), chosen]
        np.testing.assert_allclose(found[:, 0], lost, atol=1e-5)
    for wrong in ("median", np.ones(2), "x"):
        with pytest.raises(ValueError, match=r"`baseline` of leave_one_out .*vector \(3,\)"):
            analysis.leave_one_out(model, x, baseline=wrong)


def test_a_model_that_takes_no_mask_says_so():
    inputs = keras.Input((None, 3))
    model = keras.Model(inputs, head(layers.AttentionPooling(4, name="pooling")(inputs)))
    with pytest.raises(ValueError, match="takes no mask.*neither an input for it nor a Masking"):
        analysis.leave_one_out(model, X)
    assert analysis.leave_one_out(model, X, baseline="mean").shape == (5, 6)
    # The mask says which steps count, where the model does not.
    found = analysis.leave_one_out(model, X, baseline="zeros", mask=MASK)
    assert found[MASK].all() and not found[~MASK].any()


def test_padding_that_counts_as_steps_is_warned_of_and_no_other():
    inputs = keras.Input((None, 3))
    leaky = keras.Model(inputs, head(layers.AttentionPooling(4)(inputs)))
    kept = keras.ops.any(keras.ops.not_equal(inputs, 0), axis=-1)
    by_itself = keras.Model(inputs, head(layers.AttentionPooling(4)(inputs, mask=kept)))

    def calls(model, rows):
        yield lambda: analysis.attention_scores(model, rows)
        yield lambda: analysis.attention_scores(model, SequenceBatches(rows))
        yield lambda: SequenceBatches(rows).predict(model)

    for call in calls(leaky, ROWS):
        with pytest.warns(UserWarning, match="padding counts as steps.*Masking") as caught:
            call()
        (told,) = [each for each in caught if each.category is UserWarning]
        assert told.filename == __file__
    with pytest.warns(UserWarning, match="masks zeros"):
        SequenceBatches(ROWS).predict(sequential(-1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        analysis.attention_scores(sequential(-1.0), ROWS)
        for model, rows in ((leaky, [X[0], X[3]]), (by_itself, ROWS), (sequential(), ROWS)):
            for call in calls(model, rows):
                call()
        # Words: 0 is padding, and the embedding masks it.
        ids = keras.Input((None,), dtype="int32")
        words = keras.layers.Embedding(9, 3, mask_zero=True)(ids)
        model = keras.Model(ids, head(layers.AttentionPooling()(words)))
        for call in calls(model, [np.array([3, 4, 5]), np.array([6])]):
            call()


def test_a_layer_that_is_not_called_is_told():
    class Idle(Subclassed):
        def call(self, inputs):
            return self.dense(keras.ops.mean(self.states(inputs[0]), axis=1))

    model = Idle()
    model.block(np.ones((1, 2, 4), "float32"), np.ones((1, 2), bool))
    model([X, MASK])
    with pytest.raises(ValueError, match=r"must be called when model .*'block/pooling'"):
        analysis.attention_scores(model, [X, MASK])


def test_words_of_a_subclassed_model():
    ids = np.array([[3, 4, 5, 0], [1, 2, 0, 0]])

    class Words(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = keras.layers.Embedding(9, 4, mask_zero=True)
            self.pooling = layers.AttentionPooling(4, name="pooling")
            self.dense = keras.layers.Dense(2, activation="softmax")

        def call(self, ids):
            return self.dense(self.pooling(self.embedding(ids)))

    model, tokens = Words(), keras.Input((None,), dtype="int32")
    model(ids)
    x = model.dense(model.pooling(model.embedding(tokens)))
    functional = keras.Model(tokens, x)
    for function in (analysis.attention_scores, analysis.leave_one_out, analysis.gradient_saliency):
        np.testing.assert_allclose(function(model, ids), function(functional, ids), atol=1e-6)
    lists = [[3, 4, 5], [1, 2]]
    np.testing.assert_allclose(
        analysis.leave_one_out(model, lists),
        analysis.leave_one_out(functional, ids)[:, :3],
        atol=1e-6,
    )
