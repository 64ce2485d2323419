"""The contract for layers of others says what they break; layer_contract.py holds ours to it."""

import re

import keras
import pytest
from keras import ops

from keras_attnpool import layers
from keras_attnpool.testing import PROMISES, check_pooling_layer

pytestmark = pytest.mark.every_backend


class Hand(keras.layers.Layer):
    """A learned score per step, a softmax, a sum: as it is written by hand."""

    def build(self, shape):
        self.score = self.add_weight(shape=(shape[-1],), initializer="ones", name="score")

    def pooled(self, x, scores):
        return ops.sum(ops.softmax(scores, axis=1)[..., None] * x, axis=1)


class NoMask(Hand):
    def call(self, x):
        return self.pooled(x, ops.matmul(x, self.score))


class Ignores(Hand):
    def call(self, x, mask=None):
        return self.pooled(x, ops.matmul(x, self.score))


class Adds(Hand):
    """The usual mask of a large negative number."""

    def call(self, x, mask=None):
        scores = ops.matmul(x, self.score)
        return self.pooled(x, scores if mask is None else ops.where(mask, scores, -1e9))


class Multiplies(keras.layers.Layer):
    """A mean of inputs times the mask, over the number of all steps."""

    def call(self, x, mask=None):
        return ops.mean(x * ops.cast(mask, x.dtype)[..., None], axis=1)


class Unsaved(layers.MaskedAveragePooling1D):
    def __init__(self, size):
        super().__init__()


WILD = {
    NoMask: {"mask"},
    Ignores: {"padding content", "padding length", "nan", "empty row", "gradient"},
    Adds: {"nan", "empty row", "gradient"},
    Multiplies: {"padding length", "nan"},
}


def broken(make, **kwargs):
    with pytest.raises(AssertionError) as error:
        check_pooling_layer(make, **kwargs)
    text = str(error.value)
    return set(re.findall(r"^- ([a-z ]+):", text, re.M)) or set(re.findall("'(.*)' is", text))


@pytest.mark.parametrize("kind", WILD)
def test_layers_in_the_wild_are_told_what_they_break(kind):
    found = broken(kind)
    assert WILD[kind] <= found, found


@pytest.mark.one_backend("saving is Keras's alone")
def test_a_layer_that_does_not_load_and_promises_left_out():
    assert broken(lambda: Unsaved(3)) == {"saving"}
    check_pooling_layer(lambda: Unsaved(3), skip=["saving"])
    check_pooling_layer(Ignores, skip=PROMISES)
    with pytest.raises(ValueError, match="`skip` of check_pooling_layer"):
        check_pooling_layer(Ignores, skip=["speed"])
