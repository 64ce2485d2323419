"""ERASER's files: written as its tools read them, read back, and its metrics on them."""

import json

import numpy as np
import pytest

from keras_attnpool import analysis

pytestmark = pytest.mark.one_backend("reads and writes files")

TOKENS = [["a", "very", "bad", "film", "."], ["good", "one"], []]
GOLD = [[0, 1, 1, 0, 1], [1, 0], []]
WEIGHTS = np.array([[0.1, 0.2, 0.5, 0.1, 0.1], [0.6, 0.4, 0, 0, 0], [0] * 5])
NAMES = ["NEG", "POS"]


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_there_and_back(tmp_path):
    folder = analysis.to_eraser(
        tmp_path / "set", TOKENS, [0, 1, 0], NAMES, rationales=GOLD, attributions=WEIGHTS
    )
    texts = analysis.from_eraser(folder)
    assert texts.tokens == TOKENS and texts.label_names == NAMES
    assert texts.labels.tolist() == [0, 1, 0] and texts.names == [f"test-{i}" for i in range(3)]
    assert [row.tolist() for row in texts.rationales] == [[bool(x) for x in row] for row in GOLD]
    for row, weights, size in zip(texts.attributions, WEIGHTS, (5, 2, 0), strict=True):
        np.testing.assert_array_equal(row, weights[:size])
    # What came back is graded as what went out.
    there, back = (
        analysis.rationale_iou_f1(*each)
        for each in ((WEIGHTS, GOLD), (texts.attributions, texts.rationales))
    )
    assert there.mean == back.mean


def test_the_files_are_as_its_tools_want_them(tmp_path):
    analysis.to_eraser(
        tmp_path,
        TOKENS,
        np.array([0, 1, 0]),
        NAMES,
        rationales=GOLD,
        attributions=WEIGHTS,
        probabilities=[[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]],
        share=0.4,
        split="val",
    )
    assert lines(tmp_path / "docs.jsonl")[0] == {"docid": "val-0", "document": "a very bad film ."}
    annotation = lines(tmp_path / "val.jsonl")[0]
    assert annotation["classification"] == "NEG" and annotation["docids"] == ["val-0"]
    evidence = [each for group in annotation["evidences"] for each in group]
    spans = [(each["start_token"], each["end_token"], each["text"]) for each in evidence]
    assert spans == [(1, 3, "very bad"), (4, 5, ".")]
    # What ERASER's `Evidence` and `Annotation` take, and nothing else.
    assert set(evidence[0]) == {
        *("text", "docid", "start_token", "end_token", "start_sentence", "end_sentence")
    }
    assert set(annotation) == {
        *("annotation_id", "query", "evidences", "classification", "query_type", "docids")
    }
    result = lines(tmp_path / "results.jsonl")[0]
    assert result["classification"] == "NEG"
    assert result["classification_scores"] == {"NEG": 0.8, "POS": 0.2}
    (rationale,) = result["rationales"]
    assert rationale["hard_rationale_predictions"] == [{"start_token": 1, "end_token": 3}]
    assert rationale["soft_rationale_predictions"] == WEIGHTS[0].tolist()


def metrics(folder):
    """Token F1 and AOPC as ERASER computes them from its files."""
    truth, pred = (
        {(each["annotation_id"], t) for each in found for t in spans(each)}
        for found, spans in (
            (lines(folder / "test.jsonl"), evidence_tokens),
            (lines(folder / "results.jsonl"), predicted_tokens),
        )
    )
    scores = []
    for name in sorted({name for name, _ in truth | pred}):
        t, p = ({x for x in each if x[0] == name} for each in (truth, pred))
        precision, recall = len(t & p) / len(p), len(t & p) / len(t)
        scores.append(2 * precision * recall / (precision + recall) if t & p else 0)
    return np.mean(scores)


def evidence_tokens(annotation):
    for (each,) in annotation["evidences"]:
        yield from range(each["start_token"], each["end_token"])


