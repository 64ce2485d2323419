"""The runs that the tutorials have no time for: trained until validation stops, three seeds.

    KERAS_BACKEND=torch python -m benchmarks.tutorial NAME [ROW ...]

NAME is lama, hcan or mpsan. Data, sizes and optimizer are the tutorial's. Rows that the file has
are not run again.
"""

import functools
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.reproduce.results import packed
from benchmarks.reproduce.significance import mean, paired_interval
from keras_attnpool import analysis, layers, models, regularizers
from keras_attnpool.workbench import corpora, text

FOLDER = pathlib.Path(__file__).with_name("results") / "tutorial"
SEEDS, LENGTH, PATIENCE, EPOCHS = (0, 1, 2), 28, 4, 60


class Data(NamedTuple):
    """Inputs and labels of three parts, the builders' common arguments, and the test's gold."""

    parts: list[tuple[Any, np.ndarray]]
    common: dict[str, Any]
    rationales: list[np.ndarray]
    looks: Callable[..., dict[str, Any]]  # at a trained model: what else is kept of a run


class Tutorial(NamedTuple):
    """The file, the rows, the pairs to compare (the first with the second), and the training."""

    file: str
    rows: dict[str, tuple[Callable[..., keras.Model], dict[str, Any]]]
    pairs: list[tuple[str, str]]
    data: Callable[[], Data]
    rate: float
    batch: int
    clip: float | None = None  # of the gradient's norm


SCALE = dict(learn_scale=True, scale_initializer=keras.initializers.Constant(5.0))
D_P = dict(attention_regularizer=regularizers.AttentionOrthogonality(0.2))
D_E = dict(vector_regularizer=regularizers.CosineDisagreement(0.2))
GRU = dict(gru_units=32)
LAMA_ROWS = {
    "AVG": (models.AverageEmbedding, {}),
    "GRU + mean": (models.BiGRU, dict(GRU, pooling="mean")),
    "GRU + maximum": (models.BiGRU, GRU),
    "SAN, hidden layer of 32": (models.SAN, dict(GRU, num_heads=6, hidden_dim=32)),
    "SAN, hidden layer of 64": (models.SAN, dict(GRU, num_heads=6, hidden_dim=64)),
    "LAMA": (models.LAMA, dict(GRU, num_heads=6, context="learned")),
    "LAMA + Ctx": (models.LAMA, dict(GRU, num_heads=6)),
    "LAMA + Ctx, no hidden layer": (models.LAMA, dict(GRU, num_heads=6, use_hidden=False)),
    "LAMA + Ctx, scale": (models.LAMA, dict(GRU, num_heads=6, **SCALE)),
    "LAMA + Ctx, scale fixed": (models.LAMA, dict(GRU, num_heads=6, **SCALE)),
    "LAMA + Ctx, 1 head": (models.LAMA, dict(GRU, num_heads=1)),
    "LAMA + Ctx, 20 heads": (models.LAMA, dict(GRU, num_heads=20)),
    "LAMA + Ctx, scale, D_p": (models.LAMA, dict(GRU, num_heads=6, **SCALE, **D_P)),
    "LAMA + Ctx, scale, D_e": (models.LAMA, dict(GRU, num_heads=6, **SCALE, **D_E)),
}
LAMA_PAIRS = [
    ("GRU + mean", "AVG"),
    ("LAMA + Ctx", "AVG"),
    ("LAMA + Ctx", "GRU + mean"),
    ("LAMA + Ctx", "GRU + maximum"),
    ("SAN, hidden layer of 64", "GRU + maximum"),
    ("LAMA + Ctx", "LAMA"),
    ("LAMA + Ctx", "SAN, hidden layer of 32"),
    ("LAMA + Ctx", "SAN, hidden layer of 64"),
    ("LAMA + Ctx, no hidden layer", "LAMA + Ctx"),
    ("LAMA + Ctx, scale", "LAMA + Ctx"),
    ("LAMA + Ctx, scale", "LAMA + Ctx, scale fixed"),
    ("LAMA + Ctx, scale", "SAN, hidden layer of 64"),
    ("LAMA + Ctx", "LAMA + Ctx, 1 head"),
    ("LAMA + Ctx, 20 heads", "LAMA + Ctx, 1 head"),
    ("LAMA + Ctx, scale, D_p", "LAMA + Ctx, scale"),
    ("LAMA + Ctx, scale, D_e", "LAMA + Ctx, scale"),
]


def word_of(low, high):
    """What an interval of a difference says."""
    return "ahead" if low > 0 else "behind" if high < 0 else "level"


