"""A constructor's arguments: checked, kept under their names, given back by `get_config`."""

import functools
import inspect
import re
import warnings
from collections.abc import Callable, Collection
from typing import Any

import keras

from keras_attnpool._checks import Kind, Refused, fitted, kind_of, module_of
from keras_attnpool.layers._docstrings import complete
from keras_attnpool.types import Tensor


class LayerArguments:
    """Keeps the arguments of a layer, and starts its weights by them.

    What an argument may be follows from its name. A constructor is its signature and two lines,
    `super().__init__(**kwargs)` and `self._keep(locals())`.

    Keras's automatic config would give back what was typed, without the defaults and unchecked, and
    not at all to a layer with a `get_config` of its own.
    """

    name: str
    dropout: float = 0.0
    seed: int | None = None
    _initializers_used = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            if cls.__doc__:  # Python leaves it out with -OO
                cls.__doc__ = complete(cls.__doc__, cls.__init__, cls.call)  # type: ignore[attr-defined]
            cls.__init__ = _sizes_by_position(cls.__init__)  # type: ignore[method-assign]

    def _keep(self, given: dict[str, Any], **special: Kind | Collection[str]) -> None:
        """Checks every argument, and keeps it as an attribute of its name.

        Args:
            given: The constructor's `locals()`.
            **special: The arguments whose name alone does not tell what they may be: a kind, or the
                names of which it is one.
        """
        parameters = inspect.signature(type(self).__init__).parameters.values()
        own = [p for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"]
        self._arguments = tuple(p.name for p in own)
        for name, annotation in [(p.name, p.annotation) for p in own]:
            kind = kind_of(name, special.get(name), annotation)
            module = module_of(name)
            try:
                # Keras has a meaning for None wherever it takes a name or an object.
                value = given[name]
                if module is None:
                    value = fitted(name, value, kind)
                else:
                    value = module.get(value if value is None else fitted(name, value, kind))
            except Refused as refused:
                raise refused.by(type(self).__name__) from None
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
            raise ValueError(
                f"`filters` of {type(self).__name__} must be a multiple of `num_heads`. Received: "
                f"filters={filters}, num_heads={heads}"
            )

    def _add(self, kind: str, name: str, shape: tuple[int, ...]) -> Any:
        """A weight that the arguments of that kind start, regularize and constrain."""
        return self.add_weight(  # type: ignore[attr-defined]
            name=name,
            shape=shape,
            initializer=self._fresh(getattr(self, f"{kind}_initializer")),
            regularizer=getattr(self, f"{kind}_regularizer", None),
            constraint=getattr(self, f"{kind}_constraint", None),
        )

    _add_kernel = functools.partialmethod(_add, "kernel")
    _add_bias = functools.partialmethod(_add, "bias")

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


def _sizes_by_position(constructor: Callable[..., None]) -> Callable[..., None]:
    """Takes by position what an earlier version took, with a warning; sizes alone stay so."""
    signature = inspect.signature(constructor)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    names = [p.name for p in parameters]
    sizes = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)

    @functools.wraps(constructor)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        given = (self, *args)
        late = dict(zip(names[sizes:], given[sizes:], strict=False))
        if late and len(given) <= len(names) and not late.keys() & kwargs.keys():
            warnings.warn(
                f"{type(self).__name__} takes {', '.join(late)} by name; a later version will no "
                "longer take it by position.",
                DeprecationWarning,
                stacklevel=3,
            )
            given, kwargs = given[:sizes], {**late, **kwargs}
        constructor(*given, **kwargs)

    # Keras reads a constructor's arguments without looking behind a wrapper.
    construct.__signature__ = signature  # type: ignore[attr-defined]
    return construct
