"""The command line, `python -m keras_attnpool`, trains text classifiers and predicts with them."""

import importlib
import os
import sys
from collections.abc import Sequence

from keras_attnpool.workbench.cli.errors import CommandError, of_file, start_keras
from keras_attnpool.workbench.cli.parsing import parsed


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: The arguments after the program's name; `None` takes the arguments of the process.

    Returns:
        The exit status: 0 without an error, 2 for a mistake of the user, 130 after Ctrl-C. One line
        on standard error names the mistake.

    Example:

    ```python
    import keras_attnpool.workbench.cli

    assert keras_attnpool.workbench.cli.main(["predict", "no/such/run", "a text"]) == 2
    ```
    """
    try:
        given = parsed(argv)
        name = given.pop("command")
        # These late imports let argparse show help and errors without waiting for Keras.
        start_keras()
        command = getattr(importlib.import_module(f"keras_attnpool.workbench.cli.{name}"), name)
        return int(command(given))
    except SystemExit as stop:  # argparse has printed the error or the help
        return int(stop.code or 0)
    except BrokenPipeError:
        # Another program has stopped reading the output (`predict ... | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except CommandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {of_file(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
