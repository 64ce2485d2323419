"""Serves batches of documents with sentences, with little padding and few distinct shapes."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_attnpool._checks import ArgumentError
from keras_attnpool.batches import Batches, in_buckets, length_buckets
from keras_attnpool.types import Array, Int32s, Int64s
from keras_attnpool.workbench.text._vocabulary import check_integers

_Document = Sequence[npt.ArrayLike] | Array


class DocumentBatches(Batches):
    """Feeds batches of documents with similar sentence counts to `fit`, `evaluate`, `predict`.

    A document is a list of sentences, and a sentence is a row of ids. All batches of a bucket have
    the same number S of sentence places. S is the number of sentences of the bucket's longest
    document. Every document is served exactly once per epoch, and nothing is cut. Even without
    `shuffle`, documents are grouped by their number of sentences. Use `batches.predict(model)` for
    predictions in the order of the documents.

    With padding (`packed=0`), the inputs are ids `(B, S, W)`, where W is the length of the bucket's
    longest sentence. Any hierarchical model reads such inputs. But most sentences and documents are
    shorter than the longest one of their bucket. Four of five places may be padding. To save
    memory, shorten the longest sentences first. A compiled model gets at most two shapes for each
    bucket: the shape of a full batch, and the shape of a smaller last batch.

    With packing (`packed=K`), sentences without words are left out. The other sentences are sorted
    by length into K groups. Each group has its own width. Three groups need a quarter to a tenth of
    the places that padding needs. The model must be built for the same K. The inputs are a
    dictionary:

    - `"sentences_0"` to `"sentences_<K-1>"`: the ids of group k, an array `(N_k, W_k)` with one
      sentence per row.
    - `"documents"`: int32 `(B, S)`. The rows of all groups are numbered from 1, group after group,
      including rows without words. Place (b, s) holds the row number of document b's sentence s.
      The place (b, s) holds 0 if sentence s does not exist or has no words.

    So the sentence vectors of the documents, `(B, S, D)`, are
    `take(concatenate([zeros((1, D)), vectors]), documents)`, where `vectors` has the vectors of
    all rows in their order.

    All widths except the last are the same in all batches, and are chosen for the least padding.
    The last width is the length of the bucket's longest sentence. In all groups except the last,
    N_k is about the average number of sentences that a batch of the bucket has in this group. So
    N_k is the same for all full batches of a bucket. If a batch has more than N_k sentences for a
    group, the additional sentences go to the next group. Unused rows are zero. The number of rows
    of the last group is rounded up. The rounded number is a multiple of 8 up to 64 rows, of 16 up
    to 128 rows, of 32 up to 256 rows, and so on. So a compiled model gets few shapes. With
    `corpora.reviews` and batches of 32, five epochs have about ten shapes per bucket. If there are
    fewer distinct lengths than groups, each unused group has a single row.

    If there are several buckets, the first two batches differ in every size that varies between
    buckets. So TensorFlow treats these sizes as variable.

    Args:
        documents: Integers of shape `(N, S, W)`, as `WordTokenizer.encode_sentences` returns them,
            or a list of N documents of any sizes. Each document is an array `(S, W)` or a list of
            rows. Padding (0) at the end of a sentence does not count. A sentence without words does
            not count at the end of a document. In any other place, a sentence without words keeps
            its place. A document may be empty.
        labels: Array of shape `(N, ...)`, or `None` for `predict`.
        batch_size: Number of documents in a batch.
        num_buckets: Number of buckets. The class chooses the buckets with the least padding.
        packed: Number of groups of sentences, or 0 for padded batches.
        shuffle: Whether every epoch has new batches in a new order.
        seed: Seed of the shuffling.
        sample_weight: Array of shape `(N,)`, or `None`. Weights need `labels`.
        **kwargs: `workers`, `use_multiprocessing` and `max_queue_size` of `keras.utils.PyDataset`.

    Raises:
        ValueError: If the arguments do not fit together or are out of range.
        ValueError: If ids are not integers.

    Example:

    >>> from keras_attnpool.workbench.text import DocumentBatches
    >>> documents = [[[5, 6], [7]], [[8]]]
    >>> DocumentBatches(documents, shuffle=False, num_buckets=1)[0]
    array([[[5, 6],
            [7, 0]],
    <BLANKLINE>
           [[8, 0],
            [0, 0]]], dtype=int32)
    >>> packed = DocumentBatches(documents, shuffle=False, num_buckets=1, packed=2)[0]
    >>> packed["sentences_0"]
    array([[7],
           [8]], dtype=int32)
    >>> packed["sentences_1"].shape
    (8, 2)
    >>> packed["documents"]
    array([[3, 1],
           [2, 0]], dtype=int32)
    """

    def __init__(
        self,
        documents: Sequence[_Document] | Array,
        labels: npt.ArrayLike | None = None,
        batch_size: int = 32,
        num_buckets: int = 3,
        packed: int = 0,
        shuffle: bool = False,
        seed: int = 0,
        sample_weight: npt.ArrayLike | None = None,
        **kwargs: Any,
    ) -> None:
        check_integers("DocumentBatches", batch_size=batch_size, num_buckets=num_buckets)
        check_integers("DocumentBatches", least=0, packed=packed)
        if not hasattr(documents, "__iter__"):
            raise ArgumentError("documents", "be a list", f"{documents!r}", "DocumentBatches")
        rows = [_checked_sentences(document, index) for index, document in enumerate(documents)]
        if not rows:
            raise ArgumentError("documents", "hold at least one", "none", "DocumentBatches")
        # All words are in one row. Sentence -1 stands for no sentence, and has no words.
        none = np.zeros(0, np.int32)
        sentences = [sentence for document in rows for sentence in document] + [none]
        self._lengths = np.array([len(sentence) for sentence in sentences])
        self._starts = np.cumsum(self._lengths) - self._lengths
        longest = max(int(self._lengths.max()), 1)
        # There is room for a whole row that starts at the last word.
        self._words = np.concatenate([*sentences, np.zeros(longest, np.int32)])
        self._counts = np.array([len(document) for document in rows])
        self._firsts = np.cumsum(self._counts) - self._counts

        places = length_buckets(self._counts, num_buckets, step=1)
        bucket_of = np.searchsorted(places, self._counts)
        owners = np.repeat(np.arange(len(rows)), self._counts)
        widest = np.ones(len(places), np.int64)
        np.maximum.at(widest, bucket_of[owners], self._lengths[:-1])
        self._packed = packed
        if packed:
            self._pack(bucket_of, widest, owners, batch_size)
        self._bucket_of, self._shapes = bucket_of, list(zip(places, widest.tolist(), strict=True))
        total = int(self._lengths.sum())
        super().__init__(
            len(rows), labels, batch_size, shuffle, seed, sample_weight, total, **kwargs
        )

    def _pack(self, bucket_of: Int64s, widest: Int64s, owners: Int64s, batch_size: int) -> None:
        """Chooses the widths of the groups and their numbers of rows."""
        lengths = self._lengths[:-1]
        real = lengths > 0
        narrow = length_buckets(lengths[real], self._packed, step=1)[:-1] if real.any() else ()
        if narrow:
            np.maximum(widest, narrow[-1], out=widest)
        spare = self._packed - len(narrow)
        # The widths of every bucket, (buckets, K).
        self._widths = np.array([[*narrow, *[width] * spare] for width in widest])
        # The number of sentences of every document that fit in every group, (N, K).
        fits = real[:, None] & (lengths[:, None] <= self._widths[bucket_of[owners]])
        self._fitting = np.zeros((len(self._counts), self._packed), np.int64)
        np.add.at(self._fitting, owners, fits)
        self._rooms = {}
        for bucket, widths in enumerate(self._widths.tolist()):
            members = self._fitting[bucket_of == bucket]
            for size in {min(batch_size, len(members)), len(members) % batch_size} - {0}:
                self._rooms[bucket, size] = _rooms(widths, members, size)

    def arranged(self, random: np.random.Generator | None) -> list[Int64s]:
        """Returns the documents of each batch, which have similar numbers of sentences."""
        return in_buckets(self._bucket_of, self._shapes, self.batch_size, random)

    def inputs_of(self, rows: Int64s) -> Any:
        """Returns the inputs of a batch of these documents."""
        bucket = self._bucket(rows)
        size, width = self._shapes[bucket]
        places = np.arange(size)
        is_sentence = places < self._counts[rows, None]
        sentences = np.where(is_sentence, self._firsts[rows, None] + places, -1)
        if not self._packed:
            return self._ids_of(sentences.reshape(-1), width).reshape(*sentences.shape, width)
        real = self._lengths[sentences] > 0
        flat = sentences[real]
        by_length = np.argsort(self._lengths[flat], kind="stable")
        numbers = np.empty(len(flat), np.int32)
        inputs, done, above = {}, 0, 0
        widths = self._widths[bucket].tolist()
        for group, (held, room) in enumerate(self._groups_of(rows)):
            members = by_length[done : done + held]
            numbers[members] = np.arange(above + 1, above + held + 1)
            row_sentences = np.full(room, -1)
            row_sentences[:held] = flat[members]
            inputs[f"sentences_{group}"] = self._ids_of(row_sentences, widths[group])
            done += held
            above += room
        inputs["documents"] = np.zeros(sentences.shape, np.int32)
        inputs["documents"][real] = numbers
        return inputs

    def _bucket(self, chosen: Int64s) -> int:
        return int(self._bucket_of[chosen[0]])

    def places_of(self, rows: Int64s) -> int:
        """Returns the number of ids in the inputs of these documents, including padding."""
        bucket = self._bucket(rows)
        if not self._packed:
            size, width = self._shapes[bucket]
            return len(rows) * size * width
        groups = zip(self._groups_of(rows), self._widths[bucket].tolist(), strict=True)
        return sum(room * int(width) for (_, room), width in groups)

    def _groups_of(self, chosen: Int64s) -> list[tuple[int, int]]:
        """Counts the sentences and the rows of every group in a batch."""
        *narrow, total = self._fitting[chosen].sum(axis=0).tolist()
        groups, done = [], 0
        rooms = self._rooms[self._bucket(chosen), len(chosen)]
        for room, fitting in zip(rooms, narrow, strict=True):
            groups.append((min(room, fitting - done), room))
            done += groups[-1][0]
        return [*groups, (total - done, _rounded_up(total - done))]

    def _ids_of(self, sentences: Int64s, width: int) -> Int32s:
        """Writes the words of some sentences, one sentence per row of this width."""
        rows = np.lib.stride_tricks.sliding_window_view(self._words, width)
        ids: Int32s = rows[self._starts[sentences]]
        return ids * (np.arange(width) < self._lengths[sentences, None])


def _checked_sentences(document: _Document, index: int) -> list[Int32s]:
    """Returns a document's sentences, without padding at the ends of sentences and document."""
    where = f" of document {index}"
    if not hasattr(document, "__iter__"):
        raise _refusal("hold rows of ids, one per sentence", f"{document!r} at index {index}")
    if not isinstance(document, np.ndarray) or document.ndim != 2:
        rows = _checked_rows(document, where)
        used = [place for place, row in enumerate(rows, 1) if row.size]
        return rows[: used[-1] if used else 0]
    # This checks all rows at once.
    _check_ids(document, where)
    ends = ((document != 0) * np.arange(1, document.shape[1] + 1)).max(axis=1, initial=0)
    count = int(((ends > 0) * np.arange(1, len(ends) + 1)).max(initial=0))
    words = document[:count].astype(np.int32)
    return [row[:end] for row, end in zip(words, ends.tolist(), strict=False)]


