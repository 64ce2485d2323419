import collections
import itertools
import re

import numpy as np
import pytest

from keras_attnpool.workbench.corpora import questions
from keras_attnpool.workbench.corpora._questions import KINDS, LABEL_NAMES, _Writer, _written
from keras_attnpool.workbench.corpora._words import group, sections

pytestmark = pytest.mark.one_backend("generates texts")

LISTS = sections("questions")
NOUN_LISTS = [listed.split() for listed in group(LISTS, "nouns").values()]
NOUNS = {word: label for label, words in enumerate(NOUN_LISTS) for word in words}
ADVERBS = {
    phrase: LABEL_NAMES.index(name)
    for name, phrases in group(LISTS, "adverbs").items()
    for phrase in phrases.splitlines()
}
DONE = {verb.split("/")[1] for verb in LISTS["verbs"].split()}


@pytest.fixture(scope="module")
def corpus():
    return questions(3000, seed=11)


def arrangements(bag):
    """Every question that can be written with these words."""
    orders = list(itertools.permutations(range(len(bag.candidates))))
    return [_written(pattern, bag, order) for pattern in bag.patterns for order in orders]


def test_seeds_give_other_questions_of_the_same_distribution(corpus):
    other = questions(3000, seed=12)
    assert len(set(corpus.texts)) == len(corpus)
    bags, others = ({" ".join(sorted(t.split())) for t in data.texts} for data in (corpus, other))
    assert not bags & others and len(bags) == len(corpus)
    known = {token for text in corpus.texts for token in text.split()}
    tokens = [token for text in other.texts for token in text.split()]
    assert np.mean([token in known for token in tokens]) > 0.99


def test_form(corpus):
    token = re.compile(r"[a-z]+|[,?]")
    for text, mask in zip(corpus.texts, corpus.rationales, strict=True):
        tokens = text.split(" ")
        assert all(token.fullmatch(word) for word in tokens)
        assert tokens[-1] == "?" and "?" not in tokens[:-1] and " , ?" not in text
        assert mask.any() and len(mask) == len(tokens) and not mask[-1]
    lengths = np.array([len(mask) for mask in corpus.rationales])
    assert lengths.min() >= 8 and lengths.max() <= 24 and 14 < lengths.mean() < 17
    shares = np.bincount(corpus.labels) / len(corpus)
    assert len(shares) == 6 and shares.min() > 0.145 and shares.max() < 0.19
    assert len({word for text in corpus.texts for word in text.split()}) > 1000


def test_the_lists_are_large_and_share_no_word():
    others = (LISTS["slot A"], LISTS["slot D"], LISTS["verbs"].replace("/", " "))
    listed = NOUN_LISTS + [words.split() for words in others]
    counts = collections.Counter(word for words in listed for word in words)
    assert [word for word, count in counts.items() if count > 1] == []
    assert min(len(words) for words in listed[:6]) > 110 and len(NOUNS) > 1000


@pytest.mark.parametrize("kind", KINDS)
def test_a_bag_of_words_has_several_types_in_equal_shares(kind):
    # What the bound on models that are blind to order stands on.
    writer = _Writer(5, (kind,))
    for _ in range(200):
        bag = writer.bag()
        written = arrangements(bag)
        assert len({tuple(sorted(tokens)) for tokens, _, _ in written}) == 1
        assert len({tuple(tokens) for tokens, _, _ in written}) == len(written)
        labels = collections.Counter(label for _, _, label in written)
        assert len(labels) == len(bag.candidates) >= 2
        assert len(set(labels.values())) == 1


def test_the_bound_of_the_datasheet():
    shares = []
    for frames in group(LISTS, "frames").values():
        firsts = [frame.splitlines()[0].replace("*", "") for frame in frames.split("\n\n")]
        sizes = [len(set(first.split()) & set("XYZW")) for first in firsts]
        shares.append(np.mean([1 / size for size in sizes]))
    assert round(np.mean(shares), 2) == 0.39 and max(shares) < 0.42


def test_every_arrangement_is_drawn():
    drawn, writer = collections.Counter(), _Writer(8, ("distance",))
    bag = writer.bag()
    writer.bag = lambda: bag
    expected = {tuple(tokens) for tokens, _, _ in arrangements(bag)}
    for _ in range(60 * len(expected)):
        drawn[tuple(writer.question()[0])] += 1
    assert set(drawn) == expected and min(drawn.values()) > 25 and max(drawn.values()) < 110


def following(words, start):
    return next(word for word in words[start:] if word in NOUNS)


