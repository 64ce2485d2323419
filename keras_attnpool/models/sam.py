"""SAM: feature-wise and token-wise attention over the states of a token encoder."""

from collections.abc import Sequence

import keras

from keras_attnpool._checks import ArgumentError, Validator, checked, integer
from keras_attnpool.layers import MaskedAveragePooling1D, SequentialAttention, ShortcutStackedBiLSTM
from keras_attnpool.layers.sequential_attention import ORDER
from keras_attnpool.layers.token_wise_attention import MODES
from keras_attnpool.models._blocks import classifier, encode_tokens
from keras_attnpool.models._parts import with_mask
from keras_attnpool.types import ActivationLike

NONE_OR_ORDER = Validator(
    f"{ORDER.expected}, or an empty one",
    lambda value: ORDER.accepts(value) or (isinstance(value, list | tuple) and not value),
)


@checked(order=NONE_OR_ORDER, mode=MODES, num_layers=integer(0))
def SAM(
    backbone: keras.Model | int,
    num_classes: int,
    *,
    order: Sequence[str] = ("feature", "token"),
    threshold: float = 0.0,
    mode: str = "dense",
    reduction: int = 16,
    hidden_dim: int | None = None,
    lstm_units: int = 256,
    num_layers: int = 2,
    sequence_length: int | None = None,
    trainable_backbone: bool = True,
    hidden_units: int | None = None,
    dropout: float = 0.2,
    classifier_activation: ActivationLike = "softmax",
    name: str = "sam",
) -> keras.Model:
    """Builds SAM: a language model, BiLSTMs, feature-wise and token-wise attention, a classifier.

    Args:
        backbone: A KerasHub backbone, or any functional `keras.Model` that returns `(batch, time,
            dim)`. The backbone replaces the embeddings. For precomputed features
            (`text.LanguageModel.features`) give an integer, the size `dim` of the features. The
            mask is the backbone's input `"padding_mask"` or `"attention_mask"`. If the backbone has
            no input for a mask, but a single input of integers, the zeros in this input are
            padding. In all other cases the model uses the Keras mask of the backbone's states.
        num_classes: Number of classes.
        order: The parts of `SequentialAttention`. With `("token", "feature")` the text's vector is
            the sum of the tokens. With `("feature",)` the text's vector is the mean of the tokens.
            An empty order gives the paper's model RB, the mean of the BiLSTM's states.
        threshold: Number that is subtracted from the weight of every feature, the paper's delta.
        mode: `"dense"` or `"pointwise"`. `"dense"` is the paper's mode and needs `sequence_length`.
            `"pointwise"` allows texts of any length.
        reduction: Divisor of the sizes of both hidden layers, see `SequentialAttention`.
        hidden_dim: Hidden units of the tokens' network. `None` takes the default of `mode`.
        lstm_units: Units of the LSTMs per direction.
        num_layers: Number of BiLSTMs. With 0 layers the attention reads the states of the backbone.
        sequence_length: Number of steps of every text, with a backbone. `None` allows any number.
        trainable_backbone: Whether the backbone is fine-tuned. The builder sets
            `backbone.trainable`. Parts that are already frozen stay frozen, for example the parts
            that LoRA has frozen. A frozen backbone runs in inference mode, without dropout.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share of the attention's inputs and of the pooled vector that is dropped in
            training.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that returns float32 scores `(batch, num_classes)`. Without a
        backbone the input is int32 ids `(batch, time)`, where 0 is padding. With a backbone the
        model has the inputs of the backbone. With precomputed features the input is a dictionary of
        `"features"` `(batch, time, dim)` and `"padding_mask"` `(batch, time)`. The model is not
        compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.SAM(384, num_classes=6, sequence_length=40)
    assert model.input["features"].shape == (None, 40, 384)
    ```

    Reference:
        - Zhou et al., Sequential Attention Module for Natural Language Processing
    """
    inputs, x, mask = encode_tokens(backbone, sequence_length, trainable_backbone)
    if mode == "dense" and x.shape[1] is None and "token" in order:
        raise ArgumentError(
            "sequence_length",
            'be given with mode="dense", which has weights for each position; mode="pointwise" '
            "takes any length",
            {"sequence_length": None},
        )
    if num_layers:
        encoder = ShortcutStackedBiLSTM(lstm_units, num_layers, shortcut="none", name="encoder")
        x = with_mask(encoder, x, mask)
    if dropout:
        x = keras.layers.Dropout(dropout, name="states_dropout")(x)
    if order:
        attention = SequentialAttention(
            order=order,
            reduction=reduction,
            threshold=threshold,
            mode=mode,
            hidden_dim=hidden_dim,
            name="attention",
        )
        x = with_mask(attention, x, mask)
    if len(x.shape) == 3 and "token" in order:
        # The tokens' weights sum to 1, so a mean would divide the vector by the length.
        x = keras.ops.sum(x, axis=1)
    elif len(x.shape) == 3:
        x = with_mask(MaskedAveragePooling1D(name="pooling"), x, mask)
    return classifier(locals(), inputs, x)
