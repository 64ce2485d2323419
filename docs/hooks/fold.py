"""Folds the long parts of pages that would not end: tables, and the reference.

Headings and first paragraphs stay in sight, and a page reads as its own list of contents. A link
to a heading leads there; browsers find words in what is folded.
"""

import re

PAGES = {"comparison.md", "results.md", "speed.md"}
LONGEST = 6000  # characters of HTML that stay in sight under a heading
SECTION = re.compile(r"(?=<h[23]\b)")
TOP = re.compile(r"<h[23]\b.*?</h[23]>\s*(?:<p>.*?</p>\s*){0,2}", re.S)
OBJECT = '<div class="doc doc-object '
SIGNATURE = '<div class="doc-signature'
START = re.compile(r'<div class="doc doc-contents[^"]*">\s*(?:<p>.*?</p>\s*)?', re.S)
DIV = re.compile(r'<div class="doc doc-children|<(/?)div\b')


def sections(content):
    """The page with each long section folded behind its first two paragraphs."""

    def folded(section):
        top = TOP.match(section)
        if top is None or len(section) - top.end() < LONGEST:
            return section
        rest = section[top.end() :]
        return f"{top[0]}<details><summary>Tables and notes</summary>{rest}</details>"

    return "".join(folded(each) for each in SECTION.split(content))


def contents_end(html, start):
    """Where the contents of an object end whose `div` is open at `start`, or its members begin."""
    depth = 1
    for each in DIV.finditer(html, start):
        depth += {"": 1, "/": -1, None: 0}[each[1]]
        if depth == 0 or each[1] is None:
            return each.start()
    return None


def objects(content):
    """The page of a reference with each object folded behind its first sentence."""

    def folded(each):
        start = START.search(each)
        end = contents_end(each, start.end()) if start else None
        if end is None:
            return each
        title, *signature = each[: start.start()].partition(SIGNATURE)
        rest, others = each[start.end() : end], each[end:]
        summary = "<summary>Signature, arguments, example</summary>"
        inside = f"<details>{summary}{''.join(signature)}{rest}</details>"
        return f"{title}{start[0]}{inside}{others}"

    first, *others = content.split(OBJECT)
    return OBJECT.join([first, *map(folded, others)])


def on_page_content(content, page, config, files):
    """Folds the pages that are long."""
    if page.file.src_uri in PAGES:
        return sections(content)
    return objects(content) if page.file.src_uri.startswith("api/") else content
