"""How time and peak memory grow with the length, the batch, the heads and the width of the inputs.

All sizes of a layer take turns in one process; each peak (PyTorch alone) is that of a process of
its own. On a GPU the largest batch alone is beside the copy. An exponent is the slope
of a line through the logarithms: 1 is in proportion, 2 by the square. A copy of the inputs takes
its turn too: what a layer reads and writes at least costs a share of that.
`python -m benchmarks.speed --growth` writes the file of the backend.
"""

import math
from typing import Any

import keras
import numpy as np

from benchmarks import devices
from benchmarks.speed import grid, measure, memory

AXES = ("time", "batch", "heads", "dim")
FACTORS = (1, 2, 4, 8)
# The smallest sizes of a family, whose work takes longer than its calls; and its layers.
FAMILIES: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "Sums, maxima and gates": (
        (512, 8, 4, 128),
        (
            "MaskedAveragePooling1D",
            "MaskedMaxPooling1D",
            "GeneralizedMeanPooling1D",
            "StatisticsPooling1D",
            "FeatureWiseAttention",
        ),
    ),
    "One weight per step": (
        (512, 8, 4, 128),
        (
            "AttentionPooling",
            "AttentiveStatisticsPooling",
            "LearnedQueryPooling",
            "LowRankAttentionPooling",
            "StructuredSelfAttentionPooling",
            "ConvAttentionPooling",
            "SequentialAttention",
            "TokenWiseAttention",
        ),
    ),
    "One weight per step and feature": (
        (512, 8, 4, 64),
        ("MultiDimAttentionPooling", "GeneralizedPooling", "GeneralizedPooling, chunks"),
    ),
    "One weight per pair of steps": (
        (64, 8, 4, 64),
        (
            "PositionalSelfAttention, near words",
            "PositionalSelfAttention, all words",
            "DirectionalSelfAttention",
            "BlockSelfAttention",
            "ConvMultiHeadAttention",
            "MultiHeadAttention, average",
        ),
    ),
}
NAMES = [name for _, names in FAMILIES.values() for name in names]
WITH_HEADS = {
    "LearnedQueryPooling",
    "LowRankAttentionPooling",
    "StructuredSelfAttentionPooling",
    "ConvAttentionPooling",
    "GeneralizedPooling",
    "GeneralizedPooling, chunks",
    "ConvMultiHeadAttention",
    "MultiHeadAttention, average",
}


def slope(sizes: Any, values: Any) -> float:
    """The exponent of the growth."""
    return round(float(np.polyfit(np.log(sizes), np.log(values), 1)[0]), 3)


def measured(name: str, rounds: int) -> dict[str, Any]:
    """The exponents of a layer's training step, their range by round, and its distance from a copy.

    The exponent of the time is that of the shortest of all rounds.
    """
    family, least = next(
        (each, sizes) for each, (sizes, names) in FAMILIES.items() if name in names
    )
    base, mode = dict(zip(AXES, least, strict=True)), measure.MODES[keras.backend.backend()][0]
    on_gpu = devices.device() != "cpu"
    base["batch"] *= grid.ON_GPU if on_gpu else 1
    axes = [a for a in AXES if not on_gpu and (a != "heads" or name in WITH_HEADS)]
    many = base | {"batch": FACTORS[-1] * base["batch"]}
    wanted = [base | {axis: factor * base[axis]} for axis in axes for factor in FACTORS]
    sizes = list({tuple(each.values()): each for each in [*wanted, many]}.values())
    given = {}
    for number, each in enumerate(sizes):
        layer = grid.built(name, each["dim"], each["heads"], "float32")
        inputs, mask = grid.inputs_of(each["batch"], each["time"], each["dim"])
        given[str(number)] = (layer, inputs, mask, mode, True)
        if each == many:
            words = keras.ops.convert_to_tensor(inputs)
            given["prediction"] = (layer, inputs, mask, mode, False)
    runs: dict[str, Any] = measure.runners(given)
    runs["copy"] = lambda: words + 1.0
    output = math.prod(runs["prediction"]().shape) / math.prod(words.shape)
    costs = {run: np.array(values) for run, values in measure.in_turns(runs, rounds).items()}
    points = []
    for number, each in enumerate(sizes):
        points.append(each | {"cost": grid.spread(costs[str(number)])})
        # On a CPU the memory of JAX's compiler or TensorFlow's graph is part of peaks this small.
        if not on_gpu and keras.backend.backend() == "torch":
            shape = (each[axis] for axis in ("time", "dim", "heads", "batch"))
            points[-1] |= memory.peak_memory(name, *shape)
    exponents = {}
    for axis in axes:
        along = [n for n, each in enumerate(sizes) if each | {axis: 0} == base | {axis: 0}]
        lengths = [sizes[n][axis] for n in along]
        by_round = np.array([costs[str(n)] for n in along])
        each_round = [slope(lengths, values) for values in by_round.T]
        best = slope(lengths, by_round.min(axis=1))
        exponents[axis] = {"time": [best, min(best, *each_round), max(best, *each_round)]}
        peaks = [points[n].get("bytes", 0) for n in along]
        exponents[axis]["memory"] = slope(lengths, peaks) if min(peaks) > 0 else None
    training, copied = costs[str(sizes.index(many))], costs["copy"]
    return {
        "layer": name,
        "family": family,
        "mode": mode,
        "exponents": exponents,
        "points": points,
        # A copy reads and writes the inputs. So does a training step at least: it reads them and
        # writes their gradients. A prediction reads the inputs and writes the outputs.
        "training": grid.spread(training / copied),
        "prediction": grid.spread(2 / (1 + output) * costs["prediction"] / copied),
        "copy": many | {"cost": grid.spread(copied), "seconds": measure.seconds(runs["copy"])},
    }
