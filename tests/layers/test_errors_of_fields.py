"""Errors that a user of patches, frames or bags can act on."""

import warnings

import keras
import numpy as np
import pytest

from keras_attnpool import layers

pytestmark = [
    pytest.mark.every_backend,
    pytest.mark.torch_first("refused before a backend computes anything"),
]
STEPS = np.zeros((3, 5, 6), "float32")
POOLINGS = [lambda: layers.AttentionPooling(4), layers.MaskedMaxPooling1D, layers.FirstPooling1D]


@pytest.mark.parametrize("make", POOLINGS)
@pytest.mark.parametrize(
    ("inputs", "cure"),
    [
        (np.zeros((2, 4, 4, 6), "float32"), r"keras.layers.Reshape\(\(-1, dim\)\)"),
        (np.zeros((2, 4), "float32"), "embed ids first, by keras.layers.Embedding"),
        ([np.zeros((5, 6)), np.zeros((3, 6))], "keras_attnpool.batches.pad_rows"),
    ],
)
def test_inputs_of_another_kind_are_told_what_to_do(make, inputs, cure):
    with pytest.raises(ValueError, match=cure):
        make()(inputs)
    symbolic = keras.tree.map_structure(lambda x: keras.Input(x.shape[1:]), inputs)
    with pytest.raises(ValueError, match=cure):
        make()(symbolic)


@pytest.mark.parametrize("make", POOLINGS)
@pytest.mark.parametrize(
    ("mask", "cure"),
    [
        (np.array([5, 3, 1]), "keras_attnpool.ops.lengths_to_mask"),
        (np.ones((3, 10), bool), r"`mask\[:, ::2\]`.*ZeroPadding1D"),
        (np.ones((3, 16), bool), r"`mask\[:, ::3\]`"),
        (np.ones((3, 7), bool), r"`mask\[:, 2:\]`"),
    ],
)
def test_a_mask_of_another_shape_is_told_what_to_do(make, mask, cure):
    with pytest.raises(ValueError, match=cure):
        make()(STEPS, mask=mask)


def told(mask):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        layers.AttentionPooling()(STEPS, mask=mask)
    return [str(w.message) for w in caught if "~mask" in str(w.message)]


def test_a_mask_that_says_where_the_padding_stands_is_noticed():
    behind = np.arange(5) < np.array([[5], [3], [1]])
    for turned in (~behind, (~behind).astype("float32")):
        (text,) = told(turned)
        assert "AttentionPooling" in text or "attention_pooling" in text
    holes = np.array([[0, 1, 0, 1, 1], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]], bool)
    in_front, no_row_is_full = behind[:, ::-1], behind[1:, ::-1]
    for sound in (behind, in_front, holes, np.zeros((3, 5), bool)):
        assert told(sound) == []
    # Rows that are padded in front beyond the longest look like rows padded behind, but turned.
    assert told(np.concatenate([no_row_is_full, no_row_is_full[:1]])) == []
