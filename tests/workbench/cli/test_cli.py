"""The command line, run in this process: small corpora, small models."""

import csv
import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import keras
import numpy as np
import pytest
from command_line import refused, run_main

import keras_attnpool
from keras_attnpool.workbench import corpora, datasets
from keras_attnpool.workbench.cli import checkpoints, data, main, train
from keras_attnpool.workbench.cli.checkpoints import Checkpoint
from keras_attnpool.workbench.cli.options import DEFAULTS, Options

pytestmark = pytest.mark.one_backend("test_smoke.py trains and predicts under every backend")

# One short epoch of the model that compiles fastest.
QUICK = [
    "--encoder",
    "none",
    "--pooling",
    "mean",
    "--epochs",
    "1",
    "--hidden-units",
    "0",
    "--embedding-dim",
    "4",
]
QUICK += ["--no-report"]
REVIEWS = ["--train-size", "40", "--test-size", "10"]


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def write_rows(path, rows, delimiter="\t"):
    content = io.StringIO()
    csv.writer(content, delimiter=delimiter, lineterminator="\n").writerows(rows)
    data = content.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def labelled_rows(size=40):
    return [("spam" if i % 4 else "ham", f"word{i % 4} and word{i % 3}") for i in range(size)]


def test_run_folder(trained):
    assert {path.name for path in trained.iterdir()} == {
        "model.keras",
        "vocabulary.json",
        "config.json",
        "metrics.json",
        "report.html",
    }
    config, metrics = read(trained / "config.json"), read(trained / "metrics.json")
    assert config["options"].keys() == DEFAULTS.keys()
    assert config["options"]["seed"] == 3 and config["options"]["patience"] == 3
    assert config["label_names"][0] == "1 star"
    assert config["backend"] == keras.config.backend()
    assert config["keras"] == keras.__version__
    assert metrics["sizes"] == {"train": 36, "validation": 4, "test": 10}
    assert metrics["interrupted"] is False
    assert list(metrics["results"]) == [
        "none + lama",
        "none + mean",
        "TF-IDF of words",
        "largest class",
    ]
    model = keras.saving.load_model(trained / "model.keras", compile=False)
    result = metrics["results"]["none + lama"]
    assert result["parameters"] == model.count_params()
    words = len(read(trained / "vocabulary.json")["vocabulary"])
    assert result["parameters_without_embeddings"] == model.count_params() - 4 * words
    assert result["epochs"] == result["best_epoch"] == len(result["history"]["val_loss"]) == 1


def test_accuracy_is_that_of_the_saved_model(trained, capsys):
    test = corpora.reviews(10, seed=2)
    _, out, _ = run_main(capsys, "predict", trained, *test.texts)
    right = [
        line.split("\t")[0] == test.label_names[label]
        for line, label in zip(out.splitlines(), test.labels, strict=True)
    ]
    result = read(trained / "metrics.json")["results"]["none + lama"]
    assert result["accuracy"] == pytest.approx(np.mean(right))


def test_predict_arguments(trained, capsys):
    status, out, err = run_main(capsys, "predict", trained, "Good food.", "", "qwertz\n asdf")
    assert status == 0 and "note: 1 of 3 texts is empty" in err
    rows = [line.split("\t") for line in out.removesuffix("\n").split("\n")]
    assert [row[2] for row in rows] == ["Good food.", "", "qwertz asdf"]
    assert all(re.fullmatch(r"[1-5] stars?", label) for label, _, _ in rows)
    assert all(0.2 <= float(probability) <= 1 for _, probability, _ in rows)


def test_predict_lines_as_json(trained, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("Good food.\r\n\nBad food."))
    status, out, _ = run_main(capsys, "predict", trained, "--json")
    answers = [json.loads(line) for line in out.splitlines()]
    assert status == 0 and [answer["text"] for answer in answers] == ["Good food.", "", "Bad food."]
    for answer in answers:
        assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-5)
        assert answer["probabilities"][answer["label"]] == answer["probability"]
        assert answer["probability"] == max(answer["probabilities"].values())


