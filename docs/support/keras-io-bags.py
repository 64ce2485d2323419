"""
Title: Classification using Attention-based Deep Multiple Instance Learning (MIL)
Author: [Mohamad Jaber](https://www.linkedin.com/in/mohamadjaber1/)
Rewritten by: the keras_attnpool contributors
Date created: 2021/08/16
Last modified: 2026/11/24
Description: Classify bags of instances of any size, and see which instance decided.
Accelerator: None
"""

"""
## Introduction

### What is Multiple Instance Learning (MIL)?

In supervised learning every instance has a label. In MIL only a *bag* of instances has one. A bag
is positive if at least one of its instances is positive, and negative if none is. Nobody says
which instance it was.

Tissue slides are an example: a pathologist labels the slide, the model reads its patches.

### What we want

1. Predict the label of a bag, whatever its size and the order of its instances.
2. Find the instances that decided.

### How the model works

1. A `Dense` layer turns each instance into features, by itself.
2. Attention gives each instance a weight. The weights of a bag sum to 1.
3. The bag's vector is the **sum** of the features, multiplied by these weights.
4. A `Dense` layer classifies this vector.

Because of the sum in step 3 a bag's vector has one size for bags of all sizes, and does not
change with the order of the instances. So one model reads every bag, and bags of several sizes
share a batch: short ones are padded, and a mask says which instances are there.

### References

- [Attention-based Deep Multiple Instance Learning](https://arxiv.org/abs/1802.04712), equations
7 to 9.
"""

"""
## Setup

The layer `AttentionPooling` comes from the package `keras_attnpool`. It runs on JAX, PyTorch and
TensorFlow.
"""

import keras
import numpy as np
from keras import ops
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from keras_attnpool.layers import AttentionPooling

keras.utils.set_random_seed(0)

"""
## Create the dataset

The instances are scikit-learn's digits, images of 8 x 8 pixels. A bag is positive if there is a 9
in it.

### Configuration parameters

- `POSITIVE_CLASS`: The digit that makes a bag positive.
- `BAG_COUNT`: The number of training bags.
- `VAL_BAG_COUNT`: The number of validation bags.
- `BAG_SIZES`: The smallest and the largest number of instances in a bag.
- `EPOCHS`: How often the model sees all training bags.
"""

POSITIVE_CLASS = 9
BAG_COUNT = 2000
VAL_BAG_COUNT = 500
BAG_SIZES = (4, 16)
EPOCHS = 12

"""
### Prepare bags

Half of the bags are positive: they hold one positive instance or two, anywhere in the bag. The
instances of all bags stand in one array `(bags, instances, pixels)`, padded with zeros. The mask
`(bags, instances)` is `True` where there is an instance. We also keep which instances are
positive: the model never sees this, and we use it at the end to check the weights.
"""

digits = load_digits()
pixels, names = (digits.data / 16).astype("float32"), digits.target


def create_bags(pool, count, seed, sizes=BAG_SIZES):
    """Returns instances, mask, labels, and which instances are positive."""
    rng = np.random.default_rng(seed)
    positives = pool[names[pool] == POSITIVE_CLASS]
    others = pool[names[pool] != POSITIVE_CLASS]
    instances = np.zeros((count, sizes[1], pixels.shape[1]), "float32")
    mask = np.zeros((count, sizes[1]), bool)
    positive = np.zeros_like(mask)
    labels = np.arange(count) % 2
    for bag, label in enumerate(labels):
        size = rng.integers(sizes[0], sizes[1] + 1)
        chosen = rng.choice(others, size)
        if label:
            places = rng.choice(size, rng.integers(1, 3), replace=False)
            chosen[places] = rng.choice(positives, len(places))
            positive[bag, places] = True
        instances[bag, :size], mask[bag, :size] = pixels[chosen], True
    return instances, mask, labels, positive


# The images of the validation bags are in no training bag.
order = np.random.default_rng(0).permutation(len(names))
train_images, val_images = order[:1200], order[1200:]
instances, mask, labels, _ = create_bags(train_images, BAG_COUNT, seed=1)
val_instances, val_mask, val_labels, val_positive = create_bags(val_images, VAL_BAG_COUNT, seed=2)

"""
### Visualizer tool

Plot the instances of a bag. If weights are given, each stands below its instance.
"""


