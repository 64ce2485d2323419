"""A row keeps its answer whatever stands beside it: planted faults are found, and only they."""

import warnings

import keras
import numpy as np
import pytest
from backend_functions import numpy
from catalogue import CASES, HIERARCHICAL, PAIRS, policy
from keras import layers as kl
from keras import ops
from refusals import refused

from benchmarks.leaks.planted import PLANTED, SUBCLASSED, rows_of
from keras_attnpool import layers
from keras_attnpool.analysis import batch_independence
from keras_attnpool.batches import SequenceBatches

pytestmark = pytest.mark.every_backend
RANDOM = np.random.default_rng(0)
IDS = [np.array([4, 8, 15]), np.array([16, 23, 8, 4, 8, 15]), np.array([7])]


@pytest.fixture(autouse=True)
def _no_warning_of_lost_masks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_with_its_layer_and_only_it(fault):
    planted = PLANTED[fault]
    found = batch_independence(planted.make(True), rows_of(planted.rows))
    assert not found.holds and found.largest > 1e-2 and found.layer == planted.layer
    assert f"'{found.layer}'" in str(found)
    assert found.largest == max(max(row.values()) for row in found.differences)
    assert found.largest == found.differences[found.row][found.check]
    sound = batch_independence(planted.make(False), rows_of(planted.rows))
    assert sound.holds and sound.layer is None and sound.largest < 1e-5


def test_a_subclassed_model_is_looked_into():
    found = batch_independence(SUBCLASSED.make(True), rows_of("ids"))
    assert (found.holds, found.layer) == (False, "reader")
    assert batch_independence(SUBCLASSED.make(False), rows_of("ids")).holds


@pytest.mark.torch_first("Keras computes the same on each backend; the planted faults run on all")
@pytest.mark.parametrize("front", [False, True], ids=["behind", "in front"])
@pytest.mark.parametrize("name", CASES)
def test_no_layer_and_no_builder_of_ours_is_told_of(name, front):
    case = CASES[name]
    # Those count sentences and characters from the start of the array.
    if front and name in {*HIERARCHICAL, *PAIRS, "characters", "sentences"}:
        pytest.skip("padding stands in front of the words, not of the sentences or characters")
    inputs = [np.flip(x, 1) if front else x for x in case.inputs]
    found = batch_independence(case.model(), inputs if len(inputs) > 1 else inputs[0])
    assert found.holds, str(found)
    assert "padding length" in found.differences[0]
    assert ("padding content" in found.differences[0]) == (len(inputs) == 2 and name not in PAIRS)


def backbones():
    hub = pytest.importorskip("keras_hub").models
    small = {"vocabulary_size": 30, "num_layers": 2, "num_heads": 2, "intermediate_dim": 8}
    small |= {"max_sequence_length": 20, "hidden_dim": 8}
    plain = {name: value for name, value in small.items() if name != "num_heads"}
    yield "BERT", hub.BertBackbone(**small), ["token_ids", "segment_ids", "padding_mask"]
    yield "RoBERTa", hub.RobertaBackbone(**small), ["token_ids", "padding_mask"]
    yield "DistilBERT", hub.DistilBertBackbone(**small), ["token_ids", "padding_mask"]
    albert = hub.AlbertBackbone(**small, embedding_dim=4)
    yield "ALBERT", albert, ["token_ids", "segment_ids", "padding_mask"]
    deberta = hub.DebertaV3Backbone(**small, bucket_size=8)
    yield "DeBERTa", deberta, ["token_ids", "padding_mask"]
    words = {"vocab_size": small.pop("vocabulary_size"), "embedding_dim": 8}
    electra = hub.ElectraBackbone(**small, **words)
    yield "ELECTRA", electra, ["token_ids", "segment_ids", "padding_mask"]
    yield "FNet", hub.FNetBackbone(**plain), ["token_ids", "segment_ids"]


@pytest.mark.torch_first("Keras computes the same on each backend")
def test_backbones_of_keras_hub_hold_but_fnet_which_mixes_padding():
    for name, backbone, names in backbones():
        made = {"token_ids": lambda n: RANDOM.integers(1, 30, n), "segment_ids": np.zeros}
        made["padding_mask"] = np.ones
        rows = [{key: made[key](n).astype("int32") for key in names} for n in (9, 5, 2)]
        found = batch_independence(backbone, rows)
        assert found.holds == (name != "FNet"), (name, str(found))
    assert found.layer == "f_net_layer_0" and found.largest > 0.1


