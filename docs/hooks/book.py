"""The matrix of the reproductions, and the figures of the papers.

A line `<!-- book: matrix -->` becomes what `python -m benchmarks.reproduce --matrix` prints,
`<!-- book: claims -->` says of every claim of the papers' tables what became of it,
`<!-- book: counts -->` counts these claims, `<!-- book: held -->` lists the weaknesses of
those that are held. A line `<!-- book: published sam -->` becomes the figures of a paper for the
rows of its experiments, and `<!-- book: total sam -->` counts its claims.
"""

import os

# The list of the experiments is code that imports Keras; any backend will do.
os.environ.setdefault("KERAS_BACKEND", "jax")

from results import folded
from tables import table

from benchmarks.reproduce import book
from benchmarks.reproduce.__main__ import PAPERS


def published(paper):
    """A paper's figures, in percent: a row for each model, a column for each data set."""
    # Several data sets of ours may stand for one of the paper's.
    own = (dataset for dataset in paper.tasks if not paper.tasks[dataset].column)
    columns = {dataset: paper.rows(dataset) for dataset in own}
    columns = {name: rows for name, rows in columns.items() if any(rows.values())}
    lines = []
    for row in dict.fromkeys(row for rows in columns.values() for row in rows):
        figures = [rows.get(row) for rows in columns.values()]
        # Two rows of ours may stand for one of the paper's.
        if any(figures) and paper.original(row) == row:
            # At most as many digits as the papers have.
            cells = ["–" if f is None else f"{round(100 * f, 2):.10g}" for f in figures]
            lines.append([row, *cells])
    shown = table(["model", *(f"`{name}`" for name in columns)], lines)
    return folded("The figures of the paper, on its own data", shown)


def written(view, paper=None):
    """What `benchmarks.reproduce.book` writes of all papers, or of one, or a paper's figures."""
    if view == "published":
        return published(PAPERS[paper])
    return book.total(paper, PAPERS) if view == "total" else getattr(book, view)(PAPERS)
