"""Graded scores as distributions, and back."""

import keras
import numpy as np
import pytest
from backend_functions import compiled, gradients, numpy
from refusals import refused

from keras_attnpool.ops import expected_score, score_distribution

pytestmark = pytest.mark.every_backend


class Distribute(keras.layers.Layer):
    def call(self, scores, mask=None):
        return score_distribution(scores, 5)


class Expect(keras.layers.Layer):
    def call(self, probabilities, mask=None):
        return expected_score(probabilities)


def reference(score, num_scores):
    """The three cases of the equation."""
    floor = int(np.floor(score))
    return [
        score - floor if i == floor + 1 else floor - score + 1 if i == floor else 0.0
        for i in range(1, num_scores + 1)
    ]


@pytest.mark.parametrize(
    ("score", "row"),
    [
        (1.0, [1, 0, 0, 0, 0]),
        (3.6, [0, 0, 0.4, 0.6, 0]),
        (4.0, [0, 0, 0, 1, 0]),
        (4.75, [0, 0, 0, 0.25, 0.75]),
        (5.0, [0, 0, 0, 0, 1]),
    ],
)
def test_by_hand(score, row):
    grades = numpy(score_distribution(score, 5))
    assert grades.dtype == np.float32 and grades.shape == (5,)
    np.testing.assert_allclose(grades, row, atol=1e-6)
    np.testing.assert_array_equal(grades == 0, np.array(row) == 0)
    assert float(expected_score(grades)) == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("num_scores", [2, 5, 7])
def test_equation_and_round_trip(num_scores):
    scores = np.linspace(1, num_scores, 41).astype("float32")
    grades = numpy(score_distribution(scores, num_scores))
    np.testing.assert_allclose(grades, [reference(y, num_scores) for y in scores], atol=1e-6)
    np.testing.assert_allclose(grades.sum(axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(numpy(expected_score(grades)), scores, rtol=1e-6)


def test_any_shape_and_whole_numbers():
    scores = np.array([[1, 2, 3], [3, 1, 2]])
    grades = numpy(score_distribution(scores, 3))
    np.testing.assert_array_equal(grades, np.eye(3)[scores - 1])
    np.testing.assert_array_equal(numpy(expected_score(grades)), scores)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_comes_out_in_float32(dtype):
    scores = keras.ops.cast([1.5, 4.25], dtype)
    grades = score_distribution(scores, 5)
    assert keras.backend.standardize_dtype(grades.dtype) == "float32"
    back = expected_score(keras.ops.cast(grades, dtype))
    assert keras.backend.standardize_dtype(back.dtype) == "float32"
    np.testing.assert_array_equal(numpy(back), [1.5, 4.25])


def test_gradients_are_finite_on_the_grades_too():
    scores = np.array([1.0, 2.0, 2.5, 5.0], "float32")
    weights = keras.ops.convert_to_tensor([1.0, 2.0, 4.0, 8.0, 16.0])
    layer = Distribute()
    layer.build(scores.shape)
    slopes, _ = gradients(layer, scores, lambda y: keras.ops.sum(layer(y) * weights))
    assert np.isfinite(slopes).all()
    assert slopes[2] == 2  # from grade 2 to grade 3: 4 - 2
    probabilities = np.array([[0.5, 0.5, 0.0]], "float32")
    layer = Expect()
    layer.build(probabilities.shape)
    slopes, _ = gradients(layer, probabilities, lambda p: keras.ops.sum(layer(p)))
    np.testing.assert_array_equal(slopes, [[1, 2, 3]])


def test_compiled():
    scores = np.array([1.0, 3.6, 5.0], "float32")
    rows = compiled(Distribute())(keras.ops.convert_to_tensor(scores), None)
    np.testing.assert_allclose(numpy(rows), [reference(y, 5) for y in scores], atol=1e-6)
    np.testing.assert_allclose(numpy(compiled(Expect())(rows, None)), scores, rtol=1e-6)


def test_symbolic():
    inputs = keras.Input((), dtype="float32")
    rows = score_distribution(inputs, 4)
    assert rows.shape == (None, 4)
    scores = expected_score(rows)
    assert scores.shape == (None,)
    model = keras.Model(inputs, [rows, scores])
    grades, back = model(np.array([3.25], "float32"))
    np.testing.assert_array_equal(numpy(grades), [[0, 0, 0.75, 0.25]])
    np.testing.assert_array_equal(numpy(back), [3.25])


@pytest.mark.parametrize(
    ("scores", "received"),
    [
        (np.array([2.0, 5.5]), "5.5"),
        (np.array([0.5]), "0.5"),
        (np.float32(6), "6"),
        ([[1.0], [-1.0]], "-1"),
        (0, "0"),
        (float("nan"), "nan"),
    ],
)
def test_scores_outside_the_grades_are_refused(scores, received):
    with refused("scores", "score_distribution", f"Received: {received}"):
        score_distribution(scores, 5)


def test_the_number_of_grades_may_be_numpys():
    rows = score_distribution([3.25], np.int64(4))
    np.testing.assert_array_equal(numpy(rows), [[0, 0, 0.75, 0.25]])


@pytest.mark.parametrize("wrong", [1, 0, 2.0, True, None])
def test_number_of_grades_must_be_an_integer_of_two_or_more(wrong):
    with refused("num_scores", "score_distribution"):
        score_distribution([1.0], wrong)
