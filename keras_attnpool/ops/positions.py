"""Position masks: the steps that a step may attend to, and the cost of distance."""

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import SIZE, ArgumentError, Validator, is_length, validate
from keras_attnpool.ops._devices import constant
from keras_attnpool.types import Tensor

NAMES = ("faraway_m", "earlier", "later", "distance", "scaled_distance")
TIME = Validator("an integer >= 0 or a scalar tensor", is_length)


def faraway(time: Tensor, width: int) -> Tensor:
    """The faraway mask: 0 if the key is 1 to `width` steps away from the query, else -inf.

    `M_ji = 0 if 0 < |i - j| <= width, else -inf` (equation 8), for the query `j` and the key `i`.

    Args:
        time: Number of steps, an integer or a scalar tensor.
        width: The paper's m, 1 or more.

    Returns:
        float32 tensor `(time, time)`, query by key. This function only shows the mask.
        `PositionalSelfAttention` does not call this function.

    Example:

    >>> from keras_attnpool import ops
    >>> [[float(v) for v in row] for row in ops.faraway(3, 1)]
    [[-inf, 0.0, -inf], [0.0, -inf, 0.0], [-inf, 0.0, -inf]]

    Reference:
        Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
        equations 8-12.
    """
    width = validate("width", width, SIZE, "faraway")
    return _additive_mask(f"faraway_{width}", time, "faraway")


def earlier(time: Tensor) -> Tensor:
    """The mask of earlier steps: 0 if the key is earlier than the query, else -inf.

    `M_ji = 0 if i < j, else -inf` (equation 9), for the query `j` and the key `i`. MPSAN calls this
    mask the backward mask, and DiSAN calls this mask the forward mask.

    Args:
        time: Number of steps, an integer or a scalar tensor.

    Returns:
        float32 tensor `(time, time)`, query by key. This function only shows the mask.
        `PositionalSelfAttention` does not call this function.

    Example:

    >>> from keras_attnpool import ops
    >>> [[float(v) for v in row] for row in ops.earlier(3)]
    [[-inf, -inf, -inf], [0.0, -inf, -inf], [0.0, 0.0, -inf]]

    Reference:
        Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
        equations 8-12.
    """
    return _additive_mask("earlier", time, "earlier")


def later(time: Tensor) -> Tensor:
    """The mask of later steps: 0 if the key is later than the query, else -inf.

    `M_ji = 0 if i > j, else -inf` (equation 10), for the query `j` and the key `i`. MPSAN calls
    this mask the forward mask, and DiSAN calls this mask the backward mask.

    Args:
        time: Number of steps, an integer or a scalar tensor.

    Returns:
        float32 tensor `(time, time)`, query by key. This function only shows the mask.
        `PositionalSelfAttention` does not call this function.

    Example:

    >>> from keras_attnpool import ops
    >>> [[float(v) for v in row] for row in ops.later(3)]
    [[-inf, 0.0, 0.0], [-inf, -inf, 0.0], [-inf, -inf, -inf]]

    Reference:
        Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
        equations 8-12.
    """
    return _additive_mask("later", time, "later")


def distance(time: Tensor) -> Tensor:
    """The distance mask `M_ji = -|i - j|` (equation 11).

    Args:
        time: Number of steps, an integer or a scalar tensor.

    Returns:
        float32 tensor `(time, time)`, query by key. This function only shows the mask.
        `PositionalSelfAttention` does not call this function.

    Example:

    >>> from keras_attnpool import ops
    >>> [[float(v) for v in row] for row in ops.distance(3)]
    [[0.0, -1.0, -2.0], [-1.0, 0.0, -1.0], [-2.0, -1.0, 0.0]]

    Reference:
        Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
        equations 8-12.
    """
    return _additive_mask("distance", time, "distance")


def scaled_distance(time: Tensor) -> Tensor:
    """The scaled-distance mask `M_ji = -log|i - j|` (equation 12), 0 on the diagonal.

    Args:
        time: Number of steps, an integer or a scalar tensor.

    Returns:
        float32 tensor `(time, time)`, query by key. This function only shows the mask.
        `PositionalSelfAttention` does not call this function.

    Example:

    >>> from keras_attnpool import ops
    >>> [round(float(v), 3) for v in ops.scaled_distance(4)[0]]
    [0.0, 0.0, -0.693, -1.099]

    Reference:
        Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
        equations 8-12.
    """
    return _additive_mask("scaled_distance", time, "scaled_distance")


