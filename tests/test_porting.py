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
PORTED: set[str] = set()
"""The rows of the page's two tables, by their first cells, for which there are tests."""


def ports(*rows):
    """Notes that the test is that of these rows."""

    def noted(test):
        PORTED.update(rows)
        return test

    return noted


def test_each_row_has_a_test():
    """Both tables of the page; the last row of the first one stands for the second."""
    page = PAGE.read_text("utf-8")
    rows = []
    for anchor in ("table", "papers"):
        table = re.search(rf"{{ #{anchor} }}\n.*?^ *\|--.*?\n(.*?)\n\n", page, re.M | re.S)[1]
        rows += [line.strip("| ").split(" | ")[0].replace("`", "") for line in table.splitlines()]
    rows.remove("the papers' own code")
    assert len(set(rows)) == len(rows)
    assert set(rows) == PORTED


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
            function(torch.from_numpy(row[:n])[None])[0] for row, n in zip(x, LENGTHS, strict=False)
        ]
    return [row.numpy() for row in rows]


@ports(
    "nn.Sequential(Linear, Tanh, Linear(1)), softmax over words (torch)",
    "the same with nn.Linear(hidden, heads) (Lin et al.)",
)
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


@ports("nn.Linear(dim, 1) or a query vector, softmax over words (torch)")
def test_attention_of_one_linear_layer(guide, words):
    """Its bias is cancelled; its weight is the query vector."""
    x, mask = words
    score = drawn(torch.nn.Linear(DIM, 1))
    ours = layers.AttentionPooling(activation="linear")
    ours.build(x.shape)
    guide["assign"](ours, {"context": guide["numbers"](score.weight)[0]})
    expected = alone(lambda row: (torch.softmax(score(row), dim=1) * row).sum(1), x)
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), expected, **EQUAL)


@ports("(x * mask).sum(1) / mask.sum(1)", "x.masked_fill(~mask, -inf).max(1)")
def test_poolings_without_weights(words):
    x, mask = words
    rows, kept = torch.from_numpy(x), torch.from_numpy(mask)[..., None]
    average = (rows * kept).sum(1) / kept.sum(1)
    mean = numpy(layers.MaskedAveragePooling1D()(x, mask=mask))
    np.testing.assert_allclose(mean, average.numpy(), **EQUAL)
    highest = rows.masked_fill(~kept, -float("inf")).max(1).values
    maximum = numpy(layers.MaskedMaxPooling1D()(x, mask=mask))
    np.testing.assert_array_equal(maximum, highest.numpy())


@pytest.fixture
def others():
    """Texts for what the page transcribes, other than its own: with holes."""
    mask = np.array([[True, False, True, True], [False, True, False, False]])
    return np.random.default_rng(2).normal(size=(2, 4, 8)).astype("float32"), mask


@ports("SeqWeightedAttention() (keras-self-attention)")
def test_seq_weighted_attention(guide, others):
    x, mask = others
    ours = layers.AttentionPooling(activation="linear")
    ours.build(x.shape)
    guide["assign"](ours, {"context": guide["weight"][:, 0]})
    expected = guide["seq_weighted_attention"](x, mask)
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), expected, **EQUAL)


@ports("SeqSelfAttention(units) (keras-self-attention)")
def test_seq_self_attention(guide, others):
    x, mask = others
    states, vectors = (numpy(output) for output in guide["model"]([x, mask]))
    expected = guide["seq_self_attention"](x, mask)
    np.testing.assert_allclose(states[mask], expected[mask], **EQUAL)
    means = [row[kept].mean(axis=0) for row, kept in zip(expected, mask, strict=True)]
    np.testing.assert_allclose(vectors, means, **EQUAL)


