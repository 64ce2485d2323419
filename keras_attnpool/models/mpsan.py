"""MPSAN: a fusion of self-attentions with different position masks, for texts and pairs."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import Validator, checked
from keras_attnpool.layers import MultiDimAttentionPooling
from keras_attnpool.models._blocks import classifier, embed_tokens, pair_classifier
from keras_attnpool.models._parts import POSITIONS, plain_pooling, positional, with_mask
from keras_attnpool.ops.positions import NAMES, parse_positions
from keras_attnpool.types import ActivationLike, RegularizerLike, Tensor

FUSIONS = ("position", "gate")
POOLINGS = ("multi_dim", "mean")


def _are_positions(value: Any) -> bool:
    try:
        return isinstance(value, list | tuple) and all(parse_positions(v, "") for v in value)
    except ValueError:
        return False


POSITION_LISTS = Validator(
    f"a list of lists of names, one for each attention, such as [['earlier'], ['faraway_2']]; "
    f"the names are {NAMES}, m is 1 or more, and those of one list allow some pair of steps",
    _are_positions,
)


@checked(positions=POSITION_LISTS, fusion=FUSIONS, pooling=POOLINGS)
def MPSAN(
    vocabulary_size: int,
    num_classes: int,
    *,
    positions: Sequence[Sequence[str]] = POSITIONS,
    fusion: str | None = "position",
    per_feature: bool = False,
    pooling: str = "multi_dim",
    scale: float = 5.0,
    score_activation: ActivationLike = "elu",
    rescale_scores: bool = False,
    embedding_dim: int = 300,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    hidden_units: int | None = 300,
    dropout: float = 0.3,
    kernel_regularizer: RegularizerLike = None,
    classifier_activation: ActivationLike = "softmax",
    name: str = "mpsan",
) -> keras.Model:
    """Builds MPSAN: embeddings, positional self-attentions, fusion, multi-dimensional attention.

    With the right arguments, this function builds the model of every row of the paper's tables 2 to
    5. In this list, `bw` is `("earlier",)`, `fw` is `("later",)`, `fa2` is `("faraway_2",)`, and
    `fa3` is `("faraway_3",)`. `+sd` adds `"scaled_distance"`, and `+d` adds `"distance"`:

    - table 2 numbers its models from 0 to 6. The `positions` of these models are `()`, `(bw, fw)`,
      `(bw+sd, fw+sd)`, `(fa2, fa3)`, `(fa2, fa3, bw, fw)`, `(fa2+sd, fa3+sd, bw+sd, fw+sd)` and
      `(fa2, fa3, bw+d, fw+d)`. The default value of `positions` gives MPSAN.
    - table 3: `fusion="gate"` applies DiSAN's fusion gate to each attention and concatenates the
      results.
    - table 4: `per_feature=True` computes a separate score for each feature.
    - table 5: `fusion=None` takes the mean of the attentions. `positions=()` leaves out the
      attentions and the fusion. `positions=()` with `pooling="mean"` has no attention at all.

    The released code differs from the paper. To follow the code, set
    `score_activation="tanh", rescale_scores=True`, and use the windows `faraway_1` and `faraway_2`.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number of classes.
        positions: The positional masks of each self-attention, see `PositionalSelfAttention`.
        fusion: `"position"` (`PositionFusion`), `"gate"` (`FusionGate`), or `None`.
        per_feature: Whether each feature has separate attention weights. With `False` all features
            share one weight per step.
        pooling: `"multi_dim"` (`MultiDimAttentionPooling`) or `"mean"`.
        scale: Divisor of the scores, the paper's c.
        score_activation: Activation of the scores.
        rescale_scores: Whether the scores are multiplied by `scale` again.
        embedding_dim: Size of the embeddings and of the attentions when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: Share of each kernel's input features that is dropped in training, in the
            attentions, the fusion and the classifier. The paper's code keeps 0.7 of these features.
        kernel_regularizer: Penalty on the kernels of attentions, fusion and pooling. The paper has
            an L2 penalty of 1e-7.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that maps int32 ids `(batch, time)`, where 0 is padding, to
        float32 scores `(batch, num_classes)`. The layers have the names `attention_0`,
        `attention_1` and so on, `fusion` (for gates `fusion_0` and so on), and `pooling`. The model
        is not compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import keras_attnpool

    model = keras_attnpool.models.MPSAN(vocabulary_size=1000, num_classes=6)
    assert model.output_shape == (None, 6)
    gated = keras_attnpool.models.MPSAN(
        vocabulary_size=1000, num_classes=6, positions=(("earlier",), ("later",)), fusion="gate"
    )
    ```

    Reference:
        - Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification
    """
    tokens, embedded = embed_tokens(locals())
    vector = _encoded(locals(), embedded)
    return classifier(locals(), tokens, vector, "elu", drops_vector=True)


@checked(positions=POSITION_LISTS, fusion=FUSIONS, pooling=POOLINGS)
def MPSANPair(
    vocabulary_size: int,
    num_classes: int = 5,
    *,
    positions: Sequence[Sequence[str]] = POSITIONS,
    fusion: str | None = "position",
    per_feature: bool = False,
    pooling: str = "multi_dim",
    embedding_dim: int = 300,
    embeddings: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    hidden_units: int | None = 300,
    dropout: float = 0.45,
    kernel_regularizer: RegularizerLike = None,
    classifier_activation: ActivationLike = "softmax",
    name: str = "mpsan_pair",
) -> keras.Model:
    """Builds the sentence-pair model of the paper's table 7: one MPSAN encoder for both sentences.

    - Graded relatedness on a scale 1 to K: `num_classes=K`, with the KL divergence as the loss. The
      targets are `ops.score_distribution(scores, K)`, and the prediction is
      `ops.expected_score(probabilities)`.
    - Entailment: `num_classes=3`, with cross-entropy as the loss.

    `PairMatching` joins the sentences' vectors. The encoder is an inner model,
    `model.get_layer("sentences").get_layer("sentence_encoder")`.

    Args:
        vocabulary_size: Number of token ids, including padding (id 0).
        num_classes: Number K of grades on the scale, or number of classes.
        positions: The positional masks of each self-attention, see `PositionalSelfAttention`.
        fusion: `"position"` (`PositionFusion`), `"gate"` (`FusionGate`), or `None`.
        per_feature: Whether each feature has separate attention weights. With `False` all features
            share one weight per step.
        pooling: `"multi_dim"` (`MultiDimAttentionPooling`) or `"mean"`.
        embedding_dim: Size of the embeddings and of the attentions when no matrix is given.
        embeddings: Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.
        trainable_embeddings: Whether the embeddings are fine-tuned.
        hidden_units: Units of the classifier's hidden layer, or `None` for a linear classifier.
        dropout: As in `MPSAN`, but without dropout of the classifier's input. For this task the
            paper has 0.55. In the paper's code, 0.55 is the share of the features that are kept.
        kernel_regularizer: Penalty on the kernels of attentions, fusion and pooling. The paper has
            an L2 penalty of 5e-4 for this task.
        classifier_activation: Activation of the output; `None` gives logits.
        name: Name of the model.

    Returns:
        A functional `keras.Model` that returns float32 scores `(batch, num_classes)`. The inputs
        are a list of two arrays of int32 ids, `(batch, time_a)` and `(batch, time_b)`, where 0 is
        padding. The inputs have the names `"tokens_a"` and `"tokens_b"`. The model is not compiled.

    Raises:
        ValueError: If an argument is invalid, or if arguments do not fit together. The message
            names the builder, the argument and the possible values.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    model = keras_attnpool.models.MPSANPair(vocabulary_size=1000, embedding_dim=32)
    first, second = np.array([[4, 8, 15, 0]]), np.array([[16, 23]])
    assert model([first, second]).shape == (1, 5)
    ```

    Reference:
        - Dai, Li and Xu, Multiple Positional Self-Attention Network for Text Classification,
          table 7
        - Tai, Socher and Manning, 2015, Improved Semantic Representations From Tree-Structured Long
          Short-Term Memory Networks, section 4.2 (graded relatedness)
    """
    tokens, embedded = embed_tokens(locals())
    return pair_classifier(locals(), tokens, _encoded(locals(), embedded), "elu")


def _encoded(given: dict[str, Any], embedded: Tensor) -> Tensor:
    """Computes one vector per text from embeddings `(batch, time, dim)` and builder arguments."""
    names = ("positions", "fusion", "per_feature", "dropout", "kernel_regularizer")
    scores = ("scale", "score_activation", "rescale_scores")
    options = {name: given[name] for name in (*names, *scores) if name in given}
    fused = with_mask(positional(**options), embedded, None)
    if given["pooling"] == "mean":
        return plain_pooling("mean")(fused)
    penalty = given["kernel_regularizer"]
    return MultiDimAttentionPooling(kernel_regularizer=penalty, name="pooling")(fused)
