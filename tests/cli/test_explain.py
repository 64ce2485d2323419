"""The command `explain`, and the reading of attention behind it."""

import io
import json
import re
import shutil

import numpy as np
import pytest

from keras_attnpool import models, text
from keras_attnpool.cli import explain, main, networks, runs
from keras_attnpool.cli.attention import (
    LAYERS,
    above_uniform,
    flat_remark,
    full_colour,
    read_attention,
)

pytestmark = pytest.mark.one_backend("test_smoke.py explains under every backend")

HOSTILE = [
    "<script>alert(1)</script> & 'quotes' \"double\"",
    "الغرفة نظيفة \u202egood\u202c 🎉👨‍👩‍👧",
    "",
    "\x1b[31m \u2028 \x00",
    "word " * 10_000,
]


def run_main(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def copied(trained, folder, **options):
    """A copy of the run in which some options are others."""
    run = folder / "run"
    shutil.copytree(trained, run)
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    config["options"] |= options
    (run / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return run


def cells(page):
    """`(number, word)` of each cell of a page's heat maps."""
    cell = re.compile(r'<i[^>]* title="([^"]*)">([^<]*)</i>')
    return [(float(number), word) for number, word in cell.findall(page)]


def test_prediction_and_words(trained, tmp_path, capsys):
    out_file = tmp_path / "page.html"
    content = "The room was good, qwertz."
    status, out, _ = run_main(capsys, "explain", trained, content, "--out", out_file)
    assert status == 0
    _, predicted, _ = run_main(capsys, "predict", trained, content)
    lines = out.splitlines()
    assert lines[0] == predicted.strip()
    found = [re.fullmatch(r"  (\d\.\d\d)  (.+)", line).groups() for line in lines[1:8]]
    words = ["the", "room", "was", "good", ",", "qwertz [UNK]", "."]
    assert sorted(word for _, word in found) == sorted(words)
    numbers = [float(number) for number, _ in found]
    assert numbers == sorted(numbers, reverse=True)
    # Relative to uniform: the mean is 1.
    assert np.mean(numbers) == pytest.approx(1, abs=0.01)
    assert lines[-1] == f"Heat maps: {out_file}"
    page = out_file.read_text(encoding="utf-8")
    # The mean of the heads, then each of the two.
    assert [word for _, word in cells(page)] == words * 3
    shown = {word: number for number, word in cells(page)[:7]}
    for number, word in found:
        assert shown[word] == pytest.approx(float(number) - 1, abs=0.006)
    assert "[UNK]: the model does not know this word" in page


def test_weights_are_those_of_the_layer(trained):
    config, tokenizer, model = runs.load(trained)
    ids = tokenizer.encode(["good food .", "the room was not good ."])
    attention = read_attention("lama-encoder", model, ids)
    assert attention.heads.shape == (2, 2, 6)
    np.testing.assert_allclose(attention.heads.sum(axis=2), 1, atol=1e-5)
    np.testing.assert_allclose(attention.weights, attention.heads.mean(axis=1), atol=1e-6)
    assert not attention.heads[0, :, 3:].any()
    np.testing.assert_allclose(attention.predictions, model.predict(ids, verbose=0), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("san", {"gru_units": 2}), ("transformer", {"feedforward_dim": 4, "max_length": 9})],
)
def test_attention_of_other_models(name, sizes):
    model = networks.MODELS[name](9, 3, embedding_dim=4, hidden_units=None, num_heads=2, **sizes)
    ids = np.array([[1, 2, 3, 0], [4, 5, 0, 0], [0, 0, 0, 0]], np.int32)
    attention = read_attention(name, model, ids)
    assert attention.heads.shape == (3, 2, 4)
    np.testing.assert_allclose(attention.weights.sum(axis=1), [1, 1, 0], atol=1e-5)
    assert not attention.weights[ids == 0].any()


def test_models_with_attention_are_listed():
    assert set(LAYERS) == set(networks.MODELS) - {"average", "bigru", "text-cnn"}


def test_scale():
    np.testing.assert_allclose(above_uniform(np.float32([0.5, 0.25, 0.25, 0])), [1, 0, 0, -1])
    # One word: the scale still has two sides.
    assert -1e-6 < above_uniform(np.float32([1])) < 0
    # Colours of weights that are all but uniform stay pale.
    assert full_colour(np.float32([0.01, -0.01])) == 0.25
    assert full_colour(np.float32([0.3]), np.float32([-2])) == 2


def test_flat_weights():
    """What lies within 50 % of uniform says nothing; longer texts and padding change nothing."""
    near, far = np.float32([0.3, 0.2, 0.25, 0.25]), np.float32([0.7, 0.1, 0.1, 0.1])
    assert flat_remark([near]).startswith(
        "The attention weights are within 21 % of uniform: do not"
    )
    assert "--method saliency" in flat_remark([near])
    assert flat_remark([far]) is None and flat_remark([far, far, near]) is None
    assert "of half of the texts are within 21 %" in flat_remark([near, far])
    # One word has all the weight whatever the model does, and no word none.
    assert flat_remark([]) is flat_remark([np.float32([1]), np.float32([])]) is None
    assert flat_remark([far, np.float32([1])]) is None


def test_flat_weights_are_told(trained, tmp_path, capsys, monkeypatch):
    """A new LAMA attends nearly as mean pooling does; what is sharp is not warned of."""
    content = "the room was superb , but the food was not good at all ."
    arguments = ["explain", trained, "--out", tmp_path / "page.html", content]
    assert "do not read them" in run_main(capsys, *arguments)[1]
    assert "do not read them" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "do not read them" not in run_main(capsys, *arguments, "--method", "saliency")[1]

    def sharp(name, model, ids):
        read = read_attention(name, model, ids)
        weights = np.zeros_like(read.weights)
        weights[:, 0] = 1
        return read._replace(weights=weights)

    monkeypatch.setattr(explain, "read_attention", sharp)
    assert "do not read them" not in run_main(capsys, *arguments)[1]
    assert "do not read them" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_saliency(trained, tmp_path, capsys):
    texts = ["The room was good.", "Bad room."]
    out_file = tmp_path / "page.html"
    arguments = ["explain", trained, "--method", "saliency", "--out", out_file, *texts]
    status, out, _ = run_main(capsys, *arguments)
    assert status == 0
    numbers = [float(line.split()[0]) for line in out.splitlines() if line.startswith("  ")]
    assert len(numbers) == 8 and np.mean(np.abs(numbers[:5])) == pytest.approx(1, abs=0.01)
    assert re.search(r"^  [+-]\d\.\d\d  room$", out, re.M)
    words = [word for _, word in cells(out_file.read_text(encoding="utf-8"))]
    assert words == ["the", "room", "was", "good", ".", "bad", "room", "."]


def test_model_without_attention(tmp_path, capsys):
    """It is told before anything is loaded, and gradients explain it."""
    run = tmp_path / "run"
    run.mkdir()
    options = {"model": "average", "max_length": 9}
    runs.write_json(
        run / "config.json",
        {"format": runs.FORMAT, "options": options, "label_names": ["no", "yes"]},
    )
    status, out, err = run_main(capsys, "explain", run, "a text")
    assert (status, out) == (2, "") and "average has no attention weights" in err
    assert "--method saliency" in err and len(err.splitlines()) == 1
    tokenizer = text.WordTokenizer.train(["a good text"])
    tokenizer.save(run / "vocabulary.json")
    models.AverageEmbedding(tokenizer.vocabulary_size, 2, embedding_dim=4).save(run / "model.keras")
    status, out, _ = run_main(capsys, "explain", run, "--method", "saliency", "a text")
    assert status == 0 and "  text\n" in out
    assert (run / "explained.html").is_file()


def test_lines(trained, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("Good food.\r\n\nBad food."))
    out_file = tmp_path / "page.html"
    status, out, _ = run_main(capsys, "explain", trained, "--out", out_file)
    assert status == 0
    assert [line.split("\t")[2] for line in out.splitlines() if "\t" in line] == [
        "Good food.",
        "",
        "Bad food.",
    ]
    page = out_file.read_text(encoding="utf-8")
    assert page.count("<figure") == 3 and "There is no word in this text." in page


def test_nothing_to_explain(trained, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    out_file = tmp_path / "page.html"
    assert run_main(capsys, "explain", trained, "--out", out_file)[:2] == (0, "")
    assert not out_file.exists()


def test_hostile_texts(trained, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(explain, "MOST_CELLS", 400)
    out_file = tmp_path / "page.html"
    status, out, _ = run_main(capsys, "explain", trained, "--out", out_file, *HOSTILE)
    assert status == 0
    # Nothing that would turn the line around or drive the terminal.
    assert not re.search("[\x00-\x08\x0b-\x1f\u2028\u202a-\u202e]", out)
    assert max(map(len, out.splitlines())) < 200
    page = out_file.read_text(encoding="utf-8")
    assert "<script" not in page and "</ [UNK]" not in page and "&lt;/ [UNK]" in page
    assert "\u202e" not in page and "U+202E" in page
    assert "The model reads the first 256 of 10000 words." in page
    assert "only the mean over the heads is shown" in page
    assert [word for _, word in cells(page)].count("word [UNK]") == 256


@pytest.mark.parametrize(
    ("name", "message"),
    [("page.txt", "an .html file"), ("no/page.html", "there is no folder"), ("d.html", "an .html")],
)
def test_out_is_checked(name, message, trained, tmp_path, capsys):
    (tmp_path / "d.html").mkdir()
    status, out, err = run_main(capsys, "explain", trained, "a", "--out", tmp_path / name)
    assert (status, out) == (2, "") and message in err
    assert [path.name for path in tmp_path.iterdir()] == ["d.html"]


def test_no_such_run(tmp_path, capsys):
    status, out, err = run_main(capsys, "explain", tmp_path / "run", "a text")
    assert (status, out) == (2, "") and "there is no such run folder" in err


def test_default_place_and_cut(trained, tmp_path, capsys):
    run = copied(trained, tmp_path, max_length=2)
    status, out, _ = run_main(capsys, "explain", run, "good room here")
    assert status == 0 and out.endswith(f"Heat maps: {run / 'explained.html'}\n")
    page = (run / "explained.html").read_text(encoding="utf-8")
    assert "The model reads the first 2 of 3 words." in page
    assert {word for _, word in cells(page)} == {"good", "room"}
    assert not list(run.glob(".*"))


def test_interrupt_leaves_the_old_page(trained, tmp_path, capsys, monkeypatch):
    page = tmp_path / "page.html"
    page.write_text("old")

    def heatmap_page(pieces, path, **kwargs):
        path.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(explain.analysis, "heatmap_page", heatmap_page)
    assert run_main(capsys, "explain", trained, "a", "--out", page)[0] == 130
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "old"
