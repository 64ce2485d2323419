"""Trains the models of the site's explorer of attention, and writes them as JavaScript.

    KERAS_BACKEND=jax python tools/explorer_model.py    # some minutes on two cores

There are two, by what a word's vector knows: in "words" it is the word's embedding, in "context"
the state of a bidirectional GRU there. Every pooling of `POOLINGS` makes its vector of these, a
classifier of its own reads the stars of generated reviews from that, and all of a model are trained
at once. The file, `docs/assets/explorer/model.js`, holds the words, the weights as whole numbers of
eight bits with a scale for each array, what share of unseen reviews each pooling gets right
with just these, and the sentences of `docs/assets/sentences.tsv`.
"""

import base64
import json
from pathlib import Path

import keras
import numpy as np

from keras_attnpool import layers
from keras_attnpool.workbench.corpora import reviews
from keras_attnpool.workbench.text import WordTokenizer

FILE = Path(__file__).resolve().parents[1] / "docs" / "assets" / "explorer" / "model.js"
SENTENCES = FILE.parent.parent / "sentences.tsv"
START = "globalThis.explorerModel = "
HEADS, RANKS = (1, 2, 4), (1, 2, 4)
READERS = ("words", "context")
EMBEDDING, UNITS, HIDDEN, REDUCTION, CLASSES = 16, 12, 16, 4, 5
STEP = 16
# Names of the JavaScript, which looks for weights by them.
POOLINGS = {
    "mean": layers.MaskedAveragePooling1D,
    "max": layers.MaskedMaxPooling1D,
    "attention": lambda: layers.AttentionPooling(HIDDEN),
    **{
        f"lama-{heads}-{rank}": lambda heads=heads, rank=rank: layers.LowRankAttentionPooling(
            heads, rank
        )
        for heads in HEADS
        for rank in RANKS
    },
    **{
        f"generalized-{heads}": lambda heads=heads: layers.GeneralizedPooling(heads, HIDDEN)
        for heads in HEADS
    },
    "sam": lambda: layers.SequentialAttention(reduction=REDUCTION, mode="pointwise"),
}


def build(reader, vocabulary_size):
    """A model, its encoder, and its poolings and classifiers by the names of the poolings."""
    tokens = keras.Input((None,), dtype="int32")
    states = keras.layers.Embedding(vocabulary_size, EMBEDDING, mask_zero=True, name="embedding")(
        tokens
    )
    if reader == "context":
        states = layers.BidirectionalGRU(UNITS, name="encoder")(states)
    poolings = {name: make() for name, make in POOLINGS.items()}
    classifiers = {
        name: keras.layers.Dense(CLASSES, activation="softmax", name=name) for name in POOLINGS
    }
    outputs = {name: classifiers[name](poolings[name](states)) for name in POOLINGS}
    return keras.Model(tokens, outputs), keras.Model(tokens, states), poolings, classifiers


def named_weights(reader, parts):
    """The variables of a model, by the names that the file gives them."""
    model, _, poolings, classifiers = parts
    found = {"embedding": model.get_layer("embedding").embeddings}
    if reader == "context":
        encoder = model.get_layer("encoder")
        for direction, gru in (
            ("forward", encoder.forward_gru),
            ("backward", encoder.backward_gru),
        ):
            found[f"{direction}/kernel"] = gru.cell.kernel
            found[f"{direction}/recurrent"] = gru.cell.recurrent_kernel
            found[f"{direction}/bias"] = gru.cell.bias
    for name, pooling in poolings.items():
        root = f"{pooling.name}/"
        for weight in pooling.weights:
            found[f"{name}/{weight.path.split(root, 1)[1]}"] = weight
        found[f"{name}/kernel"] = classifiers[name].kernel
        found[f"{name}/bias"] = classifiers[name].bias
    return {f"{reader}/{name}": variable for name, variable in found.items()}


def packed(variables):
    """Each array's shape and scale, and all their eight-bit numbers one after the other."""
    table, numbers = {}, []
    for name, variable in variables.items():
        values = keras.ops.convert_to_numpy(variable)
        scale = float(np.abs(values).max() / 127) or 1.0
        table[name] = [list(values.shape), float(f"{scale:.6g}")]
        numbers.append(np.round(values / table[name][1]).clip(-127, 127).astype("int8").ravel())
    return table, base64.b64encode(np.concatenate(numbers).tobytes()).decode()


