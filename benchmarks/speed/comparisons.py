"""Pairs whose ratio has a target: mechanisms at their papers' sizes, encoders, whole models."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from benchmarks.speed import measure, memory, straightforward, variants
from benchmarks.speed.grid import build, inputs_of, spread
from keras_attnpool import layers, models
from keras_attnpool.ops._additive_attention import additive_attention
from keras_attnpool.workbench import text

BACKENDS = ("jax", "tensorflow", "torch")
LAMA, GP, SAM = "LowRankAttentionPooling", "GeneralizedPooling", "SequentialAttention"
STAGE, ALL, STRUCTURED = "one score a pair", "MPSAN's layers", "StructuredSelfAttentionPooling"
MHA, ENCODER = "MultiHeadAttention, average", "TransformerEncoder, average"
GRU_OF_KERAS = {"jax": 0.9, "tensorflow": 0.9, "torch": 2}


@dataclasses.dataclass(frozen=True)
class Target:
    """`slow` should take at least `factor` times as long as `fast`, on the backends given.

    `struck` has the factors that no form of `fast` reached; docs/targets.md has the reasons.
    """

    slow: str
    fast: str
    factor: dict[str, float]
    struck: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Runs that are timed in turns, `make(mode, gradient)`, and what is asked of their ratios.

    With `memory`, time, dim, heads and batch of `memory.taken`, their peaks are compared.
    """

    title: str
    make: Callable[[str, bool], dict[str, measure.Run]]
    targets: tuple[Target, ...] = ()
    gradient: bool = True
    memory: tuple[int, ...] = ()


def everywhere(slow: str, fast: str, factor: float, *struck: str) -> Target:
    """A target on every backend, struck on these."""
    kept = [backend for backend in BACKENDS if backend not in struck]
    return Target(slow, fast, dict.fromkeys(kept, factor), dict.fromkeys(struck, factor))


def on_words(
    makers: Callable[[], dict[str, Any]], batch: int, time: int, dim: int, padded: bool = True
) -> Callable[[str, bool], dict[str, measure.Run]]:
    """Runs of layers on the same words, with a mask or without."""

    def make(mode: str, gradient: bool) -> dict[str, measure.Run]:
        x, kept = inputs_of(batch, time, dim)
        mask = kept if padded else None
        runners = {}
        for name, layer in makers().items():
            build(layer, x.shape, padded)
            runners[name] = measure.runner(layer, x, mask, mode, gradient)
        return runners

    return make