def pooled(**kwargs):
    x = kl.Embedding(30, 6, mask_zero=True)(ids := keras.Input((None,), dtype="int32"))
    return keras.Model(ids, layers.AttentionPooling(4, **kwargs)(x))


def test_rows_are_read_in_every_form_that_predict_takes():
    model = pooled()
    padded = np.zeros((3, 8), "int32")
    for row, x in zip(padded, IDS, strict=True):
        row[1 : 1 + len(x)] = x
    largest = batch_independence(model, IDS).largest
    for rows in (padded, [padded], padded.tolist(), [row.tolist() for row in IDS]):
        found = batch_independence(model, rows)
        assert found.holds and len(found.differences) == 3
    assert len(batch_independence(model, IDS[:1]).differences) == 1
    assert largest < 1e-6

    x, keep = keras.Input((None, 4), name="x"), keras.Input((None,), dtype="bool", name="keep")
    bags = keras.Model({"x": x, "keep": keep}, layers.AttentionPooling(4)(x, mask=keep))
    steps = RANDOM.normal(size=(3, 6, 4)).astype("float32")
    mask = np.arange(6) < np.array([[6], [4], [0]])
    rows = [{"x": a[m], "keep": m[m]} for a, m in zip(steps[:2], mask, strict=False)]
    for given in ({"x": steps, "keep": mask}, rows):
        found = batch_independence(bags, given)
        assert found.holds and "padding content" in found.differences[0]


def test_floats_of_unequal_length_are_padded_and_those_of_one_length_are_not():
    """A mean over all steps is right where there is no padding; statistics of the batch are not."""
    unequal = [RANDOM.normal(size=(n, 4)).astype("float32") for n in (5, 3, 5)]
    for masked in (False, True):
        model = keras.Sequential([kl.Masking()] if masked else [])
        model.add(kl.Dense(4, bias_initializer="ones"))
        model.add(kl.Lambda(lambda x: ops.mean(x, axis=1), output_shape=(4,), name="mean"))
        found = batch_independence(model, unequal)
        assert (found.holds, found.layer) == (False, "mean") and found.check.startswith("padding")
        found = batch_independence(model, unequal[::2])
        assert found.holds != masked and ("Masking layer" in str(found)) != masked
    model = keras.Sequential([kl.Lambda(lambda x: x - ops.mean(x, axis=0), name="centre")])
    found = batch_independence(model, unequal[::2])
    assert (found.holds, found.check, found.layer) == (False, "neighbours", "centre")


@pytest.mark.parametrize("dtype", ["bool", "int32"])
@pytest.mark.parametrize("named", [False, True])
def test_rows_are_read_in_every_form_that_other_measures_take(named, dtype):
    x, kept = keras.Input((None, 4), name="x"), keras.Input((None,), dtype=dtype, name="kept")
    given = {"x": x, "kept": kept} if named else [x, kept]
    right = keras.Model(given, layers.AttentionPooling(4)(x, mask=kept))
    wrong = keras.Model(given, ops.mean(x, axis=1) + ops.mean(ops.cast(kept, "float32")))
    bags = [RANDOM.normal(size=(n, 4)).astype("float32") for n in (3, 5, 9)]
    forms = [bags, bags[:1] * 2]
    if named:
        forms += [{"x": bags}, [{"x": bag} for bag in bags]]
        forms += [{"x": bags, "kept": [np.ones(len(bag), bool) for bag in bags]}]
        forms += [SequenceBatches({"x": bags}, mask="kept", batch_size=2, shuffle=True)]
    else:
        forms += [SequenceBatches(bags, mask=True)]
    for rows in forms:
        found = batch_independence(right, rows)
        assert found.holds and "padding length" in found.differences[0]
        assert not batch_independence(wrong, rows).holds


def test_batches_without_a_mask_are_rows_of_their_own_lengths():
    model = keras.Sequential([keras.Input((None, 4)), kl.GlobalMaxPooling1D()])
    bags = [-np.ones((n, 4), "float32") for n in (3, 5, 9)]
    for rows in (bags, SequenceBatches(bags)):
        found = batch_independence(model, rows)
        assert (found.holds, found.check) == (False, "padding length")


