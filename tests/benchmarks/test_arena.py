"""The comparison: its grid, its runs, what a code change moves, and its verdict."""

import csv
import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
from docs_hooks import drawn, hook
from scipy import stats

from benchmarks.arena import __main__ as command
from benchmarks.arena import data, grid, runs, verdict
from benchmarks.arena.grid import Run
from benchmarks.reproduce.results import packed, unpacked
from keras_attnpool import layers

pytestmark = pytest.mark.one_backend("how runs are planned, kept and judged")

page = hook("arena")
ROWS = ["MaskedAveragePooling1D", "MaskedMaxPooling1D", "AttentionPooling", "LastPooling1D"]


def line(task, encoder, row, accuracy, seed=0, **more):
    """A run whose first test texts are the right ones."""
    right = np.arange(200) < round(200 * accuracy)
    figures = dict.fromkeys(("test_accuracy", "test_macro_f1", "validation_accuracy"), accuracy)
    spent = {"cpu_seconds": 10.0, "tuning_seconds": 30.0, "memory_mb": 900.0}
    return {
        **{"task": task, "encoder": encoder, "row": row, "seed": seed, **figures, **spent},
        **{"learning_rate": 3e-3, "dropout": 0.2, "size": 0, "epochs": 10, "best_epoch": 4},
        **{"stopped": True, "parameters": 1234, "examples": "1200 400 200", "fingerprint": ""},
        **{"protocol": "1f", "commit": "abc", "versions": "keras=3"},
        **{"correct": packed(right), **more},
    }


# --- the plan ----------------------------------------------------------------------------------


def test_the_grid_is_even():
    planned = grid.grid()
    assert len(set(planned)) == len(planned)
    for name, task in grid.TASKS.items():
        ours = [run for run in planned if run.task == name]
        assert bool(ours) != bool(task.needs) and task.kind in grid.KINDS
        for encoder, every in grid.encoders(task).items():
            for seed in grid.SEEDS if ours else ():
                found = [r.row for r in ours if (r.encoder, r.seed) == (encoder, seed)]
                assert tuple(found) == grid.rows(task, every)
    assert 15 <= len({run.task for run in planned}) <= 20
    # Every pooling of the package has a row.
    pooled = {name for name in dir(layers) if "Pooling" in name} - {"HierarchicalEncoder"}
    assert pooled <= {row.split(", ")[0] for row in grid.MECHANISMS}
    assert {name.split(", ")[0] for name in grid.MECHANISMS} >= set(grid.SIZES)


def test_a_new_pooling_is_a_row_by_itself():
    class SoftPooling1D(layers.LastPooling1D):
        """Made without arguments."""

    class HardPooling(layers.ConvAttentionPooling):
        """Needs sizes, which its row has to say."""

    room = SimpleNamespace(**vars(layers), SoftPooling1D=SoftPooling1D, HardPooling=HardPooling)
    joined = grid.joined(room)
    assert list(joined.items())[-1] == ("SoftPooling1D", SoftPooling1D)
    assert not {"HardPooling", "HierarchicalEncoder", "AttentionPooling"} & set(joined)


def test_the_verdict_waits_for_declared_rows_alone(monkeypatch):
    monkeypatch.setattr(grid, "DECLARED", dict.fromkeys(ROWS))
    monkeypatch.setattr(grid, "MECHANISMS", dict.fromkeys([*ROWS, "SoftPooling1D"]))
    lines = made()
    before = page.sentences(lines)
    assert "of 4" in before and page.rows(lines) == ROWS
    joined = [
        line(f"task{n}", e, "SoftPooling1D", 0.9) for n in range(8) for e in ("gru", "minilm")
    ]
    assert page.sentences([*lines, *joined[:-1]]) == before
    told = "All mechanisms but `SoftPooling1D`, which joined later, were run on: task0 (gru)"
    assert told in page.state([*lines, *joined[:-1]])
    assert "`SoftPooling1D` has the best mean rank, 1.0 of 5" in page.sentences([*lines, *joined])


