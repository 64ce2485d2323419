"""The two containers for the data sets of this package."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from keras_attnpool._checks import ArgumentError, column
from keras_attnpool.types import Array, Bools, Float32s, Int32s


def _checked_labels(owner: str, labels: Any, size: int, label_names: tuple[str, ...]) -> Any:
    if not isinstance(labels, np.ndarray):
        labels = column(owner, "labels", labels, of="integers")
    labels = np.asarray(labels)
    if labels.ndim != 1 or len(labels) != size:
        must, received = f"have shape ({size},), one label per text", f"shape {labels.shape}"
        raise ArgumentError("labels", must, received, owner)
    if size and not np.issubdtype(labels.dtype, np.integer):
        raise ArgumentError("labels", "be integers", f"dtype {labels.dtype}", owner)
    if size and not (0 <= labels.min() and labels.max() < len(label_names)):
        must = f"be in [0, {len(label_names)}), one per entry of `label_names`"
        raise ArgumentError("labels", must, f"labels from {labels.min()} to {labels.max()}", owner)
    return labels.astype(np.int32)


def _checked_rationales(
    owner: str, name: str, rationales: Any, texts: tuple[str, ...]
) -> tuple[Bools, ...] | None:
    if rationales is None:
        return None
    masks = tuple(np.array(mask, bool) for mask in rationales)
    if len(masks) != len(texts):
        raise ArgumentError(name, f"be one per text, {len(texts)} in all", f"{len(masks)}", owner)
    for row, (text, mask) in enumerate(zip(texts, masks, strict=True)):
        if mask.shape != (text.count(" ") + 1,):
            raise ArgumentError(
                name,
                f"have shape ({text.count(' ') + 1},) at index {row}, aligned with text.split(' ')",
                f"shape {mask.shape}",
                owner,
            )
    return masks


def _set_tuples(rows: Any, *names: str) -> None:
    """Turns these fields into tuples. A string raises an error, because it would become letters."""
    for name in names:
        values = column(type(rows).__name__, name, getattr(rows, name))
        object.__setattr__(rows, name, tuple(values))


class _Labeled:
    """Base class of both containers: N rows with one class label per row."""

    labels: Int32s
    label_names: tuple[str, ...]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def num_classes(self) -> int:
        """Number of classes, `len(label_names)`."""
        return len(self.label_names)

    def subset(self, indices: Sequence[int] | Array) -> Self:
        """Picks rows by position.

        Args:
            indices: Integer positions in any order, or a boolean array of shape `(N,)`.

        Returns:
            A new set of the same class, with the same `label_names`.

        Raises:
            ValueError: If `indices` are neither integers nor a boolean array of length N.
            IndexError: If a position is out of range.
        """
        chosen = np.asarray(indices)
        if chosen.size == 0 and chosen.dtype != bool:
            chosen = chosen.astype(np.int64)
        is_mask = chosen.dtype == bool and chosen.shape == (len(self),)
        if chosen.ndim != 1 or not (is_mask or np.issubdtype(chosen.dtype, np.integer)):
            must = f"be integer positions, or a boolean array of shape ({len(self)},)"
            received = f"dtype {chosen.dtype}, shape {chosen.shape}"
            raise ArgumentError("indices", must, received, f"{type(self).__name__}.subset")
        rows = np.arange(len(self))[chosen]
        columns = {
            name: column[rows] if isinstance(column, np.ndarray) else [column[i] for i in rows]
            for name, column in vars(self).items()
            if name != "label_names" and column is not None
        }
        subset: Self = dataclasses.replace(self, **columns)  # type: ignore[type-var]
        return subset

    def split(self, fraction: float, seed: int = 0) -> tuple[Self, Self]:
        """Splits the set at random into two parts with the same class proportions.

        The second part gets the share `fraction` of the rows of each class. The numbers of rows are
        rounded so that the second part has `round(fraction * N)` rows in all. Both parts keep the
        order of the rows.

        Args:
            fraction: Share of the second (validation) part, strictly between 0 and 1.
            seed: Seed of the shuffling. The same seed always gives the same parts.

        Returns:
            `(rest, part)`: two sets of the same class. `part` has `round(fraction * N)` rows.

        Raises:
            ValueError: If `fraction` is not in (0, 1), or if a part would be empty.

        Example:
            >>> import numpy as np
            >>> from keras_attnpool.workbench.datasets import LabeledTexts
            >>> data = LabeledTexts(tuple("abcdefgh"), np.arange(8) % 2, ("no", "yes"))
            >>> train, validation = data.split(0.25, seed=1)
            >>> len(train), np.bincount(validation.labels).tolist()
            (6, [1, 1])
        """
        owner = type(self).__name__
        if not 0 < fraction < 1:
            must = "be strictly between 0 and 1"
            raise ArgumentError("fraction", must, {"fraction": fraction}, f"{owner}.split")
        size = round(fraction * len(self))
        if not 0 < size < len(self):
            must, received = "leave no part empty", f"fraction={fraction} of {len(self)} texts"
            raise ArgumentError("fraction", must, received, f"{owner}.split")
        # The number of rows of each class is rounded down. The classes with the largest remainders
        # get one more row.
        exact = fraction * np.bincount(self.labels, minlength=self.num_classes)
        quota = np.floor(exact).astype(int)
        quota[np.argsort(quota - exact, kind="stable")[: size - quota.sum()]] += 1
        order = np.random.Generator(np.random.PCG64(seed)).permutation(len(self))
        part = np.zeros(len(self), bool)
        for label, count in enumerate(quota):
            part[order[self.labels[order] == label][:count]] = True
        return self.subset(~part), self.subset(part)


@dataclasses.dataclass(frozen=True, eq=False)
class LabeledTexts(_Labeled):
    """Texts with one class label per text, and gold rationales if they are known.

    Args:
        texts: The N texts.
        labels: Integer array of shape `(N,)` of indices into `label_names`, stored as int32.
        label_names: Name of every class.
        rationales: `None`, or N boolean arrays. The array of a text has one entry per token of
            `text.split(" ")`. True marks the tokens that decide the label.

    Raises:
        ValueError: If lengths, shapes or label values do not fit together.

    Example:
        >>> import numpy as np
        >>> from keras_attnpool.workbench.datasets import LabeledTexts
        >>> data = LabeledTexts(("a b", "c"), np.array([1, 0]), ("no", "yes"))
        >>> len(data), data.num_classes
        (2, 2)
    """

    texts: tuple[str, ...]
    labels: Int32s
    label_names: tuple[str, ...]
    rationales: tuple[Bools, ...] | None = None

    def __post_init__(self) -> None:
        """Normalises the fields and checks that they fit together."""
        _set_tuples(self, "texts", "label_names")
        labels = _checked_labels("LabeledTexts", self.labels, len(self.texts), self.label_names)
        object.__setattr__(self, "labels", labels)
        rationales = _checked_rationales("LabeledTexts", "rationales", self.rationales, self.texts)
        object.__setattr__(self, "rationales", rationales)


@dataclasses.dataclass(frozen=True, eq=False)
class SentencePairs(_Labeled):
    """Pairs of sentences with entailment classes, and optional relatedness and rationales.

    Args:
        sentences_a: The N first sentences.
        sentences_b: The N second sentences.
        labels: Integer array of shape `(N,)`, stored as int32: indices into `label_names`.
        label_names: Name of every entailment class.
        relatedness: `None`, or a float array of shape `(N,)`, stored as float32.
        rationales_a: `None`, or N boolean arrays. The array of a sentence has one entry per token
            of `sentence.split(" ")`. True marks the tokens that decide the label.
        rationales_b: `None`, or the rationales of the second sentences in the same form.

    Raises:
        ValueError: If lengths, shapes or label values do not fit together.

    Example:
        >>> from keras_attnpool.workbench.datasets import SentencePairs
        >>> pairs = SentencePairs(("a dog runs",), ("a dog sits",), [1], ("no", "yes"), [3.5])
        >>> len(pairs), pairs.relatedness.tolist()
        (1, [3.5])
    """

    sentences_a: tuple[str, ...]
    sentences_b: tuple[str, ...]
    labels: Int32s
    label_names: tuple[str, ...]
    relatedness: Float32s | None = None
    rationales_a: tuple[Bools, ...] | None = None
    rationales_b: tuple[Bools, ...] | None = None

    def __post_init__(self) -> None:
        """Normalises the fields and checks that they fit together."""
        _set_tuples(self, "sentences_a", "sentences_b", "label_names")
        size = len(self.sentences_a)
        if len(self.sentences_b) != size:
            must, received = f"be as many as sentences_a, {size}", f"{len(self.sentences_b)}"
            raise ArgumentError("sentences_b", must, received, "SentencePairs")
        labels = _checked_labels("SentencePairs", self.labels, size, self.label_names)
        object.__setattr__(self, "labels", labels)
        if self.relatedness is not None:
            relatedness = np.asarray(self.relatedness, np.float32)
            if relatedness.shape != (size,):
                must, received = f"have shape ({size},)", f"shape {relatedness.shape}"
                raise ArgumentError("relatedness", must, received, "SentencePairs")
            object.__setattr__(self, "relatedness", relatedness)
        for name, texts in (("rationales_a", self.sentences_a), ("rationales_b", self.sentences_b)):
            masks = _checked_rationales("SentencePairs", name, getattr(self, name), texts)
            object.__setattr__(self, name, masks)
