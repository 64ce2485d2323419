"""A run in earnest: tables in and out, a language model."""

import csv
import gzip
import json
import re
import shutil

import keras
import numpy as np
import pytest
from command_line import refused, run_main, texts_of

from keras_attnpool.workbench import load_run, text
from keras_attnpool.workbench.cli import comparison, options, readers, report
from keras_attnpool.workbench.cli.data import load as load_data
from keras_attnpool.workbench.cli.options import Options

pytestmark = pytest.mark.one_backend("test_smoke.py trains and predicts under every backend")

TEXTS = ["good food", "=1+1", 'a "quoted", one\nof two lines', "caf\xe9"]


def table(path, delimiter=","):
    """A table with the texts in its second column, gzipped where its name says so."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, delimiter=delimiter)
        rows.writerow(["id", "body"])
        rows.writerows(enumerate(TEXTS))
    return path


@pytest.mark.parametrize("name", ["mails.csv", "mails.csv.gz"])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_tables(trained, tmp_path, capsys, name, ending):
    source, out = table(tmp_path / name), tmp_path / f"out.{ending}"
    arguments = ["--input", source, "--text-column", "body", "--output", out]
    status, printed, err = run_main(capsys, "predict", trained, *arguments)
    assert status == 0 and printed == f"4 texts: {out}\n", err
    run = load_run(trained)
    expected = run.probabilities(TEXTS)
    head, *rows = written(out)
    names = [f"p({name})" for name in run.label_names]
    assert head == ["id", "body", "label", "probability", *names]
    # A spreadsheet shows what it would compute; a .tsv has no line breaks.
    lines = 'a "quoted", one\nof two lines'
    lines = lines if ending == "csv" else lines.replace("\n", "U+000A")
    assert [row[:2] for row in rows] == [
        ["0", "good food"],
        ["1", "'=1+1"],
        ["2", lines],
        ["3", "caf\xe9"],
    ]
    assert [row[2] for row in rows] == run.predict(TEXTS)
    found = [[float(cell) for cell in row[4:]] for row in rows]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, out.name])


def written(path, delimiter=","):
    """The rows of a table, as `predict` itself would read them."""
    delimiter = "\t" if path.suffix == ".tsv" else delimiter
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, delimiter=delimiter))


SPREADSHEET = 'a,text,a, b \n-,one,"=x, ""y""",-1.5\n"p\nq",two,\u00e4;,\t \n'
PHONES = "text;n\none;1,5\ntwo;+49 89 12\nsix;+1-2\n"


@pytest.mark.parametrize(
    ("name", "content", "arguments", "output", "kept"),
    [
        # The other columns come first, as they are: only what a spreadsheet would compute is told.
        (
            *("x.csv", SPREADSHEET, "", "out.csv"),
            ["a|text|a| b ", '-|one|\'=x, "y"|-1.5', "p\nq|two|\xe4;|\t "],
        ),
        ("x.csv", PHONES, "--delimiter ;", "out.csv", "text|n one|1,5 two|+49_89_12 six|'+1-2"),
        ("x.csv", "n,text\n1,one\n", "", "out.tsv", "n|text 1|one"),
        # Columns without names are called by their positions.
        ("x.tsv", 'a\tsaid"no"\n', "--text-column 1", "out.tsv", '0|1 a|said"no"'),
        ("x.csv", "text,n\n", "", "out.csv", "text|n"),
    ],
)
def test_other_columns_are_kept(trained, tmp_path, capsys, name, content, arguments, output, kept):
    path, out = tmp_path / name, tmp_path / output
    path.write_text(content, encoding="utf-8", newline="")
    command = ["predict", trained, "--input", path, *arguments.split(), "--output", out]
    status, _, err = run_main(capsys, *command)
    assert (status, err) == (0, "")
    rows = written(out, ";" if "--delimiter" in arguments else ",")
    names = [f"p({each})" for each in load_run(trained).label_names]
    kept = kept if isinstance(kept, list) else [each.replace("_", " ") for each in kept.split()]
    width = kept[0].count("|") + 1
    assert ["|".join(row[:width]) for row in rows] == kept
    assert rows[0][width:] == ["label", "probability", *names]