@ports("tanh, K.dot with a context vector, softmax, sum (Keras 2)", "HAN (Keras 2)")
def test_attention_of_keras_2(guide, others):
    """HAN's too: words have a mask, sentences have none, so that those of padding count."""
    x, mask = others
    w, b, u = guide["W"], guide["b"], guide["u"]

    def theirs(x, mask):
        weights = np.exp(np.tanh(x @ w + b) @ u[:, None])[..., 0] * mask
        weights /= weights.sum(axis=1, keepdims=True) + 1e-7
        return (x * weights[..., None]).sum(axis=1)

    np.testing.assert_allclose(theirs(x, mask), guide["snippet"](x, mask), **EQUAL)
    ours = layers.AttentionPooling(hidden_dim=8)
    ours.build(x.shape)
    guide["assign"](ours, {"hidden/kernel": w, "hidden/bias": b, "context": u})
    # A document of two sentences and two of padding.
    x, mask = np.concatenate([x, x]), np.concatenate([mask, np.zeros_like(mask)])
    sentences = numpy(ours(x, mask=mask))
    np.testing.assert_allclose(sentences, theirs(x, mask), **EQUAL)
    np.testing.assert_array_equal(sentences[2:], 0)
    document = theirs(sentences[None], 1)
    np.testing.assert_allclose(numpy(ours(sentences[None])), document, **EQUAL)
    kept = numpy(ours(sentences[None], mask=mask.any(axis=1)[None]))
    assert not np.allclose(kept, document, **EQUAL)


@ports("HAN (PyTorch)")
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


@ports("nn.MultiheadAttention with a learned query (torch)")
def test_multihead_attention_with_a_learned_query(guide, words):
    """Under its own mask, which is True at padding."""
    x, mask = words
    attention = drawn(torch.nn.MultiheadAttention(DIM, 2, batch_first=True))
    query = torch.nn.Parameter(torch.randn(1, 3, DIM))
    with torch.no_grad():
        rows = torch.from_numpy(x)
        output, weights = attention(
            query.expand(len(x), -1, -1),
            rows,
            rows,
            key_padding_mask=torch.from_numpy(~mask),
            average_attn_weights=False,
        )
    pooling = guide["port_multihead"](attention, query)
    pooled, scores = pooling(x, mask=mask, return_attention_scores=True)
    np.testing.assert_allclose(numpy(pooled), output.flatten(1).numpy(), **EQUAL)
    np.testing.assert_allclose(numpy(scores), weights.transpose(1, 2).numpy(), **EQUAL)


def randomly(layer):
    """The layer with weights that are all different and not small."""
    rng = np.random.default_rng(1)
    for weight in layer.weights:
        weight.assign(0.5 * rng.normal(size=weight.shape))
    return layer


@ports("keras.layers.MultiHeadAttention with a probe")
def test_keras_attention_with_a_probe(guide, words):
    x, mask = words
    attention = keras.layers.MultiHeadAttention(3, 4)
    probe = np.random.default_rng(2).normal(size=(1, 2, DIM))
    probe = keras.ops.convert_to_tensor(probe, "float32")
    attention.build((3, 2, DIM), x.shape)
    output, weights = randomly(attention)(
        keras.ops.repeat(probe, len(x), axis=0),
        x,
        attention_mask=keras.ops.convert_to_tensor(mask[:, None]),
        return_attention_scores=True,
    )
    ours = guide["port_probe"](attention, probe)
    pooled, scores = ours(x, mask=mask, return_attention_scores=True)
    close = {"rtol": 0, "atol": 2e-6}
    np.testing.assert_allclose(numpy(pooled), numpy(output).reshape(3, -1), **close)
    np.testing.assert_allclose(numpy(scores), numpy(weights).swapaxes(1, 2), **close)


@ports("SigLIPMultiHeadAttentionPooling (KerasHub)")
@pytest.mark.parametrize("activation", ["gelu", "gelu_approximate"])
def test_siglips_head(guide, words, activation):
    """At the sizes of a small one, without padding: it takes no mask."""
    siglip = pytest.importorskip("keras_hub.src.models.siglip.siglip_layers")
    x = words[0]
    head = siglip.SigLIPMultiHeadAttentionPooling(DIM, 10, 2, activation)
    head.build(x.shape)
    expected = numpy(randomly(head)(x))
    ours = guide["port_probe"](
        head.attention, head.probe, head.layer_norm, head.mlp.fc1, head.mlp.fc2
    )
    np.testing.assert_allclose(numpy(ours(x)), expected, rtol=0, atol=2e-6)


