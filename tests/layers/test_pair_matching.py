"""The features of two vectors, eq. 10 of the Generalized Pooling paper."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy
from reference import generalized_pooling_encoder as reference

from keras_attnpool.layers import MaskedMaxPooling1D, PairMatching

pytestmark = pytest.mark.every_backend


def pair(rows=3, dim=4):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(rows, dim)).astype("float32") for _ in range(2)]


def test_worked_by_hand():
    a, b = np.array([[1.0, 5.0], [-2.0, 0.0]]), np.array([[3.0, 2.0], [2.0, 0.0]])
    target = [[1, 5, 3, 2, 2, 3, 3, 10], [-2, 0, 2, 0, 4, 0, -4, 0]]
    np.testing.assert_array_equal(numpy(PairMatching()([a, b])), target)


def test_agrees_with_the_float64_reference():
    a, b = pair()
    target = reference.pair_matching(a.astype("float64"), b.astype("float64"))
    np.testing.assert_allclose(numpy(PairMatching()([a, b])), target, atol=1e-6)


def test_the_gradient_of_the_distance_is_zero_at_equality():
    a, b = pair(rows=1)
    b[0, :2] = a[0, :2]
    layer = PairMatching()
    layer([a, b])
    on_a, _ = gradients(layer, a, lambda t: keras.ops.sum(layer([t, b])[:, 8:12]))
    np.testing.assert_array_equal(on_a[0, :2], 0)
    np.testing.assert_array_equal(on_a[0, 2:], np.sign(a - b)[0, 2:])


def test_symbolic_shapes_and_no_mask():
    tokens = [keras.Input((None,), dtype="int32") for _ in range(2)]
    embedding, pooling, layer = (
        keras.layers.Embedding(9, 5, mask_zero=True),
        MaskedMaxPooling1D(),
        PairMatching(),
    )
    output = layer([pooling(embedding(t)) for t in tokens])
    assert output.shape == (None, 20) and getattr(output, "_keras_mask", None) is None
    assert layer.compute_mask(pair(), [None, None]) is None
    assert layer.compute_output_shape([(None, 5), (2, None)]) == (2, 20)
    model = keras.Model(tokens, output)
    ids = np.array([[1, 2], [3, 0]])
    assert model.predict([ids, ids], verbose=0).shape == (2, 20)


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3)],
        [(2, 3), (2, 3), (2, 3)],
        [(2, 3), (2, 4)],
        [(2, 3), (1, 3)],
        [(2, 5, 3), (2, 5, 3)],
        [(2,), (2,)],
    ],
)
def test_anything_but_two_equal_shapes_is_an_error(shapes):
    layer = PairMatching(name="the_name")
    with pytest.raises(ValueError, match="'the_name'.*two tensors") as error:
        layer([np.zeros(shape, "float32") for shape in shapes])
    assert all(str(shape) in str(error.value) for shape in shapes)
    # Also once the layer is built, and for symbolic tensors.
    layer = PairMatching(name="the_name")
    layer(pair())
    with pytest.raises(ValueError, match="'the_name'.*two tensors"):
        layer([np.zeros(shape, "float32") for shape in shapes])
    with pytest.raises(ValueError, match="'the_name'.*two tensors"):
        layer([keras.Input(batch_shape=shape) for shape in shapes])


def test_a_single_tensor_is_an_error():
    with pytest.raises(ValueError, match=r"'the_name'.*two tensors.*\(2, 3\)"):
        PairMatching(name="the_name")(np.zeros((2, 3), "float32"))
