"""What layers do with padding, from `benchmarks/results/behaviour/*.json`.

A line `<!-- behaviour: torch ours -->` of a page becomes the table of our layers under that
backend, `<!-- behaviour: torch peers -->` that of the others: `python -m benchmarks.behaviour`.
"""

import re

from measured import RESULTS, dated, read
from tables import Notes, table

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


def written(backend, group):
    """One row a layer, one column a probe; errors in words below."""
    measured, notes, lines = read(RESULTS / "behaviour" / f"{backend}.json"), Notes(), []
    for name, verdicts in measured[group].items():
        package, _, layer = name.rpartition(" ")
        told = [verdicts[probe] for probe in COLUMNS]
        told = [f"error ({notes.number(each)})" if ERROR.match(each) else each for each in told]
        lines.append([f"{package} `{layer}`".strip(), *told])
    shown = table(["layer", *COLUMNS.values()], lines, left=range(1 + len(COLUMNS)))
    return "\n\n".join(filter(None, [dated(measured), shown, str(notes)]))
