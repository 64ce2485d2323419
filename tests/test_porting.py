"""Weights of other code in our layers: the ports of docs/guides/porting.md give the old numbers."""

import re
from pathlib import Path

import keras
import numpy as np
import pytest
from backend_functions import numpy

from keras_attnpool import layers

pytestmark = pytest.mark.every_backend

torch = pytest.importorskip("torch", reason="the ports are from torch")

PAGE = Path(__file__).parent.parent / "docs" / "guides" / "porting.md"
DIM, LENGTHS = 6, (5, 3, 1)
EQUAL = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(scope="module")
def guide():
    """What the guide defines: its executed blocks, and those that need torch."""
    names = {}
    for match in re.finditer(r"^```py(?:thon)?\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S):
        exec(match[1], names)
    return names


@pytest.fixture
def words():
    """Texts with garbage in the padding, and True where a word is."""
    rng = np.random.default_rng(0)
    mask = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]
    return rng.normal(size=(*mask.shape, DIM)).astype("float32"), mask


def drawn(module):
    """The module with weights and biases that are all different and not small."""
    torch.manual_seed(0)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return module.eval()


def alone(function, x):
    """A torch function of whole texts, each text alone and without its padding."""
    with torch.no_grad():
        rows = [
            function(torch.from_numpy(row[:n])[None])[0] for row, n in zip(x, LENGTHS, strict=True)
        ]
    return [row.numpy() for row in rows]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("heads", [1, 4])
def test_attention_of_two_linear_layers(guide, words, heads, bias):
    """Lin et al.'s structured self-attention, and with one head the attention of HAN."""
    x, mask = words
    hidden = drawn(torch.nn.Linear(DIM, 7, bias=bias))
    score = drawn(torch.nn.Linear(7, heads, bias=bias))

    def theirs(row):
        weights = torch.softmax(score(torch.tanh(hidden(row))), dim=1).transpose(1, 2)
        return (weights @ row).flatten(1)

    ours = guide["port_attention"](hidden, score)
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), alone(theirs, x), **EQUAL)


def test_word_attention_of_han(guide, words):
    x, mask = words
    hidden = drawn(torch.nn.Linear(DIM, 4))
    context = torch.nn.Parameter(torch.randn(4))

    def theirs(row):
        weights = torch.softmax(torch.tanh(hidden(row)) @ context, dim=1)
        return torch.einsum("bt,btd->bd", weights, row)

    ours = layers.AttentionPooling(hidden_dim=4)
    ours.build(x.shape)
    values = {
        "hidden/kernel": guide["numbers"](hidden.weight).T,
        "hidden/bias": guide["numbers"](hidden.bias),
        "context": guide["numbers"](context),
    }
    guide["assign"](ours, values)
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), alone(theirs, x), **EQUAL)


def test_multihead_attention_with_a_learned_query(guide, words):
    """Under its own mask, which is True at padding."""
    x, mask = words
    attention = drawn(torch.nn.MultiheadAttention(DIM, 2, batch_first=True))
    query = torch.nn.Parameter(torch.randn(1, 1, DIM))
    with torch.no_grad():
        rows = torch.from_numpy(x)
        output, weights = attention(
            query.expand(len(x), -1, -1),
            rows,
            rows,
            key_padding_mask=torch.from_numpy(~mask),
            average_attn_weights=False,
        )
    pooling, projection = guide["port_multihead"](attention, query)
    pooled, scores = pooling(x, mask=mask, return_attention_scores=True)
    np.testing.assert_allclose(numpy(projection(pooled)), output[:, 0].numpy(), **EQUAL)
    np.testing.assert_allclose(numpy(scores), weights[:, :, 0].numpy(), **EQUAL)


@pytest.mark.parametrize(
    ("make", "port"),
    [
        (lambda: torch.nn.GRU(DIM, 3, batch_first=True, bidirectional=True), "port_gru"),
        (
            lambda: torch.nn.LSTM(DIM, 3, num_layers=2, batch_first=True, bidirectional=True),
            "port_lstm",
        ),
    ],
    ids=["gru", "lstm"],
)
def test_recurrent_encoders(guide, words, make, port):
    """On packed texts, as torch's users feed them."""
    x, mask = words
    theirs = drawn(make())
    with torch.no_grad():
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            torch.from_numpy(x), torch.tensor(LENGTHS), batch_first=True
        )
        states, _ = torch.nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    ours = guide[port](theirs)
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), states.numpy(), **EQUAL)