def reviews() -> Data:
    """LAMA's tutorial: short reviews."""

    def short(reviews, number):
        fits = [i for i, review in enumerate(reviews.texts) if review.count(" ") < LENGTH]
        return reviews.subset(fits[:number])

    train = short(corpora.reviews(8000, seed=1, sentences=(2, 4)), 4500)
    validation = short(corpora.reviews(1100, seed=2, sentences=(2, 4)), 600)
    test = short(corpora.reviews(1800, seed=3, sentences=(2, 4)), 1000)
    tokenizer = text.WordTokenizer.train(train.texts, min_frequency=2)
    vectors = text.word2vec(train.texts, tokenizer, dim=64, epochs=5, seed=0)
    parts = train, validation, test
    read = [(tokenizer.encode(each.texts, pad_to=LENGTH), each.labels) for each in parts]
    common = dict(vocabulary_size=tokenizer.vocabulary_size, num_classes=train.num_classes)
    common |= dict(embeddings=vectors, hidden_units=64, dropout=0.3)
    return Data(read, common, test.rationales, heads)


def heads(model, row, data, right):
    """How much of the heads' weight lies on the words that decide."""
    found, (ids, _) = {}, data.parts[2]
    if "num_heads" in LAMA_ROWS[row][1]:
        weights = analysis.attention_scores(model, ids, "pooling", batch_size=500)
        by_word = analysis.reduce_scores(weights)
        mass = analysis.rationale_mass(by_word, data.rationales)
        found["mass"], found["uniform"] = round(mass.mean, 3), round(mass.uniform, 3)
        found["auc"] = round(analysis.rationale_auc(by_word, data.rationales).mean, 3)
    return found


HCAN = dict(num_heads=4, filters=32, dropout=0.0, max_words=17, max_sentences=3)
HCAN_ROWS = {
    "HCAN 1 target": (models.HCAN, dict(HCAN, parallel=False)),
    "HCAN 2 target": (models.HCAN, HCAN),
    "HAN": (models.HAN, dict(gru_units=16, hidden_dim=32)),
}
HCAN_PAIRS = [("HCAN 2 target", "HCAN 1 target"), ("HCAN 2 target", "HAN")]


def documents() -> Data:
    """HCAN's tutorial: reviews of two or three sentences, as sentences of words."""
    parts = [
        corpora.reviews(n, seed=i, sentences=(2, 3)) for i, n in ((1, 3000), (2, 300), (3, 1500))
    ]
    tokenizer = text.WordTokenizer.train(parts[0].texts, min_frequency=2)
    sizes = dict(max_sentences=3, max_words=17)
    read = [(tokenizer.encode_sentences(each.texts, **sizes), each.labels) for each in parts]
    common = dict(vocabulary_size=tokenizer.vocabulary_size, num_classes=parts[0].num_classes)
    common |= dict(embedding_dim=32)
    return Data(read, common, parts[2].rationales, lambda *_: {})


def mean_of_five(vocabulary_size, num_classes, embedding_dim, hidden_units, dropout):
    """MPSAN with the plain mean of its five sources, the word itself among them, for a fusion."""
    tokens = keras.Input((None,), dtype="int32")
    word = keras.layers.Embedding(vocabulary_size, embedding_dim, mask_zero=True)(tokens)
    sources = [
        layers.PositionalSelfAttention(embedding_dim, positions=each, dropout=dropout)(word)
        for each in (FA2, FA3, BW + SD, FW + SD)
    ]
    vector = layers.MultiDimAttentionPooling(name="pooling")(
        keras.layers.Average()([*sources, word])
    )
    hidden = keras.layers.Dense(hidden_units, activation="elu")(vector)
    return keras.Model(tokens, keras.layers.Dense(num_classes, activation="softmax")(hidden))


BW, FW, FA2, FA3, SD = (
    ("earlier",),
    ("later",),
    ("faraway_2",),
    ("faraway_3",),
    ("scaled_distance",),
)
MPSAN_ROWS = {
    "mean": (models.MPSAN, dict(positions=(), pooling="mean")),
    "model 0": (models.MPSAN, dict(positions=())),
    "model 1": (models.MPSAN, dict(positions=(BW, FW))),
    "model 2": (models.MPSAN, dict(positions=(BW + SD, FW + SD))),
    "model 3": (models.MPSAN, dict(positions=(FA2, FA3))),
    "MPSAN": (models.MPSAN, {}),
    "mean of four": (models.MPSAN, dict(fusion=None)),
    "mean of five": (mean_of_five, {}),
    "Bi-LSTM": (
        models.BiLSTM,
        dict(lstm_units=16, pooling="multi_dim", embedding_dropout=0.0),
    ),
}
MPSAN_PAIRS = [
    ("MPSAN", "model 0"),
    ("model 2", "model 1"),
    ("MPSAN", "model 2"),
    ("MPSAN", "mean of four"),
    ("MPSAN", "mean of five"),
    ("mean of five", "mean of four"),
    ("model 0", "mean"),
    ("MPSAN", "Bi-LSTM"),
]
KINDS = ("head", "distance", "direction", "order", "clause")


