"""What the docstrings of layers have in common, written once.

A docstring says what is particular to its layer. What it leaves out is filled in from here when
the class is made: arguments by their names, and sections by their titles.
"""

import inspect
import re
import textwrap
from collections.abc import Callable

ARGUMENTS = {
    "flatten": "`True`: the output is `(batch, heads * dim)`; `False`: `(batch, heads, dim)`.",
    "keepdims": "Whether to keep the time axis, with size 1, as Keras's `keepdims`.",
    "merge_mode": 'How the directions are joined, `"concat"` or `"sum"`.',
    "dropout": "Share of the attention weights dropped in training, in [0, 1).",
    "use_bias": "Whether there are biases.",
    "kernel_initializer": "Initializer of the kernels.",
    "bias_initializer": "Initializer of the biases.",
    "kernel_regularizer": "Regularizer of the kernels.",
    "bias_regularizer": "Regularizer of the biases.",
    "attention_regularizer": "Regularizer of the attention weights of each example.",
    "embedding_regularizer": "Regularizer of the heads' vectors of each example.",
    "kernel_constraint": "Constraint of the kernels.",
    "bias_constraint": "Constraint of the biases.",
    "recurrent_initializer": "Initializer of the kernels that the states meet.",
    "recurrent_regularizer": "Regularizer of the kernels that the states meet.",
    "recurrent_constraint": "Constraint of the kernels that the states meet.",
    "unit_forget_bias": "Whether the forget gates' biases start at 1.",
    "seed": "Seed of the dropout, and of initializers that have none of their own.",
    "kwargs": "`name`, `dtype`, `trainable`, `activity_regularizer` of `keras.layers.Layer`.",
}
CALL_ARGUMENTS = {
    "inputs": "Float tensor `(batch, time, dim)`.",
    "mask": "Boolean or 0/1 tensor `(batch, time)`, True = keep. Defaults to the inputs' Keras "
    "mask.",
    "training": "Whether dropout is on.",
    "return_attention_scores": "Whether to return `(output, scores)`.",
}
# A section, and the one that it stands in front of.
SECTIONS = {
    "Raises": (
        "Example",
        "ValueError: For an invalid argument, inputs that are not `(batch, time, dim)` with a "
        "known `dim`, or a mask that is not `(batch, time)` or holds other values than 0 and 1.",
    ),
    "Returns": (
        "Raises",
        "The output, and on request the attention weights before dropout, in the compute dtype.",
    ),
    "Input shape": ("Output shape", "`(batch, time, dim)`; batch and time may be unknown."),
    "Call arguments": ("Input shape", ""),
    "Args": ("Call arguments", ""),
}
ENTRY = re.compile(r"^    \*{0,2}(\w+): .*(?:\n {5,}.*)*", re.M)


def complete(docstring: str, constructor: Callable[..., None], call: Callable[..., object]) -> str:
    """A layer's docstring with the entries and sections that it has in common with others."""
    text = inspect.cleandoc(docstring)
    for title, (following, content) in SECTIONS.items():
        if f"\n{title}:\n" not in text:
            section = f"\n{title}:\n{_indented(content)}\n\n{following}:\n"
            text = text.replace(f"\n{following}:\n", section, 1)
    text = _with_entries(text, "Args", ARGUMENTS, constructor)
    return _with_entries(text, "Call arguments", CALL_ARGUMENTS, call)


def _with_entries(
    text: str, title: str, common: dict[str, str], function: Callable[..., object]
) -> str:
    """The text with an entry in the section for each parameter of the function, in their order."""
    before, heading, rest = text.partition(f"\n{title}:\n")
    body, end, after = rest.partition("\n\n")
    own = {match[1]: match[0] for match in ENTRY.finditer(body)}
    entries = []
    for name, parameter in inspect.signature(function).parameters.items():
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        if name in own:
            entries.append(own[name])
        elif name in common:
            entries.append(_indented(f"{stars}{name}: {common[name]}"))
    return before + heading + "\n".join(entries) + end + after if heading else text


def _indented(text: str) -> str:
    return textwrap.fill(text, 96, initial_indent=" " * 4, subsequent_indent=" " * 8)
