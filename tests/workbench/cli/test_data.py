"""What is told of the data before training: pure functions, and the lines that `train` prints."""

import numpy as np
import pytest
from command_line import refused

from keras_attnpool.workbench import corpora
from keras_attnpool.workbench.cli import data, main, networks, options, readers, train
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.datasets import LabeledTexts

pytestmark = pytest.mark.one_backend("looks at labels and texts")


def labelled(rows):
    names = sorted({label for label, _ in rows})
    labels = [names.index(label) for label, _ in rows]
    return LabeledTexts(tuple(text for _, text in rows), np.array(labels), tuple(names))


ROWS = [("spam" if i % 4 else "ham", f"word{i} and word{i % 3}") for i in range(40)]


@pytest.mark.parametrize("header", [("label", "whatever"), ("Rating", "Text"), ("a", "sentence")])
def test_header(header):
    (remark,) = data.header_remark(labelled([header, *ROWS]))
    assert repr(header[0]) in remark and "--header" in remark


@pytest.mark.parametrize(
    "rows", [ROWS, [("y", "no header"), *[("y", "a b"), ("n", "c d")] * 9], [("odd", "x y"), *ROWS]]
)
def test_no_header(rows):
    assert data.header_remark(labelled(rows)) == []


def test_swapped():
    long = [("a label of many words", "yes"), ("another such label", "no")] * 9
    assert "longer" in data.swap_remark(labelled(long))[0]
    assert data.swap_remark(labelled(ROWS)) == []


def parts(train, validation, test, names=("a", "b", "c")):
    made = [
        LabeledTexts(tuple(text for _, text in rows), [names.index(n) for n, _ in rows], names)
        for rows in (train, validation, test)
    ]
    return data.Data(*made)


def test_classes():
    full = [(name, f"{name} {i}") for name in "abc" for i in range(3)]
    assert data.class_remarks(parts(full, full[:3], full)) == []
    (single,) = data.class_remarks(parts([*full[:6], ("c", "once")], full[:2], full[:6]))
    assert "1 class with a single text" in single and "'c'" in single
    (untested,) = data.class_remarks(parts(full, full[:2], full[:6]))
    assert "without a test text" in untested and "'c'" in untested
    (unlearned,) = data.class_remarks(parts(full[:6], full[:2], full))
    assert "without a training text" in unlearned and "'c'" in unlearned


def test_overlap():
    rows = [("a", f"text {i}") for i in range(5)]
    others = [("b", f"other {i}") for i in range(5)]
    assert data.overlap_remarks(parts(rows, others[:2], others[2:])) == []
    some = data.overlap_remarks(parts(rows, others, [("a", " TEXT  1"), *others[:3]]))
    assert len(some) == 1 and some[0].startswith("1 of 4 test texts are training texts")
    both = data.overlap_remarks(parts(rows, rows[:2], rows))
    assert both[0].startswith("all 2 validation texts") and both[1].startswith("all 5 test texts")


def test_no_remark_on_generated_reviews():
    loaded, remarks = data.load(options.Options())
    assert remarks == [] and loaded.sizes["train"] == 7200
    # Nor would there be one if they came from a file.
    whole = corpora.reviews(8000, seed=1)
    assert data.header_remark(whole) == data.swap_remark(whole) == []
    assert data.class_remarks(loaded) == data.overlap_remarks(loaded) == []


@pytest.fixture
def told(tmp_path, capsys, monkeypatch):
    """What `train` writes on standard error before it trains."""

    def fit(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "_fit", fit)

    def told(*arguments):
        run = str(tmp_path / "run")
        main(["train", *map(str, arguments), "--model", "average", "--out", run])
        return capsys.readouterr().err

    return told