def test_a_budget_keeps_whole_blocks():
    wanted = [r for r in grid.grid() if r.task in ("trec", "bags_any")]
    done = [line("trec", "gru", row, 0.5) for row in grid.MECHANISMS]
    seconds = command.expected(wanted, done)
    first = Run("trec", "gru", "AttentionPooling", 0)
    assert seconds[first] == pytest.approx(40)
    # Later seeds try nothing; two thirds of the length take two thirds.
    assert seconds[dataclasses.replace(first, seed=1)] == pytest.approx(40 / 6)
    assert seconds[Run("bags_any", "dense", "AttentionPooling", 0)] == pytest.approx(40 * 16 / 24)
    kept = command.within(0.7, wanted, seconds)
    for block in {(r.task, r.encoder, r.seed) for r in kept}:
        rows = [r.row for r in kept if (r.task, r.encoder, r.seed) == block]
        assert tuple(rows) in (grid.rows(grid.TASKS[block[0]], each) for each in (True, False))
    assert 0 < sum(seconds[r] for r in kept) <= 0.7 * 3600 < sum(seconds.values())
    assert {r.seed for r in kept} == {0}


# --- runs --------------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch):
    """A few bags and few epochs."""
    for name, value in {
        "TRAINED_ON": 90,
        "CHOSEN_BY": 30,
        "TESTED_ON": 50,
        "MAX_EPOCHS": 2,
    }.items():
        monkeypatch.setattr(grid, name, value)
    yield
    data.pool.cache_clear(), data.data_of.cache_clear()


def test_a_run_is_kept_once_and_later_seeds_take_its_settings(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runs, "PATH", tmp_path / "results.csv")
    monkeypatch.setattr(runs.Table.__init__, "__defaults__", (runs.PATH,))
    row = "bags_any/dense/AttentionPooling"
    command.main(["--only", row, "*/dense/mean of*", "--seeds", "1"])
    assert [each["row"] for each in verdict.read(runs.PATH)] == [grid.MEAN_FLOOR] * 2
    command.main(["--only", row, "--seeds", "0", "1"])
    before = runs.PATH.read_bytes()
    command.main(["--only", row, "--seeds", "0", "1"])
    assert runs.PATH.read_bytes() == before
    first, second = verdict.read(runs.PATH)[2:]
    assert [first[name] for name in runs.TOLD] == [second[name] for name in runs.TOLD]
    assert first["tuning_seconds"] > second["tuning_seconds"]
    assert first["examples"] == "90 30 50" and not first["stopped"]
    for each in (first, second):
        assert unpacked(each["correct"], 50).mean() == pytest.approx(each["test_accuracy"])
    capsys.readouterr()
    command.main(["--plan", "--only", row])
    assert "3 runs, of which 2 are done" in capsys.readouterr().out
    # What was run by other rules is not mixed in.
    monkeypatch.setattr(grid, "PATIENCE", 7)
    with pytest.raises(SystemExit, match="protocol"):
        command.main(["--plan"])


def test_splits_are_stratified_and_never_shared():
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    rows = data.stratified(labels, 20, seed=1)
    assert np.bincount(labels[rows]).tolist() == [12, 6, 2] and len(set(rows)) == 20
    assert rows.tolist() != data.stratified(labels, 20, seed=2).tolist()
    train, test = data.pool("reviews", "", True)
    assert not set(train.texts) & set(test.texts)
    first, second = (data.data_of("reviews", "gru", seed, "", True) for seed in (0, 1))
    assert set(first.sources[0].texts) != set(second.sources[0].texts)
    assert len(first.sources[0]) == 40 and len(first.sources[1]) == 20


def test_a_set_of_the_user_is_a_task(tmp_path, capsys):
    lines = [f"{'good' if i % 2 else 'bad'}\tthe film number {i} is here" for i in range(200)]
    (tmp_path / "cr.tsv").write_text("\n".join(lines) + "\n")
    command.main(["--quick", "--data", str(tmp_path), "--only", "cr/gru/TF*", "--seeds", "0"])
    assert "cr/gru/TF-IDF, linear, seed 0: 0." in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"mr cannot be read.*It needs mr\.tsv"):
        command.main(["--quick", "--data", str(tmp_path), "--only", "mr/gru/TF*"])


