"""Settings, and the costs of all variants in each."""

import dataclasses
import functools
from typing import Any

import keras
import numpy as np

from benchmarks.devices import device
from benchmarks.speed import measure
from benchmarks.speed.variants import FORMS, LAYERS, PEERS, QUERIES, Variant, variants

# Numbers that a variant may hold at once for pairs of words, and how many times as many words a GPU
# is given: on a CPU's batches it would wait for the next call.
MOST = 2**28
ON_GPU = 8
# PyTorch's compiler takes seconds a layer on a GPU.
COMPILED = (
    "GlobalAveragePooling1D",
    "MaskedAveragePooling1D",
    "AttentionPooling",
    "LearnedQueryPooling",
    "LowRankAttentionPooling",
    "MultiDimAttentionPooling",
    "GeneralizedPooling",
    "MultiHeadAttention, average",
    "TransformerEncoder, average",
)


@dataclasses.dataclass(frozen=True)
class Setting:
    """One table: all variants on the same inputs."""

    time: int
    dim: int
    heads: int
    mode: str
    precision: str = "float32"
    gradient: bool = False
    batch: int = 0

    def __post_init__(self) -> None:
        """Fills in the texts: about as many words in each setting of one width."""
        words = (8192 if self.dim <= 128 else 4096) * (1 if device() == "cpu" else ON_GPU)
        object.__setattr__(self, "batch", self.batch or max(1, words // self.time))


def most() -> int:
    """Numbers for pairs of words on this device."""
    return MOST * (1 if device() == "cpu" else ON_GPU)


def settings(quick: bool) -> list[Setting]:
    """Two settings, or all whose results are in the repository; a GPU's minutes are few."""
    usual, other, *_ = measure.MODES[keras.backend.backend()]
    step = functools.partial(Setting, mode=usual, gradient=True)
    if quick:
        return [step(time, 128, 5) for time in (64, 256)]
    if device() != "cpu":
        found = [step(time, 128, 5) for time in (256, 64, 4096)]
        found.append(step(256, 128, 5, precision="mixed_bfloat16"))
        # JAX compiles all of it.
        return found + [step(256, 128, 5, mode="compiled")] * (usual != "compiled")
    found = [step(time, 128, 5) for time in (64, 256, 1024, 4096, 16384)]
    found += [step(256, 128, 5, gradient=False)]
    found += [step(256, dim, heads) for dim, heads in ((128, 16), (512, 5), (512, 16))]
    found.append(step(256, 512, 5, precision="mixed_bfloat16"))
    # PyTorch's compiler takes half a minute a layer.
    return found + [step(256, 128, 5, mode=other)] * (keras.backend.backend() != "torch")


def names_in(setting: Setting) -> list[str]:
    """The variants of a setting: on a GPU forms in one alone, and few are compiled once more."""
    names = list(variants())
    if device() == "cpu":
        return names
    if setting.mode != measure.MODES[keras.backend.backend()][0]:
        return [name for name in names if name in COMPILED]
    return [name for name in names if setting.time == 256 or name not in FORMS]


# The arrays of the last sizes are kept: all variants read the same ones.
@functools.lru_cache(16)
def inputs_of(batch: int, time: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Words and a mask: the first text is full, the others are padded at the end, half or less."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(size=(batch, time, dim), dtype="float32")
    lengths = rng.integers(max(1, time // 2), time + 1, size=batch)
    lengths[0] = time
    return x, np.arange(time)[None] < lengths[:, None]


def built(name: str, dim: int, heads: int, precision: str, of: Any = None) -> Any:
    """A variant with its weights; a form has those of the layer `of`."""
    variant = (variants() | QUERIES)[name]
    if variant.of is not None and of is None:
        of = built(variant.of, dim, heads, precision)
    with_policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)
    try:
        layer = variant.make(dim, heads) if of is None else variant.make(of)
        build(layer, (2, 8, dim))
    finally:
        keras.config.set_dtype_policy(with_policy)
    return layer


def build(layer: Any, shape: tuple[int, ...], masked: bool = True) -> None:
    """Makes the weights by a call that computes nothing: JAX would compile each operation of it."""
    mask = keras.KerasTensor(shape[:2], "bool") if masked else None
    layer(keras.KerasTensor(shape, layer.compute_dtype), mask=mask)


def reason_to_leave_out(variant: Variant, setting: Setting) -> str | None:
    """Why a variant is not run in a setting."""
    numbers = setting.batch * setting.time**2 * variant.pairs(setting.dim, setting.heads)
    if numbers <= most():
        return None
    return f"would hold {numbers * 4 / 2**30:.1f} GiB for pairs of words"


def wanted(name: str, only: list[str] | None) -> bool:
    """Whether a name has any of these parts in it, whatever their case; `None` wants all."""
    return only is None or any(part.lower() in name.lower() for part in only)


def measured(setting: Setting, rounds: int, only: list[str] | None = None) -> dict[str, Any]:
    """Costs, ratios and checks of all variants in a setting."""
    x, mask = inputs_of(setting.batch, setting.time, setting.dim)
    chosen = {name: variants()[name] for name in names_in(setting) if wanted(name, only)}
    left_out, made, runs = {}, {}, {}
    for name, variant in chosen.items():
        reason = reason_to_leave_out(variant, setting)
        if reason is not None:
            left_out[name] = reason
            continue
        try:
            of = made.get(variant.of)
            made[name] = built(name, setting.dim, setting.heads, setting.precision, of)
        except Exception as error:  # A peer's refusal is a result.
            left_out[name] = _refusal(error)
    given = (x, mask, setting.mode, setting.gradient)
    for name, run in measure.runners({name: (made[name], *given) for name in made}).items():
        try:
            if isinstance(run, Exception):
                raise run
            measure.finish(run())
            runs[name] = run
        except Exception as error:
            left_out[name] = _refusal(error)
    costs = measure.in_turns(runs, rounds)
    layers = [name for name in costs if name in LAYERS]
    others = [name for name in costs if name not in LAYERS]
    return {
        **dataclasses.asdict(setting),
        "left_out": left_out,
        "differences": {
            name: _difference(runs, name, variant)
            for name, variant in FORMS.items()
            if name in runs and variant.same and variant.of in runs
        },
        "products": products(setting),
        "costs": {name: spread(values) for name, values in costs.items()},
        "ratios": {
            layer: {
                other: spread(np.array(costs[other]) / np.array(costs[layer]))
                for other in others
                if other not in FORMS or FORMS[other].of == layer
            }
            for layer in layers
        },
    }


def _refusal(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"


def products(setting: Setting) -> dict[str, int]:
    """Multiplications in the matrix products of each variant that has any worth the name.

    The gradients for the inputs and for the weights are as many again, each.
    """
    words = setting.batch * setting.time * (3 if setting.gradient else 1)
    return {
        name: words * variant.products(setting.time, setting.dim, setting.heads)
        for name, variant in {**LAYERS, **PEERS}.items()
        if variant.products is not None
    }


def _difference(runs: dict[str, measure.Run], name: str, variant: Variant) -> float:
    """The largest difference of what a form and its layer compute, relative to the largest."""

    def flat(value: Any) -> np.ndarray:
        # Of the gradients, those of the inputs: a form may count a weight twice that cancels.
        parts = keras.tree.flatten(value)
        part = parts[-1] if keras.backend.backend() == "jax" else parts[0]
        return np.asarray(keras.ops.convert_to_numpy(keras.ops.cast(part, "float32")))

    assert variant.of is not None
    ours, theirs = flat(runs[variant.of]()), flat(runs[name]())
    return float(np.abs(ours - theirs).max() / np.abs(ours).max())


def spread(values: Any) -> list[float]:
    numbers = [np.median(values), np.min(values), np.max(values)]
    return [float(f"{value:.4g}") for value in numbers]
