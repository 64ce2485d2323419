"""What the layers share: initial weights that differ, and the common arguments."""

import inspect
import pickle

import keras
import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import batch
from refusals import refused

from keras_attnpool import ArgumentError, layers, regularizers
from keras_attnpool.layers import (
    LowRankAttentionPooling,
    MaskedAveragePooling1D,
    StructuredSelfAttentionPooling,
    TokenWiseAttention,
)

pytestmark = pytest.mark.every_backend


def kernels(**kwargs):
    """P and Q, of one shape and from one initializer."""
    layer = LowRankAttentionPooling(num_heads=3, use_hidden=False, **kwargs)
    layer.build((None, None, 4))
    return numpy(layer.context_kernel), numpy(layer.token_kernel)


class TestInitializers:
    @pytest.mark.parametrize("seed", [None, 5])
    def test_two_kernels_of_one_shape_never_start_equal(self, seed):
        p, q = kernels(kernel_initializer=keras.initializers.GlorotUniform(seed=seed))
        assert np.abs(p - q).max() > 1e-3

    def test_an_initializers_own_seed_holds_and_its_first_draw_is_kerass(self):
        initializer = keras.initializers.GlorotUniform(seed=5)
        first, second = (
            kernels(kernel_initializer=initializer, seed=9),
            kernels(kernel_initializer=initializer, seed=10),
        )
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(first[0], numpy(initializer((4, 3))))

    def test_the_largest_seeds(self):
        """Those of layers and kernels inside go on from it, and no backend has larger ones."""
        x, seed = np.ones((2, 4, 6), "float32"), 2**31 - 1
        for layer in (
            layers.DirectionalSelfAttention(3, dropout=0.1, seed=seed),
            layers.BlockSelfAttention(3, seed=seed),
            layers.SequentialAttention(seed=seed),
        ):
            assert np.isfinite(numpy(layer(x))).all()
        initializer = keras.initializers.GlorotUniform(seed=2**32 - 1)
        p, q = kernels(kernel_initializer=initializer)
        np.testing.assert_array_equal(p, numpy(initializer((4, 3))))
        assert np.abs(p - q).max() > 1e-3


KEEP = {
    layers.FirstPooling1D: None,
    layers.GeneralizedMeanPooling1D: None,
    layers.LastPooling1D: None,
    layers.MaskedAveragePooling1D: keras.layers.GlobalAveragePooling1D,
    layers.MaskedMaxPooling1D: keras.layers.GlobalMaxPooling1D,
    layers.StatisticsPooling1D: None,
}


@pytest.mark.parametrize("kind", KEEP)
def test_kept_dimensions_are_those_of_keras(kind):
    x, mask = batch()
    layer, plain = kind(keepdims=True), kind()
    output = numpy(layer(x, mask=mask))
    np.testing.assert_array_equal(output, numpy(plain(x, mask=mask))[:, None])
    symbolic = layer(keras.Input(x.shape[1:])).shape
    assert output.shape == layer.compute_output_shape(x.shape) == (len(x), *symbolic[1:])
    if KEEP[kind] is not None:
        target = numpy(KEEP[kind](keepdims=True)(x))
        np.testing.assert_allclose(numpy(layer(x)), target, atol=1e-6)


@pytest.mark.parametrize("value", [1e-50, 1e-39, 1e39, 1e60])
def test_a_number_that_float32_cannot_hold_is_refused(value):
    for make, name in (
        (layers.GeneralizedMeanPooling1D, "epsilon"),
        (layers.GeneralizedMeanPooling1D, "p"),
        (layers.StatisticsPooling1D, "epsilon"),
        (lambda **kwargs: layers.DirectionalSelfAttention(3, **kwargs), "scale"),
    ):
        with pytest.raises(ValueError, match=f"`{name}` of .*finite number > 0 that float32"):
            make(**{name: value})


# Of steps of six features: each with its kernels of ones, and what their penalty must be.
PENALISED = {
    "AttentionPooling": (lambda **k: layers.AttentionPooling(**k), 6),
    "StructuredSelfAttentionPooling": (
        lambda **k: StructuredSelfAttentionPooling(2, 3, use_bias=True, **k),
        6 * 3 + 3 * 2,
    ),
    "FeatureWiseAttention": (lambda **k: layers.FeatureWiseAttention(2, **k), 2 * 6 * 3),
    "TokenWiseAttention": (lambda **k: TokenWiseAttention(reduction=2, **k), 2 * 4 * 2),
    "ConvAttentionPooling": (lambda **k: layers.ConvAttentionPooling(2, 4, **k), 2 * 3 * 6 * 4 + 4),
    "ConvMultiHeadAttention": (
        lambda **k: layers.ConvMultiHeadAttention(2, 4, parallel=False, **k),
        3 * 3 * 6 * 4,
    ),
}


