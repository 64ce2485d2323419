"""MPSAN's positional self-attention in float64, from its equations 1 to 12."""

import math

import numpy as np
from reference.multi_dim_attention import elu


def position_mask(name, i, j):
    """`M_ij` of the source `i` and the target `j`, equations 8 to 12."""
    if name == "later":
        return 0.0 if i > j else -math.inf
    if name == "earlier":
        return 0.0 if i < j else -math.inf
    if name == "distance":
        return -float(abs(i - j))
    if name == "scaled_distance":
        return -math.log(abs(i - j)) if i != j else 0.0
    m = int(name.removeprefix("faraway_"))
    return 0.0 if abs(i - j) <= m and i != j else -math.inf


def positional_self_attention(
    x, mask, w, positions, scale=5.0, activation=elu, score_activation=elu, rescale=False
):
    """Equations 1 to 7; the output, and the weights by row, target, source and feature of `f`."""
    h = activation(x @ w["hidden/kernel"] + w.get("hidden/bias", 0))
    rows, time, units = h.shape
    output = np.zeros((rows, time, units))
    weights = np.zeros((rows, time, time, w["source_kernel"].shape[1]))
    for row in range(rows):
        for j in np.flatnonzero(mask[row]):
            exps = {}
            for i in np.flatnonzero(mask[row]):
                penalty = sum(position_mask(name, i, j) for name in positions)
                f = h[row, i] @ w["source_kernel"] + h[row, j] @ w["target_kernel"]
                f = score_activation((f + w.get("score_bias", 0)) / scale)
                exps[i] = np.exp(f * (scale if rescale else 1) + penalty)
            total = sum(exps.values())
            if np.all(total > 0):
                for i, e in exps.items():
                    weights[row, j, i] = e / total
                    output[row, j] += e / total * h[row, i]
    return output, weights
