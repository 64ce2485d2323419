"""LAMA: low-rank multi-head attention pooling."""

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy
from layer_contract import DIM, EquationContract, HeadsContract, batch
from reference import lama as reference

from keras_attnpool.layers import LowRankAttentionPooling

pytestmark = pytest.mark.every_backend


class LAMAEquations(EquationContract):
    options: dict = {}

    def make(self, **kwargs):
        return LowRankAttentionPooling(**{"num_heads": 3, **self.options, **kwargs})

    def reference(self, weights, x, mask):
        return reference.lama(
            x,
            mask,
            weights["context_kernel"],
            weights["token_kernel"],
            num_heads=self.options.get("num_heads", 3),
            hidden=weights.get("hidden/kernel"),
            bias=weights.get("hidden/bias"),
            context=weights.get("context"),
            scale=weights.get("scale"),
            tanh=self.options.get("activation", "tanh") == "tanh",
            l2=self.options.get("l2_normalize", True),
        )


class TestMeanContext(LAMAEquations, HeadsContract):
    single_on_jax = True

    def test_no_weight_exceeds_e_squared_times_another(self):
        """The l2 step bounds every score to [-1, 1]; the bound is nearly met with two heads."""
        x = np.random.default_rng(0).normal(size=(8, 100, DIM)).astype("float32") * 10
        layer = LowRankAttentionPooling(num_heads=2)
        layer.build((None, None, DIM))
        _, scores = layer(x, return_attention_scores=True)
        scores = numpy(scores)
        ratios = scores.max(-1) / scores.min(-1)
        assert ratios.max() <= np.e**2 * (1 + 1e-5)
        assert ratios.max() > 6
        assert scores.max() <= np.e**2 / (99 + np.e**2)

    def test_the_papers_initial_weights(self):
        """W and b from N(0, 0.1); P and Q by Glorot, and not equal."""
        layer = LowRankAttentionPooling(num_heads=8)
        layer.build((None, None, 200))
        assert abs(numpy(layer.hidden.kernel).std() - 0.1) < 0.005
        assert abs(numpy(layer.hidden.bias).std() - 0.1) < 0.02
        limit = np.sqrt(6 / 208)
        for kernel in (layer.context_kernel, layer.token_kernel):
            assert 0.95 * limit < np.abs(numpy(kernel)).max() <= limit
        assert np.abs(numpy(layer.context_kernel) - numpy(layer.token_kernel)).max() > 0.1


class TestRankTwo(LAMAEquations):
    options = {"rank": 2}


class TestLearnedContext(LAMAEquations):
    options = {"context": "learned"}

    def test_a_context_at_the_call_is_an_error(self):
        x, _ = batch()
        with pytest.raises(ValueError, match="context='learned'"):
            self.make()(x, context=np.zeros((4, DIM), "float32"))


class TestLearnedContextOfRankThree(LAMAEquations, HeadsContract):
    single_on_jax = True
    options = {"context": "learned", "rank": 3, "learn_scale": True}


class TestWithoutHiddenLayer(LAMAEquations):
    options = {"use_hidden": False}


class TestWithoutL2(LAMAEquations):
    options = {"l2_normalize": False}


class TestWithoutTanh(LAMAEquations):
    options = {"activation": None}


class TestBilinearScores(LAMAEquations):
    """Neither tanh nor l2: eq. 10 and 12 alone."""

    options = {"activation": None, "l2_normalize": False, "use_hidden": False}


class TestLearnedScale(LAMAEquations):
    options = {"learn_scale": True}

    def test_it_starts_as_the_paper(self):
        layer = LowRankAttentionPooling(num_heads=3, learn_scale=True)
        layer.build((None, None, DIM))
        np.testing.assert_array_equal(numpy(layer.scale), [1, 1, 1])


class TestOneHead(LAMAEquations):
    options = {"num_heads": 1}