def unpacked(content):
    """The arrays of a file's content, as its readers see them: float32."""
    numbers = np.frombuffer(base64.b64decode(content["numbers"]), "int8")
    arrays, start = {}, 0
    for name, (shape, scale) in content["weights"].items():
        stop = start + int(np.prod(shape))
        arrays[name] = (numbers[start:stop].astype("float32") * np.float32(scale)).reshape(shape)
        start = stop
    return arrays


def load(path=FILE):
    """The content of the file, and by reader the parts of the models that it holds."""
    content = json.loads(path.read_text(encoding="utf-8").removeprefix(START).rstrip(";\n"))
    arrays = unpacked(content)
    models = {reader: build(reader, len(content["words"])) for reader in READERS}
    for reader, parts in models.items():
        for name, variable in named_weights(reader, parts).items():
            variable.assign(arrays[name])
    return content, models


def sentences():
    """The sentences that this project's examples use: `(stars, text)`."""
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    return [(int(label[0]), text) for label, text in (line.split("\t") for line in lines)]


def texts(size, seed):
    """Reviews of one sentence or more, as readers type them."""
    half = [
        reviews(size // 2, seed=seed + place, sentences=sentences)
        for place, sentences in enumerate([(1, 2), (2, 5)])
    ]
    return half[0].texts + half[1].texts, np.concatenate([part.labels for part in half])


def train(reader, ids, labels, vocabulary_size, epochs=8, batch_size=64, unknown=0.03):
    """Trains a model; words are unknown now and then, so that those that are say little."""
    keras.utils.set_random_seed(1)
    generator = np.random.default_rng(1)
    lengths = (ids > 0).sum(axis=1)
    parts = model, *_ = build(reader, vocabulary_size)
    model.compile(keras.optimizers.Adam(), "sparse_categorical_crossentropy")
    steps = len(ids) // batch_size
    for epoch in range(epochs):
        model.optimizer.learning_rate = 4e-3 * (1 - epoch / epochs) + 2e-4
        # Texts of like length together, padded to one of few lengths: each is compiled once.
        order = np.argsort(lengths + generator.uniform(0, 6, len(ids)))[: steps * batch_size]
        losses = []
        for rows in generator.permutation(order.reshape(steps, batch_size)):
            batch = ids[rows, : -(-lengths[rows].max() // STEP) * STEP]
            batch = np.where((batch > 0) & (generator.random(batch.shape) < unknown), 1, batch)
            loss = model.train_on_batch(batch, dict.fromkeys(POOLINGS, labels[rows]))
            losses.append(loss[0] if isinstance(loss, list) else loss)
        print(f"{reader}, epoch {epoch + 1}: {np.mean(losses) / len(POOLINGS):.3f}", flush=True)
    return parts


def main():
    """Trains, packs, measures what was packed, writes."""
    train_texts, labels = texts(20000, 100)
    tokenizer = WordTokenizer.train(train_texts)
    ids = tokenizer.encode(train_texts)
    models = {reader: train(reader, ids, labels, tokenizer.vocabulary_size) for reader in READERS}
    variables = {}
    for reader, parts in models.items():
        variables |= named_weights(reader, parts)
    table, numbers = packed(variables)
    content = {"words": tokenizer.vocabulary, "sentences": sentences(), "right": {}}
    content |= {"weights": table, "numbers": numbers}
    for name, array in unpacked(content).items():
        variables[name].assign(array)
    test_texts, labels = texts(4000, 200)
    for reader, (model, *_) in models.items():
        found = model.predict(tokenizer.encode(test_texts), batch_size=256, verbose=0)
        content["right"][reader] = {
            name: round(float((found[name].argmax(-1) == labels).mean()), 3) for name in POOLINGS
        }
        print(reader, content["right"][reader])
    FILE.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    FILE.write_text(f"{START}{text};\n", encoding="utf-8")
    print(f"{FILE.name}: {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
