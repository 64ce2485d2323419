"""What the speed benchmark compares computes the same."""

import json
import os
import signal
import time
from pathlib import Path

import keras
import numpy as np
import pytest
from backend_functions import gradients, numpy
from docs_hooks import hook

from benchmarks.speed import __main__ as command_line
from benchmarks.speed import (
    comparisons,
    grid,
    growth,
    launches,
    measure,
    memory,
    variants,
)

pytestmark = pytest.mark.one_backend("forms of keras.ops alone; JAX would compile each operation")

speed = hook("speed")
SAME = [name for name, form in variants.FORMS.items() if form.same]


@pytest.fixture(autouse=True)
def compiler_as_it_was():
    """`measure` makes PyTorch's compiler strict, for the whole process."""
    if keras.backend.backend() != "torch":
        yield
        return
    from torch._dynamo import config

    with config.patch(fail_on_recompile_limit_hit=False):
        yield


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


def test_a_pair_table_that_would_not_fit_is_left_out():
    setting = grid.Setting(4096, 128, 5, "eager")
    everything = variants.variants()
    reason = grid.reason_to_leave_out(everything["DirectionalSelfAttention"], setting)
    assert reason is not None and "GiB for pairs of words" in reason
    assert grid.reason_to_leave_out(everything["LowRankAttentionPooling"], setting) is None


def test_the_published_probe_is_ours():
    x, mask = grid.inputs_of(4, 9, 12)
    ours, published, _ = comparisons.probes(heads=3).values()
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), numpy(published(x, mask=mask)), atol=1e-6)


@pytest.mark.parametrize(
    ("error", "found"),
    [
        ("CUDA out of memory.\n  • mask=None", "out of memory"),
        ("RESOURCE_EXHAUSTED: 8 GiB\nsee above", "out of memory"),
        ("a peer: 5 heads", "a peer: 5 heads"),
    ],
)
def test_a_variant_without_memory_says_so(monkeypatch, error, found):
    def refuse(*_):
        raise RuntimeError(error)

    monkeypatch.setattr(memory, "apart", refuse)
    assert memory.peak_memory("AttentionPooling") == {"failed": [found]}


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="the others tell a GPU's memory alone")
def test_on_a_gpu_the_memory_is_that_of_the_program_of_jax(monkeypatch):
    monkeypatch.setattr(memory, "device", lambda: "a GPU")
    layer = grid.built("AttentionPooling", 32, 4, "float32")
    inputs, mask = grid.inputs_of(4, 64, 32)
    taken = memory.taken_by(measure.runner(layer, inputs, mask, "compiled", True))
    # The gradients of the inputs at least, and the padded inputs as zeros.
    assert inputs.nbytes <= taken <= 8 * inputs.nbytes
    assert memory.apart(os.getpid) == os.getpid()


def test_one_that_cannot_run_stops_no_other():
    layer = grid.built("TokenWiseAttention", 32, 4, "float32")
    given = (*grid.inputs_of(2, 8, 32), measure.MODES[keras.backend.backend()][0], False)
    runs = measure.runners({"right": (layer, *given), "wrong": (None, *given)})
    assert isinstance(runs["wrong"], AttributeError)
    assert runs["right"]().shape == (2, 32)


def test_without_glibc_the_command_ends_and_keeps_no_figure(monkeypatch):
    monkeypatch.setattr(memory, "device", lambda: "cpu")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: object())
    monkeypatch.setattr(memory, "apart", lambda *_: memory._forget_the_peak())
    with pytest.raises(SystemExit, match=r"python -m benchmarks\.speed: .* need Linux with glibc"):
        memory.peak_memory("AttentionPooling")


def test_a_process_that_the_system_ends_is_told(monkeypatch):
    monkeypatch.setattr(memory, "taken", os._exit)
    assert memory.peak_memory(9) == {"failed": ["the system ended its process"]}


def test_exponents_are_those_of_what_grows(monkeypatch):
    """Time by the square of the length and in proportion to the batch; memory by the width."""
    monkeypatch.setattr(growth, "FAMILIES", {"a": ((4, 2, 3, 6), ("LowRankAttentionPooling",))})
    monkeypatch.setattr(measure, "runner", lambda layer, inputs, *_: lambda: inputs)
    monkeypatch.setattr(memory, "peak_memory", lambda name, time, dim, *_: {"bytes": dim**3})

    def costs(runs, rounds):
        shapes = {name: run().shape for name, run in runs.items()}
        copy = shapes.pop("copy")
        costs = {name: [time**2 * batch] * rounds for name, (batch, time, _) in shapes.items()}
        # The "prediction" writes as much as it reads.
        return costs | {"copy": [copy[0]] * rounds}

    monkeypatch.setattr(measure, "in_turns", costs)
    case = growth.measured("LowRankAttentionPooling", 2)
    found = {axis: (each["time"][0], each["memory"]) for axis, each in case["exponents"].items()}
    zero, three = (0, 3) if keras.backend.backend() == "torch" else (None, None)
    expected = {"time": (2, zero), "batch": (1, zero), "heads": (0, zero), "dim": (0, three)}
    assert found == expected
    assert case["training"] == case["prediction"] == [16, 16, 16]
    assert case["copy"]["batch"] == 16 and len(case["points"]) == 13


