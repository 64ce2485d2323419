"""The tables of measured figures, from `benchmarks/results/*.json`.

A line `<!-- results: lama_r8 table -->` of a page becomes the table named `table` of the file
`lama_r8.json`. Nothing that was measured is typed by hand, and a page says how many runs a figure
stands on.
"""

import re
import textwrap
from collections import Counter

from charts import chart
from measured import BACKENDS, RESULTS, read
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

MEASURES = {
    "test_accuracy": "accuracy",
    "test_f1": "F1",
    "test_macro_f1": "macro-F1",
    "test_pearson": "Pearson",
    "test_spearman": "Spearman",
    "test_mse": "squared error",
}


def percent(value):
    """A share as a figure in percent."""
    return f"{100 * value:.1f}"


def spread(summary, runs):
    """Lowest and highest run, where there are several."""
    return f"{percent(summary['min'])} – {percent(summary['max'])}" if runs > 1 else "–"


def beside(measure, value, paper):
    """A figure, and the paper's in brackets, where it has one."""
    write = "{:.3f}".format if measure == "test_mse" else percent
    return write(value) if paper is None else f"{write(value)} ({write(paper)})"


def measure_of(results):
    """What a file measures."""
    return MEASURES[f"test_{results['measure']}"]


def validated(results, name):
    """The mean of a row on the part that chose the epochs."""
    return results["rows"][name]["summary"][f"validation_{results['measure']}"]["mean"]


def accuracy_table(results):
    """What every row reached beside the paper's figure, the best of ours first."""
    measure = f"test_{results['measure']}"
    ranked = sorted(results["rows"].items(), key=lambda item: -mean(results, item[0]))
    others = [m for m in MEASURES if m != measure and all(m in row["summary"] for _, row in ranked)]
    with_paper = any(row["paper"] is not None for _, row in ranked)
    published = results.get("published", {})
    unit = " × 100" if results["measure"] in ("pearson", "spearman") else ", %"
    head = ["model", *["paper"] * with_paper, f"here, mean {measure_of(results)}{unit}"]
    head += ["lowest – highest", *(MEASURES[m] + " (paper)" * (m in published) for m in others)]
    head += ["runs", "parameters"]
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
    measure = measure_of(results)
    places = {
        name: (at, 100 * mean(results, name))
        for name, row in results["rows"].items()
        if "optimizer" in row["config"] and (at := value(name))
    }
    spoken = f"{measure} against {across}: " + "; ".join(
        f"{name} {share:.1f} % at {at:,.6g}" for name, (at, share) in places.items()
    )
    return chart(
        {name: [place] for name, place in places.items()},
        across,
        f"{measure}, %",
        words,
        spoken,
        log_x=True,
        height=max(240, 17 * len(places)),
    )


def parameters_chart(results):
    """LAMA's figure 3: accuracy against parameters, and the smallest of the best networks."""
    across = "parameters without the word vectors"

    def size(name):
        return results["rows"][name]["parameters_without_embeddings"]

    drawn = [name for name, row in results["rows"].items() if "optimizer" in row["config"]]
    drawn.sort(key=lambda name: -mean(results, name))
    near = [name for name in drawn if mean(results, name) > mean(results, drawn[0]) - 0.01]
    fewest = [name for name in near if size(name) == min(map(size, near))]
    words = (
        f"Of the {len(near)} networks from the best to one point below it, {' and '.join(fewest)} "
        f"{'has' if len(fewest) == 1 else 'have'} the fewest {across}. A dot is the mean accuracy "
        "of the runs."
    )
    return scatter(results, across, words, size)


def heads_of(rows):
    """Rows that differ in the number of heads alone, "X, 3 heads" and X itself: X's by number."""
    bases = {name: re.sub(r", \d+ heads?$", "", name) for name in rows}
    several = {base: {} for name, base in bases.items() if base != name}
    for name, base in bases.items():
        if base in several:
            several[base][rows[name]["config"]["arguments"]["num_heads"]] = name
    return several


def heads_table(results):
    """The rows by the number of heads."""
    rows, series = results["rows"], heads_of(results["rows"])
    columns = (f"validation {measure_of(results)}", "test", "runs")
    head = ["heads", *(f"{base}: {cell}" for base in series for cell in columns)]
    lines = []
    for heads in sorted(set().union(*series.values())):
        cells = [str(heads)]
        for name in [each.get(heads) for each in series.values()]:
            cells += (
                [
                    percent(validated(results, name)),
                    percent(mean(results, name)),
                    str(len(rows[name]["runs"])),
                ]
                if name
                else ["–"] * 3
            )
        lines.append(cells)
    return table(head, lines, left=())


