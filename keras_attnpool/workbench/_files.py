"""Files that are written whole or not at all; below all rooms."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Gives a temporary path to write to; it becomes `path` when all went well."""
    # A process that is killed leaves it behind; `cli.runs.remove_leftovers` knows the name.
    temporary = path.with_name(f".{secrets.randbits(64)}.{path.name}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
