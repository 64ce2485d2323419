"""The engine of the reproductions: its list, its files, its floors, its matrix."""

import dataclasses
import json
import os
import types

import numpy as np
import pytest

from benchmarks.reproduce import __main__ as command
from benchmarks.reproduce import book, comparison, engine, floors, pieces, sam
from benchmarks.reproduce import results as kept
from benchmarks.reproduce.engine import Options, Row, reproduce, results_of, rows_of
from benchmarks.reproduce.results import packed, unpacked
from keras_attnpool import corpora, text

pytestmark = pytest.mark.one_backend("how runs are kept; the models have their own tests")

PAPERS = list(command.PAPERS.values())
ROWS = rows_of(PAPERS)
FILES = sorted(path for path in engine.RESULTS.glob("*.json") if ".quick" not in path.name)


# --- the list ----------------------------------------------------------------------------------


def test_every_measured_row_is_in_the_list():
    known = {(f"{row.paper}_{row.dataset}", row.name) for row in ROWS}
    for path in (p for p in FILES if p.stem != "behaviour"):
        for name in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            assert (path.stem, name) in known, (path.name, name)


def test_what_was_measured_can_be_run_again():
    """A row's configuration is the one of its results: else a rerun would refuse."""
    for row in ROWS:
        results_of(row, Options()).done(row.name, row.config(Options()))


@pytest.mark.parametrize("module", PAPERS, ids=list(command.PAPERS))
def test_an_experiment_says_what_it_is(module):
    for dataset in module.DATASETS:
        header = module.header(dataset)
        assert {"paper", "table", "dataset", "measure", "claims", "protocol"} <= set(header)
        rows = module.rows(dataset)
        assert floors.ROWS[0] in rows or "linear SVM" in rows
        for published in rows.values():
            assert published is None or 0 < published < 1
        for better, worse, words, _ in header["claims"]:
            assert words and better != worse
        assert module.seeds(dataset, False) >= 1 and module.seeds(dataset, True) >= 1
        json.dumps([header, [module.config(dataset, row, Options()) for row in _own(module, rows)]])


def _own(module, rows):
    return [row for row in rows if row not in floors.ROWS]


def test_rows_can_be_chosen():
    only = rows_of(PAPERS, only=["mpsan/*/DiSAN", "sam/trec/SAM*"])
    assert {row.paper for row in only} == {"mpsan", "sam"}
    assert "sam/trec/SAM pointwise" in {row.key for row in only}
    assert {row.name for row in only if row.paper == "mpsan"} == {"DiSAN"}
    assert {row.dataset for row in rows_of(PAPERS, ["sick"])} == {"sick"}


