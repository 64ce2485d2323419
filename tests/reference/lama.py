"""LAMA, Lin et al. and the single-context attention in NumPy float64, written from the equations.

Loops over examples and tokens on purpose: nothing here is shared with the layers.
"""

import numpy as np


def softmax(scores: np.ndarray) -> np.ndarray:
    exps = np.exp(scores - scores.max())
    return exps / exps.sum()


def over_kept(scores: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Softmax over the kept steps of one head's scores `(time,)`; zeros elsewhere."""
    weights = np.zeros(len(scores))
    if keep.any():
        weights[keep] = softmax(scores[keep])
    return weights


def attention_pooling(x, keep, context, kernel=None, bias=None, activation=np.tanh):
    """Yang et al. eq. 5-7 and, without a kernel, Zhou et al. eq. 9-11."""
    outputs, scores = [], []
    for h, kept in zip(x, keep, strict=True):
        u = activation(h if kernel is None else h @ kernel + (0 if bias is None else bias))
        alpha = over_kept(u @ context, kept)
        outputs.append(sum((alpha[t] * h[t] for t in np.flatnonzero(kept)), np.zeros(h.shape[1])))
        scores.append(alpha)
    return np.array(outputs), np.array(scores)


def structured_self_attention(x, keep, hidden, score):
    """Lin et al. eq. 6: A = softmax(W_s2 tanh(W_s1 H^T)), M = A H; kernels stored transposed."""
    outputs, scores = [], []
    for h, kept in zip(x, keep, strict=True):
        raw = score.T @ np.tanh(hidden.T @ h.T)
        a = np.array([over_kept(row, kept) for row in raw])
        outputs.append(a[:, kept] @ h[kept])
        scores.append(a)
    return np.array(outputs), np.array(scores)


def lama(
    x, keep, p, q, num_heads, hidden=None, bias=None, context=None, scale=None, tanh=True, l2=True
):
    """LAMA eq. 7-15 token by token; `p` and `q` are the 2-D P~ and Q~ of eq. 11.

    `context` is `(context_dim,)` for all rows, `(batch, context_dim)`, or `None` for the mean of
    each row's kept inputs. `scale` multiplies the normalised scores of each head.
    """
    rank = p.shape[1] // num_heads
    outputs, scores = [], []
    for b, (h, kept) in enumerate(zip(x, keep, strict=True)):
        if not kept.any():
            outputs.append(np.zeros((num_heads, h.shape[1])))
            scores.append(np.zeros((num_heads, h.shape[0])))
            continue
        if context is None:
            c = h[kept].mean(axis=0)
        else:
            c = context if np.ndim(context) == 1 else context[b]
        f = np.zeros((h.shape[0], num_heads))
        for t in np.flatnonzero(kept):
            u = h[t] if hidden is None else np.tanh(hidden.T @ h[t] + bias)
            for i in range(num_heads):
                columns = slice(i * rank, (i + 1) * rank)
                # eq. 10: the bilinear form c^T W_i u with W_i = P_i Q_i^T
                f[t, i] = c @ (p[:, columns] @ q[:, columns].T) @ u
            if tanh:
                f[t] = np.tanh(f[t])
            if l2 and num_heads > 1:
                f[t] = f[t] / np.linalg.norm(f[t])
            if scale is not None:
                f[t] = f[t] * scale
        a = np.array([over_kept(f[:, i], kept) for i in range(num_heads)])
        outputs.append(
            np.array([sum(a[i, t] * h[t] for t in np.flatnonzero(kept)) for i in range(num_heads)])
        )
        scores.append(a)
    return np.array(outputs), np.array(scores)


def orthogonality(a):
    """Lin et al. eq. 8, LAMA eq. 19a without the sign: ||A A^T - I||_F^2 of one example."""
    return np.linalg.norm(a @ a.T - np.eye(len(a)), "fro") ** 2


def cosine_disagreement(s):
    """LAMA eq. 19b without the sign: the mean cosine of all pairs, i = j included."""
    m = len(s)
    total = 0.0
    for i in range(m):
        for j in range(m):
            norms = np.linalg.norm(s[i]) * np.linalg.norm(s[j])
            total += s[i] @ s[j] / norms if norms else 0.0
    return total / m**2


def head_distance(x, threshold):
    """Generalized Pooling eq. 7-9 without mu: sum of max(lambda - ||x_i - x_j||^2, 0)."""
    total = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            total += max(threshold - np.sum((x[i] - x[j]) ** 2), 0.0)
    return total
