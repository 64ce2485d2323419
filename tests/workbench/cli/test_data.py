"""What is told of the data before training: pure functions, and the lines that `train` prints."""

import numpy as np
import pytest

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


def test_texts_that_are_not_english(tmp_path):
    english = ["Where is the capital of France?", "Who wrote it, and with which pen?"]
    others = [
        "Wie heißt die Hauptstadt von Frankreich?",
        "法国的首都是哪里？",
        "Где столица Франции?",
    ]
    for texts, told in ((english, 0), (others, 1)):
        file = tmp_path / "mine.tsv"
        rows = [
            f"{label}\t{text} {label}{i}\n" for label in "ab" for text in texts for i in range(20)
        ]
        file.write_text("".join(rows), encoding="utf-8")
        for encoder, remarks in (("minilm", told), ("minilm+gru", told), ("gru", 0)):
            _, found = data.load(options.Options(file=str(file), encoder=encoder))
            assert ["--encoder gru" in each for each in found] == [True] * remarks


def test_no_remark_on_generated_reviews():
    loaded, remarks = data.load(options.Options())
    assert remarks == [] and loaded.sizes["train"] == 7200
    # Nor would there be one if they came from a file.
    whole = corpora.reviews(8000, seed=1)
    assert data.header_remark(whole) == data.swap_remark(whole) == []
    assert data.class_remarks(loaded) == data.overlap_remarks(loaded) == []
    assert data.language_remark(whole) == []


@pytest.fixture
def told(tmp_path, capsys, monkeypatch):
    """What `train` writes on standard error before it trains."""

    def fit(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "_fit", fit)

    def told(*arguments):
        run = str(tmp_path / "run")
        main(
            ["train", *map(str, arguments), "--encoder", "none", "--pooling", "mean", "--out", run]
        )
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
        # On the generated reviews, or without any data.
        ("--encoder none --pooling mean --units 3", "none + mean does not take --units"),
        ("--pooling mean --heads 3", "gru + mean does not take --heads"),
        ("--encoder cnn --max-tokens 9", "--max-tokens: it reads words, not tokens"),
        ("--fine-tune", "does not take --fine-tune: it reads words"),
        ("--encoder minilm --max-length 9", "--max-length: it reads tokens"),
        ("--encoder minilm --embeddings word2vec", "--embeddings: it reads tokens, not words"),
        ("--no-tfidf", "does not take --no-tfidf: only behind a frozen language model"),
        ("--encoder gru+gruu", "Received: 'gruu' in 'gru+gruu'"),
        ("--pooling maximum", "--pooling must be one of mean, max, "),
        ("--compare --pooling max", "it stands beside neither"),
        ("--compare --no-baseline", "it stands beside neither"),
        ("--encoder gru+minilm", "first of several joined by +"),
        ("--heads 0", "must be an integer >= 1 and below 2**31. Received: '0'"),
        ("--seed 4294967296", "below 2**31. Received: '4294967296'"),
        ("--dropout 1", "must be a number in [0, 1). Received: '1'"),
        ("--learning-rate fast", "must be a number above 0. Received: 'fast'"),
        ("--test x.tsv", "--test needs a FILE"),
        ("--dataset r9", "one of ('r8',"),
        ("--train-size 3", "--train-size: each class must have some dozens of texts"),
        ("x.tsv --dataset r8", "exclude each other"),
        ("x.tsv --train-size 9", "for the generated reviews only"),
        ("no_such.tsv", "no_such.tsv"),
        ("mail.pdf", "mail.pdf: the name must end in one of .tsv"),
        ("--embeddings no_such.txt --embedding-dim 3", "decided by the file"),
        ("--resume", "there is no such run folder"),
        ("--resume --overwrite", "not allowed with argument"),
        # On a file of one's own.
        ("mine.tsv --encoder +gru", "--encoder must be one of none, gru"),
        ("mine.tsv --encoder=", "--encoder must be one of none, gru"),
        ("mine.tsv --encoder gru+", "--encoder must be one of none, gru"),
        ("mine.tsv --pooling=", "--pooling must be one of mean, max"),
        (
            "mine.tsv --encoder conv_attention --heads 7 --units 5",
            "`--units` of ConvMultiHeadAttention must be a multiple of the heads. "
            "Received: --units=5, --heads=7",
        ),
        ("mine.tsv --pooling Dense", "`--units` of Dense must be given"),
        (
            "mine.tsv --no-header --text-column x",
            "--no-header must have columns by their positions",
        ),
        ("mine.tsv --encoder GRU --units 3", "`--encoder` of TextClassifier must return sequences"),
        ("mine.tsv --encoder GRU", "`--units` of GRU must be given"),
        ("mine.tsv --test none.tsv", "--test none.tsv: No such file"),
        ("mine.tsv --test mine.tsv/x.tsv", "--test mine.tsv/x.tsv: Not a directory"),
        ("mine.tsv --embeddings none.txt", "--embeddings none.txt: No such file"),
        ("mine.tsv --encoder grue", "its name, hf://user/model or a folder. Received: 'grue'\n"),
        ("mine.tsv --test eggs.tsv", "error: --test eggs.tsv, line 1: the label must be one of "),
        ("few.tsv", "error: few.tsv: each class must have some dozens of texts, which are split"),
        ("few.tsv", "Received: 6 texts"),
        ("one.tsv", "one.tsv must hold at least two classes"),
    ],
)
def test_errors_name_what_was_typed(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in (("mine", ROWS), ("few", ROWS[:6]), ("eggs", [("eggs", "a")])):
        write(tmp_path / f"{name}.tsv", rows)
    write(tmp_path / "one.tsv", [("a", "text"), ("a", "other")])
    assert main(["train", *arguments.split(), "--out", "run"]) == 2
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1
    assert told.count("error: ") == 1 and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_length": 3}, "Words: 6 (50% of the texts are cut: --max-length)"),
        ({"max_length": 4}, "Words: 6 (25% of the texts are cut: --max-length)"),
        ({"max_length": 5}, "Words: 6"),
    ],
)
def test_texts_that_are_cut(given, told):
    texts = ["A a b .", "A . B c .", "a", "a b"] * 2
    chosen = options.Options(min_frequency=1, **given)
    assert str(readers.learn(texts, chosen, networks.encoder(chosen))) == told


BAD = {"heads": -1, "units": -1, "embedding_dim": -1, "hidden_units": -1, "dropout": 2.0}
NETWORKS = [{"encoder": name, "pooling": "mean"} for name in networks.ENCODERS]
NETWORKS += [{"encoder": "none", "pooling": name} for name in networks.POOLINGS]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda given: "-".join(given.values()))
def test_what_a_builder_refuses_is_told_as_the_option(network):
    """Whatever the builder, or the layer inside, calls it."""
    for option, value in BAD.items():
        given = options.Options(**network, **{option: value})
        try:
            networks.check({option: value}, given)
        except CommandError as error:
            assert option in networks.SIZES and "does not take" in str(error)
            continue
        with pytest.raises(CommandError, match=f"^`{options.flag(option)}` of .* must .*Received"):
            networks.build(given, {"vocabulary_size": 9}, 2, None, network["pooling"])
