"""Folds the long parts of pages that would not end: tables, and the reference.

Headings and first paragraphs stay in sight, and a page reads as its own list of contents. A link
to a heading leads there; browsers find words in what is folded.
"""

import re

PAGES = {"results.md", "speed.md"}
LONGEST = 6000  # characters of HTML that stay in sight under a heading
SECTION = re.compile(r"(?=<h[23]\b)")
TOP = re.compile(r"<h[23]\b.*?</h[23]>\s*(?:<p>.*?</p>\s*)?", re.S)
OBJECT = '<div class="doc doc-object '
SIGNATURE = '<div class="doc-signature'
START = re.compile(r'<div class="doc doc-contents[^"]*">\s*(?:<p>.*?</p>\s*)?', re.S)
END = re.compile(r"</div>\s*</div>")


def sections(content):
    """The page with each long section folded behind its first paragraph."""

    def folded(section):
        top = TOP.match(section)
        if top is None or len(section) - top.end() < LONGEST:
            return section
        rest = section[top.end() :]
        return f"{top[0]}<details><summary>Tables and notes</summary>{rest}</details>"

    return "".join(folded(each) for each in SECTION.split(content))


def objects(content):
    """The page of a reference with each object folded behind its first sentence."""

    def folded(each):
        start = START.search(each)
        ends = [*END.finditer(each, start.end())] if start else []
        if not ends:
            return each
        title, *signature = each[: start.start()].partition(SIGNATURE)
        rest, end = each[start.end() : ends[-1].start()], each[ends[-1].start() :]
        summary = "<summary>Signature, arguments, example</summary>"
        inside = f"<details>{summary}{''.join(signature)}{rest}</details>"
        return f"{title}{start[0]}{inside}{end}"

    first, *others = content.split(OBJECT)
    return OBJECT.join([first, *map(folded, others)])


def on_page_content(content, page, config, files):
    """Folds the pages that are long."""
    if page.file.src_uri in PAGES:
        return sections(content)
    return objects(content) if page.file.src_uri.startswith("api/") else content
