"""The five position masks as tables, and what the layer makes of their sums."""

import math

import keras
import numpy as np
import pytest
from backend_functions import numpy

from keras_attnpool import ops
from keras_attnpool.ops.positions import parse_positions

pytestmark = pytest.mark.every_backend

N = -math.inf
LOG2, LOG3, LOG4 = -math.log(2), -math.log(3), -math.log(4)

FARAWAY_2 = [[N, 0, 0, N, N], [0, N, 0, 0, N], [0, 0, N, 0, 0], [N, 0, 0, N, 0], [N, N, 0, 0, N]]
LATER = [[N, 0, 0, 0, 0], [N, N, 0, 0, 0], [N, N, N, 0, 0], [N, N, N, N, 0], [N, N, N, N, N]]
EARLIER = [[N, N, N, N, N], [0, N, N, N, N], [0, 0, N, N, N], [0, 0, 0, N, N], [0, 0, 0, 0, N]]
DISTANCE = [
    [0, -1, -2, -3, -4],
    [-1, 0, -1, -2, -3],
    [-2, -1, 0, -1, -2],
    [-3, -2, -1, 0, -1],
    [-4, -3, -2, -1, 0],
]
SCALED_DISTANCE = [
    [0, 0, LOG2, LOG3, LOG4],
    [0, 0, 0, LOG2, LOG3],
    [LOG2, 0, 0, 0, LOG2],
    [LOG3, LOG2, 0, 0, 0],
    [LOG4, LOG3, LOG2, 0, 0],
]
EARLIER_SCALED = [
    [N, N, N, N, N],
    [0, N, N, N, N],
    [LOG2, 0, N, N, N],
    [LOG3, LOG2, 0, N, N],
    [LOG4, LOG3, LOG2, 0, N],
]
FARAWAY_2_LATER_DISTANCE = [
    [N, -1, -2, N, N],
    [N, N, -1, -2, N],
    [N, N, N, -1, -2],
    [N, N, N, N, -1],
    [N, N, N, N, N],
]
FARAWAY_1 = [[N, 0, N, N, N], [0, N, 0, N, N], [N, 0, N, 0, N], [N, N, 0, N, 0], [N, N, N, 0, N]]

SINGLE = [
    (lambda time: ops.faraway(time, 2), "faraway_2", FARAWAY_2),
    (ops.later, "later", LATER),
    (ops.earlier, "earlier", EARLIER),
    (ops.distance, "distance", DISTANCE),
    (ops.scaled_distance, "scaled_distance", SCALED_DISTANCE),
]
SUMS = [
    ((), np.zeros((5, 5))),
    *(((name,), table) for _, name, table in SINGLE),
    (("earlier", "scaled_distance"), EARLIER_SCALED),
    (("scaled_distance", "earlier"), EARLIER_SCALED),
    (("faraway_2", "later", "distance"), FARAWAY_2_LATER_DISTANCE),
    (("faraway_2", "faraway_1", "faraway_3"), FARAWAY_1),
    (("distance", "distance"), 2.0 * np.array(DISTANCE)),
]


@pytest.mark.parametrize(("function", "name", "table"), SINGLE)
def test_masks(function, name, table):
    mask = function(5)
    assert keras.backend.standardize_dtype(mask.dtype) == "float32"
    np.testing.assert_allclose(numpy(mask), table, atol=1e-6)


@pytest.mark.parametrize(("function", "name", "table"), SINGLE)
def test_one_step_and_a_time_that_is_a_tensor(function, name, table):
    alone = N if name.startswith("far") or name in ("earlier", "later") else 0
    np.testing.assert_array_equal(numpy(function(1)), [[alone]])
    if keras.config.backend() != "jax":  # where sizes are always known
        time = keras.ops.convert_to_tensor(5, dtype="int32")
        np.testing.assert_allclose(numpy(function(time)), table, atol=1e-6)


@pytest.mark.parametrize(("positions", "table"), SUMS)
def test_what_sums_allow_and_cost(positions, table):
    relation = parse_positions(positions, "test")
    allowed, penalty = relation.allowed(5), relation.penalty(5, "float32")
    mask = np.zeros((5, 5)) if penalty is None else -numpy(penalty)
    assert np.isfinite(mask).all()
    if allowed is not None:
        mask = np.where(numpy(allowed), mask, N)
    np.testing.assert_allclose(mask, table, atol=1e-6)


@pytest.mark.parametrize(("positions", "table"), SUMS)
def test_offsets_say_the_same_as_the_table(positions, table):
    relation = parse_positions(positions, "test")
    if not any(name.startswith("faraway") for name in positions):
        assert relation.offsets is None
        return
    mask = np.full((5, 5), N)
    penalties = relation.offset_penalties or [0] * len(relation.offsets)
    for offset, cost in zip(relation.offsets, penalties, strict=True):
        mask[np.eye(5, k=offset, dtype=bool)] = -cost
    np.testing.assert_allclose(mask, table, atol=1e-6)


def test_the_penalty_has_the_precision_it_is_asked_for():
    wanted = "float32" if keras.config.backend() == "jax" else "float64"  # jax has no other
    penalty = parse_positions(["scaled_distance"], "test").penalty(4, wanted)
    assert keras.backend.standardize_dtype(penalty.dtype) == wanted
    tolerance = 1e-15 if wanted == "float64" else 1e-6
    np.testing.assert_allclose(numpy(penalty)[0, 3], -LOG3, atol=tolerance)


@pytest.mark.parametrize("width", [0, -1, 1.5, 2.0, "2", True, None])
def test_a_width_must_be_an_integer_of_one_or_more(width):
    with pytest.raises(ValueError, match="`width` of faraway must be an integer >= 1"):
        ops.faraway(5, width)


@pytest.mark.parametrize("function", [lambda time: ops.faraway(time, 1), ops.later, ops.distance])
@pytest.mark.parametrize("time", [-1, 2.5, "3", True, None])
def test_a_time_must_be_an_integer(function, time):
    with pytest.raises(ValueError, match="`time` of (faraway|later|distance) must be an integer"):
        function(time)


def test_integers_may_be_numpys():
    np.testing.assert_array_equal(
        numpy(ops.faraway(np.int32(5), np.int64(2))), numpy(ops.faraway(5, 2))
    )


@pytest.mark.parametrize(
    "positions", ["earlier", ("faraway",), ("faraway_0",), ("faraway_01",), ("far",), (1,), 3]
)
def test_names_are_checked(positions):
    with pytest.raises(ValueError, match="`positions` of me .*faraway_m") as error:
        parse_positions(positions, "me")
    assert f"positions={positions!r}" in str(error.value)


@pytest.mark.parametrize("positions", [("later", "earlier"), ("earlier", "faraway_2", "later")])
def test_positions_that_allow_nothing_are_an_error(positions):
    with pytest.raises(ValueError, match="me must allow some pair of steps"):
        parse_positions(positions, "me")


def test_the_costs_of_a_window_are_those_of_the_table():
    """What attention subtracts offset by offset, and what `ops` shows as a table."""
    relation = parse_positions(["faraway_3", "distance", "scaled_distance"], "me")
    middle = numpy(relation.penalty(7, "float32"))[3]
    expected = [middle[3 + offset] for offset in relation.offsets]
    np.testing.assert_allclose(relation.offset_penalties, expected, rtol=1e-6)
