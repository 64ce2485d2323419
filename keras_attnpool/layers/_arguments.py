"""Checks a constructor's arguments, keeps them under their names, and returns their config."""

import inspect
from collections.abc import Collection
from typing import Any

from keras_attnpool._checks import ArgumentError, Validator, module_of, validate, validator_of
from keras_attnpool.layers._weights import LayerWeights
from keras_attnpool.regularizers import HeadRegularizer

# The arguments that an inner layer shares with its outer layer.
DRAWN = ("kernel_initializer", "recurrent_initializer", "bias_initializer")
SHARED = (*DRAWN, "use_bias", "unit_forget_bias", "kernel_regularizer", "recurrent_regularizer")
# These penalties read tensors with a separate axis for the heads.
OF_HEADS = ("attention_regularizer", "vector_regularizer")


class LayerArguments(LayerWeights):
    """Stores the arguments of a layer's constructor.

    The name of an argument determines the allowed values. A constructor has a signature and one
    line: `super().__init__(locals())`.

    Keras's automatic config cannot replace this class. The automatic config holds the arguments as
    the user typed them, without defaults and checks. Layers that define `get_config` have no
    automatic config.

    The docstrings of the base classes hold the common parts of the layers' docstrings. `make
    layers` copies these parts to the layers.

    Args:
        num_heads: Number of attention heads.
        flatten: Whether the output is `(batch, heads * dim)`. With `False` the output is `(batch,
            heads, dim)`.
        keepdims: Whether to keep the time axis with size 1.
        gated: Whether the hidden layer is multiplied by a learned gate.
        normalizer: Function that turns scores into weights: `"softmax"`, `"sparsemax"` or
            `"entmax15"`. `"sparsemax"` and `"entmax15"` can give weights of exactly 0.
        dropout: Share of the attention weights that is dropped in training, in [0, 1).
        use_bias: Whether the layer has biases.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        attention_regularizer: Regularizer of the attention weights of each example.
        vector_regularizer: Regularizer of the heads' vectors of each example.
        seed: Seed of the dropout. Initializers that have no seed get this seed too.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.
    """

    # Whether `kernel_regularizer` gets kernels with the heads on their first axis.
    _heads_in_kernel = False

    def __init__(self, given: dict[str, Any], **special: Validator | Collection[str]) -> None:
        """Checks every argument, and stores it as an attribute of the same name.

        Args:
            given: The constructor's `locals()`. `super()` adds `__class__`, the class that defines
                the constructor. A subclass may have more arguments.
            **special: For arguments whose names do not determine the values: the kind of value, or
                the allowed names.
        """
        super().__init__(**given["kwargs"])
        self.supports_masking = True
        own = inspect.signature(given["__class__"].__init__).parameters
        self._arguments = tuple(name for name in own if name not in ("self", "kwargs"))
        owner = type(self).__name__
        for name in self._arguments:
            validator = validator_of(name, special.get(name), own[name].annotation)
            module = module_of(name)
            # Keras accepts None wherever it accepts a name or an object.
            value = given[name]
            if module is None or value is not None:
                value = validate(name, value, validator, owner)
            if module is not None:
                value = module.get(value)
            if isinstance(value, HeadRegularizer) and not (
                name in OF_HEADS or (name == "kernel_regularizer" and self._heads_in_kernel)
            ):
                raise ArgumentError(
                    name,
                    "be no HeadRegularizer: that weight has no heads on its first axis; "
                    f"{' or '.join(f'`{each}`' for each in OF_HEADS)} may be one",
                    type(value).__name__,
                    owner,
                )
            setattr(self, name, value)
        self._start_dropout()

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()
        for name in self._arguments:
            value, module = getattr(self, name), module_of(name)
            if module is not None:
                value = module.serialize(value)
            config[name] = list(value) if isinstance(value, tuple) else value
        return dict(config)

    def _sublayer_kwargs(self, name: str, **own: Any) -> dict[str, Any]:
        """Returns the arguments for an inner layer: `own` and the shared arguments."""
        kwargs = {"name": name, "dtype": self._inner_policy(), **own}
        for each in SHARED:
            if each in self._arguments and each not in own:
                value = getattr(self, each)
                kwargs[each] = self._clone_initializer(value) if each in DRAWN else value
        return kwargs

    def _check_heads(self) -> None:
        """Raises an error if `num_heads` does not divide `filters`."""
        filters, heads = self.filters, self.num_heads
        if filters % heads:
            must, received = "be a multiple of the heads", {"filters": filters, "num_heads": heads}
            raise ArgumentError("filters", must, received, type(self).__name__)
