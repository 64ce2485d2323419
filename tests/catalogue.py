"""Every public layer and model, small, in the forms that differ: for what must hold for all."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attnpool import layers, models

DIM = 6
SMALL = {"embedding_dim": 6, "hidden_units": 5}
LSTM = {**SMALL, "lstm_units": 3, "hidden_dim": 4, "num_heads": 2}

# One full text, one with holes and padding, one empty.
_RANDOM = np.random.default_rng(0)
STEPS = _RANDOM.normal(size=(3, 5, DIM)).astype("float32")
MASK = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
IDS = np.array([[1, 2, 3, 4, 5], [6, 7, 0, 0, 0], [0, 0, 0, 0, 0]], "int32")
LETTERS = _RANDOM.integers(0, 9, size=(3, 5, 4)).astype("int32")
DOCUMENTS = np.stack([IDS, IDS[::-1]], axis=1)
SECOND_IDS = IDS[:, :3]


def backbone() -> keras.Model:
    """The smallest of backbones: a table of vectors."""
    tokens = keras.Input((None,), dtype="int32")
    return keras.Model(tokens, keras.layers.Embedding(20, DIM, name="table")(tokens), name="words")


# Called with `(batch, time, dim)` and a mask.
LAYERS: dict[str, Callable[[], Any]] = {
    "low_rank": lambda: layers.LowRankAttentionPooling(3, dropout=0.1),
    "low_rank_learned": lambda: layers.LowRankAttentionPooling(
        3, rank=2, context="learned", learn_scale=True
    ),
    "structured": lambda: layers.StructuredSelfAttentionPooling(3, 4, use_bias=True),
    "learned_query": lambda: layers.LearnedQueryPooling(2, 3, dropout=0.1),
    "learned_query_block": lambda: layers.LearnedQueryPooling(
        4, 3, residual=True, feedforward_dim=5, normalize_first=False, normalizer="entmax15"
    ),
    "efficient_probe": lambda: layers.LearnedQueryPooling(
        2, 3, key_projection=False, output_projection=False, use_bias=False
    ),
    "generalized": lambda: layers.GeneralizedPooling(2, 4),
    "generalized_scalar": lambda: layers.GeneralizedPooling(2, 4, per_feature=False, chunk_size=2),
    "attention": lambda: layers.AttentionPooling(4, output_activation="tanh"),
    "attention_plain": lambda: layers.AttentionPooling(),
    "multi_dim": lambda: layers.MultiDimAttentionPooling(),
    "conv": lambda: layers.ConvMultiHeadAttention(2, 4, dropout=0.1),
    "conv_one": lambda: layers.ConvMultiHeadAttention(2, 4, 2, parallel=False, layer_norm=False),
    "target": lambda: layers.ConvAttentionPooling(2, 4),
    "target_code": lambda: layers.ConvAttentionPooling(2, DIM, value_conv=False),
    "places": lambda: layers.AddPositionEmbedding(7),
    "features": lambda: layers.FeatureWiseAttention(2, threshold=0.1),
    "tokens": lambda: layers.TokenWiseAttention(mode="pointwise", pooled=False),
    "sequential": lambda: layers.SequentialAttention(mode="pointwise"),
    "statistics": lambda: layers.StatisticsPooling1D(),
    "attentive_statistics": lambda: layers.AttentiveStatisticsPooling(
        4, per_feature=True, normalizer="sparsemax"
    ),
    "attentive_statistics_context": lambda: layers.AttentiveStatisticsPooling(
        4, global_context=True, gated=True
    ),
    "average": lambda: layers.MaskedAveragePooling1D(),
    "average_by_position": lambda: layers.MaskedAveragePooling1D(position_weighted=True),
    "first": lambda: layers.FirstPooling1D(),
    "max": lambda: layers.MaskedMaxPooling1D(),
    "last": lambda: layers.LastPooling1D(),
    "generalized_mean": lambda: layers.GeneralizedMeanPooling1D(per_feature=True),
    "bilstm": lambda: layers.ShortcutStackedBiLSTM(3, num_layers=2),
    "bigru": lambda: layers.BidirectionalGRU(3),
    "one_bilstm": lambda: layers.BidirectionalLSTM(3),
    "window": lambda: layers.PositionalSelfAttention(4),
    "behind": lambda: layers.PositionalSelfAttention(
        4, positions=("earlier", "distance"), per_feature=True
    ),
    "directional": lambda: layers.DirectionalSelfAttention(4, direction="backward"),
    "blocks": lambda: layers.BlockSelfAttention(4),
}


def fusion(inputs: Any, keep: Any) -> Any:
    return layers.PositionFusion()([inputs, 2 * inputs], inputs, mask=keep)


def gate(inputs: Any, keep: Any) -> Any:
    return layers.FusionGate()(inputs, 2 * inputs, mask=keep)


def matching(inputs: Any, keep: Any) -> Any:
    average = layers.MaskedAveragePooling1D()(inputs, mask=keep)
    return layers.PairMatching()([average, layers.MaskedMaxPooling1D()(inputs, mask=keep)])


# Layers that are called otherwise, as functions of the steps and the mask.
CALLS: dict[str, Callable[[Any, Any], Any]] = {"fusion": fusion, "gate": gate, "matching": matching}
# Called with word ids.
MODELS: dict[str, Callable[[], keras.Model]] = {
    "LAMA": lambda: models.LAMA(20, 3, num_heads=3, gru_units=4, **SMALL),
    "LAMAEncoder": lambda: models.LAMAEncoder(20, 3, context="learned", **SMALL),
    "SAN": lambda: models.SAN(20, 3, num_heads=3, gru_units=4, **SMALL),
    "BiGRU": lambda: models.BiGRU(20, 3, gru_units=4, **SMALL),
    "BiLSTM": lambda: models.BiLSTM(20, 3, pooling="last", **LSTM),
    "GeneralizedPoolingClassifier": lambda: models.GeneralizedPoolingClassifier(20, 3, **LSTM),
    "MPSAN": lambda: models.MPSAN(20, 3, **SMALL),
    "DiSAN": lambda: models.DiSAN(20, 3, units=4, **SMALL),
    "BiBloSAN": lambda: models.BiBloSAN(20, 3, units=4, **SMALL),
    "MultiHeadSAN": lambda: models.MultiHeadSAN(20, 3, num_heads=2, key_dim=3, **SMALL),
    "TextCNN": lambda: models.TextCNN(20, 3, embedding_dim=6, filters=4),
    "TransformerEncoderClassifier": lambda: models.TransformerEncoderClassifier(
        20, 3, embedding_dim=8, num_heads=2, feedforward_dim=8, max_length=9
    ),
    "AverageEmbedding": lambda: models.AverageEmbedding(20, 3, **SMALL),
    "AttentionBiLSTM": lambda: models.AttentionBiLSTM(20, 3, lstm_units=3, **SMALL),
    "TextClassifier": lambda: models.TextClassifier(
        20, 3, encoder=["cnn", "directional"], pooling="attention", **SMALL
    ),
    "SAM": lambda: models.SAM(backbone(), 3, mode="pointwise", lstm_units=3),
    "BackboneClassifier": lambda: models.BackboneClassifier(
        backbone(), 3, pooling="mean", trainable_backbone=False
    ),
}
# Called with the ids of the words of sentences.
HIERARCHICAL: dict[str, Callable[[], keras.Model]] = {
    "HCAN": lambda: models.HCAN(20, 3, embedding_dim=6, filters=4, num_heads=2),
    "HAN": lambda: models.HAN(20, 3, embedding_dim=6, gru_units=3, hidden_dim=4),
}
# Called with the ids of two texts.
PAIRS: dict[str, Callable[[], keras.Model]] = {
    "GeneralizedPoolingPair": lambda: models.GeneralizedPoolingPair(20, num_layers=1, **LSTM),
    "MPSANPair": lambda: models.MPSANPair(20, **SMALL),
}


class Case(NamedTuple):
    """A model to be built, and inputs for it."""

    model: Callable[[], keras.Model]
    inputs: list[np.ndarray]
    is_layer: bool = False

    @property
    def fed(self) -> Any:
        """The inputs as `fit` and `predict` take them."""
        return self.inputs if len(self.inputs) > 1 else self.inputs[0]


def _on_steps(call: Callable[[], Callable[[Any, Any], Any]]) -> Case:
    def model() -> keras.Model:
        inputs = keras.Input((None, DIM), name="steps")
        keep = keras.Input((None,), dtype="bool", name="keep")
        return keras.Model([inputs, keep], call()(inputs, keep))

    return Case(model, [STEPS, MASK], is_layer=True)


def _with_mask(make: Callable[[], Any]) -> Callable[[], Callable[[Any, Any], Any]]:
    return lambda: lambda inputs, keep: make()(inputs, mask=keep)


def _characters() -> keras.Model:
    spelt = keras.Input((None, None), dtype="int32")
    return keras.Model(spelt, layers.CharacterEmbedding(9, char_dim=3, filters=2)(spelt))


def _sentences() -> keras.Model:
    documents = keras.Input((None, None), dtype="int32")
    words = layers.CharacterEmbedding(20, char_dim=3, filters=2, kernel_sizes=(1, 3))
    return keras.Model(documents, layers.HierarchicalEncoder(words)(documents[..., None]))


CASES: dict[str, Case] = {
    **{name: _on_steps(_with_mask(make)) for name, make in LAYERS.items()},
    **{name: _on_steps(lambda call=call: call) for name, call in CALLS.items()},
    "characters": Case(_characters, [LETTERS], is_layer=True),
    "sentences": Case(_sentences, [DOCUMENTS], is_layer=True),
    **{name: Case(make, [IDS]) for name, make in MODELS.items()},
    **{name: Case(make, [DOCUMENTS]) for name, make in HIERARCHICAL.items()},
    **{name: Case(make, [IDS, SECOND_IDS]) for name, make in PAIRS.items()},
}


def together(names: Iterable[str]) -> Iterator[tuple[keras.Model, list[np.ndarray]]]:
    """Models of the cases of the same inputs, side by side, with one output a case.

    What takes time is to compile: one large model costs less than many small ones.
    """
    groups: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        groups.setdefault(tuple(map(id, CASES[name].inputs)), []).append(name)
    for group in groups.values():
        arrays = CASES[group[0]].inputs
        tensors = [
            keras.Input((None, DIM) if x is STEPS else [None] * (x.ndim - 1), dtype=str(x.dtype))
            for x in arrays
        ]
        fed = tensors if len(tensors) > 1 else tensors[0]
        yield keras.Model(fed, {name: CASES[name].model()(fed) for name in group}), arrays


def randomized(model: Any, shape: tuple[int | None, ...] | None = None, seed: int = 1) -> Any:
    """The model or layer with every weight random, zero-initialised ones too.

    A layer is built for inputs of this shape. The weights are the same on any backend.
    """
    if shape is not None:
        model.build(shape)
    rng = np.random.default_rng(seed)
    for variable in model.weights:
        if "seed_generator" not in variable.path:
            variable.assign(0.5 * rng.normal(size=variable.shape))
    return model


@contextmanager
def policy(name: str) -> Iterator[None]:
    """What is built inside has this dtype policy."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
