"""The encoder and head of the Generalized Pooling paper in NumPy float64, from the equations.

Loops over examples, steps and characters on purpose: nothing here is shared with the layers.
"""

import numpy as np


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def lstm(steps, kernel, recurrent_kernel, bias):
    """States of the steps of one text, read in the order given; gates i, f, c, o side by side."""
    units = len(recurrent_kernel)
    h, c, states = np.zeros(units), np.zeros(units), []
    for step in steps:
        z = step @ kernel + h @ recurrent_kernel + bias
        i, f, g, o = (z[n * units : (n + 1) * units] for n in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return states


def shortcut_stacked_bilstm(x, keep, forward, backward, shortcut="full"):
    """Eq. 1-3; `forward` and `backward` hold (kernel, recurrent kernel, bias) of each layer.

    Padded steps are left out, which is what holding the state at them means.
    """
    outputs = []
    for words, kept in zip(x, keep, strict=True):
        positions = np.flatnonzero(kept)
        e = [words[t] for t in positions]
        below = [(np.zeros(0), np.zeros(0))] * len(e)
        for f_weights, b_weights in zip(forward, backward, strict=True):
            if shortcut == "none" and f_weights is not forward[0]:
                f_reads = b_reads = [np.concatenate(states) for states in below]
            elif shortcut == "per_direction":
                f_reads = [np.concatenate([w, f]) for w, (f, _) in zip(e, below, strict=True)]
                b_reads = [np.concatenate([w, b]) for w, (_, b) in zip(e, below, strict=True)]
            else:
                f_reads = [np.concatenate([w, f, b]) for w, (f, b) in zip(e, below, strict=True)]
                b_reads = f_reads
            f_states = lstm(f_reads, *f_weights)
            b_states = lstm(b_reads[::-1], *b_weights)[::-1]
            below = list(zip(f_states, b_states, strict=True))
        output = np.zeros((len(words), 2 * len(forward[0][1])))
        for t, (f, b) in zip(positions, below, strict=True):
            output[t] = np.concatenate([f, b])
        outputs.append(output)
    return np.array(outputs)


def character_embedding(ids, embeddings, kernels, biases=None, words=None):
    """Section 4.2: `ids` (batch, time, word_length), `kernels` a list of (size, dim, filters)."""
    batch, time, _ = ids.shape
    output = np.zeros((batch, time, sum(k.shape[2] for k in kernels)))
    for n in range(batch):
        for t in range(time):
            if words is not None and not words[n, t]:
                continue
            word = ids[n, t]
            vectors = [embeddings[c] if c else np.zeros(embeddings.shape[1]) for c in word]
            parts = []
            for i, kernel in enumerate(kernels):
                best = np.zeros(kernel.shape[2])
                for start in np.flatnonzero(word):
                    window = vectors[start : start + len(kernel)]
                    y = sum(c @ k for c, k in zip(window, kernel, strict=False))
                    y = y if biases is None else y + biases[i]
                    best = np.maximum(best, np.maximum(y, 0))
                parts.append(best)
            output[n, t] = np.concatenate(parts)
    return output


def pair_matching(a, b):
    """Eq. 10."""
    rows = zip(a, b, strict=True)
    return np.array([np.concatenate([u, v, np.abs(u - v), u * v]) for u, v in rows])
