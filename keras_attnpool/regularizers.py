"""Penalties that keep the heads of a pooling layer different from each other.

A penalty takes a tensor with the heads on the first axis and returns a scalar. A layer applies its
`attention_regularizer` to the attention weights and its `vector_regularizer` to the heads' vectors,
and averages the penalties of the examples, see `HeadRegularizer.batch_penalty`. A
`kernel_regularizer` gets a kernel with the heads on the first axis.
"""

import abc
import math
from typing import Any

import keras
from keras import ops

from keras_attnpool import _checks
from keras_attnpool.ops.masking import at_least_float32
from keras_attnpool.ops.normalization import EPSILON, l2_normalize
from keras_attnpool.types import Tensor

VALIDATORS = {
    "factor": _checks.FINITE,
    "threshold": _checks.NOT_NEGATIVE,
    **dict.fromkeys(("batch_mean", "normalize"), _checks.FLAG),
}


class HeadRegularizer(keras.regularizers.Regularizer, abc.ABC):  # type: ignore[misc]
    """Base of the penalties on a set of heads.

    A subclass implements `penalties`. A call on one tensor `(heads, ...)` returns the penalty of
    this tensor. Layers call `batch_penalty`.

    Args:
        factor: Weight of the penalty in the loss, a finite number.
        **others: Further arguments of a subclass, which become attributes and a part of
            `get_config`.

    Raises:
        ValueError: If `factor` is not a finite number.

    Example:

    >>> import numpy as np
    >>> import keras_attnpool
    >>> penalty = keras_attnpool.regularizers.CosineDisagreement(0.5)
    >>> isinstance(penalty, keras_attnpool.regularizers.HeadRegularizer)
    True
    """

    def __init__(self, factor: float, **others: Any) -> None:
        arguments = {"factor": factor, **others}
        self._arguments = tuple(arguments)
        for name, value in arguments.items():
            validator = VALIDATORS.get(name)
            if validator:
                value = _checks.validate(name, value, validator, type(self).__name__)
            setattr(self, name, value)

    @abc.abstractmethod
    def penalties(self, heads: Tensor) -> Tensor:
        """Computes the penalty of each example of a batch.

        Args:
            heads: Float tensor `(batch, heads, features)`, in float32 or float64.

        Returns:
            Tensor `(batch,)`.
        """

    def batch_penalty(self, heads: Tensor, kept: Tensor | None = None) -> Tensor:
        """Computes the mean penalty over the examples that count.

        Args:
            heads: Float tensor `(batch, heads, ...)`. All penalties except `AttentionOrthogonality`
                flatten the axes after the heads.
            kept: Boolean tensor `(batch,)`, False for examples that do not count (empty texts).
                `None` counts all examples.

        Returns:
            A scalar, in float32 or float64. The scalar is 0 if no example counts.
        """
        heads = _flatten_features(heads, self)
        return _empty_batch_safe(_mean_over_kept(self.penalties(heads), kept), heads)

    def __call__(self, x: Tensor) -> Tensor:
        """Computes the penalty of one tensor with the heads on its first axis.

        Args:
            x: Float tensor `(heads, ...)`.

        Returns:
            A scalar, in float32 or float64.
        """
        x = at_least_float32(x)
        _check_axes(x, 1, self)
        return self.batch_penalty(ops.expand_dims(x, 0))

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {name: getattr(self, name) for name in self._arguments}


@keras.saving.register_keras_serializable(package="keras_attnpool")
class AttentionOrthogonality(HeadRegularizer):
    """Favours heads that attend to few and different tokens: `factor * ||A A^T - I||_F^2`.

    The rows of `A` sum to 1. So an entry on the diagonal of `A A^T` is 1 only if the head of this
    entry attends to a single token. An entry off the diagonal is 0 only if no token gets weight
    from both heads. The norm is squared, as in the equations of both papers. For weights `(heads,
    time, features)`, as in `GeneralizedPooling`, the penalty is the mean over the features.

    Args:
        factor: Weight in the loss. LAMA uses 0.2. The paper of Lin et al., 2017, uses 1.0 for the
            Yelp reviews.

    Raises:
        ValueError: If `factor` is not a finite number.

    Example:

    >>> import numpy as np
    >>> import keras_attnpool
    >>> penalty = keras_attnpool.regularizers.AttentionOrthogonality(1.0)
    >>> float(penalty(np.eye(3, dtype="float32")))
    0.0
    >>> layer = keras_attnpool.layers.StructuredSelfAttentionPooling(
    ...     num_heads=4, hidden_dim=8, attention_regularizer=penalty
    ... )

    Reference:
        - [Lin et al., 2017, A Structured Self-Attentive Sentence Embedding, equation 8](
          https://openreview.net/forum?id=BJC_jUqxe)
        - Mehta et al., Compact Multi-Head Self-Attention for Learning Supervised Text
          Representations, equations 18 and 19a (`J = L - factor * D`)
    """

    def __init__(self, factor: float = 1.0) -> None:
        super().__init__(factor)

    def penalties(self, heads: Tensor) -> Tensor:
        """Computes the penalty `(...,)` of attention `(..., heads, time)`."""
        products = ops.matmul(heads, ops.swapaxes(heads, -1, -2))
        identity = ops.eye(heads.shape[-2], dtype=heads.dtype)
        return self.factor * ops.sum(ops.square(products - identity), axis=(-2, -1))

    def batch_penalty(self, heads: Tensor, kept: Tensor | None = None) -> Tensor:
        """Computes the mean penalty; for `(batch, heads, time, features)` over the features too."""
        if len(heads.shape) != 4:
            return super().batch_penalty(heads, kept)
        by_feature = ops.transpose(at_least_float32(heads), (0, 3, 1, 2))
        penalties = ops.mean(self.penalties(by_feature), axis=1)
        return _empty_batch_safe(_mean_over_kept(penalties, kept), heads)


