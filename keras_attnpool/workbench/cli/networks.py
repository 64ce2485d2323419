"""Builds the networks of `train`: the model, and networks with other poolings for comparison."""

import inspect
from typing import Any, NamedTuple

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool import models
from keras_attnpool.layers.names import resolve
from keras_attnpool.models import ENCODERS, POOLINGS
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.options import MINILM, Options, flag
from keras_attnpool.workbench.cli.reporting import reported

NAMES = {"encoder": ENCODERS, "pooling": POOLINGS}
# The names of the sizes in encoders and poolings.
SIZES = {"heads": ("num_heads",), "units": ("units", "filters")}
WANTED = {
    "encoder": f"--encoder must be one of {', '.join(ENCODERS)}; or, first of several joined by + "
    f"or alone, {MINILM} or a preset of KerasHub: its name, hf://user/model or a folder",
    "pooling": f"--pooling must be one of {', '.join(POOLINGS)}, or the class of a layer",
}
HIDDEN_UNITS = 100  # as in the comparison that chose the default
EMBEDDING_DIM = 100
# The options for each kind of input; the option for the length comes first.
READ_AS = {
    "words": ("max_length", "min_frequency", "embeddings", "embedding_dim"),
    "tokens": ("max_tokens", "layer", "fine_tune"),
}
# The last of the 6 layers has learned to compare sentences. The same head is better on SST-2 and
# SUBJ with the states of layer 4, and faster. On 500 texts of TREC there is no difference. See
# `layers_of_minilm` in benchmarks/results/command_line/own_files.json.
LAYERS = {MINILM: 4}
FINE_TUNING_RATE, RATE = 5e-5, 1e-3


class Encoder(NamedTuple):
    """The meaning of `--encoder A+B`.

    Attributes:
        language_model: The preset of a language model, or `None` if the texts are read as words.
        stages: The layers after the language model or after the vectors of words.
        layer: The layer of the language model whose states are the features. `None` is the last
            layer.
        is_frozen: Whether there is a language model that is not trained.
    """

    language_model: str | None
    stages: list[str]
    layer: int | None = None
    is_frozen: bool = False

    @property
    def reads(self) -> str:
        """The kind of input that is made from the texts."""
        return "tokens" if self.language_model else "words"


def encoder(options: Options) -> Encoder:
    """The encoder of the options: an optional language model, then layers in order."""
    first, *rest = str(options.encoder).split("+")
    if _is_name("encoder", first):
        return Encoder(None, [first, *rest])
    usual = None if options.fine_tune else LAYERS.get(first)
    return Encoder(first, rest or ["none"], options.layer or usual, not options.fine_tune)


def rows(options: Options) -> dict[str, str]:
    """Returns the pooling of each network to train, by the network's name in the table."""
    poolings = options.compared if options.compare else (str(options.pooling),)
    if options.baseline:
        poolings = tuple(dict.fromkeys((*poolings, "mean")))
    return {f"{options.encoder} + {pooling}": pooling for pooling in poolings}


def check(given: dict[str, Any], options: Options) -> None:
    """Raises an error for unknown names, and for options that the model does not have."""
    for name, wanted in WANTED.items():
        # For `Options`, an empty name is a missing name.
        if name in given and not all(given[name].split("+")):
            raise CommandError(f"{wanted}. Received: {given[name]!r}")
    asked = encoder(options)
    for name in asked.stages:
        if not _is_name("encoder", name):
            raise CommandError(f"{WANTED['encoder']}. Received: {name!r} in {options.encoder!r}")
    if not _is_name("pooling", str(options.pooling)):
        raise CommandError(f"{WANTED['pooling']}. Received: {options.pooling!r}")
    own = _arguments("pooling", str(options.pooling)).union(
        *(_arguments("encoder", name) for name in asked.stages)
    )
    for name in given:
        if name in SIZES and not own & {*SIZES[name]}:
            _refuse(options, flag(name))
        for kind, names in READ_AS.items():
            if name in names and kind != asked.reads:
                _refuse(options, flag(name), f"it reads {asked.reads}, not {kind}")
    if "tfidf" in given and not asked.is_frozen:
        _refuse(
            options, "--no-tfidf", "only behind a frozen language model there is TF-IDF beside it"
        )


def without_effect(options: Options) -> set[str]:
    """Lists the options that have no effect on a run."""
    read = encoder(options).reads
    unused = {name for kind, names in READ_AS.items() if kind != read for name in names}
    return unused | ({"train_size", "test_size"} if options.file or options.dataset else set())


def _refuse(options: Options, typed: str, reason: str = "") -> None:
    raise CommandError(f"{options.name} does not take {typed}{reason and f': {reason}'}")


def learning_rate(options: Options) -> float:
    """Returns the given learning rate, or the default for the model."""
    return options.learning_rate or (FINE_TUNING_RATE if options.fine_tune else RATE)


def build(
    options: Options,
    inputs: dict[str, Any],
    num_classes: int,
    vectors: npt.NDArray[np.float32] | None,
    pooling: str,
) -> keras.Model:
    """Builds a network. Networks with other poolings have the same sizes and initial weights.

    Args:
        options: The options of `train`.
        inputs: The reader's description of the inputs, see `readers`.
        num_classes: Number of classes.
        vectors: The initial embeddings; `None` draws them at random.
        pooling: The pooling after the encoder.
    """
    asked = encoder(options)
    stages = [_config(options, "encoder", name) for name in asked.stages]
    for stage, name in zip(stages, asked.stages, strict=True):
        if "max_length" in _arguments("encoder", name):  # positions for all steps
            usual = resolve(name, ENCODERS)[1].get("max_length", 0)
            limit = getattr(options, READ_AS[asked.reads][0])
            stage["config"]["max_length"] = max(usual, limit)
    hidden = HIDDEN_UNITS if options.hidden_units is None else options.hidden_units
    given = {"hidden_units": hidden or None, **inputs}
    if options.dropout is not None:
        given["dropout"] = options.dropout
    keras.utils.set_random_seed(options.seed)
    with reported():
        return models.TextClassifier(
            num_classes=num_classes,
            encoder=stages,
            pooling=_config(options, "pooling", pooling),
            embedding_dim=options.embedding_dim or EMBEDDING_DIM,
            embeddings=vectors,
            **given,
        )


def embeddings(model: keras.Model) -> list[keras.layers.Embedding]:
    """The embeddings of a model's words."""
    return [
        layer
        for layer in model.layers
        if isinstance(layer, keras.layers.Embedding) and layer.name == "embedding"
    ]


def size(model: keras.Model) -> dict[str, int]:
    """Counts the weights of a model, with and without word vectors."""
    parameters = model.count_params()
    words = sum(layer.count_params() for layer in embeddings(model))
    return {"parameters": parameters, "parameters_without_embeddings": parameters - words}


def _config(options: Options, argument: str, name: str) -> dict[str, Any]:
    """The config of a layer, with the sizes that it takes."""
    own = _arguments(argument, name)
    config = {
        each: getattr(options, option)
        for option, arguments in SIZES.items()
        for each in arguments
        if each in own and getattr(options, option)
    }
    return {"class_name": name, "config": config}


def _arguments(argument: str, name: str) -> set[str]:
    make, usual = resolve(name, NAMES[argument])
    return {*inspect.signature(make).parameters, *usual}


def _is_name(argument: str, name: str) -> bool:
    try:
        return bool(resolve(name, NAMES[argument]))
    except ValueError:
        return False
