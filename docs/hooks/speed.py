"""Writes the tables of the speed benchmark into the pages, from `benchmarks/results/speed/*.json`.

A line `<!-- speed: torch targets -->` of a page becomes the table named `targets` of the files of
that backend on a CPU; `<!-- speed: torch targets nvidia_h200 -->` of a GPU, where there is one.
"""

import json
import math
import re
import statistics
import sys
import textwrap
from collections import Counter
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import charts
from links import lists
from tables import table

MARKER = re.compile(
    r"^(?P<indent> *)<!-- speed: (?P<backend>\w+) (?P<view>\w+)(?: (?P<device>\w+))? -->$", re.M
)
MISSING = "*Not measured yet.*"
MEAN = "MaskedAveragePooling1D"
AVERAGE = "GlobalAveragePooling1D"
ATTENTION = "MultiHeadAttention, average"
ENCODER = "TransformerEncoder, average"
# The lines of the chart, from the cheapest.
DRAWN = (
    MEAN,
    "LowRankAttentionPooling",
    "PositionalSelfAttention, near words",
    "GeneralizedPooling",
    ATTENTION,
    "DirectionalSelfAttention",
)


def short(value):
    """Three digits, or all of a large number."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def times(ratio):
    """A ratio as `12 (11 – 14)`."""
    figures = [short(value) for value in ratio]
    # In one line.
    return f"{figures[0]} ({figures[1]} – {figures[2]})".replace(" ", "\u00a0")


def words_of(case):
    """A setting in words."""
    parts = [f"{case['batch']} × {case['time']:,} words", f"dim {case['dim']}"]
    parts += [f"{case['heads']} heads", case["mode"]]
    parts += [] if case["precision"] == "float32" else [case["precision"]]
    return ", ".join([*parts, "forward and backward" if case["gradient"] else "forward"])


def targets_table(data):
    """The pairs of the papers' sizes: the ratio of their times, and what we ask.

    Folded, below the pairs that the page explains: missed targets, on a GPU ratios below 1.
    """
    head = ("first form", "second form", "first / second")
    # The targets are those of a CPU.
    judged = data["device"] == "cpu"
    head += ("target", "") if judged else ()
    lines, explained, said = [], [], Counter()
    for case in sorted(data["cases"], key=lambda case: case["title"]):
        title = (f'<b class="setting">{case["title"]}</b>', *[""] * (len(head) - 1))
        lines.append(title)
        shown = [title]
        for row in case["rows"]:
            target, ratio = row["target"], row["ratio"]
            verdict = ""
            if target is not None and ratio is not None:
                verdict = "reached" if ratio[0] >= target else "missed"
            cells = [row["slow"], row["fast"], row["failed"] if ratio is None else times(ratio)]
            asked = "" if target is None else f"≥\u00a0{short(round(target, 2))}"
            if "struck" in row:
                asked = f"struck (was ≥\u00a0{short(round(row['struck'], 2))})"
            said["struck" if "struck" in row else verdict] += 1
            lines.append([*cells, *((asked, verdict) if judged else ())])
            # As it is shown, where it is 1 from 0.9995 on.
            below = ratio is not None and float(short(ratio[2])) < 1
            if "struck" in row or verdict == "missed" if judged else below:
                shown.append(lines[-1][:4])
        explained += shown if len(shown) > 1 else []
    reached, missed, struck = (said[each] for each in ("reached", "missed", "struck"))
    told = (
        f"Of {reached + missed + struck} targets {reached} are reached. {missed + struck} were "
        "missed; those marked as struck we gave up:"
    )
    if not judged:
        told = "These ratios are below 1 in every round:"
    parts = [told, table(head[:4], [row[:4] for row in explained], left=(0, 1))]
    every = textwrap.indent(table(head, lines, left=(0, 1, 4)), "    ")
    return "\n\n".join([*parts, f'??? abstract "Every pair"\n\n{every}'])


def find(data, **wanted):
    """The cases of a setting."""
    return [case for case in data["cases"] if wanted.items() <= case.items()]


def row_name(layer, data):
    """A layer's name, and whether it was measured after its file, beside some of its layers."""
    later = layer == "LearnedQueryPooling" and data["device"] == "cpu"
    return f"{layer} (scaled)" if later else layer


