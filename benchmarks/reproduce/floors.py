"""The floor of every table: a linear classifier on TF-IDF, its strength chosen as epochs are.

Words and pairs of words; for pairs of sentences the differences and products of theirs. What the
validation part likes best of a few strengths is tested, once.
"""

import time
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from benchmarks.reproduce.results import packed

ROWS = ("TF-IDF, linear",)
STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def config(row: str) -> dict[str, Any]:
    """What the results file says of the row."""
    arguments = {"ngram_range": (1, 2), "sublinear_tf": True, "strengths": STRENGTHS}
    return {"model": "TfidfVectorizer", "arguments": arguments}


def run(
    row: str, parts: tuple[Any, Any, Any], seed: int, measure: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fits on the first part, chooses on the second, tests on the third.

    The measure is that of the experiment: "pearson" asks for a number, "f1" counts class 1 too.
    """
    start = time.perf_counter()
    graded = measure == "pearson"
    features = _features(parts)
    targets = [np.asarray(part.relatedness if graded else part.labels) for part in parts]
    best: tuple[float, Any, float] | None = None
    for strength in STRENGTHS:
        model = Ridge(alpha=1 / strength) if graded else LinearSVC(C=strength, random_state=0)
        model.fit(features[0], targets[0])
        found = model.predict(features[1])
        score = (
            -float(np.mean((found - targets[1]) ** 2))
            if graded
            else float(np.mean(found == targets[1]))
        )
        if best is None or score > best[0]:
            best = (score, model, strength)
    assert best is not None
    result: dict[str, Any] = {"seed": seed, "strength": best[2]}
    for name, part in (("test", 2), ("validation", 1)):
        found = best[1].predict(features[part])
        result |= {
            f"{name}_{key}": value
            for key, value in _measured(found, targets[part], measure).items()
        }
        if not graded and name == "test":
            result["correct"] = packed(found == targets[part])
    classes = 1 if graded or parts[0].num_classes == 2 else parts[0].num_classes
    weights = features[0].shape[1] * classes
    result |= {
        "best_epoch": 1,
        "epochs": 1,
        "stopped_by_the_epoch_limit": False,
        "seconds_per_epoch": round(time.perf_counter() - start, 2),
    }
    return result, {"parameters": weights, "parameters_without_embeddings": weights}


def _measured(found: Any, targets: Any, measure: str) -> dict[str, float]:
    if measure == "pearson":
        values = {
            "pearson": stats.pearsonr(found, targets).statistic,
            "spearman": stats.spearmanr(found, targets).statistic,
            "mse": np.mean((found - targets) ** 2),
        }
    else:
        values = {
            "accuracy": np.mean(found == targets),
            "macro_f1": f1_score(targets, found, average="macro"),
        }
        if measure == "f1":
            values["f1"] = f1_score(targets, found)
    return {name: round(float(value), 5) for name, value in values.items()}


def _features(parts: tuple[Any, Any, Any]) -> list[Any]:
    tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\b\w+\b")
    if not hasattr(parts[0], "sentences_a"):
        return [tfidf.fit_transform(parts[0].texts), *(tfidf.transform(p.texts) for p in parts[1:])]
    tfidf.fit([*parts[0].sentences_a, *parts[0].sentences_b])
    made = []
    for part in parts:
        a, b = tfidf.transform(part.sentences_a), tfidf.transform(part.sentences_b)
        product = a.multiply(b)
        made.append(sparse.hstack([abs(a - b), product, product.sum(axis=1)]).tocsr())
    return made
