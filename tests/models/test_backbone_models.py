"""SAM, its baselines and any pooling on a token encoder: the rows of tables 2 to 5."""

import keras
import numpy as np
import pytest
from backend_functions import everywhere, numpy, trained_and_read_again
from refusals import refused

from keras_attnpool import analysis, layers, models

pytestmark = pytest.mark.every_backend

TIME = 6
DIM = 8
SMALL = {"lstm_units": 4, "sequence_length": TIME}

# Every row of tables 2 to 5, one call each.
ROWS = {
    "RoBERTa": lambda b, **o: models.BackboneClassifier(b, 3, sequence_length=TIME, **o),
    "RB": lambda b, **o: models.SAM(b, 3, order=(), **SMALL, **o),
    "RBA": lambda b, **o: models.AttentionBiLSTM(None, 3, backbone=b, **SMALL, **o),
    "DiSAN": lambda b, **o: models.DiSAN(
        None, 3, backbone=b, units=5, hidden_units=None, sequence_length=TIME, **o
    ),
    "SAM": lambda b, **o: models.SAM(b, 3, **SMALL, **o),
    "SAM -FAM": lambda b, **o: models.SAM(b, 3, order=("token",), **SMALL, **o),
    "SAM -TAM": lambda b, **o: models.SAM(b, 3, order=("feature",), **SMALL, **o),
    "SAM TAM+FAM": lambda b, **o: models.SAM(b, 3, order=("token", "feature"), **SMALL, **o),
    "SAM 0.1": lambda b, **o: models.SAM(b, 3, threshold=0.1, **SMALL, **o),
    "SAM pointwise": lambda b, **o: models.SAM(b, 3, mode="pointwise", **SMALL, **o),
}


def hub_like(name="backbone"):
    """A small encoder with the inputs and outputs of KerasHub's BERT: a mixer of all kept tokens.

    Its states hold something at padded steps too.
    """
    inputs = {
        "token_ids": keras.Input((None,), dtype="int32", name="token_ids"),
        "padding_mask": keras.Input((None,), dtype="int32", name="padding_mask"),
    }
    x = keras.layers.Embedding(20, DIM, name="token_embedding")(inputs["token_ids"])
    kept = keras.ops.cast(inputs["padding_mask"], "bool")
    mean = layers.MaskedAveragePooling1D(name="mixer")(x, mask=kept)
    x = keras.layers.Dropout(0.5, name="mixer_dropout")(x + keras.ops.expand_dims(mean, 1))
    return keras.Model(inputs, {"sequence_output": x, "pooled_output": mean}, name=name)


def plain(mask_zero=False):
    tokens = keras.Input((None,), dtype="int32")
    embedding = keras.layers.Embedding(20, DIM, mask_zero=mask_zero, name="token_embedding")
    return keras.Model(tokens, embedding(tokens), name="backbone")


def batch(time=TIME):
    ids = np.zeros((3, time), "int32")
    ids[0, :5] = [5, 3, 9, 12, 4]
    ids[1, :2] = [7, 2]
    return {"token_ids": ids, "padding_mask": (ids != 0).astype("int32")}


def features(time=TIME):
    rng = np.random.default_rng(0)
    mask = batch(time)["padding_mask"].astype(bool)
    x = np.where(mask[..., None], rng.normal(size=(3, time, DIM)), 0)
    return {"features": x.astype("float16"), "padding_mask": mask}


@pytest.mark.parametrize("row", everywhere(ROWS, "SAM", reason="SAM has the most parts"))
def test_every_row_trains_saves_and_reloads(row, tmp_path):
    """Fine-tuned on a KerasHub-like backbone: its weights move, too."""
    backbone = hub_like()
    model = ROWS[row](backbone)
    assert model.output_shape == (None, 3)
    before = numpy(backbone.weights[0]).copy()
    trained_and_read_again(model, batch(), np.array([0, 1, 2]), tmp_path)
    assert np.abs(numpy(backbone.weights[0]) - before).max() > 0


@pytest.mark.parametrize("row", everywhere(ROWS, "SAM", reason="SAM has the most parts"))
def test_padding_holds_nothing(row):
    """Precomputed features: what stands at padded steps is not seen."""
    model = ROWS[row](DIM)
    clean = features()
    for garbage in (99, np.nan):
        dirty = np.where(clean["padding_mask"][..., None], clean["features"], np.float16(garbage))
        scores = model.predict_on_batch({**clean, "features": dirty})
        np.testing.assert_allclose(scores, model.predict_on_batch(clean), atol=1e-6)


