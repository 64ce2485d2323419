"""The engine of the reproductions: its list, its files, its floors, its matrix."""

import base64
import dataclasses
import functools
import json
import os
import types

import keras
import numpy as np
import pytest

from benchmarks.reproduce import __main__ as command
from benchmarks.reproduce import book, engine, explanations, floors, mpsan, pieces, sam, timing
from benchmarks.reproduce import results as kept
from benchmarks.reproduce.engine import reproduce, results_of, rows_of
from benchmarks.reproduce.paper import Paper
from benchmarks.reproduce.results import packed, unpacked
from benchmarks.reproduce.significance import EQUAL
from benchmarks.reproduce.tasks import Data, Options, Task
from benchmarks.reproduce.timing import Timed, Turns, take_turns
from keras_attnpool.workbench import corpora, text
from keras_attnpool.workbench.datasets import LabeledTexts

pytestmark = pytest.mark.one_backend("how runs are kept; the models have their own tests")

PAPERS = list(command.PAPERS.values())
ROWS = rows_of(PAPERS)
FILES = sorted(path for path in engine.RESULTS.glob("*.json") if ".quick" not in path.name)


# --- the list ----------------------------------------------------------------------------------


def test_every_measured_row_is_in_the_list():
    known = {(row.experiment, row.name) for row in ROWS}
    for path in (p for p in FILES if p.stem != "behaviour"):
        for name in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            assert (path.stem, name) in known, (path.name, name)


def test_what_was_measured_can_be_run_again():
    """A row's configuration is the one of its results: else a rerun would refuse."""
    for row in ROWS:
        results_of(row, Options()).done(row.name, row.config(Options()))


@pytest.mark.parametrize("paper", PAPERS, ids=list(command.PAPERS))
def test_an_experiment_says_what_it_is(paper):
    for dataset in paper.tasks:
        header = paper.header(dataset)
        assert {"paper", "table", "dataset", "measure", "claims", "protocol"} <= set(header)
        rows = paper.rows(dataset)
        # Explanations are graded, not accuracies: their floor is the random order in each row.
        if paper.name != "explanations":
            assert floors.ROWS[0] in rows or "linear SVM" in rows
        for published in rows.values():
            assert published is None or 0 < published < 1
        for better, worse, words, _ in header["claims"]:
            assert words and better != worse
        assert paper.seeds(dataset, False) >= 1 and paper.seeds(dataset, True) >= 1
        json.dumps([header, [row.config(Options()) for row in rows_of([paper], [dataset])]])


def test_rows_can_be_chosen():
    only = rows_of(PAPERS, only=["mpsan/*/DiSAN", "sam/trec/SAM*"])
    assert {row.paper.name for row in only} == {"mpsan", "sam"}
    assert "sam/trec/SAM pointwise" in {row.key for row in only}
    assert {row.name for row in only if row.paper.name == "mpsan"} == {"DiSAN"}
    assert {row.dataset for row in rows_of(PAPERS, ["sick"])} == {"sick"}