def layers_table(data):
    """Every layer at 32 × 256 words of 128 features beside three peers."""
    mode = data["cases"][0]["mode"]
    setting = {"time": 256, "dim": 128, "heads": 5, "gradient": True, "precision": "float32"}
    cases = find(data, mode=mode, **setting)
    if not cases:
        return MISSING
    (case,) = cases
    head = ["layer", "mean", "self-attention", "Transformer encoder"]
    lines = []
    base = case["costs"][MEAN][0]
    for layer in sorted(case["ratios"], key=lambda name: case["costs"][name][0]):
        cells = [row_name(layer, data)]
        cells.append(share([base / case["costs"][layer][0]]))
        cells += [share(case["ratios"][layer].get(peer)) for peer in (ATTENTION, ENCODER)]
        lines.append(cells)
    packages = " and ".join(
        f"{name} {data['versions'][name]}" for name in ("keras", data["backend"])
    )
    apart = statistics.median(
        high / low for _, low, high in (case["costs"][name] for name in case["ratios"])
    )
    told = (
        f"{words_of(case)}; {packages}. A layer's slowest round takes {apart:.2f} times as long as "
        "its fastest round (median of the layers), so closer figures are no order."
    )
    return f"{told}\n\n{table(head, lines)}"


# The first table of the page: its columns, with their files, and its rows.
MACHINES = {
    "JAX, CPU": "jax_cpu",
    "PyTorch, CPU": "torch_cpu",
    "PyTorch, GPU (H100)": "torch_nvidia_h100_80gb_hbm3",
}
POOLINGS = (
    "LearnedQueryPooling",
    "AttentionPooling",
    "MultiDimAttentionPooling",
)
SHOWN = {
    MEAN: f"the mean, `{MEAN}`",
    **{name: f"`{name}`" for name in POOLINGS},
    ATTENTION: "self-attention, and the mean of its states",
}
SHOWN["LearnedQueryPooling"] += " (on CPUs [scaled](#layers))"


def overview(folder):
    """The costs of five ways to a vector on three machines, and three sentences about them."""
    files = {
        machine: json.loads((folder / f"speed_{name}.json").read_text(encoding="utf-8"))
        for machine, name in MACHINES.items()
    }
    launches = json.loads((folder / "launches_torch_cpu.json").read_text(encoding="utf-8"))
    settings = {
        machine: next(c for c in series(d) if c["time"] == 256) for machine, d in files.items()
    }
    costs = {m: {name: case["costs"][name][0] for name in SHOWN} for m, case in settings.items()}
    lines = [
        [title, *(share([cost[MEAN] / cost[name]]) for cost in costs.values())]
        for name, title in SHOWN.items()
    ]
    of_attention = [
        [case["ratios"][name][ATTENTION] for name in POOLINGS] for case in settings.values()
    ]
    # On a GPU a step that waits for its calls takes as long whatever the length of its texts.
    cpus = [series(data) for data in cpus_alone(folder).values()]
    exponents = [[exponent(cases, name) for cases in cpus] for name in SHOWN]
    pooled = [e for each in exponents[1:-1] for e in each]
    batches = [case["batch"] for case in settings.values()]
    lengths = f"{ENDS[0]} to {ENDS[1]:,}"
    calls = {case["layer"]: case["training"] for case in launches["cases"]}
    least, *_, most = sorted(POOLINGS, key=calls.get)
    jax, cpu, gpu = map(ends_of, of_attention)
    # The last of the machines is the GPU.
    rounds = [(name, [*settings.values()][-1]["costs"][name]) for name in POOLINGS]
    alike = "".join(
        f" The rounds of `{one}` and `{other}` overlap there, so the order of these two is open."
        for (one, (_, low, high)), (other, (_, least, largest)) in combinations(rounds, 2)
        if low <= largest and least <= high
    )
    facts = [
        "- **On a CPU the time of a pooling grows with the number of words.** An exponent of 1 is "
        f"linear, and 2 is quadratic. From {lengths} words on the three backends, the exponents of "
        f"the three poolings by attention lie between {min(pooled):.2f} and {max(pooled):.2f}. The "
        f"exponents of self-attention lie between {min(exponents[-1]):.2f} and "
        f"{max(exponents[-1]):.2f}.",
        "- **On a CPU these poolings take a fraction of the time of self-attention**: "
        f"{jax} on JAX, and {cpu} on PyTorch.",
        f"- **On a GPU with eager PyTorch the order differs.** `{most}` takes the least time of "
        f"the three on a CPU and the most on the GPU. A training step of this layer has "
        f"{calls[most]} [calls](targets.md#launches), and a step of `{least}` has {calls[least]}. "
        f"Fewer calls help, but "
        f"the number of calls does not explain every order. On the GPU the three poolings take "
        f"{gpu} of the time of self-attention.{alike}",
    ]
    shown = table(["a training step", *MACHINES], lines)
    texts = f"A batch has {batches[0]} texts on a CPU, and {batches[-1]} texts on the GPU."
    return "\n\n".join([texts, shown, "\n".join(facts)])