def test_a_table_that_has_a_column_of_the_answer(trained, tmp_path, capsys):
    """What is there keeps its name; the answer gets another one, and this is told."""
    path = tmp_path / "x.csv"
    path.write_text("label,text,label_2\nmine,good,x\n", encoding="utf-8")
    out, again = tmp_path / "out.csv", tmp_path / "again.csv"
    status, _, err = run_main(capsys, "predict", trained, "--input", path, "--output", out)
    told = "note: the input has a column 'label': the answer is in 'label_3', 'probability_3', "
    assert status == 0 and err.startswith(told) and err.count("\n") == 1
    # A table that `predict` wrote is one that it reads.
    assert run_main(capsys, "predict", trained, "--input", out, "--output", again)[0] == 0
    (names, row), (before, values) = written(again), written(out)
    assert names[: len(before)] == before and row[: len(before)] == values
    assert before[3:6] == ["label_3", "probability_3", "p(1 star)_3"]
    assert names[len(before)] == "label_4" and len(set(names)) == len(names)


@pytest.mark.parametrize("command", ["predict", "explain"])
@pytest.mark.parametrize(
    ("name", "content", "arguments", "texts"),
    [
        # As in `train`: the first line names the columns of a .csv, of a .tsv if one is named.
        ("x.csv", "body\none\ntwo\n", ["--text-column", "0"], ["one", "two"]),
        ("x.csv", "one\ntwo\n", ["--text-column", "0", "--no-header"], ["one", "two"]),
        ("x.tsv", "a\tone\nb\ttwo\n", ["--text-column", "1"], ["one", "two"]),
        ("x.tsv", "id\tt\na\tone\nb\ttwo\n", ["--text-column", "t"], ["one", "two"]),
        ("x.tsv", "id\tt\na\tone\nb\ttwo\n", ["--text-column", "1", "--header"], ["one", "two"]),
        ("x.csv", "id;text\n1;one\n2;two\n", ["--delimiter", ";"], ["one", "two"]),
        ("x.csv", "id\ttext\n1\tone\n2\ttwo\n", ["--delimiter", "tab"], ["one", "two"]),
        ("x.csv", "\ufefftext\ncaf\xe9\n", [], ["caf\xe9"]),
        ("x.csv", "text\ncaf\xe9\n".encode("cp1252"), ["--encoding", "cp1252"], ["caf\xe9"]),
        ("x.csv", "\ufefftext\none\n".encode("utf-16-le"), ["--encoding", "utf-16-le"], ["one"]),
        ("x.csv", gzip.compress(b"text\none\n", mtime=0), [], ["one"]),
        ("x.tsv", "a\tone\rmore\n\nb\ttwo\r\n", ["--text-column", "1"], ["one more", "two"]),
    ],
)
def test_how_a_table_is_read(trained, tmp_path, capsys, command, name, content, arguments, texts):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    rest = ["--out", tmp_path / "x.html"] if command == "explain" else []
    status, out, err = run_main(capsys, command, trained, "--input", path, *arguments, *rest)
    assert status == 0, err
    assert texts_of(out) == texts


