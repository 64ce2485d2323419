"""DiSAN's fusion gate."""

import warnings

import keras
import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import DIM, EquationContract, SeededContract, SequenceContract, batch
from reference import disan as reference

from keras_attnpool.layers import FusionGate, MaskedAveragePooling1D

pytestmark = pytest.mark.every_backend


def attention_of(x):
    """An attention that follows from the inputs, so that the contract need hand over one tensor."""
    return 2 * x[..., ::-1]


@keras.saving.register_keras_serializable(package="test_fusion_gate")
class OfItsInputs(FusionGate):
    """The layer called with the inputs and `attention_of` them."""

    def build(self, input_shape):
        super().build(input_shape, input_shape)

    def call(self, inputs, mask=None, training=None, return_attention_scores=False):
        attention = 2 * keras.ops.flip(inputs, axis=-1)
        return super().call(inputs, attention, mask, training, return_attention_scores)

    def compute_output_shape(self, input_shape):
        return super().compute_output_shape(input_shape, input_shape)

    def compute_output_spec(self, inputs, mask=None, training=None, return_attention_scores=False):
        return super().compute_output_spec(inputs, inputs, mask, training, return_attention_scores)


class TestFusionGate(SeededContract, SequenceContract):
    def make(self, **kwargs):
        return OfItsInputs(**kwargs)

    def calls(self):
        return [{}, {"return_attention_scores": True}]

    def reference(self, weights, x, mask):
        return reference.fusion_gate(x, attention_of(x), mask, weights)


class TestWithoutBias(EquationContract):
    def make(self, **kwargs):
        return OfItsInputs(use_bias=False, **kwargs)

    def reference(self, weights, x, mask):
        return reference.fusion_gate(x, attention_of(x), mask, weights)


def test_dropout_changes_the_gate_and_not_what_is_mixed():
    """A sequence mixed with itself is itself, whatever the gate."""
    x, _ = batch()
    layer, again = (FusionGate(dropout=0.5, seed=1) for _ in range(2))
    output, gate = layer(x, x, training=True, return_attention_scores=True)
    np.testing.assert_allclose(numpy(output), x, atol=1e-5)
    _, quiet = layer(x, x, return_attention_scores=True)
    assert np.abs(numpy(gate) - numpy(quiet)).max() > 1e-2
    _, same = again(x, x, training=True, return_attention_scores=True)
    np.testing.assert_array_equal(numpy(same), numpy(gate))


@pytest.mark.parametrize("masked", ["inputs", "attention", "both"])
def test_the_mask_comes_with_the_tensors(masked):
    """Keras hands it over under another name once the call has two tensors."""
    ids = np.array([[1, 2, 3, 0], [4, 0, 5, 0], [0, 0, 0, 0]])
    with_mask = keras.layers.Embedding(9, DIM, mask_zero=True)(ids)
    without = numpy(with_mask)
    layer = FusionGate(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        output = layer(
            without if masked == "attention" else with_mask,
            without if masked == "inputs" else with_mask,
        )
    explicit = layer(without, without, mask=ids != 0)
    np.testing.assert_array_equal(numpy(output), numpy(explicit))
    np.testing.assert_array_equal(numpy(output)[ids == 0], 0)
    np.testing.assert_array_equal(numpy(output._keras_mask), ids != 0)


def test_the_mask_of_the_attention_alone_reaches_the_layer_behind():
    """In a functional model, before and after it is saved, and with the gate returned."""
    tokens, plain = keras.Input((None,), dtype="int32"), keras.Input((None, DIM))
    attention = keras.layers.Embedding(9, DIM, mask_zero=True)(tokens)
    output, gate = FusionGate()(plain, attention, return_attention_scores=True)
    model = keras.Model([tokens, plain], MaskedAveragePooling1D()(output))
    ids, x = np.array([[1, 2, 3, 0], [4, 0, 5, 0]]), np.ones((2, 4, DIM), "float32")
    steps = keras.Model([tokens, plain], output).predict([ids, x], verbose=0)
    target = steps.sum(axis=1) / (ids != 0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict([ids, x], verbose=0), target, atol=1e-6)
    loaded = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(model))
    loaded.set_weights(model.get_weights())
    np.testing.assert_allclose(loaded.predict([ids, x], verbose=0), target, atol=1e-6)


def test_the_mask_of_the_inputs_wins_over_that_of_the_attention():
    embedding = keras.layers.Embedding(9, DIM, mask_zero=True)
    inputs, attention = embedding(np.array([[1, 2, 0]])), embedding(np.array([[1, 0, 3]]))
    output = numpy(FusionGate()(inputs, attention))
    assert np.abs(output[0, 1]).max() > 0 and (output[0, 2] == 0).all()
    explicit = numpy(FusionGate()(inputs, attention, mask=np.array([[True, False, False]])))
    assert np.abs(explicit[0, 0]).max() > 0 and (explicit[0, 1:] == 0).all()


@pytest.mark.parametrize("shape", [(4, 5, 3), (4, 4, DIM), (3, 5, DIM), (4, DIM), (4, 5, 1)])
def test_tensors_that_do_not_fit_are_errors_with_their_shapes(shape):
    x, _ = batch()
    other = np.zeros(shape, "float32")
    fresh, built = FusionGate(name="the_name"), FusionGate(name="the_name")
    built(x, x)
    for layer in (fresh, built):
        with pytest.raises(ValueError, match=r"'the_name' \(FusionGate\)") as error:
            layer(x, other)
        assert str(shape) in str(error.value) and str(x.shape) in str(error.value)
    with pytest.raises(ValueError, match=r"'the_name' \(FusionGate\)"):
        FusionGate(name="the_name")(
            keras.Input(batch_shape=x.shape), keras.Input(batch_shape=shape)
        )