class TestPassedContext:
    """`context=` at the call: LAMA's +ctx, the mean of the word embeddings."""

    def layer(self, **kwargs):
        layer = LowRankAttentionPooling(num_heads=3, **kwargs)
        layer.build((None, None, DIM), (None, 4))
        return layer

    @pytest.mark.parametrize("rank", [1, 2])
    def test_agrees_with_the_reference(self, rank):
        x, mask = batch()
        context = np.random.default_rng(5).normal(size=(4, 4)).astype("float32")
        layer = self.layer(rank=rank)
        output, scores = layer(x, context=context, mask=mask, return_attention_scores=True)
        weights = {w.path.split("/", 1)[1]: numpy(w).astype("float64") for w in layer.weights}
        target, target_scores = reference.lama(
            x.astype("float64"),
            mask,
            weights["context_kernel"],
            weights["token_kernel"],
            3,
            weights["hidden/kernel"],
            weights["hidden/bias"],
            context.astype("float64"),
        )
        np.testing.assert_allclose(numpy(output), target.reshape(4, -1), atol=1e-5)
        np.testing.assert_allclose(numpy(scores), target_scores, atol=1e-5)

    def test_the_mask_of_the_inputs_still_arrives(self):
        """Keras hands it over under another name once the call has two tensors."""
        ids = np.array([[1, 2, 3, 0], [4, 0, 0, 0], [0, 0, 0, 0]])
        context = np.ones((3, 4), "float32")
        embedding = keras.layers.Embedding(9, DIM, mask_zero=True)
        layer = self.layer()
        by_itself, scores = layer(embedding(ids), context=context, return_attention_scores=True)
        np.testing.assert_array_equal(numpy(scores)[:, :, :][ids[:, None].repeat(3, 1) == 0], 0)
        explicit = layer(numpy(embedding(ids)), context=context, mask=ids != 0)
        np.testing.assert_array_equal(numpy(by_itself), numpy(explicit))
        tokens, second = keras.Input((None,), dtype="int32"), keras.Input((4,))
        model = keras.Model([tokens, second], layer(embedding(tokens), context=second))
        np.testing.assert_allclose(
            model.predict([ids, context], verbose=0), numpy(by_itself), atol=1e-6
        )

    def test_an_explicit_mask_wins_over_the_embeddings(self):
        ids = np.array([[1, 2, 3, 0]])
        embedded = keras.layers.Embedding(9, DIM, mask_zero=True)(ids)
        layer = self.layer()
        mask = np.array([[True, False, False, False]])
        _, scores = layer(
            embedded, context=np.ones((1, 4), "float32"), mask=mask, return_attention_scores=True
        )
        np.testing.assert_array_equal(numpy(scores)[0], [[1, 0, 0, 0]] * 3)

    def test_the_context_of_an_empty_row_may_be_anything(self):
        """A mean over no token is NaN in many a user's code; it reaches nothing."""
        x, mask = batch()
        context = np.ones((4, 4), "float32")
        context[-1] = np.nan
        layer = self.layer()
        output = numpy(layer(x, context=context, mask=mask))
        np.testing.assert_array_equal(output[-1], 0)
        on_x, on_weights = gradients(
            layer, x, lambda t: keras.ops.sum(layer(t, context=context, mask=mask))
        )
        assert all(np.isfinite(g).all() for g in [on_x, *on_weights.values()])

    @pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "uint8"])
    def test_a_mask_in_place_of_the_context_is_an_error(self, dtype):
        x, mask = batch(time=4)
        for layer in (LowRankAttentionPooling(3, name="the_name"), self.layer(name="the_name")):
            with pytest.raises(ValueError, match="'the_name'.*floats.*pass a mask as `mask=`"):
                layer(x, context=mask.astype(dtype))
        with pytest.raises(ValueError, match="'the_name'.*pass a mask as `mask=`"):
            self.layer(name="the_name")(
                keras.Input((4, DIM)), context=keras.Input((4,), dtype=dtype)
            )

    @pytest.mark.parametrize("size", [4, DIM])
    def test_a_context_in_place_of_the_mask_is_an_error(self, size):
        inputs, second = keras.Input((None, DIM)), keras.Input((size,))
        layer = LowRankAttentionPooling(3, name="pool")
        layer(inputs, context=second)
        with pytest.raises(ValueError, match="'pool'.*`context=`.*second argument is the mask"):
            layer(inputs, second)

    def test_a_layer_with_a_context_may_be_called_without(self):
        x, mask = batch()
        layer = LowRankAttentionPooling(3)
        layer.build((None, None, DIM), (None, DIM))
        mean = keras.layers.GlobalAveragePooling1D()(x[:3], mask=mask[:3])
        np.testing.assert_allclose(
            numpy(layer(x[:3], mask[:3].astype("float32"))),
            numpy(layer(x[:3], mask[:3], context=mean)),
            atol=1e-6,
        )

    @pytest.mark.parametrize("shape", [(4, 1, 4), (4,), (3, 4)])
    def test_a_context_that_does_not_fit_is_an_error(self, shape):
        x, _ = batch()
        with pytest.raises(ValueError, match="one vector per row"):
            LowRankAttentionPooling(3, name="the_name")(x, context=np.ones(shape, "float32"))
