"""What `predict` reads and prints: one line a text, as the texts come, and nothing that acts."""

import gzip
import io
import json
import os
import shutil
import subprocess
import sys

import keras
import pytest
from command_line import refused, run_main, texts_of

from keras_attnpool.workbench.cli import explanations, main, predict, readers

pytestmark = pytest.mark.one_backend("what is printed of given probabilities")

EVIL = ["=cmd()", "a\tb\nc", "\x1b[2Jgone", "@sum", "plain"]


@pytest.fixture
def evil(trained, tmp_path):
    """The trained run with labels that a terminal or a spreadsheet would obey."""
    run = tmp_path / "evil"
    shutil.copytree(trained, run)
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    config["label_names"] = EVIL
    (run / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return run


@pytest.mark.parametrize("command", ["predict", "explain"])
@pytest.mark.parametrize("winner", range(5))
def test_labels_that_act(evil, capsys, monkeypatch, command, winner):
    def probabilities(self, ids, **kwargs):
        return keras.utils.to_categorical([winner] * len(ids), 5).astype("float32")

    for name in ("predict", "predict_on_batch"):
        monkeypatch.setattr(keras.Model, name, probabilities)
    monkeypatch.setattr(explanations.Explainer, "attention", lambda self, texts: [None])
    status, out, _ = run_main(capsys, command, evil, "good food")
    assert status == 0
    expected = ["'=cmd()", "aU+0009bU+000Ac", "U+001B[2Jgone", "'@sum", "plain"][winner]
    assert out.split("\n")[0] == f"{expected}\t1.0000\tgood food"


def test_texts_that_act(trained, capsys):
    texts = ["=1+1", "+ more", "- less", "@you", "-1.5", "a\tb\r\nc", "\x1b[31mred\x07", "\u202ex"]
    status, out, _ = run_main(capsys, "predict", trained, "--", *texts)
    assert status == 0 and out.count("\n") == len(texts)
    assert texts_of(out) == [
        "'=1+1",
        "'+ more",
        "'- less",
        "'@you",
        "-1.5",
        "a b c",
        "U+001B[31mredU+0007",
        "U+202Ex",
    ]
    # As they are, and still one line each.
    _, out, _ = run_main(capsys, "predict", trained, "--json", "--", *texts)
    assert [json.loads(line)["text"] for line in out.splitlines()] == texts
    assert out.isascii() and "\x1b" not in out


def test_answers_come_as_lines_do(trained, capsys, monkeypatch):
    """Each batch is answered before the next one is read."""
    monkeypatch.setattr(predict, "BATCH", 2)
    answered = []

    def slow():
        for index in range(5):
            answered.append(capsys.readouterr().out.count("\n"))
            yield f"text {index}\n"

    class Stream(io.StringIO):
        def __iter__(self):
            return slow()

    monkeypatch.setattr("sys.stdin", Stream())
    assert main(["predict", str(trained)]) == 0
    assert answered == [0, 0, 2, 0, 2]
    assert capsys.readouterr().out.count("\n") == 1


def test_batches_and_padding_change_nothing(trained, capsys, monkeypatch):
    texts = ["good food", "bad " * 40, "", "the room was not good at all"]
    _, together, _ = run_main(capsys, "predict", trained, *texts)
    monkeypatch.setattr(predict, "BATCH", 1)
    monkeypatch.setattr(readers, "WORD_STEP", 7)
    _, alone, _ = run_main(capsys, "predict", trained, *texts)
    assert alone == together


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_file_is_no_text(trained, tmp_path, capsys, command):
    run = shutil.copytree(trained, tmp_path / "run")  # `explain` leaves a page there
    path = tmp_path / "mails.txt"
    path.write_text("good food\nbad food\n", encoding="utf-8")
    assert f"--file {path}" in refused(capsys, command, run, "a text", path)
    table = tmp_path / "mails.csv.gz"
    table.write_bytes(b"")
    assert f"--input {table} reads a column" in run_main(capsys, command, run, table)[2]
    status, out, _ = run_main(capsys, command, run, "--file", path)
    assert status == 0
    lines = texts_of(out)
    assert lines == ["good food", "bad food"]
    err = refused(capsys, command, run, "a text", "-f", path)
    assert "TEXT, --file and --input exclude each other" in err


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_of_a_file_of_texts(trained, tmp_path, capsys, encoding):
    (tmp_path / "texts.txt").write_text("good café\nbad\n", encoding=encoding)
    status, out, _ = run_main(capsys, "predict", trained, "-f", tmp_path / "texts.txt")
    assert status == 0
    assert texts_of(out) == ["good café", "bad"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_once(trained, tmp_path, capsys):
    """As in `--file <(command)`."""
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", f"printf 'good\\nbad\\n' > '{tmp_path / 'pipe'}'"]):
        status, out, _ = run_main(capsys, "predict", trained, "--file", tmp_path / "pipe")
    assert status == 0
    assert texts_of(out) == ["good", "bad"]


def test_files_that_are_no_texts(trained, tmp_path, capsys):
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    (tmp_path / "table.csv").write_text("label,text\n")
    (tmp_path / "texts.txt.gz").write_bytes(gzip.compress(b"good\n"))
    for name, message in [
        ("latin.txt", "'cp1252', which reads 'café'"),
        ("table.csv", "--input with --text-column reads a column"),
        ("texts.txt.gz", "texts, one per line"),
        ("none.txt", "none.txt: No such file"),
        (".", "Is a directory"),
    ]:
        err = refused(capsys, "predict", trained, "--file", tmp_path / name)
        assert message in err
        assert err.startswith("error: --file ") or name == "latin.txt"


def test_a_dash_is_standard_input(trained, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("good food\n"))
    status, out, _ = run_main(capsys, "predict", trained, "--file", "-")
    assert status == 0 and out.endswith("\tgood food\n")


def test_help_does_not_wait_for_keras():
    """`--help`, and what argparse refuses, import neither Keras nor NumPy."""
    code = "import runpy, sys\n"
    code += "sys.argv, sys.orig_argv = ['-m', *sys.argv[1:]], ['python', '-m', 'keras_attnpool']\n"
    code += "try:\n    runpy.run_module('keras_attnpool', run_name='__main__')\n"
    code += "except SystemExit as stop:\n    status = stop.code\n"
    code += "print(status, *sorted({'keras', 'numpy'} & set(sys.modules)))"
    for arguments, expected in [
        (["--help"], "0"),
        (["train", "--help"], "0"),
        (["train", "--no-such-option"], "2"),
    ]:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True
        )
        assert done.stdout.splitlines()[-1] == expected, (arguments, done.stderr)


def test_the_process_loads_a_model(trained):
    """The package is not imported whole by `-m`; what a model is made of is known all the same."""
    done = subprocess.run(
        [sys.executable, "-m", "keras_attnpool", "predict", str(trained), "good food"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stdout.endswith("\tgood food\n"), done.stderr