def line_chart(results, across, words, series, part="validation"):
    """A line for each series of `{name: {x: share}}`."""
    measure = f"{part} {measure_of(results)}"
    points_of = {
        name: sorted((at, 100 * share) for at, share in each.items())
        for name, each in series.items()
    }
    spoken = f"{measure} against {across}: " + "; ".join(
        f"{name}: " + ", ".join(f"{share:.1f} % at {at:g}" for at, share in each)
        for name, each in points_of.items()
    )
    ticks = {at for each in points_of.values() for at, _ in each}
    return chart(points_of, across, f"{measure}, %", words, spoken, ticks=ticks)


def heads_chart(results):
    """Validation accuracy by the number of heads."""
    series = {
        base: {heads: validated(results, name) for heads, name in named.items()}
        for base, named in heads_of(results["rows"]).items()
    }
    words = "Mean of the runs by the number of heads, at the epoch that the same part chose."
    return line_chart(results, "heads", words, series)


def thresholds_chart(results):
    """SAM's figure 3: test accuracy by the threshold of the features' weights."""
    rows = [row for name, row in results["rows"].items() if re.fullmatch(r"SAM( 0\.\d+)?", name)]
    folds = {
        row["config"]["arguments"].get("threshold", 0): [r["test_accuracy"] for r in row["runs"]]
        for row in rows
    }
    series = {at: sum(each) / len(each) for at, each in sorted(folds.items())}
    # A fold that learns nothing gives all texts the same answer.
    idle = {at: sum(share < series[0] / 2 for share in folds[at]) for at in series}
    told = " and ".join(f"{n} of {len(folds[at])} folds at {at:g}" for at, n in idle.items() if n)
    fall = min(at for at, share in series.items() if share < series[0] - 0.05)
    words = (
        f"From {fall:g} on, the mean of the folds is more than five points below that of no "
        f"threshold: {told} learn nothing. A feature's weight below the threshold is zero."
    )
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

    whole = "a whole training"
    if len(seeds) == 1:
        only = f"seed {min(seeds)}, the only run that all rows have on a CPU"
        whole = f"one whole training per row ({only})"

    def seconds(name):
        times = known.get(name, {})
        shared = [times[seed] for seed in seeds & set(times)] or list(times.values())
        return sum(shared) / len(shared) if shared else None

    return scatter(
        results,
        "seconds of training on a CPU",
        f"A dot is the mean accuracy of the runs. The time is that of {whole}, with the epochs "
        "that brought no gain. Another run may stop earlier or later. The seconds depend on the "
        "machine; their ratios less.",
        seconds,
    )


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
        arguments = dict(config["arguments"])
        # What is given by its place has no name.
        call = [config["model"], *map(value_text, arguments.pop("args", ()))]
        call += [f"{key}={value_text(value)}" for key, value in arguments.items()]
        lines.append([name, "<br>".join(f"`{part}`" for part in call)])
        # A linear classifier of scikit-learn has no optimizer of ours, and no epochs.
        if "optimizer" not in config:
            lines[-1] += ["–", "CPU", "–", "–"]
            continue
        recipe = [config["optimizer"], f"{config['learning_rate']:g}"]
        recipe += [config["dtype_policy"]] if "dtype_policy" in config else []
        backend = results["versions"]["backend"]
        places = {
            f"{run.get('device', 'CPU')} {run.get('backend', backend)}" for run in row["runs"]
        }
        epochs = [
            f"{run['best_epoch']} of {run['epochs']}"
            + " (limit)" * run["stopped_by_the_epoch_limit"]
            for run in row["runs"]
        ]
        # Of a GPU's runs only where there are no others; what else a machine did only adds.
        timed = [run for run in row["runs"] if "device" not in run]
        seconds = min(run["seconds_per_epoch"] for run in timed or row["runs"])
        lines[-1] += [
            ", ".join(recipe),
            "; ".join(sorted(places)),
            ", ".join(epochs),
            f"{seconds:.1f}{' (GPU)' * (not timed)}",
        ]
    content = table((*head, "seconds per epoch"), lines, left=range(len(head)))
    return folded("How each row was trained", content)


def protocol_list(results):
    """How it was measured, and with which versions."""
    lines = [
        f"- **{key.replace('_', ' ')}**: {value}"
        for key, value in results["protocol"].items()
        if key != "of_the_paper"
    ]
    used = {}
    of_runs = (run.get("versions", {}) for row in results["rows"].values() for run in row["runs"])
    for name, value in (pair for each in (results["versions"], *of_runs) for pair in each.items()):
        # "ran on" has the backend of each row.
        if name != "backend":
            used.setdefault(name, set()).add(value)
    versions = ", ".join(f"{name} {' and '.join(sorted(each))}" for name, each in used.items())
    if "examples" in results:
        train, validation, test = (f"{size:,}" for size in results["examples"])
        size = f"{train} to train on, {validation} to choose the epoch by, {test} to test"
        lines.insert(0, f"- **examples**: {size}")
    return folded("Protocol and versions", "\n".join([*lines, f"- **versions**: {versions}"]))