@keras.saving.register_keras_serializable(package="keras_attnpool")
class CosineDisagreement(HeadRegularizer):
    """Favours different directions of the heads' vectors: `factor / m^2 * sum_ij cos(s_i, s_j)`.

    As in the paper, the sum includes the terms with `i = j`, which add the constant `factor / m`. A
    zero vector has cosine 0 with every other vector.

    Args:
        factor: Weight in the loss, 0.2 in the paper.

    Raises:
        ValueError: If `factor` is not a finite number.

    Example:

    >>> import numpy as np
    >>> import keras_attnpool
    >>> penalty = keras_attnpool.regularizers.CosineDisagreement(1.0)
    >>> float(penalty(np.eye(2, dtype="float32")))
    0.5
    >>> layer = keras_attnpool.layers.LowRankAttentionPooling(
    ...     num_heads=4, vector_regularizer=penalty
    ... )

    Reference:
        - Mehta et al., Compact Multi-Head Self-Attention for Learning Supervised Text
          Representations, equations 18 and 19b (`J = L - factor * D`)
    """

    def __init__(self, factor: float = 0.2) -> None:
        super().__init__(factor)

    def penalties(self, heads: Tensor) -> Tensor:
        """Computes the penalty `(batch,)` of vectors `(batch, heads, features)`."""
        # The sum of all pairwise products of unit vectors is the squared length of their sum.
        total = ops.sum(l2_normalize(heads), axis=1)
        return self.factor / heads.shape[1] ** 2 * ops.sum(ops.square(total), axis=-1)