@pytest.mark.torch_first("every layer has its contract, and SAM runs everywhere")
def test_a_frozen_backbone_stays_and_runs_without_dropout(tmp_path):
    backbone = hub_like()
    model = ROWS["SAM"](backbone, trainable_backbone=False, dropout=0.0)
    assert not backbone.trainable
    before = [numpy(w).copy() for w in backbone.weights]
    np.testing.assert_array_equal(
        numpy(model(batch(), training=True)), numpy(model(batch(), training=False))
    )
    model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
    model.train_on_batch(batch(), np.array([0, 1, 2]))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        numpy(loaded(batch(), training=True)), numpy(model(batch(), training=False))
    )
    scores = analysis.attention_scores(loaded, batch(), "attention")
    np.testing.assert_allclose(scores["token"].sum(axis=1), [1, 1, 0], atol=1e-5)
    for weight, value in zip(backbone.weights, before, strict=True):
        np.testing.assert_array_equal(numpy(weight), value)
    tuned = ROWS["SAM"](hub_like(), dropout=0.0)
    assert (
        np.abs(numpy(tuned(batch(), training=True)) - numpy(tuned(batch(), training=False))).max()
        > 1e-4
    )


@pytest.mark.parametrize(
    "row", everywhere(["SAM", "SAM -TAM", "RBA", "DiSAN", "RB"], "SAM", reason="built as SAM is")
)
def test_features_computed_beforehand_are_the_frozen_backbone(row):
    backbone = hub_like()
    whole = ROWS[row](backbone, trainable_backbone=False)
    behind = ROWS[row](DIM)
    behind.set_weights([w for w in whole.get_weights()][len(backbone.weights) :])
    states = numpy(backbone(batch(), training=False)["sequence_output"])
    scores = behind.predict_on_batch(
        {"features": states, "padding_mask": batch()["padding_mask"].astype(bool)}
    )
    np.testing.assert_allclose(scores, whole.predict_on_batch(batch()), atol=1e-6)


def test_a_frozen_backbone_of_kerashub_stays_frozen(tmp_path):
    """Of any length up to its positions; also once it was saved and loaded."""
    keras_hub = pytest.importorskip("keras_hub", reason="KerasHub is an optional extra")
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=20,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=8,
        max_sequence_length=12,
    )
    model = models.BackboneClassifier(backbone, 3, trainable_backbone=False)
    inputs = {**batch(), "segment_ids": np.zeros((3, TIME), "int32")}
    predictions = model.predict_on_batch(inputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict_on_batch(inputs), predictions, atol=1e-6)
    assert len(model.trainable_weights) == len(loaded.trainable_weights) == 2
    loaded.compile(keras.optimizers.SGD(1.0), "sparse_categorical_crossentropy")
    before = [numpy(w).copy() for w in backbone.weights]
    loaded.train_on_batch(inputs, np.array([0, 1, 2]))
    for weight, value in zip(loaded.get_layer("frozen").weights, before, strict=True):
        np.testing.assert_array_equal(numpy(weight), value)


@pytest.mark.torch_first("every layer has its contract, and SAM runs everywhere")
def test_the_first_token_is_the_first_that_is_kept():
    model = models.BackboneClassifier(DIM, 3)
    x = features()
    left = {name: np.roll(value, 2, axis=1) for name, value in x.items()}
    left["features"][~left["padding_mask"]] = 7
    assert not left["padding_mask"][1, 0]
    scores = model.predict_on_batch({name: value[1:] for name, value in left.items()})
    np.testing.assert_allclose(scores, model.predict_on_batch(x)[1:], atol=1e-6)


@pytest.mark.torch_first("every layer has its contract, and SAM runs everywhere")
def test_sequential_backbones_and_those_of_floats():
    table = keras.layers.Embedding(20, DIM, name="table")
    ids = keras.Sequential([keras.Input((None,), dtype="int32"), table])
    model = models.AttentionBiLSTM(None, 3, backbone=ids, lstm_units=4)
    short, long = batch()["token_ids"], batch(TIME + 3)["token_ids"]
    scores = model.predict_on_batch(long)
    np.testing.assert_allclose(scores, model.predict_on_batch(short), atol=1e-6)
    # Without a mask, and with one of Keras's.
    plain_floats = keras.Sequential([keras.Input((TIME, DIM)), keras.layers.Dense(5, name="first")])
    assert models.SAM(plain_floats, 3, lstm_units=4).output_shape == (None, 3)
    masked = keras.Sequential([keras.Input((None, DIM)), keras.layers.Masking(name="masking")])
    x = features(TIME)["features"].astype("float32")
    longer = np.pad(x, ((0, 0), (0, 3), (0, 0)))
    for model in (
        models.SAM(masked, 3, mode="pointwise", lstm_units=4),
        models.AttentionBiLSTM(None, 3, backbone=masked, lstm_units=4),
        models.BackboneClassifier(masked, 3, pooling="mean", trainable_backbone=False),
    ):
        scores = model.predict_on_batch(longer)[:2]
        np.testing.assert_allclose(scores, model.predict_on_batch(x)[:2], atol=1e-6)


