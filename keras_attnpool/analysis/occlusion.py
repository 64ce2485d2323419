"""What the prediction loses without each single token."""

from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool.analysis._removal import Floats, Removal


def leave_one_out(
    model: keras.Model,
    ids: Any,
    classes: Any = None,
    *,
    replacement: int | None = None,
    from_logits: bool = False,
    batch_size: int = 32,
    verbose: int = 0,
) -> npt.NDArray[np.float32]:
    """Computes for each token what a class's probability loses when that token alone is removed.

    For token t: `p(class | text) - p(class | text without t)`. It is signed: a token with a
    positive value speaks for the class. It needs no gradient and sees the model from outside, so
    that it is the witness that attention is mostly held against.

    Args:
        model: A classifier of ids, `(batch, classes)`, or `(batch, 1)` for two classes.
        ids: Integer array `(texts, time)`, 0 = padding.
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted one.
        replacement: `None` takes the token out and closes the gap; an id is put in its place.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.
        verbose: 0 or 1, whether there is a progress bar over the texts.

    Returns:
        float32 array of the shape of `ids`; 0 on padding. The model predicts once for each token.

    Raises:
        ValueError: If shapes do not fit, the model returns no finite probabilities, or no text has
            a token.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    model = keras_attnpool.models.LAMAEncoder(100, 2, num_heads=3)
    ids = np.array([[4, 8, 15, 0]])
    effects = keras_attnpool.analysis.leave_one_out(model, ids)
    assert effects.shape == (1, 4) and effects[0, 3] == 0
    ```

    Reference:
        - Li, Monroe and Jurafsky, 2016, Understanding Neural Networks through Representation
          Erasure
    """
    removal = Removal(
        model,
        ids,
        "leave_one_out",
        classes=classes,
        replacement=replacement,
        from_logits=from_logits,
        batch_size=batch_size,
    )
    bar = keras.utils.Progbar(len(removal.ids), verbose=verbose, unit_name="text")
    found = []
    for texts in removal.parts(batch_size):
        found.append(token_effects(removal, texts))
        bar.add(len(texts))
    effects = removal.everywhere(np.concatenate(found))
    return np.nan_to_num(effects).astype(np.float32)


def token_effects(removal: Removal, texts: npt.NDArray[Any]) -> Floats:
    """What the class of some of the texts loses without each token, `(texts, time)`."""
    rows, places = np.nonzero(removal.tokens[texts])
    gone = np.zeros((len(rows), removal.tokens.shape[1]), bool)
    gone[np.arange(len(rows)), places] = True
    effects = np.zeros(removal.tokens[texts].shape)
    effects[rows, places] = removal.full[texts[rows]] - removal.probability(gone, texts[rows])
    return effects
