"""`chunk_size`: the softmax poolings score a chunk of time at once, and give the same."""

import keras
import numpy as np
import pytest
from backend_functions import compiled, gradients, numpy
from layer_contract import DIM, batch, probed

from keras_attnpool import ArgumentError, layers

pytestmark = pytest.mark.every_backend

CASES = {
    "AttentionPooling": {"output_activation": "sigmoid"},
    "AttentionPooling, gated": {"hidden_dim": 4, "gated": True},
    "AttentiveStatisticsPooling": {"hidden_dim": 4, "gated": True},
    "AttentiveStatisticsPooling, per feature": {"hidden_dim": 4, "per_feature": True},
    "AttentiveStatisticsPooling, context": {"hidden_dim": 4, "global_context": True},
    "GeneralizedPooling": {"num_heads": 2, "hidden_dim": 4},
    "GeneralizedPooling, scalar": {"num_heads": 2, "hidden_dim": 4, "per_feature": False},
    "LearnedQueryPooling": {"num_queries": 2, "num_heads": 3, "residual": True},
    "LearnedQueryPooling, many": {"num_queries": 9},
    "LearnedQueryPooling, probe": {
        "num_heads": 3,
        "key_projection": False,
        "output_projection": False,
    },
    "MultiDimAttentionPooling": {"activation": "tanh"},
    "StructuredSelfAttentionPooling": {"num_heads": 3, "hidden_dim": 4, "use_bias": True},
}


def made(case, **kwargs):
    layer = getattr(layers, case.split(",")[0])(**CASES[case], name="layer", **kwargs)
    layer.build((None, None, DIM))
    rng = np.random.default_rng(0)
    for weight in layer.weights:
        weight.assign(0.4 * rng.normal(size=weight.shape))
    return layer


def example():
    """Padding in front that fills a chunk, holes, and a row without a kept step."""
    x, mask = batch(time=7)
    mask[0] = [False] * 3 + [True, False, True, True]
    return np.where(mask[..., None], x, np.float32(np.nan)), mask


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("masked", [True, False])
def test_chunks_give_the_whole_and_its_gradients(case, masked):
    x, mask = example() if masked else (batch(time=7)[0], None)
    found = []
    for chunk_size in (3, None):
        layer = made(case, chunk_size=chunk_size)
        output = numpy(layer(x, mask=mask))
        probe = np.random.default_rng(1).normal(size=output.shape)
        on_x, on_weights = gradients(
            layer, x, lambda t, layer=layer, probe=probe: probed(layer(t, mask=mask), probe)
        )
        found.append({"output": output, "inputs": on_x, **on_weights})
    # The gradient of a bias that the softmax cancels is the rounding of larger numbers.
    atol = 1e-6 * max(1, *(np.abs(target).max() for target in found[1].values()))
    for name, target in found[1].items():
        np.testing.assert_allclose(found[0][name], target, atol=atol, err_msg=name)
    if masked:
        np.testing.assert_array_equal(found[0]["output"][-1], 0)
        np.testing.assert_array_equal(found[0]["inputs"][~mask], 0)


@pytest.mark.parametrize("case", CASES)
def test_half_precision_and_scores(case):
    x, mask = example()
    chunked, plain = (made(case, chunk_size=size, dtype="mixed_float16") for size in (3, None))
    target, weights = plain(x, mask=mask, return_attention_scores=True)
    np.testing.assert_allclose(numpy(chunked(x, mask=mask)), numpy(target), atol=2e-2, rtol=1e-2)
    _, found = chunked(x, mask=mask, return_attention_scores=True)
    np.testing.assert_array_equal(numpy(found), numpy(weights))


@pytest.mark.parametrize("case", ["AttentionPooling, gated", "AttentiveStatisticsPooling"])
def test_a_saved_model_trains_compiled_at_any_length(case, tmp_path):
    """The length is unknown, and shorter than a chunk, or longer."""
    inputs, models = keras.Input((None, DIM)), []
    for chunk_size in (3, None):
        model = keras.Model(inputs, made(case, chunk_size=chunk_size)(inputs))
        model.save(tmp_path / "model.keras")
        models.append(keras.models.load_model(tmp_path / "model.keras", compile=False))
        models[-1].compile(keras.optimizers.SGD(0.1), "mse")
    assert models[0].layers[-1].chunk_size == 3
    for time in (2, 7):
        x, _ = batch(rows=2, time=time)
        target = np.ones((2, models[0].output_shape[1]), "float32")
        losses = [model.train_on_batch(x, target) for model in models]
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    for found, target in zip(*(model.get_weights() for model in models), strict=True):
        np.testing.assert_allclose(found, target, atol=1e-5)


@pytest.mark.parametrize("case", ["AttentionPooling, gated", "LearnedQueryPooling"])
def test_compiled_is_eager(case):
    x, mask = example()
    layer = made(case, chunk_size=3)
    tensors = keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(mask)
    np.testing.assert_allclose(
        numpy(compiled(layer)(*tensors)), numpy(layer(x, mask=mask)), atol=2e-6
    )


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="others trace no function")
def test_a_tape_around_a_function_has_all_gradients():
    """Inside of the function nobody records the inputs."""
    x, mask = example()
    layer = made("AttentionPooling, gated", chunk_size=3)
    eager, found = (
        gradients(layer, x, lambda t, call=call: keras.ops.sum(call(t, mask) ** 2))
        for call in (layer, compiled(layer))
    )
    for one, other in zip(*(keras.tree.flatten(each) for each in (found, eager)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.torch_first("the constructor computes nothing")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "other", [{"dropout": 0.1}, {"attention_regularizer": "l2"}, {"normalizer": "sparsemax"}]
)
def test_what_needs_all_weights_has_no_chunks(case, other):
    owner, (name,) = case.split(",")[0], other
    with pytest.raises(ArgumentError, match=rf"`chunk_size` of {owner} must be None.*{name}="):
        made(case, chunk_size=3, **other)
