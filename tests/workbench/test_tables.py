"""A table, a mapping or a set is no sequence of texts: the error names the column to pass."""

import itertools

import numpy as np
import pytest

from keras_attnpool import analysis
from keras_attnpool.workbench import datasets, text

pytestmark = pytest.mark.one_backend("arguments are checked before anything is computed")

TEXTS = ["good room", "bad room"]
TOKENIZER = text.WordTokenizer.train(TEXTS)


class Frame:
    """What makes a pandas DataFrame one: `columns`, two axes, and iteration over names."""

    columns, shape = ("label", "text"), (2, 2)

    def __iter__(self):
        return iter(self.columns)


# A table, and how its column is called in the error.
TABLES = {
    "frame": (Frame(), r"pass one column, \w+\['(text|label)'\]. Received: Frame with \["),
    "dict": ({"text": TEXTS}, r"pass one column, \w+\['text'\]. Received: dict with \['text'\]"),
    "set": ({"good room", "bad room"}, r"a set has no order: pass sorted\(\w+\)"),
    "array": (np.array([[TEXTS, TEXTS]]), r"must be .* Received: ndarray of shape \(1, 2, 2\)"),
    "columns": (np.array([["x", "good"], ["y", "bad"]]), r"pass one, \w+\[:, 0\]"),
    "rows": ([["good room"], ["bad room"]], "hold strings only. Received: list at index 0"),
    "bytes": ([b"good room", b"bad room"], "hold strings only. Received: bytes at index 0"),
    "string": ("ab", "Received: one string, 'ab'"),
}
# Each takes what stands for texts or words.
ENTRIES = {
    "WordTokenizer": text.WordTokenizer,
    "WordTokenizer.train": text.WordTokenizer.train,
    "WordTokenizer.encode": TOKENIZER.encode,
    "WordTokenizer.encode_sentences": TOKENIZER.encode_sentences,
    "CharacterTokenizer.train": text.CharacterTokenizer.train,
    "CharacterTokenizer.encode": text.CharacterTokenizer(["[PAD]", "[UNK]"]).encode,
    "word2vec": lambda table: text.word2vec(table, TOKENIZER),
    "load_word_vectors": lambda table: text.load_word_vectors("none.txt", table),
    "LabeledTexts": lambda table: datasets.LabeledTexts(table, [0, 1], ("a", "b")),
    "LabeledTexts names": lambda table: datasets.LabeledTexts(TEXTS, [0, 1], table),
    "SentencePairs": lambda table: datasets.SentencePairs(TEXTS, table, [0, 1], ("a", "b")),
    "heatmap_html": lambda table: analysis.heatmap_html(table, [0.5, 0.5]),
    "weight_distribution": lambda table: analysis.weight_distribution(
        [["a"]], [[1.0]], table, [0], ["x"]
    ),
    "top_attended_words": lambda table: analysis.top_attended_words(
        table, np.ones((2, 2)), [0, 1], ["x", "y"]
    ),
    "top_attended_words names": lambda table: analysis.top_attended_words(
        [["a"]], [[1.0]], [0], table
    ),
}

# A list of lists of words, and the names of steps, which are made strings.
TAKEN = [*itertools.product(["top_attended_words"], ["columns", "rows", "bytes"])]
TAKEN += itertools.product(["heatmap_html"], ["rows", "bytes"])


@pytest.mark.parametrize(
    ("entry", "kind"), [each for each in itertools.product(ENTRIES, TABLES) if each not in TAKEN]
)
def test_tables_are_refused_with_the_column_to_pass(entry, kind):
    table, message = TABLES[kind]
    with pytest.raises(ValueError, match=message) as error:
        ENTRIES[entry](table)
    assert entry.split()[0] in str(error.value)


@pytest.mark.parametrize("kind", TABLES)
def test_labels_are_one_column(kind):
    with pytest.raises(ValueError, match="`labels`"):
        datasets.LabeledTexts(TEXTS, TABLES[kind][0], ("a", "b"))


@pytest.mark.parametrize(
    "texts", [np.array(TEXTS), tuple(TEXTS), iter(TEXTS), dict(enumerate(TEXTS)).values()]
)
def test_sequences_are_read_in_their_order(texts):
    assert TOKENIZER.encode(texts).tolist() == TOKENIZER.encode(TEXTS).tolist()


def test_pandas():
    pandas = pytest.importorskip("pandas", reason="an optional package of the user's")
    frame = pandas.DataFrame({"text": TEXTS, "label": [0, 1]})
    for table in (frame, frame[["text"]]):
        with pytest.raises(ValueError, match=r"pass one column, texts\['text'\]"):
            TOKENIZER.encode(table)
    assert TOKENIZER.encode(frame["text"]).tolist() == TOKENIZER.encode(TEXTS).tolist()
    made = datasets.LabeledTexts(frame["text"], frame["label"], ("a", "b"))
    assert (made.texts, made.labels.tolist()) == (tuple(TEXTS), [0, 1])
