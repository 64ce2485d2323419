"""A constructor's arguments: checked, kept under their names, given back by `get_config`."""

import functools
import inspect
import re
from collections.abc import Callable, Collection
from typing import Any

import keras

from keras_attnpool._checks import (
    OLD_NAMES,
    ArgumentError,
    Validator,
    deprecate,
    module_of,
    present_names,
    validate,
    validator_of,
)
from keras_attnpool._docstrings import filled
from keras_attnpool.regularizers import HeadRegularizer
from keras_attnpool.types import Tensor

# Arguments that no version took by position, wherever they stand.
BY_NAME = ("gated", "normalizer", "position_weighted")
# What these read has the heads on an axis of its own.
OF_HEADS = ("attention_regularizer", "embedding_regularizer")


class LayerArguments:
    """Keeps the arguments of a layer, and starts its weights by them.

    What an argument may be follows from its name. A constructor is its signature and two lines,
    `super().__init__(**kwargs)` and `self._keep(locals())`.

    Keras's automatic config would give back what was typed, without the defaults and unchecked, and
    not at all to a layer with a `get_config` of its own.

    The docstring of a layer says what is particular to it. What it leaves out is filled in from the
    docstrings of its base classes, when the class is made.

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
        bias_regularizer: Regularizer of the biases.
        attention_regularizer: Regularizer of the attention weights of each example.
        embedding_regularizer: Regularizer of the heads' vectors of each example.
        kernel_constraint: Constraint of the kernels.
        bias_constraint: Constraint of the biases.
        seed: Seed of the dropout, and of initializers that have none of their own.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.
    """

    name: str
    dropout: float = 0.0
    seed: int | None = None
    _old_names: tuple[str, ...] = ()
    _initializers_used = 0
    # Whether a `kernel_regularizer` is given kernels with the heads on their first axis.
    _heads_in_kernel = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            if cls.__doc__ and not _is_base(cls):  # Python leaves it out with -OO
                cls.__doc__ = complete(cls.__doc__, cls)
            cls.__init__ = _of_any_version(cls.__init__)  # type: ignore[method-assign]

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
        """`use_bias`, the regularizers and the constraints, for a layer inside."""
        shared = re.compile("use_bias|(kernel|recurrent|bias)_(regularizer|constraint)")
        return {name: getattr(self, name) for name in self._arguments if shared.fullmatch(name)}

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
        """A weight that the arguments of that kind start, regularize and constrain."""
        return self.add_weight(  # type: ignore[attr-defined]
            name=name,
            shape=shape,
            initializer=self._fresh(initializer or getattr(self, f"{kind}_initializer")),
            regularizer=getattr(self, f"{kind}_regularizer", None),
            constraint=getattr(self, f"{kind}_constraint", None),
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


def complete(docstring: str, cls: Any) -> str:
    """The docstring of a layer, with what it has in common with others."""
    common = [base.__doc__ for base in cls.__mro__ if _is_base(base)]
    return filled(docstring, common, Args=cls.__init__, Call_arguments=cls.call)


def _is_base(cls: type) -> bool:
    return cls.__module__.startswith(f"{__package__}._")


def _of_any_version(constructor: Callable[..., None]) -> Callable[..., None]:
    """Takes what an earlier version took, with a warning: old names, and all by position."""
    signature = inspect.signature(constructor)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    names = [p.name for p in parameters if p.name not in BY_NAME]
    sizes = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)

    @functools.wraps(constructor)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        given, owner = (self, *args), type(self).__name__
        # A class of the user's own may have an argument of that name.
        old_names = [name for name in self._old_names if name not in names]
        replaced = {OLD_NAMES[old][0]: old for old in old_names}
        late = {
            replaced.get(name, name): value
            for name, value in zip(names[sizes:], given[sizes:], strict=False)
        }
        if late and len(given) <= len(names) and not late.keys() & kwargs.keys():
            deprecate(
                f"{owner} takes {', '.join(late)} by name; a later version will no longer take it "
                "by position."
            )
            given, kwargs = given[:sizes], {**late, **kwargs}
        try:
            kwargs = present_names(kwargs, old_names, owner)
        except ArgumentError as error:
            raise error.renamed(owner) from None
        constructor(*given, **kwargs)

    # Keras reads a constructor's arguments without looking behind a wrapper.
    construct.__signature__ = signature  # type: ignore[attr-defined]
    return construct
