"""What the speed benchmark compares computes the same."""

import subprocess

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy

from benchmarks.speed import grid, measure, variants

pytestmark = pytest.mark.one_backend("forms of keras.ops alone; JAX would compile each operation")

SAME = [name for name, form in variants.FORMS.items() if form.same]


@pytest.mark.parametrize("name", SAME)
def test_the_straightforward_form_is_the_layer(name):
    layer = grid.built(variants.FORMS[name].of, 12, 3, "float32")
    form = grid.built(name, 12, 3, "float32", layer)
    x, mask = grid.inputs_of(3, 7, 12)
    mask = keras.ops.convert_to_tensor(mask)
    found, target = (
        gradients(each, x, lambda t, each=each: measure.loss_of(each(t, mask=mask)))[0]
        for each in (form, layer)
    )
    np.testing.assert_allclose(
        numpy(form(x, mask=mask)), numpy(layer(x, mask=mask)), rtol=1e-3, atol=1e-5
    )
    np.testing.assert_allclose(found, target, atol=2e-3 * np.abs(target).max())


def test_costs_are_relative_to_a_product_of_the_same_run():
    size = (measure.UNIT, measure.UNIT)
    square = keras.ops.ones(size)
    costs = measure.in_turns({"square": lambda: keras.ops.matmul(square, square)}, rounds=3)
    assert len(costs["square"]) == 3 and min(costs["square"]) > 0


def test_a_pair_table_that_would_not_fit_is_left_out():
    setting = grid.Setting(4096, 128, 5, "eager")
    everything = variants.variants()
    reason = grid.reason_to_leave_out(everything["DirectionalSelfAttention"], setting)
    assert reason is not None and "GiB for pairs of words" in reason
    assert grid.reason_to_leave_out(everything["LowRankAttentionPooling"], setting) is None


@pytest.mark.parametrize("size", ["quick", "usual", "full"])
def test_settings_are_different_from_each_other(size):
    found = list(grid.settings(size))
    assert len(set(found)) == len(found) > 1


@pytest.mark.parametrize(
    ("stderr", "found"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory.\n  • mask=None", "out of memory"),
        ("XlaRuntimeError: RESOURCE_EXHAUSTED: 8 GiB\nsee above", "out of memory"),
        ("Traceback\nValueError: a peer: 5 heads", "ValueError: a peer: 5 heads"),
        ("", "exit -9"),
    ],
)
def test_a_variant_without_memory_says_so(monkeypatch, stderr, found):
    ended = subprocess.CompletedProcess([], -9, stdout="", stderr=stderr)
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: ended)
    assert measure.peak_memory(["AttentionPooling"]) == {"failed": [found]}
