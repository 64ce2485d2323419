"""The networks that `train` builds: the model, and the poolings that it is compared with."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool import models, regularizers
from keras_attnpool.layers.names import resolve
from keras_attnpool.models import ENCODERS, POOLINGS
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.options import MINILM, MODELS, Options, flag
from keras_attnpool.workbench.cli.reporting import reported

NAMES = {"encoder": ENCODERS, "pooling": POOLINGS}
HIERARCHICAL = "hierarchical"
# What the options are called by the builders and layers.
ARGUMENTS = {
    "pooling": ("pooling",),
    "heads": ("num_heads",),
    "rank": ("rank",),
    "context": ("context",),
    "learn_scale": ("learn_scale",),
    "units": ("units", "gru_units", "lstm_units", "filters"),
    "embedding_dim": ("embedding_dim",),
    "hidden_units": ("hidden_units",),
    "dropout": ("dropout",),
}
OF_PARTS = ("heads", "rank", "context", "learn_scale", "units")  # of encoder and pooling
PENALTIES = {
    "attention": ("attention_regularizer", regularizers.AttentionOrthogonality),
    "embedding": ("vector_regularizer", regularizers.CosineDisagreement),
}
WANTED = {
    "encoder": f"--encoder must be one of {', '.join(ENCODERS)}; or, first of several joined by + "
    f"or alone, {HIERARCHICAL}, {MINILM} or a preset of KerasHub: its name, "
    "hf://user/model or a folder",
    "pooling": f"--pooling must be one of {', '.join(POOLINGS)}, or the class of a layer",
}
HIDDEN_UNITS = 100  # of the general model, as in the comparison that chose the default
# Options by what the texts are read as.
READ_AS = {
    "words": ("max_length",),
    "sentences": ("max_sentences", "max_words"),
    "tokens": ("max_tokens", "layer", "fine_tune"),
}
# What the last of the 6 layers has learned is to compare sentences. The same head on layer 4 is
# better on SST-2 and SUBJ, as good on TREC as far as 500 texts can tell, and cheaper: see
# `layers_of_minilm` in benchmarks/results/command_line/own_files.json.
LAYERS = {MINILM: 4}
OF_WORDS = ("min_frequency", "embeddings", "embedding_dim")
FINE_TUNING_RATE, RATE, NAMED_RATE = 5e-5, 1e-3, 2e-3


class Encoder(NamedTuple):
    """The meaning of `--encoder A+B`."""

    language_model: str | None
    hierarchical: bool
    stages: list[str]

    @property
    def reads(self) -> str:
        """What texts are read as."""
        if self.language_model:
            return "tokens"
        return "sentences" if self.hierarchical else "words"


def encoder(options: Options) -> Encoder:
    """The encoder of the options: maybe a language model or sentences, then layers in order."""
    typed = options.encoder
    if options.model:
        own = MODELS[options.model]["encoder"]
        typed = typed or (MINILM if options.model == "sam" else None)
        typed = f"{typed}+{own}" if typed else own
    first, *rest = (typed or "").split("+")
    known = _is_name("encoder", first)
    language_model = None if known or first == HIERARCHICAL else first
    stages = [first, *rest] if known else rest
    usual = "gru" if first == HIERARCHICAL else "none"
    return Encoder(language_model, first == HIERARCHICAL, stages or [usual])


def layer(options: Options) -> int | None:
    """The layer of the language model whose states are its features; `None` is the last."""
    usual = None if options.fine_tune else LAYERS.get(str(encoder(options).language_model))
    return options.layer or usual


def baseline_of(options: Options) -> str | None:
    """Name of the mean behind the same encoder, unless the model itself is that."""
    if options.pooling == "mean" or options.model == "average":
        return None
    encoder = options.encoder or MODELS[str(options.model)]["encoder"]
    return f"{encoder} + mean"


def takes_scores(options: Options) -> bool:
    """Whether the scores of TF-IDF may stand beside the network: of a frozen language model."""
    frozen = encoder(options).language_model and not options.fine_tune
    return bool(options.tfidf and frozen and not options.model)


def check(given: dict[str, Any], options: Options) -> None:
    """Refuses names that are unknown, and options that the model does not have."""
    for name, wanted in WANTED.items():
        # Options takes a name that is empty for one that was not given.
        if name in given and not all(given[name].split("+")):
            raise CommandError(f"{wanted}. Received: {given[name]!r}")
    if options.model and options.encoder:
        if "backbone" not in _arguments(_builder(options)):
            _refuse(options, "--encoder", "it has its own")
    asked, read = encoder(options), encoder(options).reads
    for name in asked.stages:
        if not _is_name("encoder", name):
            raise CommandError(f"{WANTED['encoder']}. Received: {name!r} in {options.encoder!r}")
    if options.pooling and not options.model and not _is_name("pooling", options.pooling):
        raise CommandError(f"{WANTED['pooling']}. Received: {options.pooling!r}")
    able = {name for name in ARGUMENTS if _takes(options, *ARGUMENTS[name])} | {"pooling"}
    if options.model:
        if "pooling" not in _arguments(_builder(options)):
            able -= {"pooling"}
        if options.encoder and not asked.language_model:
            _refuse(options, f"--encoder {options.encoder}", "its own stands behind words or "
                    "behind a language model")  # fmt: skip
    for name in given:
        if name in ARGUMENTS and name not in able:
            _refuse(options, flag(name))
        for kind, names in READ_AS.items():
            if name in names and kind != read:
                _refuse(options, flag(name), f"it reads {read}, not {kind}")
        if name in OF_WORDS and read == "tokens":
            _refuse(options, flag(name), "the words' vectors are those of the language model")
    if "tfidf" in given and not takes_scores(Options(**{**given, "tfidf": True})):
        _refuse(
            options, "--no-tfidf", "only behind a frozen language model there is TF-IDF beside it"
        )
    if options.fine_tune and options.model == "sam":
        _refuse(options, "--fine-tune", "it stands on a frozen language model")
    if options.penalty != "none" and not _takes(options, PENALTIES[options.penalty][0]):
        _refuse(options, f"--penalty {options.penalty}")
    if options.penalty == "embedding" and options.heads == 1:
        _refuse(options, "--penalty embedding", "it compares heads, and --heads is 1")


def without_effect(options: Options) -> set[str]:
    """The options that have no part in a run, whatever their values."""
    read = encoder(options).reads
    unused = {name for kind, names in READ_AS.items() if kind != read for name in names}
    unused |= set(OF_WORDS) if read == "tokens" else set()
    unused |= {"train_size", "test_size"} if options.file or options.dataset else set()
    return unused | ({"penalty_factor"} if options.penalty == "none" else set())


def _refuse(options: Options, typed: str, reason: str = "") -> None:
    name = f"--model {options.model}" if options.model else options.name
    raise CommandError(f"{name} does not take {typed}{reason and f': {reason}'}")


def embedding_dim(options: Options) -> int:
    """Size of a word's vector."""
    return int(options.embedding_dim or _arguments(_builder(options))["embedding_dim"])


