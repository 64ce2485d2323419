"""The Sequential Attention Module in float64, equations 1 to 6.

Loops over texts, features and steps on purpose: nothing here is shared with the layers.
"""

import math

import numpy as np


def ffn(vector, w, prefix):
    """Eq. 1: two linear maps with a ReLU in between."""
    hidden = vector @ w[f"{prefix}hidden/kernel"] + w.get(f"{prefix}hidden/bias", 0)
    return np.maximum(0, hidden) @ w[f"{prefix}score_kernel"] + w.get(f"{prefix}score_bias", 0)


def feature_wise(x, mask, w, threshold=0.0, prefix=""):
    """Eq. 2 to 4: the weighted steps `(batch, time, dim)` and the gate `(batch, dim)`."""
    output, gates = np.zeros(x.shape), np.zeros((len(x), x.shape[2]))
    for row, keep in enumerate(mask):
        kept = np.flatnonzero(keep)
        if not len(kept):
            continue
        highest = np.array([max(x[row, t, d] for t in kept) for d in range(x.shape[2])])
        mean = np.array([sum(x[row, t, d] for t in kept) / len(kept) for d in range(x.shape[2])])
        for d, logit in enumerate(ffn(highest, w, prefix) + ffn(mean, w, prefix)):
            gates[row, d] = max(0.0, 1 / (1 + math.exp(-logit)) - threshold)
        for t in kept:
            output[row, t] = gates[row] * x[row, t]
    return output, gates


def token_wise(x, mask, w, mode="dense", pooled=True, prefix=""):
    """Eq. 5 and 6: the vectors `(batch, dim)`, or the weighted steps, and the weights."""
    batch, time, dim = x.shape
    steps, weights = np.zeros(x.shape), np.zeros((batch, time))
    for row, keep in enumerate(mask):
        kept = np.flatnonzero(keep)
        highest, mean = np.zeros(time), np.zeros(time)
        for t in kept:
            highest[t] = max(x[row, t])
            mean[t] = sum(x[row, t]) / dim
        if mode == "dense":
            # Positions count from the first kept step.
            first = kept[0] if len(kept) else 0
            highest, mean = (np.append(v[first:], np.zeros(first)) for v in (highest, mean))
            logits = ffn(highest, w, prefix) + ffn(mean, w, prefix)
            logits = np.append(np.zeros(first), logits)[:time]
        else:
            logits = np.array(
                [
                    float((ffn(highest[t : t + 1], w, prefix) + ffn(mean[t : t + 1], w, prefix))[0])
                    for t in range(time)
                ]
            )
        if len(kept):
            exps = np.exp(logits[kept] - np.max(logits[kept]))
            weights[row, kept] = exps / np.sum(exps)
        for t in kept:
            steps[row, t] = weights[row, t] * x[row, t]
    return (steps.sum(axis=1) if pooled else steps), weights


def sequential(x, mask, w, order=("feature", "token"), threshold=0.0, mode="dense", pooled=True):
    """Section 3.4: one after the other. The weights of each part by its name."""
    scores = {}
    for index, part in enumerate(order):
        if part == "feature":
            x, scores[part] = feature_wise(x, mask, w, threshold, "feature/")
        else:
            last = index == len(order) - 1
            x, scores[part] = token_wise(x, mask, w, mode, pooled and last, "token/")
    return x, scores