def test_generalized_pooling_of_the_authors_layout(guide, words):
    """Heads side by side in the kernels, heads of a feature side by side in the vector."""
    x, mask = words
    heads, hidden = 3, 4
    rng = np.random.default_rng(1)
    w1, b1 = rng.normal(size=(DIM, heads * hidden)), rng.normal(size=heads * hidden)
    w2, b2 = rng.normal(size=(hidden, heads * DIM)), rng.normal(size=heads * DIM)
    dense = rng.normal(size=(DIM * heads, 2))
    expected = []
    for row, n in zip(x.astype("float64"), LENGTHS, strict=True):
        inner = np.maximum(row[:n] @ w1 + b1, 0).reshape(n, heads, hidden)
        scores = np.einsum("thd,dhf->tfh", inner, w2.reshape(hidden, heads, DIM))
        scores = np.exp(scores + b2.reshape(heads, DIM).T)
        pooled = (row[:n, :, None] * scores / scores.sum(axis=0)).sum(axis=0)  # (dim, heads)
        expected.append(pooled.reshape(-1) @ dense)
    ours = guide["port_generalized_pooling"](w1, b1, w2, b2, heads)
    behind = guide["rows_of_the_next_layer"](dense, heads)
    np.testing.assert_allclose(numpy(ours(x, mask=mask)) @ behind, expected, **EQUAL)


def test_lama_of_the_public_code(guide, words):
    """The mean of the words is the context, and a word's scores have length 1 over the heads."""
    x, mask = words
    rng = np.random.default_rng(1)
    p, q = rng.normal(size=(DIM, 3)), rng.normal(size=(DIM, 3))
    expected = []
    for row, n in zip(x.astype("float64"), LENGTHS, strict=True):
        scores = np.tanh((p.T @ row[:n].mean(axis=0))[:, None] * (q.T @ row[:n].T))
        scores = np.exp(scores / np.linalg.norm(scores, axis=0))
        expected.append((scores / scores.sum(axis=1, keepdims=True) @ row[:n]).reshape(-1))
    ours = layers.LowRankAttentionPooling(3, use_hidden=False)
    ours.build(x.shape)
    guide["assign"](ours, {"context_kernel": p, "token_kernel": q})
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), expected, **EQUAL)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def read_by_lstm(row, kernel, recurrent, bias):
    """The states of an LSTM whose gates lie in the order input, forget, output, cell."""
    h = c = np.zeros(len(recurrent))
    states = []
    for step in row:
        i, f, o, g = np.split(step @ kernel + h @ recurrent + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def test_the_encoder_of_generalized_pooling(guide, words):
    """Gates in Theano's order; the upper layer reads states, then words."""
    x, mask = words
    units = 3
    rng = np.random.default_rng(1)
    theirs = {
        f"{name}_{n}": [
            rng.normal(size=(dim, 4 * units)),
            rng.normal(size=(units, 4 * units)),
            rng.normal(size=4 * units),
        ]
        for n, dim in ((1, DIM), (2, 2 * units + DIM))
        for name in ("forward", "backward")
    }
    expected = np.zeros((len(x), max(LENGTHS), 2 * units))
    for place, (row, n) in enumerate(zip(x.astype("float64"), LENGTHS, strict=True)):
        read = row[:n]
        for level in (1, 2):
            forward = read_by_lstm(read, *theirs[f"forward_{level}"])
            backward = read_by_lstm(read[::-1], *theirs[f"backward_{level}"])[::-1]
            states = np.concatenate([forward, backward], axis=1)
            read = np.concatenate([states, row[:n]], axis=1)
        expected[place, :n] = states

    def gates(weight):
        i, f, o, g = np.split(weight, 4, axis=-1)
        return np.concatenate([i, f, g, o], axis=-1)

    values = {}
    for name, (kernel, recurrent, bias) in theirs.items():
        if name.endswith("2"):
            kernel = np.concatenate([kernel[2 * units :], kernel[: 2 * units]])
        values[f"{name}/lstm_cell/kernel"] = gates(kernel)
        values[f"{name}/lstm_cell/recurrent_kernel"] = gates(recurrent)
        values[f"{name}/lstm_cell/bias"] = gates(bias)
    ours = layers.ShortcutStackedBiLSTM(units, 2)
    ours.build(x.shape)
    guide["assign"](ours, values)
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), expected, **EQUAL)