BACKENDS = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}


def cpus_alone(folder):
    """The costs of the layers on a CPU, by backend."""
    return {
        name: json.loads((folder / f"speed_{backend}_cpu.json").read_text(encoding="utf-8"))
        for backend, name in BACKENDS.items()
    }


def pairs(folder):
    """What the exponents of self-attention say."""
    cases = {name: series(data) for name, data in cpus_alone(folder).items()}
    above = [name for name, each in cases.items() if exponent(each, ATTENTION) > 2]
    # The same texts on every backend, so the same products.
    multiplied = exponent(cases["JAX"], ATTENTION, "products")
    return (
        "- **Self-attention** also has projections, which grow with the words. So the exponent of "
        f"its multiplications alone is {multiplied:.2f}. Softmax and other passes over the pairs "
        "bring the exponent of the time nearer to 2. Only an exponent above 2, as on "
        f"{' and '.join(above)}, says that a pair of words takes more time in longer texts. We "
        "have not measured the reason."
    )


def ends_of(ratios):
    """The smallest and the largest share, as `1/57 to 1/8.2`."""
    low, *_, high = sorted(ratios, key=lambda ratio: -ratio[0])
    return f"{share(low)} to {share(high)}"


def share(ratio):
    """What a layer costs of a peer, `1/12` or `3.4 ×`, from how many times the peer costs."""
    if ratio is None:
        return "–"
    times = max(ratio[0], 1 / ratio[0])
    figure = f"{times:.2g}" if times < 99.5 else f"{times:,.0f}"
    return f"{figure}\u00a0×" if ratio[0] <= 1 or figure == "1" else f"1/{figure}"


def forms_table(data):
    """Our layers beside the straightforward form of each, in all settings."""
    head = ("setting", "straightforward form", "times our layer's cost", "differs by")
    lines = []
    for case in data["cases"]:
        if case["precision"] != "float32":
            continue  # Half precision differs by its rounding.
        rows = [
            (form, ratio)
            for ratios in case["ratios"].values()
            for form, ratio in ratios.items()
            if form in case["differences"]
        ]
        for number, (form, ratio) in enumerate(rows):
            setting = "" if number else words_of(case)
            difference = f"{case['differences'][form]:.0e}"
            lines.append((setting, form, times(ratio), difference))
    return table(head, lines, left=(0, 1))


def series(data):
    """The settings that differ in the number of words alone."""
    mode = data["cases"][0]["mode"]
    cases = find(data, dim=128, heads=5, mode=mode, gradient=True, precision="float32")
    return sorted(cases, key=lambda case: case["time"])


def cost_of_a_word(case, name):
    """Cost of one word of a text, in units of the file; `None` where it was left out."""
    cost = case["costs"].get(name)
    return None if cost is None else cost[0] / (case["batch"] * case["time"])