@pytest.mark.parametrize(
    ("name", "content", "arguments", "message"),
    [
        ("x.csv", "a,b\n1,2\n", "", "`--text-column` must name one of the columns"),
        ("x.csv", "text,text\n1,2\n", "", "('text', 'text')"),
        ("x.csv", "text\n1\n", "--text-column 3", "from 0 to 0"),
        ("x.csv", "id,text\n1,2\n3\n", "", "line 3: 1 field(s), but the first line has 2"),
        # Otherwise half of the text would be lost, and here all lines behind the open quote.
        ("x.csv", "id,text\n1,good, not bad\n", "", "line 2: 3 field(s)"),
        ("x.csv", 'id,text\n1,"good\n2,bad\n', "", "x.csv, line 2: unexpected end of data"),
        ("x.csv", "", "", "`--text-column` must name one of the columns"),
        ("x.csv", "text\n1\n", "atext", "TEXT, --file and --input exclude each other"),
        ("x.csv", "text\n1\n", "--no-header", "--no-header must have --text-column as a position"),
        ("x.csv", "id;text\n1;2\n", "", "`--delimiter` must be what stands between the columns"),
        ("x.csv", "text\n1\n", "--encoding base64", "`--encoding` of --input must be an encoding"),
        ("x.csv", "text\n1\n", "--output out.xlsx", "--output must end in .csv"),
        ("x.csv", "text\n1\n", "--output x.tsv --json", "--json is for lines"),
        ("x.csv", "text\n1\n", "--output no/out.csv", "there is no folder no"),
        ("x.csv", "text\n1\n", "--output folder.csv", "not of a folder"),
        ("x.csv", "text\n1\n", "--output x.csv", "is the file that the texts are read from"),
        ("x.txt", "a\n", "", "--input must end in"),
        (
            "x.csv",
            b"text\ncaf\xe9\n",
            "",
            "(line 2: byte 0xe9 is not valid utf-8), perhaps 'cp1252'",
        ),
        ("x.csv.gz", b"\x1f\x8b\x08\x00", "", "Compressed file ended"),
    ],
)
def test_tables_that_are_refused(
    trained, tmp_path, capsys, monkeypatch, name, content, arguments, message
):
    monkeypatch.chdir(tmp_path)
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.csv").mkdir()
    status, _, err = run_main(capsys, "predict", trained, "--input", name, *arguments.split())
    assert status == 2 and message in err and err.count("\n") == 1
    assert (tmp_path / name).read_bytes() == content
    assert {each.name for each in tmp_path.iterdir()} == {"folder.csv", name}


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_options_of_tables_need_one(trained, capsys, command):
    for option in (["--text-column", "b"], ["--no-header"], ["--delimiter", ";"]):
        err = run_main(capsys, command, trained, "a", *option)[2]
        assert err == f"error: {option[0].replace('no-', '')} needs an --input\n"
    err = run_main(capsys, command, trained, "a", "--encoding", "latin-1")[2]
    assert err == "error: --encoding needs an --input or a --file\n"


@pytest.fixture
def language_model(monkeypatch, tmp_path):
    """A tiny language model in place of every preset, and a cache of its own."""
    keras_hub = pytest.importorskip("keras_hub")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "food", "##s", "."]

    def from_preset(preset, sequence_length=128, layer=None):
        if preset != "tiny":
            raise ValueError(f"there is no preset {preset}")
        keras.utils.set_random_seed(1)
        tokenizer = keras_hub.models.BertTokenizer(words, lowercase=True)
        backbone = keras_hub.models.BertBackbone(
            len(words), 1, 2, 8, 16, dropout=0.0, max_sequence_length=32
        )
        preprocessor = keras_hub.models.BertTextClassifierPreprocessor(
            tokenizer, sequence_length=sequence_length
        )
        return text.LanguageModel(backbone, preprocessor)

    monkeypatch.setattr(text.LanguageModel, "from_preset", from_preset)
    monkeypatch.setenv("KERAS_ATTNPOOL_DATA", str(tmp_path / "cache"))
    path = tmp_path / "mine.tsv"
    rows = [("yes", "good foods ."), ("no", "bad food .")] * 20
    path.write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8")
    return path


WORDS = {"yes": "alphas", "no": "omegas"}


@pytest.mark.parametrize("how", [[], ["--fine-tune", "--learning-rate", "0.001"]])
def test_a_language_model(language_model, tmp_path, capsys, recwarn, how):
    run = tmp_path / "run"
    arguments = ["--encoder", "tiny", "--pooling", "attention", "--epochs", "2", "--no-report"]
    arguments += ["--max-tokens", "24", "--out", run]
    status, out, err = run_main(capsys, "train", language_model, *arguments, *how)
    assert status == 0 and "tiny + mean" in out, err
    # BERT's dense layer behind its first token is not what the features hang on.
    assert not [each for each in recwarn if "Gradients do not exist" in str(each.message)]
    assert "are cut" not in out
    trained = load_run(run)
    texts = ["Good foods.", "", "bad"]
    assert trained.probabilities(texts).shape == (3, 2)
    explained, empty, _ = trained.explain(texts)
    # Words between white space; the three tokens of the second are one of them.
    assert explained.words == ["Good", "foods."] and explained.attention.shape == (2,)
    label = trained.label_names.index(explained.label)
    rest = [trained.probabilities([word])[0, label] for word in ("foods.", "Good")]
    np.testing.assert_allclose(explained.effects, explained.probability - np.array(rest), atol=1e-5)
    assert empty.words == [] and empty.effects.shape == (0,)