def test_texts_behind_options(trained, capsys):
    status, out, _ = run_main(capsys, "predict", trained, "a", "--json", "b", "c")
    assert status == 0
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["a", "b", "c"]
    status, out, _ = run_main(capsys, "predict", trained, "--json", "--", "- no", "a")
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["- no", "a"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "run", "--json", "--quick"],
        ["train", "--out", "run", "a", "b"],
    ],
)
def test_unknown_arguments_are_refused(arguments, capsys):
    status, out, err = run_main(capsys, *arguments)
    assert status == 2 and f"{arguments[0]}: error: unrecognized arguments: {arguments[-1]}" in err
    assert "Did you mean" not in err


def test_a_misspelled_option_is_answered_by_the_nearest_one_of_its_command(capsys):
    status, _, err = run_main(capsys, "train", "a.csv", "--out", "run", "--max-epochs", "3")
    assert status == 2 and err.endswith("--max-epochs 3. Did you mean --epochs?\n")


def test_train_on_tsv(tmp_path, capsys):
    path = write_rows(tmp_path / "mine.tsv.gz", labelled_rows())
    held_out = write_rows(tmp_path / "test.tsv", [("ham", "word0 and so on")])
    run = tmp_path / "run"
    status, out, _ = run_main(capsys, "train", path, "--test", held_out, *QUICK, "--out", run)
    assert status == 0 and "1 test" in out
    assert read(run / "config.json")["label_names"] == ["ham", "spam"]
    metrics = read(run / "metrics.json")
    assert metrics["sizes"] == {"train": 36, "validation": 4, "test": 1}
    # Three quarters are spam, and the test text is not.
    assert metrics["results"]["largest class"]["accuracy"] == 0


def test_public_set(monkeypatch):
    parts = {"train": corpora.reviews(40, seed=5), "test": corpora.reviews(6, seed=6)}
    monkeypatch.setattr(datasets, "load", lambda name, split: parts[split])
    loaded, remarks = data.load(Options(dataset="r8"))
    assert remarks == []
    assert loaded.sizes == {"train": 36, "validation": 4, "test": 6}
    assert loaded.test.texts == parts["test"].texts


def test_pairs_are_refused(monkeypatch, tmp_path, capsys):
    pairs = datasets.SentencePairs(("a",), ("b",), np.array([0]), ("x", "y"), np.array([1.0]))
    monkeypatch.setattr(datasets, "load", lambda name, split: pairs)
    err = refused(capsys, "train", "--dataset", "sick", "--out", tmp_path / "run")
    assert "--dataset sick holds pairs" in err


@pytest.fixture
def built(monkeypatch):
    """The models that would have been trained."""
    models = []

    def fit(name, model, *rest):
        models.append(model)
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "_fit", fit)
    return models


def test_csv(tmp_path, capsys, built):
    rows = [("id", "body", "folder")]
    rows += [(i, text, label) for i, (label, text) in enumerate(labelled_rows())]
    path = write_rows(tmp_path / "mine.csv", rows, delimiter=",")
    columns = ["--text-column", "body", "--label-column", "2"]
    status, out, _ = run_main(capsys, "train", path, *columns, *QUICK, "--out", tmp_path / "run")
    assert status == 130 and "29 train, 3 validation, 8 test. Classes: 2." in out


