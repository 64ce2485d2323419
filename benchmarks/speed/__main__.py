"""Command line of the speed benchmark."""

import argparse
import contextlib
import dataclasses
import importlib.util
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# One thread, so that process time is the time of the work alone. An import changes no environment.
if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        os.environ.setdefault(variable, "1")
    # A GPU's memory is for all processes.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}".strip()

import keras  # noqa: E402

from benchmarks import devices  # noqa: E402
from benchmarks.reproduce import results  # noqa: E402
from benchmarks.speed import (  # noqa: E402
    bags,
    comparisons,
    grid,
    growth,
    launches,
    measure,
    memory,
)

Case = dict[str, Any]
Cases = list[Case]
RESULTS = Path(__file__).resolve().parent.parent / "results" / "speed"
SHOWN = ("GlobalAveragePooling1D", "MultiHeadAttention, average", "TransformerEncoder, average")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description="Time the layers beside what one would otherwise use, on the backend of "
        "KERAS_BACKEND. What is in the results file is kept, and what is missing there is "
        "measured; with --quick and with --only no file is read or written.",
    )
    parser.add_argument("--quick", action="store_true", help="two settings, five minutes")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="what has this in its name: layers, forms and peers; with --targets titles",
    )
    parser.add_argument("--rounds", type=int, help="5; with --everything 3")
    what = parser.add_mutually_exclusive_group()
    for name, told in {
        "targets": "the pairs that have a target, at the papers' sizes",
        "launches": "what a GPU is told to do, counted (any machine)",
        "memory": "peak memory instead of time",
        "bags": "long bags: time and peak memory, in chunks too",
        "growth": "exponents of time and memory; beside a copy",
        "everything": "all of these on all backends; for a GPU",
    }.items():
        what.add_argument(f"--{name}", action="store_true", help=told)
    parser.add_argument(
        "--minutes", type=float, default=12, help="when --everything ends at the latest"
    )
    arguments = parser.parse_args()
    if arguments.rounds is None:
        arguments.rounds = 3 if arguments.everything else 5
    backend = keras.backend.backend()
    kind = next((kind for kind in PARTS if kind != "speed" and getattr(arguments, kind)), "speed")
    if arguments.rounds < 1:
        parser.error(f"--rounds expects 1 or more. Received: {arguments.rounds}")
    if arguments.minutes <= 0:
        parser.error(f"--minutes expects more than 0. Received: {arguments.minutes:g}")
    if arguments.launches and backend == "tensorflow":
        parser.error("--launches counts under KERAS_BACKEND=torch and jax. Received: tensorflow")
    if arguments.everything:
        if arguments.only or arguments.quick:
            parser.error("--everything goes with --minutes and --rounds alone")
        everything(60 * arguments.minutes, arguments.rounds)
        return
    for part in arguments.only or ():
        if not _names(kind, [part]):
            parser.error(f"--only {part}: no name has this in it")
    keep = not arguments.quick and not arguments.only
    if keep and not os.access(RESULTS, os.W_OK):
        parser.error(f"{RESULTS} cannot be written; --quick and --only write no file")
    measured(kind, arguments, keep)


def measured(kind: str, arguments: argparse.Namespace, keep: bool = True) -> None:
    """What the file of a kind lacks, case after case; each is kept at once."""
    # PyTorch's launches are those of any machine.
    anywhere = kind == "launches" and keras.backend.backend() == "torch"
    device = "" if anywhere else devices.suffix()
    path = RESULTS / f"{kind}_{keras.backend.backend()}{device or '_cpu'}.json"
    if kind == "launches":
        _launches(path if keep else None, arguments.only)
        return
    data = json.loads(path.read_text()) if keep and path.exists() else _header()
    if data["versions"] != measure.versions():
        told = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
        raise SystemExit(f"{path} was measured with {told}: move it away to measure anew")
    before = list(data["cases"])
    for case in MEASURED[kind](data["cases"], arguments):
        data["cases"].append(case)
        if kind in ("memory", "bags", "growth"):
            print(case, flush=True)
        if keep:
            results.write(path, data)
    if keep and data["cases"] == before:
        print(f"{path} has all of it: move it away to measure anew")


# The kinds, and their shares of the time on a GPU; the last one has what the others leave.
PARTS = {"launches": 6, "memory": 4, "growth": 3, "bags": 5, "targets": 6, "speed": 8}


def everything(seconds: float, rounds: int) -> None:
    """Each installed backend in a process of its own, which ends when its share of time is over."""
    # By its name: what runs as `__main__` cannot be imported by another process.
    target = importlib.import_module("benchmarks.speed.__main__").every_kind
    end = time.monotonic() + seconds
    # JAX, which compiles most, last: the others leave it time.
    backends = [name for name in reversed(measure.MODES) if importlib.util.find_spec(name)]
    for index, backend in enumerate(backends):
        share = (end - time.monotonic()) / (len(backends) - index)
        os.environ["KERAS_BACKEND"] = backend
        # The clock is that of all processes; the seconds are for the last file.
        given = (time.monotonic() + share - 5, rounds)
        process = multiprocessing.get_context("spawn").Process(target=target, args=given)
        process.start()
        process.join(share)
        process.kill()
        process.join()


