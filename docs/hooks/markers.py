"""Fills the markers of the pages.

A line `<!-- speed: torch targets -->` becomes what the writer of `speed` makes of the words.
"""

import re
import textwrap

import behaviour
import book
import explanations
import leaks
import results
import speed
import support

WRITERS = {
    "behaviour": behaviour.written,
    "book": book.written,
    "explanations": explanations.written,
    "leaks": leaks.written,
    "results": results.written,
    "runs": support.runs,
    "speed": speed.written,
    "support": support.exports,
}
MARKER = re.compile(
    rf"^(?P<indent> *)<!-- (?P<kind>{'|'.join(WRITERS)}): (?P<words>[\w ]+) -->$", re.M
)


def fill(markdown):
    """Replaces the markers of a page; inside a tab all lines are indented."""

    def filled(match):
        written = WRITERS[match["kind"]](*match["words"].split())
        return textwrap.indent(written, match["indent"])

    return MARKER.sub(filled, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills the markers of every page."""
    return fill(markdown)
