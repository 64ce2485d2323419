"""How well networks do on the test part, and whether they differ."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_attnpool import datasets
from keras_attnpool.cli.networks import BASELINE

CHANCE = 0.05


def sentence(labels: npt.NDArray[Any], predicted: dict[str, npt.NDArray[Any]]) -> str:
    """What the difference between the model and its baseline tells.

    Args:
        labels: The true class of every test text.
        predicted: The predicted classes, of the model and then of its baseline.
    """
    (model, own), (baseline, other) = predicted.items()
    better = int(np.sum((own == labels) & (other != labels)))
    worse = int(np.sum((own != labels) & (other == labels)))
    place = " behind the same encoder" if baseline == BASELINE else ""
    counts = (
        f"{model} alone is right on {better} of {len(labels)} test texts, {baseline}{place} alone "
        f"on {worse}."
    )
    if sign_test(better, worse) >= CHANCE:
        return f"{counts} Such a difference can be chance: here the mean is as good."
    return f"{counts} Here {model if better > worse else 'the mean'} is better."


def sign_test(better: int, worse: int) -> float:
    """Two-sided p-value of so uneven a split, if either side were as likely."""
    number = better + worse
    # Logarithms: the numbers of possible splits are beyond what a float holds.
    whole = math.lgamma(number + 1) - number * math.log(2)
    rarer = sum(
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(number - k + 1))
        for k in range(min(better, worse) + 1)
    )
    return min(1.0, 2 * rarer)


def scores(test: datasets.LabeledTexts, predicted: npt.NDArray[Any]) -> dict[str, Any]:
    """Accuracy, and F1 of every class that was there or was predicted, with their mean."""
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
        "accuracy": float(np.mean(predicted == test.labels)),
        "macro_f1": float(np.mean(list(f1.values()))),
        "f1": f1,
    }


def table(results: dict[str, Any], test_size: int) -> str:
    """The results of `metrics.json` as lines of text."""
    columns = ("accuracy", "macro-F1", "parameters", "without embeddings", "epochs", "seconds")
    title = f"{test_size} test texts"
    width = max(len(title), *map(len, results))
    lines = [f"{title:{width}}  {'  '.join(columns)}"]
    for name, result in results.items():
        cells = [f"{result['accuracy']:.3f}", f"{result['macro_f1']:.3f}"]
        if "epochs" in result:
            cells += [f"{result['parameters']:,}", f"{result['parameters_without_embeddings']:,}"]
            cells += [str(result["epochs"]), f"{result['seconds']:.0f}"]
        row = [f"{cell:>{len(column)}}" for cell, column in zip(cells, columns, strict=False)]
        lines.append(f"{name:{width}}  {'  '.join(row)}")
    return "\n".join(lines)