def test_states_are_served_as_given():
    found = data.data_of("bags_two", "dense", 0, "", True)
    served = [found.batches(0, 3)[i] for i in range(len(found.batches(0, 3)))]
    assert sum(len(labels) for _, labels in served) == 40
    for inputs, _ in served:
        assert inputs["features"].shape[1] == inputs["padding_mask"].sum(axis=1).max()
    assert grid.arguments("LastPooling1D", 0, "gru")[1]["bidirectional"] is True
    assert grid.arguments("LastPooling1D", 0, "minilm")[1]["bidirectional"] is False


# --- what a code change moves ------------------------------------------------------------------


def test_no_published_row_has_moved():
    """A row here was run with other code: remove its lines and run it anew, or undo the change."""
    assert runs.moved(verdict.read(runs.PATH)) == []


def test_a_change_of_a_layer_moves_its_rows_alone(monkeypatch):
    lines = [
        line("t", encoder, row, 0.5, fingerprint=runs.fingerprint(encoder, row))
        for encoder in ("dense", "minilm")
        for row in ("AttentionPooling", "MaskedMaxPooling1D")
    ]
    assert runs.moved(lines) == []

    class Changed(layers.AttentionPooling):
        def call(self, inputs, mask=None):
            return 1.01 * super().call(inputs, mask=mask)

    monkeypatch.setitem(grid.MECHANISMS, "AttentionPooling", Changed)
    runs.fingerprint.cache_clear()
    assert runs.moved(lines) == ["dense/AttentionPooling", "minilm/AttentionPooling"]
    runs.fingerprint.cache_clear()


# --- the verdict -------------------------------------------------------------------------------


def made(tasks=8):
    """Four rows over tasks: attention is always ahead, the last state always behind."""
    rng = np.random.default_rng(0)
    gains = {"AttentionPooling": 0.2, "LastPooling1D": -0.2, "MaskedMaxPooling1D": 0.0}
    return [
        line(f"task{task}", encoder, row, 0.5 + gains.get(row, 0) + rng.uniform(0, 0.05))
        for task in range(tasks)
        for encoder in ("gru", "minilm")
        for row in ROWS
    ]


def test_ranks_are_those_of_demsar():
    lines = made()
    ranked = verdict.ranking(lines[:-1], ROWS)  # the last block lacks a row
    assert ranked.tasks["task7"] == ["gru"] and ranked.tasks["task0"] == ["gru", "minilm"]
    assert list(ranked.ranks)[0] == "AttentionPooling" and ranked.ranks["AttentionPooling"] == 1
    assert ranked.ranks["LastPooling1D"] == 4 and ranked.p_value < 1e-3
    # Demsar's table 5: 2.569 for four.
    assert ranked.distance == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 8)), abs=1e-3)
    leads = verdict.against(ranked)
    assert leads["AttentionPooling"].median == pytest.approx(0.2, abs=0.03)
    exact = stats.wilcoxon(np.arange(1.0, 9)).pvalue
    assert leads["AttentionPooling"].p_value == pytest.approx(3 * exact) and exact == 2 / 2**8
    assert leads["MaskedMaxPooling1D"].p_value > 0.05
    assert verdict.shown(leads, True) == ["AttentionPooling"] == verdict.steady(ranked, True)
    assert verdict.shown(leads, False) == ["LastPooling1D"] == verdict.steady(ranked, False)
    assert verdict.ranking(lines[: 2 * len(ROWS)], ROWS) is None  # a single task