def test_every_layer_is_of_one_family_and_has_the_heads_that_it_is_given():
    assert sorted(growth.NAMES) == sorted([*variants.LAYERS, "MultiHeadAttention, average"])
    for name, variant in variants.LAYERS.items():
        few, many = (variant.make(32, heads).get_config() for heads in (2, 4))
        same = few | {"name": ""} == many | {"name": ""}
        assert same == (name not in growth.WITH_HEADS), name


def test_a_comparison_says_which_peak_failed(monkeypatch, capsys):
    comparison = next(each for each in comparisons.COMPARISONS if each.memory)
    first, *rest = comparison.targets

    def peak(name, *_):
        failed = name == first.slow
        return {"failed": ["out of memory"]} if failed else {"bytes": 4 + len(name)}

    monkeypatch.setattr(memory, "peak_memory", peak)
    case = comparisons.compared(comparison, 1)
    assert [row["slow"] for row in case["rows"]] == [each.slow for each in comparison.targets]
    refused, *others = case["rows"]
    assert refused["ratio"] is None and refused["failed"] == f"{first.slow}: out of memory"
    assert all(row["ratio"][0] > 0 for row in others) and len(others) == len(rest)
    command_line.show_targets(case)
    assert f"{first.slow}: out of memory" in capsys.readouterr().out
    shown = speed.targets_table({"device": "cpu", "cases": [case]})
    line = next(line for line in shown.splitlines() if first.slow in line)
    assert f"{first.slow}: out of memory" in line and "reached" not in line and "missed" not in line


def launches_of(backend):
    """The committed counts of each layer."""
    path = Path(grid.__file__).parents[1] / "results" / "speed" / f"launches_{backend}_cpu.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return {case.pop("layer"): case for case in cases}


@pytest.mark.parametrize("name", launches.COUNTED)
def test_a_layer_asks_for_no_more_launches_than_the_table_says(name):
    found = launches.counted(name)
    known = launches_of("torch")[name]
    grown = {key: (found[key], known[key]) for key in known if found[key] > known[key]}
    assert not grown, "write the table anew by `python -m benchmarks.speed --launches`"


def test_launches_are_what_computes():
    class Twice(keras.layers.Layer):
        def call(self, inputs, mask=None):
            # A new axis is a view, the constant is copied to the device.
            return keras.ops.expand_dims(inputs, 1) * keras.ops.convert_to_tensor(2.0)

    found = launches._torch(Twice(), keras.ops.ones((2, 3, 4)), None)
    # The sum, the ones that its gradient starts from, and their product.
    assert found == {"forward": 1, "training": 4, "sent": 1}


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "torch", reason="PyTorch counts what it compiles")
def test_many_layers_of_one_process_are_all_compiled(monkeypatch):
    torch = pytest.importorskip("torch")
    whole, compile_of = [], torch.compile

    def compiler(graph, inputs):
        whole.append(graph)
        return graph

    monkeypatch.setattr(torch, "compile", lambda function: compile_of(function, backend=compiler))
    x, mask = grid.inputs_of(2, 4, 8)
    more_than_the_limit = torch._dynamo.config.recompile_limit + 1
    for _ in range(more_than_the_limit):
        layer = keras.layers.GlobalAveragePooling1D()
        layer(x)
        run = measure.runner(layer, x, mask, "compiled", False)
        run()
        run()
    assert len(whole) == more_than_the_limit


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--quick", "--only", "LowRank", "Nonesuch"], "--only Nonesuch: no name has this in it"),
        (["--launches", "--only", "Nonesuch"], "--only Nonesuch: no name has this in it"),
        (["--targets", "--only", "LowRank"], "--only LowRank: no name has this in it"),
        (["--memory", "--bags"], "--bags: not allowed with argument --memory"),
        (["--quick", "--rounds", "0"], "--rounds expects 1 or more. Received: 0"),
        (["--everything", "--minutes", "-1"], "--minutes expects more than 0. Received: -1"),
        (
            ["--everything", "--quick"],
            "--everything goes with --minutes and --rounds alone",
        ),
        (["--memory"], "cannot be written; --quick and --only write no file"),
    ],
)
def test_the_command_line_refuses_in_one_line(options, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["speed", *options])
    monkeypatch.setattr(command_line.os, "access", lambda *_: False)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    told = capsys.readouterr().err.splitlines()[-1]
    assert ended.value.code == 2 and told.startswith("python -m benchmarks.speed: error: ")
    assert told.endswith(message)


