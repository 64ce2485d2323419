"""Fetching a file from its home, whole or not at all."""

import dataclasses
import functools
import hashlib
import http.client
import urllib.request
from collections.abc import Sequence
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Download:
    """A file at the home of a data set."""

    filename: str  # also of a copy that the user fetched by hand
    urls: Sequence[str]  # tried in this order
    digest: str | None = None  # "sha256:..." or "md5:...", if it is known

    def check(self, path: Path) -> None:
        """Raises a ValueError if the file at `path` has another hash."""
        if self.digest is None:
            return
        algorithm, _, expected = self.digest.partition(":")
        with path.open("rb") as file:
            new = functools.partial(hashlib.new, algorithm, usedforsecurity=False)
            digest = hashlib.file_digest(file, new).hexdigest()
        if digest != expected:
            raise ValueError(
                f"{self.filename} is not the expected file: {algorithm} {digest}, "
                f"expected {expected}"
            )

    def fetch(self, folder: Path, verbose: int) -> Path:
        """Download into `folder` and check.

        Raises a ConnectionError if no address answers with a whole file, and a ValueError if a
        whole file came that is not the expected one.
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
        if verbose:
            import keras  # here, so that reading a cached set needs no backend

            print(f"Downloading {path.name} (KiB)")
            bar = keras.utils.Progbar(expected and -(-expected // 1024), unit_name="KiB")
        while chunk := response.read(1 << 16):
            file.write(chunk)
            if verbose:
                bar.update(-(-file.tell() // 1024))
        received = file.tell()
    if expected is not None and received != expected:
        raise ConnectionError(f"the download was cut after {received} of {expected} bytes")
