"""A classifier of ids, asked again without some tokens of its texts."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._probabilities import class_probabilities
from keras_attnpool.analysis._token_rows import aligned_rows, checked_classes
from keras_attnpool.types import Array, Bools, Float64s, Int64s

# Batches of changed texts that are in memory at a time.
_BATCHES = 256


class Removal:
    """Texts, the probability of a class for each, and what is left of it without some tokens.

    It checks its arguments, those of the public functions. `owner` is the one that was called.

    Attributes:
        used: Boolean array `(texts,)`, the texts that have a token. All others are left out of:
        ids: The ids `(used, time)`.
        tokens: Boolean array `(used, time)`.
        sizes: Number of tokens `(used,)`.
        in_front: Boolean array `(used,)`, whether a text's padding stands in front of its tokens.
        classes: The class of each text `(used,)`.
        full: float64 array `(used,)`, the probability of the class on the full text.
    """

    def __init__(
        self,
        model: keras.Model,
        ids: Any,
        owner: str,
        classes: Any,
        replacement: int | None,
        from_logits: bool,
        batch_size: int,
    ) -> None:
        self.model, self.owner, self.replacement = model, owner, replacement
        self.from_logits, self.batch_size = from_logits, batch_size
        ids = checked_ids(ids, batch_size, owner)
        if ids.ndim != 2:
            raise ArgumentError("ids", "have shape (batch, time)", f"shape {ids.shape}", owner)
        if replacement is not None and not (
            np.issubdtype(type(replacement), np.integer) and replacement >= 0
        ):
            raise ArgumentError("replacement", "be None or an id", f"{replacement!r}", owner)
        self.used: Bools = (ids != 0).any(axis=1)
        if not self.used.any():
            raise ArgumentError("ids", "have a text with a token", f"{len(ids)} empty texts", owner)
        self.ids = ids[self.used]
        self.tokens: Bools = self.ids != 0
        self.sizes = self.tokens.sum(axis=1)
        self.in_front = _padded_in_front(self.tokens)
        full = self._probabilities(self.ids)
        self.classes = full.argmax(axis=1)
        if classes is not None:
            self.classes = checked_classes(classes, len(ids), full.shape[1], owner)[self.used]
        self.full: Float64s = full[np.arange(len(full)), self.classes]

    def scores(self, weights: Any, name: str = "weights") -> Float64s:
        """One number a token, `(used, time)`, from what the user gave for all texts."""
        lengths = [self.ids.shape[1]] * len(self.used)
        return np.stack(aligned_rows(weights, lengths, self.owner, name))[self.used]

    def places(self, scores: Float64s, rng: np.random.Generator) -> Int64s:
        """The place of each token from the largest score to the smallest; padding comes last.

        Equal scores are ordered at random: uniform weights must not mean "the first tokens".
        """
        ranked = np.lexsort((rng.random(scores.shape), -scores, ~self.tokens), axis=1)
        places = np.empty_like(ranked)
        np.put_along_axis(places, ranked, np.arange(scores.shape[1])[None], axis=1)
        return places

    def first(self, places: Array, share: float) -> Bools:
        """The first tokens of each text by their places: `ceil(share * number)` of them."""
        # A share such as 0.3 of 10 must not become 4 by rounding error.
        number = np.ceil(share * self.sizes - 1e-9)
        return np.asarray(self.tokens & (places < number[:, None]))

    def probability(self, gone: Bools, rows: Array | None = None) -> Float64s:
        """The probability of the class without the tokens `gone`, `(rows, time)`.

        Each row changes the text of that number in `rows`, by default all texts in order. Batches
        of given rows are filled up: calls with other numbers of them compile nothing anew.
        """
        texts = np.arange(len(self.ids)) if rows is None else rows
        parts = []
        size = self.batch_size * _BATCHES
        for start in range(0, len(texts), size):
            part = texts[start : start + size]
            changed = self._without(part, gone[start : start + size])
            if rows is not None:
                changed = np.pad(changed, ((0, -len(part) % self.batch_size), (0, 0)), "edge")
            parts.append(self._probabilities(changed)[np.arange(len(part)), self.classes[part]])
        return np.concatenate(parts) if parts else np.zeros(0)

    def parts(self, count: int, verbose: int) -> Iterator[Int64s]:
        """The texts in runs of `count`, with a progress bar if `verbose`."""
        bar = keras.utils.Progbar(len(self.ids), verbose=verbose, unit_name="text")
        for start in range(0, len(self.ids), count):
            texts = np.arange(start, min(start + count, len(self.ids)))
            yield texts
            bar.add(len(texts))

    def everywhere(self, values: Array) -> Float64s:
        """Values of the used texts as values of all texts, NaN for those without a token."""
        spread = np.full((len(self.used), *values.shape[1:]), np.nan)
        spread[self.used] = values
        return spread

    def _without(self, texts: Array, gone: Bools) -> Array:
        ids, removed = self.ids[texts], self.tokens[texts] & gone
        if self.replacement is not None:
            return np.where(removed, self.replacement, ids)
        # The places that become free join the padding, on whichever side it is.
        in_front = self.in_front[texts, None]
        closed = np.argsort(removed != in_front, axis=1, kind="stable")
        return np.take_along_axis(np.where(removed, 0, ids), closed, axis=1)

    def _probabilities(self, texts: Array) -> Array:
        outputs = self.model.predict(texts, batch_size=self.batch_size, verbose=0)
        return class_probabilities(outputs, self.from_logits, self.owner)


def _padded_in_front(tokens: Bools) -> Bools:
    """Whether each text has its padding in front.

    A text with padding on neither side, or on both, goes with most of the others.
    """
    first, last = ~tokens[:, 0], ~tokens[:, -1]
    told = first != last
    return np.where(told, first, (first & told).sum() > (last & told).sum())


def checked_ids(ids: Any, batch_size: int, owner: str) -> Array:
    """Integer ids `(batch, time, ...)` that are not empty, for batches of that size."""
    array: Array = np.asarray(ids)
    if array.ndim < 2 or not array.size or not np.issubdtype(array.dtype, np.integer):
        must = "be an integer array (batch, time), not empty"
        raise ArgumentError("ids", must, f"shape {array.shape}, dtype {array.dtype}", owner)
    if not batch_size >= 1:
        raise ArgumentError("batch_size", "be 1 or more", {"batch_size": batch_size}, owner)
    return array


def checked_shares(shares: Sequence[float], owner: str, name: str, least: int) -> Float64s:
    """Increasing shares in [0, 1], at least `least` of them."""
    values = np.asarray(shares, np.float64)
    within = values.ndim == 1 and len(values) >= least and values[0] >= 0 and values[-1] <= 1
    if not within or not (np.diff(values) > 0).all():
        number = {1: "", 2: "at least two "}[least]
        must, received = f"be {number}increasing numbers in [0, 1]", {name: list(np.ravel(values))}
        raise ArgumentError(name, must, received, owner)
    return values
