"""Computes class probabilities from the outputs of a classifier."""

from typing import Any

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.types import Array


def class_probabilities(outputs: Any, from_logits: bool, owner: str) -> Array:
    """Probabilities `(batch, classes)` in float64 from a model's outputs.

    A single output, `(batch, 1)`, belongs to the second of two classes. Raises an error if an
    output is not finite, or if the outputs are not probabilities although `from_logits` is False.
    """
    if not hasattr(outputs, "shape") or len(outputs.shape) != 2:
        must = "be a classifier with one output of shape (batch, classes)"
        raise ArgumentError("model", must, f"{getattr(outputs, 'shape', type(outputs))}", owner)
    values = np.asarray(outputs, np.float64)
    if not np.isfinite(values).all():
        raise ArgumentError(
            "model",
            "return finite numbers, for texts without a token too",
            f"{np.count_nonzero(~np.isfinite(values).all(axis=1))} of {len(values)} rows with "
            "NaN or infinity",
            owner,
        )
    if from_logits:
        if values.shape[1] == 1:
            values = np.concatenate([np.zeros_like(values), values], axis=1)
        values = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(values / values.sum(axis=1, keepdims=True))
    if values.shape[1] == 1:
        values = np.concatenate([1 - values, values], axis=1)
    if values.min(initial=0) < -1e-3 or np.abs(values.sum(axis=1) - 1).max(initial=0) > 1e-2:
        raise ArgumentError(
            "model",
            "return probabilities; pass from_logits=True if it returns logits",
            f"outputs from {values.min():.3g} to {values.max():.3g} with sums from "
            f"{values.sum(axis=1).min():.3g} to {values.sum(axis=1).max():.3g}",
            owner,
        )
    return values
