"""Which layers of a model give weight to padding, and where they lost the mask."""

import sys
import threading
from pathlib import Path

import keras
import numpy as np
import pytest
from backend_functions import numpy
from keras import layers as kl
from keras import ops

from keras_attnpool import layers
from keras_attnpool.analysis import MaskLeak, mask_leaks

sys.path.insert(0, str(Path(__file__).parent.parent))
import catalogue  # noqa: E402
from refusals import refused

pytestmark = [
    pytest.mark.every_backend,
    # That functional models lose masks is what they are here for.
    pytest.mark.filterwarnings("ignore:.*called without a mask:UserWarning"),
]

IDS = np.array([[1, 2, 3, 4, 5, 6], [7, 8, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]], "int32")
KEEP = IDS != 0


def functional(after):
    ids = keras.Input((None,), dtype="int32")
    return keras.Model(ids, after(kl.Embedding(9, 6, mask_zero=True, name="words")(ids)))


class Subclassed(keras.Model):
    """What comes between the embedding and the pooling is a function of tensors."""

    def __init__(self, between, pooling):
        super().__init__()
        self.words = kl.Embedding(9, 6, mask_zero=True, name="words")
        self.between, self.pooling = between, pooling
        self.out = kl.Dense(2)

    def call(self, ids):
        return self.out(self.pooling(self.between(self.words(ids))))


POOLINGS = {
    "attention": lambda: layers.AttentionPooling(name="reader"),
    "heads": lambda: layers.LowRankAttentionPooling(2, name="reader"),
    "features": lambda: layers.GeneralizedPooling(2, 4, name="reader"),
    "one head of features": lambda: layers.MultiDimAttentionPooling(name="reader"),
    "mean": lambda: layers.MaskedAveragePooling1D(name="reader"),
    "keras mean": lambda: kl.GlobalAveragePooling1D(name="reader"),
    "last": lambda: layers.LastPooling1D(name="reader"),
}
LOST = {
    "functional": lambda pool: functional(lambda x: pool(ops.tanh(x))),
    "subclassed": lambda pool: Subclassed(ops.tanh, pool),
    "subclassed by a layer": lambda pool: Subclassed(kl.Lambda(ops.tanh, name="tanh"), pool),
}


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("model", LOST)
def test_the_share_on_padding_is_that_of_the_weights(pooling, model):
    pool = POOLINGS[pooling]()
    built = LOST[model](pool)
    (leak,) = mask_leaks(built, IDS)
    assert leak.layer == "reader" and leak.kind == type(pool).__name__
    words = built.get_layer("words") if model == "functional" else built.words
    states = np.tanh(numpy(words(IDS)))
    if hasattr(pool, "_scores_shape"):
        _, scores = pool(states, return_attention_scores=True)
        weights = numpy(scores).reshape(3, -1, 6) if pooling == "heads" else numpy(scores)
        time = {"attention": 1, "heads": 2, "features": 2, "one head of features": 1}[pooling]
        weights = np.moveaxis(weights, time, 1)[:2].reshape(2, 6, -1)
    else:
        weights = np.full((2, 6, 1), 1 / 6)
        if pooling == "last":
            weights = np.eye(6)[[5, 5]][..., None]
    target = weights[~KEEP[:2]].sum() / weights.sum()
    np.testing.assert_allclose(leak.share, target, rtol=1e-4)
    place = {"functional": "'tanh' (Tanh)", "subclassed by a layer": "'tanh' (Lambda)"}
    assert leak.lost_at == place.get(model, "an operation outside of layers, behind 'words'")
    assert f"{leak.share:.1%}".replace("%", " %") in str(leak) and leak.lost_at in str(leak)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_nothing_leaks_where_the_mask_arrives(pooling):
    assert mask_leaks(functional(POOLINGS[pooling]()), IDS) == []
    assert mask_leaks(Subclassed(kl.Dense(6), POOLINGS[pooling]()), IDS) == []
    ids = keras.Input((None,), dtype="int32")
    x = ops.tanh(kl.Embedding(9, 6, mask_zero=True)(ids))
    explicit = POOLINGS[pooling]()(x, mask=ops.not_equal(ids, 0))
    assert mask_leaks(keras.Model(ids, explicit), IDS) == []


@pytest.mark.one_backend("Keras hands masks on alike under every backend")
@pytest.mark.parametrize("name", catalogue.CASES)
def test_no_layer_and_no_model_of_ours_leaks(name):
    case = catalogue.CASES[name]
    assert mask_leaks(case.model(), case.fed) == []


