"""Writes files whole or not at all, for all subpackages."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path; if no error occurs, renames that file to `path` at the end."""
    # A killed process leaves this file behind; `cli.runs.remove_leftovers` knows its name.
    temporary = path.with_name(f".{secrets.randbits(64)}.{path.name}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