def test_word_vectors_from_file(tmp_path, capsys, built):
    path = write_rows(tmp_path / "mine.tsv", labelled_rows())
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("word1 1 2 3\nother 3 2 1\n", encoding="utf-8")
    arguments = ["--encoder", "none", "--pooling", "mean", "--embeddings", vectors]
    status, out, _ = run_main(capsys, "train", path, *arguments, "--out", tmp_path / "run")
    assert status == 130 and "vectors for 20% of the words" in out
    rows = keras.ops.convert_to_numpy(built[0].get_layer("embedding").embeddings)
    assert [1, 2, 3] in rows.tolist()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--encoder", "lstm+cnn", "--pooling", "lama", "--units", "3", "--heads", "2"],
        ["--encoder", "stacked_lstm", "--pooling", "generalized", "--units", "3", "--dropout", "0"],
        ["--encoder", "positional", "--embedding-dim", "4", "--hidden-units", "3"],
        ["--encoder", "positions+conv-attention", "--pooling", "multi_dim", "--units", "8"],
        ["--encoder", "directional", "--pooling", "self_attention", "--units", "3"],
    ],
)
def test_every_model_is_built(arguments, tmp_path, built):
    arguments = ["--train-size", "20", "--test-size", "2", *arguments]
    assert main(["train", *arguments, "--out", str(tmp_path / "run")]) == 130
    assert built[0].output_shape == (None, 5)
    assert not (tmp_path / "run").exists()


# Three batches an epoch.
LONGER = ["--encoder", "none", "--pooling", "mean", "--epochs", "4", "--embedding-dim", "4"]
LONGER += ["--batch-size", "12", "--patience", "9", "--no-report"]


def interrupt(monkeypatch, epoch):
    """Presses Ctrl-C in the second batch of an epoch (from 0)."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 1 and self.epochs == epoch:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "on_train_batch_end", on_train_batch_end)


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """A run of a user's file that was interrupted in its third epoch."""
    folder = tmp_path_factory.mktemp("cut")
    path = write_rows(folder / "mine.tsv", labelled_rows())
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, epoch=2)
        assert main(["train", str(path), *LONGER, "--out", str(folder / "run")]) == 130
    return folder / "run"


def test_interrupted_run(cut, capsys):
    metrics = read(cut / "metrics.json")
    assert metrics["interrupted"] is True
    assert metrics["results"]["none + mean"]["epochs"] == 2
    assert run_main(capsys, "predict", cut, "a text")[0] == 0


def test_resume_refuses(cut, tmp_path, capsys):
    err = refused(capsys, "train", "--resume", "--epochs", "9", "--out", cut)
    assert "where --epochs is 4. Received: 9" in err
    other = write_rows(tmp_path / "mine.tsv", labelled_rows()[::-1])
    run = tmp_path / "run"
    shutil.copytree(cut, run)
    config = read(run / "config.json")
    config["options"]["file"] = str(other)
    (run / "config.json").write_text(json.dumps(config), encoding="utf-8")
    err = refused(capsys, "train", "--resume", "--out", run)
    assert "not those that this run was started with" in err


def test_resume_in_the_baseline(cut_in_baseline, trained):
    interrupted = read(cut_in_baseline / "metrics.json")["results"]
    assert list(interrupted) == ["none + lama"]
    assert not list(cut_in_baseline.glob("*.html"))
    resumed = read(trained / "metrics.json")["results"]
    assert resumed["none + lama"] == interrupted["none + lama"]
    assert "none + mean" in resumed


def test_interrupt_before_the_first_epoch(tmp_path, capsys, monkeypatch):
    interrupt(monkeypatch, epoch=0)
    run = tmp_path / "run"
    status, _, err = run_main(capsys, "train", *LONGER, *REVIEWS, "--out", run)
    assert status == 130 and "nothing was kept" in err
    assert not run.exists()


