"""Writes the planted leaks into a page, from `benchmarks/results/leaks/*.json`.

A line `<!-- leaks: torch -->` of a page becomes the table of that backend's run:
`python -m benchmarks.leaks`.
"""

import json
import re
from pathlib import Path

MARKER = re.compile(r"^<!-- leaks: (?P<backend>\w+) -->$", re.M)


def table(measured):
    """One row per fault, with the difference that it makes and the one without it."""
    lines = [
        "| fault | difference | made by | first layer that differs | exact instead | then |",
        "|---|--:|---|---|---|--:|",
    ]
    for fault, found in measured["leaks"].items():
        cells = (
            fault,
            f"{found['largest']:.2g}",
            found["check"],
            f"`{found['layer']}`",
            found["cure"],
            f"{found['after']:.0e}" if found["after"] else "0",
        )
        lines.append(f"| {' | '.join(cells)} |")
    versions = ", ".join(f"{name} {version}" for name, version in measured["versions"].items())
    return "\n".join([*lines, "", f"Measured with {versions}."])


def fill(markdown, folder):
    """Replaces the markers of a page by the tables of the files in `folder`."""

    def filled(match):
        path = folder / f"{match['backend']}.json"
        return table(json.loads(path.read_text(encoding="utf-8")))

    return MARKER.sub(filled, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills the tables of every page."""
    folder = Path(config.config_file_path).parent / "benchmarks" / "results" / "leaks"
    return fill(markdown, folder)
