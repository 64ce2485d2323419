"""A constructor's arguments: checked, kept under their names, given back by `get_config`."""

import functools
import inspect
from collections.abc import Collection
from typing import Any

import keras

from keras_attnpool._checks import (
    ArgumentError,
    Validator,
    module_of,
    validate,
    validator_of,
)
from keras_attnpool.regularizers import HeadRegularizer
from keras_attnpool.types import Tensor

# What these read has the heads on an axis of its own.
OF_HEADS = ("attention_regularizer", "vector_regularizer")


class LayerArguments:
    """Keeps the arguments of a layer, and starts its weights by them.

    What an argument may be follows from its name. A constructor is its signature and two lines,
    `super().__init__(**kwargs)` and `self._keep(locals())`.

    Keras's automatic config would give back what was typed, without the defaults and unchecked, and
    not at all to a layer with a `get_config` of its own.

    The docstrings of the base classes hold what those of the layers have in common: `make layers`
    keeps them alike.

    Args:
        num_heads: Number of attention heads.
        flatten: `True`: the output is `(batch, heads * dim)`; `False`: `(batch, heads, dim)`.
        keepdims: Whether to keep the time axis, with size 1, as Keras's `keepdims`.
        gated: Whether the hidden layer is multiplied by a gate of its own.
        normalizer: Makes weights of scores: `"softmax"`; `"sparsemax"` and `"entmax15"` give exact
            zeros.
        dropout: Share of the attention weights dropped in training, in [0, 1).
        use_bias: Whether there are biases.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        attention_regularizer: Regularizer of the attention weights of each example.
        vector_regularizer: Regularizer of the heads' vectors of each example.
        seed: Seed of the dropout, and of initializers that have none of their own.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.
    """

    name: str
    dropout: float = 0.0
    seed: int | None = None
    _initializers_used = 0
    # Whether a `kernel_regularizer` is given kernels with the heads on their first axis.
    _heads_in_kernel = False

    def _keep(self, given: dict[str, Any], **special: Validator | Collection[str]) -> None:
        """Checks every argument, and keeps it as an attribute of its name.

        Args:
            given: The constructor's `locals()`. Their `__class__`, which `super()` puts there, is
                the class of the constructor: a subclass may have arguments of its own.
            **special: The arguments whose name alone does not tell what they may be: a kind, or the
                names of which it is one.
        """
        parameters = inspect.signature(given["__class__"].__init__).parameters.values()
        own = [p for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"]
        self._arguments, owner = tuple(p.name for p in own), type(self).__name__
        for name, annotation in [(p.name, p.annotation) for p in own]:
            validator = validator_of(name, special.get(name), annotation)
            module = module_of(name)
            # Keras has a meaning for None wherever it takes a name or an object.
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
        if self.dropout > 0:
            # Named after the layer: Keras would name it by a counter.
            self.seed_generator = keras.random.SeedGenerator(
                self.seed, name=f"{self.name}_seed_generator"
            )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()  # type: ignore[misc]
        for name in self._arguments:
            value, module = getattr(self, name), module_of(name)
            if module is not None:
                value = module.serialize(value)
            config[name] = list(value) if isinstance(value, tuple) else value
        return dict(config)

    def _for_inside(self) -> dict[str, Any]:
        """`use_bias` and the regularizers of the kernels, for a layer inside."""
        shared = {"use_bias", "kernel_regularizer", "recurrent_regularizer"}
        return {name: getattr(self, name) for name in self._arguments if name in shared}

    def _drop(self, x: Tensor, training: bool | None) -> Tensor:
        if not training or self.dropout == 0:
            return x
        return keras.random.dropout(x, self.dropout, seed=self.seed_generator)

    def _check_heads(self) -> None:
        """Refuses `filters` that `num_heads` do not divide."""
        filters, heads = self.filters, self.num_heads  # type: ignore[attr-defined]
        if filters % heads:
            must, received = "be a multiple of the heads", {"filters": filters, "num_heads": heads}
            raise ArgumentError("filters", must, received, type(self).__name__)

    def _add(self, kind: str, name: str, shape: tuple[int, ...], initializer: Any = None) -> Any:
        """A weight that the arguments of that kind start and regularize."""
        return self.add_weight(  # type: ignore[attr-defined]
            name=name,
            shape=shape,
            initializer=self._fresh(initializer or getattr(self, f"{kind}_initializer")),
            regularizer=getattr(self, f"{kind}_regularizer", None),
        )

    _add_kernel = functools.partialmethod(_add, "kernel")

    def _add_bias(self, name: str, shape: tuple[int, ...]) -> Any:
        """A bias, or `None` with `use_bias=False`."""
        return self._add("bias", name, shape) if self.use_bias else None  # type: ignore[attr-defined]

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
        if seed is not None:
            seed = seed + 7919 * index
            # JAX has no larger ones.
            seed = seed if seed < 2**32 else seed % 2**32
        config["seed"] = seed
        return type(initializer).from_config(config)
