"""Attention and pooling layers for text on Keras 3: TensorFlow, PyTorch and JAX."""

import importlib
import sys
from typing import Any

__version__ = "0.1.0"

# `__init__.pyi` lists the same names for editors and type checkers.
__all__ = [
    "ArgumentError",
    "analysis",
    "corpora",
    "datasets",
    "layers",
    "load_run",
    "models",
    "ops",
]
__all__ += ["regularizers", "text"]


def __getattr__(name: str) -> Any:
    """Imports one of the other rooms, when it is first used."""
    if name == "load_run":
        from keras_attnpool.cli.trained import load_run

        return load_run
    if name == "ArgumentError":
        from keras_attnpool._checks import ArgumentError

        return ArgumentError
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# At once: they register what `keras.models.load_model` looks for. But `python -m keras_attnpool`
# imports what its command needs, so that help need not wait for Keras: while Python looks for the
# module of `-m`, the first argument is "-m".
if not (sys.argv[:1] == ["-m"] and "keras_attnpool" in sys.orig_argv):
    from keras_attnpool import layers as layers
    from keras_attnpool import models as models
    from keras_attnpool import ops as ops
    from keras_attnpool import regularizers as regularizers
