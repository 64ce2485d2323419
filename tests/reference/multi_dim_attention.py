"""DiSAN's source2token attention in float64, from its equations."""

import numpy as np


def elu(x):
    return np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)


def source2token(x, mask, w_a, b_a, w_b, b_b, activation=elu):
    """`softmax_t(W_b act(W_a u_t + b_a) + b_b)` for each feature, and the weighted sums."""
    outputs, weights = [], []
    for u, kept in zip(x, mask, strict=True):
        scores = activation(u @ w_a + b_a) @ w_b + b_b
        p = np.zeros_like(u)
        for feature in range(u.shape[1]):
            if kept.any():
                e = np.exp(scores[kept, feature] - scores[kept, feature].max())
                p[kept, feature] = e / e.sum()
        outputs.append(np.sum(p[kept] * u[kept], axis=0))
        weights.append(p)
    return np.array(outputs), np.array(weights)
