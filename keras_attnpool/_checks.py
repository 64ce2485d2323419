"""Validates arguments, and makes the error message for an invalid value.

`LAMA(20, 3, gru_units=-1)` ends in: "`gru_units` of LAMA must be None or an integer >= 1 (and <
2**31). Received: gru_units=-1". The name of an argument determines its allowed values. A name has
the same meaning in all functions. The annotation tells whether `None` is allowed.
"""

import functools
import inspect
import numbers
import reprlib
import sys
import typing
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar

import keras
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


class Validator(NamedTuple):
    """Checks the value of an argument, and converts the value."""

    expected: str
    accepts: Callable[[Any], bool]
    convert: Callable[[Any], Any] = lambda value: value


class ArgumentError(ValueError):
    """An invalid argument: "`name` of Owner must ... . Received: ...".

    Args:
        name: The argument.
        must: The part of the message after "must", such as "be an integer >= 1".
        received: The received value, in words, or a dictionary of the invalid arguments.
        owner: The function, class or layer of the argument, or `""` if the name is not known. A
            caller that knows the name raises `error.renamed(owner=...)`.

    Attributes:
        owner, name, must, received: The four arguments. `owner` is a string.

    Example:

    >>> import keras_attnpool
    >>> try:
    ...     keras_attnpool.layers.AttentionPooling(hidden_dim=0)
    ... except keras_attnpool.ArgumentError as error:
    ...     print(error.owner, error.name, error.received)
    AttentionPooling hidden_dim {'hidden_dim': 0}
    """

    __module__ = "keras_attnpool"  # the public module
    # Without this attribute, Keras replaces an error in a layer's call by a new error.
    _keras_call_info_injected = True

    name: str
    must: str
    received: str | Mapping[str, Any]
    owner: str

    # With this `__init__`, TensorFlow's AutoGraph rebuilds the error from its text. With another
    # `__init__`, the error is no longer a ValueError. Type checkers read `__new__`.
    if not typing.TYPE_CHECKING:
        __init__ = Exception.__init__

    def __new__(
        cls, name: str, must: str = "", received: str | Mapping[str, Any] = "", owner: Any = ""
    ) -> Self:
        if not isinstance(owner, str):
            owner = f"layer '{owner.name}' ({type(owner).__name__})"
        error = super().__new__(cls, name, must, received, owner)
        error.name, error.must, error.received, error.owner = name, must, received, owner
        return error

    def __str__(self) -> str:
        received = self.received
        if not self.must:
            return self.name
        if not isinstance(received, str):
            received = ", ".join(f"{name}={value!r}" for name, value in received.items())
        owner = f" of {self.owner}" if self.owner else ""
        return f"`{self.name}`{owner} must {self.must}. Received: {received}"

    def renamed(
        self, *, owner: str | None = None, spell: Callable[[str], str] = str
    ) -> "ArgumentError":
        """Returns the same error with the names that the user knows.

        Args:
            owner: The function that the user called. `None` keeps the owner.
            spell: Function from an argument's name to the name that the user typed.
        """
        received = self.received
        if not isinstance(received, str):
            received = {spell(name): value for name, value in received.items()}
        return ArgumentError(
            spell(self.name), self.must, received, self.owner if owner is None else owner
        )


def is_shape(shape: Sequence[int | None], expected: Sequence[int | None]) -> bool:
    """Returns whether a shape equals the expected shape; unknown sizes are not compared."""
    return len(shape) == len(expected) and all(
        size is None or wanted is None or size == wanted
        for size, wanted in zip(shape, expected, strict=True)
    )


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_length(value: Any) -> bool:
    """Whether a value may be a number of steps: an integer >= 0, or an unknown integer.

    An unknown integer is a tensor or a symbol of PyTorch. Tensors and symbols have `__index__`, and
    floats do not.
    """
    if isinstance(value, numbers.Integral):
        return _is_integer(value) and int(value) >= 0
    return hasattr(value, "__index__") and not isinstance(value, np.bool_)


def integer(least: int) -> Validator:
    """An integer that is at least `least`."""
    # No backend supports an axis of 2**31 or more. The backend's error would come late and explain
    # little.
    return Validator(
        f"an integer >= {least} (and < 2**31)",
        lambda value: _is_integer(value) and least <= value < 2**31,
        int,
    )


def one_of(names: Collection[str]) -> Validator:
    """One of a few names."""
    return Validator(
        f"one of {tuple(names)}", lambda value: isinstance(value, str) and value in names
    )


def _known_to_keras(module: Any) -> Validator:
    """Any value that the `get` function of a Keras module accepts."""

    def accepts(value: Any) -> bool:
        try:
            object_of_keras = module.get(value)
        except (ValueError, TypeError):
            return False
        # Keras accepts a number for a weight without axes, but no layer has such a weight. Keras
        # creates instances of classes, but not of an activation class.
        number = getattr(value, "shape", None) == ()
        made = callable(object_of_keras) and not inspect.isclass(object_of_keras)
        return not number and value is not None and made

    return Validator(f"something that keras.{module.__name__.rpartition('.')[2]} knows", accepts)