def test_the_command_line_lists_and_refuses(capsys):
    command.main(["lama", "--dataset", "r8", "--list"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(rows_of([command.PAPERS["lama"]], ["r8"]))
    (lama,) = [line for line in lines if line.startswith("lama/r8/LAMA+ctx ")]
    assert "3 of 3 runs" in lama and "paper: 97.30" in lama
    for given, word in (
        (["--dataset", "nothing"], "unknown data sets"),
        (["--rows", "nothing"], "unknown rows"),
        (["--only", "nothing/*"], "no row fits"),
        (["lama", "--dataset", "r8", "--epoch-times"], "no times of epochs"),
    ):
        with pytest.raises(SystemExit):
            command.main(given)
        assert word in capsys.readouterr().err


def test_a_set_that_the_user_has_to_bring_is_left_out_with_its_name(capsys):
    command.main(["hcan", "--dataset", "pubmed"])
    assert "left out: hcan/pubmed needs pubmed.tsv" in capsys.readouterr().out
    row = rows_of([command.PAPERS["hcan"]], ["pubmed"])[0]
    with pytest.raises(SystemExit, match=r"pubmed\.tsv"):
        row.module.load("pubmed", Options(), 0)


# --- the engine --------------------------------------------------------------------------------


def paper(train):
    """A paper of two rows, one of which chance has no part in."""
    module = types.ModuleType("tests.invented")
    module.DATASETS, module.LINEAR = ("toy",), ("fixed",)
    module.rows = lambda dataset: {"drawn": 0.5, "fixed": None}
    module.header = lambda dataset: {"measure": "accuracy", "protocol": {}}
    module.seeds = lambda dataset, full: 5 if full else 2
    module.needs = lambda dataset: None
    module.config = lambda dataset, row, options: {"model": row}
    module.load = lambda dataset, options, seed: [seed]
    module.described = lambda data: {"test_examples": 3}

    def run(dataset, row, data, seed, options):
        train.append((row, seed))
        return {"seed": seed, "test_accuracy": 0.25 * (seed + 1)}, {"parameters": 7}

    module.run = run
    return module


def test_what_is_there_is_not_run_again(tmp_path):
    trained = []
    rows = rows_of([paper(trained)])
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
    assert "2 of 2 runs" in line and "paper: 50.00" in line


def test_what_an_older_file_says_of_its_data_is_renewed(tmp_path):
    rows = rows_of([paper([])])
    reproduce(rows, Options(), [0], tmp_path)
    file = tmp_path / "invented_toy.json"
    before = json.loads(file.read_text())
    file.write_text(json.dumps({**before, "noted": 1, "test_examples": 2}))
    rows[0].module.header = lambda dataset: {"measure": "accuracy", "protocol": {}, "folded": True}
    reproduce(rows, Options(), [1], tmp_path)
    after = json.loads(file.read_text())
    assert after["folded"] and after["noted"] == 1 and after["test_examples"] == 3
    assert after["rows"]["drawn"]["runs"][0] == before["rows"]["drawn"]["runs"][0]
    assert after["versions"] == before["versions"]


def test_a_run_on_a_gpu_says_so_and_tells_nothing_of_the_processor(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "device", lambda: "NVIDIA H200")
    reproduce(rows_of([paper([])])[:1], Options(), [0], tmp_path)
    (run,) = json.loads((tmp_path / "invented_toy.json").read_text())["rows"]["drawn"]["runs"]
    assert run["device"] == "NVIDIA H200" and "seconds" in run
    assert not {"cpu_seconds", "process_memory_mb"} & set(run)


def test_a_run_keeps_the_versions_that_the_file_does_not_have(tmp_path, monkeypatch):
    rows = rows_of([paper([])])[:1]
    reproduce(rows, Options(), [0], tmp_path)
    there = kept.versions()
    monkeypatch.setattr(kept, "versions", lambda: {**there, "numpy": "9.9", "backend": "other"})
    reproduce(rows, Options(), [1], tmp_path)
    found = json.loads((tmp_path / "invented_toy.json").read_text())
    first, second = found["rows"]["drawn"]["runs"]
    assert "versions" not in first and second["versions"] == {"numpy": "9.9"}
    assert found["versions"] == there


def test_a_run_may_join_older_ones_that_know_less(tmp_path):
    module = paper([])
    first = rows_of([module])[:1]
    reproduce(first, Options(), [0], tmp_path)
    run = module.run
    module.run = lambda *given: (run(*given)[0] | {"validation_accuracy": 0.9}, {})
    reproduce(first, Options(), [1], tmp_path)
    entry = json.loads((tmp_path / "invented_toy.json").read_text())["rows"]["drawn"]
    assert entry["runs"][1]["validation_accuracy"] == 0.9
    assert set(entry["summary"]) == {"test_accuracy"}  # The mean of all runs, or none.


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


def test_quick_and_full_have_files_of_their_own(tmp_path):
    trained = []
    rows = rows_of([paper(trained)])
    reproduce(rows, Options(quick=True), None, tmp_path)
    assert trained == [("drawn", 0), ("fixed", 0)]
    reproduce(rows[:1], Options(full=True), None, tmp_path)
    assert len(trained) == 7
    assert {path.name for path in tmp_path.iterdir()} == {
        "invented_toy.quick.json",
        "invented_toy.full.json",
    }


def test_another_configuration_is_refused_and_nothing_overwritten(tmp_path):
    rows = rows_of([paper([])])
    reproduce(rows, Options(), [0], tmp_path)
    before = (tmp_path / "invented_toy.json").read_text()
    rows[0].module.config = lambda dataset, row, options: {"model": "another"}
    with pytest.raises(SystemExit, match="another configuration"):
        reproduce(rows, Options(), [1], tmp_path)
    assert (tmp_path / "invented_toy.json").read_text() == before


def test_a_run_that_another_process_has_begun_is_left_to_it(tmp_path):
    trained = []
    rows = rows_of([paper(trained)])
    theirs = tmp_path / ".invented_toy.drawn.0.running"
    theirs.write_text(str(os.getppid()))
    reproduce(rows, Options(), [0], tmp_path)
    assert trained == [("fixed", 0)] and theirs.exists()
    theirs.write_text("999999999")  # No such process: it was killed.
    reproduce(rows, Options(), [0], tmp_path)
    assert trained[1:] == [("drawn", 0)] and not theirs.exists()


def test_an_interrupted_run_leaves_no_claim(tmp_path):
    module = paper([])
    module.run = lambda *args: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        reproduce(rows_of([module]), Options(), None, tmp_path)
    assert not list(tmp_path.iterdir())


def test_peak_memory_is_that_of_the_block():
    with engine.peak_memory() as before:
        pass
    with engine.peak_memory() as peak:
        np.ones(30_000_000).sum()
    with engine.peak_memory() as after:
        pass
    if peak:  # Only Linux tells.
        name = "process_memory_mb"
        assert 200 < peak[name] - before[name] < 400 and peak[name] - after[name] > 150


def test_right_answers_are_kept_item_by_item():
    right = np.random.default_rng(0).random(37) < 0.6
    assert (unpacked(packed(right), 37) == right).all()


# --- the floors --------------------------------------------------------------------------------


def test_tf_idf_on_texts():
    made = [corpora.questions(count, seed=seed) for count, seed in ((300, 0), (60, 1), (100, 2))]
    result, facts = floors.run("TF-IDF, linear", tuple(made), 0, "accuracy")
    assert result["test_accuracy"] == round(unpacked(result["correct"], 100).mean(), 5)
    assert result["strength"] in floors.STRENGTHS and facts["parameters"] > 300
    again, _ = floors.run("TF-IDF, linear", tuple(made), 0, "accuracy")
    assert again["correct"] == result["correct"]


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
    assert graded["test_pearson"] > 0.95 and "correct" not in graded


# --- the comparison ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy():
    """Reviews, few."""
    data = object.__new__(comparison.Data)
    made = [corpora.reviews(count, seed=seed) for count, seed in ((64, 1), (16, 2), (24, 3))]
    data.task = comparison.TASKS["reviews"]
    data.num_classes = 5
    data.tokenizer = comparison.text.WordTokenizer.train(made[0].texts)
    data.vectors = np.random.default_rng(0).normal(size=(data.tokenizer.vocabulary_size, 8))
    data.parts = [
        (data.tokenizer.encode(part.texts, max_length=96), np.array(part.labels)) for part in made
    ]
    data.rationales = made[2].rationales
    return data


def test_every_mechanism_stands_between_the_same_parts(toy):
    rows = [*comparison.MECHANISMS, comparison.KERAS]
    built = {row: comparison.build(row, toy) for row in rows}
    for model in built.values():
        names = [layer.name for layer in model.layers]
        assert {"embedding", "hidden", "classifier"} <= set(names)
        assert model.output_shape == (None, 5)
    counts = {row: model.count_params() for row, model in built.items()}
    assert counts["MaskedAveragePooling1D"] == counts["MaskedMaxPooling1D"]
    assert counts["GeneralizedPooling"] > counts["LowRankAttentionPooling"]


# One of each form of scores; compiling the models takes a while.
@pytest.mark.parametrize(
    "row",
    [
        "SequentialAttention",
        pytest.param("AttentionPooling", marks=pytest.mark.slow),
        pytest.param("GeneralizedPooling", marks=pytest.mark.slow),
        pytest.param("ConvMultiHeadAttention", marks=pytest.mark.slow),
    ],
)
def test_attention_is_scored_on_the_words_that_decide(toy, row):
    result, facts = comparison.run("reviews", row, toy, 0, Options(quick=True))
    assert 0 < result["test_rationale_mass"] < 1 and 0 < result["test_rationale_auc"] < 1
    assert -1 < result["test_deletion_gap"] < 1
    assert len(unpacked(result["correct"], 24)) == 24
    assert facts["parameters_without_embeddings"] < facts["parameters"]


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
    data = pieces.Pieces(task, [(texts, [1, 0, 0])] * 3, 2, "tiny")
    (short, _), (long, labels) = sorted(data.batches(0), key=lambda b: b[0]["token_ids"].shape[1])
    assert short["token_ids"].shape == (2, 4) and long["token_ids"].shape == (1, 12)
    # Cut, between the special tokens; padding is told by the mask.
    np.testing.assert_array_equal(long["token_ids"][0], [2, *[8] * 10, 3])
    np.testing.assert_array_equal(short["padding_mask"].sum(axis=1), [4, 3])
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
    data = pieces.Pieces(task, [(["good film", "bad film"], [1, 0])] * 3, 2, "tiny")
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
    "sam": (
        "Tables 2 and 4",
        "Tables 3 and 4",
        "Tables 4 and 5",
        "Figure 2",
        "Figure 3",
    ),
}


def test_the_matrix_has_every_table_and_figure():
    for paper_, places in TABLES.items():
        assert {place.name for place in book.PLACES if place.paper == paper_} == set(places)
    for module in PAPERS[:5]:
        name = Row(module, "", "", None).paper
        columns = {place.dataset for place in book.PLACES if place.paper == name}
        # Two sizes of HCAN's reviews say nothing of its paper that the third does not.
        assert set(module.DATASETS) - columns <= {"imdb", "imdb_stars"}


def test_the_matrix_tells_what_is_there(tmp_path):
    place = book.Place("invented", "Table 1", "toys", "toy", reason="no time")
    module = paper([])
    modules = {"invented": module}
    assert book.state(place, modules, tmp_path).state == "not run"
    rows = rows_of([module])
    reproduce(rows, Options(), [0], tmp_path)
    found = book.state(place, modules, tmp_path)
    assert (found.state, found.done, found.rows, found.runs) == ("in part", 2, 2, (1, 1))
    reproduce(rows, Options(), None, tmp_path)
    assert book.state(place, modules, tmp_path).state == "reproduced"


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


def test_a_place_that_is_not_run_has_its_reason():
    for state in book.states(command.PAPERS):
        if state.state == "not run":
            assert state.place.reason or state.needs, state.place
