"""The runs that the tutorial on LAMA has no time for: trained until validation stops, three seeds.

    KERAS_BACKEND=torch python -m benchmarks.tutorial [ROW ...]

Data, sizes and optimizer are the tutorial's. Rows that the file has are not run again.
"""

import json
import pathlib
import sys

import keras
import numpy as np

from benchmarks.reproduce.results import packed
from benchmarks.reproduce.significance import paired_interval
from keras_attnpool import analysis, models, regularizers
from keras_attnpool.workbench import corpora, text

FILE = pathlib.Path(__file__).with_name("results") / "tutorial" / "lama_reviews.json"
SEEDS, LENGTH, PATIENCE, EPOCHS = (0, 1, 2), 28, 4, 60
SCALE = dict(learn_scale=True, scale_initializer=keras.initializers.Constant(5.0))
D_P = dict(attention_regularizer=regularizers.AttentionOrthogonality(0.2))
D_E = dict(vector_regularizer=regularizers.CosineDisagreement(0.2))
GRU = dict(gru_units=32)
ROWS = {
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
# What the tutorial compares: the first row with the second.
PAIRS = [
    ("GRU + mean", "AVG"),
    ("LAMA + Ctx", "AVG"),
    ("LAMA + Ctx", "GRU + mean"),
    ("LAMA + Ctx", "GRU + maximum"),
    ("LAMA + Ctx", "LAMA"),
    ("LAMA + Ctx", "SAN, hidden layer of 32"),
    ("LAMA + Ctx", "SAN, hidden layer of 64"),
    ("LAMA + Ctx, no hidden layer", "LAMA + Ctx"),
    ("LAMA + Ctx, scale", "LAMA + Ctx"),
    ("LAMA + Ctx, scale", "LAMA + Ctx, scale fixed"),
    ("LAMA + Ctx, scale", "SAN, hidden layer of 64"),
    ("LAMA + Ctx, 1 head", "LAMA + Ctx"),
    ("LAMA + Ctx, 20 heads", "LAMA + Ctx"),
    ("LAMA + Ctx, scale, D_p", "LAMA + Ctx, scale"),
    ("LAMA + Ctx, scale, D_e", "LAMA + Ctx, scale"),
]


def word_of(low, high):
    """What an interval of a difference says."""
    return "ahead" if low > 0 else "behind" if high < 0 else "level"


def data():
    """The tutorial's texts: labels and ids of three parts, and its tokenizer and vectors."""

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
    sizes = dict(vocabulary_size=tokenizer.vocabulary_size, num_classes=train.num_classes)
    return read, test.rationales, dict(sizes, embeddings=vectors, hidden_units=64, dropout=0.3)


def run(row, seed, parts, rationales, common):
    """One training: its curve, what it reaches on the test texts, and which of them are right."""
    train, validation, (ids, labels) = parts
    keras.utils.set_random_seed(seed)
    build, arguments = ROWS[row]
    model = build(**common, **arguments)
    if row.endswith("scale fixed"):
        model.get_layer("pooling").scale.trainable = False
    model.compile(
        keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    stop = keras.callbacks.EarlyStopping(
        "val_accuracy", mode="max", patience=PATIENCE, restore_best_weights=True
    )
    options = dict(validation_data=validation, batch_size=192, verbose=0, callbacks=[stop])
    curve = model.fit(*train, epochs=EPOCHS, **options).history["val_accuracy"]
    right = model.predict(ids, batch_size=500, verbose=0).argmax(axis=1) == labels
    found = {
        "seed": seed,
        "test_accuracy": round(float(right.mean()), 4),
        "correct": packed(right),
        "validation": [round(float(each), 3) for each in curve],
        "stopped": len(curve) < EPOCHS,
    }
    if "num_heads" in arguments:
        weights = analysis.attention_scores(model, ids, "pooling", batch_size=500)
        if arguments["num_heads"] > 1:
            similarity = analysis.head_similarity(weights, ids != 0)
            found["redundancy"] = round(float(analysis.head_redundancy(similarity)), 3)
        by_word = analysis.reduce_scores(weights)
        mass = analysis.rationale_mass(by_word, rationales)
        found["mass"], found["uniform"] = round(mass.mean, 3), round(mass.uniform, 3)
        found["auc"] = round(analysis.rationale_auc(by_word, rationales).mean, 3)
    weights = model.count_params() - model.get_layer("embedding").count_params()
    return weights, found


def compared(results):
    """The pairs whose rows are there, with the 95 % interval of their difference and its word."""
    for one, other in PAIRS:
        if one in results["rows"] and other in results["rows"]:
            means = [
                results["rows"][each]["summary"]["test_accuracy"]["mean"] for each in (one, other)
            ]
            low, high = paired_interval(results, one, other)
            points = [round(100 * each, 1) for each in (means[0] - means[1], low, high)]
            yield [one, other, *points, word_of(low, high)]


def main(names):
    """Runs what is missing and writes the file after each row."""
    results = {"rows": {}}
    if FILE.exists():
        results = json.loads(FILE.read_text(encoding="utf-8"))
    parts, rationales, common = data()
    results |= {"measure": "accuracy", "test_examples": len(parts[2][1])}
    for row in names or ROWS:
        if row in results["rows"]:
            continue
        runs = [run(row, seed, parts, rationales, common) for seed in SEEDS]
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
        results["differences"] = list(compared(results))
        FILE.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(row, reached, [len(each["validation"]) for _, each in runs], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
