"""The corpus of sentence pairs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_attnpool.workbench.corpora import _concepts as concepts
from keras_attnpool.workbench.corpora._concepts import (
    DEEDS,
    NUMBERS,
    PARENTS,
    alike,
    ancestors,
    exclusive,
)
from keras_attnpool.workbench.corpora._pair_frames import (
    CONTRADICTION,
    ENTAILMENT,
    NEUTRAL,
    SLOTS,
    Frame,
    Meaning,
    label,
    rationale,
    relatedness,
    turn,
    with_value,
)
from keras_attnpool.workbench.corpora._writer import Writer, check_arguments, with_articles
from keras_attnpool.workbench.datasets import SentencePairs

LABEL_NAMES = ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")
_LONGEST = 16
_EXTRAS = ("agent_trait", "patient_trait", "place", "manner")
_PLACES = tuple(concepts.PLACES)

Token = tuple[str, str | None]  # the word and the slot that it expresses


def _makes_sense(frame: Frame) -> bool:
    """Tells whether action, manner and traits fit the participants of a frame."""
    if frame.negated and frame.quantity in ("all", "some", "no", "not all"):
        return False  # "all are not" can be read in two ways
    for noun, trait in ((frame.agent, frame.agent_trait), (frame.patient, frame.patient_trait)):
        if noun in concepts.CLASSES or (noun and trait and trait not in concepts.traits_of(noun)):
            return False
    if frame.manner and frame.manner not in concepts.manners_of(frame.action):
        return False
    if frame.patient is None or frame.action in DEEDS:
        fits = frame.patient is None or concepts.is_one_of(frame.patient, DEEDS[frame.action][1])
        return fits and concepts.can_act(frame.agent, frame.action)
    kind = concepts.relation_kind(frame.action, frame.patient, frame.agent)
    return kind == "person" or (kind is not None and frame.place is None)


def _values(frame: Frame, slot: str) -> Sequence[str]:
    """Lists the possible values of a trait, the place or the manner of a frame."""
    if slot == "place":
        return _PLACES
    if slot == "manner":
        return concepts.manners_of(frame.action)
    noun = frame.agent if slot == "agent_trait" else frame.patient
    return () if noun is None else concepts.traits_of(noun)


def _nouns(meaning: Meaning) -> list[str]:
    return [n for frame in meaning for n in (frame.agent, frame.patient) if n is not None]


def _is_clear(first: Meaning, second: Meaning) -> bool:
    """Tells whether each noun means one participant. No noun may be a case of two other nouns."""
    groups = _nouns(first), _nouns(second)
    for nouns, others in (groups, groups[::-1]):
        if any(alike(a, b) for i, a in enumerate(nouns) for b in nouns[:i]):
            return False
        if any(sum(alike(a, b) for b in others) > 1 for a in nouns):
            return False
    return all(_makes_sense(frame) for frame in (*first, *second))


# The edits of the first meaning. An edit that is listed twice is drawn twice as often. All labels
# have the same edits, except for edits that cannot lead to a label. An exchange keeps the words and
# changes the meaning.
_PLANS = tuple(
    (
        *[("exchange",)] * 16,
        *[("exchange", "drop")] * 5,
        *[("exchange", "add")] * 2,
        *[("replace",)] * 4,
        *[("replace", "drop")] * 2,
        ("replace", "add"),
        ("replace", "replace"),
        *own,
    )
    for own in (
        (("exchange", "replace"),) * 3 + (("replace", "replace", "replace"),) * 2,
        (("drop",),) * 3 + (("drop", "drop"), ("add",)),
        (("add",), ("drop", "add"), ("drop",), ("other",), ("other",)),
    )
)


def _exchanges(meaning: Meaning) -> list[Meaning]:
    """Lists the meanings with the same values in other slots."""
    others: list[Meaning] = []
    if len(meaning) == 2:
        one, other = meaning
        for slots in (*((slot,) for slot in SLOTS), ("agent", "agent_trait")):
            mine = {slot: getattr(one, slot) for slot in slots}
            its = {slot: getattr(other, slot) for slot in slots}
            if mine != its:
                others.append((one._replace(**its), other._replace(**mine)))
    elif meaning[0].patient is not None:
        (frame,) = meaning
        turned = turn(frame)
        others = [(turned,), (frame._replace(agent=turned.agent, patient=turned.patient),)]
        if frame.agent_trait != frame.patient_trait:
            others.append((turned._replace(agent=frame.agent, patient=frame.patient),))
    return others


class _Writer(Writer):
    """Draws meanings and words."""

    def __init__(self, seed: int, paraphrase_rate: float) -> None:
        super().__init__(seed)
        self.paraphrase_rate = paraphrase_rate

    # Meanings.

    def noun(self, kinds: Sequence[str]) -> str:
        return self.common(concepts.nouns_of(self.pick(kinds)))

    def decorated(self, frame: Frame, trait_rate: float, place_rate: float) -> Frame:
        """Adds random traits, a place and a manner to a frame."""
        rates = (trait_rate, trait_rate, place_rate, place_rate)
        new: dict[str, Any] = {
            slot: self.common(values)
            for slot, rate in zip(_EXTRAS, rates, strict=True)
            if (values := _values(frame, slot)) and self.chance(rate)
        }
        return frame._replace(**new)

    def doing(self, trait_rate: float, place_rate: float) -> Frame:
        """Draws a frame: somebody does something."""
        kind = self.pick(("person", "person", "person", "animal", "dog", "bird"))
        frame = Frame(self.noun((kind,)), self.common(concepts.INTRANSITIVE[kind]))
        return self.decorated(frame, trait_rate, place_rate)

    def deed(self) -> Frame:
        """Draws a frame: somebody does something to somebody or something."""
        action = self.common(tuple(DEEDS))
        agents, patients = DEEDS[action]
        kind = self.pick(agents)
        both = kind in patients and self.chance(0.8)
        return self.decorated(
            Frame(self.noun((kind,)), action, self.noun((kind,) if both else patients)), 0.5, 0.25
        )

    def relation(self) -> Frame:
        kind = self.pick(tuple(concepts.RELATIONS))
        kinds = concepts.RELATED[kind]
        frame = Frame(self.noun(kinds), self.common(concepts.RELATIONS[kind]), self.noun(kinds))
        return self.decorated(frame, 0.5, 0.3 if kind == "person" else 0.0)

    def scene(self) -> Meaning:
        """Draws the meaning of a first sentence."""
        kind = self.pick(("deed", "deed", "relation", "doings", "doings", "groups", "group"))
        if kind == "deed" or kind == "relation":
            frame = self.deed() if kind == "deed" else self.relation()
            return (frame._replace(negated=self.chance(0.25)),)
        if kind == "group":
            frame = self.deed() if self.chance(0.5) else self.doing(0.5, 0.5)
            return (frame._replace(quantity=self.pick(tuple(concepts.QUANTITIES))),)
        frames = tuple(self.doing(0.4, 0.15) for _ in range(2))
        if kind == "groups":
            some = (*("all", "some", "no", "not all") * 2, *NUMBERS)
            return tuple(f._replace(quantity=self.pick(some)) for f in frames)
        denied = self.chance(0.4)  # "not" is more often in one frame than in both or none
        which = denied, (not denied if self.chance(0.6) else denied)
        return tuple(f._replace(negated=n) for f, n in zip(frames, which, strict=True))

    # Edits turn a meaning into another meaning. An edit that does not apply returns its meaning
    # unchanged.

    def edit(self, how: str, meaning: Meaning) -> Meaning:
        if how == "exchange":
            return self.pick(_exchanges(meaning) or (meaning,))
        if how == "drop" and len(meaning) == 2 and self.chance(0.4):
            return (self.pick(meaning),)
        if how == "add" and len(meaning) == 1 and meaning[0].patient is None and self.chance(0.3):
            return (*meaning, self.doing(0.4, 0.15))
        i = self.below(len(meaning))
        changed = getattr(self, how)(meaning[i])
        return (*meaning[:i], changed, *meaning[i + 1 :])

    def drop(self, frame: Frame) -> Frame:
        """Returns a frame that says less."""
        slots = [slot for slot in _EXTRAS if getattr(frame, slot)]
        slots += [
            s for s in ("agent", "patient", "action", "place") if getattr(frame, s) in PARENTS
        ]
        if frame.quantity in ("all", *NUMBERS):
            slots.append("quantity")
        if not slots:
            return frame
        slot = self.pick(slots)
        value = "some" if slot == "quantity" else PARENTS.get(getattr(frame, slot))
        return with_value(frame, slot, value)

    def add(self, frame: Frame) -> Frame:
        """Returns a frame that says more."""
        options = []
        for slot in ("agent", "patient", "action", "agent_trait", "patient_trait", "place"):
            options += [
                (slot, child) for child in concepts.CHILDREN.get(getattr(frame, slot), ())[:2]
            ]
        options += [
            (slot, self.common(values))
            for slot in _EXTRAS
            if getattr(frame, slot) is None and (values := _values(frame, slot))
        ]
        if not options:
            return frame
        slot, value = self.pick(options)
        return with_value(frame, slot, value)

    def replace(self, frame: Frame) -> Frame:
        """Returns a frame with another value in one slot."""
        slots = [slot for slot in _EXTRAS if getattr(frame, slot)]
        slots += ["agent", "action", "action", "negated"]
        slots += ["patient"] if frame.patient else []
        slots += ["quantity"] * 2 if frame.quantity != "one" else []
        slot = self.pick(slots)
        value: str | bool
        if slot == "negated":
            value = not frame.negated
        elif slot in ("agent", "patient"):
            top = next(k for k in ancestors(getattr(frame, slot))[::-1] if k != "thing")
            value = self.noun((top,))
        elif slot == "action":
            value = self.common(self.actions(frame))
        elif slot == "quantity":
            value = self.pick(tuple(concepts.QUANTITIES))
        else:
            value = self.common(_values(frame, slot))
        new = with_value(frame, slot, value)
        opposed = slot != "negated" and exclusive(getattr(frame, slot), getattr(new, slot))
        if opposed and frame.quantity == "one" and self.chance(0.5):
            new = new._replace(negated=not new.negated)
        return new

    def actions(self, frame: Frame) -> Sequence[str]:
        """Lists other actions; in half of the calls, only exclusive actions, if there are any."""
        if frame.patient is None:
            kinds = [k for k in concepts.INTRANSITIVE if concepts.is_one_of(frame.agent, (k,))]
            verbs = [verb for kind in kinds for verb in concepts.INTRANSITIVE[kind]]
        elif frame.action in DEEDS:
            verbs = [
                verb
                for verb, (agents, patients) in DEEDS.items()
                if concepts.is_one_of(frame.agent, agents)
                and concepts.is_one_of(frame.patient, patients)
            ]
        else:
            relations = (verb for kind in concepts.RELATIONS.values() for verb in kind)
            verbs = [v for v in relations if concepts.relation_kind(v, frame.patient, frame.agent)]
        opposed = [verb for verb in verbs if exclusive(verb, frame.action)]
        return opposed if opposed and self.chance(0.6) else verbs

    def pair(self, target: int) -> tuple[Meaning, Meaning]:
        """Draws two meanings with the requested label."""
        plan = self.pick(_PLANS[target])
        # An exchange in these scenes can give any label, so the scenes hardly show the label.
        spoilt = {target if target != ENTAILMENT else self.pick((CONTRADICTION, NEUTRAL))}
        if self.chance(0.7):
            spoilt = {CONTRADICTION, NEUTRAL}
        while True:
            first = self.scene()
            if not _is_clear(first, first):
                continue
            if plan[0] == "exchange":
                others = [other for other in _exchanges(first) if _is_clear(first, other)]
                if not spoilt <= {label(first, other) for other in others}:
                    continue
            for _ in range(4):
                second = self.scene() if plan == ("other",) else first
                for how in plan:
                    harmless = how == "exchange" and target == ENTAILMENT and self.chance(0.5)
                    if how != "other" and not harmless and _is_clear(second, second):
                        second = self.edit(how, second)
                if not _is_clear(first, second) or label(first, second) != target:
                    continue
                if second != first or plan == ("exchange",):
                    if self.chance(0.5) and label(second, first) == target:
                        return second, first
                    return first, second

    # Words.

    def word(self, concept: str) -> list[str]:
        """Draws one of the concept's wordings."""
        plain = f"in the {concept}" if concept in concepts.PLACES else concept
        return self.wording(concepts.WORDINGS.get(concept, [plain]))

    def wording(self, options: Sequence[str]) -> list[str]:
        """Draws one of the options; the plainest option is drawn most often."""
        return (self.pick(options) if self.chance(self.paraphrase_rate) else options[0]).split()

    def participant(self, frame: Frame, role: str, definite: bool) -> tuple[list[Token], bool]:
        """Writes the agent or patient, and tells whether the verb is plural."""
        noun, trait = getattr(frame, role), getattr(frame, f"{role}_trait")
        quantity = frame.quantity if role == "agent" else "one"
        word = self.word(noun)[0]
        plural = False
        tokens: list[Token]
        if quantity == "one":
            tokens = [("the" if definite else "a", None)]
        else:
            said = self.wording(concepts.QUANTITIES[quantity])
            plural = said[-1] != "every"
            tokens = [(w, None if w in ("of", "the") else "quantity") for w in said]
            if definite and quantity in NUMBERS:
                tokens.insert(0, ("the", None))
        adjective = [(w, f"{role}_trait") for w in self.word(trait)] if trait else []
        name = (_plural(word) if plural else word, role)
        if adjective and quantity == "one" and self.chance(0.3 * self.paraphrase_rate):
            pronoun = "who" if "person" in ancestors(noun) else "that"
            return [*tokens, name, (pronoun, None), ("is", None), *adjective], plural
        return [*tokens, *adjective, name], plural

    def clause(self, frame: Frame, alone: bool) -> list[Token]:
        """Writes one frame."""
        rate = self.paraphrase_rate
        is_deed = frame.action in DEEDS
        relates = frame.patient is not None and not is_deed
        ing = relates and frame.action.split()[0].endswith("ing")
        action = self.word(frame.action)
        ends = ["agent", "patient"]
        if relates and self.chance(0.5 * rate):
            ends.reverse()
            if frame.action in concepts.CONVERSES:
                action = concepts.CONVERSES[frame.action].split()
        definite = frame.negated or (relates and not ing) or self.chance(0.4)
        stated = definite, frame.negated or self.chance(0.4)
        by: list[Token] = []
        if (
            frame.patient is not None
            and action[0] in concepts.PARTICIPLES
            and (frame.quantity == "one" or frame.quantity in NUMBERS)
            and self.chance(0.6 * rate)
        ):
            ends.reverse()
            action = ["being", concepts.PARTICIPLES[action[0]]]
            by = [("by", None)]
        subject, plural = self.participant(frame, ends[0], stated[0])
        be: list[Token] = [("are" if plural else "is", None)]
        verb: list[Token] = [(w, None if w == "being" else "action") for w in action]
        manner: list[Token] = []
        if frame.manner:
            manner = [(w, "manner") for w in self.word(frame.manner)]
        place: list[Token] = []
        if frame.place:
            small = ("in", "on", "at", "the", "a")
            place = [(w, None if w in small else "place") for w in self.word(frame.place)]
        rest: list[Token] = []
        if frame.patient is not None:
            rest, _ = self.participant(frame, ends[1], stated[1])
        denial: list[Token] = [("not", "negated")] if frame.negated else []
        if manner and not denial and self.chance(0.4 * rate):
            verb, manner = [*manner, *verb], []
        tail = [*denial, *verb, *by, *rest, *manner, *place]
        if alone and place and not denial and self.chance(0.4 * rate):
            tail = tail[: -len(place)]
            return [*place, *subject, *be, *tail]
        if (
            alone
            and subject[0][0] == "a"
            and ("is", None) not in subject
            and self.chance(0.3 * rate)
        ):
            return [("there", None), ("is", None), *subject, *tail]
        return [*subject, *be, *tail]

    def sentence(self, meaning: Meaning, deciding: set[tuple[int, str]]) -> tuple[str, list[bool]]:
        """Writes the sentence, and marks its deciding tokens."""
        order = list(range(len(meaning)))
        if len(order) == 2 and self.chance(0.5 * self.paraphrase_rate):
            order.reverse()
        tokens: list[str] = []
        decides: list[bool] = []
        for position, i in enumerate(order):
            if position:
                tokens.append(self.pick(concepts.LISTS["joins"].split()))
                decides.append(False)
            for word, slot in self.clause(meaning[i], len(order) == 1):
                tokens.append(word)
                decides.append((i, slot) in deciding)
        return " ".join(with_articles(tokens)), decides


