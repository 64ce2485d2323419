"""The error for everything that the user can mend, told apart from faults of ours."""


class CommandError(ValueError):
    """Ends the command with one line on standard error and no traceback."""


def of_file(error: OSError) -> str:
    """The name of the file, and its fault."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)
