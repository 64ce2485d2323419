"""Layers called with inputs and masks of every kind: an answer that is right, or a clear error."""

import catalogue
import keras
import numpy as np
import pytest
from backend_functions import everywhere, numpy
from catalogue import DIM, MASK, STEPS

from keras_attnpool import layers

pytestmark = pytest.mark.every_backend

INPUTS = {
    "integers": np.ones((3, 5, DIM), "int32"),
    "booleans": np.ones((3, 5, DIM), bool),
    "float16": STEPS.astype("float16"),
    "float64": STEPS.astype("float64"),
    "one step": STEPS[:, :1],
    "one text": STEPS[:1],
    "huge": STEPS * np.float32(1e30),
    "tiny": STEPS * np.float32(1e-40),
}
BAD_INPUTS = {
    "no step": STEPS[:, :0],
    "no feature": STEPS[:, :, :0],
    "a matrix": STEPS[0],
    "four axes": STEPS[None],
    "a number": np.float32(3),
    "a list": STEPS.tolist(),
    "ragged": [[1.0, 2.0], [3.0]],
    "words": np.full((3, 5, DIM), "x"),
    "objects": np.full((3, 5, DIM), object(), object),
    "nothing": None,
    "a text": "text",
    "a dictionary": {"steps": STEPS},
    "two tensors": (STEPS, STEPS),
    "other features": np.ones((3, 5, DIM + 1), "float32"),
}
MASKS = {
    "int32": MASK.astype("int32"),
    "int64": MASK.astype("int64"),
    "uint8": MASK.astype("uint8"),
    "float32": MASK.astype("float32"),
    "list": MASK.tolist(),
}
BAD_MASKS = {
    "one axis more": MASK[..., None],
    "one step less": MASK[:, :4],
    "one text less": MASK[:2],
    "one number": True,
    "a text": "x",
    "an object": object(),
    "ragged": [[True], [True, False], []],
    "words": np.full(MASK.shape, "x"),
    "twos": 2 * MASK.astype("int32"),
    "minus ones": -MASK.astype("int32"),
    "additive": np.where(MASK, 0.0, -1e9),
    "halves": np.where(MASK, 0.5, 0.0),
    "not numbers": np.where(MASK, np.nan, 0.0),
}


# All read their inputs and masks by the same functions.
SAME = "all layers check what they are called with by the same functions"


@pytest.fixture(params=everywhere(catalogue.LAYERS, "generalized", "features", reason=SAME))
def layer(request):
    return catalogue.LAYERS[request.param]()


def slow_unless(kinds, quick):
    """The kinds, the others than the quick ones marked slow."""
    return [k if k in quick else pytest.param(k, marks=pytest.mark.slow) for k in kinds]


@pytest.mark.parametrize("kind", slow_unless(INPUTS, {"integers"}))
def test_odd_inputs_are_read_as_floats(layer, kind):
    output = numpy(layer(INPUTS[kind]))
    assert len(output) == len(INPUTS[kind]) and output.dtype == np.float32
    if kind != "huge":  # products of numbers near the edge of float32 may leave it
        assert np.isfinite(output).all()


NAMED = {"no step", "no feature", "a matrix", "four axes", "a dictionary"}


@pytest.mark.parametrize("kind", BAD_INPUTS)
def test_other_inputs_are_refused(layer, kind):
    """Our own checks name the layer."""
    layer.build((None, None, DIM)) if kind == "other features" else None
    expected = {"match": layer.name} if kind in NAMED else {}
    with pytest.raises(ValueError if kind in NAMED else (ValueError, TypeError), **expected):
        layer(BAD_INPUTS[kind])


@pytest.mark.torch_first("a mask is made boolean in one function of `ops`")
def test_masks_of_every_kind(layer):
    target = numpy(layer(STEPS, mask=MASK))
    for kind, mask in MASKS.items():
        np.testing.assert_array_equal(numpy(layer(STEPS, mask=mask)), target, err_msg=kind)
    for kind, mask in BAD_MASKS.items():
        # Our own checks name the layer.
        numbers = isinstance(mask, np.ndarray) and kind != "words"
        told = f"`mask` of .*'{layer.name}'" if numbers else ""
        with pytest.raises((ValueError, TypeError), match=told):
            layer(STEPS, mask=mask)
            pytest.fail(kind)


@pytest.mark.torch_first("refused before a backend computes anything")
def test_what_symbols_tell_is_refused(layer):
    """A mask of another length, and an unknown number of features."""
    with pytest.raises(ValueError, match=layer.name):
        layer(keras.Input((5, DIM)), mask=keras.Input((4,), dtype="bool"))
    with pytest.raises(ValueError, match=layer.name):
        layer.build((None, 5, None))


