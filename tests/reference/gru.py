"""A bidirectional GRU in NumPy float64, from the equations, step by step."""

import numpy as np


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def gru(steps, kernel, recurrent_kernel, bias):
    """States of the steps in the order given; gates update, reset, new side by side."""
    units = len(recurrent_kernel)
    update, reset, new = (slice(n * units, (n + 1) * units) for n in range(3))
    h, states = np.zeros(units), []
    for x in steps:
        z = sigmoid(
            x @ kernel[:, update]
            + bias[0, update]
            + h @ recurrent_kernel[:, update]
            + bias[1, update]
        )
        r = sigmoid(
            x @ kernel[:, reset] + bias[0, reset] + h @ recurrent_kernel[:, reset] + bias[1, reset]
        )
        n = np.tanh(
            x @ kernel[:, new] + bias[0, new] + r * (h @ recurrent_kernel[:, new] + bias[1, new])
        )
        h = z * h + (1 - z) * n
        states.append(h)
    return states


def bidirectional_gru(x, keep, forward, backward):
    """`[forward; backward]`; padded steps are left out, and are zeros."""
    output = np.zeros((*x.shape[:2], 2 * len(forward[1])))
    for row, (words, kept) in enumerate(zip(x, keep, strict=True)):
        positions = np.flatnonzero(kept)
        f_states = gru([words[t] for t in positions], *forward)
        b_states = gru([words[t] for t in positions[::-1]], *backward)[::-1]
        for t, f, b in zip(positions, f_states, b_states, strict=True):
            output[row, t] = np.concatenate([f, b])
    return output