def test_tasks_that_share_their_texts_count_once():
    lines = made()
    ranked = verdict.ranking(lines, ROWS, lambda task: "one" if task < "task3" else task)
    assert ranked.sets["one"] == ["task0", "task1", "task2"] and len(ranked.sets) == 6
    apart = verdict.ranking(lines, ROWS)
    for row in ROWS:
        assert ranked.accuracy[row][0] == pytest.approx(apart.accuracy[row][:3].mean(), abs=1e-8)
    assert {grid.set_of(name) for name in ("sst2", "sst5")} == {"sst"} and grid.set_of("r8") == "r8"


def test_what_one_set_decides_is_said():
    """Ahead on all of seven sets p is 2 / 2**7, on six 2 / 2**6; Holm doubles both."""
    three = [verdict.BASE, "AttentionPooling", "MaskedMaxPooling1D"]
    lines = made(7)
    ranked = verdict.ranking(lines, three)
    assert verdict.shown(verdict.against(ranked), True) == ["AttentionPooling"]
    assert verdict.steady(ranked, True) == []
    told = verdict.sentences(lines, three, ())[2]
    assert "is better. Whichever set is left out, `AttentionPooling` does not stay so" in told
    assert "left out, `AttentionPooling` stays so" in verdict.sentences(made(8), three, ())[2]


def test_better_is_what_the_test_says_and_not_the_mean():
    lines = made(22)
    for run in lines:
        if run["row"] == "MaskedMaxPooling1D":
            base = next(
                each
                for each in lines
                if (each["task"], each["encoder"], each["row"])
                == (run["task"], run["encoder"], verdict.BASE)
            )
            run["test_accuracy"] = base["test_accuracy"] + (
                -0.45 if run["task"] == "task0" else 1e-3
            )
    lead = verdict.against(verdict.ranking(lines, ROWS))["MaskedMaxPooling1D"]
    assert lead.ahead and lead.median > 0 and lead.p_value < 0.05


def test_ties_are_ties_and_all_rows_have_the_same_seeds():
    lines = made()
    for run in lines:
        if run["row"] == "MaskedMaxPooling1D":
            run["test_accuracy"] = 0.1 + 0.2
        if run["row"] == verdict.BASE:
            run["test_accuracy"] = 0.3
    ranks = verdict.ranking(lines, ROWS).ranks
    assert ranks["MaskedMaxPooling1D"] == ranks[verdict.BASE]
    # A second seed that some rows lack changes nothing.
    more = [{**run, "seed": 1, "test_accuracy": 0.99} for run in lines if run["row"] == ROWS[1]]
    assert verdict.ranking([*lines, *more], ROWS).ranks == ranks


def test_a_task_that_nothing_learns_does_not_count():
    def with_floor(share):
        made_of = [{**run, "seed": seed} for run in made() for seed in (0, 1)]
        floors = [line("task0", "gru", verdict.LARGEST, share, seed) for seed in (0, 1)]
        return verdict.counted([*made_of, *floors], ROWS)

    assert ("task0", "gru") in with_floor(0.5) and ("task0", "gru") not in with_floor(0.74)


def test_a_run_of_one_class_is_found():
    """Three classes; 60 of 100 texts are of the largest, 30 of another one."""
    floor = line("t", "gru", verdict.LARGEST, 0.6, test_macro_f1=0.75 / 3)
    block = {verdict.LARGEST: [floor]}
    other = 2 * 0.3 / 1.3 / 3
    assert verdict.one_class(line("t", "gru", "A", 0.3, test_macro_f1=other), block)
    assert not verdict.one_class(line("t", "gru", "A", 0.3, test_macro_f1=other + 0.01), block)
    assert not verdict.one_class(line("t", "gru", "A", 0.6, test_macro_f1=0.58), block)
    assert not verdict.one_class(floor, block) and not verdict.one_class(floor, {})


def test_one_run_has_no_interval():
    block = {row: [line("t", "gru", row, a)] for row, a in (("A", 0.9), ("B", 0.5))}
    assert verdict.interval(block, "A", "B") is None and not verdict.ahead(block, "A", "B")
    for row, accuracy in (("A", 0.9), ("B", 0.5)):
        block[row].append(line("t", "gru", row, accuracy, 1))
    low, high = verdict.interval(block, "A", "B")
    assert 0.3 < low < 0.4 < high < 0.5 and verdict.ahead(block, "A", "B")


