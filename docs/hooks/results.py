"""Writes the tables of measured figures into the pages, from `benchmarks/results/*.json`.

A line `<!-- results: lama_r8 table -->` of a page becomes the table named `table` of the file
`lama_r8.json`. Nothing that was measured is typed by hand, and a page says how many runs a figure
stands on.
"""

import json
import math
import re
from pathlib import Path

MARKER = re.compile(r"^<!-- results: (?P<file>\w+) (?P<view>\w+) -->$", re.M)

TEST_DOCUMENTS = 2189
# What the paper says of the order of its models: (better, worse, in its words).
CLAIMS = (
    ("LAMA+ctx", "LAMA", "a context of its own for each text beats a learned one"),
    ("LAMA+ctx", "SAN", "LAMA with context beats structured self-attention"),
    ("LAMA+ctx", "BiGRU", "attention beats max pooling over the same BiGRU"),
    ("LAMA+ctx", "CNN", "LAMA with context beats convolutions"),
    ("LAMA+ctx", "TE", "LAMA with context beats a Transformer encoder"),
    ("LAMA+ctx", "AVG", "LAMA with context beats the mean of the word embeddings"),
    ("LAMA+ctx", "LAMA Encoder", "the BiGRU helps"),
    ("LAMA+ctx", "LAMA+ctx+d_p", "the penalty on attention weights hurts"),
    ("LAMA+ctx", "LAMA+ctx+d_e", "the penalty on the heads' vectors hurts"),
)
# What we ask beyond the paper, of the options that are ours.
QUESTIONS = (
    ("LAMA+ctx, no l2", "LAMA+ctx", "leaving the l2 step out helps"),
    ("LAMA+ctx, learned scale from 5", "LAMA+ctx", "learned scales help"),
)


def percent(value):
    """A share as a figure in percent."""
    return f"{100 * value:.1f}"


def points(value):
    """A difference of shares in points, with its sign."""
    return f"{100 * value:+.1f}".replace("-", "−")


def paper_accuracy(name, row):
    """The paper's figure of a row, or `None`."""
    return row["paper"]


def spread(summary, runs):
    """Lowest and highest run, where there are several."""
    return f"{percent(summary['min'])} – {percent(summary['max'])}" if runs > 1 else "–"


def accuracy_table(results):
    """Accuracy of every row beside the paper's, the best of ours first."""
    lines = [
        "| model | paper | here, mean | lowest – highest | macro-F1 | runs | parameters |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    ranked = sorted(
        results["rows"].items(), key=lambda item: -item[1]["summary"]["test_accuracy"]["mean"]
    )
    for name, row in ranked:
        paper, runs = paper_accuracy(name, row), len(row["runs"])
        accuracy = row["summary"]["test_accuracy"]
        cells = [
            name,
            "–" if paper is None else percent(paper),
            percent(accuracy["mean"]),
            spread(accuracy, runs),
            percent(row["summary"]["test_macro_f1"]["mean"]),
            str(runs),
            f"{row['parameters_without_embeddings']:,}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def standard_error(row):
    """Standard error of a row's mean accuracy: of the test sample, and of the runs."""
    mean = row["summary"]["test_accuracy"]["mean"]
    sample = mean * (1 - mean) / TEST_DOCUMENTS
    return math.sqrt(sample + row["summary"]["test_accuracy"]["std"] ** 2 / len(row["runs"]))


def verdict(difference, error, paper):
    """What a difference says of the claim that it is positive, and of the paper's difference."""
    if difference < -2 * error:
        return "**reversed**"
    words = "holds" if difference > 2 * error else "too close to call"
    if paper is not None and paper - difference > 2 * error:
        return f"{words}, but not by the paper's distance"
    return words


def claims_table(results):
    """The paper's order of models, pair by pair, against ours; our own questions come last."""
    lines = [
        "| finding | paper | here | twice the standard error | verdict |",
        "|---|--:|--:|--:|---|",
    ]
    rows = results["rows"]
    for better, worse, words in CLAIMS + QUESTIONS:
        if better not in rows or worse not in rows:
            continue
        papers = [paper_accuracy(name, rows[name]) for name in (better, worse)]
        distance = None if None in papers else papers[0] - papers[1]
        means = [rows[name]["summary"]["test_accuracy"]["mean"] for name in (better, worse)]
        difference = means[0] - means[1]
        error = math.hypot(standard_error(rows[better]), standard_error(rows[worse]))
        cells = [
            f"{words} ({better} − {worse})",
            "–" if distance is None else points(distance),
            points(difference),
            f"{200 * error:.1f}",
            verdict(difference, error, distance),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def best_epochs(row):
    """The selected epochs of a row, run by run."""
    epochs = [
        f"{run['best_epoch']} of {run['epochs']}"
        + (" (limit)" if run["stopped_by_the_epoch_limit"] else "")
        for run in row["runs"]
    ]
    return ", ".join(epochs)


def value_text(value):
    """An argument as one would write it in Python."""
    if isinstance(value, dict):  # a serialized Keras object
        return f"{value['class_name']}({', '.join(map(str, value['config'].values()))})"
    if isinstance(value, list):  # a regularizer and its factor
        return f"{value[0]}({value[1]})"
    return repr(value).replace("'", '"')


def recipes_table(results):
    """How every row was trained, and how long it took."""
    lines = [
        "| model | builder and arguments | optimizer | selected epoch | seconds an epoch |",
        "|---|---|---|---|--:|",
    ]
    for name, row in results["rows"].items():
        config = row["config"]
        call = [config["model"]]
        call += [f"{key}={value_text(value)}" for key, value in config["arguments"].items()]
        seconds = sum(run["seconds_per_epoch"] for run in row["runs"]) / len(row["runs"])
        cells = [
            name,
            "<br>".join(f"`{part}`" for part in call),
            f"{config['optimizer']}, {config['learning_rate']:g}",
            best_epochs(row),
            f"{seconds:.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def protocol_list(results):
    """How it was measured, and with which versions."""
    protocol = {k: v for k, v in results["protocol"].items() if k != "of_the_paper"}
    lines = [f"- **{key.replace('_', ' ')}**: {value}" for key, value in protocol.items()]
    versions = ", ".join(f"{name} {value}" for name, value in results["versions"].items())
    return "\n".join([*lines, f"- **versions**: {versions}"])


def state_note(results):
    """A warning as long as rows have different numbers of runs."""
    runs = sorted({len(row["runs"]) for row in results["rows"].values()})
    if runs[0] >= 3:
        return ""
    count = "one run" if runs[0] == 1 else f"{runs[0]} runs"
    return (
        '!!! warning "Still being measured"\n'
        f"    Some rows stand on {count} so far; three are planned. Expect the last digit to move."
    )


VIEWS = {
    "accuracy": accuracy_table,
    "claims": claims_table,
    "recipes": recipes_table,
    "protocol": protocol_list,
    "state": state_note,
}


def fill(markdown, folder):
    """Replaces the markers of a page by the tables of the results in `folder`."""

    def table(match):
        results = json.loads((folder / f"{match['file']}.json").read_text(encoding="utf-8"))
        return VIEWS[match["view"]](results)

    return MARKER.sub(table, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills the tables of every page."""
    return fill(markdown, Path(config.config_file_path).parent / "benchmarks" / "results")