def test_the_command_line_lists_and_refuses(capsys):
    command.main(["lama", "--dataset", "r8", "--list"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(rows_of([command.PAPERS["lama"]], ["r8"]))
    (lama,) = [line for line in lines if line.startswith("lama/r8/LAMA+ctx ")]
    measured = json.loads((engine.RESULTS / "lama_r8.json").read_text(encoding="utf-8"))
    ours = measured["rows"]["LAMA+ctx"]["summary"]["test_accuracy"]["mean"]
    assert f"3 of 3 runs  here: {100 * ours:.2f}  paper: 97.30" in lama
    for given, word in (
        (["--dataset", "nothing"], "unknown data sets"),
        (["--rows", "nothing"], "unknown rows"),
        (["--only", "nothing/*"], "no row fits"),
        (["lama", "--dataset", "r8", "--epoch-times"], "no times of epochs on r8: lama has none"),
        (["mpsan", "--epoch-times"], "on sst5_phrases: mpsan has them on ['sst5']"),
    ):
        with pytest.raises(SystemExit):
            command.main(given)
        assert word in capsys.readouterr().err


def test_a_set_that_the_user_has_to_bring_is_left_out_with_its_name(capsys):
    command.main(["hcan", "--dataset", "pubmed"])
    assert "left out: hcan/pubmed needs pubmed.tsv" in capsys.readouterr().out
    row = rows_of([command.PAPERS["hcan"]], ["pubmed"])[0]
    with pytest.raises(SystemExit, match=r"pubmed\.tsv"):
        row.paper.data("pubmed", Options(), 0)


@pytest.mark.parametrize(
    "given", [["hcan", "--dataset", "pubmed"], ["sam", "--dataset", "cr", "--rows", "SAM"]]
)
def test_files_that_are_not_there_end_in_a_sentence(given, tmp_path):
    with pytest.raises(SystemExit, match=rf"^{given[0]}/{given[2]} cannot be read: .*\.tsv"):
        command.main([*given, "--quick", "--data", str(tmp_path)])


# --- the engine --------------------------------------------------------------------------------


class Invented(Paper):
    """A paper of two rows, one of which chance has no part in."""

    name = title = "invented"
    tasks = {
        "toy": Task(lambda folder: (), {}, 1, (1,), 1, "1", {"drawn": 50}, runs=2, full_runs=5)
    }
    fixed = ("fixed",)
    settings, facts = {}, {}

    def __init__(self, trained):
        self.trained = trained

    def names(self, dataset):
        return "drawn", "fixed"

    def header(self, dataset):
        return {"measure": "accuracy", "protocol": {}, **self.facts}

    def config(self, dataset, row, options):
        return {"model": row, **self.settings}

    def read(self, dataset, options, fold):
        return [fold]

    def described(self, data):
        return {"test_examples": 3}

    def build(self, dataset, row, data, options):
        raise AssertionError("`run` builds nothing here")

    def run(self, dataset, row, data, seed, options):
        self.trained.append((row, seed))
        return {"seed": seed, "test_accuracy": 0.25 * (seed + 1)}, {"parameters": 7}


def test_what_is_there_is_not_run_again(tmp_path):
    trained = []
    rows = rows_of([Invented(trained)])
    reproduce(rows, Options(), [0], tmp_path)
    assert trained == [("drawn", 0), ("fixed", 0)]
    reproduce(rows, Options(), None, tmp_path)
    assert trained[2:] == [("drawn", 1)]  # What draws nothing has one run.
    reproduce(rows, Options(), [1], tmp_path)
    assert len(trained) == 3  # ... whatever seeds are asked for.
    reproduce(rows, Options(), None, tmp_path)
    assert len(trained) == 3
    found = json.loads((tmp_path / "invented_toy.json").read_text())
    entry = found["rows"]["drawn"]
    assert found["test_examples"] == 3 and entry["paper"] == 0.5 and entry["parameters"] == 7
    assert entry["summary"]["test_accuracy"] == {
        "mean": 0.375,
        "std": 0.17678,
        "min": 0.25,
        "max": 0.5,
    }
    assert {"seconds", "cpu_seconds"} <= set(entry["runs"][0])
    assert not list(tmp_path.glob(".*"))
    (line, _) = engine.listed(rows, Options(), tmp_path)
    assert line.endswith("2 of 2 runs  here: 37.50  paper: 50.00")
    assert list(engine.listed(rows[1:], Options(), tmp_path / "none"))[0].endswith(
        "0 of 1 runs  here: -  paper: -"
    )


def test_what_an_older_file_says_of_its_data_is_renewed(tmp_path):
    rows = rows_of([Invented([])])
    reproduce(rows, Options(), [0], tmp_path)
    file = tmp_path / "invented_toy.json"
    before = json.loads(file.read_text())
    file.write_text(json.dumps({**before, "noted": 1, "test_examples": 2}))
    rows[0].paper.facts = {"folded": True}
    reproduce(rows, Options(), [1], tmp_path)
    after = json.loads(file.read_text())
    assert after["folded"] and after["noted"] == 1 and after["test_examples"] == 3
    assert after["rows"]["drawn"]["runs"][0] == before["rows"]["drawn"]["runs"][0]
    assert after["versions"] == before["versions"]


def test_a_run_on_a_gpu_says_so_and_tells_nothing_of_the_processor(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "device", lambda: "NVIDIA H200")
    reproduce(rows_of([Invented([])])[:1], Options(), [0], tmp_path)
    (run,) = json.loads((tmp_path / "invented_toy.json").read_text())["rows"]["drawn"]["runs"]
    assert run["device"] == "NVIDIA H200" and "seconds" in run
    assert not {"cpu_seconds", "process_memory_mb"} & set(run)


def test_a_run_keeps_the_versions_that_the_file_does_not_have(tmp_path, monkeypatch):
    rows = rows_of([Invented([])])[:1]
    reproduce(rows, Options(), [0], tmp_path)
    there = kept.versions()
    monkeypatch.setattr(kept, "versions", lambda: {**there, "numpy": "9.9", "backend": "other"})
    reproduce(rows, Options(), [1], tmp_path)
    found = json.loads((tmp_path / "invented_toy.json").read_text())
    first, second = found["rows"]["drawn"]["runs"]
    assert "versions" not in first and second["versions"] == {"numpy": "9.9"}
    assert found["versions"] == there


@pytest.mark.parametrize("named", [False, True])
def test_what_takes_a_gpu_is_left_out_without_one_unless_it_is_named(named, monkeypatch, capsys):
    found = []
    monkeypatch.setattr(command, "reproduce", lambda rows, *rest: found.extend(rows))
    monkeypatch.setattr(command.devices, "device", lambda: "cpu")
    tuned = "language model, fine-tuned"
    command.main(["lama", "--dataset", "r8", *(["--rows", tuned, "SAN"] if named else [])])
    assert (tuned in {row.name for row in found}) == named
    assert "SAN" in {row.name for row in found}
    assert ("left out: lama/r8/language model, fine-tuned" in capsys.readouterr().out) != named


def test_quick_and_full_have_files_of_their_own(tmp_path, capsys):
    trained = []
    rows = rows_of([Invented(trained)])
    reproduce(rows, Options(quick=True), None, tmp_path)
    assert "0.2500 (not comparable: one epoch on 200 texts)" in capsys.readouterr().out
    assert trained == [("drawn", 0), ("fixed", 0)]
    reproduce(rows[:1], Options(full=True), None, tmp_path)
    assert len(trained) == 7
    assert {path.name for path in tmp_path.iterdir()} == {
        "invented_toy.quick.json",
        "invented_toy.full.json",
    }


def test_another_configuration_is_refused_and_nothing_overwritten(tmp_path):
    rows = rows_of([Invented([])])
    reproduce(rows, Options(), [0], tmp_path)
    before = (tmp_path / "invented_toy.json").read_text()
    rows[0].paper.settings = {"model": "another"}
    with pytest.raises(SystemExit, match="another configuration"):
        reproduce(rows, Options(), [1], tmp_path)
    assert (tmp_path / "invented_toy.json").read_text() == before


def test_a_run_that_another_process_has_begun_is_left_to_it(tmp_path):
    trained = []
    rows = rows_of([Invented(trained)])
    theirs = tmp_path / ".invented_toy.drawn.0.running"
    theirs.write_text(str(os.getppid()))
    reproduce(rows, Options(), [0], tmp_path)
    assert trained == [("fixed", 0)] and theirs.exists()
    theirs.write_text("999999999")  # No such process: it was killed.
    reproduce(rows, Options(), [0], tmp_path)
    assert trained[1:] == [("drawn", 0)] and not theirs.exists()


def test_an_interrupted_run_leaves_no_claim(tmp_path):
    paper = Invented([])
    paper.run = lambda *args: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        reproduce(rows_of([paper]), Options(), None, tmp_path)
    assert not list(tmp_path.iterdir())


def test_times_of_epochs_are_relative(tmp_path, monkeypatch):
    """A model's epochs count as many units as its texts, and the first one is 1."""
    rows = rows_of([Invented([])])
    reproduce(rows, Options(), [0], tmp_path)

    class Model:
        """Takes as many seconds as it is told."""

        weights = ()

        def __init__(self, *seconds):
            self.seconds = [0.0, *seconds]

        def fit(self, batches, **options):
            passed[0] += self.seconds.pop(0)

        def count_params(self):
            return 5

    passed = [0.0]
    monkeypatch.setattr(timing, "clock", lambda: passed[0])
    models = {"base": Timed(Model(2.0, 2.0), None), "slow": Timed(Model(20.0, 12.0), None, 2)}
    turns = Turns(models, {"base": 4.0}, "base", rounds=2)
    take_turns(turns, results_of(rows[0], Options(), tmp_path))
    times = json.loads((tmp_path / "invented_toy.json").read_text())["epoch_times"]
    assert times == {
        "base": {"paper": 1.0, "parameters": 5, "relative": [1.0, 1.0, 1.0]},
        "slow": {"paper": None, "parameters": 5, "relative": [4.0, 3.0, 5.0]},
    }


# --- the floors --------------------------------------------------------------------------------


def test_tf_idf_on_pairs():
    """Whether the two are the same sentence: a matter of differences and products."""
    rng = np.random.default_rng(0)

    def part(count):
        first = [" ".join(rng.choice(list("abcdefgh"), 4)) for _ in range(count)]
        same = rng.integers(0, 2, count)
        other = [" ".join(rng.choice(list("ijklmnop"), 4)) for _ in range(count)]
        second = [a if s else b for a, b, s in zip(first, other, same, strict=True)]
        return types.SimpleNamespace(
            sentences_a=first,
            sentences_b=second,
            labels=same,
            relatedness=1.0 + 4 * same,
            num_classes=2,
        )

    made = (part(200), part(40), part(60))
    classes, _ = floors.run("TF-IDF, linear", made, 0, "accuracy")
    assert classes["test_accuracy"] == 1 and unpacked(classes["correct"], 60).all()
    graded, _ = floors.run("TF-IDF, linear", made, 0, "pearson")
    grades = np.frombuffer(base64.b64decode(graded["grades"]), "<f2").astype(float)
    found = np.corrcoef(grades, made[2].relatedness)[0, 1]
    assert graded["test_pearson"] == pytest.approx(found, abs=1e-3) and found > 0.95


# --- which attention can be believed ------------------------------------------------------------


@pytest.fixture(scope="module")
def toy():
    """Reviews, few."""
    made = tuple(corpora.reviews(count, seed=seed) for count, seed in ((64, 1), (16, 2), (24, 3)))
    data = Data(dataclasses.replace(explanations.REVIEWS, word2vec=8), made, Options())
    data.vectors = np.random.default_rng(0).normal(size=(data.tokenizer.vocabulary_size, 8))
    return data


def test_every_mechanism_stands_between_the_same_parts(toy):
    build = functools.partial(explanations.PAPER.build, "reviews", data=toy, options=Options())
    built = {row: build(row) for row in explanations.GRADED}
    for model in built.values():
        names = [layer.name for layer in model.layers]
        assert {"embedding", "hidden", "classifier"} <= set(names)
        assert model.output_shape == (None, 5)
    counts = {row: model.count_params() for row, model in built.items()}
    assert counts["AttentionPooling"] == counts["AttentionPooling, sparsemax"]
    assert counts["GeneralizedPooling"] > counts["LowRankAttentionPooling"]


def test_texts_of_any_length_are_graded(toy):
    # Once a text had to be as long as the longest: of a thousand one was.
    ids, gold = explanations.graded_texts(toy, 60, 10)
    assert len(ids) == len(gold) == 10 and ids.shape[1] == max(map(len, gold)) <= 60
    for row, flags in zip(ids, gold, strict=True):
        assert (row != 0).sum() == len(flags) and 0 < flags.sum() < len(flags)
    assert len({len(flags) for flags in gold}) > 3


# One of each form of scores; compiling the models takes a while.
@pytest.mark.parametrize(
    "row",
    [
        "SequentialAttention, no encoder",
        pytest.param("AttentionPooling", marks=pytest.mark.slow),
        pytest.param("GeneralizedPooling", marks=pytest.mark.slow),
        pytest.param("ConvMultiHeadAttention", marks=pytest.mark.slow),
        pytest.param("LearnedQueryPooling", marks=pytest.mark.slow),
    ],
)
def test_attention_is_graded(toy, row):
    result, facts = explanations.PAPER.run("reviews", row, toy, 0, Options(quick=True))
    # What the page reads, see docs/hooks/explanations.py.
    keys = "naopc naopc_sufficiency comprehensiveness sufficiency entropy gini polarity_violations"
    keys += " tau_leave_one_out tau_gradient auc auprc token_f1 iou_f1"
    assert {f"test_{key}" for key in keys.split()} <= set(result)
    assert 0 < result["test_mass"] < 1 and 0 < result["test_auc"] < 1
    # Words by what each counts: no best order, but above any other (0.5) and above attention's.
    leave_one_out = result["test_naopc_of_leave_one_out"]
    assert max(0.5, result["test_naopc"]) < leave_one_out < 1.1
    kept = np.frombuffer(base64.b64decode(result["naopc_per_text"]["attention"]), "<f2")
    assert len(kept) == 2 and kept.mean() == pytest.approx(result["test_naopc"], abs=1e-2)
    assert len(unpacked(result["correct"], 24)) == 24
    assert facts["parameters_without_embeddings"] < facts["parameters"]


# --- the hierarchical CNN ----------------------------------------------------------------------


def test_gated_convolutions_do_not_see_padding():
    """`y = x + a * sigmoid(b)` in NumPy, windows of five, whatever stands at padding."""
    rng = np.random.default_rng(0)
    x, mask = rng.normal(size=(2, 7, 3)), np.arange(7) < np.array([[7], [4]])
    layer = mpsan.GatedConvolution(3)
    layer(x)
    kernel, bias = layer.get_weights()
    bias += rng.normal(size=6)
    layer.set_weights([kernel, bias])
    padded = np.pad(np.where(mask[..., None], x, 0), ((0, 0), (2, 2), (0, 0)))
    windows = np.stack([padded[:, at : at + 7] for at in range(5)], axis=2)
    a, b = np.split(np.einsum("btwd,wdf->btf", windows, kernel) + bias, 2, axis=-1)
    expected = x + a / (1 + np.exp(-b))
    garbage = np.where(mask[..., None], x, np.nan)
    given = keras.ops.convert_to_numpy(layer(garbage.astype("float32"), mask=mask))
    np.testing.assert_allclose(given[mask], expected[mask], atol=1e-5)


# --- fine-tuned language models ----------------------------------------------------------------


@pytest.fixture
def language_model(monkeypatch):
    """A tiny one with random weights in the place of MiniLM."""
    hub = pytest.importorskip("keras_hub")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "film", "very"]

    def load(preset, sequence_length):
        backbone = hub.models.BertBackbone(
            vocabulary_size=len(words),
            num_layers=1,
            num_heads=2,
            hidden_dim=8,
            intermediate_dim=8,
            max_sequence_length=sequence_length,
        )
        pieces_of = hub.models.BertTextClassifierPreprocessor(
            hub.models.BertTokenizer(words, lowercase=True), sequence_length=sequence_length
        )
        return text.LanguageModel(backbone, pieces_of)

    monkeypatch.setattr(text.LanguageModel, "from_preset", load)


@pytest.mark.usefixtures("language_model")
def test_texts_of_a_language_model_come_in_batches_of_similar_length():
    task = dataclasses.replace(
        sam.TASKS["sst5"], recipe=pieces.RECIPE, max_length=12, boundaries=(4, 12)
    )
    texts = ["good film", "very " * 20, "bad"]
    data = pieces.Pieces(task, [LabeledTexts(texts, [1, 0, 0], ("-", "+"))] * 3, "tiny")
    batches = data.batches(0)
    # In the order of the texts; the long one stands alone.
    (first, _), (long, labels), (last, _) = (batches[place] for place in range(len(batches)))
    assert [each["token_ids"].shape for each in (first, long, last)] == [(1, 4), (1, 12), (1, 4)]
    # Cut, between the special tokens; padding is told by the mask.
    np.testing.assert_array_equal(long["token_ids"][0], [2, *[8] * 10, 3])
    assert first["padding_mask"].sum() == 4 and last["padding_mask"].sum() == 3
    assert labels.tolist() == [0]


@pytest.mark.usefixtures("language_model")
@pytest.mark.parametrize(
    "row",
    # One is enough where each is a program to compile.
    [pytest.param(row, marks=[pytest.mark.slow] * (row[:3] != "SAM")) for row in sam.TUNED],
)
def test_fine_tuning_trains_the_language_model(row):
    task = dataclasses.replace(
        sam.TASKS["sst5"], recipe=pieces.RECIPE, max_length=6, boundaries=(6,)
    )
    parts = [LabeledTexts(["good film", "bad film"], [1, 0], ("-", "+"))] * 3
    data = pieces.Pieces(task, parts, "tiny")
    model = sam.build(row, data, units=2)
    inputs, labels = data.batches(0)[0]
    (backbone,) = [each for each in model.layers if each.name.startswith("bert")]
    before = backbone.get_weights()[0]
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(inputs, labels, verbose=0)
    assert np.abs(backbone.get_weights()[0] - before).max() > 0


# --- the matrix --------------------------------------------------------------------------------

TABLES = {
    "lama": ("Table 4", "Table 5", "Table 6", "Figure 2", "Figure 3", "Figure 4", "Figure 5"),
    "hcan": ("Table 2", "Figure 3", "Figure 4", "Figure 5"),
    "mpsan": ("Tables 1 to 5", "Table 6", "Table 7"),
    "generalized_pooling": (
        "Tables 1 and 4",
        "Tables 2 and 4",
        "Tables 3 and 4",
        "Figure 1",
        "Figure 2",
    ),
    "sam": ("Tables 2 and 4", "Tables 3 and 4", "Tables 4 and 5", "Figure 2", "Figure 3"),
}


def test_the_matrix_has_every_table_and_figure():
    for paper_, places in TABLES.items():
        assert {place.name for place in book.PLACES if place.paper == paper_} == set(places)
    for paper in PAPERS[:5]:
        columns = {place.dataset for place in book.PLACES if place.paper == paper.name}
        # Two sizes of HCAN's reviews say nothing of its paper that the third does not.
        assert set(paper.tasks) - columns <= {"imdb", "imdb_stars"}


def test_the_matrix_tells_what_is_there(tmp_path):
    place = book.Place("invented", "Table 1", "toys", "toy", reason="no time")
    paper = Invented([])
    papers = {"invented": paper}
    assert book.state(place, papers, tmp_path).state == "not run"
    rows = rows_of([paper])
    reproduce(rows, Options(), [0], tmp_path)
    found = book.state(place, papers, tmp_path)
    assert (found.state, found.done, found.rows, found.runs) == ("in part", 2, 2, (1, 1))
    reproduce(rows, Options(), None, tmp_path)
    assert book.state(place, papers, tmp_path).state == "reproduced"


def test_a_place_cannot_claim_what_is_not_there(tmp_path):
    place = book.Place("lama", "Figure 9", "a dream", notebook=("01_lama", "Figure 9: a dream"))
    with pytest.raises(ValueError, match="no section"):
        book.state(place, {}, tmp_path)
    place = book.Place("lama", "Figure 9", "a dream", drawn=("speed.md", "speed: a dream"))
    with pytest.raises(ValueError, match="no marker"):
        book.state(place, {}, tmp_path)
    lines = book.matrix(command.PAPERS).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 * len(book.PAPERS) + len(book.PLACES)
    assert all(line.count("|") == rows[0].count("|") for line in rows)


def test_every_claim_has_one_line():
    lines = book.lines(command.PAPERS)
    keys = [(line.paper, line.table, line.claim) for line in lines]
    assert len(set(keys)) == len(keys) and {line.paper for line in lines} == set(book.PAPERS)
    for line in lines:
        untested = line.word == book.UNTESTED
        assert line.word in (*book.WORDS, book.UNTESTED) and line.on
        assert (line.here == "–") == untested and (line.said != "–" or untested)
    held = sum(line.word == "held" and bool(line.judged) for line in lines)
    kinds = book.held(command.PAPERS)
    assert f"the {held} *held* claims" in kinds
    numbers = [int(row.split(" | ")[1]) for row in kinds.split("\n")[2:7]]
    assert sum(numbers) == held > 2 * numbers[-1]  # most are weak evidence
    of_sam = [claim for line in lines if line.paper == "sam" for claim, _ in line.judged]
    assert {claim.worse for claim in of_sam if claim.word == "held"} == {"language model"}
    for name, told in {
        "sam": "All 8 *held* claims are weak evidence: the other row is the first token of MiniLM",
        "lama": "The one *held* claim is weak evidence: another of our sets or recipes says",
        "hcan": "*reversed*. None of the 2 is held on another of our sets. One verdict is counted",
        "mpsan": "Of the 5 *held* claims, 4 are weak evidence: the interval is unpaired.",
    }.items():
        assert told in book.total(name, command.PAPERS)
    head, _, *rows = book.counts(command.PAPERS).split("\n\n")[0].splitlines()
    counts = np.array([[int(cell) for cell in row.split("|")[2:8]] for row in rows])
    assert "| held | level | refuted in size | reversed | untested | claims |" in head
    assert (counts[:, -1] == counts[:, :-1].sum(axis=1)).all()
    assert (counts[-2] == counts[:-2].sum(axis=0)).all() and counts[-2].all()
    assert counts[-2:, -1].sum() == len(lines)


class Claimed(Invented):
    """A paper with a set of its own, two that stand in for it, and one that nobody has."""

    own = Invented.tasks["toy"]
    tasks = {
        "own": dataclasses.replace(own, table="1 and 2, OWN", paper={"a": 80, "b": 75, "c": 75}),
        "whole": dataclasses.replace(own, column="own", paper={}),
        "part": dataclasses.replace(own, column="own", paper={}),
        "far": dataclasses.replace(own, table="3, FAR", paper={"a": 61.5, "b": 60}),
    }
    claims = (
        ("a", "b", "it helps"),
        ("a, tuned", "b, tuned", "it helps, tuned"),
        ("b", "c", "it changes nothing"),
        ("a", "d", "ours"),
    )
    on_gpu = ("a, tuned", "b, tuned")

    def original(self, row):
        return row.removesuffix(", tuned")


def test_a_claim_is_judged_by_what_is_closest_to_the_paper(tmp_path):
    """By hand: 100 test items, of which each run has as many right as its figure says."""

    def write(dataset, **figures):
        rows = {
            name.replace("_", ", "): {
                "config": {"optimizer": "adam"},
                "runs": [
                    {"seed": seed, "test_accuracy": share / 100, "correct": packed(items < share)}
                    for seed in range(runs)
                ],
                "summary": {"test_accuracy": {"mean": share / 100, "std": 0.0}},
            }
            for name, (share, runs) in figures.items()
        }
        claims = [(*claim, paper.distance(dataset, *claim[:2])) for claim in paper.claims]
        head = {"measure": "accuracy", "test_examples": 100, "claims": claims, "rows": rows}
        (tmp_path / f"invented_{dataset}.json").write_text(json.dumps(head))

    def found():
        return {(line.table, line.claim): line for line in book._orders(paper, tmp_path)}

    items, paper = np.arange(100), Claimed([])
    one, equal, far = ("Tables 1 and 2, OWN", "it helps (a − b)"), None, None
    equal = ("Tables 1 and 2, OWN", "it changes nothing (b − c)")
    far = ("Table 3, FAR", "it helps (a − b)")
    assert set(found()) == {one, equal, far}  # What is ours is no claim of the paper's.
    assert {line.word for line in found().values()} == {book.UNTESTED}
    assert found()[one].said == "80 against 75: +5.0" and found()[far].on == "rows not run"

    write("part", a=(70, 2), b=(40, 2), c=(40, 2))
    line = found()[one]
    assert (line.word, line.here) == ("held", "+30.0 (+21.0 to +39.0)") and line.on == "`part`"
    assert found()[equal].word == "held" and found()[far].word == book.UNTESTED
    # A single run is no match for two, however close to the paper.
    write("whole", a=(40, 1), b=(70, 1))
    line = found()[one]
    assert line.word == "held" and line.on == "`part`; `whole`: reversed, by one run"
    write("whole", a=(40, 2), b=(70, 2), a_tuned=(42, 2), b_tuned=(40, 2))
    line = found()[one]
    assert line.word == "level" and line.on == "`whole`, tuned; `whole`: reversed; `part`: held"


def test_times_are_judged_by_the_range_of_their_rounds(tmp_path):
    def timed(paper, *relative):
        return {"paper": paper, "relative": list(relative)}

    first = timed(1.0, 1.0, 1.0, 1.0)
    entry = {
        "base": first,
        "slower": timed(1.5, 1.4, 1.2, 1.6),
        "faster": timed(0.5, 0.9, 0.7, 1.1),
        "as long": timed(1.0, 1.03, 1.01, 1.05),
        "not timed": timed(None, 2.0, 2.0, 2.0),
    }
    gpu = {"base, one document at a time": first, "slower": timed(1.5, 0.8, 0.7, 0.9)}
    (tmp_path / "x.json").write_text(json.dumps({"times": entry, "times_gpu": gpu}))
    place = book.Place("lama", "Table 9", "time", stands_in="toys", note=("x", "times"))
    slower, faster, same = book._times(place, tmp_path)
    assert slower.claim == "time of slower against base" and slower.word == "reversed"
    assert slower.said == "1.50 times" and slower.here == "0.80 times (0.70 to 0.90)"
    assert slower.on == "`x`, a GPU; a CPU: held"
    rules = " ".join((book.PAGES / "results.md").read_text(encoding="utf-8").split())
    assert f"at most {100 * EQUAL:.0f} point to either side" in rules
    assert f"by {100 * book.ROUNDED:.1f} % at each end" in rules
    assert f"at most {100 * book.EQUAL_TIMES:.0f} % to either side of 1.00" in rules
    # Half of the paper's time is outside the range; seconds are printed whole.
    assert faster.word == "refuted in size" and same.word == "held"


def test_the_files_have_the_claims_of_the_papers():
    for row in {row.experiment: row for row in ROWS}.values():
        file = results_of(row, Options()).path
        if file.exists() and row.paper.claims:
            header = json.loads(json.dumps(row.paper.header(row.dataset)))
            measured = json.loads(file.read_text(encoding="utf-8"))
            assert measured["claims"] == header["claims"], file
            needed = measured["measure"] == "f1"
            assert "test_targets" in measured or not needed


def test_a_place_that_is_not_run_has_its_reason():
    for state in book.states(command.PAPERS):
        if state.state == "not run":
            assert state.place.reason or state.needs, state.place
