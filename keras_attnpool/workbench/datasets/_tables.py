"""Reads and writes the files of the cache: gzipped, tab-separated UTF-8 rows that end in LF."""

import contextlib
import gzip
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from keras_attnpool.workbench._files import whole_file

Row = Sequence[str]


def one_line(text: str) -> str:
    """Replaces every run of white space, including no-break spaces, by one space."""
    return " ".join(text.split())


def pack(rows: Iterable[Row]) -> bytes:
    """Returns rows as the text of a table, one row per line, with fields joined by tabs."""
    return "".join("\t".join(map(one_line, row)) + "\n" for row in rows).encode("utf-8")


def read(path: Path) -> tuple[list[list[str]], str]:
    """Reads the rows of a table and the SHA-256 of its uncompressed bytes."""
    try:
        content = gzip.decompress(path.read_bytes())
        text = content.decode("utf-8")
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is damaged ({error}). Delete it, so that it is fetched again."
        ) from error
    rows = [line.split("\t") for line in text.split("\n")[:-1]]
    return rows, hashlib.sha256(content).hexdigest()


def write_all(tables: dict[Path, Iterable[Row]]) -> None:
    """Writes tables. If one file fails, no file is written; no file is ever written in part."""
    with contextlib.ExitStack() as files:
        for path, rows in tables.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = files.enter_context(whole_file(path))
            with open(temporary, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
                packed.write(pack(rows))
