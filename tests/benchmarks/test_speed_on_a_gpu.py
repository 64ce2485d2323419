"""The command of the speed benchmark fills every table of a GPU, here of tiny sizes without one."""

import itertools
import json
import time

import keras
import pytest
from docs_hooks import hook

from benchmarks.speed import __main__ as command_line
from benchmarks.speed import bags, comparisons, grid, growth, launches, measure, memory, variants

pytestmark = [pytest.mark.every_backend, pytest.mark.slow]

speed = hook("speed")
NAMES = ("MaskedAveragePooling1D", "LowRankAttentionPooling", "AttentionPooling")
# A row of these tables; every other table has AttentionPooling.
ROWS = {"forms": "LAMA, head after head", "limit": "MaskedAveragePooling1D"}
TABLES = ("layers", "growth", "forms", "compiled", "memory", "targets", "limit", "bags", "long")


@pytest.fixture
def a_gpu(monkeypatch, tmp_path):
    """A device of another name, few and small inputs, and the folder of the files."""
    for module in (grid, measure, memory, bags, command_line.devices):
        monkeypatch.setattr(module, "device", lambda: "a GPU")
    # No allocator here tells a peak.
    peaks = itertools.count(2**20, 2**20)
    monkeypatch.setattr(memory, "_forget_the_peak", lambda: 0)
    monkeypatch.setattr(memory, "_peak", lambda: next(peaks))
    monkeypatch.setattr(command_line, "RESULTS", tmp_path)
    monkeypatch.setattr(measure, "machine_rates", dict)
    inputs_of = grid.inputs_of
    for module in (grid, memory, comparisons):
        monkeypatch.setattr(
            module, "inputs_of", lambda batch, time, dim: inputs_of(min(batch, 2), 8, dim)
        )
    chosen = ("GlobalAveragePooling1D", *NAMES, *command_line.SHOWN, "LAMA, head after head")
    everything = variants.variants()
    monkeypatch.setattr(grid, "variants", lambda: {name: everything[name] for name in chosen})
    monkeypatch.setattr(growth, "NAMES", NAMES[:2])
    monkeypatch.setattr(launches, "COUNTED", {name: launches.COUNTED[name] for name in NAMES[:2]})
    some = [each for each in comparisons.COMPARISONS if each.memory]
    monkeypatch.setattr(comparisons, "COMPARISONS", [comparisons.COMPARISONS[0], *some])
    for name, value in {"LONG": (6,), "GROWING": (4, 6), "ON_GPU": (4, 6)}.items():
        monkeypatch.setattr(bags, name, value)
    for name, layer in {"LAYERS": NAMES[2], "PER_FEATURE": "MultiDimAttentionPooling"}.items():
        monkeypatch.setattr(bags, name, {layer: getattr(bags, name)[layer]})
    monkeypatch.setattr(bags, "LONG_DIM", 12)
    monkeypatch.setattr(bags, "GROWING_DIM", 8)
    monkeypatch.setattr(bags, "TEXTS", {"batch": 2, "time": 6, "dim": 12})
    return tmp_path


def test_every_table_is_filled(a_gpu, monkeypatch, capsys):
    backend = keras.backend.backend()
    if backend == "torch":
        # Its compiler takes half a minute a layer.
        run = measure.runner
        monkeypatch.setattr(measure, "runner", lambda *given: run(*given[:3], "eager", *given[4:]))
    command_line.every_kind(time.monotonic() + 10**6, 1)
    told = capsys.readouterr().out
    assert "not all" not in told
    wanted = [*TABLES, "launches"] if backend == "jax" else TABLES
    assert len(list(a_gpu.iterdir())) == (6 if backend == "jax" else 5)
    for view in wanted:
        kind, write = speed.VIEWS[view]
        path = a_gpu / f"{kind}_{backend}_a_gpu.json"
        table = write(json.loads(path.read_text(encoding="utf-8")))
        name = ROWS.get(view, "AttentionPooling")
        row = next(line for line in table.splitlines() if name in line)
        figures = [cell for cell in row.split("|")[2:] if any(map(str.isdigit, cell))]
        assert figures, (view, row, told)
    # A second call has nothing left to measure.
    command_line.every_kind(time.monotonic() + 10**6, 1)
    assert capsys.readouterr().out.count("has all of it") == 5