def growth_table(data):
    """How a text's cost grows with its length, and the exponent."""
    cases = series(data)
    if len(cases) < 3:
        return MISSING
    head = ["layer", *[f"{case['batch']:,} × {case['time']:,}" for case in cases], "exponent"]
    lines = []
    for name in [*cases[0]["ratios"], ATTENTION, ENCODER]:
        costs = costs_of_a_text(cases, name)
        first = costs[cases[0]["time"]]
        cells = [short(costs[c["time"]] / first) if c["time"] in costs else "–" for c in cases]
        ends = f"{exponent(cases, name):.2f}" if ENDS[1] in costs else "–"
        lines.append([row_name(name, data), *cells, ends])
    return "\n\n".join([table(head, lines), *raised(cases)])


def raised(cases):
    """A sentence on each column in which all layers take longer than beside it."""
    for before, case, after in zip(cases, cases[1:], cases[2:], strict=False):
        factors = [
            middle / math.sqrt(low * high)
            for name in case["ratios"]
            if None
            not in (figures := [cost_of_a_word(each, name) for each in (before, case, after)])
            for low, middle, high in [figures]
        ]
        if min(factors) > 1.1:
            known = f"{min(factors):.1f} to {max(factors):.1f} times"
            yield (
                f"In the column of {case['time']:,} words every layer that has a longer column, "
                f"too, takes {known} as long per word as the geometric mean of the columns beside "
                "it. Layers of all kinds share this factor, so its cause is probably the "
                "measurement of this column, which was made once. The exponents of this table end "
                "in this column, so they are too large, by "
                f"{math.log(max(factors)) / math.log(ENDS[1] / ENDS[0]):.2f} at most."
            )


def costs_of_a_text(cases, name, kind="costs"):
    """Time or multiplications of one text by its length, without the lengths left out."""
    return {
        case["time"]: (cost[0] if kind == "costs" else cost) / case["batch"]
        for case in cases
        if (cost := case[kind].get(name)) is not None and name in case["costs"]
    }


# The lengths between which the exponent is taken: of shorter texts the costs of a call rule.
ENDS = (256, 4096)


def exponent(cases, name, kind="costs"):
    """Of the growth from the first of these lengths to the second."""
    costs = costs_of_a_text(cases, name, kind)
    return math.log(costs[ENDS[1]] / costs[ENDS[0]]) / math.log(ENDS[1] / ENDS[0])


UNIT = 512**3  # multiplications in the matrix product that is the unit of costs


def rates_table(data):
    """How near the layers are to what the machine can do."""
    mode = data["cases"][0]["mode"]
    setting = {"time": 256, "dim": 128, "heads": 5, "gradient": True, "precision": "float32"}
    cases = find(data, mode=mode, **setting)
    if not cases:
        return MISSING
    (case,) = cases
    rates = data["rates"]
    # A multiplication and an addition.
    fastest = 2 * rates["products"] / 1e9
    words = f"{words_of(case)}. In a large matrix product the core reaches {fastest:.3g} GFLOP/s."
    # The products of two layers are not counted.
    lines = [
        [row_name(name, data), percent(products / UNIT / case["costs"][name][0])]
        for name in [*case["ratios"], ATTENTION, ENCODER]
        if (products := case["products"].get(name))
    ]
    return f"{words}\n\n{table(('layer', 'of the rate of a matrix product'), lines)}"


def percent(share):
    """A share, with two digits."""
    return f"{100 * share:.2g}\u00a0%"


def memory_table(data):
    """Peak memory of a fresh process."""
    head = ("layer", "8 × 1,024 words, forward and backward", "8 × 16,384 words, forward")
    lines = []
    names = dict.fromkeys(case["variant"] for case in data["cases"])
    # Without the straightforward forms: those have a name in words.
    shown = {layer.name for layer in lists.layers()}
    shown |= {AVERAGE, *(name.split(",")[0] for name in names if name.endswith(", average"))}
    for name in (name for name in names if name.split(",")[0] in shown):
        told = {
            case["gradient"]: memory_text(case) for case in data["cases"] if case["variant"] == name
        }
        # A peer that refuses the sizes has no memory.
        if not any("do not divide" in text for text in told.values()):
            lines.append([name, *(told.get(gradient, "–") for gradient in (True, False))])
    return table(head, lines)


