"""DiSAN's and Bi-BloSAN's attention in float64, from their equations."""

import numpy as np
from reference.multi_dim_attention import elu


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(scores):
    e = np.exp(scores - scores.max(axis=0))
    return e / e.sum(axis=0)


def fusion_gate(h, s, mask, w):
    """`F = sigmoid(W_1 h + b_1 + W_2 s + b_2 + b_o)`, `F o h + (1 - F) o s`; the output and F."""
    output, gates = np.zeros_like(h), np.zeros_like(h)
    for row, step in zip(*np.nonzero(mask), strict=True):
        x, y = h[row, step], s[row, step]
        logits = x @ w["inputs_kernel"] + y @ w["attention_kernel"]
        gate = sigmoid(
            logits + w.get("inputs_bias", 0) + w.get("attention_bias", 0) + w.get("output_bias", 0)
        )
        output[row, step], gates[row, step] = gate * x + (1 - gate) * y, gate
    return output, gates


def sees(direction, query, key):
    return {"forward": key < query, "backward": key > query, None: key != query}[direction]


def attend(h, kept, w, direction, scale):
    """Logits `c tanh((W_1 h_i + W_2 h_j + b) / c)` on one text; `s_j` and `P_ji`."""
    time, units = h.shape
    s, weights = np.zeros((time, units)), np.zeros((time, time, units))
    for j in np.flatnonzero(kept):
        sources = [i for i in np.flatnonzero(kept) if sees(direction, j, i)]
        if not sources:
            continue
        scores = [
            scale
            * np.tanh(
                (h[i] @ w["source_kernel"] + h[j] @ w["target_kernel"] + w.get("score_bias", 0))
                / scale
            )
            for i in sources
        ]
        weights[j, sources] = softmax(np.array(scores))
        s[j] = sum(weights[j, i] * h[i] for i in sources)
    return s, weights


def hidden(x, w, activation):
    return activation(x @ w["hidden/kernel"] + w.get("hidden/bias", 0))


def below(w, name):
    return {path.split("/", 1)[1]: v for path, v in w.items() if path.startswith(name + "/")}


def directional(x, mask, w, direction="forward", scale=5.0, activation=elu):
    """DiSAN's unit, with the fusion gate."""
    outputs, weights = [], []
    for row, kept in zip(x, mask, strict=True):
        h = hidden(row, w, activation)
        s, p = attend(h, kept, w, direction, scale)
        outputs.append(fusion_gate(h[None], s[None], kept[None], below(w, "gate"))[0][0])
        weights.append(p)
    return np.array(outputs), np.array(weights)


def block_length(n):
    """`ceil((2 n)^(1/3))`, in integers."""
    return next(r for r in range(1, 2 * n + 2) if r**3 >= 2 * n)


def block(x, mask, w, direction="forward", length=None, scale=5.0, activation=elu):
    """Bi-BloSAN's unit of one direction, each text by itself, from its first kept step on."""
    outputs = []
    for row, kept in zip(x, mask, strict=True):
        first = min(np.flatnonzero(kept), default=0)
        row, kept = row[first:], kept[first:]
        n = max(np.flatnonzero(kept), default=-1) + 1
        r = length or block_length(n)
        h = hidden(row, w, activation)
        g, v, filled = np.zeros_like(h), [], []
        for start in range(0, n, r):
            cut = slice(start, min(start + r, n))
            g[cut] = attend(h[cut], kept[cut], w, direction, scale)[0]
            words = g[cut][kept[cut]]
            filled.append(len(words) > 0)
            if filled[-1]:
                p = softmax(words @ w["block_kernel"] + w.get("block_bias", 0))
                v.append(np.sum(p * words, axis=0))
            else:
                v.append(np.zeros(h.shape[1]))
        output = np.zeros_like(h)
        if n:
            o, _ = directional(
                np.array(v)[None],
                np.array(filled)[None],
                below(w, "inter"),
                direction,
                scale,
                activation,
            )
        for t in np.flatnonzero(kept):
            z = np.concatenate([h[t], g[t], o[0, t // r]])
            fused = activation(z @ w["fusion_kernel"] + w.get("fusion_bias", 0))
            gate = sigmoid(z @ w["gate_kernel"] + w.get("gate_bias", 0))
            output[t] = gate * fused + (1 - gate) * h[t]
        outputs.append(np.vstack([np.zeros((first, h.shape[1])), output]))
    return np.array(outputs)
