"""Errors of the library in the words of the command line: by the options that were typed."""

from collections.abc import Iterator
from contextlib import contextmanager

from keras_attnpool._checks import ArgumentError
from keras_attnpool.workbench.cli.errors import CommandError, of_file
from keras_attnpool.workbench.cli.options import DEFAULTS, flag

# The options behind the library's arguments; any other argument is called like its option.
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
    """Makes errors that the user's input causes a `CommandError`.

    Use it only around the code that reads this input: elsewhere a ValueError is a fault of ours and
    deserves its traceback.

    Args:
        option: The option that names the input, which its name then follows.
    """
    try:
        yield
    except OSError as error:
        raise CommandError(f"{option} {of_file(error)}".strip()) from error
    except (ValueError, ImportError) as error:
        raise CommandError(f"{option} {typed(error)}".strip()) from error


def typed(error: Exception) -> str:
    """The message in one line, with options where the library names its arguments."""
    while isinstance(error.__cause__, ArgumentError):  # of a part: it is what was typed
        error = error.__cause__
    if isinstance(error, ArgumentError) and {error.name} & (OPTIONS.keys() | DEFAULTS.keys()):
        error = error.renamed(spell=lambda name: OPTIONS.get(name) or flag(name))
    return " ".join(str(error).split())
