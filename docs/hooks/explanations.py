"""Writes what the grades of attention weights say, from `benchmarks/results/explanations_*.json`.

A line `<!-- explanations: reviews table -->` becomes the table, the chart or the verdict of
`explanations_reviews.json`. A row that was not run is named as such.
"""

import json
import re
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from charts import intervals
from tables import table

from benchmarks.arena.words import joined
from benchmarks.reproduce.significance import graded, graded_interval

MARKER = re.compile(r"^<!-- explanations: (?P<file>\w+) (?P<view>\w+) -->$", re.M)
BARE = ", no encoder"
# A change of the mechanism: what has it, and what does not.
CHANGES = {
    "sparsemax for softmax": ("AttentionPooling, sparsemax", "AttentionPooling"),
    "entmax15 for softmax": ("AttentionPooling, entmax15", "AttentionPooling"),
    "a gate": ("AttentionPooling, gated", "AttentionPooling"),
    "several heads for one": ("StructuredSelfAttentionPooling", "AttentionPooling"),
    "a weight a feature for a weight a step": ("GeneralizedPooling", "GeneralizedPooling, scalar"),
    "a learned scale for LAMA's own": (
        "LowRankAttentionPooling, learned scale",
        "LowRankAttentionPooling",
    ),
}


def ranked(results):
    """The rows that were run, the best by Normalized AOPC first."""
    return sorted(results["rows"], key=lambda name: -np.nanmean(graded(results, name)))


def between(values, interval):
    """A mean and its interval."""
    low, high = interval
    return f"{values:.2f} ({low:.2f} – {high:.2f})".replace("-", "−")


def value(row, key):
    """A figure of the summary, or a dash."""
    found = row["summary"].get(f"test_{key}")
    return "–" if found is None else f"{found['mean']:.2f}".replace("-", "−")


def grades(results):
    """What the weights of every row are worth, and the same model's other attributions."""
    best = ranked(results)[0]
    head = ["mechanism", "accuracy", "NAOPC (95 %)", "behind the first (95 %)", "random order"]
    head += ["leave-one-out", "gradient", "tau", "violations", "AUC", "Gini", "runs"]
    lines = []
    for name in ranked(results):
        row, own = results["rows"][name], graded(results, name)
        first = graded(results, best)
        behind = np.nanmean(first) - np.nanmean(own)
        lines.append(
            [
                name,
                f"{100 * row['summary']['test_accuracy']['mean']:.1f}",
                between(np.nanmean(own), graded_interval(own)),
                "–" if name == best else between(behind, graded_interval(first, own)),
                *(value(row, f"naopc_of_{x}") for x in ("uniform", "leave_one_out", "gradient")),
                *(value(row, x) for x in ("tau_leave_one_out", "polarity_violations")),
                *(value(row, x) for x in ("auc", "gini")),
                str(len(row["runs"])),
            ]
        )
    return table(head, lines)


def rationales(results):
    """How well the weights find the words that decide, beside weights that know nothing."""
    keys = {"AUC": "auc", "AUPRC": "auprc", "token F1": "token_f1", "IOU F1": "iou_f1"}
    keys |= {"mass": "mass", "mass of uniform weights": "mass_of_uniform"}
    rows = results["rows"]
    names = sorted(rows, key=lambda name: -rows[name]["summary"]["test_auc"]["mean"])
    lines = [[name, *(value(rows[name], key) for key in keys.values())] for name in names]
    return table(["mechanism", *keys], lines)


def gini(row):
    """How sharp the weights of a row are."""
    return row["summary"]["test_gini"]["mean"]


def verdict(results):
    """Which weights rank words better than a random order does, and what was not run."""
    lines = []
    for kind, words in (("", "With the encoder"), (BARE, "Without an encoder")):
        names = [name for name in ranked(results) if name.endswith(BARE) == bool(kind)]
        better, open_, worse = [], [], []
        for name in names:
            low, high = graded_interval(graded(results, name), graded(results, name, "uniform"))
            side = better if low > 0 else worse if high < 0 else open_
            side.append(name.removesuffix(BARE))
        for side, what in (
            (better, "are better than a random order by more than the interval"),
            (open_, "are not told from a random order"),
            (worse, "are worse than a random order"),
        ):
            if side:
                lines.append(f"- **{words}**, the weights of {joined(side)} {what}.")
        if len(names) > 2:
            rows = [(gini(results["rows"][n]), np.nanmean(graded(results, n))) for n in names]
            signs = [np.sign((a - c) * (b - d)) for (a, b), (c, d) in combinations(rows, 2)]
            tau = f"{np.mean(signs):.2f}".replace("-", "−")
            lines.append(
                f"- **{words}**, Kendall's tau between Normalized AOPC and the Gini index, which "
                f"says how sharp the weights are, is {tau} over {len(rows)} mechanisms."
            )
    missing = [name for name in results.get("planned", ()) if name not in results["rows"]]
    if missing:
        lines.append(f"- Not run yet: {', '.join(missing)}.")
    fewest = min(len(row["runs"]) for row in results["rows"].values())
    if fewest < 3:
        lines.append(
            f"- Some rows stand on {'one run' if fewest == 1 else f'{fewest} runs'}. The interval "
            "of a single run is over texts alone: what another seed would do is not in it."
        )
    return "\n".join(lines)


