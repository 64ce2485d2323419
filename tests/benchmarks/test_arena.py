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
    assert leads["AttentionPooling"][0] == pytest.approx(0.2, abs=0.03)
    exact = stats.wilcoxon(np.arange(1.0, 9)).pvalue
    assert leads["AttentionPooling"][1] == pytest.approx(3 * exact) and exact == 2 / 2**8
    assert leads["MaskedMaxPooling1D"][1] > 0.05
    assert verdict.ranking(lines[: 2 * len(ROWS)], ROWS) is None  # a single task


def test_the_verdict_says_what_is_shown_and_no_more():
    told = " ".join(verdict.sentences(made(), ROWS, grid.FLOORS))
    assert "`AttentionPooling` has the best mean rank, 1.0 of 4" in told
    ahead = "`AttentionPooling` is better than the mean of the states, `LastPooling1D` is worse, by"
    assert re.search(f"{ahead} .* lead is that of `Att", told)
    # The mean and what is worse than it are shown to be worse than the best.
    assert "not shown to be worse, `AttentionPooling` is the cheapest" in told
    few = " ".join(verdict.sentences(made(3), ROWS, grid.FLOORS))
    assert "with so few tasks none can" in few
    assert "no verdict" in verdict.sentences(made(1), ROWS, grid.FLOORS)[0]
    floor = line("task0", "gru", grid.MEAN_FLOOR, 0.9)
    told = verdict.sentences([*made(), floor], ROWS, grid.FLOORS)[-1]
    assert "1 of 16 blocks: task0 (gru)." in told


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
    assert head == "| pooling | mean rank | sentences | bags | time | finds what decides (AUC) |"
    assert len(rest) == len(grid.MECHANISMS) - 1 and first.count(" – ") <= 1
    assert any(row.startswith(f"| {verdict.BASE} |") and row.count(" – |") == 3 for row in rest)
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
