"""The tables of the speed benchmark, from `benchmarks/results/speed/*.json`.

A line `<!-- speed: torch targets -->` of a page becomes the table named `targets` of the files of
that backend on a CPU; `<!-- speed: torch targets nvidia_h200 -->` of a GPU, where there is one.
"""

import math
import re
import statistics
from collections import Counter
from itertools import combinations

import charts
from links import lists
from measured import BACKENDS, RESULTS, read
from results import folded
from tables import table

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
    # In one line.
    return "{}\u00a0({}\u00a0–\u00a0{})".format(*map(short, ratio))


def words_of(case):
    """A setting in words."""
    precision = "" if case["precision"] == "float32" else f"{case['precision']}, "
    return (
        f"{case['batch']} × {case['time']:,} words, dim {case['dim']}, {case['heads']} heads, "
        f"{case['mode']}, {precision}forward{' and backward' * case['gradient']}"
    )


def asked_of(row):
    """What is asked of a pair's ratio, and what became of it."""
    if "struck" in row:
        return f"struck (was {at_least(row['struck'])})", "struck"
    if row["target"] is None:
        return "", ""
    asked = at_least(row["target"])
    if row["ratio"] is None:
        return asked, ""
    return asked, "reached" if row["ratio"][0] >= row["target"] else "missed"


def at_least(target):
    """A target as a cell has it."""
    return f"≥\u00a0{short(round(target, 2))}"


def targets_table(data):
    """The pairs of the papers' sizes: the ratio of their times, and what we ask.

    Folded, below the pairs that the page explains: missed targets, on a GPU ratios below 1.
    """
    # The targets are those of a CPU.
    judged = data["device"] == "cpu"
    head = ["first form", "second form", "first / second", *["target", ""] * judged]
    every, explained, said = [], [], Counter()
    for case in sorted(data["cases"], key=lambda case: case["title"]):
        rows = [[f'<b class="setting">{case["title"]}</b>', *[""] * (len(head) - 1)]]
        every, shown = every + rows, [*rows]
        for row in case["rows"]:
            ratio, (asked, came) = row["ratio"], asked_of(row)
            said[came] += 1
            cells = [row["slow"], row["fast"], row["failed"] if ratio is None else times(ratio)]
            cells += [asked, came.replace("struck", "")] if judged else []
            every.append(cells)
            # As it is shown, where it is 1 from 0.9995 on.
            below = ratio is not None and float(short(ratio[2])) < 1
            if came in ("struck", "missed") if judged else below:
                shown.append(cells)
        explained += shown if len(shown) > 1 else []
    missed = said["missed"] + said["struck"]
    gone = said["struck"] if said["missed"] else "each"
    told = (
        f"Of {said['reached'] + missed} targets, {said['reached']} are reached. We have struck "
        f"(given up) {gone} of these {missed} missed targets:"
    )
    if not judged:
        told = "These ratios are below 1 in every round:"
    few = table(head[:4], [row[:4] for row in explained], left=(0, 1))
    return "\n\n".join([told, few, folded("Every pair", table(head, every, left=(0, 1, 4)))])


def find(data, **wanted):
    """The cases of a setting."""
    return [case for case in data["cases"] if wanted.items() <= case.items()]


def row_name(layer, data):
    """A layer's name, and whether it was measured after its file, beside some of its layers."""
    later = layer == "LearnedQueryPooling" and data["device"] == "cpu"
    return f"{layer} (scaled)" if later else layer