def test_the_scores_of_tfidf_stand_beside_a_language_model(language_model, tmp_path, capsys):
    """Words that the language model does not know decide: the row and what is kept know them."""
    rows = [(label, f"good {word} {i % 9}") for i in range(40) for label, word in WORDS.items()]
    language_model.write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8")
    run = tmp_path / "run"
    arguments = ["--encoder", "tiny", "--epochs", "1", "--max-tokens", "24"]
    arguments += ["--out", run]
    status, _, err = run_main(capsys, "train", language_model, *arguments)
    assert status == 0, err
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert comparison.TOO_FEW.format(metrics["sizes"]["validation"]) in metrics["comparison"]
    both, alone, *_ = results = metrics["results"]
    assert both == f"{alone} + TF-IDF + logistic" and results[both]["accuracy"] == 1
    assert results[alone]["accuracy"] < 0.8
    page = (run / "report.html").read_text(encoding="utf-8")
    assert both in page and "Where attention looks" in page
    trained = load_run(run)
    texts = ["good alphas", "good omegas"]
    assert trained.predict(texts) == list(WORDS)
    # Without the word that decides, the probability falls; attention is still that of the network.
    for explained in trained.explain(texts):
        assert explained.words[np.argmax(explained.effects)] != "good"
        assert explained.attention.shape == (2,)
    shutil.copytree(run, tmp_path / "copy")
    np.testing.assert_array_equal(
        load_run(tmp_path / "copy").probabilities(texts), trained.probabilities(texts)
    )
    arguments += ["--overwrite", "--no-tfidf", "--no-report"]
    status, out, err = run_main(capsys, "train", language_model, *arguments)
    assert status == 0, err
    # Without them beside it, the words alone are ahead: the last line names them.
    told = out.splitlines()[-1]
    found = re.fullmatch(
        rf"TF-IDF of words is better than {re.escape(alone)} \((.*)\): take that\.", told
    )
    assert found and found[1].startswith("+") and " 95 % interval +" in found[1]
    assert told in json.loads((run / "metrics.json").read_text(encoding="utf-8"))["comparison"]
    assert not (run / "tfidf.npz").exists() and set(load_run(run).model.input) == {
        "features",
        "padding_mask",
    }
    (tmp_path / "copy" / "tfidf.npz").unlink()
    assert "tfidf.npz cannot be loaded" in refused(capsys, "predict", tmp_path / "copy", "a")


def reported(tmp_path, capsys, path, *arguments):
    """A run without a baseline, the rows of its report's tables, and the report."""
    run = tmp_path / "run"
    arguments = [*arguments, "--epochs", "2", "--learning-rate", "0.01", "--no-baseline"]
    status, _, err = run_main(capsys, "train", path, *arguments, "--out", run)
    assert status == 0, err
    page = (run / "report.html").read_text(encoding="utf-8")
    rows = [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row) for row in page.split("<tr>")[1:]]
    return load_run(run), rows, page


DISORDERED = ["random pooling", "random encoder", "random both"]


