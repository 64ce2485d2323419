"""Our layers inside what users build: wrappers, model styles, weights of samples, data sources."""

import keras
import numpy as np
import pytest
from backend_functions import everywhere, numpy, predict
from catalogue import CASES, DIM, IDS, LAYERS, MASK, STEPS, randomized, together

from keras_attnpool import layers
from keras_attnpool.regularizers import AttentionOrthogonality

pytestmark = pytest.mark.every_backend

POOLINGS = ["low_rank", "structured", "generalized", "attention", "multi_dim", "average", "last"]


def classifier(pooling=None, **kwargs):
    """Word ids to two classes by way of a sequence layer and a pooling layer of ours."""
    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(20, DIM, mask_zero=True)(tokens)
    x = layers.PositionalSelfAttention(DIM)(x)
    x = (pooling or layers.StructuredSelfAttentionPooling(2, 4))(x)
    return keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(x), **kwargs)


# --- wrappers and model styles -------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", everywhere(POOLINGS, "low_rank", reason="Keras hands the rows of the mask on alike")
)
def test_time_distributed_pools_every_sentence(name):
    """`TimeDistributed` hands each sentence its own row of the mask `(batch, sentences, words)`."""
    layer = randomized(LAYERS[name](), (None, None, DIM))
    documents = np.stack([STEPS, STEPS[::-1]], axis=1)
    inputs = keras.Input((2, 5, DIM))
    model = keras.Model(inputs, keras.layers.TimeDistributed(layer)(inputs))
    pooled = model.predict(documents, verbose=0)
    for sentence in range(2):
        target = numpy(layer(documents[:, sentence]))
        np.testing.assert_allclose(pooled[:, sentence], target, atol=1e-6)


def test_functional_sequential_and_subclassed_models_agree():
    embedding = keras.layers.Embedding(20, DIM, mask_zero=True)
    middle, pooling = layers.DirectionalSelfAttention(DIM), layers.GeneralizedPooling(2, 4)
    tokens = keras.Input((None,), dtype="int32")
    functional = keras.Model(tokens, pooling(middle(embedding(tokens))))
    sequential = keras.Sequential([embedding, middle, pooling])

    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__()
            self.parts = [embedding, middle, pooling]

        def call(self, inputs):
            for part in self.parts:
                inputs = part(inputs)
            return inputs

    target = functional.predict(IDS, verbose=0)
    np.testing.assert_array_equal(target[-1], 0)
    for model in (sequential, Subclassed()):
        np.testing.assert_allclose(model.predict(IDS, verbose=0), target, atol=1e-6)


CONVOLUTIONS = ["conv", "conv_one", "target", "characters", "TextCNN"]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(CONVOLUTIONS, id="convolutions"),
        pytest.param([*CASES], id="all", marks=pytest.mark.slow),  # no other reads it
    ],
)
def test_the_layout_of_images_means_nothing_to_texts(names):
    """`image_data_format` is a global setting of Keras, which its convolutions read."""
    by_layout = []
    before = keras.config.image_data_format()
    try:
        for layout in ("channels_last", "channels_first"):
            keras.config.set_image_data_format(layout)
            outputs = {}
            for model, arrays in together(names):
                outputs |= predict(randomized(model), arrays if len(arrays) > 1 else arrays[0])
            by_layout.append(keras.tree.map_structure(numpy, outputs))
    finally:
        keras.config.set_image_data_format(before)
    assert set(by_layout[0]) == set(names)
    keras.tree.map_structure(np.testing.assert_array_equal, *by_layout)


# --- training ------------------------------------------------------------------------------------


def step_of(model, x, y, **kwargs):
    """The weights after one step of gradient descent, from fixed ones."""
    randomized(model)
    model.compile(keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=len(x), epochs=1, verbose=0, shuffle=False, **kwargs)
    return [numpy(v) for v in model.weights]


