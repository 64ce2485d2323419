"""The attentions of Hierarchical Convolutional Attention Networks in float64, equations 1 to 5.

Loops over texts, steps, windows and heads on purpose: nothing here is shared with the layers.
"""

import math

import numpy as np
from reference.multi_dim_attention import elu


def convolution(steps, kernel, bias=0.0):
    """Conv1D of one text `(time, dim)`: a window has `(size - 1) // 2` steps before its own."""
    time, size = len(steps), len(kernel)
    output = np.zeros((time, kernel.shape[2]))
    for t in range(time):
        for k in range(size):
            source = t - (size - 1) // 2 + k
            if 0 <= source < time:
                output[t] += steps[source] @ kernel[k]
    return output + bias


def softmax(scores):
    exps = np.exp(scores - np.max(scores))
    return exps / np.sum(exps)


def normalized(features, gamma, beta):
    """Ba et al. on one step: its features have mean 0 and variance 1."""
    mean = np.mean(features)
    variance = np.mean((features - mean) ** 2)
    return gamma * (features - mean) / np.sqrt(variance + 1e-6) + beta


def projections(steps, w, prefix, activations):
    """Eq. 2: Q, K and V of one text."""
    return [
        activation(
            convolution(steps, w[f"{prefix}{part}_kernel"], w.get(f"{prefix}{part}_bias", 0))
        )
        for part, activation in zip(("query", "key", "value"), activations, strict=True)
    ]


def multi_head(queries, keys, values, asked, kept, num_heads, scale):
    """Eq. 1 and 3 on one text, for the queries `asked` over the keys `kept`.

    The joined heads by query, and the weights by head, query and key.
    """
    size = queries.shape[1] // num_heads
    scale = math.sqrt(size) if scale is None else scale
    output = np.zeros((len(queries), values.shape[1]))
    weights = np.zeros((num_heads, len(queries), len(keys)))
    for head in range(num_heads):
        part = slice(head * size, (head + 1) * size)
        for q in asked:
            if len(kept):
                scores = np.array([queries[q, part] @ keys[k, part] / scale for k in kept])
                weights[head, q, kept] = softmax(scores)
            for k in kept:
                output[q, part] += weights[head, q, k] * values[k, part]
    return output, weights


def self_attention(
    x,
    mask,
    w,
    num_heads,
    parallel=True,
    layer_norm=True,
    scale=None,
    activation=elu,
    parallel_activation=np.tanh,
):
    """Eq. 2 to 4; the steps, and the weights of the one attention or a tuple of both."""
    branches = [("", activation)]
    if parallel:
        branches.append(("parallel_", parallel_activation))
    outputs, tables = [], [[] for _ in branches]
    for words, keep in zip(x, mask, strict=True):
        kept = np.flatnonzero(keep)
        steps = np.zeros(words.shape)
        steps[kept] = words[kept]
        product = 1.0
        for (prefix, value_activation), table in zip(branches, tables, strict=True):
            q, k, v = projections(steps, w, prefix, (activation, activation, value_activation))
            found, weights = multi_head(q, k, v, kept, kept, num_heads, scale)
            product = product * found
            table.append(weights)
        output = np.zeros(product.shape)
        for t in kept:
            output[t] = product[t]
            if layer_norm:
                output[t] = normalized(product[t], w["gamma"], w["beta"])
        outputs.append(output)
    scores = tuple(np.array(table) for table in tables)
    return np.array(outputs), scores if parallel else scores[0]


def target_attention(x, mask, w, num_heads, value_conv=True, scale=None, activation=elu):
    """Eq. 5: the vectors, and the weights by text, head and step."""
    vectors, tables = [], []
    for words, keep in zip(x, mask, strict=True):
        kept = np.flatnonzero(keep)
        steps = np.zeros(words.shape)
        steps[kept] = words[kept]
        keys = activation(convolution(steps, w["key_kernel"], w.get("key_bias", 0)))
        values = steps
        if value_conv:
            values = activation(convolution(steps, w["value_kernel"], w.get("value_bias", 0)))
        output, weights = multi_head(w["target"][None], keys, values, [0], kept, num_heads, scale)
        vectors.append(output[0])
        tables.append(weights[:, 0])
    return np.array(vectors), np.array(tables)


def add_positions(x, mask, positions):
    """Section 3.6: `E_t + P_t` for every kept step, counted from the first."""
    output = np.zeros(x.shape)
    for row, t in np.argwhere(mask):
        output[row, t] = x[row, t] + positions[t - np.flatnonzero(mask[row])[0]]
    return output
