"""Writes what can be exported into the pages, from `docs/support/export_*.json`.

A line `<!-- support: torch -->` of a page becomes the table of that backend, as the slow tests
found it: `KERAS_ATTNPOOL_WRITE_SUPPORT=1 make test-slow-torch ARGS="-k test_export"`.
"""

import json
import re
import textwrap
from pathlib import Path

MARKER = re.compile(r"^(?P<indent> *)<!-- support: (?P<backend>\w+) -->$", re.M)
MISSING = "*Not tried yet.*"
# The verdicts that are no refusal, and what a cell says of them.
SIGNS = {
    "same numbers": "yes",
    "static length only": "length fixed",
    "static shape only": "shape fixed",
}
NAMES = {
    "tf_saved_model": "SavedModel",
    "onnx": "ONNX",
    "openvino": "OpenVINO",
    "litert": "LiteRT",
    "torch": ".pt2",
}


def table(support):
    """One row a case, one column a format; the refusals in words below."""
    formats = support["formats"]
    cases = list(dict.fromkeys(name for verdicts in formats.values() for name in verdicts))
    lines = [
        "| case | " + " | ".join(NAMES[each] for each in formats) + " |",
        "|---" * (1 + len(formats)) + "|",
    ]
    notes = {}
    for name in cases:
        cells = [f"`{name}`"]
        for verdicts in formats.values():
            verdict = verdicts.get(name)
            if verdict is None or verdict in SIGNS:
                cells.append(SIGNS.get(verdict, "not tried"))
            else:
                cells.append(f"**no** ({notes.setdefault(verdict, len(notes) + 1)})")
        lines.append("| " + " | ".join(cells) + " |")
    reasons = [f"{number}. `{verdict.replace('`', '')}`" for verdict, number in notes.items()]
    versions = ", ".join(f"{name} {version}" for name, version in support["versions"].items())
    parts = [f"{support['date']}, with {versions}.", "\n".join(lines)]
    return "\n\n".join([*parts, *(["Refusals:\n\n" + "\n".join(reasons)] if reasons else [])])


def fill(markdown, folder):
    """Replaces the markers of a page by the tables of the files in `folder`."""

    def filled(match):
        path = folder / f"export_{match['backend']}.json"
        content = MISSING
        if path.exists():
            content = table(json.loads(path.read_text(encoding="utf-8")))
        return textwrap.indent(content, match["indent"])

    return MARKER.sub(filled, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills the tables of every page."""
    return fill(markdown, Path(config.docs_dir) / "support")
