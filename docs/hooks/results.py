"""Writes the tables of measured figures into the pages, from `benchmarks/results/*.json`.

A line `<!-- results: lama_r8 table -->` of a page becomes the table named `table` of the file
`lama_r8.json`. Nothing that was measured is typed by hand, and a page says how many runs a figure
stands on.
"""

import functools
import json
import re
import sys
import textwrap
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from charts import chart
from tables import table

from benchmarks.reproduce.significance import (
    APART,
    HELD,
    LEVEL,
    REVERSED,
    SMALLER,
    UNPAIRED,
    backends_of,
    judged,
    mean,
    points,
    printed,
    targets_of,
)

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


def spread(summary, runs):
    """Lowest and highest run, where there are several."""
    return f"{percent(summary['min'])} – {percent(summary['max'])}" if runs > 1 else "–"


def beside(measure, value, paper):
    """A figure, and the paper's in brackets, where it has one."""
    write = MEASURES[measure][1]
    return write(value) if paper is None else f"{write(value)} ({write(paper)})"


def measured_in(results):
    """What a file measures, and in which unit its figures are written."""
    unit = " × 100" if results["measure"] in ("pearson", "spearman") else ", %"
    return MEASURES[f"test_{results['measure']}"][0] + unit


def accuracy_table(results):
    """What every row reached beside the paper's figure, the best of ours first."""
    measure = f"test_{results['measure']}"
    ranked = sorted(results["rows"].items(), key=lambda item: -mean(results, item[0]))
    others = [m for m in MEASURES if m != measure and all(m in row["summary"] for _, row in ranked)]
    with_paper = any(row["paper"] is not None for _, row in ranked)
    published = results.get("published", {})
    head = ["model", *["paper"] * with_paper, f"here, mean {measured_in(results)}"]
    head += ["lowest – highest"]
    names = [MEASURES[m][0] + " (paper)" * (m in published) for m in others]
    head += [*names, "runs", "parameters"]
    lines = []
    for name, row in ranked:
        paper, runs = row["paper"], len(row["runs"])
        cells = [
            name,
            *["–" if paper is None else percent(paper)] * with_paper,
            percent(mean(results, name)),
            spread(row["summary"][measure], runs),
            *[beside(m, row["summary"][m]["mean"], published.get(m, {}).get(name)) for m in others],
            str(runs),
            f"{row['parameters_without_embeddings']:,}",
        ]
        lines.append(cells)
    return table(head, lines)


def claims_table(results, about=""):
    """The paper's order of models, pair by pair, against ours; our own questions come last.

    With `about`, only claims whose words have it in them. Where the paper has no figures at all,
    there is nothing to judge.
    """
    found = [claim for claim in judged(results) if about in claim.words]
    published = any(claim.paper is not None for claim in found)
    head = ["finding", *["paper, points"] * published, "here, points", "95 % interval"]
    lines = []
    for claim in found:
        cells = [
            f"{claim.words} ({claim.better} − {claim.worse})",
            *["–" if claim.paper is None else printed(claim.paper)] * published,
            points(claim.difference),
            claim.span,
            *[claim.verdict] * published,
        ]
        lines.append(cells)
    told = [table([*head, *["verdict"] * published], lines, left=(0, 4))]
    if not all(claim.paired for claim in found):
        told.append(f"{UNPAIRED.strip()} The interval is unpaired: older runs kept no answers.")
    if any(claim.apart for claim in found):
        told.append(f"{APART.strip()} The two rows ran on different backends.")
    return "\n\n".join(told)


def scatter(results, across, words, value):
    """Accuracy against something that `value` tells of a row, on a logarithmic axis."""
    measure = MEASURES[f"test_{results['measure']}"][0]
    places = {
        name: (value(results, name), 100 * mean(results, name))
        for name, row in results["rows"].items()
        if "optimizer" in row["config"]
    }
    places = {name: place for name, place in places.items() if place[0]}
    spoken = f"{measure} against {across}: " + "; ".join(
        f"{name} {share:.1f} % at {at:,.6g}" for name, (at, share) in places.items()
    )
    return chart(
        {name: [place] for name, place in places.items()},
        f"{across} (up: {measure}, %)",
        words,
        spoken,
        log_x=True,
        height=max(240, 17 * len(places)),
    )


def parameters_chart(results):
    """LAMA's figure 3: accuracy against parameters."""
    return scatter(
        results,
        "parameters without the word vectors",
        "Mean accuracy of the runs against parameters.",
        lambda data, name: data["rows"][name]["parameters_without_embeddings"],
    )


def heads_of(rows):
    """Rows that differ in the number of heads alone, "X, 3 heads" and X itself: X's by number."""
    named = re.compile(r"(.+), \d+ heads?$")
    bases = dict.fromkeys(match[1] for name in rows if (match := named.match(name)))
    return {
        base: {
            row["config"]["arguments"]["num_heads"]: name
            for name, row in rows.items()
            if name == base or (match := named.match(name)) and match[1] == base
        }
        for base in bases
    }