def every_kind(end: float, rounds: int) -> None:
    """Each kind, until its share of the time is over: its file has what was measured by then."""
    backend = keras.backend.backend()
    arguments = argparse.Namespace(quick=False, only=None, rounds=rounds)
    # The launches of PyTorch are those of any machine, and TensorFlow's are not counted.
    waiting = {kind: PARTS[kind] for kind in PARTS if kind != "launches" or backend == "jax"}
    for kind, part in list(waiting.items()):
        share = (end - time.monotonic()) * part / sum(waiting.values())
        del waiting[kind]
        print(f"\n{backend}, {kind}: {share:.0f} s at most", flush=True)
        try:
            with time_limit(share):
                measured(kind, arguments)
        except TimeIsUp:
            print(f"{backend}, {kind}: not all; the same command goes on", flush=True)
        except (Exception, SystemExit) as error:  # The other kinds go on.
            print(f"{backend}, {kind}: {error}", flush=True)


class TimeIsUp(BaseException):
    """The time is over. Not an Exception, which a compiler would take for its own."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises `TimeIsUp` when the seconds are over, as soon as Python has its turn."""

    def stop(*_: Any) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    # Again each second: what a finalizer raises, say of a weak reference, Python only prints.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _names(kind: str, only: list[str] | None) -> list[str]:
    """What a kind measures, as far as it is wanted."""
    names = {
        "targets": [comparison.title for comparison in comparisons.COMPARISONS],
        "launches": launches.COUNTED,
        "bags": [*bags.LAYERS, *bags.PER_FEATURE],
        "growth": growth.NAMES,
    }
    return [name for name in names.get(kind, grid.variants()) if grid.wanted(name, only)]


def _speed(known: Cases, arguments: argparse.Namespace) -> Iterator[Case]:
    """All variants in one setting after the other."""
    for setting in grid.settings(arguments.quick):
        if not _done(known, dataclasses.asdict(setting)):
            start = time.monotonic()
            case = grid.measured(setting, arguments.rounds, arguments.only)
            _show(case, time.monotonic() - start)
            yield case


def _bags(known: Cases, arguments: argparse.Namespace) -> Iterator[Case]:
    """One long bag, each case in a process of its own."""
    for case in bags.cases():
        if grid.wanted(case["variant"], arguments.only) and not _done(known, case):
            yield case | memory.apart(bags.measured, case)


def _growth(known: Cases, arguments: argparse.Namespace) -> Iterator[Case]:
    """The exponents of one layer after the other."""
    for name in _names("growth", arguments.only):
        if not _done(known, {"layer": name}):
            yield growth.measured(name, arguments.rounds)


def _launches(path: Path | None, only: list[str] | None) -> None:
    """Counts anew, which takes a minute; the whole table goes to the file."""
    rows = []
    for name in _names("launches", only):
        rows.append(launches.counted(name))
        print(rows[-1], flush=True)
    if path is not None:
        backend = keras.backend.backend()
        shape = f"{launches.BATCH} x {launches.TIME} words, dim {launches.DIM}"
        data = {"backend": backend, "versions": measure.versions(), "cases": rows}
        data |= {"setting": f"{shape}, {launches.HEADS} heads"}
        data |= {"targets": launches.TARGETS, "struck": launches.STRUCK}
        results.write(path, data)


def _header() -> dict[str, Any]:
    return {
        "backend": keras.backend.backend(),
        "device": devices.device(),
        "versions": measure.versions(),
        "rates": measure.machine_rates(),
        "unit": f"a product of two float32 matrices ({measure.UNIT}, {measure.UNIT})",
        "cases": [],
    }


def _targets(known: Cases, arguments: argparse.Namespace) -> Iterator[Case]:
    """The pairs that have a target."""
    for comparison in comparisons.COMPARISONS:
        title = comparison.title
        if grid.wanted(title, arguments.only) and not _done(known, {"title": title}):
            case = comparisons.compared(comparison, arguments.rounds)
            show_targets(case)
            yield case


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


def _memory(known: Cases, arguments: argparse.Namespace) -> Iterator[Case]:
    """Each variant in a process of its own: forward at 16,384 words, with gradients at 1,024."""
    mode = measure.MODES[keras.backend.backend()][0]
    for words, batch, gradient in ((1024, 8, True), (16384, 8, False)):
        for name, variant in grid.variants().items():
            case = {"variant": name, "time": words, "dim": 512, "heads": 5, "batch": batch}
            case |= {"mode": mode, "gradient": gradient}
            if not grid.wanted(name, arguments.only) or _done(known, case):
                continue
            numbers = batch * words**2 * variant.pairs(512, 5)
            if numbers > 8 * grid.most():
                case["left_out"] = f"would hold {numbers * 4 / 2**30:.0f} GiB"
            else:
                case |= memory.peak_memory(name, words, 512, 5, batch, gradient)
            yield case


MEASURED = {
    "memory": _memory,
    "targets": _targets,
    "bags": _bags,
    "growth": _growth,
    "speed": _speed,
}


def _done(known: Cases, wanted: Case) -> bool:
    return any(wanted.items() <= case.items() for case in known)


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


if __name__ == "__main__":
    main()