def memory_text(case):
    """What a case took beyond its inputs, or why it was not run."""
    if "left_out" in case:
        return re.sub(r"\d{4,}", lambda figure: f"{int(figure[0]):,}", case["left_out"])
    if "failed" in case:
        reason = case["failed"][-1]
        # The system ends a process that asks for more than there is, a GPU refuses.
        if reason in ("exit -9", "out of memory"):
            return "more than there was"
        return reason.rpartition(": ")[2]
    return f"{case['bytes'] / 2**20:,.0f} MiB"


def launches_table(data):
    """What a call has an accelerator do, counted."""
    targets = data["targets"] if data["backend"] == "torch" else {}
    head = ["layer", "forward", "with gradients"]
    head += ["target, at most", "constants copied"] if targets else []
    lines = []
    for case in sorted(data["cases"], key=lambda case: case["forward"]):
        cells = [case["layer"], str(case["forward"]), str(case["training"])]
        if targets:
            pair = targets.get(case["layer"], (None, None))
            struck = data["struck"].get(case["layer"], (None, None))
            asked = [
                f"struck (was {old})" if old else str(new or "–")
                for new, old in zip(pair, struck, strict=True)
            ]
            cells += [" / ".join(asked) if any([*pair, *struck]) else "", str(case["sent"])]
        lines.append(cells)
    return f"{data['setting']}, float32.\n\n" + table(head, lines)


def gains_of(data):
    """How many times as fast a training step is compiled, and in bfloat16, by setting."""
    gains = {}
    for case in data["cases"]:
        same = {name: case[name] for name in ("time", "batch", "dim", "heads", "gradient")}
        usual = find(data, **same, mode=data["cases"][0]["mode"], precision="float32")
        if not usual or case == usual[0]:
            continue
        slow, fast = *usual, case
        what = "bfloat16 beside float32"
        if case["precision"] == "float32":
            # Of JAX the usual one is compiled.
            slow, fast = (case, *usual) if case["mode"] == "eager" else (slow, fast)
            what = f"{fast['mode']} beside {slow['mode']}"
        gains[f"{what}, {case['batch']} × {case['time']} words, dim {case['dim']}"] = {
            name: slow["costs"][name][0] / fast["costs"][name][0]
            for name in [*fast["ratios"], AVERAGE, ATTENTION, ENCODER]
            if name in fast["costs"]
        }
    return gains


def compiled_table(data):
    """The gains of every layer."""
    gains, lines = gains_of(data), []
    for name in dict.fromkeys(name for gain in gains.values() for name in gain):
        found = [gain.get(name) for gain in gains.values()]
        figures = ("–" if each is None else f"{each:.2g}\u00a0×" for each in found)
        lines.append([row_name(name, data), *figures])
    return table(("layer", *gains), lines) if gains else MISSING


def counted_gains(folder):
    """How many layers gain and lose more than the noise, and what bfloat16 does to most."""
    lines, most = [], {"slows": [], "speeds up": []}
    for backend, data in cpus_alone(folder).items():
        for what, gains in gains_of(data).items():
            faster = sum(gain > 1.05 for gain in gains.values())
            slower = sum(gain < 0.95 for gain in gains.values())
            what = what.partition(",")[0]
            lines.append([f"{backend}, {what}", *map(str, (len(gains), faster, slower))])
            if what.startswith("bfloat16"):
                for verb, count in zip(most, (slower, faster), strict=True):
                    most[verb] += [backend] if 2 * count > len(gains) else []
    verdicts = [f"{verb} most layers on {' and '.join(at)}" for verb, at in most.items() if at]
    head = ("", "layers", "faster by more than 5\u00a0%", "slower by more than 5\u00a0%")
    return f"On these CPUs bfloat16 {', and '.join(verdicts)}.\n\n{table(head, lines)}"


