"""Learned queries with several heads, folded and plain: MAP heads and PMA."""

import numpy as np
import pytest
from backend_functions import gradients, largest_tensor, numpy
from layer_contract import DIM, AttentionContract, EquationContract, batch, probed
from reference import learned_query as reference

from keras_attnpool import ArgumentError
from keras_attnpool.layers import LearnedQueryPooling

pytestmark = pytest.mark.every_backend


class TestLearnedQueryPooling(AttentionContract):
    """Folded: the reference has keys and values."""

    single_on_jax = True
    extreme = 1e3
    options: dict = {"num_queries": 2, "num_heads": 3, "key_dim": 3}

    def make(self, **kwargs):
        return LearnedQueryPooling(**{**self.options, **kwargs})

    def reference(self, weights, x, mask):
        return reference.attention(weights, x, mask, heads=3)

    def heads_of(self, layer, hook, output, scores):
        if hook == "vector_regularizer":
            return output.reshape(len(output), layer.num_queries, -1)
        return scores.reshape(len(scores), layer.num_queries * layer.num_heads, -1)

    def test_queries_come_query_after_query(self):
        x, mask = batch()
        flat, matrix = self.built(), self.built(flatten=False)
        output = numpy(matrix(x, mask=mask))
        assert output.shape == (4, 2, DIM) == matrix.compute_output_shape((4, 5, DIM))
        np.testing.assert_array_equal(numpy(flat(x, mask=mask)), output.reshape(4, -1))

    def test_a_size_that_the_heads_do_not_divide_needs_a_key_dim(self):
        with pytest.raises(ValueError, match="'odd' .*num_heads=4 divides, or give a `key_dim`"):
            LearnedQueryPooling(num_heads=4, name="odd").build((None, None, 6))
        LearnedQueryPooling(num_heads=4, key_dim=2).build((None, None, 6))


@pytest.mark.parametrize(
    ("queries", "heads", "dim", "folds"), [(1, 12, 768, True), (64, 8, 512, True), (80, 8, 512, 0)]
)
def test_the_cheaper_form_is_taken(queries, heads, dim, folds):
    layer = LearnedQueryPooling(queries, heads)
    layer.build((None, None, dim))
    assert layer._folds == folds


@pytest.mark.parametrize("training", [False, True])
def test_both_forms_are_the_same(training):
    """Values, scores and gradients, with dropout too: the forms draw the same."""
    x, mask = batch(time=7)
    found = []
    for folds in (True, False):
        layer = LearnedQueryPooling(2, 3, dropout=0.4, seed=1)
        layer.build((None, None, DIM))
        rng = np.random.default_rng(0)
        for weight in layer.trainable_variables:
            weight.assign(rng.normal(size=weight.shape).astype("float32"))
        layer._folds = folds
        states = [numpy(weight) for weight in layer.non_trainable_variables]
        values = layer(x, mask=mask, training=training, return_attention_scores=True)
        for weight, state in zip(layer.non_trainable_variables, states, strict=True):
            weight.assign(state)
        probe = np.random.default_rng(1).normal(size=(4, 2 * DIM))

        def loss(t, layer=layer, probe=probe):
            return probed(layer(t, mask=mask, training=training), probe)

        on_x, on_weights = gradients(layer, x, loss)
        found.append([*map(numpy, values), on_x, *on_weights.values()])
    for folded, plain in zip(*found, strict=True):
        np.testing.assert_allclose(folded, plain, atol=2e-5, rtol=2e-5)


@pytest.mark.one_backend("the operations are the same")
def test_folded_nothing_of_the_size_of_keys_is_held():
    """Of 8 heads and 64 features; keys alone would be as large as the inputs."""
    layer = LearnedQueryPooling(num_heads=8)
    x = np.random.default_rng(0).normal(size=(2, 500, 64)).astype("float32")
    layer(x)
    pooled = {}
    for folds in (True, False):
        layer._folds = folds
        # The inputs and their gradient are the largest; what is left is smaller by the heads.
        pooled[folds] = largest_tensor(layer, x)
    assert pooled[True] <= x.size <= pooled[False]


