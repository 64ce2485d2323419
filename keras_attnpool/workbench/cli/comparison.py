"""Scores networks on the test part, and compares them with simpler models."""

import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keras_attnpool.workbench import datasets
from keras_attnpool.workbench.cli.data import Data
from keras_attnpool.workbench.cli.tfidf import (
    FACTORS,
    SHARES,
    WEIGHTS,
    TfIdf,
    joined,
    log_softmax,
    vectorizer,
)

MAJORITY, WORDS, CHARACTERS = "largest class", "TF-IDF of words", "TF-IDF of characters"
BOTH, MEAN = "TF-IDF of both", "mean of the states, logistic"
NO_LINEAR = "No linear rows: they need scikit-learn (pip install keras_attnpool[text])"
KINDS = {WORDS: "words", CHARACTERS: "characters"}
STRENGTHS, SMOOTHINGS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0), (0.1, 0.3, 1.0)
RESAMPLES = 10_000
# With fewer validation texts than this, the factors are fixed and not chosen. The mean of all
# models is then better than any choice. See `few` in
# benchmarks/results/command_line/own_files.json.
FEWEST, UNCHOSEN = 20, (0.25, 0.5, 1.0)
TOO_FEW = "{} validation texts are too few to choose by: other texts would give other figures."
FEW = 5  # if the test texts cannot show a difference of these points, they are few


class Simple(NamedTuple):
    """A row of the table of results that needs no network.

    Attributes:
        predicted: The class of every test text.
        seconds: Time of fitting and prediction.
        scorer: Computes the scores of further texts. Only `BOTH` has a scorer.
        weights: Weights `(features, classes)` and bias `(classes,)`; only for `MEAN`.
        validation: The scores of the validation texts, before the classifier was fitted on these
            texts. Only for `BOTH` and `MEAN`.
    """

    predicted: npt.NDArray[np.int64]
    seconds: float
    scorer: TfIdf | None = None
    weights: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None
    validation: npt.NDArray[np.float64] | None = None


def linear(
    data: Data, kinds: Sequence[str] = (WORDS, CHARACTERS), balanced: bool = False
) -> dict[str, Simple]:
    """Predicts classes by linear classifiers on TF-IDF features. The features are words and word
    pairs, or runs of 2 to 5 characters in a word, or all of these.

    Each classifier is a support vector machine. Naive Bayes is tried on words, too. The validation
    part chooses the regularization. Then the classifier is fitted on the training and validation
    parts. If a classifier cannot be fitted, its row has the predictions of `largest`.

    Args:
        data: The texts.
        kinds: Keys of `KINDS`. With several keys, the rows include `BOTH`.
        balanced: Whether rare classes count as much as frequent classes.

    Returns:
        The rows by their names. Without scikit-learn there are none.
    """
    try:
        from scipy import sparse
        from sklearn.naive_bayes import ComplementNB
        from sklearn.svm import LinearSVC
    except ImportError:
        return {}
    start = time.perf_counter()
    counted: dict[str, Any] = {}
    inputs: dict[str, tuple[Any, Any]] = {}
    for kind in kinds:
        counts = vectorizer(KINDS[kind])
        try:
            known = counts.fit_transform([*data.train.texts, *data.validation.texts])
        except ValueError:  # no text has a word
            continue
        inputs[kind] = known, counts.transform(data.test.texts)
        counted[KINDS[kind]] = counts
    if len(inputs) > 1:
        known, test = (sparse.hstack(each, "csr") for each in zip(*inputs.values(), strict=True))
        inputs[BOTH] = known, test
    weight, rows = "balanced" if balanced else None, {}
    for kind in [*kinds, *[BOTH] * (len(kinds) > 1)]:
        models = [LinearSVC(C=c, class_weight=weight, random_state=0) for c in STRENGTHS]
        models += [ComplementNB(alpha=each) for each in SMOOTHINGS] * (kind == WORDS)
        found = _fitted(models, inputs[kind][0], data, balanced) if kind in inputs else None
        predicted = found[1].predict(inputs[kind][1]) if found else largest(data)
        now = time.perf_counter()
        rows[kind] = Simple(np.asarray(predicted), now - start)
        if found and kind == BOTH:
            classes = data.train.num_classes
            weights, bias = _weights_of(found[0], classes)
            validation = inputs[kind][0][len(data.train) :] @ weights + bias
            scorer = TfIdf(counted, *_weights_of(found[1], classes))
            rows[kind] = rows[kind]._replace(scorer=scorer, validation=validation)
        start = now
    return rows


