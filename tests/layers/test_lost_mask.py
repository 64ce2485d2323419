"""A layer that a functional graph calls without the mask that stood above it says so, once."""

import warnings

import keras
import numpy as np
import pytest
from keras import layers as kl
from keras import ops

from keras_attnpool import layers

pytestmark = [
    pytest.mark.every_backend,
    pytest.mark.torch_first("Keras hands masks on alike; test_docs_mask_table.py runs everywhere"),
]

HANDS_ON = kl.GRU(2).supports_masking  # Keras 3.16 ends the mask behind recurrent layers


def embedded(mask_zero=True, time=None):
    ids = keras.Input((time,), dtype="int32")
    return ids, kl.Embedding(9, 6, mask_zero=mask_zero)(ids)


def said(pool, *args, **kwargs):
    """The warnings of ours that a call gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pool(*args, **kwargs)
    return [str(w.message) for w in caught if "was called without a mask" in str(w.message)]


def nested(layer):
    inner = keras.Input((None, 6))
    return keras.Model(inner, layer(inner), name="inner")


class Spread(kl.Layer):
    """A layer of a user's own that knows nothing of masks."""

    def call(self, x):
        return x + 1


LOSES = {
    "strided": (kl.Conv1D(6, 3, strides=3, name="place"), "Conv1D"),
    "pooled": (kl.MaxPooling1D(2, name="place"), "MaxPooling1D"),
    "lambda": (kl.Lambda(lambda x: x * 2, name="place"), "Lambda"),
    "own": (Spread(name="place"), "Spread"),
    "einsum": (kl.EinsumDense("abc,cd->abd", (None, 6), name="place"), "EinsumDense"),
    "plus": (lambda x: x + x, "Add"),
    "scaled": (lambda x: 2 * x, "Multiply"),
    "function": (lambda x: ops.tanh(x), "Tanh"),
    "later": (lambda x: kl.Dropout(0.1)(kl.Dense(6)(kl.Conv1D(6, 3, name="place")(x))), "Conv1D"),
    "sum": (lambda x: kl.Add()([x, kl.Conv1D(6, 3, padding="same", name="place")(x)]), "Conv1D"),
    "one of two": (
        lambda x: kl.Add(name="place")([x, kl.Embedding(9, 6)(ops.argmax(x, axis=-1))]),
        "Add",
    ),
    "nested": (lambda x: nested(kl.Conv1D(6, 3, name="place"))(x), "Conv1D"),
    "behind nested": (lambda x: ops.tanh(nested(kl.Dense(6))(x)), "Tanh"),
    "sequential": (lambda x: keras.Sequential([kl.Conv1D(6, 3, name="place")])(x), "Conv1D"),
    "explicit": (lambda x: kl.Conv1D(6, 3, name="place")(layers.BidirectionalGRU(3)(x)), "Conv1D"),
    "query": (lambda x: kl.MultiHeadAttention(1, 4)(2 * x, x), "Multiply"),
}


@pytest.mark.parametrize("case", LOSES)
def test_a_lost_mask_is_said_with_its_place_and_the_cure(case):
    between, kind = LOSES[case]
    _, x = embedded()
    (text,) = said(layers.AttentionPooling(name="reader"), between(x))
    assert "'reader' (AttentionPooling)" in text and f"({kind})" in text
    assert "'place'" in text or kind in ("Add", "Multiply", "Tanh")
    assert "`mask=`" in text and "`compute_mask`" in text and "step" in text


@pytest.mark.parametrize(
    "between",
    [
        lambda: kl.GRU(6, return_sequences=True, name="place"),
        lambda: kl.Bidirectional(kl.LSTM(3, return_sequences=True), name="place"),
        lambda: kl.TimeDistributed(kl.Dense(6), name="place"),
    ],
)
def test_keras_s_recurrent_layers_are_named_where_they_end_the_mask(between):
    _, x = embedded()
    found = said(layers.AttentionPooling(), between()(x))
    assert len(found) == (0 if HANDS_ON else 1)
    assert all("'place'" in text for text in found)


