"""The planted leaks, from `benchmarks/results/leaks/*.json`.

A line `<!-- leaks: torch -->` of a page becomes the table of that backend's run:
`python -m benchmarks.leaks`.
"""

from measured import RESULTS, read, versions
from tables import table


def written(backend):
    """One row per fault, with the difference that it makes and the one without it."""
    measured = read(RESULTS / "leaks" / f"{backend}.json")
    head = ("fault", "difference", "made by", "first layer that differs", "exact instead", "then")
    lines = [
        (
            fault,
            f"{found['largest']:.2g}",
            found["check"],
            f"`{found['layer']}`",
            found["cure"],
            f"{found['after']:.0e}" if found["after"] else "0",
        )
        for fault, found in measured["leaks"].items()
    ]
    return f"{table(head, lines, left=(0, 2, 3, 4))}\n\nMeasured with {versions(measured)}."