@pytest.mark.parametrize(
    ("arguments", "disordered", "told"),
    [
        (["--encoder", "tiny"], DISORDERED[:1], "stays as it is"),
        (["--encoder", "tiny+gru"], DISORDERED, "stays as it is"),
        (["--encoder", "tiny", "--fine-tune"], DISORDERED, "part of the encoder"),
    ],
)
def test_reports_of_what_reads_no_plain_words(
    language_model, tmp_path, capsys, arguments, disordered, told
):
    """Words are taken out of any text, and the layer that attends gets other weights."""
    sizes = ["--units", "2"] if arguments[1] != "tiny" else []
    arguments = [*arguments, "--pooling", "attention", "--max-tokens", "24", *sizes]
    run, rows, page = reported(tmp_path, capsys, language_model, *arguments)
    deletion = {row[0]: row[1:] for row in rows if len(row) == 3}
    assert {"effect", "attention"} <= set(deletion)
    grades = {row[0]: row[1:] for row in rows if len(row) > 5}
    assert {"attention", "effect", "uniform"} <= set(grades)
    # The effect is what is found without each word: it agrees with itself.
    assert "1.000" in grades["effect"]
    assert told in page and "is not tested here" not in page
    tested = [row for row in rows if row[0] in ("uniform weights", *DISORDERED)]
    names = ["uniform weights", *disordered]
    assert [row[0] for row in tested] == names
    # Without its kernel the layer itself gives equal weights.
    (data, _) = load_data(Options(**run.config["options"]))
    before, layer = run.probabilities(data.test.texts), run.model.get_layer("pooling")
    layer.set_weights([0 * each for each in layer.get_weights()])
    after = run.probabilities(data.test.texts)
    expected = [(before.argmax(1) == after.argmax(1)).mean(), np.abs(before - after).sum() / 2]
    expected[1] /= len(before)
    np.testing.assert_allclose([float(each) for each in tested[0][3:]], expected, atol=0.001)


def test_a_report_says_which_attention_is_not_tested(language_model, tmp_path, capsys):
    """Those of features and of tokens, one after the other, are no weights of words alone."""
    arguments = ["--encoder", "tiny", "--pooling", "sequential", "--max-tokens", "24"]
    _, rows, page = reported(tmp_path, capsys, language_model, *arguments)
    assert "attention" in [row[0] for row in rows if len(row) > 5]  # as in the heat maps
    assert page.count("is not tested here") == 1
    assert "the weights of this layer are of another kind" in page
    assert not any(row[0] in ("uniform weights", *DISORDERED) for row in rows)


@pytest.mark.parametrize("how", [[], ["--fine-tune", "--learning-rate", "0.001"]])
def test_spaces_that_are_no_plain_ones(language_model, tmp_path, capsys, how):
    arguments = ["--encoder", "tiny", "--epochs", "1", "--no-report", "--no-baseline"]
    arguments += ["--max-tokens", "24", "--pooling", "attention", "--out", tmp_path / "run"]
    assert run_main(capsys, "train", language_model, *arguments, *how)[0] == 0
    run = load_run(tmp_path / "run")
    plain, *others = run.explain(["good bad food", "good\u00a0bad\u3000food", "good bad\u2028food"])
    for each in others:
        assert each.words == plain.words and np.isfinite(each.attention).all()
        np.testing.assert_allclose(each.effects, plain.effects, atol=1e-6)
        np.testing.assert_allclose(each.attention, plain.attention, atol=1e-6)


def test_pieces_of_words_in_a_vocabulary_of_bytes(monkeypatch):
    """Behind a space "the" is one piece, and two at the beginning."""
    keras_hub = pytest.importorskip("keras_hub")
    pieces = [*"thecat", "\u0120", "<s>", "</s>", "<pad>", "<mask>", "<unk>"]
    pieces += ["\u0120t", "he", "\u0120the", "\u0120a"]
    vocabulary = {piece: place for place, piece in enumerate(dict.fromkeys(pieces))}
    merges = ["\u0120 t", "h e", "\u0120t he", "\u0120 a"]
    tokenizer = keras_hub.models.RobertaTokenizer(vocabulary, merges)
    backbone = keras_hub.models.RobertaBackbone(
        len(vocabulary), 1, 2, 8, 16, max_sequence_length=16
    )
    preprocessor = keras_hub.models.RobertaTextClassifierPreprocessor(tokenizer, sequence_length=16)
    model = text.LanguageModel(backbone, preprocessor)
    reader = readers.Features(model, "tiny", None)
    content = "the the a the"
    whole = len(model.tokens([content])[0]) - len(model.tokens([""])[0])
    sizes = [size for _, size in reader._pieces(content)]
    assert sizes == [2, 1, 1, 1] and sum(sizes) == whole


