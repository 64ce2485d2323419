"""Training on several devices gives the losses and weights of one device; page "Scaling out"."""

import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from robustness import scaling_out

pytestmark = pytest.mark.every_backend

BACKEND = keras.config.backend()
WAYS = {
    "jax": ["data parallel", "model parallel"],
    "tensorflow": ["mirrored"],
    "torch": ["workers"],
}[BACKEND]
WORKERS = 2 if BACKEND == "torch" else 1
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "scaling-out.md"


def train(name: str, folder: Path) -> dict:
    """What the processes found, by way; all workers agree."""
    script = Path(scaling_out.__file__)
    path = os.pathsep.join(str(script.parents[n]) for n in (1, 2))
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    shared = {
        **os.environ,
        "PYTHONPATH": path,
        "XLA_FLAGS": flags,
        "OMP_NUM_THREADS": "1",
        # JAX's virtual devices wait for each other: each needs a thread, and those of two sums that
        # are under way can take all there are.
        "NPROC": "16",
        "WORLD_SIZE": str(WORKERS),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), name, str(folder)],
            env={**shared, "RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(WORKERS)
    ]
    try:
        errors = [process.communicate(timeout=800)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert not any(process.returncode for process in processes), "\n".join(
        e[-2000:] for e in errors
    )
    results = [
        json.loads((folder / f"found_{rank}.json").read_text(encoding="utf-8"))
        for rank in range(WORKERS)
    ]
    for other in results[1:]:
        for way in WAYS:
            assert_same(other[way], results[0][way])
    return results[0]


def assert_same(one: dict, other: dict, tolerance: float = 2e-6) -> None:
    np.testing.assert_allclose(one["losses"], other["losses"], rtol=tolerance)
    assert one["weights"].keys() == other["weights"].keys()
    for path, weight in one["weights"].items():
        wanted = other["weights"][path]
        np.testing.assert_allclose(weight, wanted, atol=tolerance, err_msg=path)


def check(name: str, results: dict) -> None:
    one = results["one device"]
    assert np.std(one["losses"]) > 1e-3
    for way in WAYS:
        assert_same(results[way], one)
    if BACKEND == "jax":
        assert set(results["data parallel"]["parts"].values()) == {1}
        parts = results["model parallel"]["parts"]
        # The table of words always; every layout must serve some model: the slow test sees to it.
        assert parts["embedding/embeddings"] == 4
        cut = {path for path, number in parts.items() if number > 1}
        assert cut == {path for path in parts if scaling_out.layout_of(path)}
    else:
        # Losses are means over texts, of which both parts have as many; penalties on attention are
        # means over texts with a word: of unequal parts the mean is another.
        uneven = results[f"{WAYS[0]}, uneven"]["losses"]
        whole = results["one device, uneven"]["losses"]
        halves = results["mean of halves, uneven"]
        np.testing.assert_allclose(uneven[0], halves, rtol=2e-6)
        assert (abs(uneven[0] - whole[0]) > 1e-4) == (name in scaling_out.PENALIZED)


@pytest.mark.slow
def test_a_small_model(tmp_path):
    check("pooled", train("pooled", tmp_path))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_models_of_the_papers(tmp_path):
    results = {}
    for name in sorted(scaling_out.MODELS.keys() - {"pooled"}):
        (tmp_path / name).mkdir()
        results[name] = train(name, tmp_path / name)
    if BACKEND == "jax":
        paths = {path for each in results.values() for path in each["model parallel"]["parts"]}
        unused = [
            pattern
            for pattern in scaling_out.LAYOUT
            if not any(scaling_out.layout_of(path) == pattern for path in paths)
        ]
        assert not unused
    for name, each in results.items():
        check(name, each)


@pytest.mark.one_backend("reads the guide")
def test_the_guide_shows_this_layout():
    text = GUIDE.read_text(encoding="utf-8")
    block = next(b for b in text.split("```") if b.startswith("python") and "LAYOUT = {" in b)
    names: dict = {}
    exec(block[block.index("LAYOUT = {") : block.index("}", block.index("LAYOUT = {")) + 1], names)
    assert names["LAYOUT"] == scaling_out.LAYOUT
