"""Learned position vectors, HCAN section 3.6."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy
from layer_contract import DIM, SequenceContract, batch, probed
from reference import hcan as reference

from keras_attnpool.layers import AddPositionEmbedding

pytestmark = pytest.mark.every_backend


class TestAddPositionEmbedding(SequenceContract):
    def make(self, **kwargs):
        return AddPositionEmbedding(9, **kwargs)

    def reference(self, weights, x, mask):
        return reference.add_positions(x, mask, weights["embeddings"])


@pytest.mark.torch_first("the reference has the same equations")
def test_worked_by_hand():
    """The last position is not used, the hole keeps its own."""
    layer = AddPositionEmbedding(4)
    layer.build((None, None, 2))
    layer.set_weights([np.arange(1, 9).reshape(4, 2)])
    x = np.array([[[10, 20], [30, 40], [50, 60]]], "float32")
    np.testing.assert_array_equal(numpy(layer(x)), [[[11, 22], [33, 44], [55, 66]]])
    masked = numpy(layer(x, mask=[[True, False, True]]))
    np.testing.assert_array_equal(masked, [[[11, 22], [0, 0], [55, 66]]])


def test_positions_without_a_step_have_no_gradient():
    x, mask = batch(rows=2)
    mask[:, 2] = False
    layer = AddPositionEmbedding(7)
    layer.build((None, None, DIM))
    probe = np.ones((2, 5, DIM))
    _, found = gradients(layer, x, lambda t: probed(layer(t, mask=mask), probe))
    (on_positions,) = found.values()
    counts = np.append(mask.sum(axis=0), [0, 0])
    np.testing.assert_array_equal(on_positions, np.repeat(counts[:, None], DIM, axis=1))


def test_positions_start_normal_with_deviation_one_tenth_and_seeded():
    layers = [AddPositionEmbedding(1000, seed=seed) for seed in (1, 1, 2)]
    for layer in layers:
        layer.build((None, None, 50))
    first, again, other = (numpy(layer.embeddings) for layer in layers)
    assert first.shape == (1000, 50)
    np.testing.assert_allclose([first.mean(), first.std()], [0, 0.1], atol=1e-3)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0
    zeros = AddPositionEmbedding(3, embeddings_initializer="zeros")
    x, _ = batch(time=3)
    np.testing.assert_array_equal(numpy(zeros(x)), x)


def test_the_regularizer_reaches_the_loss():
    regularizer = keras.regularizers.L1(2.0)
    layer = AddPositionEmbedding(
        3, embeddings_initializer="ones", embeddings_regularizer=regularizer
    )
    layer.build((None, None, 2))
    assert float(numpy(sum(layer.losses))) == 12


@pytest.mark.parametrize("max_length", [1, 4])
class TestTooLong:
    """One position would be added to every step, if it came to that."""

    message = (
        r"'the_name' \(AddPositionEmbedding\) must have no more than max_length=.* 5 steps .*5, 6\)"
    )

    def make(self, max_length):
        return AddPositionEmbedding(max_length, name="the_name")

    def test_eager_inputs(self, max_length):
        with pytest.raises(ValueError, match=self.message):
            self.make(max_length)(batch()[0])

    def test_symbolic_inputs(self, max_length):
        with pytest.raises(ValueError, match=self.message):
            self.make(max_length)(keras.Input((5, DIM)))

    def test_in_a_model_of_unknown_length(self, max_length):
        inputs = keras.Input((None, DIM))
        model = keras.Model(inputs, self.make(max_length)(inputs))
        x, _ = batch()
        fitting = x[:, :max_length]
        assert model.predict(fitting, verbose=0).shape == fitting.shape
        # A ValueError, or what a TensorFlow graph raises when it runs.
        with pytest.raises(Exception, match="max_length|[Rr]eshape|[Ii]nput to reshape"):
            model.predict(x, verbose=0)
        with pytest.raises(ValueError, match=self.message):
            model(x)

    def test_padding_may_be_longer(self, max_length):
        """The span from the first kept step to the last must fit, with its holes."""
        x, _ = batch(rows=2)
        layer = self.make(max_length)
        layer.build(x.shape)
        mask = np.zeros((2, 5), bool)
        mask[:, 5 - max_length :] = True
        target = x[:, 5 - max_length :] + numpy(layer.embeddings)
        np.testing.assert_allclose(numpy(layer(x, mask=mask))[:, 5 - max_length :], target)
        inputs, keep = keras.Input((5, DIM)), keras.Input((5,), dtype="bool")
        model = keras.Model([inputs, keep], layer(inputs, mask=keep))
        found = model.predict_on_batch([x, mask])
        np.testing.assert_allclose(found[:, 5 - max_length :], target, rtol=1e-6)
        mask[:] = [True, False, False, False, True]
        with pytest.raises(ValueError, match=self.message):
            layer(x, mask=mask)
        # Compiled, nobody sees the mask: a number would be silently wrong.
        try:
            beyond = model.predict_on_batch([x, mask])
        except Exception:
            return
        assert np.isfinite(beyond[:, 0]).all() and np.isnan(beyond[:, 4]).all()