def learning_rate(options: Options) -> float:
    """The step size: the given one, or one that fits the model."""
    usual = MODELS[options.model].get("rate", NAMED_RATE) if options.model else RATE
    return options.learning_rate or (FINE_TUNING_RATE if options.fine_tune else usual)


def build(
    options: Options,
    inputs: dict[str, Any],
    num_classes: int,
    vectors: npt.NDArray[np.float32] | None,
    pooling: str | None = None,
) -> keras.Model:
    """The model, or the one that it is compared with, which has the same sizes and the same first
    weights.

    Args:
        options: The options of `train`.
        inputs: Description of the inputs by the reader, see `readers`.
        num_classes: Number of classes.
        vectors: The first embeddings, unless they are random.
        pooling: Another pooling behind the same encoder, in place of that of the options.
    """
    builder, own = _builder(options), _arguments(_builder(options))
    given = {
        argument: getattr(options, option)
        for option, arguments in ARGUMENTS.items()
        for argument in arguments
        if argument in own and getattr(options, option) is not None
    }
    if "embedding_dim" in own and inputs["vocabulary_size"]:
        given["embedding_dim"] = embedding_dim(options)
    hidden = own["hidden_units"] if options.model else HIDDEN_UNITS
    given["hidden_units"] = (
        hidden if options.hidden_units is None else options.hidden_units
    ) or None
    given.setdefault("dropout", own["dropout"])
    if options.penalty != "none" and not pooling:
        hook, penalty = PENALTIES[options.penalty]
        given[hook] = penalty(options.penalty_factor)
    limits = {"max_length": options.max_length} if not encoder(options).hierarchical else {
        "max_words": options.max_words, "max_sentences": options.max_sentences
    }  # fmt: skip
    given |= {name: value for name, value in limits.items() if name in own}
    given |= {name: inputs[name] for name in inputs if name in own}
    if vectors is not None:
        given["embeddings"] = vectors
    if pooling or not options.model:
        kept = set(_arguments(models.TextClassifier)) & set(given)
        given = {name: given[name] for name in kept} | inputs | _parts(options, pooling)
        given.pop("sequence_length", None)
        builder = models.TextClassifier
    keras.utils.set_random_seed(options.seed)
    with reported():
        return builder(num_classes=num_classes, **given)