@ports("AttentionPoolLatent (timm)")
def test_a_latent_query_of_timm(guide, words):
    """Its formula, written with torch: attention of the latent, then x + mlp(norm(x))."""
    nn, heads = torch.nn, 2
    pool, norm = nn.Module(), drawn(nn.LayerNorm(DIM, eps=1e-6))
    pool.latent = nn.Parameter(torch.zeros(1, 2, DIM))
    pool.q, pool.kv, pool.proj = nn.Linear(DIM, DIM), nn.Linear(DIM, 2 * DIM), nn.Linear(DIM, DIM)
    pool.mlp = nn.Module()
    pool.mlp.fc1, pool.mlp.fc2 = nn.Linear(DIM, 10), nn.Linear(10, DIM)
    drawn(pool)

    def latent(x):
        q = pool.q(pool.latent).unflatten(2, (heads, -1)).transpose(1, 2)
        k, v = (each.unflatten(2, (heads, -1)).transpose(1, 2) for each in pool.kv(x).chunk(2, 2))
        weights = torch.softmax(q @ k.transpose(2, 3) / (DIM / heads) ** 0.5, dim=3)
        y = pool.proj((weights @ v).transpose(1, 2).flatten(2))
        y = y + pool.mlp.fc2(nn.functional.gelu(pool.mlp.fc1(norm(y))))
        return y.flatten(1)

    x, mask = words
    ours = guide["port_latent"](pool, heads, norm)
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), alone(latent, x), **EQUAL)


@ports("gated attention of bags: attention_V, attention_U, attention_weights (AMLab, torch)")
def test_gated_attention_of_bags(guide, words):
    hidden, gate, score = (drawn(torch.nn.Linear(*n)) for n in ((DIM, 4), (DIM, 4), (4, 1)))

    def pooled(x):
        weights = torch.softmax(score(torch.tanh(hidden(x)) * torch.sigmoid(gate(x))), dim=1)
        return (weights * x).sum(dim=1)

    x, mask = words
    ours = guide["port_gated"](hidden, gate, score)
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), alone(pooled, x), **EQUAL)


@ports("ASTP (wespeaker)")
@pytest.mark.parametrize("context", [False, True])
def test_attentive_statistics_of_wespeaker(guide, words, context):
    """With its context's deviation taken over n steps: theirs divides by n - 1."""
    pool = torch.nn.Module()
    pool.linear1 = torch.nn.Conv1d((1 + 2 * context) * DIM, 4, 1)
    pool.linear2 = torch.nn.Conv1d(4, DIM, 1)
    drawn(pool)

    def pooled(x):
        x = x.transpose(1, 2)
        mean = x.mean(dim=2, keepdim=True)
        deviation = torch.sqrt(x.var(dim=2, keepdim=True, unbiased=False) + 1e-10)
        read = torch.cat([x, mean.expand_as(x), deviation.expand_as(x)], 1) if context else x
        weights = torch.softmax(pool.linear2(torch.tanh(pool.linear1(read))), dim=2)
        mean = (weights * x).sum(dim=2)
        variance = (weights * x**2).sum(dim=2) - mean**2
        return torch.cat([mean, torch.sqrt(variance.clamp(min=1e-10))], dim=1)

    x, mask = words
    x, mask = x[:2], mask[:2]  # a deviation of one step is nothing but the least variance
    ours = guide["port_astp"](pool)
    found = numpy(ours(x, mask=mask))
    np.testing.assert_allclose(found, alone(pooled, x), **EQUAL)


@ports("nn.GRU(bidirectional=True) (torch)", "nn.LSTM(num_layers=n, bidirectional=True) (torch)")
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


@ports("Generalized Pooling (Theano)")
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


@ports("LAMA (PyTorch, unofficial)")
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


