"""Tools for your own texts: tokenizers, data sets, generated corpora, and the command line.

The workbench uses the public names of the library. The library never imports the workbench.
"""

import importlib
from typing import Any

# `__init__.pyi` lists the same names for editors and type checkers.
__all__ = ["cli", "corpora", "datasets", "load_run", "text"]


def __getattr__(name: str) -> Any:
    """Imports a subpackage when it is first used."""
    if name == "load_run":
        from keras_attnpool.workbench.cli.trained import load_run

        return load_run
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