def scaling_table(data):
    """Training on several virtual devices, beside one."""
    head = ["devices", "words a second", "times one device", "processor time", "last loss"]

    def median(case, name):
        return statistics.median(run[name] for run in case["runs"])

    first = data["cases"][0]
    lines = []
    for case in data["cases"]:
        # Runs of one round stood side by side.
        rounds = zip(case["runs"], first["runs"], strict=True)
        faster = [one["seconds"] / run["seconds"] for run, one in rounds]
        cost = median(case, "processor") / median(first, "processor")
        cells = [str(case["devices"]), f"{data['words'] / median(case, 'seconds'):,.0f}"]
        cells.append(times([statistics.median(faster), min(faster), max(faster)]))
        lines.append([*cells, f"{cost:.2f} ×", f"{median(case, 'loss'):.6f}"])
    return f"{data['setting']}; {data['cores']} cores.\n\n" + table(head, lines)


def chart(data):
    """Cost of a word against the length of its text, both on logarithmic axes."""
    cases = series(data)
    if len(cases) < 3:
        return MISSING
    words = [case["time"] for case in cases]
    lines = {
        name: [
            (case["time"], cost_of_a_word(case, name) / cost_of_a_word(cases[0], MEAN))
            for case in cases
            if cost_of_a_word(case, name) is not None
        ]
        for name in DRAWN
    }
    spoken = "Cost of a word against the length of its text: " + "; ".join(
        f"{name} {points[0][1]:.3g} to {points[-1][1]:.3g}" for name, points in lines.items()
    )
    caption = f"{BACKENDS[data['backend']]}, {data['device'].replace('cpu', 'CPU')}: time "
    caption += "per word of a training step; 1 is the mean in texts of 64 words."
    return charts.chart(
        lines,
        "words of a text",
        caption,
        spoken,
        log_x=True,
        log_y=True,
        ticks=words,
        height=250,
    )


def long_table(data):
    """Memory and time in chunks, against the length of a bag."""
    cases = [case for case in data["cases"] if case["dim"] == min(c["dim"] for c in data["cases"])]
    lengths = sorted({case["time"] for case in cases})
    head = ("layer", *(f"{length:,} instances" for length in lengths))
    lines = []
    for name in dict.fromkeys(case["variant"] for case in cases):
        of_length = {case["time"]: case for case in cases if case["variant"] == name}
        lines.append([name, *(cost_of_bag(of_length.get(length)) for length in lengths)])
    return table(head, lines)


def bags_table(data):
    """Memory and time of a long bag: the layer, its chunks, and the equation by hand."""
    narrowest = min(case["dim"] for case in data["cases"])
    forms = ("by hand", "layer", "chunks")
    found = {}
    for case in data["cases"]:
        if case["dim"] > narrowest:
            size = (
                f"{case['batch']} × " * (case["batch"] > 1) + f"{case['time']:,} × {case['dim']:,}"
            )
            key = case["variant"], size, case["kind"]
            found.setdefault(key, {})[case["form"]] = case
    if not found:
        return MISSING
    head = ("layer", "size", "what", *forms)
    return table(
        head, [[*key, *(cost_of_bag(row.get(f)) for f in forms)] for key, row in found.items()]
    )


def cost_of_bag(case):
    """Megabytes and seconds."""
    if case is None:
        return "–"
    seconds = case["seconds"]
    time = f"{seconds:.2g} s" if seconds >= 0.01 else f"{1000 * seconds:.2g} ms"
    return f"{max(case['bytes'], 0) / 2**20:,.0f} MB, {time}"


# An argument of the sizes in words, as far as a layer has it.
GROWING = {"time": "length", "batch": "batch", "heads": "heads", "dim": "width"}


def families(data):
    """The families of a file with their layers."""
    found = {}
    for case in data["cases"]:
        found.setdefault(case["family"], []).append(case)
    return found


