"""Generalized Pooling in NumPy float64, written from the equations.

Loops over examples, heads, features and tokens on purpose: nothing here is shared with the layer.
"""

import numpy as np
from reference.lama import over_kept


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def generalized_pooling(x, keep, w1, w2, b1=None, b2=None, activation=relu):
    """Eq. 5 and 6; the kernels of each head stored transposed, one column of `w2` a feature.

    With one column of `w2` the head has scalar attention: its weight serves every feature.
    """
    outputs, scores = [], []
    for h, kept in zip(x, keep, strict=True):
        vectors = np.zeros((len(w1), h.shape[1]))
        weights = np.zeros((len(w1), h.shape[0], w2.shape[2]))
        for i in range(len(w1)):
            hidden = activation(w1[i].T @ h.T + (0 if b1 is None else b1[i][:, None]))
            raw = w2[i].T @ hidden + (0 if b2 is None else b2[i][:, None])
            for k in range(w2.shape[2]):
                weights[i, :, k] = over_kept(raw[k], kept)
            for t in np.flatnonzero(kept):
                vectors[i] += weights[i, t] * h[t]
        outputs.append(vectors)
        scores.append(weights[..., 0] if w2.shape[2] == 1 < h.shape[1] else weights)
    return np.array(outputs), np.array(scores)


def relative_head_distance(x, threshold):
    """Sum over pairs of max(lambda - ||x_i - x_j||^2 / mean(||x_i||^2, ||x_j||^2), 0)."""
    total = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            size = (np.sum(x[i] ** 2) + np.sum(x[j] ** 2)) / 2
            distance = np.sum((x[i] - x[j]) ** 2) / size if size else 0.0
            total += max(threshold - distance, 0.0)
    return total