@pytest.mark.one_backend("Keras takes the penalties of weights")
@pytest.mark.parametrize("name", PENALISED)
def test_kernels_are_regularized_and_biases_are_not(name):
    make, penalty = PENALISED[name]
    layer = make(kernel_regularizer=keras.regularizers.L1(1.0))
    layer.build((None, 4, 6))
    for weight in layer.weights:
        weight.assign(np.ones(weight.shape))
    assert sum(float(numpy(value)) for value in layer.losses) == penalty


@pytest.mark.one_backend("refused before anything is computed")
@pytest.mark.parametrize("make", [layers.ConvAttentionPooling, layers.ConvMultiHeadAttention])
def test_filters_that_the_heads_do_not_divide_are_refused(make):
    with refused("filters", make.__name__, "multiple", "filters=6, num_heads=4"):
        make(4, 6)


def test_there_are_few_arguments():
    names = [each for each in vars(layers).values() if inspect.isclass(each)]
    own = [p for each in names for p in inspect.signature(each).parameters if p != "kwargs"]
    # 275, three of the frontier (both projections, global_context), and chunk_size of four more.
    assert len(own) <= 282


def test_the_symbolic_call_names_the_scores_where_the_call_does():
    """What attaches scores to a model reads its signature, and traces the call otherwise."""
    flag, classes = "return_attention_scores", vars(layers).values()
    with_scores = [
        each
        for each in classes
        if inspect.isclass(each) and flag in inspect.signature(each.call).parameters
    ]
    assert len(with_scores) > 10
    for each in with_scores:
        assert flag in inspect.signature(each.compute_output_spec).parameters, each


def test_a_users_subclass_has_arguments_and_a_docstring_of_its_own():
    class Halved(StructuredSelfAttentionPooling):
        """Half of it."""

        def __init__(self, num_heads, factor=0.5, **kwargs):
            super().__init__(num_heads, hidden_dim=4, **kwargs)
            self.factor = factor

        def call(self, inputs, mask=None):
            return self.factor * super().call(inputs, mask)

    layer = Halved(2, factor=0.25, flatten=False)
    assert (layer.num_heads, layer.hidden_dim, layer.flatten) == (2, 4, False)
    assert layer.get_config()["num_heads"] == 2 and layer(np.ones((1, 3, 5))).shape == (1, 2, 5)
    assert Halved.__doc__ == "Half of it."
    with pytest.raises(ValueError, match="`num_heads` of Halved"):
        Halved(0)


def test_sizes_alone_are_taken_by_position():
    for make in (
        lambda: TokenWiseAttention("pointwise"),
        lambda: StructuredSelfAttentionPooling(2, 4, "relu"),
        lambda: MaskedAveragePooling1D(True),
        lambda: LowRankAttentionPooling(2, 1, "mean"),
    ):
        with pytest.raises(TypeError, match="positional argument"):
            make()


def _with_heads():
    pooling = {"num_heads": 3, "kernel_regularizer": regularizers.HeadDistance()}
    yield lambda: layers.StructuredSelfAttentionPooling(hidden_dim=6, **pooling), "kernel"
    yield lambda: layers.LowRankAttentionPooling(**pooling), "kernel"
    yield lambda: layers.LearnedQueryPooling(2, **pooling), "kernel"


@pytest.mark.parametrize(("make", "name"), _with_heads())
def test_a_penalty_on_heads_where_a_weight_has_none_on_its_first_axis(make, name):
    """It would take features for heads."""
    with pytest.raises(ValueError, match=f"`{name}_regularizer` of .* no heads on its first axis"):
        make()
    layers.GeneralizedPooling(3, 4, kernel_regularizer=regularizers.HeadDistance())


def test_an_error_keeps_its_kind_where_it_is_made_anew():
    """By pickle with its fields; by TensorFlow's AutoGraph from its text, still a ValueError."""
    error = ArgumentError("rank", "be an integer >= 1", {"rank": 0}, "LAMA")
    told = "`rank` of LAMA must be an integer >= 1. Received: rank=0"
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == told and (again.owner, again.name) == ("LAMA", "rank")
    if keras.backend.backend() != "tensorflow":
        return
    import tensorflow as tf

    def refuse(x):
        raise error

    with pytest.raises(ArgumentError, match="`rank` of LAMA"):
        tf.function(refuse)(tf.ones(1))
