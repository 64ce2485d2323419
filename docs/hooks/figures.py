"""Writes measured figures into sentences, from `benchmarks/results/*.json`.

`{{ lama_r8: AVG }}` becomes the mean of a row in percent, `{{ lama_r8: LAMA - AVG }}` the
difference of two rows in points; with `lama_r8 paper:` both are those of the paper, and with
`lama_r8 interval:` the difference becomes its 95 % interval. Weights and
time come of the epochs that were timed: `{{ sam_subj weights: SAM - RB }}` is how many weights the
one has more, `{{ sam_subj epoch_times: SAM }}` how many times as long its epoch takes as that
of the row whose time is 1. A figure of a paper that no file holds stands as typed:
`{{ printed: 62.89 }}`. A missing file or row stops the build.
"""

import re

from measured import RESULTS, read

from benchmarks.reproduce.significance import interval_of, marked, mean, ran_apart

MARKER = re.compile(r"\{\{ (?P<file>\w+)(?: (?P<of>\w+))?: (?P<rows>[^{}]+) \}\}")


def of_the_paper(results, rows):
    """The paper's figure of a row, or its distance between two; a claim may state its own."""
    claims = {(better, worse): distance for better, worse, _, distance in results["claims"]}
    values = [results["rows"][name]["paper"] for name in rows]
    if None in values and not claims.get(tuple(rows)):
        raise KeyError(" - ".join(rows))
    return claims.get(tuple(rows)) or values[0] - sum(values[1:])


def fill(markdown, folder=RESULTS):
    """Replaces the markers of a page by figures of the results in `folder`."""

    def figure(match):
        if match["file"] == "printed":
            return match["rows"]
        rows = match["rows"].split(" - ")
        try:
            results = read(folder / f"{match['file']}.json")
            if match["of"] == "weights":
                first, *others = (results["epoch_times"][name]["parameters"] for name in rows)
                return f"{first - sum(others):,}"
            if match["of"] == "interval":
                return marked(*interval_of(results, *rows), ran_apart(results, *rows))
            if match["of"] not in (None, "paper"):
                (name,) = rows
                return f"{results[match['of']][name]['relative'][0]:.2f}\u00a0times"
            value = (
                of_the_paper(results, rows)
                if match["of"]
                else mean(results, rows[0]) - sum(mean(results, name) for name in rows[1:])
            )
        except (KeyError, OSError) as error:
            raise ValueError(f"{match[0]}: no such figure in the results: {error}") from error
        number = f"{100 * value:.1f}".replace("-", "−")
        return f"{number}\u00a0{'points' if len(rows) > 1 else '%'}"

    return MARKER.sub(figure, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills the figures of every page."""
    return fill(markdown)
