"""Whether weights are worth something to another model: Wiegreffe and Pinter's frozen weights."""

import keras
import numpy as np

from keras_attnpool.types import Array

DIM = 32
EPOCHS = 10


def guided_accuracy(ids: Array, weights: Array, labels: Array, classes: int) -> float:
    """Accuracy of a bag of words whose mean is weighted by frozen weights, on held-out texts.

    Word vectors, a hidden layer for each word, the sum of the words by `weights`, the classes.
    Texts at even places train it, for a fixed number of epochs from fixed numbers; the others test
    it. No word knows its neighbours: what the weights know of them is all that it can use.
    """
    tokens = keras.Input((None,), dtype="int32")
    given = keras.Input((None,))
    draws = [keras.initializers.GlorotUniform(seed=seed) for seed in range(3)]
    x = keras.layers.Embedding(int(ids.max()) + 1, DIM, embeddings_initializer=draws[0])(tokens)
    x = keras.layers.Dense(DIM, "tanh", kernel_initializer=draws[1])(x)
    x = keras.layers.Dot(axes=(1, 1))([x, given])
    x = keras.layers.Dense(classes, "softmax", kernel_initializer=draws[2])(x)
    model = keras.Model([tokens, given], x)
    model.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy")
    weights = weights.astype("float32")
    train, test = slice(0, None, 2), slice(1, None, 2)
    model.fit([ids[train], weights[train]], labels[train], epochs=EPOCHS, shuffle=False, verbose=0)
    answers = np.asarray(model.predict([ids[test], weights[test]], verbose=0)).argmax(axis=1)
    return float((answers == labels[test]).mean())
