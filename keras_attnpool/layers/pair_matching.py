"""Joins two vectors to features for a pair classifier (Generalized Pooling)."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError, is_shape
from keras_attnpool.types import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_attnpool")
class PairMatching(keras.layers.Layer):  # type: ignore[misc]
    """Joins the vectors of two texts, their absolute difference and their product.

    `v = [a; b; |a - b|; a * b]`, feature by feature.

    Where `a` and `b` are equal, the gradient of `|a - b|` is 0. A vector has no steps, so the layer
    needs no mask and its output has no mask.

    Args:
        **kwargs: `name`, `dtype`, `activity_regularizer` of `keras.layers.Layer`.

    Call arguments:
        inputs: List of two float tensors `(batch, dim)`, `[a, b]`.

    Input shape:
        Two shapes `(batch, dim)`; batch may be `None`.

    Output shape:
        `(batch, 4 * dim)`.

    Returns:
        The four parts `a`, `b`, `|a - b|` and `a * b`, joined in this order, in the layer's compute
        dtype.

    Raises:
        ValueError: If the call does not get two tensors `(batch, dim)` of one shape.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    a, b = np.array([[1.0, 5.0]], "float32"), np.array([[3.0, 2.0]], "float32")
    output = keras_attnpool.layers.PairMatching()([a, b])
    assert [float(v) for v in output[0]] == [1, 5, 3, 2, 2, 3, 3, 10]
    ```

    Reference:
        - Chen, Ling and Zhu, Enhancing Sentence Embedding with Generalized Pooling, equation 10
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Sequence[Shape]) -> None:
        """Checks the two shapes; there are no weights."""
        self._check(input_shape)

    def call(self, inputs: Sequence[Tensor]) -> Tensor:
        """Joins two tensors `(batch, dim)` to `(batch, 4 * dim)`."""
        self._check([tuple(x.shape) for x in inputs])
        a, b = (ops.cast(x, self.compute_dtype) for x in inputs)
        difference = a - b
        # The gradient of `abs` at 0 is 1 on some backends.
        distance = difference * ops.sign(difference)
        return ops.concatenate([a, b, distance, a * b], axis=-1)

    def compute_mask(self, inputs: Sequence[Tensor], mask: Any = None) -> None:
        """Returns `None`, because a vector has no time axis for a mask."""
        return None

    def compute_output_shape(self, input_shape: Sequence[Shape]) -> Shape:
        """Returns `(batch, 4 * dim)`."""
        self._check(input_shape)
        batch, dim = (
            a if a is not None else b for a, b in zip(input_shape[0], input_shape[1], strict=True)
        )
        return (batch, None if dim is None else 4 * dim)

    def _check(self, shapes: Any) -> None:
        # For a single tensor, Keras passes its shape instead of a list.
        shapes = list(shapes) if shapes and isinstance(shapes[0], Sequence) else [shapes]
        shapes = [tuple(shape) for shape in shapes]
        if len(shapes) != 2 or len(shapes[0]) != 2 or not is_shape(*shapes):
            must = "be a list of two tensors (batch, dim) of one shape"
            raise ArgumentError("inputs", must, f"shapes {', '.join(map(str, shapes))}", self)