def predicted_tokens(result):
    for each in result["rationales"][0]["hard_rationale_predictions"]:
        yield from range(each["start_token"], each["end_token"])


def test_its_token_f1_on_the_files_is_ours(tmp_path):
    rng = np.random.default_rng(0)
    sizes = rng.integers(4, 15, 30)
    tokens = [["word"] * n for n in sizes]
    gold = [rng.permutation(np.arange(n) < 1 + n // 4) for n in sizes]
    weights = [rng.random(n) for n in sizes]
    analysis.to_eraser(
        tmp_path, tokens, [0] * 30, NAMES, rationales=gold, attributions=weights, share=0.3
    )
    ours = analysis.rationale_token_f1(weights, gold, share=0.3)
    assert ours.num_scored == 30
    np.testing.assert_allclose(ours.mean, metrics(tmp_path), atol=1e-9)


def test_several_documents_and_a_folder_of_them(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "premise").write_text("a dog\nruns fast\n")
    (tmp_path / "docs" / "claim").write_text("it runs")
    evidence = {"docid": "claim", "start_token": 1, "end_token": 2, "text": "runs"}
    annotation = {
        "annotation_id": "x",
        "query": "?",
        "classification": "yes",
        "docids": ["premise", "claim"],
        "evidences": [[evidence]],
    }
    (tmp_path / "train.jsonl").write_text(json.dumps(annotation))
    texts = analysis.from_eraser(tmp_path, "train")
    assert texts.tokens == [["a", "dog", "runs", "fast", "it", "runs"]]
    assert texts.rationales[0].tolist() == [False] * 5 + [True] and texts.attributions is None


def test_splits_share_a_folder(tmp_path):
    """As ERASER's tools read them: one file of documents and results, three of annotations."""
    for split, texts in (("train", TOKENS[:2]), ("test", [["other", "text"]])):
        weights = [np.arange(len(row)) for row in texts]
        labels = [0] * len(texts)
        analysis.to_eraser(tmp_path, texts, labels, NAMES, attributions=weights, split=split)
    assert analysis.from_eraser(tmp_path, "train").tokens == TOKENS[:2]
    # Written again, without attributions: no result of the earlier texts is taken for theirs.
    analysis.to_eraser(tmp_path, [["a", "new"]], [0], NAMES)
    texts = analysis.from_eraser(tmp_path)
    assert texts.tokens == [["a", "new"]] and texts.attributions is None
    assert len(analysis.from_eraser(tmp_path, "train").attributions) == 2


def test_evidence_of_a_document_that_is_not_listed_and_odd_line_ends(tmp_path):
    documents = [{"docid": "a", "document": "one\u2028two"}, {"docid": "b", "document": "three"}]
    written = "\n".join(json.dumps(each, ensure_ascii=False) for each in documents)
    (tmp_path / "docs.jsonl").write_text(written, encoding="utf-8")
    evidence = {"docid": "b", "start_token": 0, "end_token": 1}
    annotation = {"annotation_id": "x", "classification": "yes", "evidences": [[evidence]]}
    (tmp_path / "test.jsonl").write_text(json.dumps({**annotation, "docids": ["a"]}))
    texts = analysis.from_eraser(tmp_path)
    assert texts.tokens == [["one\u2028two", "three"]]
    assert texts.rationales[0].tolist() == [False, True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": [["a b"], ["c"]]}, "white space"),
        ({"tokens": [[""], ["c"]]}, "'' in text 0"),
        ({"labels": [0, 2]}, r"`labels` in \[0, 2\)"),
        ({"attributions": [[1.0], [1.0, 2.0]]}, "as many `attributions`"),
        ({"rationales": [[1]]}, "2 in all"),
        ({"rationales": [[1], [0.5]]}, "0/1 arrays"),
        ({"probabilities": [[1, 0]], "attributions": [[1], [1]]}, r"shape \(2, 2\)"),
        ({"probabilities": [[np.nan, 1]] * 2, "attributions": [[1], [1]]}, "2 numbers not finite"),
        ({"probabilities": [[1, 0]] * 2}, "beside `attributions`"),
        ({"share": 0}, r"`share` in \(0, 1\]"),
    ],
)
def test_what_cannot_be_written(tmp_path, change, message):
    given = {"tokens": [["a"], ["b"]], "labels": [0, 1], "label_names": NAMES}
    with pytest.raises(ValueError, match=message):
        analysis.to_eraser(tmp_path / "out", **{**given, **change})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("docs.jsonl", "[1]\n{", "line 1 is no JSON object"),
        ("docs.jsonl", '{"docid": "x"}', "line 1 is no JSON object with docid, document"),
        ("docs.jsonl", '{"docid": "other", "document": "x"}', "of no document, 'test-0'"),
        ("docs.jsonl", '{"docid": "test-0", "document": "x"}', "from 1 to 3 of document 'test-0'"),
        (
            "results.jsonl",
            '{"annotation_id": "test-0", "rationales": [{"docid": "test-0"}]}',
            "each token",
        ),
    ],
)
def test_what_cannot_be_read(tmp_path, file, content, message):
    analysis.to_eraser(tmp_path, TOKENS[:1], [0], NAMES, rationales=GOLD[:1])
    (tmp_path / file).write_text(content)
    with pytest.raises(ValueError, match=message):
        analysis.from_eraser(tmp_path)


