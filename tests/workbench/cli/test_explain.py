"""The command `explain`, and the reading of attention behind it."""

import json
import re
import shutil

import numpy as np
import pytest
from command_line import refused, run_main

from keras_attnpool import analysis, models
from keras_attnpool.workbench import load_run, text
from keras_attnpool.workbench.cli import explanations, main, readers
from keras_attnpool.workbench.cli.explanations import Explainer, Numbered, flat_remark

pytestmark = pytest.mark.one_backend("test_smoke.py explains under every backend")

HOSTILE = [
    "<script>alert(1)</script> & 'quotes' \"double\"",
    "الغرفة نظيفة \u202egood\u202c 🎉👨‍👩‍👧",
    "",
    "\x1b[31m \u2028 \x00",
    "word " * 10_000,
]


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
    assert lines[0] == predicted.strip() and lines[1].split() == ["effect", "attention", "word"]
    found = [
        re.fullmatch(r" *([+-]\d\.\d{3}) +(\d\.\d\d)  (.+)", line).groups() for line in lines[2:9]
    ]
    words = ["the", "room", "was", "good", ",", "qwertz [UNK]", "."]
    assert sorted(word for *_, word in found) == sorted(words)
    effects = [abs(float(effect)) for effect, *_ in found]
    assert effects == sorted(effects, reverse=True)
    # Relative to uniform: the mean is 1.
    assert np.mean([float(weight) for _, weight, _ in found]) == pytest.approx(1, abs=0.01)
    assert lines[-1] == f"Heat maps: {out_file}"
    page = out_file.read_text(encoding="utf-8")
    # The effects, then attention: the mean of the heads, then each of the two.
    assert [word for _, word in cells(page)] == words * 4
    shown = {word: number for number, word in cells(page)[:7]}
    for effect, _, word in found:
        assert shown[word] == pytest.approx(float(effect), abs=0.001)
    # One meaning of 1, in the terminal and on the page.
    shown = {word: number for number, word in cells(page)[7:14]}
    for _, weight, word in found:
        assert shown[word] == pytest.approx(float(weight), abs=0.01)
    assert "[UNK]: the model does not know this word" in page


def test_a_word_that_stands_twice_and_words_that_are_left(trained, tmp_path, capsys):
    run = ["explain", trained, "good room good food", "--out", tmp_path / "page.html"]
    out = run_main(capsys, *run)[1]
    shown = [line.split(maxsplit=2)[2] for line in out.splitlines()[2:6]]
    assert sorted(shown) == ["food [UNK]", "good  (word 1)", "good  (word 3)", "room"]
    assert "more" not in out
    assert run_main(capsys, *run, "--words", 3)[1].splitlines()[5].split() == [
        "1",
        "more",
        "(--words)",
    ]


def test_effects_are_what_the_prediction_loses(trained):
    run = load_run(trained)
    (explained,) = run.explain(["the room was not good ."])
    words = ["the", "room", "was", "not", "good", "."]
    assert explained.words == words and not explained.by_gradient
    label = run.label_names.index(explained.label)
    for place, effect in enumerate(explained.effects):
        rest = " ".join(words[:place] + words[place + 1 :])
        lost = explained.probability - run.probabilities([rest])[0, label]
        assert effect == pytest.approx(lost, abs=1e-6)


def test_long_texts_are_explained_by_gradients(trained, monkeypatch):
    monkeypatch.setattr(explanations, "LONG", 3)
    run = load_run(trained)
    content = "the room was not good ."
    (explained,) = run.explain([content])
    assert explained.by_gradient and len(explained.effects) == 6
    ids = run.reader.encode([content])
    slopes = analysis.gradient_saliency(run.model, ids)[0, :6]
    np.testing.assert_allclose(explained.effects, slopes * explained.probability, rtol=1e-4)


def test_weights_are_those_of_the_layer(trained):
    run = load_run(trained)
    texts = ["good food .", "the room was not good ."]
    attention = run.explainer.attention(texts)
    assert [each.shape for each in attention] == [(2, 3), (2, 6)]
    for content, each in zip(texts, attention, strict=True):
        scores = analysis.attention_scores(run.model, run.reader.encode([content]), "pooling")
        number = each.shape[1]
        np.testing.assert_allclose(each, scores[0, :, :number] * number, atol=1e-4)


def explainer(pooling, **sizes):
    tokenizer = text.WordTokenizer(["[PAD]", "[UNK]", *"abcdef."])
    model = models.TextClassifier(9, 3, pooling=pooling, **{"embedding_dim": 4, **sizes})
    return Explainer(model, readers.Words(tokenizer, 9), ["x", "y", "z"])


QUERIES = {"class_name": "learned_query", "config": {"num_queries": 3, "num_heads": 2}}


@pytest.mark.parametrize(
    ("pooling", "heads"),
    [
        ("generalized", 5),
        ("generalized_scalar", 5),
        ("attention", 1),
        ("sequential", 1),
        ("learned_query", 1),
        (QUERIES, 6),
    ],
)
def test_attention_of_other_poolings(pooling, heads):
    texts = ["a b c", "d . e f . g", ""]
    first, second, none = explainer(pooling).attention(texts)
    assert first.shape == (heads, 3) and second.shape == (heads, 6) and none is None
    for each in (first, second):
        np.testing.assert_allclose(each.mean(axis=1), 1, atol=1e-4)


