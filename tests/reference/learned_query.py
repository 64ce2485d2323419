"""Multi-head attention with learned queries, as the papers print it, in NumPy float64."""

import math

import numpy as np


def softmax(z):
    exps = np.exp(z - z.max())
    return exps / exps.sum()


def layer_norm(x, gamma, beta):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * gamma + beta


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def attention(w, x, mask, heads, residual=False, normalize=softmax):
    """Vaswani et al.'s multi-head attention of the queries; an empty row gives zeros.

    Keys and values are computed for each step, head by head, with column slices of the kernels.
    Without a kernel of keys each head has a query of its own, which meets the inputs (Psomas et
    al.); without a kernel of the output the heads are joined alone.

    Returns:
        Vectors `(batch, queries, dim)`, weights `(batch, queries, heads, time)`.
    """
    queries = w["queries"]
    keyed = "key_kernel" in w
    asked = queries @ w["query_kernel"] + w.get("query_bias", 0) if keyed else queries
    width = w["value_kernel"].shape[1]
    size = width // heads
    last = w.get("output_kernel", np.eye(width))
    outputs, scores = [], []
    for row, kept in zip(x, mask, strict=True):
        a = np.zeros((len(queries), heads, len(row)))
        y = np.zeros((len(queries), last.shape[1]))
        if kept.any():
            values = row[kept] @ w["value_kernel"] + w.get("value_bias", 0)
            for j in range(len(queries)):
                found = []
                for h in range(heads):
                    part = slice(h * size, (h + 1) * size)
                    if keyed:
                        keys = row[kept] @ w["key_kernel"][:, part]
                        z = keys @ asked[j, part] / math.sqrt(size)
                    else:
                        z = row[kept] @ asked[j, h] / math.sqrt(row.shape[1])
                    a[j, h, kept] = normalize(z)
                    found.append(a[j, h, kept] @ values[:, part])
                y[j] = np.concatenate(found) @ last + w.get("output_bias", 0)
                if residual:
                    y[j] += queries[j]
        outputs.append(y)
        scores.append(a)
    return np.array(outputs), np.array(scores)


def siglip(w, y):
    """SigLIP's head behind its attention."""
    return y + feed_forward(w, layer_norm(y, w["gamma"], w["beta"]), gelu)


def set_transformer(w, y):
    """The multihead attention block of Lee et al., eq. 6 and 7, behind `S + Multihead`."""
    h = layer_norm(y, w["gamma"], w["beta"])
    fed = feed_forward(w, h, lambda z: np.maximum(z, 0))
    return layer_norm(h + fed, w["output_gamma"], w["output_beta"])


def feed_forward(w, x, activation):
    hidden = activation(x @ w["hidden/kernel"] + w["hidden/bias"])
    return hidden @ w["feedforward_kernel"] + w["feedforward_bias"]
