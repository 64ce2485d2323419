"""Run folders that are damaged or hostile, full disks, and Ctrl-C at every write of a run.

Whatever is wrong, a command ends with exit status 2 (or 130) and one line that says so; and what is
left in the folder is a run that can be used, resumed or replaced.
"""

import errno
import io
import json
import os
import random
import shutil
import zipfile
from pathlib import Path

import keras
import pytest
from command_line import refused

from keras_attnpool import models
from keras_attnpool.workbench import corpora, text
from keras_attnpool.workbench.cli import main, runs, train
from keras_attnpool.workbench.cli.checkpoints import Checkpoint
from keras_attnpool.workbench.cli.options import DEFAULTS, Options

pytestmark = pytest.mark.one_backend("the files of a run; none is computed")

WORDS = ["[PAD]", "[UNK]", "good", "bad", "food"]
OPTIONS = {
    **DEFAULTS,
    "encoder": "none",
    "pooling": "mean",
    "epochs": 2,
    "batch_size": 32,
    "max_length": 9,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An untrained run with all its files, and what is needed to resume it."""
    run = tmp_path_factory.mktemp("whole") / "run"
    (run / "resume").mkdir(parents=True)
    text.WordTokenizer(WORDS).save(run / "vocabulary.json")
    model = models.AverageEmbedding(len(WORDS), 2, embedding_dim=3, hidden_units=None)
    model.save(run / "model.keras")
    config = {"format": runs.FORMAT, "options": OPTIONS, "label_names": ["bad", "good"]}
    config["data"] = {"digest": "0" * 64, "sizes": {}}
    config["reader"] = {"kind": "words", "max_length": 9}
    runs.write_json(run / "config.json", config)
    runs.write_json(run / "metrics.json", {})
    history = {name: [0.5] for name in ("loss", "val_loss", "val_accuracy", "seconds")}
    runs.write_json(run / "resume" / "row-0.json", {"history": history, "generators": []})
    return run


@pytest.fixture
def run(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def commands(run):
    predict = ["predict", run, "good food"]
    return predict, ["explain", run, "good food"], ["train", "--resume", "--out", run]


def test_the_run_itself_is_whole(run, capsys):
    assert main(["predict", str(run), "good food"]) == 0
    assert capsys.readouterr().out.endswith("good food\n")


ODD_VALUES = [
    None,
    True,
    -1,
    0,
    2.5,
    float("nan"),
    10**30,
    "",
    "x",
    "../../x",
    [],
    [1],
    {},
    {"a": 1},
]


def changed(run, path, value):
    """config.json with one value replaced; a path is a list of keys."""
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    inner = config
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (run / "config.json").write_text(json.dumps(config), encoding="utf-8")


@pytest.mark.parametrize("value", ODD_VALUES, ids=repr)
@pytest.mark.parametrize(
    "path",
    [["format"], ["options"], ["label_names"], ["options", "max_length"], ["data"]]
    + [["reader"], ["reader", "kind"], ["reader", "max_length"]]
    + [["data", "digest"], ["options", "no_option"]],
    ids=".".join,
)
def test_odd_values_in_config(run, capsys, monkeypatch, path, value):
    """Values that `train` never writes, at every place that a command reads."""
    monkeypatch.setattr(train, "load", lambda options: pytest.fail("went on"))
    changed(run, path, value)
    predict, explain, resume = commands(run)
    # What is missing has its default; a digest of other data is told after they are read.
    if path[0] not in ("label_names", "reader") and not (path == ["options"] and value == {}):
        if path[-1] != "digest" or not isinstance(value, str):
            assert "config.json" in refused(capsys, *resume)
    # A run that is used is read as its reader says; the options are for a run that goes on.
    if path[0] in ("format", "label_names", "reader") or (
        path == ["options"] and not isinstance(value, dict)
    ):
        for command in (predict, explain):
            assert str(run) in refused(capsys, *command)


@pytest.mark.parametrize("option", sorted(DEFAULTS))
def test_odd_values_of_every_option(run, capsys, monkeypatch, option):
    """Refused before anything is read; what a run may have goes on to the data."""

    class WentOn(Exception):
        pass

    def load(options):
        raise WentOn

    monkeypatch.setattr(train, "load", load)
    kept = 0
    for value in ODD_VALUES:
        changed(run, ["options", option], value)
        try:
            message = refused(capsys, "train", "--resume", "--out", run)
        except WentOn:
            kept += 1
            assert type(value) in (bool, str, int, float, type(None)), (option, value)
            assert isinstance(value, bool) or not isinstance(DEFAULTS[option], bool)
        else:
            assert "config.json is damaged" in message and option in message
    assert kept < len(ODD_VALUES) / 2


CONTENTS = {
    "empty": b"",
    "no JSON": b"{",
    "null": b"null",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "no UTF-8": b'{"format": "\xff"}',
    "NULs": bytes(200),
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.keras"])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_files_of_something_else(run, capsys, name, content):
    (run / name).write_bytes(content)
    for command in commands(run)[:2]:
        assert name in refused(capsys, *command)


def resumed(run):
    """The checkpoint of a run that goes on."""
    return Checkpoint(run, "row-0", Options(), resume=True)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_resume_files_of_something_else(run, capsys, content):
    (run / "resume" / "row-0.json").write_bytes(content)
    with pytest.raises(runs.CommandError, match=r"row-0\.json is damaged .*--overwrite"):
        resumed(run)


def test_weights_to_resume_from_are_missing_or_damaged(run):
    checkpoint = resumed(run)
    model = keras.saving.load_model(run / "model.keras")
    model.compile("adam", "mse")
    path = run / "resume" / "row-0-1.weights.h5"
    for content in (None, b"", b"no HDF5", bytes(5000)):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(runs.CommandError, match=r"row-0-1\.weights\.h5 cannot be loaded"):
            checkpoint.restore(model)


def test_random_damage_to_every_file(run, whole, capsys):
    """Refused or harmless: never a traceback, never another kind of answer."""
    rng = random.Random(0)
    for name in ("config.json", "vocabulary.json", "model.keras"):
        content = (whole / name).read_bytes()
        for _ in range(60):
            damaged = bytearray(content)
            for _ in range(rng.choice([1, 3, 20])):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            if rng.random() < 0.3:
                del damaged[rng.randrange(len(damaged)) :]
            (run / name).write_bytes(damaged)
            status = main(["predict", str(run), "good food"])
            out, err = capsys.readouterr()
            assert (status, err) == (0, "") or (status == 2 and err.count("\n") == 1), err
            assert "Traceback" not in err and len(out.splitlines()) == (status == 0)
        (run / name).write_bytes(content)


# -- model files -----------------------------------------------------------------------------------


def rewritten(path, change):
    """The zip file with its members changed: a function of the dictionary of members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in change(members).items():
            archive.writestr(name, content)
    path.write_bytes(buffer.getvalue())


def test_code_in_a_model_is_not_run(run, capsys, tmp_path):
    witness = tmp_path / "ran"
    tokens = keras.Input((None,), dtype="int32")
    vectors = keras.layers.Embedding(len(WORDS), 2, name="embedding")(tokens)
    evil = keras.layers.Lambda(
        lambda x, path=str(witness): (open(path, "w").close(), x[:, 0])[1], output_shape=(2,)
    )
    keras.Model(tokens, evil(vectors)).save(run / "model.keras")
    witness.unlink(missing_ok=True)
    for command in commands(run)[:2]:
        assert "model.keras cannot be loaded" in (message := refused(capsys, *command))
        assert "afe" in message and "ambda" in message
    assert not witness.exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda members: {},
        lambda members: {n: c for n, c in members.items() if not n.endswith(".h5")},
        lambda members: {**members, "model.weights.h5": b"x" * 100},
        lambda members: {**members, "config.json": b" " * 50_000_000},
        lambda members: {**members, "config.json": b"[" * 100_000},
        lambda members: {**members, "config.json": b'{"class_name": "os.system"}'},
    ],
)
def test_models_that_are_none(run, capsys, change):
    rewritten(run / "model.keras", change)
    assert "model.keras cannot be loaded" in refused(capsys, *commands(run)[0])