def write(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_lines_before_training(told, tmp_path):
    mine = write(tmp_path / "mine.tsv", ROWS)
    assert "warning" not in told(mine)
    titled = write(tmp_path / "titled.tsv", [("label", "text"), *ROWS])
    assert told(titled).count("warning: the first line of FILE") == 1
    swapped = told(mine, "--text-column", "0", "--label-column", "1")
    assert swapped.count("warning:") == 1 and "40 labels are 40 classes" in swapped
    assert "warning: --test is FILE itself" in told(mine, "--test", mine)
    copy = write(tmp_path / "copy.tsv", ROWS)
    assert "warning: 36 of 40 test texts are training texts" in told(mine, "--test", copy)
    ham = write(tmp_path / "ham.tsv", [("ham", "a new text")])
    assert "warning: 1 class without a test text" in told(mine, "--test", ham)


def test_a_file_of_another_delimiter(told, tmp_path):
    path = tmp_path / "x.csv"
    for typed, character in ((";", ";"), ("tab", "\t")):
        rows = [("label", "text"), *[("yes", '"a; b"'), ("no", "c")] * 10]
        path.write_text("".join(f"{character.join(row)}\n" for row in rows), encoding="utf-8")
        assert f"which looks like {character!r}" in told(path)
        assert "error" not in told(path, "--delimiter", typed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--encoder", "+gru"], "--encoder must be one of none, gru"),
        (["--encoder", ""], "--encoder must be one of none, gru"),
        (["--encoder", "gru+"], "--encoder must be one of none, gru"),
        (["--pooling", ""], "--pooling must be one of mean, max"),
        (
            ["--encoder", "conv_attention", "--heads", "7", "--units", "5"],
            "`--units` of ConvMultiHeadAttention must be a multiple of the heads. "
            "Received: --units=5, --heads=7",
        ),
        (["--pooling", "Dense"], "`--units` of Dense must be given"),
        (
            ["--model", "hcan", "--heads", "3", "--units", "10"],
            "`--units` of HCAN must be a multiple of the heads. Received: --units=10, --heads=3",
        ),
        (["--no-header", "--text-column", "x"], "--no-header must have columns by their positions"),
        (
            ["--encoder", "GRU", "--units", "3"],
            "`--encoder` of TextClassifier must return sequences",
        ),
        (["--encoder", "GRU"], "`--units` of GRU must be given"),
        (["--model", "han", "--encoder", "minilm"], "--model han does not take --encoder: it has"),
        (["--test", "none.tsv"], "--test none.tsv: No such file"),
        (["--test", "{mine}/x.tsv"], "--test {mine}/x.tsv: Not a directory"),
        (["--embeddings", "none.txt"], "--embeddings none.txt: No such file"),
        (["--epochs", "0"], "argument --epochs: must be an integer >= 1 and below 2**31. Received"),
    ],
)
def test_errors_name_what_was_typed(tmp_path, capsys, arguments, message):
    mine = write(tmp_path / "mine.tsv", ROWS)
    arguments = [each.replace("{mine}", str(mine)) for each in arguments]
    assert main(["train", str(mine), *arguments, "--out", str(tmp_path / "run")]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    told = told.removeprefix("python -m keras_attnpool train: ")
    assert told.startswith(f"error: {message}".replace("{mine}", str(mine)))


def test_an_unknown_encoder_comes_without_advice_in_python(tmp_path, capsys):
    mine = write(tmp_path / "mine.tsv", ROWS)
    assert main(["train", str(mine), "--encoder", "grue", "--out", str(tmp_path / "run")]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.endswith("its name, hf://user/model or a folder. Received: 'grue'")


def test_a_test_file_of_other_classes(tmp_path, capsys):
    mine, other = write(tmp_path / "mine.tsv", ROWS), write(tmp_path / "x.tsv", [("eggs", "a")])
    told = refused(capsys, "train", mine, "--test", other, "--out", tmp_path / "run")
    assert told.startswith(f"error: --test {other}, line 1: ") and "('ham', 'spam')" in told


@pytest.mark.parametrize("count", [2, 6])
def test_a_handful_of_texts(tmp_path, capsys, count):
    mine = write(tmp_path / "mine.tsv", ROWS[:count])
    told = refused(capsys, "train", mine, "--out", tmp_path / "run")
    assert told.startswith(f"error: {mine}: each class must have some dozens of texts")
    assert f"Received: {count} texts" in told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_length": 3}, "Words: 6 (50% of the texts are cut: --max-length)"),
        ({"max_length": 4}, "Words: 6 (25% of the texts are cut: --max-length)"),
        ({"max_length": 5}, "Words: 6"),
        (
            {"encoder": "hierarchical", "max_words": 3},
            "Words: 6 (25% of the texts are cut: --max-sentences, --max-words)",
        ),
        (
            {"encoder": "hierarchical", "max_sentences": 1},
            "Words: 6 (25% of the texts are cut: --max-sentences, --max-words)",
        ),
        ({"encoder": "hierarchical"}, "Words: 6"),
    ],
)
def test_texts_that_are_cut(given, told):
    texts = ["A a b .", "A . B c .", "a", "a b"] * 2
    assert str(readers.learn(texts, options.Options(min_frequency=1, **given))) == told


BAD = {"heads": -1, "rank": -1, "units": -1, "embedding_dim": -1, "hidden_units": -1}
BAD |= {"dropout": 2.0, "context": "none", "learn_scale": "no"}
NETWORKS = [{"model": name} for name in options.MODELS]
NETWORKS += [{"encoder": name, "pooling": "mean"} for name in networks.ENCODERS]
NETWORKS += [{"encoder": "none", "pooling": name} for name in networks.POOLINGS]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda given: "-".join(given.values()))
def test_what_a_builder_refuses_is_told_as_the_option(network):
    """Whatever the builder, or the layer inside, calls it."""
    inputs = {"vocabulary_size": 9}
    if network.get("model") == "sam":
        inputs = {"vocabulary_size": None, "backbone": 6, "sequence_length": 5}
    taken = [
        option
        for option in BAD
        if networks._takes(options.Options(**network), *networks.ARGUMENTS[option])
    ]
    for option in taken:
        given = options.Options(**network, **{option: BAD[option]})
        with pytest.raises(CommandError, match=f"^`{options.flag(option)}` of .* must .*Received"):
            networks.build(given, inputs, 2, None)
    assert {"hidden_units", "dropout"} & set(taken)