def _checked_rows(rows: Any, where: str) -> list[Int32s]:
    """Returns the rows of a document without padding at their ends."""
    if isinstance(rows, str | bytes):
        raise _refusal("hold rows of ids", f"{rows!r}{where}")
    checked: list[Int32s] = []
    for index, row in enumerate(rows):
        array, place = np.asarray(row), f" at index {index}{where}"
        if array.ndim != 1:
            raise _refusal("hold rows of ids", f"shape {array.shape}{place}")
        _check_ids(array, place)
        steps = np.nonzero(array)[0]
        checked.append(array[: steps[-1] + 1 if steps.size else 0].astype(np.int32))
    return checked


def _check_ids(ids: Any, where: str) -> None:
    """Raises an error for numbers that are negative, not integers, or too large for int32."""
    if ids.size and not np.issubdtype(ids.dtype, np.integer):
        raise _refusal("hold integer ids", f"dtype {ids.dtype}{where}")
    largest = np.iinfo(np.int32).max
    if ids.size and not 0 <= ids.min() <= ids.max() <= largest:
        raise _refusal(f"hold ids from 0 to {largest}", f"from {ids.min()} to {ids.max()}{where}")


def _refusal(must: str, received: str) -> ArgumentError:
    return ArgumentError("documents", must, received, "DocumentBatches")


def _rooms(widths: list[int], fitting: Int64s, size: int) -> list[int]:
    """Chooses the number of rows of each of the K groups, except the last, for this batch size.

    `fitting`, `(n, K)`, is the number of sentences of every document that fit in every group.
    """
    mean = size * fitting.mean(axis=0)
    # Mean and variance of the sum over `size` documents, drawn from n without replacement.
    spread = fitting.std(axis=0) * np.sqrt(size * (1 - size / len(fitting)))
    rooms: list[int] = []
    for group, (width, wider) in enumerate(pairwise(widths)):
        upto = 0.0
        if width < wider:
            # An unused row costs `width`, and a missing row costs `wider`. The cost is smallest if
            # a share `width / wider` of the batches lacks rows.
            upto = mean[group] + NormalDist().inv_cdf(1 - width / wider) * spread[group]
        rooms.append(max(1, round(upto) - sum(rooms)))
    return rooms


def _rounded_up(rows: int) -> int:
    """Rounds up to a multiple of 8; above 64, to a multiple of 1/8 of the next power of two."""
    step = max(8, (1 << (rows - 1).bit_length()) // 8)
    return max(-(-rows // step) * step, 1)
