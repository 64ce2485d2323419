"""The base of the layers that mix sequences."""

from typing import Any

import keras
from keras import ops

from keras_attnpool.layers._attention import AttentionBase
from keras_attnpool.types import Shape, Tensor


class MaskCarrier(keras.layers.Layer):  # type: ignore[misc]
    """Sets a tensor's mask; Keras itself passes on only the mask of the first input. Not public."""

    def __init__(self) -> None:
        super().__init__(autocast=False)
        self.supports_masking = True
        self.built = True  # A symbolic call of the outer layer does not call this layer.

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns the inputs."""
        return inputs

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Returns the mask of the call."""
        return mask


class FusionBase(AttentionBase):
    """Base of the layers that mix sequences of the same steps; any sequence may carry the mask.

    Not public.

    Masking: `mask` has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. If the call has no `mask=`, the layer uses the mask of the first argument.
    If the first argument has no mask, the layer uses the mask of the second argument. The output
    and the weights are exactly 0 at padded steps, whatever values these steps hold. The output has
    the same mask.

    Call arguments:
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__(given)
        self._carrier = MaskCarrier()

    @staticmethod
    def _mask(mask: Tensor | None, *of_tensors: Any) -> Tensor | None:
        """Returns `mask`, or else the first mask that Keras passes for one of the tensors."""
        candidates = [mask, *keras.tree.flatten(of_tensors)]
        return next((m for m in candidates if m is not None), None)

    def _mixed(
        self, output: Tensor, scores: Any, mask: Tensor | None, return_attention_scores: bool
    ) -> Any:
        """Calls `_output`, and sets the used mask on the output."""
        output = self._output(output, None, False)
        if mask is not None:
            output = self._carrier(output, mask=mask)
        if not return_attention_scores:
            return output
        return output, ops.cast(scores, self.compute_dtype)

    def _mixed_spec(
        self, mixed: Tensor, scores: Shape, mask: Tensor | None, return_attention_scores: bool
    ) -> Any:
        """The symbolic output in the shape of `mixed`, or the pair of output and scores."""
        self._check_mask(mixed, mask)
        output = keras.KerasTensor(mixed.shape, self.compute_dtype)
        output._keras_mask = mask
        if not return_attention_scores:
            return output
        return output, keras.KerasTensor(scores, self.compute_dtype)
