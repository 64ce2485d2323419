"""Fetching a file from its home, whole or not at all."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import http.client
import urllib.request
from pathlib import Path

_CHUNK = 1 << 16


@dataclasses.dataclass(frozen=True)
class Download:
    """A file at a data set's home.

    Args:
        filename: Its name, also of a copy fetched by hand.
        urls: Where it is found; tried in this order.
        digest: `"sha256:..."` or `"md5:..."` of the file, or `None` if not known.
    """

    filename: str
    urls: tuple[str, ...]
    digest: str | None = None

    def check(self, path: Path) -> None:
        """Compare the file at `path` with the known hash.

        Raises:
            ValueError: If it is another file.
        """
        if self.digest is None:
            return
        algorithm, _, expected = self.digest.partition(":")
        with path.open("rb") as file:
            new = functools.partial(hashlib.new, algorithm, usedforsecurity=False)
            found = hashlib.file_digest(file, new).hexdigest()
        if found != expected:
            raise ValueError(
                f"{self.filename} is not the expected file: {algorithm} {found}, "
                f"expected {expected}"
            )

    def fetch(self, folder: Path, verbose: int) -> Path:
        """Download into `folder` and check.

        Raises:
            ConnectionError: If no address answers with a whole file.
            ValueError: If a whole file came that is not the expected one.
        """
        path = folder / self.filename
        reasons = []
        for url in self.urls:
            try:
                _stream(url, path, verbose)
                self.check(path)
                return path
            except (OSError, http.client.HTTPException, ValueError) as error:
                reasons.append((url, error))
        text = "; ".join(f"{url}: {error or type(error).__name__}" for url, error in reasons)
        wrong_file = any(isinstance(error, ValueError) for _, error in reasons)
        raise (ValueError if wrong_file else ConnectionError)(text)


def _stream(url: str, path: Path, verbose: int) -> None:
    with urllib.request.urlopen(url, timeout=30) as response, path.open("wb") as file:
        length = response.headers.get("Content-Length")
        expected = int(length) if length and length.isdigit() else None
        progress = _Progress(path.name, expected) if verbose else None
        received = 0
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            received += len(chunk)
            if progress:
                progress.update(received)
    if expected is not None and received != expected:
        raise ConnectionError(f"the download was cut after {received} of {expected} bytes")


class _Progress:
    """Keras's progress bar, counting KiB."""

    def __init__(self, name: str, size: int | None) -> None:
        import keras  # here, so that reading a cached set needs no backend

        print(f"Downloading {name} (KiB)")
        target = None if size is None else -(-size // 1024)
        self.bar = keras.utils.Progbar(target, unit_name="KiB")

    def update(self, received: int) -> None:
        self.bar.update(-(-received // 1024))
