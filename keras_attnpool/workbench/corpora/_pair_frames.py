"""The meaning of `sentence_pairs`: frames, and what one frame implies about another.

The rules are in the datasheet of `sentence_pairs`, in docs/api/corpora.md. This file computes
labels, relatedness and rationales from frames, not from words.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from keras_attnpool.workbench.corpora._concepts import (
    CONVERSES,
    NUMBERS,
    SYMMETRIC,
    alike,
    ancestors,
    exclusive,
    under,
)

CONTRADICTION, ENTAILMENT, NEUTRAL = range(3)
SLOTS = tuple(
    "quantity agent_trait agent negated action patient_trait patient place manner".split()
)
_EVENT = ("action", "place", "manner")
_WEIGHTS = {"agent": 2.0, "action": 3.0, "patient": 2.0} | dict.fromkeys(
    ("agent_trait", "patient_trait", "place", "manner"), 1.0
)
_OWNED = (("agent", "agent_trait"), ("patient", "patient_trait"), ("agent", "quantity"))
UNKNOWN = "?"  # a concept without relation to any other


class Frame(NamedTuple):
    """One event or state: agent, action, patient, place and manner.

    Every value is a concept of `words/sentence_pairs.txt`. `None` means that the sentence does not
    mention the slot. `quantity` is the number of agents: "one", a number, "all", "some", "no" or
    "not all".
    """

    agent: str
    action: str
    patient: str | None = None
    agent_trait: str | None = None
    patient_trait: str | None = None
    place: str | None = None
    manner: str | None = None
    quantity: str = "one"
    negated: bool = False


Meaning = tuple[Frame, ...]  # one frame per clause of a sentence
Marks = tuple[set[tuple[int, str]], set[tuple[int, str]]]  # (clause, slot) of both sentences


# The slots that exchange values when the other participant becomes the agent.
_TURNED = {"agent": "patient", "agent_trait": "patient_trait"}
_TURNED |= {other: slot for slot, other in _TURNED.items()}


def turn(frame: Frame) -> Frame:
    """Exchanges the two participants of a frame."""
    turned = {slot: getattr(frame, other) for slot, other in _TURNED.items()}
    return frame._replace(**turned | {"agent": frame.patient or UNKNOWN})


def _views(frame: Frame) -> tuple[Frame, ...]:
    """Lists a frame. A symmetric relation is listed with exchanged participants, too."""
    return (frame, turn(frame)) if frame.action in SYMMETRIC else (frame,)


def _is_group(frame: Frame) -> bool:
    return frame.quantity in ("all", "some", "no", "not all")


def _all_under(first: Frame, second: Frame, slots: tuple[str, ...]) -> bool:
    return all(under(getattr(first, slot), getattr(second, slot)) for slot in slots)


def _events_exclude(first: Frame, second: Frame) -> bool:
    """Tells whether two events with the same agents cannot both happen."""
    if exclusive(first.place, second.place):
        return True
    if not alike(first.patient, second.patient):
        return False
    if exclusive(first.action, second.action):
        return True
    return alike(first.action, second.action) and exclusive(first.manner, second.manner)


def _scope_within(first: Frame, first_holds: bool, second: Frame, second_holds: bool) -> bool:
    """Tells whether one action implies the other. Each is done or not done."""
    slots = (*_EVENT, "patient", "patient_trait")
    if first_holds and second_holds:
        return _all_under(first, second, slots)
    if not first_holds and not second_holds:
        return _all_under(second, first, slots)
    return first_holds and (
        _events_exclude(first, second)
        or (
            first.action == second.action
            and alike(first.patient, second.patient)
            and exclusive(first.patient_trait, second.patient_trait)
        )
    )


def _group_follows(first: Frame, second: Frame, refuted: bool) -> bool:
    """Tells whether `first` implies or refutes `second`, if one frame is about a group.

    For a group R and an action, "all" means that every R does it, "no" that no R does it, "some"
    that one R or more does it, and "not all" that one R or more does not do it.
    """
    parts = []
    for frame in (first, second):
        every = frame.quantity in ("all", "no")
        holds = not (frame.quantity in ("no", "not all") or frame.negated)
        parts.append((every, holds))
    (first_every, first_holds), (second_every, second_holds) = parts
    if refuted:
        second_every, second_holds = not second_every, not second_holds
    elif not _is_group(second):
        return False  # a group has no known number
    elif first.quantity == "one":
        return False  # one is not several
    if second_every and not first_every:
        return False
    slots = ("agent", "agent_trait")
    downward, upward = _all_under(second, first, slots), _all_under(first, second, slots)
    fits = {(True, True): downward, (False, False): upward}.get(
        (first_every, second_every), downward or upward
    )
    return fits and _scope_within(first, first_holds, second, second_holds)


def _goes_back(first: Frame, second: Frame) -> bool:
    """Tells whether the frames are one relation, seen from different participants."""
    return (
        first.action == second.action
        and first.action in CONVERSES
        and alike(first.agent, second.patient)
        and alike(first.patient, second.agent)
    )


def _follows(first: Frame, second: Frame) -> bool:
    """Tells whether `first` implies `second`, without traits of single participants."""
    if _is_group(first) or _is_group(second):
        return _group_follows(first, second, refuted=False)
    if first.quantity != second.quantity:
        return False
    if _goes_back(first, second) and second.negated and not first.negated:
        return _all_under(first, turn(second), ("agent", "patient"))
    # The participants exist. "not" denies only the event.
    if not _all_under(first, second, ("agent", "patient")):
        return False
    if first.negated and second.negated:
        return _all_under(second, first, _EVENT)
    if not first.negated and not second.negated:
        return _all_under(first, second, _EVENT)
    return second.negated and _events_exclude(first, second)


def _refutes(first: Frame, second: Frame) -> bool:
    """Tells whether both frames cannot be true together, without traits of single participants."""
    if _is_group(first) or _is_group(second):
        return _group_follows(first, second, refuted=True)
    if _goes_back(first, second) and not (first.negated or second.negated):
        return True
    if not alike(first.agent, second.agent) or (first.negated and second.negated):
        return False
    if not first.negated and not second.negated:
        return _events_exclude(first, second)
    return alike(first.patient, second.patient) and (
        _all_under(first, second, _EVENT) if second.negated else _all_under(second, first, _EVENT)
    )


def _facts(meaning: Meaning) -> list[tuple[str, str, int, str, str]]:
    """Lists each trait or number of a single participant: (noun, value, clause, two slots)."""
    facts = []
    for i, frame in enumerate(meaning):
        if not _is_group(frame):
            for owner, slot in _OWNED:
                noun, value = getattr(frame, owner), getattr(frame, slot)
                if noun is not None and value is not None:
                    facts.append((noun, value, i, owner, slot))
    return facts


def _refuted(first: Frame, second: Frame) -> bool:
    return any(_refutes(one, other) for one in _views(first) for other in _views(second))


def _clashes(first: Meaning, second: Meaning) -> Iterator[Marks]:
    """For every reason why the sentences cannot both be true, yields the deciding slots."""
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            if _refuted(one, other):
                yield (
                    {(i, s) for s, new in _changes(one) if not _refuted(new, other)},
                    {(j, s) for s, new in _changes(other) if not _refuted(one, new)},
                )
    for a, x, i, owner, slot in _facts(first):
        for b, y, j, other_owner, other_slot in _facts(second):
            if alike(a, b) and exclusive(x, y):
                yield {(i, owner), (i, slot)}, {(j, other_owner), (j, other_slot)}


def _implied(first: Meaning, second: Meaning) -> bool:
    known = [view for frame in first for view in _views(frame)]
    facts = _facts(first)
    return all(
        any(_follows(one, view) for one in known for view in _views(frame)) for frame in second
    ) and all(
        any(under(noun, b) and under(value, y) for noun, value, *_ in facts)
        for b, y, *_, slot in _facts(second)
        if slot != "quantity"  # `_follows` compares these
    )


def label(first: Meaning, second: Meaning) -> int:
    """Gives a pair of sentences its class."""
    if any(_clashes(first, second)):
        return CONTRADICTION
    return ENTAILMENT if _implied(first, second) else NEUTRAL


def _closeness(first: str | None, second: str | None) -> float:
    if first is None or second is None:
        return 0.0
    if first == second:
        return 1.0
    if alike(first, second):
        return 0.75
    if exclusive(first, second):
        return 0.5
    family = set(ancestors(first)[1:]) & set(ancestors(second)[1:])
    return 0.5 if family - {"thing", "person", "animal"} else 0.25 if family - {"thing"} else 0.0


def _weight(frame: Frame) -> float:
    return sum(w for slot, w in _WEIGHTS.items() if getattr(frame, slot) is not None)


def _overlap(first: Frame, second: Frame) -> float:
    """Adds the weights of the values that two frames share."""

    def in_place(one: Frame, other: Frame) -> float:
        total = 0.0
        for slot, weight in _WEIGHTS.items():
            close = _closeness(getattr(one, slot), getattr(other, slot))
            if slot.endswith("_trait"):  # counts only as far as the nouns agree
                owner = slot.removesuffix("_trait")
                close *= _closeness(getattr(one, owner), getattr(other, owner))
            total += weight * close
        return total

    shared = in_place(first, second)
    if first.patient is not None and second.patient is not None:
        crossed = in_place(turn(first), second)
        if not {first.action, second.action} & SYMMETRIC:
            # The same participants in exchanged roles count half.
            crossed = (crossed + _overlap_in_order(first, second, _EVENT)) / 2
        shared = max(shared, crossed)
    if first.negated != second.negated:
        shared *= 0.8
    if first.quantity != second.quantity:
        shared *= 0.8 if {"no", "all"} == {first.quantity, second.quantity} else 0.9
    return shared


def relatedness(first: Meaning, second: Meaning) -> float:
    """Grades two meanings from 1 (nothing in common) to 5 (the same meaning)."""
    total = sum(_weight(frame) for frame in (*first, *second))
    short, long = sorted((first, second), key=len)
    best = max(
        sum(_overlap(one, other) for one, other in zip(short, order, strict=True))
        for order in itertools.permutations(long, len(short))
    )
    return round(1 + 8 * best / total, 2)


def with_value(frame: Frame, slot: str, value: Any) -> Frame:
    """Changes the value of one slot of a frame."""
    return frame._replace(**{slot: value})


def _changes(frame: Frame) -> list[tuple[str, Frame]]:
    """Lists every used slot, and the frame with an unknown concept in this slot."""
    return [
        (slot, with_value(frame, slot, not value if slot == "negated" else UNKNOWN))
        for slot in SLOTS
        if (value := getattr(frame, slot)) is not None
    ]


def _unsupported(first: Frame, second: Frame) -> list[str]:
    """Lists the slots of `second` that do not follow from the same slots of `first`."""
    to_some = second.quantity == "some" and first.quantity in ("all", *NUMBERS)
    if first.negated != second.negated or not (to_some or first.quantity == second.quantity):
        return [slot for slot in SLOTS if getattr(first, slot) != getattr(second, slot)]
    missing = []
    for slot in SLOTS[1:]:
        down = first.negated and slot in _EVENT
        if _is_group(second):
            of_agent = slot in ("agent", "agent_trait")
            down = second.quantity in (("all", "no") if of_agent else ("no", "not all"))
        pair = getattr(first, slot), getattr(second, slot)
        if slot != "negated" and not under(*(pair[::-1] if down else pair)):
            missing.append(slot)
    return missing


def rationale(first: Meaning, second: Meaning) -> Marks:
    """Finds the deciding (clause, slot) of both sentences."""
    marks: Marks = (set(), set())
    clashes = list(_clashes(first, second))
    for reason in clashes:
        for mine, slots in zip(marks, reason, strict=True):
            mine |= slots
    if clashes:
        return marks
    if _implied(first, second):
        for which, meaning in enumerate((first, second)):
            for i, frame in enumerate(meaning):
                for slot, new in _changes(frame):
                    other = (*meaning[:i], new, *meaning[i + 1 :])
                    pair = (first, other) if which else (other, second)
                    if label(*pair) != ENTAILMENT:
                        marks[which].add((i, slot))
        return marks
    for j, frame in enumerate(second):
        if label(first, (frame,)) == ENTAILMENT:
            continue
        i, best = max(
            ((i, view) for i, one in enumerate(first) for view in _views(one)),
            key=lambda item: (_overlap_in_order(item[1], frame), -item[0]),
        )
        for slot in _unsupported(best, frame):
            marks[1].add((j, slot))
            source = slot if best == first[i] else _TURNED.get(slot, slot)
            marks[0].add((i, source))
    return marks


def _overlap_in_order(first: Frame, second: Frame, slots: Iterable[str] = tuple(_WEIGHTS)) -> float:
    return sum(
        _WEIGHTS[slot] * _closeness(getattr(first, slot), getattr(second, slot)) for slot in slots
    )