def test_the_verdict_says_what_is_shown_and_no_more():
    told = " ".join(verdict.sentences(made(), ROWS, grid.LINEAR))
    assert "`AttentionPooling` has the best mean rank, 1.0 of 4." in told
    assert "it shows `AttentionPooling` to be better than" in told
    assert "`AttentionPooling` is better, `LastPooling1D` is worse" in told
    assert re.search("largest median lead is that of `Att", told)
    # The mean and what is worse than it are shown to be worse than the best.
    assert "shows 3 rows to be worse" in told and "`AttentionPooling` is the cheapest" in told
    few = " ".join(verdict.sentences(made(3), ROWS, grid.LINEAR))
    assert "with so few sets none can be" in few
    assert "no verdict" in verdict.sentences(made(1), ROWS, grid.LINEAR)[0]
    runs_of = [{**run, "seed": seed} for run in made() for seed in (0, 1)]
    floor = [
        line("task0", each, grid.MEAN_FLOOR, 0.9, s) for each in ("gru", "minilm") for s in (0, 1)
    ]
    told = verdict.sentences([*runs_of, *floor], ROWS, grid.LINEAR)[-1]
    assert "linear classifier on 7 of 8 tasks, but not on task0." in told


def test_the_cheapest_is_never_one_that_is_worse():
    """The mean is the best: a row that is worse than it is not recommended."""
    lines = made()
    for run in lines:
        run["test_accuracy"] += 0.4 * (run["row"] == verdict.BASE)
        run["cpu_seconds"] *= 0.5 if run["row"] == "LastPooling1D" else 1
    told = verdict.sentences(lines, ROWS, ())
    assert f"`{verdict.BASE}` has the best" in told[1]
    assert f"`{verdict.BASE}` is the cheapest" in told[3]


def test_the_page_draws_what_is_there(tmp_path):
    planned = [run for run in grid.grid() if run.task in ("trec", "bags_any") and not run.seed]
    rng = np.random.default_rng(0)
    there = [line(r.task, r.encoder, r.row, rng.uniform(0.4, 0.9)) for r in planned[:-3]]
    told = {name: view(there) for name, view in page.VIEWS.items()}
    assert f"{len(there)} of {len(grid.grid()):,} planned runs" in told["state"]
    assert "Partial" in told["state"] and "trec (minilm)" in told["state"]
    picture = drawn(told["diagram"])
    assert {text.text for text in picture.iter("text")} >= set(grid.MECHANISMS)
    assert "Not run yet: " + ", ".join(run.row for run in planned[-3:]) in told["tables"]
    assert told["overview"].count("\n") == 1 + len(grid.MECHANISMS) + len(grid.FLOORS)
    assert "| pairs | none yet |" in told["situations"]
    head, _, first, *rest = told["which"].split("\n")
    assert head == (
        "| pooling | mean rank | sentences | bags | time, dense | time, minilm | time, gru "
        "| finds what decides (AUC) |"
    )
    assert len(rest) == len(grid.MECHANISMS) - 1 and first.count(" – ") <= 1
    assert any(row.startswith(f"| {verdict.BASE} |") and row.count(" – |") == 3 for row in rest)
    assert "| GeneralizedPooling, scalar | `GeneralizedPooling(" in told["legend"]
    assert told["legend"].count("\n    | ") == 1 + len(grid.MECHANISMS)
    known = page.memories()
    assert page.memory_of(verdict.BASE, known) == "1.0"
    assert "GiB" in page.memory_of("DirectionalSelfAttention, backward", known)
    # Without any run the page still stands.
    path = tmp_path / "results.csv"
    empty = page.fill("".join(f"<!-- arena: {name} -->\n" for name in page.VIEWS), path)
    assert "0 of" in empty and "arena:" not in empty
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, runs.COLUMNS)
        writer.writeheader()
        writer.writerow(there[0])
    assert verdict.read(path) == [there[0]]