def plot(bag, weights=None):
    """Plots a validation bag."""
    size = val_mask[bag].sum()
    figure, axes = plt.subplots(1, size, figsize=(0.75 * size, 1.3))
    for place, axis in enumerate(axes):
        axis.imshow(val_instances[bag, place].reshape(8, 8), cmap="gray_r")
        axis.set_xticks([])
        axis.set_yticks([])
        if weights is not None:
            axis.set_xlabel(f"{weights[place]:.2f}")
    figure.suptitle("positive" if val_labels[bag] else "negative")
    plt.show()


plot(1)
plot(2)

"""
## Create the model

The number of instances is `None` in the input shape: it may differ from batch to batch.

`gated=True` is the gated attention of the paper. Instance `h` has the score
`w · (tanh(V h) * sigmoid(U h))`, and the softmax of the scores over the bag gives the weights.
Padding has weight 0, whatever it holds.

The layer returns the weights beside the bag's vector, so that a second model with the same layers
reads them. Nothing has to be trained or computed twice.
"""


def create_models():
    """Returns the classifier, and a model that reads its weights."""
    inputs = keras.Input((None, pixels.shape[1]), name="instances")
    kept = keras.Input((None,), dtype="bool", name="mask")
    features = keras.layers.Dense(48, activation="relu", name="features")(inputs)
    vector, weights = AttentionPooling(32, gated=True)(
        features, mask=kept, return_attention_scores=True
    )
    outputs = keras.layers.Dense(1, activation="sigmoid", name="classifier")(vector)
    return keras.Model([inputs, kept], outputs), keras.Model([inputs, kept], weights)


model, reader = create_models()
model.summary()

"""
## Train and evaluate
"""

model.compile(keras.optimizers.Adam(5e-3), "binary_crossentropy", metrics=["accuracy"])
model.fit([instances, mask], labels, batch_size=100, epochs=EPOCHS, verbose=0)
loss, accuracy = model.evaluate([val_instances, val_mask], val_labels, verbose=0)
print(f"Accuracy on the validation bags: {accuracy:.3f}")

"""
## Which instance decided?

No label ever said which instance is positive. In the positive bags, how much of the weight lies on
the positive instances? Equal weights are the floor.
"""

weights = reader.predict([val_instances, val_mask], verbose=0)
bags = val_labels == 1
equal = val_mask / val_mask.sum(axis=1, keepdims=True)
for name, values in (("Equal weights", equal), ("Attention", weights)):
    share = (values * val_positive)[bags].sum(axis=1).mean()
    print(f"{name}: {share:.2f} of the weight on positive instances")

plot(1, weights[1])
plot(2, weights[2])

"""
## Any order, any size

The prediction does not depend on the order of the instances, nor on the padding.
"""

few, few_mask = val_instances[:20], val_mask[:20]
predictions = model.predict([few, few_mask], verbose=0)

shuffle = np.random.default_rng(3).permutation(BAG_SIZES[1])
shuffled = model.predict([few[:, shuffle], few_mask[:, shuffle]], verbose=0)
print("Shuffled:", np.abs(shuffled - predictions).max() < 1e-5)

room = ((0, 0), (0, 7))
longer = model.predict([np.pad(few, (*room, (0, 0))), np.pad(few_mask, room)], verbose=0)
print("More padding:", np.abs(longer - predictions).max() < 1e-5)

"""
The same model reads bags that are larger than all bags that it was trained on.
"""

large = create_bags(val_images, 200, seed=3, sizes=(30, 40))
_, accuracy = model.evaluate(large[:2], large[2], verbose=0)
print(f"Accuracy on bags of 30 to 40 instances: {accuracy:.3f}")

"""
## The sum, by hand

The bag's vector is the weighted sum of the features, as in the paper.
"""

features = model.get_layer("features")(few)
by_hand = ops.sum(ops.expand_dims(weights[:20], -1) * features, axis=1)
by_hand = ops.convert_to_numpy(model.get_layer("classifier")(by_hand))
print("By hand:", np.abs(by_hand - predictions).max() < 1e-5)

"""
## Conclusion

One layer pools bags of any size, in batches, with a mask. Its weights tell which instances the
prediction stands on. They tell so because each instance's features know this instance alone; behind
a layer that mixes the instances a weight belongs to a mixture.

Two changes to try: `normalizer="sparsemax"` gives most instances a weight of exactly 0, and
`keras_attnpool.layers.LearnedQueryPooling` asks with several heads.
"""