def read_by_lstm(row, kernel, recurrent, bias, order):
    """The states of an LSTM whose gates input, forget, cell (g), output lie in that order."""
    h = c = np.zeros(len(recurrent))
    states = []
    for step in row:
        gates = dict(zip(order, np.split(step @ kernel + h @ recurrent + bias, 4), strict=True))
        c = sigmoid(gates["f"]) * c + sigmoid(gates["i"]) * np.tanh(gates["g"])
        h = sigmoid(gates["o"]) * np.tanh(c)
        states.append(h)
    return np.array(states)


def in_our_order(weight, order):
    """The gates of an LSTM's weight as Keras has them."""
    gates = dict(zip(order, np.split(weight, 4, axis=-1), strict=True))
    return np.concatenate([gates[gate] for gate in "ifgo"], axis=-1)


@ports("its encoder")
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
            forward = read_by_lstm(read, *theirs[f"forward_{level}"], "ifog")
            backward = read_by_lstm(read[::-1], *theirs[f"backward_{level}"], "ifog")[::-1]
            states = np.concatenate([forward, backward], axis=1)
            read = np.concatenate([states, row[:n]], axis=1)
        expected[place, :n] = states

    values = {}
    for name, (kernel, recurrent, bias) in theirs.items():
        if name.endswith("2"):
            kernel = np.concatenate([kernel[2 * units :], kernel[: 2 * units]])
        values[f"{name}/lstm_cell/kernel"] = in_our_order(kernel, "ifog")
        values[f"{name}/lstm_cell/recurrent_kernel"] = in_our_order(recurrent, "ifog")
        values[f"{name}/lstm_cell/bias"] = in_our_order(bias, "ifog")
    ours = layers.ShortcutStackedBiLSTM(units, 2)
    ours.build(x.shape)
    guide["assign"](ours, values)
    np.testing.assert_allclose(numpy(ours(x, mask=mask)), expected, **EQUAL)


@ports("Zhou et al. (TensorFlow 1)")
def test_zhou(guide, words):
    """Both ways summed, then `tanh(H softmax(w^T tanh(H)))`, where padding counts as zeros."""
    x, mask = words
    rng = np.random.default_rng(1)
    context = rng.normal(size=3)
    values = {}
    states = np.zeros((*mask.shape, 3))
    for name, step in (("forward", 1), ("backward", -1)):
        # One matrix for words and states; 1 is added to the forget gate.
        kernel, bias = rng.normal(size=(DIM + 3, 12)), rng.normal(size=12)
        forget = bias + np.repeat([0, 0, 1, 0], 3)
        for place, n in enumerate(LENGTHS):
            row = x[place, :n].astype("float64")[::step]
            read = read_by_lstm(row, kernel[:DIM], kernel[DIM:], forget, "igfo")
            states[place, :n] += read[::step]
        values[f"{name}_1/lstm_cell/kernel"] = in_our_order(kernel[:DIM], "igfo")
        values[f"{name}_1/lstm_cell/recurrent_kernel"] = in_our_order(kernel[DIM:], "igfo")
        values[f"{name}_1/lstm_cell/bias"] = in_our_order(forget, "igfo")

    def attended(row):
        scores = np.exp(np.tanh(row) @ context)
        return np.tanh(scores / scores.sum() @ row)

    encoder = layers.ShortcutStackedBiLSTM(3, 1, merge_mode="sum")
    encoder.build(x.shape)
    guide["assign"](encoder, values)
    pooling = layers.AttentionPooling(output_activation="tanh")
    pooling.build(states.shape)
    guide["assign"](pooling, {"context": context})
    encoded = encoder(x, mask=mask)
    np.testing.assert_allclose(numpy(encoded), states, **EQUAL)
    expected = [attended(row[:n]) for row, n in zip(states, LENGTHS, strict=True)]
    np.testing.assert_allclose(numpy(pooling(encoded, mask=mask)), expected, **EQUAL)
    padded = [attended(row) for row in states]
    assert [np.allclose(*pair, **EQUAL) for pair in zip(padded, expected, strict=True)] == [
        n == len(row) for row, n in zip(states, LENGTHS, strict=True)
    ]


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


def bounded(sums):
    return 5 * np.tanh(sums / 5)