def test_results_of_some_texts_are_told(tmp_path):
    analysis.to_eraser(tmp_path, TOKENS[:2], [0, 1], NAMES, attributions=WEIGHTS[:2])
    first = (tmp_path / "results.jsonl").read_text().splitlines()[0]
    (tmp_path / "results.jsonl").write_text(first)
    with pytest.raises(ValueError, match="results of 1 of 2 texts"):
        analysis.from_eraser(tmp_path)
    with pytest.raises(FileNotFoundError):
        analysis.from_eraser(tmp_path, "dev")


def test_splits_share_their_classes(tmp_path):
    names = ["NEG", "NEUTRAL", "POS"]
    analysis.to_eraser(tmp_path, [["a"], ["b"], ["c"]], [0, 1, 2], names, split="train")
    analysis.to_eraser(tmp_path, [["a"], ["b"]], [2, 0], names)
    train = analysis.from_eraser(tmp_path, "train")
    test = analysis.from_eraser(tmp_path, label_names=train.label_names)
    assert test.labels.tolist() == [2, 0] and test.label_names == names
    for given in (["NEG"], ["NEG", "POS", "POS"]):
        with pytest.raises(ValueError, match="distinct `label_names` with every class"):
            analysis.from_eraser(tmp_path, label_names=given)


@pytest.mark.parametrize("in_one_file", [True, False])
def test_tokens_are_parted_as_eraser_parts_them(tmp_path, in_one_file):
    """By single spaces: a no-break space parts nothing, two spaces hold an empty token."""
    document = "price\u00a0is low\n the  film was bad "
    if in_one_file:
        lines = json.dumps({"docid": "one", "document": document})
        (tmp_path / "docs.jsonl").write_text(lines, encoding="utf-8")
    else:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "one").write_text(document, encoding="utf-8")
    span = {"docid": "one", "start_token": 1, "end_token": 2}
    annotation = {"annotation_id": "one", "classification": "NEG", "evidences": [[span]]}
    (tmp_path / "test.jsonl").write_text(json.dumps(annotation), encoding="utf-8")
    texts = analysis.from_eraser(tmp_path)
    empty = [""] if in_one_file else []
    assert texts.tokens[0] == ["price\u00a0is", "low", "the", *empty, "film", "was", "bad"]
    assert np.flatnonzero(texts.rationales[0]).tolist() == [1]