@pytest.mark.torch_first("Keras adds the gradients up; they are in the contract of each layer")
def test_gradients_accumulated_over_two_batches_are_those_of_one():
    """Also with penalties on attention, which are means over the texts of a batch."""
    ids = np.array([[1, 2, 3, 4, 5], [6, 7, 0, 0, 0], [3, 0, 0, 0, 0], [8, 9, 2, 0, 0]], "int32")
    labels = np.array([0, 1, 1, 0])
    model = classifier(
        layers.StructuredSelfAttentionPooling(
            2, 4, attention_regularizer=AttentionOrthogonality(0.1)
        )
    )
    whole = step_of(model, ids, labels)
    randomized(model)
    optimizer = keras.optimizers.SGD(0.5, gradient_accumulation_steps=2)
    model.compile(optimizer, "sparse_categorical_crossentropy")
    for rows in (slice(0, 2), slice(2, 4)):
        model.train_on_batch(ids[rows], labels[rows])
    for weight, value in zip([numpy(v) for v in model.weights], whole, strict=True):
        np.testing.assert_allclose(weight, value, atol=1e-5)


QUANTIZED = [
    *("MPSAN", "GeneralizedPoolingClassifier", "SAN", "DiSAN", "BiBloSAN"),
    *("MultiHeadSAN", "AttentionBiLSTM", "SAM", "HCAN", "HAN", "MPSANPair"),
]

# --- quantization and adapters -------------------------------------------------------------------


def dense_parts(layer):
    """The `Dense` layers inside a layer or model."""
    return [part for part in layer._flatten_layers() if isinstance(part, keras.layers.Dense)]


@pytest.mark.torch_first("the same layers are called")
@pytest.mark.parametrize("name", CASES)
def test_a_model_holds_nothing_that_waits_for_its_first_batch(name):
    """Keras quantizes no such model, and `torch.compile` cannot take it whole."""
    assert [part.name for part in CASES[name].model()._flatten_layers() if not part.built] == []


@pytest.mark.torch_first("Keras replaces the Dense parts alike")
@pytest.mark.parametrize(
    "name",
    [
        "LAMAEncoder",
        "attentive_statistics_context",
        *(pytest.param(name, marks=pytest.mark.slow) for name in QUANTIZED),
    ],
)
def test_int8_keeps_predictions_and_files(name, tmp_path):
    """`quantize` takes the `Dense` parts and tables; what is ours alone stays in float32."""
    case = CASES[name]
    model = randomized(case.model())
    target = model.predict(case.fed, verbose=0)
    model.quantize("int8")
    parts = dense_parts(model)
    assert parts and all(part.quantization_mode == "int8" for part in parts)
    predictions = model.predict(case.fed, verbose=0)
    assert np.isfinite(predictions).all()
    np.testing.assert_allclose(predictions, target, atol=0.1)
    model.save(tmp_path / "model.keras")
    if name == "MultiHeadSAN":
        # Keras's MultiHeadAttention does not write down that its parts were quantized.
        with pytest.raises(ValueError, match="(?s)could not be loaded.*EinsumDense name=query"):
            keras.models.load_model(tmp_path / "model.keras")
        return
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(case.fed, verbose=0), predictions, atol=1e-6)


@pytest.mark.torch_first("Keras replaces the Dense parts alike")
@pytest.mark.parametrize(
    "name", ["structured", "generalized", "low_rank", "window", "attentive_statistics_context"]
)
def test_low_rank_adapters_of_the_dense_parts_train_alone(name, tmp_path):
    layer = LAYERS[name]()
    pooled = layers.MaskedAveragePooling1D()
    inputs, keep = keras.Input((None, DIM)), keras.Input((None,), dtype="bool")
    x = layer(inputs, mask=keep)
    x = pooled(x, mask=keep) if len(x.shape) == 3 else x
    model = randomized(keras.Model([inputs, keep], keras.layers.Dense(2)(x)))
    before = model.predict([STEPS, MASK], verbose=0)
    for part in dense_parts(model):
        part.enable_lora(1)
    np.testing.assert_allclose(model.predict([STEPS, MASK], verbose=0), before, atol=1e-6)
    for part in dense_parts(model):
        assert not part._kernel.trainable
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit([STEPS, MASK], np.ones((3, 2)), epochs=3, verbose=0)
    after = model.predict([STEPS, MASK], verbose=0)
    assert np.abs(after - before).max() > 1e-3
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict([STEPS, MASK], verbose=0), after, atol=1e-6)
