"""Whole models compiled: the same losses, no breaks inside our layers, few compilations."""

import re

import keras
import numpy as np
import pytest
from backend_functions import numpy
from catalogue import CASES, randomized, together

from keras_attnpool import layers
from keras_attnpool.batches import SequenceBatches, length_buckets

pytestmark = pytest.mark.every_backend

BACKEND = keras.backend.backend()
WHOLE = [name for name, case in CASES.items() if not case.is_layer]


def losses(names, **kwargs):
    """Losses of three steps of training, from the same weights."""
    for model, inputs in together(names):
        randomized(model)
        for layer in model._flatten_layers():  # compiled, dropout may draw other numbers
            if isinstance(layer, keras.layers.Dropout):
                layer.rate = 0.0
            elif "dropout" in vars(layer):  # a property of Keras's LSTM, which hands on its cell's
                layer.dropout = 0.0
        rng = np.random.default_rng(0)
        targets = {
            case: np.eye(output.shape[-1], dtype="float32")[rng.integers(output.shape[-1], size=3)]
            for case, output in model.output.items()
        }
        model.compile(
            keras.optimizers.SGD(0.01), dict.fromkeys(targets, "categorical_crossentropy"), **kwargs
        )
        fed = inputs if len(inputs) > 1 else inputs[0]
        yield model.fit(fed, targets, epochs=3, batch_size=3, verbose=0, shuffle=False).history


@pytest.mark.skipif(
    BACKEND == "torch", reason="inductor takes minutes: see the test of graph breaks instead"
)
@pytest.mark.slow  # each layer, compiled and not, is in its contract
@pytest.mark.timeout(900)
def test_training_compiled_is_training_step_by_step():
    compiled = list(losses(WHOLE, jit_compile=True))
    plain = list(losses(WHOLE, run_eagerly=True))
    for measured, target in zip(compiled, plain, strict=True):
        for name, values in target.items():
            np.testing.assert_allclose(measured[name], values, rtol=1e-4, atol=1e-5, err_msg=name)


# Keras breaks their graphs: its attention asks PyTorch which kernel there is, and its layers
# inspect what a hierarchical model calls them with.
BROKEN = {"MultiHeadSAN", "TransformerEncoderClassifier", "HCAN", "HAN"}


@pytest.mark.slow
@pytest.mark.skipif(BACKEND != "torch", reason="torch.compile")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", WHOLE)
def test_torch_captures_the_model_as_one_graph(name):
    import torch

    case = CASES[name]
    model = randomized(case.model())
    inputs = [keras.ops.convert_to_tensor(x) for x in case.inputs]

    def call(*inputs):
        return model(list(inputs) if len(inputs) > 1 else inputs[0], training=False)

    torch._dynamo.reset()
    with torch.no_grad():
        if name in BROKEN:
            with pytest.raises(torch._dynamo.exc.TorchDynamoException) as error:
                torch.compile(call, backend="eager", fullgraph=True)(*inputs)
            innermost = re.findall(r'File "(.*)", line', str(error.value))[-1]
            assert "keras_attnpool" not in innermost.replace("\\", "/").split("/")
            torch._dynamo.reset()
        output = torch.compile(call, backend="eager", fullgraph=name not in BROKEN)(*inputs)
        np.testing.assert_allclose(numpy(output), numpy(call(*inputs)), atol=1e-5)


@pytest.mark.slow
@pytest.mark.skipif(BACKEND != "torch", reason="inductor is PyTorch's")
@pytest.mark.timeout(900)
def test_inductor_computes_the_same():
    target = list(losses(["MPSAN"], jit_compile=False))
    compiled = list(losses(["MPSAN"], jit_compile=True))
    np.testing.assert_allclose(compiled[0]["loss"], target[0]["loss"], rtol=1e-4)


class Counted(keras.layers.Layer):
    """Counts how often it is traced: a compiled model calls it for every new shape alone."""

    def __init__(self):
        super().__init__()
        self.supports_masking = True
        self.traces = 0

    def call(self, inputs):
        self.traces += 1
        return inputs


def counted_model():
    tokens = keras.Input((None,), dtype="int32")
    counted = Counted()
    x = counted(keras.layers.Embedding(20, 4, mask_zero=True)(tokens))
    x = layers.PositionalSelfAttention(4, dropout=0.1)(x)
    x = layers.LowRankAttentionPooling(2)(x)
    return keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(x)), counted


@pytest.mark.skipif(BACKEND == "torch", reason="run eagerly; its compiler is counted below")
def test_every_bucket_is_compiled_once():
    """Texts of 40 lengths in 3 buckets: later epochs compile nothing, and the first not much."""
    rng = np.random.default_rng(0)
    ids = [rng.integers(1, 20, size) for size in rng.integers(1, 41, size=60)]
    labels = rng.integers(0, 2, size=60)
    bounds = length_buckets([len(row) for row in ids], num_buckets=3)
    batches = SequenceBatches(ids, labels, 8, bounds, shuffle=True)
    shapes = {x.shape for x, _ in (batches[i] for i in range(len(batches)))}
    assert 3 <= len(shapes) <= 2 * len(bounds)
    model, counted = counted_model()
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=True)
    built = counted.traces
    model.fit(batches, epochs=1, verbose=0)
    first = counted.traces - built
    model.fit(batches, epochs=2, verbose=0)
    assert counted.traces - built == first
    assert first <= 2 * len(shapes)


@pytest.mark.skipif(BACKEND != "torch", reason="torch.compile")
def test_dynamic_shapes_are_one_graph_for_all_lengths():
    import torch

    layer = layers.GeneralizedPooling(2, 3)
    layer.build((None, None, 4))
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(lambda x, mask: layer(x, mask=mask), backend=backend, dynamic=True)
    rng = np.random.default_rng(0)
    for rows, time in ((2, 5), (3, 7), (4, 11), (5, 40), (7, 13)):
        x = torch.tensor(rng.normal(size=(rows, time, 4)).astype("float32"))
        mask = torch.tensor(rng.random((rows, time)) < 0.7)
        np.testing.assert_allclose(numpy(compiled(x, mask)), numpy(layer(x, mask=mask)), atol=1e-5)
    assert len(graphs) <= 2
