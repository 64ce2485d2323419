"""Gives each page a description of its own: what its top says, or else its first sentences."""

import html
import re

PARAGRAPH = re.compile(r"<p>(?P<text>.*?)</p>", re.S)
LONGEST = 160


def description(content):
    """The first paragraph of a page as plain text, as many whole sentences or words as fit."""
    match = PARAGRAPH.search(content)
    if match is None:
        return ""
    words = re.sub(r"<[^>]+>", "", match["text"]).split()
    text = html.unescape(" ".join(words))
    if len(text) <= LONGEST:
        return text
    sentences = text[:LONGEST].rpartition(". ")[0]
    return f"{sentences}." if sentences else f"{text[: LONGEST - 2].rpartition(' ')[0]} …"


def on_page_content(content, page, config, files):
    """Describes the page where its top does not."""
    page.meta.setdefault("description", html.escape(f"{page.title}: {description(content)}"))
