"""The base of the layers that read `(batch, time, dim)` and a mask."""

import warnings
from typing import Any

import keras
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers._arguments import LayerArguments
from keras_attnpool.layers._lost_mask import lost_mask_message
from keras_attnpool.ops.masking import (
    as_bool_mask,
    check_dense,
    check_mask_shape,
    check_mask_values,
    zero_masked,
)
from keras_attnpool.types import Shape, Tensor

# The keys are the numbers of axes of the inputs.
CURES = {
    2: "; embed ids first, by keras.layers.Embedding",
    4: "; flatten a grid first, by keras.layers.Reshape((-1, dim))",
}


class MaskReader:
    """Reads masks, and stores whether the values of a mask were checked; not public."""

    _has_waited = False

    def _bool_mask(self, inputs: Tensor, mask: Tensor | None) -> Tensor | None:
        """Returns the boolean mask of dense inputs; raises an error if it does not fit them."""
        check_dense(inputs, self.name)  # type: ignore[attr-defined]
        kept = as_bool_mask(mask, inputs, self.name, wait=False)  # type: ignore[attr-defined]
        self._validate_mask_once(mask)
        return kept

    def _validate_mask_once(self, mask: Tensor | None) -> None:
        """Checks a mask; on an accelerator only the first eager call reads the values."""
        if mask is None or self._has_waited:
            return
        if check_mask_values(mask, self.name):  # type: ignore[attr-defined]
            self._has_waited = True