def _plural(word: str) -> str:
    if word in concepts.PLURALS:
        return concepts.PLURALS[word]
    if word.endswith("child"):
        return word + "ren"
    if word.endswith("man") and word != "human":
        return word[:-2] + "en"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def sentence_pairs(
    num_examples: int = 2000, seed: int = 0, *, paraphrase_rate: float = 0.3
) -> SentencePairs:
    """Generates sentence pairs with entailment, relatedness and rationales.

    The corpus shows whether a model knows who does what, what is denied, and which word describes
    which noun. Both sentences describe a small scene in 4 to 16 tokens in lower case, joined by one
    space. The classes, their order and the scale of relatedness are as in SICK. Labels, relatedness
    and rationales are computed from the meanings of the two sentences, without noise. In
    `rationales_a` and `rationales_b`, True marks the words that express a deciding slot. The
    datasheet (see corpora in the documentation of the API) describes the rules.

    Args:
        num_examples: Number of pairs, at least 1. A larger corpus of the same seed and option
            starts with the pairs of a smaller corpus.
        seed: Integer in [0, 2**31). The same seed gives the same pairs on every platform and NumPy
            version. Other seeds give other pairs of the same distribution. Use different seeds for
            training and testing.
        paraphrase_rate: Probability in [0, 1] of a paraphrase. A paraphrase uses a synonym, the
            passive, a converse verb, or another order of the words. With the rate 0, two sentences
            with different words have different meanings. Differences in "a", "the" and the joining
            word do not count.

    Returns:
        `SentencePairs` with `num_examples` pairs, int32 labels, float32 relatedness in [1, 5], and
        rationales of both sentences, boolean arrays of shape `(num_tokens,)`.

    Raises:
        ValueError: If the size is below 1, if the seed is negative, or if the rate is outside [0,
            1].

    Example:
        >>> from keras_attnpool.workbench.corpora import sentence_pairs
        >>> pairs = sentence_pairs(100, seed=1)
        >>> len(pairs), pairs.label_names
        (100, ('CONTRADICTION', 'ENTAILMENT', 'NEUTRAL'))
        >>> len(pairs.sentences_b[0].split(" ")) == len(pairs.rationales_b[0])
        True
    """
    check_arguments("sentence_pairs", num_examples, seed, paraphrase_rate=paraphrase_rate)
    writer = _Writer(seed, paraphrase_rate)
    rows = []
    for _ in range(num_examples):
        target = writer.below(3)
        while True:
            first, second = writer.pair(target)
            marks = rationale(first, second)
            a, mask_a = writer.sentence(first, marks[0])
            b, mask_b = writer.sentence(second, marks[1])
            if len(mask_a) <= _LONGEST and len(mask_b) <= _LONGEST:
                break
        rows.append((a, b, target, relatedness(first, second), mask_a, mask_b))
    firsts, seconds, labels, scores, masks_a, masks_b = zip(*rows, strict=True)
    return SentencePairs(
        sentences_a=firsts,
        sentences_b=seconds,
        labels=np.array(labels, np.int32),
        label_names=LABEL_NAMES,
        relatedness=np.array(scores, np.float32),
        rationales_a=tuple(np.array(mask) for mask in masks_a),
        rationales_b=tuple(np.array(mask) for mask in masks_b),
    )