def test_a_mask_of_fewer_steps_than_the_inputs():
    x, keep = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    rows = [
        [RANDOM.normal(size=(n, 4)).astype("float32"), np.ones((n + 1) // 2, bool)]
        for n in (10, 7, 4)
    ]

    def model(padding):
        y = x if padding == "same" else kl.ZeroPadding1D(1)(x)
        y = kl.Conv1D(4, 3, strides=2, padding=padding, name="strided")(y)
        return keras.Model([x, keep], layers.StatisticsPooling1D()(y, mask=keep))

    assert batch_independence(model("valid"), rows).holds
    found = batch_independence(model("same"), rows)
    assert (found.holds, found.check, found.layer) == (False, "padding length", "strided")


def test_numbers_and_pixels_are_not_padded():
    x, length = keras.Input((None, 4)), keras.Input((), dtype="int32")
    rows = [[-RANDOM.uniform(size=(n, 4)).astype("float32"), np.int32(n)] for n in (6, 4, 1)]
    for pool, holds in ((ops.sum, True), (ops.max, False)):
        pooled = pool(x, axis=1) / ops.cast(length, "float32")[:, None]
        assert batch_independence(keras.Model([x, length], pooled), rows).holds == holds

    class Pixels(keras.Model):
        def call(self, x):
            return ops.mean(ops.cast(x, "float32"), axis=(1, 2))

    images = [RANDOM.integers(0, 255, (4, 5, 3)).astype("uint8") for _ in range(3)]
    assert batch_independence(Pixels(), images).holds


def test_a_small_fault_is_named_where_it_begins():
    x = kl.Embedding(30, 6, embeddings_initializer="normal")(ids := keras.Input((None,)))
    x = kl.GlobalMaxPooling1D(name="max")(kl.Rescaling(1e-3)(x))
    model = keras.Model(ids, kl.Rescaling(1e4, name="loud")(x))
    assert batch_independence(model, IDS).layer == "max"


def test_padding_stands_where_the_rows_have_it():
    """A model that counts places from the start of the array holds on one side alone."""
    ids = keras.Input((None,), dtype="int32")
    x = kl.Embedding(30, 6, mask_zero=True)(ids)
    places = kl.Embedding(40, 6)(ops.cumsum(ops.ones_like(ids), axis=1))
    model = keras.Model(ids, layers.AttentionPooling(4)(x + places, mask=ops.not_equal(ids, 0)))
    assert batch_independence(model, IDS).holds
    assert batch_independence(model, keras.utils.pad_sequences(IDS, padding="post")).holds
    assert not batch_independence(model, keras.utils.pad_sequences(IDS)).holds
    assert batch_independence(pooled(), keras.utils.pad_sequences(IDS)).holds


def test_half_precision_has_a_tolerance_of_its_own():
    with policy("mixed_float16"):
        found = batch_independence(pooled(), IDS)
    assert found.holds and found.tolerance == 1e-2
    assert batch_independence(pooled(), IDS).tolerance == 1e-4
    planted = PLANTED["mean over all steps"]
    assert batch_independence(planted.make(True), rows_of("ids"), tolerance=9).holds


def test_the_model_and_keras_are_left_as_they_were():
    before = keras.Layer.__call__, keras.Operation.__call__
    for fault in ("`BatchNormalization(training=True)`", "dropout left on"):
        model = PLANTED[fault].make(True)
        values = [numpy(v) for v in model.variables]
        batch_independence(model, rows_of("steps"))
        for a, b in zip(values, model.variables, strict=True):
            np.testing.assert_array_equal(a, numpy(b))
    assert (keras.Layer.__call__, keras.Operation.__call__) == before


class AtMostSix(keras.layers.Layer):
    """Refuses arrays of more than six steps."""

    supports_masking = True

    def call(self, inputs):
        if inputs.shape[1] is not None and inputs.shape[1] > 6:
            raise ValueError("no more than six steps")
        return inputs

    def compute_output_shape(self, input_shape):
        return input_shape


@pytest.mark.one_backend("TensorFlow's graphs learn the number of steps too late to refuse it")
def test_rows_that_the_model_refuses_are_said():
    ids = keras.Input((None,), dtype="int32")
    x = kl.Embedding(30, 6, mask_zero=True)(ids)
    model = keras.Model(ids, layers.AttentionPooling()(AtMostSix()(x)))
    found = batch_independence(model, IDS)
    assert found.holds and len(found.untried) == 2 and "refused" in str(found)


@pytest.mark.one_backend("refused before anything is computed")
@pytest.mark.parametrize(
    "change",
    [
        {"model": layers.AttentionPooling()},
        {"rows": []},
        {"rows": np.zeros((0, 3), int)},
        {"rows": [["a", "b"]]},
        {"rows": [[np.ones(3), np.ones(3)]] * 2},
        {"tolerance": 0},
    ],
)
def test_what_does_not_fit_is_refused(change):
    with refused(*change, "batch_independence"):
        batch_independence(**{"model": pooled(), "rows": IDS, **change})