def times_table(results, name="epoch_times"):
    """Seconds of an epoch relative to the first row, which the others took turns with."""
    head = ("model", "parameters", "paper, relative", "here, relative", "lowest – highest")
    lines = []
    for model, timed in sorted(results[name].items(), key=lambda item: item[1]["relative"][0]):
        paper, (median, lowest, highest) = timed["paper"], timed["relative"]
        lines.append(
            [
                model,
                f"{timed['parameters']:,}",
                "–" if paper is None else f"{paper:.2f}",
                f"{median:.2f}",
                "–" if lowest == highest else f"{lowest:.2f} – {highest:.2f}",
            ]
        )
    return table(head, lines)


def padding_table(results):
    """Which share of the words that a model is served is padding, by kind of batch."""
    head = ("batches", "share of padding", "places for each word")
    shares = sorted(results["padding"].items(), key=lambda item: -item[1])
    lines = [(kind, f"{percent(share)} %", f"{1 / (1 - share):.1f}") for kind, share in shares]
    return table(head, lines)


def state_note(results):
    """How many of the paper's orders hold, and runs that may have been too short or are too few.

    A classifier that draws nothing, without an optimizer of ours, has one run for good.
    """
    found = Counter(claim.word for claim in judged(results) if claim.paper is not None)
    counts = ", ".join(f"{found[word]} {word}" for word in (HELD, LEVEL, SMALLER, REVERSED))
    told = f"Judged claims with figures of the paper: {found.total()} ({counts})." * bool(found)
    told = [told, limit_note(results)]
    drawn = [row for row in results["rows"].values() if "optimizer" in row["config"]]
    fewest = min((len(row["runs"]) for row in drawn), default=3)
    if fewest < 3:
        count = "one run" if fewest == 1 else f"{fewest} runs"
        told.append(
            f"Some rows have {count} so far, and three are planned: with more runs, the mean of "
            "such a row may leave the range in the column *lowest – highest*."
        )
    parts = [" ".join(filter(None, told))]
    if results["measure"] == "f1" and "test_targets" in results:
        parts.append(constant_note(results))
    return "\n\n".join(filter(None, parts))


def limit_note(results):
    """How many runs of networks might have gone on."""
    rows = [row for row in results["rows"].values() if "optimizer" in row["config"]]
    ended = [run["stopped_by_the_epoch_limit"] for row in rows for run in row["runs"]]
    if not any(ended):
        return ""
    return f"Of the {len(ended)} runs of networks, {sum(ended)} ended at the epoch limit."


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
        "lose F1. So a difference of F1 may only show which row answers *yes* more often."
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
        data, lead = results["dataset"].split(",")[0].lower(), means[2] - means[0]
        line = [results["paper"], f"`{data}`", f"{results['examples'][0]:,}", measure_of(results)]
        lines[lead, len(lines)] = [*line, *cells, points(lead), names[2]]
        if results["measure"] == "f1" and top < (floor := constant(results)):
            told = f" On {data}, a classifier that always answers *yes* has an F1 of "
            told += f"{percent(floor)}\u00a0%, and no row reaches it."
    near, far = leads.values()
    told = (
        "On R8, on IMDB, on SUBJ and on the entailment of SICK the best other row is at most "
        f"{100 * max(near):.1f} points ahead of TF-IDF with a linear classifier. On TREC, on "
        "SST-5, on humor and on the graded pairs of SICK it is at least "
        f"{100 * min(far):.1f} points ahead.{told}"
    )
    return f"{told}\n\n{table(head, [lines[key] for key in sorted(lines)], left=(0, 1, 3, 8))}"


VIEWS = {
    "floors": floors_table,
    "parameters": parameters_chart,
    "time": time_chart,
    "accuracy": accuracy_table,
    "claims": claims_table,
    "penalties": lambda results: claims_table(results, "penalty"),
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


def written(file, view):
    """A view of a file, or of those of all papers' tables."""
    if file == "all":
        files = map(read, sorted(RESULTS.glob("*.json")))
        return VIEWS[view]([each for each in files if each.get("claims")])
    results = read(RESULTS / f"{file}.json")
    # What was timed on another backend or a GPU: "times_torch", "epoch_times_nvidia_h200".
    return times_table(results, view) if "times_" in view else VIEWS[view](results)
