"""SNLI's and MultiNLI's files."""

import gzip
import json

import pytest

from keras_attnpool.workbench import datasets

pytestmark = pytest.mark.one_backend("reads files")


def line(label, first="A dog runs.", second="An animal moves.", **more):
    return json.dumps({"gold_label": label, "sentence1": first, "sentence2": second, **more})


def write(folder, *lines):
    path = folder / "snli.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_pairs_labels_and_what_is_left_out(tmp_path):
    path = write(
        tmp_path,
        line("contradiction", second=" A cat\u2028sits. ", pairID="7"),
        line("-"),
        line("entailment"),
        "",
        line("neutral", first="Ein Zitat: „Ja“"),
    )
    pairs = datasets.load_nli(path)
    assert pairs.label_names == ("entailment", "neutral", "contradiction")
    assert pairs.labels.tolist() == [2, 0, 1]
    assert pairs.sentences_b[0] == "A cat\u2028sits." and pairs.sentences_a[2].endswith("„Ja“")
    assert pairs.relatedness is None
    packed = tmp_path / "snli.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert datasets.load_nli(packed).sentences_a == pairs.sentences_a


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("{", "line 2: not a JSON object"),
        ("[1]", "line 2: the line must be a JSON object"),
        ('{"gold_label": "neutral", "sentence1": "x"}', "line 2: the line must be a JSON object"),
        (line("maybe"), "line 2: .*'maybe'"),
        (line("neutral", second="  "), "line 2: a sentence is empty"),
    ],
)
def test_faults_are_named_with_their_line(tmp_path, broken, message):
    with pytest.raises(ValueError, match=message):
        datasets.load_nli(write(tmp_path, line("neutral"), broken))


def test_a_file_without_pairs_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no labelled pair"):
        datasets.load_nli(write(tmp_path, line("-")))
    with pytest.raises(FileNotFoundError):
        datasets.load_nli(tmp_path / "nowhere.jsonl")
