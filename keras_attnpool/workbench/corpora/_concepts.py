"""The concepts of `sentence_pairs`: special cases, exclusions, and possible participants.

A concept is a string of `words/sentence_pairs.txt`.
"""

import functools

from keras_attnpool.workbench.corpora._words import entries, group, sections

LISTS = sections("sentence_pairs")


def _tree(body: str) -> dict[str, str]:
    """Reads lines `general: special special ...` into a dict from special to general concepts."""
    lines = [line.split(":") for line in body.splitlines()]
    return {special: general for general, below in lines for special in below.split()}


NOUNS, VERBS, PLACES = (_tree(LISTS[name]) for name in ("nouns", "verbs", "places"))
CLASSES = LISTS["classes"].split()
NUMBERS = tuple(LISTS["numbers"].split())
QUANTITIES, WORDINGS = (
    {concept: line.split("; ") for concept, line in entries(LISTS[name]).items()}
    for name in ("quantities", "wordings")
)
PLURALS = entries(LISTS["plurals"])
_TRAITS, _MANNERS = (
    {kind: line.split() for kind, line in entries(LISTS[name]).items()}
    for name in ("traits", "manners")
)
_TRAITS_OF, _MANNERS_OF = entries(LISTS["traits of"]), entries(LISTS["manners of"])

# Verbs with one participant, by possible agents. Verbs with two: verb -> (agents, patients).
INTRANSITIVE = {kind: body.split() for kind, body in group(LISTS, "intransitive").items()}
DEEDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
PARTICIPLES = entries(LISTS["participles"])
for _line in LISTS["transitive"].splitlines():
    _forms, _agents, _patients = (part.split() for part in _line.split(":"))
    PARTICIPLES[_forms[0]] = _forms[1]
    DEEDS[_forms[0]] = (tuple(_agents), tuple(_patients))

# Symmetric relations, and relations with a converse.
_BOTH_WAYS = {kind: body.splitlines() for kind, body in group(LISTS, "symmetric").items()}
_ONE_WAY = {kind: entries(body) for kind, body in group(LISTS, "asymmetric").items()}
RELATIONS = {kind: (*_BOTH_WAYS[kind], *_ONE_WAY[kind]) for kind in _BOTH_WAYS}
RELATED = {"person": ("person",), "being": ("person", "animal"), "object": ("thing",)}
SYMMETRIC = {action for actions in _BOTH_WAYS.values() for action in actions}
CONVERSES = {action: other for pairs in _ONE_WAY.values() for action, other in pairs.items()}

PARENTS = {
    **NOUNS,
    **VERBS,
    **PLACES,
    **dict(value.split("<") for values in _TRAITS.values() for value in values if "<" in value),
}
CHILDREN: dict[str, list[str]] = {}
for _special, _general in PARENTS.items():
    CHILDREN.setdefault(_general, []).append(_special)
_EXCLUSIVE = [
    *(line.split("; ") for line in LISTS["exclusive"].splitlines()),
    *([value for value in values if "<" not in value] for values in _TRAITS.values()),
    *_MANNERS.values(),
    *(CHILDREN[place] for place in ("indoors", "outdoors")),
    ["indoors", "outdoors"],
    ["one", *NUMBERS],
]
# Concept -> numbers of its sets in `_EXCLUSIVE`.
_GROUPS: dict[str, set[int]] = {}
for _number, _concepts in enumerate(_EXCLUSIVE):
    for _concept in _concepts:
        _GROUPS.setdefault(_concept, set()).add(_number)


@functools.cache
def ancestors(concept: str | None) -> tuple[str, ...]:
    """Lists a concept and all more general concepts, the nearest first."""
    line = []
    while concept is not None:
        line.append(concept)
        concept = PARENTS.get(concept)
    return tuple(line)


@functools.cache
def under(special: str | None, general: str | None) -> bool:
    """Tells whether `special` is a case of `general`; `None` stands for any concept."""
    return general is None or general in ancestors(special)


@functools.cache
def alike(first: str | None, second: str | None) -> bool:
    """Tells whether one of two concepts is a special case of the other concept."""
    return under(first, second) or under(second, first)


@functools.cache
def exclusive(first: str | None, second: str | None) -> bool:
    """Tells whether two concepts exclude each other: nothing can be both."""
    return any(
        a != b and _GROUPS.get(a, set()) & _GROUPS.get(b, set())
        for a in ancestors(first)
        for b in ancestors(second)
    )


@functools.cache
def nouns_of(kind: str) -> tuple[str, ...]:
    """Lists the nouns of a class. A class without given nouns has its name as its only noun."""
    nouns = (noun for noun in NOUNS if noun not in CLASSES)
    return tuple(noun for noun in nouns if kind in ancestors(noun)[1:]) or (kind,)


@functools.cache
def traits_of(noun: str) -> tuple[str, ...]:
    kind = next(kind for kind in ancestors(noun) if kind in _TRAITS_OF)
    values = (value for name in _TRAITS_OF[kind].split() for value in _TRAITS[name])
    return tuple(value.split("<")[0] for value in values)


@functools.cache
def manners_of(action: str) -> tuple[str, ...]:
    names = ("transitive verbs",) if action in DEEDS else ancestors(action)
    kinds = next((_MANNERS_OF[name] for name in names if name in _MANNERS_OF), "")
    return tuple(value for kind in kinds.split() for value in _MANNERS[kind])


@functools.cache
def is_one_of(noun: str, kinds: tuple[str, ...]) -> bool:
    return any(kind in kinds for kind in ancestors(noun))


def can_act(noun: str, action: str) -> bool:
    if action in DEEDS:
        return is_one_of(noun, DEEDS[action][0])
    return any(action in verbs for kind, verbs in INTRANSITIVE.items() if is_one_of(noun, (kind,)))


@functools.cache
def relation_kind(action: str, patient: str, agent: str) -> str | None:
    for kind, classes in RELATED.items():
        if action in RELATIONS[kind] and all(is_one_of(n, classes) for n in (agent, patient)):
            return kind
    return None
