"""Adds the scores of linear classifiers, on TF-IDF and on mean states, to a network's scores."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool.layers import MaskedAveragePooling1D
from keras_attnpool.workbench._files import whole_file
from keras_attnpool.workbench.cli import runs
from keras_attnpool.workbench.cli.errors import CommandError

INPUT = "tfidf"  # the name of the network's input
VECTORIZERS: dict[str, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2), "token_pattern": r"\b\w+\b"},
    "characters": {"ngram_range": (2, 5), "analyzer": "char_wb", "min_df": 2},
}
FACTORS, WEIGHTS = (1.0, 0.75, 0.5, 0.35, 0.25), (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
SHARES = (0.0, 0.25, 0.5, 1.0, 1.5)
LEAST = 1e-6  # the least probability, so that logarithms are finite


def vectorizer(kind: str, **options: Any) -> Any:
    """Makes an estimator of scikit-learn that counts words or characters."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    given = VECTORIZERS[kind] | options
    return TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **given)


class TfIdf:
    """Computes scores `(texts, classes)` of texts.

    Args:
        vectorizers: Fitted counters, by the kinds of `VECTORIZERS`.
        weights: float32 array `(terms of all vectorizers, classes)`.
        bias: float32 array `(classes,)`.
    """

    def __init__(
        self, vectorizers: dict[str, Any], weights: npt.NDArray[Any], bias: npt.NDArray[Any]
    ) -> None:
        self.vectorizers, self.weights, self.bias = vectorizers, weights, bias

    def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """The scores."""
        scores, start = np.tile(self.bias, (len(texts), 1)), 0
        for each in self.vectorizers.values():
            counted = each.transform(texts)
            scores += counted @ self.weights[start : start + counted.shape[1]]
            start += counted.shape[1]
        return np.asarray(scores, np.float32)

    def times(self, weight: float) -> Self:
        """Returns the scores times a number, rounded as in the saved file."""
        weights = (self.weights * weight).astype(np.float16).astype(np.float32)
        return type(self)(self.vectorizers, weights, self.bias * np.float32(weight))

    def save(self, run: Path) -> None:
        """Writes `tfidf.npz`."""
        arrays: dict[str, Any] = {"weights": self.weights.astype(np.float16), "bias": self.bias}
        for kind, each in self.vectorizers.items():
            terms = "\n".join(each.get_feature_names_out()).encode()
            arrays |= {kind: np.frombuffer(terms, np.uint8), f"{kind}_idf": each.idf_}
        with whole_file(run / runs.TFIDF) as temporary:
            np.savez_compressed(temporary, **arrays)

    @classmethod
    def load(cls, run: Path) -> Self:
        """Reads the files that `save` wrote.

        Raises:
            CommandError: If the file cannot be read, or if scikit-learn is missing.
        """
        path = run / runs.TFIDF
        try:
            with np.load(path) as arrays:
                found = {}
                for kind in [each for each in VECTORIZERS if each in arrays]:
                    terms = arrays[kind].tobytes().decode().split("\n")
                    found[kind] = vectorizer(kind, vocabulary=terms)
                    found[kind].idf_ = arrays[f"{kind}_idf"]
                return cls(found, arrays["weights"].astype(np.float32), arrays["bias"])
        except ImportError as error:
            raise CommandError(
                f"{path} needs scikit-learn: pip install keras_attnpool[text]"
            ) from error
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise CommandError(f"{path} cannot be loaded: {error}") from error


def log_softmax(logits: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Returns the logarithms of class probabilities, `(texts, classes)`."""
    logits = np.asarray(logits, np.float64) - logits.max(axis=1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))


def joined(
    probabilities: npt.NDArray[Any], factor: float, *scores: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """Adds scores to a network's log-probabilities; returns log-probabilities."""
    return log_softmax(factor * np.log(np.maximum(probabilities, LEAST)) + sum(scores))


def model_with_scores(
    model: keras.Model,
    factor: float,
    has_words: bool,
    share: float,
    weights: tuple[npt.NDArray[Any], npt.NDArray[Any]],
) -> keras.Model:
    """Makes a model that adds weighted scores, of TF-IDF and of mean states, to its output."""
    inputs, ops = dict(model.input), keras.ops
    logits = factor * ops.log(ops.maximum(model.output, LEAST))
    if has_words:
        inputs[INPUT] = keras.Input((model.output.shape[-1],), name=INPUT)
        logits = logits + inputs[INPUT]
    if share:
        mean = MaskedAveragePooling1D()(inputs["features"], mask=inputs["padding_mask"])
        logistic = keras.layers.Dense(len(weights[1]), name="logistic")
        logits = logits + share * ops.log_softmax(logistic(mean))
        logistic.set_weights(weights)
    return keras.Model(inputs, ops.softmax(logits))
