import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refused

from keras_attnpool.workbench import text

pytestmark = pytest.mark.every_backend

# A document is its sentences' lengths; 0 stands for an empty sentence.
SHAPES = st.lists(st.lists(st.integers(0, 12), max_size=7), min_size=1, max_size=25)


def documents_of(shapes):
    """Documents whose every id is its own: no two are alike."""
    ids = iter(range(1, 1 + sum(map(sum, shapes))))
    return [[[next(ids) for _ in range(length)] for length in lengths] for lengths in shapes]


def make_documents(size=200, seed=0):
    generator = np.random.default_rng(seed)
    counts = generator.integers(2, 20, size)
    lengths = [np.minimum(generator.lognormal(2, 0.7, n).astype(int) + 1, 40) for n in counts]
    return documents_of(lengths)


def trimmed(document):
    """A document of lists without padding: of sentences, then of empty sentences at its end."""
    rows = [np.trim_zeros(np.asarray(row, int), "b").tolist() for row in document]
    while rows and not rows[-1]:
        rows.pop()
    return rows


def groups_of(inputs):
    """The groups of a packed batch, in order."""
    assert list(inputs) == [*(f"sentences_{k}" for k in range(len(inputs) - 1)), "documents"]
    assert all(ids.dtype == np.int32 for ids in inputs.values())
    return list(inputs.values())[:-1]


def unpacked(inputs):
    """The sentences of the documents of a packed batch."""
    rows = [row.tolist() for group in groups_of(inputs) for row in group]
    return [[rows[place - 1] if place else [] for place in row] for row in inputs["documents"]]


def served(batches):
    """Every document that an epoch serves, by its number."""
    found = {}
    for batch in batches:
        inputs, numbers = batch
        rows = unpacked(inputs) if isinstance(inputs, dict) else inputs.tolist()
        assert not set(numbers) & set(found)
        found |= {int(n): trimmed(row) for n, row in zip(numbers, rows, strict=True)}
    return found


def shapes_of(inputs):
    return tuple(x.shape for x in inputs.values()) if isinstance(inputs, dict) else inputs.shape


@given(SHAPES, st.integers(0, 4), st.integers(1, 9), st.integers(1, 4), st.booleans())
@example([[]], 0, 1, 1, False)
@example([[], [0, 0]], 3, 2, 2, False)
@example([[0, 3, 0], [], [2, 0, 0, 1]], 2, 4, 1, True)
@example([[5, 5], [5], [5, 5, 5]], 4, 2, 3, True)
# The first bucket has no sentence as long as the second width.
@example([[1], [1], [1, 5, 9], [1, 5, 9]], 3, 2, 2, False)
def test_every_document_is_served_whole_and_once(shapes, packed, size, buckets, shuffle):
    documents = documents_of(shapes)
    batches = text.DocumentBatches(
        documents, range(len(documents)), size, buckets, packed, shuffle, seed=3
    )
    for _ in range(2):
        assert served(batches) == {n: trimmed(row) for n, row in enumerate(documents)}
        places = used = 0
        for inputs, numbers in batches:
            assert len(numbers) <= size
            groups = groups_of(inputs) if packed else [inputs]
            places += sum(ids.size for ids in groups)
            used += sum(np.count_nonzero(ids) for ids in groups)
            if packed:
                # Every sentence with words is there once, and no other is.
                numbered = np.sort(inputs["documents"][inputs["documents"] > 0])
                rows = np.concatenate([ids[:, 0] for ids in groups])
                np.testing.assert_array_equal(numbered - 1, np.flatnonzero(rows))
                assert [ids.shape[1] for ids in groups] == sorted(g.shape[1] for g in groups)
        assert batches.padding_share == pytest.approx(1 - used / places)
        batches.on_epoch_end()


def test_zeros_inside_keep_their_place():
    documents = [[[0, 4, 0], [0], [5]], np.array([[0, 6], [0, 0]])]
    (padded,) = text.DocumentBatches(documents, shuffle=False, num_buckets=1)
    np.testing.assert_array_equal(
        padded, [[[0, 4], [0, 0], [5, 0]], [[0, 6], [0, 0], [0, 0]]], strict=False
    )
    (packed,) = text.DocumentBatches(documents, shuffle=False, num_buckets=1, packed=1)
    np.testing.assert_array_equal(packed["sentences_0"][:4], [[5, 0], [0, 4], [0, 6], [0, 0]])
    np.testing.assert_array_equal(packed["documents"], [[2, 0, 1], [3, 0, 0]])


def test_padded_by_hand():
    documents = documents_of([[3], [1, 2], [1, 1, 1, 5]])
    batches = text.DocumentBatches(documents, num_buckets=2, shuffle=False)
    # Two documents of up to 2 sentences of up to 3 words, and one of 4 sentences of up to 5.
    assert sorted(ids.shape for ids in batches) == [(1, 4, 5), (2, 2, 3)]
    assert batches.padding_share == pytest.approx(1 - 14 / (20 + 12))


def test_packed_by_hand():
    documents = documents_of([[3], [1, 2], [1, 1, 1, 5]])
    batches = text.DocumentBatches(documents, num_buckets=1, shuffle=False, packed=3)
    (inputs,) = batches
    # Widths 1, 3, 5 pad one word, 1, 2, 5 pad two. The batch is the whole bucket: groups 0 and 1
    # have the rows that they need, and the last is rounded up.
    assert [ids.shape for ids in groups_of(inputs)] == [(4, 1), (2, 3), (8, 5)]
    np.testing.assert_array_equal(inputs["sentences_0"], [[4], [7], [8], [9]])
    np.testing.assert_array_equal(inputs["sentences_1"], [[5, 6, 0], [1, 2, 3]])
    np.testing.assert_array_equal(inputs["sentences_2"][0], [10, 11, 12, 13, 14])
    assert not inputs["sentences_2"][1:].any()
    np.testing.assert_array_equal(inputs["documents"], [[6, 0, 0, 0], [1, 5, 0, 0], [2, 3, 4, 7]])
    assert batches.padding_share == pytest.approx(1 - 14 / (4 + 6 + 40))