def heads_table(results):
    """The rows by the number of heads."""
    rows, series = results["rows"], heads_of(results["rows"])
    if not series:
        return "*Not measured yet.*"
    measure = MEASURES[f"test_{results['measure']}"][0]
    head = [
        f"{base}: {cell}" for base in series for cell in (f"validation {measure}", "test", "runs")
    ]
    lines = []
    for heads in sorted(set().union(*series.values())):
        cells = [str(heads)]
        for base in series:
            name = series[base].get(heads)
            if name is None:
                cells += ["–"] * 3
                continue
            chosen = rows[name]["summary"][f"validation_{results['measure']}"]["mean"]
            cells += [percent(chosen), percent(mean(results, name)), str(len(rows[name]["runs"]))]
        lines.append(cells)
    return table(["heads", *head], lines, left=())


def line_chart(results, across, words, series, part="validation"):
    """A line for each series of `{name: {x: share}}`."""
    measure = MEASURES[f"test_{results['measure']}"][0]
    measure = f"{part} {measure}"
    points_of = {
        name: sorted((at, 100 * share) for at, share in each.items())
        for name, each in series.items()
    }
    spoken = f"{measure} against {across}: " + "; ".join(
        f"{name}: " + ", ".join(f"{share:.1f} % at {at:g}" for at, share in each)
        for name, each in points_of.items()
    )
    ticks = {at for each in points_of.values() for at, _ in each}
    return chart(points_of, f"{across} (up: {measure}, %)", words, spoken, ticks=ticks)


def heads_chart(results):
    """Validation accuracy by the number of heads."""
    rows = results["rows"]
    series = {
        base: {
            heads: rows[name]["summary"][f"validation_{results['measure']}"]["mean"]
            for heads, name in named.items()
        }
        for base, named in heads_of(rows).items()
    }
    words = "Mean of the runs by the number of heads, at the epoch that the same part chose."
    return line_chart(results, "heads", words, series)


def thresholds_chart(results):
    """SAM's figure 3: test accuracy by the threshold of the features' weights."""
    named = re.compile(r"SAM(?: 0\.\d+)?$")
    series = {
        row["config"]["arguments"].get("threshold", 0): mean(results, name)
        for name, row in results["rows"].items()
        if named.match(name)
    }
    words = "Mean of the folds by the threshold under which a feature's weight is zero."
    return line_chart(results, "threshold", words, {"SAM": series}, "test")


def time_chart(results):
    """HCAN's figure 3 in one number a row: accuracy against the time of the whole training."""

    def timed(name):
        """The runs on a CPU by seed."""
        runs = results["rows"][name]["runs"]
        return {run["seed"]: run["cpu_seconds"] for run in runs if "cpu_seconds" in run}

    # Over seeds that all rows have, for other seeds may be from another machine.
    known = {name: times for name in results["rows"] if (times := timed(name))}
    drawn = [known[name] for name in known if "optimizer" in results["rows"][name]["config"]]
    seeds = set.intersection(*map(set, drawn)) if drawn else set()

    def seconds(data, name):
        times = known.get(name, {})
        shared = [times[seed] for seed in seeds & set(times)] or list(times.values())
        return sum(shared) / len(shared) if shared else None

    return scatter(
        results,
        "seconds of training on a CPU",
        "Mean accuracy of the runs against the CPU time of a whole training, with the epochs that "
        "brought no gain. The seconds depend on the machine, and their ratios depend on it less.",
        seconds,
    )


