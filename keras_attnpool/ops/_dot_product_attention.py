"""Scaled dot-product attention of several heads, with weights of exactly 0 at masked entries."""

from keras import ops

from keras_attnpool.ops.masking import at_least_float32, masked_softmax, masked_softmax_or_even
from keras_attnpool.types import Tensor


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Splits the features into equal slices, one per head.

    Args:
        x: Tensor `(batch, time, num_heads * size)` with a known last dimension.
        num_heads: Number of slices.

    Returns:
        Tensor `(batch, num_heads, time, size)`.
    """
    shape = ops.shape(x)
    x = ops.reshape(x, (-1, shape[1], num_heads, x.shape[2] // num_heads))
    return ops.transpose(x, (0, 2, 1, 3))


def join_heads(x: Tensor) -> Tensor:
    """Concatenates the heads' features; the inverse of `split_heads`.

    Args:
        x: Tensor `(batch, heads, time, size)` with known heads and size.

    Returns:
        Tensor `(batch, time, heads * size)`.
    """
    x = ops.transpose(x, (0, 2, 1, 3))
    return ops.reshape(x, (-1, ops.shape(x)[1], x.shape[2] * x.shape[3]))


def dot_product_weights(
    query: Tensor, key: Tensor, scale: float, mask: Tensor | None = None, exact: bool = True
) -> Tensor:
    """Computes the weights `softmax over keys of (query^T key / scale)`.

    The weights are computed in float32 or float64, because products of half-precision features may
    overflow.

    Args:
        query: Float tensor `(batch, heads, queries, size)`.
        key: Float tensor `(batch, heads, keys, size)`.
        scale: Divisor of the products, above 0.
        mask: Boolean tensor that broadcasts to `(batch, heads, queries, keys)`, or `None`. True
            means that the query may attend to the key.
        exact: Whether a query that may attend to no key has weights of 0. If False, all weights of
            such a query are equal.

    Returns:
        Weights `(batch, heads, queries, keys)`, in float32 or float64.
    """
    key = ops.transpose(at_least_float32(key), (0, 1, 3, 2))
    # The query is divided, not the product, because the product has more entries.
    logits = ops.matmul(at_least_float32(query) / scale, key)
    return (masked_softmax if exact else masked_softmax_or_even)(logits, mask)