@pytest.mark.parametrize(
    ("sentences", "rows"),
    [(0, 1), (1, 8), (8, 8), (9, 16), (57, 64), (65, 80), (81, 96), (128, 128), (129, 160)],
)
def test_rows_of_the_last_group(sentences, rows):
    (inputs,) = text.DocumentBatches(documents_of([[2] * sentences]), packed=1)
    assert shapes_of(inputs) == ((rows, 2 if sentences else 1), (1, max(sentences, 1)))


def test_sentences_move_up_where_a_group_is_full():
    # A batch of 1 holds 7/3 sentences of 1 word in the mean. As a row that is missing costs four
    # times as much as one too many, there are 0.674 standard deviations of 1.194 more: 3.
    documents = documents_of([[1, 1, 1, 1], [1, 1, 4, 4], [1, 4, 4, 4]] * 4)
    batches = text.DocumentBatches(documents, range(12), batch_size=1, packed=2)
    for inputs, (number,) in batches:
        ones = sum(len(row) == 1 for row in documents[number])
        assert shapes_of(inputs) == ((3, 1), (8, 4), (1, 4))
        assert np.count_nonzero(inputs["sentences_0"]) == min(ones, 3)
        assert np.count_nonzero(inputs["sentences_1"][:, 0]) == 4 - min(ones, 3)


@pytest.mark.parametrize("packed", [0, 1, 2, 3])
def test_shapes_are_few(packed):
    batches = text.DocumentBatches(make_documents(), batch_size=16, packed=packed)
    constants, found = {}, set()
    for _ in range(5):
        for inputs in batches:
            shapes = shapes_of(inputs) if packed else [inputs.shape]
            found.add(tuple(shapes))
            # The sizes of the batch, but for the number of rows of the last group.
            *groups, last, documents = [*shapes] if packed else [(), *shapes]
            constants.setdefault(documents[:2], set()).add((*groups, *last[1:], *documents[2:]))
        batches.on_epoch_end()
    # A full and a last, smaller batch of every bucket.
    assert len({places for _, places in constants}) == 3
    assert len(constants) <= 2 * 3
    assert all(len(sizes) == 1 for sizes in constants.values())
    assert len(found) <= (30 if packed else 6)


@given(SHAPES, st.integers(0, 3), st.booleans(), st.integers(1, 6))
@example([[1, 1, 9]] + [[1, 9]] * 9 + [[3]], 0, False, 4)
# The first two buckets are as wide as each other, the third is wider.
@example([[2]] * 9 + [[2, 1]] * 9 + [[3, 1, 1]], 0, False, 3)
@example([[2]] * 9 + [[2, 1]] * 9 + [[3, 1, 1]], 2, True, 3)
def test_first_two_batches_differ_in_all_that_varies(shapes, packed, shuffle, buckets):
    documents = documents_of(shapes)
    batches = text.DocumentBatches(documents, None, 3, buckets, packed, shuffle)
    # The batch axis is free anyway.
    inner = [
        [ids.shape[1] for ids in inputs.values()] if packed else inputs.shape[1:]
        for inputs in batches
    ]
    for sizes in zip(*inner, strict=True):
        assert len(set(sizes)) == 1 or sizes[0] != sizes[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"documents": []}, "at least one"),
        ({"documents": [1, 2]}, "Received: 1 at index 0"),
        ({"documents": [[[1]], [2]]}, "shape () at index 0 of document 1"),
        ({"documents": np.ones((2, 3), int)}, "shape () at index 0"),
        ({"documents": np.ones((2, 3, 4, 5), int)}, "shape (4, 5) at index 0 of document 0"),
        ({"labels": [1]}, "2 entries"),
        ({"batch_size": 0}, ">= 1"),
        ({"num_buckets": 0}, ">= 1"),
        ({"num_buckets": True}, "num_buckets=True"),
        ({"packed": -1}, ">= 0"),
        ({"packed": True}, "packed=True"),
        ({"packed": 1.0}, "packed=1.0"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with refused(*arguments, "DocumentBatches", message):
        text.DocumentBatches(**({"documents": [[[1, 2], [3]], [[4]]]} | arguments))


@pytest.mark.parametrize(
    ("documents", "where"),
    [
        ([[[1], [1.5]]], "float64 at index 1 of document 0"),
        ([[[1]], ["a b".split()]], "<U1 at index 0 of document 1"),
        (np.ones((2, 3, 4)), "float64 of document 0"),
        ([np.ones((1, 1), int), np.ones((1, 1), bool)], "bool of document 1"),
    ],
)
def test_ids_must_be_integers(documents, where):
    with refused("documents", "DocumentBatches", "integer ids", where):
        text.DocumentBatches(documents)


def test_reads_what_the_tokenizer_gives():
    texts = ["A good film. I liked it!", "Bad.", ""]
    tokenizer = text.WordTokenizer.train(texts)
    batches = text.DocumentBatches(tokenizer.encode_sentences(texts), num_buckets=1, shuffle=False)
    np.testing.assert_array_equal(batches[0], tokenizer.encode_sentences(texts))
