"""Writes the tables of measured figures into the pages, from `benchmarks/results/*.json`.

A line `<!-- results: lama_r8 table -->` of a page becomes the table named `table` of the file
`lama_r8.json`. Nothing that was measured is typed by hand, and a page says how many runs a figure
stands on.
"""

import functools
import json
import math
import re
import textwrap
from pathlib import Path

MARKER = re.compile(r"^(?P<indent> *)<!-- results: (?P<file>\w+) (?P<view>\w+) -->$", re.M)

# How a measure is written: its name, and its figure.
MEASURES = {
    "test_accuracy": ("accuracy", lambda value: f"{100 * value:.1f}"),
    "test_f1": ("F1", lambda value: f"{100 * value:.1f}"),
    "test_macro_f1": ("macro-F1", lambda value: f"{100 * value:.1f}"),
    "test_pearson": ("Pearson", lambda value: f"{100 * value:.1f}"),
    "test_spearman": ("Spearman", lambda value: f"{100 * value:.1f}"),
    "test_mse": ("squared error", lambda value: f"{value:.3f}"),
}


def percent(value):
    """A share as a figure in percent."""
    return f"{100 * value:.1f}"


def points(value):
    """A difference of shares in points, with its sign."""
    return f"{100 * value:+.1f}".replace("-", "−")


def mean(results, name):
    """The mean over a row's runs of what the file measures, as a share."""
    return results["rows"][name]["summary"][f"test_{results['measure']}"]["mean"]


def spread(summary, runs):
    """Lowest and highest run, where there are several."""
    return f"{percent(summary['min'])} – {percent(summary['max'])}" if runs > 1 else "–"