class MaskedInputs(LayerArguments, MaskReader):
    """Base of the layers that read `(batch, time, dim)` and a mask.

    Not public: this class checks shapes and reads the mask.

    Call arguments:
        inputs: Float tensor `(batch, time, dim)`.
        mask: Tensor `(batch, time)` of booleans, or of 0 and 1. True keeps a step. Defaults to the
            inputs' Keras mask.
        training: Whether dropout is on.

    Input shape:
        `(batch, time, dim)`; batch and time may be `None`.

    Raises:
        ValueError: If an argument is invalid, if the inputs are not `(batch, time, dim)` with a
            known `dim`, or if the mask has a wrong shape or values other than 0 and 1.
    """

    _warned_of_lost_mask = False
    wide_inside = False
    """Whether inner layers compute in float32 if this layer computes in float16.

    The values of an ELU have no upper bound, and their products easily leave the range of float16.
    """

    def build(self, input_shape: Shape) -> None:
        """Fixes the feature dimension, which must be known."""
        self._feature_dim(input_shape)

    def get_config(self) -> dict[str, Any]:
        """Returns the config, whose dtype also tells which inner layers are quantized."""
        config = super().get_config()
        policy, maps = self.dtype_policy, keras.dtype_policies.DTypePolicyMap
        quantized = {
            part.path: part.dtype_policy[part.path]
            if isinstance(part.dtype_policy, maps)
            else part.dtype_policy
            for part in self._flatten_layers(include_self=False)
            if part.quantization_mode is not None
        }
        if quantized:
            default = policy.default_policy if isinstance(policy, maps) else policy
            config["dtype"] = maps(default, quantized)
        return dict(config)

    @property
    def dtype_policy(self) -> Any:
        """Returns the dtype policy; a built layer gives a new policy to its inner layers, too."""
        return self._dtype_policy

    @dtype_policy.setter
    def dtype_policy(self, value: Any) -> None:
        keras.layers.Layer.dtype_policy.fset(self, value)
        # A policy map has an entry for each layer, and Keras quantizes inner layers by itself.
        is_map = isinstance(self.dtype_policy, keras.dtype_policies.DTypePolicyMap)
        if self.built and not is_map and self.dtype_policy.quantization_mode is None:
            for part in self._flatten_layers(include_self=False):
                part.dtype_policy = self._inner_policy()

    def _inner_policy(self) -> Any:
        """The dtype policy of the inner layers."""
        wide = self.wide_inside and self.compute_dtype == "float16"
        return "float32" if wide else self.dtype_policy

    def compute_output_spec(
        self, inputs: Tensor, mask: Tensor | None = None, training: bool | None = None
    ) -> Any:
        """Returns the symbolic output."""
        self._check_mask(inputs, mask)
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns the shape of the inputs."""
        return tuple(input_shape)

    def _feature_dim(self, input_shape: Shape, name: str = "inputs") -> int:
        shapes = (list, tuple)
        if not isinstance(input_shape, shapes) or any(isinstance(x, shapes) for x in input_shape):
            received = f"a structure with the shapes {input_shape}"
            must = "be one tensor; keras_attnpool.batches.pad_rows makes one, and its mask, of rows"
            raise ArgumentError(name, must, received, self)
        if name != "context" and len(input_shape) != 3:
            must = f"have shape (batch, time, dim){CURES.get(len(input_shape), '')}"
            raise ArgumentError(name, must, f"shape {tuple(input_shape)}", self)
        dim = input_shape[-1]
        if not dim:
            must = "have a last dimension that is known and not 0"
            raise ArgumentError(name, must, f"shape {tuple(input_shape)}", self)
        if name == "inputs":
            self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: dim})
        return int(dim)

    def _check_steps(self, inputs: Tensor, mask: Tensor | None, owner: Any = None) -> None:
        """Raises an error if there are too many steps; the message names `owner` or `self`."""

    def _check_mask(self, inputs: Tensor, mask: Tensor | None) -> None:
        self._check_steps(inputs, mask)
        if mask is not None and hasattr(mask, "shape"):
            check_mask_shape(tuple(mask.shape), tuple(inputs.shape), self.name)
        elif mask is None and not self._warned_of_lost_mask:
            message = lost_mask_message(inputs)
            if message is not None:
                self._warned_of_lost_mask = True
                # The number of Keras's stack frames between this line and the caller's line varies.
                warnings.warn(
                    f"Layer '{self.name}' ({type(self).__name__}) {message}", stacklevel=1
                )

    def _mask_inputs(
        self, inputs: Tensor, mask: Tensor | None, zeroed: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """Returns the inputs in the compute dtype, zero at padding, and the boolean mask."""
        if not hasattr(inputs, "dtype"):
            raise ArgumentError("inputs", "be one tensor", f"a {type(inputs).__name__}", self)
        if keras.backend.standardize_dtype(inputs.dtype) == "string":
            raise ArgumentError("inputs", "be numbers", "strings", self)
        inputs = ops.cast(inputs, self.compute_dtype)
        kept = self._bool_mask(inputs, mask)
        if inputs.shape[1] == 0:
            must = "have at least one time step; pad empty texts and mask them"
            raise ArgumentError("inputs", must, f"shape {tuple(inputs.shape)}", self)
        self._check_steps(inputs, mask)
        return zero_masked(inputs, kept) if zeroed else inputs, kept


class MaskedPooling1D(MaskedInputs):
    """Base of the layers that map `(batch, time, dim)` and a mask to one vector per row.

    Not public. The output has no mask.
    """

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        """Returns `None`, because a pooled vector has no time axis for a mask."""
        return None

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, dim)`."""
        return (input_shape[0], input_shape[2])


class GlobalPoolingBase(MaskedPooling1D):
    """Base of the pooling layers without attention; not public.

    Masking: A mask has the shape `(batch, time)`, and True keeps a step. Padded steps may lie
    between kept steps. The mask comes from the previous layers, or you pass `mask=`. Padded steps
    never change the result, whatever values they hold. A row without a kept step gives a zero
    vector. The output has no mask.

    Output shape:
        `(batch, dim)`, or `(batch, 1, dim)` with `keepdims=True`.
    """

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Pools `(batch, time, dim)` to `(batch, dim)`, or `(batch, 1, dim)` with `keepdims`."""
        output = ops.cast(self._pool(*self._mask_inputs(inputs, mask)), self.compute_dtype)
        return ops.expand_dims(output, 1) if self.keepdims else output

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, dim)`, or `(batch, 1, dim)` with `keepdims`."""
        batch, _, dim = input_shape
        return (batch, 1, dim) if self.keepdims else (batch, dim)
