"""The floor of every table: a linear classifier on TF-IDF, its strength chosen as epochs are.

Words and pairs of words; for pairs of sentences the differences and products of theirs. What the
validation part likes best of a few strengths is tested, once.
"""

import time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from benchmarks.reproduce.tasks import Parts, answers, figures

ROWS = ("TF-IDF, linear",)
STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def config(row: str) -> dict[str, Any]:
    """Describes the settings of the row."""
    arguments = {"ngram_range": (1, 2), "sublinear_tf": True, "strengths": STRENGTHS}
    return {"model": "TfidfVectorizer", "arguments": arguments}


def run(
    row: str, parts: Parts, seed: int, measure: str, features: list[Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fits on the first part, chooses on the second, tests on the third.

    The measure is that of the experiment: "pearson" asks for a number, "f1" counts class 1 too.
    Other features than TF-IDF's are given, one matrix a part.
    """
    start = time.perf_counter()
    graded = measure == "pearson"
    features = _features(parts) if features is None else features
    targets = [np.asarray(part.relatedness if graded else part.labels) for part in parts]

    def fitted(strength: float) -> Any:
        model = Ridge(alpha=1 / strength) if graded else LinearSVC(C=strength, random_state=0)
        return model.fit(features[0], targets[0])

    def quality(model: Any) -> float:
        predicted = model.predict(features[1])
        if graded:
            return -float(np.mean((predicted - targets[1]) ** 2))
        return float(np.mean(predicted == targets[1]))

    models = {strength: fitted(strength) for strength in STRENGTHS}
    strength = max(models, key=lambda strength: quality(models[strength]))
    result = {"seed": seed, "strength": strength}
    result |= outcome(models[strength], features, targets, measure)
    result["seconds_per_epoch"] = round(time.perf_counter() - start, 2)
    return result, size(features, None if graded else parts[0].num_classes)


def outcome(
    classifier: Any, features: list[Any], targets: list[Any], measure: str
) -> dict[str, Any]:
    """Measures a classifier that has no epochs, for the results file."""
    result: dict[str, Any] = {"best_epoch": 1, "epochs": 1, "stopped_by_the_epoch_limit": False}
    for name, part in (("validation", 1), ("test", 2)):
        predicted = classifier.predict(features[part])
        for key, value in figures(measure, predicted, targets[part]).items():
            result[f"{name}_{key}"] = value
    return result | answers(measure, predicted, targets[2])


def size(features: list[Any], num_classes: int | None) -> dict[str, Any]:
    """Counts the weights; of two classes, and of a grade, one vector has them all."""
    weights = features[0].shape[1] * (1 if num_classes in (None, 2) else num_classes)
    return {"parameters": weights, "parameters_without_embeddings": weights}


def _features(parts: Parts) -> list[Any]:
    tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\b\w+\b")
    if not hasattr(parts[0], "sentences_a"):
        return [tfidf.fit_transform(parts[0].texts), *(tfidf.transform(p.texts) for p in parts[1:])]
    tfidf.fit([*parts[0].sentences_a, *parts[0].sentences_b])
    columns = []
    for part in parts:
        a, b = tfidf.transform(part.sentences_a), tfidf.transform(part.sentences_b)
        product = a.multiply(b)
        columns.append(sparse.hstack([abs(a - b), product, product.sum(axis=1)]).tocsr())
    return columns