@pytest.mark.torch_first("every layer has its contract, and SAM runs everywhere")
def test_a_backbone_must_tell_padding_from_tokens():
    names = ("token_ids", "segment_ids")
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    table = keras.layers.Embedding(20, DIM, name="table")
    summed = keras.ops.add(*[table(x) for x in inputs.values()])
    blind = keras.Model(inputs, summed, name="blind")
    with refused("backbone", "SAM", "blind"):
        models.SAM(blind, 3, mode="pointwise")
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name) for name in ("ids", "attention_mask")
    }
    other = keras.Model(inputs, table(inputs["ids"]), name="other")
    model = models.SAM(other, 3, mode="pointwise", lstm_units=4)
    given = {"ids": batch()["token_ids"], "attention_mask": batch()["padding_mask"]}
    longer = {name: np.pad(value, ((0, 0), (0, 2))) for name, value in given.items()}
    np.testing.assert_allclose(
        model.predict_on_batch(longer), model.predict_on_batch(given), atol=1e-6
    )


@pytest.mark.torch_first("every layer has its contract, and SAM runs everywhere")
@pytest.mark.parametrize("mask_zero", [False, True])
def test_a_plain_model_of_ids_masks_what_is_zero(mask_zero):
    model = models.SAM(plain(mask_zero), 3, mode="pointwise", lstm_units=4)
    ids = batch()["token_ids"]
    longer = np.pad(ids, ((0, 0), (0, 5)))
    np.testing.assert_allclose(
        model.predict_on_batch(longer), model.predict_on_batch(ids), atol=1e-6
    )


@pytest.mark.torch_first("every layer has its contract, and SAM runs everywhere")
def test_pointwise_models_take_any_length_and_dense_ones_need_it():
    with refused("sequence_length", "SAM", "pointwise"):
        models.SAM(DIM, 3)
    model = models.SAM(DIM, 3, mode="pointwise", lstm_units=4)
    np.testing.assert_allclose(
        model.predict_on_batch(features(TIME + 4))[1:],
        model.predict_on_batch(
            {name: value[:, : TIME - 1] for name, value in features(TIME + 4).items()}
        )[1:],
        atol=1e-6,
    )


@pytest.mark.torch_first("every layer has its contract, and SAM runs everywhere")
def test_tokens_weighed_first_are_summed_and_otherwise_averaged():
    """With a gate of 1/2, weights of 1/n and the identity behind them: half the mean, both ways."""
    x = features()
    mean = x["features"].astype("float32").sum(1) / np.maximum(x["padding_mask"].sum(1), 1)[:, None]
    for order in (("token", "feature"), ("feature",), ("feature", "token"), ("token",), ()):
        model = models.SAM(
            DIM, DIM, order=order, num_layers=0, sequence_length=TIME, classifier_activation=None
        )
        if order:
            attention = model.get_layer("attention")
            attention.set_weights([np.zeros_like(w) for w in attention.get_weights()])
        model.get_layer("classifier").set_weights([np.eye(DIM), np.zeros(DIM)])
        target = mean / 2 if "feature" in order else mean
        np.testing.assert_allclose(model.predict_on_batch(x), target, atol=1e-5)


@pytest.mark.one_backend("counts parameters")
def test_parameters():
    """RB on 768 features: two BiLSTMs of 256; then FAM, TAM and a linear classifier."""
    rb = models.SAM(768, 6, order=(), sequence_length=128)
    assert rb.count_params() == 3_674_112 + 512 * 6 + 6
    assert models.SAM(768, 6, sequence_length=128).count_params() == rb.count_params() + 35_496
    added = models.AttentionBiLSTM(None, 6, backbone=768)
    assert added.count_params() == 3_674_112 + 256 + 256 * 6 + 6
    joined = models.AttentionBiLSTM(None, 6, backbone=768, merge_mode="concat")
    assert joined.count_params() == 3_674_112 + 512 + 512 * 6 + 6


@pytest.mark.torch_first("every layer has its contract, and SAM runs everywhere")
@pytest.mark.parametrize(
    "pooling",
    [
        "first",
        "mean",
        "max",
        layers.AttentionPooling(hidden_dim=4, name="pooling"),
        layers.LowRankAttentionPooling(2, name="pooling"),
        layers.StructuredSelfAttentionPooling(2, 4, name="pooling"),
        layers.GeneralizedPooling(2, 4, name="pooling"),
        layers.MultiDimAttentionPooling(name="pooling"),
        layers.ConvAttentionPooling(2, 4, name="pooling"),
        layers.SequentialAttention(mode="pointwise", name="pooling"),
    ],
    ids=lambda p: p if isinstance(p, str) else type(p).__name__,
)
def test_any_pooling_goes_on_a_backbone(pooling):
    """And a batch with padding is each text alone."""
    model = models.BackboneClassifier(hub_like(), 3, pooling=pooling, hidden_units=4)
    together = model.predict_on_batch(batch())
    for row, length in enumerate((5, 2)):
        alone = {name: value[row : row + 1, :length] for name, value in batch().items()}
        np.testing.assert_allclose(model.predict_on_batch(alone)[0], together[row], atol=1e-5)


