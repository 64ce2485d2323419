"""The run folder: one owner, no leftovers, and a training that goes on as if never stopped."""

import json
import os
import signal
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_attnpool.workbench.cli import main, runs, train
from keras_attnpool.workbench.cli.checkpoints import Checkpoint
from keras_attnpool.workbench.cli.errors import CommandError

pytestmark = pytest.mark.every_backend

# Dropout in the classifier and three batches an epoch, in an order of their own.
ARGUMENTS = ["--encoder", "none", "--pooling", "lama", "--heads", "2", "--embedding-dim", "4"]
ARGUMENTS += ["--hidden-units", "3", "--dropout", "0.4", "--train-size", "40", "--test-size", "10"]
ARGUMENTS += ["--batch-size", "12", "--epochs", "4", "--patience", "9"]
ARGUMENTS += ["--no-report", "--no-baseline"]


def interrupt(patch, epoch):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 1 and self.epochs == epoch:
            raise KeyboardInterrupt

    patch.setattr(Checkpoint, "on_train_batch_end", on_train_batch_end)


def test_resumed_training_is_uninterrupted_training_bit_for_bit(tmp_path, monkeypatch):
    last = {}

    def final_state(name, patch):
        finish = Checkpoint.on_epoch_end

        def on_epoch_end(self, epoch, logs=None):
            finish(self, epoch, logs)
            variables = [*self.model.variables, *self.model.optimizer.variables]
            last[name] = [keras.ops.convert_to_numpy(variable) for variable in variables]

        patch.setattr(Checkpoint, "on_epoch_end", on_epoch_end)

    with monkeypatch.context() as patch:
        final_state("whole", patch)
        assert main(["train", *ARGUMENTS, "--out", str(tmp_path / "whole")]) == 0
    with monkeypatch.context() as patch:
        interrupt(patch, epoch=2)
        assert main(["train", *ARGUMENTS, "--out", str(tmp_path / "cut")]) == 130
    with monkeypatch.context() as patch:
        final_state("resumed", patch)
        assert main(["train", "--resume", "--out", str(tmp_path / "cut")]) == 0
    assert len(last["whole"]) == len(last["resumed"]) > 10
    for expected, found in zip(last["whole"], last["resumed"], strict=True):
        np.testing.assert_array_equal(expected, found)
    metrics = [
        json.loads((tmp_path / run / "metrics.json").read_text()) for run in ("whole", "cut")
    ]
    histories = [each["results"]["none + lama"]["history"] for each in metrics]
    for history in histories:
        del history["seconds"]
    assert histories[0] == histories[1]
    models = [runs.load_model(tmp_path / run / "model.keras") for run in ("whole", "cut")]
    for expected, found in zip(*(model.get_weights() for model in models), strict=True):
        np.testing.assert_array_equal(expected, found)


# What `owned` does, in a process that need not import Keras.
OWNER = """
import sqlite3, sys, time
lock = sqlite3.connect(sys.argv[1], isolation_level=None)
lock.execute("PRAGMA journal_mode=MEMORY")
lock.execute("BEGIN EXCLUSIVE")
print("mine", flush=True)
time.sleep(600)
"""


@pytest.fixture
def owner(tmp_path):
    """Another process that owns a run folder."""
    (tmp_path / "run").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "run" / runs.LOCK)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "mine\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("how", [[], ["--overwrite"], ["--resume"]])
def test_another_process_owns_the_folder(owner, tmp_path, capsys, monkeypatch, how):
    monkeypatch.setattr(train, "load", lambda options: pytest.fail("went on"))
    run = tmp_path / "run"
    if how:
        runs.write_json(run / "config.json", {"format": runs.FORMAT})
    before = sorted(path.name for path in run.iterdir())
    status = main(["train", *how, "--out", str(run)])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert f"{run} belongs to another `train`" in err
    assert sorted(path.name for path in run.iterdir()) == before


def test_a_killed_owner_owns_nothing(owner, tmp_path):
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert (tmp_path / "run" / runs.LOCK).exists()
    with runs.owned(tmp_path / "run"):
        pass
    # It was not made here, and stays.
    assert list((tmp_path / "run").iterdir()) == []


def test_one_owner_at_a_time(tmp_path):
    run = tmp_path / "deep" / "run"
    with runs.owned(run):
        assert [path.name for path in run.iterdir()] == [runs.LOCK]
        with pytest.raises(CommandError, match="belongs to another"), runs.owned(run):
            pytest.fail("two owners")
        assert (run / runs.LOCK).exists()
        with runs.owned(tmp_path / "other"):
            pass
    assert not run.exists()


def test_leftovers_of_a_killed_run(tmp_path):
    (tmp_path / "resume").mkdir()
    leftovers = [".123.model.keras", ".4.metrics.json", ".5.report.html"]
    leftovers += [".77.vocabulary.json", "resume/.8.model-3.weights.h5", "resume/.9.model.json"]
    # The last is written by an `explain` that may be running.
    others = ["model.keras", ".notes", ".1.txt", "resume/model-2.weights.h5", ".123.explained.html"]
    for name in leftovers + others:
        (tmp_path / name).touch()
    runs.remove_leftovers(tmp_path)
    files = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
    assert files == set(others)


def test_a_killed_run_leaves_nothing_to_the_next(tmp_path, monkeypatch, capsys):
    run = tmp_path / "run"
    run.mkdir()
    (run / runs.LOCK).touch()
    (run / f".{os.getpid() + 1}.model.keras").write_text("half")
    quick = [
        "--encoder",
        "none",
        "--pooling",
        "mean",
        "--epochs",
        "1",
        "--train-size",
        "40",
        "--test-size",
        "10",
    ]
    assert main(["train", *quick, "--no-report", "--out", str(run)]) == 0, capsys.readouterr().err
    assert not [path.name for path in run.iterdir() if path.name.startswith(".")]
