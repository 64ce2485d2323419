"""What the grades of attention weights say, from `benchmarks/results/explanations_*.json`.

A line `<!-- explanations: reviews table -->` becomes the table, the chart or the verdict of
`explanations_reviews.json`. A row that was not run is named as such.
"""

from itertools import combinations

import numpy as np
from charts import intervals
from measured import RESULTS, read
from tables import table

from benchmarks.arena.words import joined
from benchmarks.intervals import verdict as sign
from benchmarks.reproduce.significance import graded, graded_interval

BARE = ", no encoder"
# By where the interval of a grade less that of a random order lies.
ORDERS = {
    1: "are better than a random order: the interval of the difference is above zero",
    0: "may be no better than a random order: the interval of the difference contains zero",
    -1: "are worse than a random order: the interval of the difference is below zero",
}
# A change of the mechanism: what has it, and what does not.
CHANGES = {
    "sparsemax for softmax": ("AttentionPooling, sparsemax", "AttentionPooling"),
    "entmax15 for softmax": ("AttentionPooling, entmax15", "AttentionPooling"),
    "a gate": ("AttentionPooling, gated", "AttentionPooling"),
    "several heads for one": ("StructuredSelfAttentionPooling", "AttentionPooling"),
    "a weight per feature for one per step": ("GeneralizedPooling", "GeneralizedPooling, scalar"),
    "a learned scale for LAMA's own": (
        "LowRankAttentionPooling, learned scale",
        "LowRankAttentionPooling",
    ),
}


def ranked(results):
    """The rows that were run, the best by Normalized AOPC first."""
    return sorted(results["rows"], key=lambda name: -grade(results, name))


def grade(results, name):
    """The Normalized AOPC of a row's weights."""
    return float(np.nanmean(graded(results, name)))


def measured(row, key):
    """The mean of a row's runs."""
    return row["summary"][f"test_{key}"]["mean"]


def figure(value):
    """A figure with two digits."""
    return f"{value:.2f}".replace("-", "−")


def between(value, interval):
    """A mean and its interval."""
    return "{} ({} to {})".format(*map(figure, (value, *interval)))


def cells(row, *keys):
    """Figures of a row, or dashes."""
    return [figure(measured(row, k)) if f"test_{k}" in row["summary"] else "–" for k in keys]


def grades(results):
    """What the weights of every row are worth, and the same model's other attributions."""
    best, *_ = names = ranked(results)
    head = ["mechanism", "accuracy", "NAOPC (95 %)", "behind the first (95 %)", "random order"]
    head += ["leave-one-out", "gradient", "tau", "violations", "AUC", "Gini", "runs"]
    others = ("naopc_of_uniform", "naopc_of_leave_one_out", "naopc_of_gradient")
    others += ("tau_leave_one_out", "polarity_violations", "auc", "gini")
    lines = []
    for name in names:
        row, own, first = results["rows"][name], graded(results, name), graded(results, best)
        behind = grade(results, best) - grade(results, name)
        lines.append(
            [
                name,
                f"{100 * measured(row, 'accuracy'):.1f}",
                between(grade(results, name), graded_interval(own)),
                "–" if name == best else between(behind, graded_interval(first, own)),
                *cells(row, *others),
                str(len(row["runs"])),
            ]
        )
    return table(head, lines)


def rationales(results):
    """How well the weights find the words that decide, beside weights that know nothing."""
    keys = {"AUC": "auc", "AUPRC": "auprc", "token F1": "token_f1", "IOU F1": "iou_f1"}
    keys |= {"mass": "mass", "mass of uniform weights": "mass_of_uniform"}
    rows = sorted(results["rows"].items(), key=lambda item: -measured(item[1], "auc"))
    return table(["mechanism", *keys], [[name, *cells(row, *keys.values())] for name, row in rows])