def embeddings(model: keras.Model) -> list[keras.layers.Embedding]:
    """The embeddings of a model's words; those of a hierarchical one stand in its sentences."""
    return [
        each
        for layer in model.layers
        for each in getattr(getattr(layer, "encoder", None), "layers", [layer])
        if isinstance(each, keras.layers.Embedding) and each.name == "embedding"
    ]


def size(model: keras.Model) -> dict[str, int]:
    """How many numbers a model learns, and how many without the words' vectors."""
    parameters = model.count_params()
    words = sum(layer.count_params() for layer in embeddings(model))
    return {"parameters": parameters, "parameters_without_embeddings": parameters - words}


def _builder(options: Options) -> Callable[..., keras.Model]:
    name = MODELS[options.model]["builder"] if options.model else "TextClassifier"
    builder: Callable[..., keras.Model] = getattr(models, name)
    return builder


def _parts(options: Options, pooling: str | None) -> dict[str, Any]:
    """Encoder and pooling of the general model with the sizes of the options."""
    asked = encoder(options)
    sizes = {name: getattr(options, name) for name in OF_PARTS if getattr(options, name)}
    if options.model:  # those of the model, for the encoder that it is compared with
        own = _arguments(_builder(options))
        usual = [own[each] for each in ARGUMENTS["units"] if own.get(each)]
        sizes = {"units": usual[0], **sizes} if usual else sizes
    stages = [_config("encoder", name, sizes) for name in asked.stages]
    for stage, name in zip(stages, asked.stages, strict=True):
        if "max_length" in _part_arguments("encoder", name):  # positions for all that is read
            limits = [getattr(options, each) for each in READ_AS[asked.reads] if "max_" in each]
            usual = resolve(name, NAMES["encoder"])[1].get("max_length", 0)
            stage["config"]["max_length"] = max(usual, *limits)
    name = pooling or str(options.pooling)
    return {
        "encoder": stages,
        "pooling": _config("pooling", name, sizes),
        "hierarchical": asked.hierarchical,
    }


def _config(argument: str, name: str, sizes: dict[str, Any]) -> dict[str, Any]:
    """A part with those of the sizes that it has."""
    own = _part_arguments(argument, name)
    config = {
        each: value for option, value in sizes.items() for each in ARGUMENTS[option] if each in own
    }
    return {"class_name": name, "config": config}


def _takes(options: Options, *arguments: str) -> bool:
    """Whether the model has one of the arguments, or its encoder or pooling has."""
    own = set(_arguments(_builder(options)))
    if not options.model:
        # The general model has the penalties' arguments whatever its pooling does with them.
        own -= {hook for hook, _ in PENALTIES.values()}
        own |= _part_arguments("pooling", str(options.pooling))
        own |= {
            each for name in encoder(options).stages for each in _part_arguments("encoder", name)
        }
    return bool(own & set(arguments))


def _part_arguments(argument: str, name: str) -> set[str]:
    make, usual = resolve(name, NAMES[argument])
    return {*inspect.signature(make).parameters, *usual}


def _is_name(argument: str, name: str) -> bool:
    try:
        return bool(resolve(name, NAMES[argument]))
    except ValueError:
        return False


def _arguments(builder: Callable[..., keras.Model]) -> dict[str, Any]:
    """Names and defaults of what a model builder takes."""
    return {name: p.default for name, p in inspect.signature(builder).parameters.items()}
