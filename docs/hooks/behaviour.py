"""Writes what layers do with padding into the pages, from `benchmarks/results/behaviour/*.json`.

A line `<!-- behaviour: torch ours -->` of a page becomes the table of our layers under that
backend, `<!-- behaviour: torch peers -->` that of the others: `python -m benchmarks.behaviour`.
"""

import json
import re
import textwrap
from pathlib import Path

MARKER = re.compile(
    r"^(?P<indent> *)<!-- behaviour: (?P<backend>\w+) (?P<group>ours|peers) -->$", re.M
)
MISSING = "*Not measured yet.*"
COLUMNS = {
    "padding": "padding changes the result",
    "gradient": "gradient reaches padding",
    "nan": "NaN in padding spreads",
    "empty": "text with nothing kept",
    "float16": "long text in float16",
    "scores": "attention weights",
    "mask": "mask of an embedding",
    "file": "loads without `custom_objects`",
}
ERROR = re.compile(r"\w+: ")


def table(measured, group):
    """One row a layer, one column a probe; errors in words below."""
    lines = [f"| layer | {' | '.join(COLUMNS.values())} |", "|---" * (1 + len(COLUMNS)) + "|"]
    notes = {}
    for name, verdicts in measured[group].items():
        cells = []
        for probe in COLUMNS:
            verdict = verdicts[probe]
            if ERROR.match(verdict):
                verdict = f"error ({notes.setdefault(verdict, len(notes) + 1)})"
            cells.append(verdict)
        package, _, layer = name.rpartition(" ")
        lines.append(f"| {package} `{layer}` | ".replace("|  `", "| `") + " | ".join(cells) + " |")
    versions = ", ".join(f"{name} {version}" for name, version in measured["versions"].items())
    parts = [f"{measured['date']}, with {versions}.", "\n".join(lines)]
    if notes:
        parts.append(
            "\n".join(f"{number}. `{text.replace('`', '')}`" for text, number in notes.items())
        )
    return "\n\n".join(parts)


def fill(markdown, folder):
    """Replaces the markers of a page by the tables of the files in `folder`."""

    def filled(match):
        path = folder / f"{match['backend']}.json"
        content = MISSING
        if path.exists():
            content = table(json.loads(path.read_text(encoding="utf-8")), match["group"])
        return textwrap.indent(content, match["indent"])

    return MARKER.sub(filled, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills the tables of every page."""
    folder = Path(config.config_file_path).parent / "benchmarks" / "results" / "behaviour"
    return fill(markdown, folder)
