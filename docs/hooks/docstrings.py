"""Fits the docstrings to the parser of the reference pages.

The parser takes the sections that Keras docstrings have beyond `Args`, `Returns` and `Raises` for
boxes with running text, and lines with a prompt for Markdown. Here they become what they look like:
a bold title with a list or a text under it, and code.
"""

import inspect
import pydoc
import re
import textwrap

import griffe

TITLES = ("Call arguments", "Input shape", "Output shape", "Example", "Reference")
SECTION = re.compile(rf"^(?P<title>{'|'.join(TITLES)}):\n(?P<body>(?:(?: +.*)?(?:\n|\Z))*)", re.M)
ENTRY = re.compile(r"^(\w+): ", re.M)


def with_titles(docstring):
    """Writes sections that the parser does not know as a bold title and their text."""

    def rewrite(match):
        body = textwrap.dedent(match["body"]).strip("\n")
        if match["title"] == "Call arguments":
            body = ENTRY.sub(r"- **`\1`**: ", body)
        return f"**{match['title']}:**\n\n{body}\n\n"

    return SECTION.sub(rewrite, docstring)


def with_fences(docstring):
    """Puts examples with prompts under a fence, up to the next blank line."""
    lines, fenced, indent = [], False, None
    for line in [*docstring.split("\n"), ""]:
        text = line.strip()
        if text.startswith("```"):
            fenced = not fenced
        if not fenced and indent is None and text.startswith(">>>"):
            indent = line[: line.index(">")]
            lines.append(f"{indent}```python")
        if indent is not None and not text:
            lines.append(f"{indent}```")
            indent = None
        lines.append(line)
    return "\n".join(lines[:-1])


class KerasDocstrings(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_object(self, *, obj, **kwargs):
        """Called for every module, class, function and attribute."""
        if obj.docstring:
            text = obj.docstring.value
            # What docstrings have in common is filled in when Python makes class or function.
            if obj.is_class or obj.is_function:
                text = inspect.getdoc(pydoc.locate(obj.path)) or text
            obj.docstring.value = with_fences(with_titles(text))