def test_overwrite_keeps_other_files(trained, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    (run / "notes.txt").write_text("mine")
    (run / "explained.html").write_text("of the old model")
    assert "--overwrite" in refused(capsys, "train", *QUICK, *REVIEWS, "--out", run)
    assert main(["train", *QUICK, *REVIEWS, "--seed", "8", "--overwrite", "--out", str(run)]) == 0
    assert read(run / "config.json")["options"]["seed"] == 8
    assert (run / "notes.txt").read_text() == "mine"
    # What was written about the old model is gone with it.
    assert not [path.name for path in run.iterdir() if path.suffix == ".html"]


def test_early_stopping(tmp_path):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    run = tmp_path
    options = Options(patience=2)
    callback = Checkpoint(run, "row-0", options, resume=False)
    callback.set_model(model)
    # The third epoch is as accurate as the second at a lower loss; the two after it are not.
    values = [(0.4, 1.0), (0.6, 0.9), (0.6, 0.8), (0.6, 0.85), (0.5, 0.1)]
    stopped = []
    for epoch, (accuracy, loss) in enumerate(values):
        callback.on_epoch_begin(epoch)
        logs = {"loss": 1.0, "val_accuracy": accuracy, "val_loss": loss}
        callback.on_epoch_end(epoch, logs)
        stopped.append(model.stop_training)
    assert stopped == [False, False, False, False, True]
    again = Checkpoint(run, "row-0", options, resume=True)
    assert (again.epochs, again.best_epoch, again.is_over) == (5, 3, True)
    files = {path.name for path in (run / "resume").iterdir()}
    assert files == {"row-0-5.weights.h5", "row-0.json", "row-0.keras"}


def test_divergence_is_reported(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(checkpoints.math, "isfinite", lambda number: False)
    status, _, err = run_main(capsys, "train", *QUICK, *REVIEWS, "--out", tmp_path / "run")
    assert status == 2 and "--learning-rate" in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such run folder"),
        ({}, "there is no config.json in it"),
        ({"config.json": '{"format": "keras_attnpool.run"}'}, "has no model.keras yet"),
    ],
)
def test_predict_refuses(content, message, tmp_path, capsys):
    run = tmp_path / "run"
    if content is not None:
        run.mkdir()
        for name, text in content.items():
            (run / name).write_text(text)
    err = refused(capsys, "predict", run, "a text")
    assert message in err


def test_folder_that_is_no_run_is_left_alone(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("years of work")
    err = refused(capsys, "train", *QUICK, "--overwrite", "--out", tmp_path)
    assert "is not a run folder" in err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_help_and_version(capsys):
    status, out, _ = run_main(capsys, "--version")
    assert status == 0 and keras_attnpool.__version__ in out
    for command in ([], ["train"], ["predict"], ["explain"]):
        status, out, _ = run_main(capsys, *command, "--help")
        assert status == 0 and f"python -m keras_attnpool {' '.join(command)}" in out
    assert run_main(capsys)[0] == 2


@pytest.mark.parametrize(("chosen", "argument"), [(None, "train"), ("tenserflow", "--version")])
def test_a_backend_that_is_missing_is_one_line(chosen, argument, tmp_path):
    (tmp_path / "sitecustomize.py").write_text('import sys\nsys.modules["tensorflow"] = None\n')
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": paths, "KERAS_HOME": str(tmp_path)}
    environment.pop("KERAS_BACKEND", None)
    environment |= {"KERAS_BACKEND": chosen} if chosen else {}
    command = [sys.executable, "-m", "keras_attnpool", argument]
    command += ["--out", str(tmp_path / "run")] * (argument == "train")
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1), ended.stderr
    assert re.search("KERAS_BACKEND=(torch|jax) python|installs one", ended.stderr), ended.stderr


def test_process_is_interrupted(tmp_path):
    run = tmp_path / "run"
    arguments = [*LONGER, *REVIEWS, "--epochs", "10000", "--patience", "10000", "--out", str(run)]
    # A shell starts background jobs with Ctrl-C ignored, and their children would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_attnpool", "train", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(signal.SIGINT, before)
    try:
        for line in process.stdout:
            if line.startswith("Epoch 3/"):
                process.send_signal(signal.SIGINT)
                break
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "Traceback" not in err
    assert f"train --resume --out {run}" in err
    metrics = read(run / "metrics.json")
    assert metrics["results"]["none + mean"]["epochs"] >= 2
    assert not [path for path in run.rglob("*") if path.name.startswith(".")]
    assert main(["predict", str(run), "a text"]) == 0