@dataclass(frozen=True)
class Relation:
    """A sum of position masks, as a function of `offset = key - query`; not public.

    Every mask allows an interval of offsets, perhaps without the offset 0. So a sum of masks also
    allows an interval of offsets. The cost of distance is finite and is subtracted from the scores
    before the softmax. Multiplying the exponentials by `exp(-distance)` would give the same weights
    in exact arithmetic. But in float32, `exp(-distance)` is 0 beyond 103 steps. If all nearer steps
    are padded, the farther steps would then get no weight, although they should share all the
    weight.
    """

    lowest: int | None = None
    highest: int | None = None
    itself: bool = True
    linear: int = 0
    logarithmic: int = 0

    @property
    def offsets(self) -> tuple[int, ...] | None:
        """Returns the allowed offsets, or `None` if a longer text allows more offsets."""
        if self.lowest is None or self.highest is None:
            return None
        return tuple(o for o in range(self.lowest, self.highest + 1) if o or self.itself)

    @property
    def offset_penalties(self) -> tuple[float, ...] | None:
        """Returns the cost of each of `offsets`, or `None` if no offset has a cost."""
        if not self.linear + self.logarithmic:
            return None
        return tuple(
            self.linear * abs(o) + self.logarithmic * math.log(max(abs(o), 1))
            for o in self.offsets or ()
        )

    def tables(self, x: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """`allowed` and `penalty` for the steps of `x`, `(batch, time, ...)`."""
        time, dtype = ops.shape(x)[1], keras.backend.standardize_dtype(x.dtype)
        return (
            constant((self, "allowed", time), x, lambda: self.allowed(time)),
            constant((self, "penalty", time), x, lambda: self.penalty(time, dtype)),
        )

    def allowed(self, time: Tensor) -> Tensor | None:
        """Boolean tensor `(time, time)`, query by key, or `None` if all pairs are allowed."""
        if self.itself and self.lowest is None and self.highest is None:
            return None
        offset = _offsets(time)
        conditions = [] if self.itself else [offset != 0]
        if self.lowest is not None:
            conditions.append(offset >= self.lowest)
        if self.highest is not None:
            conditions.append(offset <= self.highest)
        return functools.reduce(ops.logical_and, conditions)

    def penalty(self, time: Tensor, dtype: str) -> Tensor | None:
        """Finite float tensor `(time, time)`, query by key, or `None` if there is no penalty."""
        if not self.linear + self.logarithmic:
            return None
        steps = ops.cast(ops.abs(_offsets(time)), dtype)
        return self.linear * steps + self.logarithmic * ops.log(ops.maximum(steps, 1))


def parse_positions(positions: Sequence[str], owner: str) -> Relation:
    """Returns the sum of the position masks with these names.

    Args:
        positions: Names: `faraway_m` with an integer m, `earlier`, `later`, `distance`,
            `scaled_distance`. If there are no names, every step may attend to every step.
        owner: The name of the caller for errors.

    Returns:
        The sum of the masks: the offsets that all masks allow, and the cost of these offsets.

    Raises:
        ValueError: If `positions` is not a list of these names, or if it allows no pair of steps.

    Example:

    >>> from keras_attnpool.ops.positions import parse_positions
    >>> parse_positions(["faraway_2", "earlier"], "me").offsets
    (-2, -1)
    """
    received = {"positions": positions}
    if not isinstance(positions, list | tuple):
        must = f"be a tuple of names out of {NAMES}, also for one name"
        raise ArgumentError("positions", must, received, owner)
    low, high = [], []
    itself, linear, logarithmic = True, 0, 0
    for name in positions:
        window = re.fullmatch(r"faraway_([1-9][0-9]*)", name) if isinstance(name, str) else None
        if window:
            low.append(-int(window[1]))
            high.append(int(window[1]))
            itself = False
        elif name == "earlier":
            high.append(-1)
        elif name == "later":
            low.append(1)
        elif name == "distance":
            linear += 1
        elif name == "scaled_distance":
            logarithmic += 1
        else:
            must = f"be names out of {NAMES}, m being a whole number of 1 or more"
            raise ArgumentError("positions", must, received, owner)
    if low and high and max(low) > min(high):
        must = "allow some pair of steps: none is both earlier and later"
        raise ArgumentError("positions", must, received, owner)
    return Relation(max(low, default=None), min(high, default=None), itself, linear, logarithmic)


def _offsets(time: Tensor) -> Any:
    """`key - query` `(time, time)`, query by key."""
    steps = ops.arange(0, time, dtype="int32")
    return ops.expand_dims(steps, 0) - ops.expand_dims(steps, 1)


def _additive_mask(name: str, time: Tensor, owner: str) -> Tensor:
    """Returns the mask that the paper adds to the scores."""
    time = validate("time", time, TIME, owner)
    relation = parse_positions([name], owner)
    penalty = relation.penalty(time, "float32")
    if penalty is not None:
        return 0.0 - penalty
    allowed = relation.allowed(time)
    return ops.where(allowed, ops.cast(0.0, "float32"), ops.cast(-math.inf, "float32"))
