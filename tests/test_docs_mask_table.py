"""What keeps a mask, measured: the table of docs/guides/masking.md, for the Keras that runs."""

import re
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers as kl
from keras import ops

from keras_attnpool import layers
from keras_attnpool.analysis import batch_independence

pytestmark = pytest.mark.every_backend

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "masking.md"
VERSION = tuple(int(part) for part in keras.__version__.split(".")[:2])


def sequence(layer, **kwargs):
    return layer(4, return_sequences=True, **kwargs)


def convolved(x):
    return kl.Conv1D(8, 3, padding="same")(x)


def functional(x):
    features = keras.Input((None, 8))
    return keras.Model(features, kl.Dense(4, bias_initializer="ones")(features))(x)


# By the words of the table's first column; each entry is called with an embedding of 8 features.
BETWEEN = {
    "Dense": kl.Dense,
    "Activation": lambda: kl.Activation("sigmoid"),
    "Dropout": lambda: kl.Dropout(0.1),
    "SpatialDropout1D": lambda: kl.SpatialDropout1D(0.1),
    "GaussianNoise": lambda: kl.GaussianNoise(0.1),
    "LayerNormalization": kl.LayerNormalization,
    "BatchNormalization": kl.BatchNormalization,
    "GRU": lambda: sequence(kl.GRU),
    "LSTM": lambda: sequence(kl.LSTM),
    "SimpleRNN": lambda: sequence(kl.SimpleRNN),
    "RNN": lambda: kl.RNN(kl.GRUCell(4), return_sequences=True),
    "Bidirectional": lambda: kl.Bidirectional(sequence(kl.GRU)),
    "TimeDistributed": lambda: kl.TimeDistributed(kl.Dense(4, bias_initializer="ones")),
    "BidirectionalGRU": lambda: layers.BidirectionalGRU(4),
    "BidirectionalLSTM": lambda: layers.BidirectionalLSTM(4),
    "ShortcutStackedBiLSTM": lambda: layers.ShortcutStackedBiLSTM(4, num_layers=1),
    "our other layers": lambda: layers.PositionalSelfAttention(4),
    "MultiHeadAttention": lambda: lambda x: kl.MultiHeadAttention(2, 4)(x, x),
    "Attention": lambda: lambda x: kl.Attention()([x, x]),
    "Add": lambda: lambda x: kl.Add()([x, x]),
    "Multiply": lambda: lambda x: kl.Multiply()([x, x]),
    "Concatenate": lambda: lambda x: kl.Concatenate()([x, x]),
    "Sequential": lambda: keras.Sequential([kl.Dense(4, bias_initializer="ones")]),
    "functional model": lambda: functional,
    "Conv1D": lambda: convolved,
    "SeparableConv1D": lambda: kl.SeparableConv1D(8, 3, padding="same"),
    "MaxPooling1D": lambda: kl.MaxPooling1D(1),
    "Lambda": lambda: kl.Lambda(lambda x: x + 1),
    "EinsumDense": lambda: kl.EinsumDense("abc,cd->abd", (None, 4)),
    "Add, with one input": lambda: lambda x: kl.Add()([x, convolved(x)]),
    "x + y": lambda: lambda x: x + x,
    "2 * x": lambda: lambda x: 2 * x,
    "keras.ops.tanh(x)": lambda: ops.tanh,
}


def told():
    """The table's column for this Keras, by the words of its first column."""
    rows = {}
    for line in GUIDE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == 3 and cells[1].startswith(("yes", "**no")):
            verdict = cells[1 if VERSION < (3, 16) else 2]
            name, _, condition = cells[0].partition(" with one input")
            for part in re.findall(r"`([^`]+)`|(our other layers|functional model)", name):
                rows[("".join(part)) + (", with one input" if condition else "")] = verdict
    return {name.removesuffix("(mask_zero=True)"): verdict for name, verdict in rows.items()}


@pytest.fixture(scope="module")
def arrived():
    """Whether pooling without `mask=` gives what pooling with it gives."""
    tokens = keras.Input((None,), dtype="int32")
    embed = kl.Embedding(20, 8, mask_zero=True, embeddings_initializer="normal")
    real, outputs = ops.not_equal(tokens, 0), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in BETWEEN.items():
            layer = make(4, bias_initializer="ones") if make is kl.Dense else make()
            # Each has a tensor of its own: from Keras 3.16 on `MultiHeadAttention` takes the mask
            # off its input, for all who read that later.
            states, mean = layer(embed(tokens)), layers.MaskedAveragePooling1D()
            outputs[name] = mean(states) - mean(states, mask=real)
        model = keras.Model(tokens, outputs)
        found = model.predict(np.array([[3, 4, 5, 0, 0]]), verbose=0)
    return {name: np.abs(value).max() < 1e-6 for name, value in found.items()}


@pytest.mark.parametrize("name", BETWEEN)
def test_the_guide_says_what_keeps_the_mask(name, arrived):
    verdict = told()[name]
    assert verdict.startswith("yes" if arrived[name] else "**no")


def test_the_guide_has_no_row_that_is_not_measured():
    foreign = {"TransformerEncoder", "TokenAndPositionEmbedding", "PositionEmbedding"}
    words = set(told()) - foreign - {"return_sequences=True", "x, x", "HierarchicalEncoder"}
    words -= {"keras.ops", "return_sequences"}
    assert words == set(BETWEEN)


class ClassToken(kl.Layer):
    """A vector in front of the patches."""

    def call(self, x):
        return ops.concatenate([ops.ones_like(x[:, :1]), x], axis=1)


ROW = re.compile(r"^\| (`[^|]+) \| ([^|`]+) \| `([^|]+)` \| (yes|\*\*no\*\*) \|$", re.M)
BEHIND = ROW.findall(GUIDE.read_text(encoding="utf-8"))


def test_every_row_of_the_table_of_masks_behind_is_read():
    section = GUIDE.read_text(encoding="utf-8").split("{ #behind }")[1].split("\n## ")[0]
    assert len(BEHIND) == len(re.findall(r"^\| `", section, re.M)) > 20


@pytest.mark.torch_first("Keras computes the same steps on each backend")
@pytest.mark.parametrize("row", BEHIND, ids=[row[0] for row in BEHIND])
def test_the_guide_says_the_mask_behind_a_layer(row):
    """Each cell is code: it runs, and the rows alone are compared with rows in batches."""
    code, steps, behind, verdict = row
    x, mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    between = x * ops.cast(mask[..., None], "float32")
    for layer in re.findall(r"`([^`]+)`", code):
        between = eval(layer, {**vars(kl), "ClassToken": ClassToken})(between)
    given = eval(behind.replace("`<br>`", " "), {"keras": keras, "mask": mask})
    counts = keras.Model([x, mask], [between, given])
    random = np.random.default_rng(0)
    rows = [[random.normal(-1, 1, (n, 4)).astype("float32"), np.ones(n, bool)] for n in (10, 7, 5)]
    for values, kept in rows:
        states, mask_behind = counts.predict([values[None], kept[None]], verbose=0)
        expected = eval(steps.replace("2 T", "2 * T"), {"T": len(kept)})
        assert states.shape[1] == mask_behind.shape[1] == expected
    # Two statistics: a mean over other steps could be the same by chance.
    pooled = layers.StatisticsPooling1D()(between, mask=given)
    found = batch_independence(keras.Model([x, mask], pooled), rows)
    assert found.holds == (verdict == "yes"), str(found)
