"""The command `evaluate`."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_attnpool.workbench.cli import comparison, data
from keras_attnpool.workbench.cli.comparison import aligned
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.options import FILE_OPTIONS, Options
from keras_attnpool.workbench.cli.predict import field
from keras_attnpool.workbench.cli.reporting import reported
from keras_attnpool.workbench.cli.trained import Run

MATRIX_CLASSES = 12
BINS = 10


def evaluate(given: dict[str, Any]) -> int:
    """Prints how well a run does on a labelled file.

    `given` are `run`, `file`, and the options that say how the file is read. Returns 0. A mistake
    of the user's, such as a file with other classes, is a `CommandError`.
    """
    run = Run.load(Path(given["run"]))
    columns = {name: given[name] for name in FILE_OPTIONS if name in given}
    with reported():
        labelled = data.load_file(given["file"], Options(**columns), label_names=run.label_names)
    if not len(labelled):
        raise CommandError(f"{given['file']}: there is no text in it")
    probabilities = run.probabilities(labelled.texts)
    predicted, labels = probabilities.argmax(axis=1), labelled.labels
    right = predicted == labels
    scores = comparison.scores(labelled, predicted)
    print(f"{len(labelled)} texts. Accuracy {scores['accuracy']:.3f}, ", end="")
    print(f"macro-F1 {scores['macro_f1']:.3f}.")
    print("", *classes(labels, predicted, run.label_names), sep="\n")
    print("", *calibration(probabilities.max(axis=1), right), sep="\n")
    return 0


def classes(labels: npt.NDArray[Any], predicted: npt.NDArray[Any], names: list[str]) -> list[str]:
    """Precision, recall and F1 of each class, and for few classes the confusion matrix."""
    counts = np.zeros((len(names), len(names)), int)
    np.add.at(counts, (labels, predicted), 1)
    hits = np.diag(counts)
    true, chosen = counts.sum(axis=1), counts.sum(axis=0)
    rows = [["", "precision", "recall", "F1", "texts"]]
    for label, name in enumerate(names):
        parts = [(hits, chosen), (hits, true), (2 * hits, true + chosen)]
        shares = [f"{a[label] / b[label]:.3f}" if b[label] else "-" for a, b in parts]
        rows.append([field(name), *shares, str(true[label])])
    if len(names) <= MATRIX_CLASSES:
        title = "Rows are the true classes, columns the predicted ones, in the same order:"
        matrix = [[field(name), *map(str, row)] for name, row in zip(names, counts, strict=True)]
        return [*aligned(rows), "", title, *aligned(matrix)]
    return aligned(rows)


def calibration(sure: npt.NDArray[Any], right: npt.NDArray[np.bool_]) -> list[str]:
    """How often the model is right at each level of its confidence, and how far that is from the
    confidence.
    """
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    rows = [["probability", "mean", "right", "texts"]]
    off = 0.0
    for each in np.unique(bins):
        here = bins == each
        mean, share = float(sure[here].mean()), float(right[here].mean())
        off += abs(mean - share) * here.mean()
        span = f"{each / BINS:.1f} to {(each + 1) / BINS:.1f}"
        rows.append([span, f"{mean:.3f}", f"{share:.3f}", str(here.sum())])
    return [
        f"Calibration: the probability and the share that is right are {off:.3f} apart on average.",
        *aligned(rows),
    ]
