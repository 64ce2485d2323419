"""Every model in half, mixed and double precision: near float32, finite, and trainable."""

import keras
import numpy as np
import pytest
from backend_functions import everywhere, gradients, numpy
from catalogue import CASES, DIM, LAYERS, policy, randomized, together

pytestmark = pytest.mark.every_backend

WHOLE = [name for name, case in CASES.items() if not case.is_layer]
# JAX has no float16 attention on a CPU, and Keras's `MultiHeadAttention` asks for it.
NO_FLOAT16 = ["MultiHeadSAN", "TransformerEncoderClassifier"]
# Relative to the largest output; these are stated in the guide on precision.
TOLERANCES = {"mixed_float16": 2e-2, "mixed_bfloat16": 1e-1, "float64": 1e-4}
FEW = ["MPSAN"]


def runnable(names, name):
    """The models that can be run in a policy here."""
    unable = keras.backend.backend() == "jax" and name == "mixed_float16"
    return [case for case in names if not (unable and case in NO_FLOAT16)]


def outputs(model, inputs):
    fed = inputs if len(inputs) > 1 else inputs[0]
    return {name: x.astype("float64") for name, x in model.predict(fed, verbose=0).items()}


# One policy in the default run, the others in the slow one: they take the same paths.
HALF = ["mixed_float16", pytest.param("mixed_bfloat16", marks=pytest.mark.slow)]


@pytest.mark.torch_first("each layer is near float32 in its contract")
@pytest.mark.parametrize("name", [*HALF, pytest.param("float64", marks=pytest.mark.slow)])
def test_models_are_near_float32(name):
    tolerance = TOLERANCES[name]
    names = runnable(WHOLE, name)
    single = [(randomized(model), inputs) for model, inputs in together(names)]
    with policy(name):
        others = [model for model, _ in together(names)]
    for (model, inputs), other in zip(single, others, strict=True):
        other.set_weights(model.get_weights())
        targets, answers = outputs(model, inputs), outputs(other, inputs)
        for case, target in targets.items():
            assert np.isfinite(answers[case]).all(), case
            np.testing.assert_allclose(
                answers[case], target, atol=tolerance * np.abs(target).max(), err_msg=case
            )


def trained(names, name):
    """Models with their losses before and after a few epochs on the catalogue's three texts."""
    with policy(name):
        models = list(together(runnable(names, name)))
    for model, inputs in models:
        rng = np.random.default_rng(0)
        targets = {
            case: np.eye(output.shape[-1], dtype="float32")[rng.integers(output.shape[-1], size=3)]
            for case, output in model.output.items()
        }
        losses = {case: "categorical_crossentropy" for case in targets}
        model.compile(keras.optimizers.Adam(0.03), losses)
        fed = inputs if len(inputs) > 1 else inputs[0]
        options = {"batch_size": 3, "verbose": 0}
        before = model.evaluate(fed, targets, return_dict=True, **options)
        model.fit(fed, targets, epochs=12, **options)
        yield model, before, model.evaluate(fed, targets, return_dict=True, **options)


@pytest.mark.parametrize("name", HALF)
@pytest.mark.parametrize(
    "names", [FEW, pytest.param(WHOLE, marks=pytest.mark.slow)], ids=["one", "all"]
)
def test_training_works(names, name):
    for model, before, after in trained(names, name):
        scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
        assert scaled == (name == "mixed_float16")
        assert all(np.isfinite(numpy(v)).all() for v in model.variables)
        assert np.isfinite(after["loss"])
        for loss in [key for key in before if key.endswith("loss")]:
            # A loss scale that is too large first skips a step or two, not all.
            assert after[loss] < before[loss], loss


POLICIES = ["float32", "mixed_float16", "mixed_bfloat16"]
# Layers with the weights that their logits are linear in, and the axis of the scores that is time.
LOGITS = {
    "low_rank_learned": (["scale"], -1),
    "structured": (["score_kernel"], -1),
    "generalized": (["score_kernel"], 2),
    "generalized_scalar": (["score_kernel"], -1),
    "attention": (["context"], -1),
    "attention_plain": (["context"], -1),
    "multi_dim": (["score_kernel"], 1),
    "target": (["target"], -1),
    "tokens": (["score_kernel"], -1),
    "window": (["source_kernel", "target_kernel"], -1),
}


@pytest.mark.parametrize(
    "name", everywhere(POLICIES, "mixed_float16", reason="the narrowest range runs everywhere")
)
@pytest.mark.parametrize("case", LOGITS)
def test_logits_at_the_edge_of_the_range(case, name):
    """Logits of up to 6e4 either way, so that their differences leave float16: one word wins."""
    large, axis = LOGITS[case]
    with policy(name):
        layer = LAYERS[case]()
    layer.build((None, None, DIM))
    rng = np.random.default_rng(0)
    for variable in layer.trainable_variables:
        if variable.path.split("/")[-1] in large:
            share = 6e4 / len(large) / variable.shape[-2 if len(variable.shape) > 1 else -1]
            variable.assign(share * rng.uniform(-1, 1, size=variable.shape))
        else:
            variable.assign(rng.uniform(-0.1, 0.1, size=variable.shape))
    x = rng.uniform(-1, 1, size=(3, 6, DIM)).astype("float32")
    mask = np.arange(6) < np.array([[6], [4], [5]])
    output, scores = layer(x, mask=mask, return_attention_scores=True)
    scores = numpy(scores).astype("float64")
    assert np.isfinite(numpy(output)).all() and np.isfinite(scores).all()
    sums = scores.sum(axis)
    if scores.shape[axis] == scores.shape[axis - 1]:  # queries, of which some are padding
        sums = sums[mask]
    np.testing.assert_allclose(sums, 1, atol=1e-2)
    if name == "float32":
        on_x, on_weights = gradients(
            layer, x, lambda t: keras.ops.sum(keras.ops.square(layer(t, mask=mask)))
        )
        assert all(np.isfinite(g).all() for g in [on_x, *on_weights.values()])


# What takes time and memory in proportion to the number of words.
LINEAR = [
    *("low_rank", "low_rank_learned", "structured", "generalized"),
    *("attention", "attention_plain", "multi_dim", "target_code", "features", "tokens"),
    *("sequential", "average", "max", "last", "window"),
]


@pytest.mark.torch_first("sums over time are cast to float32 in one function of `ops`")
@pytest.mark.parametrize("name", HALF)
@pytest.mark.parametrize("time", [1, 100_000])
def test_very_short_and_very_long_rows(time, name):
    """A sum of 100,000 terms in half precision would stop growing, or overflow."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(2, time, DIM)) + 2).astype("float32")
    mask = np.arange(time) < np.array([[time], [max(1, time // 2)]])
    for case in LINEAR:
        single = randomized(LAYERS[case](), x.shape)
        with policy(name):
            layer = randomized(LAYERS[case](), x.shape)
        target, output = numpy(single(x, mask=mask)), numpy(layer(x, mask=mask)).astype("float32")
        np.testing.assert_allclose(
            output, target, atol=2 * TOLERANCES[name] * np.abs(target).max(), err_msg=case
        )
