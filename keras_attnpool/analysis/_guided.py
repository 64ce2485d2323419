"""Tests whether frozen weights help another model, as Wiegreffe and Pinter do."""

import keras
import numpy as np

from keras_attnpool.types import Array

DIM = 32
EPOCHS = 10


def guided_accuracy(steps: Array, weights: Array, labels: Array, classes: int) -> float:
    """Computes the held-out accuracy of a classifier that pools by frozen weights.

    Ids become word vectors. The classifier applies a hidden layer to each step, adds up the steps
    with the given `weights`, and computes class scores. The classifier trains on a random half of
    each class, always from the same initial values and for the same number of epochs. The accuracy
    is measured on the other half. The classifier reads each step alone, so only the weights depend
    on the other steps.
    """
    tokens = keras.Input((None, *steps.shape[2:]), dtype="int32" if steps.ndim == 2 else "float32")
    given = keras.Input((None,))
    x = tokens
    if steps.ndim == 2:
        x = keras.layers.Embedding(int(steps.max()) + 1, DIM)(tokens)
    else:
        steps = np.where(weights[..., None] == 0, 0, steps)  # padding may be NaN
    x = keras.layers.Dense(DIM, "tanh")(x)
    x = keras.layers.Dot(axes=(1, 1))([x, given])
    x = keras.layers.Dense(classes, "softmax")(x)
    model = keras.Model([tokens, given], x)
    rng = np.random.default_rng(0)
    # The initializers of Keras draw different numbers on each backend.
    model.set_weights([_drawn(weight.shape, rng) for weight in model.weights])
    model.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy")
    weights = weights.astype("float32")
    order = rng.permutation(len(steps))
    order = order[np.argsort(labels[order], kind="stable")]
    train, test = rng.permutation(order[::2]), order[1::2]
    model.fit(
        [steps[train], weights[train]], labels[train], epochs=EPOCHS, shuffle=False, verbose=0
    )
    answers = np.asarray(model.predict([steps[test], weights[test]], verbose=0)).argmax(axis=1)
    return float((answers == labels[test]).mean())


def _drawn(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draws a kernel by Glorot's rule; sets a bias to zeros."""
    limit = np.sqrt(6 / sum(shape)) if len(shape) > 1 else 0.0
    return rng.uniform(-limit, limit, shape)