def slopes(data):
    """A figure for each family: the exponents of time and memory, by what grows."""
    figures = []
    for family, cases in families(data).items():
        groups = {}
        for axis, head in GROWING.items():
            lines = {
                case["layer"]: (case["exponents"][axis]["time"], case["exponents"][axis]["memory"])
                for case in cases
                if axis in case["exponents"]
            }
            groups |= {head: lines} if lines else {}
        spoken = f"{family}, exponents of time and memory. " + ". ".join(
            f"{head}: " + "; ".join(f"{n} {t[0]:.2g}, {m or 0:.2g}" for n, (t, m) in lines.items())
            for head, lines in groups.items()
        )
        least = cases[0]["points"][0]
        caption = (
            f"{family}: exponents of the time (point, with its range by round) and of the peak "
            f"memory (square) of a training step, from {least['batch']} rows of {least['time']} "
            f"steps and {least['dim']} features, {least['heads']} heads, to eight times each."
        )
        figures.append(charts.slopes(groups, "exponent", caption, spoken))
    return "\n\n".join(figures)


def arguments_table(data):
    """Exponents of the families: the least and the largest of their layers, of time and memory."""

    def ends(values):
        known = [value for value in values if value is not None]
        if not known:
            return "–"
        least, largest = (f"{end(known):.1f}".replace("-", "−") for end in (min, max))
        return "\u00a0–\u00a0".join(dict.fromkeys([least, largest]))

    lines = []
    for family, cases in families(data).items():
        cells = [family]
        for axis in GROWING:
            grown = [case["exponents"][axis] for case in cases if axis in case["exponents"]]
            parts = [each["time"][0] for each in grown], [each["memory"] for each in grown]
            cells.append("; ".join(map(ends, parts)) if grown else "–")
        lines.append(cells)
    return table(("weights", *GROWING.values()), lines)


def limit_table(data):
    """How many times as long as a copy a layer takes that has no matrix product."""
    cases = [case for case in data["cases"] if case["family"] == "Sums, maxima and gates"]
    (shape,) = {tuple(case["copy"][name] for name in ("batch", "time", "dim")) for case in cases}
    moved = 2 * 4 * math.prod(shape)
    speeds = [moved / case["copy"]["seconds"] / 1e9 for case in cases]
    lines = [[case["layer"], *map(times, (case["prediction"], case["training"]))] for case in cases]
    ends = [short(end([case["training"][0] for case in cases])) for end in (min, max)]
    words = (
        f"{shape[0]} × {shape[1]} steps, dim {shape[2]}, float32. A copy reads and writes "
        f"{moved / 2**20:.0f} MiB, {short(min(speeds))} to {short(max(speeds))} GB a second. A "
        f"training step takes as long as {ends[0]} to {ends[1]} copies."
    )
    return f"{words}\n\n{table(('layer', 'prediction', 'training step'), lines)}"


# The table's name, the kind of file, and what writes it.
VIEWS = {
    "targets": ("targets", targets_table),
    "overview": (None, overview),
    "pairs": (None, pairs),
    "gains": (None, counted_gains),
    "layers": ("speed", layers_table),
    "forms": ("speed", forms_table),
    "growth": ("speed", growth_table),
    "rates": ("speed", rates_table),
    "chart": ("speed", chart),
    "memory": ("memory", memory_table),
    "launches": ("launches", launches_table),
    "compiled": ("speed", compiled_table),
    "scaling": ("scaling", scaling_table),
    "slopes": ("growth", slopes),
    "arguments": ("growth", arguments_table),
    "limit": ("growth", limit_table),
    "long": ("bags", long_table),
    "bags": ("bags", bags_table),
}


def fill(markdown, folder):
    """Replaces the markers of a page by the tables of the results in `folder`."""

    def filled(match):
        kind, write = VIEWS[match["view"]]
        if kind is None:
            return write(folder / "speed")
        path = folder / "speed" / f"{kind}_{match['backend']}_{match['device'] or 'cpu'}.json"
        written = MISSING
        if path.exists():
            written = write(json.loads(path.read_text(encoding="utf-8")))
        # Inside a tab all lines are indented.
        return textwrap.indent(written, match["indent"])

    return MARKER.sub(filled, markdown)


def on_page_markdown(markdown, page, config, files):
    """Fills the tables of every page."""
    return fill(markdown, Path(config.config_file_path).parent / "benchmarks" / "results")