def logistic(data: Data, means: Sequence[Any], balanced: bool = False) -> dict[str, Simple]:
    """Returns the row of a logistic regression on a language model's mean states.

    Args:
        data: The texts.
        means: Means of the training, validation and test parts, `(texts, features)`.
        balanced: Whether rare classes count as much as frequent classes.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        return {}
    start, weight = time.perf_counter(), "balanced" if balanced else None
    models = [LogisticRegression(C=c / 10, class_weight=weight, max_iter=300) for c in STRENGTHS]
    known = np.concatenate(means[:2])
    scaler = StandardScaler().fit(known)
    found = _fitted(models, scaler.transform(known), data, balanced)
    if not found:
        return {MEAN: Simple(largest(data), time.perf_counter() - start)}
    predicted = np.asarray(found[1].predict(scaler.transform(means[2])))
    both = [_weights_of(each, data.train.num_classes, scaler) for each in found]
    validation = log_softmax(means[1] @ both[0][0] + both[0][1])
    row = Simple(predicted, time.perf_counter() - start, None, both[1], validation)
    return {MEAN: row}


def _fitted(
    models: Sequence[Any], known: Any, data: Data, balanced: bool
) -> tuple[Any, Any] | None:
    """Returns the model that is best on the validation part, fitted on one part and on both parts.

    Returns `None` if all texts have the same class.
    """
    from sklearn.base import clone

    size, labels = len(data.train), np.concatenate([data.train.labels, data.validation.labels])

    def score(model: Any) -> float:
        model.fit(known[:size], labels[:size])
        return accuracy(labels[size:], model.predict(known[size:]), balanced)

    with warnings.catch_warnings():  # too many classes, or too large a strength
        warnings.simplefilter("ignore")
        try:
            best = max(models, key=score)
            return best, clone(best).fit(known, labels)
        except ValueError:
            return None


def _weights_of(machine: Any, classes: int, scaler: Any = None) -> tuple[Any, Any]:
    """Weights `(terms, classes)` and bias `(classes,)` of a support vector machine, or of a
    logistic regression with a scaler.
    """
    weights, bias = machine.coef_, machine.intercept_
    if scaler is not None:
        weights = weights / scaler.scale_
        bias = bias - weights @ scaler.mean_
    if len(bias) == 1:  # for two classes it scores only the second class
        half = 1 if scaler is None else 2  # softmax of two is the sigmoid of their difference
        weights, bias = (np.concatenate([-each, each]) / half for each in (weights, bias))
    # A class without training texts has no weights, and gets the score of an excluded class.
    all_weights = np.zeros((weights.shape[1], classes), np.float32)
    all_bias = np.full(classes, -1 if scaler is None else -10, np.float32)
    all_weights[:, machine.classes_], all_bias[machine.classes_] = weights.T, bias
    return all_weights, all_bias


def mixed(
    probabilities: npt.NDArray[Any],
    scores: npt.NDArray[Any],
    logistic: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    balanced: bool,
) -> tuple[float, float, float]:
    """Chooses three factors: for the scores of a network, of TF-IDF, and of a regression on means.

    The factors must give a validation accuracy that is at least as high as with the network alone.
    Among such factors, the function chooses the factors with the smallest loss. The last two
    factors are 0 if the network alone is best.
    """
    if len(labels) < FEWEST:
        return UNCHOSEN
    own = accuracy(labels, probabilities.argmax(axis=1), balanced)
    found = {}
    for factors in itertools.product(FACTORS, WEIGHTS, SHARES):
        factor, weight, share = factors
        each = joined(probabilities, factor, weight * scores, share * logistic)
        if accuracy(labels, each.argmax(axis=1), balanced) >= own:
            found[factors] = _mean(-each[np.arange(len(labels)), labels], labels, balanced)
    return min(found, key=found.__getitem__)


def largest(data: Data) -> npt.NDArray[np.int64]:
    """Predicts the most frequent class of the training part for every test text."""
    return np.full(len(data.test), np.bincount(data.train.labels).argmax())


def accuracy(labels: npt.NDArray[Any], predicted: npt.NDArray[Any], balanced: bool) -> float:
    """Returns the share of right predictions; with `balanced`, the mean of the classes' shares."""
    return _mean(predicted == labels, labels, balanced)


def _mean(values: npt.NDArray[Any], labels: npt.NDArray[Any], balanced: bool) -> float:
    groups = [values[labels == label] for label in np.unique(labels)] if balanced else [values]
    return float(np.mean([each.mean() for each in groups]))


def difference(
    labels: npt.NDArray[Any],
    own: npt.NDArray[Any],
    other: npt.NDArray[Any],
    balanced: bool = False,
) -> tuple[float, float, float]:
    """Computes how much more accurate `other` is than `own`, with a 95 % interval.

    The interval comes from a paired bootstrap over the test texts. For balanced accuracy, the
    bootstrap draws the texts of each class separately.
    """
    signs = (other == labels).astype(int) - (own == labels)
    groups = [signs[labels == label] for label in np.unique(labels)] if balanced else [signs]
    generator, means = np.random.default_rng(0), []
    for group in groups:
        # Each text gains -1, 0 or 1, so the bootstrap draws from three numbers.
        shares = [np.mean(group == value) for value in (-1, 0, 1)]
        drawn = generator.multinomial(len(group), shares, RESAMPLES)
        means.append((drawn[:, 2] - drawn[:, 0]) / len(group))
    low, high = np.quantile(np.mean(means, axis=0), (0.025, 0.975))
    return float(np.mean([group.mean() for group in groups])), float(low), float(high)