@pytest.mark.parametrize("poison", [np.nan, pytest.param(np.inf, marks=pytest.mark.slow)])
def test_what_one_text_holds_stays_in_that_text(layer, poison):
    """NaN at a kept step is not hidden, and spoils no other text of the batch."""
    dirty = STEPS.copy()
    dirty[0, 2, 1] = poison
    clean, dirtied = numpy(layer(STEPS, mask=MASK)), numpy(layer(dirty, mask=MASK))
    np.testing.assert_allclose(dirtied[1:], clean[1:], atol=1e-6)
    if np.isnan(poison) and not isinstance(layer, layers.FirstPooling1D | layers.LastPooling1D):
        assert np.isnan(dirtied[0]).any()


# -- layers that are called otherwise --------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (layers.PairMatching, [STEPS[:, 0], STEPS[:2, 0]]),
        (layers.PairMatching, [STEPS[:, 0]]),
        (layers.PairMatching, [STEPS[:, 0], STEPS[:, 0, :3]]),
        (layers.PairMatching, STEPS[:, 0]),
        (layers.PairMatching, [STEPS, None]),
        (layers.PairMatching, []),
        (lambda: layers.CharacterEmbedding(9, 2, 2), STEPS[:, :, 0]),
        (lambda: layers.CharacterEmbedding(9, 2, 2), np.zeros((2, 3), "int32")),
        (lambda: layers.CharacterEmbedding(9, 2, 2), "text"),
        (lambda: layers.CharacterEmbedding(9, 2, 2), None),
        (lambda: layers.PositionFusion(), [STEPS, STEPS]),
        (lambda: layers.FusionGate(), STEPS),
    ],
)
def test_other_calls_are_refused(make, inputs):
    layer = make()
    with pytest.raises((ValueError, TypeError)):
        layer(inputs)


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="TensorFlow has ragged tensors")
def test_ragged_tensors_are_refused_with_the_cure(layer):
    import tensorflow as tf

    ragged = tf.RaggedTensor.from_row_lengths(STEPS.reshape(-1, DIM)[:8], [3, 5])
    layer.build((None, 5, DIM))
    with pytest.raises(ValueError, match=f"'{layer.name}'.*x.to_tensor().*tf.sequence_mask"):
        layer(ragged)


def test_ragged_ids_are_refused_with_the_cure():
    if keras.config.backend() != "tensorflow":
        pytest.skip("TensorFlow alone has ragged tensors")
    import tensorflow as tf

    ids = tf.ragged.constant([[[1, 2], [3]], [[4]]])
    characters = layers.CharacterEmbedding(9, 2, 2)
    for layer in (characters, layers.HierarchicalEncoder(characters)):
        with pytest.raises(ValueError, match=f"'{layer.name}'.*x.to_tensor()"):
            layer(ids)


@pytest.mark.skipif(keras.config.backend() != "torch", reason="PyTorch has nested tensors")
def test_nested_tensors_are_refused_with_the_cure(layer):
    import torch

    nested = torch.nested.nested_tensor(
        [torch.ones(3, DIM), torch.ones(5, DIM)], layout=torch.jagged
    )
    layer.build((None, 5, DIM))
    with pytest.raises(ValueError, match=f"'{layer.name}'.*to_padded_tensor"):
        layer(nested)


LINEAR = ["low_rank", "structured", "generalized", "attention", "multi_dim", "average", "max"]
LINEAR += ["last", "target"]


@pytest.mark.slow
@pytest.mark.parametrize("name", LINEAR)
def test_a_hundred_thousand_tokens(name):
    """What is linear in the length stays exact: the text before the padding decides."""
    steps = np.random.default_rng(0).normal(size=(1, 100_000, DIM)).astype("float32")
    layer = catalogue.LAYERS[name]()
    assert np.isfinite(numpy(layer(steps))).all()
    mask = np.zeros((1, 100_000), bool)
    mask[:, :5] = True
    np.testing.assert_allclose(
        numpy(layer(steps, mask=mask)), numpy(layer(steps[:, :5])), atol=1e-5
    )


def test_ids_of_many_types_and_places():
    """Ids of every type of number, a single word, and no text at all."""
    model = catalogue.MODELS["AverageEmbedding"]()
    target = model.predict(catalogue.IDS, verbose=0)
    for dtype in ("int8", "uint8", "int64", "float32"):
        predictions = model.predict(catalogue.IDS.astype(dtype), verbose=0)
        np.testing.assert_allclose(predictions, target, atol=1e-6)
    assert model.predict(catalogue.IDS[:, :1], verbose=0).shape == (3, 3)
    assert keras.ops.shape(model(np.zeros((0, 5), "int32")))[0] == 0
