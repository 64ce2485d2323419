"""`python -m keras_attnpool`."""

import io
import sys

from keras_attnpool.workbench.cli import main

if __name__ == "__main__":
    # A character that the terminal's encoding lacks is shown by its code, not by a traceback.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main())
