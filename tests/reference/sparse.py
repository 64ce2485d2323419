"""Sparsemax and 1.5-entmax by their definition, in NumPy float64: tau is sought by bisection."""

import numpy as np


def bisection(logits, mask, power):
    """`max(z / power - tau, 0)^power` of the kept entries of each row, summing to 1."""
    found = np.zeros(logits.shape)
    for weights, row, kept in zip(found, logits.astype("float64"), mask, strict=True):
        if kept.any():
            z = row[kept] / power
            low, high = z.max() - 1, z.max()
            for _ in range(100):
                tau = (low + high) / 2
                total = np.sum(np.maximum(z - tau, 0) ** power)
                low, high = (tau, high) if total >= 1 else (low, tau)
            weights[kept] = np.maximum(z - low, 0) ** power
    return found