def penalties_table(results):
    """The findings on penalties of heads."""
    claims = claims_table(results, "penalty")
    return claims if claims.count("\n") > 1 else "*Not measured yet.*"


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
        match value:  # a regularizer and its factor, or its arguments
            case [str(name), dict() | int() | float() as given]:
                return f"{name}({arguments_text(given)})"
        inside = ", ".join(map(value_text, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value).replace("'", '"')


def arguments_text(given):
    """A factor, or named arguments."""
    if not isinstance(given, dict):
        return str(given)
    return ", ".join(f"{name}={value_text(value)}" for name, value in given.items())


def folded(title, body):
    """A part of a page that opens on demand."""
    return f'??? abstract "{title}"\n\n' + textwrap.indent(body, "    ")


def recipes_table(results):
    """How every row was trained, where, and how long it took."""
    head = ("model", "builder and arguments", "optimizer", "ran on", "selected epoch")
    lines = []
    for name, row in results["rows"].items():
        config = row["config"]
        call = [config["model"]]
        for key, value in config["arguments"].items():
            # What is given by its place: without a name.
            call += (
                list(map(value_text, value)) if key == "args" else [f"{key}={value_text(value)}"]
            )
        # A linear classifier of scikit-learn has no optimizer of ours.
        recipe = []
        if "optimizer" in config:
            recipe += [config["optimizer"], f"{config['learning_rate']:g}"]
        recipe += [config["dtype_policy"]] if "dtype_policy" in config else []
        backend = results["versions"]["backend"]
        places = {
            (run.get("device", "CPU"), run.get("backend", backend)) if recipe else ("CPU", "")
            for run in row["runs"]
        }
        # Of a GPU's runs only where there are no others; what else a machine did only adds.
        timed = [run for run in row["runs"] if "device" not in run]
        seconds = min(run["seconds_per_epoch"] for run in timed or row["runs"])
        cells = [
            name,
            "<br>".join(f"`{part}`" for part in call),
            ", ".join(recipe) or "–",
            "; ".join(" ".join(place).strip() for place in sorted(places)),
            # The linear classifier has no epochs.
            best_epochs(row) if recipe else "–",
            f"{seconds:.1f}{' (GPU)' * (not timed)}" if recipe else "–",
        ]
        lines.append(cells)
    content = table((*head, "seconds an epoch"), lines, left=range(len(head)))
    return folded("How each row was trained", content)


def protocol_list(results):
    """How it was measured, and with which versions."""
    protocol = {k: v for k, v in results["protocol"].items() if k != "of_the_paper"}
    lines = [f"- **{key.replace('_', ' ')}**: {value}" for key, value in protocol.items()]
    used = {}
    of_runs = (run.get("versions", {}) for row in results["rows"].values() for run in row["runs"])
    for name, value in (pair for each in (results["versions"], *of_runs) for pair in each.items()):
        # "ran on" has the backend of each row.
        if name != "backend":
            used.setdefault(name, set()).add(value)
    versions = ", ".join(f"{name} {' and '.join(sorted(each))}" for name, each in used.items())
    sizes = results.get("examples")
    if sizes:
        train, validation, test = (f"{size:,}" for size in sizes)
        size = f"{train} to train on, {validation} to choose the epoch by, {test} to test"
        lines.insert(0, f"- **examples**: {size}")
    return folded("Protocol and versions", "\n".join([*lines, f"- **versions**: {versions}"]))


def times_table(results, name="epoch_times"):
    """Seconds of an epoch relative to the first row, which the others took turns with."""
    head = ("model", "parameters", "paper, relative", "here, relative", "lowest – highest")
    lines = []
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
        lines.append(cells)
    return table(head, lines)


def padding_table(results):
    """Which share of the words that a model is served is padding, by kind of batch."""
    shares = results["padding"]
    head = ("batches", "share of padding", "places for each word")
    lines = []
    for kind in sorted(shares, key=lambda each: -shares[each]):
        lines.append((kind, f"{percent(shares[kind])} %", f"{1 / (1 - shares[kind]):.1f}"))
    return table(head, lines)


def state_note(results):
    """How many of the paper's orders hold, and runs that may have been too short or are too few.

    A classifier that draws nothing, without an optimizer of ours, has one run for good.
    """
    found = Counter(claim.word for claim in judged(results) if claim.paper is not None)
    counts = ", ".join(f"{found[word]} {word}" for word in (HELD, LEVEL, SMALLER, REVERSED))
    told = f"Judged claims with figures of the paper: {found.total()} ({counts}). " * bool(found)
    parts = [f"{told}{limit_note(results)}".strip()]
    if results["measure"] == "f1" and "test_targets" in results:
        parts.append(constant_note(results))
    drawn = [row for row in results["rows"].values() if "optimizer" in row["config"]]
    fewest = min((len(row["runs"]) for row in drawn), default=3)
    if fewest < 3:
        count = "one run" if fewest == 1 else f"{fewest} runs"
        parts.append(
            '!!! warning "Still being measured"\n'
            f"    Some rows stand on {count} so far; three are planned. So few runs say little "
            "about the spread: more runs may move these means further than the column *lowest – "
            "highest* shows."
        )
    return "\n\n".join(filter(None, parts))


def limit_note(results):
    """How many runs of networks might have gone on."""
    rows = [row for row in results["rows"].values() if "optimizer" in row["config"]]
    ended = [run["stopped_by_the_epoch_limit"] for row in rows for run in row["runs"]]
    if not any(ended):
        return ""
    return f"Of the {len(ended)} runs of networks, {sum(ended)} ended at the epoch limit."


BACKENDS = {"jax": "JAX", "torch": "PyTorch", "tensorflow": "TensorFlow"}


def backends_note(results):
    """Which rows of networks ran on which backend."""
    rows = {}
    for name in results["rows"]:
        if used := backends_of(results, name):
            rows.setdefault(" and ".join(BACKENDS[each] for each in sorted(used)), []).append(name)
    if len(rows) == 1:
        return f"All networks ran on {next(iter(rows))}."
    return " ".join(f"These rows ran on {used}: {'; '.join(rows[used])}." for used in sorted(rows))


def constant(results):
    """The F1 of a classifier that always answers yes."""
    share = targets_of(results).mean()
    return 2 * share / (1 + share)


def constant_note(results):
    """The F1 that costs nothing, and what it means that accuracy chose the epochs."""
    floor = constant(results)
    ahead = sum(mean(results, name) > floor for name in results["rows"])
    return (
        f"A classifier that always answers *yes* reaches an F1 of {percent(floor)}\u00a0%. Of the "
        f"{len(results['rows'])} rows, {ahead} have a higher F1. The epoch was chosen by accuracy, "
        "but the row is judged by F1. A row that answers *yes* more rarely can gain accuracy and "
        "lose F1, so a difference of F1 here may only tell how often each row answers *yes*."
    )


# What attention has to beat: a linear classifier on the words, and a mean of the vectors.
LINEAR = ("TF-IDF, linear", "linear SVM")
MEANS = ("AVG", "mean of words", "w/o attention", "language model, mean")


def floors(results):
    """The linear classifier and the mean of a table, and the best of the rows with more."""
    rows = results["rows"]
    rest = [n for n in rows if n not in (*LINEAR, *MEANS) and "optimizer" in rows[n]["config"]]
    return [
        max((n for n in names if n in rows), key=lambda name: mean(results, name), default=None)
        for names in (LINEAR, MEANS, rest)
    ]


def floors_table(files):
    """Of every table the linear classifier, the mean and the best of the rest, side by side.

    A table follows where the best row is less ahead of the classifier. Sentences before the tables
    tell how far it is ahead, and which data have an F1 that costs more than all rows bring.
    """
    leads = {"r8|imdb|subj|sick_entailment": [], "trec|sst5|humor|sick(?!_entailment)": []}
    head = ("paper", "data", "training texts", "measure", "TF-IDF, linear", "mean")
    head += ("best other row", "its lead over TF-IDF", "its name")
    lines, told = {}, ""
    for results in files:
        names = floors(results)
        if names[2] is None:
            continue
        for sets, found in leads.items():
            if re.match(sets, results["dataset"].lower()):
                found.append(mean(results, names[2]) - mean(results, names[0]))
        means = [None if name is None else mean(results, name) for name in names]
        top = max(value for value in means if value is not None)
        cells = [
            "–" if v is None else f"**{percent(v)}**" if v == top else percent(v) for v in means
        ]
        measure = MEASURES[f"test_{results['measure']}"][0]
        data, lead = results["dataset"].split(",")[0].lower(), means[2] - means[0]
        texts = f"{results['examples'][0]:,}"
        line = [results["paper"], f"`{data}`", texts, measure, *cells, points(lead), names[2]]
        lines[lead, len(lines)] = line
        if results["measure"] == "f1" and top < (floor := constant(results)):
            told = f" On {data} no row reaches the F1 of a constant *yes*, {percent(floor)}\u00a0%."
    near, far = leads.values()
    told = (
        "On R8, on IMDB, on SUBJ and on the entailment of SICK the best other row is at most "
        f"{100 * max(near):.1f} points ahead of the classifier. On TREC, on SST-5, on humor and on "
        f"the graded pairs of SICK it is at least {100 * min(far):.1f} points ahead.{told}"
    )
    return f"{told}\n\n{table(head, [lines[key] for key in sorted(lines)], left=(0, 1, 3, 8))}"


VIEWS = {
    "floors": floors_table,
    "parameters": parameters_chart,
    "time": time_chart,
    "accuracy": accuracy_table,
    "claims": claims_table,
    "penalties": penalties_table,
    "recipes": recipes_table,
    "protocol": protocol_list,
    "state": state_note,
    "backends": backends_note,
    "times": times_table,
    "padding": padding_table,
    "heads": heads_table,
    "heads_chart": heads_chart,
    "thresholds_chart": thresholds_chart,
}


def measured(folder):
    """The results of every paper's tables."""
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return [each for each in files if each.get("claims")]


def fill(markdown, folder):
    """Replaces the markers of a page by the tables of the results in `folder`."""

    def filled(match):
        if match["file"] == "all":
            results = measured(folder)
        else:
            results = json.loads((folder / f"{match['file']}.json").read_text(encoding="utf-8"))
        view = match["view"]
        # What was timed on another backend or a GPU: "times_torch", "epoch_times_nvidia_h200".
        timed = functools.partial(times_table, name=view)
        write = timed if "times_" in view else VIEWS[view]
        return textwrap.indent(write(results), match["indent"])

    return MARKER.sub(filled, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills the tables of every page."""
    return fill(markdown, Path(config.config_file_path).parent / "benchmarks" / "results")
