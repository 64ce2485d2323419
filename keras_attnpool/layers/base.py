"""What the layers share: the common arguments, the mask, the initial weights, the penalties."""

import math
import numbers
import warnings
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_attnpool.layers._lost_mask import lost_mask_message
from keras_attnpool.ops._recurrence import BothDirections
from keras_attnpool.ops._rows import of_any_rows
from keras_attnpool.ops._vector_pooling import softmax_terms
from keras_attnpool.ops.masking import (
    as_bool_mask,
    at_least_float32,
    check_dense,
    check_mask_shape,
    check_mask_values,
    masked_softmax,
    zero_masked,
)
from keras_attnpool.regularizers import HeadRegularizer
from keras_attnpool.types import ConstraintLike, InitializerLike, RegularizerLike, Shape, Tensor


class LayerArguments:
    """What layers check their arguments and start their weights with; not public."""

    name: str
    seed: int | None = None
    _initializers_used = 0

    def _positive(self, value: int, name: str) -> int:
        # From 2**31 on no backend has room for an axis; the error would come late and say little.
        integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not integer or not 1 <= value < 2**31:
            raise ValueError(
                f"`{name}` of {type(self).__name__} must be an integer >= 1 (and < 2**31). "
                f"Received: {name}={value!r}"
            )
        return int(value)

    def _flag(self, value: bool, name: str) -> bool:
        # Not bool(value): that would take "no" and NaN for True.
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(
                f"`{name}` of {type(self).__name__} must be True or False. "
                f"Received: {name}={value!r}"
            )
        return bool(value)

    def _checked_seed(self, value: int | None) -> int | None:
        if value is None:
            return None
        # What every backend can start its random numbers from; Keras does not take NumPy integers.
        integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not integer or not 0 <= value < 2**31:
            raise ValueError(
                f"`seed` of {type(self).__name__} must be None or an integer in [0, 2**31). "
                f"Received: seed={value!r}"
            )
        return int(value)

    def _from_keras(self, kind: Any, value: Any, name: str) -> Any:
        """What `keras.initializers.get` and its like make of a value; errors name the argument."""
        try:
            found = kind.get(value)
        except (ValueError, TypeError) as error:
            reason = error
        else:
            if found is None or callable(found):
                return found
            reason = TypeError(f"{type(found).__name__} cannot be called")
        raise ValueError(
            f"`{name}` of {type(self).__name__} must be something that "
            f"keras.{kind.__name__.split('.')[-1]} knows. Received: {name}={value!r} ({reason})"
        ) from reason

    def _fraction(self, value: float, name: str) -> float:
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 <= value < 1:
            raise ValueError(
                f"`{name}` of {type(self).__name__} must be in [0, 1). Received: {name}={value!r}"
            )
        return float(value)

    def _positive_number(self, value: float, name: str) -> float:
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value <= 0:
            raise ValueError(
                f"`{name}` of {type(self).__name__} must be a number > 0. "
                f"Received: {name}={value!r}"
            )
        return float(value)

    def _unit_interval(self, value: float, name: str) -> float:
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1:
            raise ValueError(
                f"`{name}` of {type(self).__name__} must be a number in [0, 1]. "
                f"Received: {name}={value!r}"
            )
        return float(value)

    def _one_of(self, value: str, name: str, allowed: tuple[str, ...]) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(
                f"`{name}` of {type(self).__name__} must be one of {allowed}. "
                f"Received: {name}={value!r}"
            )
        return value

    def _multiple_of_heads(self, filters: int, num_heads: int) -> int:
        filters = self._positive(filters, "filters")
        if filters % num_heads:
            raise ValueError(
                f"`filters` of {type(self).__name__} must be a multiple of `num_heads`. Received: "
                f"filters={filters}, num_heads={num_heads}"
            )
        return filters

    def _seed_generator(self) -> keras.random.SeedGenerator:
        """The state of the dropout, named after the layer: Keras would name it by a counter."""
        return keras.random.SeedGenerator(self.seed, name=f"{self.name}_seed_generator")

    def _fresh(self, initializer: Any) -> Any:
        """A copy of the initializer that draws other numbers than the copies before it.

        A Keras initializer draws the same numbers at every call, so that two kernels of one shape
        would start equal. The layer's `seed` fixes the draw where the initializer has none.
        """
        index = self._initializers_used
        self._initializers_used += 1
        if not isinstance(initializer, keras.initializers.Initializer):
            return initializer
        config = initializer.get_config()
        if "seed" not in config or not isinstance(config["seed"], (int, type(None))):
            return initializer
        seed = self.seed if config["seed"] is None else config["seed"]
        # The first copy keeps the seed, as one Keras layer with one kernel would.
        config["seed"] = None if seed is None else seed + 7919 * index
        return type(initializer).from_config(config)


