"""Tables of the documentation, in Markdown."""


def table(head, lines, left=(0,)):
    """Writes a table; the columns at `left` hold words, the others figures.

    Args:
        head: Names of the columns.
        lines: The cells of each line.
        left: Positions of the columns that are not set to the right.
    """
    rule = "|".join("---" if place in left else "--:" for place in range(len(head)))
    first, *others = (f"| {' | '.join(cells)} |" for cells in (head, *lines))
    return "\n".join([first, f"|{rule}|", *others])


class Notes(dict):
    """What stands below a table in full, by its number there."""

    def number(self, text):
        """The number of a text; the same text has one number."""
        return self.setdefault(text, len(self) + 1)

    def __str__(self):
        return "\n".join(f"{number}. `{text.replace('`', '')}`" for text, number in self.items())
