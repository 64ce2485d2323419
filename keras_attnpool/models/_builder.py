"""The decorator of the builders: it checks arguments and writes what docstrings would repeat."""

import inspect
import re
import textwrap
from collections.abc import Callable, Collection
from typing import ParamSpec, TypeVar

from keras_attnpool._checks import Kind, checked

P = ParamSpec("P")
R = TypeVar("R")

# What an argument is in every builder whose docstring has no entry for it.
ENTRIES = {
    "vocabulary_size": "Number of token ids, padding (id 0) included.",
    "num_classes": "Number of classes.",
    "num_heads": "Number of attention heads.",
    "embedding_dim": "Size of the embeddings when no matrix is given.",
    "embeddings": "Pre-trained embedding matrix `(vocabulary_size, dim)`, float, or `None`.",
    "trainable_embeddings": "Whether the embeddings are fine-tuned.",
    "embedding_dropout": "Share of the embeddings dropped in training.",
    "num_characters": "Number of character ids, padding included, to join to each word what a "
    "`CharacterEmbedding` makes of its characters; `None` for words alone.",
    "char_dim": "Size of a character's embedding.",
    "char_filters": "Filters of each width.",
    "char_kernel_sizes": "Widths of the windows, in characters.",
    "backbone": "A token encoder in place of the embeddings: a KerasHub backbone, or any "
    "functional `keras.Model` to `(batch, time, dim)`; or an integer, the `dim` of precomputed "
    "token features as `text.LanguageModel.features` makes them. The mask is the input "
    '`"padding_mask"` or `"attention_mask"` if there is one, else "id is not 0" where a single '
    "integer tensor comes in, else the Keras mask of the states.",
    "sequence_length": "Steps of every text, or `None` where that is left open; for backbones.",
    "trainable_backbone": "Whether the backbone is fine-tuned. This sets `backbone.trainable`. If "
    "not, the backbone runs in inference mode, without dropout.",
    "packed": "0 for padded inputs; k for the inputs of `text.DocumentBatches(..., packed=k)`. "
    "Weights and their names are the same.",
    "gru_units": "Units of the GRUs per direction.",
    "lstm_units": "Units of the LSTMs per direction.",
    "num_layers": "Number of stacked BiLSTMs.",
    "shortcut": 'Wiring of the stack, `"full"` or `"per_direction"`, see `ShortcutStackedBiLSTM`.',
    "per_feature": "Whether each feature has its own scores.",
    "attention_dropout": "Share of the attention weights dropped in training.",
    "kernel_regularizer": "Penalty on the kernels of attentions and pooling.",
    "attention_regularizer": "Penalty on the attention weights.",
    "embedding_regularizer": "Penalty on the heads' vectors.",
    "hidden_units": "Units of the classifier's hidden layer, or `None` for a linear classifier.",
    "dropout": "Dropout of the classifier.",
    "classifier_activation": "Activation of the output; `None` gives logits.",
    "name": "Name of the model.",
}
RAISES = (
    "ValueError: For an argument that does not fit, alone or with the others; the message names "
    "the builder, the argument, and what it may be."
)
SECTION = re.compile(r"^(Args|Returns|Raises|Example|Reference):\n", re.M)
ENTRY = re.compile(r"^    (\w+): ", re.M)


def builder(
    *, old_names: Collection[str] = (), **special: Kind | Collection[str]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`checked`, for a function whose docstring lacks the entries that all builders share.

    The docstring gets an entry of `ENTRIES` for each argument that it does not describe, and
    the sections `Returns` and `Raises` where it has none.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if function.__doc__:
            function.__doc__ = _filled(
                function.__doc__, list(inspect.signature(function).parameters)
            )
        return checked(old_names=old_names, **special)(function)

    return decorate


def _filled(doc: str, arguments: list[str]) -> str:
    """The docstring with all sections, one entry for each argument in its order."""
    start, *parts = SECTION.split(inspect.cleandoc(doc))
    sections = {title: body.rstrip("\n") for title, body in zip(*[iter(parts)] * 2, strict=True)}
    _, *pairs = ENTRY.split(sections.get("Args", ""))
    own = {
        name: f"    {name}: {text.rstrip()}" for name, text in zip(*[iter(pairs)] * 2, strict=True)
    }
    sections["Args"] = "\n".join(
        own[name] if name in own else _wrapped(f"{name}: {_shared(name, arguments)}")
        for name in arguments
    )
    sections.setdefault("Returns", _wrapped(_returns(arguments)))
    sections.setdefault("Raises", _wrapped(RAISES))
    order = [
        title
        for title in ("Args", "Returns", "Raises", "Example", "Reference")
        if title in sections
    ]
    return start + "\n\n".join(f"{title}:\n{sections[title]}" for title in order) + "\n"


def _shared(name: str, arguments: list[str]) -> str:
    if name == "vocabulary_size" and "backbone" in arguments:
        return ENTRIES[name].replace(".", "; `None` on a backbone.")
    return ENTRIES[name]


def _returns(arguments: list[str]) -> str:
    """What a model for single texts returns."""
    other = ", or from the backbone's inputs" if "backbone" in arguments else ""
    spelt = (
        "; with `num_characters` from the list of these and of character ids "
        '`(batch, time, word length)`, named `"tokens"` and `"characters"`'
        if "num_characters" in arguments
        else ""
    )
    return (
        f"A functional `keras.Model` from int32 ids `(batch, time)`, 0 = padding{other}, to "
        f"float32 scores `(batch, num_classes)`{spelt}. Not compiled."
    )


def _wrapped(text: str) -> str:
    """An entry or a section's text, as it stands in a docstring."""
    more = "        " if re.match(r"\w+: ", text) else "    "
    return textwrap.fill(
        text, 96, initial_indent="    ", subsequent_indent=more, break_on_hyphens=False
    )
