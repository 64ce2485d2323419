"""Files, clones and copies of every layer and model; files of earlier versions."""

import copy
import pickle
from pathlib import Path

import keras
import numpy as np
import pytest
from backend_functions import numpy, predict
from catalogue import CASES, IDS, SMALL, randomized, together

from keras_attnpool import models

pytestmark = pytest.mark.every_backend

WHOLE = [name for name, case in CASES.items() if not case.is_layer]
GOLDEN = Path(__file__).parent.parent / "golden"


def predicted(model, inputs):
    outputs = predict(model, inputs if len(inputs) > 1 else inputs[0])
    return {name: numpy(x) for name, x in outputs.items()}


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/*.keras")), ids=lambda p: f"{p.parent.name}")
def test_files_of_earlier_versions_load(path):
    model = keras.models.load_model(path)
    inputs = list(np.load(path.with_suffix(".inputs.npz")).values())
    targets = np.load(path.with_suffix(".outputs.npz"))
    predictions = predicted(model, inputs)
    assert set(predictions) == set(targets)
    for name, target in targets.items():
        np.testing.assert_allclose(predictions[name], target, atol=1e-5, err_msg=name)


def test_the_golden_files_hold_the_whole_catalogue():
    for folder in GOLDEN.iterdir():
        names = [name for path in folder.glob("*.outputs.npz") for name in np.load(path)]
        # A later version knows more cases, and none less.
        assert len(names) > 40 and set(names) <= set(CASES), folder


@pytest.mark.torch_first(
    "test_cross_backend.py saves the same models, and files of earlier versions are read"
)
def test_clones_and_weights_files(tmp_path):
    """A clone has its own weights; a file of weights, or `set_weights`, makes it the same."""
    for number, (model, inputs) in enumerate(together(CASES)):
        randomized(model)
        target = predicted(model, inputs)
        clone = keras.models.clone_model(model)
        assert [v.path for v in clone.weights] == [v.path for v in model.weights]
        randomized(clone, seed=2)
        different = predicted(clone, inputs)
        assert any(np.abs(different[name] - target[name]).max() > 1e-3 for name in target)
        path = tmp_path / f"{number}.weights.h5"
        model.save_weights(path)
        clone.load_weights(path)
        for name, value in predicted(clone, inputs).items():
            np.testing.assert_array_equal(value, target[name], err_msg=name)


@pytest.mark.slow
def test_copies_and_pickles():
    """`copy.deepcopy` and `pickle` of whole models, which Keras passes through a `.keras` file."""
    for model, inputs in together(WHOLE):
        randomized(model)
        target = predicted(model, inputs)
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            for name, value in predicted(twin, inputs).items():
                np.testing.assert_array_equal(value, target[name], err_msg=name)


def test_a_compiled_model_goes_on_where_it_stopped(tmp_path):
    """The optimizer is in the file, so training goes on as if nothing had happened.

    But for dropout: Keras does not keep the state of its random numbers.
    """
    model = models.LAMA(20, 3, num_heads=3, gru_units=4, dropout=0.0, **SMALL)
    labels = np.array([0, 2, 1])
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    model.fit(IDS, labels, epochs=2, verbose=0, shuffle=False)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for each in (model, loaded):
        each.fit(IDS, labels, epochs=2, verbose=0, shuffle=False)
    for ours, theirs in zip(model.weights, loaded.weights, strict=True):
        np.testing.assert_allclose(numpy(ours), numpy(theirs), atol=1e-6, err_msg=ours.path)


@pytest.mark.one_backend("refused before anything is computed")
def test_a_file_with_code_in_it_is_refused(tmp_path):
    """Nothing of ours needs safe mode to be off."""
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Lambda(lambda x: 2 * x)(inputs))
    model.save(tmp_path / "model.keras")
    with pytest.raises(ValueError, match="unsafe|safe_mode"):
        keras.models.load_model(tmp_path / "model.keras")
