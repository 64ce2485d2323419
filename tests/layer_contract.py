"""The numeric contract of every layer that reads `(batch, time, dim)` and a mask, stated once.

A layer's test file subclasses `PoolingContract` (or `AttentionContract`) where a vector comes out,
`SequenceContract` where a sequence does, and says how to make the layer and what it must compute: a
NumPy float64 reference written from the equations.
"""

import warnings
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from backend_functions import (
    RECURRENT,
    assert_same,
    compiled,
    float64,
    gradients,
    gradients_of,
    numpy,
    on_gpu,
    whole,
)

from keras_attnpool.regularizers import HeadDistance
from keras_attnpool.testing import check_pooling_layer

DIM = 6
ON_JAX = keras.backend.backend() == "jax"


def noticed_by(what: str) -> pytest.MarkDecorator:
    """What `make test` runs under PyTorch alone, and by what it notices a fault on another backend.

    Of each layer there remain the reference at one shape, its gradients, padding, empty rows, one
    half precision, compilation, dropout, penalties in `fit`, masks and the shapes of the outputs.
    """
    return pytest.mark.torch_first(what)


def batch(
    rows: int = 4, time: int = 5, dim: int = DIM, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and a mask with a full row, padding at the end, holes, and an empty row."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, time, dim)).astype("float32")
    mask = rng.random((rows, time)) < 0.6
    mask[0] = True
    if rows > 1:
        mask[1] = np.arange(time) < max(1, time - 2)
    if rows > 2:
        mask[-1] = False
    return x, mask


def probed(output: Any, probe: np.ndarray) -> Any:
    """A scalar loss that weighs every entry of the output differently."""
    return keras.ops.sum(output * keras.ops.convert_to_tensor(probe.astype("float32")))


def central_differences(array: np.ndarray, evaluate: Callable[[], float]) -> np.ndarray:
    """The slopes of `evaluate`, which reads the float64 array, by its entries."""
    result = np.zeros(array.shape)
    for index in np.ndindex(array.shape):
        original = array[index]
        array[index] = original + 1e-6
        above = evaluate()
        array[index] = original - 1e-6
        result[index] = (above - evaluate()) / 2e-6
        array[index] = original
    return result


class EquationContract:
    """The layer computes its paper's equations: values, gradients, a saved file.

    Enough for a variant of a layer that passes the whole contract in another form.
    """

    def make(self, **kwargs: Any) -> Any:
        """The layer under test."""
        raise AssertionError("a contract test states how its layer is made")

    def reference(self, weights: dict[str, np.ndarray], x: np.ndarray, mask: np.ndarray) -> Any:
        """Output, or output and scores, in float64; weights by their name below the layer."""
        raise AssertionError("a contract test states its reference")

    dims: tuple[int, int, int] = (2, 3, 5)
    """Sizes of the inputs: of one step, of the test of the gradients, of a batch of many rows."""

    lengths: tuple[int, int, int] = (1, 5, 4)
    """Numbers of steps: of one row by itself, of a batch of many, of the test of the gradients."""

    # -- help ------------------------------------------------------------------------------------

    def built(self, dim: int = DIM, **kwargs: Any) -> Any:
        layer = self.make(**kwargs)
        layer.build((None, None, dim))
        rng = np.random.default_rng(1)
        # Every weight random, zero-initialised ones too, so that none can hide from the reference.
        for variable in layer.trainable_variables:
            variable.assign(rng.normal(size=variable.shape).astype("float32") * 0.5)
        return layer

    def weights(self, layer: Any) -> dict[str, np.ndarray]:
        return {v.path.split("/", 1)[1]: numpy(v).astype("float64") for v in layer.weights}

    def outputs(self, layer: Any, x: Any, mask: Any = None, **kwargs: Any) -> list[np.ndarray]:
        return [numpy(t) for t in keras.tree.flatten(layer(x, mask=mask, **kwargs))]

    def expected(self, layer: Any, x: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        return keras.tree.flatten(self.reference(self.weights(layer), x.astype("float64"), mask))

    def calls(self) -> list[dict[str, Any]]:
        """The keyword arguments with which the layer can be called."""
        return [{}]

    def compiled_calls(self) -> list[dict[str, Any]]:
        """The one of `calls` that gives most: asking for scores changes nothing."""
        return self.calls()[-1:]

    # -- equations -------------------------------------------------------------------------------

    # Two shapes, each of which JAX compiles. Of many rows one is full, one padded, one without a
    # step, one with one step in the middle, and the others have holes wherever they fall.
    @pytest.mark.parametrize(
        ("rows", "index"),
        [pytest.param(1, 0, marks=noticed_by("the batch of twelve rows")), (12, -1)],
    )
    def test_agrees_with_the_float64_reference(self, rows, index):
        time, dim = self.lengths[0 if rows == 1 else 1], self.dims[index]
        x, mask = batch(rows, time, dim)
        if rows > 1:
            mask[2] = np.arange(time) == time // 2
        layer = self.built(dim)
        # JAX compiles the whole sooner than one operation after the other: once, with all it gives.
        for kwargs in self.compiled_calls() if ON_JAX else self.calls():
            found = keras.tree.flatten(whole(layer, **kwargs)(x, mask))
            for value, target in zip(found, self.expected(layer, x, mask), strict=False):
                target = target.reshape(value.shape)
                np.testing.assert_allclose(numpy(value), target, atol=1e-5, rtol=1e-5)

    @noticed_by("the model of unknown length has no mask")
    def test_no_mask_is_a_mask_of_ones(self):
        x, _ = batch()
        layer = self.built()
        ones = np.ones(x.shape[:2], bool)
        np.testing.assert_allclose(
            self.outputs(layer, x)[0], self.outputs(layer, x, ones)[0], atol=1e-6
        )

    def test_gradients_agree_with_the_reference(self):
        """Central differences of the float64 reference, for the inputs and every weight."""
        x, mask = batch(rows=3, time=self.lengths[2], dim=self.dims[1])
        layer = self.built(self.dims[1])
        probe = np.random.default_rng(2).normal(size=layer.compute_output_shape(x.shape))
        on_x, on_weights = gradients(layer, x, lambda t: probed(layer(t, mask=mask), probe))
        prefix = layer.name + "/"
        weights = self.weights(layer)

        def loss(x64: np.ndarray, weights: dict[str, np.ndarray]) -> float:
            found = self.reference(weights, x64, mask)
            output = found[0] if isinstance(found, tuple) else found
            return float(np.sum(output.reshape(probe.shape) * probe))

        x64 = x.astype("float64")
        np.testing.assert_allclose(
            on_x, central_differences(x64, lambda: loss(x64, weights)), atol=1e-4, rtol=1e-4
        )
        for path, value in on_weights.items():
            array = weights[path.removeprefix(prefix)]
            target = central_differences(array, lambda: loss(x64, weights))
            np.testing.assert_allclose(value, target, atol=1e-4, rtol=1e-4, err_msg=path)

    # -- saving ----------------------------------------------------------------------------------

    @pytest.mark.one_backend("computes nothing")
    def test_the_config_holds_every_argument(self):
        layer = self.make(name="the_name")
        config = layer.get_config()
        again = type(layer).from_config(config)
        assert again.get_config() == config
        for name in config:
            assert hasattr(layer, name if name != "dtype" else "dtype_policy"), name

    @noticed_by("robustness/test_saving.py and test_cross_backend.py save each layer")
    def test_a_saved_model_is_the_model(self, tmp_path):
        inputs = keras.Input((None, DIM))
        layer = self.built()
        model = keras.Model(inputs, layer(inputs))
        x, _ = batch()
        model.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
        # Called and not compiled: `predict` is another test's.
        np.testing.assert_array_equal(numpy(loaded(x)), numpy(model(x)))
        model.save_weights(tmp_path / "model.weights.h5")
        fresh = keras.models.clone_model(model)
        fresh.load_weights(tmp_path / "model.weights.h5")
        np.testing.assert_array_equal(numpy(fresh(x)), numpy(model(x)))


class MaskedContract(EquationContract):
    """What every layer promises that reads a sequence and its mask, whatever it makes of them."""

    single_on_jax = False
    """Whether the layer is made of what Keras computes in float32 on JAX: `tanh` and `mean`."""

    atol = 5e-6 if on_gpu() else 1e-6
    """How far the same numbers may be apart in batches of other shapes."""

    extreme = 3e4
    """A number near the edge of float16 with which the output must be finite.

    Less where the output is no mean of inputs but their products, which may leave that range.
    """

    text = 5
    """Steps of a text that is padded on either side."""

    sides: tuple[tuple[int, int], ...] = ((0, 0), (0, 3), (3, 0), (1, 2))
    """How many steps of padding stand before it and behind."""

    def steps_of(self, output: Any, steps: slice) -> Any:
        """The part of an output that belongs to these steps of the inputs."""
        return output

    # -- masks -----------------------------------------------------------------------------------

    @pytest.fixture(scope="class")
    @classmethod
    def sloped(cls) -> tuple[Any, Any]:
        """The layer and its gradients at the shape of `batch`, compiled once for several tests."""
        contract = cls()
        layer = contract.built()
        return layer, contract.gradients_of(layer, batch()[0].shape)

    def test_what_padding_holds_changes_nothing(self, sloped):
        """And has no gradient."""
        x, mask = batch()
        layer, slopes = sloped
        clean = [self.outputs(layer, x, mask, **kwargs) for kwargs in self.calls()]
        clean.append(slopes(x, mask))
        np.testing.assert_array_equal(clean[-1][0][~mask], 0)
        for garbage in (1e9, np.nan, np.inf, -np.inf):
            dirty = np.where(mask[..., None], x, np.float32(garbage))
            found = [self.outputs(layer, dirty, mask, **kwargs) for kwargs in self.calls()]
            found.append(slopes(dirty, mask))
            for values, targets in zip(found, clean, strict=True):
                for value, target in zip(values, targets, strict=True):
                    assert_same(value, target)

    @noticed_by("the reference has rows of every length in one batch")
    def test_padding_on_either_side_changes_nothing(self):
        """Nor its gradients. Holes in the text keep their places."""
        text = batch(time=self.text)
        layer = self.built()
        outputs, slopes = [], []
        for before, behind in self.sides:
            steps = slice(before, before + self.text)
            room = ((0, 0), (before, behind))
            x, mask = np.pad(text[0], (*room, (0, 0)), constant_values=7), np.pad(text[1], room)
            outputs.append(self.steps_of(self.outputs(layer, x, mask)[0], steps))
            on_x, *others = self.gradients_of(layer, x.shape, steps)(x, mask)
            slopes.append([on_x[:, steps], *others])
        for output, found in zip(outputs[1:], slopes[1:], strict=True):
            np.testing.assert_allclose(output, outputs[0], atol=self.atol)
            for value, target in zip(found, slopes[0], strict=True):
                np.testing.assert_allclose(value, target, atol=10 * self.atol)

    def all_gradients(self, layer: Any, x: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        return self.gradients_of(layer, x.shape)(x, mask)

    def gradients_of(
        self, layer: Any, shape: tuple[int, ...], steps: slice = slice(None)
    ) -> Callable[[np.ndarray, np.ndarray], list[np.ndarray]]:
        """Gradients of a sum of these steps, of this layer at this shape; JAX compiles it once."""
        wanted = self.steps_of(np.empty(layer.compute_output_shape(shape)), steps).shape
        probe = np.random.default_rng(2).normal(size=wanted).astype("float32")
        found = gradients_of(
            layer, lambda t, mask: probed(self.steps_of(layer(t, mask=mask), steps), probe)
        )

        def flat(x: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
            on_x, on_weights = found(x, mask)
            return [on_x, *on_weights.values()]

        return flat

    def test_an_empty_row_gives_zeros_and_finite_gradients(self, sloped):
        x, mask = batch()
        mask[:] = False
        mask[0, 0] = True
        layer, slopes = sloped
        output = self.outputs(layer, x, mask)[0]
        np.testing.assert_array_equal(output[1:], 0)
        assert np.isfinite(output).all()
        found = slopes(x, mask)
        assert all(np.isfinite(g).all() for g in found)
        np.testing.assert_array_equal(found[0][1:], 0)
        only_empty = slopes(x, np.zeros_like(mask))
        assert all((g == 0).all() for g in only_empty)

    # -- shapes ----------------------------------------------------------------------------------

    def test_symbolic_shapes_are_the_eager_ones(self):
        x, mask = batch()
        layer = self.built()
        for kwargs in self.calls():
            eager = keras.tree.flatten(layer(x, mask=mask, **kwargs))
            for shape in ((5, DIM), (None, DIM)):
                found = keras.tree.flatten(layer(keras.Input(shape), **kwargs))
                for symbolic, value in zip(found, eager, strict=True):
                    known = [
                        s is None or s == e
                        for s, e in zip(symbolic.shape, value.shape, strict=True)
                    ]
                    assert all(known), (symbolic.shape, value.shape)
                    assert symbolic.dtype == keras.backend.standardize_dtype(value.dtype)
        assert layer.compute_output_shape((4, 5, DIM)) == tuple(numpy(layer(x)).shape)

    def test_a_model_of_unknown_length_serves_any_length(self):
        inputs = keras.Input((None, DIM))
        layer = self.built()
        model = keras.Model(inputs, layer(inputs))
        for time in (1, 8):
            x, _ = batch(rows=2, time=time)
            found = model.predict(x, verbose=0)
            target = self.expected(layer, x, np.ones((2, time), bool))[0]
            np.testing.assert_allclose(found, target.reshape(found.shape), atol=1e-5, rtol=1e-5)

    @noticed_by("models/test_every_builder.py has batches without rows")
    def test_a_batch_of_no_rows_gives_none(self):
        """In an eager call, with its gradient, and in `predict`."""
        x, mask = batch()
        layer = self.built()
        for kept in (None, mask[:0]):
            output = self.outputs(layer, x[:0], kept)[0]
            assert output.shape == layer.compute_output_shape((0, *x.shape[1:]))
        assert all((g == 0).all() for g in self.all_gradients(layer, x[:0], mask[:0]))
        inputs, keep = keras.Input((None, DIM)), keras.Input((None,), dtype="bool")
        model = keras.Model([inputs, keep], layer(inputs, mask=keep))
        assert model.predict_on_batch([x[:0], mask[:0]]).shape == output.shape

    # -- precision and compilation ---------------------------------------------------------------

    @pytest.mark.parametrize(
        ("policy", "tolerance"),
        [
            ("mixed_float16", 2e-2),
            *(
                pytest.param(*each, marks=noticed_by("`mixed_float16` takes the same path"))
                for each in [("mixed_bfloat16", 1e-1), ("float64", 1e-4), ("float16", 2e-2)]
            ),
        ],
    )
    def test_other_precisions_stay_near_float32(self, policy, tolerance):
        x, mask = batch()
        single, other = self.built(), self.make(dtype=policy)
        other.build((None, None, DIM))
        other.set_weights(single.get_weights())
        call = whole(other)
        output = call(x, mask)
        wanted = keras.dtype_policies.get(policy).compute_dtype
        if not (wanted == "float64" and keras.backend.backend() == "jax"):
            assert keras.backend.standardize_dtype(output.dtype) == wanted
        np.testing.assert_allclose(
            numpy(output), self.outputs(single, x, mask)[0], atol=tolerance, rtol=tolerance
        )
        # Numbers at the edge of half precision, and garbage at padding that is infinite in it.
        extreme = np.where(mask[..., None], np.sign(x) * self.extreme, 1e30).astype("float32")
        assert np.isfinite(numpy(call(extreme, mask))).all()

    @noticed_by("the casts are the same code on every backend")
    def test_float64_in_gives_float64_out(self):
        x, mask = batch()
        with float64():
            layer = self.built(dtype="float64")
            x64 = x.astype("float64")
            outputs = self.outputs(layer, x64, mask)
            targets = self.expected(layer, x64, mask)
        # Keras multiplies float64 matrices in float32 on torch.
        single = {"torch": True, "jax": self.single_on_jax}.get(keras.backend.backend(), False)
        tolerance = 1e-5 if single else 1e-9
        for output, target in zip(outputs, targets, strict=False):
            assert output.dtype == np.float64
            np.testing.assert_allclose(
                output, target.reshape(output.shape), atol=tolerance, rtol=tolerance
            )

    def test_compiled_is_eager(self):
        x, mask = batch()
        layer = self.built()
        for kwargs in self.compiled_calls():
            x_tensor, mask_tensor = (
                keras.ops.convert_to_tensor(x),
                keras.ops.convert_to_tensor(mask),
            )
            found = keras.tree.flatten(compiled(layer, **kwargs)(x_tensor, mask_tensor))
            for value, target in zip(found, self.outputs(layer, x, mask, **kwargs), strict=True):
                np.testing.assert_allclose(numpy(value), target, atol=1e-5)


class PoolingContract(MaskedContract):
    """What every pooling layer promises; what others can hold theirs to comes first."""

    not_promised: tuple[str, ...] = ()
    """What the public check has to skip: promises of a layer that takes any length, say."""

    @noticed_by("what follows says the same of each backend, to the last bit")
    def test_it_keeps_the_promises_of_the_public_check(self):
        check_pooling_layer(self.make, largest=self.extreme, skip=self.not_promised)

    @noticed_by("Keras hands masks on alike; test_docs_mask_table.py has its layers")
    def test_the_mask_comes_from_the_embedding_and_ends_here(self):
        ids = np.array([[1, 2, 3, 0], [4, 0, 0, 0], [0, 0, 0, 0]])
        embedding = keras.layers.Embedding(9, DIM, mask_zero=True)
        layer = self.make()
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            embedded = embedding(ids)
            output = layer(embedded)
        assert getattr(output, "_keras_mask", None) is None
        assert layer.compute_mask(embedded, ids != 0) is None
        explicit = layer(numpy(embedded), mask=ids != 0)
        assert_same(numpy(output), numpy(explicit))


class SequenceContract(MaskedContract):
    """What every layer promises that returns a sequence with the steps of its inputs."""

    def steps_of(self, output: Any, steps: slice) -> Any:
        return output[:, steps]

    def attending(self, mask: np.ndarray) -> np.ndarray:
        """The steps that have something to attend to: those whose output is not zero."""
        return mask

    def test_padded_steps_are_exactly_zero(self):
        x, mask = batch()
        layer = self.built()
        attending = self.attending(mask)
        assert attending.any()
        for kwargs in self.calls():
            output = self.outputs(layer, x, mask, **kwargs)[0]
            np.testing.assert_array_equal(output[~attending], 0)
            assert (np.abs(output[attending]).max(axis=-1) > 0).all()

    @noticed_by("Keras hands masks on alike; test_docs_mask_table.py has its layers")
    def test_the_mask_comes_from_the_embedding_and_goes_on(self):
        ids = np.array([[1, 2, 3, 0], [4, 0, 5, 0], [0, 0, 0, 0]])
        embedding = keras.layers.Embedding(9, DIM, mask_zero=True)
        layer = self.make()
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            embedded = embedding(ids)
            output = layer(embedded)
        np.testing.assert_array_equal(numpy(output._keras_mask), ids != 0)
        np.testing.assert_array_equal(numpy(layer.compute_mask(embedded, ids != 0)), ids != 0)
        assert layer.compute_mask(embedded, None) is None
        explicit = layer(numpy(embedded), mask=ids != 0)
        assert_same(numpy(output), numpy(explicit))

    @noticed_by("Keras hands masks on alike")
    def test_no_mask_gives_no_mask(self):
        assert getattr(self.built()(batch()[0]), "_keras_mask", None) is None

    @noticed_by("Keras hands masks on alike; test_docs_mask_table.py has its layers")
    def test_the_mask_reaches_the_layer_behind(self):
        """In a functional model of unknown length, with the mask as an input of its own."""
        x, mask = batch()
        layer = self.built()
        inputs, keep = keras.Input((None, DIM)), keras.Input((None,), dtype="bool")
        output = layer(inputs, mask=keep)
        pooled = keras.layers.GlobalAveragePooling1D()(output)
        found = numpy(keras.Model([inputs, keep], pooled)([x, mask]))[:-1]
        kept = mask[:-1, :, None]
        target = np.sum(self.outputs(layer, x, mask)[0][:-1], axis=1) / kept.sum(axis=1)
        np.testing.assert_allclose(found, target, atol=1e-5)


class SeededContract(EquationContract):
    """What a layer promises that has weights or dropout, and a `seed`."""

    @noticed_by("Keras draws, each initializer with its seed")
    def test_the_seed_fixes_the_weights_and_they_differ_from_each_other(self):
        layers = [self.make(seed=5) for _ in range(2)]
        for layer in layers:
            layer.build((None, None, DIM))
        for first, second in zip(layers[0].weights, layers[1].weights, strict=True):
            np.testing.assert_array_equal(numpy(first), numpy(second))
        other = self.make(seed=6)
        other.build((None, None, DIM))
        assert any(
            np.abs(numpy(a) - numpy(b)).max() > 0
            for a, b in zip(layers[0].weights, other.weights, strict=True)
        )
        kernels = [
            numpy(w) for w in layers[0].weights if len(w.shape) == 2 and not w.path.endswith("bias")
        ]
        for i, kernel in enumerate(kernels):
            for later in kernels[i + 1 :]:
                assert kernel.shape != later.shape or np.abs(kernel - later).max() > 1e-3


class RecurrentContract(SequenceContract, SeededContract):
    """What the layers promise that read a sequence both ways by a recurrent layer of Keras."""

    single_on_jax = True
    atol = RECURRENT
    of_keras = keras.layers.LSTM

    def test_it_is_kerass_bidirectional_layer_on_padded_rows(self):
        x, mask = batch(rows=3)
        mask[2] = [True, False, False, False, False]
        ours = self.built()
        theirs = keras.layers.Bidirectional(self.of_keras(ours.units, return_sequences=True))
        theirs.build(x.shape)
        theirs.set_weights(ours.get_weights())
        target = numpy(theirs(x, mask=mask))
        np.testing.assert_allclose(numpy(ours(x, mask=mask))[mask], target[mask], atol=RECURRENT)
        np.testing.assert_allclose(numpy(ours(x)), numpy(theirs(x)), atol=RECURRENT)

    def test_dropout_meets_the_words_and_leaves_padding_zero(self):
        x, mask = batch()
        layer = self.make(dropout=0.5, seed=3)
        dropped = numpy(layer(x, mask=mask, training=True))
        changed = np.abs(dropped - numpy(layer(x, mask=mask)))
        assert changed[..., : layer.units].max() > 1e-3 and changed[..., layer.units :].max() > 1e-3
        np.testing.assert_array_equal(dropped[~mask], 0)
        again = self.make(dropout=0.5, seed=3)(x, mask=mask, training=True)
        np.testing.assert_array_equal(numpy(again), dropped)

    @noticed_by("a sum of what its default form gives")
    def test_the_directions_can_be_added(self):
        x, mask = batch()
        joined, added = self.built(), self.make(merge_mode="sum")
        added.build((None, None, DIM))
        added.set_weights(joined.get_weights())
        forward, backward = np.split(numpy(joined(x, mask=mask)), 2, axis=-1)
        output = added(x, mask=mask)
        np.testing.assert_allclose(numpy(output), forward + backward, atol=RECURRENT)
        assert added.compute_output_shape(x.shape) == tuple(output.shape) == forward.shape

    @pytest.mark.one_backend("computes nothing of ours")
    def test_weights_are_regularized_and_started_as_asked(self):
        layer = self.make(
            kernel_initializer="ones",
            recurrent_initializer=keras.initializers.Constant(2.0),
            bias_initializer="ones",
            kernel_regularizer=keras.regularizers.L1(1.0),
            recurrent_regularizer=keras.regularizers.L1(10.0),
        )
        layer.build((None, None, 3))
        kernel, recurrent = (np.prod(w.shape) for w in layer.weights[:2])
        total = sum(float(numpy(value)) for value in layer.losses)
        assert total == 2 * (kernel + 10 * 2 * recurrent)


class AttendingContract(EquationContract):
    """What a layer promises on top whose steps attend to each other."""

    def calls(self) -> list[dict[str, Any]]:
        return [{}, {"return_attention_scores": True}]

    def test_asking_for_scores_changes_nothing_and_dropout_is_seeded(self):
        x, mask = batch()
        layer, again = (self.built(dropout=0.5, seed=3) for _ in range(2))
        dropped, *_ = self.outputs(layer, x, mask, training=True, return_attention_scores=True)
        np.testing.assert_array_equal(self.outputs(again, x, mask, training=True)[0], dropped)
        quiet, *_ = self.outputs(layer, x, mask, return_attention_scores=True)
        np.testing.assert_array_equal(self.outputs(again, x, mask)[0], quiet)
        assert np.abs(dropped - quiet).max() > 1e-2
        np.testing.assert_array_equal(dropped[~mask], 0)


class AttentionContract(SeededContract, PoolingContract):
    """What a pooling layer with attention weights promises on top."""

    time_axis = -1
    """The axis of the scores that is time."""

    def calls(self) -> list[dict[str, Any]]:
        return [{}, {"return_attention_scores": True}]

    def heads_of(self, layer: Any, hook: str, output: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """What a penalty takes for the heads of each row, `(rows, heads, ...)`."""
        heads = scores if hook == "attention_regularizer" else output
        return heads.reshape(len(heads), getattr(layer, "num_heads", 1), -1)

    @noticed_by("the reference has the scores")
    def test_weights_sum_to_one_over_the_kept_steps_and_are_zero_elsewhere(self):
        x, mask = batch()
        layer = self.built()
        for scale in (1.0, 100.0):
            _, scores = self.outputs(layer, x * scale, mask, return_attention_scores=True)
            # Time comes last, behind heads and features alike.
            scores = np.moveaxis(scores, self.time_axis, -1)
            keep = mask.reshape(len(mask), *[1] * (scores.ndim - 2), -1)
            assert (scores >= 0).all()
            np.testing.assert_array_equal(scores[~np.broadcast_to(keep, scores.shape)], 0)
            target = np.broadcast_to(keep.any(-1), scores.shape[:-1]).astype("float32")
            np.testing.assert_allclose(scores.sum(-1), target, atol=1e-5)

    def test_dropout_is_seeded_and_scores_are_taken_before_it(self):
        x, mask = batch()
        first, second = self.built(dropout=0.5, seed=7), self.built(dropout=0.5, seed=7)
        output, scores = self.outputs(first, x, mask, training=True, return_attention_scores=True)
        np.testing.assert_array_equal(self.outputs(second, x, mask, training=True)[0], output)
        quiet, quiet_scores = self.outputs(first, x, mask, return_attention_scores=True)
        np.testing.assert_array_equal(scores, quiet_scores)
        assert np.abs(output - quiet).max() > 0
        np.testing.assert_array_equal(output[-1], 0)

    @pytest.mark.parametrize(
        "hook",
        [
            "attention_regularizer",
            pytest.param("vector_regularizer", marks=noticed_by("the hook on attention")),
        ],
    )
    def test_penalties_reach_the_loss_in_fit(self, hook):
        """A model whose output is multiplied by zero has no other loss than the penalty."""
        x, mask = batch(rows=4)
        layer = self.built(**{hook: keras.regularizers.L2(1.0)})
        inputs, keep = keras.Input((None, DIM)), keras.Input((None,), dtype="bool")
        model = keras.Model([inputs, keep], layer(inputs, mask=keep) * 0)
        # XLA compiles it on JAX, where each operation would be compiled else.
        model.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=ON_JAX)
        output, scores = self.outputs(layer, x, mask, return_attention_scores=True)
        history = model.fit([x, mask], np.zeros_like(output), batch_size=4, verbose=0)
        penalised = scores if hook == "attention_regularizer" else output
        np.testing.assert_allclose(
            history.history["loss"][0], np.sum(penalised.astype("float64") ** 2), rtol=1e-4
        )

    @noticed_by("test_regularizers.py, and a penalty in `fit`")
    @pytest.mark.parametrize("hook", ["attention_regularizer", "vector_regularizer"])
    def test_head_penalties_are_means_over_the_rows_that_keep_a_step(self, hook):
        x, mask = batch()
        regularizer = HeadDistance(0.7, threshold=50.0)
        layer = self.built(**{hook: regularizer})
        output, scores = self.outputs(layer, x, mask, return_attention_scores=True)
        heads = self.heads_of(layer, hook, output, scores)
        kept = mask.any(axis=1)
        assert not kept.all()
        target = np.mean([numpy(regularizer(row)) for row in heads[kept]])
        np.testing.assert_allclose(numpy(layer.losses[-1]), target, rtol=1e-5)
        layer(x, mask=np.zeros_like(mask))
        assert float(numpy(layer.losses[-1])) == 0


class HeadsContract(AttentionContract):
    """What an attention pooling promises on top whose vectors can stand one per head."""

    def test_heads_come_head_after_head(self):
        x, mask = batch()
        flat, matrix = self.built(), self.built(flatten=False)
        output = numpy(matrix(x, mask=mask))
        assert output.shape == matrix.compute_output_shape(x.shape) == (len(x), 3, DIM)
        np.testing.assert_array_equal(numpy(flat(x, mask=mask)), output.reshape(len(x), -1))
