"""Writes the matrix of the reproductions into the pages: where every table and figure stands.

A line `<!-- book: matrix -->` becomes what `python -m benchmarks.reproduce --matrix` prints.
"""

import os
import sys
from pathlib import Path

MARKER = "<!-- book: matrix -->"


def fill(markdown, repository):
    """Replaces the marker by the matrix of the results that are there."""
    if MARKER not in markdown:
        return markdown
    # The list of the experiments is code that imports Keras; any backend will do.
    os.environ.setdefault("KERAS_BACKEND", "jax")
    if str(repository) not in sys.path:
        sys.path.insert(0, str(repository))
    from benchmarks.reproduce import __main__, book

    return markdown.replace(MARKER, book.matrix(__main__.PAPERS))


def on_page_markdown(markdown, page, config, files):
    """Fills the matrix of every page."""
    return fill(markdown, Path(config.config_file_path).parent)
