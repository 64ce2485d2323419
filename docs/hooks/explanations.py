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
KINDS = {"": "with the encoder", BARE: "without an encoder"}
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


def of_kind(results, kind):
    """The rows with the encoder, or those without one, the best first."""
    return [name for name in ranked(results) if name.endswith(BARE) == bool(kind)]


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
    head = ["mechanism", "accuracy, %", "NAOPC (95 %)", "behind the first (95 %)"]
    head += ["random order", "leave-one-out", "gradient", "tau", "violations", "Gini"]
    rivals = ("naopc_of_leave_one_out", "naopc_of_gradient")
    others = ("naopc_of_uniform", *rivals, "tau_leave_one_out", "polarity_violations", "gini")
    lines = []
    for name in names:
        row, own, first = results["rows"][name], graded(results, name), graded(results, best)
        behind = between(grade(results, best) - grade(results, name), graded_interval(first, own))
        # The interval stands below its mean, so that the table is no wider than its page.
        spans = [between(grade(results, name), graded_interval(own)), behind]
        spans = [span.replace(" (", "<br>(") for span in spans]
        lines.append(
            [
                name,
                f"{100 * measured(row, 'accuracy'):.1f}",
                spans[0],
                "–" if name == best else spans[1],
                *cells(row, *others),
            ]
        )
    effect, gradient = (
        sum(measured(results["rows"][name], rival) > grade(results, name) for name in names)
        for rival in rivals
    )
    runs = sorted({len(row["runs"]) for row in results["rows"].values()})
    told = (
        f"Leave-one-out has a higher grade than attention in {effect} of {len(names)} rows, and "
        f"the gradient in {gradient}. A grade is a mean over {results['protocol']['graded']}, and "
        f"over {' or '.join(map(str, runs))} runs. The first row is the best of {len(names)}, "
        'partly by chance. So in the column "behind the first", read an interval that begins near '
        "0 as open."
    )
    return f"{table(head, lines)}\n\n{told}"


def rationales(results):
    """How well the weights find the words that decide, beside weights that know nothing."""
    keys = {"AUC": "auc", "mass": "mass", "AUPRC": "auprc"}
    keys |= {"token F1": "token_f1", "IOU F1": "iou_f1"}
    rows = sorted(results["rows"].items(), key=lambda item: -measured(item[1], "auc"))
    equal = measured(rows[0][1], "mass_of_uniform")
    below = [
        name for name, row in rows if measured(row, "auc") <= 0.5 or measured(row, "mass") <= equal
    ]
    told = (
        f"Equal weights have an AUC of 0.5 and a mass of {figure(equal)}. {len(rows) - len(below)} "
        f"of {len(rows)} models are above both."
    )
    if below:
        told += f" Not above both: {joined(below)}."
    lines = [[name, *cells(row, *keys.values())] for name, row in rows]
    return f"{told}\n\n{table(['mechanism', *keys], lines)}"


def scope(results):
    """Which mechanisms were tested, and behind what."""
    names, rows = of_kind(results, ""), results["rows"]
    alone = [name for name in rows if name in names and name + BARE not in rows]
    return (
        f"For {len(names)} mechanisms of the [comparison](comparison.md), we measured whether the "
        "prediction depends on the words with large weights. Each mechanism was tested behind a "
        "recurrent encoder"
        + (f", and all but {joined(alone)} also without one." if alone else ", and without one.")
    )