class MaskReader:
    """What layers remember of the masks that they have read; not public."""

    _has_waited = False

    def _look_once(self, mask: Tensor | None) -> None:
        """Checks a mask on an accelerator, for which only the first eager call waits."""
        if mask is None or self._has_waited:
            return
        if check_mask_values(mask, self.name):  # type: ignore[attr-defined]
            self._has_waited = True


class MaskedInputs(MaskReader, keras.layers.Layer):  # type: ignore[misc]
    """Base of the layers that read `(batch, time, dim)` and a mask.

    Not public: it checks shapes and reads the mask.
    """

    _warned_of_lost_mask = False
    wide_inside = False
    """Whether the layers inside compute in float32 where this one computes in float16.

    What an ELU lets through has no bound, and its products soon leave the range of float16.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)

    def build(self, input_shape: Shape) -> None:
        """Fixes the feature dimension, which must be known."""
        self._feature_dim(input_shape)

    def get_config(self) -> dict[str, Any]:
        """Returns the config; its dtype also names the layers inside that were quantized."""
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
        """The dtype policy; set on a built layer, it goes on to the layers inside."""
        return self._dtype_policy

    @dtype_policy.setter
    def dtype_policy(self, value: Any) -> None:
        keras.layers.Layer.dtype_policy.fset(self, value)
        # A map has an entry for each layer, and quantizing goes through them by itself.
        is_map = isinstance(self.dtype_policy, keras.dtype_policies.DTypePolicyMap)
        if self.built and not is_map and self.dtype_policy.quantization_mode is None:
            for part in self._flatten_layers(include_self=False):
                part.dtype_policy = self._inner_policy()

    def _inner_policy(self) -> Any:
        """The dtype policy of the layers inside."""
        wide = self.wide_inside and self.compute_dtype == "float16"
        return "float32" if wide else self.dtype_policy

    def compute_output_spec(
        self, inputs: Tensor, mask: Tensor | None = None, training: bool | None = None
    ) -> Any:
        """Returns the symbolic output."""
        self._check_mask(inputs, mask)
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def _feature_dim(self, input_shape: Shape, name: str = "inputs") -> int:
        if not isinstance(input_shape, (list, tuple)):
            raise ValueError(
                f"The `{name}` of layer '{self.name}' ({type(self).__name__}) must be one tensor. "
                f"Received: a structure with the shapes {input_shape}"
            )
        dim = input_shape[-1]
        if not dim:
            raise ValueError(
                f"The last dimension of the `{name}` of layer '{self.name}' "
                f"({type(self).__name__}) must be known and not 0. "
                f"Received: shape {tuple(input_shape)}"
            )
        if name == "inputs":
            self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: dim})
        return int(dim)

    def _check_mask(self, inputs: Tensor, mask: Tensor | None) -> None:
        if mask is not None and hasattr(mask, "shape"):
            check_mask_shape(tuple(mask.shape), tuple(inputs.shape), self.name)
        elif mask is None and not self._warned_of_lost_mask:
            message = lost_mask_message(inputs)
            if message is not None:
                self._warned_of_lost_mask = True
                # Between here and the caller's line stand as many frames as Keras likes.
                warnings.warn(
                    f"Layer '{self.name}' ({type(self).__name__}) {message}", stacklevel=1
                )

    def _read(self, inputs: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Returns the inputs, zero at padded steps, in the compute dtype, and the boolean mask."""
        if keras.backend.standardize_dtype(inputs.dtype) == "string":
            raise ValueError(
                f"The `inputs` of layer '{self.name}' ({type(self).__name__}) must be numbers. "
                "Received: strings"
            )
        inputs = ops.cast(inputs, self.compute_dtype)
        mask = self._bool_mask(inputs, mask)
        return zero_masked(inputs, mask), mask

    def _bool_mask(self, inputs: Tensor, mask: Tensor | None) -> Tensor | None:
        check_dense(inputs, self.name)
        if inputs.shape[1] == 0:
            raise ValueError(
                f"The `inputs` of layer '{self.name}' ({type(self).__name__}) must have at least "
                f"one time step; pad empty texts and mask them. Received: shape "
                f"{tuple(inputs.shape)}"
            )
        found = as_bool_mask(mask, inputs, self.name, wait=False)
        self._look_once(mask)
        return found