class TestEfficientProbe(AttentionContract):
    """Psomas et al.: each head's query meets the inputs themselves, and the heads are joined."""

    single_on_jax = True
    extreme = 1e3
    dims = (3, 3, 6)
    options: dict = {"num_queries": 2, "num_heads": 3, "use_bias": False}

    def make(self, **kwargs):
        options = {**self.options, "key_projection": False, "output_projection": False}
        return LearnedQueryPooling(**{**options, **kwargs})

    def reference(self, weights, x, mask):
        return reference.attention(weights, x, mask, heads=3)

    heads_of = TestLearnedQueryPooling.heads_of

    def test_the_published_order_of_operations(self):
        """To 1e-6, and each row alone. The weights are D^2 + M D."""
        x, mask = batch(rows=8, time=9)
        layer = self.built(num_queries=1)
        assert layer.count_params() == DIM**2 + 3 * DIM
        output = numpy(layer(x, mask=mask))
        np.testing.assert_allclose(
            output, self.expected(layer, x, mask)[0][:, 0], rtol=0, atol=1e-6
        )
        for row, kept, found in zip(x[:-1], mask, output, strict=False):
            np.testing.assert_allclose(numpy(layer(row[kept][None]))[0], found, rtol=0, atol=1e-6)

    def test_it_is_as_wide_as_its_heads(self):
        x, mask = batch()
        for flatten, shape in ((True, (4, 18)), (False, (4, 2, 9))):
            layer = self.built(key_dim=3, flatten=flatten)
            assert numpy(layer(x, mask=mask)).shape == shape == layer.compute_output_shape(x.shape)

    @pytest.mark.one_backend("draws of Keras")
    def test_its_queries_are_drawn_as_rows(self):
        """Many queries start as large as few; places of a convolution would start smaller."""
        layer = self.make(num_queries=50, kernel_initializer="glorot_normal")
        layer.build((None, None, 60))
        np.testing.assert_allclose(numpy(layer.queries).std(), (2 / (150 + 60)) ** 0.5, rtol=0.1)


class TestKeysLeftOut(EquationContract):
    """Plain, with all that stands behind the heads."""

    def make(self, **kwargs):
        return LearnedQueryPooling(
            5, 2, key_dim=1, key_projection=False, feedforward_dim=4, **kwargs
        )

    def reference(self, weights, x, mask):
        vectors, scores = reference.attention(weights, x, mask, heads=2)
        return reference.siglip(weights, vectors) * mask.any(1)[:, None, None], scores

    def test_it_is_plain(self):
        assert not self.built()._folds


class TestOutputLeftOut(EquationContract):
    dims = (2, 2, 4)

    def make(self, **kwargs):
        return LearnedQueryPooling(2, 2, output_projection=False, residual=True, **kwargs)

    def reference(self, weights, x, mask):
        return reference.attention(weights, x, mask, heads=2, residual=True)


class TestPlain(EquationContract):
    """More queries than a head has features."""

    def make(self, **kwargs):
        return LearnedQueryPooling(5, 2, key_dim=1, **kwargs)

    def reference(self, weights, x, mask):
        return reference.attention(weights, x, mask, heads=2)

    def test_it_is_plain(self):
        assert not self.built()._folds


class TestSigLIPsHead(EquationContract):
    def make(self, **kwargs):
        return LearnedQueryPooling(1, 2, 2, feedforward_dim=4, **kwargs)

    def reference(self, weights, x, mask):
        vectors, scores = reference.attention(weights, x, mask, heads=2)
        return reference.siglip(weights, vectors) * mask.any(1)[:, None, None], scores


class TestSetTransformersPooling(EquationContract):
    def make(self, **kwargs):
        return LearnedQueryPooling(
            2, 2, 2, residual=True, feedforward_dim=4, normalize_first=False, activation="relu"
        )

    def reference(self, weights, x, mask):
        vectors, scores = reference.attention(weights, x, mask, heads=2, residual=True)
        vectors = reference.set_transformer(weights, vectors)
        return vectors * mask.any(1)[:, None, None], scores


@pytest.mark.one_backend("refused before anything is computed")
def test_a_norm_without_a_feedforward_network_is_refused():
    with pytest.raises(ValueError, match="`normalize_first` of LearnedQueryPooling must be True w"):
        LearnedQueryPooling(normalize_first=False)


@pytest.mark.one_backend("refused before anything is computed")
@pytest.mark.parametrize("behind", [{"residual": True}, {"feedforward_dim": 4}])
def test_what_stands_behind_heads_of_another_width_is_refused(behind):
    layer = LearnedQueryPooling(1, 2, 5, output_projection=False, **behind)
    with pytest.raises(ArgumentError, match="must be left out .* = 10, not 6"):
        layer.build((None, None, DIM))
    if "residual" in behind:
        with pytest.raises(ArgumentError, match="must be False without `key_projection`"):
            LearnedQueryPooling(key_projection=False, **behind)