def verdict(results):
    """Which weights rank words better than a random order does, and what was not run."""
    lines = []
    for kind, words in (("", "With the encoder"), (BARE, "Without an encoder")):
        names = [name for name in ranked(results) if name.endswith(BARE) == bool(kind)]
        sides = {
            name: sign(*graded_interval(graded(results, name), graded(results, name, "uniform")))
            for name in names
        }
        for side, what in ORDERS.items():
            if those := [name.removesuffix(BARE) for name in names if sides[name] == side]:
                named = f"{len(those)} of {len(names)} mechanisms" if side == 1 else joined(those)
                lines.append(f"- **{words}**, the weights of {named} {what}.")
        if len(names) > 2:
            rows = [(measured(results["rows"][n], "gini"), grade(results, n)) for n in names]
            signs = [np.sign((a - c) * (b - d)) for (a, b), (c, d) in combinations(rows, 2)]
            lines.append(
                f"- **{words}**, Kendall's tau between Normalized AOPC and the Gini index (how "
                f"sharp the weights are) is {figure(np.mean(signs))} over {len(rows)} mechanisms."
            )
    missing = [name for name in results.get("planned", ()) if name not in results["rows"]]
    if missing:
        lines.append(f"- Not run yet: {', '.join(missing)}.")
    fewest = min(len(row["runs"]) for row in results["rows"].values())
    if fewest < 3:
        lines.append(
            f"- Some rows have {'one run' if fewest == 1 else f'{fewest} runs'}. The interval of "
            "a single run shows what other texts would change, but not what another seed would."
        )
    return "\n".join(lines)


def change(first, second):
    """By how much the first grades are higher, bold where the interval leaves out zero."""
    ends = graded_interval(first, second)
    text = between(np.nanmean(first) - np.nanmean(second), ends)
    return f"**{text}**" if sign(*ends) else text


def with_and_without(results):
    """The mechanisms that were run with the encoder and without it, and the grades of all."""
    names = [name for name in results["rows"] if name + BARE in results["rows"]]
    return names, [
        np.concatenate([graded(results, name + kind) for name in names]) for kind in ("", BARE)
    ]


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
    both, grades_of_both = with_and_without(results)
    lines.append([f"the encoder, over {len(both)} mechanisms", change(*grades_of_both), ""])
    told = [table(["change", "with the encoder", "without an encoder"], lines)]
    sides = {
        name: sign(*graded_interval(graded(results, name), graded(results, name + BARE)))
        for name in both
    }
    for side, word in {1: "better", -1: "worse"}.items():
        if those := [name for name in both if sides[name] == side]:
            told.append(f"The encoder makes the weights of {joined(those)} {word}.")
    return "\n\n".join(told)


def readable(results):
    """The mechanisms behind the encoder whose weights are not shown to be behind the best."""
    first, *others = (name for name in ranked(results) if not name.endswith(BARE))
    best = graded(results, first)
    level = [name for name in others if graded_interval(best, graded(results, name))[0] <= 0]
    return [first, *level]


def advice(results):
    """When attention may be read as the reason, when not, and what to read instead."""
    rows, (first, *level) = results["rows"], readable(results)
    both, sides = with_and_without(results)
    left_out, random = (
        np.mean([measured(rows[name], f"naopc_of_{other}") for name in (first, *level)])
        for other in ("leave_one_out", "uniform")
    )
    own = np.mean([grade(results, name) for name in (first, *level)])
    plain, bare = (
        100 * measured(rows[f"AttentionPooling{kind}"], "accuracy") for kind in ("", BARE)
    )
    return "\n".join(
        [
            "- **Read the effect of leaving out each word.** In the models of the next line, this "
            f"effect has a Normalized AOPC of {left_out:.2f} on average. The attention of these "
            f"models has {own:.2f}, and a random order has {random:.2f}.",
            f"- **Behind an encoder**, the attention of {joined([first])} has the highest grade. "
            + f"These may be as good: {joined(level)}." * bool(level),
            f"- **An encoder in front** changes the grade by {change(*sides)} on average over "
            f"{len(both)} mechanisms: some become better, others worse. But accuracy falls without "
            f"the encoder: `AttentionPooling` has {plain:.1f} % with it, and {bare:.1f} % without.",
        ]
    )


def chart(results):
    """A line for each row: its weights, an order at random, leave-one-out on the same model."""
    rows, spoken = {}, []
    for name in ranked(results):
        row, point = results["rows"][name], grade(results, name)
        random, effect = (measured(row, f"naopc_of_{x}") for x in ("uniform", "leave_one_out"))
        rows[name] = point, graded_interval(graded(results, name)), random, effect
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


def written(file, view, folder=RESULTS):
    """A view of a file."""
    return VIEWS[view](read(folder / f"explanations_{file}.json"))