def layers_table(data):
    """Every layer at 32 × 256 words of 128 features beside three peers."""
    case, head = usual(data), ["layer", "mean", "self-attention", "Transformer encoder"]
    costs = {layer: case["costs"][layer] for layer in case["ratios"]}
    lines = []
    for layer in sorted(costs, key=costs.get):
        ratios = [[costs[MEAN][0] / costs[layer][0]]]
        ratios += [case["ratios"][layer].get(peer) for peer in (ATTENTION, ENCODER)]
        lines.append([row_name(layer, data), *map(share, ratios)])
    packages = " and ".join(
        f"{name} {data['versions'][name]}" for name in ("keras", data["backend"])
    )
    apart = statistics.median(high / low for _, low, high in costs.values())
    told = (
        f"{words_of(case)}; {packages}. A layer's slowest round takes {apart:.2f} times as long as "
        "its fastest round (median of the layers). A smaller difference between two layers does "
        "not tell which layer is faster."
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


def overview():
    """The costs of five ways to a vector on three machines, and three sentences about them."""
    settings = [usual(stored("speed", name)) for name in MACHINES.values()]
    lines = [
        [title, *(share([case["costs"][MEAN][0] / case["costs"][name][0]]) for case in settings)]
        for name, title in SHOWN.items()
    ]
    # On a GPU a step that waits for its calls takes as long whatever the length of its texts.
    cpus = [series(data) for data in cpus_alone().values()]
    pooled = [exponent(cases, name) for cases in cpus for name in POOLINGS]
    attended = [exponent(cases, ATTENTION) for cases in cpus]
    lengths = f"{ENDS[0]} to {ENDS[1]:,}"
    calls = {case["layer"]: case["training"] for case in stored("launches", "torch_cpu")["cases"]}
    least, *_, most = sorted(POOLINGS, key=calls.get)
    jax, cpu, gpu = (
        ends_of([case["ratios"][name][ATTENTION] for name in POOLINGS]) for case in settings
    )
    # The last of the machines is the GPU.
    rounds = [(name, settings[-1]["costs"][name]) for name in POOLINGS]
    alike = "".join(
        f" The rounds of `{one}` and `{other}` overlap on the GPU, so their order is open."
        for (one, (_, low, high)), (other, (_, least, largest)) in combinations(rounds, 2)
        if low <= largest and least <= high
    )
    facts = [
        "- **On a CPU the time of a pooling grows with the number of words.** An exponent of 1 is "
        f"linear growth, and 2 is quadratic growth. From {lengths} words on the three backends, "
        f"the exponents of the three poolings by attention lie between {min(pooled):.2f} and "
        f"{max(pooled):.2f}. The exponents of self-attention lie between {min(attended):.2f} and "
        f"{max(attended):.2f}.",
        "- **On a CPU the three poolings take a fraction of the time of self-attention**: "
        f"{jax} on JAX, and {cpu} on PyTorch.",
        f"- **On a GPU with eager PyTorch the order differs.** `{most}` takes the least time of "
        f"the three on a CPU and the most on the GPU. A training step of this layer has "
        f"{calls[most]} [calls](targets.md#launches), and a step of `{least}` has {calls[least]}. "
        f"Fewer calls help, but "
        f"the number of calls does not explain every order. On the GPU the three poolings take "
        f"{gpu} of the time of self-attention.{alike}",
    ]
    shown = table(["a training step", *MACHINES], lines)
    texts = f"A batch has {settings[0]['batch']} texts on a CPU, and {settings[-1]['batch']} texts "
    texts += "on the GPU."
    return "\n\n".join([texts, shown, "\n".join(facts)])


def stored(kind, place):
    """A file of the benchmark, by the backend and the device that it was measured on."""
    return read(RESULTS / "speed" / f"{kind}_{place}.json")


def cpus_alone():
    """The costs of the layers on a CPU, by backend."""
    return {name: stored("speed", f"{backend}_cpu") for backend, name in BACKENDS.items()}


def pairs():
    """What the exponents of self-attention say."""
    cases = {name: series(data) for name, data in cpus_alone().items()}
    above = [name for name, each in cases.items() if exponent(each, ATTENTION) > 2]
    # The same texts on every backend, so the same products.
    multiplied = exponent(cases["JAX"], ATTENTION, "products")
    return (
        "- **Self-attention** also has projections, and their cost grows only linearly. So the "
        f"exponent of the multiplications alone is {multiplied:.2f}. Softmax and other passes over "
        "the pairs bring the exponent of the time nearer to 2. Only an exponent above 2, as on "
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
    # Half precision differs by its rounding.
    for case in find(data, precision="float32"):
        setting, differences = words_of(case), case["differences"]
        ratios = {form: each for of in case["ratios"].values() for form, each in of.items()}
        for form in [form for form in ratios if form in differences]:
            lines.append((setting, form, times(ratios[form]), f"{differences[form]:.0e}"))
            setting = ""
    return table(head, lines, left=(0, 1))


def series(data):
    """The settings that differ in the number of words alone."""
    mode = data["cases"][0]["mode"]
    cases = find(data, dim=128, heads=5, mode=mode, gradient=True, precision="float32")
    return sorted(cases, key=lambda case: case["time"])


def usual(data):
    """The setting of the series that most tables show."""
    return next(case for case in series(data) if case["time"] == 256)


def growth_table(data):
    """How a text's cost grows with its length, and the exponent."""
    cases, lines = series(data), []
    head = ["layer", *[f"{case['batch']:,} × {case['time']:,}" for case in cases], "exponent"]
    for name in [*cases[0]["ratios"], ATTENTION, ENCODER]:
        costs = costs_of_a_text(cases, name)
        first, *_ = costs.values()
        cells = [short(costs[c["time"]] / first) if c["time"] in costs else "–" for c in cases]
        ends = f"{exponent(cases, name):.2f}" if ENDS[1] in costs else "–"
        lines.append([row_name(name, data), *cells, ends])
    return "\n\n".join([table(head, lines), *raised(cases)])


def raised(cases):
    """A sentence on each column in which all layers take longer than beside it."""
    for before, case, after in zip(cases, cases[1:], cases[2:], strict=False):
        of_words = [costs_of_a_word([before, case, after], name) for name in case["ratios"]]
        factors = [
            middle / math.sqrt(low * high)
            for low, middle, high in (each.values() for each in of_words if len(each) == 3)
        ]
        if min(factors) > 1.1:
            known = f"{min(factors):.1f} to {max(factors):.1f} times"
            yield (
                f"In the column of {case['time']:,} words, the time per word is {known} the "
                "geometric mean of the two columns beside it. All layers with a longer column show "
                "such a factor, so its cause is probably the measurement of this column, which was "
                "made once. The exponents of this table end in this column, so they are too large, "
                f"by {math.log(max(factors)) / math.log(ENDS[1] / ENDS[0]):.2f} at most."
            )


def costs_of_a_text(cases, name, kind="costs"):
    """Time or multiplications of one text by its length, without the lengths left out."""
    return {
        case["time"]: (cost[0] if kind == "costs" else cost) / case["batch"]
        for case in cases
        if (cost := case[kind].get(name)) is not None and name in case["costs"]
    }


def costs_of_a_word(cases, name):
    """Time of one word by the length of its text, without the lengths left out."""
    return {length: cost / length for length, cost in costs_of_a_text(cases, name).items()}


# The lengths between which the exponent is taken: of shorter texts the costs of a call rule.
ENDS = (256, 4096)


def exponent(cases, name, kind="costs"):
    """Of the growth from the first of these lengths to the second."""
    costs = costs_of_a_text(cases, name, kind)
    return math.log(costs[ENDS[1]] / costs[ENDS[0]]) / math.log(ENDS[1] / ENDS[0])


UNIT = 512**3  # multiplications in the matrix product that is the unit of costs


def rates_table(data):
    """How near the layers are to what the machine can do."""
    case = usual(data)
    # A multiplication and an addition.
    fastest = 2 * data["rates"]["products"] / 1e9
    words = f"{words_of(case)}. In a large matrix product the core reaches {fastest:.3g} GFLOP/s."
    # The products of two layers are not counted.
    lines = [
        [row_name(name, data), f"{100 * products / UNIT / case['costs'][name][0]:.2g}\u00a0%"]
        for name in [*case["ratios"], ATTENTION, ENCODER]
        if (products := case["products"].get(name))
    ]
    return f"{words}\n\n{table(('layer', 'of the rate of a matrix product'), lines)}"


def memory_table(data):
    """Peak memory of a fresh process."""
    head = ("layer", "8 × 1,024 words, forward and backward", "8 × 16,384 words, forward")
    # Without the straightforward forms: those have a name in words.
    shown, told = {AVERAGE, *(layer.name for layer in lists.layers())}, {}
    for case in data["cases"]:
        name = case["variant"]
        if name.split(",")[0] in shown or name.endswith(", average"):
            told.setdefault(name, {})[case["gradient"]] = memory_text(case)
    lines = [
        [name, *(texts.get(gradient, "–") for gradient in (True, False))]
        for name, texts in told.items()
        # A peer that refuses the sizes has no memory.
        if not any("do not divide" in text for text in texts.values())
    ]
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
    judged, lines = data["backend"] == "torch", []
    head = ["layer", "forward", "with gradients", *["target, at most", "constants copied"] * judged]
    for case in sorted(data["cases"], key=lambda case: case["forward"]):
        lines.append([case["layer"], str(case["forward"]), str(case["training"])])
        if judged:
            new, old = (
                data[kind].get(case["layer"], (None, None)) for kind in ("targets", "struck")
            )
            asked = [
                f"struck (was {was})" if was else str(target or "–")
                for target, was in zip(new, old, strict=True)
            ]
            lines[-1] += [" / ".join(asked) if any([*new, *old]) else "", str(case["sent"])]
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
        found = [f"{gain[name]:.2g}\u00a0×" if name in gain else "–" for gain in gains.values()]
        lines.append([row_name(name, data), *found])
    return table(("layer", *gains), lines)


def counted_gains():
    """How many layers gain and lose more than the noise, and what bfloat16 does to most."""
    lines, most = [], {"slows": [], "speeds up": []}
    for backend, data in cpus_alone().items():
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
    head = ["devices", "words per second", "times one device", "processor time", "last loss"]

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
    costs = {name: costs_of_a_word(cases, name) for name in DRAWN}
    unit, *_ = costs[MEAN].values()
    lines = {
        name: [(length, cost / unit) for length, cost in each.items()]
        for name, each in costs.items()
    }
    spoken = "Cost of a word against the length of its text: " + "; ".join(
        f"{name} {points[0][1]:.3g} to {points[-1][1]:.3g}" for name, points in lines.items()
    )
    caption = f"{BACKENDS[data['backend']]}, {data['device'].replace('cpu', 'CPU')}: a training "
    caption += "step. 1 is the time of the mean in texts of 64 words."
    return charts.chart(
        lines,
        "words of a text",
        "time per word",
        caption,
        spoken,
        log_x=True,
        log_y=True,
        ticks=list(costs[MEAN]),
        height=250,
    )


def long_table(data):
    """Memory and time in chunks, against the length of a bag."""
    found = {}
    for case in by_layer(find(data, dim=narrowest(data))):
        found.setdefault(case["variant"], {})[case["time"]] = case
    lengths = sorted({length for each in found.values() for length in each})
    head = ("layer", *(f"{length:,} instances" for length in lengths))
    return table(head, bag_lines({(name,): each for name, each in found.items()}, lengths))


def bags_table(data):
    """Memory and time of a long bag: the layer, its chunks, and the equation by hand."""
    forms, found = ("by hand", "layer", "chunks"), {}
    for case in by_layer(case for case in data["cases"] if case["dim"] > narrowest(data)):
        size = f"{case['batch']} × " * (case["batch"] > 1) + f"{case['time']:,} × {case['dim']:,}"
        key = case["variant"], size, case["kind"]
        found.setdefault(key, {})[case["form"]] = case
    return table(("layer", "size", "what", *forms), bag_lines(found, forms))


def by_layer(cases):
    """Cases of bags in the order of the tables' lines; one bag comes before batches of texts."""
    order = ("batch", "variant", "time", "kind")
    return sorted(cases, key=lambda case: [case[key] for key in order])


def chunks():
    """How many times as long a training step takes with chunks, on a CPU."""
    told = []
    for backend, name in BACKENDS.items():
        seconds = {"layer": [], "chunks": []}
        cases = stored("bags", f"{backend}_cpu")["cases"]
        for case in by_layer(case for case in cases if case["kind"].startswith("training")):
            if case["form"] in seconds and case["dim"] > narrowest({"cases": cases}):
                seconds[case["form"]].append(case["seconds"])
        ratios = [b / a for a, b in zip(seconds["layer"], seconds["chunks"], strict=True)]
        told.append(f"{min(ratios):.1f} to {max(ratios):.1f} times as long on {name}")
    return f"On a CPU, a training step with chunks takes {told[0]}, {told[1]}, and {told[2]}."


def narrowest(data):
    """The width of the bags that show the growth."""
    return min(case["dim"] for case in data["cases"])


def bag_lines(found, columns):
    """Lines of a table: of each name the cells, and the cases in the order of the columns."""
    return [
        [*names, *(cost_of_bag(cases[column]) if column in cases else "–" for column in columns)]
        for names, cases in found.items()
    ]


def cost_of_bag(case):
    """Megabytes and seconds."""
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
        f"{moved / 2**20:.0f} MiB, {short(min(speeds))} to {short(max(speeds))} GB per second. A "
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
    "chunks": (None, chunks),
}


def written(backend, view, device="cpu"):
    """A table of the files of a backend, or one of several files."""
    kind, write = VIEWS[view]
    return write(stored(kind, f"{backend}_{device}")) if kind else write()