def answer(text):
    """Type of the answer by reading the question, without the frames."""
    words = text.split(" ")[:-1]
    nouns = [word for word in words if word in NOUNS]
    if "swapping" in words:
        given = words.index("swapping")
        return NOUNS[following(words, words.index("for") if "after" in words else given)]
    if "comes" in words:
        return NOUNS[nouns[{"first": 0, "second": 1, "last": -1}[words[words.index("comes") + 1]]]]
    if "came" in words:
        pivot = "before" if "before" in words else "after"
        other = following(words, words.index(pivot))
        verb = next(i for i, word in enumerate(words) if word in DONE)
        (thing,) = set(nouns) - {other, words[verb - 1]}
        earlier, later = (thing, other) if pivot == "before" else (other, thing)
        return NOUNS[earlier if words[words.index("came") + 1] == "first" else later]
    if "put" in words:
        return NOUNS[following(words, words.index("put"))]
    if "but" in words and "not" in words:
        but = words.index("but")
        if words[but + 1] == "not":
            return NOUNS[[word for word in words[:but] if word in NOUNS][-1]]
        return NOUNS[following(words, but)]
    if "tell" in words:
        listener = words.index("tell") + 2
        return NOUNS[following(words, listener + 1)]
    if "name" in words[:10] and "can" in words or words[0] == "does":
        which = words.index("which")
        if words[which + 1] == "the":
            return NOUNS[[word for word in words[:which] if word in NOUNS][-1]]
        return NOUNS[words[which + 1]]
    if "did" in words:
        before = words[: words.index("did")]
        for phrase, label in ADVERBS.items():
            if " ".join(before).endswith(phrase):
                return label
        if before[-1] in NOUNS:
            return NOUNS[before[-1]]
    if "," in words and "is" in words:  # with a parenthesis
        comma = len(words) - 1 - words[::-1].index(",")
        is_the = words[1:3] == ["is", "the"]
        return NOUNS[following(words, 3 if is_the else comma)]
    asked = next(i for i, word in enumerate(words) if word in ("which", "what"))
    run = list(
        itertools.takewhile(
            lambda word: word in NOUNS,
            itertools.dropwhile(lambda word: word not in NOUNS, words[asked:]),
        )
    )
    return NOUNS[run[-1]]


@pytest.mark.parametrize("kind", KINDS)
def test_reading_gives_the_type(kind):
    data = questions(600, seed=4, kinds=(kind,))
    for text, label in zip(data.texts, data.labels, strict=True):
        assert answer(text) == label, text


def test_known_questions():
    for text, name in (
        ("which year did the city describe before the king and the price ?", "time"),
        ("which price year did the king describe before the city ?", "time"),
        (
            "what is there now that the king put the price in place of the city and the coat ?",
            "number",
        ),
        ("was it not the year but the famous coat that the king described ?", "thing"),
        ("if the king described the year after the reason , what came first ?", "description"),
        ("what comes second , if the list lists the year , the city and the coat ?", "place"),
        ("can you name the nurse for which the king praised the year and city ?", "person"),
        ("where did the king ask when the nurse sang ?", "place"),
    ):
        assert answer(text) == LABEL_NAMES.index(name)


def test_rationales_hold_the_answer_and_nothing_of_the_others(corpus):
    for text, label, mask in zip(corpus.texts, corpus.labels, corpus.rationales, strict=True):
        kept = [word for word, decides in zip(text.split(), mask, strict=True) if decides]
        types = [NOUNS[word] for word in kept if word in NOUNS]
        if not types:
            types = [kind for phrase, kind in ADVERBS.items() if " ".join(kept[:-1]) == phrase]
        assert types == [label], text
        assert len(kept) >= 2, text
        others = {NOUNS[word] for word in text.split() if word in NOUNS} | {
            kind for phrase, kind in ADVERBS.items() if phrase in text
        }
        assert len(others) >= 2


def test_kinds_are_those_asked_for(corpus):
    signs = {"first", "second", "last", "swapping"}
    orders = questions(200, seed=6, kinds=("order",)).texts
    assert all(signs & set(text.split()) for text in orders)
    heads = questions(200, seed=6, kinds=("head", "clause")).texts
    assert not any(signs & set(text.split()) for text in heads)
    assert 0.17 < np.mean([bool(signs & set(text.split())) for text in corpus.texts]) < 0.23


def naive_bayes(train, test, features):
    """Accuracy of multinomial naive Bayes on counts of `features(text)`."""
    counts = [collections.Counter() for _ in LABEL_NAMES]
    for text, label in zip(train.texts, train.labels, strict=True):
        counts[label].update(features(text))
    size = len(set().union(*counts))
    priors = np.log(np.bincount(train.labels) / len(train))
    totals = [count.total() for count in counts]
    right = 0
    for text, label in zip(test.texts, test.labels, strict=True):
        scores = [
            prior + sum(np.log((count[f] + 0.3) / (total + 0.3 * size)) for f in features(text))
            for prior, count, total in zip(priors, counts, totals, strict=True)
        ]
        right += int(np.argmax(scores)) == label
    return right / len(test)


def test_words_alone_do_not_tell(corpus):
    test = questions(800, seed=12)
    words = naive_bayes(corpus, test, str.split)
    pairs = naive_bayes(
        corpus, test, lambda text: [*text.split(), *itertools.pairwise(text.split())]
    )
    length = naive_bayes(corpus, test, lambda text: [len(text.split())])
    commas = naive_bayes(corpus, test, lambda text: [text.count(",")])
    assert length < 0.22 and commas < 0.22
    assert words < 0.33 and words < pairs < 0.46


def test_fixed_positions_do_not_tell(corpus):
    first, last, asked = [], [], []
    for text, label in zip(corpus.texts, corpus.labels, strict=True):
        words = text.split()
        nouns = [NOUNS[word] for word in words if word in NOUNS]
        which = [i for i, word in enumerate(words) if word in ("which", "what")]
        after = [NOUNS[word] for i in which[:1] for word in words[i:] if word in NOUNS]
        first.append(nouns[0] == label)
        last.append(nouns[-1] == label)
        asked.append(after[:1] == [label])
    assert np.mean(first) < 0.43 and np.mean(last) < 0.32 and np.mean(asked) < 0.47
