"""`python -m keras_attnpool`."""

import sys

from keras_attnpool.cli import main

if __name__ == "__main__":
    sys.exit(main())
