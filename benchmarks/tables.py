"""Tables in Markdown, for the documentation too."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any


def table(head: Sequence[str], lines: Iterable[Iterable[Any]], left: Collection[int] = (0,)) -> str:
    """Writes a table; the columns at `left` hold words, the others figures.

    Args:
        head: Names of the columns.
        lines: The cells of each line.
        left: Positions of the columns that are not set to the right.
    """
    rule = "|".join("---" if place in left else "--:" for place in range(len(head)))
    first, *others = (f"| {' | '.join(map(str, cells))} |" for cells in (head, *lines))
    return "\n".join([first, f"|{rule}|", *others])