def accuracy_table(results):
    """What every row reached beside the paper's figure, the best of ours first."""
    measure = f"test_{results['measure']}"
    ranked = sorted(results["rows"].items(), key=lambda item: -mean(results, item[0]))
    others = [m for m in MEASURES if m != measure and m in ranked[0][1]["summary"]]
    with_paper = any(row["paper"] is not None for _, row in ranked)
    head = ["model", *["paper"] * with_paper, "here, mean", "lowest – highest"]
    head += [*[MEASURES[m][0] for m in others], "runs", "parameters"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for name, row in ranked:
        paper, runs = row["paper"], len(row["runs"])
        cells = [
            name,
            *["–" if paper is None else percent(paper)] * with_paper,
            percent(mean(results, name)),
            spread(row["summary"][measure], runs),
            *[MEASURES[m][1](row["summary"][m]["mean"]) for m in others],
            str(runs),
            f"{row['parameters_without_embeddings']:,}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def standard_error(results, name):
    """Standard error of a row's mean: of the test sample, and of the runs.

    Of an accuracy p it is that of a share, and an F1 is taken for one; of a correlation r it is
    about (1 - r^2) / sqrt(n).
    """
    row, value = results["rows"][name], mean(results, name)
    correlation = results["measure"] == "pearson"
    variance = (1 - value**2) ** 2 if correlation else value * (1 - value)
    spread_of_runs = row["summary"][f"test_{results['measure']}"]["std"]
    return math.sqrt(variance / results["test_examples"] + spread_of_runs**2 / len(row["runs"]))


def verdict(difference, error, paper):
    """What a difference says of the claim that it is positive, and of the paper's difference."""
    if difference < -2 * error:
        return "**reversed**"
    words = "holds" if difference > 2 * error else "too close to call"
    if paper is not None and paper - difference > 2 * error:
        return f"{words}, but not by the paper's distance"
    return words


def claims_table(results, about=""):
    """The paper's order of models, pair by pair, against ours; our own questions come last.

    A claim is `[better, worse, words, distance]`; the distance is the paper's on its own data, or
    `None` for the difference of the paper's figures of the two rows. With `about`, only claims
    whose words have it in them.
    """
    lines = [
        "| finding | paper | here | twice the standard error | verdict |",
        "|---|--:|--:|--:|---|",
    ]
    rows = results["rows"]
    for better, worse, words, distance in results["claims"]:
        if better not in rows or worse not in rows or about not in words:
            continue
        papers = [rows[name]["paper"] for name in (better, worse)]
        if distance is None and None not in papers:
            distance = papers[0] - papers[1]
        difference = mean(results, better) - mean(results, worse)
        error = math.hypot(standard_error(results, better), standard_error(results, worse))
        cells = [
            f"{words} ({better} − {worse})",
            "–" if distance is None else points(distance),
            points(difference),
            f"{200 * error:.1f}",
            verdict(difference, error, distance),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def penalties_table(results):
    """The findings on penalties of heads."""
    table = claims_table(results, "penalty")
    return table if table.count("\n") > 1 else "*Not measured yet.*"


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
    if isinstance(value, list):
        # A regularizer and its factor, or its arguments.
        if len(value) == 2 and isinstance(value[1], dict | int | float):
            return f"{value[0]}({arguments_text(value[1])})"
        inside = ", ".join(map(value_text, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value).replace("'", '"')


def arguments_text(given):
    """A factor, or named arguments."""
    if not isinstance(given, dict):
        return str(given)
    return ", ".join(f"{name}={value_text(value)}" for name, value in given.items())


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
        # A linear classifier of scikit-learn has no optimizer of ours.
        recipe = []
        if "optimizer" in config:
            recipe += [config["optimizer"], f"{config['learning_rate']:g}"]
        # What differs from the rest of the file: precision, and the backend of the runs.
        recipe += [config["dtype_policy"]] if "dtype_policy" in config else []
        others = {run.get("backend", "") for run in row["runs"]} - {
            "",
            results["versions"]["backend"],
        }
        recipe += sorted(others)
        seconds = sum(run["seconds_per_epoch"] for run in row["runs"]) / len(row["runs"])
        cells = [
            name,
            "<br>".join(f"`{part}`" for part in call),
            ", ".join(recipe),
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


def times_table(results, name="epoch_times"):
    """Seconds of an epoch relative to the first row, which the others took turns with."""
    lines = [
        "| model | parameters | paper, relative | here, relative | lowest – highest |",
        "|---|--:|--:|--:|--:|",
    ]
    times = results[name]
    for model in sorted(times, key=lambda each: times[each]["relative"][0]):
        median, lowest, highest = times[model]["relative"]
        paper = times[model]["paper"]
        cells = [
            model,
            f"{times[model]['parameters']:,}",
            "–" if paper is None else f"{paper:.2f}",
            f"{median:.2f}",
            "–" if lowest == highest else f"{lowest:.2f} – {highest:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def padding_table(results):
    """Which share of the words that a model is served is padding, by kind of batch."""
    shares = results["padding"]
    lines = ["| batches | share of padding | places for each word |", "|---|--:|--:|"]
    for kind in sorted(shares, key=lambda each: -shares[each]):
        lines.append(f"| {kind} | {percent(shares[kind])} % | {1 / (1 - shares[kind]):.1f} |")
    return "\n".join(lines)


def state_note(results):
    """A warning as long as rows have different numbers of runs.

    A classifier that draws nothing, without an optimizer of ours, has one run for good.
    """
    drawn = [row for row in results["rows"].values() if "optimizer" in row["config"]]
    runs = sorted({len(row["runs"]) for row in drawn})
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
    "penalties": penalties_table,
    "recipes": recipes_table,
    "protocol": protocol_list,
    "state": state_note,
    "times": times_table,
    **{
        f"times_{backend}": functools.partial(times_table, name=f"times_{backend}")
        for backend in ("torch", "tensorflow", "jax")
    },
    "padding": padding_table,
}


def fill(markdown, folder):
    """Replaces the markers of a page by the tables of the results in `folder`."""

    def table(match):
        results = json.loads((folder / f"{match['file']}.json").read_text(encoding="utf-8"))
        return textwrap.indent(VIEWS[match["view"]](results), match["indent"])

    return MARKER.sub(table, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills the tables of every page."""
    return fill(markdown, Path(config.config_file_path).parent / "benchmarks" / "results")
