"""Command line of the speed benchmark."""

import argparse
import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any

# One thread, so that process time is the time of the work alone.
for variable in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
    os.environ.setdefault(variable, "1")
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}".strip()

import keras  # noqa: E402

from benchmarks import devices  # noqa: E402
from benchmarks.speed import grid, measure  # noqa: E402

RESULTS = Path(__file__).resolve().parent.parent / "results" / "speed"
SHOWN = ("GlobalAveragePooling1D", "MultiHeadAttention, average", "TransformerEncoder, average")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description="Time the layers beside what one would otherwise use, on the backend of "
        "KERAS_BACKEND. Settings that are in the results file are kept.",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="two settings, five minutes, no file")
    size.add_argument("--full", action="store_true", help="the whole grid: many hours on a CPU")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="variants with this in the name")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--targets", action="store_true", help="the pairs that have a target, at the papers' sizes"
    )
    parser.add_argument(
        "--launches", action="store_true", help="what a GPU is told to do, counted (any machine)"
    )
    parser.add_argument(
        "--compiled", action="store_true", help="every layer compiled; go on by the same command"
    )
    parser.add_argument(
        "--minutes", type=float, default=8, help="when --compiled ends at the latest (default 8)"
    )
    parser.add_argument("--memory", action="store_true", help="peak memory instead of time")
    arguments = parser.parse_args()
    chosen = "quick" if arguments.quick else "full" if arguments.full else "usual"
    if arguments.launches:
        _launches(arguments.only)
        return
    kinds = ("memory", "targets", "compiled")
    kind = next((kind for kind in kinds if getattr(arguments, kind)), "speed")
    path = RESULTS / f"{kind}_{keras.backend.backend()}{devices.suffix() or '_cpu'}.json"
    keep = not arguments.quick and not arguments.only
    data = json.loads(path.read_text()) if keep and path.exists() else _header()
    if arguments.compiled:
        _compiled(data, path if keep else None, arguments)
        return
    if arguments.memory:
        _memory(data, path if keep else None, arguments.only)
        return
    if arguments.targets:
        _targets(data, path if keep else None, arguments)
        return
    for setting in grid.settings(chosen):
        if any(_same(setting, case) for case in data["cases"]):
            continue
        start = time.monotonic()
        case = grid.measured(setting, arguments.rounds, arguments.only)
        data["cases"].append(case)
        _show(case, time.monotonic() - start)
        if keep:
            _write(path, data)


def _launches(only: list[str] | None) -> None:
    """Counts anew, which takes a minute; the whole table goes to the file."""
    from benchmarks.speed import launches

    rows = []
    for name in launches.COUNTED:
        if only is None or any(part.lower() in name.lower() for part in only):
            rows.append(launches.counted(name))
            print(rows[-1], flush=True)
    if only is None:
        backend = keras.backend.backend()
        shape = f"{launches.BATCH} x {launches.TIME} words, dim {launches.DIM}"
        data = {"backend": backend, "versions": measure.versions(), "cases": rows}
        data |= {"setting": f"{shape}, {launches.HEADS} heads", "targets": launches.TARGETS}
        _write(RESULTS / f"launches_{backend}_cpu.json", data)


def _header() -> dict[str, Any]:
    return {
        "backend": keras.backend.backend(),
        "device": devices.device(),
        "versions": measure.versions(),
        "rates": measure.machine_rates(),
        "unit": f"a product of two float32 matrices ({measure.UNIT}, {measure.UNIT})",
        "cases": [],
    }


def _targets(data: dict[str, Any], path: Path | None, arguments: argparse.Namespace) -> None:
    """The pairs that have a target."""
    from benchmarks.speed.comparisons import COMPARISONS, compared

    for comparison in COMPARISONS:
        if keras.backend.backend() not in comparison.backends:
            continue
        wanted = arguments.only or [""]
        if not any(part.lower() in comparison.title.lower() for part in wanted):
            continue
        if any(case["title"] == comparison.title for case in data["cases"]):
            continue
        case = compared(comparison, arguments.rounds)
        data["cases"].append(case)
        show_targets(case)
        if path is not None:
            _write(path, data)


