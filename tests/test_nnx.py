"""Every layer inside a module of Flax NNX: a training step, a saved file, a copied state."""

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from backend_functions import gradients
from catalogue import CASES, randomized

pytestmark = [
    pytest.mark.one_backend("NNX is JAX's, in a process of its own; this one gives the gradients"),
    pytest.mark.slow,
]
RATE = 0.05


@pytest.mark.timeout(900)
def test_every_layer_trains_inside_an_nnx_module(tmp_path):
    pytest.importorskip("flax", reason="comes with the extra `export`, as a part of jax2onnx")
    cases = {name: case for name, case in CASES.items() if case.is_layer}
    # No word has a letter twice: what a maximum does with two of one size is each backend's own.
    letters = np.random.default_rng(0).permuted(np.tile(np.arange(1, 9), (3, 5, 1)), axis=-1)
    cases["characters"] = cases["characters"]._replace(inputs=[letters[..., :4].astype("int32")])
    for name, case in cases.items():
        model = randomized(case.model())
        inputs = case.fed
        # The loss depends on the weights alone; the ids of some models have no gradient.
        _, slopes = gradients(
            model,
            np.zeros(1, "float32"),
            lambda x, model=model, inputs=inputs: (
                keras.ops.mean(keras.ops.square(model(inputs))) + keras.ops.sum(0 * x)
            ),
        )
        model.save(tmp_path / f"{name}.keras")
        stepped = [
            keras.ops.convert_to_numpy(variable) - RATE * slope
            for variable, slope in zip(model.trainable_variables, slopes.values(), strict=True)
        ]
        np.savez(tmp_path / f"{name}.stepped.npz", *stepped)
        np.savez(tmp_path / f"{name}.inputs.npz", *case.inputs)
    script = Path(__file__).with_name("nnx_step.py")
    chosen = {
        "KERAS_BACKEND": "jax",
        "KERAS_NNX_ENABLED": "true",
        "PYTHONPATH": str(script.parent.parent),
        "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false",
    }
    found = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    assert found.stdout.strip() == f"{len(cases)} models trained"