def test_models_of_something_else(run, capsys):
    """A model that loads and does not belong to the run is told before it is asked."""
    build = models.AverageEmbedding
    build(len(WORDS), 3, embedding_dim=3, hidden_units=None).save(run / "model.keras")
    assert "does not belong to" in refused(capsys, *commands(run)[0])
    build(len(WORDS) + 1, 2, embedding_dim=3, hidden_units=None).save(run / "model.keras")
    assert "embeddings of 5 words. Received: [6]" in refused(capsys, *commands(run)[0])
    inputs = keras.Input((4,))
    keras.Model(inputs, keras.layers.Dense(2)(inputs)).save(run / "model.keras")
    assert "does not belong to" in refused(capsys, *commands(run)[1])


# -- folders ---------------------------------------------------------------------------------------


def test_a_link_instead_of_the_resume_folder(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    shutil.rmtree(run / "resume")
    (run / "resume").symlink_to(tmp_path / "mine")
    runs.remove_run(run)
    assert not (run / "resume").exists()
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


# -- interrupted and out of space ------------------------------------------------------------------


class Switch:
    """Fails at the n-th operation that changes the disk."""

    def __init__(self, monkeypatch, folder):
        self.left, self.error, self.done = None, None, 0
        self.folder = str(folder)
        for owner, name in [
            (os, "replace"),
            (Path, "unlink"),
            (Path, "write_text"),
            (Path, "mkdir"),
            (Path, "rmdir"),
            (shutil, "rmtree"),
            (keras.Model, "save"),
            (keras.Model, "save_weights"),
        ]:
            monkeypatch.setattr(owner, name, self.guarded(getattr(owner, name), name))

    def guarded(self, function, name):
        def call(*args, **kwargs):
            if any(str(arg).startswith(self.folder) for arg in args):
                self.done += 1
                if self.done == self.left:
                    # As good as half done: what was to be written is there, cut short.
                    if name in ("save", "save_weights", "write_text"):
                        target = args[1] if name.startswith("save") else args[0]
                        with open(target, "wb") as file:
                            file.write(b"{")
                    raise self.error
                # A full disk stays full; what is removed needs no space.
                full = isinstance(self.error, OSError) and self.left and self.done > self.left
                if full and name in ("save", "save_weights", "write_text", "mkdir"):
                    raise self.error
            return function(*args, **kwargs)

        return call

    def set(self, left, error):
        self.done, self.left, self.error = 0, left, error


def fake_fit(name, model, checkpoint, parts, options):
    """Two epochs without their training."""
    model.compile(keras.optimizers.SGD(), "sparse_categorical_crossentropy")
    if checkpoint.epochs:
        checkpoint.restore(model)
    checkpoint.set_model(model)
    for epoch in range(checkpoint.epochs, 2):
        checkpoint.on_epoch_begin(epoch)
        logs = {"loss": 1.0, "val_loss": 1.0, "val_accuracy": 0.1 * epoch}
        checkpoint.on_epoch_end(epoch, logs)


@pytest.fixture
def quick(monkeypatch, tmp_path):
    reviews = corpora.reviews(20, seed=1), corpora.reviews(6, seed=2)
    monkeypatch.setattr(train, "_fit", fake_fit)
    monkeypatch.setattr(corpora, "reviews", lambda size, seed: reviews[seed - 1])
    arguments = [
        "train",
        "--encoder",
        "none",
        "--pooling",
        "mean",
        "--embedding-dim",
        "2",
        "--hidden-units",
        "0",
    ]
    arguments += ["--no-report", "--no-baseline", "--out", str(tmp_path / "run")]
    return arguments


def sound(run, capsys):
    """What any command finds in the folder: nothing, an old or new run, or a clear message."""
    status = main(["predict", str(run), "good food"])
    out, err = capsys.readouterr()
    assert (status == 0 and out) or (status == 2 and err.count("\n") == 1), err
    return status


def check_every_stop(quick, tmp_path, monkeypatch, capsys, error, expected, old):
    """Stops at the first write, at the second ... until the run comes to its end."""
    run, backup = tmp_path / "run", tmp_path / "old"
    if old:
        assert main([*quick, "--seed", "1"]) == 0
        run.rename(backup)
    switch = Switch(monkeypatch, run)
    stops = 0
    for stop in range(1, 100):
        switch.set(None, None)
        shutil.rmtree(run, ignore_errors=True)
        if old:
            shutil.copytree(backup, run)
        capsys.readouterr()
        switch.set(stop, error)
        status = main([*quick, "--overwrite"] if old else quick)
        reached = switch.done >= stop
        switch.set(None, None)
        err = capsys.readouterr().err
        if not reached:
            assert status == 0
            break
        stops += 1
        assert status == expected or status == 0, (stop, status, err)
        assert "Traceback" not in err
        if run.exists():
            sound(run, capsys)
            # Either it goes on, or a new run can be put in its place, here or beside it.
            if main(["train", "--resume", "--out", str(run)]) != 0:
                message = capsys.readouterr().err
                assert message.count("\n") == 1, message
                if any(run.iterdir()):
                    assert main([*quick, "--overwrite"]) == 0, (stop, capsys.readouterr().err)
                else:
                    assert main(quick) == 0
            assert main(["predict", str(run), "good food"]) == 0
            assert json.loads((run / "metrics.json").read_text())["interrupted"] is False
            assert not (run / "resume").exists()
    assert stops > 8
    return stops


slow_new = pytest.param(False, marks=pytest.mark.slow, id="new")
slow_old = pytest.param(True, marks=pytest.mark.slow, id="replaced")


@pytest.mark.parametrize("old", [slow_new, slow_old])
def test_interrupted_at_every_write(quick, tmp_path, monkeypatch, capsys, old):
    check_every_stop(quick, tmp_path, monkeypatch, capsys, KeyboardInterrupt(), 130, old)


@pytest.mark.parametrize("old", [pytest.param(False, id="new"), slow_old])
def test_disk_full_at_every_write(quick, tmp_path, monkeypatch, capsys, old):
    full = OSError(errno.ENOSPC, "No space left on device")
    check_every_stop(quick, tmp_path, monkeypatch, capsys, full, 2, old)


def test_what_is_left_while_a_run_is_replaced_is_known_as_a_run(run, capsys, monkeypatch):
    """The configuration stays until the new one replaces it; what `--resume` reads goes at once."""
    monkeypatch.setattr(shutil, "rmtree", lambda *args, **kwargs: None)  # stopped in the middle
    runs.remove_run(run)
    assert (run / "config.json").is_file() and not (run / "resume").exists()
    assert "has no model.keras yet" in refused(capsys, "predict", run, "good food")
    assert "--overwrite" in refused(capsys, "train", "--out", run)
