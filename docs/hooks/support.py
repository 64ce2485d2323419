"""What runs where, from the files of `docs/support/`.

A line `<!-- support: torch -->` of a page becomes the table of exports of that backend, as the slow
tests found it: `KERAS_ATTNPOOL_WRITE_SUPPORT=1 make test-slow-torch ARGS="-k test_export"`.
`<!-- runs: torch -->` becomes the table of all layers on that backend, `<!-- runs: summary -->` the
one of all backends, from `make where`, and `<!-- runs: versions -->` that of `make versions`.

    python docs/hooks/support.py    # writes README's line
"""

import re
from pathlib import Path

from measured import dated, read, versions
from tables import Notes, table

FOLDER = Path(__file__).resolve().parents[1] / "support"
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
FORMATS = COLUMNS | {"openvino": "OpenVINO", "torch": ".pt2"}
NOT_TRIED, NONE = "not tried", "–"
# The verdicts that are no refusal, and what a cell says of them.
WORDS = {
    "yes": "yes",
    "same numbers": "yes",
    "static length only": "length fixed",
    "static shape only": "shape fixed",
    "nothing inside": NONE,
    NOT_TRIED: NOT_TRIED,
}
# What a layer's cases say, from the worst; refusals are worse than all of these.
RANKS = [NOT_TRIED, "shape fixed", "length fixed", "yes", NONE]


def refusal(verdict, notes):
    """A cell that names its note."""
    return f"**no** ({notes.number(verdict)})"


def exports(backend, folder=FOLDER):
    """One row a case, with its layer, one column a format; the refusals in words below."""
    support, notes, lines = read(folder / f"export_{backend}.json"), Notes(), []
    layers, formats = read(folder / "layers.json")["layers"], support["formats"]
    for case in dict.fromkeys(case for verdicts in formats.values() for case in verdicts):
        verdicts = [each.get(case, NOT_TRIED) for each in formats.values()]
        names = ", ".join(f"`{each}`" for each in (layers.get(case), case) if each)
        lines.append([names, *(WORDS.get(each) or refusal(each, notes) for each in verdicts)])
    head = ["case", *(FORMATS[each] for each in formats)]
    parts = [dated(support), table(head, lines, left=range(len(head)))]
    return "\n\n".join([*parts, *(["Refusals:", str(notes)] if notes else [])])


def cells(folder, backend):
    """For each layer and column, the worst of the layer's cases, or a list of refusals."""
    found, exported = read(folder / "layers.json"), folder / f"export_{backend}.json"
    said = found["runs"].get(backend, {})
    if exported.exists():
        said = {**said, **read(exported)["formats"]}
    of_layers = {}
    for case, layer in found["layers"].items():
        of_layers.setdefault(layer, []).append(case)

    def cell(column, cases):
        if column not in said:
            return NONE
        verdicts = [said[column].get(case, NOT_TRIED) for case in cases]
        refused = [verdict for verdict in verdicts if verdict not in WORDS]
        return refused or min((WORDS[verdict] for verdict in verdicts), key=RANKS.index)

    return {
        layer: {column: cell(column, cases) for column in COLUMNS}
        for layer, cases in sorted(of_layers.items())
    }


def runs(what, folder=FOLDER):
    """All layers on one backend, with the refusals in words below, or another table of runs."""
    if what in ("summary", "versions"):
        return {"summary": summary, "versions": environments}[what](folder)
    notes, rows = Notes(), []
    for layer, row in cells(folder, what).items():
        told = [
            ", ".join(refusal(each, notes) for each in sorted(set(cell)))
            if isinstance(cell, list)
            else cell
            for cell in row.values()
        ]
        rows.append([f"`{layer}`", *told])
    return "\n\n".join(filter(None, [in_columns("layer", rows), str(notes)]))


def in_columns(title, rows):
    """A table with a column for each way of running."""
    return table([title, *COLUMNS.values()], rows, left=range(1 + len(COLUMNS)))


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
    found, rows = read(folder / "layers.json"), []
    for name in [name for name in BACKENDS if name in found["runs"]]:
        of_layers = cells(folder, name)
        rows.append([BACKENDS[name], *(count(of_layers, column) for column in COLUMNS)])
    return f"{dated(found)}\n\n{in_columns('', rows)}"


def environments(folder):
    """One row an environment in which tests ran."""
    rows = []
    for name, found in read(folder / "versions.json").items():
        told = ["", "", "", found.get("result")]
        if "result" not in found:
            counts = ", ".join(f"{found[each]} {each}" for each in ("passed", "skipped", "failed"))
            told = [found["python"], versions(found), found["tests"], counts]
        rows.append([f"`{name}`", *told])
    return table(["environment", "Python", "with", "tests", "result"], rows, left=range(5))


def line(folder):
    """README's summary; it counts once all is tried."""
    able, tables = {}, {name: cells(folder, name) for name in BACKENDS}
    shown = (
        "[table](docs/backends.md).\n  <!-- tests: test_each_backend_does_what_the_table_says -->"
    )
    counted = ("train", "predict")
    every = [row[column] for t in tables.values() for row in t.values() for column in counted]
    if NOT_TRIED in every:
        return f"- A command writes which layer trains and predicts on which backend: {shown}"
    for name, title in BACKENDS.items():
        for column in counted:
            able.setdefault((column, count(tables[name], column)), []).append(title)
    parts = [
        f"{number} layers {column} on {', '.join(titles)}"
        for (column, number), titles in able.items()
        if number != NONE
    ]
    return f"- {'; '.join(parts)}. A command writes the {shown}"


if __name__ == "__main__":
    readme = FOLDER.parents[1] / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(LINE.sub(lambda match: line(FOLDER), text), encoding="utf-8")