SEES = {"forward": lambda query, key: key < query, "backward": lambda query, key: key > query}


def disan_unit(row, w, direction):
    """Forward looks at the words before; the gate mixes word and attention."""
    h, s = additive_rows(row, w, SEES[direction], bounded)
    logits = h @ w["gate/inputs_kernel"] + w["gate/inputs_bias"] + w["gate/output_bias"]
    gate = sigmoid(logits + s @ w["gate/attention_kernel"] + w["gate/attention_bias"])
    return gate * h + (1 - gate) * s


@ports("DiSAN (TensorFlow 1)")
@pytest.mark.parametrize("direction", SEES)
def test_disan(guide, words, direction):
    x, mask = words
    ours = layers.DirectionalSelfAttention(4, direction=direction)
    w = drawn_for(ours, x)
    guide["assign"](ours, w)
    outputs = numpy(ours(x, mask=mask))
    for row, n, output in zip(x.astype("float64"), LENGTHS, outputs, strict=True):
        np.testing.assert_allclose(output[:n], disan_unit(row[:n], w, direction), **EQUAL)


def bi_blosan(row, n, w, direction, length):
    """The `n` words of a text that is padded; its blocks of padding are attended to."""
    count = -(-len(row) // length)
    steps = np.zeros((count * length, row.shape[1]))
    steps[: len(row)] = row
    words, vectors = [], []
    for number, block in enumerate(np.split(steps, count)):
        real = np.arange(length) + number * length < n

        def sees(query, key, real=real):
            return SEES[direction](query, key) & real[query] & real[key]

        h, s = additive_rows(block, w, sees, bounded)
        logits = s @ w["block_kernel"] + w["block_bias"] - 1e30 * ~real[:, None]
        weights = np.exp(logits - logits.max(axis=0))
        vectors.append((weights * s).sum(axis=0) / weights.sum(axis=0))
        words.append(np.concatenate([h, s], axis=1))
    inter = {name[len("inter/") :]: value for name, value in w.items() if name.startswith("inter/")}
    between = disan_unit(np.stack(vectors), inter, direction)
    every = np.concatenate(words)
    z = np.concatenate([every, np.repeat(between, length, axis=0)], axis=1)
    # One matrix there: what is fused, then its gate.
    kernel = np.concatenate([w["fusion_kernel"], w["gate_kernel"]], axis=1)
    fused, gate = np.split(z @ kernel, 2, axis=1)
    gate = sigmoid(gate + w["gate_bias"])
    h = every[:, : every.shape[1] // 2]
    return (gate * elu(fused + w["fusion_bias"]) + (1 - gate) * h)[:n]


@ports("Bi-BloSAN (TensorFlow 1)")
@pytest.mark.parametrize("direction", SEES)
@pytest.mark.parametrize("length", [None, 2])
def test_bi_blosan(guide, words, direction, length):
    """Equal where a text is alone; in a batch with the same blocks, forward only."""
    x, mask = words
    ours = layers.BlockSelfAttention(4, direction=direction, block_length=length)
    w = drawn_for(ours, x)
    guide["assign"](ours, w)
    outputs = numpy(ours(x, mask=mask))

    def blocks_of(n):
        return length or int(np.ceil(np.cbrt(2 * n) - 1e-6))

    equal = []
    for row, n, output in zip(x.astype("float64"), LENGTHS, outputs, strict=True):
        expected = bi_blosan(row[:n], n, w, direction, blocks_of(n))
        np.testing.assert_allclose(output[:n], expected, **EQUAL)
        padded = bi_blosan(row * mask[0][:, None], n, w, direction, blocks_of(len(row)))
        equal.append(np.allclose(padded, expected, **EQUAL))
    assert equal[0]
    assert all(equal) == (direction == "forward" and length is not None)


def softmax(scores):
    """Over the last axis, by which what is exactly 0 counts as padding."""
    scores = np.where(scores == 0, -1000, scores)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return scores / scores.sum(axis=-1, keepdims=True)


def hcan_sentence(row, n, self_attention, norm, target_attention, heads):
    """A sentence's vector: two attentions, their product, its norm, and the learned target."""

    def convolved(x, w, name, activation=elu):
        around = np.pad(x, ((1, 1), (0, 0)))
        windows = sum(around[i : i + len(x)] @ w[f"{name}_kernel"][i] for i in range(3))
        return activation(windows + w[f"{name}_bias"]) * (np.arange(len(x)) < n)[:, None]

    def attended(query, key, value):
        parts = (np.split(x, heads, axis=1) for x in (query, key, value))
        size = key.shape[1] // heads
        return np.concatenate(
            [softmax(q @ k.T / np.sqrt(size)) @ v for q, k, v in zip(*parts, strict=True)], axis=1
        )

    w = self_attention
    product = 1
    for prefix, activation in (("", elu), ("parallel_", np.tanh)):
        query, key = convolved(row, w, prefix + "query"), convolved(row, w, prefix + "key")
        other = attended(query, key, convolved(row, w, prefix + "value", activation))
        product = product * other * (np.arange(len(row)) < n)[:, None]
    gamma, beta = norm
    states = (product - product.mean()) / np.sqrt(product.var() + 1e-12) * gamma + beta
    w = target_attention
    pooled = attended(w["target"][None], convolved(states, w, "key"), states)
    return states[:n], pooled[0]


@ports("HCAN (TensorFlow 1)")
def test_hcan(guide, words):
    """Equal where a sentence has no padding, which counts in the layer norm there."""
    x, mask = words
    heads, filters = 2, 4
    attention = layers.ConvMultiHeadAttention(heads, filters, layer_norm=False)
    w = drawn_for(attention, x)
    guide["assign"](attention, w)
    attended_states = numpy(attention(x, mask=mask)).astype("float64")
    pooling = layers.ConvAttentionPooling(heads, filters, value_conv=False)
    target = drawn_for(pooling, attended_states)
    guide["assign"](pooling, target)
    norm = np.random.default_rng(2).normal(size=(2, filters))
    states, expected = np.full_like(attended_states, np.nan), []
    for place, (row, n) in enumerate(zip(x.astype("float64"), LENGTHS, strict=True)):
        normed, pooled = hcan_sentence(row[:n], n, w, norm, target, heads)
        expected.append(pooled)
        product = attended_states[place, :n]
        states[place, :n] = (product - product.mean()) / product.std() * norm[0] + norm[1]
        np.testing.assert_allclose(states[place, :n], normed, rtol=0, atol=1e-4)
        _, padded = hcan_sentence(row * mask[place][:, None], n, w, norm, target, heads)
        assert np.allclose(padded, pooled, **EQUAL) == (n == len(row))
    vectors = numpy(pooling(states.astype("float32"), mask=mask))
    np.testing.assert_allclose(vectors, expected, **EQUAL)


@ports("MPSAN (TensorFlow 1)")
def test_mpsan(guide, words):
    """`5 tanh(... / 5)` within a window of one word to either side."""
    x, mask = words
    ours = layers.PositionalSelfAttention(
        4, positions=("faraway_1",), score_activation="tanh", rescale_scores=True
    )
    w = drawn_for(ours, x)
    guide["assign"](ours, w)
    outputs = numpy(ours(x, mask=mask))
    for row, n, output in zip(x.astype("float64"), LENGTHS, outputs, strict=True):
        _, s = additive_rows(row[:n], w, lambda query, key: abs(query - key) == 1, bounded)
        np.testing.assert_allclose(output[:n], s, **EQUAL)


@ports("LAMA (PyTorch, unofficial, with a _c: until December 2019)")
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


def test_embedding_weights_fit_as_they_are(words):
    theirs = drawn(torch.nn.Embedding(5, 3))
    ours = keras.layers.Embedding(5, 3, mask_zero=True)
    ours.build()
    ours.set_weights([theirs.weight.detach().numpy()])
    ids = np.array([[3, 1, 0]])
    np.testing.assert_array_equal(numpy(ours(ids)), theirs(torch.from_numpy(ids)).detach().numpy())
