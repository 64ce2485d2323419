"""Tables of the documentation, and their notes."""

from benchmarks.tables import table as table


class Notes(dict):
    """What stands below a table in full, by its number there."""

    def number(self, text):
        """The number of a text; the same text has one number."""
        return self.setdefault(text, len(self) + 1)

    def __str__(self):
        return "\n".join(f"{number}. `{text.replace('`', '')}`" for text, number in self.items())