def test_a_model_without_masks_has_nothing_to_leak():
    ids = keras.Input((None,), dtype="int32")
    plain = kl.Embedding(9, 6)(ids)
    assert mask_leaks(keras.Model(ids, layers.AttentionPooling()(2 * plain)), IDS) == []
    # ... nor has a branch without one beside a branch with one.
    features = keras.Input((None, 6))
    masked = layers.AttentionPooling()(kl.Embedding(9, 6, mask_zero=True)(ids))
    beside = layers.AttentionPooling()(kl.Dense(6)(features))
    model = keras.Model([ids, features], [masked, beside])
    assert mask_leaks(model, [IDS, np.ones((3, 6, 6), "float32")]) == []


def test_a_nested_model_of_several_inputs_hands_the_masks_in():
    features, keep = keras.Input((None, 6)), keras.Input((None,), dtype="bool")
    inner = keras.Model([features, keep], layers.AttentionPooling()(features, mask=keep))
    outer = keras.Input((None, 6)), keras.Input((None,), dtype="bool")
    model = keras.Model(outer, inner([kl.Masking()(outer[0]), outer[1]]))
    steps = np.where(KEEP[..., None], np.ones((3, 6, 6), "float32"), 0)
    assert mask_leaks(model, [steps, KEEP]) == []
    assert mask_leaks(model, [steps, np.ones_like(KEEP)]) != []


def test_keras_s_attention_layers_are_looked_at():
    def between(x):
        lost = 2 * x
        y = kl.MultiHeadAttention(2, 3, name="heads")(lost, lost)
        z = kl.Attention(name="dots")([lost, lost])
        w = kl.AdditiveAttention(name="sums")([lost, lost])
        right = kl.MultiHeadAttention(2, 3, name="right")(x, x)
        return [layers.MaskedAveragePooling1D()(each) for each in (right,)] + [y, z, w]

    found = mask_leaks(functional(between), IDS)
    assert {leak.layer for leak in found} == {"heads", "dots", "sums"}
    assert all(0 < leak.share < 1 and "Multiply" in leak.lost_at for leak in found)


def test_a_pooling_that_takes_no_mask_is_its_own_place():
    features = keras.Input((None, 2))
    model = keras.Model(features, kl.GlobalMaxPooling1D()(kl.Masking()(features)))
    (leak,) = mask_leaks(model, np.array([[[-1, 1], [0, 0]]], "float32"))
    assert "itself" in leak.lost_at and leak.share == 0.5


def test_a_maximum_leaks_by_the_features_that_padding_decides():
    features = keras.Input((None, 2))
    lost = 1 * kl.Masking()(features)
    model = keras.Model(features, layers.MaskedMaxPooling1D()(lost))
    steps = np.array([[[1, -1], [2, -2], [0, 0]]], "float32")
    (leak,) = mask_leaks(model, steps)
    assert leak.share == 0.5
    assert mask_leaks(model, np.abs(steps)) == []


def test_a_mask_that_a_later_call_takes_off_is_missed():
    class Takes(kl.Layer):
        """As `MultiHeadAttention` of Keras 3.16 does."""

        def call(self, x):
            x._keras_mask = None
            return 1 * x

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.words = kl.Embedding(9, 6, mask_zero=True, name="words")
            self.takes, self.pooling = Takes(), layers.AttentionPooling()

        def call(self, ids):
            x = self.words(ids)
            self.takes(x)
            return self.pooling(x)

    (leak,) = mask_leaks(Model(), IDS)
    assert leak.lost_at == "the output of 'words', from which a later call took it"


def test_a_layer_without_weights_over_time_says_that_padding_counts():
    (leak,) = mask_leaks(functional(lambda x: layers.FeatureWiseAttention()(2 * x)), IDS)
    assert np.isnan(leak.share) and "padding counts" in str(leak)


def test_paths_lead_into_nested_models_and_layers():
    class Block(kl.Layer):
        def __init__(self):
            super().__init__(name="block")
            self.pool = layers.AttentionPooling(name="pool")

        def call(self, x):
            return self.pool(x + 1)

    def nest(x):
        inner = keras.Input((None, 6))
        return keras.Model(inner, layers.AttentionPooling(name="pool")(2 * inner), name="nest")(x)

    found = mask_leaks(functional(lambda x: [nest(x), Block()(x)]), IDS)
    assert sorted(leak.layer for leak in found) == ["block/pool", "nest/pool"]


