"""What the user can mend, told apart from faults of ours."""

from collections.abc import Iterator
from contextlib import contextmanager


class CommandError(ValueError):
    """Ends the command with one line on standard error and no traceback."""


@contextmanager
def reported() -> Iterator[None]:
    """Makes errors of the library that the user's input causes a `CommandError`.

    Used around what reads that input, and nothing else: elsewhere a ValueError is a fault of ours
    and deserves its traceback.
    """
    try:
        yield
    except (ValueError, ImportError) as error:
        raise CommandError(" ".join(str(error).split())) from error
