"""The two forms of a softmax over time for each feature."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy

from keras_attnpool.ops._vector_pooling import (
    attention_weights,
    chunked_softmax_pooling,
    normalized,
    softmax_terms,
)
from keras_attnpool.ops.masking import masked_softmax

pytestmark = pytest.mark.every_backend


def example():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 7, 4)).astype("float32")
    mask = rng.random((3, 7)) < 0.6
    mask[0], mask[2] = True, False
    return x, mask


def test_the_terms_make_the_softmax():
    x, mask = example()
    for kept in (None, mask):
        exps, total = softmax_terms(x * 30, kept)
        axes = None if kept is None else kept[..., None]
        target = numpy(masked_softmax(x * 30, axes, axis=1))
        weights = numpy(attention_weights(exps, total))
        np.testing.assert_allclose(weights, target, atol=1e-6)
    # Also in the row that keeps nothing.
    np.testing.assert_array_equal(weights[~mask], 0)


def test_the_gradient_of_the_terms_is_that_of_the_softmax():
    x, mask = example()
    layer = keras.layers.Identity()
    probe = keras.ops.convert_to_tensor(np.random.default_rng(1).normal(size=x.shape), "float32")

    def ours(t):
        exps, total = softmax_terms(t * 3, mask)
        return keras.ops.sum(attention_weights(exps, total) * probe)

    def theirs(t):
        return keras.ops.sum(masked_softmax(t * 3, mask[..., None], axis=1) * probe)

    found, target = (gradients(layer, x, loss)[0] for loss in (ours, theirs))
    assert np.abs(target).max() > 1e-2
    np.testing.assert_allclose(found, target, atol=1e-5)


def test_a_weighted_sum_is_divided_once():
    """Of values that are not zero at padded steps; an empty row gives zeros all the same."""
    x, mask = example()
    exps, total = softmax_terms(x, mask, exact=False)
    sums = numpy(normalized(keras.ops.sum(exps * x, axis=1), total, mask))
    target = (numpy(masked_softmax(x, mask[..., None], axis=1)) * x).sum(axis=1)
    np.testing.assert_allclose(sums, target, atol=1e-6)
    np.testing.assert_array_equal(sums[2], 0)


def test_chunks_of_any_size_give_the_whole():
    """Scores that differ by hundreds, so that the running maximum has work to do."""
    x, mask = example()
    scale = keras.ops.convert_to_tensor(np.array([200.0, -200.0, 1.0, 0.0], "float32"))

    def score(chunk, scale):
        return (chunk * scale)[:, :, None]

    for kept in (None, mask):
        values = x if kept is None else np.where(kept[..., None], x, 0)
        target = (numpy(attention_weights(*softmax_terms(x * numpy(scale), kept))) * values).sum(
            axis=1
        )
        for chunk_size in (1, 4, 7, 9):
            found = chunked_softmax_pooling(score, [scale], values, kept, chunk_size, (1, 4))
            np.testing.assert_allclose(numpy(found)[:, 0], target, atol=1e-6)


def test_chunks_of_scores_in_half_precision_leave_an_empty_row_empty():
    x, mask = example()
    found = chunked_softmax_pooling(
        lambda chunk: keras.ops.cast(chunk, "float16")[:, :, None], [], np.abs(x), mask, 3, (1, 4)
    )
    found = found[:, 0]
    np.testing.assert_array_equal(numpy(found)[~mask.any(axis=1)], 0)
    assert (numpy(found)[mask.any(axis=1)] > 0).all()
