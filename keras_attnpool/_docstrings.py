"""Docstrings that say what is particular, filled with what others say too; below all rooms."""

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

SECTIONS = (
    "Args",
    "Call arguments",
    "Input shape",
    "Output shape",
    "Returns",
    "Raises",
    "Example",
    "Reference",
)
TITLE = re.compile(rf"^({'|'.join(SECTIONS)}):\n", re.M)
ENTRY = re.compile(r"^    \*{0,2}(\w+): .*(?:\n {5,}.*)*", re.M)
MASKING = re.compile(r"^Masking: .*(?:\n.+)*", re.M)


def filled(docstring: str, common: Iterable[str], **signatures: Callable[..., object]) -> str:
    """A docstring with what it leaves out.

    Args:
        docstring: What is particular.
        common: Docstrings, the nearest first, that give the rest: a section that the docstring
            lacks, the paragraph "Masking: ", and the entries of arguments.
        **signatures: The functions whose arguments a section lists, in their order.

    Returns:
        The docstring with all its sections in the usual order.
    """
    every = [sections_of(each) for each in (docstring, *common)]
    sections: dict[str, str] = {}
    for each in reversed(every):
        sections |= each
    text = every[0][""]
    masking = [part[0] for each in every if (part := MASKING.search(each[""]))]
    if masking and masking[0] not in text:
        text = f"{text}\n\n{masking[0]}"
    for key, function in signatures.items():
        title = key.replace("_", " ")
        entries: dict[str, str] = {}
        for each in reversed(every):
            entries |= {entry[1]: entry[0] for entry in ENTRY.finditer(each.get(title, ""))}
        names = inspect.signature(function).parameters
        sections[title] = "\n".join(entries[name] for name in names if name in entries)
    parts = [f"{title}:\n{sections[title]}" for title in SECTIONS if sections.get(title)]
    return "\n\n".join([text, *parts]) + "\n"


def documented(*common: str | None) -> Callable[[F], F]:
    """Fills the docstring of a function or class with what it leaves out, the nearest first.

    `FUNCTION` in what is common becomes its name.
    """

    def decorate(given: F) -> F:
        if given.__doc__:  # Python leaves it out with -OO
            texts = [text.replace("FUNCTION", given.__name__) for text in common if text]
            given.__doc__ = filled(given.__doc__, texts, Args=given)
        return given

    return decorate


def sections_of(docstring: str) -> dict[str, str]:
    """The sections of a docstring by their titles; under "" what stands in front of them."""
    text, *rest = TITLE.split(inspect.cleandoc(docstring))
    titled = zip(rest[::2], rest[1::2], strict=True)
    return {"": text.rstrip(), **{title: body.rstrip() for title, body in titled}}