def _is_matrix(value: Any) -> bool:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):
        return False
    real = array.dtype.kind in "iuf" or array.dtype.name == "bfloat16"
    return real and array.ndim == 2 and array.size > 0


def _is_backbone(value: Any) -> bool:
    built = isinstance(value, keras.Model) and getattr(value, "inputs", None) is not None
    return built or SIZE.accepts(value)


SIZE = integer(1)
# bool(value) would turn "no" and NaN into True.
FLAG = Validator("True or False", lambda value: isinstance(value, bool | np.bool_), bool)
SHARE = Validator("a number in [0, 1)", lambda value: _is_number(value) and 0 <= value < 1, float)
UNIT = Validator("a number in [0, 1]", lambda value: _is_number(value) and 0 <= value <= 1, float)
# `math.isfinite` raises an error for an integer that is too large for a float.
FINITE = Validator(
    "a finite number", lambda value: _is_number(value) and abs(value) <= sys.float_info.max, float
)
# A number outside of this range becomes 0 or infinite in float32.
LEAST, MOST = float(np.finfo("float32").tiny), float(np.finfo("float32").max)
POSITIVE = Validator(
    "a finite number > 0 that float32 can hold",
    lambda value: _is_number(value) and LEAST <= value <= MOST,
    float,
)
NOT_NEGATIVE = Validator(
    "a finite number >= 0", lambda value: FINITE.accepts(value) and value >= 0, float
)
# Every backend accepts these seeds; Keras does not accept NumPy integers.
SEED = Validator(
    "an integer in [0, 2**31)", lambda value: _is_integer(value) and 0 <= value < 2**31, int
)
SIZES = Validator(
    "a list of different integers >= 1 (and < 2**31)",
    lambda value: (
        isinstance(value, list | tuple | range)
        and all(map(SIZE.accepts, value))
        and len(set(value)) == len(value) > 0
    ),
    lambda value: tuple(map(int, value)),
)
MATRIX = Validator("a matrix of numbers, (vocabulary_size, dim)", _is_matrix, np.asarray)
BACKBONE = Validator(
    "a built functional or Sequential keras.Model, such as a backbone of KerasHub, or an integer "
    ">= 1, the size of precomputed token features",
    _is_backbone,
    lambda value: value if isinstance(value, keras.Model) else int(value),
)
# Keras's rule for the names of models.
NAME = Validator(
    "a string that is not empty and has no '/'",
    lambda value: isinstance(value, str) and value != "" and "/" not in value,
)

VALIDATORS: dict[str, Validator] = {
    "dropout": SHARE,
    **dict.fromkeys(("attention_dropout", "embedding_dropout", "classifier_dropout"), SHARE),
    **dict.fromkeys(("kernel_sizes", "char_kernel_sizes"), SIZES),
    "num_classes": integer(2),
    "packed": integer(0),
    "threshold": UNIT,
    **dict.fromkeys(("scale", "p", "epsilon"), POSITIVE),
    "seed": SEED,
    "merge_mode": one_of(("concat", "sum")),
    "direction": one_of(("forward", "backward")),
    "normalizer": one_of(("softmax", "sparsemax", "entmax15")),
    # The functions that read these arguments check their values.
    "positions": Validator("a list of names", lambda value: isinstance(value, list | tuple), tuple),
    "embeddings": MATRIX,
    "backbone": BACKBONE,
    "name": NAME,
}
# Validators by annotation, for arguments with other names.
OF_TYPES: dict[Any, Validator] = {bool: FLAG, int: SIZE, int | None: SIZE}
KERAS_VALIDATORS = {
    kind: _known_to_keras(getattr(keras, f"{kind}s"))
    for kind in ("initializer", "regularizer", "constraint", "activation")
}


def module_of(name: str) -> Any:
    """The Keras module for arguments with this name, or `None`."""
    kind = name.rpartition("_")[2]
    return getattr(keras, f"{kind}s") if kind in KERAS_VALIDATORS else None