def verdict(results):
    """Which weights rank words better than a random order does, and what was not run."""
    lines = []
    for kind, words in KINDS.items():
        names, start = of_kind(results, kind), f"- **{words.capitalize()}**,"
        sides = {
            name: sign(*graded_interval(graded(results, name), graded(results, name, "uniform")))
            for name in names
        }
        for side, what in ORDERS.items():
            if those := [name.removesuffix(BARE) for name in names if sides[name] == side]:
                named = f"{len(those)} of {len(names)} mechanisms" if side == 1 else joined(those)
                lines.append(f"{start} the weights of {named} {what}.")
        if len(names) > 2:
            rows = [(measured(results["rows"][n], "gini"), grade(results, n)) for n in names]
            signs = [np.sign((a - c) * (b - d)) for (a, b), (c, d) in combinations(rows, 2)]
            tau = np.mean(signs)
            lines.append(
                f"{start} sharper weights tend to have the {'higher' if tau > 0 else 'lower'} "
                "grade: Kendall's tau between the grade and the Gini index (how sharp the weights "
                f"are) is {figure(tau)} over {len(rows)} mechanisms."
            )
    leads = {
        words: [
            sign(*graded_interval(graded(results, name, "leave_one_out"), graded(results, name)))
            for name in names
        ]
        for kind, words in KINDS.items()
        if (names := of_kind(results, kind))
    }
    found = (f"for {each.count(1)} of {len(each)} mechanisms {w}" for w, each in leads.items())
    told = f"- **Leave-one-out** is ahead of attention beyond chance {', and '.join(found)}."
    sides = set().union(*leads.values())
    if sides != {1}:
        told += " For the others, the interval of the difference contains zero"
        told += " or lies below zero." if -1 in sides else "."
    lines.append(told)
    right = [
        f"{100 * measured(results['rows'][names[0]], 'accuracy'):.1f} % {words}"
        for kind, words in KINDS.items()
        if (names := of_kind(results, kind))
    ]
    lines.append(
        "- **A high grade does not make a good model.** The accuracy of the model with the highest "
        f"grade is {', and '.join(right)}."
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
    shown = [cell for _, *cells in lines for cell in cells if "(" in cell]
    bold = sum(cell.startswith("**") for cell in shown)
    told = [
        f"{bold or 'None'} of the {len(shown)} intervals {'are' if bold > 1 else 'is'} bold.",
        table(["change", *KINDS.values()], lines),
    ]
    sides = {
        name: sign(*graded_interval(graded(results, name), graded(results, name + BARE)))
        for name in both
    }
    for side, word in {1: "better", -1: "worse"}.items():
        if those := [name for name in both if sides[name] == side]:
            told.append(f"Taken alone, these have {word} weights with an encoder: {joined(those)}.")
    return "\n\n".join(told)


def readable(results):
    """The mechanisms behind the encoder whose weights are not shown to be behind the best."""
    first, *others = of_kind(results, "")
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
            f"- **Behind an encoder**, the attention of {joined([first])} has the highest grade. "
            + f"These may be as good: {joined(level)}. " * bool(level)
            + "A wide interval also puts a mechanism on this list, so see the "
            "[grades](believable-attention.md)." * bool(level),
            "- **Rather read the effect of leaving out each word.** In the models of the line "
            f"above, this effect has a grade of {left_out:.2f} on average, their attention "
            f"{own:.2f}, and a random order {random:.2f}. The best order of words would have 1.",
            f"- **An encoder in front** changes the grade by {change(*sides)} on average over "
            f"{len(both)} mechanisms: some become better, others worse. But accuracy falls without "
            f"the encoder: `AttentionPooling` has {plain:.1f} % with it, and {bare:.1f} % without.",
        ]
    )


def chart(results):
    """A picture of the models with the encoder, and one of those without."""
    return "\n\n".join(
        picture(results, kind, words) for kind, words in KINDS.items() if of_kind(results, kind)
    )


def picture(results, kind, words):
    """A line for each row: its weights, an order at random, leave-one-out on the same model."""
    rows, spoken, between_both = {}, [], 0
    for name in of_kind(results, kind):
        row, point, short = results["rows"][name], grade(results, name), name.removesuffix(BARE)
        random, effect = (measured(row, f"naopc_of_{x}") for x in ("uniform", "leave_one_out"))
        rows[short] = point, graded_interval(graded(results, name)), random, effect
        spoken.append(f"{short} {point:.2f}, random order {random:.2f}")
        between_both += random < point < effect
    return intervals(
        rows,
        f"Normalized AOPC {words}",
        f"{words.capitalize()}: round marks are attention, with the 95 % interval; bars are "
        f"a random order, squares are leave-one-out. In {between_both} of {len(rows)} lines "
        "the round mark lies between bar and square. If the interval reaches one of them, this "
        "may be chance. "
        "1 is the best order of words.",
        f"Normalized AOPC of the attention weights {words}: " + "; ".join(spoken),
    )


VIEWS = {
    "table": grades,
    "advice": advice,
    "chart": chart,
    "scope": scope,
    "verdict": verdict,
    "changes": changes,
    "rationales": rationales,
}


def written(file, view, folder=RESULTS):
    """A view of a file."""
    return VIEWS[view](read(folder / f"explanations_{file}.json"))
