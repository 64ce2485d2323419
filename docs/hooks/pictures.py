"""Puts the pictures of `docs/assets/pictures` into the pages, in whose colours they are drawn.

An image of a page that is one of them, `![caption](../assets/pictures/name.svg)` alone on its line,
becomes the drawing itself with its caption: colours of the page, light or dark, are not known to an
image.
"""

import html
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "assets" / "pictures"
IMAGE = re.compile(
    r"^!\[(?P<caption>[^\]]+)\]\((?:\.\./)*assets/pictures/(?P<name>\w+)\.svg\)$", re.M
)
NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'


def figure(svg, caption):
    """A drawing with its caption; without blank lines, which would end the block of HTML."""
    return (
        f'<figure class="drawn">\n{svg.strip()}\n'
        f"<figcaption>{html.escape(caption)}</figcaption>\n</figure>"
    )


def draw(markdown):
    """Replaces the images of a page by their drawings."""

    def drawing(match):
        svg = (FOLDER / f"{match['name']}.svg").read_text(encoding="utf-8")
        return figure(svg.replace(NAMESPACE, "", 1), match["caption"])

    return IMAGE.sub(drawing, markdown)


def on_page_markdown(markdown, page, config, files):
    """Draws the pictures of every page."""
    return draw(markdown)