@pytest.mark.torch_first("every layer has its contract, and SAM runs everywhere")
def test_encoders_come_in_order_with_the_mask():
    stages = [
        keras.layers.Dense(5, name="projection"),
        layers.ConvMultiHeadAttention(2, 4, name="mixing"),
    ]
    model = models.BackboneClassifier(hub_like(), 3, encoder=stages, pooling="mean")
    assert [layer.name for layer in model.layers if layer in stages] == ["projection", "mixing"]
    one = models.BackboneClassifier(hub_like(), 3, encoder=keras.layers.Dense(5), pooling="max")
    assert one.get_layer("classifier").kernel.shape == (5, 3)
    wide = {name: np.pad(value, ((0, 0), (0, 3))) for name, value in batch().items()}
    np.testing.assert_allclose(
        model.predict_on_batch(wide), model.predict_on_batch(batch()), atol=1e-5
    )


@pytest.mark.one_backend("refused before anything is computed")
def test_a_backbone_without_states_is_an_error():
    tokens = keras.Input((None,), dtype="int32")
    vector = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(5, 4)(tokens))
    with refused("backbone", "SAM", "return states"):
        models.SAM(keras.Model(tokens, vector), 3, mode="pointwise")


@pytest.mark.one_backend("refused before anything is computed")
def test_a_vocabulary_or_a_backbone_but_not_both():
    for builder in (models.AttentionBiLSTM, models.DiSAN, models.BiBloSAN):
        with refused("vocabulary_size", builder.__name__):
            builder(None, 3)
        with refused("vocabulary_size", builder.__name__):
            builder(20, 3, backbone=DIM)
        with refused("embeddings", builder.__name__):
            builder(None, 3, backbone=DIM, embeddings=np.zeros((20, 4)))


@pytest.mark.one_backend("refused before anything is computed")
def test_layers_of_the_backbone_called_like_those_behind_it_are_an_error():
    inputs = keras.Input((None, DIM))
    backbone = keras.Model(inputs, keras.layers.Dense(4, name="classifier")(inputs), name="b")
    with refused("backbone", None, "classifier/kernel"):
        models.BackboneClassifier(backbone, 3, pooling="mean")


@pytest.mark.parametrize("backbone", [DIM, hub_like()], ids=["features", "backbone"])
def test_an_additive_mask_is_refused(backbone):
    """Keras would make -1e9 True. A compiled function cannot look."""
    model = models.BackboneClassifier(backbone, 3, pooling="mean", sequence_length=TIME)
    inputs = features() if backbone is DIM else batch()
    assert np.isfinite(numpy(model(inputs))).all()
    for worst in (-1e9, np.finfo("float32").min, -np.inf):
        additive = np.where(inputs["padding_mask"], 0, worst).astype("float32")
        with refused("padding_mask", "the inputs", "`mask == 0`"):
            model({**inputs, "padding_mask": additive})


@pytest.mark.one_backend("refused before anything is computed")
def test_unknown_parts_are_errors():
    with pytest.raises(ValueError, match="`encoder` of BackboneClassifier.*a list of them"):
        models.BackboneClassifier(DIM, 3, encoder=[layers.BidirectionalGRU(3), "bert"])
    for pooling in (layers.FeatureWiseAttention(), layers.GeneralizedPooling(2, 4, flatten=False)):
        with pytest.raises(ValueError, match="`pooling` of BackboneClassifier.*one vector"):
            models.BackboneClassifier(DIM, 3, pooling=pooling)


@pytest.mark.parametrize("row", ["RoBERTa", "RBA", "DiSAN", "SAM"])
def test_a_backbone_that_is_frozen_in_part_stays_so(row):
    backbone = hub_like()
    backbone.get_layer("token_embedding").trainable = False
    x = keras.layers.Dense(DIM, name="adapter")(backbone.output["sequence_output"])
    backbone = keras.Model(backbone.input, {"sequence_output": x})
    model = ROWS[row](backbone)
    paths = {weight.path for weight in model.trainable_weights}
    assert any("adapter" in path for path in paths)
    assert not any("token_embedding" in path for path in paths)
    backbone.trainable = False
    model = ROWS[row](backbone)
    assert any("token_embedding" in weight.path for weight in model.trainable_weights)
