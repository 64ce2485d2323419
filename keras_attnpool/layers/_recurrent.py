"""What the layers share that read a sequence by LSTMs or GRUs."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._arguments import LayerArguments
from keras_attnpool.layers._masked import MaskedInputs
from keras_attnpool.ops._recurrence import BothDirections
from keras_attnpool.ops.masking import zero_masked
from keras_attnpool.types import Shape, Tensor


class BidirectionalBase(LayerArguments, MaskedInputs):
    """Base of the layers that read a masked sequence in both directions by LSTMs or GRUs.

    Not public. `dropout` is on what each recurrent layer reads.
    """

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, time, 2 * units)`, or `(batch, time, units)` of sums."""
        directions = 2 if self.merge_mode == "concat" else 1
        return (input_shape[0], input_shape[1], directions * self.units)

    def _recurrent(self, kind: Any, name: str, dim: int, **arguments: Any) -> Any:
        """A built LSTM or GRU that reads `(batch, time, dim)` and returns all its states."""
        layer = kind(
            self.units,
            kernel_initializer=self._fresh(self.kernel_initializer),
            recurrent_initializer=_wide(self._fresh(self.recurrent_initializer)),
            bias_initializer=self._fresh(self.bias_initializer),
            **self._for_inside(),
            return_sequences=True,
            dtype=self._inner_policy(),
            name=name,
            **arguments,
        )
        # From Keras 3.16 on it is False, and every call with a mask would warn. Ours hands it on.
        layer.supports_masking = True
        layer.build((None, None, dim))
        return layer

    def _read_both_ways(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        training: bool | None,
        forward: Any,
        backward: Any,
    ) -> Tensor:
        """The output of one recurrent layer for each direction."""
        inputs, mask = self._read(inputs, mask)
        steps = BothDirections(mask)
        words = self._drop(steps.to_front(inputs), training)
        return self._merge(*steps.read(words, forward, backward), steps, mask)

    def _merge(
        self, forward: Tensor, backward: Tensor, steps: BothDirections, mask: Tensor | None
    ) -> Tensor:
        """The output of both directions' states, whose kept steps are in front."""
        if self.merge_mode == "sum":
            states = forward + backward
        else:
            states = ops.concatenate([forward, backward], axis=-1)
        return zero_masked(steps.to_places(states), mask)


def _wide(initializer: Any) -> Any:
    """The initializer, drawing in float32 for weights in half precision.

    An orthogonal matrix comes from a QR decomposition, which no backend has in half precision.
    """

    def draw(shape: tuple[int, ...], dtype: Any = None) -> Tensor:
        wanted = keras.backend.standardize_dtype(dtype)
        half = wanted in ("float16", "bfloat16")
        return ops.cast(initializer(shape, dtype="float32" if half else wanted), wanted)

    return draw
