"""MPSAN's position fusion in float64, from its equations."""

import numpy as np


def fuse(sources, tokens, mask, w_p, b_p):
    """Eq. 15-16: `softmax` over the sources, separately for each feature of each token."""
    batch, time, dim = tokens.shape
    every = [*sources, tokens]
    output = np.zeros_like(tokens)
    weights = np.zeros((batch, time, len(every), dim))
    for row in range(batch):
        for step in np.flatnonzero(mask[row]):
            column = w_p.T @ tokens[row, step] + b_p
            for feature in range(dim):
                scores = column[feature::dim]
                e = np.exp(scores - scores.max())
                a = e / e.sum()
                weights[row, step, :, feature] = a
                output[row, step, feature] = sum(
                    share * source[row, step, feature]
                    for share, source in zip(a, every, strict=True)
                )
    return output, weights
