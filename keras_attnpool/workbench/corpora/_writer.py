"""The base class of the generators, which draws at random, and a check of arguments."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from keras_attnpool._checks import UNIT, integer, validate

T = TypeVar("T")


class Writer:
    """Draws from one stream of random bits.

    The bits come directly from PCG64, which NumPy promises never to change. NumPy may change the
    methods of a `Generator`.
    """

    def __init__(self, seed: int) -> None:
        self.bits = np.random.PCG64(seed)
        self.buffer: list[float] = []

    def uniform(self) -> float:
        """Draws a number in [0, 1)."""
        if not self.buffer:
            raw = self.bits.random_raw(16384)
            self.buffer = ((raw >> np.uint64(11)) * 2.0**-53)[::-1].tolist()
        return self.buffer.pop()

    def chance(self, rate: float) -> bool:
        """Draws True with this probability."""
        return self.uniform() < rate

    def below(self, stop: int) -> int:
        """Draws an integer from 0 to `stop - 1`. All integers are equally likely."""
        return int(self.uniform() * stop)

    def pick(self, items: Sequence[T]) -> T:
        """Draws one of the items. All items are equally likely."""
        return items[self.below(len(items))]

    def common(self, items: Sequence[T]) -> T:
        """Draws one of the items by Zipf's law. The first items are drawn most often."""
        return items[int((len(items) + 1) ** self.uniform()) - 1]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Puts the items into random order."""
        order = list(items)
        for i in range(len(order) - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order


def with_articles(tokens: Sequence[str]) -> list[str]:
    """Turns "a" and "A" into "an" before a vowel, and into "a" elsewhere."""
    following = [*tokens[1:], ""]
    return [
        ("an" if after[:1] in set("aeiou") else "a") if token in ("a", "A") else token
        for token, after in zip(tokens, following, strict=True)
    ]


def check_arguments(corpus: str, num_examples: int, seed: int, **rates: float) -> None:
    """Raises an error for a size below 1, a negative seed and a rate outside [0, 1].

    Raises:
        ValueError: If an argument is invalid. The message names the corpus and the argument.
    """
    validate("num_examples", num_examples, integer(1), corpus)
    validate("seed", seed, integer(0), corpus)
    for name, rate in rates.items():
        validate(name, rate, UNIT, corpus)