def change(first, second):
    """By how much the first grades are higher, bold where the interval leaves out zero."""
    low, high = graded_interval(first, second)
    text = between(np.nanmean(first) - np.nanmean(second), (low, high))
    return f"**{text}**" if low > 0 or high < 0 else text


def changes(results):
    """What a change of the mechanism, and the encoder, do to the grades on the same texts."""
    rows, lines = results["rows"], []
    for words, names in CHANGES.items():
        pairs = [[name + kind for name in names] for kind in ("", BARE)]
        lines.append(
            [words]
            + [
                change(*(graded(results, name) for name in pair)) if rows.keys() >= {*pair} else "–"
                for pair in pairs
            ]
        )
    both = [name for name in rows if name + BARE in rows]
    if both:
        sides = ([name + kind for name in both] for kind in ("", BARE))
        each = [np.concatenate([graded(results, name) for name in side]) for side in sides]
        lines.append([f"the encoder, over {len(both)} mechanisms", change(*each), ""])
    told = [table(["change", "with the encoder", "without an encoder"], lines)]
    sides = {"better": [], "worse": []}
    for name in both:
        low, high = graded_interval(graded(results, name), graded(results, name + BARE))
        if low > 0 or high < 0:
            sides["better" if low > 0 else "worse"].append(name)
    for side, names in sides.items():
        if names:
            told.append(f"The encoder makes the weights of {joined(names)} {side}.")
    return "\n\n".join(told)


def readable(results):
    """The mechanisms behind the encoder whose weights are not shown to be behind the best."""
    names = [name for name in ranked(results) if not name.endswith(BARE)]
    best = graded(results, names[0])
    return [
        name
        for name in names
        if name == names[0] or graded_interval(best, graded(results, name))[0] <= 0
    ]


def advice(results):
    """When attention may be read as the reason, when not, and what to read instead."""
    rows = results["rows"]
    both = [name for name in rows if name + BARE in rows]
    sides = [np.concatenate([graded(results, name + kind) for name in both]) for kind in ("", BARE)]
    names = readable(results)
    means = [np.mean([rows[n]["summary"][f"test_{key}"]["mean"] for n in names])
             for key in ("naopc_of_leave_one_out", "naopc_of_uniform")]  # fmt: skip
    own = np.mean([np.nanmean(graded(results, name)) for name in names])
    plain, bare = (
        100 * rows[f"AttentionPooling{kind}"]["summary"]["test_accuracy"]["mean"]
        for kind in ("", BARE)
    )
    return "\n".join(
        [
            "- **Read the effect of leaving out each word.** On the models of the next line it has "
            f"a Normalized AOPC of {means[0]:.2f} on average; their attention has {own:.2f}, an "
            f"order at random {means[1]:.2f}.",
            f"- **The best attention to read behind an encoder** is that of {joined(names)}: "
            "none is shown to be behind the first of those with an encoder.",
            f"- **An encoder in front** changes the grade by {change(*sides)} over {len(both)} "
            "mechanisms: better for some, worse for others. To leave it out for the sake of the "
            f"weights costs accuracy: `AttentionPooling` has {plain:.1f} % with it, {bare:.1f} % "
            "without.",
        ]
    )


def chart(results):
    """A line for each row: its weights, an order at random, leave-one-out on the same model."""
    rows, spoken = {}, []
    for name in ranked(results):
        own, summary = graded(results, name), results["rows"][name]["summary"]
        point = float(np.nanmean(own))
        random, effect = (
            summary[f"test_naopc_of_{other}"]["mean"] for other in ("uniform", "leave_one_out")
        )
        rows[name] = point, graded_interval(own), random, effect
        spoken.append(f"{name} {point:.2f}, random order {random:.2f}")
    return intervals(
        rows,
        "Normalized AOPC (1: the best order)",
        "Round: attention, with its 95 % interval. Bar: an order at random on the same model. "
        "Square: leave-one-out on the same model.",
        "Normalized AOPC of the attention weights: " + "; ".join(spoken),
    )


VIEWS = {
    "table": grades,
    "advice": advice,
    "chart": chart,
    "verdict": verdict,
    "changes": changes,
    "rationales": rationales,
}


def fill(markdown, folder):
    """Replaces the markers of a page."""

    def view(match):
        path = folder / f"explanations_{match['file']}.json"
        return VIEWS[match["view"]](json.loads(path.read_text(encoding="utf-8")))

    return MARKER.sub(view, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills every page."""
    return fill(markdown, Path(config.config_file_path).parent / "benchmarks" / "results")
