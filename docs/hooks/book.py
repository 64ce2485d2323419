"""Writes the matrix of the reproductions into the pages, and the figures of the papers.

A line `<!-- book: matrix -->` becomes what `python -m benchmarks.reproduce --matrix` prints,
`<!-- book: claims -->` says of every claim of the papers' tables what became of it,
`<!-- book: counts -->` counts these claims, `<!-- book: held -->` lists the weaknesses of
those that are held. A line `<!-- book: published sam -->` becomes the figures of a paper for the
rows of its experiments, and `<!-- book: total sam -->` counts its claims.
"""

import os
import re
import sys
from pathlib import Path

MARKER = re.compile(r"<!-- book: (matrix|claims|counts|held) -->")
OF_ONE = re.compile(r"<!-- book: (published|total) (\w+) -->")


def published(paper):
    """A paper's figures, in percent: a row for each model, a column for each data set."""
    # Several data sets of ours may stand for one of the paper's.
    own = (dataset for dataset in paper.tasks if not paper.tasks[dataset].column)
    columns = {dataset: paper.rows(dataset) for dataset in own}
    columns = {name: rows for name, rows in columns.items() if any(rows.values())}
    lines = ["| model | " + " | ".join(f"`{name}`" for name in columns) + " |"]
    lines.append("|---" + "|--:" * len(columns) + "|")
    for row in dict.fromkeys(row for rows in columns.values() for row in rows):
        figures = [rows.get(row) for rows in columns.values()]
        # Two rows of ours may stand for one of the paper's.
        if any(figures) and paper.original(row) == row:
            # At most as many digits as the papers have.
            cells = ["–" if f is None else f"{round(100 * f, 2):.10g}" for f in figures]
            lines.append(f"| {row} | " + " | ".join(cells) + " |")
    body = "\n".join(f"    {line}" for line in lines)
    return f'??? abstract "The figures of the paper, on its own data"\n\n{body}'


def fill(markdown, repository):
    """Replaces the markers by the matrix of the results that are there, and the papers' figures."""
    if not (MARKER.search(markdown) or OF_ONE.search(markdown)):
        return markdown
    # The list of the experiments is code that imports Keras; any backend will do.
    os.environ.setdefault("KERAS_BACKEND", "jax")
    if str(repository) not in sys.path:
        sys.path.insert(0, str(repository))
    from benchmarks.reproduce import __main__, book

    markdown = MARKER.sub(lambda match: getattr(book, match[1])(__main__.PAPERS), markdown)

    def of_one(match):
        if match[1] == "total":
            return book.total(match[2], __main__.PAPERS)
        return published(__main__.PAPERS[match[2]])

    return OF_ONE.sub(of_one, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills the markers of every page."""
    return fill(markdown, Path(config.config_file_path).parent)