def show_targets(case: dict[str, Any]) -> None:
    """Prints the ratios of a comparison, or why there are none."""
    print(case["title"])
    for row in case["rows"]:
        pair, target, ratio = f"{row['slow']} / {row['fast']}", row["target"], row["ratio"]
        if ratio is None:
            print(f"  {pair}: {row['failed']}", flush=True)
            continue
        against = "" if target is None else f", target {target:.3g}"
        missed = "" if target is None or ratio[0] >= target else "  MISSED"
        found = f"{ratio[0]:.3g} ({ratio[1]:.3g} - {ratio[2]:.3g})"
        print(f"  {pair}: {found}{against}{missed}", flush=True)


def _compiled(data: dict[str, Any], path: Path | None, arguments: argparse.Namespace) -> None:
    """One layer after the other; `--quick` on a few words, without a file."""
    from benchmarks.speed import compiled

    small = {"time": 16, "dim": 16, "batch": 2} if arguments.quick else {}
    seconds, chosen = 60 * arguments.minutes, compiled.settings(**small)
    cases = compiled.cases(data["cases"], chosen, arguments.rounds, seconds, arguments.only)
    for case in cases:
        data["cases"].append(case)
        ratios = {name: ratio[0] for name, ratio in case.get("ratios", {}).items()}
        print(case["layer"], case["precision"], ratios, case["left_out"], flush=True)
        if path is not None:
            _write(path, data)
    whole = len(compiled.PRECISIONS) * len(grid.LAYERS)
    goes_on = path is not None and len(data["cases"]) < whole
    after = "; the same command goes on" if goes_on else ""
    print(f"{len(data['cases'])} of {whole} cases{after}", flush=True)


def _memory(data: dict[str, Any], path: Path | None, only: list[str] | None) -> None:
    """Each variant in a process of its own: forward at 16,384 words, with gradients at 1,024."""
    mode = measure.MODES[keras.backend.backend()][0]
    for words, batch, gradient in ((1024, 8, True), (16384, 8, False)):
        for name, variant in grid.variants().items():
            if only is not None and not any(part.lower() in name.lower() for part in only):
                continue
            case = {"variant": name, "time": words, "dim": 512, "heads": 5, "batch": batch}
            case |= {"mode": mode, "gradient": gradient}
            if any(case.items() <= measured.items() for measured in data["cases"]):
                continue
            pairs = variant.pairs(512, 5) if variant.pairs else 0
            if batch * words**2 * pairs > 8 * grid.most():
                case["left_out"] = f"would hold {batch * words**2 * pairs * 4 / 2**30:.0f} GiB"
            else:
                case |= measure.peak_memory(
                    [name, str(words), "512", "5", str(batch), mode, str(gradient)]
                )
            print(case, flush=True)
            data["cases"].append(case)
            if path is not None:
                _write(path, data)


def _same(setting: grid.Setting, case: dict[str, Any]) -> bool:
    return dataclasses.asdict(setting).items() <= case.items()


def _show(case: dict[str, Any], seconds: float) -> None:
    """Prints how many times as much the others cost."""
    what = "forward and backward" if case["gradient"] else "forward"
    print(
        f"\n{case['batch']} x {case['time']} words, dim {case['dim']}, {case['heads']} heads, "
        f"{case['mode']}, {case['precision']}, {what}  [{seconds:.0f} s]"
    )
    print(f"{'':38}{'cost':>9}" + "".join(f"{name.split(',')[0][:18]:>20}" for name in SHOWN))
    for layer, ratios in case["ratios"].items():
        row = "".join(
            f"{'-' if name not in ratios else format(ratios[name][0], '.3g') + 'x':>20}"
            for name in SHOWN
        )
        print(f"{layer:38}{case['costs'][layer][0]:>9.3g}{row}")
        for name, ratio in ratios.items():
            if name in grid.FORMS:
                same = case["differences"].get(name)
                agrees = "" if same is None else f", differs by {same:.0e}"
                print(f"    {name}: {ratio[0]:.3g}x ({ratio[1]:.3g} - {ratio[2]:.3g}){agrees}")
    for name, reason in case["left_out"].items():
        print(f"  {name}: {reason}")
    print("", flush=True)


def _write(path: Path, data: dict[str, Any]) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    os.replace(temporary, path)


if __name__ == "__main__":
    main()
