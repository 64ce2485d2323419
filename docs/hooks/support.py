"""Writes what runs where into the pages, from the files of `docs/support/`.

A line `<!-- support: torch -->` of a page becomes the table of exports of that backend, as the slow
tests found it: `KERAS_ATTNPOOL_WRITE_SUPPORT=1 make test-slow-torch ARGS="-k test_export"`.
`<!-- runs: torch -->` becomes the table of all layers on that backend, `<!-- runs: summary -->` the
one of all backends, from `make where`, and `<!-- runs: versions -->` that of `make versions`.

    python docs/hooks/support.py    # writes README's line
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


def table(support, layers):
    """One row a case, with its layer, one column a format; the refusals in words below."""
    formats = support["formats"]
    cases = list(dict.fromkeys(name for verdicts in formats.values() for name in verdicts))
    lines = [
        "| case | " + " | ".join(NAMES[each] for each in formats) + " |",
        "|---" * (1 + len(formats)) + "|",
    ]
    notes = {}
    for name in cases:
        cells = [", ".join(f"`{each}`" for each in (layers.get(name), name) if each)]
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


RUNS = re.compile(r"^<!-- runs: (?P<what>\w+) -->$", re.M)
LINE = re.compile(r"(?<=<!-- runs -->\n).*?(?=\n *<!-- end of runs -->)", re.S)
BACKENDS = {
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
    "jax": "JAX",
    "numpy": "NumPy",
    "openvino": "OpenVINO",
    "nnx": "Flax NNX",
}
COLUMNS = {
    "train": "train",
    "predict": "predict",
    "compiled": "compiled",
    "saved": "saved",
    "quantized": "int8",
    "onnx": "ONNX",
    "openvino": "OpenVINO IR",
    "litert": "LiteRT",
    "tf_saved_model": "SavedModel",
    "torch": "`.pt2`",
}
# What a layer's cases say, from the worst; refusals are worse than all of these.
NOT_TRIED, NONE = "not tried", "–"
RANKS = [NOT_TRIED, "shape fixed", "length fixed", "yes", NONE]
WORDS = {**SIGNS, "yes": "yes", "nothing inside": NONE}


def read(folder, name):
    """One file of the folder, or what an empty one holds."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def cells(folder, backend):
    """For each layer and column, the worst of the layer's cases, or a list of refusals."""
    found = read(folder, "layers")
    said = {
        **found["runs"].get(backend, {}),
        **read(folder, f"export_{backend}").get("formats", {}),
    }
    of_layers = {}
    for case, layer in found["layers"].items():
        of_layers.setdefault(layer, []).append(case)
    rows = {}
    for layer, cases in sorted(of_layers.items()):
        row = rows[layer] = {}
        for column in COLUMNS:
            if column not in said:
                row[column] = NONE
                continue
            verdicts = [said[column].get(case, NOT_TRIED) for case in cases]
            refused = [v for v in verdicts if v not in WORDS and v != NOT_TRIED]
            words = [WORDS.get(verdict, NOT_TRIED) for verdict in verdicts]
            row[column] = refused or min(words, key=RANKS.index)
    return rows


def lines_of(titles, rows):
    """A table in Markdown."""
    written = [f"| {' | '.join(row)} |" for row in [titles, *rows]]
    return "\n".join([written[0], "|---" * len(titles) + "|", *written[1:]])


def runs(folder, backend):
    """All layers on one backend; the refusals in words below."""
    notes, rows = {}, []
    for layer, row in cells(folder, backend).items():
        told = [
            ", ".join(
                f"**no** ({notes.setdefault(each, len(notes) + 1)})" for each in sorted(set(cell))
            )
            if isinstance(cell, list)
            else cell
            for cell in row.values()
        ]
        rows.append([f"`{layer}`", *told])
    parts = [lines_of(["layer", *COLUMNS.values()], rows)]
    parts += [f"{number}. `{note.replace('`', '')}`" for note, number in notes.items()]
    return "\n\n".join(parts[:1] + ["\n".join(parts[1:])] * bool(notes))


def count(rows, column):
    """How many layers can, of those that have something to do there."""
    tried = [row[column] for row in rows.values() if row[column] != NONE]
    if not tried:
        return NONE
    fixed = sum(cell in RANKS[1:3] for cell in tried)
    able = f"{sum(cell == 'yes' for cell in tried)} of {len(tried)}"
    return f"{able}, {fixed} more fixed" if fixed else able


def summary(folder):
    """One row a backend, one column a way of running."""
    found = read(folder, "layers")
    tables = {name: cells(folder, name) for name in BACKENDS if name in found["runs"]}
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    rows = [
        [BACKENDS[name], *(count(rows, column) for column in COLUMNS)]
        for name, rows in tables.items()
    ]
    return f"{found['date']}, with {versions}.\n\n{lines_of(['', *COLUMNS.values()], rows)}"


def versions(folder):
    """One row an environment in which tests ran."""
    if not read(folder, "versions"):
        return MISSING
    rows = []
    for name, found in read(folder, "versions").items():
        if "result" in found:
            rows.append([f"`{name}`", "", "", "", found["result"]])
            continue
        said = ", ".join(f"{package} {version}" for package, version in found["versions"].items())
        told = f"{found['passed']} passed, {found['skipped']} skipped, {found['failed']} failed"
        rows.append([f"`{name}`", found["python"], said, found["tests"], told])
    return lines_of(["environment", "Python", "with", "tests", "result"], rows)


def line(folder):
    """README's summary; it counts once all is tried."""
    able, tables = {}, {name: cells(folder, name) for name in BACKENDS}
    table = (
        "[table](docs/backends.md).\n  <!-- tests: test_each_backend_does_what_the_table_says -->"
    )
    counted = ("train", "predict")
    every = [row[column] for t in tables.values() for row in t.values() for column in counted]
    if NOT_TRIED in every:
        return f"- A command writes which layer trains and predicts on which backend: {table}"
    for name, title in BACKENDS.items():
        rows = tables[name]
        for column in counted:
            able.setdefault((column, count(rows, column)), []).append(title)
    parts = [
        f"{number} layers {column} on {', '.join(titles)}"
        for (column, number), titles in able.items()
        if number != NONE
    ]
    return f"- {'; '.join(parts)}. A command writes the {table}"


def fill(markdown, folder):
    """Replaces the markers of a page by the tables of the files in `folder`."""

    def filled(match):
        path = folder / f"export_{match['backend']}.json"
        content = MISSING
        if path.exists():
            layers = read(folder, "layers").get("layers", {})
            content = table(json.loads(path.read_text(encoding="utf-8")), layers)
        return textwrap.indent(content, match["indent"])

    def run_table(match):
        own = {"summary": summary, "versions": versions}.get(match["what"])
        return own(folder) if own else runs(folder, match["what"])

    return RUNS.sub(run_table, MARKER.sub(filled, markdown))


def on_page_markdown(markdown, page, config, files):
    """Fills the tables of every page."""
    return fill(markdown, Path(config.docs_dir) / "support")


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    readme = root / "README.md"
    text = readme.read_text(encoding="utf-8")
    fresh = LINE.sub(lambda match: line(root / "docs" / "support"), text)
    readme.write_text(fresh, encoding="utf-8")
