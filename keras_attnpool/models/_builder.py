"""The decorator of the builders: it checks arguments and writes what docstrings would repeat."""

import inspect
from collections.abc import Callable, Collection
from typing import ParamSpec, TypeVar

from keras_attnpool._checks import Validator, checked
from keras_attnpool._docstrings import filled, sections_of

P = ParamSpec("P")
R = TypeVar("R")

# What is so in every builder whose docstring does not say otherwise.
COMMON = """

Args:
    vocabulary_size: Number of token ids, padding (id 0) included.
    num_classes: Number of classes.
    num_heads: Number of attention heads.
    hidden_dim: Size of the hidden layer in front of the scores, the paper's d_a.
    per_feature: Whether each feature has attention weights of its own; else one weight a step
        serves all.
    embedding_dim: Size of the embeddings when no matrix is given.
    embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
    trainable_embeddings: Whether the embeddings are fine-tuned.
    embedding_dropout: Share of the embeddings dropped in training.
    num_characters: Number of character ids, padding included, to join to each word what a
        `CharacterEmbedding` makes of its characters; `None` for words alone.
    char_dim: Size of a character's embedding.
    char_filters: Filters of each width.
    char_kernel_sizes: Widths of the windows, in characters.
    backbone: A token encoder in place of the embeddings: a KerasHub backbone, or any functional
        `keras.Model` to `(batch, time, dim)`; or an integer, the `dim` of precomputed token
        features as `text.LanguageModel.features` makes them. The mask is the input
        `"padding_mask"` or `"attention_mask"` if there is one, else "id is not 0" where a single
        integer tensor comes in, else the Keras mask of the states.
    sequence_length: Steps of every text, or `None` where that is left open; for backbones.
    trainable_backbone: Whether the backbone is fine-tuned. This sets `backbone.trainable`; of a
        backbone that is frozen in part, by LoRA say, that part stays so. If not, the backbone runs
        in inference mode, without dropout.
    packed: 0 for padded inputs; k for the inputs of `text.DocumentBatches(..., packed=k)`. Weights
        and their names are the same.
    gru_units: Units of the GRUs per direction.
    lstm_units: Units of the LSTMs per direction.
    num_layers: Number of stacked BiLSTMs.
    shortcut: Wiring of the stack, `"full"` or `"per_direction"`, see `ShortcutStackedBiLSTM`.
    attention_dropout: Share of the attention weights dropped in training.
    kernel_regularizer: Penalty on the kernels of attentions and pooling.
    attention_regularizer: Penalty on the attention weights.
    embedding_regularizer: Penalty on the heads' vectors.
    hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
    dropout: Dropout of the classifier.
    classifier_activation: Activation of the output; `None` gives logits.
    name: Name of the model.

Returns:
    A functional `keras.Model` from int32 ids `(batch, time)`, 0 = padding, to float32 scores
    `(batch, num_classes)`. Not compiled.

Raises:
    ValueError: For an argument that does not fit, alone or with the others; the message names the
        builder, the argument, and what it may be.

Example:

```python
import keras_attnpool

model = keras_attnpool.models.BUILDER(vocabulary_size=1000, num_classes=3)
assert model.output_shape == (None, 3)
```
"""
# What is so besides, in builders that have the argument.
WITH = {
    "backbone": """

Args:
    vocabulary_size: Number of token ids, padding (id 0) included; `None` on a backbone.
    dropout: Share of the states in front of the attention and of the pooled vector dropped in
        training.

Returns:
    A functional `keras.Model` from the backbone's inputs (of features a dictionary: `"features"`
    `(batch, time, dim)` and `"padding_mask"` `(batch, time)`), without a backbone from int32 ids
    `(batch, time)`, 0 = padding, to float32 scores `(batch, num_classes)`. Not compiled.
""",
    "num_characters": """

Returns:
    A functional `keras.Model` from int32 ids `(batch, time)`, 0 = padding, to float32 scores
    `(batch, num_classes)`; with `num_characters` from the list of these and of character ids
    `(batch, time, word length)`, named `"tokens"` and `"characters"`. Not compiled.
""",
}


def builder(
    *,
    like: Callable[..., object] | None = None,
    old_names: Collection[str] = (),
    **special: Validator | Collection[str],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`checked`, for a function whose docstring lacks what all builders share.

    The docstring is filled by that of the builder that it is `like`, if any, by `WITH`, and by
    `COMMON`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if function.__doc__:
            names = inspect.signature(function).parameters
            common = []
            if like is not None:
                common = [f"\n\nArgs:\n{sections_of(like.__doc__ or '')['Args']}"]
            common += [text for name, text in WITH.items() if name in names]
            common += [COMMON.replace("BUILDER", function.__name__)]
            function.__doc__ = filled(function.__doc__, common, Args=function)
        return checked(old_names=old_names, **special)(function)

    return decorate
