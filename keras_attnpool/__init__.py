"""Attention and pooling layers for sequences on Keras 3: TensorFlow, PyTorch and JAX."""

import importlib
import sys
from typing import Any

__version__ = "0.1.0"

# `__init__.pyi` lists the same names for editors and type checkers.
__all__ = ["ArgumentError", "analysis", "batches", "layers", "models", "ops", "regularizers"]
__all__ += ["testing", "workbench"]
# These names of the workbench are also available here.
_OF_WORKBENCH = ("corpora", "datasets", "load_run", "text")


def __getattr__(name: str) -> Any:
    """Imports a subpackage when it is first used."""
    if name == "ArgumentError":
        return importlib.import_module(f"{__name__}._checks").ArgumentError
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _OF_WORKBENCH:
        return getattr(importlib.import_module(f"{__name__}.workbench"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# These imports register the classes that `keras.models.load_model` needs. `python -m
# keras_attnpool` imports only the modules that its command needs, so that help does not wait for
# Keras. While Python searches for the module of `-m`, the first argument is "-m".
if not (sys.argv[:1] == ["-m"] and "keras_attnpool" in sys.orig_argv):
    from keras_attnpool import layers as layers
    from keras_attnpool import models as models
    from keras_attnpool import ops as ops
    from keras_attnpool import regularizers as regularizers