def test_an_unknown_language_model(language_model, tmp_path, capsys):
    arguments = ["--encoder", "tinny", "--out", tmp_path / "run"]
    status, _, err = run_main(capsys, "train", language_model, *arguments)
    assert status == 2 and "tinny" in err and "gru" in err and err.count("error: ") == 1


def test_compare(tmp_path, capsys, monkeypatch):
    """The model of the run is the one that validation likes best, and says so."""
    monkeypatch.setitem(options.BEST_BEHIND, "gru", "attention")
    monkeypatch.setattr(options, "COMPARED", ("max",))
    compared = []
    sentence = comparison.sentence
    monkeypatch.setattr(
        comparison, "sentence", lambda *given: compared.append(given) or sentence(*given)
    )
    arguments = ["--encoder", "none", "--embedding-dim", "4", "--hidden-units", "0", "--compare"]
    arguments += ["--train-size", "60", "--test-size", "10", "--epochs", "2", "--out"]
    run = tmp_path / "run"

    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # stopped in the report, and gone on with
        patch.setattr(report, "write", interrupt)
        assert run_main(capsys, "train", *arguments, run, "--learning-rate", "0.1")[0] == 130
    assert (run / "resume").is_dir()
    status, out, err = run_main(capsys, "train", "--resume", "--out", run)
    assert status == 0, err
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    results, chosen = metrics["results"], metrics["chosen"]
    best = max(
        ("none + attention", "none + max"),
        key=lambda name: max(results[name]["history"]["val_accuracy"]),
    )
    scores = [max(results[name]["history"]["val_accuracy"]) for name in (best, chosen)]
    assert scores[0] == scores[1] and f"likes {chosen} best" in out
    trained = load_run(run)
    assert f"none + {trained.config['options']['pooling']}" == chosen
    assert trained.model.count_params() == results[chosen]["parameters"]
    assert not (run / "resume").exists() and (run / "report.html").is_file()
    # What has fewer parameters is a simpler row, too.
    *_, (_, _, simpler, _) = compared
    assert chosen == "none + attention" and "none + max" in simpler


def test_class_weights(tmp_path, capsys):
    """The epoch, the table and the closing line go by the accuracy that counts classes alike."""
    rows = [("often", f"good food {i % 7}") for i in range(90)]
    rows += [("rare", f"good food {i % 7}" + " cold" * (i % 2)) for i in range(10)]
    path, run = tmp_path / "x.tsv", tmp_path / "run"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8")
    arguments = ["--encoder", "none", "--pooling", "attention", "--epochs", "2", "--class-weights"]
    status, out, err = run_main(capsys, "train", path, "--test", path, *arguments, "--out", run)
    assert status == 0, err
    assert "balanced, beside the model (95 %)" in out and "points of balanced accuracy" in out
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    own, *_, largest = metrics["results"].values()
    assert largest["accuracy"] == 0.9 and largest["balanced_accuracy"] == 0.5
    assert largest["difference"][0] == pytest.approx(0.5 - own["balanced_accuracy"])
    assert f"<td>{own['balanced_accuracy']:.3f}</td>" in (run / "report.html").read_text("utf-8")
    # The validation part has 9 texts of the one class and 1 of the other.
    sizes = metrics["sizes"]["validation"]
    assert sizes == 10
    for accuracy in own["history"]["val_accuracy"]:
        assert min(abs(accuracy - (a / 9 + b) / 2) for a in range(10) for b in (0, 1)) < 1e-4


def test_texts_that_are_none(trained):
    """One string would be explained letter by letter."""
    run = load_run(trained)
    for call in (run.predict, run.probabilities, run.explain):
        for given in ("good food", None, [1], {"text": ["good food"]}, {"good food"}):
            with pytest.raises(ValueError, match="`texts` of Run"):
                call(given)
    np.testing.assert_array_equal(run.probabilities(x for x in TEXTS), run.probabilities(TEXTS))
