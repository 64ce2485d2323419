"""Bi-BloSAN's attention within and between blocks."""

import keras
import numpy as np
import pytest
from backend_functions import compiled, gradients, numpy
from layer_contract import DIM, EquationContract, SeededContract, SequenceContract, batch, probed
from reference import disan as reference

from keras_attnpool.layers import BlockSelfAttention
from keras_attnpool.layers.block_self_attention import _block_length, _block_length_of_int

pytestmark = pytest.mark.every_backend


def predicted(layer, x, mask, **kwargs):
    """What a model of the layer predicts: it is compiled whole where an eager call is op by op."""
    inputs, keep = keras.Input(x.shape[1:]), keras.Input(x.shape[1:2], dtype="bool")
    model = keras.Model([inputs, keep], layer(inputs, mask=keep, **kwargs))
    return model.predict_on_batch([x, mask])


class BlockEquations(EquationContract):
    """The contract in fewer shapes: some backends compile each of many operations for each."""

    cancelled_weights = ("block_bias",)
    options: dict = {}

    def make(self, **kwargs):
        return BlockSelfAttention(**{"units": 4, **self.options, **kwargs})

    def reference(self, weights, x, mask):
        return reference.block(
            x,
            mask,
            weights,
            self.options.get("direction", "forward"),
            self.options.get("block_length"),
        )

    def test_agrees_with_the_float64_reference(self):
        """At every length; a hole keeps its place."""
        x, mask = batch(rows=21, time=20)
        mask[:] = np.arange(20) < np.arange(21)[:, None]
        mask[18, 3:12] = mask[16, :4] = mask[9, 4] = mask[5, 0] = False
        layer = self.built()
        (target,) = self.expected(layer, x, mask)
        np.testing.assert_allclose(predicted(layer, x, mask), target, atol=1e-5)

    def test_gradients_agree_with_the_reference(self):
        """Slopes in random directions, for the inputs and every weight.

        On a text of three blocks of up to three steps: with one source a softmax has none.
        """
        x, mask = batch(time=8)
        layer = self.built()
        probe = np.random.default_rng(2).normal(size=(4, 8, 4))
        on_x, slopes = gradients(layer, x, lambda t: probed(layer(t, mask=mask), probe))
        slopes = {"inputs": on_x} | {path.split("/", 1)[1]: g for path, g in slopes.items()}
        arrays = {"inputs": x.astype("float64"), **self.weights(layer)}
        rng = np.random.default_rng(3)
        for path, gradient in slopes.items():
            assert np.abs(gradient).max() > 0 or path in self.cancelled_weights, path
            for _ in range(3):
                way = rng.normal(size=gradient.shape)
                losses = []
                for size in (1e-6, -1e-6):
                    moved = arrays | {path: arrays[path] + size * way}
                    losses.append(np.sum(self.reference(moved, moved["inputs"], mask) * probe))
                slope = (losses[0] - losses[1]) / 2e-6
                np.testing.assert_allclose(
                    np.sum(gradient * way), slope, rtol=1e-4, atol=1e-4, err_msg=path
                )