class FeaturesLast(straightforward.Form):
    """Generalized Pooling as its public code lays it out: heads behind the features."""

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Pools `(batch, time, dim)`."""
        first, second = self.weight("hidden_kernel"), self.weight("score_kernel")
        heads = [
            ops.matmul(
                ops.relu(ops.matmul(inputs, first[h]) + self.weight("hidden_bias")[h]), second[h]
            )
            + self.weight("score_bias")[h]
            for h in range(self.layer.num_heads)
        ]
        weights = straightforward.softmax_over_time(ops.stack(heads, axis=-1), mask)
        vectors = ops.sum(weights * ops.expand_dims(inputs, -1), axis=1)
        return ops.reshape(ops.transpose(vectors, (0, 2, 1)), (inputs.shape[0], -1))


class SqueezeExcite(keras.layers.Layer):
    """The gate of squeeze-and-excitation, and the mean: SAM's simplest peer."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.supports_masking = True
        self.first = keras.layers.Dense(dim // 16, activation="relu")
        self.second = keras.layers.Dense(dim, activation="sigmoid")
        self.average = keras.layers.GlobalAveragePooling1D()

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Pools `(batch, time, dim)`."""
        gate = self.second(self.first(self.average(inputs, mask=mask)))
        return self.average(inputs * ops.expand_dims(gate, 1), mask=mask)


class Multiple(keras.layers.Layer):
    """MPSAN's attentions, their fusion and pooling, or one dense softmax for each mask."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.supports_masking = True
        self.attentions = [
            layers.PositionalSelfAttention(dim, positions=positions)
            for positions in models.mpsan.POSITIONS
        ]
        self.fusion = layers.PositionFusion()
        self.pooling = layers.MultiDimAttentionPooling()

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Pools `(batch, time, dim)`."""
        attended = [attention(inputs, mask=mask) for attention in self.attentions]
        return self.pooling(self.fusion(attended, inputs, mask=mask), mask=mask)


def lama() -> dict[str, Any]:
    ours = layers.LowRankAttentionPooling(10)
    return {
        LAMA: ours,
        **{peer: variants.PEERS[peer].make(100, 10) for peer in (MHA, ENCODER)},
        STRUCTURED: layers.StructuredSelfAttentionPooling(10, 100),
        "its products alone": straightforward.LowRankProducts(ours),
        "head after head": straightforward.LowRankHeads(ours),
    }


def vectors() -> dict[str, Any]:
    ours = layers.GeneralizedPooling(5, 300)
    return {
        GP: ours,
        "in chunks": layers.GeneralizedPooling(5, 300, chunk_size=64),
        "all weights at once": straightforward.StackedVectorHeads(ours),
        "features last": FeaturesLast(ours),
        "its products alone": straightforward.VectorProducts(ours),
        ENCODER: variants.PEERS[ENCODER].make(600, 5),
    }


def learned_queries() -> dict[str, Any]:
    return {name: variant.make(768, 12) for name, variant in variants.QUERIES.items()}


def probes(heads: int = 32) -> dict[str, Any]:
    ours = layers.LearnedQueryPooling(
        num_heads=heads, key_projection=False, output_projection=False, use_bias=False
    )
    return {
        "the efficient probe": ours,
        "its published order": straightforward.PublishedProbe(ours),
        variants.QUERY: layers.LearnedQueryPooling(num_heads=heads),
    }


def half_vectors() -> dict[str, Any]:
    return {
        "float32": layers.GeneralizedPooling(5, 300),
        "bfloat16": layers.GeneralizedPooling(5, 300, dtype="mixed_bfloat16"),
    }


class Stage(keras.layers.Layer):
    """One mask's scores, softmax and sums alone: what each word adds to a score is given."""

    def __init__(self, attend: Callable[..., Any]) -> None:
        super().__init__()
        self.supports_masking = True
        self.attend = attend

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Maps `(batch, time, dim)`."""
        steps = ops.arange(inputs.shape[1])
        distance = ops.abs(steps[:, None] - steps[None])
        penalty = ops.log(ops.cast(ops.maximum(distance, 1), "float32"))
        later = steps[None] > steps[:, None]
        return self.attend(inputs[..., :1], inputs[..., 1:2], inputs, mask, later, penalty)


def ours_of_a_mask(
    source: Any, target: Any, values: Any, mask: Any, allowed: Any, penalty: Any
) -> Any:
    source, target = source / 5.0, target / 5.0
    output, _ = additive_attention(source, target, values, ops.elu, mask, allowed, penalty)
    return output


def repeated_over_features(
    source: Any, target: Any, values: Any, mask: Any, allowed: Any, penalty: Any
) -> Any:
    """As MPSAN's public code: scores repeated for each feature, `(batch, time, time, dim)`."""
    batch, time, dim = values.shape
    scores = ops.elu((ops.expand_dims(source, 1) + ops.expand_dims(target, 2)) / 5.0)
    scores = ops.tile(scores - penalty[None, :, :, None], (1, 1, 1, dim))
    allowed = ops.logical_and(ops.expand_dims(mask, 1), allowed[None])[..., None]
    weights = ops.softmax(ops.where(allowed, scores, straightforward.LOW), axis=2)
    weights = weights * ops.cast(allowed, weights.dtype)
    output = ops.sum(weights * ops.expand_dims(values, 1), axis=2)
    return output * ops.cast(ops.expand_dims(mask, -1), output.dtype)


def one_mask() -> dict[str, Any]:
    return {
        STAGE: Stage(ours_of_a_mask),
        "a weight a pair and feature": Stage(repeated_over_features),
    }


def all_masks() -> dict[str, Any]:
    return {
        ALL: Multiple(300),
        ENCODER: variants.PEERS[ENCODER].make(300, 10),
        "AdditiveAttention, average": variants.PEERS["AdditiveAttention, average"].make(300, 1),
    }


def sam() -> dict[str, Any]:
    return {
        SAM: layers.SequentialAttention(mode="pointwise"),
        "squeeze and excitation": SqueezeExcite(512),
        MHA: variants.PEERS[MHA].make(512, 8),
    }


def recurrent() -> dict[str, Any]:
    gru = keras.layers.GRU(50, return_sequences=True)
    found = {
        "BidirectionalGRU": layers.BidirectionalGRU(50),
        "keras.layers.Bidirectional(GRU)": keras.layers.Bidirectional(gru),
    }
    if keras.backend.backend() == "torch":
        found["torch.nn.GRU, no mask"] = Unmasked()
    return found


class Unmasked(keras.layers.Layer):
    """PyTorch's bidirectional GRU of 50 units, which sees no mask."""

    def __init__(self) -> None:
        import torch

        super().__init__()
        self.supports_masking = True
        self.gru = torch.nn.GRU(100, 50, batch_first=True, bidirectional=True)

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Reads `(batch, time, dim)`."""
        return self.gru(inputs)[0]


def training(model: keras.Model, inputs: Any, classes: int) -> measure.Run:
    """Epochs over fixed batches: a `PyDataset`, or one array."""
    model.compile("adam", "sparse_categorical_crossentropy")
    if isinstance(inputs, np.ndarray):
        labels = np.arange(len(inputs)) % classes
        return lambda: model.fit(inputs, labels, batch_size=32, verbose=0, shuffle=False)
    return lambda: model.fit(inputs, verbose=0, shuffle=False)


def ragged_documents(count: int, seed: int = 0) -> list[list[list[int]]]:
    """Log-normal numbers of sentences and words: most are far below the longest."""
    rng = np.random.default_rng(seed)

    def lengths(size: int, typical: float, most: int) -> np.ndarray:
        return np.clip(np.exp(rng.normal(np.log(typical), 0.6, size)).astype(int), 1, most)

    return [
        [list(rng.integers(1, 1000, words)) for words in lengths(sentences, 12, 25)]
        for sentences in lengths(count, 9, 30)
    ]


class EveryPlace(keras.layers.Layer):
    """Encodes all places of sentences, also those without a word."""

    def __init__(self, encoder: keras.Model) -> None:
        super().__init__()
        self.encoder = encoder
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Maps ids `(batch, sentences, words)` to `(batch, sentences, dim)`."""
        batch, sentences, words = ops.shape(inputs)
        rows = self.encoder(ops.reshape(inputs, (-1, words)))
        return ops.reshape(rows, (batch, sentences, rows.shape[-1]))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The sentences with a word."""
        return ops.any(ops.not_equal(inputs, 0), axis=2)

    def compute_output_spec(self, inputs: Any, mask: Any = None) -> Any:
        """Symbolic output."""
        shape = (*inputs.shape[:2], self.encoder.output_shape[-1])
        return keras.KerasTensor(shape, self.compute_dtype)


def padded_everywhere(model: keras.Model) -> keras.Model:
    """A copy of a hierarchical model that encodes all places of sentences."""

    def copied(layer: Any) -> Any:
        if isinstance(layer, layers.HierarchicalEncoder):
            return EveryPlace(layer.encoder)
        return layer.__class__.from_config(layer.get_config())

    return keras.models.clone_model(model, clone_function=copied)


def hierarchical(mode: str, gradient: bool) -> dict[str, measure.Run]:
    """HCAN's training on ragged documents: packed, padded, one at a time, and HAN's."""
    documents = ragged_documents(64)
    labels = np.arange(64) % 2
    small = {"embedding_dim": 128, "num_classes": 2, "vocabulary_size": 1000}
    runs = {}
    for name, packed, maker, extra in (
        ("HCAN, packed", 4, models.HCAN, {"filters": 128}),
        ("HCAN, padded", 0, models.HCAN, {"filters": 128}),
        ("HAN, packed", 4, models.HAN, {}),
    ):
        batches = text.DocumentBatches(
            documents, labels, 16, num_buckets=1, packed=packed, shuffle=False
        )
        model = maker(packed=packed, **small, **extra)
        runs[name] = training(model, batches, 2)
        if name == "HCAN, padded":
            runs["HCAN, every place"] = training(padded_everywhere(model), batches, 2)
    if keras.backend.backend() == "torch":
        # Elsewhere every document is a shape of its own to compile.
        ones = text.DocumentBatches(documents, labels, 1, num_buckets=30, shuffle=False)
        runs["HCAN, one document at a time"] = training(
            models.HCAN(packed=0, filters=128, **small), ones, 2
        )
    return runs


def words_in_order(mode: str, gradient: bool) -> dict[str, measure.Run]:
    """Training of MPSAN, DiSAN and Bi-BloSAN on 64 words."""
    ids = _ids(64, 64)
    return {
        name: training(maker(1000, 2, embedding_dim=128, **extra), ids, 2)
        for name, maker, extra in (
            ("MPSAN", models.MPSAN, {}),
            ("DiSAN", models.DiSAN, {"units": 128}),
            ("Bi-BloSAN", models.BiBloSAN, {"units": 128}),
        )
    }


def reviews(mode: str, gradient: bool) -> dict[str, measure.Run]:
    """Training of LAMA's model with our GRU and with that of Keras, on 256 words."""
    ids = _ids(64, 256)
    tokens = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1000, 100, mask_zero=True)(tokens)
    gru = keras.layers.GRU(50, return_sequences=True)
    states = keras.layers.Bidirectional(gru)(x)
    context = layers.MaskedAveragePooling1D()(x)
    vector = layers.LowRankAttentionPooling(10)(states, context=context)
    hidden = keras.layers.Dense(512, activation="relu")(vector)
    theirs = keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(hidden))
    return {
        "LAMA": training(models.LAMA(1000, 2, num_heads=10, dropout=0.0), ids, 2),
        "LAMA on Keras's GRU": training(theirs, ids, 2),
    }