class MaskedPooling1D(MaskedInputs):
    """Base of the layers that map `(batch, time, dim)` and a mask to one vector a row; not public.

    The mask ends here.
    """

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        """Returns `None`: a pooled vector has no time axis that a mask could belong to."""
        return None

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, dim)`."""
        return (input_shape[0], input_shape[2])


class GlobalPoolingBase(LayerArguments, MaskedPooling1D):
    """Base of the pooling layers without weights, in place of Keras's global ones; not public."""

    def __init__(self, *, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.keepdims = self._flag(keepdims, "keepdims")

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Pools `(batch, time, dim)` to `(batch, dim)`, or `(batch, 1, dim)` with `keepdims`."""
        output = ops.cast(self._pool(*self._read(inputs, mask)), self.compute_dtype)
        return ops.expand_dims(output, 1) if self.keepdims else output

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, dim)`, or `(batch, 1, dim)` with `keepdims`."""
        batch, _, dim = input_shape
        return (batch, 1, dim) if self.keepdims else (batch, dim)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "keepdims": self.keepdims}


class BidirectionalBase(LayerArguments, MaskedInputs):
    """Base of the layers that read a masked sequence in both directions by LSTMs or GRUs.

    Not public. `dropout` is on what each recurrent layer reads.
    """

    def __init__(
        self,
        units: int,
        *,
        merge_mode: str,
        dropout: float,
        use_bias: bool,
        kernel_initializer: InitializerLike,
        recurrent_initializer: InitializerLike,
        bias_initializer: InitializerLike,
        kernel_regularizer: RegularizerLike,
        recurrent_regularizer: RegularizerLike,
        bias_regularizer: RegularizerLike,
        kernel_constraint: ConstraintLike,
        recurrent_constraint: ConstraintLike,
        bias_constraint: ConstraintLike,
        seed: int | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = self._positive(units, "units")
        self.merge_mode = self._one_of(merge_mode, "merge_mode", ("concat", "sum"))
        self.dropout = self._fraction(dropout, "dropout")
        self.use_bias = self._flag(use_bias, "use_bias")
        self.kernel_initializer = self._from_keras(
            keras.initializers, kernel_initializer, "kernel_initializer"
        )
        self.recurrent_initializer = self._from_keras(
            keras.initializers, recurrent_initializer, "recurrent_initializer"
        )
        self.bias_initializer = self._from_keras(
            keras.initializers, bias_initializer, "bias_initializer"
        )
        self.kernel_regularizer = self._from_keras(
            keras.regularizers, kernel_regularizer, "kernel_regularizer"
        )
        self.recurrent_regularizer = self._from_keras(
            keras.regularizers, recurrent_regularizer, "recurrent_regularizer"
        )
        self.bias_regularizer = self._from_keras(
            keras.regularizers, bias_regularizer, "bias_regularizer"
        )
        self.kernel_constraint = self._from_keras(
            keras.constraints, kernel_constraint, "kernel_constraint"
        )
        self.recurrent_constraint = self._from_keras(
            keras.constraints, recurrent_constraint, "recurrent_constraint"
        )
        self.bias_constraint = self._from_keras(
            keras.constraints, bias_constraint, "bias_constraint"
        )
        self.seed = self._checked_seed(seed)
        if self.dropout > 0:
            self.seed_generator = self._seed_generator()

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Returns the mask of the inputs: the output has the same steps."""
        return mask

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, time, 2 * units)`, or `(batch, time, units)` of sums."""
        directions = 2 if self.merge_mode == "concat" else 1
        return (input_shape[0], input_shape[1], directions * self.units)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's common arguments."""
        return {
            **super().get_config(),
            "units": self.units,
            "merge_mode": self.merge_mode,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": keras.initializers.serialize(self.recurrent_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "recurrent_regularizer": keras.regularizers.serialize(self.recurrent_regularizer),
            "bias_regularizer": keras.regularizers.serialize(self.bias_regularizer),
            "kernel_constraint": keras.constraints.serialize(self.kernel_constraint),
            "recurrent_constraint": keras.constraints.serialize(self.recurrent_constraint),
            "bias_constraint": keras.constraints.serialize(self.bias_constraint),
            "seed": self.seed,
        }

    def _recurrent(self, kind: Any, name: str, dim: int, **arguments: Any) -> Any:
        """A built LSTM or GRU that reads `(batch, time, dim)` and returns all its states."""
        layer = kind(
            self.units,
            use_bias=self.use_bias,
            kernel_initializer=self._fresh(self.kernel_initializer),
            recurrent_initializer=_wide(self._fresh(self.recurrent_initializer)),
            bias_initializer=self._fresh(self.bias_initializer),
            kernel_regularizer=self.kernel_regularizer,
            recurrent_regularizer=self.recurrent_regularizer,
            bias_regularizer=self.bias_regularizer,
            kernel_constraint=self.kernel_constraint,
            recurrent_constraint=self.recurrent_constraint,
            bias_constraint=self.bias_constraint,
            return_sequences=True,
            dtype=self._inner_policy(),
            name=name,
            **arguments,
        )
        # From Keras 3.16 on it is False, and every call with a mask would warn. Ours hands it on.
        layer.supports_masking = True
        layer.build((None, None, dim))
        return layer

    def _drop(self, x: Tensor, training: bool | None) -> Tensor:
        if not training or self.dropout == 0:
            return x
        return keras.random.dropout(x, self.dropout, seed=self.seed_generator)

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


class AttentionBase(LayerArguments, MaskedInputs):
    """Base of the layers with weights and attention scores: DESIGN's common arguments and call.

    Not public.
    """

    def __init__(
        self,
        *,
        dropout: float,
        use_bias: bool,
        kernel_initializer: InitializerLike,
        bias_initializer: InitializerLike,
        kernel_regularizer: RegularizerLike,
        bias_regularizer: RegularizerLike,
        kernel_constraint: ConstraintLike,
        bias_constraint: ConstraintLike,
        seed: int | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.dropout = self._fraction(dropout, "dropout")
        self.use_bias = self._flag(use_bias, "use_bias")
        self.kernel_initializer = self._from_keras(
            keras.initializers, kernel_initializer, "kernel_initializer"
        )
        self.bias_initializer = self._from_keras(
            keras.initializers, bias_initializer, "bias_initializer"
        )
        self.kernel_regularizer = self._from_keras(
            keras.regularizers, kernel_regularizer, "kernel_regularizer"
        )
        self.bias_regularizer = self._from_keras(
            keras.regularizers, bias_regularizer, "bias_regularizer"
        )
        self.kernel_constraint = self._from_keras(
            keras.constraints, kernel_constraint, "kernel_constraint"
        )
        self.bias_constraint = self._from_keras(
            keras.constraints, bias_constraint, "bias_constraint"
        )
        self.seed = self._checked_seed(seed)
        if self.dropout > 0:
            self.seed_generator = self._seed_generator()

    def get_config(self) -> dict[str, Any]:
        """Returns the common arguments of the constructor."""
        return {
            **super().get_config(),
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": keras.regularizers.serialize(self.bias_regularizer),
            "kernel_constraint": keras.constraints.serialize(self.kernel_constraint),
            "bias_constraint": keras.constraints.serialize(self.bias_constraint),
            "seed": self.seed,
        }

    def compute_output_spec(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ) -> Any:
        """Returns the symbolic output, or the pair of output and scores."""
        self._check_mask(inputs, mask)
        output = keras.KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)
        if not return_attention_scores:
            return output
        return output, keras.tree.map_shape_structure(
            lambda shape: keras.KerasTensor(shape, self.compute_dtype),
            self._scores_shape(inputs.shape),
        )

    def _scores_shape(self, input_shape: Shape) -> Any:
        """The shape of the scores, or a structure of shapes."""
        return (input_shape[0], input_shape[1])

    def _add_kernel(self, name: str, shape: tuple[int, ...]) -> Any:
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=self._fresh(self.kernel_initializer),
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )

    def _add_bias(self, name: str, shape: tuple[int, ...]) -> Any:
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=self._fresh(self.bias_initializer),
            regularizer=self.bias_regularizer,
            constraint=self.bias_constraint,
        )

    def _hidden_dense(
        self,
        units: int,
        activation: Any,
        input_shape: Shape,
        kernel_initializer: Any = None,
    ) -> keras.layers.Dense:
        """The built hidden layer in front of the scores, named "hidden"."""
        dense = keras.layers.Dense(
            units,
            activation=activation,
            use_bias=self.use_bias,
            kernel_initializer=self._fresh(kernel_initializer or self.kernel_initializer),
            bias_initializer=self._fresh(self.bias_initializer),
            kernel_regularizer=self.kernel_regularizer,
            bias_regularizer=self.bias_regularizer,
            kernel_constraint=self.kernel_constraint,
            bias_constraint=self.bias_constraint,
            dtype=self._inner_policy(),
            name="hidden",
        )
        dense.build(input_shape)
        return dense

    def _convolve(self, x: Tensor, kernel: Any, bias: Any, activation: Any) -> Tensor:
        """A centred convolution over time, `(batch, time, filters)`, of inputs zero at padding."""
        kernel = ops.cast(kernel, self.compute_dtype)
        shape = (*ops.shape(x)[:2], kernel.shape[2])
        x = of_any_rows(lambda x: ops.conv(x, kernel, 1, "same", "channels_last"), x)
        # A TensorFlow graph learns late that there are no rows, and gives them the inputs' shape.
        x = ops.reshape(x, shape)
        if bias is not None:
            x = x + ops.cast(bias, self.compute_dtype)
        return activation(x)

    def _drop(self, x: Tensor, training: bool | None) -> Tensor:
        if not training or self.dropout == 0:
            return x
        return keras.random.dropout(x, self.dropout, seed=self.seed_generator)

    def _output(self, output: Tensor, scores: Any, return_attention_scores: bool) -> Any:
        output = ops.cast(output, self.compute_dtype)
        if not return_attention_scores:
            return output
        return output, keras.tree.map_structure(
            lambda each: ops.cast(each, self.compute_dtype), scores
        )


class MaskCarrier(keras.layers.Layer):  # type: ignore[misc]
    """Gives its inputs a mask: Keras hands on that of a call's first tensor alone; not public."""

    def __init__(self) -> None:
        super().__init__(autocast=False)
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns the inputs."""
        return inputs

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Returns the mask of the call."""
        return mask


class FusionBase(AttentionBase):
    """Base of the layers that mix sequences of the same steps, any of which may bring the mask.

    Not public.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._carrier = MaskCarrier()

    @staticmethod
    def _mask(mask: Tensor | None, *of_tensors: Any) -> Tensor | None:
        """The mask in force: Keras hands those of the tensors over under their names."""
        candidates = [mask, *keras.tree.flatten(of_tensors)]
        return next((m for m in candidates if m is not None), None)

    def _mixed(
        self, output: Tensor, scores: Any, mask: Tensor | None, return_attention_scores: bool
    ) -> Any:
        """`_output`, with the mask in force on the output."""
        output = self._output(output, None, False)
        if mask is not None:
            output = self._carrier(output, mask=mask)
        if not return_attention_scores:
            return output
        return output, ops.cast(scores, self.compute_dtype)

    def _mixed_spec(self, shape: Shape, scores: Shape, mask: Any, with_scores: bool) -> Any:
        """The symbolic output of a call, or the pair of output and scores."""
        output = keras.KerasTensor(shape, self.compute_dtype)
        output._keras_mask = mask
        return (output, keras.KerasTensor(scores, self.compute_dtype)) if with_scores else output


class SequenceAttentionBase(AttentionBase):
    """Base of the layers that attend from every step to others, `(batch, time, units)`.

    Not public. `dropout` is on the inputs of the kernels, as in DiSAN's and MPSAN's code.
    """

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = self._positive(units, "units")

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Returns the mask of the inputs: the output has the same steps."""
        return mask

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, time, units)`."""
        return (input_shape[0], input_shape[1], self.units)

    def get_config(self) -> dict[str, Any]:
        """Returns the common arguments and the size of the output."""
        return {**super().get_config(), "units": self.units}


class AttentionPoolingBase(AttentionBase, MaskedPooling1D):
    """Base of the attention pooling layers, with penalties on weights and pooled vectors.

    Not public. A subclass computes logits `(batch, heads, time)` and calls `_attend`, or logits
    `(batch, time, dim)` for each head and calls `_attend_features`.
    """

    def __init__(
        self,
        *,
        attention_regularizer: RegularizerLike,
        embedding_regularizer: RegularizerLike,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.attention_regularizer = self._from_keras(
            keras.regularizers, attention_regularizer, "attention_regularizer"
        )
        self.embedding_regularizer = self._from_keras(
            keras.regularizers, embedding_regularizer, "embedding_regularizer"
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the common arguments of the constructor."""
        return {
            **super().get_config(),
            "attention_regularizer": keras.regularizers.serialize(self.attention_regularizer),
            "embedding_regularizer": keras.regularizers.serialize(self.embedding_regularizer),
        }

    def _attend(
        self, inputs: Tensor, logits: Tensor, mask: Tensor | None, training: bool | None
    ) -> tuple[Tensor, Tensor]:
        """Softmax over time, dropout, weighted sum, penalties; all in float32 at least.

        Args:
            inputs: `(batch, time, dim)`, zero at padded steps, or `(batch, heads, time, dim)` where
                each head has values of its own.
            logits: `(batch, heads, time)`.
            mask: Boolean `(batch, time)` or `None`.
            training: Whether dropout is on.

        Returns:
            Heads' vectors `(batch, heads, dim)` and the weights `(batch, heads, time)` before
            dropout.
        """
        weights = masked_softmax(logits, None if mask is None else ops.expand_dims(mask, 1))
        self._penalize(self.attention_regularizer, weights, mask)
        used = self._drop(weights, training)
        # One batched matrix product; a loop over heads would write (batch, time, dim) each time.
        if len(inputs.shape) == 3:
            vectors = ops.matmul(used, at_least_float32(inputs))
        else:
            vectors = ops.matmul(ops.expand_dims(used, 2), at_least_float32(inputs))
            vectors = ops.squeeze(vectors, 2)
        self._penalize(self.embedding_regularizer, vectors, mask)
        return vectors, weights

    def _attend_features(
        self,
        inputs: Tensor,
        heads: Iterable[Tensor],
        mask: Tensor | None,
        training: bool | None,
        return_attention_scores: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """`_attend` with a weight for every feature; one head after the other.

        Args:
            inputs: `(batch, time, dim)`, zero at padded steps.
            heads: The logits `(batch, time, dim)` of each head.
            mask: Boolean `(batch, time)` or `None`.
            training: Whether dropout is on.
            return_attention_scores: Whether the weights are wanted.

        Returns:
            Heads' vectors `(batch, heads, dim)` and the weights `(batch, heads, time, dim)` before
            dropout, `None` where neither the caller nor a penalty wants them.
        """
        values = at_least_float32(inputs)
        wanted = return_attention_scores or self.attention_regularizer is not None
        vectors, weights = [], []
        # The matrix products take nearly all the time, so that a loop costs nothing, and it holds
        # the logits of one head where one product would hold those of all.
        for logits in heads:
            exps, total = softmax_terms(logits, mask)
            if wanted:
                weights.append(exps / ops.expand_dims(total, 1))
            exps = self._drop(exps, training)
            vectors.append(ops.sum(exps * values, axis=1) / total)
        stacked = ops.stack(weights, axis=1) if wanted else None
        self._penalize(self.attention_regularizer, stacked, mask)
        output = ops.stack(vectors, axis=1)
        self._penalize(self.embedding_regularizer, output, mask)
        return output, stacked

    def _penalize(self, regularizer: Any, heads: Tensor | None, mask: Tensor | None) -> None:
        if regularizer is None:
            return
        if isinstance(regularizer, HeadRegularizer):
            kept = None if mask is None else ops.any(mask, axis=1)
            self.add_loss(regularizer.batch_penalty(heads, kept))
        else:
            self.add_loss(regularizer(heads))


class MultiHeadPoolingBase(AttentionPoolingBase):
    """Base of the attention pooling layers with several heads, which come out head after head."""

    def __init__(self, num_heads: int, *, flatten: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.num_heads = self._positive(num_heads, "num_heads")
        self.flatten = self._flag(flatten, "flatten")

    def get_config(self) -> dict[str, Any]:
        """Returns the common arguments, the number of heads and their layout."""
        return {**super().get_config(), "num_heads": self.num_heads, "flatten": self.flatten}

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """Returns `(batch, heads * dim)`, or `(batch, heads, dim)` with `flatten=False`."""
        batch, _, dim = input_shape
        if not self.flatten:
            return (batch, self.num_heads, dim)
        return (batch, None if dim is None else self.num_heads * dim)

    def _scores_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], self.num_heads, input_shape[1])

    def _add_head_kernels(self, name: str, shape: tuple[int, ...], regularizer: Any) -> Any:
        """One kernel a head, `(heads, *shape)`, each drawn as a kernel of its own.

        Drawn at once, the heads would count as inputs or outputs and shrink every weight.
        """
        draws = [self._fresh(self.kernel_initializer) for _ in range(self.num_heads)]
        return self.add_weight(
            name=name,
            shape=(self.num_heads, *shape),
            initializer=lambda _, dtype=None: ops.stack([d(shape, dtype=dtype) for d in draws]),
            regularizer=regularizer,
            constraint=self.kernel_constraint,
        )

    def _lay_out(self, vectors: Tensor) -> Tensor:
        """Joins the heads' vectors `(batch, heads, dim)` head after head, if so configured."""
        if not self.flatten:
            return vectors
        return ops.reshape(vectors, (-1, self.num_heads * vectors.shape[2]))


def _wide(initializer: Any) -> Any:
    """The initializer, drawing in float32 for weights in half precision.

    An orthogonal matrix comes from a QR decomposition, which no backend has in half precision.
    """

    def draw(shape: tuple[int, ...], dtype: Any = None) -> Tensor:
        wanted = keras.backend.standardize_dtype(dtype)
        half = wanted in ("float16", "bfloat16")
        return ops.cast(initializer(shape, dtype="float32" if half else wanted), wanted)

    return draw