class TestForward(BlockEquations, SeededContract, SequenceContract):
    single_on_jax = True
    # Products of larger numbers leave the range of a float16 output.
    extreme = 1e3

    def test_scores_are_weights_within_blocks_and_between_them(self):
        x, mask = batch(rows=5, time=9)
        mask[3] = np.arange(9) < 4
        layer = self.built()
        output, scores = predicted(layer, x, mask, return_attention_scores=True)
        np.testing.assert_allclose(output, predicted(layer, x, mask), atol=1e-6)
        kept = np.zeros((5, 3, 3), bool)
        for row in range(4):
            length = reference.block_length(np.flatnonzero(mask[row])[-1] + 1)
            for step in np.flatnonzero(mask[row]):
                kept[row, step // length, step % length] = True
        assert kept[0].all() and kept[3].sum() == 4 and not kept[3, :, 2].any()
        for table, there in ((scores["intra"], kept), (scores["inter"], kept.any(axis=2))):
            sees = there[..., :, None] & there[..., None, :] & np.tril(np.ones((3, 3), bool), -1)
            assert table.shape == (*sees.shape, 4)
            np.testing.assert_array_equal(table[~sees], 0)
            assert (table >= 0).all()
            target = np.repeat(sees.any(axis=-1)[..., None], 4, axis=-1)
            np.testing.assert_allclose(table.sum(axis=-2), target, atol=1e-5)

    def test_memory_grows_slower_than_the_square_of_the_time(self):
        layer = self.make()
        _, scores = layer(keras.Input((1000, DIM)), return_attention_scores=True)
        # Blocks of ceil(2000^(1/3)) = 13 steps; 864 steps would still be cut into 72 blocks of 12.
        assert scores["intra"].shape == (None, 77, 13, 13, 4)
        assert scores["inter"].shape == (None, 77, 77, 4)

    @pytest.mark.torch_first("the models of unknown length run everywhere")
    @pytest.mark.parametrize(("time", "block_length"), [(1, None), (14, None), (14, 4), (3, 50)])
    def test_symbolic_scores_are_the_eager_ones(self, time, block_length):
        layer = self.make(units=2, block_length=block_length)
        x, mask = batch(rows=1, time=time)
        _, scores = predicted(layer, x, mask, return_attention_scores=True)
        _, known = layer(keras.Input((time, DIM)), return_attention_scores=True)
        output, unknown = layer(keras.Input((None, DIM)), return_attention_scores=True)
        assert output.shape == (None, None, 2)
        for name, value in scores.items():
            assert known[name].shape == (None, *value.shape[1:])
            assert unknown[name].shape == (*[None] * (value.ndim - 1), 2)

    def test_compiled_is_eager(self):
        x, mask = batch()
        layer = self.built()
        outputs = compiled(layer, return_attention_scores=True)(
            keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(mask)
        )
        eager = layer(x, mask=mask, return_attention_scores=True)
        for value, target in zip(
            keras.tree.flatten(outputs), keras.tree.flatten(eager), strict=True
        ):
            np.testing.assert_allclose(numpy(value), numpy(target), atol=1e-5)

    def test_a_model_of_unknown_length_serves_any_length(self):
        """Also compiled, for training too, where the graph has no length until it runs."""
        inputs, keep = keras.Input((None, DIM)), keras.Input((None,), dtype="bool")
        layer = self.built()
        model = keras.Model([inputs, keep], layer(inputs, mask=keep))
        # PyTorch has no such graph.
        xla = keras.backend.backend() != "torch"
        model.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=xla)
        for time in (1, 3, 8):
            x, mask = batch(rows=2, time=time)
            (target,) = self.expected(layer, x, mask)
            output = model.predict_on_batch([x, mask])
            np.testing.assert_allclose(output, target, atol=1e-5)
            if time > 1:
                model.reset_metrics()  # before Keras 3.15 the loss is the mean of all calls
                loss = model.train_on_batch([x, mask], np.zeros_like(output))
                np.testing.assert_allclose(loss, np.mean(target[mask] ** 2), rtol=1e-4)

    @pytest.mark.parametrize("block_length", [None, 3])
    def test_a_length_that_is_a_tensor_is_the_number(self, block_length):
        layer = self.make(block_length=block_length)
        for time in (1, 2, 9, 14):
            sizes = layer._grid(keras.ops.convert_to_tensor(time, dtype="int32"))
            assert [int(n) for n in sizes] == list(layer._grid(time))

    def test_dropout_is_seeded_and_leaves_padding_zero(self):
        x, mask = batch()
        layer, again = (self.built(dropout=0.5, seed=3) for _ in range(2))
        dropped = self.outputs(layer, x, mask, training=True)[0]
        np.testing.assert_array_equal(self.outputs(again, x, mask, training=True)[0], dropped)
        assert np.abs(dropped - self.outputs(layer, x, mask)[0]).max() > 1e-2
        np.testing.assert_array_equal(dropped[~mask], 0)


class TestBackwardInBlocksOfThree(BlockEquations):
    options = {"direction": "backward", "block_length": 3}

    def test_blocks_of_padding_are_not_attended_to(self):
        """Backward, every block looks at those behind it; released code sees padding there."""
        x, mask = batch(time=9)
        mask[:] = np.arange(9) < 5
        _, scores = predicted(self.built(), x, mask, return_attention_scores=True)
        inter = scores["inter"]
        np.testing.assert_array_equal(inter[:, :, 2:], 0)
        np.testing.assert_allclose(inter[:, 0, 1], 1, atol=1e-6)
        np.testing.assert_array_equal(inter[:, 1:], 0)


def test_either_side_without_bias_and_with_other_functions():
    x, mask = batch(time=9)
    layer = BlockSelfAttention(4, direction=None, scale=2.0, activation="tanh", use_bias=False)
    output = predicted(layer, x, mask)
    weights = {v.path.split("/", 1)[1]: numpy(v).astype("float64") for v in layer.weights}
    assert len(weights) == 11
    target = reference.block(x, mask, weights, None, scale=2.0, activation=np.tanh)
    np.testing.assert_allclose(output, target, atol=1e-5)


@pytest.mark.parametrize(
    ("length", "expected"),
    # Around 2 n = r^3, where cube roots in floats are off: 4 -> 2, 32 -> 4, 500 -> 10.
    [(0, 1), (1, 2), (4, 2), (5, 3), (13, 3), (14, 4), (32, 4), (33, 5), (500, 10), (501, 11)]
    + [(2**29, 1024), (2**29 + 1, 1025), (62_500, 50), (62_501, 51)],
)
def test_the_length_of_a_block(length, expected):
    assert _block_length_of_int(length) == expected
    lengths = _block_length(keras.ops.convert_to_tensor(np.array([[length]], "int32")))
    np.testing.assert_array_equal(numpy(lengths), [[expected]])


def test_there_is_a_block_for_every_step_of_every_length():
    layer = BlockSelfAttention(1)
    for time in range(1, 300):
        needed = [-(-n // _block_length_of_int(n)) for n in range(1, time + 1)]
        blocks, places = layer._grid(time)
        assert blocks == max(needed)
        assert places == min(time, _block_length_of_int(time))
