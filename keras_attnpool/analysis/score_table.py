"""A dict of measures by row and column that prints as a table."""

import html
from typing import Any

import numpy as np

from keras_attnpool.types import Float64s


class ScoreTable(dict[str, dict[str, float]]):
    """A dict `{row: {column: number}}` that prints as a table.

    Args:
        rows: The numbers. A missing number is NaN or left out.
        per_text: `{row: {column: float64 array (texts,)}}`, if the numbers are means over texts.

    Example:

    >>> from keras_attnpool.analysis import ScoreTable
    >>> ScoreTable({"attention": {"tau": 0.25, "gini": 0.5}, "uniform": {"gini": 0.0}})
               tau   gini
    attention  0.250 0.500
    uniform    -     0.000
    """

    def __init__(
        self,
        rows: dict[str, dict[str, float]],
        per_text: dict[str, dict[str, Float64s]] | None = None,
    ) -> None:
        super().__init__(rows)
        self.per_text = per_text or {}

    @property
    def columns(self) -> list[str]:
        """Returns the names of the columns, in the order of the rows."""
        return list(dict.fromkeys(name for row in self.values() for name in row))

    def __repr__(self) -> str:
        lines = [["", *self.columns], *self._cells()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        widths[0] += 1
        return "\n".join(
            " ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ("", *self.columns))
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
            for line in self._cells()
        )
        return (
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def _cells(self) -> list[list[str]]:
        return [[name, *(_cell(row.get(c)) for c in self.columns)] for name, row in self.items()]


def _cell(value: Any) -> str:
    return "-" if value is None or np.isnan(value) else f"{value:.3f}"


def mean_of(values: Float64s) -> float:
    """Returns the mean of the numbers that are not NaN, or NaN if there are none."""
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if len(kept) else float("nan")
