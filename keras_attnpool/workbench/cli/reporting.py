"""Turns errors of the library into errors of the command line, with the typed options."""

from collections.abc import Iterator
from contextlib import contextmanager

from keras_attnpool._checks import ArgumentError
from keras_attnpool.workbench.cli.errors import CommandError, of_file
from keras_attnpool.workbench.cli.options import DEFAULTS, flag

# The options for some arguments of the library. Other arguments have the names of their options.
OPTIONS = {
    "num_heads": "--heads",
    "gru_units": "--units",
    "lstm_units": "--units",
    "filters": "--units",
    "sequence_length": "--max-tokens",
    "header": "--no-header",
}


@contextmanager
def reported(option: str = "") -> Iterator[None]:
    """Turns errors from the user's input into a `CommandError`.

    Use this function only around code that reads the user's input. A ValueError of other code is a
    bug, and the user must see its traceback.

    Args:
        option: The option that names the input. The message names the option first, and then the
            input.
    """
    try:
        yield
    except OSError as error:
        raise CommandError(f"{option} {of_file(error)}".strip()) from error
    except (ValueError, ImportError) as error:
        raise CommandError(f"{option} {typed(error)}".strip()) from error


def typed(error: Exception) -> str:
    """Returns the message in one line, with options instead of the library's arguments."""
    while isinstance(error.__cause__, ArgumentError):  # the name of a part is the typed text
        error = error.__cause__
    if isinstance(error, ArgumentError) and {error.name} & (OPTIONS.keys() | DEFAULTS.keys()):
        error = error.renamed(spell=lambda name: OPTIONS.get(name) or flag(name))
    return " ".join(str(error).split())
