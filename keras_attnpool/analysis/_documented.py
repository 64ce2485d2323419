"""What the docstrings of this room have in common, filled in when a function is made."""

from keras_attnpool._docstrings import documented as documented

# Of a classifier of ids that is asked about its texts.
CLASSIFIER = """

Args:
    model: A classifier, `(batch, classes)`, or `(batch, 1)` for two classes.
    inputs: What `model.predict` takes: ids `(rows, time)`, 0 = padding; vectors
        `(rows, time, dim)`; a list or dict of these, a mask among them; batches (a `PyDataset`,
        `tf.data.Dataset` or `DataLoader`); or a list of sequences of unequal length, which are
        padded, with a mask where the model takes one. Steps are those of the first input.
    weights: One row `(time,)` per row or `(rows, time)`, of any sign, one number for each place
        of the inputs, or for each step that counts: see `reduce_scores`. Any array will do, also
        one of another library.
    rationales: `None`, or one boolean or 0/1 array per row, True = the step decides: one for
        each step that counts, or one for each place of the inputs.
    mask: `None`, or boolean or 0/1 array `(rows, time)`, the steps that count. By default those
        that an input of the model or its `Masking` layer keeps, whose id is not 0, or that unequal
        rows have.
    shares: Increasing shares in [0, 1].
    classes: Integer array `(rows,)`, the class of each row. Defaults to the predicted one.
    baseline: What stands for a step that is removed. `"masked"`: nothing, the mask leaves it out
        (the id 0, where the model reads ids without a mask); `"zeros"`; `"mean"` of all steps that
        count; a vector; or an id, that of an unknown token say.
    seed: Seed of the order of equal weights.
    from_logits: Whether the model returns logits and not probabilities.
    batch_size: Number of rows in one step.
    verbose: 0 or 1, whether there is a progress bar over the rows.

Raises:
    ValueError: If shapes do not fit, an option is out of range, the model returns no finite
        probabilities or takes no mask, or no row has a step.

Example:

```python
import numpy as np
from keras_attnpool import analysis, models

model = models.LAMAEncoder(100, 2, num_heads=3)
ids = np.array([[4, 8, 15, 16], [23, 42, 0, 0]])
weights = analysis.reduce_scores(analysis.attention_scores(model, ids))
measured = analysis.FUNCTION(model, ids, weights)
print(measured)
```
"""
# Of rows of weights beside the tokens of their texts.
TOKENS = """

Args:
    names: A name for each step of every row: words, file names.
    weights: One row `(time,)` per text, or `(batch, time)`, of any sign; padding behind the tokens
        must be 0. One number per token: see `reduce_scores`.
    rationales: One boolean or 0/1 array `(num_tokens,)` per text, True = the token decides.
    mask: `None`, or the same layout, True = the token counts.
    share: The share of each text that is taken. Defaults to the mean share of rationale tokens
        over the texts that are scored, as in ERASER.
    labels: Integer array `(batch,)`, the class of each text.
    label_names: The name of each class.

Returns:
    `RationaleScore`.

Raises:
    ValueError: If texts and what is given of them do not fit together, or an option is invalid.
"""
# Of one number for each token of each text, compared text by text.
ROWS = """

Args:
    weights: One row `(time,)` per text, or `(texts, time)`. Signs do not count.
    mask: Boolean or 0/1 array `(texts, time)`, True = the token counts. `None` counts every number
        given, so give it for padded texts.

Returns:
    float64 array `(texts,)` in [0, 1]; NaN for texts of fewer than two tokens or without weight.

Raises:
    ValueError: If shapes do not fit together, or a number is not finite.
"""
# Of a graph whose layers are looked up.
GRAPH = """

Args:
    model: A functional or built Sequential model.
    layer: The layer, its name, or its path (`"encoder/pooling"` inside a nested model). `None`
        takes all layers that have weights.
    batch_size: Number of examples in one step.
"""
# Of a picture in matplotlib.
PLOT = """

Args:
    ax: The Axes to draw on; a new figure's by default.
    title: The title.

Returns:
    The Axes.

Raises:
    ImportError: If matplotlib is not installed.
    ValueError: If there is nothing to draw, what is given does not fit or is not finite, or `ax`
        is no Axes.
"""