def questions() -> Data:
    """MPSAN's tutorial: questions, 500 of each kind to test on."""
    train, validation = corpora.questions(3000, seed=1), corpora.questions(500, seed=2)
    tests = [corpora.questions(500, seed=3, kinds=(kind,)) for kind in KINDS]
    tokenizer = text.WordTokenizer.train(train.texts)
    parts = [
        (tokenizer.encode(each.texts, pad_to=24), each.labels)
        for each in (train, validation, *tests)
    ]
    ids, labels = (np.concatenate(each) for each in zip(*parts[2:], strict=True))
    common = dict(vocabulary_size=tokenizer.vocabulary_size, num_classes=train.num_classes)
    common |= dict(embedding_dim=32, hidden_units=32, dropout=0.0)
    gold = [flags for each in tests for flags in each.rationales]
    looks = functools.partial(sources, did=tokenizer.encode(["did"])[0][0])
    return Data([*parts[:2], (ids, labels)], common, gold, looks)


def sources(model, row, data, right, did):
    """Accuracy by kind; for MPSAN the shares of its sources, for "did" and on average."""
    kinds = right.reshape(len(KINDS), -1).mean(axis=1)
    found = {"kinds": dict(zip(KINDS, kinds.round(3).tolist(), strict=True))}
    if row == "MPSAN":
        ids = data.parts[2][0]
        shares = analysis.attention_scores(model, ids, "fusion", batch_size=500).mean(axis=-1)
        for name, here in (("did", ids == did), ("all words", ids != 0)):
            found[name] = shares[here].mean(axis=0).astype(float).round(3).tolist()
    return found


TUTORIALS = {
    "lama": Tutorial("lama_reviews", LAMA_ROWS, LAMA_PAIRS, reviews, 1e-2, 192),
    "hcan": Tutorial("hcan_reviews", HCAN_ROWS, HCAN_PAIRS, documents, 3e-3, 50, clip=1.0),
    "mpsan": Tutorial("mpsan_questions", MPSAN_ROWS, MPSAN_PAIRS, questions, 1e-2, 125),
}


def run(tutorial, row, seed, data):
    """One training: its curve, what it reaches on the test texts, and which of them are right."""
    train, validation, (inputs, labels) = data.parts
    keras.utils.set_random_seed(seed)
    build, arguments = tutorial.rows[row]
    model = build(**data.common, **arguments)
    if row.endswith("scale fixed"):
        model.get_layer("pooling").scale.trainable = False
    model.compile(
        keras.optimizers.Adam(tutorial.rate, clipnorm=tutorial.clip),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    stop = keras.callbacks.EarlyStopping(
        "val_accuracy", mode="max", patience=PATIENCE, restore_best_weights=True
    )
    options = dict(validation_data=validation, verbose=0, callbacks=[stop])
    curve = model.fit(*train, epochs=EPOCHS, batch_size=tutorial.batch, **options).history
    right = model.predict(inputs, batch_size=500, verbose=0).argmax(axis=1) == labels
    found = {
        "seed": seed,
        "test_accuracy": round(float(right.mean()), 4),
        "correct": packed(right),
        "validation": [round(float(each), 3) for each in curve["val_accuracy"]],
        "stopped": len(curve["val_accuracy"]) < EPOCHS,
    }
    found |= data.looks(model, row, data, right)
    embeddings = [each for each in model.weights if each.path.endswith("/embeddings")]
    words = sum(np.prod(each.shape) for each in embeddings if "positions" not in each.path)
    return int(model.count_params() - words), found


def compared(results, pairs):
    """The pairs whose rows are there, with the 95 % interval of their difference and its word."""
    for one, other in pairs:
        if one in results["rows"] and other in results["rows"]:
            difference = mean(results, one) - mean(results, other)
            low, high = paired_interval(results, one, other)
            points = [round(100 * each, 1) for each in (difference, low, high)]
            yield [one, other, *points, word_of(low, high)]


def main(name, *rows):
    """Runs what is missing and writes the file after each row."""
    tutorial, results = TUTORIALS[name], {"rows": {}}
    file = FOLDER / f"{tutorial.file}.json"
    if file.exists():
        results = json.loads(file.read_text(encoding="utf-8"))
    data = tutorial.data()
    results |= {"measure": "accuracy", "test_examples": len(data.parts[2][1])}
    for row in rows or tutorial.rows:
        if row in results["rows"]:
            continue
        runs = [run(tutorial, row, seed, data) for seed in SEEDS]
        reached = np.array([each["test_accuracy"] for _, each in runs])
        summary = {
            "mean": round(float(reached.mean()), 4),
            "std": round(float(reached.std(ddof=1)), 4),
        }
        results["rows"][row] = {
            "weights": runs[0][0],
            "summary": {"test_accuracy": summary},
            "runs": [each for _, each in runs],
        }
        results["differences"] = list(compared(results, tutorial.pairs))
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(row, reached, [len(each["validation"]) for _, each in runs], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