def test_recurrent_layers_have_a_cure_of_their_own():
    class Ends(kl.GRU):
        """As Keras 3.16 has it."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.supports_masking = False

    ids, x = embedded()
    (text,) = said(layers.AttentionPooling(), Ends(6, return_sequences=True)(x))
    assert "BidirectionalGRU" in text
    # ... and the mask may have been an argument.
    states = Ends(6, return_sequences=True)(embedded(False)[1], mask=ops.not_equal(ids, 0))
    assert len(said(layers.AttentionPooling(), states)) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.MaskedAveragePooling1D(),
        lambda: layers.LastPooling1D(),
        lambda: layers.LowRankAttentionPooling(2),
        lambda: layers.PositionalSelfAttention(4),
        lambda: layers.SequentialAttention(mode="pointwise"),
        lambda: layers.BidirectionalLSTM(3),
    ],
)
def test_every_layer_says_it_once(make):
    layer = make()
    _, x = embedded()
    assert len(said(layer, 2 * x)) == 1
    assert said(layer, 2 * x) == []


def test_an_earlier_embedding_of_steps_counts_too():
    x = kl.Masking()(keras.Input((None, 6)))
    assert len(said(layers.AttentionPooling(), x * 2)) == 1
    assert said(layers.AttentionPooling(), x) == []


def fused(x):
    plain = embedded(False)[1]
    layers.FusionGate()(x, plain)
    layers.PositionFusion()([plain], x)
    return x


# None of these has lost a mask that the pooling should have had.
RIGHT = {
    "the mask arrives": lambda x: kl.Dense(6)(x),
    "no mask anywhere": lambda x: 2 * embedded(False)[1],
    "no mask in the query": lambda x: kl.MultiHeadAttention(1, 4)(embedded(False)[1], x),
    "no mask in the query, listed": lambda x: kl.Attention()([embedded(False)[1], x]),
    "pooled and repeated": lambda x: kl.RepeatVector(4)(layers.AttentionPooling()(x)),
    "several heads": lambda x: layers.LowRankAttentionPooling(4, flatten=False)(x),
    "heads, known length": lambda x: layers.LowRankAttentionPooling(4, flatten=False)(
        embedded(time=7)[1]
    ),
    "pooled by Keras": lambda x: kl.GlobalAveragePooling1D(keepdims=True)(x),
    "the last state": lambda x: ops.expand_dims(kl.GRU(6)(x), 1),
    "summed by hand": lambda x: ops.expand_dims(ops.sum(x, axis=1), 1),
    "nested": lambda x: nested(kl.Dense(6))(x),
    "nested with its own embedding": lambda x: keras.Model(*embedded())(embedded()[0]),
    "sentences": lambda x: layers.HierarchicalEncoder(
        keras.Model(*(lambda i, e: (i, layers.AttentionPooling()(e)))(*embedded()))
    )(keras.Input((None, None), dtype="int32")),
    "one of two tensors": fused,
    "flattened": lambda x: ops.tanh(ops.expand_dims(kl.Flatten()(embedded(time=3)[1]), 1)),
}


@pytest.mark.parametrize("case", RIGHT)
def test_nothing_is_said_where_no_mask_was_lost(case):
    _, x = embedded()
    with warnings.catch_warnings():
        # What stands in between may lose the mask on purpose, and Keras speak of it.
        warnings.simplefilter("ignore")
        between = RIGHT[case](x)
    assert said(layers.AttentionPooling(), between) == []


def test_nothing_is_said_where_the_mask_is_given():
    ids, x = embedded()
    pool = layers.AttentionPooling()
    assert said(pool, 2 * x, mask=ops.not_equal(ids, 0)) == []
    assert len(said(pool, 2 * x)) == 1


def test_only_the_inputs_of_a_layer_with_a_context_count():
    _, x = embedded()
    context = layers.MaskedAveragePooling1D()(x)
    assert said(layers.LowRankAttentionPooling(2), x, context=context) == []
    assert len(said(layers.LowRankAttentionPooling(2), 2 * x, context=context)) == 1


def test_an_eager_call_says_nothing():
    x = kl.Embedding(9, 6, mask_zero=True)(np.array([[1, 2, 0]]))
    assert said(layers.AttentionPooling(), 2 * x) == []


class TokensAndPlaces(kl.Layer):
    """Makes a mask inside, and loses it in a sum."""

    def __init__(self, mask_zero=True, **kwargs):
        super().__init__(**kwargs)
        self.tokens = kl.Embedding(20, 8, mask_zero=mask_zero)
        self.places = kl.Embedding(50, 8)

    def call(self, ids):
        return self.tokens(ids) + self.places(ops.arange(ops.shape(ids)[-1]))


class Latents(TokensAndPlaces):
    """Its steps are not those of the ids."""

    def call(self, ids):
        return ops.mean(super().call(ids), axis=1, keepdims=True) + self.places(ops.arange(4))


def test_a_mask_that_a_layer_makes_and_loses_inside():
    ids = keras.Input((None,), dtype="int32")
    with pytest.warns(UserWarning, match=r"lost at 'both' \(TokensAndPlaces\)"):
        layers.AttentionPooling()(TokensAndPlaces(name="both")(ids))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layers.AttentionPooling()(TokensAndPlaces(mask_zero=False)(ids))
        layers.AttentionPooling()(Latents()(ids))