def checked(**special: Validator | Collection[str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Checks every argument of a function before its body runs; errors name the function.

    Args:
        **special: For arguments without a known name: the kind of value, or the allowed names.

    Returns:
        The decorator.

    Raises:
        KeyError: If nothing determines the allowed values of an argument.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function, eval_str=True)
        validators = {
            name: validator_of(name, special.get(name), parameter.annotation)
            for name, parameter in signature.parameters.items()
        }
        owner = function.__name__

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                try:
                    given = signature.bind(*args, **kwargs)
                except TypeError:
                    # Python's error message names the function.
                    return function(*args, **kwargs)
                for name, value in given.arguments.items():
                    given.arguments[name] = validate(name, value, validators[name])
                return function(*given.args, **given.kwargs)
            except ArgumentError as error:
                # If the function has no such argument, the error comes from an inner layer.
                if error.owner and error.name not in validators:
                    raise
                raise error.renamed(owner=owner) from error.__cause__

        return call

    return decorate


def known_by(name: str, annotation: Any) -> Validator | None:
    """Finds the validator by the argument's name, or else by its annotation."""
    known = KERAS_VALIDATORS.get(name.rpartition("_")[2]) or VALIDATORS.get(name)
    return known or OF_TYPES.get(annotation)


def validator_of(
    name: str, special: Validator | Collection[str] | None, annotation: Any
) -> Validator:
    """The validator of an argument."""
    if isinstance(special, Validator):
        validator = special
    elif special is not None:
        validator = one_of(special)
    else:
        known = known_by(name, annotation)
        if known is None:
            raise KeyError(
                f"`{name}` has no line in VALIDATORS of _checks.py, which says what it may be"
            )
        validator = known
    if type(None) not in typing.get_args(annotation):
        return validator
    return Validator(
        f"None or {validator.expected}",
        lambda value: value is None or validator.accepts(value),
        lambda value: None if value is None else validator.convert(value),
    )


def validate(name: str, value: Any, validator: Validator, owner: str = "") -> Any:
    """Returns the converted value of an argument, or raises an error."""
    if not validator.accepts(value):
        received: Any = {name: value}
        if getattr(value, "shape", ()):
            received = f"{name} of shape {tuple(value.shape)} and dtype {value.dtype}"
        raise ArgumentError(name, f"be {validator.expected}", received, owner)
    return validator.convert(value)


def column(owner: str, name: str, values: Any, axes: int = 1, of: str = "strings") -> list[Any]:
    """Returns the entries of a sequence, such as one column of a table, as a list.

    Other values raise an error. `list` would turn a table into the names of its columns, a mapping
    into its keys, and a string into its letters. A set raises an error, because its order differs
    between processes.

    Args:
        owner: The function or class that has the argument.
        name: The argument.
        values: The received values.
        axes: Largest number of axes of an array.
        of: Kind of the entries, such as "strings".

    Raises:
        ValueError: If `values` is not such a sequence, or if `of` is "strings" and an entry is not
            a string. If `values` is a table, the message asks for one column.
    """
    kind, cure, received = type(values).__name__, "", type(values).__name__
    shape = tuple(getattr(values, "shape", ()))
    keys = getattr(values, "columns", getattr(values, "column_names", None))
    if isinstance(values, Mapping) or keys is not None:
        keys = list(values if keys is None else keys)
        wanted = name.partition("_")[0].rstrip("s")
        key = next((each for each in keys if wanted in str(each).lower()), (keys or [wanted])[0])
        cure = f"; of a table pass one column, {name}[{key!r}]"
        received = f"{kind} with {reprlib.repr(keys)}"
    elif isinstance(values, set | frozenset):
        cure = f"; a set has no order: pass sorted({name})"
    elif len(shape) > axes:
        cure = f"; of several columns pass one, {name}[:, 0]" if len(shape) == 2 else ""
        received = f"{kind} of shape {shape}"
    elif isinstance(values, str | bytes):
        received = f"one string, {reprlib.repr(values)}"
    elif isinstance(values, Iterable) and not (hasattr(values, "shape") and not shape):
        entries = list(values)
        for index, entry in enumerate(entries if of == "strings" else ()):
            if not isinstance(entry, str):
                received = f"{type(entry).__name__} at index {index}"
                raise ArgumentError(name, "hold strings only", received, owner)
        return entries
    raise ArgumentError(name, f"be a sequence of {of}{cure}", received, owner)


def warn_of_padding(model: Any, owner: str, stacklevel: int) -> None:
    """Warns if a model would count the padding of unequal rows as steps.

    There is no warning if all rows have the same length. A subclassed model may mask steps in its
    own `call`, so it gets no warning.

    Args:
        model: The model.
        owner: The function that the user called.
        stacklevel: The `stacklevel` of `warnings.warn`.
    """
    symbols = getattr(model, "inputs", None) or []
    if not any(len(symbol.shape) > 1 and symbol.shape[1] is None for symbol in symbols):
        return
    layers = model._flatten_layers()
    values = [layer.mask_value for layer in layers if isinstance(layer, keras.layers.Masking)]
    calls = [node.arguments.kwargs for x in layers for node in getattr(x, "_inbound_nodes", [])]
    masked = any(x is not None for call in calls for name, x in call.items() if "mask" in name)
    if 0 in values or (masked and not values):
        return
    warnings.warn(
        f"{owner} pads rows of unequal length with zeros, and no layer of model '{model.name}' "
        "masks zeros: padding counts as steps. Give the model a mask as a second input, or put "
        "keras.layers.Masking() in front.",
        stacklevel=stacklevel,
    )
