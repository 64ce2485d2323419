"""One walk through every layer and model: called, predicted, saved and trained, each once.

`make versions ROWS="--walk lowest"` takes it where all tests would take too long.
"""

from functools import cached_property
from importlib.util import find_spec

import keras
import numpy as np
import pytest
from backend_functions import numpy
from catalogue import CASES, MASK, STEPS, randomized, together

pytestmark = [pytest.mark.every_backend, pytest.mark.slow]

# MultiHeadSAN has a layer of KerasHub, which asks for a released Keras.
NAMES = [name for name in CASES if name != "MultiHeadSAN" or find_spec("keras_hub")]


class Walk:
    """Cases of the same inputs, each way gone once for all of them."""

    def __init__(self, model, arrays, path):
        self.model, self.path = randomized(model), path
        self.rows = len(arrays[0])
        # Where a text has no step there may stand anything.
        dirty = [np.where(MASK[..., None], x, np.nan) if x is STEPS else x for x in arrays]
        self.fed, self.dirty = (x if len(x) > 1 else x[0] for x in (arrays, dirty))

    @cached_property
    def called(self):
        return keras.tree.map_structure(numpy, self.model(self.fed))

    @cached_property
    def predicted(self):
        return self.model.predict(self.dirty, verbose=0)

    @cached_property
    def loaded(self):
        self.model.save(self.path)
        return keras.models.load_model(self.path)

    @cached_property
    def predicted_by_the_file(self):
        return self.loaded.predict(self.fed, verbose=0)

    @cached_property
    def losses(self):
        model, _ = self.loaded, self.predicted_by_the_file  # the latter before it is trained
        for layer in model._flatten_layers():
            if isinstance(layer, keras.layers.Dropout):
                layer.rate = 0.0
            elif "dropout" in vars(layer):
                layer.dropout = 0.0
        squares = {
            name: keras.ops.mean(keras.ops.square(x), axis=tuple(range(1, len(x.shape))))
            for name, x in model.output.items()
        }
        outer = keras.Model(model.input, squares)
        outer.compile(keras.optimizers.SGD(0.01), dict.fromkeys(squares, lambda y, loss: loss))
        targets = dict.fromkeys(squares, np.zeros(self.rows, "float32"))
        fit = outer.fit(self.fed, targets, batch_size=self.rows, epochs=2, verbose=0, shuffle=False)
        # Keras does not name the loss of a single output.
        return {name: fit.history.get(f"{name}_loss", fit.history["loss"]) for name in squares}

    def weights(self, name):
        return self.model.output[name]._keras_history.operation.trainable_weights


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    found = {}
    for number, (model, arrays) in enumerate(together(NAMES)):
        found |= dict.fromkeys(model.output, Walk(model, arrays, folder / f"{number}.keras"))
    return found


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", NAMES)
class TestWalk:
    def test_predict_gives_what_a_call_gives_whatever_padding_holds(self, walks, name):
        walk = walks[name]
        np.testing.assert_allclose(walk.predicted[name], walk.called[name], atol=1e-5)

    def test_the_file_predicts_the_same(self, walks, name):
        walk = walks[name]
        target = walk.called[name]
        np.testing.assert_allclose(walk.predicted_by_the_file[name], target, atol=1e-5)

    def test_a_step_of_training_lowers_the_loss(self, walks, name):
        walk = walks[name]
        before, after = walk.losses[name]
        assert after < before if walk.weights(name) else after == before
