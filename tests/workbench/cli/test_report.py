"""The report of a run: what is in it, what cannot get into it, when there is none."""

import base64
import json
import re
import sys

import numpy as np
import pytest

from keras_attnpool import analysis, models
from keras_attnpool.workbench import corpora, datasets, load_run, text
from keras_attnpool.workbench.cli import data, readers, report, train
from keras_attnpool.workbench.cli.options import Options
from keras_attnpool.workbench.cli.trained import Run

pytestmark = pytest.mark.one_backend("test_smoke.py writes a report under every backend")

AVERAGE = [
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
AVERAGE += ["--train-size", "40", "--test-size", "10"]


def page_of(run):
    return (run / "report.html").read_text(encoding="utf-8")


def table_rows(page):
    """The cells of each table row of a page."""
    rows = re.findall("<tr>(.*?)</tr>", page, re.S)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


@pytest.fixture(scope="module")
def page(trained):
    return page_of(trained)


@pytest.fixture(scope="module")
def read(trained):
    """The test texts, the model's probabilities, and the attention of its heads on them."""
    run = load_run(trained)
    test = corpora.reviews(10, seed=data.REVIEW_SEEDS["test"])
    return test, run.probabilities(test.texts), run.explainer.attention(test.texts)


def test_results(trained, page):
    metrics = json.loads((trained / "metrics.json").read_text(encoding="utf-8"))
    rows = {row[0]: row[1:] for row in table_rows(page)}
    for name, result in metrics["results"].items():
        assert rows[name][:2] == [f"{result['accuracy']:.3f}", f"{result['macro_f1']:.3f}"]
    assert rows["none + lama"][3] == f"{metrics['results']['none + lama']['parameters']:,}"
    assert rows["train texts"] == ["36"] and rows["seed"] == ["3"]
    assert train.NOT_REFITTED in metrics["comparison"]
    for line in metrics["comparison"].splitlines():
        assert line in page


def test_options_without_effect_are_not_listed(tmp_path):
    """On one's own file nothing is drawn, and words are read."""
    page = written(tmp_path, "none + mean")
    listed = {row[0]: row[1] for row in table_rows(page) if len(row) == 2}
    assert listed["max length"] == "256" and listed["min frequency"] == "2"
    assert listed["what is read"] == "Words: 5"
    assert not set(listed) & {"train size", "test size", "max tokens", "fine tune"}


def test_confusion_matrix(page, read):
    test, probabilities, _ = read
    predicted = probabilities.argmax(axis=1)
    rows = {row[0]: row[1:] for row in table_rows(page)}
    for label, name in enumerate(test.label_names):
        expected = np.bincount(predicted[test.labels == label], minlength=5)
        assert [int(cell) for cell in rows[name][:5]] == expected.tolist()
        assert int(rows[name][-1]) == expected.sum()


def test_heatmaps(page, read, trained):
    test, probabilities, attention = read
    pieces = re.findall("<figure.*?</figure>", page, re.S)
    right = probabilities.argmax(axis=1) == test.labels
    assert len(pieces) == 2 * (min(5, right.sum()) + min(5, (~right).sum()))
    cell = re.compile(r'<i( data-gold)?[^>]*title="([^"]*)">([^<]*)</i>')
    run = load_run(trained)
    for effects, weights in zip(pieces[::2], pieces[1::2], strict=True):
        cells = cell.findall(effects)
        words = [word.removesuffix(" [UNK]") for _, _, word in cells]
        row = [content.lower() for content in test.texts].index(" ".join(words))
        gold = [bool(flag) for flag, _, _ in cells]
        assert gold == test.rationales[row].tolist() and any(gold)
        assert f"true: {test.label_names[test.labels[row]]} ·" in effects
        (explained,) = run.explain([test.texts[row]])
        shown = [float(number) for _, number, _ in cells]
        np.testing.assert_allclose(shown, explained.effects, atol=0.001)
        # Mean of the heads, 1 = uniform; then each head, all of them underlined alike.
        cells = cell.findall(weights)
        shown = [float(number) for _, number, _ in cells[: len(words)]]
        np.testing.assert_allclose(shown, attention[row].mean(axis=0), atol=0.01)
        assert [bool(flag) for flag, _, _ in cells] == gold * 3


def test_deletion(page, read, trained):
    test, _, attention = read
    run = load_run(trained)
    ids = run.reader.encode(test.texts)
    placed = np.zeros(ids.shape)
    placed[ids != 0] = np.concatenate([each.mean(axis=0) for each in attention])
    curve = analysis.deletion_curve(run.model, ids, placed)
    rows = [row for row in table_rows(page) if row[0] == "attention"]
    assert [f"{curve.attended_area:.3f}", f"{curve.random_area:.3f}"] in [row[1:] for row in rows]


def test_attention_is_tested(page, read, trained):
    """The tests are those of `analysis.attention_report`; it grades the attention alike."""
    run = load_run(trained)
    tested = analysis.attention_report(
        run.model, run.reader.encode(read[0].texts), layer="pooling", beam_size=0, verbose=0
    )
    rows = [row for row in table_rows(page) if len(row) > 3]
    for table, names in ((tested.grades, ["attention"]), (tested.tests, tested.tests)):
        for name in names:
            numbers = [table[name].get(column, np.nan) for column in table.columns]
            assert [name, *("-" if np.isnan(each) else f"{each:.3f}" for each in numbers)] in rows
    assert "Can this attention be believed?" in page and "Tests of the literature on 10" in page


def test_rationale_scores(page, read):
    test, _, attention = read
    weights = [each.mean(axis=0) / each.shape[1] for each in attention]
    mass = analysis.rationale_mass(weights, test.rationales)
    auc = analysis.rationale_auc(weights, test.rationales)
    rows = [row[1:] for row in table_rows(page) if row[0] in ("attention", "uniform weights")]
    assert [f"{mass.mean:.3f}", f"{auc.mean:.3f}"] in rows
    share = np.mean([gold.mean() for gold in test.rationales])
    assert [f"{share:.3f}", "0.500"] in rows


def test_reviews_are_their_tokens():
    """What the underlining of deciding words stands on."""
    data = corpora.reviews(300, seed=7)
    tokenizer = text.WordTokenizer.train([])
    for content in data.texts:
        assert tokenizer.tokenize(content) == content.lower().split(" ")


def test_page_loads_nothing(trained, page):
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|<script|<link|@import|url\(", page)
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    embedded = [
        base64.b64decode(source.removeprefix("data:image/png;base64,")) for source in sources
    ]
    assert len(embedded) == 2 and all(content.startswith(b"\x89PNG") for content in embedded)
    assert not list(trained.glob(".*"))
    # Every element that is opened is closed.
    for name in ("table", "div", "section", "ol", "figure", "p", "h2", "h3", "bdi", "details"):
        assert len(re.findall(f"<{name}[ >]", page)) == page.count(f"</{name}>")


HOSTILE_NAMES = ("<b>no</b>", 'نعم"', "\u202e$x$", "🎉" * 300)
HOSTILE_TEXTS = (
    "<img src=x onerror=alert(1)> & $x_1$",
    "الغرفة \u202egood\u202c 👨‍👩‍👧",
    "",
    "word " * 10_000,
    "\x00 \x1b[31m",
    "a b",
)
HISTORY = {"loss": [1.0], "val_loss": [1.0], "accuracy": [0.5], "val_accuracy": [0.5]}
RESULT = {"accuracy": 0.5, "macro_f1": 0.5, "f1": {}, "parameters": 9, "seconds": 1.0}
RESULT |= {"parameters_without_embeddings": 1, "best_epoch": 1, "epochs": 1, "history": HISTORY}


def written(run, name, texts=HOSTILE_TEXTS, names=HOSTILE_NAMES, **options):
    """A report of a model that has learned nothing."""
    test = datasets.LabeledTexts(texts, np.arange(len(texts)) % len(names), names)
    tokenizer = text.WordTokenizer.train(["a b c"])
    encoder, _, pooling = name.split()
    part = {"class_name": "lama", "config": {"num_heads": 1}} if pooling == "lama" else pooling
    model = models.TextClassifier(5, len(names), embedding_dim=2, pooling=part)
    metrics = {"results": {name: RESULT}, "sizes": {"test": len(texts)}}
    options = Options(encoder=encoder, pooling=pooling, file="<i>.tsv", **options)
    predicted = np.zeros(len(texts), np.int64)
    reader = readers.Words(tokenizer, 20_000)
    trained = Run(run, {"label_names": list(names)}, reader, model)
    report.write(trained, options, name, metrics, test, predicted)
    return page_of(run)


def test_hostile_texts(tmp_path):
    page = written(tmp_path, "none + lama")
    assert "<img src=x" not in page and "&lt;" in page and "<b>no" not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", page)
    assert "&lt;i&gt;.tsv" in page and "U+202E" in page
    assert "the first 300 of 10000 words" in page
    assert "🎉" * 40 + " ..." in page and "🎉" * 41 not in page
    assert len(page) < 500_000
    # No rationales are known of one's own texts.
    told = re.sub('base64,[^"]*', "", page)  # where any three letters may stand
    assert "data-gold" not in told.split("</style>")[-1] and "AUC" not in told


def test_texts_without_words(tmp_path):
    page = written(tmp_path, "none + lama", texts=("", " "), names=("a", "b"))
    assert "No test text has a word." in page and "<figure" not in page


def test_model_without_attention(tmp_path):
    page = written(tmp_path, "none + mean")
    assert "What each word does" in page
    assert "Where attention looks" not in page
    assert "Class by class" in page and "Learning curves" in page


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = written(tmp_path, "none + mean")
    assert "pip install keras_attnpool[plots]" in page
    assert "<img" not in page
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
