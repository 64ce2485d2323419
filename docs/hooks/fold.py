"""Folds the long parts of pages that would not end: tables, and the reference.

Headings, first paragraphs and the first table of a section stay in sight, and a page reads as its
own list of contents. Below a heading of the class `whole` all does. A link to a heading leads
there; browsers find words in what is folded.
"""

import re

PAGES = {"comparison.md", "results.md"}
LONGEST = {"2": 6000, "3": 2500}  # characters of HTML in sight under a heading, by its rank
WHOLE = 'class="whole"'
ROWS = 10  # of a table that stays in sight
RECIPES = "How each row was trained"  # stands behind a table of results
SAID = 4  # parts that a summary tells before it counts
SECTION = re.compile(r"(?=<h[23]\b)")
P = r"<p>(?!<strong>[^<]*</strong></p>)(?:(?!</p>).)*</p>\s*"
TOP = re.compile(rf"<h[23]\b.*?</h[23]>\s*(?:{P}){{0,2}}", re.S)
PART = re.compile(
    r"<(?P<kind>table|[uo]l)>(?:(?!<(?:table|[uo]l)>).)*?</(?P=kind)>|<(?P<figure>figure)\b.*?</figure>"
    r"|<details\b[^>]*>\s*<summary>(?P<title>.*?)</summary>.*?</details>",
    re.S,
)
TITLE = re.compile(r"<p><strong>([^<]*)</strong></p>\s*$")  # of the table behind it
FIRST = re.compile(rf"(?:{P})*(?P<part>{PART.pattern})\s*", re.S)
OBJECT = '<div class="doc doc-object '
SIGNATURE = '<div class="doc-signature'
START = re.compile(r'<div class="doc doc-contents[^"]*">\s*(?:<p>.*?</p>\s*)?', re.S)
DIV = re.compile(r'<div class="doc doc-children|<(/?)div\b')


def sections(content):
    """The page with each long section folded, behind its first paragraphs and its first table."""

    def folded(section):
        top = TOP.match(section)
        if top is None or WHOLE in top[0] or len(section) - top.end() < LONGEST[section[2]]:
            return section
        end = top.end()
        first = FIRST.match(section, end)
        if (
            section.startswith("<h2")
            and first
            and not first["title"]
            and rows(first["part"]) <= ROWS
        ):
            end = first.end()
        rest = section[end:]
        if not rest:
            return section
        return f"{section[:end]}<details><summary>{summary(rest)}</summary>{rest}</details>"

    return "".join(folded(each) for each in SECTION.split(content))


def rows(table):
    """The lines of a table below its head; of a list, none."""
    return max(table.count("<tr>") - 1, 0)


def plain(text):
    """Without tags, as HTML."""
    return " ".join(re.sub(r"<[^>]+>", "", text).split())


def summary(content):
    """What a folded part holds: the columns of its tables, the titles of its own folded parts."""
    found = []
    for part in PART.finditer(content):
        if part["kind"] == "table":
            heads = [plain(head) for head in re.findall(r"<th\b[^>]*>(.*?)</th>", part[0], re.S)]
            shown = ", ".join([head for head in heads if head][:4])
            title = TITLE.search(content, 0, part.start())
            if f"<summary>{RECIPES}" in content:
                return f"Results and recipes ({rows(part[0])} rows)"
            if title:
                found.append(f"{title[1]}: {rows(part[0])} rows")
            else:
                found.append(f"Table of {rows(part[0])} rows: {shown}{', …' * (len(heads) > 4)}")
        elif part["figure"]:
            found.append("Chart")
        elif part["title"]:
            found.append(plain(part["title"]).rstrip("."))
    found = list(dict.fromkeys(found))
    if len(found) > SAID + 1:
        found[SAID:] = [f"and {len(found) - SAID} more"]
    return "; ".join(found) or "Notes"


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
        said = "<summary>Signature, arguments, example</summary>"
        inside = f"<details>{said}{''.join(signature)}{rest}</details>"
        return f"{title}{start[0]}{inside}{others}"

    first, *others = content.split(OBJECT)
    return OBJECT.join([first, *map(folded, others)])


def on_page_content(content, page, config, files):
    """Folds the pages that are long."""
    if page.file.src_uri in PAGES:
        return sections(content)
    return objects(content) if page.file.src_uri.startswith("api/") else content
