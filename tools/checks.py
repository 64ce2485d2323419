"""Runs targets of the Makefile side by side, as many as there are cores, and tells how they end.

    python tools/checks.py lint types docs            # as `make test` calls it
    python tools/checks.py --within 900 wheel=120 docs=60

The output of a check is kept in `build/checks/`; here stand its beginning, its end, and all of it
where it failed. `docs=60` says that `docs` takes 60 seconds: `--within` starts no check that would
end later than that.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
LOGS = REPOSITORY / "build" / "checks"
# The last line of pytest: "==== 12 passed, 1 skipped in 3.21s ====".
CLOSING = re.compile(r"^=+ (.*\b\d+ (?:passed|failed|error).*?) =+$", re.M)
# Several processes with a thread for each core would wait for one another. NPROC is XLA's number.
ONE_THREAD = ["OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "NPROC"]
HEARTBEAT = 60


def cores() -> int:
    """The cores that this process may use."""
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def clock(seconds: float) -> str:
    """Minutes and seconds, as 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Check:
    """One target while it runs, and how it ended."""

    def __init__(self, name: str, command: list[str]):
        self.name = name
        self.began = time.monotonic()
        self.log = LOGS / f"{name}.log"
        with open(self.log, "wb") as log:
            environment = dict.fromkeys(ONE_THREAD, "1") | {"PYTHONUNBUFFERED": "1"} | os.environ
            self.process = subprocess.Popen(
                [*command, name],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=REPOSITORY,
                env=environment,
                start_new_session=True,
            )

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self.began

    @property
    def output(self) -> str:
        """What it has printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    @property
    def tests(self) -> int:
        """The tests that passed, by what pytest says."""
        return sum(int(n) for line in CLOSING.findall(self.output) for n in passed(line))

    def progress(self) -> str:
        """Its name, and pytest's last figure where there is one."""
        shares = re.findall(r"\[ *(\d+)%\]", self.output)
        return f"{self.name} {shares[-1]} %" if shares else self.name


def passed(line: str) -> list[str]:
    """The numbers of passed tests in a closing line of pytest."""
    return re.findall(r"(\d+) passed", line)


def say(began: float, text: str) -> None:
    """A line with the time since the beginning."""
    print(f"[{clock(time.monotonic() - began):>5}] {text}", flush=True)


def run(parts: dict[str, int], workers: int, within: float | None, command: list[str]) -> bool:
    """Runs the parts in their order, a part a worker; whether all that ran are green."""
    LOGS.mkdir(parents=True, exist_ok=True)
    began = told = time.monotonic()
    waiting, running = list(parts), []
    green, failed, left_out = [], [], []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                name = waiting.pop(0)
                if within is not None and time.monotonic() - began + parts[name] > within:
                    left_out.append(name)
                    say(began, f"{name} is left out: it takes {clock(parts[name])}")
                    continue
                running.append(Check(name, command))
                say(began, f"{name} ...")
            time.sleep(0.2)
            for check in [check for check in running if check.process.poll() is not None]:
                running.remove(check)
                is_green = check.process.returncode == 0
                (green if is_green else failed).append(check)
                if not is_green:
                    print(check.output, flush=True)
                how = "done" if is_green else "FAILED"
                lines = "".join(f"; {line}" for line in CLOSING.findall(check.output))
                say(began, f"{check.name} {how} in {clock(check.seconds)}{lines}")
            if running and time.monotonic() - told > HEARTBEAT:
                told = time.monotonic()
                say(began, "running: " + ", ".join(check.progress() for check in running))
    finally:  # also at Ctrl-C
        for check in running:
            os.killpg(check.process.pid, signal.SIGTERM)
    taken = clock(time.monotonic() - began)
    if left_out:
        print(f"Not run, for want of time: {', '.join(left_out)}.")
    tests = sum(check.tests for check in green + failed)
    names = ", ".join(check.name for check in green)
    if failed:
        print(f"FAILED: {', '.join(check.name for check in failed)} (green: {names}), in {taken}.")
    else:
        print(f"All green: {names}. {tests:,} tests in {taken} on {workers} cores.")
    return not failed


def part(text: str) -> tuple[str, int]:
    """`name=seconds` as a name and a number; without a number it takes none."""
    name, _, seconds = text.partition("=")
    return name, int(seconds or 0)


def main(arguments: list[str] | None = None) -> int:
    """Runs what the command line names; 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="+", metavar="TARGET[=SECONDS]", type=part)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--within", type=float, metavar="SECONDS")
    options = parser.parse_args(arguments)
    # Each check runs its tests in one process: what a backend has traced, the next test finds.
    command = ["make", "--no-print-directory", "WORKERS="]
    return not run(dict(options.parts), options.workers, options.within, command)


if __name__ == "__main__":
    # Ended from outside, it ends its checks.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
