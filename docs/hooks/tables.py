"""Tables of the documentation, in Markdown."""


def table(head, lines, left=(0,)):
    """Writes a table; the columns at `left` hold words, the others figures.

    Args:
        head: Names of the columns.
        lines: The cells of each line.
        left: Positions of the columns that are not set to the right.
    """
    rule = "|".join("---" if place in left else "--:" for place in range(len(head)))
    return "\n".join([_line(head), f"|{rule}|", *map(_line, lines)])


def _line(cells):
    return "| " + " | ".join(cells) + " |"