def test_attention_of_zhou(guide, words):
    """`tanh(H softmax(w^T tanh(H)))`, without a mask: each text by itself."""
    x, mask = words
    context = np.random.default_rng(1).normal(size=DIM)
    expected = []
    for row, n in zip(x.astype("float64"), LENGTHS, strict=True):
        scores = np.exp(np.tanh(row[:n]) @ context)
        expected.append(np.tanh(scores / scores.sum() @ row[:n]))
    ours = layers.AttentionPooling(output_activation="tanh")
    ours.build(x.shape)
    guide["assign"](ours, {"context": context})
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), expected, **EQUAL)


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def additive_rows(row, w, sees, score):
    """Softmax over the words that each may see, each feature by itself; zeros without any."""
    h = elu(row @ w["hidden/kernel"] + w["hidden/bias"])
    sums = (h @ w["source_kernel"])[None] + (h @ w["target_kernel"])[:, None] + w["score_bias"]
    exps = np.exp(score(sums)) * sees(*np.indices((len(row), len(row))))[..., None]
    total = exps.sum(axis=1)
    return h, (exps * h[None]).sum(axis=1) / np.where(total > 0, total, 1)


def drawn_for(layer, x):
    """Random weights by name for a layer that is built for `x`."""
    layer.build(x.shape)
    rng = np.random.default_rng(1)
    return {
        weight.path.partition("/")[2]: rng.normal(size=weight.shape) for weight in layer.weights
    }


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_disan(guide, words, direction):
    """`5 tanh(... / 5)`; forward looks at the words before; the gate mixes word and attention."""
    x, mask = words
    ours = layers.DirectionalSelfAttention(4, direction)
    w = drawn_for(ours, x)
    guide["assign"](ours, w)
    found = numpy(ours(x, mask=mask))
    for row, n, output in zip(x.astype("float64"), LENGTHS, found, strict=True):
        h, s = additive_rows(
            row[:n],
            w,
            lambda query, key: key < query if direction == "forward" else key > query,
            lambda sums: 5 * np.tanh(sums / 5),
        )
        logits = h @ w["gate/inputs_kernel"] + w["gate/inputs_bias"] + w["gate/output_bias"]
        gate = sigmoid(logits + s @ w["gate/attention_kernel"] + w["gate/attention_bias"])
        np.testing.assert_allclose(output[:n], gate * h + (1 - gate) * s, **EQUAL)


def test_mpsan(guide, words):
    """`5 tanh(... / 5)` within a window of one word to either side."""
    x, mask = words
    ours = layers.PositionalSelfAttention(
        4, ("faraway_1",), score_activation="tanh", rescale_scores=True
    )
    w = drawn_for(ours, x)
    guide["assign"](ours, w)
    found = numpy(ours(x, mask=mask))
    for row, n, output in zip(x.astype("float64"), LENGTHS, found, strict=True):
        _, s = additive_rows(
            row[:n],
            w,
            lambda query, key: abs(query - key) == 1,
            lambda sums: 5 * np.tanh(sums / 5),
        )
        np.testing.assert_allclose(output[:n], s, **EQUAL)


def test_lama_of_the_first_public_code(guide, words):
    """A learned context, neither hidden layer nor l2 step; `_p`, `_q` and `_c` as they are."""
    x, mask = words
    rng = np.random.default_rng(1)
    p, q, c = rng.normal(size=(DIM, 3)), rng.normal(size=(DIM, 3)), rng.normal(size=(DIM, 1))
    expected = []
    for row, n in zip(x.astype("float64"), LENGTHS, strict=True):
        scores = np.exp(np.tanh((p.T @ c) * (q.T @ row[:n].T)))
        expected.append((scores / scores.sum(axis=1, keepdims=True) @ row[:n]).reshape(-1))
    ours = layers.LowRankAttentionPooling(
        3, context="learned", use_hidden=False, l2_normalize=False
    )
    ours.build(x.shape)
    guide["assign"](ours, {"context_kernel": p, "token_kernel": q, "context": c[:, 0]})
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), expected, **EQUAL)


def test_a_gate_in_the_wrong_place_is_seen(guide, words):
    """Without the new order of the gates the numbers are others: the test above can fail."""
    x, mask = words
    theirs = drawn(torch.nn.GRU(DIM, 3, batch_first=True, bidirectional=True))
    ours = guide["port_gru"](theirs)
    right = numpy(ours(x, mask=mask))
    kernel = next(w for w in ours.weights if w.path.endswith("forward/gru_cell/kernel"))
    kernel.assign(guide["numbers"](theirs.weight_ih_l0).T)
    assert np.abs(numpy(ours(x, mask=mask)) - right).max() > 0.01


def test_embedding_weights_fit_as_they_are(words):
    theirs = drawn(torch.nn.Embedding(5, 3))
    ours = keras.layers.Embedding(5, 3, mask_zero=True)
    ours.build()
    ours.set_weights([theirs.weight.detach().numpy()])
    ids = np.array([[3, 1, 0]])
    np.testing.assert_array_equal(numpy(ours(ids)), theirs(torch.from_numpy(ids)).detach().numpy())
