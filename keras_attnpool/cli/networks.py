"""The networks that `train` trains: the model, and the mean that it is compared with."""

import inspect
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool import models, regularizers
from keras_attnpool.cli.errors import CommandError
from keras_attnpool.cli.options import Options, flag

MODELS: dict[str, Callable[..., keras.Model]] = {
    "lama": models.LAMA,
    "lama-encoder": models.LAMAEncoder,
    "san": models.SAN,
    "bigru": models.BiGRU,
    "text-cnn": models.TextCNN,
    "transformer": models.TransformerEncoderClassifier,
    "average": models.AverageEmbedding,
}
# Options that are an argument of the model builder.
ARGUMENTS = {
    "heads": "num_heads",
    "rank": "rank",
    "context": "context",
    "learn_scale": "learn_scale",
    "embedding_dim": "embedding_dim",
    "hidden_units": "hidden_units",
    "dropout": "dropout",
}
PENALTIES = {
    "attention": ("attention_regularizer", regularizers.AttentionOrthogonality),
    "embedding": ("embedding_regularizer", regularizers.CosineDisagreement),
}
# The mean behind the same encoder, so that a difference is that of the pooling alone ...
BASELINE = "mean pooling"
SAME_ENCODER = {"lama": "bigru", "san": "bigru", "bigru": "bigru", "lama-encoder": "average"}
# ... and where the encoder is what the model is about, the mean without it.
WITHOUT_ENCODER = "mean of embeddings"


def baseline_of(name: str) -> str | None:
    """Name of the network that a model is compared with; the mean has none."""
    if name == "average":
        return None
    return BASELINE if name in SAME_ENCODER else WITHOUT_ENCODER


def check_arguments(given: dict[str, Any], options: Options) -> None:
    """Refuses options that the model does not have."""
    asked = {flag(name): argument for name, argument in ARGUMENTS.items() if name in given}
    if options.penalty != "none":
        asked[f"--penalty {options.penalty}"] = PENALTIES[options.penalty][0]
    for typed, argument in asked.items():
        able = [name for name, builder in MODELS.items() if argument in _arguments(builder)]
        if options.model not in able:
            raise CommandError(
                f"--model {options.model} does not take {typed}; {', '.join(able)} do"
            )


def embedding_dim(options: Options) -> int:
    """Size of a word's vector."""
    own = _arguments(MODELS[options.model])["embedding_dim"]
    return int(options.embedding_dim or own)


def build(
    name: str,
    options: Options,
    vocabulary_size: int,
    num_classes: int,
    vectors: npt.NDArray[np.float32] | None,
) -> keras.Model:
    """The model, or what it is compared with: of the same sizes, from the same first weights.

    Args:
        name: `options.model`, or its `baseline_of`.
        options: The options of `train`.
        vocabulary_size: Number of word ids.
        num_classes: Number of classes.
        vectors: The first embeddings, unless they are random.
    """
    builder = MODELS[name] if name in MODELS else MODELS["average"]
    if name == BASELINE:
        builder = MODELS[SAME_ENCODER[options.model]]
    names = _arguments(builder)
    arguments = {
        argument: getattr(options, option)
        for option, argument in ARGUMENTS.items()
        if argument in names and getattr(options, option) is not None
    }
    arguments["embedding_dim"] = embedding_dim(options)
    if arguments.get("hidden_units") == 0:
        arguments["hidden_units"] = None
    if name == BASELINE and "pooling" in names:
        arguments["pooling"] = "mean"
    if options.penalty != "none" and name in MODELS:
        hook, penalty = PENALTIES[options.penalty]
        arguments[hook] = penalty(options.penalty_factor)
    if "max_length" in names:
        arguments["max_length"] = options.max_length
    keras.utils.set_random_seed(options.seed)
    return builder(vocabulary_size, num_classes, embeddings=vectors, **arguments)


def size(model: keras.Model) -> dict[str, int]:
    """How many numbers a model learns."""
    parameters = model.count_params()
    embeddings = model.get_layer("embedding").count_params()
    return {"parameters": parameters, "parameters_without_embeddings": parameters - embeddings}


def _arguments(builder: Callable[..., keras.Model]) -> dict[str, Any]:
    """Names and defaults of what a model builder takes."""
    return {name: p.default for name, p in inspect.signature(builder).parameters.items()}