def test_words_are_no_features():
    """Weights of 9 words by 9 features: uniform ones sum to 1 over either axis."""
    made = explainer("multi_dim", embedding_dim=9)
    for variable in made._model.get_layer("pooling").weights:
        variable.assign(0.02 * np.random.default_rng(0).normal(size=variable.shape))
    content = "a b c d e f a b c"
    (found,) = made.attention([content])
    scores = analysis.attention_scores(made._model, made._reader.encode([content]), "pooling")
    np.testing.assert_allclose(found[0], 9 * scores[0].mean(axis=-1), atol=1e-5)


def test_words_by_numbers():
    """What `analysis` finds when it takes numbers out is what is found when words are."""
    made = explainer("attention", encoder="gru")
    ids = made._reader.encode(["a b. c"])[0]
    without = made._reader.without(["a b. c"] * 2, [[1], [0, 2]])
    np.testing.assert_array_equal(without[0, :4], [*ids[[0, 2, 3]], 0])
    np.testing.assert_array_equal(without[1, :4], [*ids[[1, 3]], 0, 0])
    texts = ["a b. c", "e", "d a . f"]
    numbered = Numbered(made._model, made._reader, texts)
    assert numbered.ids.tolist() == [[1, 2, 3, 4], [5, 0, 0, 0], [6, 7, 8, 9]]
    found = analysis.leave_one_out(numbered, numbered.ids, batch_size=2)
    for row, content in zip(found, texts, strict=True):
        effects, whole, _ = made.effects(content)
        np.testing.assert_allclose(row[: len(effects)], effects, atol=1e-5)
        assert not row[len(effects) :].any()
    # Without any word all texts are the empty one; of the others the words that are left stay.
    left = numbered.predict(np.array([[6, 0, 0], [0, 0, 0], [2, 3, 4]]))
    expected = [made.effects(each)[1] for each in ("d", "", "b. c")]
    np.testing.assert_allclose(left, expected, atol=1e-5)


def test_model_without_attention():
    (explained,) = explainer("mean").explain(["a b"])
    assert explained.attention is explained.heads is None and explained.effects.shape == (2,)


def test_flat_weights():
    """What lies within 50 % of uniform says nothing; longer texts and padding change nothing."""
    near, far = np.float32([1.2, 0.8, 1, 1]), np.float32([2.8, 0.4, 0.4, 0.4])
    assert flat_remark([near]).startswith(
        "The attention weights are within 21 % of uniform: do not"
    )
    assert flat_remark([far]) is None and flat_remark([far, far, near]) is None
    assert "of half of the texts are within 21 %" in flat_remark([near, far])
    # One word has all the weight whatever the model does, and no word none.
    assert flat_remark([]) is flat_remark([np.float32([1]), np.float32([])]) is None
    assert flat_remark([far, np.float32([1])]) is None


def test_hostile_texts(trained, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(explanations, "MOST_CELLS", 400)
    out_file = tmp_path / "page.html"
    status, out, _ = run_main(capsys, "explain", trained, "--out", out_file, *HOSTILE)
    assert status == 0
    # Nothing that would turn the line around or drive the terminal.
    assert not re.search("[\x00-\x08\x0b-\x1f\u2028\u202a-\u202e]", out)
    assert max(map(len, out.splitlines())) < 200
    page = out_file.read_text(encoding="utf-8")
    assert "<script" not in page and "</ [UNK]" not in page and "&lt;/ [UNK]" in page
    assert "\u202e" not in page and "U+202E" in page
    assert "The model reads 256 of 10000 words." in page
    # Of the heads of a long text only the mean is shown.
    assert [word for _, word in cells(page)].count("word [UNK]") == 2 * 256


@pytest.mark.parametrize(
    ("name", "message"),
    [("page.txt", "an .html file"), ("no/page.html", "there is no folder"), ("d.html", "an .html")],
)
def test_out_is_checked(name, message, trained, tmp_path, capsys):
    (tmp_path / "d.html").mkdir()
    assert message in refused(capsys, "explain", trained, "a", "--out", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["d.html"]


def test_default_place_and_cut(trained, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    config["reader"]["max_length"] = 2
    (run / "config.json").write_text(json.dumps(config), encoding="utf-8")
    status, out, _ = run_main(capsys, "explain", run, "good room here")
    assert status == 0 and out.endswith(f"Heat maps: {run / 'explained.html'}\n")
    page = (run / "explained.html").read_text(encoding="utf-8")
    assert "The model reads 2 of 3 words." in page
    assert {word for _, word in cells(page)} == {"good", "room"}
    assert not list(run.glob(".*"))


def test_no_single_word_decides(trained, tmp_path, capsys, monkeypatch):
    for effects, is_said in (([0.004, -0.009], True), ([0.004, 0.02], False)):
        values = np.float32(effects), np.float32([0.1, 0.6, 0.1, 0.1, 0.1]), False
        monkeypatch.setattr(explanations.Explainer, "effects", lambda *_, found=values: found)
        assert main(["explain", str(trained), "good food", "--out", str(tmp_path / "x.html")]) == 0
        assert (explanations.UNMOVED in capsys.readouterr().out) == is_said