def test_a_transformer_on_tokens_plus_positions_leaks():
    ids = keras.Input((6,), dtype="int32")
    x = kl.Embedding(9, 6, mask_zero=True)(ids) + kl.Embedding(6, 6)(np.arange(6)[None])
    attended = kl.MultiHeadAttention(2, 6, name="heads")(x, x)
    x = kl.LayerNormalization()(x + attended)
    model = keras.Model(ids, layers.AttentionPooling(name="reader")(x))
    found = mask_leaks(model, IDS)
    assert [leak.layer for leak in found] == ["heads", "reader"]
    assert all("(Add)" in leak.lost_at and 0.1 < leak.share < 0.9 for leak in found)


def test_convolutions_with_strides_leak_from_the_first_on():
    ids = np.pad(np.ones((2, 20), "int32"), ((0, 0), (0, 20)))
    ids[0] = 1
    model = functional(
        lambda x: layers.MaskedAveragePooling1D(name="reader")(
            kl.Conv1D(4, 3, strides=2, name="second")(kl.Conv1D(4, 3, strides=2, name="first")(x))
        )
    )
    (leak,) = mask_leaks(model, ids)
    assert leak.lost_at == "'first' (Conv1D)"
    assert abs(leak.share - 0.25) < 0.05


def test_the_model_and_keras_are_left_as_they_were():
    before = keras.Layer.__call__, keras.Operation.__call__
    model = functional(lambda x: layers.AttentionPooling()(2 * x))
    weights = [numpy(w) for w in model.weights]
    first = mask_leaks(model, IDS)
    with pytest.raises(Exception, match="."):
        mask_leaks(model, np.zeros((1, 2, 3, 4), "float32"))
    assert (keras.Layer.__call__, keras.Operation.__call__) == before
    for a, b in zip(weights, model.weights, strict=True):
        np.testing.assert_array_equal(a, numpy(b))
    assert mask_leaks(model, IDS) == first
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(mask_leaks(model, IDS))) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [first, first]
    assert (keras.Layer.__call__, keras.Operation.__call__) == before


def test_what_is_no_model_is_refused():
    with refused("model", "mask_leaks"):
        mask_leaks(layers.AttentionPooling(), IDS)
    assert MaskLeak("a", "B", 0.5, "c").share == 0.5


class TokensAndPlaces(kl.Layer):
    """The usual embedding of tokens and positions: the mask is made inside, and lost in the sum."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.tokens = kl.Embedding(9, 6, mask_zero=True)
        self.places = kl.Embedding(50, 6)

    def call(self, ids):
        return self.tokens(ids) + self.places(ops.arange(ops.shape(ids)[-1]))


@pytest.mark.parametrize("pooling", ["attention", "keras mean"])
def test_a_mask_that_a_layer_makes_and_loses_inside(pooling):
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, POOLINGS[pooling]()(TokensAndPlaces(name="both")(ids)))
    (leak,) = mask_leaks(model, IDS)
    assert leak.layer == "reader" and leak.lost_at == "'both' (TokensAndPlaces)"


def test_a_mask_that_keeps_the_padding_is_told_from_one_that_is_lost():
    ids = keras.Input((None,), dtype="int32")
    x = kl.Embedding(9, 6, mask_zero=True)(ids)
    model = keras.Model(ids, layers.AttentionPooling(name="reader")(x, mask=ops.equal(ids, 0)))
    (leak,) = mask_leaks(model, IDS)
    assert leak.share > 0.9
    assert leak.lost_at == "'reader' (AttentionPooling) itself, whose `mask=` keeps padding"


def test_a_batch_that_can_show_no_leak_is_said():
    model = functional(lambda x: POOLINGS["attention"]()(ops.tanh(x)))
    with pytest.warns(UserWarning, match="mask_leaks saw masks that keep every step"):
        assert mask_leaks(model, np.ones((2, 5), "int32")) == []
    with refused("inputs", "mask_leaks"):
        mask_leaks(model, IDS[:0])


class MaskFirst(Subclassed):
    """Writes the mask before the inputs."""

    def call(self, ids):
        return self.out(self.pooling(mask=None, inputs=self.between(self.words(ids))))


def test_the_order_of_named_arguments_hides_nothing():
    pooling = layers.AttentionPooling(name="reader")
    (leak,) = mask_leaks(MaskFirst(ops.tanh, pooling), IDS)
    (expected,) = mask_leaks(Subclassed(ops.tanh, pooling), IDS)
    assert leak.layer == "reader" and leak.share == pytest.approx(expected.share, abs=0.3)
    assert leak.share > 0.1