def test_figures_of_other_versions_are_not_mixed(monkeypatch, tmp_path):
    path = tmp_path / f"memory_{keras.backend.backend()}_cpu.json"
    path.write_text('{"versions": {"keras": "2"}, "cases": []}')
    monkeypatch.setattr(command_line, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["speed", "--memory"])
    with pytest.raises(SystemExit, match=r"with keras 2: move it away to measure anew"):
        command_line.main()


def test_each_kind_has_its_share_of_the_time_and_stops_no_other(monkeypatch, capsys):
    began = []

    def measured(kind, arguments):
        began.append((kind, arguments.rounds))
        if kind == "memory":
            time.sleep(60)
        if kind == "bags":
            raise RuntimeError("no kernel")

    monkeypatch.setattr(command_line, "measured", measured)
    kinds = {"memory": 1, "bags": 1, "speed": 98}
    monkeypatch.setattr(command_line, "PARTS", kinds)
    start = time.monotonic()
    command_line.every_kind(start + 60, 3)
    assert began == [(kind, 3) for kind in kinds] and time.monotonic() - start < 50
    told = capsys.readouterr().out
    assert "memory: not all; the same command goes on" in told and "bags: no kernel" in told


def test_a_backend_ends_when_its_time_is_over(monkeypatch):
    name = keras.backend.backend()
    monkeypatch.setenv("KERAS_BACKEND", name)
    monkeypatch.setattr(measure, "MODES", {name: ()})
    # Less time than the import takes.
    start = time.monotonic()
    command_line.everything(0.5, 1)
    assert time.monotonic() - start < 30
    assert not command_line.multiprocessing.active_children()


def test_a_gain_is_the_slow_step_over_the_fast_one():
    """Of TensorFlow the graph is the usual step, of JAX what is compiled; another size is none."""

    def case(mode, cost, precision="float32", **sizes):
        sizes = {"time": 4, "batch": 2, "dim": 8, "heads": 1, "gradient": True} | sizes
        costs = {"AttentionPooling": [cost], speed.AVERAGE: [1]}
        ratios = {"AttentionPooling": {}}
        return sizes | {"mode": mode, "precision": precision, "costs": costs, "ratios": ratios}

    def row(*cases):
        table = speed.compiled_table({"device": "a GPU", "cases": cases})
        return next(line for line in table.splitlines() if "AttentionPooling" in line)

    half = case("graph", 4, "mixed_bfloat16")
    assert "| 3\u00a0× | 1.5\u00a0× |" in row(case("graph", 6), case("compiled", 2), half)
    assert "| 3\u00a0× |" in row(case("compiled", 2), case("eager", 6))
    alone = {"device": "cpu", "cases": [case("eager", 6), case("eager", 2, time=9)]}
    assert not speed.gains_of(alone)


def test_a_time_limit_ends_what_hangs():
    with pytest.raises(command_line.TimeIsUp), command_line.time_limit(0.01):
        try:
            time.sleep(60)
        except Exception:  # as a compiler would
            pytest.fail("the end of the time is no error")
    with command_line.time_limit(60):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_devices_are_told_beside_one():
    runs = [
        [
            {"seconds": 4.0, "processor": 3.0, "loss": 0.5},
            {"seconds": 2.0, "processor": 3.0, "loss": 0.5},
        ],
        [
            {"seconds": 2.0, "processor": 3.3, "loss": 0.5},
            {"seconds": 1.6, "processor": 3.3, "loss": 0.5},
        ],
    ]
    cases = [{"devices": n, "runs": each} for n, each in zip((1, 2), runs, strict=True)]
    table = speed.scaling_table({"setting": "a", "cores": 2, "words": 900, "cases": cases})
    assert "| 2 | 500 | 1.62\u00a0(1.25\u00a0–\u00a02) | 1.10 × | 0.500000 |" in table


def test_kernels_of_a_compiled_program():
    program = """HloModule jit_f
%fused (p: f32[2]) -> f32[2] {
  %p = f32[2]{0} parameter(0)
  ROOT %e = f32[2]{0} exponential(%p)
}

ENTRY %main (a: f32[2], b: f32[2,2]) -> (f32[2], f32[2]) {
  %a = f32[2]{0} parameter(0)
  %b = f32[2,2]{1,0} parameter(1)
  %dot.1 = f32[2]{0} dot(%b, %a), lhs_contracting_dims={1}
  %bitcast.2 = f32[2]{0} bitcast(%dot.1)
  %fusion = f32[2]{0} fusion(%bitcast.2), kind=kLoop, calls=%fused
  %while.3 = (f32[2]{0}, s32[]) while(%t), condition=%c, body=%b2
  ROOT %tuple.4 = (f32[2]{0}, f32[2]{0}) tuple(%fusion, %dot.1)
}
"""
    assert launches.kernels_of(program) == 3
    assert set(launches_of("jax")) == set(launches.COUNTED)
