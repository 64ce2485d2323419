"""The probes see what leaks and what does not; the page tells what they found; ours are clean."""

import json

import keras
import numpy as np
import pytest
from docs_hooks import REPOSITORY, hook
from keras import ops

from benchmarks.behaviour import probes, subjects

pytestmark = pytest.mark.every_backend

RESULTS = REPOSITORY / "benchmarks" / "results" / "behaviour"
BACKENDS = ("jax", "tensorflow", "torch")


@keras.saving.register_keras_serializable("behaviour_test")
class Mean(keras.layers.Layer):
    """A mean over time that leaks, or does not, in one way at a time."""

    def __init__(self, how="where", **kwargs):
        super().__init__(**kwargs)
        self.how = how
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is None or self.how == "ignores":
            return ops.mean(inputs, axis=1)
        kept = ops.cast(mask, inputs.dtype)[..., None]
        if self.how == "multiplies":
            return ops.sum(inputs * kept, axis=1) / ops.sum(kept, axis=1)
        if self.how == "stops":  # the value leaks, the gradient does not
            return ops.mean(inputs * kept + ops.stop_gradient(inputs * (1 - kept)), axis=1)
        inputs = ops.cast(ops.where(mask[..., None], inputs, 0), "float32")
        count = ops.maximum(ops.sum(ops.cast(kept, "float32"), axis=1), 1)
        return ops.sum(inputs, axis=1) / count

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def get_config(self):
        return {**super().get_config(), "how": self.how}


class Unregistered(Mean):
    """Saved, this needs `custom_objects`."""


def toy(how, kind=Mean):
    return subjects.Subject(
        lambda dtype: kind(how, dtype=dtype), lambda layer, x, mask: layer(x, mask=mask)
    )


def test_a_sound_layer_passes_every_probe():
    found = probes.probed(toy("where"))
    assert {name: found[name] for name in probes.CLEAN} == probes.CLEAN
    assert found["scores"] == "none"


@pytest.mark.parametrize(
    ("how", "probe", "start"),
    [
        ("ignores", "padding", "yes, "),
        ("ignores", "gradient", "yes, 0."),
        ("ignores", "nan", "yes, 100%"),
        ("ignores", "mask", "not used"),
        ("ignores", "empty", "up to "),
        ("multiplies", "padding", "no"),
        ("multiplies", "nan", "yes, 100%"),
        ("multiplies", "empty", "NaN"),
        ("multiplies", "float16", "not finite"),
        ("stops", "padding", "yes, "),
        ("stops", "gradient", "no"),
    ],
)
def test_what_leaks_is_seen(how, probe, start):
    keras.utils.set_random_seed(0)
    assert probes.PROBES[probe](toy(how)).startswith(start)


def test_how_much_leaks_is_measured():
    # Two steps of six become 10: the mean moves by their sum over six.
    x = np.random.default_rng(0).normal(size=(2, 6, subjects.DIM)).astype("float32")
    change = np.abs(10 - x[1, 4:]).clip(0).sum(axis=0).max() / 6
    shown = float(probes.padding(toy("ignores")).removeprefix("yes, "))
    assert abs(shown - change) < 0.05 * change


def test_an_error_is_a_finding():
    found = probes.probed(toy("where", Unregistered))
    assert found["padding"] == "no" and found["file"].startswith("TypeError: ")
    broken = toy("where")._replace(call=lambda *given: 1 / 0)
    assert probes.probed(broken)["padding"] == "ZeroDivisionError: division by zero"


@pytest.mark.torch_first("each layer has its contract; the probes run on layers made for them")
@pytest.mark.parametrize("name", sorted(subjects.OURS))
def test_ours_are_clean_here_and_in_the_files(name):
    """What the page shows of our layers is what they do now."""
    found = probes.probed(subjects.OURS[name])
    clean = dict(probes.CLEAN)
    if not subjects.OURS[name].pools:
        clean["mask"] = "used, handed on"
    assert {probe: found[probe] for probe in clean} == clean
    for backend in BACKENDS:
        stored = json.loads((RESULTS / f"{backend}.json").read_text(encoding="utf-8"))
        assert stored["ours"][name] == found, backend


@pytest.mark.one_backend("reads the files")
def test_the_page_is_written_from_the_files():
    assert list(hook("behaviour").COLUMNS) == list(probes.PROBES)
    page = (REPOSITORY / "docs" / "behaviour.md").read_text(encoding="utf-8")
    filled = hook("markers").fill(page)
    assert "<!--" not in filled
    for backend in BACKENDS:
        stored = json.loads((RESULTS / f"{backend}.json").read_text(encoding="utf-8"))
        assert stored["date"] in filled
        for verdicts in (*stored["ours"].values(), *stored["peers"].values()):
            for verdict in verdicts.values():
                shown = verdict.replace("`", "")
                assert shown in filled
        assert set(stored["ours"]) == set(subjects.OURS)
