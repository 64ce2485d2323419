"""Defines the error for mistakes that the user can correct. Other errors are bugs."""

import importlib.util
import os

BACKENDS = ("torch", "jax", "tensorflow")


class CommandError(ValueError):
    """Ends the command with one line on standard error and no traceback."""


def of_file(error: OSError) -> str:
    """Makes a message from the name of a file and its fault."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def start_keras() -> None:
    """Imports Keras, and replaces the long traceback for a missing backend by one line.

    Raises:
        CommandError: If the chosen backend is unknown or not installed.
    """
    try:
        importlib.import_module("keras")
    except (ImportError, ValueError) as error:
        found = [name for name in BACKENDS if importlib.util.find_spec(name)]
        cure = 'none is installed; pip install "keras_attnpool[torch]" installs one'
        if found:
            cure = f"{' and '.join(found)} can be imported: KERAS_BACKEND={found[0]} "
            cure += "python -m keras_attnpool ..."
        given = os.environ.get("KERAS_BACKEND", "nothing, which means Keras's default")
        raise CommandError(
            "the environment variable KERAS_BACKEND must name a backend that is installed; "
            f"{cure}. Received: {given} ({error})"
        ) from error