@keras.saving.register_keras_serializable(package="keras_attnpool")
class HeadDistance(HeadRegularizer):
    """Penalises small distances between heads: `factor * sum_{i<j} max(threshold - d_ij, 0)`.

    Here `d_ij = ||x_i - x_j||_F^2`, squared as in the paper. As a `kernel_regularizer` on a kernel
    `(heads, ...)` the penalty is the paper's equation 7. As an `attention_regularizer` it is
    equation 8, and as a `vector_regularizer` it is equation 9.

    Only pairs with a distance below the threshold have a penalty. Initial kernels have a much
    larger distance: about 800 for Glorot kernels of 600 x 300. So with the paper's threshold of 1,
    the penalty of equation 7 and its gradient are exactly zero from the start. Identical heads also
    have a zero gradient.

    Our extension `normalize=True` divides `d_ij` by the mean of `||x_i||_F^2` and `||x_j||_F^2`.
    The threshold is then a relative distance, which does not depend on the size of the heads. This
    distance is 0 for identical heads, 2 for orthogonal heads, and 4 for opposite heads of equal
    length. Random kernels are nearly orthogonal. So a threshold above 2 has an effect from the
    start.

    Args:
        factor: Weight in the loss, the paper's mu (1 to 1e-4).
        threshold: Smallest squared distance that has no penalty, a number >= 0. The paper calls it
            lambda.
        batch_mean: Whether the hinge `max(threshold - d_ij, 0)` is applied to the mean distance of
            the batch, as in the authors' released code. With `False` the hinge is applied to each
            example, as in the equations.
        normalize: Whether the distance of two heads is divided by the mean of their squared norms.

    Raises:
        ValueError: If `factor` is not a finite number, or if `threshold` is negative.

    Example:

    >>> import numpy as np
    >>> import keras_attnpool
    >>> penalty = keras_attnpool.regularizers.HeadDistance(1.0, threshold=1.0)
    >>> float(penalty(np.array([[0.0, 0.5], [0.0, 0.0]], "float32")))
    0.75
    >>> relative = keras_attnpool.regularizers.HeadDistance(1.0, threshold=3.0, normalize=True)
    >>> float(relative(np.array([[0.0, 50.0], [50.0, 0.0]], "float32")))
    1.0

    Reference:
        - Chen et al., Enhancing Sentence Embedding with Generalized Pooling, equations 7-9
    """

    def __init__(
        self,
        factor: float = 1.0,
        threshold: float = 1.0,
        batch_mean: bool = False,
        normalize: bool = False,
    ) -> None:
        super().__init__(factor, threshold=threshold, batch_mean=batch_mean, normalize=normalize)

    def penalties(self, heads: Tensor) -> Tensor:
        """Computes the penalty `(batch,)` of tensors `(batch, heads, features)`."""
        return self._hinge(self._distances(heads))

    def batch_penalty(self, heads: Tensor, kept: Tensor | None = None) -> Tensor:
        """Computes the mean penalty of counted examples, or the penalty of the mean distance."""
        if not self.batch_mean:
            return super().batch_penalty(heads, kept)
        heads = _flatten_features(heads, self)
        distances = _mean_over_kept(self._distances(heads), kept)
        penalty = _empty_batch_safe(self._hinge(ops.expand_dims(distances, 0))[0], heads)
        # Without an example the mean distance would be 0, and the hinge would be the full
        # threshold.
        return penalty if kept is None else ops.where(ops.any(kept), penalty, penalty * 0)

    def _distances(self, heads: Tensor) -> Tensor:
        """Computes squared distances `(batch, heads, heads)` by one matrix product.

        Subtracting the heads' mean does not change the distances. The squares are then as small as
        the distances, so their difference has small rounding errors.
        """
        centred = heads - ops.mean(heads, axis=1, keepdims=True)
        products = ops.matmul(centred, ops.transpose(centred, (0, 2, 1)))
        distances = _pair_sums(ops.sum(ops.square(centred), axis=-1)) - 2 * products
        if not self.normalize:
            return distances
        # With the lower bound, heads of zeros have the gradient 0 instead of NaN.
        sizes = _pair_sums(ops.sum(ops.square(heads), axis=-1)) / 2
        return distances / ops.maximum(sizes, EPSILON)

    def _hinge(self, distances: Tensor) -> Tensor:
        """`factor * sum_{i<j} max(threshold - d_ij, 0)` of `(batch, heads, heads)`."""
        num_heads = distances.shape[1]
        hinges = ops.maximum(self.threshold - distances, 0)
        pairs = ops.triu(ops.ones((num_heads, num_heads), dtype=distances.dtype), k=1)
        return self.factor * ops.sum(hinges * pairs, axis=(1, 2))


def _pair_sums(x: Tensor) -> Tensor:
    """Computes all sums `x_i + x_j`: `(batch, heads)` becomes `(batch, heads, heads)`."""
    return ops.expand_dims(x, 2) + ops.expand_dims(x, 1)


def _check_axes(x: Tensor, leading: int, regularizer: HeadRegularizer) -> None:
    """Raises an error if no axis follows the `leading` axes, the last of which holds the heads."""
    if len(x.shape) < leading + 1:
        must = f"have the heads on axis {leading - 1} and their values after it"
        received = f"a tensor of shape {tuple(x.shape)}"
        raise _checks.ArgumentError("x", must, received, type(regularizer).__name__)


def _flatten_features(x: Tensor, regularizer: HeadRegularizer) -> Tensor:
    """Flattens all axes after the heads' axis, in float32 or float64."""
    _check_axes(x, 2, regularizer)
    x = at_least_float32(x)
    shape = ops.shape(x)
    return x if len(shape) == 3 else ops.reshape(x, (*shape[:2], math.prod(shape[2:])))


def _empty_batch_safe(penalty: Tensor, heads: Tensor) -> Tensor:
    """Returns the penalty of heads `(batch, ...)`; 0 for an empty batch, which has no mean."""
    rows = heads.shape[0]
    if rows is None and not isinstance(heads, keras.KerasTensor):
        return ops.where(ops.shape(heads)[0] > 0, penalty, ops.zeros_like(penalty))
    return ops.sum(heads) if rows == 0 else penalty


def _mean_over_kept(values: Tensor, kept: Tensor | None) -> Tensor:
    """Averages the examples that count over the batch axis; 0 if no example counts."""
    if kept is None:
        return ops.mean(values, axis=0)
    kept = ops.cast(kept, "bool")
    count = ops.maximum(ops.sum(ops.cast(kept, values.dtype)), 1)
    for _ in values.shape[1:]:
        kept = ops.expand_dims(kept, -1)
    return ops.sum(ops.where(kept, values, ops.zeros((), values.dtype)), axis=0) / count