def _ids(count: int, time: int) -> np.ndarray:
    """Word ids, the first text full, the others padded by up to a half."""
    rng = np.random.default_rng(0)
    kept = np.arange(time)[None] < rng.integers(time // 2, time + 1, count)[:, None]
    kept[0] = True
    return np.where(kept, rng.integers(1, 1000, (count, time)), 0).astype("int32")


COMPARISONS = (
    Comparison(
        "LAMA, 32 x 256 words, dim 100, 10 heads",
        on_words(lama, 32, 256, 100),
        (
            Target(MHA, LAMA, {"jax": 15, "tensorflow": 8, "torch": 4}),
            everywhere("its products alone", LAMA, 1 / 1.25, "tensorflow"),
            Target(STRUCTURED, LAMA, {"torch": 1 / 1.1}, struck={"tensorflow": 1 / 1.1}),
            everywhere("head after head", LAMA, 1.5),
        ),
    ),
    Comparison(
        "LAMA, 8 x 1024 words, dim 100, 10 heads",
        on_words(lama, 8, 1024, 100),
        (Target(MHA, LAMA, {"jax": 60, "tensorflow": 30, "torch": 8}),),
    ),
    *(
        Comparison(
            f"Generalized Pooling, 8 x 256 words, dim 600, 5 heads, {which}",
            on_words(vectors, 8, 256, 600),
            (
                everywhere("its products alone", GP, bound, *bare),
                everywhere("all weights at once", GP, 1),
                Target("features last", GP, {}, struck={"jax": 1.4, "torch": 1.4}),
                everywhere(ENCODER, GP, 2, *encoder),
                everywhere(GP, "in chunks", 1 / 1.35, *chunks),
            ),
            gradient,
        )
        for which, gradient, bound, bare, encoder, chunks in (
            ("forward", False, 1 / 1.2, ("jax", "tensorflow"), ("jax", "torch"), ()),
            ("with gradients", True, 1 / 1.25, (), ("torch",), BACKENDS),
        )
    ),
    Comparison(
        "Generalized Pooling in bfloat16, 8 x 256 words, dim 600, 5 heads",
        on_words(half_vectors, 8, 256, 600),
        (Target("float32", "bfloat16", {}, struck={"torch": 2.5}),),
    ),
    *(
        Comparison(
            f"Learned query, {texts} x 196 patches, dim 768, 12 heads, {which}",
            on_words(learned_queries, 8, 196, 768),
            (
                Target("MultiHeadAttention, a probe", variants.QUERY, bounds),
                Target("the same with keys and values", variants.QUERY, {}),
                Target("KerasHub's SigLIP head", variants.QUERY_BLOCK, {}),
            ),
            gradient,
            memory,
        )
        for texts, which, gradient, bounds, memory in (
            (8, "forward", False, dict.fromkeys(BACKENDS, 8), ()),
            (8, "with gradients", True, dict.fromkeys(BACKENDS, 8), ()),
            (64, "peak memory", True, {}, (196, 768, 12, 64)),
        )
    ),
    *(
        Comparison(
            f"Efficient probe, 32 x 196 {which}, dim 768, 32 queries, with gradients",
            on_words(probes, 32, 196, 768, padded),
            (
                everywhere("its published order", "the efficient probe", 5, *struck),
                Target(variants.QUERY, "the efficient probe", {}),
            ),
        )
        for which, padded, struck in (
            ("patches", False, ()),
            ("patches, padded", True, ("jax", "tensorflow")),
        )
    ),
    *(
        Comparison(
            f"MPSAN, one mask's attention, {batch} x {time} words, dim 300{which}",
            on_words(one_mask, batch, time, 300),
            (Target("a weight a pair and feature", STAGE, factors),),
            gradient=not which,
        )
        for batch, time, which, factors in (
            (8, 64, "", {"jax": 40, "tensorflow": 10, "torch": 40}),
            (2, 256, "", {"jax": 100}),
            (2, 256, ", forward", {"torch": 100}),
        )
    ),
    *(
        Comparison(
            f"MPSAN, all its layers, {batch} x {time} words, dim 300",
            on_words(all_masks, batch, time, 300),
            (Target(ENCODER, ALL, factors, struck), *others),
        )
        for batch, time, factors, struck, others in (
            (16, 64, {"jax": 1 / 1.15, "tensorflow": 1 / 1.35}, {"torch": 1 / 1.15}, ()),
            (
                *(4, 256, {"jax": 1 / 1.15, "tensorflow": 1 / 1.35}, {"torch": 1 / 1.15}),
                (everywhere("AdditiveAttention, average", ALL, 2),),
            ),
            (1, 1024, {"tensorflow": 1 / 1.15, "torch": 1 / 1.15}, {"jax": 2}, ()),
        )
    ),
    Comparison(
        "SAM, 32 x 256 words, dim 512",
        on_words(sam, 32, 256, 512),
        (everywhere("squeeze and excitation", SAM, 1 / 3.3), everywhere(MHA, SAM, 8)),
    ),
    Comparison(
        "Bidirectional GRU, 32 x 256 words, dim 100, 50 units",
        on_words(recurrent, 32, 256, 100),
        (
            Target("keras.layers.Bidirectional(GRU)", "BidirectionalGRU", GRU_OF_KERAS),
            Target("torch.nn.GRU, no mask", "BidirectionalGRU", {"torch": 1 / 1.3}),
        ),
    ),
    Comparison(
        "Training LAMA's model, 256 words",
        reviews,
        (Target("LAMA on Keras's GRU", "LAMA", GRU_OF_KERAS),),
    ),
    Comparison(
        "Training on ragged documents, 128 filters",
        hierarchical,
        (
            everywhere("HCAN, every place", "HCAN, packed", 2.2),
            Target("HCAN, padded", "HCAN, packed", {}),
            Target("HCAN, one document at a time", "HCAN, packed", {"torch": 2}),
            Target("HAN, packed", "HCAN, packed", {}),
        ),
    ),
    Comparison(
        "Training on 64 words, 128 units",
        words_in_order,
        (Target("DiSAN", "MPSAN", {}), Target("Bi-BloSAN", "MPSAN", {})),
    ),
)


def compared(comparison: Comparison, rounds: int) -> dict[str, Any]:
    """The ratios of a comparison, beside what is asked of them."""
    backend = keras.backend.backend()
    mode = measure.MODES[backend][0]
    keras.utils.set_random_seed(0)
    failed: dict[str, str] = {}
    if comparison.memory:
        names = {name for target in comparison.targets for name in (target.slow, target.fast)}
        peaks = {
            name: memory.peak_memory(name, *comparison.memory, comparison.gradient)
            for name in sorted(names)
        }
        costs = {name: [peak["bytes"]] for name, peak in peaks.items() if "bytes" in peak}
        failed = {n: f"{n}: {peak['failed'][-1]}" for n, peak in peaks.items() if n not in costs}
    else:
        costs = measure.in_turns(comparison.make(mode, comparison.gradient), rounds)
    rows = []
    for target in comparison.targets:
        pair = (target.slow, target.fast)
        row: dict[str, Any] = {"slow": target.slow, "fast": target.fast}
        row["target"] = target.factor.get(backend)
        row |= {"struck": target.struck[backend]} if backend in target.struck else {}
        if any(name in failed for name in pair):
            row |= {"ratio": None, "failed": "; ".join(failed[n] for n in pair if n in failed)}
        elif target.slow not in costs:
            continue  # not on this backend
        else:
            row["ratio"] = spread(np.array(costs[target.slow]) / np.array(costs[target.fast]))
        rows.append(row)
    return {"title": comparison.title, "mode": mode, "rows": rows}