def sentence(
    labels: npt.NDArray[Any],
    predicted: Mapping[str, npt.NDArray[Any]],
    simpler: list[str],
    balanced: bool = False,
) -> str:
    """Says in words whether the model is better than the simpler rows.

    Args:
        labels: The true class of every test text.
        predicted: The predicted classes of each row. The model's row comes first.
        simpler: The rows that are simpler than the model, the simplest first.
        balanced: Whether the comparison uses balanced accuracy.
    """
    name, own = next(iter(predicted.items()))
    found = {
        each: difference(labels, own, predicted[each], balanced)
        for each in simpler
        if each in predicted
    }
    measure = "points of balanced accuracy" if balanced else "points"

    def told(each: str) -> str:
        middle, low, high = (100 * value for value in found[each])
        return f"{middle:+.1f} {measure}, 95 % interval {low:+.1f} to {high:+.1f}"

    better = max(
        (each for each, (_, low, _) in found.items() if low > 0),
        key=lambda each: found[each][0],
        default=None,
    )
    if better:
        return f"{better} is better than {name} ({told(better)}): take that."
    level = [each for each, (_, _, high) in found.items() if high >= 0]
    if level:
        first, *more = level
        so = ("; so are " if more[1:] else "; so is ") * bool(more)
        widest = max(50 * (high - low) for _, low, high in (found[each] for each in level))
        # Intervals have at least this width. Two rows that agree on all n texts may still differ on
        # 3 / n of further texts.
        sizes = np.unique(labels, return_counts=True)[1]
        widest = max(widest, 300 / (len(sizes) * int(sizes.min()) if balanced else len(labels)))
        few = f" They are too few to tell less than about {widest:.0f} points."
        return (
            f"{first} is level with {name}, as far as {len(labels)} test texts can tell "
            f"({told(first)}), and simpler{so}{', '.join(more)}.{few * (widest > FEW)}"
        )
    return f"{name} is better than every simpler row." if found else ""


def scores(test: datasets.LabeledTexts, predicted: npt.NDArray[Any]) -> dict[str, Any]:
    """Computes accuracy, the F1 of every class that occurs or is predicted, and their mean."""
    classes = np.arange(test.num_classes)[:, None]
    true, chosen = test.labels == classes, predicted == classes
    f1 = {
        test.label_names[label]: float(2 * hits / total)
        for label, (hits, total) in enumerate(
            zip((true & chosen).sum(1), true.sum(1) + chosen.sum(1), strict=True)
        )
        if total
    }
    return {
        "accuracy": accuracy(test.labels, predicted, balanced=False),
        "balanced_accuracy": accuracy(test.labels, predicted, balanced=True),
        "macro_f1": float(np.mean(list(f1.values()))),
        "f1": f1,
    }


def columns(balanced: bool) -> tuple[str, ...]:
    """Returns the columns of the table of results. `balanced` adds balanced accuracy."""
    shown = ("accuracy", "balanced", "macro-F1", "balanced, beside the model (95 %)")
    return (*shown, *COLUMNS[3:]) if balanced else COLUMNS


def cells(result: Mapping[str, Any], balanced: bool) -> list[str]:
    """Returns the cells of one row of the table of results."""
    row = [f"{result['accuracy']:.3f}", f"{result['macro_f1']:.3f}"]
    if balanced:
        row.insert(1, f"{result['balanced_accuracy']:.3f}")
    row += [
        "{:+.3f} ({:+.3f} to {:+.3f})".format(*each) if (each := result.get("difference")) else ""
    ]
    if "epochs" in result:
        row += [f"{result['parameters']:,}", f"{result['parameters_without_embeddings']:,}"]
        row += [f"{result['best_epoch']} of {result['epochs']}"]
    seconds = f"{result['seconds']:.0f}" if "seconds" in result else ""
    return row + [""] * (len(columns(balanced)) - len(row) - 1) + [seconds]


COLUMNS = (
    "accuracy",
    "macro-F1",
    "beside the model (95 %)",
    "parameters",
    "without embeddings",
    "best epoch",
    "seconds",
)


def table(results: Mapping[str, Any], test_size: int, balanced: bool) -> str:
    """Writes the results of `metrics.json` as lines of text."""
    rows = [[name, *cells(result, balanced)] for name, result in results.items()]
    return "\n".join(aligned([[f"{test_size} test texts", *columns(balanced)], *rows]))


def aligned(rows: list[list[str]]) -> list[str]:
    """Aligns the cells of a table. The first column is left-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([f"{head:{widths[0]}}", *map(str.rjust, cells, widths[1:])]).rstrip()
        for head, *cells in rows
    ]
